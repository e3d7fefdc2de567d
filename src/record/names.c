// SPDX-License-Identifier: Apache-2.0
// Reads names from C and C++ source without parsing it: comments and texts are blanked, then only
// brackets, statements' ends and identifiers matter.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "names.h"

// --- Text ----------------------------------------------------------------------------------------

struct span {
    size_t start, end;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_space(char c)
{
    return isspace((unsigned char)c);
}

// A copy of the same length in which comments and what is in quotes are spaces; NULL when memory
// ran out.
static char *without_comments(const char *text, size_t length)
{
    char *clean = malloc(length + 1);
    if (!clean)
        return NULL;
    enum { CODE, LINE, BLOCK, QUOTED } in = CODE;
    char quote = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i], next = i + 1 < length ? text[i + 1] : 0, keep = ' ';
        size_t more = 0; // characters that go with this one
        if (in == CODE) {
            if (c == '/' && (next == '/' || next == '*')) {
                in = next == '/' ? LINE : BLOCK;
                more = 1;
            } else {
                keep = c;
                // A digit separator is no quote.
                if (c == '"' || (c == '\'' && !(i && is_word(text[i - 1]) && is_word(next)))) {
                    in = QUOTED;
                    quote = c;
                }
            }
        } else if (in == LINE) {
            in = c == '\n' ? CODE : LINE;
        } else if (in == BLOCK) {
            more = c == '*' && next == '/';
            in = more ? CODE : BLOCK;
        } else if (c == '\\') {
            more = 1;
        } else if (c == quote || c == '\n') {
            keep = c;
            in = CODE;
        }
        clean[i] = c == '\n' ? c : keep;
        if (more && i + 1 < length) {
            i++;
            clean[i] = text[i] == '\n' ? '\n' : ' ';
        }
    }
    clean[length] = 0;
    return clean;
}

static struct span trim(const char *text, struct span span)
{
    while (span.start < span.end && is_space(text[span.start]))
        span.start++;
    while (span.end > span.start && is_space(text[span.end - 1]))
        span.end--;
    return span;
}

static bool is_open(char c)
{
    return c == '(' || c == '[';
}

static bool is_close(char c)
{
    return c == ')' || c == ']';
}

static bool ends_statement(char c)
{
    return c == ';' || c == '{' || c == '}';
}

// The place of the bracket that closes the one at `at`, or end.
static size_t closing(const char *text, size_t at, size_t end)
{
    unsigned depth = 0;
    for (; at < end; at++) {
        depth += is_open(text[at]);
        if (is_close(text[at]) && --depth == 0)
            return at;
    }
    return end;
}

// The place of the bracket that opens the one at `at`, or SIZE_MAX.
static size_t opening(const char *text, size_t at, size_t start)
{
    unsigned depth = 0;
    for (;; at--) {
        depth += is_close(text[at]);
        if (is_open(text[at]) && --depth == 0)
            return at;
        if (at == start)
            return SIZE_MAX;
    }
}

// The statement that holds the position. A for's own semicolons are inside its brackets.
static struct span statement_at(const char *text, size_t length, size_t at)
{
    struct span span = {at, at};
    for (int depth = 0; span.start; span.start--) {
        char c = text[span.start - 1];
        depth += is_close(c);
        depth -= is_open(c);
        if (depth <= 0 && ends_statement(c))
            break;
    }
    int depth = 0;
    for (span.end = span.start; span.end < length; span.end++) {
        char c = text[span.end];
        depth += is_open(c);
        depth -= is_close(c);
        if (span.end >= at && depth <= 0 && ends_statement(c))
            break;
    }
    return span;
}

// Whether the word stands at the position, alone.
static bool word_at(const char *text, struct span in, size_t at, const char *word, size_t length)
{
    return at + length <= in.end && !memcmp(text + at, word, length) &&
           (at == 0 || !is_word(text[at - 1])) &&
           (at + length >= in.end || !is_word(text[at + length]));
}

// --- Expressions ---------------------------------------------------------------------------------

// The expression that ends at the end of the span: words with what selects in them, a->b[i].c.
static struct span last_expression(const char *text, struct span span)
{
    span = trim(text, span);
    size_t at = span.end;
    for (;;) {
        while (at > span.start && text[at - 1] == ']') {
            size_t open = opening(text, at - 1, span.start);
            if (open == SIZE_MAX)
                return (struct span){span.end, span.end};
            at = open;
        }
        size_t word = at;
        while (word > span.start && is_word(text[word - 1]))
            word--;
        if (word == at || isdigit((unsigned char)text[word]))
            return (struct span){span.end, span.end};
        at = word;
        if (at > span.start && text[at - 1] == '.')
            at -= 1;
        else if (at > span.start + 1 &&
                 (!memcmp(text + at - 2, "->", 2) || !memcmp(text + at - 2, "::", 2)))
            at -= 2;
        else
            return (struct span){at, span.end};
    }
}

