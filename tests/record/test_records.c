// SPDX-License-Identifier: Apache-2.0
// Records become rows, with every field of the records of probes. Records that a program has
// corrupted cause a note, are never used, and never make the profile unreadable.
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

#include "../profile/reading.h"
#include "feeding.h"
#include "probe_records.h"

enum { SLOTS = 1 << 14 };

static struct feeding feeding;

static const struct profile_setting setting = {"analyses", "objects"};
static const struct record_request request = {
    .overwrite = true, .settings = &setting, .setting_count = 1, .caches = true};

static void begin(void)
{
    feeding = feeding_begin(feeding_path, SLOTS, &request);
    assert_non_null(feeding.session);
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

static bool any_columns(void *user, unsigned count, const char *const *names)
{
    (void)user;
    (void)count;
    (void)names;
    return true;
}

static bool add_row(void *user, unsigned count, const struct profile_cell *cells)
{
    struct base_buf *out = user;
    for (unsigned i = 0; i < count; i++) {
        base_buf_puts(out, i ? "|" : "");
        if (cells[i].kind == PROFILE_CELL_INTEGER)
            base_buf_i64(out, cells[i].integer);
        else if (cells[i].kind == PROFILE_CELL_REAL)
            base_buf_printf(out, "%g", cells[i].real);
        else
            base_buf_add(out, cells[i].bytes.text, cells[i].bytes.length);
    }
    base_buf_putc(out, '\n');
    return true;
}

static void check_query(struct profile *profile, const char *sql, const char *wanted)
{
    struct base_error error = {0};
    struct base_buf text = {0};
    const struct profile_sink sink = {any_columns, add_row, &text};
    if (profile_query(profile, sql, &sink, &error) != BASE_OK)
        fail_msg("%s", error.text[0]);
    assert_string_equal(text.text ? text.text : "", wanted);
    base_buf_fini(&text);
}

// --- Records of probes ---------------------------------------------------------------------------

#define PUT(kind, record, more, more_bytes) \
    assert_true(event_put(feeding.ring, kind, &(record), sizeof(record), (more), (more_bytes)))

static void records_of_probes_become_rows(void **state)
{
    (void)state;
    begin();
    PUT(EVENT_PROBE, good_probe, NULL, 0);
    struct event_probe none = {.kernel = 4};
    PUT(EVENT_PROBE, none, "no PTX", 6);
    PUT(EVENT_SITE, good_site, site_texts, sizeof(site_texts));
    struct event_site bare = {.kernel = 3, .number = 2};
    static const char bare_texts[] = "\0ld.u8\0\0\0\0\0_ZZ3addPfiE4tile";
    PUT(EVENT_SITE, bare, bare_texts, sizeof(bare_texts));
    PUT(EVENT_ACCESS, good_access, NULL, 0);
    PUT(EVENT_TOLD, good_told, NULL, 0);
    PUT(EVENT_ACCESS, object_access, NULL, 0);
    PUT(EVENT_COUNTS, good_counts, NULL, 0);
    PUT(EVENT_MAP, good_map, "\x01\x80", 2);
    struct profile *profile = end();
    check_query(profile, "SELECT * FROM v_settings", "analyses|objects\n");
    check_query(profile,
                "SELECT kernel, objects, elements, counts, reason, only_memory FROM v_probes",
                "3|1|0|0||1\n4|0|0|0|no PTX|0\n");
    check_query(profile, "SELECT * FROM v_kernel_sites",
                "3|1|add(float*, int)|st.v2.f32|f32|8|store|a.cu|30|2|store(float)|b.cu|40|6|2|1|4|"
                "20|\n3|2||ld.u8|||load||||||||0|0|0||tile\n");
    check_query(profile, "SELECT * FROM v_accesses",
                "5|2|7|1|0|400|100||800|0|4|60|40|probes\n6||7|1|1|||||||||probes\n");
    check_query(profile, "SELECT * FROM v_access_counts", "5|2|7|100|200|2|0.5|3|9\n");
    check_query(profile, "SELECT bin, least, elements FROM v_access_bins", "0|1|50\n3|3|50\n");
    check_query(profile, "SELECT rank, first, elements, sum FROM v_hot_ranges", "1|8|8|24\n");
    check_query(profile, "SELECT object, kind, element_bytes, elements, first FROM v_maps",
                "7|shared|4|100|0\n");
    check_query(profile, "SELECT count(*) FROM v_notes", "0\n");
    profile_close(profile);
}

static void records_of_values_become_rows(void **state)
{
    (void)state;
    begin();
    PUT(EVENT_CONTENTS, good_contents, &good_field, sizeof(good_field));
    struct event_contents bare = good_contents;
    bare.field_count = 0;
    bare.kind = EVENT_CONTENTS_FOUND;
    bare.flags = EVENT_CONTENTS_CONCURRENT;
    PUT(EVENT_CONTENTS, bare, NULL, 0);
    PUT(EVENT_STORED, good_stored, NULL, 0);
    struct event_stored looked_up = good_stored; // all such stores to the object, in bytes
    looked_up.site = 0;
    looked_up.bytes = 1;
    PUT(EVENT_STORED, looked_up, NULL, 0);
    PUT(EVENT_WEIGHED, good_weighed, NULL, 0);
    PUT(EVENT_ACCESSED, good_accessed, NULL, 0);
    PUT(EVENT_REQUESTS, good_requests, NULL, 0);
    struct event_requests shared = good_requests;
    shared.shared = 1;
    shared.site = 4;
    shared.object = shared.lines = 0;
    shared.stride = shared.has_stride = 0;
    PUT(EVENT_REQUESTS, shared, NULL, 0);
    struct event_requests local = shared;
    local.shared = 0;
    local.local = 1;
    local.site = 5;
    local.lines = 20;
    PUT(EVENT_REQUESTS, local, NULL, 0);
    PUT(EVENT_ARRAY, good_array, array_name, sizeof(array_name));
    PUT(EVENT_WORDS, good_words, good_runs, sizeof(good_runs));
    PUT(EVENT_RANGES, good_ranges, NULL, 0);
    PUT(EVENT_LIVES, good_lives, NULL, 0);
    PUT(EVENT_BLOCK_REUSE, good_block_reuse, NULL, 0);
    struct profile *profile = end();
    check_query(profile, "SELECT * FROM v_shared_ranges",
                "5|2|3|2|tile|4|||fill|14|40|10|90|60|30|20\n");
    check_query(profile,
                "SELECT unstored_loads, ranges, unloaded_ranges, repeated_loads, own_share, fills,"
                " loads_per_fill_min, loads_per_fill_mean, loads_per_fill_max FROM v_shared_arrays",
                "7|50|15|65|0.3|40|0.5|2.25|3\n");
    check_query(profile, "SELECT * FROM v_block_reuse",
                "5|2|3|7|1|100|64|4000|3600|6.25|40|80|3|100|1|8|8192|1\n");
    check_query(profile,
                "SELECT call, node, kernel, array, name, bytes, words, touched_words, loads_max,"
                " complete FROM v_shared_arrays",
                "5|2|3|2|tile|62|16|14|32|1\n");
    check_query(profile, "SELECT first, words, loads, stores FROM v_shared_words",
                "0|10|32|1\n10|2|0|0\n12|4|7|2\n");
    check_query(profile, "SELECT * FROM v_requests",
                "5|2|3|2|7|global|10|80|40||20|-4096\n5|2|3|4||shared|10|||80|20|\n"
                "5|2|3|5||local|10|80|20||20|\n");
    check_query(profile, "SELECT * FROM v_accessed", "1||7|written|8|4|s32|0xf0|0x10|0|240|1\n");
    check_query(profile, "SELECT * FROM v_contents",
                "1|5|2|7|written|8000|800|400|2|1|3|3|00000000000000010000000000000002|0|4\n"
                "2|5|2|7|found|8000|800|400|2|1|3|3|00000000000000010000000000000002|1|4\n");
    check_query(profile,
                "SELECT field, offset, type, elements, zeros, nans, least, greatest, linear,"
                " distinct_values FROM v_content_fields",
                "1|0|f32|2000|100|0|-1|2|5|257\n");
    check_query(profile, "SELECT * FROM v_content_values", "1|1|1|1|1500\n1|1|2|0|100\n");
    check_query(profile, "SELECT * FROM v_content_roundings", "1|1|10|1|1600|6\n");
    check_query(profile, "SELECT * FROM v_stores",
                "5|2|3|0|7|640|320|1|160\n5|2|3|1|7|640|320|8|160\n");
    check_query(profile, "SELECT * FROM v_weighed", "5|2|7|4|8|u32|100|3|60\n");
    check_query(profile, "SELECT count(*) FROM v_notes", "0\n");
    profile_close(profile);
}

// Edges are in records separate from their graph's, possibly in several.
static void edges_of_graphs_become_rows(void **state)
{
    (void)state;
    begin();
    const struct event_edge edges[] = {{1, 2}, {1, 3}, {2, 3}};
    struct event_edges told = {.number = 4, .edge_count = 2};
    PUT(EVENT_EDGES, told, edges, 2 * sizeof(edges[0]));
    told.edge_count = 1;
    PUT(EVENT_EDGES, told, edges + 2, sizeof(edges[0]));
    told.edge_count = 2; // one of them is missing
    told.number = 5;
    PUT(EVENT_EDGES, told, edges, sizeof(edges[0]));
    struct profile *profile = end();
    check_query(profile, "SELECT * FROM v_graph_edges", "4|1|2\n4|1|3\n4|2|3\n");
    check_query(profile, "SELECT count(*) FROM v_notes", "1\n");
    profile_close(profile);
}

// Each of these records contradicts itself, and nothing of it is written.
static void what_contradicts_itself_is_refused(void **state)
{
    (void)state;
    unsigned bad = 0;
    begin();
#define BAD(kind, name, change, more, more_bytes) \
    do {                                          \
        struct event_##name it = good_##name;     \
        it.change;                                \
        PUT(kind, it, (more), (more_bytes));      \
        bad++;                                    \
    } while (0)
    BAD(EVENT_PROBE, probe, kernel = 0, NULL, 0);
    BAD(EVENT_PROBE, probe, facts = 512, NULL, 0);
    BAD(EVENT_SITE, site, kernel = 0, site_texts, sizeof(site_texts));
    BAD(EVENT_SITE, site, number = 0, site_texts, sizeof(site_texts));
    BAD(EVENT_SITE, site, access = 3, site_texts, sizeof(site_texts));
    BAD(EVENT_TOLD, told, call = 0, NULL, 0);
    BAD(EVENT_TOLD, told, doubts = 1, NULL, 0);
    BAD(EVENT_TOLD, told, doubts = 1u << EVENT_DOUBT_KINDS, NULL, 0);
    BAD(EVENT_ACCESS, access, call = 0, NULL, 0);
    BAD(EVENT_ACCESS, access, flags = EVENT_ACCESS_PASSED, NULL, 0);
    BAD(EVENT_ACCESS, access, flags = EVENT_ACCESS_READ | 8, NULL, 0);
    BAD(EVENT_ACCESS, access, object = 0, NULL, 0);
    BAD(EVENT_ACCESS, access, flags = 0, NULL, 0);
    BAD(EVENT_ACCESS, access, flags = 4, NULL, 0);
    BAD(EVENT_ACCESS, access, element_bytes = 0, NULL, 0);
    BAD(EVENT_ACCESS, access, new_elements = 101, NULL, 0);
    BAD(EVENT_ACCESS, access, shared_elements = 101, NULL, 0);
    BAD(EVENT_ACCESS, access, elements = EVENT_UNKNOWN, NULL, 0);
    BAD(EVENT_COUNTS, counts, call = 0, NULL, 0);
    BAD(EVENT_COUNTS, counts, object = 0, NULL, 0);
    BAD(EVENT_COUNTS, counts, sum = 99, NULL, 0);
    BAD(EVENT_COUNTS, counts, bins[60] = UINT64_MAX, NULL, 0);
#define BAD_CONTENTS(change) BAD(EVENT_CONTENTS, contents, change, &good_field, sizeof(good_field))
    BAD_CONTENTS(call = 0);
    BAD_CONTENTS(object = 0);
    BAD_CONTENTS(kind = 0);
    BAD_CONTENTS(kind = 3);
    BAD_CONTENTS(flags = 2);
    BAD_CONTENTS(pieces = 4);
    BAD_CONTENTS(fresh_pieces = 3);
    BAD_CONTENTS(moved_bytes = 8001);
    BAD_CONTENTS(same_bytes = 801);
    BAD_CONTENTS(known_pieces = 4);
    BAD_CONTENTS(bytes = 1999);
    BAD_CONTENTS(stride = 3);
    BAD_CONTENTS(field_count = 0);
    BAD_CONTENTS(field_count = 2);
    BAD_CONTENTS(field_count = 255);
    BAD(EVENT_CONTENTS, contents, field_count = 1, &good_field, sizeof(good_field) - 1);
    struct event_field many[EVENT_FIELDS + 1];
    for (unsigned i = 0; i < EVENT_FIELDS + 1; i++)
        many[i] = good_field;
    BAD(EVENT_CONTENTS, contents, field_count = EVENT_FIELDS + 1, many, sizeof(many));
#define BAD_FIELD(change)                                    \
    do {                                                     \
        struct event_field it = good_field;                  \
        it.change;                                           \
        PUT(EVENT_CONTENTS, good_contents, &it, sizeof(it)); \
        bad++;                                               \
    } while (0)
    BAD_FIELD(elements = 8001);
    BAD_FIELD(elements = 1599);
    BAD_FIELD(zeros = 2001);
    BAD_FIELD(nans = 2001);
    BAD_FIELD(integral = 2001);
    BAD_FIELD(narrow = 2001);
    BAD_FIELD(brief = 2001);
    BAD_FIELD(linear = 2001);
    BAD_FIELD(distinct = 258);
    BAD_FIELD(offset = 1);
    BAD_FIELD(offset = UINT32_MAX);
    BAD_FIELD(type = EVENT_TYPES);
    BAD_FIELD(type = EVENT_TYPE_F64);
    BAD_FIELD(candidates[1].count = 501);
    BAD_FIELD(candidates[2].count = 101);
    BAD_FIELD(candidates[7].count = UINT64_MAX);
    BAD_FIELD(roundings[0].count = 2001);
    BAD_FIELD(roundings[6].linear = 2001);
    BAD(EVENT_STORED, stored, call = 0, NULL, 0);
    BAD(EVENT_STORED, stored, kernel = 0, NULL, 0);
    BAD(EVENT_STORED, stored, site = 0, NULL, 0); // such a store is one byte
    BAD(EVENT_STORED, stored, bytes = 0, NULL, 0);
    BAD(EVENT_STORED, stored, silent = 641, NULL, 0);
    BAD(EVENT_STORED, stored, still = 321, NULL, 0);
    BAD(EVENT_STORED, stored, stores = UINT64_MAX, NULL, 0);
    BAD(EVENT_WEIGHED, weighed, call = 0, NULL, 0);
    BAD(EVENT_WEIGHED, weighed, object = 0, NULL, 0);
    BAD(EVENT_WEIGHED, weighed, accesses = 0, NULL, 0);
    BAD(EVENT_WEIGHED, weighed, count = 101, NULL, 0);
    BAD(EVENT_WEIGHED, weighed, type = EVENT_TYPES, NULL, 0);
    BAD(EVENT_WEIGHED, weighed, stride = 4, NULL, 0);
    BAD(EVENT_ACCESSED, accessed, call = 0, NULL, 0);
    BAD(EVENT_ACCESSED, accessed, object = 0, NULL, 0);
    BAD(EVENT_ACCESSED, accessed, way = 0, NULL, 0);
    BAD(EVENT_ACCESSED, accessed, way = 3, NULL, 0);
    BAD(EVENT_ACCESSED, accessed, flags = 2, NULL, 0);
    BAD(EVENT_ACCESSED, accessed, type = EVENT_TYPES, NULL, 0);
    BAD(EVENT_ACCESSED, accessed, type = EVENT_TYPE_F64, NULL, 0);
    BAD(EVENT_ACCESSED, accessed, offset = 5, NULL, 0);
    BAD(EVENT_ACCESSED, accessed, all_bits = 0x1f, NULL, 0);
    BAD(EVENT_ACCESSED, accessed, any_bits = (uint64_t)1 << 32, NULL, 0);
    BAD(EVENT_REQUESTS, requests, call = 0, NULL, 0);
    BAD(EVENT_REQUESTS, requests, kernel = 0, NULL, 0);
    BAD(EVENT_REQUESTS, requests, site = 0, NULL, 0);
    BAD(EVENT_REQUESTS, requests, requests = 0, NULL, 0);
    BAD(EVENT_REQUESTS, requests, taken = 9, NULL, 0);
    BAD(EVENT_REQUESTS, requests, needed = 81, NULL, 0);
    BAD(EVENT_REQUESTS, requests, lines = 81, NULL, 0);
    BAD(EVENT_REQUESTS, requests, shared = 2, NULL, 0);
    BAD(EVENT_REQUESTS, requests, local = 2, NULL, 0);
    BAD(EVENT_REQUESTS, requests, shared = it.local = 1, NULL, 0);
    BAD(EVENT_REQUESTS, requests, has_stride = 2, NULL, 0);
    BAD(EVENT_REQUESTS, requests, has_stride = 0, NULL, 0);
    BAD(EVENT_ARRAY, array, kernel = 0, array_name, sizeof(array_name));
    BAD(EVENT_ARRAY, array, number = 0, array_name, sizeof(array_name));
    BAD(EVENT_WORDS, words, call = 0, good_runs, sizeof(good_runs));
    BAD(EVENT_WORDS, words, kernel = 0, good_runs, sizeof(good_runs));
    BAD(EVENT_WORDS, words, array = 0, good_runs, sizeof(good_runs));
    BAD(EVENT_WORDS, words, blocks = 0, good_runs, sizeof(good_runs));
    BAD(EVENT_WORDS, words, flags = 4, good_runs, sizeof(good_runs));
    BAD(EVENT_WORDS, words, lost = 1, good_runs, sizeof(good_runs));
    BAD(EVENT_WORDS, words, bytes = 60, good_runs, sizeof(good_runs));
    BAD(EVENT_WORDS, words, first = 1, good_runs, sizeof(good_runs));
    BAD(EVENT_WORDS, words, first = UINT32_MAX, good_runs, sizeof(good_runs));
    BAD(EVENT_WORDS, words, first = 0, good_runs, sizeof(good_runs) - 1);
    BAD(EVENT_WORDS, words, first = 0, NULL, 0);
    static const struct event_run no_words = {.loads = 1};
    BAD(EVENT_WORDS, words, first = 0, &no_words, sizeof(no_words));
    BAD(EVENT_RANGES, ranges, call = 0, NULL, 0);
    BAD(EVENT_RANGES, ranges, kernel = 0, NULL, 0);
    BAD(EVENT_RANGES, ranges, array = 0, NULL, 0);
    BAD(EVENT_RANGES, ranges, site = 0, NULL, 0);
    BAD(EVENT_RANGES, ranges, fills = 2, NULL, 0);
    BAD(EVENT_RANGES, ranges, words = 0, NULL, 0);
    BAD(EVENT_RANGES, ranges, words = 41, NULL, 0);
    BAD(EVENT_RANGES, ranges, again = 91, NULL, 0);
    BAD(EVENT_RANGES, ranges, again = 49, NULL, 0);
    BAD(EVENT_RANGES, ranges, own = 91, NULL, 0);
    BAD(EVENT_RANGES, ranges, drained = 91, NULL, 0);
    BAD(EVENT_LIVES, lives, call = 0, NULL, 0);
    BAD(EVENT_LIVES, lives, kernel = 0, NULL, 0);
    BAD(EVENT_LIVES, lives, array = 0, NULL, 0);
    BAD(EVENT_LIVES, lives, again = 49, NULL, 0);
    BAD(EVENT_LIVES, lives, own = 101, NULL, 0);
    BAD(EVENT_LIVES, lives, drained = 101, NULL, 0);
    BAD(EVENT_LIVES, lives, fills = 51, NULL, 0);
    BAD(EVENT_LIVES, lives, fill_loads = 101, NULL, 0);
    BAD(EVENT_LIVES, lives, fills_min = 5, NULL, 0);
    BAD(EVENT_LIVES, lives, fills_max = 41, NULL, 0);
    BAD(EVENT_LIVES, lives, filled_words = 41, NULL, 0);
    BAD(EVENT_LIVES, lives, least_fills = 5, NULL, 0);
    BAD(EVENT_LIVES, lives, most_fills = 5, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, call = 0, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, object = 0, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, kernel = 0, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, site = 0, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, looked = 0, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, looked = 101, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, words = 0, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, words = 901, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, moved = 4001, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, most_words = 26, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, most_words = 641, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, flags = 8, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, resident = 0, NULL, 0);
    BAD(EVENT_BLOCK_REUSE, block_reuse, free_bytes = EVENT_UNKNOWN, NULL, 0);
    BAD(EVENT_MAP, map, kind = 0, "\x01", 1);
    BAD(EVENT_MAP, map, kind = 3, "\x01", 1);
    BAD(EVENT_MAP, map, object = 0, "\x01", 1);
    BAD(EVENT_MAP, map, first = 4, "\x01", 1);
    BAD(EVENT_MAP, map, elements = 16, "\x01", 1);
    BAD(EVENT_MAP, map, element_bytes = 0, "\x01", 1);
    BAD(EVENT_MAP, map, first = 16, NULL, 0);
    // Too short by one byte.
    static const struct {
        enum event_kind kind;
        const void *record;
        size_t bytes;
    } whole[] = {
        {EVENT_PROBE, &good_probe, sizeof(good_probe)},
        {EVENT_SITE, &good_site, sizeof(good_site)},
        {EVENT_ACCESS, &good_access, sizeof(good_access)},
        {EVENT_TOLD, &good_told, sizeof(good_told)},
        {EVENT_COUNTS, &good_counts, sizeof(good_counts)},
        {EVENT_CONTENTS, &good_contents, sizeof(good_contents)},
        {EVENT_STORED, &good_stored, sizeof(good_stored)},
        {EVENT_WEIGHED, &good_weighed, sizeof(good_weighed)},
        {EVENT_ACCESSED, &good_accessed, sizeof(good_accessed)},
        {EVENT_REQUESTS, &good_requests, sizeof(good_requests)},
        {EVENT_ARRAY, &good_array, sizeof(good_array)},
        {EVENT_WORDS, &good_words, sizeof(good_words)},
        {EVENT_RANGES, &good_ranges, sizeof(good_ranges)},
        {EVENT_LIVES, &good_lives, sizeof(good_lives)},
        {EVENT_BLOCK_REUSE, &good_block_reuse, sizeof(good_block_reuse)},
        {EVENT_MAP, &good_map, sizeof(good_map)},
    };
    for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++, bad++)
        assert_true(
            event_put(feeding.ring, whole[i].kind, whole[i].record, whole[i].bytes - 1, NULL, 0));
    struct profile *profile = end();
    char wanted[32];
    snprintf(wanted, sizeof(wanted), "%u\n", bad);
    check_query(
        profile,
        "SELECT count(*) FROM v_notes WHERE text = 'a record was not valid and was ignored'",
        wanted);
    check_query(profile,
                "SELECT (SELECT count(*) FROM v_probes) + (SELECT count(*) FROM v_kernel_sites) +"
                " (SELECT count(*) FROM v_accesses) + (SELECT count(*) FROM v_access_counts) +"
                " (SELECT count(*) FROM v_maps) + (SELECT count(*) FROM v_contents) +"
                " (SELECT count(*) FROM content_fields) + (SELECT count(*) FROM v_stores) +"
                " (SELECT count(*) FROM v_weighed) + (SELECT count(*) FROM shared_arrays) +"
                " (SELECT count(*) FROM shared_words) + (SELECT count(*) FROM shared_runs) +"
                " (SELECT count(*) FROM block_reuse)",
                "0\n");
    profile_close(profile);
}

