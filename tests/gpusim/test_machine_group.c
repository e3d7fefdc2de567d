// SPDX-License-Identifier: Apache-2.0
// Known answers about products of warpgroups: wgmma of each type that the machine has, with
// operands in each layout and in registers, compared with sums of products of small numbers, which
// are exact. Layouts are stated here a second time, as copies of tensors write swizzled tiles.
#include "machine_testing.h"

enum { NONE, BYTES_128, BYTES_64, BYTES_32 }; // swizzling modes
enum { F16, BF16, TF32 };
enum {
    ROWS = 64,
    COLUMNS = 16,
    MOST_K = 16,
    THREADS = 128,
    IMAGE_BYTES = 12288, // of shared memory, from the first word of the memory on
    B_AT = 8192,
    DESCRIPTORS_AT = IMAGE_BYTES - 16,
    RESULTS = IMAGE_BYTES / 4, // words: by register, then by thread
    SUMS = COLUMNS / 8 * 4,
    BEFORE = 100, // what the sums are before
};

struct operand {
    unsigned mode;
    bool transposed, in_registers;
};

struct product {
    unsigned type;
    struct operand a, b;
    const char *adds; // "1", "0", "%p1" or "!%p1", which is true
    int scale_a, scale_b;
};

static unsigned bytes_of(unsigned type)
{
    return type == TF32 ? 4 : 2;
}

static unsigned depth_of(unsigned type)
{
    return 32 / bytes_of(type);
}

// Small numbers, of which all products and sums are exact.
static int element_a(unsigned row, unsigned k)
{
    return (int)(row * 7 + k * 3) % 11 - 5;
}

static int element_b(unsigned column, unsigned k)
{
    return (int)(column * 5 + k * 2 + column * k) % 13 - 6;
}

static uint32_t bits_of(unsigned type, int value)
{
    const float as_float = (float)value;
    uint32_t bits;
    memcpy(&bits, &as_float, sizeof(bits));
    if (type == TF32)
        return bits | 0x155; // the machine must ignore these bits
    if (type == BF16)
        return bits >> 16;
    if (!value)
        return 0;
    return (bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 127 + 15) << 10 | (bits >> 13 & 0x3ff);
}

// Returns the offset of an element of a matrix, and *leading and *stride.
static uint32_t place_of(const struct operand *operand, unsigned type, unsigned row, unsigned k,
                         uint32_t *leading, uint32_t *stride)
{
    static const uint32_t widths[] = {16, 128, 64, 32};
    const uint32_t width = widths[operand->mode], bytes = bytes_of(type);
    // A line has bytes along K, or along M or N.
    const uint32_t line = operand->transposed ? k : row,
                   at = (operand->transposed ? row : k) * bytes;
    uint32_t offset;
    if (operand->mode == NONE) {
        *leading = 2048; // chunks that are neighbours along K; B has less
        *stride = 128;   // eight rows
        if (operand->transposed)
            return row / 8 * *stride + k / 8 * *leading + k % 8 * 16 + at % 16;
        return line / 8 * *stride + at / 16 * *leading + line % 8 * 16 + at % 16;
    }
    if (operand->transposed) {
        *stride = 8 * width;
        *leading = 16 * width;
        offset = line / 8 * *stride + line % 8 * width + at / width * *leading + at % width;
    } else {
        *stride = 8 * width;
        *leading = 16; // is ignored
        offset = line * width + at;
    }
    return offset ^ (offset >> 7 & (width / 16 - 1)) << 4;
}

static uint64_t put_operand(const struct operand *operand, unsigned type, unsigned rows,
                            int (*element)(unsigned, unsigned), uint32_t start, uint32_t *memory)
{
    unsigned char *image = (unsigned char *)memory + start;
    uint32_t leading = 0, stride = 0;
    for (unsigned row = 0; row < rows; row++) {
        for (unsigned k = 0; k < depth_of(type); k++) {
            const uint32_t bits = bits_of(type, element(row, k));
            memcpy(image + place_of(operand, type, row, k, &leading, &stride), &bits,
                   bytes_of(type));
        }
    }
    return start / 16 | (uint64_t)(leading / 16) << 16 | (uint64_t)(stride / 16) << 32 |
           (uint64_t)operand->mode << 62;
}

