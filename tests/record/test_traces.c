// SPDX-License-Identifier: Apache-2.0
// Traces of launches go through the model of caches: the rows of a profile are what src/cache
// computes of the same records, for the objects that existed at the launch. Traces that a program
// has corrupted, or of which a part is missing, leave no rows, and never stop the recorder.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cache/cache.h"
#include "feeding.h"

enum {
    SLOTS = 1 << 14,
    KERNEL = 3,
    SITES = 3, // a load, a store and an atomic operation
    BLOCKS = 5,
    WARPS = 2, // of a block
    RECORDS = 4000,
    OBJECTS = 6, // by number; 0: none
    OWNERS = SITES * OBJECTS,
};

static struct feeding feeding;

#define PUT(kind, record, more, more_bytes) \
    assert_true(event_put(feeding.ring, kind, &(record), sizeof(record), (more), (more_bytes)))

static void put_object(uint64_t number, uint64_t first, uint64_t bytes, uint64_t call,
                       uint64_t parent)
{
    const struct event_object object = {
        .number = number, .address = first, .bytes = bytes, .call = call, .parent = parent};
    PUT(EVENT_OBJECT, object, NULL, 0);
}

static void put_object_end(uint64_t number, uint64_t call)
{
    const struct event_object_end end = {.number = number, .call = call};
    PUT(EVENT_OBJECT_END, end, NULL, 0);
}

// Object 1 has object 2 as a part. Object 3 is freed before call 5, and object 4 takes its place
// until call 6. Object 5 begins at call 7.
static void begin(void)
{
    const struct record_request request = {.overwrite = true, .caches = true};
    const struct event_device device = {.number = 1, .major = 9, .multiprocessors = 132};
    const struct event_kernel kernel = {.number = KERNEL};
    static const char texts[] = "k\0ld.global.u32\0\0\0\0\0";
    feeding = feeding_begin(feeding_path, SLOTS, &request);
    assert_non_null(feeding.session);
    PUT(EVENT_DEVICE, device, "NVIDIA H200", 12);
    PUT(EVENT_KERNEL, kernel, "k", 2);
    for (uint32_t i = 0; i < SITES; i++) {
        const struct event_site site = {
            .kernel = KERNEL, .number = i + 1, .index = i, .bytes = 4, .access = (uint8_t)i};
        PUT(EVENT_SITE, site, texts, sizeof(texts));
    }
    put_object(1, 0x10000, 0x8000, 1, 0);
    put_object(2, 0x12000, 0x1000, 2, 1);
    put_object(3, 0x20000, 0x8000, 2, 0);
    put_object_end(3, 3);
    put_object(4, 0x20000, 0x4000, 4, 0);
    put_object_end(4, 6);
    put_object(5, 0x30000, 0x8000, 7, 0);
}

static struct profile *end(void)
{
    struct base_error error = {0};
    struct profile *profile;
    assert_true(feeding_end(&feeding));
    if (profile_open(feeding_path, &profile, &error) != BASE_OK)
        fail_msg("%s", error.text[0]);
    return profile;
}

// --- A trace -------------------------------------------------------------------------------------

static const struct event_trace good = {
    .call = 5,
    .blocks = BLOCKS,
    .records = RECORDS,
    .kernel = KERNEL,
    .threads = WARPS * 32 - 10,
    .resident = 2,
    .shared_bytes = 5000,
    .carveout = -1,
    .share = CACHE_ALL,
    .device = 1,
};

static struct event_traced records[RECORDS];
static struct event_traced_block blocks[BLOCKS];

static uint32_t random_below(uint32_t below)
{
    static uint64_t state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % below);
}

// Records arrive level by level: those of half of the lines, then of a quarter, and so on.
static void sort_by_level(void)
{
    enum { LEVELS = 8 };
    static struct event_traced made[RECORDS];
    uint32_t count = 0;
    memcpy(made, records, sizeof(made));
    for (uint32_t level = 0; level < LEVELS; level++) {
        for (uint32_t i = 0; i < RECORDS; i++) {
            const uint64_t line = made[i].what & ((UINT64_C(1) << 42) - 1);
            if (cache_is_sampled(line, CACHE_ALL >> level) &&
                (level == LEVELS - 1 || !cache_is_sampled(line, CACHE_ALL >> (level + 1))))
                records[count++] = made[i];
        }
    }
    assert_int_equal(count, RECORDS);
}

