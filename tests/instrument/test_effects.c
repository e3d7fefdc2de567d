// SPDX-License-Identifier: Apache-2.0
// Which kernels may do more than access memory: a launch of others can be left out if it leaves
// memory as it was.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/instrument.h"

#define HEAD                                                                               \
    ".version 8.6\n.target sm_100a\n.address_size 64\n"                                    \
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"               \
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"                               \
    ".extern .func free(.param .b64 p);\n"                                                 \
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 " \
    "d, .param .b64 e);\n"                                                                 \
    ".extern .func other();\n.visible .global .surfref surface;\n"
#define ENTRY(body)                                                                       \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"                  \
    ".reg .b32 %n, %t, %r<9>; .reg .b64 %a, %b, %d<9>; .reg .pred %c<9>; .reg .b64 %s;\n" \
    ".shared .align 16 .b8 s[4096]; ld.param.u64 %a, [p]; ld.param.u64 %b, [q];\n"        \
    "ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; setp.eq.u32 %c0, %t, 100;\n"               \
    "mul.wide.u32 %d0, %t, 4; add.u64 %a, %a, %d0; st.global.u32 [%a], %n;\n" body "\nret; }\n"
#define KERNEL(body) HEAD ENTRY(body)
#define FUNCTION(name, body) \
    ".func " name "() {\n.reg .b32 %r<9>; .reg .pred %c0;\n" body "ret; }\n"

static const char *const without[] = {
    KERNEL(""),
    // All that accesses memory of objects, or of the block and its cluster.
    KERNEL("red.global.add.u32 [%b], 1; atom.global.cas.b32 %r1, [%b], 0, 1; st.u32 [%b+4], 2;"),
    KERNEL("st.shared.u32 [s], %n; bar.sync 0; mapa.shared::cluster.u32 %r1, s, 0;\n"
           "st.shared::cluster.u32 [%r1], 1; barrier.cluster.arrive; barrier.cluster.wait;"),
    KERNEL("cp.async.bulk.global.shared::cta.bulk_group [%b], [s], 16;\n"
           "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"),
    // What only takes time, or changes only caches.
    KERNEL("nanosleep.u32 100; griddepcontrol.wait; griddepcontrol.launch_dependents;\n"
           "membar.gl; prefetch.global.L2 [%b]; applypriority.global.L2::evict_normal [%b], 128;"),
    KERNEL("suld.b.1d.b32.trap %r1, [surface, {%t}]; st.global.u32 [%b], %r1;"),
    KERNEL("@%c0 exit;"),
    HEAD FUNCTION("inner", "@%c0 ret;\n") ENTRY("call inner;"),
};

static const char *const with[] = {
    KERNEL("sust.b.1d.b32.trap [surface, {%t}], %n;"),
    KERNEL("@%c0 sust.b.1d.b32.trap [%b, {%t}], %n;"),
    KERNEL("sured.b.add.1d.u32.trap [surface, {%t}], %n;"),
    KERNEL("@%c0 trap;"),
    KERNEL("@%c0 brkpt;"),
    KERNEL("pmevent 1;"),
    KERNEL("discard.global.L2 [%b], 128;"),
    KERNEL("multimem.red.relaxed.sys.global.add.u32 [%b], %n;"),
    KERNEL("{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %b;\n"
           "st.param.b64 [y], 0; call (z), vprintf, (x, y); }"),
    KERNEL("{ .param .b64 x; .param .b64 z; st.param.b64 [x], 8; call (z), malloc, (x); }"),
    KERNEL("{ .param .b64 x; st.param.b64 [x], %b; call free, (x); }"),
    KERNEL("{ .param .b64 x; .param .b64 y; .param .b32 z; .param .b64 v; .param .b64 w;\n"
           "call __assertfail, (x, y, z, v, w); }"),
    KERNEL("call other;"),
    KERNEL("P: .callprototype _ ();\ncall %b, P;"),
    // In functions that it calls, which touch no memory of objects.
    HEAD FUNCTION("inner", "@%c0 trap;\n") ENTRY("call inner;"),
    HEAD FUNCTION("inner", "@%c0 trap;\n") FUNCTION("outer", "call inner;\n") ENTRY("call outer;"),
};

// Returns what is told about the kernel, which a saved module must tell, too.
static bool answer(const char *ptx, uint32_t facts)
{
    const struct instrument_request request = {.facts = facts};
    struct instrument_module *module, *again;
    struct base_error error = {0};
    struct base_buf bytes = {0};
    if (instrument_ptx(ptx, strlen(ptx), &request, &module, &error) != BASE_OK) {
        char message[512];
        base_error_text(&error, message, sizeof(message));
        fail_msg("%s\n%s", message, ptx);
    }
    assert_int_equal(module->kernel_count, 1);
    const bool other_effects = module->kernels[0].other_effects;
    assert_true(instrument_save(module, &bytes));
    assert_int_equal(instrument_load(bytes.text, bytes.length, &again, &error), BASE_OK);
    assert_int_equal(again->kernels[0].other_effects, other_effects);
    base_buf_fini(&bytes);
    instrument_destroy(again);
    instrument_destroy(module);
    return other_effects;
}

static void effects_beside_memory_are_told(void **state)
{
    (void)state;
    static const uint32_t levels[] = {INSTRUMENT_OBJECTS | INSTRUMENT_VALUES,
                                      INSTRUMENT_ELEMENTS | INSTRUMENT_VALUES};
    for (unsigned level = 0; level < 2; level++) {
        for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
            if (answer(without[i], levels[level]))
                fail_msg("has none: %s", without[i] + sizeof(HEAD) - 1);
        }
        for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
            if (!answer(with[i], levels[level]))
                fail_msg("has some: %s", with[i] + sizeof(HEAD) - 1);
        }
    }
}

// Another kernel of the module has none because of that.
static void effects_are_those_of_one_kernel(void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".visible .entry a() { .reg .b32 %r0; trap; }\n.visible .entry b() { ret; }\n";
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_VALUES};
    struct instrument_module *module;
    assert_int_equal(instrument_ptx(text, strlen(text), &request, &module, NULL), BASE_OK);
    assert_int_equal(module->kernel_count, 2);
    assert_true(module->kernels[0].other_effects);
    assert_false(module->kernels[1].other_effects);
    instrument_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effects_beside_memory_are_told),
        cmocka_unit_test(effects_are_those_of_one_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
