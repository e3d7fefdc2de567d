// SPDX-License-Identifier: Apache-2.0
// Expands templates with a recursive parser that writes as it reads.
#include "template.h"

#include <string.h>

#include "findings.h"
#include "short_names.h"
#include "units.h"

struct expansion {
    const struct report_data *data;
    const struct analyze_finding *finding; // NULL: the template is only checked
    enum analyze_pattern pattern;
    struct base_buf *out;
    bool brief;          // for one line
    bool names_object;   // the finding's object was named, so a brief text may write "it"
    const char *problem; // error in the template; NULL: none so far
    struct base_str at;  // position of the error
};

// --- Objects and calls ---------------------------------------------------------------------------

// Returns what tells the finding's other object from an object with the same label.
static const char *other_of(const struct expansion *expansion, const struct report_object *row)
{
    const struct analyze_finding *finding = expansion->finding;
    const struct report_object *first = report_find_object(expansion->data, finding->object);
    if (row->number != finding->other_object || row->number == finding->object || !first ||
        !first->label || strcmp(first->label, row->label) != 0)
        return "";
    return row->number < first->number ? "an earlier " : "a later ";
}

static void put_object(const struct expansion *expansion, uint64_t number, const char *format)
{
    struct base_buf *out = expansion->out;
    const struct report_object *row = report_find_object(expansion->data, number);
    const bool whole = format[0] == '\0';
    if (expansion->names_object && strcmp(format, "name") == 0 &&
        number == expansion->finding->object) {
        base_buf_puts(out, "it");
        return;
    }
    if (strcmp(format, "size") != 0) {
        const char *other = row && row->label ? other_of(expansion, row) : "";
        if (expansion->names_object && other[0]) {
            base_buf_printf(out, "%sone", other);
        } else if (row && row->label) {
            base_buf_puts(out, other);
            base_buf_putc(out, '`');
            report_put_text(out, row->label);
            base_buf_putc(out, '`');
        } else {
            base_buf_printf(out, "object %llu", (unsigned long long)number);
        }
    }
    if (strcmp(format, "name") == 0)
        return;
    base_buf_puts(out, whole ? " (" : "");
    report_put_bytes(out, row ? row->bytes : 0);
    const int device = row && whole ? report_device_of(expansion->data, row) : -1;
    if (device >= 0)
        base_buf_printf(out, " on device %d", device);
    base_buf_puts(out, whole ? ")" : "");
}

struct named_call {
    enum profile_call_kind kind;
    uint64_t number;
    uint32_t path, kernel;
    uint32_t beside; // path of another call in the same sentence; 0: none
};

static struct named_call call_of(const struct analyze_finding *finding, enum analyze_role role)
{
    switch (role) {
    case ANALYZE_OTHER_CALL:
        return (struct named_call){finding->other_kind, finding->other_call, finding->other_path,
                                   finding->other_kernel, finding->path};
    case ANALYZE_LAST_CALL:
        return (struct named_call){finding->last_kind, finding->last_call, finding->last_path,
                                   finding->last_kernel, finding->path};
    default:
        return (struct named_call){finding->kind, finding->call, finding->path, finding->kernel,
                                   finding->other_path};
    }
}

// Writes the function that the program called, or what the call does if the function is unknown.
static void put_function(const struct expansion *expansion, const struct named_call *call)
{
    static const char *const nouns[] = {
        [PROFILE_CALL_COPY] = "the copy",
        [PROFILE_CALL_SET] = "the set",
        [PROFILE_CALL_ALLOC] = "the allocation",
        [PROFILE_CALL_FREE] = "the free",
        [PROFILE_CALL_SYNC] = "the synchronization",
    };
    const char *called = report_called_at(expansion->data, call->path);
    const char *noun =
        (size_t)call->kind < sizeof(nouns) / sizeof(nouns[0]) ? nouns[call->kind] : NULL;
    switch (call->kind) {
    case PROFILE_CALL_LAUNCH:
        base_buf_puts(expansion->out, "the launch of ");
        base_buf_puts(expansion->out, report_short_kernel(expansion->data, call->kernel));
        break;
    case PROFILE_CALL_GRAPH_LAUNCH: base_buf_puts(expansion->out, "the launch of a graph"); break;
    default: report_put_text(expansion->out, called ? called : noun ? noun : "the call"); break;
    }
}

