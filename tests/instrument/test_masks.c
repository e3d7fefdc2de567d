// SPDX-License-Identifier: Apache-2.0
// Requests in regular launches: which instructions are counted by the lanes that are there, which
// launches are regular, and that the counts are those of the simulator's log.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"

// Two buffers of 64 KiB and a number. %x is the thread's index, %i its number in the grid.
#define KERNEL(body)                                                                 \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"             \
    ".reg .b32 %x, %y, %i, %n, %r<20>; .reg .b64 %p, %q, %d<8>; .reg .pred %c<4>;\n" \
    ".shared .align 16 .b8 tile[8192];\n"                                            \
    "ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];\n"            \
    "mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %r0, %ctaid.x;\n"               \
    "mov.u32 %r1, %ntid.x; mad.lo.s32 %i, %r0, %r1, %x; mul.wide.s32 %d0, %i, 4;\n"  \
    "add.s64 %d1, %p, %d0; add.s64 %d2, %q, %d0;\n" body "ret; }\n"

#define COPY "ld.global.u32 %r2, [%d1]; st.global.u32 [%d2], %r2;\n"

enum { BYTES = 65536 };

// Checks that the launch is regular, and its counts.
static void check(const char *name, const char *ptx, const uint32_t block[3], uint32_t n)
{
    struct oracle_case test = oracle_case_of(ptx, 3, 1, n, NULL, NULL, BYTES);
    const struct oracle_level level = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS,
                                       .shift = 2,
                                       .workers = 1,
                                       .counted = INSTRUMENT_WHOLE,
                                       .light = true,
                                       .must_be_regular = true};
    memcpy(test.block, block, sizeof(test.block));
    snprintf(test.name, sizeof(test.name), "%s, n %u, blocks of %u", name, n, block[0]);
    assert_true(oracle_holds(&test, &level, 1, stderr));
}

#define CHECK(n, body)                                                 \
    do {                                                               \
        static const uint32_t one[] = {320, 1, 1}, two[] = {96, 4, 1}; \
        check(__func__, KERNEL(body), one, (n));                       \
        check(__func__, KERNEL(body), two, (n));                       \
    } while (0)

static void warps_that_lack_lanes(void **state)
{
    (void)state;
    static const uint32_t limits[] = {0, 1, 40, 300, 330, 800, 2000};
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
        CHECK(limits[i], "setp.ge.s32 %c0, %i, %n; @%c0 bra L;\n" COPY "L:\n");
    CHECK(17, "setp.lt.s32 %c0, %x, %n; @!%c0 st.global.u32 [%d2], %x;\n"
              "@!%c0 ld.global.u32 %r3, [%d1+4];\n");
    CHECK(5, "rem.u32 %r3, %x, 3; setp.eq.u32 %c0, %r3, 1; @%c0 bra L;\n" COPY
             "L: and.b32 %r3, %x, 1; setp.eq.u32 %c0, %r3, 1; @%c0 bra M;\n"
             "ld.global.u32 %r4, [%d1+8]; M:\n");
}

