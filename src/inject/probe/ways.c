// SPDX-License-Identifier: Apache-2.0
// How words of shared memory are counted: see ways.h. The names are those of GMProf, whose
// optimizations these are; they serve to compare what each of them saves.
#include "ways.h"

#include <string.h>

#include "instrument/instrument.h"

static const struct {
    const char *name;
    uint32_t way;
} names[] = {{"sa", INSTRUMENT_WORDS_KNOWN},
             {"na", INSTRUMENT_WORDS_RACY},
             {"sm", INSTRUMENT_WORDS_SPARE},
             {"th", INSTRUMENT_WORDS_SMALL},
             {"ranges", INSTRUMENT_WORDS_RANGES}}; // its algorithm 2

static uint32_t way_of(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i].name) == length && strncmp(names[i].name, text, length) == 0)
            return names[i].way;
    }
    return 0;
}

bool probe_ways_parse(const char *text, uint32_t *ways)
{
    *ways = INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_RANGES;
    if (!text || !*text)
        return true;
    *ways = 0;
    if (strcmp(text, "basic") == 0)
        return true;
    for (;;) {
        const size_t length = strcspn(text, ",");
        const uint32_t way = way_of(text, length);
        if (!way)
            return false;
        *ways |= way;
        if (!text[length])
            break;
        text += length + 1;
    }
    return !(*ways & INSTRUMENT_WORDS_SMALL) || *ways & INSTRUMENT_WORDS_SPARE;
}
