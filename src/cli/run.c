// SPDX-License-Identifier: Apache-2.0
// glint run: starts a program on the GPU, or on the simulated GPU. The process becomes the program
// by exec, so the program keeps its streams, signals and exit status. The simulated GPU is selected
// by environment variables, which the program's children inherit.
#include <unistd.h>

#include "program.h"

static const struct cli_option options[] = {
    {'q', "quiet", NULL, "print only errors"},
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
        cli_message("no program given; try 'glint run --help'");
        return CLI_OWN_FAILURE;
    }
    struct base_buf path = {0};
    if (cli_program_prepare(&request, argv[first], &path)) {
        // The path has a slash, so execvp does not search PATH; but it starts a shell for a script
        // without #!.
        execvp(path.text, argv + first);
        cli_message("cannot run %s: %m", argv[first]);
    }
    base_buf_fini(&path);
    return CLI_OWN_FAILURE;
}

const struct cli_verb cli_run = {
    .name = "run",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .summary = "run a program, on the simulated GPU if there is no GPU",
    .details =
        "The program is searched in PATH, as by a shell. It keeps its streams, signals and exit\n"
        "status; the exit status is 125 if glint cannot start it.\n\n"
        "  auto        the GPU if there is one, else the simulated GPU\n"
        "  gpu         the GPU; the program runs unchanged\n"
        "  sim:PRESET  a simulated h200 (default), a100, rtx3090 or rtx2080ti; sim:h200*4 has\n"
        "              four of them, sim:h200,a100 one of each\n\n"
        "The simulated GPU runs executables that contain PTX and are linked with the shared CUDA\n"
        "runtime (nvcc -cudart shared), or with the static one (nvcc's default) if they are not\n"
        "stripped. Programs that a script starts run there too.\n",
    .options = options,
    .run = run,
};
