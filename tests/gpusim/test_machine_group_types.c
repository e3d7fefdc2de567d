// SPDX-License-Identifier: Apache-2.0
// Known answers about products of warpgroups of every type: wgmma with sums of f32, f16 and s32,
// dense and sparse, from 8 to 256 columns. Random small whole numbers, whose sums are exact in
// every type and order, are compared with sums that the test computes from the definition.
#include "machine_testing.h"

enum { F16, BF16, TF32, E4M3, E5M2, S8, U8, B1 };
enum {
    ROWS = 64,
    MOST_COLUMNS = 256,
    THREADS = 128,
    MOST_K = 256, // of b1
    A_BYTES = 2048,
    IMAGE_BYTES = A_BYTES + MOST_COLUMNS * 64, // A and B in shared memory
    MOST_SUMS = 128,                           // registers
    WORDS_OF_ALL = IMAGE_BYTES / 4 + THREADS * (5 + 2 * MOST_SUMS),
};

struct product {
    unsigned a, b;
    bool to_f16; // sums of f16
    bool sparse, in_registers, transposed, saturates;
    unsigned columns, selector;
    bool keeps; // the sums before are added
    int scale_a, scale_b;
};

// What the kernel gets, at the start of the fixture's memory, and what it leaves.
struct memory {
    unsigned char image[IMAGE_BYTES];
    uint32_t a[4][THREADS], metadata[THREADS];
    uint32_t before[MOST_SUMS][THREADS], after[MOST_SUMS][THREADS];
};

static int a_values[ROWS][MOST_K], b_values[MOST_COLUMNS][MOST_K]; // as multiplied
static uint32_t state_of_random;

static unsigned random_below(unsigned end)
{
    state_of_random = state_of_random * 1664525 + 1013904223;
    return (state_of_random >> 8) % end;
}

static unsigned bits_of_type(unsigned type)
{
    static const unsigned bits[] = {16, 16, 32, 8, 8, 8, 8, 1};
    return bits[type];
}

static int random_value(unsigned type)
{
    return type == B1   ? (int)random_below(2)
           : type == U8 ? (int)random_below(7) + 249 * (int)random_below(2)
           : type == S8 ? (int)random_below(256) - 128
                        : (int)random_below(7) - 3;
}

static uint32_t encode(unsigned type, int value)
{
    static const uint32_t e4m3[] = {0, 0x38, 0x40, 0x44}, e5m2[] = {0, 0x3C, 0x40, 0x42};
    const float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    switch (type) {
    case F16:
        return value
                   ? (bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 1023)
                   : 0;
    case BF16: return bits >> 16;
    case TF32: return bits | 0x155; // the machine must ignore these bits
    case E4M3: return e4m3[abs(value)] | (value < 0 ? 0x80 : 0);
    case E5M2: return e5m2[abs(value)] | (value < 0 ? 0x80 : 0);
    default: return (uint32_t)value & 255;
    }
}

static void put_element(unsigned char *row, unsigned type, unsigned at, int value)
{
    const uint32_t bits = encode(type, value);
    if (type == B1)
        row[at / 8] |= (unsigned char)(value << at % 8);
    else
        memcpy(row + (size_t)at * (bits_of_type(type) / 8), &bits, bits_of_type(type) / 8);
}

// Rows of `bytes` bytes become core matrices of 8 rows and 16 bytes. Those of eight adjacent rows
// are 128 bytes apart, neighbours along K are `leading` apart.
static void put_matrix(unsigned char rows[][64], unsigned count, unsigned bytes, bool transposed,
                       unsigned leading, unsigned char *image)
{
    for (unsigned row = 0; row < count; row++) {
        for (unsigned at = 0; at < bytes; at++) {
            const unsigned k = at / 2; // of 16-bit elements
            const unsigned place =
                transposed ? k / 8 * leading + k % 8 * 16 + row / 8 * 128 + row % 8 * 2 + at % 2
                           : at / 16 * leading + row / 8 * 128 + row % 8 * 16 + at % 16;
            image[place] = rows[row][at];
        }
    }
}

// Chooses which elements of a row are stored, and returns their bits of metadata: one of two or two
// of four, by fours.
static uint64_t choose_elements(unsigned type, unsigned stored, unsigned *places)
{
    uint64_t metadata = 0;
    if (type == TF32) {
        for (unsigned i = 0; i < stored; i++) {
            const unsigned second = random_below(2);
            places[i] = 2 * i + second;
            metadata |= (uint64_t)(second ? 14 : 4) << 4 * i;
        }
        return metadata;
    }
    static const unsigned pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    for (unsigned i = 0; i < stored; i += 2) {
        const unsigned *pair = pairs[random_below(6)];
        places[i] = i * 2 + pair[0];
        places[i + 1] = i * 2 + pair[1];
        metadata |= (uint64_t)(pair[0] | pair[1] << 2) << 2 * i;
    }
    return metadata;
}

