// SPDX-License-Identifier: Apache-2.0
// Similar findings: which of them are merged into one, and what fixing all of them is worth,
// compared with counting after every call.
#include "models.h"

static uint32_t at_path(struct analyze_model *model, uint32_t call, uint32_t path)
{
    model->calls.items[call].path = path;
    return call;
}

static const struct analyze_finding *find(const struct analysis *analysis,
                                          enum analyze_pattern pattern, size_t which)
{
    for (size_t i = 0; i < analysis->finding_count; i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        if (finding->pattern == pattern && which-- == 0)
            return finding;
    }
    return NULL;
}

static size_t count_of(const struct analysis *analysis, enum analyze_pattern pattern)
{
    size_t count = 0;
    while (find(analysis, pattern, count))
        count++;
    return count;
}

// --- Similar findings ----------------------------------------------------------------------------

// From where an iteration of a loop makes its calls, and the name of its object.
struct place {
    const char *name;
    uint32_t alloc, use, end;
};

// Allocates the object, uses it after another GPU API, and frees it after one more.
static uint32_t add_round(struct analyze_model *model, uint32_t other, uint64_t bytes,
                          struct place place)
{
    uint32_t object = allocate(model, bytes);
    at_path(model, model->objects.items[object].call, place.alloc);
    model->objects.items[object].name = place.name;
    copy_out(model, other, 0, 1);
    at_path(model, copy_out(model, object, 0, bytes), place.use);
    copy_out(model, other, 0, 1);
    at_path(model, release(model, object), place.end);
    return object;
}

// Iterations of a loop, each with its own object, while another object exists.
static struct analysis *analyze_rounds(const struct place *places, size_t count)
{
    struct analyze_model model;
    model_begin(&model);
    uint32_t other = allocate(&model, 1);
    copy_in(&model, other, 0, 1);
    for (size_t i = 0; i < count; i++)
        add_round(&model, other, i == 1 ? 300 : 100 + i, places[i]);
    copy_out(&model, other, 0, 1);
    release(&model, other);
    return analyze(&model, analyze_default_thresholds());
}

static void objects_of_a_loop_are_one_finding(void **state)
{
    (void)state;
    static const struct place places[] = {
        {"a", 10, 11, 12}, {"a", 10, 11, 12}, {"a", 10, 11, 12}, {"a", 10, 11, 12}};
    struct analysis *analysis = analyze_rounds(places, 4);
    assert_int_equal(count_of(analysis, ANALYZE_EARLY_ALLOCATION), 1);
    assert_int_equal(count_of(analysis, ANALYZE_LATE_DEALLOCATION), 1);
    const struct analyze_finding *early = find(analysis, ANALYZE_EARLY_ALLOCATION, 0);
    assert_int_equal(early->count, 4);
    assert_int_equal(early->times, 4);
    // The second object is the largest, so the finding names it; the others follow in order.
    assert_int_equal(early->object, 3);
    assert_int_equal(early->peak, 1);
    assert_int_equal(early->object_count, 4);
    static const uint64_t objects[] = {3, 2, 4, 5};
    assert_memory_equal(early->objects, objects, sizeof(objects));
    assert_int_equal(early->path, 10);
    assert_int_equal(early->other_path, 11);
    // Allocated later, it would still be in use together with the other object.
    assert_int_equal(early->peak_bytes, 0);
    analyze_free(analysis);
}

static void what_has_another_place_is_another_finding(void **state)
{
    (void)state;
    static const struct place pairs[][2] = {
        {{"a", 10, 11, 12}, {"a", 20, 11, 12}},
        {{NULL, 10, 11, 12}, {NULL, 20, 11, 12}},
        {{"a", 0, 11, 12}, {"a", 0, 11, 12}},
        {{NULL, 0, 11, 12}, {NULL, 0, 11, 12}},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct analysis *analysis = analyze_rounds(pairs[i], 2);
        assert_int_equal(count_of(analysis, ANALYZE_EARLY_ALLOCATION), 2);
        for (size_t k = 0; k < 2; k++) {
            const struct analyze_finding *early = find(analysis, ANALYZE_EARLY_ALLOCATION, k);
            assert_int_equal(early->count, 1);
            assert_int_equal(early->object_count, 1);
            assert_int_equal(early->objects[0], early->object);
        }
        analyze_free(analysis);
    }
}

