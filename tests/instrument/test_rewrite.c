// SPDX-License-Identifier: Apache-2.0
// The result of instrument_ptx: the original text first, then clones, the tables of roots,
// uses and sites, and a reason for everything that cannot have probes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/instrument.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define KERNEL(name, body)                                                        \
    ".visible .entry " name "(.param .u64 p, .param .u64 q, .param .u32 n) {\n"   \
    ".reg .b32 %r<9>; .reg .b64 %a, %b, %d<9>; .reg .pred %c<9>; .reg .f32 %f;\n" \
    "ld.param.u64 %a, [p]; ld.param.u64 %b, [q]; ld.param.u32 %r0, [n];\n" body "ret; }\n"

static const uint32_t levels[] = {INSTRUMENT_OBJECTS, INSTRUMENT_ELEMENTS,
                                  INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS};

static struct instrument_module *made;

static const struct instrument_module *make_with(const char *text,
                                                 const struct instrument_request *request)
{
    struct base_error error = {0};
    instrument_destroy(made);
    if (instrument_ptx(text, strlen(text), request, &made, &error) != BASE_OK) {
        char message[512];
        base_error_text(&error, message, sizeof(message));
        fail_msg("%s", message);
    }
    return made;
}

static const struct instrument_module *make(const char *text, uint32_t facts)
{
    return make_with(text, &(struct instrument_request){.facts = facts});
}

static int forget(void **state)
{
    (void)state;
    instrument_destroy(made);
    made = NULL;
    return 0;
}

static const char everything[] =
    HEAD ".visible .global .align 4 .u32 total;\n"
         ".func (.param .b32 out) twice(.param .b64 p, .param .b32 depth) {\n"
         "  .reg .b32 %r<4>; .reg .b64 %a; .reg .pred %c;\n"
         "  ld.param.u64 %a, [p]; ld.param.u32 %r0, [depth]; ld.u32 %r1, [%a];\n"
         "  setp.eq.u32 %c, %r0, 0; @%c bra L; sub.u32 %r0, %r0, 1;\n"
         "  { .param .b64 x; .param .b32 y; .param .b32 z; st.param.b64 [x], %a; st.param.b32 [y], "
         "%r0;\n"
         "  call (z), twice, (x, y); ld.param.b32 %r1, [z]; }\n"
         "L: st.param.b32 [out], %r1; ret; }\n"
         ".func pure(.param .b32 x) { ret; }\n" KERNEL(
             "first", "{ .param .b64 x; .param .b32 y; .param .b32 z; st.param.b64 [x], %a;\n"
                      "st.param.b32 [y], 3; call (z), twice, (x, y); ld.param.b32 %r1, [z]; }\n"
                      "{ .param .b32 x; st.param.b32 [x], 1; call pure, (x); }\n"
                      "red.global.add.u32 [total], %r1;\n")
             KERNEL("second", "st.global.u32 [%b], %r0;\n");

static void the_original_stays_in_front(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        const struct instrument_module *module = make(everything, levels[i]);
        assert_int_equal(strncmp(module->ptx, everything, strlen(everything)), 0);
        assert_int_equal(strlen(module->ptx), module->ptx_bytes);
        assert_int_equal(module->kernel_count, 2);
        const char *behind = module->ptx + strlen(everything);
        assert_string_equal(module->kernels[0].clone, "first$glint");
        assert_non_null(strstr(behind, ".visible .entry second$glint"));
        // A function that touches memory has a clone, which calls itself; other functions have
        // none.
        assert_non_null(strstr(behind, "call (z), twice$glint, (x, y, glint$"));
        assert_null(strstr(behind, "pure$glint"));
        assert_non_null(strstr(behind, "call pure, (x)"));
        assert_null(module->kernels[0].reason);
    }
}

static void the_same_gives_the_same(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        char *once = strdup(make(everything, levels[i])->ptx);
        assert_string_equal(make(everything, levels[i])->ptx, once);
        free(once);
    }
}

static bool wants_second(void *user, const char *kernel)
{
    (void)user;
    return strcmp(kernel, "second") == 0;
}

static bool wants_none(void *user, const char *kernel)
{
    (void)user;
    (void)kernel;
    return false;
}

static void only_wanted_kernels_are_cloned(void **state)
{
    (void)state;
    struct instrument_request request = {.facts = INSTRUMENT_ELEMENTS, .wants = wants_second};
    const struct instrument_module *module = make_with(everything, &request);
    assert_int_equal(module->kernel_count, 1);
    assert_string_equal(module->kernels[0].name, "second");
    assert_null(strstr(module->ptx, "first$glint"));
    assert_null(strstr(module->ptx, "twice$glint"));
    request.wants = wants_none;
    module = make_with(everything, &request);
    assert_int_equal(module->kernel_count, 0);
    assert_string_equal(module->ptx, everything);
}

static const struct instrument_kernel *kernel_of(const char *text, uint32_t facts)
{
    const struct instrument_kernel *kernel = &make(text, facts)->kernels[0];
    assert_non_null(kernel->clone);
    return kernel;
}

