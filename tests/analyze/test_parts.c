// SPDX-License-Identifier: Apache-2.0
// Parts of pools that the program manages: their patterns and worth, and the pool's slack.
#include "wanted.h"

#include "analyses.h"

// Makes a part of the pool, so many bytes from its start, by a separate call.
static uint32_t take(struct analyze_model *model, uint32_t pool, uint64_t offset, uint64_t bytes)
{
    uint32_t part = add_object(model, PROFILE_OBJECT_PART, bytes);
    struct analyze_object *row = &model->objects.items[part];
    row->address = model->objects.items[pool].address + offset;
    row->parent = pool;
    row->counts = false;
    row->call = add_call(model, PROFILE_CALL_ALLOC, 0);
    model->objects.items[pool].has_parts = true;
    return part;
}

// Frees the pool, and the part with it. Other parts end by their own calls.
static uint32_t release_with(struct analyze_model *model, uint32_t pool, uint32_t part)
{
    uint32_t call = release(model, pool);
    model->objects.items[part].has_end = true;
    return model->objects.items[part].end = call;
}

static void slack_is_what_is_never_in_parts_at_once(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t pool = allocate(&model, 20480);  // 0
    uint32_t a = take(&model, pool, 0, 4096); // 1
    copy_out(&model, a, 0, 4096);
    release(&model, a); // 3
    // b has another address than a, but they never coexist: 8192 bytes of the pool were used, at
    // most half at once.
    uint32_t b = take(&model, pool, 8192, 4096); // 4
    copy_out(&model, b, 0, 4096);
    release(&model, b);
    release(&model, pool);
    CHECK(&model, {ANALYZE_OVERALLOCATION, pool, 0, 1, 0, 16384, 0, 0});
}

static void make_slack(struct analyze_model *model, uint64_t bytes)
{
    model_begin(model);
    uint32_t pool = allocate(model, 10240);
    uint32_t a = take(model, pool, 0, bytes);
    copy_out(model, a, 0, bytes);
    release(model, a);
    release(model, pool);
}

static void a_pool_that_is_mostly_used_has_none(void **state)
{
    (void)state;
    struct analyze_model model;
    make_slack(&model, 8191); // 79.99 percent, rounded up to 8192 by the layout
    CHECK(&model, {ANALYZE_OVERALLOCATION, 0, 0, 1, 0, 2048, 0, 0});
    make_slack(&model, 8192);
    CHECK_NOTHING(&model);
    make_slack(&model, 1000); // the program also uses the pool directly
    touch(&model, 0, ANALYZE_WRITE);
    model.touches.items[1].call = 3;
    model.touches.items[1].is_kernel = true;
    CHECK_NOTHING(&model);
}

// Shortening a part's lifetime is worth what the pool can shrink by.
static void a_part_that_is_early_makes_its_pool_too_large(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t pool = allocate(&model, 3000);                                       // 0
    uint32_t a = take(&model, pool, 0, 2000), b = take(&model, pool, 2000, 1000); // 1, 2
    copy_out(&model, a, 0, 2000);                                                 // 3
    release(&model, a);                                                           // 4
    copy_out(&model, b, 0, 1000);                                                 // 5
    release(&model, b);                                                           // 6
    release(&model, pool);                                                        // 7
    CHECK(&model, {ANALYZE_EARLY_ALLOCATION, a, 1, 3, 2, 0, 0, 0},
          {ANALYZE_EARLY_ALLOCATION, b, 2, 5, 3, 1000, 0, 0});
}

static void a_part_that_is_late_does_too_also_when_it_ends_with_its_pool(void **state)
{
    (void)state;
    for (unsigned with_pool = 0; with_pool < 2; with_pool++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t pool = allocate(&model, 3000);      // 0
        uint32_t a = take(&model, pool, 0, 2000);    // 1
        copy_out(&model, a, 0, 2000);                // 2
        uint32_t b = take(&model, pool, 2000, 1000); // 3
        copy_out(&model, b, 0, 1000);                // 4
        release(&model, b);                          // 5
        uint32_t end;
        if (with_pool) {
            end = release_with(&model, pool, a); // 6
        } else {
            end = release(&model, a); // 6
            release(&model, pool);
        }
        // After the fix, at most 2000 bytes are in use.
        CHECK(&model, {ANALYZE_LATE_DEALLOCATION, a, end, 2, 4, 1000, 0, 0});
    }
}

