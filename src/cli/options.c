// SPDX-License-Identifier: Apache-2.0
// Parses options by a table with getopt_long, and prints the help text from the same table.
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

enum { MOST_OPTIONS = 32, HELP_COLUMN = 28 };

void cli_message(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    struct base_buf visible = {0};
    va_start(arguments, format);
    const int length = vasprintf(&text, format, arguments); // comes first: %m needs errno unchanged
    va_end(arguments);
    // File names and texts of profiles may contain control characters.
    if (length >= 0)
        base_buf_visible(&visible, (struct base_str){text, (size_t)length}, "\n\t");
    fprintf(stderr, "glint: %s\n",
            length >= 0 && !visible.failed && visible.text ? visible.text : "out of memory");
    base_buf_fini(&visible);
    if (length >= 0)
        free(text);
}

void cli_no_memory(void)
{
    struct base_error error = {0};
    base_no_memory(&error);
    cli_error(&error);
}

void cli_error(const struct base_error *error)
{
    char text[BASE_ERROR_CAUSES * BASE_ERROR_TEXT + 16];
    base_error_text(error, text, sizeof(text));
    cli_message("%s", text);
}

// Files that are not regular, such as /dev/null or a pipe, are written to and never replaced.
FILE *cli_open_output(const char *path, bool force)
{
    struct stat status;
    if (!path || strcmp(path, "-") == 0)
        return stdout;
    if (!force && stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
        cli_message("%s already exists; use -f to replace it", path);
        return NULL;
    }
    FILE *file = fopen(path, "we");
    if (!file)
        cli_message("cannot write %s: %m", path[0] ? path : "a file without a name");
    return file;
}

bool cli_write(const char *path, bool force, const struct base_buf *text)
{
    FILE *file = cli_open_output(path, force);
    if (!file)
        return false;
    bool good = text->length == 0 || fwrite(text->text, text->length, 1, file) == 1;
    good &= file == stdout ? fflush(file) == 0 : fclose(file) == 0;
    if (!good)
        cli_message("cannot write %s: %m", file == stdout ? "the output" : path);
    return good;
}

// --- Similar words -------------------------------------------------------------------------------

struct cli_hint cli_nearest(const char *word, const char *const *known, size_t count)
{
    struct cli_hint hint = {""};
    const char *nearest = base_nearest(word, known, count);
    if (nearest)
        snprintf(hint.text, sizeof(hint.text), " (did you mean '%.60s'?)", nearest);
    return hint;
}

struct cli_hint cli_nearest_of(const char *word, const char *known)
{
    enum { MOST_WORDS = 96 };
    const char *words[MOST_WORDS];
    char *copy = strdup(known), *rest = copy;
    size_t count = 0;
    for (char *next; rest && count < MOST_WORDS && (next = strsep(&rest, " "));) {
        if (*next)
            words[count++] = next;
    }
    const struct cli_hint hint = cli_nearest(word, words, count);
    free(copy);
    return hint;
}

// --- Help ----------------------------------------------------------------------------------------

static void print_row(FILE *out, const struct cli_option *option)
{
    char left[80];
    int width = option->letter ? snprintf(left, sizeof(left), "  -%c, ", option->letter)
                               : snprintf(left, sizeof(left), "      ");
    width += snprintf(left + width, sizeof(left) - (size_t)width, "--%s%s%s", option->name,
                      option->argument ? " " : "", option->argument ? option->argument : "");
    fprintf(out, "%-*s%s%s\n", HELP_COLUMN, left, width < HELP_COLUMN ? "" : "  ", option->help);
}

bool cli_any_pattern(const struct analyze_description *pattern)
{
    (void)pattern;
    return true;
}

bool cli_is_list(const struct cli_option *option)
{
    return option->list || option->patterns;
}

void cli_put_values(const struct cli_option *option, struct base_buf *out)
{
    const char *words = option->values ? option->values : option->list;
    const char *before = words ? " " : "";
    base_buf_puts(out, words ? words : "");
    for (unsigned i = 0; i < ANALYZE_PATTERNS && option->patterns; i++) {
        const struct analyze_description *pattern = analyze_describe((enum analyze_pattern)i);
        if (!option->patterns(pattern))
            continue;
        base_buf_printf(out, "%s%s", before, pattern->name);
        before = " ";
    }
}

void cli_put_details(const struct cli_verb *verb, struct base_buf *out)
{
    base_buf_puts(out, verb->details ? verb->details : "");
    if (verb->more)
        verb->more(out);
}

void cli_print_help(const struct cli_verb *verb, FILE *out)
{
    fprintf(out, "Usage: glint %s [OPTION...]%s%s\n\n%s\n\n", verb->name,
            verb->arguments[0] ? " " : "", verb->arguments, verb->summary);
    for (const struct cli_option *option = verb->options; option->name; option++)
        print_row(out, option);
    print_row(out, &(struct cli_option){'h', "help", NULL, "print this help"});
    struct base_buf details = {0};
    cli_put_details(verb, &details);
    if (details.text)
        fprintf(out, "\n%s", details.text);
    base_buf_fini(&details);
}