static void roots_are_parameters_and_variables(void **state)
{
    (void)state;
    const struct instrument_kernel *kernel = kernel_of(
        HEAD ".visible .global .align 8 .b8 table[64];\n" KERNEL(
            "k", "ld.global.v2.f32 {%f, %f}, [%b+8]; mov.u64 %d0, table; add.s64 %d0, %d0, 16;\n"
                 "st.global.u8 [%d0], 1; ld.global.u64 %d1, [%a]; st.global.f64 [%d1], "
                 "0d0000000000000000;\n"),
        INSTRUMENT_ELEMENTS);
    assert_int_equal(kernel->root_count, 3);
    assert_int_equal(kernel->roots[0].kind, INSTRUMENT_ROOT_PARAM);
    assert_int_equal(kernel->roots[0].offset, 8);
    assert_int_equal(kernel->roots[0].element_bytes, 4);
    assert_int_equal(kernel->roots[1].kind, INSTRUMENT_ROOT_VARIABLE);
    assert_string_equal(kernel->roots[1].variable, "table");
    assert_int_equal(kernel->roots[1].element_bytes, 1);
    assert_int_equal(kernel->roots[2].offset, 0);
    assert_int_equal(kernel->param_count, 3);
    assert_int_equal(kernel->params[1].offset, 8);
    assert_int_equal(kernel->params[1].bytes, 8);
    assert_int_equal(kernel->context_offset, 24);
    assert_int_equal(kernel->context_bytes,
                     sizeof(struct instrument_context) + 3 * sizeof(struct instrument_view));
    assert_int_equal(kernel->site_count, 4);
    assert_int_equal(kernel->sites[0].bytes, 8);
    assert_int_equal(kernel->sites[0].root, 0);
    assert_int_equal(kernel->sites[0].tally, INSTRUMENT_NONE);
    assert_string_equal(kernel->sites[0].opcode, "ld.global.v2.f32");
    assert_int_equal(kernel->sites[1].access, 1);
    assert_int_equal(kernel->sites[3].root, INSTRUMENT_NONE); // through a pointer in memory
    assert_true(kernel->needs_table);
}

// --- Objects: uses with and without flags --------------------------------------------------------

static void what_every_thread_does_needs_no_flag(void **state)
{
    (void)state;
    const struct instrument_kernel *kernel =
        kernel_of(HEAD KERNEL("k", "ld.global.u32 %r1, [%a]; mov.u32 %r2, 0;\n"
                                   "L: st.global.u32 [%b], %r1; add.u32 %r2, %r2, 1;\n"
                                   "setp.lt.u32 %c0, %r2, %r0; @%c0 bra L;\n"),
                  INSTRUMENT_OBJECTS);
    assert_int_equal(kernel->flag_count, 1); // for accesses beyond their root's bounds
    assert_int_equal(kernel->left_flag, 0);
    assert_int_equal(kernel->use_count, 2);
    assert_int_equal(kernel->uses[0].flag, INSTRUMENT_NONE);
    assert_true(kernel->uses[0].read && !kernel->uses[0].written);
    assert_int_equal(kernel->uses[1].flag, INSTRUMENT_NONE);
    assert_true(kernel->uses[1].written && !kernel->uses[1].read);
    assert_false(kernel->needs_table);
    assert_null(strstr(made->ptx, "st.global.u8")); // no probe
}

static void what_some_threads_do_has_one_flag_outside_of_loops(void **state)
{
    (void)state;
    // The access in the loop is always preceded by the block's, and adds nothing about the root.
    const struct instrument_kernel *kernel =
        kernel_of(HEAD KERNEL("k", "setp.eq.u32 %c1, %r0, 0; @%c1 bra E; mov.u32 %r2, 0;\n"
                                   "L: ld.global.u32 %r1, [%a]; add.u32 %r2, %r2, 1;\n"
                                   "setp.lt.u32 %c0, %r2, %r0; @%c0 bra L;\n"
                                   "st.global.u32 [%b], %r1; ld.global.u32 %r3, [%a+4]; E:\n"),
                  INSTRUMENT_OBJECTS);
    assert_int_equal(kernel->flag_count, 2);
    assert_int_equal(kernel->left_flag, 1);
    assert_int_equal(kernel->use_count, 2);
    assert_int_equal(kernel->uses[0].flag, 0);
    assert_int_equal(kernel->uses[1].flag, 0);
    assert_int_equal(kernel->flag_row_bytes, 128);
    const char *noted = strstr(made->ptx, "or.b32 %glint$g0"), *loop = strstr(made->ptx, "k$glint");
    const char *told = strstr(made->ptx, "red.global.or.b32");
    loop = strstr(loop, "\nL:");
    assert_true(noted && loop && told && noted < loop && told > loop);
}

// Counts comparisons with the bounds of roots' objects between L and the branch back to it.
static unsigned comparisons_in_loop(const char *body)
{
    char text[2048];
    snprintf(text, sizeof(text), HEAD "%s", body);
    kernel_of(text, INSTRUMENT_OBJECTS);
    const char *at = strstr(strstr(made->ptx, "k$glint"), "\nL:"), *end = strstr(at, "bra \tL;");
    if (!end)
        end = strstr(at, "bra L;");
    assert_non_null(end);
    unsigned count = 0;
    for (; (at = strstr(at, "setp.ge.or.u64 %glint$left")) && at < end; at++)
        count++;
    return count;
}

