// SPDX-License-Identifier: Apache-2.0
// Operands of products of warpgroups (wgmma), which instructions name by descriptors: each counts
// as one load of each of its words. What probes report, of words and of live ranges, equals the
// simulator's log. The address that the probe's code computes equals ptx_matrix_chunk(). Near
// misses: products whose operands are unknown are named.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cudaabi/cudaabi.h"
#include "instrument/fill.h"
#include "ptx/ptx.h"
#include "words_run.h"

// --- Kernels -------------------------------------------------------------------------------------

// %t is the thread's number in the block, %a and %b are the addresses of the arrays in units of 16
// bytes. All words of `tile` are filled with what is global, half of them twice.
#define HEAD  ".version 8.0\n.target sm_90a\n.address_size 64\n"
#define ENTRY ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"
#define REGISTERS                                                                     \
    ".reg .b32 %t, %n, %r<20>; .reg .b64 %p, %q, %a, %b, %d<20>; .reg .pred %c<8>;\n" \
    ".reg .f32 %f<132>;\n"
#define START                                                                  \
    "ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];\n"      \
    "mov.u32 %t, %tid.y; mov.u32 %r0, %ntid.x; mov.u32 %r1, %tid.x;\n"         \
    "mad.lo.u32 %t, %t, %r0, %r1; mov.u32 %r19, tile; shr.u32 %r2, %r19, 4;\n" \
    "cvt.u64.u32 %a, %r2; mov.u32 %r18, other; shr.u32 %r2, %r18, 4; cvt.u64.u32 %b, %r2;\n"
#define ARRAYS                                                                 \
    ".shared .align 16 .b8 before[48]; .shared .align 1024 .b8 tile[16384];\n" \
    ".extern .shared .align 1024 .b8 other[];\n"
#define FILL_TILE                                                                 \
    "mov.u32 %r3, %t; FILLS: and.b32 %r4, %r3, 1023; mul.wide.u32 %d0, %r4, 4;\n" \
    "add.u64 %d0, %d0, %p; ld.global.u32 %r5, [%d0]; and.b32 %r4, %r3, 4095;\n"   \
    "shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r19; st.shared.u32 [%r4], %r5;\n"    \
    "add.u32 %r3, %r3, 256; setp.lt.u32 %c0, %r3, 6144; @%c0 bra FILLS;\n"        \
    "fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;\n"
#define WAIT "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
#define STORE                                           \
    "mul.wide.u32 %d0, %t, 16; add.u64 %d0, %d0, %q;\n" \
    "st.global.v4.f32 [%d0], {%f0, %f1, %f2, %f3};\n"
#define KERNEL(body) HEAD ENTRY REGISTERS ARRAYS START FILL_TILE body WAIT STORE "ret; }\n"

#define W     "wgmma.mma_async.sync.aligned."
#define SUMS8 "{%f0, %f1, %f2, %f3}"

enum { BYTES = 4096, DYNAMIC = 8192 };
enum { NONE, BYTES_128, BYTES_64, BYTES_32 }; // swizzling modes

