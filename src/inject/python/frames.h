// SPDX-License-Identifier: Apache-2.0
// Walks the Python frames of the calling thread.
#ifndef GLINT_INJECT_PYTHON_FRAMES_H
#define GLINT_INJECT_PYTHON_FRAMES_H

#include "layout.h"
#include "read.h"

enum { PYTHON_FRAMES_MOST = 128 };

struct python_frame {
    uint64_t code;   // its code object
    uint32_t offset; // of the current instruction, in bytes; EVENT_PYTHON_START: before the first
    bool entry;      // a frame of C runs it and the frames inside of it, up to the next entry
};

struct python_walk {
    uint32_t depth;
    bool truncated;                                 // there were more frames
    struct python_frame frames[PYTHON_FRAMES_MOST]; // innermost first
};

// Walks the frames of the thread with this state. With a window, reads through it, whatever is
// there, and changes errno. Without one, reads directly: the state must be the calling thread's,
// the layout right, and no other thread may end the interpreter meanwhile. Returns false if the
// frames could not be read, or make no sense.
bool python_walk(const struct python_layout *layout, uint64_t state, struct python_window *window,
                 struct python_walk *walk);

#endif