// Returns whether a line has no room for the name of the launched kernel beside its place.
static bool is_long_launch(const struct expansion *expansion, const struct named_call *call)
{
    enum { ROOM = 24 };
    return expansion->brief && call->kind == PROFILE_CALL_LAUNCH &&
           report_text_width(report_short_kernel(expansion->data, call->kernel)) > ROOM;
}

static void put_call(const struct expansion *expansion, enum analyze_role role, const char *format)
{
    const struct named_call call = call_of(expansion->finding, role);
    const bool whole = format[0] == '\0', at = strcmp(format, "at") == 0;
    const size_t start = expansion->out->length;
    struct base_buf place = {0};
    if (strcmp(format, "where") != 0)
        put_function(expansion, &call);
    if (strcmp(format, "name") == 0)
        return;
    report_put_place_beside(expansion->data, call.path, whole ? call.beside : 0, &place);
    // In one line, the place in the common caller says more than that of the function it calls.
    static const char called[] = ", called at ";
    const char *caller = expansion->brief && place.text ? strstr(place.text, called) : NULL;
    const char *shown = caller ? caller + strlen(called) : place.text;
    if (whole && shown && is_long_launch(expansion, &call)) {
        expansion->out->length = start;
        base_buf_printf(expansion->out, "the launch at %s", shown);
    } else if (shown && at)
        base_buf_printf(expansion->out, " at %s", shown);
    else if (shown)
        base_buf_printf(expansion->out, " (%s)", shown);
    else
        base_buf_printf(expansion->out, " (call %llu)", (unsigned long long)call.number);
    expansion->out->failed |= place.failed;
    base_buf_fini(&place);
}

static void put_units(struct base_buf *out, uint64_t count, const char *unit)
{
    report_put_count(count, out);
    base_buf_printf(out, " %s%s", unit, count == 1 ? "" : "s");
}

// --- Fields of all findings ----------------------------------------------------------------------

enum shared_field {
    OBJECT,
    OTHER_OBJECT,
    CALL,
    OTHER_CALL,
    LAST_CALL,
    KERNEL,
    DISTANCE,
    BETWEEN,
    TIMES,
    COUNT,
    ALONE,
    REPEATED,
    TIMED,
    NO_GAIN,
    BRIEF,
    SHARED_FIELDS
};

static const struct {
    const char *name;
    const char *formats; // separated by blanks; NULL: the field can only be tested
} shared[SHARED_FIELDS] = {
    [OBJECT] = {"object", "name size"},
    [OTHER_OBJECT] = {"other_object", "name size"},
    [CALL] = {"call", "at name where"},
    [OTHER_CALL] = {"other_call", "at name where"},
    [LAST_CALL] = {"last_call", "at name where"},
    [KERNEL] = {"kernel", ""},
    [DISTANCE] = {"distance", ""},
    [BETWEEN] = {"between", ""},
    [TIMES] = {"times", ""},
    [COUNT] = {"count", ""},
    [ALONE] = {"alone", NULL},
    [REPEATED] = {"repeated", NULL},
    [TIMED] = {"timed", NULL},
    [NO_GAIN] = {"no_gain", NULL},
    [BRIEF] = {"brief", NULL},
};

static enum shared_field find_shared(struct base_str name)
{
    unsigned i = 0;
    while (i < SHARED_FIELDS && !base_str_is(name, shared[i].name))
        i++;
    return (enum shared_field)i;
}

static uint64_t shared_value(const struct expansion *expansion, enum shared_field field)
{
    const struct analyze_finding *finding = expansion->finding;
    const bool timed = !analyze_is_simulated(expansion->data->analysis);
    switch (field) {
    case OBJECT: return finding->object;
    case OTHER_OBJECT: return finding->other_object;
    case CALL: return finding->call;
    case OTHER_CALL: return finding->other_call;
    case LAST_CALL: return finding->last_call;
    case KERNEL: return finding->kernel;
    case DISTANCE: return finding->distance;
    case BETWEEN: return finding->distance ? finding->distance - 1 : 0;
    case TIMES: return finding->times;
    case COUNT: return finding->count;
    case ALONE: return finding->count == 1;
    case REPEATED: return finding->times > 1;
    case TIMED: return timed;
    case NO_GAIN: return timed && finding->host_ns == 0;
    case BRIEF: return expansion->brief;
    case SHARED_FIELDS: break;
    }
    return 0;
}

