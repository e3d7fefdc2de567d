// SPDX-License-Identifier: Apache-2.0
// Parses rules from a command line or a file: "memory-leak", "any>64MiB", "peak>2GiB". check.c
// applies them to a profile.
#include <stdlib.h>
#include <string.h>

#include "report.h"

void report_rules_init(struct report_rules *rules)
{
    *rules = (struct report_rules){.thresholds = analyze_default_thresholds()};
    base_arena_init(&rules->arena, 0);
}

void report_rules_fini(struct report_rules *rules)
{
    base_array_fini(&rules->rules);
    base_array_fini(&rules->suppressions);
    base_arena_fini(&rules->arena);
}

// --- Amounts -------------------------------------------------------------------------------------

static const struct {
    const char *word;
    enum report_unit unit;
    uint64_t factor;
} units[] = {{"B", REPORT_BYTES, 1},
             {"KB", REPORT_BYTES, 1000},
             {"MB", REPORT_BYTES, 1000000},
             {"GB", REPORT_BYTES, 1000000000},
             {"TB", REPORT_BYTES, 1000000000000},
             {"KiB", REPORT_BYTES, 1u << 10},
             {"MiB", REPORT_BYTES, 1u << 20},
             {"GiB", REPORT_BYTES, 1u << 30},
             {"TiB", REPORT_BYTES, (uint64_t)1 << 40},
             {"ns", REPORT_NS, 1},
             {"us", REPORT_NS, 1000},
             {"ms", REPORT_NS, 1000000},
             {"s", REPORT_NS, 1000000000},
             {"%", REPORT_MILLIPERCENT, 1000}};

// Reads an amount, "1.5GiB": digits, at most three of them after the point, and a unit. Fractions
// of the smallest unit are dropped. Returns false if the text is not an amount.
static bool read_amount(const char *text, enum report_unit *unit, uint64_t *amount)
{
    uint64_t thousandths = 0;
    unsigned decimals = 0;
    bool point = false;
    if (*text < '0' || *text > '9')
        return false;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        decimals += point;
        if (decimals > 3 || __builtin_mul_overflow(thousandths, 10, &thousandths) ||
            __builtin_add_overflow(thousandths, (uint64_t)(*text - '0'), &thousandths))
            return false;
    }
    if (point && decimals == 0)
        return false;
    for (; decimals < 3; decimals++) {
        if (__builtin_mul_overflow(thousandths, 10, &thousandths))
            return false;
    }
    text += strspn(text, " ");
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(text, units[i].word) == 0) {
            const unsigned __int128 value = (unsigned __int128)thousandths * units[i].factor / 1000;
            *unit = units[i].unit;
            *amount = (uint64_t)value;
            return value <= UINT64_MAX;
        }
    }
    return false;
}

// --- One rule ------------------------------------------------------------------------------------

// The subjects of rules in addition to patterns.
static const struct {
    const char *word;
    enum report_rule_kind kind;
    bool needs_limit;
    unsigned accepts; // a bit for each unit of a limit
} subjects[] = {
    {"any", REPORT_RULE_FINDING, false,
     1u << REPORT_BYTES | 1u << REPORT_NS | 1u << REPORT_MILLIPERCENT},
    {"traffic", REPORT_RULE_TRAFFIC, true, 1u << REPORT_BYTES},
    {"new", REPORT_RULE_NEW, false,
     1u << REPORT_BYTES | 1u << REPORT_NS | 1u << REPORT_MILLIPERCENT},
    {"worse", REPORT_RULE_WORSE, false,
     1u << REPORT_BYTES | 1u << REPORT_NS | 1u << REPORT_MILLIPERCENT},
    {"peak", REPORT_RULE_PEAK, true, 1u << REPORT_BYTES},
    {"growth", REPORT_RULE_GROWTH, false, 1u << REPORT_BYTES | 1u << REPORT_MILLIPERCENT},
    {"unused-suppression", REPORT_RULE_UNUSED, false, 0},
};

enum { SUBJECTS = sizeof(subjects) / sizeof(subjects[0]) };

// Fails with "unknown key 'fail-onn' (did you mean 'fail-on'?)".
static enum base_code fail_unknown(const char *what, const char *word, const char *const *known,
                                   size_t count, struct base_error *error)
{
    const char *nearest = base_nearest(word, known, count);
    return base_fail(error, BASE_SYNTAX, "unknown %s '%.60s'%s%s%s", what, word,
                     nearest ? " (did you mean '" : "", nearest ? nearest : "",
                     nearest ? "'?)" : "");
}

