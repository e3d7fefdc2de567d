// SPDX-License-Identifier: Apache-2.0
// The table of launchers and their variables. The first launcher counts that has set a rank: those
// that start the processes of MPI come before batch systems, inside of which they run.
//
// A batch script of Slurm has SLURM_PROCID=0 and the number of tasks of its job, although it is
// none of them. Only srun sets SLURM_STEP_ID, so without it rank 0 of several is not a rank. The
// steps that Slurm makes for batch scripts and interactive shells have numbers from FIRST_SPECIAL
// on.
#include "rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 2 };
#define FIRST_SPECIAL 0xfffffff0u

static const struct launcher {
    const char *word, *rank;
    const char *count[MOST_NAMES], *local[MOST_NAMES], *job[MOST_NAMES]; // the first that is set
    bool needs_count; // the name of the rank's variable is used for other things, too
} launchers[] = {
    {"openmpi",
     "OMPI_COMM_WORLD_RANK",
     {"OMPI_COMM_WORLD_SIZE"},
     {"OMPI_COMM_WORLD_LOCAL_RANK"},
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"},
     false},
    {"pmix", "PMIX_RANK", {NULL}, {NULL}, {"PMIX_NAMESPACE"}, false},
    {"pmi", "PMI_RANK", {"PMI_SIZE"}, {"PMI_LOCAL_RANK", "MPI_LOCALRANKID"}, {"PMI_JOBID"}, false},
    {"mvapich2",
     "MV2_COMM_WORLD_RANK",
     {"MV2_COMM_WORLD_SIZE"},
     {"MV2_COMM_WORLD_LOCAL_RANK"},
     {NULL},
     false},
    {"pals", "PALS_RANKID", {"PALS_SIZE"}, {"PALS_LOCAL_RANKID"}, {"PALS_APID"}, false},
    {"flux", "FLUX_TASK_RANK", {"FLUX_JOB_SIZE"}, {"FLUX_TASK_LOCAL_ID"}, {"FLUX_JOB_ID"}, false},
    {"jsm",
     "JSM_NAMESPACE_RANK",
     {"JSM_NAMESPACE_SIZE"},
     {"JSM_NAMESPACE_LOCAL_RANK"},
     {NULL},
     false},
    {"torchrun", "RANK", {"WORLD_SIZE"}, {"LOCAL_RANK"}, {"TORCHELASTIC_RUN_ID"}, true},
    {"slurm",
     "SLURM_PROCID",
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     {"SLURM_LOCALID"},
     {NULL},
     false},
};
enum { LAUNCHERS = sizeof(launchers) / sizeof(launchers[0]) };

