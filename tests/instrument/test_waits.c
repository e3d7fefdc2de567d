// SPDX-License-Identifier: Apache-2.0
// Which kernels may wait for other blocks: every hand-written grid barrier may, and loops that end
// regardless of other blocks may not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/instrument.h"

#define HEAD                                                                           \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 g;" \
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"           \
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"                           \
    ".extern .func (.param .b32 r) other(.param .b64 p);\n"

// %a is the address of a flag or of data, %b of more, %n a count, %t the thread, %i 0.
#define ENTRY(body)                                                               \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"          \
    ".reg .b32 %n, %t, %i, %r<9>; .reg .b64 %a, %b, %d<9>; .reg .pred %c<9>;\n"   \
    ".reg .f32 %f<9>; .shared .align 4 .b8 s[4096]; .local .align 8 .b8 l[64];\n" \
    "ld.param.u64 %a, [p]; ld.param.u64 %b, [q]; ld.param.u32 %n, [n];\n"         \
    "mov.u32 %t, %tid.x; mov.u32 %i, 0;\n" body "\nret; }\n"
#define KERNEL(body)     HEAD ENTRY(body)
#define UNTIL(condition) "setp." condition "; @!%c0 bra L;"
#define FUNCTION(name, body)                                                   \
    ".func (.param .b32 r) " name "(.param .b64 p) {\n"                        \
    ".reg .b32 %r<9>; .reg .b64 %a; .reg .pred %c<9>; ld.param.u64 %a, [p];\n" \
    "mov.u32 %r0, 0;\n" body "\nst.param.b32 [r], %r0; ret; }\n"
#define CALL(name)                                          \
    "{ .param .b64 x; .param .b32 y; st.param.b64 [x], %a;" \
    " call (y), " name ", (x); ld.param.b32 %r0, [y]; }\n"
#define COUNTED "add.u32 %i, %i, 1; setp.lt.u32 %c1, %i, %n; @%c1 bra L;"

struct known {
    const char *what, *ptx;
};

static bool answer(const char *ptx, uint32_t facts)
{
    struct instrument_request request = {.facts = facts};
    struct instrument_module *module;
    struct base_error error = {0};
    if (instrument_ptx(ptx, strlen(ptx), &request, &module, &error) != BASE_OK) {
        char message[512];
        base_error_text(&error, message, sizeof(message));
        fail_msg("%s\n%s", message, ptx);
    }
    assert_int_equal(module->kernel_count, 1);
    bool may_wait = module->kernels[0].may_wait;
    struct instrument_module *again;
    struct base_buf bytes = {0};
    assert_true(instrument_save(module, &bytes));
    assert_int_equal(instrument_load(bytes.text, bytes.length, &again, &error), BASE_OK);
    assert_int_equal(again->kernels[0].may_wait, may_wait);
    base_buf_fini(&bytes);
    instrument_destroy(again);
    instrument_destroy(module);
    return may_wait;
}

