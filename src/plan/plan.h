// SPDX-License-Identifier: Apache-2.0
// The plan of corrections: a text in which `glint fix` tells the corrected program what to change.
// The environment variable PLAN_VARIABLE names the file. A row is a remedy and the call path at
// which it applies:
//
//     glint plan 1
//     image 0f3c9a... /home/me/solver        build id, then the path to the end of the line
//     image 77ab01... /lib/libc.so.6
//     drop-sync 0:11a4 0:1240 1:29d90        image (from 0) and return address in its file,
//     async-copy 0:11d0 0:1240 1:29d90 ...   innermost first; "...": the path had more frames
//     back =4 =1 0:1010 1:29d90              numbers of the remedy precede the path
//     last-use 0:11e8 0:1240 1:29d90
//     kernel _Z4fillPfi                      a plain kernel: its name to the end of the line
//     end
//
// Rows are numbered from 1 in the order of the text. Several rows may have the same path. A kernel
// is plain if each object that it was observed to use was named by an address among its arguments.
// Before any other kernel is launched, the corrected program gives all objects their memory.
#ifndef GLINT_PLAN_PLAN_H
#define GLINT_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "facts/facts.h"

#define PLAN_VARIABLE "GLINT_PLAN"

// How a note of the corrected program begins if the GPU failed and no call reported that to the
// program.
#define PLAN_UNTOLD "the GPU has failed"

enum plan_remedy { PLAN_NONE = 0, FACTS_REMEDIES(FACTS_VALUE, PLAN_) PLAN_REMEDIES };

enum { PLAN_NUMBERS = 2, PLAN_MOST_FRAMES = 4096 };

struct plan_image {
    const char *build_id; // in lower-case hexadecimal; never empty, as it identifies the image
    const char *path;     // for people
};

struct plan_frame {
    uint32_t image;  // index into plan.images
    uint64_t offset; // of the return address: the virtual address in the file
};

struct plan_row {
    enum plan_remedy remedy;
    bool truncated; // the path had more frames
    uint64_t numbers[PLAN_NUMBERS];
    size_t first, frame_count; // in plan.frames, innermost first
};

struct plan { // initialize with {0}
    BASE_ARRAY(struct plan_image) images;
    BASE_ARRAY(struct plan_frame) frames;
    BASE_ARRAY(struct plan_row) rows;
    BASE_ARRAY(const char *) kernels; // plain ones
    struct base_arena texts;          // of the images and kernels
};

void plan_fini(struct plan *plan);

// Returns true if the image belongs to CUDA, or to glint's simulated GPU in its place. Paths of a
// plan begin at the first frame outside such images: the frames inside differ with the driver, and
// NVIDIA's libraries have no build ids.
bool plan_is_below(const char *path, size_t length);

const char *plan_remedy_name(enum plan_remedy remedy); // "drop-sync"

// Sets *index to the image's index; adds the image if it is new. Copies the texts.
enum base_code plan_add_image(struct plan *plan, const char *build_id, const char *path,
                              uint32_t *index, struct base_error *error);
// Adds a row whose frames are at `frames`, and sets *number to its number. Ignores row.first.
enum base_code plan_add_row(struct plan *plan, struct plan_row row, const struct plan_frame *frames,
                            size_t *number, struct base_error *error);

// Copies the name. Skips a name that a plan cannot represent.
enum base_code plan_add_kernel(struct plan *plan, const char *name, struct base_error *error);

// Appends the plan as text.
void plan_write(const struct plan *plan, struct base_buf *out);
// Reads a text into an empty plan. Returns BASE_SYNTAX, with the line, if it is not a plan; the
// plan is then empty again.
enum base_code plan_read(const char *text, size_t length, struct plan *plan,
                         struct base_error *error);

#endif
