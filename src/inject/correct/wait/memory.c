// SPDX-License-Identifier: Apache-2.0
// Memory that is closed while something is owed. Memory that the program shares with the GPU stays
// closed until the omitted waits have been made up for. Pageable memory to which data is owed stays
// closed until the data is delivered. This uses guard's ranges: such a range has `owed` set, and
// struct correct_memory has what is owed there.
//
// A thread that touches such memory waits in a signal handler, or in a function of the C library.
// So nothing here calls the driver, and no lock is held while waiting. Data is delivered into pages
// that are still closed, or moved away, so that no thread ever sees half of it.
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "inject/guard/closing.h"
#include "inject/guard/kernel.h"
#include "inject/guard/memory.h"
#include "inject/guard/pager.h"
#include "inject/guard/ranges.h"
#include "inject/guard/signals.h"
#include "inject/guard/system.h"
#include "inject/guard/worth.h"
#include "owed.h"

// --- Writing to closed pages ---------------------------------------------------------------------

static bool write_memory(uint64_t to, const char *from, uint64_t bytes)
{
    static const char path[] = "/proc/self/mem";
    const long file =
        guard_system_call(SYS_openat, AT_FDCWD, (long)(uintptr_t)path, O_WRONLY | O_CLOEXEC, 0);
    if (file < 0)
        return false;
    while (bytes) {
        const long wrote =
            guard_system_call(SYS_pwrite64, file, (long)(uintptr_t)from, (long)bytes, (long)to);
        if (wrote == -EINTR)
            continue;
        if (wrote <= 0)
            break;
        to += (uint64_t)wrote;
        from += wrote;
        bytes -= (uint64_t)wrote;
    }
    guard_system_call(SYS_close, file, 0, 0, 0);
    return !bytes;
}

// The fast way, for large data: moves the pages away from the closed mapping, fills them, and moves
// them back with access allowed, which is one atomic step for other threads. Returns false if the
// data has not been delivered and must be written.
static bool move_and_fill(const struct guard_range *range, const char *from)
{
    enum { LEAST_BYTES = 64 << 10 };
    const long low = (long)range->low, bytes = (long)(range->high - range->low);
    if (range->width < LEAST_BYTES)
        return false;
    const long away =
        guard_system_call6(SYS_mremap, low, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0, 0);
    if (away <= 0)
        return false;
    char *pages = (char *)away; // NOLINT(performance-no-int-to-ptr)
    const bool fills = guard_system_call(SYS_mprotect, away, bytes, PROT_READ | PROT_WRITE, 0) == 0;
    if (fills)
        memcpy(pages + (range->start - range->low), from, range->width);
    if (guard_system_call6(SYS_mremap, away, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, low, 0) ==
        low)
        return fills;
    guard_system_call(SYS_mprotect, away, bytes, PROT_READ | PROT_WRITE, 0);
    const bool wrote = write_memory(range->low, pages, (uint64_t)bytes);
    if (wrote)
        guard_system_call(SYS_munmap, away, bytes, 0, 0);
    return wrote && fills;
}

// Pages that the pager has moved away are filled where they are kept.
static bool deliver_away(const struct guard_range *range, const char *from)
{
    return range->paged && guard_pager_write(range->start, from, range->width);
}

static bool can_write_closed(void)
{
    const size_t bytes = guard_page_bytes();
    char *page = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    bool good = write_memory((uint64_t)(uintptr_t)page, "glint", 5) &&
                mprotect(page, bytes, PROT_READ) == 0 && memcmp(page, "glint", 5) == 0;
    munmap(page, bytes);
    return good;
}

static const char *find_obstacle(void)
{
    const char *why = guard_find_obstacle();
    if (!why && !can_write_closed())
        why = "/proc/self/mem cannot be written";
    if (!why && !guard_take_signal())
        why = "SIGSEGV is blocked";
    return why;
}

static void say_impossible(const char *why)
{
    char text[512];
    snprintf(text, sizeof(text), "no waits or copies are corrected: %s", why);
    core_note(EVENT_WARNING, text);
}