static void put_shared(const struct expansion *expansion, enum shared_field field,
                       const char *format)
{
    const uint64_t value = shared_value(expansion, field);
    switch (field) {
    case OBJECT:
    case OTHER_OBJECT: put_object(expansion, value, format); break;
    case CALL: put_call(expansion, ANALYZE_CALL, format); break;
    case OTHER_CALL: put_call(expansion, ANALYZE_OTHER_CALL, format); break;
    case LAST_CALL: put_call(expansion, ANALYZE_LAST_CALL, format); break;
    case KERNEL:
        base_buf_puts(expansion->out, report_short_kernel(expansion->data, (uint32_t)value));
        break;
    case DISTANCE:
    case BETWEEN: put_units(expansion->out, value, "GPU API call"); break;
    default: report_put_count(value, expansion->out); break;
    }
}

// --- Fields of the pattern -----------------------------------------------------------------------

// Returns the formats of a type, separated by blanks; NULL if the field can only be tested.
static const char *formats_of(const struct analyze_field *field)
{
    switch (field->type) {
    case ANALYZE_COUNT: return field->unit ? "unit bytes" : "bytes";
    case ANALYZE_REAL: return "whole";
    case ANALYZE_BYTES:
    case ANALYZE_NS:
    case ANALYZE_PATH:
    case ANALYZE_LINE:
    case ANALYZE_NAME:
    case ANALYZE_WORD: return "";
    case ANALYZE_VALUE: return "added factor";
    default: return NULL;
    }
}

static void put_path(const struct expansion *expansion, const struct analyze_field *field,
                     struct base_buf *out)
{
    report_put_place_beside(expansion->data,
                            (uint32_t)analyze_field_number(expansion->finding, field),
                            expansion->finding->path, out);
}

// Writes a value: "added" to something before it, with its sign in between, as " - 2", or nothing
// if it is zero; or as the "factor" of something behind it, as "2*", or nothing if it is 1.
static void put_value(struct base_buf *out, struct analyze_value value, const char *format)
{
    struct base_buf text = {0};
    report_put_value(&text, value);
    const char *digits = text.text ? text.text : "";
    const bool is_added = strcmp(format, "added") == 0;
    if (strcmp(format, "factor") == 0) {
        if (strcmp(digits, "1") != 0)
            base_buf_printf(out, "%s*", digits);
        out->failed |= text.failed;
        base_buf_fini(&text);
        return;
    }
    const bool is_negative = is_added && digits[0] == '-';
    const bool is_zero = strcmp(digits, "0") == 0 || strcmp(digits, "-0") == 0;
    if (!is_added || !is_zero)
        base_buf_printf(out, "%s%s",
                        is_negative ? " - "
                        : is_added  ? " + "
                                    : "",
                        digits + is_negative);
    out->failed |= text.failed;
    base_buf_fini(&text);
}

static void put_line(struct base_buf *out, struct analyze_line line)
{
    report_put_text(out, line.file ? report_base_name(line.file) : "?");
    base_buf_printf(out, ":%u", line.line);
}

static void put_name(struct base_buf *out, const char *name)
{
    if (!name) {
        base_buf_puts(out, "an array");
        return;
    }
    base_buf_putc(out, '`');
    report_put_text(out, name);
    base_buf_putc(out, '`');
}

static void put_own(const struct expansion *expansion, const struct analyze_field *field,
                    const char *format)
{
    const struct analyze_finding *finding = expansion->finding;
    struct base_buf *out = expansion->out;
    switch (field->type) {
    case ANALYZE_COUNT:
        if (strcmp(format, "unit") == 0)
            put_units(out, analyze_field_number(finding, field), field->unit);
        else if (strcmp(format, "bytes") == 0)
            report_put_bytes(out, analyze_field_number(finding, field));
        else
            report_put_count(analyze_field_number(finding, field), out);
        break;
    case ANALYZE_BYTES: report_put_bytes(out, analyze_field_number(finding, field)); break;
    case ANALYZE_NS: report_put_ns(out, analyze_field_number(finding, field)); break;
    case ANALYZE_REAL:
        base_buf_printf(out, strcmp(format, "whole") == 0 ? "%.0f%%" : "%.1f%%",
                        analyze_field_real(finding, field) * 100);
        break;
    case ANALYZE_PATH: put_path(expansion, field, out); break;
    case ANALYZE_WORD: report_put_text(out, analyze_field_word(finding, field)); break;
    case ANALYZE_NAME: put_name(out, analyze_field_word(finding, field)); break;
    case ANALYZE_VALUE: put_value(out, analyze_field_value(finding, field), format); break;
    case ANALYZE_LINE: put_line(out, analyze_field_line(finding, field)); break;
    default: break;
    }
}

