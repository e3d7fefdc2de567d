// SPDX-License-Identifier: Apache-2.0
// Replaces placeholders in names of profiles. A value of a variable becomes part of a file name and
// nothing else: a slash, a control character and a leading dot become "_", so that no value leads
// to another folder.
#include "pattern.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char none[] = "none"; // instead of a rank or value that there is not

// A placeholder at `at`, which begins with "%".
struct placeholder {
    char letter; // p, h, r, q or %; 0: none of them
    struct base_str variable;
    size_t length;
};

static struct placeholder read_placeholder(const char *at)
{
    struct placeholder found = {.letter = at[1], .length = 2};
    if (at[1] == '\0' || !strchr("phrq%", at[1]))
        return (struct placeholder){.length = at[1] ? 2 : 1};
    if (at[1] != 'q')
        return found;
    const char *end = at[2] == '{' ? strchr(at, '}') : NULL;
    if (!end || end == at + 3 || memchr(at + 3, '=', (size_t)(end - at - 3)) ||
        memchr(at + 3, ',', (size_t)(end - at - 3)))
        return (struct placeholder){.length = 2};
    found.variable = (struct base_str){at + 3, (size_t)(end - at - 3)};
    found.length = (size_t)(end + 1 - at);
    return found;
}

// Returns the next placeholder at or behind *at, and moves *at to it; letter 0 and *at NULL: there
// is none.
static struct placeholder next_placeholder(const char **at)
{
    *at = strchr(*at, '%');
    return *at ? read_placeholder(*at) : (struct placeholder){0};
}

static bool has(const char *pattern, const char *letters)
{
    for (const char *at = pattern;;) {
        const struct placeholder found = next_placeholder(&at);
        if (!at)
            return false;
        if (found.letter && strchr(letters, found.letter))
            return true;
        at += found.length;
    }
}

bool record_pattern_has_pid(const char *pattern)
{
    return has(pattern, "p");
}

bool record_pattern_check(const char *pattern, struct base_error *error)
{
    for (const char *at = pattern;;) {
        const struct placeholder found = next_placeholder(&at);
        if (!at)
            break;
        const bool is_q = at[1] == 'q';
        if (is_q && !found.letter) {
            base_fail(error, BASE_INVALID, "%%q needs the name of a variable in braces: %%q{NAME}");
            return false;
        }
        if (!found.letter) {
            base_fail(error, BASE_INVALID,
                      "unknown placeholder '%.*s'; %%p, %%h, %%r and %%q{VARIABLE} are known, and "
                      "%%%% is a percent sign",
                      (int)found.length, at);
            return false;
        }
        at += found.length;
    }
    return true;
}

// --- Processes -----------------------------------------------------------------------------------

