// SPDX-License-Identifier: Apache-2.0
// A library that hands memory to the system: by the C library's function, and by an instruction of
// its own, as libraries for io_uring and RDMA do. readers.c opens it in several ways, and under the
// names of several libraries.
#include <sys/syscall.h>
#include <unistd.h>

#include "readers.h"

#define SHOWN __attribute__((visibility("default")))

SHOWN long plugin_write(int file, const void *from, unsigned long bytes);
SHOWN long plugin_write_itself(int file, const void *from, unsigned long bytes);

long plugin_write(int file, const void *from, unsigned long bytes)
{
    return write(file, from, bytes);
}

long plugin_write_itself(int file, const void *from, unsigned long bytes)
{
    return own_system(SYS_write, file, (long)from, (long)bytes, 0);
}
