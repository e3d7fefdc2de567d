// SPDX-License-Identifier: Apache-2.0
// Rules 1 to 3 of names.h: finds the name in one statement for the object that the statement, or a
// function it calls, allocates. The text is not parsed: see ctext.h.
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ctext.h"
#include "names.h"

// Functions that store the pointer where their first argument points.
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
// Functions whose first argument is the memory.
static const char *const registrations[] = {"cudaHostRegister", "cuMemHostRegister",
                                            "cuMemHostRegister_v2", "glint_suballoc"};

// The result of searching one statement.
struct answer {
    enum record_names_strength strength;
    struct record_ctext_span name;
    bool is_several; // NONE, because several names are possible: then the whole line has no answer
};

static const struct answer several = {.strength = RECORD_NAMES_NONE, .is_several = true};

static struct answer strong(struct record_ctext_span name)
{
    return (struct answer){name.end > name.start ? RECORD_NAMES_STRONG : RECORD_NAMES_NONE, name,
                           false};
}

// Returns the expression that the '=' at the position assigns to. Sets *pointer if the statement
// declares it as a pointer.
static struct record_ctext_span assigned(const char *text, struct record_ctext_span statement,
                                         size_t equals, bool *pointer)
{
    struct record_ctext_span name =
        record_ctext_last_expression(text, (struct record_ctext_span){statement.start, equals});
    size_t before = name.start;
    while (before > statement.start && record_ctext_is_space(text[before - 1]))
        before--;
    *pointer = before > statement.start && text[before - 1] == '*' &&
               before - 1 > statement.start; // with a type in front of it
    return name;
}

static bool is_assignment(const char *text, struct record_ctext_span in, size_t at)
{
    return text[at] == '=' && at > in.start && at + 1 < in.end && text[at + 1] != '=' &&
           !strchr("=!<>+-*/%&|^", text[at - 1]);
}

