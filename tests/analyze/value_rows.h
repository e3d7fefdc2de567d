// SPDX-License-Identifier: Apache-2.0
// Rows about values in models made in memory, and what is expected of them. Findings of patterns
// that are not about values are ignored.
#ifndef GLINT_TESTS_ANALYZE_VALUE_ROWS_H
#define GLINT_TESTS_ANALYZE_VALUE_ROWS_H

#include "wanted.h"

enum { MANY = 2048, HALF = MANY / 2, FEW = 1023 }; // elements

// --- Rows ----------------------------------------------------------------------------------------

static inline uint64_t bits_of(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof(bits));
    return bits;
}

static inline uint64_t size_of(enum profile_value_type type)
{
    return type == PROFILE_TYPE_F64 || type == PROFILE_TYPE_U64 || type == PROFILE_TYPE_S64 ? 8
           : type == PROFILE_TYPE_U8 || type == PROFILE_TYPE_S8                             ? 1
           : type == PROFILE_TYPE_U16 || type == PROFILE_TYPE_S16 || type == PROFILE_TYPE_F16 ||
                   type == PROFILE_TYPE_BF16
               ? 2
               : 4;
}

// A field of elements that are all different and have no pattern: even the widest type is needed.
static inline struct profile_value_field plain(enum profile_value_type type, uint64_t elements)
{
    const bool is_float = type >= PROFILE_TYPE_F16;
    return (struct profile_value_field){
        .elements = elements,
        .least = is_float                   ? bits_of(-1e30)
                 : type == PROFILE_TYPE_S32 ? (uint64_t)INT32_MIN
                                            : 0,
        .greatest = is_float ? bits_of(1e30) : UINT64_MAX >> (type == PROFILE_TYPE_S32 ? 33 : 0),
        .any_bits = UINT32_MAX,
        .distinct = PROFILE_DISTINCT + 1,
        .type = type,
        .candidates = {{7, 1}}};
}

static inline struct profile_value_field constant(enum profile_value_type type, uint64_t elements,
                                                  uint64_t value, uint64_t stored_bits)
{
    return (struct profile_value_field){.elements = elements,
                                        .zeros = value == 0 ? elements : 0,
                                        .least = value,
                                        .greatest = value,
                                        .any_bits = stored_bits,
                                        .all_bits = stored_bits,
                                        .distinct = 1,
                                        .type = type,
                                        .candidates = {{value, elements}}};
}

// Adds a row of the last call about the whole object. Without fields, only hashes were compared.
static inline struct profile_contents *row(struct analyze_model *model, uint32_t object,
                                           enum profile_contents_kind kind,
                                           const struct profile_value_field *fields, uint32_t count)
{
    struct profile_contents *made = base_new(&model->arena, struct profile_contents);
    struct analyze_contents *place = base_array_push(&model->contents);
    assert_non_null(made);
    assert_non_null(place);
    memset(made, 0, sizeof(*made));
    const uint64_t bytes = model->objects.items[object].bytes;
    *made = (struct profile_contents){.call = model->calls.count,
                                      .object = object + 1,
                                      .pieces = (bytes + 4095) / 4096,
                                      .bytes = bytes,
                                      .moved_bytes = bytes,
                                      .kind = kind,
                                      .hash_high = model->contents.count,
                                      .field_count = count};
    made->known_pieces = made->all_pieces = made->pieces;
    for (uint32_t i = 0; i < count; i++) {
        made->fields[i] = fields[i];
        made->stride += (uint32_t)size_of(fields[i].type);
    }
    *place = (struct analyze_contents){(uint32_t)model->calls.count - 1, object, made};
    return made;
}

static inline struct analyze_stored *stores(struct analyze_model *model, uint32_t object,
                                            uint32_t site, uint64_t count, uint64_t silent)
{
    struct analyze_stored *made = base_array_push(&model->stores);
    assert_non_null(made);
    *made = (struct analyze_stored){.call = (uint32_t)model->calls.count - 1,
                                    .object = object,
                                    .kernel = 1,
                                    .site = site,
                                    .bytes = 4,
                                    .place = ANALYZE_NONE,
                                    .stores = count,
                                    .silent = silent,
                                    .still = PROFILE_UNKNOWN};
    return made;
}

// --- Expectations --------------------------------------------------------------------------------