// Registers of the sums of n columns: {%f0, %f1, ...}
static const char *sums(unsigned n)
{
    static char text[2048];
    size_t used = 0;
    for (unsigned i = 0; i < n / 2; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%%f%u", i ? ", " : "{", i);
    snprintf(text + used, sizeof(text) - used, "}");
    return text;
}

// --- Comparison with the log ---------------------------------------------------------------------

static void check_named(const char *ptx, const char *uncounted)
{
    struct instrument_module *module = words_module(ptx, 0);
    const struct instrument_kernel *kernel = &module->kernels[0];
    assert_string_equal(kernel->uncounted ? kernel->uncounted : "", uncounted);
    instrument_destroy(module);
}

static bool holds(const char *name, const char *ptx, uint32_t n, bool ranges,
                  const uint32_t block[3], enum oracle_spoil spoil, FILE *complaints)
{
    static unsigned char data[BYTES];
    for (unsigned i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i % 7 + i % 2 * 48); // halves between 0.1 and 1
    const struct words_run run = {
        .name = name,
        .ptx = ptx,
        .n = n,
        .bytes = BYTES,
        .dynamic = DYNAMIC,
        .data = data,
        .ranges = ranges,
        .block = {block[0], block[1], block[2]},
        .spoil = spoil,
    };
    return words_hold(&run, complaints);
}

static void check_with(const char *name, const char *ptx, uint32_t n, bool ranges)
{
    static const uint32_t blocks[][3] = {{128, 1, 1}, {32, 8, 1}};
    check_named(ptx, "");
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
        assert_true(holds(name, ptx, n, ranges, blocks[i], ORACLE_SOUND, stderr));
}

static void check(const char *name, const char *ptx, uint32_t n)
{
    check_with(name, ptx, n, false);
}

// --- Layouts and shapes --------------------------------------------------------------------------

static uint64_t layout_of(unsigned mode, bool transposed)
{
    static const uint64_t widths[] = {16, 128, 64, 32};
    const uint64_t tile = 8 * widths[mode] / 16; // chunks
    const uint64_t leading = mode == NONE ? 128 : transposed ? 2 * tile : 1;
    return leading << 16 | tile << 32 | (uint64_t)mode << 62;
}

static void check_layout(unsigned a, unsigned b, bool transposed_a, bool transposed_b, unsigned n)
{
    char body[4096], text[8192], name[64];
    static const char kernel[] = KERNEL("@");
    const char *at = strchr(kernel, '@');
    while (at[1] == '%') // a guard
        at = strchr(at + 1, '@');
    snprintf(body, sizeof(body),
             "or.b64 %%d1, %%a, %lld; or.b64 %%d2, %%a, %lld;\n" W
             "m64n%uk16.f32.f16.f16 %s, %%d1, %%d2, 0, 1, 1, %d, %d;\n",
             (long long)layout_of(a, transposed_a), (long long)layout_of(b, transposed_b), n,
             sums(n), transposed_a, transposed_b);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - kernel), kernel, body, at + 1);
    snprintf(name, sizeof(name), "%u%s times %u%s for %u", a, transposed_a ? "T" : "", b,
             transposed_b ? "T" : "", n);
    check(name, text, 0);
}

static void every_layout(void **state)
{
    (void)state;
    for (unsigned mode = NONE; mode <= BYTES_32; mode++) {
        check_layout(mode, BYTES_32 - mode, false, true, 64);
        check_layout(mode, BYTES_32 - mode, true, false, 64);
    }
}

// As many chunks as threads; a part of a warp; in a second round; all that there can be.
static void every_width(void **state)
{
    (void)state;
    check_layout(NONE, BYTES_32, false, false, 8);
    check_layout(NONE, BYTES_64, false, false, 24);
    check_layout(BYTES_64, BYTES_32, false, false, 72);
    check_layout(BYTES_128, NONE, true, true, 96);
    check_layout(NONE, BYTES_64, false, false, 256);
}

static void other_types_and_rows_in_registers(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("or.b64 %d1, %a, 137439477760;\n" W "m64n8k8.f32.tf32.tf32 " SUMS8
                 ", %d1, %d1, 0, 1, -1;\n" W "m64n8k8.f32.tf32.tf32 " SUMS8
                 ", {%r5, %r5, %r5, %r5}, %d1, 1, 1, 1;\n" W "m64n8k16.f32.bf16.bf16 " SUMS8
                 ", {%r5, %r5, %r5, %r5}, %d1, 1, 1, 1, 1;\n" W
                 "m64n8k32.s32.s8.u8 {%r6, %r7, %r8, %r9}, %d1, %d1, 1;\n" W
                 "m64n8k16.f16.f16.f16 {%r6, %r7}, %d1, %d1, 1, 1, 1, 0, 1;\n"),
          0);
}