#define ROUND "add.u32 %r2, %r2, 1; setp.lt.u32 %c0, %r2, %r0; @%c0 bra L;\n"

static void steps_that_stay_the_same_are_not_compared_in_loops(void **state)
{
    (void)state;
    static const struct {
        const char *ptx;
        unsigned count;
    } cases[] = {
        {KERNEL("k", "L: ld.global.u32 %r1, [%a]; add.s64 %a, %a, 8;\n" ROUND), 0},
        {KERNEL("k", "L: st.global.u32 [%a], %r1; ld.global.u32 %r1, [%b+4];\n" ROUND), 0},
        {KERNEL("k", "cvt.s64.s32 %d1, %r0;\nL: ld.global.u32 %r1, [%a]; add.s64 %d2, %a, %d1;\n"
                     "ld.global.u32 %r3, [%d2]; add.s64 %a, %d2, %d1;\n" ROUND),
         0},
        // Of three accesses at equal distances, two are compared.
        {KERNEL("k", "cvt.s64.s32 %d8, %r0;\nL: mul.wide.s32 %d1, %r2, 4; add.s64 %d2, %a, %d1; "
                     "ld.global.u32 %r1, [%d2];\n"
                     "add.s64 %d3, %d2, %d8; ld.global.u32 %r1, [%d3]; add.s64 %d4, %d3, %d8;\n"
                     "ld.global.u32 %r1, [%d4];\n" ROUND),
         2},
        // Accesses that are not in every iteration, have no constant step, follow an exit of the
        // loop, or are not computed in 64 bits.
        {KERNEL("k", "L: setp.eq.u32 %c1, %r2, 9; @%c1 ld.global.u32 %r1, [%a];\n" ROUND), 1},
        {KERNEL("k",
                "L: ld.global.u32 %r1, [%a]; cvt.u64.u32 %d1, %r2; add.s64 %a, %a, %d1;\n" ROUND),
         1},
        {KERNEL("k", "L: setp.eq.u32 %c1, %r2, 9; @%c1 bra E; ld.global.u32 %r1, [%a];\n"
                     "add.s64 %a, %a, 8;\n" ROUND "E:\n"),
         1},
        {KERNEL("k", "L: mul.wide.u32 %d1, %r2, 4; add.s64 %d2, %a, %d1; ld.global.u32 %r1, "
                     "[%d2];\n" ROUND),
         1},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(comparisons_in_loop(cases[i].ptx), cases[i].count);
}

// Functions that only query the device runtime touch no object; functions that launch or copy do.
static void kernels_that_launch_others_say_so(void **state)
{
    (void)state;
    static const struct {
        const char *function, *reason; // NULL: none
    } cases[] = {
        {"__cudaCDP2LaunchDeviceV2", "launches kernels from the device (__cudaCDP2LaunchDeviceV2)"},
        {"__cudaCDP2LaunchDevice_ptsz", "launches kernels from the device"},
        {"cudaLaunchDevice", "launches kernels from the device"},
        {"cudaGraphLaunch", "launches kernels from the device"},
        {"__cudaCDP2MemcpyAsync", "accesses in __cudaCDP2MemcpyAsync"},
        {"__cudaCDP2GetParameterBufferV2", NULL},
        {"__cudaCDP2GetLastError", NULL},
        {"cudaDeviceGetAttribute", NULL},
        {"vprintf", NULL},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[2000];
        snprintf(text, sizeof(text), "%s.extern .func %s();\n.func f() { call %s; ret; }\n%s", HEAD,
                 cases[i].function, cases[i].function, KERNEL("k", "call f;\n"));
        const struct instrument_kernel *kernel = kernel_of(text, INSTRUMENT_OBJECTS);
        assert_non_null(kernel->clone);
        assert_int_equal(kernel->reason != NULL, cases[i].reason != NULL);
        if (cases[i].reason)
            assert_non_null(strstr(kernel->reason, cases[i].reason));
        assert_int_equal(kernel->outside, cases[i].reason != NULL);
    }
}

// What compilers make of a launch: by `mov` of the kernel's address into %d0, or by `load` of it,
// and with so many bytes of dynamic shared memory.
#define LAUNCH(kernel, shared)                                                               \
    kernel " {\n.param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12];\n"      \
           ".param .b32 s; .param .b64 r; st.param.b64 [f+0], %d0; st.param.b32 [g+0], 1;\n" \
           "st.param.b32 [g+4], 1; st.param.b32 [g+8], 1; st.param.b32 [b+0], 32;\n"         \
           "st.param.b32 [b+4], 1; st.param.b32 [b+8], 1; st.param.b32 [s+0], " shared ";\n" \
           "call.uni (r), __cudaCDP2GetParameterBufferV2, (f, g, b, s);\n"                   \
           "ld.param.b64 %d1, [r+0];\n}\nst.u64 [%d1], %a;\n"                                \
           "{\n.param .b64 p; .param .b64 t; .param .b32 r; st.param.b64 [p+0], %d1;\n"      \
           "st.param.b64 [t+0], 0; call.uni (r), __cudaCDP2LaunchDeviceV2, (p, t);\n}\n"
#define RUNTIME                                                                     \
    ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f,\n" \
    ".param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);\n"       \
    ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 t);\n"
