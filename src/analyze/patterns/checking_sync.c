// SPDX-License-Identifier: Apache-2.0
// checking-sync: a synchronization whose data is not needed, but by whose result the program learns
// whether kernels failed. The fix checks at a later synchronization.
#include "analyze/remedies.h"

static bool fits(const struct analyze_wait_path *path)
{
    return path->safe && path->checking;
}

static void find(struct analyze_remedies *remedies)
{
    analyze_find_syncs(remedies, ANALYZE_CHECKING_SYNC, fits);
}

static const struct analyze_field fields[] = {
    ANALYZE_WAIT_FIELDS,
    {"may_show_output",
     "whether kernels before it print, or check assertions, is unknown, as without probes",
     ANALYZE_OWN(FLAG, struct analyze_wait_facts, may_print)},
    {0}};

const struct analyze_description analyze_checking_sync = {
    .name = "checking-sync",
    .title = "Synchronization only to check for errors",
    .definition =
        "The program looks at the result of a synchronization, by which it learns whether "
        "a kernel failed, but the CPU uses nothing else that it protects before the next "
        "synchronization.",
    .remedy = "Check for errors at the next synchronization, or synchronize here only in debug "
              "builds.",
    .paper = "Welton and Miller, ICS 2020",
    .needs = ANALYZE_INPUT_SYNC,
    .correction = "the synchronization is removed, and a later call returns the error of a kernel",
    .roles = {[ANALYZE_CALL] = {"waits", "the synchronization"}},
    .thresholds = {&analyze_wait_us, &analyze_wait_percent},
    .fields = fields,
    .message = "{if brief}{call:name} waits only to check for errors{if repeated}, {times} "
               "times{end}{else}"
               "{call:at} waits only to check for errors: the CPU uses no result before the next "
               "synchronization" ANALYZE_TEXT_WAITED "{end}",
    .suggestion =
        "{if brief}check at the next synchronization, or wait here only when debugging"
        "{else}check for errors at the next synchronization, and keep {call:at} only in "
        "debug builds{if may_show_output}, or if kernels print{end}" ANALYZE_TEXT_ALONE "{end}",
    .find_remedies = find,
};
