// SPDX-License-Identifier: Apache-2.0
// Shortens names. A demangled name is parsed as nested brackets; characters such as < that belong
// to an operator do not count. If the brackets do not match, the name is only cut.
#include "short_names.h"

#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "units.h"

static const char dots[] = "...";
enum { WHOLE_DEPTH = 16 }; // nesting of template arguments that is shown if there is room

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// --- Reading -------------------------------------------------------------------------------------

// Returns the length of the token: a word, the name of an operator such as "operator<<", "->", or
// one character.
static size_t token_bytes(const char *at)
{
    static const char *const operators[] = {
        "()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "==", "!=",
        "&&", "||", "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=",
    };
    static const char single[] = "<>=!+-*/%^&|~,";
    size_t bytes = 0;
    while (is_word(at[bytes]))
        bytes++;
    if (bytes == strlen("operator") && begins(at, "operator")) {
        for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
            if (begins(at + bytes, operators[i]))
                return bytes + strlen(operators[i]);
        }
        if (at[bytes] && strchr(single, at[bytes]))
            return bytes + 1;
        if (at[bytes] == ' ' && is_word(at[bytes + 1])) // "operator new", "operator unsigned int"
            return bytes + strcspn(at + bytes, "(<");
    }
    if (begins(at, "->"))
        return 2;
    return bytes ? bytes : 1;
}

static char closer_of(char c)
{
    return c == '(' ? ')' : c == '{' ? '}' : c == '[' ? ']' : '\0';
}

// Returns the length of the bracket that opens here, including its contents; 0 if it is not closed.
// Within other brackets, < and > are ignored, because they may compare numbers.
static size_t bracket_bytes(const char *text)
{
    const char closer = closer_of(*text);
    size_t at = 1;
    while (text[at]) {
        if (text[at] == (closer ? closer : '>'))
            return at + 1;
        const bool opens = closer_of(text[at]) || (!closer && text[at] == '<');
        const size_t bytes = opens ? bracket_bytes(text + at) : token_bytes(text + at);
        if (bytes == 0)
            return 0;
        at += bytes;
    }
    return 0;
}

struct parts {
    const char *start, *end; // of the name, without return type and parameters
    const char *last;        // after the last "::" of its namespaces and classes
    const char *first_end;   // after the first "::"; NULL if there is none
};

// Returns whether the text can follow the parameters of a function.
static bool is_after_parameters(const char *text)
{
    static const char *const words[] = {" const", " volatile", " &", "&"};
    while (*text) {
        size_t bytes = 0;
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !bytes; i++)
            bytes = begins(text, words[i]) ? strlen(words[i]) : 0;
        if (bytes == 0)
            return begins(text, " [clone ");
        text += bytes;
    }
    return true;
}

// Returns false if brackets do not match or there is no name.
static bool read_parts(const char *name, struct parts *parts)
{
    const char *at = name, *space = NULL, *parameters = NULL;
    *parts = (struct parts){name, NULL, name, NULL};
    while (*at) {
        const bool opens = closer_of(*at) || *at == '<';
        const size_t bytes = opens ? bracket_bytes(at) : token_bytes(at);
        if (bytes == 0)
            return false;
        if (*at == '(' && at > name && is_after_parameters(at + bytes)) {
            parameters = at;
            break;
        }
        if (*at == ' ' && begins(at, " [clone "))
            break;
        // Spaces in "operator< <int>" and "f() const::{lambda()#1}" do not end the return type.
        if (*at == ' ' && at[1] != '<' && !begins(at, " const:"))
            space = at;
        at += bytes;
    }
    parts->end = parameters ? parameters : at;
    if (space && space + 1 < parts->end)
        parts->start = space + 1;
    parts->last = parts->start;
    for (at = parts->start; at < parts->end;) {
        if (begins(at, "::")) {
            parts->last = at + 2;
            parts->first_end = parts->first_end ? parts->first_end : parts->last;
        }
        at += closer_of(*at) || *at == '<' ? bracket_bytes(at) : token_bytes(at);
    }
    return parts->end > parts->start;
}

// --- Writing -------------------------------------------------------------------------------------

// Returns whether the word is an inline namespace that contains a version: THRUST_300001_SM_800_NS,
// CUB_300001_SM_800.
static bool is_version(const char *at)
{
    static const char *const prefixes[] = {"THRUST_", "CUB_"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        const size_t bytes = strlen(prefixes[i]);
        if (begins(at, prefixes[i]) && at[bytes] >= '0' && at[bytes] <= '9')
            return true;
    }
    return false;
}

// Returns the length of a namespace that people did not write, with its "::"; 0 if there is none.
// nvcc gives the namespaces and static functions of a file names that contain hashes.
static size_t unnamed_bytes(const char *at)
{
    static const char plain[] = "(anonymous namespace)::";
    if (begins(at, plain))
        return strlen(plain);
    if (!begins(at, "_GLOBAL__N_") && !begins(at, "_INTERNAL_") && !is_version(at))
        return 0;
    size_t bytes = 0;
    while (is_word(at[bytes]))
        bytes++;
    return begins(at + bytes, "::") ? bytes + 2 : 0;
}