const struct cli_option cli_no_options[] = {{0, NULL, NULL, NULL}};

bool cli_take_no_option(void *user, const struct cli_option *option, const char *argument)
{
    (void)user;
    (void)option;
    (void)argument;
    return false;
}

struct base_str cli_next_word(const char **at)
{
    *at += strspn(*at, " ");
    const struct base_str word = {*at, strcspn(*at, " ")};
    *at += word.length;
    return word;
}

// Returns whether the argument is one of the option's values. Prints the values if it is not.
static bool is_value(const struct cli_option *option, const char *argument)
{
    struct base_buf known = {0};
    const char *at = option->values;
    if (option->also && option->also(argument))
        return true;
    struct base_str word = cli_next_word(&at), next;
    for (; word.length; word = next) {
        if (base_str_is(word, argument)) {
            base_buf_fini(&known);
            return true;
        }
        next = cli_next_word(&at);
        if (known.length)
            base_buf_puts(&known, next.length ? ", " : " or ");
        base_buf_add(&known, word.text, word.length);
    }
    if (option->also_words)
        base_buf_printf(&known, ", or %s", option->also_words);
    cli_message("--%s takes %s, not '%s'%s", option->name, known.text ? known.text : "nothing",
                argument, cli_nearest_of(argument, option->values).text);
    base_buf_fini(&known);
    return false;
}

// Says what is wrong with an option: it lacks its argument, is unknown, or begins several names.
static void refuse(const struct cli_verb *verb, const char *word, bool lacks_argument)
{
    struct base_buf names = {0}, begun = {0};
    const size_t length = strcspn(word, "=");
    unsigned count = 0;
    for (const struct cli_option *option = verb->options; option->name; option++) {
        base_buf_printf(&names, "--%s ", option->name);
        if (strncmp(word, "--", 2) != 0 || strncmp(option->name, word + 2, length - 2) != 0)
            continue;
        base_buf_printf(&begun, "%s--%s", count++ ? ", " : "", option->name);
    }
    base_buf_puts(&names, "--help");
    char *whole = strndup(word, length);
    if (lacks_argument)
        cli_message("%s needs an argument", word);
    else if (count > 1 && !begun.failed)
        cli_message("%s is ambiguous: %s", word, begun.text);
    else
        cli_message("unknown option %s%s", word,
                    whole && !names.failed ? cli_nearest_of(whole, names.text).text : "");
    cli_message("try 'glint %s --help'", verb->name);
    free(whole);
    base_buf_fini(&names);
    base_buf_fini(&begun);
}

int cli_options(const struct cli_verb *verb, int argc, char **argv,
                bool (*take)(void *user, const struct cli_option *option, const char *argument),
                void *user)
{
    struct option table[MOST_OPTIONS + 2] = {{0}};
    char letters[2 * MOST_OPTIONS + 4] = "+:h";
    int count = 0;
    for (const struct cli_option *option = verb->options; option->name; option++, count++) {
        table[count] = (struct option){
            option->name, option->argument ? required_argument : no_argument, NULL, 256 + count};
        if (option->letter) {
            size_t used = strlen(letters);
            letters[used] = option->letter;
            letters[used + 1] = option->argument ? ':' : '\0';
        }
    }
    table[count] = (struct option){"help", no_argument, NULL, 'h'};
    optind = 0; // restarts getopt
    opterr = 0;
    int found;
    while ((found = getopt_long(argc, argv, letters, table, NULL)) != -1) {
        if (found == 'h') {
            cli_print_help(verb, stdout);
            return -2;
        }
        if (found == '?' || found == ':') {
            refuse(verb, argv[optind - 1], found == ':');
            return -1;
        }
        const struct cli_option *option = NULL;
        for (int i = 0; i < count; i++) {
            if (found == 256 + i || (found < 256 && verb->options[i].letter == found))
                option = &verb->options[i];
        }
        if (!option || (option->values && !is_value(option, optarg)) || !take(user, option, optarg))
            return -1;
    }
    return optind;
}

int cli_arguments(const struct cli_verb *verb, int argc, char **argv,
                  bool (*take)(void *user, const struct cli_option *option, const char *argument),
                  void *user, const char **arguments, int most)
{
    for (int count = 0;; count++) {
        int first = cli_options(verb, argc, argv, take, user);
        if (first < 0)
            return first;
        if (first >= argc)
            return count;
        if (count == most) {
            cli_message("unexpected argument '%s'; try 'glint %s --help'", argv[first], verb->name);
            return -1;
        }
        arguments[count] = argv[first];
        argc -= first; // the argument takes the place of argv[0]
        argv += first;
    }
}
