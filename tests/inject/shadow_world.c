// SPDX-License-Identifier: Apache-2.0
// A world of objects, and a reference that computes the expected records by simple loops.
#include "shadow_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// --- The simulated kernel ------------------------------------------------------------------------

static const uint32_t sizes[SIZES] = {4, 8, 16, 128, 256, 512};
struct instrument_root world_roots[HARNESS_ROOTS] = {
    {.element_bytes = 4}, {.element_bytes = 8}, {.element_bytes = 16}, {.element_bytes = 1}};
static struct instrument_site sites[SITES];
struct instrument_kernel world_kernel = {
    .name = "elements",
    .left_flag = INSTRUMENT_NONE,
    .context_bytes =
        sizeof(struct instrument_context) + HARNESS_SLOTS * sizeof(struct instrument_view),
    .tally_count = TALLIES,
    .tally_row_bytes = (TALLIES * 8 + 127) / 128 * 128,
    .needs_table = true,
    .roots = world_roots,
    .root_count = HARNESS_SLOTS,
    .sites = sites,
    .site_count = SITES,
};

void make_sites(void)
{
    for (uint32_t i = 0; i + 1 < TALLIES; i++)
        sites[i] = (struct instrument_site){.root = i / (WAYS * SIZES),
                                            .access = (uint8_t)(i / SIZES % WAYS),
                                            .bytes = sizes[i % SIZES],
                                            .tally = i};
    sites[TALLIES - 1] = (struct instrument_site){
        .root = 1, .access = 1, .bytes = 2, .tally = TALLIES - 1, .tally_from_one = true};
    sites[TALLIES] =
        (struct instrument_site){.root = 0, .access = 0, .bytes = 1, .tally = INSTRUMENT_NONE};
}

// --- The reference -------------------------------------------------------------------------------

void model_make(struct model *model, const struct core_object *object)
{
    *model = (struct model){.object = *object};
}

void model_free(struct model *model)
{
    free(model->known);
    free(model->counts);
    *model = (struct model){0};
}

void model_use(struct model *model, uint32_t shift)
{
    if (model->shift)
        return;
    const uint64_t start = model->object.start;
    model->shift = shift;
    model->elements = ((start + model->object.bytes - 1) >> shift) - (start >> shift) + 1;
    model->known = calloc(model->elements, 1);
    model->counts = calloc(model->elements, sizeof(*model->counts));
}

static void model_touch(struct model *model, const struct harness_access *access)
{
    const uint64_t start = model->object.start >> model->shift;
    const uint64_t last = (access->address + access->bytes - 1) >> model->shift;
    for (uint64_t i = access->address >> model->shift; i <= last; i++)
        model->counts[i - start]++;
    model->read += access->reads ? access->bytes : 0;
    model->written += access->writes ? access->bytes : 0;
}

static unsigned bin_of(uint32_t count)
{
    unsigned bin = 0;
    for (unsigned b = 1; b < EVENT_COUNT_BINS; b++) {
        const double from = b % 2 ? 1.5 * (double)(1ull << (b - 1) / 2) : (double)(1ull << b / 2);
        if ((double)count >= from)
            bin = b;
    }
    return bin;
}

static void model_counts(const struct model *model, struct event_counts *record)
{
    unsigned __int128 squares = 0;
    const uint64_t piece = (model->elements + 1023) / 1024;
    uint64_t pieces[1024] = {0};
    for (uint64_t i = 0; i < model->elements; i++) {
        const uint32_t count = model->counts[i];
        if (!count)
            continue;
        record->sum += count;
        squares += (unsigned __int128)count * count;
        if (count > record->most) {
            record->most = count;
            record->most_at = i;
        }
        record->bins[bin_of(count)]++;
        pieces[i / piece] += count;
    }
    record->squares_low = (uint64_t)squares;
    record->squares_high = (uint64_t)(squares >> 64);
    for (int place = 0; place < EVENT_HOT_RANGES; place++) {
        uint64_t best = 0;
        for (uint64_t i = 0; i < 1024; i++)
            best = pieces[i] > pieces[best] ? i : best;
        if (!pieces[best])
            break;
        const uint64_t left = model->elements - best * piece;
        record->hottest[place] =
            (struct event_range){best * piece, left < piece ? left : piece, pieces[best]};
        pieces[best] = 0;
    }
}

