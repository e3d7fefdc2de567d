// SPDX-License-Identifier: Apache-2.0
// Functions with stack frames of many shapes, compiled several times with different options. They
// call one another in any order, and tests of unwinding walk through them.
#ifndef GLINT_TESTS_INJECT_FRAMES_H
#define GLINT_TESTS_INJECT_FRAMES_H

struct frames_walk {
    // Calls the next function, or at depth 0 the test's leaf function.
    long (*next)(struct frames_walk *walk, unsigned depth);
    void (*leaf)(void *user);
    void *user;
    unsigned long long random;
};

typedef long frames_function(struct frames_walk *walk, unsigned depth);

enum { FRAMES_SHAPES = 8 };

// Each compilation of frames.c defines one of these tables, the one that FRAMES_TABLE names.
extern frames_function *const frames_O0[FRAMES_SHAPES];
extern frames_function *const frames_O2[FRAMES_SHAPES];
extern frames_function *const frames_O2_fp[FRAMES_SHAPES];
extern frames_function *const frames_Os[FRAMES_SHAPES];
extern frames_function *const frames_O3_signed[FRAMES_SHAPES]; // aarch64: signed return addresses
extern frames_function *const frames_none[FRAMES_SHAPES];      // without unwind tables

#endif
