// SPDX-License-Identifier: Apache-2.0
// A library to preload behind libglint.so. Only SCARCE_MAPPINGS of libglint.so's mappings succeed;
// those of other callers always do, even if they pass through libglint.so's mmap.
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) void *mmap(void *address, size_t bytes, int protection,
                                                  int flags, int file, off_t offset)
{
    static _Atomic int made;
    Dl_info caller;
    const char *most = getenv("SCARCE_MAPPINGS");
    if (most && dladdr(__builtin_return_address(0), &caller) &&
        strstr(caller.dli_fname, "/libglint.so") &&
        !(caller.dli_sname && strcmp(caller.dli_sname, "mmap") == 0) &&
        atomic_fetch_add(&made, 1) >= atoi(most)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}
