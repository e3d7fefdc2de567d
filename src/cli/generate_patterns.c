// SPDX-License-Identifier: Apache-2.0
// What the documentation says about patterns, from their descriptions: the generated blocks of
// docs/reference/patterns.md, and two definitions of the JSON Schema of reports.
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "report/report.h"

enum { COLUMNS = 118 };

// --- Text ----------------------------------------------------------------------------------------

// Adds the words in lines of at most COLUMNS; lines after the first begin with two blanks if they
// belong to a list.
static void put_wrapped(struct base_buf *out, const char *text, bool is_item)
{
    size_t column = 0;
    for (const char *at = text; *at;) {
        const size_t length = strcspn(at, " ");
        if (column && column + 1 + length > COLUMNS) {
            base_buf_puts(out, is_item ? "\n  " : "\n");
            column = is_item ? 2 : 0;
        } else if (column) {
            base_buf_putc(out, ' ');
            column++;
        }
        base_buf_add(out, at, length);
        column += length;
        at += length + strspn(at + length, " ");
    }
    base_buf_putc(out, '\n');
}

static void put_buffer(struct base_buf *out, struct base_buf *line, bool is_item)
{
    put_wrapped(out, line->text ? line->text : "", is_item);
    out->failed |= line->failed;
    base_buf_clear(line);
}

static void put_type(struct base_buf *out, const struct analyze_field *field)
{
    static const char *const words[ANALYZE_FIELD_TYPES] = {
        [ANALYZE_NUMBER_OF_CALL] = "call",
        [ANALYZE_NUMBER_OF_OBJECT] = "object",
        [ANALYZE_BYTES] = "bytes",
        [ANALYZE_NS] = "nanoseconds",
        [ANALYZE_REAL] = "number",
        [ANALYZE_FLAG] = "true or false",
        [ANALYZE_PATH] = "call path",
        [ANALYZE_WORD] = "word",
        [ANALYZE_HISTOGRAM] = "list of counts",
        [ANALYZE_RANGES] = "list of ranges",
        [ANALYZE_VALUE] = "value, as text",
        [ANALYZE_LINE] = "file and line",
        [ANALYZE_NAME] = "name",
    };
    if (field->type == ANALYZE_COUNT)
        base_buf_printf(out, "%ss", field->unit);
    else
        base_buf_puts(out, words[field->type]);
}

// --- The page ------------------------------------------------------------------------------------

static void put_catalogue(struct base_buf *out)
{
    base_buf_puts(out, "\n| pattern | what it is | needs | `glint fix` |\n|---|---|---|---|\n");
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++) {
        const struct analyze_description *pattern = analyze_describe((enum analyze_pattern)i);
        base_buf_printf(out, "| [%s](#%s) | %s | `%s` | %s |\n", pattern->name, pattern->name,
                        pattern->title, analyze_input_name(pattern->needs),
                        pattern->correction ? "yes" : "");
    }
    base_buf_putc(out, '\n');
}

static void put_thresholds(struct base_buf *out, const struct analyze_description *pattern)
{
    struct base_buf line = {0};
    for (const struct analyze_threshold *const *at = pattern->thresholds; *at; at++) {
        base_buf_printf(&line, "- Threshold `%s` (%u %s): %s.", (*at)->name, (*at)->value,
                        (*at)->unit, (*at)->meaning);
        put_buffer(out, &line, true);
    }
    base_buf_fini(&line);
}

static void put_evidence(struct base_buf *out, const struct analyze_description *pattern)
{
    struct base_buf line = {0};
    for (const struct analyze_field *field = pattern->fields; field && field->name; field++) {
        if (!field->meaning)
            continue;
        base_buf_printf(&line, "- Evidence `%s` (", field->name);
        put_type(&line, field);
        base_buf_printf(&line, "): %s.", field->meaning);
        put_buffer(out, &line, true);
    }
    base_buf_fini(&line);
}

