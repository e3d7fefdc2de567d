// SPDX-License-Identifier: Apache-2.0
// Requests to words of shared memory whose addresses come from memory, as they fall on banks: how
// many words the busiest bank delivers equals the simulator's log, however that is counted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"

enum { LANES = 32, BANKS = 32, BYTES = 4096 };

// Each thread loads the word, or a byte of it, whose number it finds in p.
#define KERNEL(target, body)                                                 \
    ".version 8.0\n.target " target "\n.address_size 64\n"                   \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"     \
    ".reg .b32 %n, %i, %r<9>; .reg .b64 %p, %d<3>; .reg .pred %c<2>;\n"      \
    ".shared .align 4 .b8 tile[8192];\n"                                     \
    "ld.param.u64 %p, [p]; ld.param.u32 %n, [n]; mov.u32 %i, 0;\n"           \
    "mov.u32 %r1, %tid.x; and.b32 %r1, %r1, 31; mul.wide.u32 %d1, %r1, 4;\n" \
    "add.s64 %d1, %p, %d1; and.b32 %r2, %r1, 3; mov.u32 %r3, tile;\n" body "ret; }\n"
#define ADDRESS "ld.global.u32 %r4, [%d1]; shl.b32 %r5, %r4, 2; add.u32 %r5, %r5, %r3;\n"
#define ROUND   "add.u32 %i, %i, 1; setp.lt.u32 %c0, %i, %n; @%c0 bra L;\n"

static const char *const kernels[] = {
    KERNEL("sm_90", ADDRESS "ld.shared.u32 %r6, [%r5];\n"),
    KERNEL("sm_90", "L: " ADDRESS "red.shared.add.u32 [%r5], 1;\n" ROUND),
    KERNEL("sm_90", "L: " ADDRESS "add.u32 %r5, %r5, %r2; ld.shared.u8 %r6, [%r5];\n" ROUND),
    KERNEL("sm_90", "L: " ADDRESS "rem.u32 %r7, %r1, 3; setp.ne.u32 %c1, %r7, %i;\n"
                    "@%c1 ld.shared.u32 %r6, [%r5]; st.shared.u32 [%r5], %r1;\n" ROUND),
    KERNEL("sm_70", ADDRESS "ld.shared.u32 %r6, [%r5];\n"),
    KERNEL("sm_70", "L: " ADDRESS "ld.shared.u32 %r6, [%r5];\n" ROUND),
};

// Checks the requests of a warp that has these words, and of one that lacks lanes.
static void check(const uint32_t words[LANES], const char *name)
{
    static const struct oracle_level level = {
        .facts = INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS, .shift = 2, .workers = 1};
    unsigned char buffer[BYTES] = {0};
    memcpy(buffer, words, LANES * sizeof(words[0]));
    for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
        struct oracle_case test = oracle_case_of(kernels[i], 1, 45, 3, buffer, NULL, BYTES);
        snprintf(test.name, sizeof(test.name), "%s, kernel %zu", name, i);
        assert_true(oracle_holds(&test, &level, 1, stderr));
    }
}

// Gives `count` lanes words of one bank, and all others banks of their own. The lanes begin at
// `first` and are `step` apart, which is odd. Those of them that are `distance` apart in the order
// of lanes have the same word. 0: all differ.
static void share_bank(uint32_t count, uint32_t distance, uint32_t first, uint32_t step,
                       uint32_t words[LANES])
{
    enum { SHARED = 5 };
    bool shares[LANES] = {false};
    uint32_t own = SHARED, place = 0;
    for (uint32_t i = 0; i < count; i++)
        shares[(first + i * step) % LANES] = true;
    for (uint32_t i = 0; i < LANES; i++) {
        if (shares[i]) {
            words[i] = SHARED + BANKS * (distance ? place % distance : place);
            place++;
        } else {
            own = (own + 1) % BANKS;
            words[i] = own + BANKS * (i % 3);
        }
    }
}

// Lanes of one bank, of which those at a distance have the same word: the first and the last one,
// too.
static void lanes_of_one_bank(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 32};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        for (uint32_t distance = 0; distance < counts[i] && distance < 10; distance++) {
            uint32_t words[LANES];
            char name[64];
            snprintf(name, sizeof(name), "%u lanes, equal at distance %u", counts[i], distance);
            share_bank(counts[i], distance, 31, 7, words);
            check(words, name);
        }
    }
}

// Two lanes of a bank have the same word, at any two places among them.
static void two_lanes_of_a_bank(void **state)
{
    (void)state;
    for (uint32_t count = 2; count <= 6; count++) {
        for (uint32_t one = 0; one < count; one++) {
            for (uint32_t other = one + 1; other < count; other++) {
                uint32_t words[LANES];
                char name[64];
                snprintf(name, sizeof(name), "lanes %u and %u of %u", one, other, count);
                share_bank(count, 0, 1, 1, words); // its lanes are 1, 2, ...
                words[1 + other] = words[1 + one];
                check(words, name);
            }
        }
    }
}