// Computes the launch's records and resets the model. Returns false if there is nothing to record.
static bool model_told(struct model *model, uint64_t call, struct event_access *access,
                       struct event_counts *counts)
{
    *access = (struct event_access){
        .call = call,
        .object = model->object.number,
        .flags =
            (model->read ? EVENT_ACCESS_READ : 0u) | (model->written ? EVENT_ACCESS_WRITTEN : 0u),
        .read_bytes = model->read,
        .written_bytes = model->written,
        .element_bytes = 1u << model->shift,
    };
    *counts = (struct event_counts){.call = call, .object = model->object.number};
    if (!model->shift)
        return false;
    model_counts(model, counts);
    for (uint64_t i = 0; i < model->elements; i++) {
        if (!model->counts[i])
            continue;
        access->elements++;
        access->new_elements += model->known[i] == 0;
        access->shared_elements += model->known[i] == 1;
        model->known[i] += model->known[i] < 2;
        model->counts[i] = 0;
    }
    model->read = model->written = 0;
    return access->flags || access->elements;
}

// --- A world of objects --------------------------------------------------------------------------

struct model *world_model(struct world *world, int index)
{
    return index < PARTS ? &world->parts[index] : &world->objects[index - PARTS];
}

struct model *world_owner(struct world *world, uint64_t address)
{
    for (int i = 0; i < MODELS; i++) {
        struct model *model = world_model(world, i);
        if (model->object.number && address >= model->object.start &&
            address - model->object.start < model->object.bytes)
            return model;
    }
    return NULL;
}

static struct core_object some_object(struct world *world)
{
    const uint32_t kind = random_next(&world->seed) % 8;
    const uint64_t bytes = kind == 0   ? 1 + random_next(&world->seed) % 40
                           : kind == 1 ? 600000 + random_next(&world->seed) % 3000000
                                       : 1 + random_next(&world->seed) % 5000;
    return harness_object(bytes, random_next(&world->seed) % 700);
}

void world_start(struct world *world, uint32_t seed, uint32_t facts)
{
    *world = (struct world){.seed = seed, .facts = facts};
    make_sites();
    for (int i = 0; i < OBJECTS; i++) {
        const struct core_object object = i ? some_object(world) : harness_object(20000, 36);
        model_make(&world->objects[i], &object);
    }
    const uint64_t pool = world->objects[0].object.start;
    static const uint64_t places[PARTS][2] = {{0, 256}, {256, 1000}, {3001, 517}, {19990, 10}};
    for (int i = 0; i < PARTS; i++) {
        const struct core_object part = harness_part(pool + places[i][0], places[i][1]);
        model_make(&world->parts[i], &part);
    }
}

void world_finish(struct world *world)
{
    for (int i = 0; i < OBJECTS; i++)
        model_free(&world->objects[i]);
    for (int i = 0; i < PARTS; i++)
        model_free(&world->parts[i]);
}

// Returns an access within one object, or one that hits no object.
static struct harness_access some_access(struct world *world, uint32_t near)
{
    for (;;) {
        struct model *model = random_next(&world->seed) % 6 == 0
                                  ? &world->parts[random_next(&world->seed) % PARTS]
                                  : &world->objects[random_next(&world->seed) % OBJECTS];
        if (near < OBJECTS && random_next(&world->seed) % 8)
            model = &world->objects[near];
        const uint32_t bytes = sizes[random_next(&world->seed) % SIZES];
        const uint32_t at = (random_next(&world->seed) << 8 ^ random_next(&world->seed)) %
                            (uint32_t)model->object.bytes;
        struct harness_access access = {
            .address = (model->object.start + at) & ~(uint64_t)(bytes - 1),
            .bytes = bytes,
            .reads = random_next(&world->seed) & 1,
            .tally = -1,
            .flag = -1,
            .root = -1,
        };
        access.writes = !access.reads || (random_next(&world->seed) & 1);
        const bool stray = random_next(&world->seed) % 20 == 0;
        if (stray)
            access.address = 4096 + 512 * (uint64_t)(random_next(&world->seed) % 100);
        const struct model *owner = world_owner(world, access.address);
        bool whole = true;
        for (uint32_t i = 0; i < bytes; i++)
            whole &= world_owner(world, access.address + i) == owner;
        if (whole && (owner || stray)) // memory beside an object may not belong to the world
            return access;
    }
}

// Returns the tally of the site with this root, direction and size.
static int32_t tally_of(uint32_t root, const struct harness_access *access)
{
    const uint32_t way = !access->writes ? 0 : !access->reads ? 1 : 2;
    uint32_t size = 0;
    while (sizes[size] != access->bytes)
        size++;
    return (int32_t)(root * WAYS * SIZES + way * SIZES + size);
}

