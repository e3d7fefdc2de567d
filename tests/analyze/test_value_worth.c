// SPDX-License-Identifier: Apache-2.0
// What findings on values are worth, on small models whose times are computed by hand. A MiB in 256
// ns is 4096 bytes per nanosecond, so sizes and times are powers of two.
#include "value_rows.h"

enum { MIB = 1 << 20 };

// The time that a finding of the pattern on this call saves; fails if there is none.
static uint64_t saved_ns(enum analyze_pattern pattern, uint32_t call)
{
    for (size_t i = 0; i < last->finding_count; i++) {
        const struct analyze_finding *finding = &last->findings[i];
        if (finding->pattern == pattern && index_of(finding->call) == call)
            return finding->gpu_ns;
    }
    fail_msg("not found");
    return 0;
}

static struct profile_value_field zeros(uint64_t bytes)
{
    return constant(PROFILE_TYPE_F32, bytes / 4, 0, 0);
}

static void took(struct analyze_model *model, uint64_t ns)
{
    model->calls.items[model->calls.count - 1].gpu_ns = ns;
}

// --- Bandwidth -----------------------------------------------------------------------------------

// A set shows the bandwidth: 4096 bytes per nanosecond. A launch leaves two objects of 4 MiB as
// they were, for which it would need 2048 ns. It stores less in its pieces, so it may have taken
// less.
static void leaving_out_a_launch_saves_at_most_its_time(void **state)
{
    (void)state;
    static const uint64_t times[][2] = {{2047, 2047}, {2048, 2048}, {5000, 2048}, {1000, 1000}};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MIB), b = allocate(&model, 4 * MIB);
        uint32_t c = allocate(&model, 32 * MIB);
        set(&model, c, 0, 32 * MIB); // 3
        took(&model, 8192);
        launch(&model, LEGACY, 1); // 4
        took(&model, times[i][0]);
        uses(&model, a, ANALYZE_WRITE);
        uses(&model, b, ANALYZE_WRITE);
        stores(&model, a, 1, 100, 0);
        stores(&model, b, 2, 100, 0);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0)->same_bytes = 4 * MIB;
        row(&model, b, PROFILE_CONTENTS_WRITTEN, NULL, 0)->same_bytes = 4 * MIB;
        expect(&model, "redundant-values 4 8388608");
        assert_int_equal(value_of(found(ANALYZE_REDUNDANT_VALUES), "changes_nothing"), 1);
        assert_int_equal(saved_ns(ANALYZE_REDUNDANT_VALUES, 4), times[i][1]);
        forget(NULL);
    }
}

// A copy on the device shows the bandwidth: 8 MiB in 4096 ns, read and written, are 4096 bytes per
// nanosecond. A launch never saves more time than it took.
static void time_is_estimated_from_the_bandwidth(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct analyze_model model;
        const struct profile_value_field zero = zeros(4 * MIB);
        model_begin(&model);
        model.simulated = kind == 2;
        uint32_t a = allocate(&model, 4 * MIB), b = allocate(&model, 8 * MIB);
        uint32_t copy = copy_in(&model, b, 0, 8 * MIB);
        model.touches.items[model.touches.count - 1].how = ANALYZE_READ;
        struct analyze_touch *to = touch(&model, b, ANALYZE_WRITE);
        to->row_bytes = 8 * MIB;
        to->rows = 1;
        model.calls.items[copy].flags = ANALYZE_WORKS;
        took(&model, 4096);
        launch(&model, LEGACY, 1);
        took(&model, kind == 1 ? 500 : 5000);
        uses(&model, a, ANALYZE_READ);
        row(&model, a, PROFILE_CONTENTS_FOUND, &zero, 1);
        // In 500 ns it cannot have read everything.
        expect(&model, kind == 1 ? "single-zero 3 2048000" : "single-zero 3 4194304");
        assert_int_equal(value_of(found(ANALYZE_SINGLE_ZERO), "upper_bound"), 1);
        assert_true(found(ANALYZE_SINGLE_ZERO)->traffic_is_bound);
        assert_int_equal(found(ANALYZE_SINGLE_ZERO)->gpu_ns, kind == 2 ? 0 : kind ? 500 : 1024);
        forget(NULL);
    }
}