static void put_pattern(struct base_buf *out, const struct analyze_description *pattern)
{
    struct base_buf line = {0};
    base_buf_puts(out, "\n");
    base_buf_printf(&line, "**%s.** %s", pattern->title, pattern->definition);
    put_buffer(out, &line, false);
    base_buf_putc(out, '\n');
    base_buf_printf(&line, "**Fix:** %s", pattern->remedy);
    put_buffer(out, &line, false);
    base_buf_puts(out, "\n");
    base_buf_printf(&line, "- Source: %s.", pattern->paper);
    put_buffer(out, &line, true);
    base_buf_printf(&line, "- Needs: `glint record --analyses %s`%s.",
                    analyze_input_name(pattern->needs),
                    pattern->needs_no_probes ? " to tell when the object was last used" : "");
    put_buffer(out, &line, true);
    if (pattern->takes_arguments) {
        base_buf_puts(&line, "- Also found in what kernels without probes are "
                             "[passed](#kernels-without-probes).");
        put_buffer(out, &line, true);
    }
    if (pattern->correction) {
        base_buf_printf(&line, "- `glint fix`: %s.", pattern->correction);
        put_buffer(out, &line, true);
    }
    put_thresholds(out, pattern);
    put_evidence(out, pattern);
    base_buf_putc(out, '\n');
    out->failed |= line.failed;
    base_buf_fini(&line);
}

static const char block_begins[] = "<!-- generated: ", block_ends[] = "<!-- end of generated -->";

// Adds the block of that name. Returns false after a message if there is none.
static bool put_block(struct base_buf *out, struct base_str name, bool seen[ANALYZE_PATTERNS])
{
    const enum analyze_pattern pattern = analyze_find_pattern(name.text, name.length);
    if (base_str_is(name, "catalogue")) {
        put_catalogue(out);
    } else if (pattern != ANALYZE_PATTERNS) {
        put_pattern(out, analyze_describe(pattern));
        seen[pattern] = true;
    } else {
        cli_message("there is no pattern '%.*s' to generate text about", (int)name.length,
                    name.text);
        return false;
    }
    return true;
}

// Copies the page with its generated blocks replaced. A pattern without a section gets one at the
// end.
static bool put_page(const char *page, struct base_buf *out)
{
    bool seen[ANALYZE_PATTERNS] = {false}, is_old = false;
    while (*page) {
        const size_t length = strcspn(page, "\n");
        const bool begins = strncmp(page, block_begins, strlen(block_begins)) == 0;
        is_old &= strncmp(page, block_ends, strlen(block_ends)) != 0;
        if (!is_old) {
            base_buf_add(out, page, length);
            base_buf_putc(out, '\n');
        }
        if (begins) {
            const char *name = page + strlen(block_begins);
            if (!put_block(out, (struct base_str){name, strcspn(name, " \n")}, seen))
                return false;
            is_old = true;
        }
        page += length + (page[length] == '\n');
    }
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++) {
        const struct analyze_description *pattern = analyze_describe((enum analyze_pattern)i);
        if (seen[i])
            continue;
        base_buf_printf(out, "\n## %s\n\n%s%s -->\n", pattern->name, block_begins, pattern->name);
        put_pattern(out, pattern);
        base_buf_printf(out, "%s\n", block_ends);
    }
    return true;
}

// --- The schema ----------------------------------------------------------------------------------

static void put_values(struct base_buf *out, const char *values)
{
    const char *before = "";
    base_buf_puts(out, "{\"enum\": [");
    for (struct base_str word = cli_next_word(&values); word.length;
         word = cli_next_word(&values)) {
        base_buf_printf(out, "%s\"%.*s\"", before, (int)word.length, word.text);
        before = ", ";
    }
    base_buf_printf(out, "%snull]}", before);
}

