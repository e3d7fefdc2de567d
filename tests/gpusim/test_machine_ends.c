// SPDX-License-Identifier: Apache-2.0
// Threads that have ended do not block the other threads of their block or warp. They may end by
// exit, by ret, by a branch to a common ret, past other code, or in a function.
#include "machine_testing.h"

// Thread t has its number in %r1 and stores its result to word t by `st.global.u32 [%rd1], ...`.
#define KERNEL                                                                                     \
    HEAD                                                                                           \
        "%s .entry k(.param .u64 p) {\n"                                                           \
        ".reg .b32 %%r<12>; .reg .b64 %%rd<4>; .reg .pred %%p<6>; .shared .align 4 .b32 s[256];\n" \
        "ld.param.u64 %%rd2, [p]; mov.u32 %%r1, %%tid.x; mad.wide.u32 %%rd1, %%r1, 4, %%rd2;\n"    \
        "%s\n}"

static struct sim_fault run_body(struct fixture *fixture, const char *functions, const char *body,
                                 uint32_t threads)
{
    char text[4096];
    int length = snprintf(text, sizeof(text), KERNEL, functions, body);
    assert_true(length > 0 && (size_t)length < sizeof(text));
    memset(fixture->memory, 0, WORDS * sizeof(*fixture->memory));
    return run(fixture, text, 1, threads);
}

// The body must store `value` for the first `live` threads, and 0 for the others.
struct row {
    const char *body;
    uint32_t threads, live, value;
};

static void expect(struct fixture *fixture, const char *functions, const struct row *row)
{
    struct sim_fault fault = run_body(fixture, functions, row->body, row->threads);
    if (fault.kind != SIM_FAULT_NONE)
        fail_msg("%s: %s", row->body, fault.text);
    for (uint32_t t = 0; t < row->threads; t++) {
        if (fixture->memory[t] != (t < row->live ? row->value : 0))
            fail_msg("%s: thread %u has %u", row->body, t, fixture->memory[t]);
    }
}

// 20 of 64 threads, or of 48, continue.
#define GO_ON_20 "setp.ge.u32 %p1, %r1, 20; @%p1 bra DONE; "
#define END      "st.global.u32 [%rd1], %r2; DONE: ret;"