// A set of less than 16 MiB says nothing: by its 64 bytes per nanosecond, the launch would take
// longer than it did. Nor does a copy from the host, which the bus limits.
static void short_transfers_do_not_show_the_bandwidth(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct analyze_model model;
        const struct profile_value_field zero = zeros(4 * MIB);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MIB), b = allocate(&model, 16 * MIB); // 0, 1
        uint32_t c = allocate(&model, 4 * MIB);                                 // 2
        if (kind < 2)
            set(&model, b, 0, kind ? 16 * MIB : 16 * MIB - 1); // 3
        else
            copy_in(&model, b, 0, 16 * MIB); // 3
        took(&model, 1 << 18);
        launch(&model, LEGACY, 1); // 4, with 4096 bytes per nanosecond
        took(&model, 1024);
        uses(&model, c, ANALYZE_READ);
        launch(&model, LEGACY, 2); // 5
        took(&model, 1 << 20);
        uses(&model, a, ANALYZE_READ);
        row(&model, a, PROFILE_CONTENTS_FOUND, &zero, 1);
        expect(&model, "single-zero 5 4194304");
        assert_int_equal(saved_ns(ANALYZE_SINGLE_ZERO, 5), kind == 1 ? 4 * MIB / 64 : 1024);
        forget(NULL);
    }
}

// A launch reads 16 MiB of zeros and writes 16 MiB, which probes load, too: 48 MiB in
// 12288 ns. Another that takes longer is not limited by memory, and saves as little.
static void launches_show_the_bandwidth_if_nothing_else_does(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct analyze_model model;
        const struct profile_value_field zero = zeros(16 * MIB);
        model_begin(&model);
        uint32_t a = allocate(&model, 16 * MIB), b = allocate(&model, 16 * MIB); // 0, 1
        launch(&model, LEGACY, 1);                                               // 2
        took(&model, 12288);
        uses(&model, a, ANALYZE_READ);
        // If the kernel reads what it writes, the probes' loads are no traffic of their own.
        uses(&model, b, kind == 1 ? ANALYZE_READ | ANALYZE_WRITE : ANALYZE_WRITE);
        if (kind < 2)
            stores(&model, b, 1, 4 * MIB, 0);
        row(&model, a, PROFILE_CONTENTS_FOUND, &zero, 1);
        launch(&model, LEGACY, 2); // 3
        took(&model, 1 << 20);
        uses(&model, a, ANALYZE_READ);
        expect(&model, "single-zero 2 16777216, single-zero 3 16777216");
        // Without probes of stores, it moves 32 MiB.
        assert_int_equal(saved_ns(ANALYZE_SINGLE_ZERO, 2), kind == 2 ? 6144 : 4096);
        assert_int_equal(saved_ns(ANALYZE_SINGLE_ZERO, 3), kind == 2 ? 6144 : 4096);
        forget(NULL);
    }
}

// What each object's part of a launch saves adds up to what the launch took.
static void objects_share_the_time_of_a_launch(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field zero = zeros(MIB);
    const struct profile_value_field one = constant(PROFILE_TYPE_U32, 3 * MIB / 4, 1, 1);
    model_begin(&model);
    uint32_t a = allocate(&model, MIB), b = allocate(&model, 3 * MIB); // 0, 1
    launch(&model, LEGACY, 1);                                         // 2
    took(&model, 4000);
    uses(&model, a, ANALYZE_READ);
    uses(&model, b, ANALYZE_READ);
    row(&model, a, PROFILE_CONTENTS_FOUND, &zero, 1);
    row(&model, b, PROFILE_CONTENTS_FOUND, &one, 1);
    expect(&model, "single-value 2 3145728, single-zero 2 1048576");
    assert_int_equal(saved_ns(ANALYZE_SINGLE_ZERO, 2), 1000);
    assert_int_equal(saved_ns(ANALYZE_SINGLE_VALUE, 2), 3000);
}

