// SPDX-License-Identifier: Apache-2.0
// Known answers about matrices that descriptors name: which operands have them, and where their
// chunks of 16 bytes lie in each layout. Swizzled tiles are stated as copies of tensors write them:
// the chunk c of a row r has the place c xor r, where r counts lines of 128 bytes.
#include "testing.h"

enum { NONE, BYTES_128, BYTES_64, BYTES_32 }; // swizzling modes

static uint64_t describe(uint32_t start, uint32_t leading, uint32_t stride, unsigned mode)
{
    return start / 16 | (uint64_t)(leading / 16) << 16 | (uint64_t)(stride / 16) << 32 |
           (uint64_t)mode << 62;
}

static void check_chunk(const struct ptx_matrix *matrix, uint64_t descriptor, uint32_t chunk,
                        uint32_t address)
{
    const uint32_t found = ptx_matrix_chunk(matrix, descriptor, chunk);
    if (found != address)
        fail_msg("chunk %u at 0x%x instead of 0x%x", chunk, found, address);
}

// --- Layouts -------------------------------------------------------------------------------------

static void chunks_without_swizzling(void **state)
{
    (void)state;
    static const struct {
        uint32_t chunk, address;
    } cases[] = {
        {0, 0x400},   {1, 0x410},  {7, 0x470}, // the first core matrix
        {8, 0x480},   {15, 0x4f0},             // the other half of K
        {16, 0x500},  {24, 0x580},             // the next eight rows
        {127, 0xbf0},                          // the last row
    };
    const struct ptx_matrix matrix = {.rows = 64}, transposed = {.rows = 64, .transposed = true};
    assert_int_equal(ptx_matrix_chunks(&matrix), 128);
    assert_int_equal(ptx_matrix_chunks(&transposed), 128);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        check_chunk(&matrix, describe(0x400, 128, 256, NONE), cases[i].chunk, cases[i].address);
        check_chunk(&transposed, describe(0x400, 128, 256, NONE), cases[i].chunk, cases[i].address);
    }
    check_chunk(&matrix, describe(0, 0x1000, 128, NONE), 8, 0x1000);
    check_chunk(&matrix, describe(0, 0x1000, 128, NONE), 16, 128);
    check_chunk(&matrix, describe(0x3fff0, 16, 16, NONE), 1, 0); // addresses have 18 bits
}

// A tile whose rows are as long as the swizzled unit. `step`: which 32 bytes of K.
static void check_rows(unsigned mode, uint32_t width, uint32_t rows, uint32_t step)
{
    const struct ptx_matrix matrix = {.rows = rows};
    const uint64_t descriptor = describe(0x800 + step * 32, 16, 8 * width, mode);
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t half = 0; half < 2; half++) {
            const uint32_t line = row * width / 128, chunk = 2 * step + half,
                           place = chunk ^ (line % 8 & (width / 16 - 1));
            check_chunk(&matrix, descriptor, row / 8 * 16 + half * 8 + row % 8,
                        0x800 + row * width + place * 16);
        }
    }
}

static void swizzled_rows(void **state)
{
    (void)state;
    for (uint32_t step = 0; step < 4; step++)
        check_rows(BYTES_128, 128, 64, step);
    for (uint32_t step = 0; step < 2; step++)
        check_rows(BYTES_64, 64, 256, step);
    check_rows(BYTES_32, 32, 8, 0);
    // Two answers by hand: row 1 of 128 bytes, and row 6 of 64 bytes, which is in line 3.
    const struct ptx_matrix matrix = {.rows = 8};
    check_chunk(&matrix, describe(0, 16, 1024, BYTES_128), 1, 0x90);
    check_chunk(&matrix, describe(0, 16, 512, BYTES_64), 6, 6 * 64 + 0x30);
}

// Tiles of eight places along K, each as many bytes along N as the swizzled unit has. They follow
// each other along K, and then along N.
static void check_columns(unsigned mode, uint32_t width, uint32_t rows)
{
    const struct ptx_matrix matrix = {.rows = rows, .transposed = true};
    const uint32_t tile = 8 * width;
    const uint64_t descriptor = describe(0x400, 2 * tile, tile, mode);
    for (uint32_t k = 0; k < 16; k++) {
        for (uint32_t chunk = 0; chunk < rows / 8; chunk++) {
            const uint32_t along = chunk * 16 / width, own = chunk * 16 % width / 16,
                           line = k % 8 * width / 128, place = own ^ (line % 8 & (width / 16 - 1));
            check_chunk(&matrix, descriptor, chunk * 16 + k,
                        0x400 + along * 2 * tile + k / 8 * tile + k % 8 * width + place * 16);
        }
    }
}