#define CHILD                                                                              \
    ".visible .entry child(.param .u64 p, .param .u32 n) {\n.reg .b64 %a; .reg .b32 %r;\n" \
    "ld.param.u64 %a, [p]; ld.global.u32 %r, [%a]; ret; }\n"
#define PARENT(kernel, shared) HEAD RUNTIME CHILD KERNEL("k", LAUNCH(kernel, shared))

static const struct instrument_kernel *parent_of(const struct instrument_module *module)
{
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        if (strcmp(module->kernels[i].name, "k") == 0)
            return &module->kernels[i];
    }
    fail_msg("there is no such kernel");
    return NULL;
}

// A kernel that certainly launches kernels of the text launches their clones, with the table behind
// their parameters. The buffer of the parameters is not looked up.
static void launched_kernels_have_clones_of_their_own(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        const struct instrument_module *module =
            make(PARENT("mov.u64 %d0, child;", "0"), levels[i]);
        const struct instrument_kernel *kernel = parent_of(module);
        assert_null(kernel->reason);
        assert_false(kernel->outside);
        assert_true(kernel->needs_table);
        assert_int_equal(module->kernel_count, 2);
        assert_int_equal(kernel->site_count, 1); // that of the child
        assert_string_equal(kernel->sites[0].function, "child");
        assert_non_null(strstr(module->ptx, ".entry child$glint$child"));
        assert_non_null(strstr(module->ptx, ".maxntid 1024"));
        assert_non_null(strstr(module->ptx, "__cudaCDP2GetParameterBufferV2$glint, (f, g, b, s, "));
        assert_non_null(strstr(module->ptx, "selp.b64 %at, 16, %at, %p;"));
    }
}

static void launches_of_unknown_kernels_are_not_seen(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t facts;
    } cases[] = {
        // From memory, one of two kernels, more shared memory than any kernel may have unasked, and
        // facts of which the clones of functions have fewer.
        {PARENT("ld.global.u64 %d0, [%b];", "0"), INSTRUMENT_OBJECTS},
        {PARENT("mov.u64 %d0, child; @%c1 mov.u64 %d0, k;", "0"), INSTRUMENT_OBJECTS},
        {PARENT("mov.u64 %d0, child;", "%r0"), INSTRUMENT_OBJECTS},
        {PARENT("mov.u64 %d0, child;", "60000"), INSTRUMENT_ELEMENTS},
        {PARENT("mov.u64 %d0, child;", "0"), INSTRUMENT_OBJECTS | INSTRUMENT_VALUES},
        {PARENT("mov.u64 %d0, child;", "0"), INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct instrument_module *module = make(cases[i].text, cases[i].facts);
        const struct instrument_kernel *kernel = parent_of(module);
        assert_true(kernel->outside);
        assert_non_null(strstr(kernel->reason, "launches kernels from the device"));
        assert_null(strstr(module->ptx, "$glint$child"));
    }
}

static void guards_and_calls_that_end_threads_have_flags_of_their_own(void **state)
{
    (void)state;
    const struct instrument_kernel *kernel =
        kernel_of(HEAD KERNEL("k", "setp.eq.u32 %c1, %r0, 0; @%c1 ld.global.u32 %r1, [%a];\n"
                                   "@!%c1 ld.global.u32 %r1, [%b];\n"),
                  INSTRUMENT_OBJECTS);
    assert_int_equal(kernel->flag_count, 3);
    kernel = kernel_of(HEAD ".func f() { exit; }\n" KERNEL(
                           "k", "ld.global.u32 %r1, [%a]; call f; ld.global.u32 %r1, [%b];\n"),
                       INSTRUMENT_OBJECTS);
    assert_int_equal(kernel->flag_count, 3);
    assert_true(kernel->uses[0].flag != kernel->uses[1].flag);
}

// --- Elements: tallies ---------------------------------------------------------------------------

static void blocks_that_run_equally_often_share_a_tally(void **state)
{
    (void)state;
    const struct instrument_kernel *kernel = kernel_of(
        HEAD KERNEL("k", "ld.global.u32 %r1, [%a]; mov.u32 %r2, 0;\n"
                         "L: ld.global.u32 %r3, [%a+4]; setp.eq.u32 %c1, %r3, 5; @%c1 bra M;\n"
                         "st.global.u32 [%b], %r1; M: ld.global.u32 %r4, [%a+8];\n"
                         "add.u32 %r2, %r2, 1; setp.lt.u32 %c0, %r2, %r0; @%c0 bra L;\n"
                         "setp.eq.u32 %c1, %r0, 9; @%c1 bra N; st.global.u32 [%b+4], %r1;\n"
                         "N: st.global.u32 [%b+8], %r1;\n"),
        INSTRUMENT_ELEMENTS);
    assert_int_equal(kernel->tally_count, 3);
    assert_int_equal(kernel->sites[0].tally, INSTRUMENT_NONE);
    assert_int_equal(kernel->sites[1].tally, kernel->sites[3].tally); // both ends of an iteration
    assert_true(kernel->sites[2].tally != kernel->sites[1].tally);
    assert_false(kernel->sites[1].tally_from_one);
    // Outside of the loop, not executed by all threads.
    assert_true(kernel->sites[4].tally_from_one);
    assert_int_equal(kernel->sites[5].tally, INSTRUMENT_NONE);
}

