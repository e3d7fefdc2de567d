// SPDX-License-Identifier: Apache-2.0
// Tests shadow memory alone. Its files are linked into a test, and shadow_harness.c stands in for
// the rest of libglint.so. The tests run on the simulated GPU, whose libcuda.so.1 is loaded.
#ifndef GLINT_TESTS_SHADOW_HARNESS_H
#define GLINT_TESTS_SHADOW_HARNESS_H

#include "inject/shadow/shadow.h"

// Looks up a function of the driver.
void *harness_driver(const char *name);
#define DRIVER(symbol) ((__typeof__(&(symbol)))harness_driver(#symbol))
#define MUST(call)     assert_int_equal((call), CUDA_SUCCESS)

// Set-up and tear-down of each test: a new process with one current context and nothing else.
extern struct core_context *harness_context;
int harness_start(void **unused);
int harness_finish(void **unused);
// Waits until the records of all launches have been written.
void harness_settle(void);

uint32_t random_next(uint32_t *seed); // 24 bits

struct core_stream *harness_stream(struct core_context *context, unsigned flags);
// Makes an object in driver memory, with `lead` bytes of room before it.
struct core_object harness_object(uint64_t bytes, uint64_t lead);
struct core_object harness_part(uint64_t start, uint64_t bytes);
void harness_end_object(const struct core_object *object); // also frees its memory

// The records of one kind since the last call, complete and in order.
struct harness_record {
    const unsigned char *bytes;
    size_t length;
};
size_t harness_records(enum event_kind kind, const struct harness_record **records);
// Whether a note that contains the text was recorded. Notes are kept until the test ends.
bool harness_noted(const char *text);

// --- The kernel of shadow_kernels.cu -------------------------------------------------------------

enum { HARNESS_SLOTS = 4, HARNESS_ROOTS = 40, HARNESS_FLAGS = 16, HARNESS_BLOCK = 64 };

struct harness_access {
    uint64_t address;
    int32_t root; // < 0: the probe looks the address up
    uint32_t bytes;
    uint32_t reads, writes;
    int32_t tally, flag; // < 0: none
};

// Launches the kernel, with probes if shadow_begin allows it; returns whether it had probes. The
// list must not change until the stream has executed the launch. call: the launch's call number.
struct harness_run {
    struct core_stream *stream;
    const struct instrument_kernel *kernel;
    uint64_t roots[HARNESS_ROOTS];         // the kernel ignores roots beyond its slots
    const struct harness_access *accesses; // in memory that the device can read
    uint32_t count;
    uint64_t call;
    uint32_t facts;
};
bool harness_launch(const struct harness_run *run);
// The parameters of the kernel, for a graph's node.
struct harness_params {
    const struct harness_access *accesses;
    uint32_t count;
    struct {
        uint32_t flag_rows, flag_row_bytes, tally_rows, tally_row_bytes;
    } shape;
    unsigned char
        context[sizeof(struct instrument_context) + HARNESS_ROOTS * sizeof(struct instrument_view)];
    void *pointers[4];
};
void harness_fill(const struct harness_run *run, struct harness_params *params);
CUfunction harness_function(uint32_t facts);
void *harness_pinned(size_t bytes);

#endif
