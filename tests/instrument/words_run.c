// SPDX-License-Identifier: Apache-2.0
// Runs kernels with shared memory in all ways of counting its words: see words_run.h.
#include "words_run.h"

#include <stdlib.h>
#include <string.h>

struct instrument_module *words_module(const char *ptx, uint32_t ways)
{
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED,
                                               .word_ways = ways};
    struct instrument_module *module;
    struct base_error error = {0};
    if (instrument_ptx(ptx, strlen(ptx), &request, &module, &error) == BASE_OK &&
        module->kernels[0].clone)
        return module;
    fputs("the kernel has no clone\n", stderr);
    abort();
}

bool words_hold(const struct words_run *run, FILE *complaints)
{
    static const struct {
        uint32_t facts, ways, spare;
    } ways[] = {
        {INSTRUMENT_OBJECTS, 0, 0},
        {INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS | INSTRUMENT_REQUESTS, INSTRUMENT_WORDS_BEST, 8},
        {INSTRUMENT_OBJECTS | INSTRUMENT_VALUES, INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_SMALL, 4},
        {INSTRUMENT_OBJECTS, INSTRUMENT_WORDS_SPARE, 8},
        {INSTRUMENT_OBJECTS, INSTRUMENT_WORDS_KNOWN, 0},
        {INSTRUMENT_OBJECTS, INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_RACY, 8},
    };
    enum { LEVELS = sizeof(ways) / sizeof(ways[0]) };
    struct oracle_level levels[LEVELS];
    struct oracle_case test = oracle_case_of(run->ptx, 2, 1, run->n, run->data, NULL, run->bytes);
    memcpy(test.block, run->block, sizeof(test.block));
    test.shared_bytes = run->dynamic;
    test.ordered = run->ranges;
    snprintf(test.name, sizeof(test.name), "%s, blocks of %u", run->name, run->block[0]);
    for (unsigned i = 0; i < LEVELS; i++)
        levels[i] = (struct oracle_level){
            .facts = ways[i].facts | INSTRUMENT_SHARED,
            .shift = 2,
            .workers = 1,
            .all_words = true,
            .all_ranges = run->ranges,
            .word_ways = ways[i].ways | (run->ranges ? INSTRUMENT_WORDS_RANGES : 0),
            .spare_word = ways[i].spare,
            .parts = i % 3,
            .spoil = run->spoil,
        };
    return oracle_holds(&test, levels, run->spoil == ORACLE_SOUND ? LEVELS : 1, complaints);
}
