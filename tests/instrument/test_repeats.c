// SPDX-License-Identifier: Apache-2.0
// Which kernels access the same memory in every launch with the same parameters: those whose code
// proves it. Whatever an address, a guard or a branch reads that may change keeps it from that.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/instrument.h"

// %a and %b are addresses, %n a count, %t the thread.
#define KERNEL(body)                                                            \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                           \
    ".visible .global .align 4 .u32 g[64]; .const .align 4 .u32 c[64];\n"       \
    ".func (.param .b32 r) other(.param .b64 p) {\n"                            \
    ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; ld.global.u32 %r, [%a];" \
    " st.param.b32 [r], %r; ret; }\n"                                           \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"        \
    ".reg .b32 %n, %t, %i, %r<9>; .reg .b64 %a, %b, %d<9>; .reg .pred %p<9>;\n" \
    ".shared .align 4 .b8 s[4096]; .local .align 8 .b8 l[64];\n"                \
    "ld.param.u64 %a, [p]; ld.param.u64 %b, [q]; ld.param.u32 %n, [n];\n"       \
    "cvta.to.global.u64 %a, %a; cvta.to.global.u64 %b, %b;\n"                   \
    "mov.u32 %t, %tid.x; mov.u32 %i, 0;\n" body "\nret; }\n"
#define AT(index) "mad.wide.u32 %d0, " index ", 4, %a; st.global.u32 [%d0], %n;"

struct known {
    const char *what, *ptx;
};

static bool answer(const char *ptx, uint32_t facts)
{
    struct instrument_request request = {.facts = facts};
    struct instrument_module *module, *again;
    struct base_error error = {0};
    struct base_buf bytes = {0};
    if (instrument_ptx(ptx, strlen(ptx), &request, &module, &error) != BASE_OK) {
        char message[512];
        base_error_text(&error, message, sizeof(message));
        fail_msg("%s\n%s", message, ptx);
    }
    assert_int_equal(module->kernel_count, 1);
    const bool repeats = module->kernels[0].repeats;
    assert_true(instrument_save(module, &bytes));
    assert_int_equal(instrument_load(bytes.text, bytes.length, &again, &error), BASE_OK);
    assert_int_equal(again->kernels[0].repeats, repeats);
    base_buf_fini(&bytes);
    instrument_destroy(again);
    instrument_destroy(module);
    return repeats;
}

