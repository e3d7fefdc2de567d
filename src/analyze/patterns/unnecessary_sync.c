// SPDX-License-Identifier: Apache-2.0
// unnecessary-sync: a synchronization, or a call that synchronizes implicitly, none of whose waits
// was needed, nor checks for errors. The fix removes the synchronization, or avoids the call's
// wait.
#include "analyze/remedies.h"

static bool fits(const struct analyze_wait_path *path)
{
    return path->safe && !path->checking;
}

static void find(struct analyze_remedies *remedies)
{
    analyze_find_syncs(remedies, ANALYZE_UNNECESSARY_SYNC, fits);
}

static const struct analyze_field fields[] = {
    ANALYZE_WAIT_FIELDS,
    ANALYZE_SYNC_FIELDS,
    {"may_check_errors",
     "whether the program looks at the result of the "
     "synchronization is unknown",
     ANALYZE_OWN(FLAG, struct analyze_wait_facts, may_check)},
    {"may_show_output",
     "whether kernels before it print, or check assertions, is unknown, as without probes",
     ANALYZE_OWN(FLAG, struct analyze_wait_facts, may_print)},
    {0}};

const struct analyze_description analyze_unnecessary_sync = {
    .name = "unnecessary-sync",
    .title = "Unnecessary synchronization",
    .definition =
        "A synchronization, or a call that synchronizes implicitly, waits for the GPU, "
        "but the CPU uses nothing that it protects before the next synchronization, and the "
        "program does not learn of errors by it.",
    .remedy = "Remove the synchronization, or use an asynchronous call.",
    .paper = "Welton and Miller, ICS 2020",
    .needs = ANALYZE_INPUT_SYNC,
    .correction = "the synchronization is removed; calls that wait implicitly stay",
    .roles = {[ANALYZE_CALL] = {"waits", "the synchronization"}},
    .thresholds = {&analyze_wait_us, &analyze_wait_percent},
    .fields = fields,
    .message = "{if brief}{if not is_sync}the wait of {end}{call:name} is not needed{if repeated}, "
               "{times} times{end}: the CPU uses no result of it{else}"
               "{if not is_sync}the wait of {end}{call:at} is not needed: the CPU uses no result "
               "before the next synchronization" ANALYZE_TEXT_WAITED "{end}",
    .suggestion =
        "{if is_sync}remove {call:at}{if may_check_errors}, unless it checks for "
        "errors{if may_show_output} or kernels print{end}{elif may_show_output}, unless kernels "
        "print{end}{else}" ANALYZE_TEXT_NO_WAIT "{end}{if not brief}" ANALYZE_TEXT_ALONE "{end}",
    .find_remedies = find,
};
