// SPDX-License-Identifier: Apache-2.0
// Comparing two profiles: differences of random profiles have the properties that a difference must
// have. Equal things are matched whatever their numbers, addresses, lines and folders are.
#include "testing.h"

#include <unistd.h>

#include "../base/testing.h"
#include "diff.h"
#include "pairs.h"

static char folder[64], paths[2][96];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/glint-diff-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    for (int i = 0; i < 2; i++)
        snprintf(paths[i], sizeof(paths[i]), "%s/%d.glint", folder, i);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

struct opened {
    struct profile *profiles[2];
    struct report_diff diff;
};

static void open_diff(struct opened *opened, unsigned old, unsigned new)
{
    struct base_error error = {0};
    *opened = (struct opened){0};
    assert_int_equal(profile_open(paths[old], &opened->profiles[0], &error), BASE_OK);
    assert_int_equal(profile_open(paths[new], &opened->profiles[1], &error), BASE_OK);
    const struct report_diff_request request = {
        .profiles = {opened->profiles[0], opened->profiles[1]},
        .names = {"old", "new"},
        .tolerance_percent = REPORT_USUAL_TOLERANCE};
    assert_int_equal(report_diff_load(&opened->diff, &request, &error), BASE_OK);
}

static void close_diff(struct opened *opened)
{
    report_diff_fini(&opened->diff);
    profile_close(opened->profiles[0]);
    profile_close(opened->profiles[1]);
}

// Few names and locations, so that the two profiles have much in common, often more than once.
static void write_random(const char *path, uint64_t *random)
{
    static const char *const names[] = {"a", "b", NULL};
    static const char *const functions[] = {"f", "g"};
    static const char *const kernels[] = {"k<int>(int*)", "k<float>(int*)", "k<long>(int*)", "m"};
    struct pair_writer to;
    uint64_t objects[24] = {0};
    pair_begin(&to, path, "objects,sync");
    to.calls = test_random(random) % 50;
    to.objects = test_random(random) % 50;
    uint32_t numbers[4], places[8];
    for (unsigned i = 0; i < 4; i++)
        numbers[i] = pair_kernel(&to, kernels[i]);
    for (unsigned i = 0; i < 8; i++)
        places[i] = pair_path(&to, functions[test_random(random) % 2],
                              test_random(random) % 4 ? "/x/s.cu" : "/y/t.cu",
                              (uint32_t)(test_random(random) % 3));
    for (unsigned i = 0; i < 60; i++) {
        uint64_t *object = &objects[test_random(random) % 24];
        const uint32_t place = places[test_random(random) % 8];
        switch (test_random(random) % 5) {
        case 0:
        case 1:
            if (*object)
                pair_free(&to, *object, place);
            *object = pair_alloc(&to, names[test_random(random) % 3],
                                 (test_random(random) % 4) << 20, place);
            break;
        case 2:
            pair_launch(&to, numbers[test_random(random) % 4], *object, test_random(random) % 50000,
                        place);
            break;
        case 3: pair_copy(&to, *object, *object ? 4096 : 1, test_random(random) % 90000); break;
        default: pair_wait(&to, 1 + test_random(random) % 90000, place); break;
        }
    }
    pair_end(&to);
}

enum { ROUNDS = 25 };

static void a_profile_does_not_differ_from_itself(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct opened opened;
        write_random(paths[0], &random);
        open_diff(&opened, 0, 0);
        assert_true(report_diff_is_empty(&opened.diff));
        assert_int_equal(opened.diff.notes.count, 0);
        close_diff(&opened);
    }
}

static enum report_diff_change mirrored(enum report_diff_change change)
{
    switch (change) {
    case REPORT_DIFF_WORSE: return REPORT_DIFF_BETTER;
    case REPORT_DIFF_BETTER: return REPORT_DIFF_WORSE;
    case REPORT_DIFF_NEW: return REPORT_DIFF_GONE;
    case REPORT_DIFF_GONE: return REPORT_DIFF_NEW;
    default: return change;
    }
}

