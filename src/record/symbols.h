// SPDX-License-Identifier: Apache-2.0
// Converts addresses in executables and libraries to functions and source lines, including inlined
// functions. Reads files with libdw and never uses the network. Used by one thread.
#ifndef GLINT_RECORD_SYMBOLS_H
#define GLINT_RECORD_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_symbols;
struct record_python_code;

// debug_folder contains debug files by build id (".build-id/ab/cdef....debug"); NULL means
// "/usr/lib/debug". Returns NULL if memory ran out.
struct record_symbols *record_symbols_create(const char *debug_folder);
void record_symbols_destroy(struct record_symbols *symbols);

// Returns a number for the image, the same one for the same path and build id; build_id_bytes may
// be 0. Returns 0 if memory ran out. Does not open the file.
uint32_t record_symbols_image(struct record_symbols *symbols, const char *path, size_t path_bytes,
                              const unsigned char *build_id, size_t build_id_bytes);

// Frames of the image get the names of symbols, no lines and no inlined functions. Its debug
// information, which takes long to read, is not.
void record_symbols_names_only(struct record_symbols *symbols, uint32_t image);

enum record_symbols_status {
    RECORD_SYMBOLS_FOUND = 0,
    RECORD_SYMBOLS_NO_FILE, // it cannot be read, or is not an executable or library
    RECORD_SYMBOLS_CHANGED, // its build id is not that of the image that ran, so it is not used
};

struct record_symbols_frame {
    const char *function; // C++ names demangled; NULL: unknown
    uint64_t offset; // from the start of the function that is not inlined; if that is unknown, from
                     // the start of the image
    const char *file;      // NULL: unknown
    const char *folder;    // in which the compiler ran, where relative files are; NULL: unknown
    uint32_t line, column; // 0: unknown. nvcc compiles a copy of the source, which has no columns
    bool inlined;          // into the next frame's function
    // Of Python code, in place of an address: it is in session.h. NULL: of machine code.
    const struct record_python_code *code;
    uint32_t code_offset; // of the instruction
    int64_t built_s;      // when the image's file was last written, seconds since 1970; 0: unknown
};

struct record_symbols_place {
    enum record_symbols_status status;
    uint32_t count;                            // at least one
    const struct record_symbols_frame *frames; // innermost first
};

// Returns the functions and lines of the call before a return address, given as an address in the
// file (the address in memory minus the image's bias). Returns NULL if memory ran out. The result
// is valid until the next call.
const struct record_symbols_place *record_symbols_find(struct record_symbols *symbols,
                                                       uint32_t image, uint64_t return_address);

// Opens the image's file, unless it is open. Returns NULL if it cannot be used. The result, libdw's
// Dwfl_Module, is valid until the next call. Addresses in it are those in the file.
struct Dwfl_Module;
struct Dwfl_Module *record_symbols_module(struct record_symbols *symbols, uint32_t image);

// Returns the symbol of the function that the address is in, as record_functions_find.
const char *record_symbols_function(struct record_symbols *symbols, uint32_t image,
                                    uint64_t address, uint64_t *offset, unsigned *type);

#endif
