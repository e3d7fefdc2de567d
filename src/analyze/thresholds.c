// SPDX-License-Identifier: Apache-2.0
// The thresholds by name, with the paper's defaults where it has one.
#include <string.h>

#include "analyze.h"

static const struct {
    const char *name;
    size_t field;
    uint32_t usual;
} table[] = {
    {"early-apis", offsetof(struct analyze_thresholds, early_apis), 1},
    {"late-apis", offsetof(struct analyze_thresholds, late_apis), 1},
    {"idle-apis", offsetof(struct analyze_thresholds, idle_apis), 2},
    {"reuse-percent", offsetof(struct analyze_thresholds, reuse_percent), 10},
    {"touched-percent", offsetof(struct analyze_thresholds, touched_percent), 80},
    {"fragmentation-percent", offsetof(struct analyze_thresholds, fragmentation_percent), 80},
    {"variation-percent", offsetof(struct analyze_thresholds, variation_percent), 20},
    {"retouched-percent", offsetof(struct analyze_thresholds, retouched_percent), 10},
    {"slices", offsetof(struct analyze_thresholds, slices), 2},
    {"peaks", offsetof(struct analyze_thresholds, peaks), 2},
    {"late-use-us", offsetof(struct analyze_thresholds, late_use_us), 100},
    {"late-use-percent", offsetof(struct analyze_thresholds, late_use_percent), 50},
    {"late-use-calls", offsetof(struct analyze_thresholds, late_use_calls), 0},
    {"wait-us", offsetof(struct analyze_thresholds, wait_us), 100},
    {"wait-percent", offsetof(struct analyze_thresholds, wait_percent), 1},
    {"churns", offsetof(struct analyze_thresholds, churns), 4},
};
enum { COUNT = sizeof(table) / sizeof(table[0]) };

static uint32_t *field_of(struct analyze_thresholds *thresholds, size_t index)
{
    return (uint32_t *)(void *)((char *)thresholds + table[index].field);
}

struct analyze_thresholds analyze_default_thresholds(void)
{
    struct analyze_thresholds thresholds;
    for (size_t i = 0; i < COUNT; i++)
        *field_of(&thresholds, i) = table[i].usual;
    return thresholds;
}

const char *analyze_threshold_name(size_t index)
{
    return index < COUNT ? table[index].name : NULL;
}

uint32_t *analyze_threshold(struct analyze_thresholds *thresholds, const char *name)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(table[i].name, name) == 0)
            return field_of(thresholds, i);
    }
    return NULL;
}
