// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of src/analyze: cmocka with the headers that must precede it, and models made
// in memory. Objects and calls are added in order and named by their index; numbers are index + 1.
// Stream 1 is the legacy default stream, 2 and 3 block, 4 does not.
#ifndef GLINT_TESTS_ANALYZE_MODELS_H
#define GLINT_TESTS_ANALYZE_MODELS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis.h"

enum { LEGACY = 1, BLOCKING = 2, BLOCKING_TOO = 3, FREE_RUNNING = 4, STREAMS = 4 };

static inline void model_begin(struct analyze_model *model)
{
    static const uint32_t flags[STREAMS] = {PROFILE_STREAM_LEGACY, 0, 0,
                                            PROFILE_STREAM_NON_BLOCKING};
    *model = (struct analyze_model){.ended = true};
    base_arena_init(&model->arena, 0);
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct analyze_stream *stream = base_array_push(&model->streams);
        assert_non_null(stream);
        *stream = (struct analyze_stream){i + 1, 1, flags[i]};
    }
}

static inline uint32_t add_call(struct analyze_model *model, enum profile_call_kind kind,
                                uint32_t stream)
{
    struct analyze_call *call = base_array_push(&model->calls);
    assert_non_null(call);
    *call = (struct analyze_call){.number = model->calls.count,
                                  .thread = 1,
                                  .context = 1,
                                  .stream = stream,
                                  .path = (uint32_t)model->calls.count,
                                  .touches = (uint32_t)model->touches.count,
                                  .kind = (uint8_t)kind,
                                  .flags = ANALYZE_WORKS};
    return (uint32_t)model->calls.count - 1;
}

static inline uint32_t add_object(struct analyze_model *model, enum profile_object_kind kind,
                                  uint64_t bytes)
{
    struct analyze_object *object = base_array_push(&model->objects);
    assert_non_null(object);
    *object = (struct analyze_object){.number = model->objects.count,
                                      .address = model->objects.count << 40,
                                      .bytes = bytes,
                                      .call = ANALYZE_NONE,
                                      .end = ANALYZE_NONE,
                                      .parent = ANALYZE_NONE,
                                      .kind = (uint8_t)kind,
                                      .counts = analyze_counts(kind, 0)};
    return (uint32_t)model->objects.count - 1;
}

// Adds an access of the last call to an object.
static inline struct analyze_touch *touch(struct analyze_model *model, uint32_t object,
                                          unsigned how)
{
    struct analyze_touch *row = base_array_push(&model->touches);
    assert_non_null(row);
    *row = (struct analyze_touch){
        .call = (uint32_t)model->calls.count - 1, .object = object, .how = (uint8_t)how};
    return row;
}

static inline uint32_t allocate(struct analyze_model *model, uint64_t bytes)
{
    uint32_t object = add_object(model, PROFILE_OBJECT_DEVICE, bytes);
    model->objects.items[object].call = add_call(model, PROFILE_CALL_ALLOC, 0);
    return object;
}

static inline uint32_t release(struct analyze_model *model, uint32_t object)
{
    model->objects.items[object].has_end = true;
    return model->objects.items[object].end = add_call(model, PROFILE_CALL_FREE, 0);
}

// Copies this many bytes from the host to the object; copy_out copies back.
static inline uint32_t copy_in(struct analyze_model *model, uint32_t object, uint64_t offset,
                               uint64_t bytes)
{
    uint32_t call = add_call(model, PROFILE_CALL_COPY, LEGACY);
    model->calls.items[call].flags |= ANALYZE_HOST_END;
    struct analyze_touch *row = touch(model, object, ANALYZE_WRITE);
    row->offset = offset;
    row->row_bytes = bytes;
    row->rows = 1;
    return call;
}

static inline uint32_t copy_out(struct analyze_model *model, uint32_t object, uint64_t offset,
                                uint64_t bytes)
{
    uint32_t call = copy_in(model, object, offset, bytes);
    model->touches.items[model->touches.count - 1].how = ANALYZE_READ;
    return call;
}

static inline uint32_t set(struct analyze_model *model, uint32_t object, uint64_t offset,
                           uint64_t bytes)
{
    uint32_t call = copy_in(model, object, offset, bytes);
    model->calls.items[call].kind = PROFILE_CALL_SET;
    model->calls.items[call].flags = ANALYZE_WORKS;
    return call;
}

static inline uint32_t launch(struct analyze_model *model, uint32_t stream, uint32_t kernel)
{
    uint32_t call = add_call(model, PROFILE_CALL_LAUNCH, stream);
    model->calls.items[call].kernel = kernel;
    model->calls.items[call].flags |= ANALYZE_LAUNCHES;
    return call;
}

// Adds an access of the last call's kernel.
static inline struct analyze_touch *uses(struct analyze_model *model, uint32_t object, unsigned how)
{
    struct analyze_touch *row = touch(model, object, how);
    row->is_kernel = true;
    row->kernel = model->calls.items[row->call].kernel;
    row->elements = row->new_elements = row->shared_elements = PROFILE_UNKNOWN;
    return row;
}

// Takes ownership of the model.
static inline struct analysis *analyze(struct analyze_model *model,
                                       struct analyze_thresholds thresholds)
{
    struct base_error error = {0};
    struct analysis *analysis = calloc(1, sizeof(*analysis));
    assert_non_null(analysis);
    assert_true(analyze_index_uses(model));
    analysis->model = *model;
    analysis->thresholds = thresholds;
    assert_int_equal(analyze_model(analysis, &error), BASE_OK);
    return analysis;
}

static inline uint32_t random_below(uint64_t *seed, uint32_t limit)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % limit;
}

// Returns the value of a field, which the finding's pattern must have; 0 if it is unknown.
static inline uint64_t value_of(const struct analyze_finding *finding, const char *name)
{
    assert_non_null(analyze_find_field(finding->pattern, name, strlen(name)));
    return analyze_number_named(finding, name);
}

#endif