// --- Version and target --------------------------------------------------------------------------

#define STORES "setp.eq.u32 %c1, %r0, 0; @%c1 bra L; st.global.u32 [%a], %r0; L:\n"

// Checks how the text with the clone begins: the module's text, or a part's.
static void assert_begins(const char *head, uint32_t facts, uint32_t gpu, uint32_t parts,
                          const char *wanted)
{
    char text[1024];
    snprintf(text, sizeof(text), "%s%s", head, KERNEL("k", STORES));
    struct instrument_request request = {.facts = facts, .gpu = gpu, .parts = parts};
    const struct instrument_module *module = make_with(text, &request);
    assert_non_null(module->kernels[0].clone);
    assert_int_equal(module->kernels[0].part, parts ? 0 : INSTRUMENT_NONE);
    const char *made_text = parts ? module->parts[0].ptx : module->ptx;
    if (strncmp(made_text, wanted, strlen(wanted)) != 0)
        fail_msg("wanted %s, found %.60s", wanted, made_text);
    if (parts)
        assert_string_equal(module->ptx, text);
}

static void version_and_target_are_raised_only_where_needed(void **state)
{
    (void)state;
    const uint32_t elements = INSTRUMENT_ELEMENTS;
    static const char old[] = ".version 6.0\n.target sm_61\n.address_size 64\n";
    assert_begins(old, INSTRUMENT_OBJECTS, 90, 0, old);
    assert_begins(old, elements, 90, 0, ".version 6.2\n.target sm_61\n");
    assert_begins(old, elements, 90, 1, ".version 6.2\n.target sm_61\n");
    // Before sm_70, nothing is traced.
    static const char volta[] = ".version 6.0\n.target sm_70\n.address_size 64\n";
    assert_begins(old, INSTRUMENT_OBJECTS | INSTRUMENT_CACHE, 0, 0, old);
    assert_begins(volta, INSTRUMENT_OBJECTS, 0, 0, volta);
    assert_begins(volta, INSTRUMENT_OBJECTS | INSTRUMENT_CACHE, 0, 0,
                  ".version 6.2\n.target sm_70\n");
    // Kernels of the program could observe a change of their module's target.
    static const char turing[] = ".version 8.7\n.target sm_75, debug\n.address_size 64\n";
    static const char apart[] = ".version 8.7\n.target sm_75\n.address_size 64\n";
    assert_begins(turing, elements, 90, 0, turing);
    assert_begins(turing, elements, 75, 1, apart);
    assert_begins(turing, elements, 0, 1, apart);
    const uint32_t all[] = {elements, INSTRUMENT_OBJECTS | INSTRUMENT_VALUES,
                            INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS,
                            INSTRUMENT_OBJECTS | INSTRUMENT_SHARED};
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        assert_begins(turing, all[i], 90, 1, ".version 8.7\n.target sm_80\n");
    assert_begins(".version 8.7\n.target sm_75, debug, texmode_independent\n.address_size 64\n",
                  elements, 90, 1, ".version 8.7\n.target sm_80, texmode_independent\n");
    assert_begins(".version 6.4\n.target sm_75\n.address_size 64\n", elements, 86, 1,
                  ".version 7.0\n.target sm_80\n");
    assert_begins(turing, INSTRUMENT_OBJECTS, 90, 1, apart);
    assert_begins("// .version 1.0, .target sm_10\n.version 6.0\n.target sm_61\n"
                  ".address_size 64\n",
                  elements, 86, 0, "// .version 1.0, .target sm_10\n.version 6.2\n.target sm_61\n");
}

// --- Parts ---------------------------------------------------------------------------------------

static const struct instrument_module *make_parts(const char *text, uint32_t parts)
{
    return make_with(text,
                     &(struct instrument_request){.facts = INSTRUMENT_ELEMENTS, .parts = parts});
}

static void parts_hold_what_needs_nothing_of_the_module(void **state)
{
    (void)state;
    const struct instrument_module *module = make_parts(everything, 4);
    assert_int_equal(module->part_count, 1);
    assert_int_equal(module->kernels[0].part, INSTRUMENT_NONE); // adds to the module's variable
    assert_int_equal(module->kernels[1].part, 0);
    assert_int_equal(strncmp(module->ptx, everything, strlen(everything)), 0);
    const char *behind = module->ptx + strlen(everything);
    assert_non_null(strstr(behind, "first$glint"));
    assert_null(strstr(behind, "second$glint"));
    const char *part = module->parts[0].ptx;
    assert_int_equal(strlen(part), module->parts[0].ptx_bytes);
    assert_non_null(strstr(part, ".visible .entry second$glint"));
    assert_null(strstr(part, "first"));
    assert_null(strstr(part, "total"));
    assert_null(strstr(part, "twice"));
}