// The name of the object, and where it is used first, do not matter; nor do several call paths of
// one line, which a compiler makes when it unrolls a loop.
static void one_line_gives_one_finding(void **state)
{
    (void)state;
    static const struct place pairs[][2] = {
        {{"a", 10, 11, 12}, {"b", 10, 11, 12}}, {{"a", 10, 11, 12}, {"a", 10, 20, 12}},
        {{"a", 10, 0, 12}, {"a", 10, 0, 12}},   {{"a", 10, 11, 12}, {NULL, 10, 11, 12}},
        {{"a", 10, 11, 12}, {"b", 30, 11, 12}},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t other = allocate(&model, 1);
        copy_in(&model, other, 0, 1);
        for (uint32_t path = 10; path <= 30; path += 20)
            *base_map_put(&model.places, path, NULL) = 7;
        for (size_t k = 0; k < 2; k++)
            add_round(&model, other, 100, pairs[i][k]);
        release(&model, other);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        assert_int_equal(count_of(analysis, ANALYZE_EARLY_ALLOCATION), 1);
        assert_int_equal(find(analysis, ANALYZE_EARLY_ALLOCATION, 0)->count, 2);
        analyze_free(analysis);
    }
}

// A free from another place is another late free, but the same early allocation. Objects without a
// name are similar if one place allocates them.
static void a_pattern_goes_by_its_own_calls(void **state)
{
    (void)state;
    static const struct place pairs[][2] = {{{"a", 10, 11, 12}, {"a", 10, 11, 20}},
                                            {{NULL, 10, 11, 12}, {NULL, 10, 11, 20}}};
    for (size_t i = 0; i < 2; i++) {
        struct analysis *analysis = analyze_rounds(pairs[i], 2);
        assert_int_equal(count_of(analysis, ANALYZE_EARLY_ALLOCATION), 1);
        assert_int_equal(count_of(analysis, ANALYZE_LATE_DEALLOCATION), 2);
        analyze_free(analysis);
    }
}

static void of_many_the_first_hundred_are_named(void **state)
{
    (void)state;
    enum { ROUNDS = ANALYZE_MOST_OBJECTS + 20 };
    struct analyze_model model;
    model_begin(&model);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint32_t object = allocate(&model, i == ROUNDS - 1 ? 1000 : 100);
        at_path(&model, model.objects.items[object].call, 10);
        at_path(&model, release(&model, object), 11);
    }
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    assert_int_equal(analysis->finding_count, 1);
    const struct analyze_finding *unused = analyze_finding(analysis, 0);
    assert_int_equal(unused->count, ROUNDS);
    assert_int_equal(unused->object_count, ANALYZE_MOST_OBJECTS);
    assert_int_equal(unused->objects[0], ROUNDS); // the best
    for (uint64_t i = 1; i < ANALYZE_MOST_OBJECTS; i++)
        assert_int_equal(unused->objects[i], i);
    // Fixing this one saves 900 bytes, as the next object has 100; fixing all saves everything.
    assert_int_equal(unused->peak_bytes, 1000);
    analyze_free(analysis);
}

static void traffic_and_time_of_writes_in_vain_add_up(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    for (uint64_t i = 1; i <= 3; i++) {
        uint32_t object = allocate(&model, 100 * i);
        at_path(&model, model.objects.items[object].call, 10);
        for (uint64_t k = 0; k < i; k++) {
            uint32_t dead = at_path(&model, set(&model, object, 0, 100 * i), 11);
            model.calls.items[dead].gpu_ns = 1000;
        }
        at_path(&model, copy_in(&model, object, 0, 100 * i), 12);
        copy_out(&model, object, 0, 100 * i);
        release(&model, object);
    }
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    // Only a copy overwrites the first object's set; another set overwrites those of the others.
    assert_int_equal(count_of(analysis, ANALYZE_DEAD_WRITE), 1);
    const struct analyze_finding *most = find(analysis, ANALYZE_DEAD_WRITE, 0);
    assert_int_equal(most->count, 3);
    assert_int_equal(most->object, 3);
    assert_int_equal(most->times, 1 + 2 + 3);
    assert_int_equal(most->traffic_bytes, 100 + 2 * 200 + 3 * 300);
    assert_int_equal(most->gpu_ns, 6000);
    analyze_free(analysis);
}