static struct analysis *last; // the findings of the last check, for looking at fields

static inline int forget(void **state)
{
    (void)state;
    analyze_free(last);
    last = NULL;
    return 0;
}

static inline bool is_about_values(const struct analyze_finding *finding)
{
    return analyze_describe(finding->pattern)->needs == ANALYZE_INPUT_VALUES;
}

// Checks that the findings about values are those of the patterns, in the order of patterns.def.
static inline void expect_with(struct analyze_model *model, struct analyze_thresholds thresholds,
                               const char *wanted)
{
    struct base_buf seen = {0};
    last = analyze(model, thresholds);
    for (unsigned pattern = 0; pattern < ANALYZE_PATTERNS; pattern++) {
        for (size_t i = 0; i < last->finding_count; i++) {
            const struct analyze_finding *finding = &last->findings[i];
            if (finding->pattern == pattern && is_about_values(finding))
                base_buf_printf(&seen, "%s%s %u %llu", seen.length ? ", " : "",
                                analyze_pattern_word(finding->pattern), index_of(finding->call),
                                (unsigned long long)finding->traffic_bytes);
        }
    }
    assert_string_equal(seen.text ? seen.text : "", wanted);
    base_buf_fini(&seen);
}

static inline void expect(struct analyze_model *model, const char *wanted)
{
    expect_with(model, analyze_default_thresholds(), wanted);
}

static inline const struct analyze_finding *found(enum analyze_pattern pattern)
{
    for (size_t i = 0; i < last->finding_count; i++) {
        if (last->findings[i].pattern == pattern)
            return &last->findings[i];
    }
    fail_msg("not found");
    return NULL;
}

static inline const struct analyze_field *field_of(const struct analyze_finding *finding,
                                                   const char *name)
{
    return analyze_find_field(finding->pattern, name, strlen(name));
}

static inline const char *word_of(const struct analyze_finding *finding, const char *name)
{
    const char *word = analyze_field_word(finding, field_of(finding, name));
    return word ? word : "-";
}

// An object that one launch (call 1) writes and another (call 2) reads, which finds these fields.
static inline void expect_read(const struct profile_value_field *fields, uint32_t count,
                               const char *wanted)
{
    struct analyze_model model;
    model_begin(&model);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += fields[i].elements * size_of(fields[i].type);
    uint32_t a = allocate(&model, bytes);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    launch(&model, LEGACY, 2);
    uses(&model, a, ANALYZE_READ);
    row(&model, a, PROFILE_CONTENTS_FOUND, fields, count);
    expect(&model, wanted);
}

static inline void expect_one(struct profile_value_field field, const char *wanted)
{
    expect_read(&field, 1, wanted);
    forget(NULL);
}

// Adds launches that write the first (call 1) and the second half (call 2) of an object, and one
// that reads it (call 3). Returns the row about the second half.
static inline struct profile_contents *write_halves(struct analyze_model *model,
                                                    struct profile_value_field first,
                                                    struct profile_value_field second)
{
    struct profile_contents *half = NULL;
    model_begin(model);
    uint32_t a = allocate(model, 2 * 4096);
    for (uint32_t i = 0; i < 2; i++) {
        launch(model, LEGACY, 1 + i);
        uses(model, a, ANALYZE_WRITE);
        half = row(model, a, PROFILE_CONTENTS_WRITTEN, i ? &second : &first, 1);
        half->pieces = 1;
        half->bytes = half->moved_bytes = 4096;
        half->known_pieces = i + 1;
    }
    launch(model, LEGACY, 3);
    uses(model, a, ANALYZE_READ);
    return half;
}

// A copy brings values that the launch after it finds.
static inline uint32_t copy_and_read(struct analyze_model *model, struct profile_value_field field)
{
    model_begin(model);
    uint32_t a = allocate(model, field.elements * size_of(field.type));
    uint32_t copy = copy_in(model, a, 0, model->objects.items[a].bytes);
    model->calls.items[copy].gpu_ns = 1000;
    struct profile_contents *copied = row(model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    copied->fresh_pieces = copied->pieces;
    launch(model, LEGACY, 1);
    row(model, a, PROFILE_CONTENTS_FOUND, &field, 1);
    uses(model, a, ANALYZE_READ);
    return a;
}

#endif
