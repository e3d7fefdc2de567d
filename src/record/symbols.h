// SPDX-License-Identifier: Apache-2.0
// From an address in an executable or library to the functions and source lines that it stands for,
// inlined ones too. Reads files with libdw; asks no network. One thread.
#ifndef GLINT_RECORD_SYMBOLS_H
#define GLINT_RECORD_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_symbols;

// debug_folder is where debug files lie by build id (".build-id/ab/cdef....debug"), NULL:
// "/usr/lib/debug". NULL when memory ran out.
struct record_symbols *record_symbols_create(const char *debug_folder);
void record_symbols_destroy(struct record_symbols *symbols);

// A number for the image, the same for the same path and build id (build_id_bytes may be 0); 0:
// memory ran out. Nothing is opened yet.
uint32_t record_symbols_image(struct record_symbols *symbols, const char *path, size_t path_bytes,
                              const unsigned char *build_id, size_t build_id_bytes);

enum record_symbols_status {
    RECORD_SYMBOLS_FOUND = 0,
    RECORD_SYMBOLS_NO_FILE, // it cannot be read, or is no executable or library
    RECORD_SYMBOLS_CHANGED, // it has another build id than what ran: nothing is said of its
                            // functions
};

struct record_symbols_frame {
    const char *function; // C++ names demangled; NULL: not known
    uint64_t offset;  // of the address from the start of the function that is not inlined; where
                      // none is known, from the start of the image
    const char *file; // NULL: not known
    uint32_t line, column; // 0: not known. nvcc compiles a copy of the source: no columns then
    bool inlined;          // into the next frame's function
    int64_t built_s; // when the image's file was last written, seconds since 1970; 0: not known
};

struct record_symbols_place {
    enum record_symbols_status status;
    uint32_t count;                            // at least one
    const struct record_symbols_frame *frames; // innermost first
};

// What a return address stands for, as an address in the file (the one in memory less the image's
// bias): the call is before it. NULL when memory ran out. Valid until the next call.
const struct record_symbols_place *record_symbols_find(struct record_symbols *symbols,
                                                       uint32_t image, uint64_t return_address);

#endif