// Writes the text, with <> left empty below the given depth, and "> >" as ">>".
static void put_depth(struct base_buf *out, const char *at, const char *end, unsigned depth)
{
    while (at < end) {
        const size_t unnamed = unnamed_bytes(at);
        size_t bytes = closer_of(*at) || *at == '<' ? bracket_bytes(at) : token_bytes(at);
        if (unnamed || (*at == ' ' && at + 1 == end)) {
            bytes = unnamed ? unnamed : bytes;
        } else if (*at == '<') {
            base_buf_putc(out, '<');
            if (depth)
                put_depth(out, at + 1, at + bytes - 1, depth - 1);
            else
                base_buf_puts(out, dots);
            base_buf_putc(out, '>');
        } else {
            base_buf_add(out, at, bytes);
        }
        at += bytes;
    }
}

// Writes the first and last characters, with dots in between.
static void put_middle_cut(struct base_buf *out, const char *text, size_t width)
{
    const size_t characters = report_text_width(text), kept = width - strlen(dots);
    const size_t head = kept - kept / 2, tail = characters - kept / 2;
    size_t number = 0; // of the character, counted from 1
    if (characters <= width) {
        base_buf_puts(out, text);
        return;
    }
    for (; *text; text++) {
        const bool begins_one = ((unsigned char)*text & 0xc0) != 0x80;
        number += begins_one;
        if (begins_one && number == head + 1)
            base_buf_puts(out, dots);
        if (number <= head || number > tail)
            base_buf_putc(out, *text);
    }
}

// Returns whether `form` fits; otherwise empties it.
static bool fits(struct base_buf *form, size_t width)
{
    if (form->failed || (form->length && report_text_width(form->text) <= width))
        return true;
    form->length = 0;
    return false;
}

// Writes a printable name in at most `width` characters.
static void put_short(struct base_buf *out, const char *name, size_t width)
{
    struct parts parts;
    struct base_buf form = {0};
    bool done = false;
    if (read_parts(name, &parts)) {
        for (unsigned depth = WHOLE_DEPTH; depth > 0 && !done;
             depth /= 2) { // less deep in each round
            put_depth(&form, parts.start, parts.end, depth);
            done = fits(&form, width);
        }
        if (!done) {
            put_depth(&form, parts.start, parts.end, 0);
            done = fits(&form, width);
        }
        if (!done && parts.first_end && parts.first_end < parts.last) {
            put_depth(&form, parts.start, parts.first_end, 0);
            base_buf_puts(&form, form.length ? "...::" : "");
            put_depth(&form, parts.last, parts.end, 0);
            done = fits(&form, width);
        }
        if (!done)
            put_depth(&form, parts.last, parts.end, 0);
    } else {
        base_buf_puts(&form, name);
    }
    if (form.length && !form.failed)
        put_middle_cut(out, form.text, width);
    out->failed |= form.failed;
    base_buf_fini(&form);
}

void report_put_function(struct base_buf *out, const char *name)
{
    struct base_buf safe = {0};
    report_put_text(&safe, name);
    if (safe.length && !safe.failed)
        put_short(out, safe.text, REPORT_NAME_WIDTH);
    out->failed |= safe.failed;
    base_buf_fini(&safe);
}

// --- Kernels -------------------------------------------------------------------------------------

static int by_short_name(const void *one, const void *other)
{
    const struct report_kernel *a = *(struct report_kernel *const *)one,
                               *b = *(struct report_kernel *const *)other;
    const int order = strcmp(a->short_name, b->short_name);
    return order ? order : strcmp(a->name, b->name);
}

// Sets the short name and frees the buffer.
static bool set_name(struct report_data *data, struct report_kernel *kernel, struct base_buf *name)
{
    const bool known = name->length && !name->failed;
    const char *kept = name->failed ? NULL
                                    : base_alloc_text(&data->arena, known ? name->text : "?",
                                                      known ? name->length : 1);
    if (kept)
        kernel->short_name = kept;
    base_buf_fini(name);
    return kept != NULL;
}

// Adds the parameters to the name if they fit.
static bool add_parameters(struct report_data *data, struct report_kernel *kernel)
{
    struct base_buf safe = {0}, whole = {0};
    struct parts parts;
    report_put_text(&safe, kernel->name);
    bool good = !safe.failed;
    if (good && safe.length && read_parts(safe.text, &parts))
        put_depth(&whole, parts.start, safe.text + safe.length, WHOLE_DEPTH);
    if (whole.failed || (whole.length && report_text_width(whole.text) <= REPORT_NAME_WIDTH))
        good &= set_name(data, kernel, &whole);
    else
        base_buf_fini(&whole);
    base_buf_fini(&safe);
    return good;
}

