// SPDX-License-Identifier: Apache-2.0
// glint explain: a pattern's section of the installed docs/reference/patterns.md as plain text:
// definition, thresholds, evidence, example and fix.
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "program.h"

static const char page_name[] = "/share/doc/glint/patterns.md"; // below glint's prefix

static void put_list(struct base_buf *out)
{
    enum { NAME_COLUMNS = 24 };
    base_buf_puts(out, "Patterns:\n");
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++) {
        const struct analyze_description *pattern = analyze_describe((enum analyze_pattern)i);
        base_buf_printf(out, "  %-*s%s\n", NAME_COLUMNS, pattern->name, pattern->title);
    }
}

// --- From Markdown to text -----------------------------------------------------------------------

// Adds a line without the marks of bold text and of links, "[text](address)".
static void put_line(struct base_buf *out, struct base_str line)
{
    for (size_t i = 0; i < line.length; i++) {
        const struct base_str rest = {line.text + i, line.length - i};
        const char *middle = rest.text[0] == '[' ? memmem(rest.text, rest.length, "](", 2) : NULL;
        const char *end =
            middle ? memchr(middle, ')', rest.length - (size_t)(middle - rest.text)) : NULL;
        if (end) {
            base_buf_add(out, rest.text + 1, (size_t)(middle - rest.text) - 1);
            i += (size_t)(end - rest.text);
        } else if (rest.length > 1 && rest.text[0] == '*' && rest.text[1] == '*') {
            i++;
        } else {
            base_buf_putc(out, rest.text[0]);
        }
    }
    base_buf_putc(out, '\n');
}

static struct base_str next_line(const char **at)
{
    const struct base_str line = {*at, strcspn(*at, "\n")};
    *at += line.length + ((*at)[line.length] == '\n');
    return line;
}

static bool begins(struct base_str line, const char *text)
{
    return line.length >= strlen(text) && memcmp(line.text, text, strlen(text)) == 0;
}

// Adds the section "## NAME" of the page; false if it has none.
static bool put_section(const char *page, const char *name, struct base_buf *out)
{
    bool found = false, is_code = false, written = false;
    bool is_apart = false; // insert an empty line before the next line
    while (*page) {
        const struct base_str line = next_line(&page);
        if (begins(line, "## ") && !is_code) {
            if (found)
                return true;
            found = base_str_is((struct base_str){line.text + 3, line.length - 3}, name);
            if (found)
                base_buf_printf(out, "%s\n\n", name);
            continue;
        }
        if (!found || begins(line, "<!--"))
            continue;
        if (begins(line, "```")) {
            is_code = !is_code;
            continue;
        }
        if (line.length == 0) {
            is_apart = written;
            continue;
        }
        base_buf_puts(out, is_apart ? "\n" : "");
        is_apart = false;
        written = true;
        if (is_code) {
            base_buf_puts(out, "    ");
            base_buf_add(out, line.text, line.length);
            base_buf_putc(out, '\n');
        } else {
            put_line(out, line);
        }
    }
    return found;
}

// --- The verb ------------------------------------------------------------------------------------

static bool explain(const char *name, struct base_buf *out)
{
    const char *names[ANALYZE_PATTERNS];
    struct base_buf path = {0};
    struct base_error error = {0};
    char *page = NULL;
    size_t length;
    if (analyze_find_pattern(name, strlen(name)) == ANALYZE_PATTERNS) {
        analyze_list_patterns(names);
        cli_message("there is no pattern '%s'%s; 'glint explain' lists them", name,
                    cli_nearest(name, names, ANALYZE_PATTERNS).text);
        return false;
    }
    bool good = cli_program_prefix(&path);
    base_buf_puts(&path, page_name);
    if (!good || path.failed) {
        cli_message("cannot find the folder that glint is installed in");
        good = false;
    } else if (base_file_read(path.text, &page, &length, &error) != BASE_OK) {
        base_fail_while(&error, "reading the page about patterns that is installed with glint");
        cli_error(&error);
        good = false;
    } else if (!put_section(page, name, out)) {
        cli_message("%s has no section about %s: it is of another version of glint", path.text,
                    name);
        good = false;
    }
    free(page);
    base_buf_fini(&path);
    return good;
}

static int run(const struct cli_verb *verb, int argc, char **argv)
{
    const char *name = NULL;
    struct base_buf out = {0};
    const int count = cli_arguments(verb, argc, argv, cli_take_no_option, NULL, &name, 1);
    if (count == -2)
        return 0;
    if (count < 0)
        return CLI_FAILURE;
    bool good = true;
    if (count == 0)
        put_list(&out);
    else
        good = explain(name, &out);
    if (good && out.failed)
        cli_no_memory();
    good = good && !out.failed && cli_write(NULL, false, &out);
    base_buf_fini(&out);
    return good ? 0 : CLI_FAILURE;
}

const struct cli_verb cli_explain = {
    .name = "explain",
    .arguments = "[PATTERN]",
    .summary = "explain a pattern of waste: definition, evidence, example and fix",
    .details =
        "Without PATTERN, lists the patterns. The text is that of share/doc/glint/patterns.md.\n\n",
    .more = put_list,
    .options = cli_no_options,
    .run = run,
};
