// SPDX-License-Identifier: Apache-2.0
// Random kernels whose accesses stay within their buffers and whose results do not depend on the
// order of threads, despite races: threads that may write the same place write the same bytes, and
// values that are read from there are not used.
//
// A kernel is a tree of statements. Each statement has a number, computed from that of its parent
// and its position, which determines everything random in it. So removing a statement does not
// change the others, and a failing kernel can be reduced.
#ifndef GLINT_TESTS_INSTRUMENT_RANDOM_KERNEL_H
#define GLINT_TESTS_INSTRUMENT_RANDOM_KERNEL_H

#include "base/base.h"
#include "oracle.h"

// Features of kernels; random_features has their names.
enum random_feature {
    FEATURE_LOOPS = 1 << 0,     // with a fixed number of iterations, from constants and parameters
    FEATURE_WHILE = 1 << 1,     // loops whose end depends on data, breaks and continues
    FEATURE_BRANCHES = 1 << 2,  // if, else, switch
    FEATURE_GUARDS = 1 << 3,    // if (i < n), also of loops; predicated accesses
    FEATURE_RETURNS = 1 << 4,   // before the end
    FEATURE_FUNCTIONS = 1 << 5, // device functions, also recursive
    FEATURE_VECTORS = 1 << 6,
    FEATURE_TYPES = 1 << 7, // other than u32
    FEATURE_ATOMICS = 1 << 8,
    FEATURE_COPIES = 1 << 9,     // cp.async
    FEATURE_GENERIC = 1 << 10,   // generic addresses of global memory
    FEATURE_MIXED = 1 << 11,     // generic addresses of global, shared and local memory in turn
    FEATURE_TABLES = 1 << 12,    // pointers from memory
    FEATURE_CHOICES = 1 << 13,   // pointers chosen among several
    FEATURE_VARIABLES = 1 << 14, // of the module
    FEATURE_DATA = 1 << 15,      // indices from memory
    FEATURE_STRIDES = 1 << 16,   // other than 1
    FEATURE_POINTERS = 1 << 17,  // advanced by loops
    FEATURE_SHAPES = 1 << 18,    // blocks of several dimensions and odd sizes
    FEATURE_EXITS = 1 << 19,     // threads that end in a device function
    FEATURE_INDIRECT = 1 << 20,  // functions called by pointer
    FEATURE_WARPS = 1 << 21,     // several in a block
    FEATURE_FORMS = 1 << 22,     // pointers that do not look like addresses
    FEATURE_CLUSTERS = 1 << 23,  // mixed addresses of shared memory of another block, too
    FEATURE_IMPURE = 1 << 24,    // one statement that does not follow from parameters
    FEATURES = 25,
};
extern const char *const random_features[FEATURES];

struct random_kernel {
    struct oracle_case test;
    struct base_buf ptx;
    unsigned char *memory[ORACLE_BUFFERS];
    BASE_ARRAY(uint64_t) statements; // the numbers of its statements
    int source;                      // of its impure statement (random_sources); -1: it has none
};

// Makes the kernel of a seed, without the listed statements and without features in `off`.
void random_kernel_make(struct random_kernel *kernel, uint64_t seed, uint32_t off,
                        const uint64_t *without, size_t without_count);
void random_kernel_free(struct random_kernel *kernel);

// What accesses follow from nothing but parameters, in kernels without these features.
#define RANDOM_PURE (FEATURE_DATA | FEATURE_TABLES | FEATURE_FUNCTIONS | FEATURE_CLUSTERS)

// The features that a kernel must not have whose launches are compared with each other. Most follow
// from their parameters but for one statement, and some do entirely; the others are as they come.
uint32_t random_repeats_off(uint64_t seed, uint32_t off);

// The first of the buffers that are only read, and of those that only get the pattern. They are at
// least as large as the variables of their kind.
enum { RANDOM_IN = 0, RANDOM_OUT = 3, RANDOM_ALIKE = 3 };