static void check(const struct known *known, size_t count, bool expected)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++) {
        if (answer(known[i].ptx, INSTRUMENT_ELEMENTS) != expected ||
            answer(known[i].ptx, INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS) != expected) {
            print_error("%s: repeats is not %d\n", known[i].what, expected);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static const struct known same[] = {
    {"threads and blocks", KERNEL("mov.u32 %r0, %ctaid.y; mov.u32 %r1, %ntid.x; mov.u32 %r2, "
                                  "%nctaid.z; mad.lo.u32 %r3, %r0, %r1, %t; add.u32 %r3, %r3, "
                                  "%r2;" AT("%r3"))},
    {"values that are only stored", KERNEL("ld.global.u32 %r0, [%b]; st.global.u32 [%a], %r0;")},
    {"a guard", KERNEL("setp.lt.u32 %p0, %t, %n; @%p0 st.global.u32 [%a], %n;")},
    {"a loop", KERNEL("L:" AT("%i") "add.u32 %i, %i, 1; setp.lt.u32 %p0, %i, %n; @%p0 bra L;")},
    {"products that wrap around",
     KERNEL("mul.lo.u32 %r0, %t, %n; rem.u32 %r0, %r0, 64;" AT("%r0"))},
    {"an atomic operation whose result is stored",
     KERNEL("atom.global.add.u32 %r0, [%b], 1; st.global.u32 [%a], %r0;")},
    {"shared memory that is stored", KERNEL("st.shared.u32 [s], %t; bar.sync 0; ld.shared.u32 %r0, "
                                            "[s+4]; st.global.u32 [%a], %r0;")},
    {"a variable", KERNEL("st.global.u32 [g+8], %n;")},
    {"an asynchronous copy", KERNEL("cp.async.ca.shared.global [s], [%a], 4, 4;")},
    {"an early end", KERNEL("setp.ge.u32 %p0, %t, %n; @%p0 exit; st.global.u32 [%a], %n;")},
};

static const struct known others[] = {
    {"an index in memory", KERNEL("ld.global.u32 %r0, [%b];" AT("%r0"))},
    {"an index in read-only memory", KERNEL("ld.global.nc.u32 %r0, [%b];" AT("%r0"))},
    {"an index at a generic address", KERNEL("ld.u32 %r0, [%b];" AT("%r0"))},
    {"an index in shared memory", KERNEL("ld.shared.u32 %r0, [s];" AT("%r0"))},
    {"an index in local memory", KERNEL("st.local.u32 [l], %n; ld.local.u32 %r0, [l];" AT("%r0"))},
    {"a constant", KERNEL("ld.const.u32 %r0, [c];" AT("%r0"))},
    {"a guard in memory",
     KERNEL("ld.global.u32 %r0, [%b]; setp.ne.u32 %p0, %r0, 0; @%p0 st.global.u32 [%a], %n;")},
    {"a branch on memory", KERNEL("ld.global.u32 %r0, [%b]; setp.ne.u32 %p0, %r0, 0; @%p0 bra L; "
                                  "st.global.u32 [%a], %n; L:")},
    {"an end that memory decides", KERNEL("ld.global.u32 %r0, [%b]; setp.ne.u32 %p0, %r0, 0; @%p0 "
                                          "exit; st.global.u32 [%a], %n;")},
    {"a trap that memory decides",
     KERNEL(
         "ld.global.u32 %r0, [%b]; setp.ne.u32 %p0, %r0, 0; @%p0 trap; st.global.u32 [%a], %n;")},
    {"a selected address", KERNEL("ld.global.u32 %r0, [%b]; setp.ne.u32 %p0, %r0, 0; selp.b64 %d0, "
                                  "%a, %b, %p0; st.global.u32 [%d0], %n;")},
    {"a guarded move", KERNEL("mov.u64 %d0, %a; ld.global.u32 %r0, [%b]; setp.ne.u32 %p0, %r0, 0; "
                              "@%p0 mov.u64 %d0, %b; st.global.u32 [%d0], %n;")},
    {"rounds in memory",
     KERNEL("ld.global.u32 %r0, [%b]; L:" AT("%i") "add.u32 %i, %i, 1; "
                                                   "setp.lt.u32 %p0, %i, %r0; @%p0 bra L;")},
    {"a counter behind such rounds",
     KERNEL(
         "ld.global.u32 %r0, [%b]; L: add.u32 %i, %i, 1; setp.lt.u32 %p0, %i, %r0; @%p0 bra L;" AT(
             "%i"))},
    {"an atomic operation's result", KERNEL("atom.global.add.u32 %r0, [%b], 1;" AT("%r0"))},
    {"a clock", KERNEL("mov.u32 %r0, %clock; and.b32 %r0, %r0, 1;" AT("%r0"))},
    {"a multiprocessor", KERNEL("mov.u32 %r0, %smid;" AT("%r0"))},
    {"the number of the launch", KERNEL("mov.u64 %d1, %gridid; cvt.u32.u64 %r0, %d1;" AT("%r0"))},
    {"a warp", KERNEL("mov.u32 %r0, %warpid;" AT("%r0"))},
    {"sizes of shared memory", KERNEL("mov.u32 %r0, %total_smem_size;" AT("%r0"))},
    {"a block of a cluster", KERNEL("mov.u32 %r0, %cluster_ctarank;" AT("%r0"))},
    {"which lanes are active", KERNEL("activemask.b32 %r0;" AT("%r0"))},
    {"a shuffle", KERNEL("shfl.sync.bfly.b32 %r0, %t, 1, 31, -1;" AT("%r0"))},
    {"a vote", KERNEL("setp.eq.u32 %p0, %t, 0; vote.sync.any.pred %p1, %p0, -1; @%p1 "
                      "st.global.u32 [%a], %n;")},
    {"a register without a value", KERNEL("add.u32 %r0, %r1, 1;" AT("%r0"))},
    {"a register with a value on one way", KERNEL("setp.lt.u32 %p0, %t, %n; @%p0 bra L; mov.u32 "
                                                  "%r0, 1; L:" AT("%r0"))},
    {"a size in memory", KERNEL("ld.global.u32 %r0, [%b]; cp.async.ca.shared.global [s], [%a], 4, "
                                "%r0;")},
    {"a bulk copy", KERNEL("cp.async.bulk.global.shared::cta.bulk_group [%a], [s], 16;")},
    {"a call", KERNEL("{ .param .b64 x; .param .b32 y; st.param.b64 [x], %b; call (y), other, (x); "
                      "ld.param.b32 %r0, [y]; } st.global.u32 [%a], %r0;")},
};

static void what_parameters_say_repeats(void **unused)
{
    (void)unused;
    check(same, sizeof(same) / sizeof(same[0]), true);
}

static void what_they_do_not_say_does_not(void **unused)
{
    (void)unused;
    check(others, sizeof(others) / sizeof(others[0]), false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_parameters_say_repeats),
        cmocka_unit_test(what_they_do_not_say_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