// Takes casts and brackets off the front: (void **)x, (x), reinterpret_cast<void **>(x).
static struct span without_casts(const char *text, struct span span)
{
    for (;;) {
        span = trim(text, span);
        size_t size = span.end - span.start;
        if (size > 5 && text[span.end - 1] == ')' && is_word(text[span.start])) {
            const char *cast = memmem(text + span.start, size, "_cast", 5);
            size_t open = opening(text, span.end - 1, span.start);
            if (cast && open != SIZE_MAX && open > span.start && text[open - 1] == '>') {
                span = (struct span){open + 1, span.end - 1};
                continue;
            }
        }
        if (size < 2 || text[span.start] != '(')
            return span;
        size_t close = closing(text, span.start, span.end);
        if (close >= span.end)
            return span;
        if (close + 1 == span.end) { // brackets around all of it
            span = (struct span){span.start + 1, close};
            continue;
        }
        span.start = close + 1; // a cast, before something
    }
}

static void add_span(struct base_buf *out, const char *text, struct span span)
{
    for (size_t i = span.start; i < span.end; i++) {
        bool space = is_space(text[i]);
        if (!space)
            base_buf_putc(out, text[i]);
        else if (i + 1 < span.end && is_word(text[i - 1]) && is_word(text[i + 1]))
            base_buf_putc(out, ' ');
    }
}

// A name that people can read: an expression of words and what selects in them, not a computation.
static bool is_name(const char *text, struct span span)
{
    struct span last = last_expression(text, span);
    return last.start == span.start && last.end > last.start;
}

// --- Statements ----------------------------------------------------------------------------------

// Functions whose first argument is where the pointer goes.
static const char *const allocations[] = {
    "cudaMalloc",
    "cudaMallocManaged",
    "cudaMallocHost",
    "cudaHostAlloc",
    "cudaMallocAsync",
    "cudaMallocFromPoolAsync",
    "cudaMallocPitch",
    "cudaMalloc3D",
    "cudaMallocArray",
    "cudaMalloc3DArray",
    "cudaMallocMipmappedArray",
    "cuMemAlloc",
    "cuMemAlloc_v2",
    "cuMemAllocManaged",
    "cuMemAllocPitch",
    "cuMemAllocPitch_v2",
    "cuMemAllocHost",
    "cuMemAllocHost_v2",
    "cuMemHostAlloc",
    "cuMemAllocAsync",
    "cuMemAllocFromPoolAsync",
    "cuArrayCreate",
    "cuArrayCreate_v2",
    "cuArray3DCreate",
    "cuArray3DCreate_v2",
    "cudaMallocAsync_ptsz",
    "cuMipmappedArrayCreate",
};
// Functions whose first argument is the memory itself.
static const char *const registrations[] = {"cudaHostRegister", "cuMemHostRegister",
                                            "cuMemHostRegister_v2"};

struct call {
    struct span all; // from the name to the closing bracket
    struct span arguments;
};

// The next call of the function in the span, from `at` on.
static bool find_call(const char *text, struct span in, size_t at, const char *name,
                      struct call *call)
{
    size_t length = strlen(name);
    for (; length && at + length < in.end; at++) {
        if (!word_at(text, in, at, name, length))
            continue;
        size_t open = at + length;
        while (open < in.end && is_space(text[open]))
            open++;
        if (open < in.end && text[open] == '<') { // template arguments
            int depth = 0;
            for (; open < in.end; open++) {
                depth += (text[open] == '<') - (text[open] == '>');
                if (!depth)
                    break;
            }
            open++;
        }
        if (open >= in.end || text[open] != '(')
            continue;
        size_t close = closing(text, open, in.end);
        *call = (struct call){{at, close < in.end ? close + 1 : close}, {open + 1, close}};
        return true;
    }
    return false;
}

// Cuts the first argument off the list.
static struct span next_argument(const char *text, struct span *list)
{
    int depth = 0;
    size_t at = list->start;
    for (; at < list->end; at++) {
        char c = text[at];
        depth += is_open(c) || c == '{';
        depth -= is_close(c) || c == '}';
        if (c == ',' && depth == 0)
            break;
    }
    struct span argument = {list->start, at};
    list->start = at < list->end ? at + 1 : at;
    return trim(text, argument);
}