static bool add_number(struct report_data *data, struct report_kernel *kernel, size_t number)
{
    struct base_buf name = {0}, suffix = {0};
    base_buf_printf(&suffix, " #%zu", number);
    if (!suffix.failed)
        put_middle_cut(&name, kernel->short_name, REPORT_NAME_WIDTH - suffix.length);
    base_buf_add(&name, suffix.text, suffix.length);
    name.failed |= suffix.failed;
    base_buf_fini(&suffix);
    return set_name(data, kernel, &name);
}

// Changes names that several kernels share: adds parameters, or in the last round numbers.
static bool part_same(struct report_data *data, struct report_kernel **rows, size_t count,
                      bool numbered)
{
    bool good = true;
    qsort(rows, count, sizeof(struct report_kernel *), by_short_name);
    for (size_t first = 0, end; first < count; first = end) {
        const char *name = rows[first]->short_name;
        for (end = first + 1; end < count && strcmp(rows[end]->short_name, name) == 0;)
            end++;
        for (size_t i = first; i < end && end - first > 1; i++)
            good &=
                numbered ? add_number(data, rows[i], i - first + 1) : add_parameters(data, rows[i]);
    }
    return good;
}

bool report_shorten_kernels(struct report_data *data)
{
    const size_t count = data->kernel_rows.count;
    struct report_kernel **rows = calloc(count + 1, sizeof(*rows));
    bool good = rows != NULL;
    for (size_t i = 0; i < count && good; i++) {
        struct base_buf name = {0};
        rows[i] = &data->kernel_rows.items[i];
        report_put_function(&name, rows[i]->name);
        good = set_name(data, rows[i], &name);
    }
    good = good && part_same(data, rows, count, false) && part_same(data, rows, count, true);
    free(rows);
    return good;
}

const char *report_short_kernel(const struct report_data *data, uint32_t number)
{
    const uint64_t *index = base_map_get(&data->kernels, number);
    return index ? data->kernel_rows.items[*index - 1].short_name : "a kernel";
}

const char *report_short_name(const struct report_data *data, const char *name)
{
    const uint64_t *index = name ? base_map_get_str(&data->kernel_names, base_str(name)) : NULL;
    return index ? data->kernel_rows.items[*index - 1].short_name : name;
}

// --- Notes ---------------------------------------------------------------------------------------

// libglint.so cuts names in its notes after so many bytes.
enum { NOTE_NAME_BYTES = 200 };

// Returns the length of the mangled name that begins here; 0: none does.
static size_t mangled_bytes(const char *at)
{
    size_t bytes = 0;
    while (begins(at, "_Z") && (is_word(at[bytes]) || at[bytes] == '.'))
        bytes++;
    return bytes;
}

// Returns the kernel whose whole name begins here, or whose mangled name this is, and the length of
// what stands for it; NULL: none.
static const struct report_kernel *kernel_at(const struct report_data *data, const char *at,
                                             size_t *length)
{
    const struct report_kernel *found = NULL;
    const size_t mangled = mangled_bytes(at);
    *length = mangled;
    for (size_t i = 0; i < data->kernel_rows.count; i++) {
        const struct report_kernel *kernel = &data->kernel_rows.items[i];
        size_t bytes = 0;
        while (kernel->name[bytes] && kernel->name[bytes] == at[bytes])
            bytes++;
        if (mangled && kernel->symbol && strncmp(kernel->symbol, at, mangled) == 0 &&
            (!kernel->symbol[mangled] || mangled == NOTE_NAME_BYTES))
            return kernel;
        if (bytes > REPORT_NAME_WIDTH && bytes > *length && !kernel->name[bytes]) {
            found = kernel; // one name may begin with another one
            *length = bytes;
        }
    }
    return found;
}

void report_put_note(const struct report_data *data, struct base_buf *out, const char *text)
{
    struct base_buf note = {0}, word = {0};
    report_put_text(&note, text);
    for (const char *at = note.text; !note.failed && at && *at;) {
        size_t bytes;
        const struct report_kernel *kernel = kernel_at(data, at, &bytes);
        const size_t bracket = *at == '<' ? bracket_bytes(at) : 0;
        if (kernel) {
            base_buf_puts(out, kernel->short_name);
        } else if (bytes) {
            word.length = 0;
            base_buf_add(&word, at, bytes);
            if (!word.failed)
                put_middle_cut(out, word.text, REPORT_NAME_WIDTH);
        } else if (bracket > REPORT_NAME_WIDTH) {
            bytes = bracket;
            base_buf_printf(out, "<%s>", dots);
        } else {
            do // the rest of a word is not the start of a name
                base_buf_putc(out, at[bytes++]);
            while (is_word(at[bytes - 1]) && is_word(at[bytes]));
        }
        at += bytes;
    }
    out->failed |= note.failed || word.failed;
    base_buf_fini(&note);
    base_buf_fini(&word);
}
