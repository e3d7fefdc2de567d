// SPDX-License-Identifier: Apache-2.0
// Shadow memory alone: its files linked into a test, with what they use of libglint.so played by
// shadow_harness.c, on the simulated GPU, whose libcuda.so.1 is loaded.
#ifndef GLINT_TESTS_SHADOW_HARNESS_H
#define GLINT_TESTS_SHADOW_HARNESS_H

#include "inject/shadow/shadow.h"

// A function of the driver.
void *harness_driver(const char *name);
#define DRIVER(symbol) ((__typeof__(&(symbol)))harness_driver(#symbol))
#define MUST(call)     assert_int_equal((call), CUDA_SUCCESS)

// A process that was just met, with a context that is current and nothing else: before and after
// each test.
extern struct core_context *harness_context;
int harness_start(void **unused);
int harness_finish(void **unused);
// All that was launched is told after this.
void harness_settle(void);

uint32_t random_next(uint32_t *seed); // 24 bits

struct core_stream *harness_stream(struct core_context *context, unsigned flags);
// An object, in memory of the driver's with room for `lead` bytes before it.
struct core_object harness_object(uint64_t bytes, uint64_t lead);
struct core_object harness_part(uint64_t start, uint64_t bytes);
void harness_end_object(const struct core_object *object); // forgets it and frees its memory

// The records that have come since the last time, of one kind: whole, one after the other.
struct harness_record {
    const unsigned char *bytes;
    size_t length;
};
size_t harness_records(enum event_kind kind, const struct harness_record **records);
// A note that holds the text has come. Notes are kept until the test's end.
bool harness_noted(const char *text);

// --- The kernel of shadow_kernels.cu -------------------------------------------------------------

enum { HARNESS_SLOTS = 4, HARNESS_ROOTS = 40, HARNESS_FLAGS = 16, HARNESS_BLOCK = 64 };

struct harness_access {
    uint64_t address;
    int32_t root; // < 0: looked up
    uint32_t bytes;
    uint32_t reads, writes;
    int32_t tally, flag; // < 0: none
};

// Launches it, watched where shadow_begin allows: whether it was. The list must stay as it is until
// the stream has done it. call: the number it gets.
struct harness_run {
    struct core_stream *stream;
    const struct instrument_kernel *kernel;
    uint64_t roots[HARNESS_ROOTS];         // of more than the slots the kernel takes no notice
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