// x of &x; empty where the argument is none.
static struct span address_of(const char *text, struct span argument)
{
    argument = without_casts(text, argument);
    if (argument.start == argument.end || text[argument.start] != '&')
        return (struct span){0, 0};
    argument.start++;
    argument = without_casts(text, argument);
    return is_name(text, argument) ? argument : (struct span){0, 0};
}

// The answer of one statement.
struct answer {
    enum names_strength strength;
    struct span name;
};

static struct answer strong(struct span name)
{
    return (struct answer){name.end > name.start ? NAMES_STRONG : NAMES_NONE, name};
}

// What is assigned to at the position of '='. *pointer: it is declared there as a pointer.
static struct span assigned(const char *text, struct span statement, size_t equals, bool *pointer)
{
    struct span name = last_expression(text, (struct span){statement.start, equals});
    size_t before = name.start;
    while (before > statement.start && is_space(text[before - 1]))
        before--;
    *pointer = before > statement.start && text[before - 1] == '*' &&
               before - 1 > statement.start; // with a type in front of it
    return name;
}

static bool is_assignment(const char *text, struct span in, size_t at)
{
    return text[at] == '=' && at > in.start && at + 1 < in.end && text[at + 1] != '=' &&
           !strchr("=!<>+-*/%&|^", text[at - 1]);
}

