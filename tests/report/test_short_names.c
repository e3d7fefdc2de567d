// SPDX-License-Identifier: Apache-2.0
// Short names: known answers, names at the limit, and names that would become equal.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "report/data.h"
#include "report/short_names.h"
#include "report/units.h"

#define TEN   "abcdefghij"
#define FIFTY TEN TEN TEN TEN TEN

static void check(const char *name, const char *wanted)
{
    struct base_buf out = {0};
    report_put_function(&out, name);
    const char *got = out.length ? out.text : "";
    if (strcmp(got, wanted) != 0)
        fail_msg("'%s' became '%s', not '%s'", name, got, wanted);
    assert_true(report_text_width(got) <= REPORT_NAME_WIDTH);
    base_buf_fini(&out);
}

static void what_fits_loses_only_what_is_around_the_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *wanted;
    } rows[] = {
        {"", ""},
        {"main", "main"},
        {"sgemm(int, float const*)", "sgemm"},
        {"void ns::add<int, 4>(int*)", "ns::add<int, 4>"},
        {"unsigned long f<int>(int)", "f<int>"},
        {"std::enable_if<true, int>::type f<int>(int)", "f<int>"},
        {"(anonymous namespace)::add(int)", "add"},
        {"void (anonymous namespace)::add<int>(int)", "add<int>"},
        {"a::(anonymous namespace)::add(int)", "a::add"},
        {"_GLOBAL__N__0f3a1b22_7_file_cu_abcdef::add(int)", "add"},
        {"_INTERNAL_0f3a1b22_7_file_cu_abcdef::add(int)", "add"},
        {"_INTERNALS::add(int)", "_INTERNALS::add"},
        {"sum<float, (int)4>(float*, void (*)(int))", "sum<float, (int)4>"},
        {"k<Pol<float, 12>, Op<float> >(float*)", "k<Pol<float, 12>, Op<float>>"},
        {"solver::operator()(int) const", "solver::operator()"},
        {"solver::operator()() const &", "solver::operator()"},
        {"bool operator< <int>(A<int> const&, A<int> const&)", "operator< <int>"},
        {"bool operator<(A const&, A const&)", "operator<"},
        {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <char>"},
        {"A::operator->()", "A::operator->"},
        {"A::operator unsigned int() const", "A::operator unsigned int"},
        {"operator new(unsigned long)", "operator new"},
        {"k<&A::operator<>(int)", "k<&A::operator<>"},
        {"k<((1)<(2))>(int)", "k<((1)<(2))>"},
        {"void run<main::{lambda(int)#1}>(main::{lambda(int)#1})", "run<main::{lambda(int)#1}>"},
        {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"},
        {"work(float*) [clone .isra.0]", "work"},
        {"f() const::{lambda()#1}::operator()() const", "f() const::{lambda()#1}::operator()"},
        // Not names.
        {"(anonymous namespace)", "(anonymous namespace)"},
        {"odd)", "odd)"},
        {"odd(", "odd("},
        {"odd<", "odd<"},
        {"a\tb(int)", "a\\tb"},
        {"gr\xc3\xb6\xc3\x9f"
         "e(int)",
         "gr\xc3\xb6\xc3\x9f"
         "e"},
        {"bad\xff(int)", "bad\\xff"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check(rows[i].name, rows[i].wanted);
}

static void what_is_too_long_is_simplified_and_then_cut(void **state)
{
    (void)state;
    check(FIFTY TEN, FIFTY TEN); // 60
    check(FIFTY TEN "k", "abcdefghijabcdefghijabcdefghi...defghijabcdefghijabcdefghijk");
    check(FIFTY TEN "(float*)", FIFTY TEN);
    check("void " FIFTY "<int, 4>(int*)", FIFTY "<int, 4>");
    check("void " FIFTY "<float, 4>(int*)", FIFTY "<float, 4>"); // 60
    check("void " FIFTY "<double, 4>(int*)", FIFTY "<...>");
    check("void k<A<" FIFTY ">, B<int>, float>(int)", "k<A<...>, B<...>, float>");
    check("void cub::DeviceReduceKernel<cub::DeviceReducePolicy<float, unsigned int, cub::Sum>::"
          "Policy600, float*, float*, unsigned int, cub::Sum>(float*, float*, unsigned int)",
          "cub::DeviceReduceKernel<...>");
    check(
        "void cub::CUB_200302_500_600_NS::detail::reduce::DeviceReduceSingleTileKernel<A, B>(int)",
        "cub::detail::reduce::DeviceReduceSingleTileKernel<A, B>");
    check(
        "void cub::CUB_1_NS::detail::radix_sort::DeviceRadixSortSingleTileKernelOfKeys<A, B>(int)",
        "cub::...::DeviceRadixSortSingleTileKernelOfKeys<...>");
    check("void k<&" FIFTY "::operator<, A<int> >(int)", "k<...>");
    check(FIFTY FIFTY "<", "abcdefghijabcdefghijabcdefghi...defghijabcdefghijabcdefghij<");
    // Characters, not bytes.
    check("\xc3\xa4" FIFTY "\xe2\x82\xac"
          "12345678",
          "\xc3\xa4" FIFTY "\xe2\x82\xac"
          "12345678");
    check("\xc3\xa4" FIFTY FIFTY "\xe2\x82\xac",
          "\xc3\xa4"
          "abcdefghijabcdefghijabcdefgh...defghijabcdefghijabcdefghij\xe2\x82\xac");
}

static void check_kernels(const char *const *names, const char *const *wanted, size_t count)
{
    struct report_data data = {0};
    base_arena_init(&data.arena, 0);
    for (size_t i = 0; i < count; i++) {
        struct report_kernel *row = base_array_push(&data.kernel_rows);
        assert_non_null(row);
        row->name = names[i];
    }
    assert_true(report_shorten_kernels(&data));
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(data.kernel_rows.items[i].short_name, wanted[i]);
        assert_true(report_text_width(wanted[i]) <= REPORT_NAME_WIDTH);
    }
    base_array_fini(&data.kernel_rows);
    base_arena_fini(&data.arena);
}

static void no_two_kernels_have_the_same_short_name(void **state)
{
    (void)state;
    static const char *const names[] = {
        "add(float*)",
        "scan<A<" FIFTY ", 2> >(int)",
        "add(double*)",
        "scan<A<" FIFTY ", 1> >(int)",
        "scan<A<int> >(int)",
        "a::(anonymous namespace)::k(int)",
        "a::k(int)",
        FIFTY TEN TEN,
        FIFTY "x" TEN "bcdefghij",
        "other(int)",
    };
    static const char *const wanted[] = {
        "add(float*)",
        "scan<A<...>> #2",
        "add(double*)",
        "scan<A<...>> #1",
        "scan<A<int>>",
        "a::k(int) #1",
        "a::k(int) #2",
        "abcdefghijabcdefghijabcdefghi...cdefghijabcdefghijabcdefghij",
        "abcdefghijabcdefghijabcdefghi...cdefghijxabcdefghijbcdefghij",
        "other",
    };
    check_kernels(names, wanted, sizeof(names) / sizeof(names[0]));
}

static void numbers_have_room_in_names_at_the_limit(void **state)
{
    (void)state;
    static const char *const names[] = {FIFTY TEN "1" FIFTY TEN, FIFTY TEN "2" FIFTY TEN};
    static const char *const wanted[] = {
        "abcdefghijabcdefghijabcdefg...defghijabcdefghijabcdefghij #1",
        "abcdefghijabcdefghijabcdefg...defghijabcdefghijabcdefghij #2",
    };
    check_kernels(names, wanted, 2);
}

static void check_note(const struct report_data *data, const char *note, const char *wanted)
{
    struct base_buf out = {0};
    report_put_note(data, &out, note);
    assert_false(out.failed);
    assert_string_equal(out.text ? out.text : "", wanted);
    base_buf_fini(&out);
}

static void notes_have_short_names(void **state)
{
    (void)state;
#define LONG_SYMBOL "_Z4scanI1A" FIFTY FIFTY FIFTY FIFTY "EvT_"
    struct report_kernel rows[] = {
        {.name = "void scan<A<" FIFTY ", 1> >(int)", .symbol = LONG_SYMBOL},
        {.name = "void scan<A<" FIFTY ", 1> >(int, int)", .symbol = "_Z4scanii"},
        {.name = "add(float*)"},
    };
    struct report_data data = {0};
    base_arena_init(&data.arena, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct report_kernel *row = base_array_push(&data.kernel_rows);
        assert_non_null(row);
        *row = rows[i];
    }
    assert_true(report_shorten_kernels(&data));
    check_note(&data, "", "");
    check_note(&data, "2 kernels (a<b>): add(float*) is short",
               "2 kernels (a<b>): add(float*) is short");
    check_note(&data, "kernel " LONG_SYMBOL ": why", "kernel scan<A<...>> #1: why");
    check_note(&data, "kernel _Z4scanii, that is void scan<A<" FIFTY ", 1> >(int, int).",
               "kernel scan<A<...>> #2, that is scan<A<...>> #2.");
    check_note(&data, "void scan<A<" FIFTY ", 1> >(int)", "scan<A<...>> #1");
    // Cut by libglint.so, and not cut there: another function.
    char cut[300];
    snprintf(cut, sizeof(cut), "kernel %.200s: why", LONG_SYMBOL);
    check_note(&data, cut, "kernel scan<A<...>> #1: why");
    snprintf(cut, sizeof(cut), "kernel %.199s: why", LONG_SYMBOL);
    check_note(&data, cut,
               "kernel _Z4scanI1Aabcdefghijabcdefghi...bcdefghijabcdefghijabcdefghi: why");
    check_note(&data, "calls _Z4scan and _Z" FIFTY ".cold of b<" FIFTY TEN ">.",
               "calls _Z4scan and _Z" FIFTY ".cold of b<...>.");
    check_note(&data, "/a/_folder_Z/" FIFTY TEN TEN "/a.cu", "/a/_folder_Z/" FIFTY TEN TEN "/a.cu");
    base_array_fini(&data.kernel_rows);
    base_arena_fini(&data.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_loses_only_what_is_around_the_name),
        cmocka_unit_test(what_is_too_long_is_simplified_and_then_cut),
        cmocka_unit_test(no_two_kernels_have_the_same_short_name),
        cmocka_unit_test(notes_have_short_names),
        cmocka_unit_test(numbers_have_room_in_names_at_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