// Each of these is a sufficient reason.
static void what_a_kernel_needs_of_its_module_ties_it(void **state)
{
    (void)state;
    static const char *const tied[] = {
        HEAD ".const .align 4 .b32 c;\n" KERNEL("k", "ld.const.u32 %r1, [c];\n" STORES),
        HEAD ".global .align 4 .b32 g;\n" KERNEL("k", "mov.u64 %d1, g;\n" STORES),
        HEAD ".global .texref t;\n" KERNEL(
            "k",
            "{ .reg .f32 %x<5>; tex.1d.v4.f32.f32 {%x0, %x1, %x2, %x3}, [t, {%x4}]; }\n" STORES),
        HEAD ".func f() { ret; }\n" KERNEL("k", "mov.u64 %d1, f;\n" STORES),
        HEAD ".func f() { ret; }\n" KERNEL(
            "k", "mov.u64 %d1, 0; { P: .callprototype ()_ (); call %d1, P; }\n" STORES),
        HEAD ".extern .func elsewhere();\n" KERNEL("k", "call elsewhere;\n" STORES),
        HEAD ".global .align 4 .b32 g;\n.func f() { .reg .b32 %r; ld.global.u32 %r, [g]; ret; }\n"
             ".func h() { call f; ret; }\n" KERNEL("k", "call h;\n" STORES),
    };
    static const char *const free[] = {
        HEAD ".global .align 4 .b32 g;\n" KERNEL("k", STORES),
        HEAD ".shared .align 4 .b32 s;\n.extern .shared .align 4 .b8 d[];\n" KERNEL(
            "k", "ld.shared.u32 %r1, [s]; mov.u64 %d1, d;\n" STORES),
        HEAD ".func f() { ret; }\n" KERNEL("k", "call f;\n" STORES),
        HEAD KERNEL("k", ".local .align 4 .b8 l[8]; mov.u64 %d1, l;\n" STORES),
    };
    for (unsigned i = 0; i < sizeof(tied) / sizeof(tied[0]); i++) {
        if (make_parts(tied[i], 1)->kernels[0].part != INSTRUMENT_NONE)
            fail_msg("is apart: %s", tied[i]);
    }
    for (unsigned i = 0; i < sizeof(free) / sizeof(free[0]); i++) {
        if (make_parts(free[i], 1)->kernels[0].part != 0)
            fail_msg("is not apart: %s", free[i]);
    }
}

static void parts_have_what_their_clones_call(void **state)
{
    (void)state;
    const struct instrument_module *module = make_parts(
        HEAD
        ".shared .align 4 .b8 tile[64];\n.shared .align 4 .b8 odd[20];\n"
        ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.func unused() { ret; }\n"
        ".visible .func inner() { ret; }\n.visible .func pure() { call inner; ret; }\n"
        ".func puts(.param .b64 p) { .reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a], 1;\n"
        "ret; }\n" KERNEL("k", "call pure; ld.shared.u32 %r1, [tile];\n"
                               "{ .param .b64 x; st.param.b64 [x], %a; call puts, (x); }\n"),
        3);
    assert_int_equal(module->part_count, 1);
    const char *part = module->parts[0].ptx;
    assert_non_null(strstr(part, ".func pure"));
    assert_non_null(strstr(part, ".func inner"));
    assert_null(strstr(part, ".visible .func"));
    assert_non_null(strstr(part, ".func puts$glint"));
    assert_null(strstr(part, "unused"));
    assert_non_null(strstr(part, "malloc"));
    // Its address is unknown in advance, so its alignment follows from its size.
    assert_non_null(strstr(part, ".shared .align 16 .b8 tile[64]"));
    assert_non_null(strstr(part, ".shared .align 4 .b8 odd[20]"));
}

static void kernels_are_divided_evenly(void **state)
{
    (void)state;
    static const char text[] =
        HEAD KERNEL("a", "ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%b]; st.global.u32 [%a+4], "
                         "%r1; st.global.u32 [%b+8], %r2;\n") KERNEL("b", STORES)
            KERNEL("c", STORES);
    const struct instrument_module *module = make_parts(text, 2);
    assert_int_equal(module->part_count, 2);
    assert_int_equal(module->kernels[0].part, 0);
    assert_int_equal(module->kernels[1].part, 1);
    module = make_parts(text, 8);
    assert_int_equal(module->part_count, 3);
    module = make_parts(text, 1);
    assert_int_equal(module->part_count, 1);
    assert_int_equal(module->kernels[2].part, 0);
}

// Results that nothing reads are not requested, as a compiler does that sees the whole program.
static void atomics_without_a_reader_are_reductions(void **state)
{
    (void)state;
#define WITH(body) HEAD KERNEL("k", "setp.eq.u32 %c1, %r0, 0;\n" body "\n")
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {WITH("atom.global.add.u32 %r1, [%a], 1;"), "\nred.global.add.u32 [%a], 1;"},
        {WITH("@%c1 atom.global.min.s32 %r1, [%a], %r0;"), "@%c1 red.global.min.s32 [%a], %r0;"},
        {WITH("atom.global.add.u32 _, [%a], 1;"), "\nred.global.add.u32 [%a], 1;"},
        {WITH("atom.global.add.u32 %r1, [%a], 1; st.global.u32 [%b], %r1;"),
         "\natom.global.add.u32 %r1,"},
        {WITH("atom.global.add.u32 %r1, [%a], 1; @%c1 mov.u32 %r1, 2; st.global.u32 [%b], %r1;"),
         "\natom.global.add.u32 %r1,"},
        {WITH("atom.global.exch.b32 %r1, [%a], 1;"), "\natom.global.exch.b32 %r1,"},
        {WITH("atom.global.cas.b32 %r1, [%a], 1, 2;"), "\natom.global.cas.b32 %r1,"},
        {WITH("atom.acquire.gpu.global.add.u32 %r1, [%a], 1;"),
         "\natom.acquire.gpu.global.add.u32 %r1,"},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct instrument_module *module = make_parts(cases[i].text, 1);
        if (!strstr(module->parts[0].ptx, cases[i].wanted))
            fail_msg("no %s for %s", cases[i].wanted, cases[i].text);
        assert_int_equal(strncmp(module->kernels[0].sites[0].opcode, "atom.", 5), 0); // unchanged
    }
}

