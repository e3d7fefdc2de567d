// SPDX-License-Identifier: Apache-2.0
// glint run: starts a program on the GPU, or on the simulated one. It becomes the program (exec),
// so that streams, signals and exit status are the program's own; all that it does for the
// simulated GPU it does by environment variables, which the program's children inherit.
#include <unistd.h>

#include "program.h"

static const struct cli_option options[] = {
    {'q', "quiet", NULL, "say nothing but errors"},
    CLI_PROGRAM_OPTIONS,
    {0, NULL, NULL, NULL},
};

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    struct cli_program_request *request = user;
    if (option->letter == 'q')
        return request->quiet = true;
    return cli_program_take_option(request, option, argument);
}

static int run(const struct cli_verb *verb, int argc, char **argv)
{
    struct cli_program_request request = {.device = CLI_PROGRAM_DEVICE_AUTO};
    int first = cli_options(verb, argc, argv, take_option, &request);
    if (first == -2)
        return 0;
    if (first < 0)
        return CLI_OWN_FAILURE;
    if (first == argc) {
        cli_message("which program? Try 'glint run --help'");
        return CLI_OWN_FAILURE;
    }
    struct base_buf path = {0};
    if (cli_program_prepare(&request, argv[first], &path)) {
        execvp(path.text, argv + first); // has a slash, so nothing is searched for; but a script
        cli_message("cannot run %s: %m", argv[first]); // without #! is given to the shell
    }
    base_buf_fini(&path);
    return CLI_OWN_FAILURE;
}

const struct cli_verb cli_run = {
    .name = "run",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .summary = "run a program, on the simulated GPU where there is none",
    .details =
        "The program is searched for in PATH as a shell does. Its streams, signals and exit "
        "status\n"
        "are its own; 125 is glint's failure to start it.\n\n"
        "  auto        the GPU where there is one, else the simulated one\n"
        "  gpu         the GPU: the program is run as it is\n"
        "  sim:PRESET  a simulated h200 (default), a100, rtx3090 or rtx2080ti\n\n"
        "On the simulated GPU run executables with PTX in them, linked with the shared CUDA "
        "runtime\n"
        "(nvcc -cudart shared) or with the static one (nvcc's default) as long as they are not\n"
        "stripped. Programs that a script starts run there too.\n",
    .options = options,
    .run = run,
};
