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

// One option of a verb. The same rows yield parsing, help, man page and shell completion. A row may
// leave out its last members.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
struct cli_option {
    char letter;          // 0: has none
    const char *name;     // without the dashes
    const char *argument; // what its argument is called, in capitals; NULL: takes none
    const char *help;
    const char *values; // all that the argument can be, in words with a blank between; NULL: more
    const char *list;   // the same for an argument that is a list of them with commas between
};

// The patterns of findings, for rows whose argument is a list of them; docs/patterns.md has them.
#define CLI_PATTERNS                                                                         \
    "early-allocation late-deallocation redundant-allocation unused-allocation memory-leak " \
    "temporary-idleness dead-write overallocation non-uniform-access structured-access "     \
    "unnecessary-sync misplaced-sync synchronous-transfer duplicate-transfer alloc-free-churn"

struct cli_verb {
    const char *name;
    const char *arguments;            // behind the options: "FILE"
    const char *summary;              // one line
    const char *details;              // paragraphs of --help, or NULL
    const struct cli_option *options; // ended by a row without a name
    bool hidden;                      // from lists of verbs: for who builds glint
    int (*run)(const struct cli_verb *verb, int argc, char **argv);
};

extern const struct cli_verb cli_check;
extern const struct cli_verb cli_diff;
extern const struct cli_verb cli_doctor;
extern const struct cli_verb cli_fix;
extern const struct cli_verb cli_generate;
extern const struct cli_verb cli_ptx;
extern const struct cli_verb cli_query;
extern const struct cli_verb cli_record;
extern const struct cli_verb cli_report;
extern const struct cli_verb cli_run;
extern const struct cli_verb cli_sim_log;

extern const struct cli_verb *const cli_verbs[]; // all of them, ended by NULL
extern const char cli_purpose[];                 // what glint is, in a sentence of two lines

// Takes options from the front of argv, handing each to take(user, row, argument), which returns
// false where it does not like the argument and has said so; an argument that is none of the row's
// values does not get there. Returns the index of the first argument that is no option; -1 after a
// message, or -2 when --help was asked for and printed.
int cli_options(const struct cli_verb *verb, int argc, char **argv,
                bool (*take)(void *user, const struct cli_option *option, const char *argument),
                void *user);

// The same where options may stand before, between and behind the other arguments, of which there
// are at most `most`. Returns how many were stored.
int cli_arguments(const struct cli_verb *verb, int argc, char **argv,
                  bool (*take)(void *user, const struct cli_option *option, const char *argument),
                  void *user, const char **arguments, int most);

// The word of a list (words with a blank between) that begins at *at, which moves on; an empty one
// at the end.
struct base_str cli_next_word(const char **at);

void cli_print_help(const struct cli_verb *verb, FILE *out);

// "glint: ..." on stderr, with a newline.
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
// The same with "out of memory".
void cli_no_memory(void);
// The whole chain of an error in the same way.
void cli_error(const struct base_error *error);

// Writes the text to a file, or to stdout where path is NULL or "-". Says why where it cannot.
bool cli_write(const char *path, const struct base_buf *text);

#endif