static void parts_that_nothing_uses_or_that_are_idle_are_found(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t pool = allocate(&model, 3500);      // 0
    uint32_t a = take(&model, pool, 0, 2000);    // 1
    copy_out(&model, a, 0, 2000);                // 2
    uint32_t b = take(&model, pool, 2000, 1000); // 3: idle while b exists
    copy_out(&model, b, 0, 1000);                // 4
    uint32_t c = take(&model, pool, 3000, 500);  // 5
    release(&model, c);                          // 6
    release(&model, b);                          // 7
    copy_out(&model, a, 0, 2000);                // 8
    release(&model, a);                          // 9
    release(&model, pool);
    CHECK(&model, {ANALYZE_UNUSED_ALLOCATION, c, 5, NO_CALL, 0, 500, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, b, 7, 4, 3, 500, 0, 0},
          {ANALYZE_TEMPORARY_IDLENESS, a, 2, 8, 6, 1500, 0, 0});
}

static void a_part_can_reuse_another_part_but_nothing_outside(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t outside = allocate(&model, 1000);   // 0
    copy_out(&model, outside, 0, 1000);          // 1
    uint32_t pool = allocate(&model, 2000);      // 2
    uint32_t a = take(&model, pool, 0, 1000);    // 3
    copy_out(&model, a, 0, 1000);                // 4
    uint32_t b = take(&model, pool, 1000, 1000); // 5
    copy_out(&model, b, 0, 1000);                // 6
    release(&model, b);                          // 7
    release(&model, a);                          // 8
    release(&model, pool);                       // 9
    release(&model, outside);                    // 10
    // The highest peak has the pool and the outside object: each finding saves a third of it.
    CHECK(&model, {ANALYZE_REDUNDANT_ALLOCATION, b, 5, 6, 2, 1000, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, a, 8, 4, 4, 1000, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, outside, 10, 1, 9, 1000, 0, 0});
}

// A part is a leak if neither the part itself nor its pool was freed.
static void parts_leak_with_their_pool_only(void **state)
{
    (void)state;
    for (unsigned leaks = 0; leaks < 3; leaks++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t pool = allocate(&model, 1000);   // 0
        uint32_t a = take(&model, pool, 0, 1000); // 1
        copy_out(&model, a, 0, 1000);             // 2
        if (leaks == 2) {                         // freed with the context
            model.calls.items[release_with(&model, pool, a)].kind = PROFILE_CALL_CONTEXT;
        } else if (leaks == 0) {
            release_with(&model, pool, a);
        }
        if (leaks)
            CHECK(&model, {ANALYZE_MEMORY_LEAK, pool, 0, 2, 0, 0, 0, 0},
                  {ANALYZE_MEMORY_LEAK, a, 1, 2, 0, 0, 0, 0});
        else
            CHECK_NOTHING(&model);
    }
}

static void writes_to_parts_are_dead_like_others(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t pool = allocate(&model, 1000);
    uint32_t a = take(&model, pool, 0, 1000);
    set(&model, a, 0, 1000);     // 2
    copy_in(&model, a, 0, 1000); // 3
    copy_out(&model, a, 0, 1000);
    release(&model, a);
    release(&model, pool);
    CHECK(&model, {ANALYZE_DEAD_WRITE, a, 2, 3, 1, 0, 0, 1000});
}

// The peak of the parts is not the device's: if the pool does not belong to the highest peak,
// smaller parts gain nothing.
static void parts_of_a_pool_beside_the_peak_are_worth_nothing(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t pool = allocate(&model, 2000);                                       // 0
    uint32_t a = take(&model, pool, 0, 1000), b = take(&model, pool, 1000, 1000); // 1, 2
    copy_out(&model, b, 0, 1000);                                                 // 3
    release(&model, b);                                                           // 4
    copy_out(&model, a, 0, 1000);                                                 // 5
    release(&model, a);                                                           // 6
    release(&model, pool);                                                        // 7
    uint32_t large = allocate(&model, 9000);                                      // 8
    copy_out(&model, large, 0, 9000);                                             // 9
    release(&model, large);
    CHECK(&model, {ANALYZE_EARLY_ALLOCATION, a, 1, 5, 4, 0, 0, 0},
          {ANALYZE_REDUNDANT_ALLOCATION, a, 1, 5, 2, 0, 0, 0});
}

// --- Replayed ------------------------------------------------------------------------------------

enum { CALLS = 24, POOLS = 3, PARTS = 6, CHANGES = 12 };

static void add_life(int64_t *in_use, uint32_t from, uint32_t to, int64_t bytes)
{
    for (uint32_t i = from; i < to && i < CALLS; i++)
        in_use[i] += bytes;
}

static int64_t most_of(const int64_t *in_use)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < CALLS; i++)
        most = in_use[i] > most ? in_use[i] : most;
    return most;
}