// Each object reuses the memory of the one before it, so all of them use that of the first.
static void a_chain_of_reuse_needs_the_memory_of_one(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    static const uint64_t bytes[] = {1000, 1050, 1000, 1040, 1010};
    enum { COUNT = sizeof(bytes) / sizeof(bytes[0]) };
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t object = allocate(&model, bytes[i]);
        at_path(&model, model.objects.items[object].call, 10);
    }
    for (uint32_t o = 0; o < COUNT; o++)
        at_path(&model, copy_out(&model, o, 0, bytes[o]), 11);
    for (uint32_t o = 0; o < COUNT; o++)
        at_path(&model, release(&model, o), 12);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    assert_int_equal(count_of(analysis, ANALYZE_REDUNDANT_ALLOCATION), 1);
    const struct analyze_finding *finding = find(analysis, ANALYZE_REDUNDANT_ALLOCATION, 0);
    assert_int_equal(finding->count, COUNT - 1);
    assert_int_equal(finding->peak_bytes, 1000 + 1050 + 1000 + 1040 + 1010 - 1050);
    analyze_free(analysis);
}

// --- Random programs -----------------------------------------------------------------------------

enum { MOST_OBJECTS = 24, MOST_CALLS = 200 };

// One stream, a few names and places. Without places, every finding is separate.
static void make_program(struct analyze_model *model, uint64_t seed, bool with_places)
{
    static const char *const names[] = {"a", "b", NULL};
    uint32_t steps = 10 + random_below(&seed, 80);
    model_begin(model);
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t objects = (uint32_t)model->objects.count;
        uint32_t object = objects ? random_below(&seed, objects) : 0, what = random_below(&seed, 8);
        uint32_t path = random_below(&seed, 3), name = random_below(&seed, 3);
        uint64_t bytes = random_below(&seed, 3) ? 100 : 90 + random_below(&seed, 30);
        const struct analyze_object *row = objects ? &model->objects.items[object] : NULL;
        if (what < 3 && objects < MOST_OBJECTS) {
            object = allocate(model, bytes);
            model->objects.items[object].name = names[name];
        } else if (!row || row->has_end) {
            continue;
        } else if (what == 3) {
            release(model, object);
        } else if (what == 4) {
            copy_out(model, object, 0, row->bytes);
        } else if (what == 5) {
            copy_out(model, object, 0, row->bytes);
        } else {
            launch(model, LEGACY, 1);
            uses(model, object, ANALYZE_READ | ANALYZE_WRITE);
        }
        model->calls.items[model->calls.count - 1].path = with_places ? path : 0;
        model->calls.items[model->calls.count - 1].gpu_ns = bytes;
    }
}

// The data of the program that counting needs.
struct counted {
    struct {
        uint64_t bytes;
        uint32_t from, to; // lifetime
        uint32_t first, last;
        const char *name;
        uint32_t path;
        bool unused; // by a finding
    } objects[MOST_OBJECTS];
    uint32_t paths[MOST_CALLS]; // call paths of calls
    uint32_t object_count, call_count;
};

static void note(struct counted *counted, const struct analyze_model *model)
{
    counted->object_count = (uint32_t)model->objects.count;
    counted->call_count = (uint32_t)model->calls.count;
    for (uint32_t i = 0; i < counted->call_count; i++)
        counted->paths[i] = model->calls.items[i].path;
    for (uint32_t i = 0; i < counted->object_count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        counted->objects[i].bytes = object->bytes;
        counted->objects[i].from = object->call;
        counted->objects[i].to = analyze_end(model, object);
        counted->objects[i].first = counted->objects[i].last = ANALYZE_NONE;
        counted->objects[i].name = object->name;
        counted->objects[i].path = counted->paths[object->call];
        counted->objects[i].unused = false;
    }
    for (size_t i = 0; i < model->touches.count; i++) {
        const struct analyze_touch *row = &model->touches.items[i];
        if (counted->objects[row->object].first == ANALYZE_NONE)
            counted->objects[row->object].first = row->call;
        counted->objects[row->object].last = row->call;
    }
}

