// SPDX-License-Identifier: Apache-2.0
// What blocks that are looked at load of objects in global memory, and how many different words:
// what probes report equals the simulator's log. Near misses: what is not counted is named, and
// every corruption of a run is detected. The random kernels of random_main.c are looked at, too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"
#include "two_buffers.h"

#define HEAD         ".version 8.0\n.target sm_90\n.address_size 64\n"
#define KERNEL(body) HEAD ENTRY REGISTERS START body "ret; }\n"

enum { BYTES = 65536 };

static void check_on(const char *name, const char *ptx, uint32_t n, const uint32_t grid[3],
                     const uint32_t block[3], uint32_t bits)
{
    static const uint32_t facts[] = {INSTRUMENT_OBJECTS, INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS,
                                     INSTRUMENT_OBJECTS | INSTRUMENT_VALUES | INSTRUMENT_ACCESSED};
    struct oracle_case test = oracle_case_of(ptx, 1, 1, n, NULL, NULL, BYTES);
    struct oracle_level levels[3];
    memcpy(test.grid, grid, sizeof(test.grid));
    memcpy(test.block, block, sizeof(test.block));
    snprintf(test.name, sizeof(test.name), "%.40s, %u blocks of %u", name, grid[0], block[0]);
    for (unsigned i = 0; i < 3; i++)
        levels[i] = (struct oracle_level){.facts = facts[i] | INSTRUMENT_SHARED,
                                          .shift = 2,
                                          .workers = 1,
                                          .all_reuse = true,
                                          .reuse_bits = bits,
                                          .parts = i};
    assert_true(oracle_holds(&test, levels, 3, stderr));
}

static void check(const char *name, const char *ptx, uint32_t n)
{
    check_on(name, ptx, n, (const uint32_t[]){3, 1, 1}, (const uint32_t[]){64, 1, 1}, 0);
    check_on(name, ptx, n, (const uint32_t[]){2, 3, 2}, (const uint32_t[]){15, 3, 1}, 0);
}

// Returns what is not counted, "" if everything is, "nothing" if no block is looked at.
static void check_unlooked(const char *ptx, const char *wanted)
{
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    const struct instrument_kernel *kernel = &module->kernels[0];
    assert_non_null(kernel->clone);
    assert_string_equal(!kernel->looks     ? "nothing"
                        : kernel->unlooked ? kernel->unlooked
                                           : "",
                        wanted);
    instrument_destroy(module);
}

// All threads load the same 16 words, in a loop, and one word of their own.
#define LOOP                                                                                 \
    KERNEL("mov.u32 %r2, 0; mul.wide.u32 %d0, %b, 1024; add.u64 %d0, %p, %d0;\n"             \
           "mul.wide.u32 %d1, %t, 4; add.u64 %d1, %d1, %d0; ld.global.f32 %r3, [%d1+256];\n" \
           "L: mul.wide.u32 %d2, %r2, 4; add.u64 %d2, %d2, %d0;\n"                           \
           "ld.global.u32 %r4, [%d2]; add.u32 %r2, %r2, 1; setp.lt.u32 %c0, %r2, %n;\n"      \
           "@%c0 bra L; mul.wide.u32 %d3, %t, 4; add.u64 %d3, %d3, %q;\n"                    \
           "st.global.u32 [%d3+128], %r4;\n")

static void words_that_are_loaded_again(void **state)
{
    (void)state;
    check(__func__, LOOP, 16);
}

static void sizes_and_vectors(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("mul.wide.u32 %d0, %t, 16; add.u64 %d0, %d0, %p;\n"
                 "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d0]; ld.global.u64 %d1, [%d0+8];\n"
                 "ld.global.u8 %r2, [%d0+5]; ld.global.u8 %r2, [%d0+6]; ld.global.u16 %h0, [%d0+2];"
                 "ld.global.nc.v2.f64 {%d2, %d3}, [%d0+4096]; st.global.v2.u32 [%d0+16384], {%r2,"
                 "%r3}; st.global.u8 [%d0+20003], %r2;\n"),
          0);
}