// The lanes that hold a row's metadata. The others hold what must not matter.
static void put_metadata(const struct product *product, struct memory *memory, unsigned row,
                         uint64_t metadata)
{
    const unsigned first = row / 16 * 32 + row % 8 * 4, below = row % 16 / 8;
    for (unsigned i = 0; i < 2; i++) {
        if (bits_of_type(product->a) == 8) {
            memory->metadata[first + below + 2 * i] = (uint32_t)(metadata >> 32 * i);
        } else {
            uint32_t *word = &memory->metadata[first + 2 * product->selector + i];
            *word &= ~(0xFFFFu << 16 * below);
            *word |= (uint32_t)(metadata >> 16 * i & 0xFFFF) << 16 * below;
        }
    }
}

static void put_operands(const struct product *product, struct memory *memory)
{
    static unsigned char a[ROWS][64], b[MOST_COLUMNS][64];
    const unsigned stored = 256 / bits_of_type(product->a), k = stored * (product->sparse ? 2 : 1);
    memset(memory, 0, sizeof(*memory));
    memset(a, 0, sizeof(a));
    memset(b, 0, sizeof(b));
    memset(a_values, 0, sizeof(a_values));
    for (unsigned thread = 0; thread < THREADS; thread++)
        memory->metadata[thread] = 0xDEADBEEF;
    for (unsigned row = 0; row < ROWS; row++) {
        unsigned places[MOST_K];
        for (unsigned i = 0; i < stored; i++)
            places[i] = i;
        if (product->sparse)
            put_metadata(product, memory, row, choose_elements(product->a, stored, places));
        for (unsigned i = 0; i < stored; i++) {
            a_values[row][places[i]] = random_value(product->a);
            put_element(a[row], product->a, i, a_values[row][places[i]]);
        }
    }
    for (unsigned column = 0; column < product->columns; column++) {
        for (unsigned i = 0; i < k; i++) {
            b_values[column][i] = random_value(product->b);
            put_element(b[column], product->b, i, b_values[column][i]);
        }
    }
    put_matrix(a, ROWS, 32, false, ROWS * 16, memory->image);
    put_matrix(b, product->columns, product->sparse ? 64 : 32, product->transposed,
               product->columns * 16, memory->image + A_BYTES);
    // A register holds 4 bytes of row lane / 4, or eight rows below, or of the other half of K.
    for (unsigned thread = 0; thread < THREADS; thread++) {
        for (unsigned at = 0; at < 4; at++)
            memcpy(
                &memory->a[at][thread],
                &a[thread / 32 * 16 + thread % 32 / 4 + at % 2 * 8][(thread % 4 + at / 2 * 4) * 4],
                4);
    }
}

static bool is_whole(const struct product *product)
{
    return product->a >= S8;
}

static unsigned registers_of(const struct product *product)
{
    return product->columns / 8 * (product->to_f16 ? 2 : 4);
}

static int value_before(const struct product *product, unsigned row, unsigned column)
{
    if (product->saturates)
        return column % 2 ? INT32_MAX - (int)row : INT32_MIN + (int)row;
    return (int)(row * 3 + column) % 61 - 30;
}

static uint32_t sum_bits(const struct product *product, int value)
{
    const float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return is_whole(product) ? (uint32_t)value : product->to_f16 ? encode(F16, value) : bits;
}

// Calls `each` with the place of every sum: lane / 4 counts rows, and a lane has two adjacent
// columns of eight.
static uint32_t *place_of_sum(const struct product *product, uint32_t words[][THREADS],
                              unsigned row, unsigned column, unsigned *shift)
{
    const unsigned thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2, below = row % 16 / 8;
    *shift = product->to_f16 ? column % 2 * 16 : 0;
    return product->to_f16 ? &words[column / 8 * 2 + below][thread]
                           : &words[column / 8 * 4 + below * 2 + column % 2][thread];
}

