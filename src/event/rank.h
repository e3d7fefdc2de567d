// SPDX-License-Identifier: Apache-2.0
// Which rank of a job a process is: what launchers (mpirun, srun, torchrun) say in environment
// variables. Other parts include event.h.
#ifndef GLINT_EVENT_RANK_H
#define GLINT_EVENT_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EVENT_RANK_JOB = 128 };

struct event_rank {
    const char *launcher;  // "openmpi", "slurm", ...; NULL: the process has no rank
    const char *malformed; // the variable whose value is not valid: nothing below is known; or NULL
    bool has_number;       // the rank is known
    bool has_count;        // the number of ranks is
    bool has_local;        // the rank on this host is
    uint32_t number, count; // number is below count, if both are known
    uint32_t local;
    char job[EVENT_RANK_JOB]; // name of the job; "": unknown
};

// Returns the value of an environment variable, or NULL.
typedef const char *event_get_variable(void *user, const char *name);

// Reads the rank from the variables of the first launcher that has set one.
void event_rank_read(event_get_variable *get, void *user, struct event_rank *rank);

// Returns whether event_rank_read may ask for the variable. The name ends at a NUL or '='.
bool event_rank_is_variable(const char *name);

// Lists of ranks as users write them: "0,3-7".
bool event_ranks_valid(const char *list);
// Returns whether the valid list contains the rank.
bool event_ranks_have(const char *list, uint32_t number);

#endif
