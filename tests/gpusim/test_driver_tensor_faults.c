// SPDX-License-Identifier: Apache-2.0
// Tensor copies that end a launch, each in a child process: maps that are none or do not fit the
// instruction, addresses, and what CUDA does not document well enough to execute.
#include "tensor_testing.h"

static struct box matrix(void)
{
    return (struct box){.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                        .bytes = 4,
                        .rank = 2,
                        .size = {64, 48},
                        .stride = {256},
                        .box = {16, 8},
                        .step = {1, 1}};
}

static void open_zeroed(void)
{
    tensors_open();
    assert_ok(cuMemsetD8_v2(f.tensor, 0, TENSOR_BYTES));
}

// The copy itself is fine, so that the others fail for their reason only.
static void good(void)
{
    const struct box box = matrix();
    open_zeroed();
    assert_ok(run_box(&box, NULL, true, ""));
    assert_ok(run_box(&box, "add", false, ""));
}

static void misaligned_in_shared_memory(void)
{
    const struct box box = matrix();
    open_zeroed();
    assert_is(run_box(&box, NULL, true, "add.u32 %s, %s, 64;\n"), CUDA_ERROR_MISALIGNED_ADDRESS);
}

static void off_16_bytes_in_the_tensor(void)
{
    struct box box = matrix();
    open_zeroed();
    box.first[0] = 2;
    assert_is(run_box(&box, NULL, true, ""), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

static void stored_above_the_tensor(void)
{
    struct box box = matrix();
    open_zeroed();
    box.first[1] = -1;
    assert_ok(run_box(&box, NULL, true, ""));
    assert_is(run_box(&box, NULL, false, ""), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

// The first line ends after 2 pixels, and the next one begins to the left of the image.
static void pixels_stored_beside_the_image(void)
{
    struct box pixels = {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                         .bytes = 4,
                         .rank = 3,
                         .size = {16, 12, 4},
                         .stride = {64, 768},
                         .step = {1, 1, 1},
                         .im2col = true,
                         .channels = 16,
                         .pixels = 8};
    open_zeroed();
    pixels.lower[0] = -1;
    pixels.first[1] = 10;
    pixels.pixels = 2;
    assert_ok(run_box(&pixels, NULL, false, ""));
    pixels.pixels = 3;
    assert_ok(run_box(&pixels, NULL, true, ""));
    assert_is(run_box(&pixels, NULL, false, ""), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

static void beyond_shared_memory(void)
{
    const struct box box = matrix();
    open_zeroed();
    assert_is(run_box(&box, NULL, false, "add.u32 %s, %s, 1048576;\n"), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void no_map(void)
{
    const struct box box = matrix();
    open_zeroed();
    assert_is(run_box(&box, NULL, true, "mov.b64 %m, %p;\n"), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

// The map says that the tensor goes on behind its allocation.
static void beyond_the_tensor(void)
{
    struct box box = matrix();
    open_zeroed();
    box.size[1] = TENSOR_BYTES;
    box.first[1] = TENSOR_BYTES / 256 - 4;
    assert_is(run_box(&box, NULL, true, ""), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_map_of_pixels_for_tiles(void)
{
    struct box box = matrix(), pixels = matrix();
    struct base_buf text = {0};
    open_zeroed();
    box.rank = pixels.rank = 3;
    box.size[2] = pixels.size[2] = box.step[2] = pixels.step[2] = box.box[2] = 1;
    box.stride[1] = pixels.stride[1] = 256;
    pixels.im2col = true;
    pixels.channels = 16;
    pixels.pixels = 8;
    put_kernel(&text, &box, NULL, true, "");
    assert_is(run_text(text.text, &pixels, 1), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

static void a_reduction_without_a_type(void)
{
    const struct box box = matrix();
    open_zeroed();
    assert_is(run_box(&box, "xor", false, ""), CUDA_ERROR_ILLEGAL_INSTRUCTION); // of f32
}

static void rows_shorter_than_their_span(void)
{
    struct box box = matrix();
    open_zeroed();
    box.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    assert_is(run_box(&box, NULL, true, ""), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

static void nan_of_32_bits(void)
{
    struct box box = matrix();
    open_zeroed();
    box.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    box.first[0] = 60;
    assert_is(run_box(&box, NULL, true, ""), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

static void numbers_that_are_rounded(void)
{
    struct box box = matrix();
    open_zeroed();
    box.type = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    assert_ok(run_box(&box, NULL, true, ""));
    assert_ok(cuMemsetD32_v2(f.tensor, 0x3F800001, 64));
    assert_is(run_box(&box, NULL, true, ""), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

static void copies_that_end_the_launch(void **state)
{
    (void)state;
    static void (*const bodies[])(void) = {
        good,
        misaligned_in_shared_memory,
        off_16_bytes_in_the_tensor,
        pixels_stored_beside_the_image,
        stored_above_the_tensor,
        beyond_shared_memory,
        no_map,
        beyond_the_tensor,
        a_map_of_pixels_for_tiles,
        a_reduction_without_a_type,
        rows_shorter_than_their_span,
        nan_of_32_bits,
        numbers_that_are_rounded,
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++)
        testing_in_child(bodies[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies_that_end_the_launch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