static void barriers_do_not_wait_for_threads_that_returned(void **state)
{
    static const struct row rows[] = {
        {GO_ON_20 "bar.sync 0; mov.u32 %r2, 5; " END, 64, 20, 5},
        {GO_ON_20 "bar.sync 0; mov.u32 %r2, 5; " END, 48, 20, 5},
        {GO_ON_20 "barrier.sync 0; mov.u32 %r2, 5; " END, 256, 20, 5},
        {GO_ON_20 "setp.lt.u32 %p2, %r1, 7; bar.red.popc.u32 %r2, 0, %p2; " END, 64, 20, 7},
        {GO_ON_20 "setp.lt.u32 %p2, %r1, 20; bar.red.and.pred %p3, 0, %p2; selp.u32 %r2, 1, 2, "
                  "%p3; " END,
         64, 20, 1},
        {GO_ON_20 "setp.lt.u32 %p2, %r1, 20; bar.red.or.pred %p3, 0, !%p2; selp.u32 %r2, 1, 2, "
                  "%p3; " END,
         64, 20, 2},
        // With a label and another branch in between.
        {"setp.ge.u32 %p1, %r1, 20; @%p1 bra A; bar.sync 0; mov.u32 %r2, 5; "
         "st.global.u32 [%rd1], %r2; bra B; A: bra B; B: bra DONE; DONE: ret;",
         64, 20, 5},
        // The kernel ends with its text.
        {GO_ON_20 "bar.sync 0; st.global.u32 [%rd1], 5; DONE:", 64, 20, 5},
        // In a loop: half of the remaining threads end in each round; 1 remains.
        {"mov.u32 %r3, 64; L: shr.u32 %r3, %r3, 1; setp.ge.u32 %p1, %r1, %r3; @%p1 bra DONE; "
         "bar.sync 0; setp.ne.u32 %p2, %r3, 1; @%p2 bra L; mov.u32 %r2, 9; " END,
         64, 1, 9},
        // Nested divergence.
        {"setp.ge.u32 %p1, %r1, 40; @%p1 bra C; setp.ge.u32 %p2, %r1, 30; @%p2 bra B; "
         "setp.ge.u32 %p3, %r1, 20; @%p3 bra A; bar.sync 0; mov.u32 %r2, 5; st.global.u32 [%rd1], "
         "%r2; A: mov.u32 %r3, 1; B: mov.u32 %r3, 2; C: ret;",
         64, 20, 5},
        // Through a branch table.
        {"shr.u32 %r3, %r1, 5; min.u32 %r3, %r3, 2; T: .branchtargets GO, DONE, DONE; brx.idx "
         "%r3, T; GO: bar.sync 0; mov.u32 %r2, 3; " END,
         128, 32, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(*state, "", &rows[i]);
}

static void lanes_do_not_wait_for_lanes_that_returned(void **state)
{
    static const struct row rows[] = {
        {GO_ON_20 "bar.warp.sync -1; mov.u32 %r2, 5; " END, 32, 20, 5},
        {GO_ON_20 "mov.u32 %r3, 6; shfl.sync.idx.b32 %r2, %r3, 19, 31, -1; " END, 32, 20, 6},
        {GO_ON_20 "shfl.sync.down.b32 %r2, %r1, 19, 31, -1; shfl.sync.idx.b32 %r2, %r2, 0, 31, "
                  "-1; " END,
         32, 20, 19},
        {GO_ON_20 "setp.eq.u32 %p2, %r1, %r1; vote.sync.ballot.b32 %r2, %p2, -1; " END, 32, 20,
         0xfffff},
        {GO_ON_20 "setp.lt.u32 %p2, %r1, 20; vote.sync.all.pred %p3, %p2, -1; selp.u32 %r2, 1, 2, "
                  "%p3; " END,
         32, 20, 1},
        {GO_ON_20 "match.any.sync.b32 %r2, 7, -1; " END, 32, 20, 0xfffff},
        {GO_ON_20 "redux.sync.add.u32 %r2, %r1, -1; " END, 32, 20, 190},
        {GO_ON_20 "activemask.b32 %r2; " END, 32, 20, 0xfffff},
        // The last warp has 16 threads.
        {GO_ON_20 "redux.sync.add.u32 %r2, 1, -1; bar.sync 0; min.u32 %r2, %r2, 4; " END, 48, 20,
         4},
        // Lane 31 ends first or last, and others wait for it.
        {"setp.eq.u32 %p1, %r1, 31; @%p1 bra SLOW; redux.sync.add.u32 %r2, 1, -1; st.global.u32 "
         "[%rd1], %r2; ret; SLOW: mov.u32 %r3, 0; L: add.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, "
         "5000; @%p2 bra L; exit;",
         32, 31, 31},
        // A lane that has ended contributes 0, as on an H200.
        {GO_ON_20 "mov.u32 %r3, 6; shfl.sync.idx.b32 %r2, %r3, 25, 31, -1; " END, 32, 20, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(*state, "", &rows[i]);
}

// PTX counts whole warps: a warp that has lost lanes counts fully, one that has ended does not
// arrive.
static void a_barrier_with_a_count_counts_whole_warps(void **state)
{
    static const struct row rows[] = {
        {GO_ON_20 "bar.sync 1, 32; mov.u32 %r2, 5; " END, 64, 20, 5},
        {GO_ON_20 "bar.red.popc.u32 %r2, 1, 32, %p1; add.u32 %r2, %r2, 3; " END, 64, 20, 3},
        {"bar.sync 1, 64; mov.u32 %r2, 5; " END, 48, 48, 5},
        // Twenty lanes of each warp continue.
        {"and.b32 %r3, %r1, 31; setp.ge.u32 %p1, %r3, 20; @%p1 bra DONE; bar.sync 1, 64; "
         "setp.ge.u32 "
         "%p2, %r1, 20; @%p2 bra DONE; mov.u32 %r2, 5; " END,
         64, 20, 5},
        // The second warp arrives without waiting, and ends before the first arrives.
        {"and.b32 %r3, %r1, 31; setp.ge.u32 %p1, %r3, 20; @%p1 bra DONE; setp.ge.u32 %p2, %r1, 32; "
         "@%p2 bra SECOND; mov.u32 %r4, 0; L: add.u32 %r4, %r4, 1; setp.ne.u32 %p2, %r4, 5000; "
         "@%p2 "
         "bra L; bar.sync 1, 64; st.global.u32 [%rd1], 8; ret; SECOND: bar.arrive 1, 64; DONE: "
         "ret;",
         64, 20, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(*state, "", &rows[i]);
}

// The code between the branch and the end does not matter. It may be code for all threads, as
// probes insert, or functions in which threads end or from which they return with nothing left to
// do.
static void threads_have_ended_wherever_their_way_leads_only_to_the_end(void **state)
{
    static const char functions[] =
        ".func meet_some(.param .b32 t) { .reg .b32 %r; .reg .pred %p; ld.param.b32 %r, [t];\n"
        "setp.ge.u32 %p, %r, 20; @%p bra R; bar.sync 0; R: ret; }\n"
        ".func exit_some(.param .b32 t) { .reg .b32 %r; .reg .pred %p; ld.param.b32 %r, [t];\n"
        "setp.ge.u32 %p, %r, 20; @%p exit; ret; }\n"
        ".func meet() { bar.sync 0; bar.warp.sync -1; ret; }\n";
    static const struct row rows[] = {
        {GO_ON_20 "bar.sync 0; st.global.u32 [%rd1], 5; DONE: red.global.add.u32 [%rd2+1024], 1; "
                  "ret;",
         64, 20, 5},
        {GO_ON_20 "redux.sync.add.u32 %r2, 1, -1; st.global.u32 [%rd1], %r2; DONE: activemask.b32 "
                  "%r4; popc.b32 %r3, %r4; bar.warp.sync %r4; red.global.add.u32 [%rd2+1024], %r3; "
                  "ret;",
         32, 20, 20},
        {"setp.lt.u32 %p2, %r1, 20; call meet_some, (%r1); @%p2 st.global.u32 [%rd1], 4; ret;", 64,
         20, 4},
        {"call exit_some, (%r1); call meet; mov.u32 %r2, 4; " END, 64, 20, 4},
        {GO_ON_20 "call meet; mov.u32 %r2, 4; " END, 64, 20, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(*state, functions, &rows[i]);
    struct fixture *fixture = *state;
    expect(fixture, functions, &rows[0]);
    assert_int_equal(fixture->memory[256], 64);
}

// The other warp keeps spinning, so that the block as a whole never deadlocks.
static void a_warp_that_spins_does_not_keep_threads_from_their_end(void **state)
{
    static const struct row row = {
        "setp.ge.u32 %p2, %r1, 32; @%p2 bra SPIN; setp.ge.u32 %p1, %r1, 20; @%p1 bra DONE; "
        "redux.sync.add.u32 %r2, 1, -1; st.global.u32 [%rd1], %r2; membar.gl; "
        "st.volatile.global.u32 [%rd2+1024], 1; ret; "
        "SPIN: ld.volatile.global.u32 %r3, [%rd2+1024]; setp.eq.u32 %p3, %r3, 0; @%p3 bra SPIN; "
        "DONE: ret;",
        64, 20, 20};
    expect(*state, "", &row);
}

// Lanes at an inner join stay with the lanes they wait for if the end of others is enough.
static void only_threads_that_are_waited_for_go_on_alone(void **state)
{
    static const struct row row = {
        "setp.ge.u32 %p1, %r1, 20; @%p1 bra DONE; and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 0; "
        "@%p2 bra JOIN; shfl.sync.idx.b32 %r4, %r1, 1, 31, 0xfffaaaaa; JOIN: activemask.b32 "
        "%r2; " END,
        32, 20, 0xfffff};
    expect(*state, "", &row);
}

static void threads_that_live_are_waited_for(void **state)
{
    static const struct {
        const char *body, *says;
    } rows[] = {
        {GO_ON_20 "bar.sync 0; ret; DONE: bar.sync 1; ret;", "20 of 64 threads have arrived"},
        {"setp.ge.u32 %p1, %r1, 20; @%p1 bra A; bar.sync 2; A: bar.sync 1; ret;", "of 64 threads"},
        {"setp.ge.u32 %p1, %r1, 20; @%p1 bra A; bar.warp.sync -1; A: bar.sync 1; ret;",
         "not all of which can arrive"},
        {GO_ON_20 "bar.sync 1, 64; DONE: ret;", ": 32 of 64 threads have arrived"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sim_fault fault = run_body(*state, "", rows[i].body, 64);
        assert_int_equal(fault.kind, SIM_FAULT_DEADLOCK);
        if (!strstr(fault.text, rows[i].says))
            fail_msg("%s: %s", rows[i].body, fault.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(barriers_do_not_wait_for_threads_that_returned),
        TEST(lanes_do_not_wait_for_lanes_that_returned),
        TEST(a_barrier_with_a_count_counts_whole_warps),
        TEST(threads_have_ended_wherever_their_way_leads_only_to_the_end),
        TEST(a_warp_that_spins_does_not_keep_threads_from_their_end),
        TEST(only_threads_that_are_waited_for_go_on_alone),
        TEST(threads_that_live_are_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