static void put_text(const struct product *product, struct base_buf *text)
{
    static const char *const names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "b1"};
    const unsigned registers = registers_of(product);
    const unsigned k = 256 / bits_of_type(product->a) * (product->sparse ? 2 : 1);
    base_buf_printf(
        text,
        ".version 8.4\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 s[%d];\n"
        ".entry k(.param .u64 p) { .reg .b32 %%r<20>; .reg .b32 %%s<%u>; .reg .b64 %%d<9>;\n"
        ".reg .pred %%p<4>; ld.param.u64 %%d0, [p]; mov.u32 %%r0, %%tid.x; mov.u32 %%r4, s;\n"
        "mov.u32 %%r1, %%r0; L: mul.wide.u32 %%d1, %%r1, 4; add.u64 %%d2, %%d0, %%d1;\n"
        "ld.global.u32 %%r2, [%%d2]; mad.lo.u32 %%r3, %%r1, 4, %%r4; st.shared.u32 [%%r3], %%r2;\n"
        "add.u32 %%r1, %%r1, 128; setp.lt.u32 %%p2, %%r1, %d; @%%p2 bra L;\n"
        "fence.proxy.async; bar.sync 0; mul.wide.u32 %%d1, %%r0, 4; add.u64 %%d1, %%d1, %%d0;\n"
        "setp.ge.u32 %%p1, %%r0, 0; shr.u32 %%r5, %%r4, 4; cvt.u64.u32 %%d5, %%r5;\n",
        IMAGE_BYTES, registers, IMAGE_BYTES / 4);
    for (unsigned i = 0; i < 4; i++)
        base_buf_printf(text, "ld.global.u32 %%r%u, [%%d1+%zu];\n", 10 + i,
                        offsetof(struct memory, a[i]));
    base_buf_printf(text, "ld.global.u32 %%r14, [%%d1+%zu];\n", offsetof(struct memory, metadata));
    for (unsigned i = 0; i < registers; i++)
        base_buf_printf(text, "ld.global.u32 %%s%u, [%%d1+%zu];\n", i,
                        offsetof(struct memory, before[i]));
    base_buf_printf(text, "add.u64 %%d3, %%d5, %llu; add.u64 %%d4, %%d5, %llu;\n",
                    (unsigned long long)((uint64_t)ROWS << 16 | (uint64_t)8 << 32),
                    (unsigned long long)(A_BYTES / 16 +
                                         ((uint64_t)product->columns << 16 | (uint64_t)8 << 32)));
    base_buf_printf(
        text, "wgmma.fence.sync.aligned; wgmma.mma_async%s.sync.aligned.m64n%uk%u.%s.%s.%s%s {",
        product->sparse ? ".sp" : "", product->columns, k,
        is_whole(product) ? "s32"
        : product->to_f16 ? "f16"
                          : "f32",
        names[product->a], names[product->b],
        product->a == B1     ? ".and.popc"
        : product->saturates ? ".satfinite"
                             : "");
    for (unsigned i = 0; i < registers; i++)
        base_buf_printf(text, "%s%%s%u", i ? ", " : "", i);
    base_buf_printf(text, "}, %s, %%d4, ",
                    product->in_registers ? "{%r10, %r11, %r12, %r13}" : "%d3");
    if (product->sparse)
        base_buf_printf(text, "%%r14, %u, ", product->selector);
    base_buf_puts(text, product->keeps ? "%p1" : "0");
    if (!is_whole(product))
        base_buf_printf(text, ", %d, %d", product->scale_a, product->scale_b);
    if (bits_of_type(product->a) == 16)
        base_buf_printf(text, "%s, %d", product->in_registers ? "" : ", 0", product->transposed);
    base_buf_puts(text, ";\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n");
    for (unsigned i = 0; i < registers; i++)
        base_buf_printf(text, "st.global.u32 [%%d1+%zu], %%s%u;\n",
                        offsetof(struct memory, after[i]), i);
    base_buf_puts(text, "ret; }\n");
}

static int expected(const struct product *product, unsigned row, unsigned column)
{
    int64_t sum = 0;
    for (unsigned k = 0; k < MOST_K; k++)
        sum += (int64_t)a_values[row][k] * b_values[column][k];
    if (!is_whole(product))
        sum *= (int64_t)product->scale_a * product->scale_b;
    sum += product->keeps ? value_before(product, row, column) : 0;
    if (product->saturates)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (int)sum;
}

