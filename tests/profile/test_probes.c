// SPDX-License-Identifier: Apache-2.0
// Every field of the rows from probes is written and read back, and the views agree: rows that
// repeat and rows that never do, maps in pieces of any order, exact sums.
#include "testing.h"

#include <math.h>

#include "sample.h"

static int write_sample(void **state)
{
    struct base_error error = {0};
    if (make_folder(state) != 0)
        return -1;
    check_good(sample_write(test_path, &error), &error);
    return 0;
}

static struct profile_writer *begin(void)
{
    struct base_error error = {0};
    struct profile_writer *writer;
    check_good(profile_create(test_path, true, &writer, &error), &error);
    return writer;
}

static struct profile *finish(struct profile_writer *writer)
{
    struct base_error error = {0};
    struct profile *profile;
    check_good(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    return profile;
}

static struct profile *open_sample(void)
{
    struct base_error error = {0};
    struct profile *profile;
    check_good(profile_open(test_path, &profile, &error), &error);
    return profile;
}

// --- Rows, compared one by one -------------------------------------------------------------------

static bool see_setting(void *user, const struct profile_setting *row)
{
    const struct profile_setting *wanted = &sample_settings[(*(size_t *)user)++];
    check_text(row->name, wanted->name);
    check_text(row->value, wanted->value);
    return true;
}

static bool see_probe(void *user, const struct profile_probe *row)
{
    const struct profile_probe *wanted = &sample_probes[(*(size_t *)user)++];
    assert_int_equal(row->kernel, wanted->kernel);
    assert_int_equal(row->facts, wanted->facts);
    check_text(row->reason, wanted->reason);
    return true;
}

static bool see_kernel_site(void *user, const struct profile_kernel_site *row)
{
    const struct profile_kernel_site *wanted = &sample_kernel_sites[(*(size_t *)user)++];
    assert_int_equal(row->kernel, wanted->kernel);
    assert_int_equal(row->number, wanted->number);
    check_text(row->function, wanted->function);
    check_text(row->opcode, wanted->opcode);
    check_text(row->type, wanted->type);
    assert_int_equal(row->type_count, wanted->type_count);
    assert_int_equal(row->bytes, wanted->bytes);
    assert_int_equal(row->access, wanted->access);
    assert_int_equal(row->generic, wanted->generic);
    assert_int_equal(row->instruction, wanted->instruction);
    assert_int_equal(row->ptx_line, wanted->ptx_line);
    check_text(row->file, wanted->file);
    assert_int_equal(row->line, wanted->line);
    assert_int_equal(row->column, wanted->column);
    check_text(row->inlined_function, wanted->inlined_function);
    check_text(row->at_file, wanted->at_file);
    assert_int_equal(row->at_line, wanted->at_line);
    assert_int_equal(row->at_column, wanted->at_column);
    return true;
}

static void check_access(const struct profile_access *row, const struct profile_access *wanted)
{
    assert_int_equal(row->call, wanted->call);
    assert_int_equal(row->object, wanted->object);
    assert_int_equal(row->node, wanted->node);
    assert_int_equal(row->read, wanted->read);
    assert_int_equal(row->written, wanted->written);
    assert_int_equal(row->bytes_read, wanted->bytes_read);
    assert_int_equal(row->bytes_written, wanted->bytes_written);
    assert_int_equal(row->elements, wanted->elements);
    assert_int_equal(row->new_elements, wanted->new_elements);
    assert_int_equal(row->shared_elements, wanted->shared_elements);
    assert_int_equal(row->element_bytes, wanted->element_bytes);
}

static bool see_access(void *user, const struct profile_access *row)
{
    check_access(row, &sample_accesses[(*(size_t *)user)++]);
    return true;
}

static bool see_counts(void *user, const struct profile_counts *row)
{
    const struct profile_counts *wanted = &sample_counts[(*(size_t *)user)++];
    assert_int_equal(row->call, wanted->call);
    assert_int_equal(row->object, wanted->object);
    assert_int_equal(row->node, wanted->node);
    assert_int_equal(row->most, wanted->most);
    assert_int_equal(row->most_at, wanted->most_at);
    assert_int_equal(row->sum, wanted->sum);
    assert_int_equal(row->squares_low, wanted->squares_low);
    assert_int_equal(row->squares_high, wanted->squares_high);
    assert_memory_equal(row->bins, wanted->bins, sizeof(row->bins));
    assert_memory_equal(row->hottest, wanted->hottest, sizeof(row->hottest));
    return true;
}

static bool see_map(void *user, const struct profile_map *row)
{
    const struct profile_map *wanted = &sample_maps[(*(size_t *)user)++];
    assert_int_equal(row->object, wanted->object);
    assert_int_equal(row->kind, wanted->kind);
    assert_int_equal(row->element_bytes, wanted->element_bytes);
    assert_int_equal(row->elements, wanted->elements);
    assert_int_equal(row->first, wanted->first);
    assert_int_equal(row->bit_bytes, wanted->bit_bytes);
    assert_memory_equal(row->bits, wanted->bits, wanted->bit_bytes);
    return true;
}

static void every_row_is_read_back(void **state)
{
    (void)state;
    struct profile *profile = open_sample();
    struct base_error error = {0};
#define CHECK_EACH(what, rows)                                                        \
    do {                                                                              \
        size_t count = 0;                                                             \
        check_good(profile_each_##what(profile, see_##what, &count, &error), &error); \
        assert_int_equal(count, SAMPLE_COUNT(rows));                                  \
    } while (0)
    CHECK_EACH(setting, sample_settings);
    CHECK_EACH(probe, sample_probes);
    CHECK_EACH(kernel_site, sample_kernel_sites);
    CHECK_EACH(access, sample_accesses);
    CHECK_EACH(counts, sample_counts);
    CHECK_EACH(map, sample_maps);
    profile_close(profile);
}

static void views_tell_the_same(void **state)
{
    (void)state;
    struct profile *profile = open_sample();
    check_query(profile, "SELECT * FROM v_probes ORDER BY kernel",
                "1|add(float*, float const*, int)|1|1|1||0|1\n"
                "2|scale(float*, float, int)|0|0|0|it calls through a pointer|0|0\n");
    check_query(profile, "SELECT * FROM v_kernel_sites ORDER BY kernel, number",
                "1|1|add(float*, float const*, int)|ld.global.v4.f32|f32|16|load|vectors.cu|20|9|"
                "load(float const*)|vectors.cu|31|5|4|0|12|40|\n"
                "1|2||red.add.u64|||atomic||||||||0|1|13||tile\n");
    check_query(profile, "SELECT * FROM v_accesses ORDER BY call, node, object",
                "5||1|1|0|4000|1000||8000|0|4|1000|0|probes\n5||2|1|1|||||||||probes\n"
                "9|2|1|0|1|400|100||0|400|4|0|100|probes\n");
    // 4000 bytes are 1000 elements.
    check_query(profile, "SELECT * FROM v_object_elements", "1|4|1000|1000|100\n");
    check_query(profile, "SELECT * FROM v_access_counts", "5||1|1000|2000|2|15.7403|997|7\n");
    check_query(profile, "SELECT round(variation, 12) FROM v_access_counts", "15.7403\n");
    check_query(profile, "SELECT variation = 15.740250950986 FROM v_access_counts", "1\n");
    check_query(profile, "SELECT * FROM v_access_bins ORDER BY bin",
                "5||1|0|1|996\n5||1|2|2|2\n5||1|3|3|1\n5||1|19|768|1\n");
    check_query(profile, "SELECT * FROM v_hot_ranges ORDER BY rank",
                "5||1|1|0|8|1010\n5||1|2|96|8|16\n");
    check_query(profile,
                "SELECT object, kind, element_bytes, elements, first, hex(substr(bits, 1, 4))"
                " FROM v_maps ORDER BY kind",
                "1|shared|4|1000|0|28B52FFD\n1|touched|4|1000|0|28B52FFD\n");
    profile_close(profile);
}

// Rows of call 3 (copy to 1), 4 (sets 2), 5 (kernel), 9 (a graph: sets 1, kernel, copies 1 to 2)
// and 11 (copies 1 to 4).
static void all_that_touches_objects_is_in_one_view(void **state)
{
    (void)state;
    struct profile *profile = open_sample();
    check_query(profile, "SELECT * FROM v_touches ORDER BY call, node, object",
                "3||1|copy|0|1|0|4000|call\n4||2|set|0|1|0|8000|call\n"
                "5||1|kernel|1|0|8000|0|probes\n5||2|kernel|1|1|||probes\n"
                "9|1|1|set|0|1|0|4096|call\n9|2|1|kernel|0|1|0|400|probes\n"
                "9|3|1|copy|1|0|4000|0|call\n9|3|2|copy|0|1|0|4000|call\n"
                "11||1|copy|1|0|4000|0|call\n11||4|copy|0|1|0|4000|call\n");
    profile_close(profile);
    struct base_error error = {0};
    struct profile_writer *writer = begin();
    // A copy within one object, a copy that failed, and one that was captured into a graph.
    struct profile_call call = {.number = 1,
                                .kind = PROFILE_CALL_COPY,
                                .copy = {.bytes = 10, .from_object = 7, .to_object = 7}};
    check_good(profile_add_call(writer, &call, &error), &error);
    call.number = 2;
    call.result = 1;
    check_good(profile_add_call(writer, &call, &error), &error);
    call.number = 3;
    call.result = 0;
    call.flags = PROFILE_CALL_CAPTURED;
    check_good(profile_add_call(writer, &call, &error), &error);
    const struct profile_node node = {.kind = PROFILE_NODE_COPY, .copy = call.copy};
    check_good(profile_add_graph(writer, &(struct profile_graph){1, &node, 1}, &error), &error);
    struct profile_call launch = {.number = 4, .kind = PROFILE_CALL_GRAPH_LAUNCH, .graph = 1};
    check_good(profile_add_call(writer, &launch, &error), &error);
    launch.number = 5; // counted each time
    check_good(profile_add_call(writer, &launch, &error), &error);
    launch.number = 6;
    launch.result = 1;
    check_good(profile_add_call(writer, &launch, &error), &error);
    profile = finish(writer);
    check_query(profile, "SELECT * FROM v_touches ORDER BY call",
                "1||7|copy|1|1|10|10|call\n4|1|7|copy|1|1|10|10|call\n"
                "5|1|7|copy|1|1|10|10|call\n");
    profile_close(profile);
}

// --- Repeated rows are stored once, others in full -----------------------------------------------

static struct profile_access access_of(uint64_t call, uint64_t different)
{
    return (struct profile_access){.call = 1 + call * 2654435761u % 20011, // in no order
                                   .object = 1 + call % 2,
                                   .read = true,
                                   .written = call % 2,
                                   .bytes_read = call % different * 7,
                                   .elements = 1 + call % different,
                                   .element_bytes = 4};
}

enum { ACCESSES = 20000 };

struct access_walk {
    uint64_t count, last;
    struct profile_access by_call[20012];
};

static bool keep_access(void *user, const struct profile_access *row)
{
    struct access_walk *walk = user;
    assert_true(row->call > walk->last);
    walk->last = row->call;
    walk->by_call[row->call] = *row;
    walk->count++;
    return true;
}

static void check_accesses(uint64_t different, const char *shapes)
{
    struct base_error error = {0};
    struct profile_writer *writer = begin();
    for (uint64_t i = 0; i < ACCESSES; i++) {
        struct profile_access access = access_of(i, different);
        check_good(profile_add_access(writer, &access, &error), &error);
    }
    struct profile *profile = finish(writer);
    static struct access_walk walk;
    memset(&walk, 0, sizeof(walk));
    check_good(profile_each_access(profile, keep_access, &walk, &error), &error);
    assert_int_equal(walk.count, ACCESSES);
    for (uint64_t i = 0; i < ACCESSES; i++) {
        struct profile_access wanted = access_of(i, different);
        check_access(&walk.by_call[wanted.call], &wanted);
    }
    check_query(profile, "SELECT count(*) FROM access_shapes", shapes);
    profile_close(profile);
}

static void accesses_that_repeat_stand_once(void **state)
{
    (void)state;
    check_accesses(2, "2\n");
    check_accesses(ACCESSES, "20000\n"); // more than the writer remembers
}

static void an_access_that_is_given_again_holds(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer = begin();
    struct profile_access access = {.call = 1, .object = 1, .read = true};
    check_good(profile_add_access(writer, &access, &error), &error);
    access.written = true;
    check_good(profile_add_access(writer, &access, &error), &error);
    struct profile_probe probe = {1, 0, "too old"};
    check_good(profile_add_probe(writer, &probe, &error), &error);
    probe = (struct profile_probe){1, PROFILE_PROBE_OBJECTS, NULL};
    check_good(profile_add_probe(writer, &probe, &error), &error);
    struct profile *profile = finish(writer);
    check_query(profile, "SELECT read, written FROM v_accesses", "1|1\n");
    check_query(profile, "SELECT objects, elements, reason FROM v_probes", "1|0|\n");
    profile_close(profile);
}

// A launch counts as watched by its own flag, and by its accesses.
static void launches_say_whether_they_were_watched(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer = begin();
    struct profile_call call = {.number = 1, .kind = PROFILE_CALL_LAUNCH, .launch = {.kernel = 1}};
    check_good(profile_add_call(writer, &call, &error), &error);
    call.number = 2;
    check_good(profile_add_call(writer, &call, &error), &error);
    struct profile_access access = {.call = 2, .object = 1, .read = true};
    check_good(profile_add_access(writer, &access, &error), &error);
    call.number = 3;
    call.launch.flags = PROFILE_LAUNCH_WATCHED;
    check_good(profile_add_call(writer, &call, &error), &error);
    call.number = 4;
    call.launch.flags = PROFILE_LAUNCH_COOPERATIVE;
    check_good(profile_add_call(writer, &call, &error), &error);
    call.number = 5; // passes nothing
    call.launch.flags = PROFILE_LAUNCH_PASSED;
    check_good(profile_add_call(writer, &call, &error), &error);
    call.number = 6; // passes more than its accesses show
    call.launch.flags = 0;
    access = (struct profile_access){
        .call = 6, .object = 1, .read = true, .written = true, .passed = true};
    check_good(profile_add_call(writer, &call, &error), &error);
    check_good(profile_add_access(writer, &access, &error), &error);
    call.number = 7; // what was seen takes the place of what arguments imply
    call.launch.flags = PROFILE_LAUNCH_PASSED | PROFILE_LAUNCH_SAMPLED;
    check_good(profile_add_call(writer, &call, &error), &error);
    for (access.call = 7, access.object = 1; access.object <= 2; access.object++)
        check_good(profile_add_access(writer, &access, &error), &error);
    access = (struct profile_access){
        .call = 7, .object = 2, .read = true, .passed = true, .sampled = true};
    check_good(profile_add_access(writer, &access, &error), &error);
    struct profile *profile = finish(writer);
    check_query(profile,
                "SELECT call, watched, cooperative, known_by FROM v_launches ORDER BY call",
                "1|0|0|\n2|1|0|probes\n3|1|0|probes\n4|0|1|\n5|0|0|arguments\n6|0|0|\n"
                "7|0|0|sampled\n");
    check_query(profile,
                "SELECT call, known_by, read, written FROM v_accesses ORDER BY call, object",
                "2|probes|1|0\n6|arguments|1|1\n7|arguments|1|1\n7|sampled|1|0\n");
    profile_close(profile);
}

static void accesses_can_be_taken_one_by_one(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile = open_sample();
    struct profile_accesses *accesses;
    check_good(profile_accesses_begin(profile, &accesses, &error), &error);
    for (size_t i = 0; i < SAMPLE_COUNT(sample_accesses); i++)
        check_access(profile_accesses_next(accesses), &sample_accesses[i]);
    assert_null(profile_accesses_next(accesses));
    assert_null(profile_accesses_next(accesses));
    check_good(profile_accesses_end(accesses, &error), &error);
    // Reading may stop at any time.
    check_good(profile_accesses_begin(profile, &accesses, &error), &error);
    assert_non_null(profile_accesses_next(accesses));
    check_good(profile_accesses_end(accesses, &error), &error);
    assert_null(profile_accesses_next(NULL));
    check_good(profile_accesses_end(NULL, &error), &error);
    profile_close(profile);
}

// --- Counts --------------------------------------------------------------------------------------

static void bins_begin_where_they_say(void **state)
{
    (void)state;
    static const uint64_t wanted[] = {1, 2, 2, 3, 4, 6, 8, 12, 16, 24};
    for (unsigned i = 0; i < SAMPLE_COUNT(wanted); i++)
        assert_int_equal(profile_bin_least(i), wanted[i]);
    assert_int_equal(profile_bin_least(62), (uint64_t)1 << 31);
    assert_int_equal(profile_bin_least(63), (uint64_t)3 << 30);
}

static void variation_is_exact(void **state)
{
    (void)state;
    struct profile_counts counts = {0};
    assert_true(profile_counts_mean(&counts) == 0 && profile_counts_variation(&counts) == 0);
    // 2^32 elements, each touched 2^31 - 1 times: doubles cannot represent the sums.
    const uint64_t elements = (uint64_t)1 << 32, times = ((uint64_t)1 << 31) - 1;
    unsigned __int128 squares = (unsigned __int128)elements * times * times;
    counts.bins[61] = elements;
    counts.sum = elements * times;
    counts.squares_low = (uint64_t)squares;
    counts.squares_high = (uint64_t)(squares >> 64);
    assert_true(profile_counts_mean(&counts) == (double)times);
    assert_true(profile_counts_variation(&counts) == 0);
    counts.squares_low += 2; // one more in one element, one less in another
    assert_true(profile_counts_variation(&counts) > 0);
    assert_true(profile_counts_variation(&counts) < 1e-12);
    // Half are touched once, half three times: mean 2, deviation 1.
    struct profile_counts half = {.bins = {500, 0, 0, 500}, .sum = 2000, .squares_low = 5000};
    assert_true(profile_counts_mean(&half) == 2 && profile_counts_variation(&half) == 0.5);
    // Impossible counts give some number without a trap.
    struct profile_counts huge = {
        .bins = {UINT64_MAX}, .sum = 1, .squares_low = UINT64_MAX, .squares_high = UINT64_MAX};
    assert_true(isfinite(profile_counts_variation(&huge)));
    struct profile_counts less = {.bins = {10}, .sum = 100, .squares_low = 1};
    assert_true(profile_counts_variation(&less) == 0);
}

static void distributions_that_repeat_stand_once(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer = begin();
    struct profile_counts counts = sample_counts[0];
    for (uint64_t i = 1; i <= 3000; i++) {
        counts.call = i;
        counts.hottest[0].sum = i % 2;
        check_good(profile_add_counts(writer, &counts, &error), &error);
    }
    struct profile *profile = finish(writer);
    check_query(profile, "SELECT count(*) FROM distributions", "2\n");
    check_query(profile, "SELECT count(*), sum(sum) FROM v_access_counts", "3000|6000000\n");
    check_query(profile, "SELECT count(*), sum(sum) FROM v_hot_ranges WHERE rank = 1",
                "3000|1500\n");
    check_query(profile, "SELECT sum(elements) FROM v_access_bins", "3000000\n");
    profile_close(profile);
}

// --- Maps ----------------------------------------------------------------------------------------

struct whole {
    unsigned char *bits;
    size_t bytes;
    unsigned pieces;
};

static bool join(void *user, const struct profile_map *map)
{
    struct whole *whole = user;
    if (map->object != 1 || map->kind != PROFILE_MAP_TOUCHED)
        return true;
    assert_true(map->first / 8 + map->bit_bytes <= whole->bytes);
    memcpy(whole->bits + map->first / 8, map->bits, map->bit_bytes);
    whole->pieces++;
    return true;
}

// Two rows and a bit more, in pieces of any order, mixed with another object's pieces.
static void maps_are_joined_from_pieces(void **state)
{
    (void)state;
    enum { ROW_BYTES = 1 << 23, PIECE_BYTES = 200000, BYTES = 2 * ROW_BYTES + 12345 };
    const uint64_t elements = (uint64_t)BYTES * 8 - 3;
    struct base_error error = {0};
    unsigned char *bits = calloc(1, BYTES), *got = calloc(1, BYTES);
    srand(7);
    for (size_t i = 0; i < BYTES; i++) {
        if (i / PIECE_BYTES % 3) // leaves out every third piece
            bits[i] = (unsigned char)(i % 100 ? 0xff : rand());
    }
    struct profile_writer *writer = begin();
    const size_t pieces = (BYTES + PIECE_BYTES - 1) / PIECE_BYTES;
    for (size_t i = 0; i < pieces; i++) {
        size_t at = i * 37 % pieces * PIECE_BYTES;
        size_t length = at + PIECE_BYTES < BYTES ? PIECE_BYTES : BYTES - at;
        struct profile_map piece = {1, at * 8, elements, 4, PROFILE_MAP_TOUCHED, bits + at, length};
        if (at / PIECE_BYTES % 3)
            check_good(profile_add_map(writer, &piece, &error), &error);
        piece.kind = PROFILE_MAP_SHARED;
        piece.object = 1 + i % 2;
        check_good(profile_add_map(writer, &piece, &error), &error);
        if (i % 10 == 0)
            check_good(profile_commit(writer, &error), &error);
    }
    struct profile *profile = finish(writer);
    struct whole whole = {got, BYTES, 0};
    check_good(profile_each_map(profile, join, &whole, &error), &error);
    assert_int_equal(whole.pieces, 3);
    bits[BYTES - 1] &= 0x1f; // no elements follow
    assert_memory_equal(bits, got, BYTES);
    check_query(profile,
                "SELECT first, length(bits) < 500000 FROM v_maps"
                " WHERE object = 1 AND kind = 'touched' ORDER BY first",
                "0|1\n67108864|1\n134217728|1\n");
    profile_close(profile);
    free(bits);
    free(got);
}

static void a_map_of_other_elements_begins_anew(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer = begin();
    const unsigned char ones[4] = {0xff, 0xff, 0xff, 0xff};
    struct profile_map piece = {1, 0, 32, 4, PROFILE_MAP_TOUCHED, ones, 4};
    check_good(profile_add_map(writer, &piece, &error), &error);
    piece.first = 8;
    piece.bit_bytes = 1;
    piece.element_bytes = 8;
    piece.elements = 17;
    check_good(profile_add_map(writer, &piece, &error), &error);
    struct profile *profile = finish(writer);
    unsigned char bits[4] = {1, 1, 1, 1};
    struct whole whole = {bits, sizeof(bits), 0};
    check_good(profile_each_map(profile, join, &whole, &error), &error);
    assert_memory_equal(bits, ((unsigned char[]){0, 0xff, 0, 1}), 4);
    check_query(profile, "SELECT element_bytes, elements FROM v_maps", "8|17\n");
    profile_close(profile);
}

static void pieces_outside_of_their_map_are_refused(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer = begin();
    const unsigned char ones[4] = {0xff, 0xff, 0xff, 0xff};
    const struct profile_map good = {1, 0, 25, 4, PROFILE_MAP_TOUCHED, ones, 4};
    struct profile_map bad[12];
    for (unsigned i = 0; i < SAMPLE_COUNT(bad); i++)
        bad[i] = good;
    bad[0].kind = PROFILE_MAP_NONE;
    bad[1].kind = (enum profile_map_kind)3;
    bad[2].object = 0;
    bad[3].element_bytes = 0;
    bad[4].first = 1;
    bad[5].first = 8;
    bad[6].elements = 24;
    bad[7].elements = 0;
    bad[8].first = UINT64_MAX - 7;
    bad[9].first = 40;
    bad[10].elements = UINT64_MAX, bad[10].first = UINT64_MAX - 7;
    bad[11].kind = (enum profile_map_kind) - 1;
    for (unsigned i = 0; i < SAMPLE_COUNT(bad); i++)
        check_bad(profile_add_map(writer, &bad[i], &error), BASE_INVALID, &error, "outside");
    check_good(profile_add_map(writer, &good, &error), &error);
    // The largest possible map.
    struct profile_map last = {2, UINT64_MAX - 31, UINT64_MAX, 4, PROFILE_MAP_TOUCHED, ones, 4};
    check_good(profile_add_map(writer, &last, &error), &error);
    struct profile *profile = finish(writer);
    check_query(profile, "SELECT object FROM v_maps ORDER BY object", "1\n2\n");
    profile_close(profile);
}

int main(void)
{
#define WITH_SAMPLE(name) cmocka_unit_test_setup_teardown(name, write_sample, remove_folder)
#define WITH_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        WITH_SAMPLE(every_row_is_read_back),
        WITH_SAMPLE(views_tell_the_same),
        WITH_SAMPLE(all_that_touches_objects_is_in_one_view),
        WITH_FOLDER(accesses_that_repeat_stand_once),
        WITH_FOLDER(an_access_that_is_given_again_holds),
        WITH_FOLDER(launches_say_whether_they_were_watched),
        WITH_SAMPLE(accesses_can_be_taken_one_by_one),
        cmocka_unit_test(bins_begin_where_they_say),
        cmocka_unit_test(variation_is_exact),
        WITH_FOLDER(distributions_that_repeat_stand_once),
        WITH_FOLDER(maps_are_joined_from_pieces),
        WITH_FOLDER(a_map_of_other_elements_begins_anew),
        WITH_FOLDER(pieces_outside_of_their_map_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