// B has twice as many bytes along K. Where rows of it would be swizzled by 32 bytes, the simulated
// GPU does not know their places either.
static void sparse_products(void **state)
{
    (void)state;
    for (unsigned mode = NONE; mode <= BYTES_64; mode++) {
        char text[8192];
        static const char kernel[] = KERNEL("@");
        const char *at = strchr(kernel, '@');
        while (at[1] == '%') // a guard
            at = strchr(at + 1, '@');
        snprintf(
            text, sizeof(text),
            "%.*sor.b64 %%d1, %%a, %lld; or.b64 %%d2, %%a, %lld; mov.b32 %%r6, 0x44444444;\n"
            "wgmma.mma_async.sp.sync.aligned.m64n24k32.f32.f16.f16 %s, %%d1, %%d2, %%r6, 1, 1, "
            "1, 1, 0, %u;\n%s",
            (int)(at - kernel), kernel, (long long)layout_of(NONE, false),
            (long long)layout_of(mode, mode == BYTES_128), sums(24), mode == BYTES_128, at + 1);
        check(__func__, text, 0);
    }
}

// --- Arrays and control flow ---------------------------------------------------------------------

#define DENSE "137439477760" // eight rows are 512 bytes apart, halves of K 128

// Stages of a ring, one of two arrays, and a guard that is the same in a warpgroup.
static void loops_guards_and_arrays(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("mov.u32 %r6, 0; L: and.b32 %r7, %r6, 1; shl.b32 %r7, %r7, 9;\n"
                 "cvt.u64.u32 %d1, %r7; or.b64 %d1, %d1, " DENSE "; add.u64 %d2, %d1, %a;\n" W
                 "m64n8k16.f32.f16.f16 " SUMS8 ", %d2, %d2, 1, 1, 1, 0, 0;\n"
                 "setp.gt.u32 %c1, %r6, 1; selp.b64 %d3, %a, %b, %c1; or.b64 %d3, %d3, " DENSE ";\n"
                 "shr.u32 %r8, %t, 7; setp.eq.u32 %c2, %r8, 0; @%c2 " W
                 "m64n8k16.f32.f16.f16 " SUMS8 ", %d2, %d3, 1, 1, 1, 0, 0;\n"
                 "add.u32 %r6, %r6, 1; setp.lt.u32 %c3, %r6, %n; @%c3 bra L;\n"),
          4);
}

// One half of K is in the gap before the array.
static void chunks_outside_of_arrays_are_lost(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("sub.u64 %d1, %a, 32; or.b64 %d1, %d1, 137443147776;\n" W
                 "m64n8k16.f32.f16.f16 " SUMS8 ", {%r5, %r5, %r5, %r5}, %d1, 0, 1, 1, 0;\n"),
          0);
}

// Nothing else accesses shared memory, so that no other probe needs counters.
static void products_alone_are_counted(void **state)
{
    (void)state;
    static const char ptx[] = HEAD ENTRY REGISTERS ARRAYS START
        "or.b64 %d1, %a, " DENSE ";\n" W "m64n8k16.f32.f16.f16 " SUMS8
        ", %d1, %d1, 0, 1, 1, 0, 0;\n" WAIT STORE "ret; }\n";
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED,
                                               .word_ways = INSTRUMENT_WORDS_BEST};
    struct instrument_module *module;
    struct base_error error = {0};
    check(__func__, ptx, 0);
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    assert_true(module->kernels[0].counts_rest);
    assert_true(module->kernels[0].quads);
    assert_int_equal(module->kernels[0].word_site_count, 0);
    instrument_destroy(module);
}

// --- Live ranges ---------------------------------------------------------------------------------