static void check(struct fixture *fixture, const struct product *product)
{
    struct memory *memory = (struct memory *)(void *)fixture->memory;
    struct base_buf text = {0};
    unsigned shift;
    put_operands(product, memory);
    for (unsigned row = 0; row < ROWS; row++) {
        for (unsigned column = 0; column < product->columns; column++) {
            uint32_t *word = place_of_sum(product, memory->before, row, column, &shift);
            *word |= sum_bits(product, value_before(product, row, column)) << shift;
        }
    }
    put_text(product, &text);
    const struct sim_fault fault = run(fixture, text.text, 1, THREADS);
    if (fault.kind != SIM_FAULT_NONE)
        fail_msg("%s", fault.text);
    for (unsigned row = 0; row < ROWS; row++) {
        for (unsigned column = 0; column < product->columns; column++) {
            const uint32_t wanted = sum_bits(product, expected(product, row, column)),
                           mask = product->to_f16 ? 0xFFFF : UINT32_MAX;
            const uint32_t word = *place_of_sum(product, memory->after, row, column, &shift);
            if ((word >> shift & mask) != wanted)
                fail_msg("row %u, column %u: 0x%x instead of 0x%x\n%s", row, column,
                         word >> shift & mask, wanted, text.text);
        }
    }
    base_buf_fini(&text);
}

static void check_both(struct fixture *fixture, struct product product)
{
    for (int i = 0; i < 4; i++) {
        product.in_registers = i % 2;
        product.keeps = i / 2;
        product.scale_a = i == 1 ? -1 : 1;
        product.scale_b = i == 3 ? -1 : 1;
        check(fixture, &product);
    }
}

static const struct {
    unsigned a, b;
    bool to_f16;
} types[] = {
    {F16, F16, true},    {F16, F16, false},   {BF16, BF16, false}, {TF32, TF32, false},
    {E4M3, E4M3, false}, {E4M3, E5M2, false}, {E5M2, E4M3, true},  {E5M2, E5M2, false},
    {S8, S8, false},     {S8, U8, false},     {U8, S8, false},     {U8, U8, false},
};

static void dense_products_of_every_type(void **state)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        check_both(*state,
                   (struct product){types[i].a, types[i].b, types[i].to_f16, .columns = 24});
    check_both(*state, (struct product){B1, B1, .columns = 16});
}

static void sparse_products_of_every_type(void **state)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        for (unsigned selector = 0; selector < (bits_of_type(types[i].a) == 8 ? 1 : 2); selector++)
            check_both(*state,
                       (struct product){types[i].a, types[i].b, types[i].to_f16, .sparse = true,
                                        .columns = 16, .selector = selector});
    }
    check_both(*state,
               (struct product){F16, F16, .sparse = true, .transposed = true, .columns = 24});
}

static void every_width(void **state)
{
    for (unsigned columns = 8; columns <= MOST_COLUMNS; columns += 8) {
        check(*state, &(struct product){F16, F16, .columns = columns, .scale_a = 1, .scale_b = 1});
        check(*state, &(struct product){S8, S8, .columns = columns, .keeps = true});
        check(*state, &(struct product){BF16, BF16, .sparse = true, .columns = columns,
                                        .keeps = true, .scale_a = 1, .scale_b = 1});
    }
}

static void whole_sums_saturate(void **state)
{
    check_both(*state, (struct product){S8, S8, .columns = 8, .saturates = true});
    check_both(*state, (struct product){U8, S8, .columns = 8, .saturates = true, .sparse = true});
}