static bool is_own_true(const struct expansion *expansion, const struct analyze_field *field)
{
    struct base_buf place = {0};
    if (!analyze_field_is_known(expansion->finding, field))
        return false;
    switch (field->type) {
    case ANALYZE_REAL:
    case ANALYZE_VALUE: return true;
    case ANALYZE_LINE: return analyze_field_line(expansion->finding, field).file != NULL;
    case ANALYZE_NAME:
    case ANALYZE_WORD: return analyze_field_word(expansion->finding, field) != NULL;
    case ANALYZE_HISTOGRAM:
    case ANALYZE_RANGES: return analyze_field_counts(expansion->finding, field) != NULL;
    case ANALYZE_PATH: {
        put_path(expansion, field, &place);
        const bool known = place.length > 0;
        expansion->out->failed |= place.failed;
        base_buf_fini(&place);
        return known;
    }
    default: return analyze_field_number(expansion->finding, field) != 0;
    }
}

// --- The parser ----------------------------------------------------------------------------------

static void complain(struct expansion *expansion, const char *problem, struct base_str at)
{
    if (expansion->problem)
        return;
    expansion->problem = problem;
    expansion->at = at;
}

static const struct analyze_field *find_own(const struct expansion *expansion, struct base_str name)
{
    return analyze_find_field(expansion->pattern, name.text, name.length);
}

// Returns the value of a condition, "field" or "not field"; false if the template is only checked.
static bool is_true(struct expansion *expansion, struct base_str condition)
{
    const bool negated = condition.length > 4 && memcmp(condition.text, "not ", 4) == 0;
    if (negated)
        condition = (struct base_str){condition.text + 4, condition.length - 4};
    const enum shared_field field = find_shared(condition);
    const struct analyze_field *own =
        field == SHARED_FIELDS ? find_own(expansion, condition) : NULL;
    if (field == SHARED_FIELDS && !own)
        complain(expansion, "no such field to test", condition);
    if (expansion->problem || !expansion->finding)
        return false;
    return negated != (own ? is_own_true(expansion, own) : shared_value(expansion, field) != 0);
}

// Writes "part/whole" as a percentage, and "part/whole:times" as a factor.
static void put_share(struct expansion *expansion, struct base_str part, struct base_str whole)
{
    static const char factor[] = ":times";
    const size_t suffix = sizeof(factor) - 1;
    const bool is_factor =
        whole.length > suffix && memcmp(whole.text + whole.length - suffix, factor, suffix) == 0;
    if (is_factor)
        whole.length -= suffix;
    const struct analyze_field *fields[] = {find_own(expansion, part), find_own(expansion, whole)};
    for (unsigned i = 0; i < 2; i++) {
        if (!fields[i] || fields[i]->type != ANALYZE_COUNT)
            complain(expansion, "not a count", i ? whole : part);
    }
    if (expansion->problem || !expansion->finding)
        return;
    const uint64_t counts[] = {analyze_field_number(expansion->finding, fields[0]),
                               analyze_field_number(expansion->finding, fields[1])};
    if (is_factor)
        base_buf_printf(expansion->out, "%.1f",
                        counts[1] ? (double)counts[0] / (double)counts[1] : 0.0);
    else
        report_put_share(expansion->out, counts[0], counts[1]);
}

static bool is_listed(const char *words, struct base_str word)
{
    for (const char *at = words; at && *at;) {
        const size_t length = strcspn(at, " ");
        if (length == word.length && memcmp(at, word.text, length) == 0)
            return true;
        at += length + strspn(at + length, " ");
    }
    return false;
}

