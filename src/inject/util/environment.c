// SPDX-License-Identifier: Apache-2.0
// Another thread may change the environment meanwhile, and free what it consisted of. So getenv
// could end the program. The kernel copies the bytes instead, as it does for a debugger, and fails
// where there are none. A sandbox may forbid that; then no variable is found.
#include "environment.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 }; // or a part of a larger page

// Returns how many bytes were copied: as many as there are in the page, up to `room`.
static size_t copy(const void *from, void *to, size_t room)
{
    const size_t left = PAGE_BYTES - (uintptr_t)from % PAGE_BYTES;
    struct iovec there = {(void *)(uintptr_t)from, left < room ? left : room};
    const struct iovec here = {to, there.iov_len};
    const long got = syscall(SYS_process_vm_readv, getpid(), &here, 1UL, &there, 1UL, 0UL);
    return got > 0 ? (size_t)got : 0;
}

// Copies a text with its NUL. Returns false if it is longer than the room.
static bool copy_text(const char *from, char *to, size_t room)
{
    while (room) {
        const size_t got = copy(from, to, room);
        if (!got || memchr(to, '\0', got))
            return got;
        from += got;
        to += got;
        room -= got;
    }
    return false;
}

bool util_environment(const char *name, char *value, size_t room)
{
    enum { MOST = 1 << 16 };
    char start[128];
    const size_t length = strlen(name);
    char **at = __atomic_load_n(&environ, __ATOMIC_RELAXED);
    for (unsigned i = 0; at && i < MOST && length + 1 < sizeof(start); i++, at++) {
        const char *variable;
        if (copy(at, &variable, sizeof(variable)) != sizeof(variable) || !variable)
            return false;
        // A variable near the end of a page is read in two pieces.
        size_t got = copy(variable, start, length + 1);
        if (got && got <= length)
            got += copy(variable + got, start + got, length + 1 - got);
        if (got == length + 1 && memcmp(start, name, length) == 0 && start[length] == '=')
            return copy_text(variable + length + 1, value, room);
    }
    return false;
}