// Lists all words that can begin a rule, patterns first.
static size_t list_subjects(const char *known[ANALYZE_PATTERNS + SUBJECTS])
{
    size_t count = ANALYZE_PATTERNS;
    analyze_list_patterns(known);
    for (unsigned i = 0; i < SUBJECTS; i++)
        known[count++] = subjects[i].word;
    return count;
}

// Adds a rule. The arena owns the text.
static enum base_code add_rule(struct report_rules *rules, const char *text,
                               struct base_error *error)
{
    struct report_rule rule = {.kind = REPORT_RULE_FINDING, .text = text};
    const char *above = strchr(text, '>');
    size_t length = above ? (size_t)(above - text) : strlen(text);
    while (length && text[length - 1] == ' ')
        length--;
    const char *word = base_alloc_text(&rules->arena, text, length);
    BASE_RETURN_IF_NO_MEMORY(!word, error);
    BASE_RETURN_IF(length == 0, error, BASE_SYNTAX, "a rule is missing: '%.60s'", text);
    unsigned at = 0;
    rule.pattern = analyze_find_pattern(word, length);
    while (rule.pattern == ANALYZE_PATTERNS && at < SUBJECTS &&
           strcmp(word, subjects[at].word) != 0)
        at++;
    if (at == SUBJECTS) {
        const char *known[ANALYZE_PATTERNS + SUBJECTS];
        return fail_unknown("rule", word, known, list_subjects(known), error);
    }
    rule.kind = subjects[at].kind; // patterns are handled like "any"
    rule.has_limit = above != NULL;
    BASE_RETURN_IF(!above && subjects[at].needs_limit, error, BASE_SYNTAX,
                   "'%s' needs an amount: %s>64MiB", word, word);
    if (above) {
        above += 1 + strspn(above + 1, " ");
        BASE_RETURN_IF(!read_amount(above, &rule.unit, &rule.limit), error, BASE_SYNTAX,
                       "'%.60s' is not an amount such as 64MiB, 1.5GB, 5ms or 10%%", above);
        BASE_RETURN_IF(!(subjects[at].accepts >> rule.unit & 1), error, BASE_SYNTAX,
                       "'%s' cannot be compared with '%.60s'", word, above);
    }
    struct report_rule *row = base_array_push(&rules->rules);
    BASE_RETURN_IF_NO_MEMORY(!row, error);
    *row = rule;
    return BASE_OK;
}

enum base_code report_rules_add(struct report_rules *rules, const char *list,
                                struct base_error *error)
{
    enum base_code code = BASE_OK;
    for (const char *at = list; at && code == BASE_OK;) {
        at += strspn(at, " ");
        const size_t length = strcspn(at, ",");
        const char *text = base_alloc_text(&rules->arena, at, length);
        code = text ? add_rule(rules, text, error) : base_no_memory(error);
        at = at[length] ? at + length + 1 : NULL;
    }
    return code;
}

// --- A file --------------------------------------------------------------------------------------

// Adds the line to the error's message.
static enum base_code fail_in(unsigned line, struct base_error *error)
{
    struct base_error cause = *error;
    return base_fail(error, cause.code, "line %u: %s", line, cause.text[0]);
}

static enum base_code fail_key(const struct base_toml_entry *entry, const char *const *known,
                               size_t count, struct base_error *error)
{
    fail_unknown("key", entry->key, known, count, error);
    return fail_in(entry->line, error);
}

static enum base_code want(const struct base_toml_entry *entry, enum base_toml_kind kind,
                           struct base_error *error)
{
    BASE_RETURN_IF(entry->value.kind != kind, error, BASE_SYNTAX, "line %u: '%s' takes %s, not %s",
                   entry->line, entry->key, base_toml_kind_words(kind),
                   base_toml_kind_words(entry->value.kind));
    return BASE_OK;
}

static enum base_code read_top(struct report_rules *rules, const struct base_toml_table *table,
                               struct base_error *error)
{
    static const char *const known[] = {"fail-on", "baseline"};
    enum base_code code = BASE_OK;
    for (const struct base_toml_entry *entry = table->entries; entry && code == BASE_OK;
         entry = entry->next) {
        if (strcmp(entry->key, "fail-on") == 0) {
            code = want(entry, BASE_TOML_STRINGS, error);
            for (size_t i = 0; i < entry->value.string_count && code == BASE_OK; i++) {
                code = add_rule(rules, entry->value.strings[i], error);
                if (code != BASE_OK)
                    fail_in(entry->value.lines[i], error);
            }
        } else if (strcmp(entry->key, "baseline") == 0) {
            code = want(entry, BASE_TOML_STRING, error);
            rules->baseline = entry->value.string;
        } else {
            code = fail_key(entry, known, 2, error);
        }
    }
    return code;
}

