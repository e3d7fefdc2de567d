// SPDX-License-Identifier: Apache-2.0
// The Python frames of the calling thread, in a program that runs CPython. Nothing of Python is
// linked, and its only function that is called is PyGILState_GetThisThreadState, which needs no
// lock.
#ifndef GLINT_INJECT_PYTHON_PYTHON_H
#define GLINT_INJECT_PYTHON_PYTHON_H

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "frames.h"

struct python; // an interpreter

enum python_kind {
    PYTHON_NONE = 0,
    PYTHON_FOUND,    // the image is an interpreter
    PYTHON_NAMELESS, // it has the name of one, but exports nothing
};

// Says whether the image is an interpreter. It must be on the calling thread's stack. Takes no
// lock.
enum python_kind python_recognize(const struct link_map *image, const char *path,
                                  uint32_t path_bytes);

// Prepares to read frames of the interpreter in the image, whose code must be on the calling
// thread's stack; NULL: out of memory. numbers: see codes.h.
struct python *python_make(const struct link_map *image, bool scarce, _Atomic uint32_t *numbers);
// Does the same for one whose memory looks like the layout, with a function that returns a thread's
// state. For tests.
struct python_layout;
struct python *python_make_of(const struct python_layout *layout, void *(*this_thread)(void),
                              _Atomic uint32_t *numbers);
void python_free(struct python *python);

// Fills the keys (event_python_frame) of the thread's frames, innermost first, and returns their
// number, at most PYTHON_FRAMES_MOST; 0: there are none, or they are unknown. The code is recorded
// before. The interpreter's image must be on the thread's stack. in_signal: the call comes from a
// signal handler, in which anything may be half done. Never waits, never uses the program's
// allocator, keeps errno.
//
// The first thread with frames checks that all of them fit the layout. If they do not, there is a
// note, and never a frame.
uint32_t python_frames(struct python *python, struct event_ring *ring, bool in_signal,
                       uint64_t keys[PYTHON_FRAMES_MOST], bool *truncated);

// Notes that an interpreter's frames are unknown, because it exports no symbols.
void python_note_nameless(struct event_ring *ring);

#endif
