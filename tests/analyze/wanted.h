// SPDX-License-Identifier: Apache-2.0
// The findings that a test expects of a model. A test lists all of them; any other is a failure.
#ifndef GLINT_TESTS_ANALYZE_WANTED_H
#define GLINT_TESTS_ANALYZE_WANTED_H

#include "models.h"

struct wanted {
    enum analyze_pattern pattern;
    uint32_t object;      // its index
    uint32_t call, other; // indices; NONE: none
    uint64_t distance;    // 0: none
    uint64_t peak_bytes;  // saved at the peak
    uint64_t times;       // 0: once
    uint64_t traffic_bytes;
};

static inline uint32_t index_of(uint64_t number)
{
    return number ? (uint32_t)number - 1 : ANALYZE_NONE;
}

static inline bool is_wanted(const struct analyze_finding *finding, const struct wanted *wanted)
{
    return finding->pattern == wanted->pattern && index_of(finding->object) == wanted->object &&
           index_of(finding->call) == wanted->call &&
           index_of(finding->other_call) == wanted->other;
}

static inline void print_findings(const struct analysis *analysis)
{
    for (size_t i = 0; i < analysis->finding_count; i++) {
        const struct analyze_finding *f = analyze_finding(analysis, i);
        print_message("%s object %d call %d other %d distance %d worth %d traffic %d times %d\n",
                      analyze_pattern_word(f->pattern), (int)index_of(f->object),
                      (int)index_of(f->call), (int)index_of(f->other_call), (int)f->distance,
                      (int)f->peak_bytes, (int)f->traffic_bytes, (int)f->times);
    }
}

static inline void check_in(struct analysis *analysis, const struct wanted *wanted, size_t count)
{
    for (size_t w = 0; w < count; w++) {
        const struct analyze_finding *found = NULL;
        for (size_t i = 0; i < analysis->finding_count && !found; i++) {
            if (is_wanted(analyze_finding(analysis, i), &wanted[w]))
                found = analyze_finding(analysis, i);
        }
        if (!found) {
            print_findings(analysis);
            fail_msg("no %s of object %u", analyze_pattern_word(wanted[w].pattern),
                     wanted[w].object);
            return;
        }
        assert_int_equal(found->distance, wanted[w].distance);
        assert_int_equal(found->has_distance, wanted[w].distance != 0);
        assert_int_equal(found->peak_bytes, wanted[w].peak_bytes);
        assert_int_equal(found->traffic_bytes, wanted[w].traffic_bytes);
        assert_int_equal(found->times, wanted[w].times ? wanted[w].times : 1);
    }
    if (analysis->finding_count != count) {
        print_findings(analysis);
        fail_msg("%zu findings, not %zu", analysis->finding_count, count);
    }
}

// Takes ownership of the model.
static inline void check(struct analyze_model *model, const struct wanted *wanted, size_t count)
{
    struct analysis *analysis = analyze(model, analyze_default_thresholds());
    check_in(analysis, wanted, count);
    analyze_free(analysis);
}
#define CHECK(model, ...)                              \
    check(model, (const struct wanted[]){__VA_ARGS__}, \
          sizeof((const struct wanted[]){__VA_ARGS__}) / sizeof(struct wanted))
#define CHECK_NOTHING(model) check(model, NULL, 0)

#define NO_CALL ANALYZE_NONE

#endif