// The '=' that what stands at the position is assigned by, with nothing between but casts, brackets
// and qualifiers; SIZE_MAX: none.
static size_t assignment_before(const char *text, struct span statement, size_t at)
{
    while (at > statement.start) {
        char c = text[at - 1];
        if (is_assignment(text, statement, at - 1))
            return at - 1;
        if (c == ')') { // a cast
            size_t open = opening(text, at - 1, statement.start);
            if (open == SIZE_MAX)
                return SIZE_MAX;
            at = open;
        } else if (is_space(c) || is_word(c) || c == '(' || c == ':' || c == '.' || c == '>' ||
                   c == '<' || c == '*' || (c == '-' && text[at] == '>')) {
            at--;
        } else {
            return SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

// TYPE name(...) or TYPE name{...}, where TYPE ends with the callee: a constructor.
static struct span constructed(const char *text, struct span statement, size_t length,
                               const char *callee)
{
    size_t size = strlen(callee);
    for (size_t at = statement.start; size && at + size < statement.end; at++) {
        if (!word_at(text, statement, at, callee, size))
            continue;
        size_t next = at + size;
        if (text[next] == '<') {
            int depth = 0;
            for (; next < statement.end; next++) {
                depth += (text[next] == '<') - (text[next] == '>');
                if (!depth)
                    break;
            }
            next++;
        }
        size_t word = next;
        while (word < statement.end && is_space(text[word]))
            word++;
        size_t end = word;
        while (end < statement.end && is_word(text[end]))
            end++;
        size_t after = end;
        while (after < length && is_space(text[after]))
            after++;
        if (word > next && end > word && after < length && strchr("({=;", text[after]))
            return (struct span){word, end};
    }
    return (struct span){0, 0};
}

// Whether the function goes on to return what the statement allocated.
static bool is_returned(const char *text, size_t length, struct span statement, struct span name)
{
    int depth = 0; // of braces: the function ends where it falls below what the statement is in
    struct span rest = {statement.end, length};
    for (size_t at = statement.end; at < length && depth >= 0; at++) {
        depth += (text[at] == '{') - (text[at] == '}');
        if (!word_at(text, rest, at, "return", 6))
            continue;
        size_t end = at + 6;
        while (end < length && text[end] != ';')
            end++;
        struct span value = without_casts(text, (struct span){at + 6, end});
        if (value.end - value.start == name.end - name.start &&
            !memcmp(text + value.start, text + name.start, name.end - name.start))
            return true;
    }
    return false;
}

// A statement that calls CUDA.
static struct answer direct_answer(const char *text, struct span statement)
{
    struct answer answer = {NAMES_NONE, {0, 0}};
    for (size_t i = 0; i < sizeof(allocations) / sizeof(*allocations); i++) {
        struct call call;
        for (size_t at = statement.start; find_call(text, statement, at, allocations[i], &call);
             at = call.all.end) {
            if (answer.strength != NAMES_NONE)
                return (struct answer){NAMES_NONE, {0, 0}}; // two: which?
            struct span argument = next_argument(text, &call.arguments);
            struct span name = address_of(text, argument);
            answer = strong(name);
            if (answer.strength == NAMES_NONE && is_name(text, without_casts(text, argument)))
                answer.strength = NAMES_PASSED;
        }
    }
    for (size_t i = 0; i < sizeof(registrations) / sizeof(*registrations); i++) {
        struct call call;
        if (answer.strength == NAMES_NONE &&
            find_call(text, statement, statement.start, registrations[i], &call)) {
            struct span argument = without_casts(text, next_argument(text, &call.arguments));
            if (is_name(text, argument))
                answer = strong(argument);
        }
    }
    return answer;
}

// A statement that calls a helper of known name.
static struct answer helper_answer(const char *text, struct span statement, size_t length,
                                   const char *callee)
{
    const struct answer none = {NAMES_NONE, {0, 0}};
    struct call call, other;
    struct span made = constructed(text, statement, length, callee);
    if (made.end)
        return strong(made);
    if (!find_call(text, statement, statement.start, callee, &call) ||
        find_call(text, statement, call.all.end, callee, &other))
        return none;
    struct span found = {0, 0};
    bool passed = false;
    for (struct span list = call.arguments; list.start < list.end;) {
        struct span argument = next_argument(text, &list), name = address_of(text, argument);
        passed |= is_name(text, argument);
        if (!name.end)
            continue;
        if (found.end)
            return none;
        found = name;
    }
    if (found.end)
        return strong(found);
    size_t equals = assignment_before(text, statement, call.all.start);
    bool pointer;
    if (equals != SIZE_MAX)
        return strong(assigned(text, statement, equals, &pointer));
    // return helper(n): what it gives goes on to the caller. helper(out, n): so does what it fills.
    struct span inside = trim(text, statement);
    return passed || word_at(text, inside, inside.start, "return", 6)
               ? (struct answer){NAMES_PASSED, {0, 0}}
               : none;
}

// Whether a function is called whose name has one of the words in it.
static bool calls_like(const char *text, struct span in, const char *const *words, size_t count)
{
    for (size_t at = in.start; at < in.end; at++) {
        size_t end = at, after;
        while (end < in.end && is_word(text[end]))
            end++;
        for (after = end; after < in.end && is_space(text[after]); after++)
            ;
        bool called = end > at && after < in.end && (text[after] == '(' || text[after] == '<');
        for (size_t i = at; called && i < end; i++)
            for (size_t j = 0; j < count; j++)
                if (i + strlen(words[j]) <= end &&
                    !strncasecmp(text + i, words[j], strlen(words[j])))
                    return true;
        at = end > at ? end - 1 : at;
    }
    return false;
}

// A statement that calls something of which no source is known: by its own word it makes something.
static struct answer unknown_answer(const char *text, struct span statement)
{
    static const char *const makers[] = {"alloc", "make", "create", "new"};
    for (size_t at = statement.start; at < statement.end; at++) {
        if (!is_assignment(text, statement, at))
            continue;
        bool pointer;
        struct span name = assigned(text, statement, at, &pointer);
        bool makes = calls_like(text, (struct span){at + 1, statement.end}, makers,
                                pointer ? sizeof(makers) / sizeof(*makers) : 1);
        return makes ? strong(name) : (struct answer){NAMES_NONE, {0, 0}};
    }
    return (struct answer){NAMES_NONE, {0, 0}};
}

static struct answer statement_answer(const char *text, size_t length, struct span statement,
                                      const char *callee)
{
    struct answer answer =
        callee ? helper_answer(text, statement, length, callee) : direct_answer(text, statement);
    if (answer.strength == NAMES_NONE && !callee)
        answer = unknown_answer(text, statement);
    if (answer.strength == NAMES_STRONG && is_returned(text, length, statement, answer.name))
        answer.strength = NAMES_RETURNED;
    return answer;
}

static enum names_strength answer_in(const char *text, size_t length, uint32_t line,
                                     uint32_t column, const char *callee, struct base_buf *out)
{
    size_t start = 0;
    for (uint32_t i = 1; i < line; i++) {
        const char *newline = memchr(text + start, '\n', length - start);
        if (!newline)
            return NAMES_NONE;
        start = (size_t)(newline - text) + 1;
    }
    const char *newline = memchr(text + start, '\n', length - start);
    size_t end = newline ? (size_t)(newline - text) : length;
    struct answer answer = {NAMES_NONE, {0, 0}};
    if (column && start + column - 1 < end) {
        struct span statement = statement_at(text, length, start + column - 1);
        answer = statement_answer(text, length, statement, callee);
    }
    // All statements of the line, where the column does not tell.
    for (size_t at = start; answer.strength == NAMES_NONE && at < end;) {
        while (at < end && (is_space(text[at]) || ends_statement(text[at])))
            at++;
        if (at == end)
            break;
        struct span statement = statement_at(text, length, at);
        struct answer other = statement_answer(text, length, statement, callee);
        at = statement.end > at ? statement.end : at + 1;
        if (other.strength == NAMES_NONE)
            continue;
        for (size_t i = at; i < end;) { // is there another?
            while (i < end && (is_space(text[i]) || ends_statement(text[i])))
                i++;
            if (i == end)
                break;
            struct span next = statement_at(text, length, i);
            if (statement_answer(text, length, next, callee).strength != NAMES_NONE)
                return NAMES_NONE;
            i = next.end > i ? next.end : i + 1;
        }
        answer = other;
    }
    if (answer.name.end > answer.name.start)
        add_span(out, text, answer.name);
    return answer.strength;
}

enum names_strength names_in_source(const char *text, size_t length, uint32_t line, uint32_t column,
                                    const char *callee, struct base_buf *out)
{
    char *clean = without_comments(text, length);
    if (!clean)
        return NAMES_NONE;
    enum names_strength strength = answer_in(clean, length, line, column, callee, out);
    free(clean);
    return strength;
}

// --- Files and frames ----------------------------------------------------------------------------

enum { FILES_MOST = 64, FILE_MOST_BYTES = 8 << 20 };

struct source {
    char *path, *clean; // clean NULL: cannot be read
    size_t length;
    int64_t written_s;
};

struct names {
    struct source files[FILES_MOST]; // the next to go is at next
    unsigned next;
};

struct names *names_create(void)
{
    return calloc(1, sizeof(struct names));
}

static void forget(struct source *source)
{
    free(source->path);
    free(source->clean);
    *source = (struct source){0};
}

void names_destroy(struct names *names)
{
    for (unsigned i = 0; names && i < FILES_MOST; i++)
        forget(&names->files[i]);
    free(names);
}

static const struct source *read_source(struct names *names, const char *path)
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
        source->clean = without_comments(text, source->length);
    free(text);
    return source;
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

// Rules 1 to 4. True: a name was added.
static bool name_from_source(struct names *names, const struct symbols_frame *frames, size_t count,
                             struct base_buf *out)
{
    struct base_buf callee = {0}, name = {0}, fallback = {0};
    bool known = false; // the callee is a helper that was looked at
    for (size_t i = 0; i < count; i++) {
        const struct symbols_frame *frame = &frames[i];
        if (!frame->file || !frame->line) {
            if (known)
                break;
            continue;
        }
        const struct source *source = read_source(names, frame->file);
        name.length = 0;
        bool current = !frame->built_s || source->written_s <= frame->built_s;
        enum names_strength strength =
            source->clean && current ? answer_in(source->clean, source->length, frame->line,
                                                 frame->column, known ? callee.text : NULL, &name)
                                     : NAMES_NONE;
        if (strength == NAMES_RETURNED && !fallback.length && name.length)
            base_buf_add(&fallback, name.text, name.length);
        if (strength == NAMES_STRONG || strength == NAMES_NONE || !frame->function)
            break;
        name.length = 0;
        simple_name(frame->function, &callee);
        known = true;
    }
    const struct base_buf *best = name.length ? &name : &fallback;
    bool found = best->length && !name.failed && !fallback.failed && !callee.failed;
    if (found)
        base_buf_add(out, best->text, best->length);
    base_buf_fini(&callee);
    base_buf_fini(&name);
    base_buf_fini(&fallback);
    return found;
}

// Frames of CUDA itself say nothing of the program.
static bool is_cuda(const struct symbols_frame *frame)
{
    const char *name = frame->function;
    return name && (!strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6) ||
                    !strncmp(name, "libcudart", 9) ||
                    (!strncmp(name, "cu", 2) && isupper((unsigned char)name[2])));
}

void names_object(struct names *names, const struct symbols_frame *frames, size_t count,
                  uint64_t bytes, struct base_buf *out)
{
    if (name_from_source(names, frames, count, out))
        return;
    for (size_t i = 0; i < count; i++) {
        if (!frames[i].file || !frames[i].line || is_cuda(&frames[i]))
            continue;
        const char *slash = strrchr(frames[i].file, '/');
        base_buf_printf(out, "%s:%u", slash ? slash + 1 : frames[i].file, frames[i].line);
        return;
    }
    const struct symbols_frame *top = NULL;
    for (size_t i = 0; i < count && !top; i++)
        if (frames[i].function && !is_cuda(&frames[i]))
            top = &frames[i];
    if (top)
        base_buf_printf(out, "%s, ", top->function);
    base_buf_u64(out, bytes);
    base_buf_puts(out, " bytes");
}
