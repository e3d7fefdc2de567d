// SPDX-License-Identifier: Apache-2.0
// The object map: exact to the byte, ordered ends, parts, arrays, a million objects, many threads.
#include "inject/core/objects.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "event/event.h"

static struct core_object make(uint64_t number, uint64_t start, uint64_t bytes, uint32_t context)
{
    return (struct core_object){.number = number,
                                .start = start,
                                .bytes = bytes,
                                .context = context,
                                .kind = EVENT_OBJECT_DEVICE};
}

static void add(struct core_objects *objects, uint64_t number, uint64_t start, uint64_t bytes,
                uint32_t context)
{
    struct core_object object = make(number, start, bytes, context);
    assert_true(core_objects_add(objects, OBJECTS_MEMORY, &object));
}

static uint64_t find(struct core_objects *objects, uint64_t address)
{
    struct core_object found;
    core_objects_find(objects, OBJECTS_MEMORY, address, &found);
    return found.number;
}

static void an_object_holds_its_bytes_and_no_other(void **unused)
{
    (void)unused;
    struct core_objects objects;
    core_objects_init(&objects);
    add(&objects, 1, 0x1000, 16, 1);
    add(&objects, 2, 0x1010, 1, 1); // adjacent
    add(&objects, 3, UINT64_MAX - 9, 10, 1);
    assert_int_equal(find(&objects, 0xfff), 0);
    assert_int_equal(find(&objects, 0x1000), 1);
    assert_int_equal(find(&objects, 0x100f), 1);
    assert_int_equal(find(&objects, 0x1010), 2);
    assert_int_equal(find(&objects, 0x1011), 0);
    assert_int_equal(find(&objects, UINT64_MAX), 3);
    assert_int_equal(find(&objects, UINT64_MAX - 10), 0);
    core_objects_fini(&objects);
}

static void a_word_points_into_an_object_to_its_end_or_just_before_it(void **unused)
{
    (void)unused;
    struct core_objects objects;
    struct core_objects_pointed found;
    core_objects_init(&objects);
    found = core_objects_pointed(&objects, 0x1000); // there are no objects yet
    assert_int_equal(found.count, 0);
    add(&objects, 1, 0x1000, 0x100, 1);
    add(&objects, 2, 0x1100, 0x100, 1); // adjacent
    struct core_object pinned = make(3, 0x9000, 0x100, 1);
    pinned.kind = EVENT_OBJECT_PINNED;
    assert_true(core_objects_add(&objects, OBJECTS_MEMORY, &pinned));
    static const struct {
        uint64_t word, first, second;
    } words[] = {
        {0x1000, 1, 0}, {0x10ef, 1, 0}, {0x10f0, 1, 2}, {0x1100, 2, 1},     {0x1101, 2, 0},
        {0x1200, 2, 0}, {0x1201, 0, 0}, {0xff0, 1, 0},  {0xfef, 0, 0},      {0x5000, 0, 0},
        {0x9100, 3, 0}, {0x9101, 0, 0}, {0, 0, 0},      {UINT64_MAX, 0, 0},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        found = core_objects_pointed(&objects, words[i].word);
        assert_int_equal(found.count, (words[i].first != 0) + (words[i].second != 0));
        assert_true(!words[i].first || found.numbers[0] == words[i].first);
        assert_true(!words[i].second || found.numbers[1] == words[i].second);
        assert_int_equal(found.leads_on, words[i].first == 3);
    }
    struct core_object tensor = make(4, 0x1080, 0x40, 1), next = make(5, 0x10c0, 0x40, 1);
    tensor.kind = next.kind = EVENT_OBJECT_TENSOR;
    assert_true(core_objects_add(&objects, OBJECTS_PARTS, &tensor));
    assert_true(core_objects_add(&objects, OBJECTS_PARTS, &next));
    static const struct {
        uint64_t word, first, second;
    } borders[] = {
        {0x1080, 4, 0}, {0x10c0, 5, 0}, {0x10b0, 4, 5},
        {0x10c1, 5, 0}, {0x1070, 1, 4}, {0x1100, 2, 5},
    };
    for (size_t i = 0; i < sizeof(borders) / sizeof(borders[0]); i++) {
        found = core_objects_pointed(&objects, borders[i].word);
        assert_int_equal(found.count, 1 + (borders[i].second != 0));
        assert_int_equal(found.numbers[0], borders[i].first);
        assert_true(!borders[i].second || found.numbers[1] == borders[i].second);
    }
    // Four bytes hold no address.
    struct core_object small = make(6, 0xa000, 4, 1), word = make(7, 0xa100, 8, 1);
    small.kind = word.kind = EVENT_OBJECT_PINNED;
    assert_true(core_objects_add(&objects, OBJECTS_MEMORY, &small));
    assert_true(core_objects_add(&objects, OBJECTS_MEMORY, &word));
    assert_false(core_objects_pointed(&objects, 0xa000).leads_on);
    assert_true(core_objects_pointed(&objects, 0xa100).leads_on);
    core_objects_unsearched(&objects, 0x1180);
    assert_true(core_objects_pointed(&objects, 0x1100).leads_on);
    assert_false(core_objects_pointed(&objects, 0x1080).leads_on);
    core_objects_fini(&objects);
}