// Returns the position of the '=' that assigns the expression at `at`, with only casts, brackets
// and qualifiers between them, or SIZE_MAX.
static size_t assignment_before(const char *text, struct record_ctext_span statement, size_t at)
{
    while (at > statement.start) {
        char c = text[at - 1];
        if (is_assignment(text, statement, at - 1))
            return at - 1;
        if (c == ')') { // a cast
            size_t open = record_ctext_opening(text, at - 1, statement.start);
            if (open == SIZE_MAX)
                return SIZE_MAX;
            at = open;
        } else if (record_ctext_is_space(c) || record_ctext_is_word(c) || c == '(' || c == ':' ||
                   c == '.' || c == '>' || c == '<' || c == '*' || (c == '-' && text[at] == '>')) {
            at--;
        } else {
            return SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

// Returns whether a declaration goes on with another variable after the one that ends at `at`:
// TYPE one(n), other(n).
static bool declares_more(const char *text, size_t length, size_t at)
{
    int depth = 0;
    for (; at < length && depth >= 0; at++) {
        depth += (strchr("([{", text[at]) != NULL) - (strchr(")]}", text[at]) != NULL);
        if (depth == 0 && text[at] == ',')
            return true;
        if (depth == 0 && text[at] == ';')
            return false;
    }
    return false;
}

// Recognizes a constructor: TYPE name(...) or TYPE name{...}, where TYPE ends with the callee. A
// declaration of several variables has several.
static struct answer constructed(const char *text, struct record_ctext_span statement,
                                 size_t length, const char *callee)
{
    size_t size = strlen(callee);
    for (size_t at = statement.start; size && at + size < statement.end; at++) {
        if (!record_ctext_word_at(text, statement, at, callee, size))
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
        while (word < statement.end && record_ctext_is_space(text[word]))
            word++;
        size_t end = word;
        while (end < statement.end && record_ctext_is_word(text[end]))
            end++;
        size_t after = end;
        while (after < length && record_ctext_is_space(text[after]))
            after++;
        if (word > next && end > word && after < length && strchr("({=;,", text[after]) &&
            declares_more(text, length, after))
            return several;
        if (word > next && end > word && after < length && strchr("({=;", text[after]))
            return strong((struct record_ctext_span){word, end});
    }
    return (struct answer){.strength = RECORD_NAMES_NONE};
}

// Returns true if the function later returns what the statement allocated.
static bool is_returned(const char *text, size_t length, struct record_ctext_span statement,
                        struct record_ctext_span name)
{
    int depth = 0; // of braces: the function ends where it becomes negative
    struct record_ctext_span rest = {statement.end, length};
    for (size_t at = statement.end; at < length && depth >= 0; at++) {
        depth += (text[at] == '{') - (text[at] == '}');
        if (!record_ctext_word_at(text, rest, at, "return", 6))
            continue;
        size_t end = at + 6;
        while (end < length && text[end] != ';')
            end++;
        struct record_ctext_span value =
            record_ctext_without_casts(text, (struct record_ctext_span){at + 6, end});
        if (value.end - value.start == name.end - name.start &&
            !memcmp(text + value.start, text + name.start, name.end - name.start))
            return true;
    }
    return false;
}

// Removes ".data()" or ".get()", with which a container or a smart pointer yields its memory.
static struct record_ctext_span without_accessor(const char *text, struct record_ctext_span span)
{
    static const char *const accessors[] = {".data()", "->data()", ".get()"};
    for (size_t i = 0; i < sizeof(accessors) / sizeof(*accessors); i++) {
        const size_t bytes = strlen(accessors[i]);
        if (span.end - span.start > bytes && !memcmp(text + span.end - bytes, accessors[i], bytes))
            return (struct record_ctext_span){span.start, span.end - bytes};
    }
    return span;
}

// Searches a statement that calls CUDA.
static struct answer direct_answer(const char *text, struct record_ctext_span statement)
{
    struct answer answer = {.strength = RECORD_NAMES_NONE};
    for (size_t i = 0; i < sizeof(allocations) / sizeof(*allocations); i++) {
        struct record_ctext_call call;
        for (size_t at = statement.start;
             record_ctext_find_call(text, statement, at, allocations[i], &call);
             at = call.all.end) {
            if (answer.strength != RECORD_NAMES_NONE)
                return several; // two: which?
            struct record_ctext_span argument = record_ctext_next_argument(text, &call.arguments);
            struct record_ctext_span name = record_ctext_address_of(text, argument);
            answer = strong(name);
            if (answer.strength == RECORD_NAMES_NONE &&
                record_ctext_is_name(text, record_ctext_without_casts(text, argument)))
                answer.strength = RECORD_NAMES_PASSED;
        }
    }
    for (size_t i = 0; i < sizeof(registrations) / sizeof(*registrations); i++) {
        struct record_ctext_call call;
        if (answer.strength == RECORD_NAMES_NONE &&
            record_ctext_find_call(text, statement, statement.start, registrations[i], &call)) {
            struct record_ctext_span argument =
                record_ctext_without_casts(text, record_ctext_next_argument(text, &call.arguments));
            argument = without_accessor(text, argument);
            if (record_ctext_is_name(text, argument))
                answer = strong(argument);
        }
    }
    return answer;
}

// Searches a statement that calls a helper of known name.
static struct answer helper_answer(const char *text, struct record_ctext_span statement,
                                   size_t length, const char *callee)
{
    const struct answer none = {.strength = RECORD_NAMES_NONE};
    struct record_ctext_call call, other;
    const struct answer made = constructed(text, statement, length, callee);
    if (made.strength != RECORD_NAMES_NONE || made.is_several)
        return made;
    if (!record_ctext_find_call(text, statement, statement.start, callee, &call))
        return none;
    if (record_ctext_find_call(text, statement, call.all.end, callee, &other))
        return several;
    struct record_ctext_span found = {0, 0};
    bool passed = false;
    for (struct record_ctext_span list = call.arguments; list.start < list.end;) {
        struct record_ctext_span argument = record_ctext_next_argument(text, &list),
                                 name = record_ctext_address_of(text, argument);
        passed |= record_ctext_is_name(text, argument);
        if (!name.end)
            continue;
        if (found.end)
            return several;
        found = name;
    }
    if (found.end)
        return strong(found);
    size_t equals = assignment_before(text, statement, call.all.start);
    bool pointer;
    if (equals != SIZE_MAX)
        return strong(assigned(text, statement, equals, &pointer));
    // return helper(n) and helper(out, n) pass the memory on to the caller.
    struct record_ctext_span inside = record_ctext_trim(text, statement);
    const struct answer handed_on = {.strength = RECORD_NAMES_PASSED};
    passed |= record_ctext_word_at(text, inside, inside.start, "return", 6);
    return passed ? handed_on : none;
}

// Returns true if the word contains one of the words.
static bool is_like(const char *text, struct record_ctext_span word, const char *const *words,
                    size_t count)
{
    for (size_t i = word.start; i < word.end; i++)
        for (size_t j = 0; j < count; j++)
            if (i + strlen(words[j]) <= word.end &&
                !strncasecmp(text + i, words[j], strlen(words[j])))
                return true;
    return false;
}

// Returns true if the statement calls a function whose name contains one of the words.
static bool calls_like(const char *text, struct record_ctext_span in, const char *const *words,
                       size_t count)
{
    for (size_t at = in.start; at < in.end; at++) {
        size_t end = at, after;
        while (end < in.end && record_ctext_is_word(text[end]))
            end++;
        for (after = end; after < in.end && record_ctext_is_space(text[after]); after++)
            ;
        bool called = end > at && after < in.end && (text[after] == '(' || text[after] == '<');
        if (called && is_like(text, (struct record_ctext_span){at, end}, words, count))
            return true;
        at = end > at ? end - 1 : at;
    }
    return false;
}

// Searches a statement that calls a function of unknown source whose name says that it creates
// something.
static struct answer unknown_answer(const char *text, struct record_ctext_span statement)
{
    static const char *const makers[] = {"alloc", "make", "create", "new"};
    for (size_t at = statement.start; at < statement.end; at++) {
        if (!is_assignment(text, statement, at))
            continue;
        bool pointer;
        struct record_ctext_span name = assigned(text, statement, at, &pointer);
        bool makes = calls_like(text, (struct record_ctext_span){at + 1, statement.end}, makers,
                                pointer ? sizeof(makers) / sizeof(*makers) : 1);
        return makes ? strong(name) : (struct answer){.strength = RECORD_NAMES_NONE};
    }
    return (struct answer){.strength = RECORD_NAMES_NONE};
}

// Returns the only variable whose address is the first argument of a call in the statement. If
// `like`, only calls of names that suggest allocation count. Sets *passed if such a call has a
// plain name as its first argument.
static struct record_ctext_span sole_address(const char *text, struct record_ctext_span statement,
                                             bool like, bool *passed)
{
    static const char *const makers[] = {"alloc", "create"};
    static const char *const others[] = {"node", "sizeof"}; // a graph's node is not its memory
    const struct record_ctext_span none = {0, 0};
    struct record_ctext_span found = none, callee;
    struct record_ctext_call call;
    *passed = false;
    for (size_t at = statement.start; record_ctext_next_call(text, statement, at, &callee, &call);
         at = call.arguments.start) {
        struct record_ctext_span list = call.arguments,
                                 argument = record_ctext_next_argument(text, &list);
        struct record_ctext_span name = record_ctext_address_of(text, argument);
        if (is_like(text, callee, others, 2) || (like && !is_like(text, callee, makers, 2)))
            continue;
        *passed |= record_ctext_is_name(text, record_ctext_without_casts(text, argument));
        if (name.end && found.end && name.start != found.start)
            return none; // two: which?
        found = name.end ? name : found;
    }
    return found;
}

// Searches a statement that calls the driver, through a pointer of any name.
static struct answer pointer_answer(const char *text, struct record_ctext_span statement)
{
    bool passed, any;
    struct record_ctext_span name = sole_address(text, statement, true, &passed);
    if (!name.end && passed)
        return (struct answer){.strength = RECORD_NAMES_PASSED};
    return strong(name.end ? name : sole_address(text, statement, false, &any));
}

// Returns the expression before "." or "->" at the position; an empty span if there is none.
static struct record_ctext_span receiver_before(const char *text,
                                                struct record_ctext_span statement, size_t at)
{
    while (at > statement.start && record_ctext_is_space(text[at - 1]))
        at--;
    const size_t bytes = at >= statement.start + 2 && text[at - 1] == '>' && text[at - 2] == '-' ? 2
                         : at > statement.start && text[at - 1] == '.'                           ? 1
                                                                       : 0;
    if (!bytes)
        return (struct record_ctext_span){0, 0};
    return record_ctext_last_expression(text,
                                        (struct record_ctext_span){statement.start, at - bytes});
}

// Searches a statement that calls a library of templates: what it constructs, or whose method it
// calls. What other functions allocate is their own.
static struct answer library_answer(const char *text, struct record_ctext_span statement,
                                    size_t length, const char *callee)
{
    struct record_ctext_call call, other;
    const struct answer made = constructed(text, statement, length, callee);
    if (made.strength != RECORD_NAMES_NONE || made.is_several)
        return made;
    if (!record_ctext_find_call(text, statement, statement.start, callee, &call))
        return (struct answer){.strength = RECORD_NAMES_NONE};
    if (record_ctext_find_call(text, statement, call.all.end, callee, &other))
        return several;
    return strong(receiver_before(text, statement, call.all.start));
}

// Searches a statement that calls a function for the variable that gets its result, or that is its
// argument. `at` is where the call is; 0: unknown.
static struct answer owner_answer(const char *text, struct record_ctext_span statement,
                                  const char *callee, size_t at, struct record_names_owner owner)
{
    const struct answer none = {.strength = RECORD_NAMES_NONE};
    struct record_ctext_call call, other;
    if (!record_ctext_find_call(text, statement, statement.start, callee, &call))
        return none;
    while (record_ctext_find_call(text, statement, call.arguments.start, callee, &other)) {
        if (!at)
            return several;
        if (other.all.start > at)
            break;
        call = other;
    }
    if (owner.kind == RECORD_NAMES_PARAMETER) {
        struct record_ctext_span list = call.arguments, argument = {0, 0};
        for (unsigned i = 0; i <= owner.parameter; i++)
            argument = record_ctext_next_argument(text, &list);
        argument = record_ctext_without_casts(text, argument);
        if (argument.start < argument.end && text[argument.start] == '&')
            argument = record_ctext_address_of(text, argument);
        return record_ctext_is_name(text, argument) ? strong(argument) : none;
    }
    bool pointer;
    const size_t equals = assignment_before(text, statement, call.all.start);
    if (equals != SIZE_MAX) {
        const struct record_ctext_span name = assigned(text, statement, equals, &pointer);
        if (name.end > name.start)
            return strong(name);
    }
    const struct record_ctext_span inside = record_ctext_trim(text, statement);
    const struct answer returned = {.strength = RECORD_NAMES_RETURNED};
    return record_ctext_word_at(text, inside, inside.start, "return", 6) ? returned : none;
}

// What the statement calls.
struct target {
    const char *callee; // NULL: CUDA, or an unknown function
    bool calls_driver, is_library;
    struct record_names_owner owner; // if it is not KEPT, what to look for
    size_t at;                       // where the call is; 0: unknown
};

static struct answer statement_answer(const char *text, size_t length,
                                      struct record_ctext_span statement,
                                      const struct target *target)
{
    const char *callee = target->callee;
    const bool calls_driver = target->calls_driver;
    if (target->owner.kind != RECORD_NAMES_KEPT)
        return owner_answer(text, statement, callee, target->at, target->owner);
    if (target->is_library)
        return library_answer(text, statement, length, callee);
    struct answer answer =
        callee ? helper_answer(text, statement, length, callee) : direct_answer(text, statement);
    if (answer.strength == RECORD_NAMES_NONE && calls_driver)
        answer = pointer_answer(text, statement);
    if (answer.strength == RECORD_NAMES_NONE && !callee)
        answer = unknown_answer(text, statement);
    if (answer.strength == RECORD_NAMES_STRONG && is_returned(text, length, statement, answer.name))
        answer.strength = RECORD_NAMES_RETURNED;
    return answer;
}

// Sets *before, unless it is NULL, to the character before the name, or 0.
static enum record_names_strength search_line(const char *text, size_t length, uint32_t line,
                                              uint32_t column, const struct target *target,
                                              struct base_buf *out, char *before)
{
    const size_t start = record_ctext_line_at(text, length, line);
    if (start == length)
        return RECORD_NAMES_NONE;
    const char *newline = memchr(text + start, '\n', length - start);
    size_t end = newline ? (size_t)(newline - text) : length;
    struct answer answer = {.strength = RECORD_NAMES_NONE};
    if (column && start + column - 1 < end) {
        struct record_ctext_span statement =
            record_ctext_statement_at(text, length, start + column - 1);
        answer = statement_answer(text, length, statement, target);
    }
    // Without a column, all statements of the line are searched.
    for (size_t at = start; answer.strength == RECORD_NAMES_NONE && at < end;) {
        while (at < end &&
               (record_ctext_is_space(text[at]) || record_ctext_ends_statement(text[at])))
            at++;
        if (at == end)
            break;
        struct record_ctext_span statement = record_ctext_statement_at(text, length, at);
        struct answer other = statement_answer(text, length, statement, target);
        if (other.is_several)
            return RECORD_NAMES_NONE;
        at = statement.end > at ? statement.end : at + 1;
        if (other.strength == RECORD_NAMES_NONE)
            continue;
        for (size_t i = at; i < end;) { // is there another?
            while (i < end &&
                   (record_ctext_is_space(text[i]) || record_ctext_ends_statement(text[i])))
                i++;
            if (i == end)
                break;
            struct record_ctext_span next = record_ctext_statement_at(text, length, i);
            const struct answer more = statement_answer(text, length, next, target);
            if (more.strength != RECORD_NAMES_NONE || more.is_several)
                return RECORD_NAMES_NONE;
            i = next.end > i ? next.end : i + 1;
        }
        answer = other;
    }
    if (answer.name.end > answer.name.start)
        record_ctext_add(out, text, answer.name);
    size_t at = answer.name.end > answer.name.start ? answer.name.start : 0;
    while (at > 0 && (record_ctext_is_space(text[at - 1]) || text[at - 1] == '('))
        at--;
    if (before)
        *before = at > 0 ? text[at - 1] : '\0';
    return answer.strength;
}

enum record_names_strength record_names_of_owner(const char *text, size_t length, uint32_t line,
                                                 uint32_t column, const char *callee,
                                                 struct record_names_owner owner,
                                                 struct base_buf *out, bool *is_address)
{
    char before = '\0';
    const size_t at = column ? record_ctext_line_at(text, length, line) + column - 1 : 0;
    const enum record_names_strength strength =
        search_line(text, length, line, column,
                    &(struct target){.callee = callee, .owner = owner, .at = at}, out, &before);
    *is_address = owner.kind == RECORD_NAMES_PARAMETER && before == '&';
    return strength;
}

enum record_names_strength record_names_in_clean(const char *text, size_t length, uint32_t line,
                                                 uint32_t column, const char *callee,
                                                 bool calls_driver, struct base_buf *out)
{
    return search_line(text, length, line, column,
                       &(struct target){.callee = callee, .calls_driver = calls_driver}, out, NULL);
}

enum record_names_strength record_names_of_library(const char *text, size_t length, uint32_t line,
                                                   uint32_t column, const char *callee,
                                                   struct base_buf *out)
{
    return search_line(text, length, line, column,
                       &(struct target){.callee = callee, .is_library = true}, out, NULL);
}

enum record_names_strength record_names_in_source(const char *text, size_t length, uint32_t line,
                                                  uint32_t column, const char *callee,
                                                  bool calls_driver, struct base_buf *out)
{
    char *clean = record_ctext_clean(text, length);
    if (!clean)
        return RECORD_NAMES_NONE;
    enum record_names_strength strength =
        record_names_in_clean(clean, length, line, column, callee, calls_driver, out);
    free(clean);
    return strength;
}
