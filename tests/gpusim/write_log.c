// SPDX-License-Identifier: Apache-2.0
// Writes the seed corpus of tests/fuzz/fuzz_sim_log.c, a log and a truncated log: write_log
// FOLDER. The files are binary, so they are generated instead of being kept in the tree.
#include <stdio.h>
#include <unistd.h>

#include "log_sample.h"

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 2)
        return 2;
    snprintf(path, sizeof(path), "%s/whole", argv[1]);
    if (!log_sample_write(path))
        return 1;
    snprintf(path, sizeof(path), "%s/cut", argv[1]);
    return !log_sample_write(path) || truncate(path, 700) != 0;
}