// The last warp of a block has fewer lanes.
static void blocks_of_any_size(void **state)
{
    (void)state;
    static const uint32_t sizes[][3] = {{32, 1, 1}, {288, 1, 1}, {1024, 1, 1}, {64, 3, 2}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        check(__func__, KERNEL(COPY), sizes[i], 0);
}

// A warp's place decides how many sectors bytes and structures take.
static void places(void **state)
{
    (void)state;
    static const uint32_t block[] = {512, 1, 1};
    check(__func__,
          KERNEL("mul.lo.u32 %r3, %i, 3; cvt.u64.u32 %d3, %r3; add.s64 %d4, %p, %d3;\n"
                 "ld.global.u8 %r4, [%d4]; ld.global.u8 %r5, [%d4+2];\n"
                 "cvt.u64.u32 %d3, %i; add.s64 %d4, %q, %d3; setp.eq.u32 %c0, %x, 40;\n"
                 "@%c0 bra L; st.global.u8 [%d4], %r5; L:\n"),
          block, 0);
    check(__func__,
          KERNEL("mul.lo.u32 %r3, %x, 12; mov.u32 %r4, tile; add.u32 %r4, %r4, %r3;\n"
                 "st.shared.u8 [%r4], %x; setp.gt.u32 %c0, %x, 77; @%c0 bra L;\n"
                 "ld.shared.u32 %r5, [%r4]; L:\n"),
          block, 0);
}

static void loops_that_lanes_run_together(void **state)
{
    (void)state;
    static const uint32_t rounds[] = {0, 1, 7};
    for (size_t i = 0; i < sizeof(rounds) / sizeof(*rounds); i++) {
        CHECK(rounds[i], "setp.eq.u32 %c1, %n, 0; @%c1 bra M; rem.u32 %r3, %x, 5;\n"
                         "setp.eq.u32 %c0, %r3, 2; @%c0 bra M; mov.u32 %r4, 0;\n"
                         "L: add.s64 %d1, %d1, 128;\n" COPY
                         "add.u32 %r4, %r4, 1; setp.lt.u32 %c0, %r4, %n; @%c0 bra L;\n"
                         "M: ld.global.u32 %r9, [%d1+4];\n");
        // A loop in a loop, and a block that all lanes skip in some rounds.
        CHECK(rounds[i], "setp.gt.u32 %c0, %x, 50; @%c0 bra END; mov.u32 %r4, 0;\n"
                         "L: mov.u32 %r5, 0;\n"
                         "M: ld.global.u32 %r6, [%d1]; and.b32 %r7, %r5, 1;\n"
                         "setp.eq.u32 %c1, %r7, 0; @%c1 bra N; st.global.u32 [%d2], %r6;\n"
                         "N: add.u32 %r5, %r5, 1; setp.le.u32 %c2, %r5, %n; @%c2 bra M;\n"
                         "add.u32 %r4, %r4, 1; setp.lt.u32 %c2, %r4, 3; @%c2 bra L;\n"
                         "END:\n");
    }
    // Lanes leave one after the other.
    CHECK(9, "mov.u32 %r4, 0; and.b32 %r5, %x, 7;\n"
             "L:\n" COPY "add.u32 %r4, %r4, 1; setp.lt.u32 %c0, %r4, %r5; @%c0 bra L;\n");
}

// Checks how often the second clone calls a function, or that there is none.
static void check_calls(const char *ptx, uint32_t facts, bool exists, unsigned calls)
{
    const struct instrument_request request = {.facts = facts};
    struct instrument_module *module;
    struct base_error error = {0};
    unsigned found = 0;
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    const char *name = module->kernels[0].light;
    assert_int_equal(name != NULL, exists);
    for (const char *at = name ? strstr(module->ptx, name) : NULL;
         at && (at = strstr(at, "call glint$")) != NULL; at++)
        found++;
    assert_int_equal(found, calls);
    instrument_destroy(module);
}

static void where_data_decides_lanes_are_not_counted_so(void **state)
{
    (void)state;
    const uint32_t facts = INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS;
    check_calls(KERNEL(COPY), facts, true, 0);
    check_calls(KERNEL("setp.ge.s32 %c0, %i, %n; @%c0 bra L;\n" COPY "L:\n"), facts, true, 0);
    // The address of the second load is from memory.
    check_calls(KERNEL("ld.global.u32 %r3, [%d1]; mul.wide.u32 %d3, %r3, 4; add.s64 %d4, %q, %d3;\n"
                       "ld.global.u32 %r4, [%d4];\n"),
                facts, true, 1);
    // A branch depends on memory: what is behind it, but not the load before it and the one where
    // all lanes are together again.
    check_calls(KERNEL("ld.global.u32 %r3, [%d1]; setp.eq.u32 %c0, %r3, 0; @%c0 bra L;\n"
                       "st.global.u32 [%d2], %r3; L: ld.global.u32 %r4, [%d2+4];\n"),
                facts, true, 1);
    // In a loop that lanes leave by what they load.
    check_calls(KERNEL("L: ld.global.u32 %r3, [%d1]; setp.eq.u32 %c0, %r3, 0; @%c0 bra L;\n"),
                facts, false, 0);
    // Other probes need addresses anyway.
    check_calls(KERNEL(COPY), facts | INSTRUMENT_VALUES, false, 0);
    check_calls(KERNEL(COPY), INSTRUMENT_ELEMENTS | INSTRUMENT_REQUESTS, false, 0);
}

// The simulated GPU brings lanes together again where they may be. An H200 does not if the code
// that counts a mask lets them part, and then counts other requests.
static void lanes_stay_together(void **state)
{
    (void)state;
    static const char ptx[] = KERNEL("setp.ge.s32 %c0, %i, %n; @%c0 bra L;\n" COPY "L:\n");
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    const char *at = strstr(module->ptx, module->kernels[0].light);
    assert_non_null(at);
    at = strstr(at, "atom.global.cas.b64");
    assert_non_null(at);
    assert_non_null(strstr(at, "bra.uni "));
    assert_null(strstr(at, "bra $"));
    // Nor is there a loop, which an atomic operation could end.
    const char *counted = strstr(at, "red.global.add.u64"), *branch = strstr(at, "bra");
    assert_non_null(counted);
    assert_true(branch > counted);
    instrument_destroy(module);
}

// --- Launches ------------------------------------------------------------------------------------

// Loads an element of a matrix whose rows have n elements, and a byte.
static const char matrix[] =
    KERNEL("mad.lo.s32 %r3, %y, %n, %i; mad.wide.s32 %d3, %r3, 4, %p; ld.global.u32 %r4, [%d3];\n"
           "cvt.u64.u32 %d4, %x; add.s64 %d4, %q, %d4; ld.global.u8 %r5, [%d4];\n");

static void which_launches_are_regular(void **state)
{
    (void)state;
    static const struct {
        uint32_t block[3], n;
        uint64_t first; // the matrix
        bool regular;
    } cases[] = {
        {{32, 8, 1}, 64, 1 << 20, true},   {{32, 8, 1}, 64, (1 << 20) + 4, true},
        {{32, 8, 1}, 65, 1 << 20, true}, // rows of a block have places of their own
        {{32, 16, 1}, 65, 1 << 20, false}, {{32, 16, 1}, 68, 1 << 20, true},
        {{48, 1, 1}, 64, 1 << 20, false}, // blocks begin anywhere
        {{16, 4, 1}, 64, 1 << 20, false}, // so do warps
        {{512, 1, 1}, 65, 1 << 20, true},
    };
    const struct instrument_request request = {.facts = INSTRUMENT_REQUESTS};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(matrix, strlen(matrix), &request, &module, &error), BASE_OK);
    assert_int_equal(module->kernels[0].site_count, 2);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct {
            uint64_t p, q;
            uint32_t n;
        } params = {cases[i].first, 1 << 24, cases[i].n};
        const uint64_t roots[2] = {cases[i].first, 1 << 24};
        const struct instrument_launch launch = {
            .grid = {4, 1, 1},
            .block = {cases[i].block[0], cases[i].block[1], cases[i].block[2]},
            .params = (const unsigned char *)&params,
            .roots = roots,
        };
        struct instrument_site_place places[2];
        instrument_find_places(&module->kernels[0], &launch, places);
        if (instrument_is_regular(&module->kernels[0], launch.block, places) != cases[i].regular)
            fail_msg("case %zu", i);
    }
    instrument_destroy(module);
}