static void check_sides(const struct report_diff_side *one, const struct report_diff_side *other)
{
    assert_int_equal(one->count, other->count);
    assert_int_equal(one->bytes, other->bytes);
    assert_int_equal(one->peak_bytes, other->peak_bytes);
    assert_int_equal(one->traffic_bytes, other->traffic_bytes);
    assert_int_equal(one->ns, other->ns);
    assert_int_equal(one->timed, other->timed);
    assert_int_equal(one->path, other->path);
    assert_string_equal(one->name ? one->name : "", other->name ? other->name : "");
}

static void exchanged_profiles_give_the_mirrored_difference(void **state)
{
    (void)state;
    uint64_t random = 2;
    unsigned seen[REPORT_DIFF_CHANGES] = {0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct opened there, back;
        write_random(paths[0], &random);
        write_random(paths[1], &random);
        open_diff(&there, 0, 1);
        open_diff(&back, 1, 0);
        assert_int_equal(there.diff.items.count, back.diff.items.count);
        for (size_t i = 0; i < there.diff.items.count; i++) {
            const struct report_diff_item *one = &there.diff.items.items[i];
            const struct report_diff_item *other = &back.diff.items.items[i];
            assert_int_equal(one->kind, other->kind);
            assert_int_equal(one->change, mirrored(other->change));
            assert_ptr_equal(one->measure, other->measure);
            check_sides(&one->sides[0], &other->sides[1]);
            check_sides(&one->sides[1], &other->sides[0]);
            seen[one->change]++;
        }
        assert_memory_equal(there.diff.same, back.diff.same, sizeof(there.diff.same));
        close_diff(&there);
        close_diff(&back);
    }
    for (unsigned i = 0; i < REPORT_DIFF_SAME; i++)
        assert_true(seen[i] > ROUNDS);
}

// Everything in a profile is in the difference exactly once.
static void nothing_is_lost_or_counted_twice(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct opened opened;
        write_random(paths[0], &random);
        write_random(paths[1], &random);
        open_diff(&opened, 0, 1);
        uint64_t counts[2] = {0}, bytes[2] = {0};
        for (size_t i = 0; i < opened.diff.items.count; i++) {
            const struct report_diff_item *item = &opened.diff.items.items[i];
            for (unsigned which = 0; which < 2 && item->kind == REPORT_DIFF_OBJECT; which++) {
                counts[which] += item->sides[which].count;
                bytes[which] += item->sides[which].bytes;
            }
        }
        // Equal things are left out on both sides.
        uint64_t all[2] = {opened.diff.data[0].objects.count, opened.diff.data[1].objects.count};
        uint64_t all_bytes[2] = {0};
        for (unsigned which = 0; which < 2; which++) {
            for (size_t i = 0; i < all[which]; i++)
                all_bytes[which] += opened.diff.data[which].objects.items[i].bytes;
        }
        assert_int_equal(all[0] - counts[0], all[1] - counts[1]);
        assert_int_equal(all_bytes[0] - bytes[0], all_bytes[1] - bytes[1]);
        close_diff(&opened);
    }
}

// --- Matching ------------------------------------------------------------------------------------

// An object in each profile, allocated there; matched: whether both count as the same object.
struct object_case {
    const char *name;
    const char *functions[2], *files[2];
    uint32_t lines[2];
    uint64_t mib[2];
    bool matched;
};