// One bank has more lanes, and another one has more words.
static void several_banks(void **state)
{
    (void)state;
    uint32_t words[LANES];
    for (uint32_t lanes = 3; lanes <= 6; lanes++) {
        share_bank(lanes, 1, 0, 1, words);
        words[30] = 9, words[31] = 9 + BANKS;
        check(words, "two words beside one");
        words[29] = 9 + 2 * BANKS;
        check(words, "three words beside one");
    }
    for (uint32_t i = 0; i < LANES; i++)
        words[i] = i / 4 + BANKS * (i % 4);
    check(words, "4 words of 8 banks");
    for (uint32_t i = 0; i < LANES; i++)
        words[i] = i % 8 + BANKS * (i / 16);
    check(words, "2 words of 8 banks, twice");
    for (uint32_t i = 0; i < LANES; i++)
        words[i] = 77;
    check(words, "one word");
    for (uint32_t i = 0; i < LANES; i++)
        words[i] = i * 33 % 2048;
    check(words, "one word of each bank");
}

static void words_at_random(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (uint32_t round = 0; round < 40; round++) {
        const uint32_t range = 64u << round % 6; // 2048 at most
        uint32_t words[LANES];
        char name[64];
        for (uint32_t i = 0; i < LANES; i++) {
            seed = seed * 1664525 + 1013904223;
            words[i] = (seed >> 12) % range;
        }
        snprintf(name, sizeof(name), "round %u", round);
        check(words, name);
    }
}

// Returns the clone in the text of the instrumented kernel.
static const char *instrument(const char *ptx, struct instrument_module **module)
{
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS};
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, module, &error), BASE_OK);
    const char *clone = strstr((*module)->ptx, (*module)->kernels[0].clone);
    assert_non_null(clone);
    return clone;
}

static unsigned count(const char *text, const char *wanted)
{
    unsigned found = 0;
    for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++)
        found++;
    return found;
}

// An H200 brings lanes that part together again much later, and then counts other requests.
static void lanes_stay_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
        struct instrument_module *module;
        const char *at = strstr(instrument(kernels[i], &module), "%glint$unserved");
        assert_non_null(at);
        const char *end = strstr(at, "red.global.");
        const char *uniform = strstr(at, "bra.uni "), *any = strstr(at, "bra $");
        assert_non_null(end);
        assert_true(uniform && uniform < end);
        assert_true(!any || any > end);
        instrument_destroy(module);
    }
}

// In a loop a warp sums up what its requests take, without a call, if there are few such sites and
// their addresses come from memory.
static void what_is_summed_up_in_registers(void **state)
{
    (void)state;
#define LOAD "ld.shared.u32 %r6, [%r5];\n"
    static const struct {
        const char *ptx;
        unsigned sites, calls; // in one clone
    } cases[] = {
        {KERNEL("sm_80", "L: " ADDRESS LOAD ROUND), 1, 0},
        {KERNEL("sm_80", "L: " ADDRESS LOAD LOAD ROUND), 2, 0},
        {KERNEL("sm_80", "L: " ADDRESS LOAD LOAD LOAD LOAD ROUND), 2, 2},
        {KERNEL("sm_80", ADDRESS LOAD), 0, 1},
        {KERNEL("sm_75", "L: " ADDRESS LOAD ROUND), 0, 1},
        // The address is no multiple of the thread's number, but nothing is loaded for it.
        {KERNEL("sm_80", "L: mul.lo.u32 %r4, %r1, %r1; shl.b32 %r5, %r4, 2;\n"
                         "add.u32 %r5, %r5, %r3;" LOAD ROUND),
         0, 1},
        // Each lane has another part of the word, or of two.
        {KERNEL("sm_80", "L: " ADDRESS "ld.shared.u16 %r6, [%r5];\n" ROUND), 1, 0},
        {KERNEL("sm_80", "L: " ADDRESS "ld.shared.v2.u32 {%r6, %r7}, [%r5];\n" ROUND), 0, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct instrument_module *module;
        const char *clone = instrument(cases[i].ptx, &module);
        const unsigned clones = module->kernels[0].light ? 2 : 1;
        assert_int_equal(count(clone, "@%glint$busy add.u32 %glint$n"), cases[i].sites * clones);
        assert_int_equal(count(clone, "call glint$wavefronts"), cases[i].calls * clones);
        instrument_destroy(module);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_of_one_bank),   cmocka_unit_test(two_lanes_of_a_bank),
        cmocka_unit_test(several_banks),       cmocka_unit_test(words_at_random),
        cmocka_unit_test(lanes_stay_together), cmocka_unit_test(what_is_summed_up_in_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
