// SPDX-License-Identifier: Apache-2.0
// Names objects from the frames of the calls that made them: chooses the frames whose source is
// searched, and the name to use if no source yields one.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ctext.h"
#include "names.h"
#include "names_python.h"
#include "profile/profile.h"

enum { FILES_MOST = 64, FILE_MOST_BYTES = 8 << 20 };

// What record_names_in_python says of a line.
struct python_line {
    enum record_names_strength strength;
    char *name; // NULL: none
};

struct source {
    char *path, *text, *clean; // text and clean are NULL if the file cannot be read
    size_t length;
    int64_t written_s;
    struct base_map asked; // of a source in Python, by line: 1 + index into lines
    BASE_ARRAY(struct python_line) lines;
};

struct record_names {
    struct source files[FILES_MOST]; // a ring: files[next] is replaced next
    unsigned next;
};

struct record_names *record_names_create(void)
{
    return calloc(1, sizeof(struct record_names));
}

static void forget(struct source *source)
{
    free(source->path);
    free(source->text);
    free(source->clean);
    for (size_t i = 0; i < source->lines.count; i++)
        free(source->lines.items[i].name);
    base_array_fini(&source->lines);
    base_map_fini(&source->asked);
    *source = (struct source){0};
}

void record_names_destroy(struct record_names *names)
{
    for (unsigned i = 0; names && i < FILES_MOST; i++)
        forget(&names->files[i]);
    free(names);
}

static struct source *read_path(struct record_names *names, const char *path)
{
    for (unsigned i = 0; i < FILES_MOST; i++)
        if (names->files[i].path && !strcmp(names->files[i].path, path))
            return &names->files[i];
    struct source *source = &names->files[names->next++ % FILES_MOST];
    forget(source);
    source->path = strdup(path);
    char *text = NULL;
    struct base_error error;
    struct stat status;
    source->written_s = stat(path, &status) ? 0 : status.st_mtim.tv_sec;
    if (source->path && !base_file_read(path, &text, &source->length, &error) &&
        source->length <= FILE_MOST_BYTES)
        source->clean = record_ctext_clean(text, source->length);
    if (source->clean)
        source->text = text;
    else
        free(text);
    return source;
}

// Reads the frame's file where the compiler found it; if it is not there, as the name says.
static struct source *read_source(struct record_names *names,
                                  const struct record_symbols_frame *frame)
{
    struct base_buf path = {0};
    struct source *source = NULL;
    if (frame->folder && frame->file[0] != '/') {
        base_buf_printf(&path, "%s/%s", frame->folder, frame->file);
        source = path.failed ? NULL : read_path(names, path.text);
    }
    base_buf_fini(&path);
    return source && source->clean ? source : read_path(names, frame->file);
}

// "space::make<float>(int)" is called as make.
static void simple_name(const char *function, struct base_buf *out)
{
    int depth = 0;
    const char *start = function, *end = NULL;
    for (const char *c = function; *c; c++) {
        if (*c == '(' && depth == 0 && c != function) {
            end = end ? end : c;
            break;
        }
        if (*c == '<') {
            end = depth == 0 ? c : end;
            depth++;
        } else if (*c == '>') {
            depth--;
        } else if (depth == 0 && (*c == ':' || *c == ' ')) {
            start = c + 1;
            end = NULL;
        }
    }
    out->length = 0;
    if (end)
        base_buf_add(out, start, (size_t)(end - start));
    else
        base_buf_puts(out, start);
}

static bool is_library(const struct record_symbols_frame *frame)
{
    return profile_is_library_frame(&(struct profile_frame){
        .function = frame->function, .file = frame->file, .python = frame->code != NULL});
}

// Returns whether "space::buffer<float>::buffer(unsigned long)" is a constructor: the class and the
// function have one name.
static bool is_constructor(const char *function)
{
    const char *start = function, *end = NULL, *before = NULL;
    size_t before_bytes = 0;
    int depth = 0;
    for (const char *c = function;; c++) {
        if (*c == '<')
            end = depth++ == 0 && !end ? c : end;
        else if (*c == '>')
            depth--;
        else if (depth == 0 && (*c == ':' || *c == ' ' || *c == '(' || !*c)) {
            const size_t bytes = (size_t)((end ? end : c) - start);
            if (*c == '(' || !*c)
                return before && bytes && bytes == before_bytes && !memcmp(start, before, bytes);
            before = *c == ':' ? start : NULL;
            before_bytes = bytes;
            if (*c == ':' && c[1] == ':')
                c++;
            start = c + 1;
            end = NULL;
        }
        if (!*c)
            return false;
    }
}

