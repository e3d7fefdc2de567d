// SPDX-License-Identifier: Apache-2.0
// The executables and libraries on call paths: where they are mapped, their identity, and their
// unwind tables. An image becomes known when an address in it is looked up, and is recorded before
// the first call path through it.
#ifndef GLINT_INJECT_STACK_IMAGES_H
#define GLINT_INJECT_STACK_IMAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi.h"
#include "event/event.h"
#include "inject/python/python.h"

struct stack_images_image {
    struct event_image event;
    const char *path; // not NUL-terminated
    uint32_t path_bytes;
    bool hidden;        // not recorded: the kernel's vdso has no file
    bool is_executable; // for which the loader has no path
    bool stays;         // it is never unloaded
    uint8_t python;     // enum python_kind
    struct stack_cfi_tables cfi;
    const void *map_start, *map_end, *link_map, *eh_frame; // as the loader reports them
    const unsigned char *build_id;                         // in the image; NULL: none
    _Atomic bool ready, reported;
};

enum { IMAGES_MOST = 2048, IMAGES_PATH_BYTES = 256 << 10 };

// Zero-initialized. Any thread may use it, also in a signal handler, without locks.
struct stack_images {
    _Atomic uint32_t count, path_bytes; // may exceed the room
    struct stack_images_image image[IMAGES_MOST];
    char paths[IMAGES_PATH_BYTES];
};

// Returns the number (from 1) of the image whose code holds the address; 0: none, or there are too
// many. If another image takes the place of one that was unloaded, it gets a new number. Two
// threads that find a new image at the same time may each give it a number.
uint32_t stack_images_find(struct stack_images *images, uint64_t address);

// Returns whether the address is still in the image. The code there must be on the thread's stack,
// so that it cannot be unloaded meanwhile.
bool stack_images_is_at(const struct stack_images *images, uint32_t number, uint64_t address);

static inline const struct stack_images_image *stack_images_at(const struct stack_images *images,
                                                               uint32_t number)
{
    return &images->image[number - 1];
}

// Records the image, unless it was recorded before. Returns false if the ring is full.
bool stack_images_tell(struct stack_images *images, uint32_t number, struct event_ring *ring);

#endif
