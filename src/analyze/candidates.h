// SPDX-License-Identifier: Apache-2.0
// Objects in global memory of which blocks load the same words again and again, and that fit into
// shared memory that is free. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_CANDIDATES_H
#define GLINT_ANALYZE_CANDIDATES_H

#include "analyses.h"

// What blocks of a kernel do with an object, or with several of one name that are allocated in one
// place, in all launches that were looked at.
struct analyze_candidate {
    uint32_t kernel; // number
    uint32_t object; // index of one of them
    uint32_t call;   // index of the launch that loads most
    uint32_t place;  // of the instruction that does, in model->sites; NONE: unknown
    uint64_t launches, looked_launches;
    uint64_t blocks, looked_blocks; // of launches that were looked at
    uint64_t loads, words;          // of the blocks that were looked at; words: different ones
    uint64_t bytes;                 // of shared memory that a block needs for it
    uint64_t free_bytes;            // that a block may take in all
    uint64_t resident;              // blocks of a multiprocessor
    uint64_t saved_bytes;           // that all launches need not load, estimated
    double ns;                      // in which L2 delivers these; 0: unknown
    bool is_timed;
    bool is_written; // each block writes a part of its own
};

// Calls `take` for each object that a kernel should have in shared memory: those that save most, as
// far as they fit together. A word of them is loaded at least so often.
typedef void analyze_take_candidate(struct analyze_run *run,
                                    const struct analyze_candidate *candidate);
void analyze_walk_candidates(struct analyze_run *run, uint32_t least_reuse,
                             analyze_take_candidate *take);

#endif