static enum base_code read_thresholds(struct report_rules *rules,
                                      const struct base_toml_table *table, struct base_error *error)
{
    const char *known[ANALYZE_MOST_THRESHOLDS];
    size_t count = 0;
    for (const struct analyze_threshold *row; (row = analyze_threshold_at(count));)
        known[count++] = row->name;
    for (const struct base_toml_entry *entry = table->entries; entry; entry = entry->next) {
        uint32_t *field = analyze_threshold(&rules->thresholds, entry->key);
        if (!field)
            return fail_key(entry, known, count, error);
        enum base_code code = want(entry, BASE_TOML_INTEGER, error);
        if (code != BASE_OK)
            return code;
        const int64_t value = entry->value.integer;
        BASE_RETURN_IF(value < 0 || value > INT32_MAX, error, BASE_SYNTAX,
                       "line %u: '%s' takes a number from 0 to %d", entry->line, entry->key,
                       INT32_MAX);
        *field = (uint32_t)value;
    }
    return BASE_OK;
}

static enum base_code read_suppression(struct report_rules *rules,
                                       const struct base_toml_table *table,
                                       struct base_error *error)
{
    static const char *const known[] = {"pattern", "object", "path", "reason"};
    struct report_suppression row = {.pattern = ANALYZE_PATTERNS, .line = table->line};
    for (const struct base_toml_entry *entry = table->entries; entry; entry = entry->next) {
        unsigned at = 0;
        while (at < 4 && strcmp(entry->key, known[at]) != 0)
            at++;
        if (at == 4)
            return fail_key(entry, known, 4, error);
        enum base_code code = want(entry, BASE_TOML_STRING, error);
        if (code != BASE_OK)
            return code;
        const char *value = entry->value.string;
        BASE_RETURN_IF(!value[0], error, BASE_SYNTAX, "line %u: '%s' is empty", entry->line,
                       entry->key);
        if (at == 0 &&
            (row.pattern = analyze_find_pattern(value, strlen(value))) == ANALYZE_PATTERNS) {
            const char *patterns[ANALYZE_PATTERNS];
            analyze_list_patterns(patterns);
            fail_unknown("pattern", value, patterns, ANALYZE_PATTERNS, error);
            return fail_in(entry->line, error);
        }
        row.object = at == 1 ? value : row.object;
        row.path = at == 2 ? value : row.path;
        row.reason = at == 3 ? value : row.reason;
    }
    BASE_RETURN_IF(!row.reason, error, BASE_SYNTAX, "line %u: a suppression needs a 'reason'",
                   table->line);
    BASE_RETURN_IF(row.pattern == ANALYZE_PATTERNS && !row.object && !row.path, error, BASE_SYNTAX,
                   "line %u: a suppression needs a 'pattern', an 'object' or a 'path'",
                   table->line);
    struct report_suppression *made = base_array_push(&rules->suppressions);
    BASE_RETURN_IF_NO_MEMORY(!made, error);
    *made = row;
    return BASE_OK;
}

enum base_code report_rules_read(struct report_rules *rules, struct base_str text,
                                 struct base_error *error)
{
    static const char *const known[] = {"suppress", "thresholds"};
    struct base_toml_table *tables = NULL;
    enum base_code code = base_toml_read(text, &rules->arena, &tables, error);
    for (const struct base_toml_table *table = tables; table && code == BASE_OK;
         table = table->next) {
        if (!table->name[0]) {
            code = read_top(rules, table, error);
        } else if (strcmp(table->name, "suppress") == 0) {
            BASE_RETURN_IF(!table->in_array, error, BASE_SYNTAX,
                           "line %u: a suppression begins with [[suppress]]", table->line);
            code = read_suppression(rules, table, error);
        } else if (strcmp(table->name, "thresholds") == 0) {
            BASE_RETURN_IF(table->in_array, error, BASE_SYNTAX,
                           "line %u: thresholds begin with [thresholds]", table->line);
            code = read_thresholds(rules, table, error);
        } else {
            code = fail_unknown("table", table->name, known, 2, error);
            fail_in(table->line, error);
        }
    }
    return code;
}