// Four registers of each thread: row lane / 4, eight rows below, both of the other half of K.
static void put_registers(unsigned type, uint32_t *memory)
{
    const unsigned span = 4 / bytes_of(type);
    for (unsigned thread = 0; thread < THREADS; thread++) {
        for (unsigned at = 0; at < 4; at++) {
            const unsigned lane = thread % 32, row = thread / 32 * 16 + lane / 4 + at % 2 * 8;
            const unsigned k = (lane % 4 + at / 2 * 4) * span;
            memory[thread * 4 + at] = bits_of(type, element_a(row, k));
            if (span == 2)
                memory[thread * 4 + at] |= bits_of(type, element_a(row, k + 1)) << 16;
        }
    }
}

#define REGISTERS                                                                                 \
    ".reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<8>;\n"                    \
    "ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32; setp.ne.u32 %p1, 1, " \
    "%r0; setp.ge.u32 %p1, %r0, 0;\n"
#define COPY                                                                              \
    "mov.u32 %r1, %r0; L: mul.wide.u32 %rd1, %r1, 4; add.u64 %rd2, %rd0, %rd1;\n"         \
    "ld.global.u32 %r2, [%rd2]; mad.lo.u32 %r3, %r1, 4, %r4; st.shared.u32 [%r3], %r2;\n" \
    "add.u32 %r1, %r1, 128; setp.lt.u32 %p2, %r1, 3072; @%p2 bra L;\n"                    \
    "fence.proxy.async; bar.sync 0; ld.shared.v2.u64 {%rd3, %rd4}, [s+12272];\n"          \
    "shr.u32 %r5, %r4, 4; cvt.u64.u32 %rd5, %r5; add.u64 %rd3, %rd3, %rd5;\n"             \
    "add.u64 %rd4, %rd4, %rd5; shl.b32 %r6, %r0, 4; add.u32 %r6, %r6, %r4;\n"             \
    "ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r6];\n"                                 \
    "mov.f32 %f0, 100.0; mov.f32 %f1, 100.0; mov.f32 %f2, 100.0; mov.f32 %f3, 100.0;\n"   \
    "mov.f32 %f4, 100.0; mov.f32 %f5, 100.0; mov.f32 %f6, 100.0; mov.f32 %f7, 100.0;\n"
#define SUMS_TEXT "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}"
#define WAIT      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
#define STORE                                                             \
    "mul.wide.u32 %rd1, %r0, 4; add.u64 %rd2, %rd0, %rd1;\n"              \
    "st.global.f32 [%rd2+12288], %f0; st.global.f32 [%rd2+12800], %f1;\n" \
    "st.global.f32 [%rd2+13312], %f2; st.global.f32 [%rd2+13824], %f3;\n" \
    "st.global.f32 [%rd2+14336], %f4; st.global.f32 [%rd2+14848], %f5;\n" \
    "st.global.f32 [%rd2+15360], %f6; st.global.f32 [%rd2+15872], %f7;\n"
