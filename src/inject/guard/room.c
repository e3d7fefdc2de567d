// SPDX-License-Identifier: Apache-2.0
// Whether a thread's stack has room for a signal. A coroutine's stack may be a small part of some
// other memory, and what lies below it is then overwritten. So only stacks whose end is known
// count: that of the first thread, which the system extends, and mappings with an inaccessible one
// below, as the C library and many others make them.
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "kernel.h"

#ifndef AT_MINSIGSTKSZ // newer than some systems' headers
#define AT_MINSIGSTKSZ 51
#endif

struct area { // a mapping
    uint64_t low, high;
    bool accessible, first; // first: it is the stack of the first thread
};

static const char first_name[] = "[stack]";

// --- By a query, from Linux 6.11 on --------------------------------------------------------------

struct query { // struct procmap_query, newer than many systems' headers
    uint64_t size, flags, address;
    uint64_t low, high, access, page_bytes, offset, inode;
    uint32_t major, minor, name_bytes, build_id_bytes;
    uint64_t name, build_id;
};
#define IOC_QUERY _IOWR('f', 17, struct query)

static long query_area(long file, uint64_t address, struct area *area)
{
    enum { READ_WRITE_EXECUTE = 7 };
    char name[64] = "";
    struct query query = {.size = sizeof(query),
                          .address = address,
                          .name_bytes = sizeof(name),
                          .name = (uint64_t)(uintptr_t)name};
    long result = guard_system_call(SYS_ioctl, file, IOC_QUERY, (long)(uintptr_t)&query, 0);
    if (result == -ENAMETOOLONG) { // it is a file
        query.name_bytes = 0;
        query.name = 0;
        result = guard_system_call(SYS_ioctl, file, IOC_QUERY, (long)(uintptr_t)&query, 0);
    }
    *area = (struct area){query.low, query.high, query.access & READ_WRITE_EXECUTE,
                          strcmp(name, first_name) == 0};
    return result;
}

// --- By reading the list -------------------------------------------------------------------------

struct list { // the text of /proc/self/maps
    long file;
    size_t at, got;
    char text[4096];
};

// Reads the next line; what does not fit is left out. Returns false at the end.
static bool read_line(struct list *list, char *line, size_t room)
{
    size_t length = 0;
    for (;;) {
        if (list->at == list->got) {
            const long got = guard_system_call(SYS_read, list->file, (long)(uintptr_t)list->text,
                                               sizeof(list->text), 0);
            if (got <= 0)
                return false;
            list->got = (size_t)got;
            list->at = 0;
        }
        const char next = list->text[list->at++];
        if (next == '\n')
            break;
        if (length + 1 < room)
            line[length++] = next;
    }
    line[length] = '\0';
    return true;
}

// "LOW-HIGH rw-p ...".
static long find_area(long file, uint64_t address, struct area *area)
{
    struct list list = {.file = file};
    char line[256], *rest;
    guard_system_call(SYS_lseek, file, 0, SEEK_SET, 0);
    while (read_line(&list, line, sizeof(line))) {
        area->low = strtoull(line, &rest, 16);
        area->high = *rest ? strtoull(rest + 1, &rest, 16) : 0;
        area->accessible = strncmp(rest, " ---", 4) != 0;
        area->first = strstr(rest, first_name) != NULL;
        if (address >= area->low && address < area->high)
            return 0;
    }
    return -ENOENT;
}

static bool look_up(long file, uint64_t address, struct area *area)
{
    const long result = query_area(file, address, area);
    return (result == -ENOTTY ? find_area(file, address, area) : result) == 0;
}

// --- Both ----------------------------------------------------------------------------------------

static bool may_grow(const struct area *area, uint64_t to)
{
    struct rlimit limit;
    return guard_system_call(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)(uintptr_t)&limit) == 0 &&
           area->high - to <= limit.rlim_cur;
}

bool guard_has_room(uint64_t sp)
{
    enum { HANDLER_BYTES = 16 << 10, FRAME_BYTES = 4 << 10 };
    static const char path[] = "/proc/self/maps";
    const uint64_t frame = getauxval(AT_MINSIGSTKSZ);
    const uint64_t end = sp - HANDLER_BYTES - (frame > FRAME_BYTES ? frame : FRAME_BYTES);
    const long file =
        guard_system_call(SYS_openat, AT_FDCWD, (long)(uintptr_t)path, O_RDONLY | O_CLOEXEC, 0);
    struct area stack, below;
    if (file < 0)
        return false;
    const bool good = look_up(file, sp, &stack) &&
                      (stack.first ? end >= stack.low || may_grow(&stack, end)
                                   : end >= stack.low && look_up(file, stack.low - 1, &below) &&
                                         !below.accessible);
    guard_system_call(SYS_close, file, 0, 0, 0);
    return good;
}
