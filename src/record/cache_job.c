// SPDX-License-Identifier: Apache-2.0
// Runs a traced launch through the model of caches: see cache_job.h.
//
// Results are counted for owners (cache_state.h). What is written to memory for an owner of another
// kernel, or for a copy or set, is counted at site 0.
#include "cache_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cache_state.h"
#include "trace_order.h"

// --- Records for the model
// ----------------------------------------------------------------------------

static int compare_objects(const void *one, const void *other)
{
    const struct record_cache_job_object *a = one, *b = other;
    if (a->is_part != b->is_part)
        return a->is_part ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

// Returns the one of these objects, which do not overlap, that holds the address, or 0.
static uint64_t find_object(const struct record_cache_job_object *objects, size_t count,
                            uint64_t address)
{
    size_t from = 0;
    while (count > 0) { // the last one that begins at the address or before
        const size_t half = count / 2;
        if (objects[from + half].first <= address) {
            from += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return from && address - objects[from - 1].first < objects[from - 1].bytes
               ? objects[from - 1].number
               : 0;
}

static uint64_t object_at(const struct record_cache_job *job, size_t parts, uint64_t address)
{
    const uint64_t part = find_object(job->objects.items, parts, address);
    return part ? part
                : find_object(job->objects.items + parts, job->objects.count - parts, address);
}

// Fills in the records of the model. Returns false if a record contradicts the kernel's sites, or
// there are too many owners.
static bool translate(const struct record_cache_job *job, struct record_cache_state *state,
                      const struct event_traced *sorted, struct cache_record *records)
{
    size_t parts = 0;
    while (parts < job->objects.count && job->objects.items[parts].is_part)
        parts++;
    uint64_t known_object = UINT64_MAX;
    uint32_t known_site = 0;
    size_t known_owner = 0;
    for (size_t i = 0; i < job->record_count; i++) {
        const uint64_t what = sorted[i].what;
        const uint32_t site = record_traced_site(&sorted[i]);
        if (!site || site > job->site_count)
            return false;
        // A request to several objects in one line counts for that of its first sector.
        const uint64_t first =
            (uint64_t)__builtin_ctz((unsigned)(what >> EVENT_TRACED_SECTORS_AT) | 16) % 4;
        const uint64_t object = object_at(job, parts,
                                          record_traced_line(&sorted[i]) * CACHE_LINE_BYTES +
                                              first * CACHE_SECTOR_BYTES);
        if (object != known_object || site != known_site) {
            known_owner = record_cache_state_own(state, job->about.kernel, site, object);
            known_object = object;
            known_site = site;
        }
        if (known_owner == SIZE_MAX)
            return false;
        records[i] = (struct cache_record){
            .line = record_traced_line(&sorted[i]),
            .warp = sorted[i].warp,
            .counter = sorted[i].steps,
            .owner = (uint32_t)known_owner,
            .kind = job->kinds[site - 1],
            .sectors = what >> EVENT_TRACED_SECTORS_AT & 15,
            .whole = what >> EVENT_TRACED_WHOLE_AT & 15,
        };
    }
    return true;
}

static struct cache_block *translate_blocks(const struct record_cache_job *job)
{
    struct cache_block *blocks = calloc(job->block_count + 1, sizeof(*blocks));
    if (!blocks)
        return NULL;
    // Times are modulo 2^32 ns, and a launch takes less.
    uint32_t earliest = job->block_count ? job->blocks[0].began : 0;
    for (size_t i = 0; i < job->block_count; i++) {
        if ((int32_t)(job->blocks[i].began - earliest) < 0)
            earliest = job->blocks[i].began;
    }
    for (size_t i = 0; i < job->block_count; i++) {
        const struct event_traced_block *block = &job->blocks[i];
        blocks[i] = (struct cache_block){
            .began = block->began - earliest,
            .multiprocessor = block->length & ((1u << EVENT_TRACED_PROCESSOR_BITS) - 1),
            .length = block->length >> EVENT_TRACED_PROCESSOR_BITS,
        };
    }
    return blocks;
}

// --- Results -------------------------------------------------------------------------------------

static struct profile_cache_hits hits_of(struct cache_count count)
{
    return (struct profile_cache_hits){count.sectors, count.hits};
}

// Returns the 95 % error in hundredths of a percentage point; -1: unknown.
static int32_t error_of(const struct cache_count groups[CACHE_GROUPS], uint32_t share)
{
    const double error = cache_error(groups, share);
    return error < 0 ? -1 : (int32_t)lround(1.96 * error * 10000);
}

static bool add_row(struct record_cache_job *job, const struct record_cache_state_owner *owner,
                    const struct cache_result *result)
{
    const bool own = owner->kernel == job->about.kernel;
    uint64_t all = result->l2.read + result->l2.written;
    for (int kind = 0; kind < CACHE_KINDS; kind++)
        all += result->l1.kinds[kind].sectors + result->l2.kinds[kind].sectors;
    if (!all)
        return true;
    struct profile_cache *row = NULL;
    for (size_t i = 0; !own && i < job->rows.count; i++) {
        if (job->rows.items[i].site == 0 && job->rows.items[i].object == owner->object)
            row = &job->rows.items[i];
    }
    if (row) { // left by an earlier launch of another kernel
        row->written += result->l2.written;
        return true;
    }
    row = base_array_push(&job->rows);
    if (!row)
        return false;
    *row = (struct profile_cache){
        .call = job->about.call,
        .node = job->about.node,
        .kernel = job->about.kernel,
        .object = owner->object,
        .site = own ? owner->site : 0,
        .read = result->l2.read,
        .written = result->l2.written,
        .l1_error = error_of(result->l1_groups, job->launch.share),
        .l2_error = error_of(result->l2_groups, job->launch.share),
    };
    for (int kind = 0; kind < CACHE_KINDS; kind++) {
        row->l1[kind] = hits_of(result->l1.kinds[kind]);
        row->l2[kind] = hits_of(result->l2.kinds[kind]);
    }
    return true;
}

static bool add_reuse(struct record_cache_job *job, uint64_t object, uint32_t level,
                      const struct cache_distances *distances)
{
    uint64_t all = distances->first;
    for (int i = 0; i < CACHE_DISTANCES; i++)
        all += distances->sectors[i];
    struct profile_cache_reuse *row = all ? base_array_push(&job->reuse) : NULL;
    if (!row)
        return !all;
    *row = (struct profile_cache_reuse){
        .call = job->about.call,
        .node = job->about.node,
        .kernel = job->about.kernel,
        .object = object,
        .level = level,
        .first = distances->first,
    };
    memcpy(row->sectors, distances->sectors, sizeof(row->sectors));
    return true;
}

// --- A launch ------------------------------------------------------------------------------------

// Everything that one run needs, so that it can be freed in one place.
struct run {
    struct event_traced *sorted;
    struct cache_record *records, *thinned;
    struct cache_block *blocks;
    struct cache_result *results;
    uint32_t *group_of;
    uint64_t *objects; // by group
    uint32_t group_count;
    struct cache_distances *l1, *l2;
    struct cache_reuse *reuse; // of L2, within the launch
};

// Groups owners by their objects.
static bool make_groups(const struct record_cache_state *state, struct run *run)
{
    struct base_map groups = {0};
    const size_t count = state->owners.count;
    run->group_of = calloc(count + 1, sizeof(*run->group_of));
    run->objects = calloc(count + 1, sizeof(*run->objects));
    bool good = run->group_of && run->objects;
    for (size_t i = 0; good && i < count; i++) {
        uint64_t *group = base_map_put(&groups, state->owners.items[i].object, NULL);
        good = group;
        if (!good)
            break;
        if (!*group) {
            run->objects[run->group_count] = state->owners.items[i].object;
            *group = ++run->group_count;
        }
        run->group_of[i] = (uint32_t)(*group - 1);
    }
    base_map_fini(&groups);
    run->l1 = calloc(run->group_count + 1, sizeof(*run->l1));
    run->l2 = calloc(run->group_count + 1, sizeof(*run->l2));
    return good && run->l1 && run->l2;
}

static void finish(struct run *run)
{
    free(run->sorted);
    free(run->records);
    free(run->thinned);
    free(run->blocks);
    free(run->results);
    free(run->group_of);
    free(run->objects);
    free(run->l1);
    free(run->l2);
    cache_reuse_destroy(run->reuse);
}

// Runs the launch, as far as its lines are in the share of an L2.
static bool run_on(struct record_cache_state_l2 *level, const struct cache_launch *launch,
                   struct run *run, unsigned threads, const struct cache_launch_reuse *reuse)
{
    struct cache_launch part = *launch;
    part.records = run->thinned;
    part.record_count = 0;
    for (size_t i = 0; i < launch->record_count; i++) {
        if (cache_is_sampled(launch->records[i].line, level->share))
            run->thinned[part.record_count++] = launch->records[i];
    }
    memset(run->results, 0, launch->owner_count * sizeof(*run->results));
    if (!cache_launch_run(level->l2, &part, NULL, threads, run->results, reuse))
        return false;
    uint64_t read = 0;
    for (uint32_t i = 0; i < launch->owner_count; i++)
        read += run->results[i].l2.read;
    record_cache_state_ran(level, read);
    return true;
}

static bool tell(struct record_cache_job *job, const struct record_cache_state *state,
                 const struct run *run)
{
    const struct cache_preset *preset = job->preset;
    bool good = true;
    for (size_t i = 0; good && i < state->owners.count; i++)
        good = add_row(job, &state->owners.items[i], &run->results[i]);
    for (uint32_t i = 0; good && i < run->group_count; i++)
        good = add_reuse(job, run->objects[i], 1, &run->l1[i]) &&
               add_reuse(job, run->objects[i], 2, &run->l2[i]);
    job->launch.l2_bytes = preset->l2.bytes * preset->partitions;
    return good;
}

void record_cache_job_run(struct record_cache_job *job, struct record_cache_state *state,
                          unsigned threads)
{
    struct run run = {0};
    const uint32_t per_block = (job->about.threads + 31) / 32;
    const uint64_t warps = job->about.blocks * per_block;
    const struct event_trace *about = &job->about;
    if (!about->share || job->block_count != about->blocks || !per_block || warps >> 32 ||
        job->record_count != about->records)
        return;
    qsort(job->objects.items, job->objects.count, sizeof(*job->objects.items), compare_objects);
    const uint64_t shared =
        cache_shared_bytes(job->preset, about->resident, about->shared_bytes, about->carveout);
    struct record_cache_state_l2 *level =
        record_cache_state_take(state, job->preset, about->share, job->cold);
    run.sorted =
        level && (job->cold || record_cache_state_move(state, job->moves.items, job->moves.count))
            ? record_order_traced(job->records, job->record_count, warps, about->share)
            : NULL;
    run.records = run.sorted ? calloc(job->record_count + 1, sizeof(*run.records)) : NULL;
    run.thinned = run.records ? calloc(job->record_count + 1, sizeof(*run.thinned)) : NULL;
    run.blocks = run.thinned ? translate_blocks(job) : NULL;
    bool good =
        run.blocks && translate(job, state, run.sorted, run.records) && make_groups(state, &run);
    run.reuse = good ? cache_reuse_create(level->share) : NULL;
    run.results = run.reuse ? calloc(state->owners.count + 1, sizeof(*run.results)) : NULL;
    const struct cache_launch launch = {
        .records = run.records,
        .record_count = job->record_count,
        .blocks = run.blocks,
        .block_count = job->block_count,
        .warps_per_block = per_block,
        .resident = about->resident,
        .shared_bytes = shared,
        .owner_count = (uint32_t)state->owners.count,
    };
    job->launch = (struct profile_cache_launch){
        .call = about->call,
        .node = about->node,
        .kernel = about->kernel,
        .preset = job->preset->name,
        .share = level ? level->share : about->share,
        .resident = about->resident,
        .shared_bytes = shared,
        .l1_bytes = job->preset->l1.bytes - shared,
        .records = about->records,
    };
    const struct cache_launch_reuse reuse = {
        .group_of = run.group_of,
        .group_count = run.group_count,
        .l1 = run.l1,
        .l2 = run.l2,
        .l2_reuse = run.reuse,
    };
    good = run.results && run_on(level, &launch, &run, threads, &reuse);
    if (good)
        job->done = tell(job, state, &run);
    for (struct record_cache_state_l2 *other = state->levels; good && other; other = other->next) {
        if (other != level)
            good = run_on(other, &launch, &run, threads, NULL);
    }
    finish(&run);
}

void record_cache_job_destroy(struct record_cache_job *job)
{
    free(job->records);
    free(job->blocks);
    base_array_fini(&job->objects);
    base_array_fini(&job->moves);
    base_array_fini(&job->rows);
    base_array_fini(&job->reuse);
    free(job->kinds);
    free(job);
}