// Each product loads what was stored last: the fills, and then what one warp stores.
static void products_load_what_was_stored(void **state)
{
    (void)state;
    check_with(__func__,
               KERNEL("or.b64 %d1, %a, " DENSE "; setp.lt.u32 %c1, %t, 32;\n" W
                      "m64n8k16.f32.f16.f16 " SUMS8 ", %d1, %d1, 0, 1, 1, 0, 0;\n" WAIT
                      "bar.sync 0; shl.b32 %r6, %t, 2; add.u32 %r6, %r6, %r19;\n"
                      "@%c1 st.shared.u32 [%r6+512], %t; fence.proxy.async; bar.sync 0;\n" W
                      "m64n8k16.f32.f16.f16 " SUMS8 ", %d1, %d1, 1, 1, 1, 0, 0;\n" WAIT
                      "bar.sync 0; ld.shared.u32 %r7, [%r6+512];\n"),
               0, true);
}

// --- What is not counted -------------------------------------------------------------------------

static void unknown_operands_are_named(void **state)
{
    (void)state;
    check_named(KERNEL("\n\nwgmma.mma_async.sp.sync.aligned.m64n8k16.f32.f16.f16 " SUMS8
                       ", %a, %a, %r5, 0, 1, 1, 1, 0, 0;\n"),
                "wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.f16.f16 at line 20 of the PTX");
    check_named(KERNEL("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 " SUMS8
                       ", %a, %a, %r5, 0, 1, 1, 1, 0, 0;\n"),
                "");
    check_named(HEAD ".func f(.param .b64 x) { .reg .b64 %a; .reg .f32 %f<4>;\n"
                     "ld.param.u64 %a, [x];\n" W "m64n8k16.f32.f16.f16 " SUMS8
                     ", %a, %a, 1, 1, 1, 0, 0; ret; }\n" ENTRY REGISTERS ARRAYS START
                     "{ .param .b64 y; st.param.b64 [y], %a; call f, (y); } ret; }\n",
                "accesses in f, which it calls");
    check_named(KERNEL(W "m64n8k32.f32.e4m3.e5m2 " SUMS8 ", %a, %a, 1, 1, 1;\n"), "");
    check_named(KERNEL(W "m64n8k256.s32.b1.b1.and.popc {%r6, %r7, %r8, %r9}, %a, %a, 1;\n"), "");
}

