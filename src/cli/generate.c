// SPDX-License-Identifier: Apache-2.0
// glint generate: prints man pages and shell completions, for building and packaging glint. Lists
// of verbs do not show it.
#include "generate.h"

#include <stdlib.h>
#include <string.h>

const struct cli_option cli_generate_help = {'h', "help", NULL, "print this help"};

enum cli_generate_argument cli_generate_argument_of(const struct cli_option *option)
{
    if (!option->argument || option->values || cli_is_list(option))
        return CLI_GENERATE_ANY;
    return strcmp(option->argument, "FILE") == 0  ? CLI_GENERATE_FILE
           : strcmp(option->argument, "DIR") == 0 ? CLI_GENERATE_FOLDER
                                                  : CLI_GENERATE_ANY;
}

enum cli_generate_argument cli_generate_rest_of(const struct cli_verb *verb)
{
    return strstr(verb->arguments, "PROGRAM")   ? CLI_GENERATE_PROGRAM
           : strstr(verb->arguments, "PATTERN") ? CLI_GENERATE_PATTERN
           : verb->arguments[0]                 ? CLI_GENERATE_FILE
                                                : CLI_GENERATE_ANY;
}

static void put_verbs(struct base_buf *out)
{
    for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
        if (!(*verb)->hidden)
            base_buf_printf(out, "%s\n", (*verb)->name);
    }
}

static bool generate(const char *what, const char *verb_name, struct base_buf *out)
{
    if (!cli_generate_check_patterns())
        return false;
    if (strcmp(what, "patterns") == 0 || strcmp(what, "schema") == 0) {
        if (!verb_name)
            cli_message("generate %s needs the FILE that it renews", what);
        return verb_name && (what[0] == 'p' ? cli_generate_patterns(verb_name, out)
                                            : cli_generate_schema(verb_name, out));
    }
    const struct cli_verb *verb = NULL;
    for (const struct cli_verb *const *each = cli_verbs; *each && verb_name; each++) {
        if (strcmp((*each)->name, verb_name) == 0)
            verb = *each;
    }
    if (verb_name && !verb) {
        cli_message("unknown verb '%s'", verb_name);
        return false;
    }
    if (strcmp(what, "man") == 0)
        cli_generate_man(verb, out);
    else if (strcmp(what, "bash") == 0)
        cli_generate_bash(out);
    else if (strcmp(what, "zsh") == 0)
        cli_generate_zsh(out);
    else if (strcmp(what, "fish") == 0)
        cli_generate_fish(out);
    else if (strcmp(what, "verbs") == 0)
        put_verbs(out);
    else {
        cli_message(
            "glint generate prints man, bash, zsh, fish, verbs, patterns or schema, not '%s'",
            what);
        return false;
    }
    return true;
}

static int run(const struct cli_verb *verb, int argc, char **argv)
{
    const char *words[2] = {NULL, NULL};
    const int count = cli_arguments(verb, argc, argv, cli_take_no_option, NULL, words, 2);
    if (count == -2)
        return 0;
    if (count < 1) {
        if (count == 0)
            cli_message("nothing to generate given; try 'glint generate --help'");
        return CLI_FAILURE;
    }
    struct base_buf out = {0};
    bool good = generate(words[0], words[1], &out);
    if (good && out.failed)
        cli_no_memory();
    good = good && !out.failed && cli_write(NULL, false, &out);
    base_buf_fini(&out);
    return good ? 0 : CLI_FAILURE;
}

const struct cli_verb cli_generate = {
    .name = "generate",
    .arguments = "WHAT [VERB|FILE]",
    .summary = "print a man page, a shell's completions or documentation of patterns",
    .details = "  man [VERB]        the man page of glint or of a verb, in scdoc's format\n"
               "  bash, zsh, fish   the shell's completions\n"
               "  verbs             the names of the verbs\n"
               "  patterns FILE     docs/reference/patterns.md with its generated blocks renewed\n"
               "  schema FILE       docs/reference/report.schema.json, likewise\n",
    .options = cli_no_options,
    .run = run,
    .hidden = true,
};
