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

// Returns whether a row of the call is about stores of the site to such an object. Nodes of a graph
// may store to the graph's memory, too, which is not looked at. Only its size tells it apart: in
// this run, objects have other addresses.
static bool is_named(const struct told *told, const struct profile_stored *like,
                     const struct gpusim_object *object)
{
    bool found = false;
    for (size_t i = 0; i < told->stores.count && !found; i++) {
        const struct profile_stored *row = &told->stores.items[i];
        const struct profile_object *about =
            row->call == like->call && row->kernel == like->kernel && row->site == like->site
                ? told_object(told, row->object)
                : NULL;
        found = about && about->bytes == object->size_bytes;
    }
    return found;
}

// Compares the rows of the call about the site, of which this one is the first. A graph may have
// several nodes with the kernel.
static void check_stored(struct reader *reader, const struct compared_launches *launches,
                         const struct profile_stored *row)
{
    struct comparison *comparison = reader->comparison;
    const struct told *told = &comparison->told;
    const struct told_site *site = told_site(told, row->kernel, row->site);
    struct expect_site sum = {0};
    uint64_t stores = 0, silent = 0, still = 0;
    bool stilled = true;
    for (size_t i = (size_t)(row - told->stores.items); i < told->stores.count; i++) {
        const struct profile_stored *other = &told->stores.items[i];
        if (other->call != row->call || other->kernel != row->kernel || other->site != row->site ||
            (launches->launch && other != row))
            continue;
        comparison->stores_seen[i] = true;
        comparison->stores++;
        stores += other->stores;
        silent += other->silent;
        still += other->still;
        stilled &= other->still != PROFILE_UNKNOWN;
    }
    if (!site) {
        complain(comparison, "kernel %u has no site %u", row->kernel, row->site);
        return;
    }
    for (size_t i = 0; i < reader->sites.all.count; i++) {
        const struct expect_site *at = &reader->sites.all.items[i];
        if (!compare_covers(launches, told, row->kernel, at->launch) ||
            at->site->index != site->instruction || !compare_looks_at(at->object) ||
            !is_function(at->site->function, site->function) ||
            (!launches->launch && !is_named(told, row, at->object)))
            continue;
        sum.stores += at->stores;
        sum.silent += at->silent;
        sum.still += at->still;
        sum.atomic |= at->atomic;
        sum.undecided += at->undecided;
        sum.bytes = at->bytes;
    }
    if (stores == sum.stores && row->bytes == sum.bytes && silent >= sum.silent &&
        silent <= sum.silent + sum.undecided && stilled == sum.atomic &&
        (!stilled || still == sum.still))
        return;
    complain(comparison,
             "call %" PRIu64 ", site %u (%s, instruction %u): %" PRIu64
             " stores of %u bytes, %" PRIu64 " silent, %" PRIu64 " still; the log has %" PRIu64
             " of %u bytes, %" PRIu64 " silent, %" PRIu64 " still, %" PRIu64 " undecided",
             row->call, row->site, site->function, site->instruction, stores, row->bytes, silent,
             stilled ? still : 0, sum.stores, sum.bytes, sum.silent, sum.still, sum.undecided);
}

// Counts instructions of the launches that stored to memory of the GPU and have no row.
static void count_missing(struct reader *reader, const struct compared_launches *launches,
                          const struct profile_call *call)
{
    const struct told *told = &reader->comparison->told;
    for (size_t i = 0; i < reader->sites.all.count; i++) {
        const struct expect_site *at = &reader->sites.all.items[i];
        const bool covered =
            launches->launch ? at->launch == launches->launch : at->launch->call == launches->call;
        bool found = !covered || !compare_looks_at(at->object);
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
    struct comparison *comparison = reader->comparison;
    struct told *told = &comparison->told;
    const struct compared_launches launches = {event->launch, event->call};
    if (event->is_member || (event->kind != REPLAY_LAUNCH && event->kind != REPLAY_GROUP))
        return;
    const struct told_call *call =
        event->launch ? told_call_of(told, &reader->pairs.launches, event->launch->number)
                      : told_call_of(told, &reader->pairs.graphs, event->call);
    for (size_t i = 0; call && i < told->stores.count; i++) {
        const struct profile_stored *row = &told->stores.items[i];
        if (row->call == call->call.number && row->site && !comparison->stores_seen[i])
            check_stored(reader, &launches, row);
    }
    if (call)
        count_missing(reader, &launches, &call->call);
    if (event->launch)
        expect_sites_end(&reader->sites, event->launch);
    else
        expect_sites_end_call(&reader->sites, event->call);
}

bool compare_stores(struct comparison *comparison, const char *log)
{
    struct reader reader = {.comparison = comparison};
    struct replay_totals totals;
    struct base_error error = {0};
    const struct replay_calls calls = {.user = &reader,
                                       .groups = &reader.pairs.graph_events,
                                       .executed = see_executed,
                                       .ended = see_ended};
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
