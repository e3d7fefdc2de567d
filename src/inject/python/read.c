// SPDX-License-Identifier: Apache-2.0
// process_vm_readv of the own process needs no permission. Where a sandbox forbids it, nothing can
// be read.
#include "read.h"

#include <sys/syscall.h>
#include <unistd.h>

bool python_read_pieces(const struct iovec *pieces, size_t count, void *out, size_t bytes)
{
    const struct iovec to = {out, bytes};
    return syscall(SYS_process_vm_readv, getpid(), &to, 1UL, pieces, count, 0UL) == (long)bytes;
}

bool python_read(uint64_t address, void *out, size_t bytes)
{
    const struct iovec from = {(void *)(uintptr_t)address,
                               bytes}; // NOLINT(performance-no-int-to-ptr)
    return python_read_pieces(&from, 1, out, bytes);
}

const unsigned char *python_look(struct python_window *window, uint64_t address, size_t bytes)
{
    enum { PAGE = 4096 }; // or a part of a larger page
    if (window->bytes >= bytes && address >= window->start &&
        address - window->start <= window->bytes - bytes)
        return window->data + (address - window->start);
    if (bytes > sizeof(window->data) || address > UINT64_MAX - bytes)
        return NULL;
    // Frames lie behind those of their callers, which are read next.
    const uint64_t end = address + bytes, page = address & ~(uint64_t)(PAGE - 1);
    uint64_t start = end > sizeof(window->data) ? end - sizeof(window->data) : 0;
    if (end > page + PAGE)
        start = address;
    else if (start < page)
        start = page;
    window->start = start;
    window->bytes = end - start;
    if (python_read(start, window->data, window->bytes))
        return window->data + (address - start);
    window->bytes = 0;
    return NULL;
}
