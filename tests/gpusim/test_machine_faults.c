// SPDX-License-Identifier: Apache-2.0
// Faults that end a launch, and modules that are rejected when they are loaded. A fault has a kind,
// which the driver maps to CUDA's code, and a message with kernel, source line, block, thread,
// address and nearest object.
#include "machine_testing.h"

static void an_access_beyond_an_object_names_kernel_thread_and_object(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault =
        run(fixture,
            HEAD ".entry beyond(.param .u64 p) { .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
                 "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 "
                 "%rd3, %rd1, %rd2;\n"
                 "st.global.u32 [%rd3+16376], %r1; ret; }",
            1, 3);
    assert_int_equal(fault.kind, SIM_FAULT_ADDRESS);
    assert_non_null(strstr(fault.text, "kernel beyond"));
    assert_non_null(strstr(fault.text, "thread (2,0,0)"));
    assert_non_null(strstr(fault.text, "invalid write of 4 bytes"));
    assert_non_null(strstr(fault.text, "1 bytes beyond object"));
    assert_non_null(strstr(fault.text, "cudaMalloc"));
}

static void use_after_free_is_told(void **state)
{
    struct fixture *fixture = *state;
    assert_true(sim_object_remove(fixture->device, (uintptr_t)fixture->memory));
    struct sim_fault fault =
        run(fixture,
            HEAD ".entry k(.param .u64 p) { .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
                 "ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1+8]; ret; }",
            1, 1);
    assert_int_equal(fault.kind, SIM_FAULT_ADDRESS);
    assert_non_null(strstr(fault.text, "use after free: byte 8 of object"));
}

static void a_misaligned_access_is_told(void **state)
{
    struct sim_fault fault =
        run(*state,
            HEAD ".entry k(.param .u64 p) { .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
                 "ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1+2]; ret; }",
            1, 1);
    assert_int_equal(fault.kind, SIM_FAULT_MISALIGNED);
}

static void a_missing_barrier_participant_is_told(void **state)
{
    struct sim_fault fault = run(*state,
                                 HEAD ".entry k(.param .u64 p) { .reg .b32 %r<6>; .reg .pred %p;\n"
                                      "mov.u32 %r1, %tid.x; setp.ge.u32 %p, %r1, 32; @%p bra W; "
                                      "bar.sync 1; ret; W: bar.sync 2; ret; }",
                                 1, 64);
    assert_int_equal(fault.kind, SIM_FAULT_DEADLOCK);
    assert_non_null(strstr(fault.text, "32 of 64 threads"));
}

static void endless_recursion_ends(void **state)
{
    struct sim_fault fault = run(*state,
                                 HEAD ".func f(); .func f() { call f; ret; }\n"
                                      ".entry k(.param .u64 p) { call f; ret; }",
                                 1, 1);
    assert_int_equal(fault.kind, SIM_FAULT_STACK);
}

// 150 calls of 1 KB each, which exceed the default stack size.
static void the_stack_is_as_large_as_it_was_asked_to_be(void **state)
{
    struct fixture *fixture = *state;
    const char *text =
        HEAD ".func f(.param .b32 n); .func f(.param .b32 n) { .reg .b32 %r<3>; .reg .pred %p;\n"
             ".local .align 16 .b8 room[1024]; ld.param.b32 %r1, [n]; st.local.u32 [room], %r1;\n"
             "setp.eq.u32 %p, %r1, 0; @%p ret; sub.u32 %r2, %r1, 1; call f, (%r2); ret; }\n"
             ".entry k(.param .u64 p) { call f, (150); ret; }";
    assert_int_equal(run(fixture, text, 1, 32).kind, SIM_FAULT_STACK);
    sim_device_set_stack(fixture->device, 256 << 10);
    assert_int_equal(run(fixture, text, 1, 32).kind, SIM_FAULT_NONE);
}