// Each warp has at most one record for each step and site, so that their order is certain.
static void make_trace(void)
{
    for (uint32_t i = 0; i < RECORDS; i++) {
        const uint64_t line = (0x10000u + random_below(0x30000)) / CACHE_LINE_BYTES,
                       sectors = 1 + random_below(15), site = 1 + i / (BLOCKS * WARPS) % SITES,
                       whole = site == 2 ? sectors & random_below(16) : 0;
        records[i] = (struct event_traced){
            .what = line | sectors << 42 | whole << 46 | site << 50,
            .warp = i % (BLOCKS * WARPS),
            .steps = 10 + i / (BLOCKS * WARPS * SITES),
        };
    }
    sort_by_level();
    // Some begin before the time wraps around.
    for (uint32_t i = 0; i < BLOCKS; i++)
        blocks[i] = (struct event_traced_block){.began = 700 * (i * 3 % BLOCKS) - 1000,
                                                .length = i / 2 * 7 % 132 + ((RECORDS + i) << 10)};
}

static void put_part(uint64_t call, bool is_records, const void *bytes, size_t length)
{
    const struct event_trace_part part = {.call = call, .is_records = is_records};
    PUT(EVENT_TRACE_PART, part, bytes, length);
}

static void put_last(uint64_t call)
{
    const struct event_trace_part part = {.call = call, .is_last = 1};
    PUT(EVENT_TRACE_PART, part, NULL, 0);
}

// The records of a trace come in several pieces.
static void put_trace(const struct event_trace *about)
{
    enum { FIRST = RECORDS / 3 };
    PUT(EVENT_TRACE, *about, NULL, 0);
    put_part(about->call, false, blocks, sizeof(blocks[0]) * 2);
    put_part(about->call, false, blocks + 2, sizeof(blocks) - sizeof(blocks[0]) * 2);
    put_part(about->call, true, records, sizeof(records[0]) * FIRST);
    put_part(about->call, true, records + FIRST, sizeof(records) - sizeof(records[0]) * FIRST);
    put_last(about->call);
}

// --- What is expected ----------------------------------------------------------------------------

static uint32_t object_of(uint64_t address, uint64_t call)
{
    if (address >= 0x12000 && address < 0x13000)
        return 2;
    if (address >= 0x10000 && address < 0x18000)
        return 1;
    if (address >= 0x20000 && address < 0x24000 && call < 6)
        return 4;
    return address >= 0x30000 && address < 0x38000 && call > 6 ? 5 : 0;
}

static int by_warp(const void *one, const void *other)
{
    const struct event_traced *a = one, *b = other;
    if (a->warp != b->warp)
        return a->warp < b->warp ? -1 : 1;
    if (a->steps != b->steps)
        return a->steps < b->steps ? -1 : 1;
    return a->what >> 50 < b->what >> 50 ? -1 : 1;
}

// Runs the launch through the model, with an owner for each object and site.
static void expect(struct cache_l2 *l2, uint64_t call, struct cache_result results[OWNERS])
{
    static struct event_traced sorted[RECORDS];
    static struct cache_record to[RECORDS];
    struct cache_block blocks_to[BLOCKS];
    const struct cache_preset *preset = cache_preset_find("h200");
    memcpy(sorted, records, sizeof(sorted));
    qsort(sorted, RECORDS, sizeof(sorted[0]), by_warp);
    for (uint32_t i = 0; i < RECORDS; i++) {
        const uint64_t what = sorted[i].what, line = what & ((UINT64_C(1) << 42) - 1);
        const uint32_t site = (uint32_t)(what >> 50);
        to[i] = (struct cache_record){
            .line = line,
            .warp = sorted[i].warp,
            .counter = sorted[i].steps,
            .owner = object_of(line * CACHE_LINE_BYTES, call) * SITES + site - 1,
            .kind = (uint8_t)(site - 1),
            .sectors = what >> 42 & 15,
            .whole = what >> 46 & 15,
        };
    }
    for (uint32_t i = 0; i < BLOCKS; i++)
        blocks_to[i] = (struct cache_block){.began = blocks[i].began + 1000,
                                            .multiprocessor = blocks[i].length & 1023,
                                            .length = blocks[i].length >> 10};
    const struct cache_launch launch = {
        .records = to,
        .record_count = RECORDS,
        .blocks = blocks_to,
        .block_count = BLOCKS,
        .warps_per_block = WARPS,
        .resident = good.resident,
        .shared_bytes = cache_shared_bytes(preset, good.resident, good.shared_bytes, -1),
        .owner_count = OWNERS,
    };
    memset(results, 0, OWNERS * sizeof(*results));
    assert_true(cache_launch_run(l2, &launch, NULL, 1, results, NULL));
}

struct expected {
    uint64_t call;
    struct cache_result results[OWNERS];
    uint64_t seen;
};