// Each warp's 16 rows of a product of the group are what mma computes of them, in every bit: random
// numbers with exponents far apart, whose sums are rounded.
static void products_round_like_those_of_warps(void **state)
{
    static const struct {
        const char *types, *sums;
    } cases[] = {{"f32.f16.f16", ".f32"}, {"f32.bf16.bf16", ".f32"}, {"f16.f16.f16", ".f16"}};
    struct fixture *fixture = *state;
    struct memory *memory = (struct memory *)(void *)fixture->memory;
    for (unsigned i = 0; i < 3; i++) {
        const bool to_f16 = i == 2;
        const char *sums = to_f16 ? "{%s0, %s1}" : "{%s0, %s1, %s2, %s3}",
                   *others = to_f16 ? "{%u0, %u1}" : "{%u0, %u1, %u2, %u3}";
        struct base_buf text = {0};
        memset(memory, 0, sizeof(*memory));
        for (unsigned k = 0; k < IMAGE_BYTES / 2; k++) {
            // A random sign and fraction, and one of 16 exponents around that of 1.
            const unsigned exponent = random_below(16);
            const uint16_t half = (uint16_t)(random_below(2) << 15 |
                                             (i == 1 ? (exponent + 120) << 7 | random_below(128)
                                                     : (exponent + 8) << 10 | random_below(1024)));
            memcpy(memory->image + (size_t)2 * k, &half, 2);
        }
        base_buf_printf(
            &text,
            ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 s[4096];\n"
            ".entry k(.param .u64 p) { .reg .b32 %%r<20>, %%s<4>, %%u<4>; .reg .b64 %%d<9>;\n"
            ".reg .pred %%p<4>; ld.param.u64 %%d0, [p]; mov.u32 %%r0, %%tid.x; mov.u32 %%r4, s;\n"
            "mov.u32 %%r1, %%r0; L: mul.wide.u32 %%d1, %%r1, 4; add.u64 %%d2, %%d0, %%d1;\n"
            "ld.global.u32 %%r2, [%%d2]; mad.lo.u32 %%r3, %%r1, 4, %%r4; st.shared.u32 [%%r3], "
            "%%r2;\nadd.u32 %%r1, %%r1, 128; setp.lt.u32 %%p2, %%r1, 1024; @%%p2 bra L;\n"
            "fence.proxy.async; bar.sync 0; mul.wide.u32 %%d1, %%r0, 4; add.u64 %%d1, %%d1, "
            "%%d0;\nshr.u32 %%r5, %%r4, 4; cvt.u64.u32 %%d5, %%r5; shl.b32 %%r6, %%r0, 4;\n"
            "add.u32 %%r6, %%r6, %%r4; ld.shared.v4.u32 {%%r10, %%r11, %%r12, %%r13}, [%%r6];\n"
            "add.u64 %%d4, %%d5, %llu; and.b32 %%r7, %%r0, 31; shl.b32 %%r7, %%r7, 2;\n"
            "add.u32 %%r7, %%r7, %%r4; ld.shared.u32 %%r14, [%%r7+2048]; ld.shared.u32 %%r15, "
            "[%%r7+2176];\nmov.u32 %%s0, 0; mov.u32 %%s1, 0; mov.u32 %%s2, 0; mov.u32 %%s3, 0;\n"
            "mov.u32 %%u0, 0; mov.u32 %%u1, 0; mov.u32 %%u2, 0; mov.u32 %%u3, 0;\n"
            "wgmma.fence.sync.aligned;\n",
            (unsigned long long)(A_BYTES / 16 + ((uint64_t)8 << 16 | (uint64_t)8 << 32)));
        for (unsigned k = 0; k < 2; k++) // the second one adds to the first one's sums
            base_buf_printf(&text,
                            "wgmma.mma_async.sync.aligned.m64n8k16.%s %s, {%%r10, %%r11, %%r12, "
                            "%%r13}, %%d4, 1, 1, 1, 0;\nmma.sync.aligned.m16n8k16.row.col.%s%s %s, "
                            "{%%r10, %%r11, %%r12, %%r13}, {%%r14, %%r15}, %s;\n",
                            cases[i].types, sums, cases[i].types, cases[i].sums, others, others);
        base_buf_puts(&text, "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n");
        for (unsigned k = 0; k < 4; k++)
            base_buf_printf(
                &text, "st.global.u32 [%%d1+%zu], %%s%u; st.global.u32 [%%d1+%zu], %%u%u;\n",
                offsetof(struct memory, before[k]), k, offsetof(struct memory, after[k]), k);
        base_buf_puts(&text, "ret; }\n");
        const struct sim_fault fault = run(fixture, text.text, 1, THREADS);
        assert_string_equal(fault.text, "");
        assert_int_not_equal(memory->before[0][0], 0);
        assert_memory_equal(memory->before, memory->after, 4 * sizeof(memory->before[0]));
        base_buf_fini(&text);
    }
}

static uint32_t *small_memory;

static int setup_more(void **state)
{
    struct base_error error;
    if (setup(state))
        return -1;
    struct fixture *fixture = *state;
    uint32_t *memory = calloc(WORDS_OF_ALL, sizeof(*memory));
    if (!memory ||
        sim_object_add(fixture->device, (uintptr_t)memory, WORDS_OF_ALL * sizeof(*memory),
                       GPUSIM_OBJECT_DEVICE, "cudaMalloc", &error) != BASE_OK)
        return -1;
    small_memory = fixture->memory;
    fixture->memory = memory;
    state_of_random = 1;
    return 0;
}

static int teardown_more(void **state)
{
    const int result = teardown(state);
    free(small_memory);
    return result;
}

#define TEST_MORE(name) cmocka_unit_test_setup_teardown(name, setup_more, teardown_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_MORE(dense_products_of_every_type),
        TEST_MORE(sparse_products_of_every_type),
        TEST_MORE(every_width),
        TEST_MORE(whole_sums_saturate),
        TEST_MORE(products_round_like_those_of_warps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