// Returns what follows "this->" if that is the name of a member: a method assigned it, and it is
// spelled like one, or a constructor did. Returns NULL if it may be another variable.
static const char *member_of(const char *function, const char *name)
{
    static const char own[] = "this->";
    const size_t length = strlen(name);
    const bool is_own = strncmp(name, own, strlen(own)) == 0,
               is_spelled = length > 1 && (name[length - 1] == '_' || !strncmp(name, "m_", 2));
    if (!is_constructor(function) && !(strstr(function, "::") && (is_own || is_spelled)))
        return NULL;
    return is_own ? name + strlen(own) : name;
}

// Replaces a name that begins with a variable which the frame's function gets or returns: by that
// of the caller's variable, with the rest of the name. The name stays as it is if that is not
// found.
static void name_owner(struct record_names *names, const struct record_symbols_frame *frames,
                       size_t count, size_t at, struct base_buf *name)
{
    struct base_buf whole = {0}, callee = {0}, found = {0};
    const struct source *source = read_source(names, &frames[at]);
    struct record_names_owner owner =
        record_names_owner_of(source->clean, source->length, frames[at].line, name->text);
    base_buf_add(&whole, name->text, name->length);
    for (size_t i = at + 1; i < count && owner.kind != RECORD_NAMES_KEPT; i++) {
        const struct record_symbols_frame *frame = &frames[i];
        const char *rest = whole.text;
        bool is_address;
        if (!rest || frame->code || !frame->file || !frame->line || !frames[i - 1].function ||
            is_library(frame))
            break;
        source = read_source(names, frame);
        if (!source->clean || (frame->built_s && source->written_s > frame->built_s))
            break;
        while (record_ctext_is_word(*rest))
            rest++;
        simple_name(frames[i - 1].function, &callee);
        found.length = 0;
        const enum record_names_strength strength =
            record_names_of_owner(source->clean, source->length, frame->line, frame->column,
                                  callee.text ? callee.text : "", owner, &found, &is_address);
        if (strength == RECORD_NAMES_RETURNED && owner.kind == RECORD_NAMES_RETURNS)
            continue;
        if (strength != RECORD_NAMES_STRONG || !found.length || !*rest)
            break;
        const bool is_arrow = is_address && rest[0] == '-' && rest[1] == '>';
        base_buf_printf(&found, "%s%s", is_arrow ? "." : "", rest + (is_arrow ? 2 : 0));
        whole.length = 0;
        base_buf_add(&whole, found.text, found.length);
        owner = record_names_owner_of(source->clean, source->length, frame->line, whole.text);
        if (owner.kind == RECORD_NAMES_KEPT && !whole.failed && !found.failed) {
            name->length = 0;
            base_buf_add(name, whole.text, whole.length);
        }
    }
    base_buf_fini(&whole);
    base_buf_fini(&callee);
    base_buf_fini(&found);
}

// Applies rules 1 to 4. Returns true if a name was added.
static bool name_from_source(struct record_names *names, const struct record_symbols_frame *frames,
                             size_t count, struct base_buf *out)
{
    struct base_buf callee = {0}, name = {0}, fallback = {0}, member = {0};
    bool known = false;   // the callee is a helper whose source was searched
    bool library = false; // or a function of a library of templates, or of a class
    for (size_t i = 0; i < count; i++) {
        const struct record_symbols_frame *frame = &frames[i];
        if (frame->code)
            break; // what follows is the syntax of C
        if (!known && is_library(frame) && frame->function) {
            simple_name(frame->function, &callee);
            library = true;
            continue;
        }
        if (member.length && frame->function && is_constructor(frame->function))
            continue; // it delegates to the other constructor
        if (!frame->file || !frame->line) {
            if (known)
                break;
            continue;
        }
        const struct source *source = read_source(names, frame);
        name.length = 0;
        bool current = !frame->built_s || source->written_s <= frame->built_s;
        enum record_names_strength strength = RECORD_NAMES_NONE;
        if (source->clean && current && library)
            strength = record_names_of_library(source->clean, source->length, frame->line,
                                               frame->column, callee.text, &name);
        else if (source->clean && current)
            strength =
                record_names_in_clean(source->clean, source->length, frame->line, frame->column,
                                      known ? callee.text : NULL, i == 0, &name);
        if (strength == RECORD_NAMES_RETURNED && !fallback.length && name.length)
            base_buf_add(&fallback, name.text, name.length);
        const char *owned = strength == RECORD_NAMES_STRONG && name.length && !member.length &&
                                    !library && frame->function
                                ? member_of(frame->function, name.text)
                                : NULL;
        if (owned) { // the caller says of which variable
            base_buf_puts(&fallback, name.text);
            base_buf_puts(&member, owned);
            simple_name(frame->function, &callee);
            name.length = 0;
            library = true;
            continue;
        }
        if (strength == RECORD_NAMES_STRONG && name.length && !library && !member.length &&
            frame->function)
            name_owner(names, frames, count, i, &name);
        if (strength == RECORD_NAMES_STRONG || strength == RECORD_NAMES_NONE || !frame->function)
            break;
        name.length = 0;
        simple_name(frame->function, &callee);
        known = true;
    }
    const struct base_buf *best = name.length ? &name : &fallback;
    bool found = best->length && !name.failed && !fallback.failed && !callee.failed;
    if (found)
        base_buf_add(out, best->text, best->length);
    if (found && name.length && member.length && !member.failed)
        base_buf_printf(out, ".%s", member.text);
    base_buf_fini(&member);
    base_buf_fini(&callee);
    base_buf_fini(&name);
    base_buf_fini(&fallback);
    return found;
}