// Counts the bytes in use after every call, in each pool and in total. Returns by how much the
// highest peak falls.
static uint64_t count_gain(const struct analyze_model *model, const struct analyze_change *changes,
                           uint32_t count)
{
    int64_t before[CALLS] = {0}, after[CALLS] = {0};
    for (uint32_t i = 0; i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!object->counts)
            continue;
        uint32_t from = analyze_begin(object), to = analyze_end(model, object);
        int64_t parts[CALLS] = {0}, changed[CALLS], lost;
        add_life(before, from, to, (int64_t)object->bytes);
        for (uint32_t k = 0; k < model->objects.count; k++) {
            const struct analyze_object *part = &model->objects.items[k];
            if (part->parent == i)
                add_life(parts, analyze_begin(part), analyze_end(model, part),
                         (int64_t)part->bytes);
        }
        memcpy(changed, parts, sizeof(changed));
        for (uint32_t k = 0; k < count; k++) {
            if (changes[k].pool == i + 1)
                add_life(changed, changes[k].from, changes[k].to,
                         changes[k].more ? (int64_t)changes[k].bytes : -(int64_t)changes[k].bytes);
        }
        lost = most_of(parts) - most_of(changed);
        add_life(after, from, to, (int64_t)object->bytes - (lost > 0 ? lost : 0));
    }
    for (uint32_t k = 0; k < count; k++) {
        if (changes[k].pool == 0)
            add_life(after, changes[k].from, changes[k].to,
                     changes[k].more ? (int64_t)changes[k].bytes : -(int64_t)changes[k].bytes);
    }
    int64_t gain = most_of(before) - most_of(after);
    return gain > 0 ? (uint64_t)gain : 0;
}

static void replayed_parts_give_the_peak_that_counting_gives(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= 2000; round++) {
        uint64_t seed = round;
        struct analyze_model model;
        model_begin(&model);
        for (uint32_t i = 0; i < CALLS; i++)
            add_call(&model, PROFILE_CALL_OTHER, 0);
        for (uint32_t i = 0; i < POOLS + PARTS; i++) {
            bool part = i >= POOLS;
            uint32_t object = add_object(&model, part ? PROFILE_OBJECT_PART : PROFILE_OBJECT_DEVICE,
                                         random_below(&seed, 50));
            struct analyze_object *row = &model.objects.items[object];
            row->call = random_below(&seed, CALLS);
            row->end = random_below(&seed, 4) ? random_below(&seed, CALLS) : ANALYZE_NONE;
            row->parent = part ? random_below(&seed, POOLS) : ANALYZE_NONE;
            row->counts = !part;
            row->bytes += part ? 0 : 200;
        }
        assert_true(analyze_index_uses(&model));
        struct analyze_replay *replay = analyze_replay_new(&model);
        assert_non_null(replay);
        for (unsigned turn = 0; turn < 5; turn++) {
            struct analyze_change changes[CHANGES];
            uint32_t count = random_below(&seed, CHANGES + 1);
            for (uint32_t k = 0; k < count; k++)
                changes[k] = (struct analyze_change){.from = random_below(&seed, CALLS),
                                                     .to = random_below(&seed, CALLS + 1),
                                                     .bytes = random_below(&seed, 50),
                                                     .more = random_below(&seed, 4) == 0,
                                                     .pool = random_below(&seed, POOLS + 1)};
            uint64_t wanted = count_gain(&model, changes, count);
            uint64_t got = analyze_replay_gain(replay, changes, count);
            if (got != wanted)
                fail_msg("seed %llu: %llu, not %llu", (unsigned long long)round,
                         (unsigned long long)got, (unsigned long long)wanted);
        }
        analyze_replay_free(replay);
        analyze_model_fini(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slack_is_what_is_never_in_parts_at_once),
        cmocka_unit_test(a_pool_that_is_mostly_used_has_none),
        cmocka_unit_test(a_part_that_is_early_makes_its_pool_too_large),
        cmocka_unit_test(a_part_that_is_late_does_too_also_when_it_ends_with_its_pool),
        cmocka_unit_test(parts_that_nothing_uses_or_that_are_idle_are_found),
        cmocka_unit_test(a_part_can_reuse_another_part_but_nothing_outside),
        cmocka_unit_test(parts_leak_with_their_pool_only),
        cmocka_unit_test(writes_to_parts_are_dead_like_others),
        cmocka_unit_test(parts_of_a_pool_beside_the_peak_are_worth_nothing),
        cmocka_unit_test(replayed_parts_give_the_peak_that_counting_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