static void objects_are_matched_by_name_and_path(void **state)
{
    (void)state;
    static const struct object_case cases[] = {
        {"a", {"f", "f"}, {"/x/s.cu", "/x/s.cu"}, {1, 1}, {1, 1}, true},
        {"a", {"f", "f"}, {"/x/s.cu", "/other/s.cu"}, {1, 1}, {1, 1}, true},  // another folder
        {"a", {"f", "f"}, {"/x/s.cu", "/x/s.cu"}, {1, 9}, {1, 1}, true},      // shifted lines
        {NULL, {"f", "f"}, {"/x/s.cu", "/x/s.cu"}, {1, 9}, {1, 1}, true},     // shifted, no name
        {"a", {"f", "f"}, {"/x/s.cu", "/x/t.cu"}, {1, 9}, {1, 1}, true},      // a renamed file
        {"a", {"f", "g"}, {"/x/s.cu", "/x/s.cu"}, {1, 1}, {1, 1}, false},     // another function
        {NULL, {"f", "f"}, {"/x/s.cu", "/x/other.cu"}, {1, 1}, {1, 1}, false} // another file
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct opened opened;
        for (unsigned which = 0; which < 2; which++) {
            struct pair_writer to;
            pair_begin(&to, paths[which], "objects,sync");
            to.calls = which * 7;
            to.objects = which * 5;
            pair_alloc(&to, cases[i].name, cases[i].mib[which] << 20,
                       pair_path(&to, cases[i].functions[which], cases[i].files[which],
                                 cases[i].lines[which]));
            pair_end(&to);
        }
        open_diff(&opened, 0, 1);
        if (report_diff_is_empty(&opened.diff) != cases[i].matched)
            fail_msg("case %zu", i);
        assert_int_equal(opened.diff.same[REPORT_DIFF_OBJECT], cases[i].matched);
        close_diff(&opened);
    }
}

// A name that was derived from a location does not count as a name, because the location may shift.
static void names_of_places_are_not_compared(void **state)
{
    (void)state;
    struct opened opened;
    for (unsigned which = 0; which < 2; which++) {
        struct pair_writer to;
        char name[16];
        const uint32_t line = 1 + 8 * which;
        pair_begin(&to, paths[which], "objects,sync");
        const uint64_t object = pair_alloc(&to, NULL, 64, pair_path(&to, "f", "s.cu", line));
        snprintf(name, sizeof(name), "s.cu:%u", line);
        pair_check(&to,
                   profile_name_object(to.writer, object, name, PROFILE_NAME_PLACE, &to.error));
        pair_end(&to);
    }
    open_diff(&opened, 0, 1);
    assert_true(report_diff_is_empty(&opened.diff));
    close_diff(&opened);
}

static void write_sizes(unsigned which, const uint64_t *bytes, unsigned count, uint32_t line)
{
    struct pair_writer to;
    pair_begin(&to, paths[which], "objects,sync");
    for (unsigned i = 0; i < count; i++)
        pair_alloc(&to, NULL, bytes[i], pair_path(&to, "f", "s.cu", line + i));
    pair_end(&to);
}

static const struct report_diff_item *object_at(const struct opened *opened, size_t index)
{
    size_t found = 0;
    for (size_t i = 0; i < opened->diff.items.count; i++) {
        const struct report_diff_item *item = &opened->diff.items.items[i];
        if (item->kind == REPORT_DIFF_OBJECT && found++ == index)
            return item;
    }
    return NULL;
}

// If both profiles have equally many locations, they are matched in order; else all are one.
static void places_without_names_are_matched_in_order_or_as_one(void **state)
{
    (void)state;
    struct opened opened;
    write_sizes(0, (const uint64_t[]){100, 200, 300}, 3, 10);
    write_sizes(1, (const uint64_t[]){100, 250, 300}, 3, 20);
    open_diff(&opened, 0, 1);
    const struct report_diff_item *item = object_at(&opened, 0);
    assert_non_null(item);
    assert_int_equal(item->sides[0].bytes, 200);
    assert_int_equal(item->sides[1].bytes, 250);
    assert_int_equal(item->change, REPORT_DIFF_WORSE);
    assert_null(object_at(&opened, 1));
    close_diff(&opened);

    write_sizes(1, (const uint64_t[]){100, 300}, 2, 20);
    open_diff(&opened, 0, 1);
    item = object_at(&opened, 0);
    assert_non_null(item);
    assert_int_equal(item->sides[0].count, 3);
    assert_int_equal(item->sides[0].bytes, 600);
    assert_int_equal(item->sides[1].count, 2);
    assert_int_equal(item->sides[1].bytes, 400);
    assert_int_equal(item->change, REPORT_DIFF_BETTER);
    assert_null(object_at(&opened, 1));
    close_diff(&opened);
}