static bool same_place(const struct counted *counted, uint64_t one, uint64_t other)
{
    return one == other || (one && other && counted->paths[one - 1] &&
                            counted->paths[one - 1] == counted->paths[other - 1]);
}

static bool are_alike(const struct counted *counted, const struct analyze_finding *a,
                      const struct analyze_finding *b)
{
    return a->pattern == b->pattern && a->aspect == b->aspect &&
           same_place(counted, a->call, b->call);
}

static int64_t peak_of(const int64_t *in_use, uint32_t count)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = in_use[i] > most ? in_use[i] : most;
    return most;
}

static void add_bytes(int64_t *in_use, uint32_t from, uint32_t to, int64_t bytes)
{
    for (uint32_t i = from; i < to; i++)
        in_use[i] += bytes;
}

// Objects that reuse memory of others: all objects in one piece of memory need it from the first
// one's start to the last one's end, in the size of the largest.
static void count_reuse(const struct counted *counted, const struct analyze_finding *const *members,
                        size_t count, int64_t *in_use)
{
    uint32_t into[MOST_OBJECTS];
    for (uint32_t o = 0; o < counted->object_count; o++)
        into[o] = o;
    for (size_t i = 0; i < count; i++)
        into[members[i]->object - 1] = (uint32_t)members[i]->other_object - 1;
    for (uint32_t root = 0; root < counted->object_count; root++) {
        uint64_t bytes = 0;
        uint32_t end = 0;
        if (into[root] != root)
            continue;
        for (uint32_t o = 0; o < counted->object_count; o++) {
            uint32_t at = o;
            while (into[at] != at)
                at = into[at];
            if (at != root)
                continue;
            bytes = counted->objects[o].bytes > bytes ? counted->objects[o].bytes : bytes;
            end = counted->objects[o].to > end ? counted->objects[o].to : end;
        }
        add_bytes(in_use, counted->objects[root].from, end, (int64_t)bytes);
    }
}

// By how much the peak falls if all members are fixed.
static uint64_t count_worth(const struct counted *counted,
                            const struct analyze_finding *const *members, size_t count)
{
    int64_t before[MOST_CALLS] = {0}, after[MOST_CALLS] = {0};
    for (uint32_t o = 0; o < counted->object_count; o++)
        add_bytes(before, counted->objects[o].from, counted->objects[o].to,
                  (int64_t)counted->objects[o].bytes);
    if (members[0]->pattern == ANALYZE_REDUNDANT_ALLOCATION) {
        count_reuse(counted, members, count, after);
    } else {
        memcpy(after, before, sizeof(after));
        for (size_t i = 0; i < count; i++) {
            uint32_t o = (uint32_t)members[i]->object - 1;
            int64_t bytes = -(int64_t)counted->objects[o].bytes;
            uint32_t from = counted->objects[o].from, to = counted->objects[o].to;
            uint32_t first = counted->objects[o].first, last = counted->objects[o].last;
            switch (members[i]->pattern) {
            case ANALYZE_EARLY_ALLOCATION: add_bytes(after, from, first, bytes); break;
            case ANALYZE_LATE_DEALLOCATION: add_bytes(after, last + 1, to, bytes); break;
            case ANALYZE_UNUSED_ALLOCATION: add_bytes(after, from, to, bytes); break;
            case ANALYZE_MEMORY_LEAK:
                if (counted->objects[o].unused) // that finding has the gain
                    break;
                add_bytes(after, last == ANALYZE_NONE ? from : last + 1, to, bytes);
                break;
            default: break;
            }
        }
    }
    int64_t gain = peak_of(before, counted->call_count) - peak_of(after, counted->call_count);
    return gain > 0 ? (uint64_t)gain : 0;
}