static void swizzled_columns(void **state)
{
    (void)state;
    check_columns(BYTES_128, 128, 256);
    check_columns(BYTES_128, 128, 64);
    check_columns(BYTES_64, 64, 128);
    check_columns(BYTES_32, 32, 64);
    check_columns(BYTES_128, 128, 8); // less than a unit
}

// All layouts of a dense tile have the same bytes.
static void chunks_of_a_tile_differ(void **state)
{
    (void)state;
    static const struct {
        unsigned mode;
        uint32_t leading, stride;
        bool transposed;
    } cases[] = {{NONE, 128, 256, false},     {BYTES_32, 16, 256, false},
                 {NONE, 128, 256, true},      {BYTES_32, 512, 256, true},
                 {BYTES_64, 1024, 512, true}, {BYTES_128, 2048, 1024, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct ptx_matrix matrix = {.rows = 64, .transposed = cases[i].transposed};
        const uint64_t descriptor =
            describe(0x800, cases[i].leading, cases[i].stride, cases[i].mode);
        bool seen[128] = {false};
        for (uint32_t chunk = 0; chunk < 128; chunk++) {
            const uint32_t address = ptx_matrix_chunk(&matrix, descriptor, chunk);
            assert_int_equal(address % 16, 0);
            assert_in_range(address, 0x800, 0xfff);
            assert_false(seen[(address - 0x800) / 16]);
            seen[(address - 0x800) / 16] = true;
        }
    }
}

// A pattern that starts at line 3: the rows from there on are swizzled as those of an aligned one.
static void base_offsets_move_the_pattern(void **state)
{
    (void)state;
    const struct ptx_matrix matrix = {.rows = 64};
    const uint64_t base = UINT64_C(1) << 49;
    assert_true(ptx_matrix_is_plain(&matrix, describe(0x3fff0, 0x3fff0, 0x3fff0, BYTES_128)));
    assert_true(ptx_matrix_is_plain(&matrix, describe(0, 0, 0, NONE) | base));
    assert_false(ptx_matrix_is_plain(&matrix, describe(0, 0, 0, BYTES_128) | base));
    assert_false(ptx_matrix_is_plain(&matrix, describe(0, 0, 0, BYTES_32) | base << 2));
    for (uint32_t chunk = 0; chunk < 128; chunk++)
        check_chunk(&matrix, describe(0x180, 16, 1024, BYTES_128) | 3 * base, chunk,
                    0x180 + ptx_matrix_chunk(&matrix, describe(0, 16, 1024, BYTES_128), chunk));
}

// The B of a sparse product has twice as many bytes along K.
static void long_rows(void **state)
{
    (void)state;
    const struct ptx_matrix matrix = {.rows = 16, .is_long = true},
                            transposed = {.rows = 16, .transposed = true, .is_long = true};
    assert_int_equal(ptx_matrix_chunks(&matrix), 64);
    for (uint32_t row = 0; row < 16; row++) {
        for (uint32_t part = 0; part < 4; part++) {
            const uint32_t chunk = row / 8 * 32 + part * 8 + row % 8;
            check_chunk(&matrix, describe(0, 0x1000, 128, NONE), chunk,
                        row / 8 * 128 + part * 0x1000 + row % 8 * 16);
            check_chunk(&matrix, describe(0, 16, 1024, BYTES_128), chunk,
                        row * 128 + (part ^ row % 8) * 16);
            check_chunk(&matrix, describe(0, 16, 512, BYTES_64), chunk,
                        row * 64 + (part ^ row / 2 % 4) * 16);
            // The place 8 part + row % 8 along K of the rows 8 (row / 8) and the next seven.
            check_chunk(&transposed, describe(0, 0x1000, 256, BYTES_32), chunk,
                        (part * 8 + row % 8) * 32 + (row / 8 ^ row % 8 / 4) * 16);
        }
    }
    assert_false(ptx_matrix_is_known(&matrix, describe(0, 16, 256, BYTES_32)));
    assert_true(ptx_matrix_is_known(&matrix, describe(0, 16, 512, BYTES_64)));
    assert_true(ptx_matrix_is_known(&transposed, describe(0, 16, 256, BYTES_32)));
}

// --- Operands ------------------------------------------------------------------------------------

#define D4 "{%r1, %r2, %r3, %r4}"
#define W  "wgmma.mma_async.sync.aligned."

static void operands(void **state)
{
    (void)state;
    static const char kernel[] = KERNEL(";");
    const int before = (int)(strchr(strstr(kernel, "%rd<10>"), '\n') - kernel);
    // Rows of A and B; 0: not a matrix in shared memory, or unknown.
    static const struct {
        const char *text;
        uint32_t a, b;
        bool transposed_a, transposed_b;
    } cases[] = {
        {W "m64n8k16.f32.f16.f16 " D4 ", %rd1, %rd2, %p, 1, 1, 0, 0", 64, 8, false, false},
        {W "m64n8k16.f32.f16.f16 " D4 ", %rd1, %rd2, %p, 1, 1, 1, 0", 64, 8, true, false},
        {W "m64n8k16.f32.bf16.bf16 " D4 ", %rd1, %rd2, %p, 1, 1, 0, 1", 64, 8, false, true},
        {W "m64n8k16.f32.f16.f16 " D4 ", " D4 ", %rd2, %p, 1, 1, 1", 0, 8, false, true},
        {W "m64n8k16.f32.f16.f16 " D4 ", " D4 ", %rd2, %p, 1, 1, 0", 0, 8, false, false},
        {W "m64n256k8.f32.tf32.tf32 " D4 ", %rd1, %rd2, %p, 1, 1", 64, 256, false, false},
        {W "m64n24k32.f32.e4m3.e5m2 " D4 ", %rd1, %rd2, %p, 1, 1", 64, 24, false, false},
        {W "m64n8k32.s32.s8.u8.satfinite " D4 ", %rd1, %rd2, %p", 64, 8, false, false},
        {W "m64n8k256.s32.b1.b1.and.popc " D4 ", %rd1, %rd2, %p", 64, 8, false, false},
        {W "m64n8k32.f32.f16.f16 " D4 ", %rd1, %rd2, %p, 1, 1, 0, 0", 0, 0, false, false},
        {W "m64n8k16.f32.f16.f16 " D4 ", %rd1, %rd2, %p, 1, 1", 0, 0, false, false},
        {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 " D4
         ", %rd1, %rd2, %r5, 0, %p, 1, 1, 0, 1",
         64, 8, false, true},
        {"wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8 " D4 ", " D4 ", %rd2, %r5, 0, %p", 0,
         8, false, false},
        {"wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.f16.f16 " D4
         ", %rd1, %rd2, %r5, 0, %p, 1, 1, 0, 0",
         0, 0, false, false},
        {"mov.b64 %rd1, %rd2", 0, 0, false, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[512];
        struct ptx_matrix a = {0}, b = {0};
        snprintf(text, sizeof(text), "%.*s\n%s%s", before, kernel, cases[i].text,
                 kernel + before + 1);
        struct ptx_module *module = read_module(text);
        const struct ptx_instr *instr = find_instr(find_function(module, "k"), 0);
        assert_int_equal(ptx_matrix_of(instr, 1, &a), cases[i].a != 0);
        assert_int_equal(ptx_matrix_of(instr, 2, &b), cases[i].b != 0);
        assert_int_equal(a.rows * (cases[i].a != 0), cases[i].a);
        assert_int_equal(b.rows * (cases[i].b != 0), cases[i].b);
        assert_int_equal(a.transposed, cases[i].transposed_a);
        assert_int_equal(b.transposed, cases[i].transposed_b);
        assert_false(ptx_matrix_of(instr, 0, &a));
        ptx_module_destroy(module);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_without_swizzling),
        cmocka_unit_test(swizzled_rows),
        cmocka_unit_test(swizzled_columns),
        cmocka_unit_test(chunks_of_a_tile_differ),
        cmocka_unit_test(base_offsets_move_the_pattern),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