static void write_kernels(unsigned which, const char *const *names, const uint64_t *ns,
                          unsigned count)
{
    struct pair_writer to;
    pair_begin(&to, paths[which], "objects,sync");
    for (unsigned i = 0; i < count; i++)
        pair_launch(&to, pair_kernel(&to, names[i]), 0, ns[i], 0);
    pair_end(&to);
}

static void check_kernel(const struct opened *opened, const char *old, const char *new,
                         enum report_diff_change change)
{
    for (size_t i = 0; i < opened->diff.items.count; i++) {
        const struct report_diff_item *item = &opened->diff.items.items[i];
        const char *names[2] = {item->sides[0].name, item->sides[1].name};
        if (item->kind == REPORT_DIFF_KERNEL && item->change == change &&
            strcmp(names[0] ? names[0] : "", old) == 0 &&
            strcmp(names[1] ? names[1] : "", new) == 0)
            return;
    }
    fail_msg("no kernel '%s' to '%s'", old, new);
}

// Kernels are matched by full name; without template arguments only if there is one of each.
static void kernels_with_other_arguments_are_matched_where_that_is_certain(void **state)
{
    (void)state;
    struct opened opened;
    write_kernels(0, (const char *[]){"add<int>(int*)", "sub<1>()", "operator<(a)"},
                  (const uint64_t[]){100000, 100000, 100000}, 3);
    write_kernels(1,
                  (const char *[]){"add<float>(float*)", "sub<2>()", "sub<3>()", "operator<<(a)"},
                  (const uint64_t[]){300000, 100000, 100000, 100000}, 4);
    open_diff(&opened, 0, 1);
    check_kernel(&opened, "add<int>(int*)", "add<float>(float*)", REPORT_DIFF_WORSE);
    check_kernel(&opened, "sub<1>()", "", REPORT_DIFF_GONE);
    check_kernel(&opened, "", "sub<2>()", REPORT_DIFF_NEW);
    check_kernel(&opened, "", "sub<3>()", REPORT_DIFF_NEW);
    check_kernel(&opened, "operator<(a)", "", REPORT_DIFF_GONE);
    close_diff(&opened);
}

