// SPDX-License-Identifier: Apache-2.0
// against_lines PROFILE LOG [spoil]: compares what a profile says of L1 with the simulated GPU's
// log of the same run of lines.c: for each traced launch, the number of records, and the sectors of
// each instruction and object, in the lines that are looked at. With `spoil`, a number of the
// profile is falsified first, and the comparison must fail. Exit status: 0 if both agree, else 1.
//
// The log has accesses of clones, also those of probes, whose memory is no object of the profile.
// All instructions of lines.c are executed in each launch, so that the nth of a clone that reaches
// an object is the nth site of its kernel.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "gpusim/gpusim.h"
#include "profile/profile.h"

enum { LANES = 32, LINE = 128, SECTOR = 32, MOST_SITES = 64 };
#define HASH 0x9e3779b1u // as docs/internals/probes.md says

struct object {
    uint64_t number, first, bytes, from, until;
};

struct row {
    uint64_t object, sectors;
    uint32_t site; // log: index of the instruction, until sites are numbered
    int kind;      // enum profile_site_access
};

struct launch {
    uint64_t call, records;
    uint32_t share; // 0: not traced
    BASE_ARRAY(struct row) rows;
};

struct story {
    BASE_ARRAY(struct object) objects;
    BASE_ARRAY(struct launch) launches;
};

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void add_sectors(struct launch *launch, uint64_t object, uint32_t site, int kind,
                        uint64_t sectors)
{
    for (size_t i = 0; i < launch->rows.count; i++) {
        struct row *row = &launch->rows.items[i];
        if (row->object == object && row->site == site && row->kind == kind) {
            row->sectors += sectors;
            return;
        }
    }
    *(struct row *)must(base_array_push(&launch->rows)) = (struct row){object, sectors, site, kind};
}

// --- The profile ---------------------------------------------------------------------------------

static bool see_object(void *user, const struct profile_object *object)
{
    struct story *story = user;
    *(struct object *)must(base_array_push(&story->objects)) =
        (struct object){object->number, object->address, object->bytes, object->call,
                        object->has_end ? object->end_call : UINT64_MAX};
    return true;
}

static bool see_call(void *user, const struct profile_call *call)
{
    struct story *story = user;
    if (call->kind == PROFILE_CALL_LAUNCH)
        *(struct launch *)must(base_array_push(&story->launches)) =
            (struct launch){.call = call->number};
    return true;
}

static struct launch *launch_of(struct story *story, uint64_t call)
{
    for (size_t i = 0; i < story->launches.count; i++) {
        if (story->launches.items[i].call == call)
            return &story->launches.items[i];
    }
    return NULL;
}

static bool see_traced(void *user, const struct profile_cache_launch *row)
{
    struct launch *launch = must(launch_of(user, row->call));
    launch->share = row->share;
    launch->records = row->records;
    return true;
}

static bool see_row(void *user, const struct profile_cache *row)
{
    struct launch *launch = must(launch_of(user, row->call));
    for (int kind = 0; kind < PROFILE_CACHE_KINDS; kind++) {
        if (row->l1[kind].sectors)
            add_sectors(launch, row->object, row->site, kind, row->l1[kind].sectors);
    }
    return true;
}

static bool read_profile(const char *path, struct story *story)
{
    struct profile *profile;
    struct base_error error = {0};
    const bool good = profile_open(path, &profile, &error) == BASE_OK &&
                      profile_each_object(profile, see_object, story, &error) == BASE_OK &&
                      profile_each_call(profile, see_call, story, &error) == BASE_OK &&
                      profile_each_cache_launch(profile, see_traced, story, &error) == BASE_OK &&
                      profile_each_cache(profile, see_row, story, &error) == BASE_OK;
    if (good)
        profile_close(profile);
    else
        printf("%s: %s\n", path, error.text[0]);
    return good;
}

// --- The log -------------------------------------------------------------------------------------

static uint64_t object_at(const struct story *story, uint64_t address, uint64_t call)
{
    for (size_t i = 0; i < story->objects.count; i++) {
        const struct object *object = &story->objects.items[i];
        if (address - object->first < object->bytes && object->from <= call && call < object->until)
            return object->number;
    }
    return 0;
}

// Counts what a request takes of each line. Objects of lines.c share no lines, so that all lanes of
// an access are in one record of the log.
static void see_access(const struct story *story, const struct launch *told, struct launch *launch,
                       const struct gpusim_log_access *access)
{
    uint64_t lines[LANES];
    unsigned sectors[LANES] = {0}, count = 0;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const uint64_t address = access->address[__builtin_ctz(left)];
        unsigned i = 0;
        while (i < count && lines[i] != address / LINE)
            i++;
        lines[i] = address / LINE;
        count += i == count;
        sectors[i] |= 1u << address % LINE / SECTOR;
    }
    const int kind = access->kind == GPUSIM_LOG_LOAD    ? PROFILE_SITE_LOAD
                     : access->kind == GPUSIM_LOG_STORE ? PROFILE_SITE_STORE
                                                        : PROFILE_SITE_ATOMIC;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t object = object_at(story, lines[i] * LINE, launch->call);
        if (!object || ((uint32_t)lines[i] * HASH) >> 16 >= told->share) {
            // Its instruction still has a number.
            if (object)
                add_sectors(launch, object, access->site->index, kind, 0);
            continue;
        }
        launch->records++;
        add_sectors(launch, object, access->site->index, kind,
                    (unsigned)__builtin_popcount(sectors[i]));
    }
}