// --- Reasons -------------------------------------------------------------------------------------

static void assert_refused(const char *text, uint32_t facts, const char *reason)
{
    const struct instrument_module *module = make(text, facts);
    assert_int_equal(module->kernel_count, 1);
    assert_null(module->kernels[0].clone);
    if (!module->kernels[0].reason || !strstr(module->kernels[0].reason, reason))
        fail_msg("\"%s\" is not in \"%s\"", reason,
                 module->kernels[0].reason ? module->kernels[0].reason : "");
    assert_string_equal(module->ptx, text);
}

static void what_cannot_have_probes_has_a_reason(void **state)
{
    (void)state;
    const uint32_t elements = INSTRUMENT_ELEMENTS;
    assert_refused(".version 3.0\n.target sm_30\n.address_size 32\n"
                   ".visible .entry k() { ret; }\n",
                   elements, "32-bit");
    assert_refused(HEAD KERNEL("k$glint", ""), elements, "already has names with glint$");
    assert_refused(HEAD KERNEL("k", ".reg .b32 %glint$r; mov.u32 %glint$r, 1;\n"), elements,
                   "already has names with glint$");
    assert_refused(HEAD ".visible .entry k(.param .align 8 .b8 big[4090]) { ret; }\n", elements,
                   "4264 bytes");
    assert_refused(HEAD KERNEL("k", "wmma.load.a.sync.aligned.m16n16k16.row.f16 "
                                    "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%a];\n"),
                   elements, "wmma.load");
    assert_refused(HEAD KERNEL("k", "frobnicate.b32 %r1, %r2;\n"), elements, "frobnicate");
    assert_refused(HEAD
                   ".func f() { .reg .b64 %a; mov.u64 %a, 0; multimem.red.global.add.u32 [%a], 1; "
                   "ret; }\n" KERNEL("k", "call f;\n"),
                   elements, "in f, which it calls: unsupported instruction multimem.red");
}

static void what_probes_do_not_see_is_said(void **state)
{
    (void)state;
    const struct instrument_kernel *kernel = kernel_of(
        HEAD ".extern .func elsewhere();\n.extern .func (.param .b32 r) vprintf(.param .b64 a, "
             ".param .b64 b);\n" KERNEL("k", "call elsewhere; st.global.u32 [%a], 1;\n"),
        INSTRUMENT_OBJECTS);
    assert_non_null(strstr(kernel->reason, "elsewhere"));
}

// --- Memory that kernels allocate ----------------------------------------------------------------

static bool wants_read(void *user, const char *kernel)
{
    (void)user;
    return strcmp(kernel, "read") == 0;
}

#define HEAP_FUNCTIONS                                           \
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"     \
    ".extern .func free(.param .b64 a);\n"                       \
    ".func (.param .b64 r) get(.param .b64 n) { .reg .b64 %d;\n" \
    "ld.param.u64 %d, [n]; call (%d), malloc, (%d); st.param.b64 [r], %d; ret; }\n"

static const char heap[] =
    HEAD HEAP_FUNCTIONS KERNEL("give", "call (%d0), get, (32); st.global.u64 [%a], %d0;\n")
        KERNEL("take", "ld.global.u64 %d0, [%a]; call free, (%d0);\n")
            KERNEL("read", "ld.global.u64 %d0, [%a]; ld.u32 %r1, [%d0];\n");

static void who_allocates_is_told(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        const struct instrument_kernel *give = kernel_of(heap, levels[i]);
        assert_true(give->allocates && give->needs_table);
        assert_null(give->reason);
        assert_true(made->kernels[1].allocates && made->kernels[1].needs_table);
        assert_false(made->kernels[2].allocates);
        assert_true(give->heap && made->kernels[1].heap && made->kernels[2].heap);
        assert_int_equal(made->allocator_count, 2);
        assert_string_equal(made->allocators[0], "give");
        assert_string_equal(made->allocators[1], "take");
        // Only in clones of kernels and of functions.
        assert_non_null(strstr(made->ptx, "call (%d), malloc$glint, (%d, glint$c"));
        assert_non_null(strstr(made->ptx, "call free$glint, (%d0, glint$c"));
        assert_non_null(strstr(made->ptx, "call free, (%d0);"));
        assert_non_null(strstr(made->ptx, "call (h0), glint$heap,"));
    }
}