static void addresses_in_data_are_found_once(void **unused)
{
    (void)unused;
    struct core_objects objects;
    core_objects_init(&objects);
    add(&objects, 1, 0x10000, 0x100, 1);
    add(&objects, 2, 0x20000, 0x100, 1);
    add(&objects, 3, 0x30000, 0x100, 1);
    const uint64_t words[] = {5, 0x18000, 0x18008, 0x20010, 0x28000, 0x20000, 0x10100, 0x30100 + 1};
    size_t at = 0;
    assert_int_equal(core_objects_address(&objects, (const char *)words, sizeof(words), &at), 2);
    assert_int_equal(at, 3 * sizeof(words[0]));
    assert_int_equal(core_objects_address(&objects, (const char *)words, sizeof(words), &at), 1);
    assert_int_equal(core_objects_address(&objects, (const char *)words, sizeof(words), &at), 0);
    at = 0; // the second time, all are known
    assert_int_equal(core_objects_address(&objects, (const char *)words, sizeof(words), &at), 0);
    core_objects_fini(&objects);
}

static void what_overlaps_is_refused_until_it_is_taken_away(void **unused)
{
    (void)unused;
    struct core_objects objects;
    struct core_object over = make(9, 0x1008, 16, 1), taken;
    core_objects_init(&objects);
    add(&objects, 1, 0x1000, 16, 1);
    add(&objects, 2, 0x1010, 16, 1);
    assert_false(core_objects_add(&objects, OBJECTS_MEMORY, &over));
    assert_int_equal(find(&objects, 0x1008), 1);
    assert_true(core_objects_take_overlap(&objects, OBJECTS_MEMORY, 0x1008, 16, &taken));
    assert_int_equal(taken.number, 1);
    assert_true(core_objects_take_overlap(&objects, OBJECTS_MEMORY, 0x1008, 16, &taken));
    assert_int_equal(taken.number, 2);
    assert_false(core_objects_take_overlap(&objects, OBJECTS_MEMORY, 0x1008, 16, &taken));
    assert_true(core_objects_add(&objects, OBJECTS_MEMORY, &over));
    core_objects_fini(&objects);
}

static void only_the_start_takes_an_object_away(void **unused)
{
    (void)unused;
    struct core_objects objects;
    struct core_object taken;
    core_objects_init(&objects);
    add(&objects, 1, 0x1000, 16, 1);
    assert_false(core_objects_take(&objects, OBJECTS_MEMORY, 0x1001, &taken));
    assert_true(core_objects_take(&objects, OBJECTS_MEMORY, 0x1000, &taken));
    assert_int_equal(taken.number, 1);
    assert_int_equal(taken.bytes, 16);
    assert_false(core_objects_take(&objects, OBJECTS_MEMORY, 0x1000, &taken));
    core_objects_fini(&objects);
}