static const char *get_introduced(void *user, const char *name)
{
    const struct base_buf *introduction = user;
    const size_t length = strlen(name);
    const char *at = introduction->text, *end = at + introduction->length;
    while (at < end) {
        const char *stop = memchr(at, '\0', (size_t)(end - at));
        if (!stop) // incomplete
            break;
        if ((size_t)(stop - at) > length && memcmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
        at = stop + 1;
    }
    return NULL;
}

static const char *get_own(void *user, const char *name)
{
    (void)user;
    return getenv(name);
}

void record_process_read(struct record_process *process)
{
    event_rank_read(get_introduced, &process->introduction, &process->rank);
}

void record_process_read_own(struct record_process *process)
{
    *process = (struct record_process){0};
    event_rank_read(get_own, NULL, &process->rank);
}

void record_process_fini(struct record_process *process)
{
    base_buf_fini(&process->introduction);
}

void record_host_name(char host[RECORD_HOST_BYTES])
{
    if (gethostname(host, RECORD_HOST_BYTES) != 0)
        host[0] = '\0';
    host[RECORD_HOST_BYTES - 1] = '\0';
}

// Returns the variable's value, or NULL. Processes with pid 0 have this process's environment.
static const char *value_of(const struct record_process *process, struct base_str variable)
{
    struct base_buf name = {0};
    base_buf_add(&name, variable.text, variable.length);
    const char *value = NULL;
    if (!name.failed)
        value = process->pid ? get_introduced((void *)(uintptr_t)&process->introduction, name.text)
                             : getenv(name.text);
    base_buf_fini(&name);
    return value;
}

// --- Names ---------------------------------------------------------------------------------------

static void put_value(struct base_buf *out, const char *value)
{
    if (!value || !*value)
        value = none;
    for (size_t i = 0; value[i]; i++) {
        const unsigned char byte = (unsigned char)value[i];
        const bool fine = byte >= ' ' && byte != 0x7f && byte != '/' && (i || byte != '.');
        base_buf_putc(out, fine ? (char)byte : '_');
    }
}

static void put_placeholder(struct base_buf *out, const struct placeholder *found,
                            const struct record_process *process)
{
    char host[RECORD_HOST_BYTES];
    switch (found->letter) {
    case 'p': base_buf_printf(out, "%d", process->pid); break;
    case 'h':
        record_host_name(host);
        put_value(out, host);
        break;
    case 'r':
        if (process->rank.has_number)
            base_buf_printf(out, "%u", process->rank.number);
        else
            base_buf_puts(out, none);
        break;
    case 'q': put_value(out, value_of(process, found->variable)); break;
    default: base_buf_putc(out, '%'); break;
    }
}

void record_put_before_suffix(struct base_buf *out, const char *file, const char *text)
{
    const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
    const size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - file) : strlen(file);
    base_buf_add(out, file, stem);
    base_buf_puts(out, text);
    base_buf_puts(out, file + stem);
}

static void put_all(struct base_buf *out, const char *pattern, const struct record_process *process)
{
    for (;;) {
        const char *at = pattern;
        const struct placeholder found = next_placeholder(&at);
        base_buf_add(out, pattern, at ? (size_t)(at - pattern) : strlen(pattern));
        if (!at)
            return;
        put_placeholder(out, &found, process);
        pattern = at + found.length;
    }
}

void record_pattern_put(struct base_buf *out, const char *pattern,
                        const struct record_process *process)
{
    struct base_buf name = {0}, rank = {0};
    put_all(&name, pattern, process);
    if (process->rank.has_number && !has(pattern, "prq"))
        base_buf_printf(&rank, "-rank%u", process->rank.number);
    if (name.failed || rank.failed)
        out->failed = true;
    else
        record_put_before_suffix(out, name.text ? name.text : "", rank.text ? rank.text : "");
    base_buf_fini(&name);
    base_buf_fini(&rank);
}

bool record_pattern_is_known(const char *pattern, const struct record_process *own)
{
    for (const char *at = pattern;;) {
        const struct placeholder found = next_placeholder(&at);
        if (!at)
            return true;
        const char *value = found.letter == 'q' ? value_of(own, found.variable) : NULL;
        if (found.letter == 'p' || (found.letter == 'r' && !own->rank.has_number) ||
            (found.letter == 'q' && !value))
            return false;
        at += found.length;
    }
}

char *record_pattern_name(const char *pattern)
{
    struct record_process own;
    struct base_buf name = {0};
    record_process_read_own(&own);
    if (record_pattern_is_known(pattern, &own))
        record_pattern_put(&name, pattern, &own);
    if (name.failed)
        base_buf_fini(&name);
    return name.text;
}

void record_pattern_put_variables(struct base_buf *out, const char *pattern)
{
    for (const char *at = pattern;;) {
        const struct placeholder found = next_placeholder(&at);
        if (!at)
            return;
        if (found.letter == 'q') {
            base_buf_puts(out, out->length ? "," : "");
            base_buf_add(out, found.variable.text, found.variable.length);
        }
        at += found.length;
    }
}
