// SPDX-License-Identifier: Apache-2.0
// glint's main(): finds the verb and runs it.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

const struct cli_verb *const cli_verbs[] = {
    &cli_record, &cli_run,   &cli_report, &cli_explain, &cli_check,  &cli_diff,     &cli_merge,
    &cli_fix,    &cli_query, &cli_ptx,    &cli_sim_log, &cli_doctor, &cli_generate, NULL};

const char cli_purpose[] =
    "glint finds what CUDA programs waste: GPU memory, redundant data, needless\n"
    "synchronization, poor use of caches and shared memory.\n";

#define TEXT_OF(number)       TEXT_OF_VALUE(number)
#define TEXT_OF_VALUE(number) #number

#if defined __clang__
#define COMPILER "Clang " __clang_version__
#else
#define COMPILER "GCC " __VERSION__
#endif
#if defined __aarch64__
#define MACHINE "aarch64"
#else
#define MACHINE "x86_64"
#endif

// What a report of a problem needs.
const char cli_version[] = "glint " GLINT_VERSION " (" MACHINE ", " COMPILER
                           ", glibc " TEXT_OF(__GLIBC__) "." TEXT_OF(__GLIBC_MINOR__) ")";

static void print_usage(FILE *out)
{
    fprintf(out, "%s\nUsage: glint VERB [OPTION...] [ARGUMENT...]\n\n", cli_purpose);
    for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
        if (!(*verb)->hidden)
            fprintf(out, "  %-10s%s\n", (*verb)->name, (*verb)->summary);
    }
    fputs("\n'glint VERB --help' describes a verb, 'glint --version' prints the version.\n", out);
}

// Occupies standard streams that are closed, so that no file of glint gets their numbers: messages
// would be written to it, and the program would inherit it. Writing still fails, and the program
// finds them closed.
static void occupy_closed_streams(void)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (fcntl(i, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", O_RDONLY | O_CLOEXEC); // gets the lowest number, which is i
}

int main(int argc, char **argv)
{
    occupy_closed_streams();
    const char *verb = argc > 1 ? argv[1] : NULL;
    if (!verb) {
        print_usage(stderr);
        return CLI_OWN_FAILURE;
    }
    const bool help =
        strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 || strcmp(verb, "help") == 0;
    if (help && argc == 2) {
        print_usage(stdout);
        return 0;
    }
    if (help)
        verb = argv[2];
    if (strcmp(verb, "--version") == 0) {
        puts(cli_version);
        return 0;
    }
    for (int i = 0; cli_verbs[i]; i++) {
        if (strcmp(verb, cli_verbs[i]->name) != 0)
            continue;
        if (!help)
            return cli_verbs[i]->run(cli_verbs[i], argc - 1, argv + 1);
        cli_print_help(cli_verbs[i], stdout);
        return 0;
    }
    const char *names[sizeof(cli_verbs) / sizeof(cli_verbs[0])];
    size_t count = 0;
    for (int i = 0; cli_verbs[i]; i++) {
        if (!cli_verbs[i]->hidden)
            names[count++] = cli_verbs[i]->name;
    }
    cli_message("unknown verb '%s'%s; 'glint --help' lists the verbs", verb,
                cli_nearest(verb, names, count).text);
    return CLI_OWN_FAILURE;
}