// Replaces indices of instructions by their ranks.
static void number_sites(struct launch *launch)
{
    uint32_t indices[MOST_SITES + 1] = {0}, count = 0;
    for (size_t i = 0; i < launch->rows.count; i++) {
        uint32_t at = 0;
        while (at < count && indices[at] < launch->rows.items[i].site)
            at++;
        if (at < count && indices[at] == launch->rows.items[i].site)
            continue;
        if (count == MOST_SITES)
            abort();
        memmove(indices + at + 1, indices + at, (count++ - at) * sizeof(*indices));
        indices[at] = launch->rows.items[i].site;
    }
    for (size_t i = 0; i < launch->rows.count; i++) {
        uint32_t at = 0;
        while (indices[at] != launch->rows.items[i].site)
            at++;
        launch->rows.items[i].site = at + 1;
    }
}

// Launches have the same order in both; glint has some of its own.
static bool read_log(const char *path, const struct story *told, struct story *logged)
{
    struct gpusim_log *log;
    struct gpusim_log_record record;
    struct base_error error = {0};
    enum base_code code = gpusim_log_open(path, &log, &error);
    if (code != BASE_OK)
        return false;
    while ((code = gpusim_log_next(log, &record, &error)) == BASE_OK) {
        const struct gpusim_log_launch *launch = record.type == GPUSIM_LOG_LAUNCH ? record.launch
                                                 : record.type == GPUSIM_LOG_ACCESS
                                                     ? record.access.launch
                                                     : NULL;
        if (!launch || strncmp(launch->kernel, "glint_", 6) == 0)
            continue;
        if (record.type == GPUSIM_LOG_LAUNCH) {
            const size_t next = logged->launches.count;
            if (next == told->launches.count)
                break;
            *(struct launch *)must(base_array_push(&logged->launches)) =
                (struct launch){.call = told->launches.items[next].call};
        } else if (record.access.space == GPUSIM_LOG_GLOBAL && logged->launches.count) {
            const size_t last = logged->launches.count - 1;
            see_access(told, &told->launches.items[last], &logged->launches.items[last],
                       &record.access);
        }
    }
    const bool whole = code == BASE_NOT_FOUND && gpusim_log_state(log) == GPUSIM_LOG_COMPLETE &&
                       logged->launches.count == told->launches.count;
    gpusim_log_close(log);
    for (size_t i = 0; i < logged->launches.count; i++)
        number_sites(&logged->launches.items[i]);
    return whole;
}

// --- Comparing -----------------------------------------------------------------------------------

// Prints the rows of one that the other has not, or has with another number. Returns how many.
static unsigned complain(const struct launch *launch, const struct launch *other, const char *who)
{
    unsigned count = 0;
    for (size_t i = 0; i < launch->rows.count; i++) {
        const struct row *row = &launch->rows.items[i];
        bool same = !row->sectors;
        for (size_t k = 0; k < other->rows.count && !same; k++)
            same = memcmp(row, &other->rows.items[k], sizeof(*row)) == 0;
        count += !same;
        if (!same)
            printf("call %" PRIu64 ", only the %s: object %" PRIu64 ", site %u, kind %d: %" PRIu64
                   " sectors\n",
                   launch->call, who, row->object, row->site, row->kind, row->sectors);
    }
    return count;
}

static void story_fini(struct story *story)
{
    for (size_t i = 0; i < story->launches.count; i++)
        base_array_fini(&story->launches.items[i].rows);
    base_array_fini(&story->launches);
    base_array_fini(&story->objects);
}

int main(int argc, char **argv)
{
    struct story told = {0}, logged = {0};
    unsigned different = 0, traced = 0;
    uint64_t rows = 0, records = 0;
    if (argc < 3 || !read_profile(argv[1], &told))
        return 1;
    if (!read_log(argv[2], &told, &logged)) {
        printf("%s is not whole, or has other launches\n", argv[2]);
        different++;
    }
    for (size_t i = 0; i < told.launches.count && !different; i++) {
        struct launch *launch = &told.launches.items[i], *other = &logged.launches.items[i];
        if (!launch->share)
            continue;
        if (argc > 3 && launch->rows.count)
            launch->rows.items[traced % launch->rows.count].sectors++;
        if (launch->records != other->records)
            printf("call %" PRIu64 ": %" PRIu64 " records, wanted %" PRIu64 "\n", launch->call,
                   launch->records, other->records);
        different += launch->records != other->records;
        different += complain(launch, other, "profile") + complain(other, launch, "log");
        records += launch->records;
        rows += launch->rows.count;
        traced++;
    }
    printf("%u launches traced, %" PRIu64 " records, %" PRIu64 " rows, %u differences\n", traced,
           records, rows, different);
    story_fini(&told);
    story_fini(&logged);
    return different || !records;
}