// Writes the contents of braces: "field", "field:format", "part/whole" or "part/whole:times".
static void put_field(struct expansion *expansion, struct base_str tag)
{
    const char *colon = memchr(tag.text, ':', tag.length);
    const char *slash = memchr(tag.text, '/', tag.length);
    const char *mark = slash ? slash : colon;
    const size_t length = mark ? (size_t)(mark - tag.text) : tag.length;
    const struct base_str name = {tag.text, length};
    const struct base_str rest = {mark ? mark + 1 : "", mark ? tag.length - length - 1 : 0};
    char format[16] = "";
    if (slash) {
        put_share(expansion, name, rest);
        return;
    }
    const enum shared_field field = find_shared(name);
    const struct analyze_field *own = field == SHARED_FIELDS ? find_own(expansion, name) : NULL;
    const char *formats = own                      ? formats_of(own)
                          : field == SHARED_FIELDS ? NULL
                                                   : shared[field].formats;
    if (!formats)
        complain(expansion, "no such field to write", name);
    else if (rest.length >= sizeof(format) || (colon && !is_listed(formats, rest)))
        complain(expansion, "no such format", rest);
    if (expansion->problem || !expansion->finding)
        return;
    memcpy(format, rest.text, rest.length);
    if (own)
        put_own(expansion, own, format);
    else
        put_shared(expansion, field, format);
}

static bool begins(const char *at, const char *tag)
{
    return strncmp(at, tag, strlen(tag)) == 0;
}

static bool ends_branch(const char *at)
{
    return begins(at, "{elif ") || begins(at, "{else}") || begins(at, "{end}");
}

static const char *expand_choice(struct expansion *expansion, const char *at, bool live);

// Expands the template from `at` to the end of the text or of the current branch, and returns that
// end. Writes only if `live`.
static const char *expand(struct expansion *expansion, const char *at, bool live)
{
    while (*at && !ends_branch(at) && !expansion->problem) {
        if (begins(at, "{if ")) {
            at = expand_choice(expansion, at, live);
        } else if (*at == '{') {
            const size_t length = strcspn(at, "}");
            if (at[length] != '}')
                complain(expansion, "a brace is not closed", base_str(at));
            else if (live)
                put_field(expansion, (struct base_str){at + 1, length - 1});
            at += length + (at[length] == '}');
        } else {
            const size_t length = strcspn(at, "{");
            if (live && expansion->finding)
                base_buf_add(expansion->out, at, length);
            at += length;
        }
    }
    return at;
}

// Expands a choice from "{if " to the end of its "{end}". If the template is only checked, all
// branches are parsed.
static const char *expand_choice(struct expansion *expansion, const char *at, bool live)
{
    const char *const start = at;
    bool taken = false, last = false;
    while (!expansion->problem && !begins(at, "{end}")) {
        bool holds = true;
        if (last || !*at) {
            complain(expansion, "a choice has no {end}", base_str(start));
            break;
        }
        last = begins(at, "{else}");
        const size_t skipped = last ? strlen("{else") : begins(at, "{if ") ? 4 : strlen("{elif ");
        const size_t length = strcspn(at + skipped, "}");
        if (!last)
            holds = is_true(expansion, (struct base_str){at + skipped, length});
        at += skipped + length;
        at += *at == '}';
        at = expand(expansion, at, live && (!expansion->finding || (holds && !taken)));
        taken |= holds;
    }
    return expansion->problem ? at + strlen(at) : at + strlen("{end}");
}

static void expand_all(struct expansion *expansion, const char *template)
{
    const char *end = expand(expansion, template, true);
    if (*end)
        complain(expansion, "no choice is open here", base_str(end));
}

void report_expand(const struct report_data *data, const struct analyze_finding *finding,
                   const char *template, struct base_buf *out)
{
    struct expansion expansion = {
        .data = data, .finding = finding, .pattern = finding->pattern, .out = out};
    expand_all(&expansion, template);
}

// Returns whether the text names the finding's object, and not only others of the same name.
static bool names_object(const struct report_data *data, const struct analyze_finding *finding,
                         const struct base_buf *text)
{
    const struct report_object *row = report_find_object(data, finding->object);
    struct base_buf quoted = {0};
    base_buf_putc(&quoted, '`');
    report_put_text(&quoted, row && row->label ? row->label : "");
    base_buf_putc(&quoted, '`');
    const bool found =
        row && row->label && quoted.text && text->text && strstr(text->text, quoted.text);
    base_buf_fini(&quoted);
    return found;
}