static void what_masks_add(void **state)
{
    (void)state;
    static const struct instrument_form form;
    const struct instrument_site site = {
        .bytes = 4, .requests = 1, .whole = 1, .whole_from_one = true, .form = &form, .masked = 2};
    const struct instrument_site_place at = {.first = 16, .x = 4, .is_known = 1};
    const uint32_t block[3] = {64, 1, 1};
    // 10 blocks of two warps: all first ones were whole, and of the second ones 7.
    const uint64_t tallies[2][INSTRUMENT_PLACES] = {{1, 2, 3}, {0, (uint64_t)-96}};
    const struct instrument_mask masks[] = {
        {0x00000003, 2 * INSTRUMENT_PLACES + 1, 2}, // one sector each
        {0x80000001, 2 * INSTRUMENT_PLACES + 1, 1}, // two, in different lines
        {0xffffffff, 3 * INSTRUMENT_PLACES, 5},     // of another site
    };
    uint64_t sums[INSTRUMENT_REQUEST_TALLIES];
    instrument_sum_masked(&site, false, &at, block, 10, tallies, masks, 3, sums);
    assert_int_equal(sums[INSTRUMENT_REQUEST_COUNT], 17 + 3);
    assert_int_equal(sums[INSTRUMENT_REQUEST_SECTORS], 17 * 5 + 2 + 2);
    assert_int_equal(sums[INSTRUMENT_REQUEST_NEEDED], 17 * 4 + 2 + 1);
    assert_int_equal(sums[INSTRUMENT_REQUEST_LINES], 17 * 2 + 2 + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warps_that_lack_lanes),
        cmocka_unit_test(blocks_of_any_size),
        cmocka_unit_test(places),
        cmocka_unit_test(loops_that_lanes_run_together),
        cmocka_unit_test(where_data_decides_lanes_are_not_counted_so),
        cmocka_unit_test(lanes_stay_together),
        cmocka_unit_test(which_launches_are_regular),
        cmocka_unit_test(what_masks_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