// Neither the copy nor the atomic operation loads; the latter stores.
static void other_accesses_are_no_loads(void **state)
{
    (void)state;
    check(__func__,
          HEAD ".shared .align 16 .b8 tile[2048];\n" ENTRY REGISTERS START
               "mul.wide.u32 %d0, %t, 4; add.u64 %d0, %d0, %p; mov.u32 %r2, tile;\n"
               "mad.lo.u32 %r2, %t, 4, %r2; cp.async.ca.shared.global [%r2], [%d0], 4;\n"
               "cp.async.wait_all; atom.global.add.u32 %r3, [%d0+4], 1; red.global.add.u32 [%d0],"
               "1; ld.global.u32 %r4, [%d0+8192];\nret; }\n",
          0);
}

static void guards_and_branches(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("rem.u32 %r2, %t, 7; setp.lt.u32 %c0, %r2, 3; mul.wide.u32 %d0, %r2, 8;\n"
                 "add.u64 %d0, %d0, %p; @%c0 ld.global.u64 %d1, [%d0]; @!%c0 ld.global.u32 %r3,"
                 "[%d0+64]; setp.ge.u32 %c1, %t, %n; @%c1 ret; ld.global.u32 %r4, [%d0+256];\n"),
          20);
}

// Generic addresses, one of which may be in shared memory; both pointers into one object; an
// address that comes from memory.
static void any_address(void **state)
{
    (void)state;
    const char *ptx =
        HEAD ".shared .align 16 .b8 tile[64];\n" ENTRY REGISTERS START
             "setp.lt.u32 %c0, %t, %n; mov.u64 %d0, tile; cvta.shared.u64 %d0, %d0;\n"
             "selp.b64 %d1, %p, %d0, %c0; ld.u32 %r2, [%d1]; st.u32 [%d1+4], %r2;\n"
             "ld.global.u64 %d2, [%p+1024]; ld.global.u32 %r3, [%d2]; ld.global.u32 %r3, [%q];\n"
             "ret; }\n";
    struct oracle_case test = oracle_case_of(ptx, 2, 40, 30, NULL, NULL, BYTES);
    const struct oracle_level level = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED,
                                       .shift = 2,
                                       .workers = 1,
                                       .all_reuse = true};
    snprintf(test.name, sizeof(test.name), "any address");
    test.pointers[1] = (struct oracle_pointer){ORACLE_IN_PARAMS, 8, 0, 4};
    test.pointers[2] = (struct oracle_pointer){0, 1024, 0, 64};
    test.pointer_count = 3;
    assert_true(oracle_holds(&test, &level, 1, stderr));
    test.pointers[2].to = 1; // in no root's object
    assert_true(oracle_holds(&test, &level, 1, stderr));
}

// More blocks than are looked at.
static void blocks_spread_over_the_grid(void **state)
{
    (void)state;
    static const uint32_t grids[][3] = {{63, 1, 1},  {64, 1, 1}, {65, 1, 1}, {127, 1, 1},
                                        {200, 1, 1}, {5, 7, 3},  {1, 3, 40}};
    const char *ptx = KERNEL("mul.wide.u32 %d0, %b, 4; add.u64 %d0, %d0, %p; mul.wide.u32 %d1, %t,"
                             "4; add.u64 %d0, %d0, %d1; ld.global.u32 %r2, [%d0];\n");
    for (size_t i = 0; i < sizeof(grids) / sizeof(*grids); i++)
        check_on(__func__, ptx, 0, grids[i], (const uint32_t[]){32, 1, 1}, 0);
    assert_int_equal(instrument_looked(63), 63);
    assert_int_equal(instrument_looked(1000000), 64);
    assert_int_equal(instrument_looked_block(200, 63), 196);
}