// What impure statements read, and whether the simulated GPU gives something else in every launch
// if memory has other contents.
struct random_source {
    const char *name;
    bool varies;
};
enum { RANDOM_SOURCES = 24 };
extern const struct random_source random_sources[RANDOM_SOURCES];

// --- Internal declarations -----------------------------------------------------------------------

enum { MOST_VARS = 24, MOST_NESTED = 4, MOST_ROUNDS = 24, FUNCTION_ROOM = 2048 };

// How memory may be used. In is only read. Out is written with one byte pattern, whatever the type.
// Own belongs to one thread each. Small numbers are added to Sum (integers) and Fsum (floats).
enum place_class { PLACE_IN, PLACE_OUT, PLACE_SUM, PLACE_FSUM };

// An address in a register, and the range around it that may be used, in bytes. Aligned to 16.
struct place {
    char text[24]; // name of a register or variable
    enum place_class class;
    int64_t before, after;
    bool generic; // may be shared memory, or
    bool local;   // local memory
};

// A signed 32-bit number in a register.
struct var {
    char text[16];
    int64_t low, high;
};

// A pointer in the parameters or in the table.
struct pointer {
    char param[32]; // "k_param_3", "s+8"
    enum place_class class;
    int64_t before, after;
};

struct loop {
    unsigned next, end; // labels
};

// The text written so far, and what may be used at this point.
struct writer {
    struct random_kernel *kernel;
    const uint64_t *without;
    size_t without_count;
    uint32_t off;
    struct base_buf text;                                  // of the current body
    unsigned words, wides, halves, floats, doubles, preds; // registers used so far
    unsigned labels;                                       // in the whole module
    uint64_t random;                                       // state for the current statement
    struct var vars[MOST_VARS];
    unsigned var_count;
    struct loop loops[MOST_NESTED];
    unsigned loop_count, rounds, depth;
    unsigned functions; // how many, from the first, may be called
    bool in_function;
    unsigned done; // label at the end
    uint32_t threads, block_threads;
    struct pointer pointers[12];
    unsigned pointer_count;
    struct pointer table[2];    // all its pointers to In, and to Out
    unsigned guard;             // impure: 1 + the predicate that guards accesses; 0: by chance
    bool impure_done;           // its statement is written
    struct pointer forms[2][8]; // by kind
    unsigned own_words;         // per thread
    bool own_strided;
};

uint64_t random_hash(uint64_t seed, uint64_t more);
unsigned below(struct writer *writer, unsigned limit);
bool has(const struct writer *writer, uint32_t feature);
void put(struct writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Pointers, indices and accesses: random_access.c
unsigned fresh(struct writer *writer, char class); // the number of a new register of that class
struct place take_place(struct writer *writer);
struct place take_place_of(struct writer *writer, enum place_class class);
struct var take_index(struct writer *writer, int64_t most); // with at most so many different values
unsigned take_condition(struct writer *writer);             // a predicate
const char *guarded(struct writer *writer, char *out, size_t bytes); // a guard, or ""
void write_access(struct writer *writer);
void write_access_at(struct writer *writer, const struct place *place, const struct var *index);
void write_own(struct writer *writer);
void write_copy(struct writer *writer, const char *size); // a register, or NULL: by chance

// Pointers that do not look like addresses: random_forms.c. make_forms places them in the
// parameters from `at` on, and returns where they end. They point into `count` buffers from
// first[0] on (In) and from first[1] on (Out).
uint32_t make_forms(struct writer *writer, uint32_t at, const unsigned first[2], unsigned count);
struct place from_form(struct writer *writer, enum place_class class);

// What does not follow from parameters: random_impure.c. Not in functions.
void write_impure(struct writer *writer);

// Shared memory: random_shared.c
void write_shared(struct writer *writer);

// Statements: random_flow.c
void write_body(struct writer *writer, uint64_t number, unsigned most);

#endif