bool correct_memory_ready(void)
{
    // A child of fork does not use its parent's state.
    if (correct_state.memory.made_by != core_state.generation) {
        memset(&correct_state.memory, 0, sizeof(correct_state.memory));
        correct_state.memory.made_by = core_state.generation;
    }
    if (!correct_state.memory.asked) {
        correct_state.memory.asked = true;
        guard_memory_start();
        guard_state.table.since_ns = core_now_ns();
        correct_state.memory.pageable_access =
            core_driver_devices_have(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
        correct_state.memory.drivers_touch = core_state.simulated;
        const char *why = correct_state.memory.pageable_access
                              ? "the GPU reaches all memory by page tables (pageableMemoryAccess)"
                              : find_obstacle();
        correct_state.memory.possible = !why;
        if (why)
            say_impossible(why);
    } else if (correct_state.memory.possible && (guard_given_up() || !guard_has_signal())) {
        correct_state.memory.possible = false;
        say_impossible(guard_given_up() ? guard_given_up()
                                        : "the program has replaced glint's SIGSEGV handler");
    }
    return correct_state.memory.possible && !atomic_load(&correct_state.memory.touched);
}

// --- Touching ------------------------------------------------------------------------------------

bool correct_is_data_owed(void)
{
    return atomic_load(&correct_state.memory.data);
}

static unsigned place_of(const struct guard_range *range)
{
    return (unsigned)(range - guard_state.table.ranges);
}

static struct guard_range *find_owed(uint64_t low, uint64_t high, bool data_only)
{
    struct guard_range *found = NULL;
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && range->owed && range->low < high && low < range->high &&
            (!data_only || correct_state.memory.owed[place_of(range)].block) &&
            (!found || range->age < found->age))
            found = range;
    }
    return found;
}

// Opens the range's pages, with the data in them; or unchanged, if the data is dropped or the GPU
// has failed.
static void end_range(struct guard_range *range, bool deliver)
{
    const unsigned place = place_of(range);
    struct correct_stage *block = correct_state.memory.owed[place].block;
    const bool late = deliver && block &&
                      !correct_mark_failed(correct_state.memory.owed[place].mark) &&
                      !deliver_away(range, block->memory) && !move_and_fill(range, block->memory) &&
                      !write_memory(range->start, block->memory, range->width);
    guard_end(range);
    if (late) // another thread may see half of it, which is better than none
        memcpy((void *)(uintptr_t)range->start, block->memory, range->width); // NOLINT
    if (!block)
        return;
    // The GPU may still write to the block until the mark.
    correct_stage_leave(block, correct_state.memory.owed[place].mark);
    atomic_fetch_sub(&correct_state.memory.data, 1);
}

// Returns whether the work that the range waits for is done. Needs the lock.
static bool is_due(const struct guard_range *range)
{
    const unsigned place = place_of(range);
    return correct_state.memory.owed[place].block
               ? correct_mark_reached(correct_state.memory.owed[place].mark)
               : !correct_is_owed();
}

bool correct_touch(uint64_t low, uint64_t high)
{
    bool any = false, waits = false;
    if (!correct_state.on || !guard_may_be_closed(low, high))
        return false;
    guard_lock();
    for (struct guard_range *range; (range = find_owed(low, high, false)) != NULL;) {
        const struct correct_mark mark = correct_state.memory.owed[place_of(range)].mark;
        const bool data = correct_state.memory.owed[place_of(range)].block != NULL;
        any = true;
        if (is_due(range)) {
            end_range(range, true);
            continue;
        }
        guard_unlock();
        if (!waits) // no more may be owed meanwhile, or this might never end
            atomic_fetch_add(&correct_state.memory.touched, 1);
        waits = true;
        if (data)
            correct_mark_await(mark);
        else
            correct_owed_await();
        guard_lock();
    }
    guard_unlock();
    if (waits)
        atomic_fetch_sub(&correct_state.memory.touched, 1);
    return any;
}

void correct_memory_gone(uint64_t low, uint64_t high)
{
    guard_lock();
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && range->owed && range->low >= low && range->high <= high)
            end_range(range, false);
    }
    guard_unlock();
    correct_touch(low, high); // ranges that are affected only in part
}

void correct_block_gone(uint64_t start)
{
    guard_lock();
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && range->owed && range->start == start)
            end_range(range, false);
    }
    guard_unlock();
}

void correct_forget_data(uint64_t low, uint64_t high)
{
    guard_lock();
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && range->owed &&
            correct_state.memory.owed[place_of(range)].block && range->start >= low &&
            range->start + range->width <= high)
            end_range(range, false);
    }
    guard_unlock();
}

bool correct_deliver_oldest(void)
{
    guard_lock();
    const struct guard_range *range = find_owed(0, UINT64_MAX, true);
    const uint64_t low = range ? range->low : 0, high = range ? range->high : 0;
    guard_unlock();
    return high && correct_touch(low, high);
}

// --- Closing -------------------------------------------------------------------------------------

static bool has_room(void)
{
    for (EACH_GUARD_RANGE(range))
        if (range->state == GUARD_FREE)
            return true;
    return guard_state.table.top < GUARD_RANGES;
}

static void describe(struct guard_range *range, uint64_t start, uint64_t bytes)
{
    range->start = start;
    range->rows = 1;
    range->width = range->pitch = bytes;
    range->about.bytes = bytes;
    range->reported = range->owed = true; // no first use of it is recorded
}

