// SPDX-License-Identifier: Apache-2.0
// Fills the PTX templates of src/instrument/probes with values. Internal to src/instrument.
//
//     FILL(out, word, NUMBER(k, member->k), STRING(j, "%glint$lane"), ...);
//
// names a template and gives a value to each of its fields, in any order. A name that no template
// has does not compile. A field without a value, and a value without a field, fail an assertion;
// the tests fill every template.
#ifndef GLINT_INSTRUMENT_FILL_H
#define GLINT_INSTRUMENT_FILL_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "probe_names.h" // made by probes.awk: enum instrument_template_id, enum instrument_field

// The value of a field: a text, or a number if `text` is NULL. In conditions, 0 and NULL are false.
struct instrument_value {
    enum instrument_field field;
    const char *text;
    int64_t number;
};
#define NUMBER(name, value)         \
    {                               \
        FIELD_##name, NULL, (value) \
    }
#define STRING(name, value)      \
    {                            \
        FIELD_##name, (value), 0 \
    }

// Appends the template to `out`. If a field has no value and assertions are off, `out` fails.
void instrument_fill(struct base_buf *out, enum instrument_template_id id,
                     const struct instrument_value *values, size_t count);

// Appends the template `name` with the values that follow, or the template without fields.
#define FILL(out, name, ...)                                                              \
    instrument_fill(out, TEMPLATE_##name, (const struct instrument_value[]){__VA_ARGS__}, \
                    sizeof((const struct instrument_value[]){__VA_ARGS__}) /              \
                        sizeof(struct instrument_value))
#define PUT(out, name) instrument_fill(out, TEMPLATE_##name, NULL, 0)

// A template as probes.awk makes it. A piece is literal text and what follows it.
struct instrument_piece {
    const char *text;
    uint32_t length;
    uint8_t what;   // see fill.c
    uint8_t field;  // index into the template's fields
    uint16_t skip;  // so many pieces, where a condition says so
    int64_t number; // a constant, or what is added to the field's value
};

struct instrument_template {
    const char *name;
    const struct instrument_piece *pieces;
    const uint16_t *fields; // enum instrument_field
    uint16_t piece_count, field_count;
};

extern const struct instrument_template instrument_templates[INSTRUMENT_TEMPLATES];
extern const char *const instrument_field_names[INSTRUMENT_FIELDS];

#endif
