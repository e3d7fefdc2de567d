// SPDX-License-Identifier: Apache-2.0
// Python code of the recorded program: which line an instruction belongs to, and where Python
// frames belong among the return addresses of a call path. Pure functions.
#ifndef GLINT_RECORD_PYTHON_H
#define GLINT_RECORD_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "symbols.h"

struct record_python_code { // as recorded
    const char *file, *name;
    const unsigned char *lines;
    uint32_t lines_bytes, first_line;
    uint32_t format; // enum event_lines
    int64_t seen_s;  // when it was first seen, seconds since 1970
};

struct record_python_place {
    uint32_t line;       // 0: Python itself has none for this instruction, or it is unknown
    uint32_t column;     // from 1, in bytes of the line; 0: unknown
    uint32_t end_line;   // of the expression; 0: unknown
    uint32_t end_column; // behind it, from 1; 0: unknown
};

// Finds the place of the instruction at the offset in bytes (or EVENT_PYTHON_START). The table may
// hold anything.
struct record_python_place record_python_find(const struct record_python_code *code,
                                              uint32_t offset);

// Returns whether the function, of a return address, runs Python code.
bool record_python_runs(const char *function);

// Says how Python frames are merged into a path. native[i] says that return address i is in a
// function that runs Python code, entry[i] that a frame of C runs Python frame i and those inside
// of it. Both are innermost first. For i up to native_count, before[i] becomes the number of Python
// frames, from the innermost, that precede return address i; before[native_count] is python_count.
// If the functions do not match the frames, all Python frames take the place of the innermost such
// function, or precede all if there is none.
void record_python_merge(const bool *native, size_t native_count, const bool *entry,
                         size_t python_count, bool truncated, size_t *before);

#endif
