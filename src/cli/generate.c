#include "cli.h"
static int run(const struct cli_verb *verb, int argc, char **argv){(void)verb;(void)argc;(void)argv;return 0;}
static const struct cli_option options[] = {{0}};
const struct cli_verb cli_generate = {.name="generate",.arguments="",.summary="",.options=options,.run=run,.hidden=true};
