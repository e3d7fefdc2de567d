// SPDX-License-Identifier: Apache-2.0
// Compares the rows of stores of a profile with the log of a run without probes.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "record/record.h"

struct reader {
    struct comparison *comparison;
    struct replay *replay;
    struct told_pairs pairs;
    struct expect_sites sites;
};

static void see_executed(void *user, const struct gpusim_log_access *records, size_t count)
{
    struct reader *reader = user;
    expect_executed(&reader->sites, reader->replay, records, count);
}

// The profile has the names of functions as the source has them.
static bool is_function(const char *logged, const char *told)
{
    char *name = record_demangle(logged);
    const bool is = strcmp(name ? name : logged, told) == 0;
    free(name);
    return is;
}

static void check_stored(struct reader *reader, const struct gpusim_log_launch *launch,
                         const struct profile_stored *row)
{
    struct comparison *comparison = reader->comparison;
    const struct told_site *site = told_site(&comparison->told, row->kernel, row->site);
    struct expect_site sum = {0};
    comparison->stores_seen[row - comparison->told.stores.items] = true;
    if (!site) {
        complain(comparison, "kernel %u has no site %u", row->kernel, row->site);
        return;
    }
    comparison->stores++;
    for (size_t i = 0; i < reader->sites.all.count; i++) {
        const struct expect_site *at = &reader->sites.all.items[i];
        if (at->launch != launch || at->site->index != site->instruction ||
            !compare_looks_at(at->object) || !is_function(at->site->function, site->function))
            continue;
        sum.stores += at->stores;
        sum.silent += at->silent;
        sum.undecided += at->undecided;
        sum.bytes = at->bytes;
    }
    if (row->stores == sum.stores && row->bytes == sum.bytes && row->silent >= sum.silent &&
        row->silent <= sum.silent + sum.undecided)
        return;
    complain(comparison,
             "call %" PRIu64 ", site %u (%s, instruction %u): %" PRIu64
             " stores of %u bytes, %" PRIu64 " silent; the log has %" PRIu64
             " of %u bytes, %" PRIu64 " silent, %" PRIu64 " undecided",
             row->call, row->site, site->function, site->instruction, row->stores, row->bytes,
             row->silent, sum.stores, sum.bytes, sum.silent, sum.undecided);
}

// Counts instructions of the launch that stored to memory of the GPU and have no row.
static void count_missing(struct reader *reader, const struct gpusim_log_launch *launch,
                          const struct profile_call *call)
{
    const struct told *told = &reader->comparison->told;
    for (size_t i = 0; i < reader->sites.all.count; i++) {
        const struct expect_site *at = &reader->sites.all.items[i];
        bool found = at->launch != launch || !compare_looks_at(at->object);
        for (size_t k = 0; k < told->stores.count && !found; k++) {
            const struct profile_stored *row = &told->stores.items[k];
            const struct told_site *site =
                row->call == call->number ? told_site(told, row->kernel, row->site) : NULL;
            found = site && site->instruction == at->site->index &&
                    is_function(at->site->function, site->function);
        }
        reader->comparison->missing_stores += !found;
    }
}

static void see_ended(void *user, const struct replay_event *event)
{
    struct reader *reader = user;
    struct told *told = &reader->comparison->told;
    if (event->kind != REPLAY_LAUNCH)
        return;
    const struct told_call *call =
        told_call_of(told, &reader->pairs.launches, event->launch->number);
    for (size_t i = 0; call && i < told->stores.count; i++) {
        const struct profile_stored *row = &told->stores.items[i];
        if (row->call == call->call.number && !row->node && row->site)
            check_stored(reader, event->launch, row);
    }
    if (call)
        count_missing(reader, event->launch, &call->call);
    expect_sites_end(&reader->sites, event->launch);
}

bool compare_stores(struct comparison *comparison, const char *log)
{
    struct reader reader = {.comparison = comparison};
    struct replay_totals totals;
    struct base_error error = {0};
    const struct replay_calls calls = {
        .user = &reader, .executed = see_executed, .ended = see_ended};
    bool good = told_pair(&comparison->told, log, false, &reader.pairs);
    if (good && replay_run(log, &calls, &reader.replay, &totals, &error) != BASE_OK) {
        char text[512];
        base_error_text(&error, text, sizeof(text));
        printf("%s\n", text);
        good = false;
    }
    comparison->complaints += reader.pairs.strangers;
    expect_sites_fini(&reader.sites);
    told_pairs_fini(&reader.pairs);
    return good;
}
