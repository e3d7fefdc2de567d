// SPDX-License-Identifier: Apache-2.0
// Puts traced records in order: see trace_order.h.
//
// Records arrive level by level: a level has lines with hashes of one range, and its records of one
// warp are in the order in which they were made. A record's `steps`, the basic blocks that its
// first thread had executed, tells how records of different levels follow one another. Within a
// level it would not do: threads of a warp that skip a branch have executed fewer basic blocks than
// the others, and in a loop they fall behind further and further.
#include "trace_order.h"

#include <stdbool.h>
#include <stdlib.h>

#include "cache/cache.h"

enum { MOST_RUNS = 32 };

// Records of one warp and level that are not merged yet.
struct ordered_run {
    const struct event_traced *next, *end;
};

// Returns how many times the share can be halved so that the line is still among those looked at.
static uint32_t level_of(const struct event_traced *record, uint32_t share)
{
    uint32_t level = 0;
    while (level + 1 < MOST_RUNS && share >> (level + 1) &&
           cache_is_sampled(record_traced_line(record), share >> (level + 1)))
        level++;
    return level;
}

// Divides the records of a warp into runs, and lets `steps` never fall within a run. Lines of the
// last level are also in those that would come after it: that splits its run in a few places.
static size_t find_runs(struct event_traced *records, size_t count, uint32_t share,
                        struct ordered_run *runs)
{
    size_t found = 0;
    uint32_t greatest = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t level = level_of(&records[i], share);
        if (found == 0 || level > greatest) {
            greatest = level;
            runs[found++] = (struct ordered_run){.next = &records[i]};
        } else if (records[i].steps < records[i - 1].steps) {
            records[i].steps = records[i - 1].steps;
        }
        runs[found - 1].end = &records[i] + 1;
    }
    return found;
}

static bool is_before(const struct event_traced *one, const struct event_traced *other)
{
    return one->steps != other->steps ? one->steps < other->steps
                                      : record_traced_site(one) < record_traced_site(other);
}

// Of records that were made in the same basic block, those of an instruction stay together.
static void merge_runs(struct ordered_run *runs, size_t count, struct event_traced *merged)
{
    for (;;) {
        struct ordered_run *first = NULL;
        for (size_t i = 0; i < count; i++) {
            if (runs[i].next < runs[i].end && (!first || is_before(runs[i].next, first->next)))
                first = &runs[i];
        }
        if (!first)
            return;
        *merged++ = *first->next++;
    }
}

// Puts the records in the order of warps. `from` is where those of a warp begin. Returns false if a
// warp is not in the grid.
static bool part_warps(const struct event_traced *records, size_t count, uint64_t warps,
                       struct event_traced *apart, uint32_t *from)
{
    for (size_t i = 0; i < count; i++) {
        if (records[i].warp >= warps)
            return false;
        from[records[i].warp + 2]++;
    }
    for (uint64_t i = 2; i < warps + 2; i++)
        from[i] += from[i - 1];
    for (size_t i = 0; i < count; i++)
        apart[from[records[i].warp + 1]++] = records[i];
    return true;
}

struct event_traced *record_order_traced(const struct event_traced *records, size_t count,
                                         uint64_t warps, uint32_t share)
{
    struct event_traced *apart = calloc(count + 1, sizeof(*apart));
    struct event_traced *sorted = calloc(count + 1, sizeof(*sorted));
    uint32_t *from = calloc(warps + 2, sizeof(*from));
    const bool good = apart && sorted && from && part_warps(records, count, warps, apart, from);
    for (uint64_t i = 0; good && i < warps; i++) {
        struct ordered_run runs[MOST_RUNS];
        const size_t found = find_runs(apart + from[i], from[i + 1] - from[i], share, runs);
        merge_runs(runs, found, sorted + from[i]);
    }
    free(apart);
    free(from);
    if (good)
        return sorted;
    free(sorted);
    return NULL;
}