void report_expand_brief(const struct report_data *data, const struct analyze_finding *finding,
                         struct base_buf *message, struct base_buf *suggestion)
{
    const struct analyze_description *description = analyze_describe(finding->pattern);
    struct expansion expansion = {.data = data,
                                  .finding = finding,
                                  .pattern = finding->pattern,
                                  .out = message,
                                  .brief = true};
    expand_all(&expansion, description->message);
    expansion.names_object = names_object(data, finding, message);
    expansion.out = suggestion;
    expand_all(&expansion, description->suggestion);
}

// --- Checks --------------------------------------------------------------------------------------

static enum base_code check_template(enum analyze_pattern pattern, const char *what,
                                     const char *template, struct base_error *error)
{
    struct expansion expansion = {.pattern = pattern};
    expand_all(&expansion, template);
    BASE_RETURN_IF(expansion.problem, error, BASE_INVALID, "pattern %s: %s: %s: '%.*s'",
                   analyze_pattern_word(pattern), what, expansion.problem,
                   (int)(expansion.at.length < 40 ? expansion.at.length : 40), expansion.at.text);
    return BASE_OK;
}

static bool is_empty(const char *text)
{
    return !text || !text[0];
}

static enum base_code check_fields(const struct analyze_description *pattern,
                                   struct base_error *error)
{
    for (const struct analyze_field *field = pattern->fields; field && field->name; field++) {
        const bool is_word = field->type == ANALYZE_WORD, is_path = field->type == ANALYZE_PATH;
        BASE_RETURN_IF(field->meaning && !field->meaning[0], error, BASE_INVALID,
                       "pattern %s: field %s has no meaning", pattern->name, field->name);
        BASE_RETURN_IF(field->meaning && field->type == ANALYZE_COUNT && is_empty(field->unit),
                       error, BASE_INVALID, "pattern %s: count %s has no unit", pattern->name,
                       field->name);
        BASE_RETURN_IF(is_word && is_empty(field->values), error, BASE_INVALID,
                       "pattern %s: word %s has no values", pattern->name, field->name);
        BASE_RETURN_IF(is_path && (is_empty(field->place.label) || is_empty(field->place.noun)),
                       error, BASE_INVALID, "pattern %s: path %s has no label or noun",
                       pattern->name, field->name);
    }
    for (const struct analyze_threshold *const *at = pattern->thresholds; *at; at++)
        BASE_RETURN_IF(is_empty((*at)->name) || is_empty((*at)->unit) || is_empty((*at)->meaning),
                       error, BASE_INVALID, "pattern %s: a threshold has no name, unit or meaning",
                       pattern->name);
    return BASE_OK;
}

enum base_code report_check_pattern(enum analyze_pattern number, struct base_error *error)
{
    const struct analyze_description *pattern = analyze_describe(number);
    BASE_RETURN_IF(is_empty(pattern->name), error, BASE_INVALID, "a pattern has no name");
    BASE_RETURN_IF(analyze_find_pattern(pattern->name, strlen(pattern->name)) != number, error,
                   BASE_INVALID, "two patterns are called %s", pattern->name);
    const struct {
        const char *name, *text;
    } texts[] = {
        {"title", pattern->title},
        {"definition", pattern->definition},
        {"remedy", pattern->remedy},
        {"paper", pattern->paper},
        {"message", pattern->message},
        {"suggestion", pattern->suggestion},
        {"role of its call", pattern->roles[ANALYZE_CALL].label},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        BASE_RETURN_IF(is_empty(texts[i].text), error, BASE_INVALID, "pattern %s has no %s",
                       pattern->name, texts[i].name);
    for (unsigned i = 0; i < ANALYZE_ROLES; i++)
        BASE_RETURN_IF(is_empty(pattern->roles[i].label) != is_empty(pattern->roles[i].noun), error,
                       BASE_INVALID, "pattern %s: a role has only a label or only a noun",
                       pattern->name);
    BASE_RETURN_IF(!pattern->find == !pattern->find_remedies, error, BASE_INVALID,
                   "pattern %s needs either find or find_remedies", pattern->name);
    enum base_code code = check_fields(pattern, error);
    if (code == BASE_OK)
        code = check_template(number, "message", pattern->message, error);
    if (code == BASE_OK)
        code = check_template(number, "suggestion", pattern->suggestion, error);
    return code;
}