static bool names_object(const struct analyze_finding *finding, uint64_t object)
{
    for (size_t i = 0; i < finding->object_count; i++) {
        if (finding->objects[i] == object)
            return true;
    }
    return false;
}

// Every separate finding without places is a member of exactly one finding with them, and that
// finding's worth is that of its members together.
// Without places, the matches of these patterns are others.
static bool goes_by_places(const struct analyze_finding *finding)
{
    return finding->pattern == ANALYZE_DEAD_WRITE || finding->pattern == ANALYZE_TEMPORARY_IDLENESS;
}

static void random_findings_are_what_their_members_are_together(void **state)
{
    (void)state;
    uint64_t large = 0; // groups of several members that lower the peak
    for (uint64_t round = 1; round <= 3000; round++) {
        struct analyze_model model;
        struct counted counted;
        make_program(&model, round, false);
        struct analysis *alone = analyze(&model, analyze_default_thresholds());
        make_program(&model, round, true);
        note(&counted, &model);
        for (size_t i = 0; i < alone->finding_count; i++) {
            const struct analyze_finding *finding = analyze_finding(alone, i);
            if (finding->pattern == ANALYZE_UNUSED_ALLOCATION)
                counted.objects[finding->object - 1].unused = true;
        }
        struct analysis *grouped = analyze(&model, analyze_default_thresholds());
        uint64_t members_of_all = 0;
        for (size_t i = 0; i < grouped->finding_count; i++) {
            const struct analyze_finding *group = analyze_finding(grouped, i);
            const struct analyze_finding *members[4 * MOST_OBJECTS] = {0};
            uint64_t count = 0, times = 0, traffic = 0, gpu_ns = 0;
            for (size_t k = 0; k < alone->finding_count && count < 4 * MOST_OBJECTS; k++) {
                const struct analyze_finding *member = analyze_finding(alone, k);
                assert_int_equal(member->count, 1);
                if (goes_by_places(member) || !are_alike(&counted, group, member))
                    continue;
                members[count++] = member;
                times += member->times;
                traffic += member->traffic_bytes;
                gpu_ns += member->gpu_ns;
                assert_true(names_object(group, member->object));
            }
            if (goes_by_places(group))
                continue;
            members_of_all += count;
            if (group->count != count || group->times != times || group->object_count != count ||
                group->traffic_bytes != traffic || group->gpu_ns != gpu_ns || count == 0)
                fail_msg("round %d: %s of object %d has %d members, not %d", (int)round,
                         analyze_pattern_word(group->pattern), (int)group->object,
                         (int)group->count, (int)count);
            assert_non_null(members[0]);
            // The best of them comes first in the ranking of separate findings.
            assert_int_equal(group->object, members[0]->object);
            assert_int_equal(group->objects[0], members[0]->object);
            assert_int_equal(group->call, members[0]->call);
            uint64_t worth = count_worth(&counted, members, count);
            if (group->peak_bytes != worth)
                fail_msg("round %d: %s of object %d is worth %d, not %d", (int)round,
                         analyze_pattern_word(group->pattern), (int)group->object,
                         (int)group->peak_bytes, (int)worth);
            large += count > 1 && worth > members[0]->peak_bytes;
        }
        for (size_t k = 0; k < alone->finding_count; k++)
            members_of_all -= !goes_by_places(analyze_finding(alone, k));
        assert_int_equal(members_of_all, 0);
        analyze_free(alone);
        analyze_free(grouped);
    }
    assert_true(large > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_of_a_loop_are_one_finding),
        cmocka_unit_test(what_has_another_place_is_another_finding),
        cmocka_unit_test(one_line_gives_one_finding),
        cmocka_unit_test(a_pattern_goes_by_its_own_calls),
        cmocka_unit_test(of_many_the_first_hundred_are_named),
        cmocka_unit_test(traffic_and_time_of_writes_in_vain_add_up),
        cmocka_unit_test(a_chain_of_reuse_needs_the_memory_of_one),
        cmocka_unit_test(random_findings_are_what_their_members_are_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