// --- Silent stores -------------------------------------------------------------------------------

// A launch stores `bytes` at a time to all of 16 MiB, and nothing else: with the probes' loads, 32
// MiB in 8192 ns.
static uint64_t silent_ns(uint32_t bytes, uint64_t silent_percent)
{
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 16 * MIB);
    launch(&model, LEGACY, 1);
    took(&model, 8192);
    uses(&model, a, ANALYZE_WRITE);
    const uint64_t count = 16 * MIB / bytes;
    stores(&model, a, 1, count, count * silent_percent / 100)->bytes = bytes;
    row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    char wanted[60];
    snprintf(wanted, sizeof(wanted), "redundant-values 1 %llu",
             (unsigned long long)(count * silent_percent / 100 * bytes));
    expect(&model, wanted);
    const struct analyze_finding *finding = found(ANALYZE_REDUNDANT_VALUES);
    const uint64_t ns = finding->gpu_ns;
    assert_int_equal(finding->traffic_is_bound, silent_percent < 100);
    assert_int_equal(value_of(finding, "upper_bound"), silent_percent < 100);
    assert_int_equal(finding->time_is_estimate, silent_percent < 100);
    forget(NULL);
    return ns;
}

static void only_sectors_without_a_change_save_time(void **state)
{
    (void)state;
    assert_int_equal(silent_ns(4, 100), 4096);
    assert_int_equal(silent_ns(16, 100), 4096);
    assert_int_equal(silent_ns(4, 50), 4096 / 256); // 8 stores of a sector
    assert_int_equal(silent_ns(8, 50), 4096 / 16);  // 4
    assert_int_equal(silent_ns(16, 50), 4096 / 4);  // 2
    assert_int_equal(silent_ns(1, 50), 0);          // 32
}

// --- Silent atomic operations --------------------------------------------------------------------

enum { OPERATIONS = 1 << 20, OTHER_NS = 4096 + 4 };

// A set shows 4096 bytes per nanosecond. A launch reads 16 MiB, which takes OTHER_NS with the 16
// KiB that a million atomic operations are on. `more_ns` is the time beyond that.
static void expect_atomics(int64_t more_ns, uint64_t silent, uint64_t still, uint64_t others,
                           uint64_t wanted_ns)
{
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 16 << 10), b = allocate(&model, 16 * MIB); // 0, 1
    set(&model, b, 0, 16 * MIB);                                             // 2
    took(&model, 4096);
    for (uint32_t i = 1; i <= 2; i++) {
        struct analyze_site *site = base_array_push(&model.sites);
        assert_non_null(site);
        *site = (struct analyze_site){.kernel = 1, .site = i, .access = PROFILE_SITE_ATOMIC};
    }
    launch(&model, LEGACY, 1); // 3
    took(&model, (uint64_t)(OTHER_NS + more_ns));
    uses(&model, a, ANALYZE_READ | ANALYZE_WRITE);
    uses(&model, b, ANALYZE_READ);
    struct analyze_stored *first = stores(&model, a, 1, OPERATIONS, silent);
    first->place = 0;
    first->still = still;
    stores(&model, a, 2, others, 0)->place = 1;
    row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    char wanted[60];
    snprintf(wanted, sizeof(wanted), "redundant-values 3 %llu", (unsigned long long)(4 * silent));
    expect(&model, wanted);
    assert_int_equal(saved_ns(ANALYZE_REDUNDANT_VALUES, 3), wanted_ns);
    assert_int_equal(value_of(found(ANALYZE_REDUNDANT_VALUES), "upper_bound"), 1);
    assert_int_equal(found(ANALYZE_REDUNDANT_VALUES)->time_is_estimate,
                     still == PROFILE_UNKNOWN && silent < OPERATIONS);
    forget(NULL);
}

