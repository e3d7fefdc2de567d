// SPDX-License-Identifier: Apache-2.0
// The plan of corrections: what `glint fix` has decided, as a text that the corrected program reads
// (a file that PLAN_VARIABLE names). A row is a remedy and the call path at which it applies:
//
//     glint plan 1
//     image 0f3c9a... /home/me/solver        its build id, its path to the end of the line
//     image 77ab01... /lib/libc.so.6
//     drop-sync 0:11a4 0:1240 1:29d90        return addresses in the files, innermost first,
//     async-copy 0:11d0 0:1240 1:29d90 ...   each with its image, counted from 0; "...": the path
//     back =4 =1 0:1010 1:29d90              had more. Numbers that the remedy needs come before
//     last-use 0:11e8 0:1240 1:29d90
//     kernel _Z4fillPfi                      a plain kernel, by its name to the end of the line
//     end
//
// Rows are numbered from 1, in the order of the text. Several may have the same path. A kernel is
// plain if every object that it was seen to use was named by an address among what it was given:
// all objects have memory before any other is launched.
#ifndef GLINT_PLAN_PLAN_H
#define GLINT_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define PLAN_VARIABLE "GLINT_PLAN"

// What a note of the corrected program begins with where that was not told that the GPU has failed.
#define PLAN_UNTOLD "the GPU has failed"

enum plan_remedy {
    PLAN_NONE = 0,
    PLAN_DROP_SYNC,  // an explicit synchronisation is not made
    PLAN_ASYNC_COPY, // a synchronous copy does not wait
    PLAN_POOL,       // an allocation or a free is served from a pool
    PLAN_BACK,       // an allocation has memory from its first use to its last. Numbers: the row
                     // with the path of its last use (0: until its free), and which call on that
                     // path, counted from 1 after the allocation, is the last use
    PLAN_LAST_USE,   // that row
    PLAN_REMEDIES
};

enum { PLAN_NUMBERS = 2, PLAN_MOST_FRAMES = 4096 };

struct plan_image {
    const char *build_id; // in lower-case hexadecimal; never empty: what has none is never sure
    const char *path;     // for people
};

struct plan_frame {
    uint32_t image;  // index of plan.images
    uint64_t offset; // of the return address: the virtual address in the file
};

struct plan_row {
    enum plan_remedy remedy;
    bool truncated; // the path had more frames
    uint64_t numbers[PLAN_NUMBERS];
    size_t first, frame_count; // in plan.frames, innermost first
};

struct plan { // begins as {0}
    BASE_ARRAY(struct plan_image) images;
    BASE_ARRAY(struct plan_frame) frames;
    BASE_ARRAY(struct plan_row) rows;
    BASE_ARRAY(const char *) kernels; // that are plain
    struct base_arena texts;          // of the images and kernels
};

void plan_fini(struct plan *plan);

// Whether the image is CUDA's own, or glint's in its place. Paths of a plan begin where they leave
// such images: what is called in them is nobody's concern, and NVIDIA's have no build ids.
bool plan_is_below(const char *path, size_t length);

const char *plan_remedy_name(enum plan_remedy remedy); // "drop-sync"

// The image's index, added where it is new; the texts are copied.
enum base_code plan_add_image(struct plan *plan, const char *build_id, const char *path,
                              uint32_t *index, struct base_error *error);
// The row's number; `row` has its frames at `frames` instead of in the plan.
enum base_code plan_add_row(struct plan *plan, struct plan_row row, const struct plan_frame *frames,
                            size_t *number, struct base_error *error);

// The name is copied. One that a plan cannot have is left out.
enum base_code plan_add_kernel(struct plan *plan, const char *name, struct base_error *error);

void plan_write(const struct plan *plan, struct base_buf *out);
// Into an empty plan. BASE_SYNTAX with the line where it is none; the plan is then empty again.
enum base_code plan_read(const char *text, size_t length, struct plan *plan,
                         struct base_error *error);

#endif
