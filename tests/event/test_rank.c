// SPDX-License-Identifier: Apache-2.0
// Tests of ranks: what each launcher says is understood, the first launcher counts, and what is not
// valid is unknown.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "event/event.h"

// The environment: "NAME=VALUE" separated by blanks.
static const char *get(void *user, const char *name)
{
    static char values[8][128];
    static unsigned next;
    const size_t length = strlen(name);
    for (const char *at = user; *at; at += strspn(at, " ")) {
        const size_t word = strcspn(at, " ");
        if (word > length && strncmp(at, name, length) == 0 && at[length] == '=') {
            char *value = values[next++ % 8];
            snprintf(value, sizeof(values[0]), "%.*s", (int)(word - length - 1), at + length + 1);
            assert_true(event_rank_is_variable(name));
            return value;
        }
        at += word;
    }
    return NULL;
}

// "LAUNCHER RANK/COUNT LOCAL JOB", with "-" for what is unknown.
static const char *told(const char *environment)
{
    static char text[256];
    struct event_rank rank;
    char numbers[3][16] = {"-", "-", "-"};
    event_rank_read(get, (void *)(uintptr_t)environment, &rank);
    if (rank.has_number)
        snprintf(numbers[0], sizeof(numbers[0]), "%u", rank.number);
    if (rank.has_count)
        snprintf(numbers[1], sizeof(numbers[1]), "%u", rank.count);
    if (rank.has_local)
        snprintf(numbers[2], sizeof(numbers[2]), "%u", rank.local);
    snprintf(text, sizeof(text), "%s %s/%s %s %s%s%s", rank.launcher ? rank.launcher : "-",
             numbers[0], numbers[1], numbers[2], rank.job[0] ? rank.job : "-",
             rank.malformed ? " malformed " : "", rank.malformed ? rank.malformed : "");
    return text;
}

