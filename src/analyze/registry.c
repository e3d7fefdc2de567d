// SPDX-License-Identifier: Apache-2.0
// The registered patterns: their descriptions by enumerator and by name, and the fields of a
// finding by its pattern's description.
#include <assert.h>
#include <string.h>

#include "analyze.h"

static const struct analyze_description *const descriptions[ANALYZE_PATTERNS] = {
#define PATTERN(enumerator, file) [ANALYZE_##enumerator] = &analyze_##file,
#include "patterns.def"
#undef PATTERN
};

// --- Patterns ------------------------------------------------------------------------------------

const struct analyze_description *analyze_describe(enum analyze_pattern pattern)
{
    assert((unsigned)pattern < ANALYZE_PATTERNS);
    return descriptions[pattern];
}

const char *analyze_pattern_word(enum analyze_pattern pattern)
{
    return analyze_describe(pattern)->name;
}

enum analyze_pattern analyze_find_pattern(const char *name, size_t length)
{
    unsigned i = 0;
    while (i < ANALYZE_PATTERNS && (strncmp(descriptions[i]->name, name, length) != 0 ||
                                    descriptions[i]->name[length] != '\0'))
        i++;
    return (enum analyze_pattern)i;
}

void analyze_list_patterns(const char *names[ANALYZE_PATTERNS])
{
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++)
        names[i] = descriptions[i]->name;
}

// --- Inputs --------------------------------------------------------------------------------------

static const struct {
    const char *name;
    uint32_t probes;
} inputs[ANALYZE_INPUTS] = {
#define INPUT(enumerator, word, probes) [ANALYZE_INPUT_##enumerator] = {word, probes},
    ANALYZE_INPUT_TABLE(INPUT)
#undef INPUT
};

const char *analyze_input_name(enum analyze_input input)
{
    return inputs[input].name;
}

uint32_t analyze_input_probes(enum analyze_input input)
{
    return inputs[input].probes;
}

bool analyze_input_is_needed(enum analyze_input input)
{
    bool needed = false;
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++)
        needed |= descriptions[i]->needs == input;
    return needed;
}

// --- Fields --------------------------------------------------------------------------------------

const struct analyze_field *analyze_find_field(enum analyze_pattern pattern, const char *name,
                                               size_t length)
{
    const struct analyze_field *field = analyze_describe(pattern)->fields;
    while (field && field->name &&
           (strncmp(field->name, name, length) != 0 || field->name[length] != '\0'))
        field++;
    return field && field->name ? field : NULL;
}

// Only its pattern knows the type of a payload, so values are copied out as bytes.
static void read_at(const struct analyze_finding *finding, size_t offset, void *value, size_t bytes)
{
    memcpy(value, (const unsigned char *)finding + offset, bytes);
}

bool analyze_field_is_known(const struct analyze_finding *finding,
                            const struct analyze_field *field)
{
    bool known = true;
    if (field->known)
        read_at(finding, field->known, &known, sizeof(known));
    return known;
}

uint64_t analyze_field_number(const struct analyze_finding *finding,
                              const struct analyze_field *field)
{
    uint64_t number = 0;
    uint32_t path = 0;
    bool flag = false;
    switch (field->type) {
    case ANALYZE_FLAG: read_at(finding, field->offset, &flag, sizeof(flag)); return flag;
    case ANALYZE_PATH: read_at(finding, field->offset, &path, sizeof(path)); return path;
    case ANALYZE_NUMBER_OF_CALL:
    case ANALYZE_NUMBER_OF_OBJECT:
    case ANALYZE_COUNT:
    case ANALYZE_BYTES:
    case ANALYZE_NS: read_at(finding, field->offset, &number, sizeof(number)); return number;
    default: assert(!"the field is not a number"); return 0;
    }
}

double analyze_field_real(const struct analyze_finding *finding, const struct analyze_field *field)
{
    double real = 0;
    assert(field->type == ANALYZE_REAL);
    read_at(finding, field->offset, &real, sizeof(real));
    return real;
}

const char *analyze_field_word(const struct analyze_finding *finding,
                               const struct analyze_field *field)
{
    const char *word = NULL;
    assert(field->type == ANALYZE_WORD || field->type == ANALYZE_NAME);
    read_at(finding, field->offset, &word, sizeof(word));
    return word;
}

const struct profile_counts *analyze_field_counts(const struct analyze_finding *finding,
                                                  const struct analyze_field *field)
{
    const struct profile_counts *counts = NULL;
    assert(field->type == ANALYZE_HISTOGRAM || field->type == ANALYZE_RANGES);
    read_at(finding, field->offset, &counts, sizeof(counts));
    return counts;
}

struct analyze_value analyze_field_value(const struct analyze_finding *finding,
                                         const struct analyze_field *field)
{
    struct analyze_value value = {0};
    assert(field->type == ANALYZE_VALUE);
    read_at(finding, field->offset, &value, sizeof(value));
    return value;
}

struct analyze_line analyze_field_line(const struct analyze_finding *finding,
                                       const struct analyze_field *field)
{
    struct analyze_line line = {0};
    assert(field->type == ANALYZE_LINE);
    read_at(finding, field->offset, &line, sizeof(line));
    return line;
}

struct analyze_line analyze_line_at(const struct analyze_finding *finding)
{
    const struct analyze_field *field = analyze_describe(finding->pattern)->is_at_line
                                            ? analyze_find_field(finding->pattern, "line", 4)
                                            : NULL;
    return field ? analyze_field_line(finding, field) : (struct analyze_line){0};
}

uint64_t analyze_number_named(const struct analyze_finding *finding, const char *name)
{
    const struct analyze_field *field = analyze_find_field(finding->pattern, name, strlen(name));
    return field && analyze_field_is_known(finding, field) ? analyze_field_number(finding, field)
                                                           : 0;
}
