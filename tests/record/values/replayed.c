// SPDX-License-Identifier: Apache-2.0
// replayed LOG...: replays logs of the simulated GPU. What a load or a copy read must be what the
// records before it left in memory; otherwise the log lacks something. Exit status: 0 if that holds
// for all logs, 1 if not. Prints one line for each log.
#include <inttypes.h>
#include <stdio.h>

#include "expect.h"

struct seen {
    struct replay *replay;
    struct expect_sites sites;
    uint64_t pieces, same; // written pieces, and bytes in them that are the same
};

static void see_executed(void *user, const struct gpusim_log_access *records, size_t count)
{
    struct seen *seen = user;
    expect_executed(&seen->sites, seen->replay, records, count);
}

static void see_ended(void *user, const struct replay_event *event)
{
    struct seen *seen = user;
    for (size_t i = 0; i < event->write_count; i++) {
        struct expect_row row;
        expect_marked(event->writes[i].object, &event->writes[i], &row);
        seen->pieces += row.pieces;
        seen->same += row.same;
        free(row.looked_at);
    }
}

static void see_object_ended(void *user, struct replay_object *object)
{
    (void)user;
    expect_forget(object);
}

static bool replay_one(const char *path)
{
    struct seen seen = {0};
    struct replay_totals totals;
    struct base_error error = {0};
    const struct replay_calls calls = {.user = &seen,
                                       .object_ended = see_object_ended,
                                       .executed = see_executed,
                                       .ended = see_ended};
    const enum base_code code = replay_run(path, &calls, &seen.replay, &totals, &error);
    uint64_t stores = 0, silent = 0, undecided = 0;
    for (size_t i = 0; i < seen.sites.all.count; i++) {
        stores += seen.sites.all.items[i].stores;
        silent += seen.sites.all.items[i].silent;
        undecided += seen.sites.all.items[i].undecided;
    }
    expect_sites_fini(&seen.sites);
    if (code != BASE_OK) {
        char text[512];
        base_error_text(&error, text, sizeof(text));
        printf("%s\n", text);
        return false;
    }
    printf("%s: %" PRIu64 " launches, %" PRIu64 " copies, %" PRIu64 " fills; %" PRIu64
           " bytes read, %" PRIu64 " of them wrong; %" PRIu64 " stores, %" PRIu64
           " silent, %" PRIu64 " undecided; %" PRIu64 " pieces, %" PRIu64 " bytes the same\n",
           path, totals.launches, totals.copies, totals.fills, totals.loads, totals.contradictions,
           stores, silent, undecided, seen.pieces, seen.same);
    return totals.contradictions == 0;
}

int main(int argc, char **argv)
{
    bool good = argc > 1;
    for (int i = 1; i < argc; i++)
        good &= replay_one(argv[i]);
    return !good;
}
