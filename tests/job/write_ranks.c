// SPDX-License-Identifier: Apache-2.0
// write_ranks FOLDER RANKS CALLS [NAME=VALUE...]: writes profiles of the ranks of a synthetic job
// as FOLDER/rank-NNNNN.glint. Names: seed, simulated, killed (a rank), double (a rank with twice
// the memory), slow (a rank whose waits take ten times as long), first (the first rank that is
// written), kernels, communicating.
#include "ranks.h"

#include <inttypes.h>

int main(int argc, char **argv)
{
    uint32_t killed = UINT32_MAX, twice = UINT32_MAX, slow = UINT32_MAX, first = 0;
    struct ranks_options options = {0};
    if (argc < 4)
        return 2;
    options.ranks = (uint32_t)strtoul(argv[2], NULL, 10);
    options.calls = strtoull(argv[3], NULL, 10);
    for (int i = 4; i < argc; i++) {
        uint32_t value;
        char name[16];
        if (sscanf(argv[i], "%15[a-z]=%" SCNu32, name, &value) != 2)
            return 2;
        if (strcmp(name, "seed") == 0)
            options.seed = value;
        else if (strcmp(name, "simulated") == 0)
            options.simulated = value;
        else if (strcmp(name, "kernels") == 0)
            options.kernels = value;
        else if (strcmp(name, "communicating") == 0)
            options.communicating = value;
        else if (strcmp(name, "killed") == 0)
            killed = value;
        else if (strcmp(name, "double") == 0)
            twice = value;
        else if (strcmp(name, "slow") == 0)
            slow = value;
        else if (strcmp(name, "first") == 0)
            first = value;
        else
            return 2;
    }
    for (uint32_t rank = first; rank < options.ranks; rank++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/rank-%05u.glint", argv[1], rank);
        options.rank = rank;
        options.killed = rank == killed;
        options.factor = rank == twice ? 2 : 1;
        options.slowness = rank == slow ? 10 : 1;
        ranks_write(path, &options);
    }
    return 0;
}