static void who_allocates_is_told_of_kernels_that_nobody_wants(void **state)
{
    (void)state;
    struct instrument_request request = {.facts = INSTRUMENT_OBJECTS, .wants = wants_read};
    struct instrument_module *module;
    assert_int_equal(instrument_ptx(heap, strlen(heap), &request, &module, NULL), BASE_OK);
    assert_int_equal(module->kernel_count, 1);
    assert_int_equal(module->allocator_count, 2);
    // Memory that they allocate is touched.
    assert_non_null(strstr(module->ptx, "call (h0), glint$heap,"));
    instrument_destroy(module);
}

static void who_calls_outside_may_allocate(void **state)
{
    (void)state;
    const struct instrument_kernel *kernel =
        kernel_of(HEAD ".extern .func other(.param .b64 n);\n" KERNEL("k", "call other, (%a);\n"),
                  INSTRUMENT_OBJECTS);
    assert_true(kernel->outside && !kernel->allocates && !kernel->heap);
    assert_int_equal(made->allocator_count, 1);
    assert_string_equal(made->allocators[0], "k");
}

#define CALLS(declaration, call) \
    HEAD declaration KERNEL("k", call "ld.global.u64 %d0, [%a]; st.u32 [%d0], %r0;\n")

static void functions_of_other_kinds_give_no_memory(void **state)
{
    (void)state;
    static const char *const others[] = {
        // A malloc that the program defines, other functions, and no call.
        CALLS(".func (.param .b64 r) malloc(.param .b64 n) { st.param.b64 [r], 0; ret; }\n",
              "call (%d0), malloc, (32);"),
        CALLS(".extern .func (.param .b64 r) malloc(.param .b32 n);\n",
              "call (%d0), malloc, (%r0);"),
        CALLS(".extern .func (.param .b64 r) malloc(.param .b64 n, .param .b64 m);\n",
              "call (%d0), malloc, (32, 1);"),
        CALLS(".extern .func malloc(.param .b64 n);\n", "call malloc, (32);"),
        CALLS(".extern .func (.param .b64 r) malloc_more(.param .b64 n);\n",
              "call (%d0), malloc_more, (32);"),
        CALLS(".extern .func (.param .b64 r) malloc(.param .b64 n);\n", ""),
    };
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const struct instrument_kernel *kernel = kernel_of(others[i], INSTRUMENT_ELEMENTS);
        assert_false(kernel->allocates || kernel->heap || kernel->outside);
        assert_int_equal(made->allocator_count, 0);
        assert_null(strstr(made->ptx, "glint$heap"));
        assert_null(strstr(made->ptx, "malloc$glint"));
    }
}

static void text_that_is_no_ptx_fails(void **state)
{
    (void)state;
    struct instrument_request request = {.facts = INSTRUMENT_OBJECTS};
    struct instrument_module *module = made;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx("int x;", 6, &request, &module, &error), BASE_SYNTAX);
    assert_null(module);
}

// Wherever memory runs out, rewriting succeeds or fails as a whole.
static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        bool worked = false;
        for (size_t limit = 1000; limit < 4000000; limit += limit / 9) {
            struct instrument_request request = {.facts = levels[i], .limit_bytes = limit};
            struct instrument_module *module;
            struct base_error error = {0};
            enum base_code code =
                instrument_ptx(everything, strlen(everything), &request, &module, &error);
            assert_true(code == BASE_OK || code == BASE_NO_MEMORY);
            assert_true(code == BASE_OK || !worked);
            assert_int_equal(code == BASE_OK, module != NULL);
            worked |= code == BASE_OK;
            instrument_destroy(module);
        }
        assert_true(worked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_original_stays_in_front),
        cmocka_unit_test(the_same_gives_the_same),
        cmocka_unit_test(only_wanted_kernels_are_cloned),
        cmocka_unit_test(roots_are_parameters_and_variables),
        cmocka_unit_test(what_every_thread_does_needs_no_flag),
        cmocka_unit_test(what_some_threads_do_has_one_flag_outside_of_loops),
        cmocka_unit_test(steps_that_stay_the_same_are_not_compared_in_loops),
        cmocka_unit_test(launched_kernels_have_clones_of_their_own),
        cmocka_unit_test(launches_of_unknown_kernels_are_not_seen),
        cmocka_unit_test(guards_and_calls_that_end_threads_have_flags_of_their_own),
        cmocka_unit_test(kernels_that_launch_others_say_so),
        cmocka_unit_test(blocks_that_run_equally_often_share_a_tally),
        cmocka_unit_test(version_and_target_are_raised_only_where_needed),
        cmocka_unit_test(parts_hold_what_needs_nothing_of_the_module),
        cmocka_unit_test(what_a_kernel_needs_of_its_module_ties_it),
        cmocka_unit_test(parts_have_what_their_clones_call),
        cmocka_unit_test(kernels_are_divided_evenly),
        cmocka_unit_test(atomics_without_a_reader_are_reductions),
        cmocka_unit_test(what_cannot_have_probes_has_a_reason),
        cmocka_unit_test(what_probes_do_not_see_is_said),
        cmocka_unit_test(who_allocates_is_told),
        cmocka_unit_test(who_allocates_is_told_of_kernels_that_nobody_wants),
        cmocka_unit_test(who_calls_outside_may_allocate),
        cmocka_unit_test(functions_of_other_kinds_give_no_memory),
        cmocka_unit_test(text_that_is_no_ptx_fails),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, forget);
}