#define START                                                                          \
    ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 pad[16];\n" \
    ".shared .align 1024 .b8 s[12288];\n.entry k(.param .u64 p) {\n" REGISTERS         \
    "mov.u32 %r4, s;\n" COPY "wgmma.fence.sync.aligned;\n"

static void put_text(const struct product *product, const char *before, const char *after,
                     char *text, size_t room)
{
    static const char *const types[] = {"k16.f32.f16.f16", "k16.f32.bf16.bf16", "k8.f32.tf32.tf32"};
    char transposed[16] = "";
    if (product->type != TF32 && product->a.in_registers)
        snprintf(transposed, sizeof(transposed), ", %d", product->b.transposed);
    else if (product->type != TF32)
        snprintf(transposed, sizeof(transposed), ", %d, %d", product->a.transposed,
                 product->b.transposed);
    snprintf(text, room,
             "%s%swgmma.mma_async.sync.aligned.m64n16%s %s, %s, %%rd4, %s, %d, %d%s;\n%s%s%s",
             START, before, types[product->type], SUMS_TEXT,
             product->a.in_registers ? "{%r10, %r11, %r12, %r13}" : "%rd3", product->adds,
             product->scale_a, product->scale_b, transposed, WAIT, after, STORE "ret; }\n");
}

static void check_sums(const struct product *product, const uint32_t *memory)
{
    const bool adds = strcmp(product->adds, "0") != 0;
    for (unsigned thread = 0; thread < THREADS; thread++) {
        for (unsigned at = 0; at < SUMS; at++) {
            const unsigned lane = thread % 32;
            const unsigned row = thread / 32 * 16 + lane / 4 + at / 2 % 2 * 8,
                           column = at / 4 * 8 + lane % 4 * 2 + at % 2;
            int sum = 0;
            float found;
            for (unsigned k = 0; k < depth_of(product->type); k++)
                sum += element_a(row, k) * element_b(column, k);
            sum = sum * product->scale_a * product->scale_b + (adds ? BEFORE : 0);
            memcpy(&found, &memory[RESULTS + at * THREADS + thread], sizeof(found));
            if (found != (float)sum)
                fail_msg("row %u, column %u: %g instead of %d", row, column, (double)found, sum);
        }
    }
}

static void check(struct fixture *fixture, const struct product *product, const char *before,
                  const char *after)
{
    char text[8192];
    uint64_t descriptors[2] = {0};
    memset(fixture->memory, 0, WORDS * sizeof(uint32_t));
    if (product->a.in_registers)
        put_registers(product->type, fixture->memory);
    else
        descriptors[0] =
            put_operand(&product->a, product->type, ROWS, element_a, 0, fixture->memory);
    descriptors[1] =
        put_operand(&product->b, product->type, COLUMNS, element_b, B_AT, fixture->memory);
    memcpy((char *)fixture->memory + DESCRIPTORS_AT, descriptors, sizeof(descriptors));
    put_text(product, before, after, text, sizeof(text));
    const struct sim_fault fault = run(fixture, text, 1, THREADS);
    if (fault.kind != SIM_FAULT_NONE)
        fail_msg("%s", fault.text);
    check_sums(product, fixture->memory);
}

static void operands_in_every_layout(void **state)
{
    for (unsigned type = F16; type <= TF32; type++) {
        for (unsigned a = 0; a < 8; a++) {
            for (unsigned b = 0; b < 8; b++) {
                const struct product product = {.type = type,
                                                .a = {a / 2, a % 2, false},
                                                .b = {b / 2, b % 2, false},
                                                .adds = "1",
                                                .scale_a = 1,
                                                .scale_b = 1};
                if (type != TF32 || (a % 2 == 0 && b % 2 == 0))
                    check(*state, &product, "", "");
            }
        }
    }
}

static void rows_in_registers(void **state)
{
    for (unsigned type = F16; type <= TF32; type++) {
        const struct product product = {type, {NONE, false, true}, {BYTES_32, false, false}, "1", 1,
                                        1};
        check(*state, &product, "", "");
    }
    const struct product transposed = {F16, {NONE, false, true}, {BYTES_64, true, false}, "1", 1,
                                       1};
    check(*state, &transposed, "", "");
}

static void sums_before_and_signs(void **state)
{
    static const struct {
        const char *adds;
        int scale_a, scale_b;
    } cases[] = {{"0", 1, 1}, {"%p1", -1, 1}, {"%p1", 1, -1}, {"1", -1, -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct product product = {.type = BF16,
                                        .b.mode = BYTES_128,
                                        .adds = cases[i].adds,
                                        .scale_a = cases[i].scale_a,
                                        .scale_b = cases[i].scale_b};
        check(*state, &product, "", "");
    }
}

// The first warp overwrites the operands when it has waited. The others come late.
static void who_waits_waits_for_the_group(void **state)
{
    const struct product product = {.adds = "1", .scale_a = 1, .scale_b = 1};
    check(*state, &product,
          "mov.u32 %r7, 0; @%p0 bra M; N: add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, 20000;\n"
          "@%p3 bra N; M:\n",
          "@!%p0 bra E; mov.u32 %r7, %r0; O: mad.lo.u32 %r8, %r7, 4, %r4; st.shared.u32 [%r8], "
          "1065369472; add.u32 %r7, %r7, 32; setp.lt.u32 %p3, %r7, 3072; @%p3 bra O; E:\n");
}

static void incomplete_groups_and_operands_outside_fail(void **state)
{
    struct fixture *fixture = *state;
    const struct product product = {.adds = "1", .scale_a = 1, .scale_b = 1};
    char text[8192];
    put_text(&product, "", "", text, sizeof(text));
    struct sim_fault fault = run(fixture, text, 1, 96);
    assert_int_equal(fault.kind, SIM_FAULT_INSTRUCTION);
    assert_non_null(strstr(fault.text, "less than 128 threads"));
    // Only 12 KB of shared memory are there.
    put_text(&product, "or.b64 %rd4, %rd4, 16383;\n", "", text, sizeof(text));
    fault = run(fixture, text, 1, THREADS);
    assert_int_equal(fault.kind, SIM_FAULT_ADDRESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(operands_in_every_layout),
        TEST(rows_in_registers),
        TEST(sums_before_and_signs),
        TEST(who_waits_waits_for_the_group),
        TEST(incomplete_groups_and_operands_outside_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