static void check(const struct known *known, size_t count, bool expected)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++) {
        if (answer(known[i].ptx, INSTRUMENT_OBJECTS) != expected ||
            answer(known[i].ptx, INSTRUMENT_ELEMENTS) != expected) {
            print_error("%s: may_wait is not %d\n", known[i].what, expected);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static const struct known waiting[] = {
    {"volatile load", KERNEL("L: ld.volatile.global.u32 %r0, [%a];" UNTIL("ge.u32 %c0, %r0, %n"))},
    {"acquire", KERNEL("L: ld.acquire.gpu.global.u32 %r0, [%a];" UNTIL("ge.u32 %c0, %r0, %n"))},
    {"relaxed, generic", KERNEL("L: ld.relaxed.gpu.u32 %r0, [%a];" UNTIL("ge.u32 %c0, %r0, %n"))},
    {"plain load", KERNEL("L: ld.global.u32 %r0, [%a];" UNTIL("ge.u32 %c0, %r0, %n"))},
    {"of a variable", KERNEL("L: ld.volatile.global.u32 %r0, [g];" UNTIL("ne.u32 %c0, %r0, 0"))},
    {"atomic", KERNEL("L: atom.global.add.u32 %r0, [%a], 0;" UNTIL("ge.u32 %c0, %r0, %n"))},
    {"lock", KERNEL("L: atom.global.cas.b32 %r0, [%a], 0, 1;" UNTIL("eq.u32 %c0, %r0, 0"))},
    {"surface", KERNEL("L: suld.b.1d.b32.trap {%r0}, [%a, {%i}];" UNTIL("ne.u32 %c0, %r0, 0"))},
    {"by arithmetic and selection",
     KERNEL("L: ld.volatile.global.u32 %r0, [%a]; xor.b32 %r1, %r0, %n; setp.lt.s32 %c1, %r1, 0;\n"
            "selp.u32 %r2, 1, 0, %c1;" UNTIL("ne.u32 %c0, %r2, 0"))},
    {"by a guard", KERNEL("L: ld.volatile.global.u32 %r0, [%a]; setp.ne.u32 %c1, %r0, 0; @%c1 "
                          "mov.u32 %i, 1;\n" UNTIL("ne.u32 %c0, %i, 0"))},
    {"by the way that control took",
     KERNEL("L: mov.u32 %r1, 0; ld.volatile.global.u32 %r0, [%a]; setp.eq.u32 %c1, %r0, 0;\n"
            "@%c1 bra M; mov.u32 %r1, 1;\nM: bar.sync 0;" UNTIL("ne.u32 %c0, %r1, 0"))},
    {"by the number of rounds of another loop",
     KERNEL("L: ld.volatile.global.u32 %r0, [%a]; mov.u32 %r1, 0;\n"
            "M: setp.ge.u32 %c1, %r1, %r0; @%c1 bra N; add.u32 %r1, %r1, 1; bra M;\n"
            "N:" UNTIL("ne.u32 %c0, %r1, 0"))},
    {"by a vote", KERNEL("L: ld.volatile.global.u32 %r0, [%a]; setp.ne.u32 %c1, %r0, 0;\n"
                         "vote.sync.any.pred %c0, %c1, -1; @!%c0 bra L;")},
    {"by a shuffle", KERNEL("L: ld.volatile.global.u32 %r0, [%a];\n"
                            "shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;" UNTIL("ne.u32 %c0, %r1, 0"))},
    {"by a reduction of the block",
     KERNEL("L: ld.volatile.global.u32 %r0, [%a]; setp.ne.u32 %c1, %r0, 0;\n"
            "barrier.cta.red.or.pred %c0, 0, %c1; @!%c0 bra L;")},
    {"one thread polls, and all read it in shared memory",
     KERNEL("L: setp.ne.u32 %c1, %t, 0; @%c1 bra M; ld.volatile.global.u32 %r0, [%a];\n"
            "st.shared.u32 [s], %r0;\nM: bar.sync 0; ld.shared.u32 %r1, [s];" UNTIL(
                "ne.u32 %c0, %r1, 0"))},
    {"one thread says so in shared memory",
     KERNEL("L: ld.volatile.global.u32 %r0, [%a]; setp.eq.u32 %c1, %r0, 0; @%c1 bra M;\n"
            "st.shared.u32 [s], 1;\nM: bar.sync 0; ld.shared.u32 %r1, [s];" UNTIL(
                "ne.u32 %c0, %r1, 0"))},
    {"a copy to shared memory",
     KERNEL("L: cp.async.ca.shared.global [s], [%a], 4; cp.async.wait_all; bar.sync 0;\n"
            "ld.shared.u32 %r1, [s];" UNTIL("ne.u32 %c0, %r1, 0"))},
    {"in local memory", KERNEL("L: ld.volatile.global.u32 %r0, [%a]; st.local.u32 [l], %r0;\n"
                               "ld.local.u32 %r1, [l];" UNTIL("ne.u32 %c0, %r1, 0"))},
    {"leaves by exit",
     KERNEL("L: ld.volatile.global.u32 %r0, [%a]; setp.ne.u32 %c0, %r0, 0; @%c0 exit; bra L;")},
    {"for a time", KERNEL("mov.u64 %d0, %globaltimer;\n"
                          "L: ld.volatile.global.u32 %r0, [%a]; setp.ne.u32 %c0, %r0, 0;\n"
                          "@%c0 bra M; mov.u64 %d1, %globaltimer; sub.u64 %d1, %d1, %d0;\n"
                          "setp.lt.u64 %c1, %d1, 5000000; @%c1 bra L;\nM:")},
    {"inside a counted loop",
     KERNEL("L: \nM: ld.volatile.global.u32 %r0, [%a]; setp.lt.u32 %c0, %r0, %i; @%c0 bra "
            "M;\n" COUNTED)},
    {"by way of a table", KERNEL("L: ld.relaxed.gpu.global.u64 %d0, [%a]; ld.global.nc.u32 %r0, "
                                 "[%d0];" UNTIL("ne.u32 %c0, %r0, 0"))},
    {"four loops deep",
     KERNEL("L: mov.u32 %r1, 0;\nM: mov.u32 %r2, 0;\nN: mov.u32 %r3, 0;\n"
            "O: ld.volatile.global.u32 %r0, [%a]; setp.lt.u32 %c0, %r0, %r3; @%c0 bra O;\n"
            "add.u32 %r2, %r2, 1; setp.lt.u32 %c1, %r2, %n; @%c1 bra N;\n"
            "add.u32 %r1, %r1, 1; setp.lt.u32 %c2, %r1, %n; @%c2 bra M;\n" COUNTED)},
    {"a cycle with two entries",
     KERNEL("setp.eq.u32 %c1, %t, 0; @%c1 bra M;\n"
            "L: add.u32 %i, %i, 1;\nM: ld.volatile.global.u32 %r0, [%a];" UNTIL(
                "ne.u32 %c0, %r0, 0"))},
    {"a switch", KERNEL("T: .branchtargets L, M;\nL: ld.volatile.global.u32 %r0, [%a];\n"
                        "and.b32 %r0, %r0, 1; brx.idx %r0, T;\nM:")},
    {"in a function", HEAD FUNCTION("f", "L: ld.volatile.global.u32 %r0, [%a];" UNTIL(
                                             "ne.u32 %c0, %r0, 0")) ENTRY(CALL("f"))},
    {"in a function of a function",
     HEAD FUNCTION("f", "L: ld.acquire.gpu.u32 %r0, [%a];" UNTIL("ne.u32 %c0, %r0, 0"))
         FUNCTION("h", CALL("f")) ENTRY(CALL("h"))},
    {"on the result of a function", HEAD FUNCTION("f", "ld.volatile.global.u32 %r0, [%a];")
                                        ENTRY("L: " CALL("f") UNTIL("ne.u32 %c0, %r0, 0"))},
    {"by recursion",
     HEAD FUNCTION("f", "ld.volatile.global.u32 %r0, [%a];\n"
                        "setp.ne.u32 %c0, %r0, 0; @%c0 bra L;\n" CALL("f") "L:") ENTRY(CALL("f"))},
    {"in a function that is not in the text", KERNEL(CALL("other"))},
    {"in a function by pointer",
     HEAD FUNCTION("f", "ld.global.u32 %r0, [%a];")
         ENTRY("P: .callprototype (.param .b32 _) _ (.param .b64 _);\nmov.u64 %d0, f;\n"
               "{ .param .b64 x; .param .b32 y; st.param.b64 [x], %a; call (y), %d0, (x), P; }")},
    {"for memory",
     KERNEL("L: { .param .b64 x; .param .b64 y; st.param.b64 [x], 8;\n"
            "call (y), malloc, (x); ld.param.b64 %d0, [y]; }" UNTIL("ne.u64 %c0, %d0, 0"))},
    {"a list", KERNEL("L: ld.global.u64 %a, [%a];" UNTIL("eq.u64 %c0, %a, 0"))},
};

static const struct known not_waiting[] = {
    {"no loop", KERNEL("atom.global.add.u32 %r0, [%a], 1; setp.eq.u32 %c0, %r0, %n;\n"
                       "@%c0 bra L; st.global.u32 [%b], %r0;\nL:")},
    {"counted",
     KERNEL("L: ld.global.f32 %f0, [%a]; fma.rn.f32 %f1, %f0, %f0, %f1; add.u64 %a, %a, 4;\n"
            "st.global.f32 [%b], %f1;" COUNTED)},
    {"counted by a value that was loaded before",
     KERNEL("ld.global.u32 %n, [%b];\nL: ld.global.f32 %f0, [%a]; add.u64 %a, %a, 4;" COUNTED)},
    {"rows of a sparse matrix",
     KERNEL("L: ld.global.u32 %r0, [%a]; ld.global.u32 %r1, [%a+4]; add.u64 %a, %a, 4;\n"
            "setp.ge.u32 %c0, %r0, %r1; @%c0 bra N;\n"
            "M: mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %b, %d0; ld.global.f32 %f0, [%d0];\n"
            "add.u32 %r0, %r0, 1; setp.lt.u32 %c0, %r0, %r1; @%c0 bra M;\nN: " COUNTED)},
    {"counted, with a condition on what was loaded",
     KERNEL("L: ld.global.u32 %r0, [%a]; setp.gt.u32 %c0, %r0, %r1; @!%c0 bra M;\n"
            "mov.u32 %r1, %r0; atom.global.max.u32 %r2, [%b], %r0;\nM: " COUNTED
            "st.global.u32 [%b], %r1;")},
    {"tiles in shared memory",
     KERNEL("L: ld.global.f32 %f0, [%a]; st.shared.f32 [s], %f0; bar.sync 0; mov.u32 %r1, 0;\n"
            "M: ld.shared.f32 %f1, [s+4]; fma.rn.f32 %f2, %f1, %f1, %f2; add.u32 %r1, %r1, 1;\n"
            "setp.lt.u32 %c0, %r1, 16; @%c0 bra M; bar.sync 0;" COUNTED
            "st.global.f32 [%b], %f2;")},
    {"tiles that are copied",
     KERNEL("L: cp.async.ca.shared.global [s], [%a], 4; cp.async.wait_all; bar.sync 0;\n"
            "ld.shared.f32 %f1, [s]; fma.rn.f32 %f2, %f1, %f1, %f2;" COUNTED
            "st.global.f32 [%b], %f2;")},
    {"reduction in shared memory",
     KERNEL("ld.global.u32 %r0, [%a]; st.shared.u32 [s], %r0; mov.u32 %r1, %ntid.x;\n"
            "L: bar.sync 0; shr.u32 %r1, %r1, 1; setp.ge.u32 %c1, %t, %r1; @%c1 bra M;\n"
            "ld.shared.u32 %r2, [s+4]; ld.shared.u32 %r3, [s]; add.u32 %r3, %r3, %r2;\n"
            "st.shared.u32 [s], %r3;\nM:" UNTIL("le.u32 %c0, %r1, 1"))},
    {"until shared memory says so",
     KERNEL("ld.global.u32 %r0, [%a]; st.shared.u32 [s], %r0; bar.sync 0;\n"
            "L: ld.shared.u32 %r1, [s]; shr.u32 %r1, %r1, 1; st.shared.u32 [s], %r1;\n"
            "bar.sync 0; ld.volatile.shared.u32 %r2, [s];" UNTIL("eq.u32 %c0, %r2, 0"))},
    {"a lock in shared memory", KERNEL("L: atom.shared.cas.b32 %r0, [s], 0, 1;" UNTIL(
                                    "eq.u32 %c0, %r0, 0") "st.shared.u32 [s], 0;")},
    {"on registers", KERNEL("mov.u32 %r0, %n;\nL: shr.u32 %r1, %r0, 1; xor.b32 %r0, %r1, %t;\n"
                            "and.b32 %r0, %r0, %r1; ld.global.f32 %f0, [%a];\n"
                            "st.global.f32 [%b], %f0;" UNTIL("eq.u32 %c0, %r0, 0"))},
    {"on what is read-only",
     KERNEL("L: ld.global.nc.u32 %r0, [%a]; add.u64 %a, %a, 4;" UNTIL("eq.u32 %c0, %r0, 0"))},
    {"for a time", KERNEL("mov.u64 %d0, %globaltimer;\nL: mov.u64 %d1, %globaltimer;\n"
                          "sub.u64 %d1, %d1, %d0;" UNTIL("gt.u64 %c0, %d1, 1000"))},
    {"a counter in local memory",
     KERNEL("st.local.u32 [l], %n;\nL: ld.global.f32 %f0, [%a]; st.global.f32 [%b], %f0;\n"
            "ld.local.u32 %r0, [l]; sub.u32 %r0, %r0, 1; st.local.u32 [l], %r0;" UNTIL(
                "eq.u32 %c0, %r0, 0"))},
    {"a counted loop that prints",
     KERNEL("L: ld.global.u32 %r0, [%a]; { .param .b64 x; .param .b64 z; .param .b32 y;\n"
            "st.param.b64 [x], %a; st.param.b64 [z], %b; call (y), vprintf, (x, z); }" COUNTED)},
    {"a counted loop in a function",
     HEAD FUNCTION("f", "mov.u32 %r1, 0;\nL: ld.global.u32 %r0, [%a]; add.u32 %r1, %r1, 1;" UNTIL(
                            "ge.u32 %c0, %r1, 9")) ENTRY("L: " CALL("f") COUNTED)},
    {"polling behind the loop",
     KERNEL("L: ld.global.f32 %f0, [%a];" COUNTED "ld.volatile.global.u32 %r0, [%a];\n"
            "setp.eq.u32 %c0, %r0, 0; @%c0 bra M; st.global.u32 [%b], %r0;\nM:")},
};

static void barriers_may_wait(void **state)
{
    (void)state;
    check(waiting, sizeof(waiting) / sizeof(waiting[0]), true);
}

static void loops_that_end_do_not(void **state)
{
    (void)state;
    check(not_waiting, sizeof(not_waiting) / sizeof(not_waiting[0]), false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_may_wait),
        cmocka_unit_test(loops_that_end_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