static void atomic_operations_share_the_time_that_is_left(void **state)
{
    (void)state;
    expect_atomics(OPERATIONS / 2, OPERATIONS, PROFILE_UNKNOWN, 0, OPERATIONS / 2);
    // Of sectors in which any word changes, all operations remain.
    expect_atomics(OPERATIONS / 2, OPERATIONS / 2, PROFILE_UNKNOWN, 0, OPERATIONS / 2 / 256);
    // They were counted: a quarter of all operations is on sectors that do not change; or all
    // silent ones are, or none.
    expect_atomics(OPERATIONS / 2, OPERATIONS / 2, OPERATIONS / 4, 0, OPERATIONS / 2 / 4);
    expect_atomics(OPERATIONS / 2, OPERATIONS / 2, OPERATIONS / 2, 0, OPERATIONS / 2 / 2);
    expect_atomics(OPERATIONS / 2, OPERATIONS / 2, 0, 0, 0);
    // As many operations that change something take half of the time.
    expect_atomics(OPERATIONS / 2, OPERATIONS, PROFILE_UNKNOWN, OPERATIONS, OPERATIONS / 4);
}

static void atomic_operations_are_not_blamed_for_other_work(void **state)
{
    (void)state;
    // An operation takes at most a nanosecond.
    expect_atomics(2 * OPERATIONS, OPERATIONS, PROFILE_UNKNOWN, 0, OPERATIONS);
    // The other traffic takes all of the time.
    expect_atomics(0, OPERATIONS, PROFILE_UNKNOWN, 0, 0);
    expect_atomics(-100, OPERATIONS, PROFILE_UNKNOWN, 0, 0);
}

// --- Copies --------------------------------------------------------------------------------------

// Copies `bytes` from the host in 1000 ns; only hashes are compared.
static void copy_part(struct analyze_model *model, uint32_t object, uint64_t offset, uint64_t bytes)
{
    copy_in(model, object, offset, bytes);
    took(model, 1000);
    struct profile_contents *copied = row(model, object, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    copied->bytes = copied->moved_bytes = bytes;
    copied->pieces = copied->fresh_pieces = (bytes + 4095) / 4096;
    copied->known_pieces = (offset + bytes + 4095) / 4096;
}

// A launch finds doubles that are whole numbers below ten.
static void find_digits(struct analyze_model *model, uint32_t object)
{
    struct profile_value_field digits =
        plain(PROFILE_TYPE_F64, model->objects.items[object].bytes / 8);
    digits.least = 0;
    digits.greatest = bits_of(9);
    digits.integral = digits.elements;
    launch(model, LEGACY, 1);
    uses(model, object, ANALYZE_READ);
    row(model, object, PROFILE_CONTENTS_FOUND, &digits, 1);
}

static void a_narrower_type_saves_a_part_of_the_copy(void **state)
{
    (void)state;
    for (unsigned simulated = 0; simulated < 2; simulated++) {
        struct analyze_model model;
        model_begin(&model);
        model.simulated = simulated;
        uint32_t a = allocate(&model, 16384);
        copy_part(&model, a, 0, 16384);
        find_digits(&model, a);
        expect(&model, "heavy-type 1 28672");
        // The time of the launch is unknown.
        assert_int_equal(saved_ns(ANALYZE_HEAVY_TYPE, 1), simulated ? 0 : 875);
        assert_true(found(ANALYZE_HEAVY_TYPE)->traffic_is_bound); // the launch may read less
        forget(NULL);
    }
}

// What a launch finds holds for each of the copies that brought it.
static void copies_of_parts_save_their_parts(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 32768);
    copy_part(&model, a, 0, 8192);
    copy_part(&model, a, 8192, 24576);
    find_digits(&model, a);
    expect(&model, "heavy-type 3 57344"); // the launch reads all of it
    assert_int_equal(saved_ns(ANALYZE_HEAVY_TYPE, 3), 2 * 875);
}