static bool see_row(void *user, const struct profile_cache *row)
{
    struct expected *expected = user;
    if (row->call != expected->call)
        return true;
    assert_int_equal(row->kernel, KERNEL);
    assert_in_range(row->site, 1, SITES);
    assert_in_range(row->object, 0, OBJECTS - 1);
    struct cache_result *result = &expected->results[row->object * SITES + row->site - 1];
    for (int kind = 0; kind < CACHE_KINDS; kind++) {
        assert_int_equal(row->l1[kind].sectors, result->l1.kinds[kind].sectors);
        assert_int_equal(row->l1[kind].hits, result->l1.kinds[kind].hits);
        assert_int_equal(row->l2[kind].sectors, result->l2.kinds[kind].sectors);
        assert_int_equal(row->l2[kind].hits, result->l2.kinds[kind].hits);
        expected->seen += row->l1[kind].sectors;
    }
    assert_int_equal(row->read, result->l2.read);
    assert_int_equal(row->written, result->l2.written);
    memset(result, 0, sizeof(*result)); // there is one row
    return true;
}

static bool see_launch(void *user, const struct profile_cache_launch *launch)
{
    assert_string_equal(launch->preset, "h200");
    assert_int_equal(launch->share, CACHE_ALL);
    assert_int_equal(launch->records, RECORDS);
    assert_int_equal(launch->resident, good.resident);
    ++*(unsigned *)user;
    return true;
}

// Checks the rows of one launch. Nothing that was expected may be left.
static void check_rows(struct profile *profile, struct expected *expected)
{
    static const struct cache_result none;
    struct base_error error = {0};
    assert_int_equal(profile_each_cache(profile, see_row, expected, &error), BASE_OK);
    assert_in_range(expected->seen, RECORDS, RECORDS * CACHE_SECTORS);
    for (unsigned i = 0; i < OWNERS; i++)
        assert_memory_equal(&expected->results[i], &none, sizeof(none));
}

static unsigned launches_of(struct profile *profile)
{
    struct base_error error = {0};
    unsigned count = 0;
    assert_int_equal(profile_each_cache_launch(profile, see_launch, &count, &error), BASE_OK);
    return count;
}

// --- Tests ---------------------------------------------------------------------------------------

// The second launch finds in L2 what the first one left.
static void rows_are_what_the_model_says(void **state)
{
    (void)state;
    struct event_trace second = good;
    struct cache_l2 *l2 = cache_l2_create(cache_preset_find("h200"), CACHE_ALL);
    struct expected one = {.call = 5}, two = {.call = 8};
    assert_non_null(l2);
    second.call = two.call;
    make_trace();
    begin();
    put_object_end(1, 0); // when the process ends, of which the trace may come later
    put_trace(&good);
    put_trace(&second);
    struct profile *profile = end();
    assert_int_equal(launches_of(profile), 2);
    expect(l2, one.call, one.results);
    expect(l2, two.call, two.results);
    check_rows(profile, &one);
    check_rows(profile, &two);
    profile_close(profile);
    cache_l2_destroy(l2);
}

static bool count_note(void *user, const struct profile_note *note)
{
    *(unsigned *)user += strcmp(note->text, "a record was not valid and was ignored") == 0;
    return true;
}

// Returns whether there are rows, and how many records were not valid.
static bool ends_with_rows(unsigned *notes)
{
    struct profile *profile = end();
    struct base_error error = {0};
    *notes = 0;
    assert_int_equal(profile_each_note(profile, count_note, notes, &error), BASE_OK);
    const unsigned count = launches_of(profile);
    profile_close(profile);
    return count != 0;
}

// Expects no rows, and so many notes, if the announcement is changed.
#define LEAVES_NOTES(change, count)           \
    do {                                      \
        struct event_trace changed = good;    \
        changed.change;                       \
        begin();                              \
        put_trace(&changed);                  \
        assert_false(ends_with_rows(&notes)); \
        assert_int_equal(notes, count);       \
    } while (0)

// Changes a field of the announcement. The recorder says so if the record itself is not valid, and
// is silent about what belongs to it.
static void announcements_that_are_not_valid(void **state)
{
    (void)state;
    unsigned notes;
    make_trace();
    begin();
    put_trace(&good);
    assert_true(ends_with_rows(&notes));
    assert_int_equal(notes, 0);
    LEAVES_NOTES(call = 0, 1);
    LEAVES_NOTES(kernel = 0, 1);
    LEAVES_NOTES(device = 0, 1);
    LEAVES_NOTES(device = 1000, 1);
    LEAVES_NOTES(share = CACHE_ALL + 1, 1);
    LEAVES_NOTES(blocks = 0, 1);
    LEAVES_NOTES(blocks = UINT64_MAX, 1);
    LEAVES_NOTES(blocks = (1 << 20) + 1, 1);
    LEAVES_NOTES(records = UINT64_MAX, 1);
    LEAVES_NOTES(threads = 0, 1);
    LEAVES_NOTES(threads = 1025, 1);
    LEAVES_NOTES(threads = UINT32_MAX, 1);
    begin();
    assert_true(event_put(feeding.ring, EVENT_TRACE, &good, sizeof(good) - 1, NULL, 0));
    put_last(good.call);
    assert_false(ends_with_rows(&notes));
    assert_int_equal(notes, 1);
}

