// SPDX-License-Identifier: Apache-2.0
// Sums up the counters of live ranges of a launch: by site and array, and by array.
#include "instrument.h"

static uint32_t words_of(const struct instrument_kernel *kernel, uint32_t array,
                         uint32_t dynamic_bytes)
{
    const uint64_t bytes = instrument_array_bytes(&kernel->arrays[array], dynamic_bytes);
    return (uint32_t)((bytes + INSTRUMENT_WORD_BYTES - 1) / INSTRUMENT_WORD_BYTES);
}

static bool may_store(const struct instrument_kernel *kernel, uint32_t site, uint32_t array)
{
    const uint32_t of = kernel->range_sites[site].array;
    return of == INSTRUMENT_NONE || of == array;
}

static uint64_t loads_of(const struct instrument_range *range)
{
    uint64_t loads = 0;
    for (int kind = 0; kind < INSTRUMENT_LOAD_KINDS; kind++)
        loads += range->loads[kind];
    return loads;
}

static void add(struct instrument_range_sum *sum, const struct instrument_range *range)
{
    for (uint32_t kind = 0; kind < INSTRUMENT_LOAD_KINDS; kind++) {
        sum->again += kind & INSTRUMENT_LOAD_AGAIN ? range->loads[kind] : 0;
        sum->own += kind & INSTRUMENT_LOAD_OWN ? range->loads[kind] : 0;
    }
    sum->words += range->ranges != 0;
    sum->ranges += range->ranges;
    sum->loads += loads_of(range);
    sum->drained += range->drained;
}

struct instrument_range_sum instrument_sum_site(const struct instrument_kernel *kernel,
                                                uint32_t site, uint32_t array,
                                                uint32_t dynamic_bytes,
                                                const struct instrument_range *ranges)
{
    struct instrument_range_sum sum = {0};
    const uint32_t words = words_of(kernel, array, dynamic_bytes);
    const struct instrument_range *row =
        ranges + instrument_range_row(kernel, site, dynamic_bytes) + kernel->arrays[array].first;
    for (uint32_t i = 0; i < words && may_store(kernel, site, array); i++)
        add(&sum, &row[i]);
    return sum;
}

// Compares loads / fills of two words.
static bool is_less(uint64_t loads, uint64_t fills, uint64_t other_loads, uint64_t other_fills)
{
    return (unsigned __int128)loads * other_fills < (unsigned __int128)other_loads * fills;
}

// Adds what fills did to one word.
static void add_word(struct instrument_lives *reuse, bool first, uint64_t fills, uint64_t loads)
{
    reuse->fills += fills;
    reuse->fill_loads += loads;
    if (first || fills < reuse->fills_min)
        reuse->fills_min = fills;
    if (fills > reuse->fills_max)
        reuse->fills_max = fills;
    if (!fills)
        return;
    if (!reuse->filled_words || is_less(loads, fills, reuse->least_loads, reuse->least_fills)) {
        reuse->least_loads = loads;
        reuse->least_fills = fills;
    }
    if (!reuse->filled_words || is_less(reuse->most_loads, reuse->most_fills, loads, fills)) {
        reuse->most_loads = loads;
        reuse->most_fills = fills;
    }
    reuse->filled_words++;
}

struct instrument_lives instrument_sum_array(const struct instrument_kernel *kernel, uint32_t array,
                                             uint32_t dynamic_bytes,
                                             const struct instrument_range *ranges)
{
    struct instrument_lives reuse = {0};
    const uint32_t first = kernel->arrays[array].first,
                   words = words_of(kernel, array, dynamic_bytes);
    for (uint32_t i = 0; i < words; i++) {
        uint64_t fills = 0, loads = 0;
        reuse.unstored += loads_of(&ranges[first + i]);
        for (uint32_t site = 0; site < kernel->range_site_count; site++) {
            if (!may_store(kernel, site, array))
                continue;
            const struct instrument_range *range =
                &ranges[instrument_range_row(kernel, site, dynamic_bytes) + first + i];
            add(&reuse.sum, range);
            fills += kernel->range_sites[site].fills ? range->ranges : 0;
            loads += kernel->range_sites[site].fills ? loads_of(range) : 0;
        }
        add_word(&reuse, i == 0, fills, loads);
    }
    return reuse;
}
