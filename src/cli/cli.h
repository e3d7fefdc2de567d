// SPDX-License-Identifier: Apache-2.0
// What the verbs of the command line share: the table of verbs, option tables, messages on stderr,
// and small helpers for output. Each verb is one file; a new verb is a file and a row in main.c.
#ifndef GLINT_CLI_CLI_H
#define GLINT_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "analyze/analyze.h"
#include "base/base.h"

// Exit statuses for wrong usage, bad input, and output that cannot be written. CLI_OWN_FAILURE is
// for verbs that run a program, whose other exit statuses are the program's, and for an unknown
// verb. CLI_FAILURE is for the other verbs, which use 1 for what they find.
enum { CLI_OWN_FAILURE = 125, CLI_FAILURE = 2 };

// One option of a verb. Parsing, help, man page and shell completion use the same rows. A row may
// omit its last members.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
struct cli_option {
    char letter;          // 0 if it has none
    const char *name;     // without the dashes
    const char *argument; // the name of its argument, in capitals; NULL if it takes none
    const char *help;
    const char *values; // all allowed values, separated by blanks; NULL: any value
    bool (*also)(
        const char *argument); // returns whether a value that is not listed is allowed, too
    const char *also_words;    // names such values in the message about a wrong one
    const char *list;          // `values` of an argument that is a comma-separated list of them
    // Selects patterns whose names the list may contain, too; NULL: none.
    bool (*patterns)(const struct analyze_description *pattern);
};

// Rows that several verbs share. A letter has the same meaning in all verbs (tests/cli/main).
#define CLI_FORMAT_OPTION(help_text, value_words)                   \
    {                                                               \
        'F', "format", "FORMAT", help_text, .values = (value_words) \
    }
#define CLI_OUTPUT_OPTIONS                                              \
    {'o', "output", "FILE", "write to FILE; default: standard output"}, \
    {                                                                   \
        'f', "force", NULL, "replace an existing file"                  \
    }

// A value for `patterns` that selects every pattern.
bool cli_any_pattern(const struct analyze_description *pattern);

struct cli_verb {
    const char *name;
    const char *arguments;            // after the options, such as "FILE"
    const char *summary;              // one line
    const char *details;              // paragraphs of --help, or NULL
    void (*more)(struct base_buf *);  // adds generated text to the details, or NULL
    const struct cli_option *options; // the last row has no name
    bool hidden;                      // from lists of verbs; used by the build
    int (*run)(const struct cli_verb *verb, int argc, char **argv);
};

extern const struct cli_verb cli_check;
extern const struct cli_verb cli_diff;
extern const struct cli_verb cli_doctor;
extern const struct cli_verb cli_explain;
extern const struct cli_verb cli_fix;
extern const struct cli_verb cli_generate;
extern const struct cli_verb cli_merge;
extern const struct cli_verb cli_ptx;
extern const struct cli_verb cli_query;
extern const struct cli_verb cli_record;
extern const struct cli_verb cli_report;
extern const struct cli_verb cli_run;
extern const struct cli_verb cli_sim_log;

extern const struct cli_verb *const cli_verbs[]; // all verbs; the last entry is NULL
extern const char cli_version[];                 // "glint 0.1.0 (aarch64, GCC 12.2.0, ...)"
extern const char cli_purpose[];                 // what glint does, as one sentence on two lines

// Parses options at the front of argv and passes each to take(user, row, argument), which returns
// false after a message if it refuses the argument. Arguments that are not among the row's values
// are refused before. Returns the index of the first argument that is not an option, -1 after a
// message, or -2 after printing the help for --help.
int cli_options(const struct cli_verb *verb, int argc, char **argv,
                bool (*take)(void *user, const struct cli_option *option, const char *argument),
                void *user);

// Does the same, but accepts options before, between and after the other arguments, of which there
// may be at most `most`. Returns how many were stored in `arguments`, or -1 or -2 as above.
int cli_arguments(const struct cli_verb *verb, int argc, char **argv,
                  bool (*take)(void *user, const struct cli_option *option, const char *argument),
                  void *user, const char **arguments, int most);

// For verbs without options: their rows, and what cli_arguments never calls.
extern const struct cli_option cli_no_options[];
bool cli_take_no_option(void *user, const struct cli_option *option, const char *argument);

// Returns the next word of a list separated by blanks, and moves *at behind it. Returns an empty
// word at the end.
struct base_str cli_next_word(const char **at);

// Returns whether the argument of the option is a list of known words.
bool cli_is_list(const struct cli_option *option);
// Adds the words that the argument of an option, or its list, may contain, separated by blanks.
void cli_put_values(const struct cli_option *option, struct base_buf *out);

// Adds the details of --help.
void cli_put_details(const struct cli_verb *verb, struct base_buf *out);

void cli_print_help(const struct cli_verb *verb, FILE *out);

// " (did you mean 'json'?)", or "" if no word is similar enough.
struct cli_hint {
    char text[96];
};
struct cli_hint cli_nearest(const char *word, const char *const *known, size_t count);
// The same for words separated by blanks.
struct cli_hint cli_nearest_of(const char *word, const char *known);

// Prints "glint: ..." and a newline to stderr, with control characters escaped.
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Prints "out of memory" in the same way.
void cli_no_memory(void);
// Prints the whole chain of an error in the same way.
void cli_error(const struct base_error *error);

// Opens a file for writing, or returns stdout if path is NULL or "-". Replaces an existing regular
// file only if `force`. Returns NULL after a message.
FILE *cli_open_output(const char *path, bool force);

// Writes the text to a file in the same way. Returns false after a message if it fails.
bool cli_write(const char *path, bool force, const struct base_buf *text);

#endif