// Valid announcements of devices, kernels or launches that the session does not know leave no rows.
static void announcements_that_nothing_is_known_of(void **state)
{
    (void)state;
    unsigned notes;
    make_trace();
    LEAVES_NOTES(device = 2, 0);
    LEAVES_NOTES(kernel = KERNEL + 1, 0); // without sites
    LEAVES_NOTES(share = 0, 0);
    LEAVES_NOTES(blocks = BLOCKS + 1, 0);
    LEAVES_NOTES(records = RECORDS + 1, 0);
    LEAVES_NOTES(threads = 32, 0); // so that warps are beyond the grid
}

// Puts a trace whose record is another one.
static void check_record(struct event_traced record, bool wanted)
{
    unsigned notes;
    const struct event_traced kept = records[77];
    begin();
    records[77] = record;
    put_trace(&good);
    records[77] = kept;
    assert_int_equal(ends_with_rows(&notes), wanted);
    assert_int_equal(notes, 0);
}

static void records_that_contradict(void **state)
{
    (void)state;
    struct event_traced record;
    const uint64_t site = UINT64_C(1) << 50;
    make_trace();
    record = records[77];
    check_record(record, true);
    record.warp = BLOCKS * WARPS - 1;
    check_record(record, true);
    record.warp++;
    check_record(record, false);
    record.warp = UINT32_MAX;
    check_record(record, false);
    record = records[77];
    record.what = (record.what & (site - 1)) + 0 * site;
    check_record(record, false);
    record.what += SITES * site;
    check_record(record, true);
    record.what += site;
    check_record(record, false);
    record.what = UINT64_MAX;
    check_record(record, false);
    record.what = 3 * site; // of no sector
    check_record(record, true);
    record.what = 3 * site - 1; // the last line
    check_record(record, true);
}

// Parts that are missing, too many, of something else, or not whole.
static void parts_that_do_not_fit(void **state)
{
    (void)state;
    unsigned notes;
    make_trace();
    for (unsigned missing = 0; missing < 4; missing++) {
        begin();
        if (missing != 0)
            PUT(EVENT_TRACE, good, NULL, 0);
        if (missing != 1)
            put_part(good.call, false, blocks, sizeof(blocks));
        if (missing != 2)
            put_part(good.call, true, records, sizeof(records));
        if (missing != 3)
            put_last(good.call);
        assert_false(ends_with_rows(&notes));
        assert_int_equal(notes, 0);
    }
    for (unsigned which = 0; which < 5; which++) {
        begin();
        PUT(EVENT_TRACE, good, NULL, 0);
        put_part(good.call, false, blocks, sizeof(blocks));
        put_part(good.call, true, records, sizeof(records) - sizeof(records[0]));
        switch (which) {
        case 0: put_part(good.call, true, records, sizeof(records[0]) - 1); break;
        case 1: put_part(good.call, true, records, 2 * sizeof(records[0])); break;
        case 2: put_part(good.call, false, blocks, sizeof(blocks[0])); break;
        case 3: put_part(good.call + 1, true, records, sizeof(records[0])); break;
        default: assert_true(event_put(feeding.ring, EVENT_TRACE_PART, "", 1, NULL, 0));
        }
        put_last(good.call);
        assert_false(ends_with_rows(&notes));
        assert_int_equal(notes, which != 3);
    }
}

// The end of the first trace was dropped: the second is not affected.
static void a_trace_without_an_end(void **state)
{
    (void)state;
    struct event_trace second = good;
    struct cache_l2 *l2 = cache_l2_create(cache_preset_find("h200"), CACHE_ALL);
    struct expected only = {.call = 8};
    second.call = only.call;
    assert_non_null(l2);
    make_trace();
    begin();
    PUT(EVENT_TRACE, good, NULL, 0);
    put_part(good.call, false, blocks, sizeof(blocks));
    put_trace(&second);
    put_part(good.call, true, records, sizeof(records));
    put_last(good.call);
    put_last(second.call); // once more
    struct profile *profile = end();
    assert_int_equal(launches_of(profile), 1);
    expect(l2, only.call, only.results);
    check_rows(profile, &only);
    profile_close(profile);
    cache_l2_destroy(l2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_what_the_model_says),
        cmocka_unit_test(announcements_that_are_not_valid),
        cmocka_unit_test(announcements_that_nothing_is_known_of),
        cmocka_unit_test(records_that_contradict),
        cmocka_unit_test(parts_that_do_not_fit),
        cmocka_unit_test(a_trace_without_an_end),
    };
    return cmocka_run_group_tests(tests, feeding_make_path, feeding_remove_path);
}