// Of batch systems: the job, if the launcher has no name for it.
static const char *const batch_jobs[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"};
enum { BATCH_JOBS = sizeof(batch_jobs) / sizeof(batch_jobs[0]) };

static const char step_variable[] = "SLURM_STEP_ID";

// Reads a decimal number without sign and blanks. Returns false if it is none or is too large.
static bool read_number(const char *text, uint32_t *number)
{
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9')
        return false;
    const unsigned long long value = strtoull(text, &end, 10);
    *number = (uint32_t)value;
    return *end == '\0' && end - text <= 10 && value <= UINT32_MAX;
}

// Returns the first variable of the names that is set and not empty, and its value; NULL: none is.
static const char *find(event_get_variable *get, void *user, const char *const names[MOST_NAMES],
                        const char **value)
{
    for (int i = 0; i < MOST_NAMES && names[i]; i++) {
        *value = get(user, names[i]);
        if (*value && **value)
            return names[i];
    }
    return NULL;
}

// Returns false if a variable is set and has no number.
static bool read_first(event_get_variable *get, void *user, const char *const names[MOST_NAMES],
                       bool *has, uint32_t *number, struct event_rank *rank)
{
    const char *value = NULL, *name = find(get, user, names, &value);
    *has = name && read_number(value, number);
    if (name && !*has)
        rank->malformed = name;
    return !name || *has;
}

static void read_job(event_get_variable *get, void *user, const struct launcher *launcher,
                     struct event_rank *rank)
{
    const char *value = NULL, *step = get(user, step_variable);
    const bool is_slurm = strcmp(launcher->word, "slurm") == 0;
    if (!find(get, user, launcher->job, &value) || strcmp(value, "none") == 0) // torchrun's default
        value = NULL;
    for (int i = 0; i < BATCH_JOBS && !value; i++) {
        value = get(user, batch_jobs[i]);
        if (value && !*value)
            value = NULL;
    }
    if (value)
        snprintf(rank->job, sizeof(rank->job), "%s%s%s", value, is_slurm && step ? "." : "",
                 is_slurm && step ? step : "");
}

// Returns whether Slurm's variables are those of a task, and not of the script or shell that may
// start tasks.
static bool is_slurm_task(event_get_variable *get, void *user, const struct event_rank *rank)
{
    const char *step = get(user, step_variable);
    uint32_t number = 0;
    if (step && read_number(step, &number))
        return number < FIRST_SPECIAL;
    return rank->number > 0 || (rank->has_count && rank->count == 1);
}

void event_rank_read(event_get_variable *get, void *user, struct event_rank *rank)
{
    *rank = (struct event_rank){0};
    for (int i = 0; i < LAUNCHERS; i++) {
        const struct launcher *at = &launchers[i];
        const char *value = get(user, at->rank);
        struct event_rank found = {.launcher = at->word};
        if (!value || !*value || (at->needs_count && !get(user, at->count[0])))
            continue;
        bool good = read_number(value, &found.number);
        if (!good)
            found.malformed = at->rank;
        found.has_number = good;
        good = good && read_first(get, user, at->count, &found.has_count, &found.count, &found) &&
               read_first(get, user, at->local, &found.has_local, &found.local, &found);
        if (good && found.has_count && found.number >= found.count) {
            found.malformed = at->rank;
            good = false;
        }
        if (good && strcmp(at->word, "slurm") == 0 && !is_slurm_task(get, user, &found))
            return;
        if (good)
            read_job(get, user, at, &found);
        *rank =
            good ? found : (struct event_rank){.launcher = at->word, .malformed = found.malformed};
        return;
    }
}

static bool is_name(const char *name, const char *wanted)
{
    const size_t length = wanted ? strlen(wanted) : 0;
    return wanted && strncmp(name, wanted, length) == 0 &&
           (name[length] == '\0' || name[length] == '=');
}

bool event_rank_is_variable(const char *name)
{
    bool found = is_name(name, step_variable);
    for (int i = 0; i < LAUNCHERS && !found; i++) {
        const struct launcher *at = &launchers[i];
        found = is_name(name, at->rank);
        for (int j = 0; j < MOST_NAMES && !found; j++)
            found = is_name(name, at->count[j]) || is_name(name, at->local[j]) ||
                    is_name(name, at->job[j]);
    }
    for (int i = 0; i < BATCH_JOBS && !found; i++)
        found = is_name(name, batch_jobs[i]);
    return found;
}

// --- Lists ---------------------------------------------------------------------------------------

// Reads digits at *at. Returns false if there are none, or too many.
static bool take_number(const char **at, uint32_t *number)
{
    uint64_t value = 0;
    const char *start = *at;
    for (; **at >= '0' && **at <= '9' && value <= UINT32_MAX; (*at)++)
        value = 10 * value + (uint64_t)(**at - '0');
    *number = (uint32_t)value;
    return *at > start && value <= UINT32_MAX;
}

// Reads "3" or "3-7", and the comma behind it if another range follows.
static bool take_range(const char **at, uint32_t *first, uint32_t *last)
{
    if (!take_number(at, first))
        return false;
    *last = *first;
    if (**at == '-') {
        (*at)++;
        if (!take_number(at, last) || *last < *first)
            return false;
    }
    if (**at == ',' && (*at)[1])
        (*at)++;
    else if (**at)
        return false;
    return true;
}

bool event_ranks_valid(const char *list)
{
    uint32_t first, last;
    bool good = *list != '\0';
    while (good && *list)
        good = take_range(&list, &first, &last);
    return good;
}

bool event_ranks_have(const char *list, uint32_t number)
{
    uint32_t first, last;
    while (*list && take_range(&list, &first, &last)) {
        if (number >= first && number <= last)
            return true;
    }
    return false;
}
