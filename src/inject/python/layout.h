// SPDX-License-Identifier: Apache-2.0
// Where CPython keeps frames, code objects and texts, by version. Facts about memory, no access to
// it. 64-bit builds; the same on x86_64 and aarch64.
#ifndef GLINT_INJECT_PYTHON_LAYOUT_H
#define GLINT_INJECT_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

enum { PYTHON_OFFSETS_WORDS = 81 }; // of _Py_DebugOffsets that are used, at the start of _PyRuntime

// Offsets in bytes. 0 means that there is no such field, if the comment says so.
struct python_layout {
    uint8_t lines;                        // enum event_lines
    bool objects;                         // frames are Python objects, and a frame of C runs each
    uint16_t thread_id;                   // of a thread's state: its pthread_self()
    uint16_t frame;                       // the current frame; or the structure that leads to it
    bool indirect;                        // it is such a structure
    uint16_t frame_there;                 // the current frame in it
    uint16_t previous, code, instruction; // of a frame; the instruction is a pointer or an index
    uint8_t index_bytes; // by how many bytes an index counts; 0: the instruction is a pointer
    uint16_t owner;      // 0: frames have no owner
    uint16_t entry; // a byte, whether a frame of C begins with this frame; 0: the owner says it
    uint16_t type;  // of an object
    uint16_t first_line, filename, name, line_table; // of a code object
    uint16_t instructions;                           // 0: in an object of their own
    uint16_t traceable; // index of the first instruction that counts; 0: unknown
    uint16_t bytes_size, bytes_data;
    uint16_t text_length, text_state, text_ascii, text_data; // the hash lies behind the length
    uint8_t text_kind;                                       // first bit of the kind in the state
    // The owner of frames that have no code, which stand for frames of C, and greater numbers.
    uint8_t owner_none;
};

// What a frame's head occupies, from its start.
static inline size_t python_layout_frame_bytes(const struct python_layout *layout)
{
    const size_t ends[] = {layout->previous + 8u, layout->code + 8u, layout->instruction + 8u,
                           layout->owner + 1u, layout->entry + 1u};
    size_t most = 0;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        most = ends[i] > most ? ends[i] : most;
    return most;
}

// Fills the layout of version 3.MINOR, for 3.9 to 3.12. Returns false for others.
bool python_layout_of_version(unsigned minor, struct python_layout *layout);

// Does the same for 3.13 and 3.14, from the offsets that the interpreter has at the start of
// _PyRuntime. hex is Py_Version. Returns false if they are not the offsets of this version, are not
// plausible, or belong to a build without the global lock, whose code moves.
bool python_layout_of_offsets(uint32_t hex, const uint64_t words[PYTHON_OFFSETS_WORDS],
                              struct python_layout *layout);

#endif
