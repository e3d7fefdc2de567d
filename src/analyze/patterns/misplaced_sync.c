// SPDX-License-Identifier: Apache-2.0
// misplaced-sync: a synchronization, or a call that synchronizes implicitly, long before the CPU
// uses what it protects. The fix moves the wait to just before that use.
#include "analyze/remedies.h"

static bool fits(const struct analyze_wait_path *path)
{
    return !path->safe;
}

static void find(struct analyze_remedies *remedies)
{
    analyze_find_syncs(remedies, ANALYZE_MISPLACED_SYNC, fits);
}

static const struct analyze_field fields[] = {
    ANALYZE_WAIT_FIELDS, ANALYZE_USE_FIELDS, ANALYZE_SYNC_FIELDS, {0}};

const struct analyze_description analyze_misplaced_sync = {
    .name = "misplaced-sync",
    .title = "Synchronization too early",
    .definition = "A synchronization waits for the GPU long before the CPU uses what it protects.",
    .remedy = "Move the synchronization to just before that use.",
    .paper = "Welton and Miller, ICS 2020",
    .needs = ANALYZE_INPUT_SYNC,
    .correction = "the synchronization is delayed until its data is used",
    .roles = {[ANALYZE_CALL] = {"waits", "the synchronization"}},
    .thresholds = {&analyze_late_use_us, &analyze_late_use_percent, &analyze_late_use_calls,
                   &analyze_wait_us, &analyze_wait_percent},
    .fields = fields,
    .message = "{if brief}{call:name} waits too early: the data is used later{if use_call_path}, "
               "at {use_call_path}{end}{else}"
               "{call:at} waits too early: the CPU uses the data at least " ANALYZE_TEXT_LATER
                   ANALYZE_TEXT_WAITED "{end}",
    .suggestion = "{if not is_sync}" ANALYZE_TEXT_NO_WAIT
                  ", and wait just before the first use" ANALYZE_TEXT_USE
                  "{elif brief}move it to just before the first use" ANALYZE_TEXT_USE "{else}"
                  "move {call:at} to just before the first use" ANALYZE_TEXT_USE
                  "; if the GPU gets more work in between, record an event here and wait for it "
                  "there" ANALYZE_TEXT_ALONE "{end}",
    .find_remedies = find,
};