// Nothing is said about copies whose values another copy may have replaced, copies that brought
// only a part of what is found, or too many copies.
static void copies_that_others_replace_save_nothing(void **state)
{
    (void)state;
    static const struct {
        uint64_t parts;        // of 8 KiB
        unsigned parts_copied; // one by one
        const char *wanted;    // all that the launch reads, and what copies bring
    } cases[] = {
        {9, 0, "heavy-type 3 64512"}, // two that overlap
        {9, 8, "heavy-type 9 64512"},
        {9, 9, "heavy-type 10 64512"},
        {8, 8, "heavy-type 9 114688"},
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, cases[k].parts * 8192);
        if (!cases[k].parts_copied) {
            copy_part(&model, a, 0, 4 * 8192);
            copy_part(&model, a, 8192, 5 * 8192);
        }
        for (uint32_t i = 0; i < cases[k].parts_copied; i++)
            copy_part(&model, a, i * 8192, 8192);
        find_digits(&model, a);
        expect(&model, cases[k].wanted);
        forget(NULL);
    }
}

// The copy wrote as many pieces as the launch finds, or as many bytes, but not both.
static void other_pieces_are_not_those_of_the_copy(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 16384);
        copy_part(&model, a, 0, 16384);
        struct profile_contents *copied =
            (struct profile_contents *)(uintptr_t)model.contents.items[0].row;
        copied->pieces += kind == 1;
        copied->bytes -= kind == 2 ? 16 : 0;
        find_digits(&model, a);
        expect(&model, kind ? "heavy-type 2 14336" : "heavy-type 1 28672");
        forget(NULL);
    }
}

// A set must still write what a copy on the device wrote.
static void a_set_is_not_free(void **state)
{
    (void)state;
    for (unsigned from_host = 0; from_host < 2; from_host++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 16384);
        copy_part(&model, a, 0, 16384); // 1
        if (!from_host)
            model.calls.items[1].flags = ANALYZE_WORKS;
        const struct profile_value_field zero = zeros(16384);
        launch(&model, LEGACY, 1);
        uses(&model, a, ANALYZE_READ);
        row(&model, a, PROFILE_CONTENTS_FOUND, &zero, 1);
        expect(&model, "single-zero 1 16384, single-zero 2 16384");
        assert_int_equal(saved_ns(ANALYZE_SINGLE_ZERO, 1), from_host ? 1000 : 500);
        forget(NULL);
    }
}

// --- Groups --------------------------------------------------------------------------------------

// Of two launches of one call path, the elements of one are known.
static void a_bound_of_one_match_is_a_bound_of_all(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field zero = zeros(MIB);
    model_begin(&model);
    uint32_t a = allocate(&model, MIB);
    for (uint32_t i = 1; i <= 2; i++) {
        launch(&model, LEGACY, 1); // 1, 2
        took(&model, 1000);
        model.calls.items[i].path = 77;
        struct analyze_touch *reads = uses(&model, a, ANALYZE_READ);
        if (i == 1)
            row(&model, a, PROFILE_CONTENTS_FOUND, &zero, 1);
        if (i == 2) {
            reads->elements = MIB / 4;
            reads->element_bytes = 4;
        }
    }
    expect(&model, "single-zero 1 2097152");
    assert_int_equal(found(ANALYZE_SINGLE_ZERO)->count, 2);
    assert_int_equal(found(ANALYZE_SINGLE_ZERO)->gpu_ns, 2000);
    assert_true(found(ANALYZE_SINGLE_ZERO)->traffic_is_bound);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(leaving_out_a_launch_saves_at_most_its_time),
        TEST(time_is_estimated_from_the_bandwidth),
        TEST(short_transfers_do_not_show_the_bandwidth),
        TEST(launches_show_the_bandwidth_if_nothing_else_does),
        TEST(objects_share_the_time_of_a_launch),
        TEST(only_sectors_without_a_change_save_time),
        TEST(atomic_operations_share_the_time_that_is_left),
        TEST(atomic_operations_are_not_blamed_for_other_work),
        TEST(a_narrower_type_saves_a_part_of_the_copy),
        TEST(copies_of_parts_save_their_parts),
        TEST(copies_that_others_replace_save_nothing),
        TEST(other_pieces_are_not_those_of_the_copy),
        TEST(a_set_is_not_free),
        TEST(a_bound_of_one_match_is_a_bound_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
