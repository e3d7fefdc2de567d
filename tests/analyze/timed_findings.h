// SPDX-License-Identifier: Apache-2.0
// What the analysis finds on synchronization in a timed model.
#ifndef GLINT_TESTS_ANALYZE_TIMED_FINDINGS_H
#define GLINT_TESTS_ANALYZE_TIMED_FINDINGS_H

#include "timed.h"

// The number of findings on synchronization, and the first of them by rank.
static inline size_t count_found(const struct analysis *analysis,
                                 const struct analyze_finding **first)
{
    size_t count = 0;
    for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        if (analyze_describe(finding->pattern)->needs != ANALYZE_INPUT_SYNC)
            continue;
        if (first && count == 0)
            *first = finding;
        count++;
    }
    return count;
}

static inline void expect_none(struct timed *run)
{
    struct analysis *analysis = timed_analyze(run, analyze_default_thresholds());
    const struct analyze_finding *first = NULL;
    if (count_found(analysis, &first))
        fail_msg("%s is found", analyze_pattern_word(first->pattern));
    analyze_free(analysis);
}

// Expects exactly one finding. The caller frees the analysis.
static inline struct analysis *expect_one(struct timed *run, enum analyze_pattern pattern,
                                          uint64_t times, const struct analyze_finding **finding)
{
    struct analysis *analysis = timed_analyze(run, analyze_default_thresholds());
    assert_int_equal(count_found(analysis, finding), 1);
    assert_string_equal(analyze_pattern_word((*finding)->pattern), analyze_pattern_word(pattern));
    assert_int_equal((*finding)->times, times);
    return analysis;
}

static inline void expect_only(struct timed *run, enum analyze_pattern pattern, uint64_t times)
{
    const struct analyze_finding *finding;
    analyze_free(expect_one(run, pattern, times, &finding));
}

#endif