static void put_field_schema(struct base_buf *out, const struct analyze_field *field)
{
    const bool may_be_null =
        (field->known && !field->only_if_known) || field->type == ANALYZE_NUMBER_OF_CALL;
    switch (field->type) {
    case ANALYZE_FLAG: base_buf_puts(out, "{\"type\": \"boolean\"}"); break;
    case ANALYZE_PATH:
        base_buf_puts(out, "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/frame\"}}");
        break;
    case ANALYZE_WORD: put_values(out, field->values); break;
    case ANALYZE_NAME: base_buf_puts(out, "{\"type\": [\"string\", \"null\"]}"); break;
    case ANALYZE_VALUE:
        base_buf_puts(out, may_be_null ? "{\"type\": [\"string\", \"null\"]}"
                                       : "{\"type\": \"string\"}");
        break;
    case ANALYZE_LINE:
        base_buf_puts(out, "{\"type\": [\"object\", \"null\"], \"properties\": {\"file\": "
                           "{\"type\": \"string\"}, \"line\": {\"type\": \"integer\", "
                           "\"minimum\": 0}}}");
        break;
    case ANALYZE_HISTOGRAM: base_buf_puts(out, "{\"$ref\": \"#/$defs/histogram\"}"); break;
    case ANALYZE_RANGES: base_buf_puts(out, "{\"$ref\": \"#/$defs/ranges\"}"); break;
    default: {
        const char *type = field->type == ANALYZE_REAL ? "number" : "integer";
        base_buf_printf(out, may_be_null ? "{\"type\": [\"%s\", \"null\"]" : "{\"type\": \"%s\"",
                        type);
        base_buf_printf(out, ", \"minimum\": %llu}", (unsigned long long)field->least);
        break;
    }
    }
}

static void put_pattern_schema(struct base_buf *out)
{
    base_buf_puts(out, "    \"pattern\": {\n      \"enum\": [\n");
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++)
        base_buf_printf(out, "        \"%s\"%s\n", analyze_pattern_word((enum analyze_pattern)i),
                        i + 1 < ANALYZE_PATTERNS ? "," : "");
    base_buf_puts(out, "      ]\n    },\n");
}

// Returns whether no earlier pattern has the field. A field of several patterns is described once,
// as the first of them has it.
static bool is_first(unsigned pattern, const struct analyze_field *field)
{
    for (unsigned i = 0; i < pattern; i++) {
        const struct analyze_field *other =
            analyze_find_field((enum analyze_pattern)i, field->name, strlen(field->name));
        if (other && other->meaning)
            return false;
    }
    return true;
}

static void put_evidence_schema(struct base_buf *out)
{
    base_buf_puts(out, "    \"evidence\": {\n      \"type\": \"object\",\n      \"properties\": {\n"
                       "        \"peak\": {\"type\": [\"integer\", \"null\"], \"minimum\": 1},\n"
                       "        \"peak_after_bytes\": {\"type\": \"integer\", \"minimum\": 0},\n"
                       "        \"times\": {\"type\": \"integer\", \"minimum\": 1}");
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++) {
        const struct analyze_field *field = analyze_describe((enum analyze_pattern)i)->fields;
        for (; field && field->name; field++) {
            if (!field->meaning || !is_first(i, field))
                continue;
            base_buf_printf(out, ",\n        \"%s\": ", field->name);
            put_field_schema(out, field);
        }
    }
    base_buf_puts(out, "\n      },\n"
                       "      \"required\": [\"peak\", \"peak_after_bytes\", \"times\"]\n    }");
}

// Copies the schema with its two last definitions, "pattern" and "evidence", replaced.
static bool put_schema(const char *schema, struct base_buf *out)
{
    const char *start = strstr(schema, "    \"pattern\": {\n      \"enum\"");
    const char *end = start ? strstr(start, "\n  }\n}\n") : NULL;
    if (!end) {
        cli_message("the schema does not end with definitions of 'pattern' and 'evidence'");
        return false;
    }
    base_buf_add(out, schema, (size_t)(start - schema));
    put_pattern_schema(out);
    put_evidence_schema(out);
    base_buf_puts(out, end);
    return true;
}

// --- The generators ------------------------------------------------------------------------------

bool cli_generate_check_patterns(void)
{
    struct base_error error = {0};
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++) {
        if (report_check_pattern((enum analyze_pattern)i, &error) != BASE_OK) {
            cli_error(&error);
            return false;
        }
    }
    return true;
}

static bool renew(const char *file, bool (*put)(const char *text, struct base_buf *out),
                  struct base_buf *out)
{
    struct base_error error = {0};
    char *text = NULL;
    size_t length;
    bool good = base_file_read(file, &text, &length, &error) == BASE_OK;
    if (!good)
        cli_error(&error);
    good = good && put(text, out);
    free(text);
    return good;
}

bool cli_generate_patterns(const char *file, struct base_buf *out)
{
    return renew(file, put_page, out);
}

bool cli_generate_schema(const char *file, struct base_buf *out)
{
    return renew(file, put_schema, out);
}