// A table of 8192 entries takes 6144 words: one more is too many.
static void more_words_than_a_table_takes(void **state)
{
    (void)state;
    const char *ptx = KERNEL("mul.wide.u32 %d0, %t, 4; add.u64 %d0, %d0, %p; mov.u32 %r2, 0;\n"
                             "L: ld.global.u32 %r3, [%d0]; add.u64 %d0, %d0, 1024;\n"
                             "add.u32 %r2, %r2, 1; setp.lt.u32 %c0, %r2, %n; @%c0 bra L;\n");
    const uint32_t grid[] = {2, 1, 1}, block[] = {256, 1, 1};
    struct instrument_reuse_set set;
    assert_true(instrument_reuse_set(4096, BYTES, 13, &set));
    assert_int_equal(set.most, 6144);
    check_on("as many", ptx, 24, grid, block, 13);
    check_on("more", ptx, 25, grid, block, 13);
    check_on("all", ptx, 64, grid, block, 13);
    assert_true(instrument_reuse_set(4098, 100, 13, &set)); // 26 words
    assert_int_equal(set.most, 26);
    assert_int_equal(set.shift, 32 - 6);
    assert_false(instrument_reuse_set(4096, UINT64_C(1) << 34, 13, &set));
}

static void what_is_not_counted_has_a_name(void **state)
{
    (void)state;
    check_unlooked(LOOP, "");
    check_unlooked(KERNEL("st.global.u32 [%p], %t;\n"), "nothing");
    check_unlooked(
        HEAD ".func f(.param .b64 a) { .reg .b64 %a; .reg .b32 %r; ld.param.u64 %a,"
             "[a]; ld.global.u32 %r, [%a]; st.global.u32 [%a], %r; ret; }\n" ENTRY REGISTERS START
             "ld.global.u32 %r2, [%p];\n"
             "{ .param .b64 x; st.param.b64 [x], %p; call f, (x); } ret; }\n",
        "accesses in f, which it calls");
    check_unlooked(HEAD ".shared .align 16 .b8 tile[64];\n" ENTRY REGISTERS START
                        "ld.global.u32 %r2, [%p]; mov.u32 %r3, tile;\n"
                        "cp.async.bulk.global.shared::cta.bulk_group [%p], [%r3], 64; ret; }\n",
                   "cp.async.bulk.global.shared::cta.bulk_group at line 14 of the PTX");
}

static void a_spoiled_count_is_detected(void **state)
{
    (void)state;
    struct oracle_case test = oracle_case_of(LOOP, 3, 32, 16, NULL, NULL, BYTES);
    struct oracle_level level = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED,
                                 .shift = 2,
                                 .workers = 1,
                                 .all_reuse = true};
    FILE *nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    snprintf(test.name, sizeof(test.name), "spoiled");
    assert_true(oracle_holds(&test, &level, 1, nowhere));
    level.spoil = ORACLE_ONE_REUSE;
    for (level.which = 0; level.which < 7; level.which++)
        assert_false(oracle_holds(&test, &level, 1, nowhere));
    fclose(nowhere);
}

static bool loads_ordered(const char *ptx)
{
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    const bool ordered = module->kernels[0].loads_ordered;
    assert_true(module->kernels[0].looks && !module->kernels[0].unlooked);
    instrument_destroy(module);
    return ordered;
}

// They may wait for what other threads store. All are counted.
static void ordered_loads_are_told(void **state)
{
    (void)state;
#define LOADS(load) KERNEL("ld.global.u32 %r2, [%p]; " load " %r2, [%q];\n")
    assert_false(loads_ordered(LOADS("ld.weak.global.u32")));
    assert_true(loads_ordered(LOADS("ld.volatile.global.u32")));
    assert_true(loads_ordered(LOADS("ld.acquire.gpu.global.u32")));
    assert_true(loads_ordered(LOADS("ld.relaxed.sys.u32")));
    assert_false(
        loads_ordered(KERNEL("ld.global.u32 %r2, [%p]; st.volatile.global.u32 [%q], %r2;\n")));
    check(__func__, LOADS("ld.volatile.global.u32"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_that_are_loaded_again),
        cmocka_unit_test(sizes_and_vectors),
        cmocka_unit_test(other_accesses_are_no_loads),
        cmocka_unit_test(guards_and_branches),
        cmocka_unit_test(any_address),
        cmocka_unit_test(blocks_spread_over_the_grid),
        cmocka_unit_test(more_words_than_a_table_takes),
        cmocka_unit_test(what_is_not_counted_has_a_name),
        cmocka_unit_test(ordered_loads_are_told),
        cmocka_unit_test(a_spoiled_count_is_detected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