// Block 0 allocates with malloc(40) and frees after block 1, with as many threads, has read the
// memory. Then block 1 reads again with the same instruction. Words of the memory: 0 is the
// progress, 2 and 3 are the address, 4 is the value read.
static struct sim_fault free_under_another_block(struct fixture *fixture, unsigned reads,
                                                 unsigned offset, const char *after_free)
{
    static const char format[] = //
        HEAD ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
             ".extern .func free(.param .b64 a);\n"
             ".entry k(.param .u64 p) { .reg .b32 %%r<9>; .reg .b64 %%rd<9>; .reg .pred %%p<3>;\n"
             "ld.param.u64 %%rd1, [p]; mov.u32 %%r1, %%ctaid.x; mov.u32 %%r2, %%tid.x;\n"
             "setp.eq.u32 %%p1, %%r1, 1; @%%p1 bra OTHER;\n"
             "setp.ne.u32 %%p1, %%r2, 0; @%%p1 ret;\n"
             "call (%%rd2), malloc, (40); mov.u32 %%r3, 77; st.u32 [%%rd2+%u], %%r3;\n"
             "st.global.u64 [%%rd1+8], %%rd2; st.release.gpu.global.u32 [%%rd1], 1;\n"
             "A: ld.acquire.gpu.global.u32 %%r3, [%%rd1]; setp.ne.u32 %%p1, %%r3, 2; @%%p1 bra A;\n"
             "call free, (%%rd2); %s st.release.gpu.global.u32 [%%rd1], 3; ret;\n"
             "OTHER: mov.u32 %%r4, 1;\n"
             "B: ld.acquire.gpu.global.u32 %%r3, [%%rd1]; setp.ne.u32 %%p1, %%r3, 1; @%%p1 bra B;\n"
             "ld.global.u64 %%rd2, [%%rd1+8];\n"
             "READ: ld.u32 %%r5, [%%rd2+%u]; st.global.u32 [%%rd1+16], %%r5;\n"
             "setp.eq.u32 %%p1, %%r4, %u; @%%p1 bra LAST; add.u32 %%r4, %%r4, 1;\n"
             "st.release.gpu.global.u32 [%%rd1], 2;\n"
             "C: ld.acquire.gpu.global.u32 %%r3, [%%rd1]; setp.ne.u32 %%p1, %%r3, 3; @%%p1 bra C;\n"
             "bra READ;\n"
             "LAST: st.release.gpu.global.u32 [%%rd1], 2; ret; }";
    char text[4096];
    snprintf(text, sizeof(text), format, offset, after_free, offset, reads);
    fixture->memory[0] = fixture->memory[4] = 0;
    return run(fixture, text, 2, 32);
}

// Workers pick blocks in any order, so the test tries often.
enum { TRIES = 20 };

static void what_another_block_has_freed_is_told(void **state)
{
    for (int i = 0; i < TRIES; i++) {
        struct sim_fault fault = free_under_another_block(*state, 2, 8, "");
        assert_int_equal(fault.kind, SIM_FAULT_ADDRESS);
        assert_non_null(strstr(fault.text, "block (1,0,0)"));
        assert_non_null(strstr(fault.text, "use after free: byte 8 of object"));
    }
}

static void what_another_block_frees_later_can_be_read(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < TRIES; i++) {
        struct sim_fault fault = free_under_another_block(fixture, 1, 8, "");
        assert_int_equal(fault.kind, SIM_FAULT_NONE);
        assert_int_equal(fixture->memory[4], 77);
    }
}

// If the memory was allocated again meanwhile, its new size counts. (The new allocation may be
// elsewhere; then this is a use after free.)
static void what_another_block_has_given_out_again_is_as_small_as_it_is_now(void **state)
{
    for (int i = 0; i < TRIES; i++) {
        struct sim_fault fault =
            free_under_another_block(*state, 2, 36, "call (%rd3), malloc, (36);");
        assert_int_equal(fault.kind, SIM_FAULT_ADDRESS);
        assert_non_null(strstr(fault.text, "block (1,0,0)"));
    }
}