// --- Random records ------------------------------------------------------------------------------

static uint64_t random_bits(uint64_t *state) // splitmix64
{
    uint64_t bits = *state += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

// Many bytes are 0 and some are all ones, so that numbers are small, odd or huge.
static size_t make_record(uint64_t *seed, unsigned char *out, size_t most)
{
    size_t length = random_bits(seed) % (random_bits(seed) % 4 ? 120 : most);
    for (size_t i = 0; i < length; i++) {
        uint64_t bits = random_bits(seed);
        out[i] = bits % 3 ? 0 : bits % 5 ? (unsigned char)(bits >> 32) % 4 : bits % 7 ? 0xff : 0x80;
    }
    return length;
}

static void any_records_leave_a_profile_that_can_be_read(void **state)
{
    (void)state;
    enum { ROUNDS = 20, RECORDS = 1500 };
    static unsigned char bytes[4096];
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t seed = round;
        begin();
        for (unsigned i = 0; i < RECORDS; i++) {
            enum event_kind kind =
                // Not a process record.
                (enum event_kind)(2 + random_bits(&seed) % (EVENT_KINDS - 2));
            size_t length = make_record(&seed, bytes, sizeof(bytes));
            assert_true(event_put(feeding.ring, kind, bytes, length, NULL, 0));
            if (i % 100 == 0)
                feeding_drain(&feeding);
        }
        struct profile *profile = end();
        check_query(profile, "SELECT count(*) > 100 FROM v_notes", "1\n");
        profile_close(profile);
        struct base_error error = {0};
        if (reading_all(feeding_path, &error) != BASE_OK)
            fail_msg("seed %llu: %s", (unsigned long long)round, error.text[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_probes_become_rows),
        cmocka_unit_test(records_of_values_become_rows),
        cmocka_unit_test(edges_of_graphs_become_rows),
        cmocka_unit_test(what_contradicts_itself_is_refused),
        cmocka_unit_test(any_records_leave_a_profile_that_can_be_read),
    };
    return cmocka_run_group_tests(tests, feeding_make_path, feeding_remove_path);
}
