// SPDX-License-Identifier: Apache-2.0
// One walk for all versions. In 3.9 and 3.10 frames are objects with an index of the instruction;
// later they are structures with a pointer into the code object, which lie behind one another or,
// of generators, in objects. Some of these have no code but stand for a frame of C.
#include "frames.h"

#include <string.h>

enum { OWNED_BY_GENERATOR = 1, STEPS_MOST = 4 * PYTHON_FRAMES_MOST };

static inline const unsigned char *look(struct python_window *window, uint64_t address,
                                        size_t bytes)
{
    return window ? python_look(window, address, bytes)
                  : (const unsigned char *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

static inline uint64_t word_at(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

static inline uint32_t half_at(const unsigned char *bytes)
{
    uint32_t half;
    memcpy(&half, bytes, sizeof(half));
    return half;
}

static inline bool read_word(struct python_window *window, uint64_t address, uint64_t *word)
{
    const unsigned char *bytes = look(window, address, sizeof(*word));
    if (bytes)
        *word = word_at(bytes);
    return bytes;
}

static inline bool is_plausible(uint64_t address)
{
    return address >= 4096 && address % 8 == 0 && address < UINT64_C(1) << 56;
}

// Returns the offset of the instruction that the frame is at. A frame that has not begun has an
// index of -1, or points before its code.
static inline uint32_t offset_of(const struct python_layout *layout, const unsigned char *head,
                                 uint64_t code)
{
    const uint64_t offset =
        layout->index_bytes
            ? (uint64_t)(int64_t)(int32_t)half_at(head + layout->instruction) * layout->index_bytes
            : word_at(head + layout->instruction) - (code + layout->instructions);
    return offset < EVENT_PYTHON_START ? (uint32_t)offset : EVENT_PYTHON_START;
}

// Returns whether the frame is still being made. Only the innermost one can be, and Python does not
// show it.
static bool is_unfinished(const struct python_layout *layout, struct python_window *window,
                          const struct python_frame *frame, uint8_t owner)
{
    if (!layout->traceable || owner == OWNED_BY_GENERATOR)
        return false;
    const unsigned char *first = look(window, frame->code + layout->traceable, sizeof(uint32_t));
    return frame->offset == EVENT_PYTHON_START ||
           (first && (int64_t)frame->offset / 2 < (int64_t)(int32_t)half_at(first));
}

static inline __attribute__((always_inline)) bool walk_frames(const struct python_layout *layout,
                                                              uint64_t frame,
                                                              struct python_window *window,
                                                              struct python_walk *walk)
{
    const size_t bytes = python_layout_frame_bytes(layout);
    bool first = true;
    for (unsigned i = 0; frame; i++) {
        if (i == STEPS_MOST || walk->depth == PYTHON_FRAMES_MOST) {
            walk->truncated = true;
            break;
        }
        const unsigned char *head = is_plausible(frame) ? look(window, frame, bytes) : NULL;
        if (!head)
            return false;
        const uint8_t owner = layout->owner ? head[layout->owner] : 0;
        const bool entry = layout->objects || (layout->entry && head[layout->entry]);
        const uint64_t caller = word_at(head + layout->previous);
        if (layout->owner_none && owner >= layout->owner_none) {
            if (walk->depth)
                walk->frames[walk->depth - 1].entry = true;
        } else {
            struct python_frame *here = &walk->frames[walk->depth];
            here->code = word_at(head + layout->code) & ~(uint64_t)3; // 3.14 has flags there
            if (!is_plausible(here->code))
                return false;
            here->offset = offset_of(layout, head, here->code);
            here->entry = entry;
            walk->depth += !first || !is_unfinished(layout, window, here, owner);
            first = false;
        }
        frame = caller;
    }
    return true;
}

bool python_walk(const struct python_layout *layout, uint64_t state, struct python_window *window,
                 struct python_walk *walk)
{
    uint64_t frame;
    walk->depth = 0;
    walk->truncated = false;
    if (!is_plausible(state) || !read_word(window, state + layout->frame, &frame))
        return false;
    if (layout->indirect &&
        (!is_plausible(frame) || !read_word(window, frame + layout->frame_there, &frame)))
        return false;
    return window ? walk_frames(layout, frame, window, walk)
                  : walk_frames(layout, frame, NULL, walk);
}
