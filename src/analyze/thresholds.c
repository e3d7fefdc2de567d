// SPDX-License-Identifier: Apache-2.0
// The thresholds of all patterns in one list. A threshold's place in the list is where its value is
// in struct analyze_thresholds. Patterns that share a mechanism share its thresholds, so each
// appears once, at the first pattern that names it.
#include "thresholds.h"

#include <assert.h>
#include <string.h>

const struct analyze_threshold analyze_peaks_looked_at = {
    "peaks", "peaks", 2, "findings on objects of this many of the highest peaks come first"};

// Fills the list; returns how many there are.
static size_t list_all(const struct analyze_threshold *list[ANALYZE_MOST_THRESHOLDS])
{
    size_t count = 0;
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++) {
        const struct analyze_threshold *const *own =
            analyze_describe((enum analyze_pattern)i)->thresholds;
        for (; *own; own++) {
            size_t at = 0;
            while (at < count && list[at] != *own)
                at++;
            if (at < count)
                continue;
            assert(count + 1 < ANALYZE_MOST_THRESHOLDS);
            list[count++] = *own;
        }
    }
    list[count++] = &analyze_peaks_looked_at;
    return count;
}

struct analyze_thresholds analyze_default_thresholds(void)
{
    const struct analyze_threshold *list[ANALYZE_MOST_THRESHOLDS];
    struct analyze_thresholds thresholds = {{0}};
    const size_t count = list_all(list);
    for (size_t i = 0; i < count; i++)
        thresholds.values[i] = list[i]->value;
    return thresholds;
}

const struct analyze_threshold *analyze_threshold_at(size_t index)
{
    const struct analyze_threshold *list[ANALYZE_MOST_THRESHOLDS];
    return index < list_all(list) ? list[index] : NULL;
}

uint32_t *analyze_threshold(struct analyze_thresholds *thresholds, const char *name)
{
    const struct analyze_threshold *list[ANALYZE_MOST_THRESHOLDS];
    const size_t count = list_all(list);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i]->name, name) == 0)
            return &thresholds->values[i];
    }
    return NULL;
}

static size_t index_of(const struct analyze_threshold *threshold)
{
    const struct analyze_threshold *list[ANALYZE_MOST_THRESHOLDS];
    const size_t count = list_all(list);
    size_t at = 0;
    while (at < count && list[at] != threshold)
        at++;
    assert(at < count); // some pattern's description names it
    return at;
}

uint32_t *analyze_limit_at(struct analyze_thresholds *thresholds,
                           const struct analyze_threshold *threshold)
{
    return &thresholds->values[index_of(threshold)];
}

uint32_t analyze_limit(const struct analyze_thresholds *thresholds,
                       const struct analyze_threshold *threshold)
{
    return thresholds->values[index_of(threshold)];
}
