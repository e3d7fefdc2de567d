// SPDX-License-Identifier: Apache-2.0
// Decides which pages of a piece of data may be closed: only those that hold nothing but the data.
// The program could give other data in a page to the system through a function that
// libglint-sync.so does not know (a name for stat(), the buffer of a FILE, a futex), or it could be
// an atomic variable that another thread uses all the time. A large malloc block has separate
// pages: if the data fills the block, the pages at its ends contain only malloc's header beside it.
// Stacks are never closed, because a signal handler needs one; memory of unknown kind may be a
// stack.
#include "memory.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"
#include "inject/util/executable.h"
#include "kernel.h"
#include "libraries.h"
#include "pager.h"
#include "ranges.h"
#include "readers.h"
#include "system.h"

__attribute__((constructor)) void guard_memory_prepare(void)
{
    guard_state.memory.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t guard_page_bytes(void)
{
    return guard_state.memory.page_bytes;
}

// Reads field 47 of /proc/self/stat, counted from 1. The second field may contain blanks, and ends
// with the last parenthesis.
static uint64_t break_began(void)
{
    enum { STATE = 3, START_BREAK = 47 };
    char text[1024];
    const long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const long got = file < 0 ? -1 : syscall(SYS_read, file, text, sizeof(text) - 1);
    if (file >= 0)
        syscall(SYS_close, file);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = STATE - 1; at && field < START_BREAK; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

void guard_memory_start(void)
{
    if (guard_state.memory.started)
        return;
    struct dl_find_object object;
    void *(*find)(void *, const char *) = (void *(*)(void *, const char *))core_driver_next_dlsym();
    guard_state.memory.heap = break_began();
    const struct guard_outer_libc *outer = atomic_load(&guard_state.outer_libc);
    guard_state.memory.sees_free =
        outer && find(RTLD_DEFAULT, "free") == (void *)(uintptr_t)outer->free;
    // The first of the list is the executable, and its dynamic section is in it.
    struct util_executable executable;
    if (_r_debug.r_map && util_find_executable(&executable) &&
        executable.bias == _r_debug.r_map->l_addr) {
        guard_state.memory.exe = executable.start;
        guard_state.memory.end = executable.end;
    } else if (_r_debug.r_map && !_dl_find_object(_r_debug.r_map->l_ld, &object)) {
        guard_state.memory.exe = (uint64_t)(uintptr_t)object.dlfo_map_start;
        guard_state.memory.end = (uint64_t)(uintptr_t)object.dlfo_map_end;
    }
    guard_state.memory.started = true;
}

// --- Blocks --------------------------------------------------------------------------------------

// Reads memory without touching it: a closed page stays closed, and nothing is recorded.
static bool read_closed(uint64_t from, void *to, size_t bytes)
{
    static const char path[] = "/proc/self/mem";
    const long file =
        guard_system_call(SYS_openat, AT_FDCWD, (long)(uintptr_t)path, O_RDONLY | O_CLOEXEC, 0);
    const long got = file < 0 ? -1
                              : guard_system_call(SYS_pread64, file, (long)(uintptr_t)to,
                                                  (long)bytes, (long)from);
    if (file >= 0)
        guard_system_call(SYS_close, file, 0, 0, 0);
    return got == (long)bytes;
}

static bool read_before(uint64_t start, void *to, size_t bytes)
{
    if (guard_may_be_closed(start - bytes, start))
        return guard_pager_read(start - bytes, to, bytes) || read_closed(start - bytes, to, bytes);
    if (start % guard_state.memory.page_bytes < bytes && !guard_can_be_read(start - 1))
        return false;
    memcpy(to, (const void *)(uintptr_t)(start - bytes), bytes); // NOLINT
    return true;
}

// glibc's malloc writes a header before a block that it has mapped individually: how much of the
// mapping lies before the header, and the size with bit 1 set. Returns the end of such a block that
// begins with the data and contains it; 0: it is not such a block.
static uint64_t block_end(uint64_t start, uint64_t bytes)
{
    enum { HEAD = 16, IS_MAPPED = 2, FLAGS = 7 };
    const uint64_t page = guard_state.memory.page_bytes;
    uint64_t head[2];
    if (!guard_state.memory.sees_free || start % HEAD || !read_before(start, head, sizeof(head)))
        return 0;
    const uint64_t size = head[1] & ~(uint64_t)FLAGS, chunk = start - HEAD;
    const bool good = (head[1] & FLAGS) == IS_MAPPED && head[0] < chunk &&
                      (chunk - head[0]) % page == 0 && (chunk + size) % page == 0 &&
                      size >= bytes + HEAD && size < UINT64_MAX / 2 - chunk;
    return good ? chunk + size : 0;
}

// --- Pages ---------------------------------------------------------------------------------------

// Returns whether the data lies in the heap of brk, or in the executable's variables, and the
// thread's stack does not.
static bool is_in(uint64_t low, uint64_t high, uint64_t start, uint64_t end, uint64_t sp)
{
    return low && start >= low && end <= high && !(sp >= low && sp < high);
}

static bool may_be_closed(uint64_t start, uint64_t end, uint64_t sp)
{
    const uint64_t heap_end = (uint64_t)(uintptr_t)sbrk(0);
    return (guard_state.memory.sees_free &&
            is_in(guard_state.memory.heap, heap_end, start, end, sp)) ||
           is_in(guard_state.memory.exe, guard_state.memory.end, start, end, sp);
}

// Returns whether the program has allocated a block of exactly this many bytes there.
static bool is_all_of_block(uint64_t start, uint64_t bytes)
{
    struct guard_block *block = guard_blocks_borrow(&guard_state.host_blocks, start);
    if (!block)
        return false;
    const bool all = block->address == start && block->bytes == bytes;
    guard_blocks_give_back(&guard_state.host_blocks, block);
    return all;
}

void guard_find_pages(struct guard_range *range, uint8_t object_kind, uint64_t sp)
{
    const uint64_t page = guard_state.memory.page_bytes, start = range->start;
    const uint64_t bytes = (range->rows - 1) * range->pitch + range->width, end = start + bytes;
    const bool gaps = range->rows > 1 && range->pitch != range->width;
    const bool pinned = object_kind == EVENT_OBJECT_PINNED;
    const uint64_t block =
        !pinned && object_kind != EVENT_OBJECT_MANAGED && !gaps ? block_end(start, bytes) : 0;
    uint64_t low = (start + page - 1) & ~(page - 1), high = end & ~(page - 1);
    range->low = range->high = 0;
    range->about.unwatched_bytes = range->about.bytes;
    if (gaps || object_kind == EVENT_OBJECT_MANAGED ||
        !(pinned || block || may_be_closed(start, end, sp)))
        return;
    if (block) {
        low = start & ~(page - 1);
        if (block - end < page && is_all_of_block(start, bytes))
            high = block;
        range->block = true;
    }
    if (low >= high)
        return;
    range->low = low;
    range->high = high;
    range->about.unwatched_bytes = (low > start ? low - start : 0) + (high < end ? end - high : 0);
}

// --- Programs whose system calls glint does not see ----------------------------------------------

const char *guard_find_obstacle(void)
{
    const char *given_up = guard_given_up();
    if (given_up)
        return given_up;
    if (!guard_is_asked())
        return "libglint-sync.so is not loaded";
    if (!guard_state.protects && guard_pager_refused())
        return guard_pager_refused();
    if (guard_libraries_have_mpi() && !atomic_load(&guard_state.outer_mpi))
        return "MPI is loaded, but the recorded executable is not linked with it: record the "
               "program itself, not its launcher";
    return guard_readers_find();
}