// A text is scanned from its start to the line, and many objects are made by the same lines, so
// each line is looked at once.
static enum record_names_strength ask_python(struct source *source, uint32_t line,
                                             struct base_buf *name)
{
    uint64_t *place = base_map_put(&source->asked, line, NULL);
    if (place && !*place) {
        struct base_buf found = {0};
        struct python_line *said = base_array_push(&source->lines);
        if (!said)
            return RECORD_NAMES_NONE;
        said->strength = record_names_in_python(source->text, source->length, line, &found);
        said->name = found.failed || !found.length ? NULL : strdup(found.text);
        base_buf_fini(&found);
        *place = source->lines.count;
    }
    if (!place)
        return RECORD_NAMES_NONE;
    const struct python_line *said = &source->lines.items[*place - 1];
    base_buf_puts(name, said->name ? said->name : "");
    return said->strength;
}

// Applies the rules to Python frames, of which those of packages only pass on what they allocate.
// Returns true if a name was added.
static bool name_from_python(struct record_names *names, const struct record_symbols_frame *frames,
                             size_t count, struct base_buf *out)
{
    struct base_buf name = {0}, fallback = {0};
    enum record_names_strength strength = RECORD_NAMES_PASSED;
    for (size_t i = 0;
         i < count && (strength == RECORD_NAMES_PASSED || strength == RECORD_NAMES_RETURNED); i++) {
        const struct record_symbols_frame *frame = &frames[i];
        if (!frame->code)
            continue;
        struct source *source = frame->file ? read_source(names, frame) : NULL;
        name.length = 0;
        strength = source && source->text && source->written_s <= frame->built_s
                       ? ask_python(source, frame->line, &name)
                       : RECORD_NAMES_NONE;
        if (is_library(frame) && strength == RECORD_NAMES_STRONG)
            strength = RECORD_NAMES_NONE;
        if (strength == RECORD_NAMES_RETURNED && !is_library(frame) && !fallback.length)
            base_buf_add(&fallback, name.text, name.length);
    }
    const struct base_buf *best = strength == RECORD_NAMES_STRONG ? &name : &fallback;
    const bool found = best->length && !name.failed && !fallback.failed;
    if (found)
        base_buf_add(out, best->text, best->length);
    base_buf_fini(&name);
    base_buf_fini(&fallback);
    return found;
}

bool record_names_object(struct record_names *names, const struct record_symbols_frame *frames,
                         size_t count, struct base_buf *out)
{
    if (name_from_python(names, frames, count, out) || name_from_source(names, frames, count, out))
        return true;
    for (size_t i = 0; i < count; i++) {
        if (!frames[i].file || !frames[i].line || is_library(&frames[i]))
            continue;
        const char *slash = strrchr(frames[i].file, '/');
        base_buf_printf(out, "%s:%u", slash ? slash + 1 : frames[i].file, frames[i].line);
        return true;
    }
    const struct record_symbols_frame *top = NULL;
    for (size_t i = 0; i < count && !top; i++)
        if (frames[i].function && !is_library(&frames[i]))
            top = &frames[i];
    for (size_t i = 0; i < count && !top; i++)
        if (frames[i].function)
            top = &frames[i];
    if (top)
        base_buf_printf(out, "%s, ", top->function);
    return false;
}