static void a_context_takes_its_own_objects_with_it(void **unused)
{
    (void)unused;
    struct core_objects objects;
    struct core_object taken;
    uint64_t from = 0, sum = 0;
    core_objects_init(&objects);
    for (uint64_t i = 1; i <= 100; i++)
        add(&objects, i, i * 64, 64, (uint32_t)(i % 2));
    while (core_objects_take_of(&objects, OBJECTS_MEMORY, 1, 0, &from, &taken)) {
        assert_int_equal(taken.context, 1);
        sum += taken.number;
    }
    assert_int_equal(sum, 50 * 50); // the odd ones
    assert_int_equal(find(&objects, 64), 0);
    assert_int_equal(find(&objects, 128), 2);
    core_objects_fini(&objects);
}

static void parts_lie_above_objects(void **unused)
{
    (void)unused;
    struct core_objects objects;
    struct core_object part = make(2, 0x1004, 4, 1), found;
    core_objects_init(&objects);
    add(&objects, 1, 0x1000, 16, 1);
    assert_true(core_objects_add(&objects, OBJECTS_PARTS, &part));
    assert_true(core_objects_find(&objects, OBJECTS_PARTS, 0x1007, &found));
    assert_false(core_objects_find(&objects, OBJECTS_PARTS, 0x1008, &found));
    assert_int_equal(found.number, 0);
    assert_int_equal(find(&objects, 0x1007), 1);
    core_objects_fini(&objects);
}

static void arrays_are_found_by_handle(void **unused)
{
    (void)unused;
    struct core_objects objects;
    struct core_object array = make(1, 0xabc, 100, 7), found;
    core_objects_init(&objects);
    assert_true(core_objects_add_array(&objects, &array));
    assert_false(core_objects_add_array(&objects, &array));
    assert_true(core_objects_find_array(&objects, 0xabc, &found));
    assert_false(core_objects_find(&objects, OBJECTS_MEMORY, 0xabc, &found));
    assert_false(core_objects_take_array_of(&objects, 6, &found));
    assert_true(core_objects_take_array_of(&objects, 7, &found));
    assert_int_equal(found.bytes, 100);
    assert_false(core_objects_take_array(&objects, 0xabc, &found));
    core_objects_fini(&objects);
}

static void a_level_leads_to_its_array_as_long_as_that_lives(void **unused)
{
    (void)unused;
    struct core_objects objects;
    struct core_object array = make(1, 0xabc, 100, 7), found;
    core_objects_init(&objects);
    assert_true(core_objects_add_array(&objects, &array));
    core_objects_alias_array(&objects, 0xdef, 0xabc);
    core_objects_alias_array(&objects, 0x123, 0x456); // an unknown array
    assert_true(core_objects_find_array(&objects, 0xdef, &found));
    assert_int_equal(found.number, 1);
    assert_false(core_objects_find_array(&objects, 0x123, &found));
    assert_true(core_objects_take_array(&objects, 0xabc, &found));
    core_objects_forget_aliases(&objects, 1);
    assert_false(core_objects_find_array(&objects, 0xdef, &found));
    core_objects_fini(&objects);
}

static void a_million_objects_are_found(void **unused)
{
    (void)unused;
    enum { COUNT = 1000000 };
    struct core_objects objects;
    core_objects_init(&objects);
    for (uint64_t i = 0; i < COUNT; i++)
        add(&objects, i + 1, i * 512, 500, 1);
    for (uint64_t i = 0; i < COUNT; i += 997) {
        assert_int_equal(find(&objects, i * 512), i + 1);
        assert_int_equal(find(&objects, i * 512 + 499), i + 1);
        assert_int_equal(find(&objects, i * 512 + 500), 0);
    }
    core_objects_fini(&objects);
}

// --- Threads -------------------------------------------------------------------------------------

struct worker {
    struct core_objects *objects;
    uint64_t base;
    bool failed;
};

// Each thread has its own addresses in the shared map, so that every answer is known.
static void *work(void *user)
{
    struct worker *worker = user;
    struct core_object found;
    for (uint64_t round = 0; round < 2000; round++) {
        struct core_object object =
            make(worker->base + round, worker->base + round % 7 * 64, 64, 1);
        worker->failed |= !core_objects_add(worker->objects, OBJECTS_MEMORY, &object);
        worker->failed |=
            !core_objects_find(worker->objects, OBJECTS_MEMORY, object.start + 63, &found) ||
            found.number != object.number;
        worker->failed |=
            !core_objects_take(worker->objects, OBJECTS_MEMORY, object.start, &found) ||
            found.number != object.number;
    }
    return NULL;
}