// The threshold is the larger of 10 percent and 10 us.
static void small_differences_of_time_are_none(void **state)
{
    (void)state;
    static const struct {
        uint64_t old, new;
        bool differs;
    } cases[] = {{1000000, 1111111, false}, {1000000, 1111112, true}, {1000000, 900000, false},
                 {1000000, 899999, true},   {10, 10009, false},       {10, 10010, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct opened opened;
        static const char *const name[] = {"k"};
        write_kernels(0, name, &cases[i].old, 1);
        write_kernels(1, name, &cases[i].new, 1);
        open_diff(&opened, 0, 1);
        if (report_diff_is_empty(&opened.diff) == cases[i].differs)
            fail_msg("case %zu", i);
        close_diff(&opened);
    }
}

static void write_wait(unsigned which, uint64_t ns, unsigned times, bool is_explicit)
{
    struct pair_writer to;
    pair_begin(&to, paths[which], "objects,sync");
    const uint32_t place = pair_path(&to, "f", "s.cu", 1);
    for (unsigned i = 0; i < times; i++) {
        if (is_explicit)
            pair_wait(&to, ns, place);
        else
            pair_call(&to, (struct profile_call){.kind = PROFILE_CALL_COPY,
                                                 .path = place,
                                                 .waited_ns = ns,
                                                 .flags = PROFILE_CALL_WAITED});
    }
    if (!is_explicit && !times) // the copy happens in any case
        pair_call(&to, (struct profile_call){.kind = PROFILE_CALL_COPY, .path = place});
    pair_end(&to);
}

// Explicit waits are exact. Whether another call waits is chance, unless the wait is long.
static void waits_by_chance_are_no_difference(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        bool is_explicit, differs;
    } cases[] = {{1, true, true}, {99999, false, false}, {100000, false, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct opened opened;
        write_wait(0, 0, 0, cases[i].is_explicit);
        write_wait(1, cases[i].ns, 1, cases[i].is_explicit);
        open_diff(&opened, 0, 1);
        if (report_diff_is_empty(&opened.diff) == cases[i].differs)
            fail_msg("case %zu", i);
        close_diff(&opened);
    }
}

static void what_cannot_be_compared_is_said(void **state)
{
    (void)state;
    struct opened opened;
    struct pair_writer to;
    pair_begin(&to, paths[0], "objects,sync");
    pair_end(&to);
    pair_begin(&to, paths[1], "elements");
    pair_check(&to,
               profile_add_device(to.writer, &(struct profile_device){.number = 2, .name = "A100"},
                                  &to.error));
    pair_check(&to,
               profile_set_dropped(to.writer, &(struct profile_dropped){"call", 1}, &to.error));
    pair_end(&to);
    open_diff(&opened, 0, 1);
    assert_int_equal(opened.diff.notes.count, 3);
    assert_non_null(
        strstr(opened.diff.notes.items[0], "times are of different GPUs: H200 and H200, A100"));
    assert_non_null(strstr(opened.diff.notes.items[1], "'objects,sync' and 'elements'"));
    assert_non_null(strstr(opened.diff.notes.items[2], "missing in new"));
    close_diff(&opened);
}

// One launch and two waits, one of which is the implicit wait of a copy.
static void write_timed(unsigned which, uint64_t ns, unsigned launches, bool simulated)
{
    struct pair_writer to;
    pair_begin_on(&to, paths[which], "objects,sync", simulated);
    const uint32_t place = pair_path(&to, "f", "s.cu", 1), kernel = pair_kernel(&to, "k");
    for (unsigned i = 0; i < launches; i++)
        pair_launch(&to, kernel, 0, ns, 0);
    pair_wait(&to, ns, place);
    pair_call(&to, (struct profile_call){.kind = PROFILE_CALL_COPY,
                                         .path = place,
                                         .waited_ns = ns,
                                         .flags = which ? PROFILE_CALL_WAITED : 0});
    pair_end(&to);
}

static void times_of_a_simulated_gpu_are_not_compared(void **state)
{
    (void)state;
    struct opened opened;
    for (unsigned simulated = 0; simulated < 4; simulated++) { // the first, the second, or both
        write_timed(0, 1000000, 1, simulated & 1);
        write_timed(1, 9000000, 1, simulated & 2);
        open_diff(&opened, 0, 1);
        assert_int_equal(report_diff_is_empty(&opened.diff), simulated != 0);
        assert_int_equal(opened.diff.notes.count, simulated != 0);
        if (simulated)
            assert_non_null(strstr(opened.diff.notes.items[0], "not compared"));
        close_diff(&opened);
    }
}

static void numbers_of_a_simulated_gpu_are_compared(void **state)
{
    (void)state;
    struct opened opened;
    write_timed(0, 1000000, 1, true);
    write_timed(1, 1000000, 2, true);
    open_diff(&opened, 0, 1);
    assert_int_equal(opened.diff.items.count, 1);
    assert_int_equal(opened.diff.items.items[0].kind, REPORT_DIFF_KERNEL);
    assert_int_equal(opened.diff.items.items[0].change, REPORT_DIFF_WORSE);
    assert_string_equal(opened.diff.items.items[0].measure->word, "launches");
    close_diff(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_of_a_simulated_gpu_are_not_compared),
        cmocka_unit_test(numbers_of_a_simulated_gpu_are_compared),
        cmocka_unit_test(a_profile_does_not_differ_from_itself),
        cmocka_unit_test(exchanged_profiles_give_the_mirrored_difference),
        cmocka_unit_test(nothing_is_lost_or_counted_twice),
        cmocka_unit_test(objects_are_matched_by_name_and_path),
        cmocka_unit_test(names_of_places_are_not_compared),
        cmocka_unit_test(places_without_names_are_matched_in_order_or_as_one),
        cmocka_unit_test(kernels_with_other_arguments_are_matched_where_that_is_certain),
        cmocka_unit_test(small_differences_of_time_are_none),
        cmocka_unit_test(waits_by_chance_are_no_difference),
        cmocka_unit_test(what_cannot_be_compared_is_said),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
