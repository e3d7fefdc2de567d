// SPDX-License-Identifier: Apache-2.0
// Man pages in scdoc's format, from the tables of verbs and options.
#include <ctype.h>
#include <string.h>

#include "generate.h"

// Appends the text with scdoc's special characters escaped.
static void put_text(struct base_buf *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (strchr("\\*_`#[]|;-", text[i]))
            base_buf_putc(out, '\\');
        base_buf_putc(out, text[i]);
    }
}

static void put_words(struct base_buf *out, const char *text)
{
    put_text(out, text, strlen(text));
}

// Appends "[--] PROGRAM [ARGUMENT...]" with placeholders in italics.
static void put_arguments(struct base_buf *out, const char *text)
{
    while (*text) {
        size_t length = 0;
        while (isupper((unsigned char)text[length]))
            length++;
        if (length > 1) {
            base_buf_printf(out, "_%.*s_", (int)length, text);
            text += length;
        } else {
            put_text(out, text, 1);
            text++;
        }
    }
}

static void put_option(struct base_buf *out, const struct cli_option *option)
{
    if (option->letter)
        base_buf_printf(out, "*-%c*, ", option->letter);
    base_buf_printf(out, "*--%s*", option->name);
    if (option->argument) {
        base_buf_puts(out, " _");
        put_words(out, option->argument);
        base_buf_putc(out, '_');
    }
    base_buf_puts(out, "\n\t");
    put_words(out, option->help);
    base_buf_puts(out, "\n\n");
}

// Appends paragraphs; indented lines keep their line breaks.
static void put_details(struct base_buf *out, const char *text)
{
    bool literal = false, behind_text = false;
    while (*text) {
        const size_t length = strcspn(text, "\n");
        const bool indented = text[0] == ' ';
        if (indented && !literal)
            base_buf_puts(out, behind_text ? "\n```\n" : "```\n");
        if (!indented && literal)
            base_buf_puts(out, length ? "```\n\n" : "```\n");
        literal = indented;
        behind_text = length > 0;
        if (indented) {
            for (size_t i = 0; i < length; i++) {
                if (text[i] == '\\')
                    base_buf_putc(out, '\\');
                base_buf_putc(out, text[i]);
            }
        } else {
            put_text(out, text, length);
        }
        base_buf_putc(out, '\n');
        text += length + (text[length] == '\n');
    }
    if (literal)
        base_buf_puts(out, "```\n");
    base_buf_putc(out, '\n');
}

static void put_verb(const struct cli_verb *verb, struct base_buf *out)
{
    base_buf_printf(out, "glint-%s(1) \"glint " GLINT_VERSION "\"\n\n# NAME\n\nglint-%s - ",
                    verb->name, verb->name);
    put_words(out, verb->summary);
    base_buf_printf(out, "\n\n# SYNOPSIS\n\n*glint %s* \\[_OPTION_...\\]%s", verb->name,
                    verb->arguments[0] ? " " : "");
    put_arguments(out, verb->arguments);
    base_buf_puts(out, "\n\n");
    struct base_buf details = {0};
    cli_put_details(verb, &details);
    if (details.text) {
        base_buf_puts(out, "# DESCRIPTION\n\n");
        put_details(out, details.text);
    }
    out->failed |= details.failed;
    base_buf_fini(&details);
    base_buf_puts(out, "# OPTIONS\n\n");
    for (const struct cli_option *option = verb->options; option->name; option++)
        put_option(out, option);
    put_option(out, &cli_generate_help);
    base_buf_puts(out, "# SEE ALSO\n\n*glint*(1)\n");
}

static void put_glint(struct base_buf *out)
{
    base_buf_puts(out, "glint(1) \"glint " GLINT_VERSION "\"\n\n# NAME\n\n"
                       "glint - find what CUDA programs waste\n\n# SYNOPSIS\n\n"
                       "*glint* _VERB_ \\[_OPTION_...\\] \\[_ARGUMENT_...\\]++\n"
                       "*glint* _VERB_ *--help*++\n*glint* *--version*\n\n# DESCRIPTION\n\n");
    put_words(out, cli_purpose);
    base_buf_puts(out, "\n# VERBS\n\n");
    for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
        if ((*verb)->hidden)
            continue;
        base_buf_printf(out, "*glint-%s*(1)\n\t", (*verb)->name);
        put_words(out, (*verb)->summary);
        base_buf_puts(out, "\n\n");
    }
    base_buf_puts(
        out, "# EXIT STATUS\n\n"
             "0 on success. Verbs that run a program exit with its status, and with 125 if glint\n"
             "itself fails. The other verbs exit with 2 on wrong usage, bad input or output that\n"
             "cannot be written. *glint check* exits with 1 if a rule is broken.\n\n"
             "# ENVIRONMENT\n\n*NO\\_COLOR*\n\tno colours, even on a terminal\n\n"
             "*COLUMNS*\n\twidth of the lines of reports\n\n# SEE ALSO\n\n");
    const char *before = "";
    for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
        if ((*verb)->hidden)
            continue;
        base_buf_printf(out, "%s*glint-%s*(1)", before, (*verb)->name);
        before = ", ";
    }
    base_buf_putc(out, '\n');
}

void cli_generate_man(const struct cli_verb *verb, struct base_buf *out)
{
    if (verb)
        put_verb(verb, out);
    else
        put_glint(out);
}
