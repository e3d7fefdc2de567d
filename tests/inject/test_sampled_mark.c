// SPDX-License-Identifier: Apache-2.0
// What the patch of sampled launches does at an access, and how much GPU time they may take.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "inject/sampled/budget.h"
#include "inject/sampled/mark.h"

enum { OBJECTS = 3, BASE = 0x10000 };

// Objects of 100 bytes at BASE + 28, of 256 at BASE + 512, and of 64 behind it.
static struct sampled_slot slots[OBJECTS] = {
    {.base = BASE, .bytes = 128, .lead = 28},
    {.base = BASE + 512, .bytes = 256},
    {.base = BASE + 512, .bytes = 320, .lead = 256},
};
static uint8_t touched[OBJECTS][2];
static uint64_t strays;

static struct sampled_table table_of(uint64_t count)
{
    memset(touched, 0, sizeof(touched));
    strays = 0;
    return (struct sampled_table){.count = count,
                                  .entries = (uint64_t)(uintptr_t)slots,
                                  .touched = (uint64_t)(uintptr_t)touched,
                                  .strays = (uint64_t)(uintptr_t)&strays};
}

static void expect(const char *marks, uint64_t stray_count)
{
    char found[OBJECTS + 1] = {0};
    for (int i = 0; i < OBJECTS; i++)
        found[i] = touched[i][0] ? touched[i][1] ? 'b' : 'r' : touched[i][1] ? 'w' : '-';
    assert_string_equal(found, marks);
    assert_int_equal(strays, stray_count);
}

static void first_and_last_bytes_belong_to_an_object(void **unused)
{
    (void)unused;
    const struct {
        uint64_t at;
        const char *marks;
    } cases[] = {{BASE + 27, "---"},  {BASE + 28, "r--"},  {BASE + 127, "r--"},
                 {BASE + 128, "---"}, {BASE + 511, "---"}, {BASE + 512, "-r-"},
                 {BASE + 767, "-r-"}, {BASE + 768, "--r"}, {BASE + 831, "--r"},
                 {BASE + 832, "---"}, {0, "---"},          {UINT64_MAX - 1, "---"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct sampled_table table = table_of(OBJECTS);
        sampled_mark(&table, cases[i].at, 1, true, false);
        expect(cases[i].marks, strcmp(cases[i].marks, "---") == 0);
    }
}

static void reads_and_writes_are_apart(void **unused)
{
    (void)unused;
    const struct sampled_table table = table_of(OBJECTS);
    sampled_mark(&table, BASE + 512, 4, false, true);
    expect("-w-", 0);
    sampled_mark(&table, BASE + 768, 16, true, true);
    expect("-wb", 0);
    sampled_mark(&table, BASE + 64, 4, true, false);
    sampled_mark(&table, BASE + 64, 4, true, false);
    expect("rwb", 0);
}

static void an_access_may_reach_several_objects(void **unused)
{
    (void)unused;
    struct sampled_table table = table_of(OBJECTS);
    sampled_mark(&table, BASE + 760, 16, false, true);
    expect("-ww", 0);
    table = table_of(OBJECTS);
    sampled_mark(&table, BASE + 120, 1024, true, false); // across what is no object
    expect("rrr", 0);
    table = table_of(OBJECTS);
    sampled_mark(&table, BASE + 20, 8, true, false); // ends before one
    expect("---", 1);
    sampled_mark(&table, BASE + 20, 9, true, false);
    expect("r--", 1);
}

static void without_a_table_or_bytes_nothing_happens(void **unused)
{
    (void)unused;
    struct sampled_table table = table_of(OBJECTS);
    sampled_mark(NULL, BASE + 64, 4, true, true);
    sampled_mark(&table, BASE + 64, 0, true, true);
    expect("---", 0);
    table.count = 0;
    sampled_mark(&table, BASE + 64, 4, true, true);
    expect("---", 1);
}

static void the_count_of_strays_ends_before_it_overflows(void **unused)
{
    (void)unused;
    const struct sampled_table table = table_of(OBJECTS);
    strays = SAMPLED_STRAYS_MOST - 1;
    sampled_mark(&table, 8, 4, true, false);
    sampled_mark(&table, 8, 4, true, false);
    assert_int_equal(strays, SAMPLED_STRAYS_MOST);
}

static void sampling_stops_at_its_share_of_the_time(void **unused)
{
    (void)unused;
    assert_true(sampled_budget_allows(0, 0, 0, 10));
    assert_false(sampled_budget_allows(0, 0, 1, 10)); // the cost of the last one is unknown
    assert_false(sampled_budget_allows(0, 1, 0, 10));
    assert_true(sampled_budget_allows(10000, 1000, 0, 10));
    assert_false(sampled_budget_allows(10000, 1001, 0, 10));
    assert_false(sampled_budget_allows(9999, 1000, 0, 10));
    assert_true(sampled_budget_allows(UINT64_MAX, UINT64_MAX / 100, 0, 99));
    assert_true(sampled_budget_allows(0, UINT64_MAX, 9, SAMPLED_UNLIMITED_PERCENT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_and_last_bytes_belong_to_an_object),
        cmocka_unit_test(reads_and_writes_are_apart),
        cmocka_unit_test(an_access_may_reach_several_objects),
        cmocka_unit_test(without_a_table_or_bytes_nothing_happens),
        cmocka_unit_test(the_count_of_strays_ends_before_it_overflows),
        cmocka_unit_test(sampling_stops_at_its_share_of_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