uint64_t world_accesses(struct world *world, const struct harness_run *run,
                        struct harness_access *list, uint32_t count, const uint32_t *near)
{
    static const uint32_t shifts[HARNESS_SLOTS] = {2, 3, 4, 2};
    uint64_t strays = 0;
    struct model *of_root[HARNESS_SLOTS];
    for (int i = 0; i < HARNESS_SLOTS; i++) {
        of_root[i] = world_owner(world, run->roots[i]);
        if (of_root[i])
            model_use(of_root[i], shifts[i]);
    }
    for (int i = 0; i < MODELS; i++)
        model_use(world_model(world, i), 2);
    for (uint32_t i = 0; i < count; i++) {
        const int root = (int)(random_next(&world->seed) % (HARNESS_SLOTS + 1)) - 1;
        list[i] = some_access(world, root < 0 ? OBJECTS : near[root]);
        if (root >= 0) {
            list[i].root = root;
            list[i].tally = tally_of((uint32_t)root, &list[i]);
        }
        struct model *owner = world_owner(world, list[i].address);
        if (owner)
            model_touch(owner, &list[i]);
        strays += !owner;
    }
    const uint64_t threads = (uint64_t)(count + HARNESS_BLOCK - 1) / HARNESS_BLOCK * HARNESS_BLOCK;
    if (of_root[0])
        of_root[0]->read += threads;
    if (of_root[1])
        of_root[1]->written += 2 * threads;
    return strays;
}

uint64_t world_launch(struct world *world, struct harness_run *run, struct harness_access *list,
                      uint32_t count)
{
    uint32_t near[HARNESS_SLOTS];
    for (uint32_t i = HARNESS_SLOTS; i < run->kernel->root_count; i++)
        run->roots[i] = world->objects[i % OBJECTS].object.start;
    for (int i = 0; i < HARNESS_SLOTS; i++) {
        near[i] = random_next(&world->seed) % OBJECTS;
        const struct model *model = &world->objects[near[i]];
        run->roots[i] = model->object.start + random_next(&world->seed) % model->object.bytes;
        if (random_next(&world->seed) % 8 == 0)
            run->roots[i] = random_next(&world->seed) % 2 * 77;
    }
    run->accesses = list;
    run->count = count;
    return world_accesses(world, run, list, count, near);
}

static int by_object(const void *a, const void *b)
{
    const struct event_access *one = a, *other = b;
    return one->object < other->object ? -1 : one->object > other->object;
}

void world_take(struct world *world, uint64_t call, uint32_t node, struct expected *expected)
{
    expected->count = expected->counted = 0;
    for (int i = 0; i < MODELS; i++) {
        struct model *model = world_model(world, i);
        struct event_access *access = &expected->accesses[expected->count];
        struct event_counts *counts = &expected->counts[expected->counted];
        if (!model_told(model, call, access, counts))
            continue;
        access->node = counts->node = node;
        expected->counted += access->elements != 0;
        expected->count++;
    }
    qsort(expected->accesses, expected->count, sizeof(expected->accesses[0]), by_object);
}

void world_check(const struct world *world, const struct expected *expected, size_t launches)
{
    const struct harness_record *records, *count_records;
    const size_t count = harness_records(EVENT_ACCESS, &records);
    const size_t count_count = harness_records(EVENT_COUNTS, &count_records);
    size_t at = 0, counted_at = 0;
    for (size_t launch = 0; launch < launches; launch++) {
        for (size_t i = 0; i < expected[launch].count; i++) {
            assert_true(at < count);
            struct event_access access;
            memcpy(&access, records[at].bytes, sizeof(access));
            access.named = 0; // test_shadow.c checks it
            assert_memory_equal(&access, &expected[launch].accesses[i], sizeof(access));
            at++;
        }
        const size_t counted = world->facts & INSTRUMENT_COUNTS ? expected[launch].counted : 0;
        for (size_t i = 0; i < counted; i++) {
            struct event_counts came;
            assert_true(counted_at < count_count);
            memcpy(&came, count_records[counted_at++].bytes, sizeof(came));
            const struct event_counts *told = expected[launch].counts;
            while (told->object != came.object)
                assert_true(++told < expected[launch].counts + counted);
            assert_memory_equal(&came, told, sizeof(came));
        }
    }
    assert_int_equal(at, count);
    assert_int_equal(counted_at, count_count);
}

void world_replace(struct world *world)
{
    struct model *model = &world->objects[1 + random_next(&world->seed) % (OBJECTS - 1)];
    harness_end_object(&model->object);
    model_free(model);
    const struct core_object object = some_object(world);
    model_make(model, &object);
}
