// SPDX-License-Identifier: Apache-2.0
// Code objects as numbers: equal code has an equal number. What the recorder needs of one, which is
// its file, its name and its table of lines, is copied and recorded when it is first seen. When it
// is seen again, it is compared with the copy, because Python may have freed it and made another at
// the same place.
#ifndef GLINT_INJECT_PYTHON_CODES_H
#define GLINT_INJECT_PYTHON_CODES_H

#include <stdatomic.h>

#include "event/event.h"
#include "frames.h"
#include "layout.h"

struct python_types { // addresses of type objects
    uint64_t code, bytes, text;
};

enum python_codes_answer {
    PYTHON_CODES_UNKNOWN = 0, // it cannot be read, or there is no room
    PYTHON_CODES_OTHER,       // an object of another type
    PYTHON_CODES_KNOWN,
};

struct python_codes;

// Makes a table, with memory directly from the system; NULL: out of memory. numbers: the last
// number that was given to code; shared by all tables of the process.
struct python_codes *python_codes_make(bool scarce, _Atomic uint32_t *numbers);
void python_codes_free(struct python_codes *codes);

// What was recalled last in a walk, because the next frames are often of the same code or file.
// Begins with zeros.
struct python_recalled {
    uint64_t code, file, file_hash;
    uint32_t number;
};

// Returns whether the table knows the code object at the address, recorded and unchanged; its
// number is then last->number. Reads it directly: it must be that of a frame of the calling thread.
bool python_codes_recall(struct python_codes *codes, const struct python_layout *layout,
                         uint64_t code, struct python_recalled *last);

// Sets the numbers of all frames' code, with few system calls and without direct reads. Those that
// it cannot answer become 0. Changes errno.
void python_codes_recall_all(struct python_codes *codes, const struct python_frame *frames,
                             uint32_t count, uint32_t *numbers);

// Reads the code object, with system calls, and records it if it is new. Changes errno.
enum python_codes_answer python_codes_learn(struct python_codes *codes,
                                            const struct python_layout *layout,
                                            const struct python_types *types,
                                            struct event_ring *ring, uint64_t code,
                                            uint32_t *number);

// Finds the types by a code object. Returns whether it is one, with texts and a table of lines
// where the layout says. Reads with system calls. Changes errno.
bool python_codes_types(const struct python_layout *layout, uint64_t code,
                        struct python_types *types);

#endif
