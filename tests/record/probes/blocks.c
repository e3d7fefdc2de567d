// SPDX-License-Identifier: Apache-2.0
// Memory that kernels allocated: which blocks there were, and which launches began and ended them.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "against_log.h"

static int by_place(const void *a, const void *b)
{
    const struct block *one = a, *other = b;
    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    return one->nth < other->nth ? -1 : one->nth > other->nth;
}

// By address, and in the order of time.
static void number(struct story *story)
{
    struct base_map last = {0};
    for (size_t i = 0; i < story->blocks.count; i++) {
        struct block *block = &story->blocks.items[i];
        uint64_t *count = must(base_map_put(&last, block->address, NULL));
        block->nth = (uint32_t)(*count)++;
    }
    base_map_fini(&last);
    if (story->blocks.count)
        qsort(story->blocks.items, story->blocks.count, sizeof(struct block), by_place);
}

// Whether the log's launch is one of the call's in the profile: a graph's call has several.
static bool same_launch(const struct story *profile, uint64_t call, const struct story *log,
                        uint64_t id, bool any_order)
{
    const struct launch *launch = NULL;
    for (size_t i = 0; i < log->launches.count && !launch; i++)
        launch = log->launches.items[i].id == id ? &log->launches.items[i] : NULL;
    for (size_t i = 0; launch && i < profile->launches.count; i++) {
        const struct launch *said = &profile->launches.items[i];
        if (said->id == call && strcmp(said->kernel, launch->kernel) == 0 &&
            (any_order || said->nth == launch->nth))
            return true;
    }
    return !id; // not known
}

unsigned compare_blocks(struct story *profile, struct story *log, bool any_order)
{
    unsigned different = 0;
    number(profile);
    number(log);
    if (profile->blocks.count != log->blocks.count) {
        printf("%zu blocks of the kernels' own in the profile, %zu in the log\n",
               profile->blocks.count, log->blocks.count);
        return 1;
    }
    for (size_t i = 0; i < log->blocks.count; i++) {
        const struct block *said = &profile->blocks.items[i], *done = &log->blocks.items[i];
        if (said->address == done->address && said->bytes == done->bytes &&
            said->has_end == done->has_end &&
            same_launch(profile, said->began, log, done->began, any_order) &&
            (!done->has_end || same_launch(profile, said->ended, log, done->ended, any_order)))
            continue;
        if (different++ < 10)
            printf("0x%" PRIx64 " of %" PRIu64 " bytes, begun by call %" PRIu64
                   ", ended by %" PRIu64 "; in the log 0x%" PRIx64 " of %" PRIu64
                   " bytes, by launches %" PRIu64 " and %" PRIu64 "\n",
                   said->address, said->bytes, said->began, said->ended, done->address, done->bytes,
                   done->began, done->ended);
    }
    return different;
}