static void threads_share_the_map(void **unused)
{
    (void)unused;
    enum { COUNT = 4 };
    struct core_objects objects;
    struct worker workers[COUNT];
    pthread_t threads[COUNT];
    core_objects_init(&objects);
    for (int i = 0; i < COUNT; i++) {
        workers[i] = (struct worker){&objects, (uint64_t)(i + 1) << 32, false};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
        assert_false(workers[i].failed);
    }
    assert_int_equal(base_intervals_count(&objects.layers[OBJECTS_MEMORY]), 0);
    core_objects_fini(&objects);
}

static void pieces_are_objects_cut_by_their_parts(void **unused)
{
    (void)unused;
    struct core_objects objects;
    struct core_objects_piece pieces[8], piece;
    uint64_t changes, later;
    core_objects_init(&objects);
    add(&objects, 1, 100, 50, 1);
    add(&objects, 2, 150, 50, 1);
    add(&objects, 3, UINT64_MAX - 9, 10, 1);
    assert_int_equal(core_objects_pieces(&objects, pieces, 8, &changes), 3);
    struct core_object part = make(4, 150, 10, 1), last = make(5, 190, 10, 1),
                       top = make(6, 0, 4, 1);
    top.start = UINT64_MAX - 3;
    assert_true(core_objects_add(&objects, OBJECTS_PARTS, &part));
    assert_true(core_objects_add(&objects, OBJECTS_PARTS, &last));
    assert_true(core_objects_add(&objects, OBJECTS_PARTS, &top));
    static const uint64_t expected[][3] = {{1, 100, 50},           {4, 150, 10},
                                           {2, 160, 30},           {5, 190, 10},
                                           {3, UINT64_MAX - 9, 6}, {6, UINT64_MAX - 3, 4}};
    assert_int_equal(core_objects_pieces(&objects, pieces, 8, &later), 6);
    assert_int_equal(later, changes + 3);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(pieces[i].object.number, expected[i][0]);
        assert_int_equal(pieces[i].start, expected[i][1]);
        assert_int_equal(pieces[i].bytes, expected[i][2]);
        for (uint64_t at = 0; at < expected[i][2]; at++) { // each of its bytes finds the piece
            assert_true(core_objects_find_piece(&objects, expected[i][1] + at, &piece));
            assert_int_equal(piece.object.number, expected[i][0]);
            assert_int_equal(piece.start, expected[i][1]);
            assert_int_equal(piece.bytes, expected[i][2]);
        }
    }
    assert_int_equal(core_objects_pieces(&objects, pieces, 2, &later), 6);
    assert_false(core_objects_find_piece(&objects, 99, &piece));
    assert_false(core_objects_find_piece(&objects, 200, &piece));
    struct core_object taken;
    assert_true(core_objects_take(&objects, OBJECTS_PARTS, 150, &taken));
    assert_int_equal(core_objects_pieces(&objects, pieces, 8, &changes), 5);
    assert_int_equal(changes, later + 1);
    core_objects_fini(&objects);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_objects_cut_by_their_parts),
        cmocka_unit_test(an_object_holds_its_bytes_and_no_other),
        cmocka_unit_test(a_word_points_into_an_object_to_its_end_or_just_before_it),
        cmocka_unit_test(addresses_in_data_are_found_once),
        cmocka_unit_test(what_overlaps_is_refused_until_it_is_taken_away),
        cmocka_unit_test(only_the_start_takes_an_object_away),
        cmocka_unit_test(a_context_takes_its_own_objects_with_it),
        cmocka_unit_test(parts_lie_above_objects),
        cmocka_unit_test(arrays_are_found_by_handle),
        cmocka_unit_test(a_level_leads_to_its_array_as_long_as_that_lives),
        cmocka_unit_test(a_million_objects_are_found),
        cmocka_unit_test(threads_share_the_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