// Finds all pages of the data. The first and last page of pinned memory may also hold other pinned
// memory, which is then closed, too.
static bool find_pages(struct guard_range *range, uint8_t kind, const struct core_call *call)
{
    const uint64_t page = guard_page_bytes();
    if (kind != EVENT_OBJECT_PINNED) {
        guard_find_pages(range, kind, call->caller.sp);
        return range->high && !range->about.unwatched_bytes;
    }
    range->low = range->start & ~(page - 1);
    range->high = (range->start + range->width + page - 1) & ~(page - 1);
    return true;
}

// Needs the table's lock.
static bool close_new(uint64_t start, uint64_t bytes, uint8_t kind, struct correct_stage *block,
                      struct correct_mark mark, const struct core_call *call)
{
    if (!has_room() || correct_has_stopped()) // a thread that stops corrections delivers later,
                                              // with this lock held
        return false;
    struct guard_range *range = guard_new();
    describe(range, start, bytes);
    correct_state.memory.owed[place_of(range)].block = NULL;
    if (!find_pages(range, kind, call)) {
        guard_drop(range);
        return false;
    }
    if (!guard_close(range)) {
        if (range->state != GUARD_FREE)
            guard_end(range);
        return false;
    }
    correct_state.memory.owed[place_of(range)].block = block;
    correct_state.memory.owed[place_of(range)].mark = mark;
    return true;
}

bool correct_can_owe_data(uint64_t to, uint64_t bytes, const struct core_call *call)
{
    struct guard_range range = {0};
    correct_lock();
    const bool ready = correct_memory_ready(); // before the first query about pages
    correct_unlock();
    describe(&range, to, bytes);
    return ready && find_pages(&range, 0, call);
}

bool correct_owe_data(uint64_t to, uint64_t bytes, struct correct_stage *block,
                      struct correct_mark mark, const struct core_call *call)
{
    atomic_store(&block->use, STAGE_OWED);
    guard_lock();
    const bool good = close_new(to, bytes, 0, block, mark, call);
    if (good)
        atomic_fetch_add(&correct_state.memory.data, 1);
    guard_unlock();
    return good;
}

// --- What the program shares with the GPU --------------------------------------------------------

// Pinned pages cannot be moved away. On the simulated GPU, which is for tests, there is no note.
static bool is_pinned_in_the_way(void)
{
    if (!correct_state.memory.shared_count || guard_state.protects)
        return false;
    if (!correct_state.memory.said_pinned && !core_state.simulated)
        core_note(EVENT_WARNING, "waits are not corrected while the program has pinned memory, "
                                 "which cannot be watched safely (--protect-pages)");
    correct_state.memory.said_pinned = true;
    return true;
}

static void list_shared(const struct core_call *call)
{
    if (correct_state.memory.listed &&
        correct_state.memory.changes == atomic_load(&core_state.objects.host_changes))
        return;
    correct_state.memory.shared_count =
        core_objects_of_host(&core_state.objects, correct_state.memory.shared, CORRECT_SHARED,
                             &correct_state.memory.changes);
    correct_state.memory.unclosable =
        correct_state.memory.shared_count > CORRECT_SHARED ||
        (correct_state.memory.shared_count && correct_state.memory.drivers_touch) ||
        is_pinned_in_the_way();
    for (size_t i = 0; i < correct_state.memory.shared_count && !correct_state.memory.unclosable;
         i++) {
        const struct core_object *object = &correct_state.memory.shared[i];
        struct guard_range range = {0};
        describe(&range, object->start, object->bytes);
        correct_state.memory.unclosable = object->kind == EVENT_OBJECT_MANAGED ||
                                          object->kind == EVENT_OBJECT_IMPORTED ||
                                          !find_pages(&range, object->kind, call);
    }
    if (correct_state.memory.unclosable)
        correct_state.memory.shared_count = 0;
    correct_state.memory.listed = true;
}

static bool is_closed(const struct core_object *object)
{
    for (EACH_GUARD_RANGE(range))
        if (range->state == GUARD_ARMED && range->owed && !range->open &&
            range->start == object->start && range->width == object->bytes &&
            !correct_state.memory.owed[place_of(range)].block)
            return true;
    return false;
}

bool correct_close_shared(const struct core_call *call)
{
    list_shared(call);
    bool good = !correct_state.memory.unclosable;
    if (!correct_state.memory.shared_count)
        return good;
    guard_lock();
    for (size_t i = 0; good && i < correct_state.memory.shared_count; i++)
        good =
            is_closed(&correct_state.memory.shared[i]) ||
            (!guard_is_too_slow() &&
             close_new(correct_state.memory.shared[i].start, correct_state.memory.shared[i].bytes,
                       correct_state.memory.shared[i].kind, NULL, (struct correct_mark){0}, call));
    guard_unlock();
    return good;
}
