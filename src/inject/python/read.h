// SPDX-License-Identifier: Apache-2.0
// Reads memory of this process that may not be there, with a system call that fails instead of
// raising a signal.
#ifndef GLINT_INJECT_PYTHON_READ_H
#define GLINT_INJECT_PYTHON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

// Returns whether all bytes could be read. Changes errno.
bool python_read(uint64_t address, void *out, size_t bytes);

// Reads the pieces, at most IOV_MAX, one behind the other.
bool python_read_pieces(const struct iovec *pieces, size_t count, void *out, size_t bytes);

// The memory that was read last. Structures that are neighbours in one page are read at once.
struct python_window {
    uint64_t start;
    size_t bytes;
    _Alignas(8) unsigned char data[2048];
};

// Returns the bytes there, at most the window's size, valid until the next call; NULL: they cannot
// be read. Changes errno.
const unsigned char *python_look(struct python_window *window, uint64_t address, size_t bytes);

#endif
