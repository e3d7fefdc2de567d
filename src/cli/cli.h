// SPDX-License-Identifier: Apache-2.0
// What the verbs of the command line share: the table of verbs, option tables, messages on stderr,
// and small helpers for output. One file a verb; adding one is a file and a row in main.c.
#ifndef GLINT_CLI_CLI_H
#define GLINT_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "base/base.h"

// Exit statuses where a verb cannot do what it is asked for: bad usage, bad input, output that
// cannot be written. For verbs that run a program, and where no verb is known, one that can be told
// from the program's own; for the others the usual one. They keep 1 for what they find.
enum { CLI_OWN_FAILURE = 125, CLI_FAILURE = 2 };

// One option of a verb. The same rows yield parsing, help, man page and shell completion.
struct cli_option {
    char letter;          // 0: has none
    const char *name;     // without the dashes
    const char *argument; // what its argument is called, in capitals; NULL: takes none
    const char *help;
};

struct cli_verb {
    const char *name;
    const char *arguments;            // behind the options: "FILE"
    const char *summary;              // one line
    const char *details;              // paragraphs of --help, or NULL
    const struct cli_option *options; // ended by a row without a name
    int (*run)(const struct cli_verb *verb, int argc, char **argv);
};

extern const struct cli_verb cli_doctor;
extern const struct cli_verb cli_ptx;
extern const struct cli_verb cli_query;
extern const struct cli_verb cli_record;
extern const struct cli_verb cli_report;
extern const struct cli_verb cli_run;
extern const struct cli_verb cli_sim_log;

// Takes options from the front of argv, handing each to take(user, row, argument), which returns
// false where it does not like the argument and has said so. Returns the index of the first
// argument that is no option; -1 after a message, or -2 when --help was asked for and printed.
int cli_options(const struct cli_verb *verb, int argc, char **argv,
                bool (*take)(void *user, const struct cli_option *option, const char *argument),
                void *user);

void cli_print_help(const struct cli_verb *verb, FILE *out);

// "glint: ..." on stderr, with a newline.
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
// The whole chain of an error in the same way.
void cli_error(const struct base_error *error);

// Writes the text to a file, or to stdout where path is NULL or "-". Says why where it cannot.
bool cli_write(const char *path, const struct base_buf *text);

#endif
