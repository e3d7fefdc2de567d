// SPDX-License-Identifier: Apache-2.0
// What the model of the caches found in the sample profile: a launch of which a sixteenth of all
// lines was looked at, and a node of a graph of which all lines were, with an unknown object.
#ifndef GLINT_TESTS_PROFILE_SAMPLE_CACHES_H
#define GLINT_TESTS_PROFILE_SAMPLE_CACHES_H

#include "profile/profile.h"

static const struct profile_cache_launch sample_cache_launches[] = {
    {.call = 5,
     .kernel = 1,
     .preset = "h200",
     .share = 4096,
     .resident = 8,
     .shared_bytes = 32768,
     .l1_bytes = 229376,
     .l2_bytes = 62914560,
     .records = 1100,
     .lost = 3},
    {.call = 9,
     .node = 2,
     .kernel = 1,
     .preset = "rtx3090",
     .share = 65536,
     .l1_bytes = 131072,
     .l2_bytes = 6291456,
     .records = 40},
};

static const struct profile_cache sample_cache[] = {
    {.call = 5,
     .object = 1,
     .kernel = 1,
     .site = 1,
     .l1 = {{4000, 1000}},
     .l2 = {{3000, 1500}},
     .read = 1600,
     .l1_error = 125,
     .l2_error = 250},
    {.call = 5,
     .object = 2,
     .kernel = 1,
     .site = 2,
     .l1 = {[PROFILE_SITE_STORE] = {400, 100}, [PROFILE_SITE_ATOMIC] = {100, 0}},
     .l2 = {[PROFILE_SITE_STORE] = {400, 400}, [PROFILE_SITE_ATOMIC] = {100, 50}},
     .read = 50,
     .written = 450,
     .l1_error = 80,
     .l2_error = -1},
    {.call = 9,
     .node = 2,
     .kernel = 1,
     .site = 1,
     .l1 = {{7, 0}},
     .l2 = {{7, 2}},
     .read = 5,
     .l1_error = -1,
     .l2_error = -1},
};

static const struct profile_cache_reuse sample_cache_reuse[] = {
    {.call = 5,
     .object = 1,
     .kernel = 1,
     .level = 1,
     .first = 800,
     .sectors = {[0] = 900, [10] = 100, [12] = 2200}},
    {.call = 5,
     .object = 1,
     .kernel = 1,
     .level = 2,
     .first = 800,
     .sectors = {[12] = 700, [20] = 1500}},
    {.call = 9,
     .node = 2,
     .kernel = 1,
     .level = 2,
     .first = 5,
     .sectors = {[12] = 700, [20] = 1500}},
};

#endif