static void each_launcher_is_understood(void **state)
{
    (void)state;
    static const struct {
        const char *environment, *expected;
    } cases[] = {
        {"", "- -/- - -"},
        {"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_RANK=3"
         " PMIX_NAMESPACE=prterun-node-17@1",
         "openmpi 3/8 1 prterun-node-17@1"},
        {"PMIX_RANK=4 PMIX_NAMESPACE=slurm.pmix.7.0 SLURM_PROCID=4 SLURM_NTASKS=8",
         "pmix 4/- - slurm.pmix.7.0"},
        {"PMI_RANK=0 PMI_SIZE=2 MPI_LOCALRANKID=0", "pmi 0/2 0 -"},
        {"PMI_RANK=0 PMI_SIZE=2 PMI_LOCAL_RANK=1 MPI_LOCALRANKID=0", "pmi 0/2 1 -"},
        {"MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_LOCAL_RANK=1 PBS_JOBID=9.pbs",
         "mvapich2 1/2 1 9.pbs"},
        {"PALS_RANKID=2 PALS_SIZE=4 PALS_LOCAL_RANKID=0 PALS_APID=aa-bb", "pals 2/4 0 aa-bb"},
        {"FLUX_TASK_RANK=2 FLUX_JOB_SIZE=4 FLUX_TASK_LOCAL_ID=0 FLUX_JOB_ID=12", "flux 2/4 0 12"},
        {"JSM_NAMESPACE_RANK=2 JSM_NAMESPACE_SIZE=4 JSM_NAMESPACE_LOCAL_RANK=0 LSB_JOBID=5",
         "jsm 2/4 0 5"},
        {"RANK=7 WORLD_SIZE=8 LOCAL_RANK=3 TORCHELASTIC_RUN_ID=none", "torchrun 7/8 3 -"},
        {"RANK=7 WORLD_SIZE=8 LOCAL_RANK=3 TORCHELASTIC_RUN_ID=train", "torchrun 7/8 3 train"},
        {"SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_LOCALID=1 SLURM_JOB_ID=42 SLURM_STEP_ID=0",
         "slurm 1/4 1 42.0"},
        {"SLURM_PROCID=1 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_ID=3 SLURM_JOB_ID=42",
         "slurm 1/2 - 42.3"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(told(cases[i].environment), cases[i].expected);
}

static void the_first_launcher_counts(void **state)
{
    (void)state;
    assert_string_equal(told("RANK=1 WORLD_SIZE=2 PMI_RANK=5 PMI_SIZE=9"), "pmi 5/9 - -");
    assert_string_equal(told("SLURM_PROCID=1 SLURM_NTASKS=2 RANK=5 WORLD_SIZE=9"),
                        "torchrun 5/9 - -");
    assert_string_equal(told("OMPI_COMM_WORLD_RANK= PMI_RANK=5 PMI_SIZE=9"), "pmi 5/9 - -");
    // A program's own variable.
    assert_string_equal(told("RANK=gold"), "- -/- - -");
    assert_string_equal(told("RANK=1"), "- -/- - -");
}

// It has the variables of rank 0, although srun has not started it.
static void a_batch_script_is_no_rank(void **state)
{
    (void)state;
    assert_string_equal(told("SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_ID=42"), "- -/- - -");
    assert_string_equal(told("SLURM_PROCID=0 SLURM_JOB_ID=42"), "- -/- - -");
    assert_string_equal(told("SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_STEP_ID=4294967291"),
                        "- -/- - -");
    assert_string_equal(told("SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_STEP_ID=0"), "slurm 0/4 - -");
    assert_string_equal(told("SLURM_PROCID=2 SLURM_NTASKS=4"), "slurm 2/4 - -");
    assert_string_equal(told("SLURM_PROCID=0 SLURM_NTASKS=1"), "slurm 0/1 - -");
}

static void what_is_not_valid_is_unknown(void **state)
{
    (void)state;
    static const char *const values[] = {"-1", "+1", "0x1", "1a", "4294967296", "99999999999"};
    char text[64];
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        snprintf(text, sizeof(text), "PMI_RANK=%s PMI_SIZE=9", values[i]);
        assert_string_equal(told(text), "pmi -/- - - malformed PMI_RANK");
        snprintf(text, sizeof(text), "PMI_RANK=1 PMI_SIZE=%s", values[i]);
        assert_string_equal(told(text), "pmi -/- - - malformed PMI_SIZE");
    }
    assert_string_equal(told("PMI_RANK=9 PMI_SIZE=9"), "pmi -/- - - malformed PMI_RANK");
    assert_string_equal(told("PMI_RANK=4294967294 PMI_SIZE=4294967295"),
                        "pmi 4294967294/4294967295 - -");
}

static void lists_of_ranks_are_checked_and_searched(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    ",",   "1,",     "1,,2", "a",          "-1",  "1-",
                                      "3-1", "1 2", "0,3-7 ", "0x1",  "4294967296", "1;2", "1-2-3"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(event_ranks_valid(bad[i]));
    assert_true(event_ranks_valid("0"));
    assert_true(event_ranks_valid("4294967295"));
    assert_true(event_ranks_valid("0,3-7"));
    for (uint32_t rank = 0; rank < 10; rank++)
        assert_int_equal(event_ranks_have("0,3-7", rank), rank == 0 || (rank >= 3 && rank <= 7));
    assert_true(event_ranks_have("7-7,1", 1));
}

static void other_variables_are_not_asked_for(void **state)
{
    (void)state;
    assert_true(event_rank_is_variable("RANK=1"));
    assert_true(event_rank_is_variable("SLURM_STEP_ID=1"));
    assert_false(event_rank_is_variable("RANKS=1"));
    assert_false(event_rank_is_variable("PATH=/"));
    assert_false(event_rank_is_variable(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_launcher_is_understood),
        cmocka_unit_test(the_first_launcher_counts),
        cmocka_unit_test(a_batch_script_is_no_rank),
        cmocka_unit_test(what_is_not_valid_is_unknown),
        cmocka_unit_test(lists_of_ranks_are_checked_and_searched),
        cmocka_unit_test(other_variables_are_not_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