// Each row is a kernel's body, run by 64 threads of one block, so that their actions are ordered.
// Registers are declared; %rd1 is the address of the memory object, %r1 the thread.
#define BODY                                                                           \
    ".const .align 4 .u32 fixed[4] = {1, 2, 3, 4};\n"                                  \
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"                           \
    ".extern .func free(.param .b64 a);\n"                                             \
    ".entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;\n" \
    ".shared .align 16 .b8 cell[64]; .local .align 16 .b8 depot[32];\n"                \
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n"                                   \
    ".loc 1 7 3\n"

struct row {
    const char *body;
    enum sim_fault_kind kind;
    const char *says;
};

static void expect(struct fixture *fixture, const struct row *row)
{
    char text[4096];
    snprintf(text, sizeof(text), "%s.file 1 \"dir/a.cu\"\n%s%s ret; }", HEAD, BODY, row->body);
    struct sim_fault fault = run(fixture, text, 1, 64);
    if (fault.kind != row->kind || !strstr(fault.text, row->says) ||
        !strstr(fault.text, "kernel k, dir/a.cu:7, block (") || !strstr(fault.text, "thread ("))
        fail_msg("%s: %d, %s", row->body, fault.kind, fault.text);
}

static void accesses_that_are_nobodys_tell_how_far_the_nearest_object_is(void **state)
{
    static const struct row rows[] = {
        {"mov.u64 %rd2, 8; ld.global.u32 %r2, [%rd2];", SIM_FAULT_ADDRESS,
         "invalid read of 4 bytes at 0x8: a null pointer"},
        {"st.global.u32 [%rd1+-8], %r1;", SIM_FAULT_ADDRESS, "8 bytes before object"},
        {"red.global.add.u32 [%rd1+16384], 1;", SIM_FAULT_ADDRESS,
         "invalid atomic operation of 4 bytes"},
        {"ld.global.v2.u64 {%rd2, %rd3}, [%rd1+16384];", SIM_FAULT_ADDRESS,
         "invalid read of 16 bytes"},
        {"ld.shared.u32 %r2, [cell+64];", SIM_FAULT_ADDRESS,
         "1 bytes beyond the block's memory, which has 64 bytes"},
        {"mov.u32 %r2, cell; st.shared.u32 [%r2+1048576], %r1;", SIM_FAULT_ADDRESS,
         "invalid write of 4 bytes at 0x100000 of shared memory"},
        {"mov.u64 %rd2, cell; cvta.shared.u64 %rd2, %rd2; st.u32 [%rd2+68], %r1;",
         SIM_FAULT_ADDRESS, "5 bytes beyond the block's shared memory, which has 64 bytes"},
        {"ld.local.u32 %r2, [depot+1048576];", SIM_FAULT_ADDRESS, "of local memory"},
        {"mov.u64 %rd2, fixed; ld.const.u32 %r2, [%rd2+16];", SIM_FAULT_ADDRESS,
         "1 bytes beyond object"},
        {"mov.u64 %rd2, fixed; cvta.const.u64 %rd2, %rd2; st.u32 [%rd2+4], %r1;", SIM_FAULT_ADDRESS,
         "a constant: byte 4 of object"},
        {"mov.u64 %rd2, fixed; ld.const.u32 %r2, [%rd2]; cvta.const.u64 %rd2, %rd2; "
         "atom.add.u32 %r2, [%rd2], 1;",
         SIM_FAULT_ADDRESS, "a constant: byte 0 of object"},
        {"call (%rd2), malloc, (24); st.u32 [%rd2+24], %r1;", SIM_FAULT_ADDRESS,
         "1 bytes beyond object"},
        {"call (%rd2), malloc, (24); call free, (%rd2); ld.u32 %r2, [%rd2+8];", SIM_FAULT_ADDRESS,
         "use after free: byte 8 of object"},
        {"call free, (%rd1);", SIM_FAULT_ADDRESS, "which malloc did not return"},
        {"mov.u64 %rd2, 4660; tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%rd2, {%r1}];",
         SIM_FAULT_ADDRESS, "0x1234 is not a texture object"},
        {"suld.b.1d.b32.trap %r2, [%rd1, {%r1}];", SIM_FAULT_ADDRESS, "is not a surface object"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(*state, &rows[i]);
}

static void misaligned_accesses_are_told_in_every_space(void **state)
{
    static const struct row rows[] = {
        {"ld.global.u32 %r2, [%rd1+2];", SIM_FAULT_MISALIGNED,
         "is not a multiple of 4: byte 2 of object"},
        {"st.global.v4.u32 [%rd1+8], {%r1, %r1, %r1, %r1};", SIM_FAULT_MISALIGNED,
         "is not a multiple of 16: byte 8 of object"},
        {"st.u64 [%rd1+4], %rd1;", SIM_FAULT_MISALIGNED, "misaligned write"},
        {"atom.global.add.u32 %r2, [%rd1+2], 1;", SIM_FAULT_MISALIGNED,
         "misaligned atomic operation"},
        {"ld.shared.u16 %r2, [cell+1];", SIM_FAULT_MISALIGNED,
         "is not a multiple of 2: in shared memory"},
        {"atom.shared.add.u32 %r2, [cell+2], 1;", SIM_FAULT_MISALIGNED, "in shared memory"},
        {"st.local.u32 [depot+2], %r1;", SIM_FAULT_MISALIGNED, "in local memory"},
        {"mov.u64 %rd2, fixed; ld.const.u32 %r2, [%rd2+1];", SIM_FAULT_MISALIGNED,
         "byte 1 of object"},
        {"cp.async.ca.shared.global [cell+4], [%rd1], 8;", SIM_FAULT_MISALIGNED,
         "is not a multiple of 8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(*state, &rows[i]);
}

// The second round of a load by three lanes, whose first round was valid. The object has 16384
// bytes.
static void loads_by_some_lanes_are_checked_up_to_the_last_byte(void **state)
{
    static const struct {
        unsigned bits;
        int offset;
        enum sim_fault_kind kind;
    } rows[] = {
        {32, 16380, SIM_FAULT_NONE},   {32, 16384, SIM_FAULT_ADDRESS},
        {32, -4, SIM_FAULT_ADDRESS},   {32, 16378, SIM_FAULT_MISALIGNED},
        {32, 1, SIM_FAULT_MISALIGNED}, {32, 4, SIM_FAULT_NONE},
        {64, 16376, SIM_FAULT_NONE},   {64, 16384, SIM_FAULT_ADDRESS},
        {64, -8, SIM_FAULT_ADDRESS},   {64, 16380, SIM_FAULT_MISALIGNED},
        {64, 4, SIM_FAULT_MISALIGNED}, {64, 8, SIM_FAULT_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        snprintf(text, sizeof(text),
                 HEAD ".entry k(.param .u64 p) { .reg .b32 %%r<6>; .reg .b64 %%rd<6>; "
                      ".reg .pred %%p<3>;\nld.param.u64 %%rd1, [p]; mov.u32 %%r1, %%tid.x; "
                      "setp.lt.u32 %%p1, %%r1, 3; mov.u64 %%rd2, %%rd1; mov.u32 %%r2, 0;\n"
                      "AGAIN: @%%p1 ld.global.u%u %%%s, [%%rd2]; add.s64 %%rd2, %%rd1, %d;\n"
                      "add.u32 %%r2, %%r2, 1; setp.lt.u32 %%p2, %%r2, 2; @%%p2 bra AGAIN; ret; }",
                 rows[i].bits, rows[i].bits == 32 ? "r3" : "rd3", rows[i].offset);
        struct sim_fault fault = run(*state, text, 1, 32);
        if (fault.kind != rows[i].kind)
            fail_msg("%u bits at %d: %d, %s", rows[i].bits, rows[i].offset, fault.kind, fault.text);
    }
}

static void wrong_turns_and_deliberate_ends_are_told(void **state)
{
    static const struct row rows[] = {
        {"trap;", SIM_FAULT_TRAP, "trap"},
        {"brkpt;", SIM_FAULT_TRAP, "brkpt"},
        {"pr: .callprototype _ (); call %rd1, pr;", SIM_FAULT_ADDRESS, "which is not a function"},
        {"ts: .branchtargets A; brx.idx %r1, ts; A: mov.u32 %r2, 0;", SIM_FAULT_PC,
         "index 1 of a table of 1 branches"},
        {"mov.u32 %r2, 16; barrier.sync %r2;", SIM_FAULT_INSTRUCTION,
         "barrier 16 does not exist: a block has 16"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(*state, &rows[i]);
}

// Lanes that have ended are not waited for; lanes that wait elsewhere are.
static void who_waits_for_threads_that_never_come_is_told(void **state)
{
    static const struct row rows[] = {
        {"setp.lt.u32 %p1, %r1, 40; @%p1 bra A; bar.sync 1; bra B; A: bar.sync 2; B: mov.u32 "
         "%r2, 0;",
         SIM_FAULT_DEADLOCK, "of 64 threads have arrived and the others cannot"},
        {"bar.sync 3, 96;", SIM_FAULT_DEADLOCK, ": 64 of 96 threads have arrived"},
        {"setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 0; @!%p1 bar.sync 1;", SIM_FAULT_DEADLOCK,
         ": 32 of 64 threads have arrived"},
        {"and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra A; bar.sync 0; bra B; "
         "A: bar.warp.sync -1; B: mov.u32 %r2, 0;",
         SIM_FAULT_DEADLOCK, "deadlock"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(*state, &rows[i]);
    struct sim_fault fault =
        run(*state,
            HEAD ".entry k(.param .u64 p) { .reg .b32 %r<3>; .reg .pred %p;\n"
                 "mov.u32 %r1, %tid.x; setp.ge.u32 %p, %r1, 20; @%p exit; bar.sync 0; ret; }",
            1, 64);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
}

// Lanes whose guard is false continue without the call.
static void a_guarded_call_is_made_by_its_lanes_alone(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault =
        run(fixture,
            HEAD ".func bump(.param .b64 a) { .reg .b64 %rd; .reg .b32 %r; ld.param.b64 %rd, [a];\n"
                 "atom.global.add.u32 %r, [%rd], 1; ret; }\n"
                 ".entry k(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %rd; .reg .pred %p;\n"
                 "ld.param.u64 %rd, [p]; mov.u32 %r1, %tid.x; setp.lt.u32 %p, %r1, 9;\n"
                 "@%p call bump, (%rd); ret; }",
            1, 32);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[0], 9);
}

static void long_names_do_not_push_out_the_rest(void **state)
{
    char name[700], text[2048];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(text, sizeof(text), "%s.entry %s(.param .u64 p) { trap; ret; }", HEAD, name);
    struct sim_fault fault = run(*state, text, 1, 1);
    assert_int_equal(fault.kind, SIM_FAULT_TRAP);
    assert_non_null(strstr(fault.text, "nnn..., PTX line 4, block (0,0,0), thread (0,0,0): trap"));
}

// --- Rejected modules ----------------------------------------------------------------------------

static void assert_refused(struct fixture *fixture, const char *head, const char *line,
                           const char *says)
{
    char text[4096];
    snprintf(text, sizeof(text),
             "%s%s.entry k(.param .u64 p) { .reg .b16 %%h<9>; .reg .b32 %%r<65>; .reg .b64 "
             "%%rd<9>; .reg .pred %%p<9>; .reg .f32 %%f<9>;\n%s; ret; }",
             HEAD, head, line);
    struct sim_ptx ptx = {text, strlen(text), "test"};
    struct base_error error = {0};
    struct sim_module *module = NULL;
    enum base_code code = sim_module_load(fixture->device, &ptx, 1, &module, &error);
    if (code != BASE_UNSUPPORTED || !strstr(error.text[0], says))
        fail_msg("%s: %d, %s", line, code, code == BASE_OK ? "accepted" : error.text[0]);
}

static void what_cannot_be_executed_is_refused_by_name_kernel_and_line(void **state)
{
    static const char *const lines[] = {
        "frobnicate.u32 %r1, %r2",
        "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r1,%r2,%r3,%r4}, %rd1, %rd2, 1, 1, 1, "
        "0, 0",
        "wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16 {%r1,%r2}, %rd1, %rd2, 1, 1, 1, 0, 0",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.e4m3.e4m3 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, "
        "1",
        "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.xor.popc {%r1,%r2,%r3,%r4}, %rd1, %rd2, "
        "1",
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, "
        "1, "
        "0, 0",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 2, 1, "
        "0, 0",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %r1, %r2, 1, 1, 1, "
        "0, 0",
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %r5, "
        "2, 1, 1, 1, 0, 0",
        "tcgen05.wait::ld.sync.aligned",
        "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd1], 1",
        "tensormap.replace.tile.box_dim.global.b1024.b32 [%rd1], 5, %r1",
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster [%r1], [%rd1, {%r2}], [%r3]",
        "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
        "[%r1], [%rd1, {%r2,%r2,%r2,%r2,%r2}], [%r3]",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd1, "
        "{%r2,%r2,%r2,%r2,%r2}], [%r3]",
        "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w [%rd1, {%r2,%r2,%r2}], {%h1,%h2}",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f16 [%rd1], [%r1], %r2",
        "multimem.ld_reduce.relaxed.gpu.global.add.u32 %r1, [%rd1]",
        "multimem.red.relaxed.gpu.global.add.u32 [%rd1], %r1",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, "
        "{%r3,%r4}, {%f1,%f2,%f3,%f4}, %r5, 0",
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {%f1,%f2,%f3,%f4}, "
        "{%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4}",
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f16 {%f1,%f2,%f3,%f4}, "
        "{%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r7,%r8}",
        "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32 {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r7,%r8}, "
        "{%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16 {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r7,%r8}, "
        "{%r1,%r2,%r3,%r4}",
        "wmma.mma.sync.aligned.row.col.m16n16k8.f64.f64.f64.f64 {%rd1,%rd2,%rd3,%rd4,%rd5,%rd6,"
        "%rd7,%rd8}, {%rd1,%rd2,%rd3,%rd4}, {%rd1,%rd2,%rd3,%rd4}, {%rd1,%rd2,%rd3,%rd4,%rd5,%rd6,"
        "%rd7,%rd8}",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1,%r2}, [%r3]",
        "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r1], {%r2}",
        "add.f32x2 %rd1, %rd2, %rd3",
        "fma.rz.bf16 %h1, %h2, %h3, %h4",
        "cvt.rna.satfinite.tf32.f32 %r1, %f1",
        "cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2",
        "cvt.u64.u32 %rd1, %pm0",
        "mov.u32 %r1, %pm0",
        "vmad.u32.u32.u32.sat %r1, %r2, %r3, %r4",
        "vadd.u32.s32.u32.sat %r1, %r2, %r3",
        "vshl.u32.u32.u32.sat.clamp %r1, %r2, %r3",
        "txq.channel_order.b32 %r1, [%rd1]",
        "suq.array_size.b32 %r1, [%rd1]",
        "istypep.texref %p1, %rd1",
        "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, %rd2, {%f1,%f2}]",
        "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}], %f5",
        "tex.2dms.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1,%r2,%r3,%r3}]",
        "tex.grad.cube.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2,%f3,%f3}], "
        "{%f1,%f2,%f3,%f3}, {%f1,%f2,%f3,%f3}",
        "tex.level.2d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1,%r2}], %r3",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char says[256];
        snprintf(says, sizeof(says), "%.*s in k, PTX line 5", (int)strcspn(lines[i], " "),
                 lines[i]);
        assert_refused(*state, "", lines[i], says);
    }
    assert_refused(*state, "", "st.param.b64 [p], %rd1",
                   "st.param.b64 in k, PTX line 5: a kernel's parameters cannot be written");
    assert_refused(*state, ".func f(.param .u64 a) { ret; }\n", "call f, (p)",
                   "call in k, PTX line 6: a call that passes on a kernel's parameter");
}

// Kernels that reach unsupported instructions are rejected, also through calls; the others run.
static void a_refused_kernel_leaves_the_others_be(void **state)
{
    struct fixture *fixture = *state;
    struct sim_fault fault =
        run(fixture,
            HEAD ".func odd() { .reg .b32 %r<3>;\nfrobnicate.u32 %r1, %r2; ret; }\n"
                 ".func between() { call odd; ret; }\n"
                 ".entry good(.param .u64 p) { .reg .b64 %rd1; ld.param.u64 %rd1, [p];\n"
                 "st.global.u32 [%rd1], 7; ret; }\n"
                 ".entry bad(.param .u64 p) { call between; ret; }\n"
                 ".entry worse(.param .u64 p) { .reg .b32 %r<3>;\nblorb.u32 %r1, %r2; ret; }\n",
            1, 1);
    assert_int_equal(fault.kind, SIM_FAULT_NONE);
    assert_int_equal(fixture->memory[0], 7);
    assert_null(sim_kernel_refusal(sim_module_kernel(fixture->module, "good")));
    const char *bad = sim_kernel_refusal(sim_module_kernel(fixture->module, "bad"));
    const char *worse = sim_kernel_refusal(sim_module_kernel(fixture->module, "worse"));
    assert_non_null(bad);
    assert_non_null(worse);
    assert_non_null(strstr(bad, "frobnicate.u32 in odd, PTX line 5"));
    assert_non_null(strstr(bad, "kernel bad"));
    assert_non_null(strstr(worse, "blorb.u32 in worse, PTX line 11"));
}

static void what_is_not_there_is_refused_by_its_name(void **state)
{
    assert_refused(*state, ".extern .func cudaLaunchDevice(); ", "call cudaLaunchDevice",
                   "call in k, PTX line 5: cudaLaunchDevice, a function that no module defines");
    assert_refused(*state, ".extern .global .u32 far; ", "ld.global.u32 %r1, [far]",
                   "ld.global.u32 in k, PTX line 5: far, a variable that no module defines");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_access_beyond_an_object_names_kernel_thread_and_object),
        TEST(use_after_free_is_told),
        TEST(what_another_block_has_freed_is_told),
        TEST(what_another_block_frees_later_can_be_read),
        TEST(what_another_block_has_given_out_again_is_as_small_as_it_is_now),
        TEST(a_misaligned_access_is_told),
        TEST(a_missing_barrier_participant_is_told),
        TEST(endless_recursion_ends),
        TEST(the_stack_is_as_large_as_it_was_asked_to_be),
        TEST(accesses_that_are_nobodys_tell_how_far_the_nearest_object_is),
        TEST(misaligned_accesses_are_told_in_every_space),
        TEST(loads_by_some_lanes_are_checked_up_to_the_last_byte),
        TEST(wrong_turns_and_deliberate_ends_are_told),
        TEST(who_waits_for_threads_that_never_come_is_told),
        TEST(a_guarded_call_is_made_by_its_lanes_alone),
        TEST(long_names_do_not_push_out_the_rest),
        TEST(what_cannot_be_executed_is_refused_by_name_kernel_and_line),
        TEST(a_refused_kernel_leaves_the_others_be),
        TEST(what_is_not_there_is_refused_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