static void what_is_spoilt_is_found(void **state)
{
    (void)state;
    static const uint32_t block[3] = {128, 1, 1};
    static const char ptx[] = KERNEL("or.b64 %d1, %a, " DENSE ";\n" W "m64n8k16.f32.f16.f16 " SUMS8
                                     ", %d1, %d1, 0, 1, 1, 0, 0;\n");
    static const struct {
        enum oracle_spoil spoil;
        bool ranges;
    } cases[] = {{ORACLE_ONE_WORD, false}, {ORACLE_ONE_RANGE, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *told;
        size_t length;
        FILE *to = open_memstream(&told, &length);
        assert_false(holds(__func__, ptx, 0, cases[i].ranges, block, cases[i].spoil, to));
        fclose(to);
        assert_non_null(strstr(told, "wanted"));
        free(told);
    }
}

// --- Addresses -----------------------------------------------------------------------------------

// A kernel whose threads store the address that the probe computes for their chunk and a
// descriptor, or -1 if it is unknown. `descriptors` and `results` follow each other in memory.
enum { DESCRIPTORS = 64, CHUNKS = PTX_MOST_CHUNKS };
struct addresses {
    uint64_t descriptors[DESCRIPTORS];
    uint32_t results[DESCRIPTORS][CHUNKS];
};

static void put_kernel(struct base_buf *text, const struct ptx_matrix *matrix)
{
    base_buf_puts(text,
                  HEAD ".entry k(.param .u64 p) { .reg .pred %glint$in; .reg .b32 %glint$chunk, "
                       "%glint$at, %r<2>; .reg .b64 %d<5>;\n"
                       "ld.param.u64 %d0, [p]; mov.u32 %glint$chunk, %tid.x; mov.u32 %r0, "
                       "%ctaid.x;\n"
                       "mul.wide.u32 %d1, %r0, 8; add.u64 %d1, %d1, %d0; ld.global.u64 %d2, "
                       "[%d1];\n");
    FILL(text, described_address, STRING(descriptor, "%d2"), NUMBER(transposed, matrix->transposed),
         NUMBER(is_long, matrix->is_long), NUMBER(is_wide, matrix->is_long && !matrix->transposed),
         NUMBER(lost, 1));
    base_buf_printf(text,
                    "bra FOUND; $glint$1: mov.u32 %%glint$at, -1; FOUND:\n"
                    "mad.lo.u32 %%r0, %%r0, %d, %%glint$chunk; mul.wide.u32 %%d1, %%r0, 4;\n"
                    "add.u64 %%d1, %%d1, %%d0; st.global.u32 [%%d1+%zu], %%glint$at; ret; }\n",
                    CHUNKS, offsetof(struct addresses, results));
}

// Runs the kernel. `memory` is shared with the child process that launches it.
static void compute(struct addresses *memory, const struct ptx_matrix *matrix)
{
    struct base_buf text = {0};
    int status = -1;
    put_kernel(&text, matrix);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        CUcontext context;
        CUmodule module;
        CUfunction kernel;
        CUdeviceptr buffer;
        void *params[] = {&buffer};
        unsetenv("GLINT_SIM_DEVICE");
        unsetenv("GLINT_SIM_LOG");
        exit(cuInit(0) || cuCtxCreate_v4(&context, NULL, 0, 0) ||
             cuModuleLoadData(&module, text.text) || cuModuleGetFunction(&kernel, module, "k") ||
             cuMemAlloc_v2(&buffer, sizeof(*memory)) ||
             cuMemcpyHtoD_v2(buffer, memory, sizeof(*memory)) ||
             cuLaunchKernel(kernel, DESCRIPTORS, 1, 1, CHUNKS, 1, 1, 0, NULL, params, NULL) ||
             cuMemcpyDtoH_v2(memory, buffer, sizeof(*memory)));
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    base_buf_fini(&text);
}

static void probes_compute_the_addresses_of_chunks(void **state)
{
    (void)state;
    struct addresses *memory =
        mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned unknown = 0;
    assert_true(memory != MAP_FAILED);
    for (int kind = 0; kind < 4; kind++) {
        const struct ptx_matrix matrix = {.rows = 256, .transposed = kind % 2, .is_long = kind / 2};
        uint64_t random = 1;
        for (unsigned i = 0; i < DESCRIPTORS; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            memory->descriptors[i] = (random ^ random >> 29) & ~(UINT64_C(3) << 62);
            memory->descriptors[i] |= (uint64_t)(i % 4) << 62;
            if (i % 8 < 6) // most have no base offset
                memory->descriptors[i] &= ~(UINT64_C(7) << 49);
        }
        compute(memory, &matrix);
        for (unsigned i = 0; i < DESCRIPTORS; i++) {
            const bool known = ptx_matrix_is_plain(&matrix, memory->descriptors[i]);
            unknown += !known;
            for (uint32_t chunk = 0; chunk < CHUNKS; chunk++)
                assert_int_equal(memory->results[i][chunk],
                                 known ? ptx_matrix_chunk(&matrix, memory->descriptors[i], chunk)
                                       : UINT32_MAX);
        }
    }
    assert_in_range(unknown, 1, 2 * DESCRIPTORS);
    munmap(memory, sizeof(*memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probes_compute_the_addresses_of_chunks),
        cmocka_unit_test(every_layout),
        cmocka_unit_test(every_width),
        cmocka_unit_test(other_types_and_rows_in_registers),
        cmocka_unit_test(sparse_products),
        cmocka_unit_test(loops_guards_and_arrays),
        cmocka_unit_test(chunks_outside_of_arrays_are_lost),
        cmocka_unit_test(products_alone_are_counted),
        cmocka_unit_test(products_load_what_was_stored),
        cmocka_unit_test(unknown_operands_are_named),
        cmocka_unit_test(what_is_spoilt_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
