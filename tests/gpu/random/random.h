// SPDX-License-Identifier: Apache-2.0
// Random kernels with known results: made as a tree of statements, printed as PTX, and evaluated on
// the CPU one statement at a time for all threads of a block. Every libcuda.so.1 must give the same
// results. The kernels avoid behavior that hardware leaves open: all threads that have not ended
// of the block or cluster reach every barrier, masks name lanes that arrive or have ended, and sums
// need no order.
#ifndef GLINT_TESTS_GPU_RANDOM_H
#define GLINT_TESTS_GPU_RANDOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    WORDS = 8,      // registers of 32 bits: %r0...
    WIDES = 4,      // of 64 bits: %d0...
    FLOATS = 4,     // f32: %f0...
    DOUBLES = 4,    // f64: %g0...
    PREDS = 4,      // %p0...
    LOCALS = 8,     // words of local memory
    INPUTS = 256,   // words that kernels read
    BINS = 16,      // words that all threads add to, in shared and in global memory
    FUNCTIONS = 3,  // a kernel may call them, and each may call those before it
    ARGUMENTS = 3,  // of such a function, all words
    MOST_DEPTH = 6, // of nested loops
    MOST_THREADS = 128,
    FEW_BLOCKS = 3,
    MOST_CLUSTER = 4, // blocks of a cluster
    MOST_BLOCKS = 2 * MOST_CLUSTER,
    MOST_TOGETHER = MOST_CLUSTER * MOST_THREADS,        // threads of a cluster
    OUTPUTS = WORDS + 2 * WIDES + FLOATS + 2 * DOUBLES, // words that a thread stores
};

struct registers {
    uint32_t r[WORDS];
    uint64_t d[WIDES];
    uint32_t f[FLOATS];
    uint64_t g[DOUBLES];
    bool p[PREDS];
    uint32_t local[LOCALS];
};

// An instruction that computes. The signature has a letter for the class of each operand, the
// result first: r, d, f, g as above.
struct op {
    const char *text, *signature;
    uint64_t (*evaluate)(uint64_t a, uint64_t b, uint64_t c);
};
extern const struct op ops[];
extern const unsigned op_count;

struct operand {
    bool immediate;
    uint64_t value; // value, or number of the register
};

enum kind {
    COMPUTE,       // op, to, from[], if the guard holds
    COMPARE,       // predicate `to`: compares from[0] with from[1] by `comparison`
    SELECT,        // to = from[0] if the guard holds, else from[1]
    EXIT,          // ends the thread if the guard holds; `to`: by a branch to the kernel's end
    IF,            // guard: first, else second
    SWITCH,        // from[0] & 3: arms[]
    LOOP,          // first, (from[0] & 7) times
    REPEAT,        // first, `to` times, the same for all threads
    BREAK,         // leaves `to` loops, if the guard holds
    CONTINUE,      // continues the innermost loop, if the guard holds
    RETURN,        // returns from the function, if the guard holds
    CALL,          // function `callee` with from[]; the result to register `to`
    CALL_ONE_OF,   // function `callee` if the guard holds, else `other`, by address
    LOCAL_STORE,   // local[from[0]] = from[1]
    LOCAL_LOAD,    // to = local[from[0]]
    INPUT,         // to = input[from[0]]
    ADD_SHARED,    // bins of the block [from[0]] += from[1]
    ADD_GLOBAL,    // bins of all [from[0]] += from[1]
    EXCHANGE,      // to = the word from[0] of the thread (thread * other + callee) % threads
    SHUFFLE,       // to = from[0] of a lane, selected by `comparison` and from[1]
    SHUFFLE_WHERE, // the same among the lanes whose guard holds
    BALLOT,        // to = the lanes of the warp whose guard holds
    // With clusters. The other block has the rank (rank + 1 + other) % blocks, and the word or
    // thread in it is selected as in EXCHANGE. `comparison` selects how it is reached.
    READ_OTHER, // to = the word from[0] of a thread of the other block
    SEND_OTHER, // gives from[0] to a thread of the other block; to = the word it got itself
    ADD_OTHER,  // bins of the other block [from[0]] += from[1]
};

struct statement {
    enum kind kind;
    const struct op *op;
    unsigned to, comparison, callee, other;
    struct operand from[ARGUMENTS];
    int guard; // number of a predicate, -1: none
    bool negated;
    struct body *first, *second, *arms[4];
};

struct body {
    struct statement *items;
    unsigned count;
};

struct kernel {
    uint64_t seed;
    unsigned blocks, threads;
    unsigned cluster; // blocks of a cluster; 0: no clusters
    uint32_t parameter;
    struct body *main, *functions[FUNCTIONS];
    struct body *all[4096]; // to free them
    unsigned bodies;
};

struct results {
    uint32_t threads[MOST_BLOCKS * MOST_THREADS][OUTPUTS];
    uint32_t shared[MOST_BLOCKS][BINS];
    uint32_t global[BINS];
};

enum { COMPARISONS = 10, SHUFFLES = 4 };
extern const char *const comparison_names[COMPARISONS]; // with the type: lt.s32
extern const char *const shuffle_names[SHUFFLES];

void make_kernel(struct kernel *kernel, uint64_t seed, bool clusters);
void free_kernel(struct kernel *kernel);
void write_kernel(const struct kernel *kernel, unsigned number, FILE *to);
// Returns false if it would take too long, or reaches memory of a block that has ended.
bool evaluate_kernel(const struct kernel *kernel, const uint32_t input[INPUTS],
                     struct results *results);

static inline uint64_t next_random(uint64_t *state) // splitmix64
{
    uint64_t bits = *state += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

#endif
