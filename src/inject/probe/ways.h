// SPDX-License-Identifier: Apache-2.0
// How words of shared memory are counted, as an environment variable says it.
#ifndef GLINT_INJECT_PROBE_WAYS_H
#define GLINT_INJECT_PROBE_WAYS_H

#include <stdbool.h>
#include <stdint.h>

// Sets *ways to the set of enum instrument_word_ways that the text names: "basic", or a list of
// "sa", "na", "sm", "th", which needs "sm", and "ranges". NULL or empty: the best of those that are
// exact, and live ranges. Returns false if the text is none of these.
bool probe_ways_parse(const char *text, uint32_t *ways);

#endif
