// SPDX-License-Identifier: Apache-2.0
// Tensor maps and tensor copies through the driver API: what cuTensorMapEncode* accept and refuse,
// tiles and pixels of random tensors compared with a model of single elements, also copied to
// several blocks, reductions, changes of maps by kernels, and what ends a launch. No GPU has
// confirmed these answers; they are what the documentation says.
#include "tensor_testing.h"

static uint32_t state_of_random = 1;

static unsigned random_below(unsigned end)
{
    state_of_random = state_of_random * 1664525 + 1013904223;
    return (state_of_random >> 8) % end;
}

static void fill_memory(void)
{
    for (unsigned i = 0; i < TENSOR_BYTES; i++)
        f.tensor_bytes[i] = (unsigned char)random_below(256);
    for (unsigned i = 0; i < BOX_BYTES; i++)
        f.box_bytes[i] = (unsigned char)random_below(256);
}

// A matrix of 32-bit integers, 64 by 48, of which a box of 16 by 8 is copied.
static struct box plain_box(void)
{
    return (struct box){.type = CU_TENSOR_MAP_DATA_TYPE_INT32,
                        .bytes = 4,
                        .rank = 2,
                        .size = {64, 48},
                        .stride = {256},
                        .box = {16, 8},
                        .step = {1, 1}};
}

// --- Maps ----------------------------------------------------------------------------------------

static void tiled_maps_are_checked(void **state)
{
    (void)state;
    CUtensorMap map;
    const struct box good = plain_box();
    assert_ok(encode(&good, &map, f.tensor));
    assert_is(encode(&good, NULL, f.tensor), CUDA_ERROR_INVALID_VALUE);
    assert_is(encode(&good, (CUtensorMap *)((uintptr_t)&map + 32), f.tensor),
              CUDA_ERROR_INVALID_VALUE);
    assert_is(encode(&good, &map, f.tensor + 8), CUDA_ERROR_INVALID_VALUE);
#define REFUSES(change)                                                    \
    do {                                                                   \
        struct box bad = plain_box();                                      \
        bad.change;                                                        \
        assert_is(encode(&bad, &map, f.tensor), CUDA_ERROR_INVALID_VALUE); \
    } while (0)
#define ACCEPTS(change)                           \
    do {                                          \
        struct box fine = plain_box();            \
        fine.change;                              \
        assert_ok(encode(&fine, &map, f.tensor)); \
    } while (0)
    REFUSES(rank = 0);
    REFUSES(rank = 6);
    REFUSES(size[1] = 0);
    REFUSES(size[0] = (UINT64_C(1) << 32) + 1);
    ACCEPTS(size[0] = UINT64_C(1) << 32);
    REFUSES(stride[0] = 264);
    REFUSES(stride[0] = UINT64_C(1) << 40);
    ACCEPTS(stride[0] = (UINT64_C(1) << 40) - 16);
    REFUSES(box[1] = 0);
    REFUSES(box[1] = 257);
    ACCEPTS(box[1] = 256);
    REFUSES(box[0] = 3); // 12 bytes
    REFUSES(step[1] = 0);
    REFUSES(step[1] = 9);
    ACCEPTS(step[1] = 8);
    ACCEPTS(step[0] = 0);                         // ignored
    REFUSES(swizzle = CU_TENSOR_MAP_SWIZZLE_32B); // rows of 64 bytes
    ACCEPTS(swizzle = CU_TENSOR_MAP_SWIZZLE_64B);
    REFUSES(swizzle = (CUtensorMapSwizzle)7);
    REFUSES(fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA); // of integers
    ACCEPTS(type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
            fine.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
    REFUSES(type = (CUtensorMapDataType)16);
    struct box packed = plain_box();
    packed.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
    assert_is(encode(&packed, &map, f.tensor), CUDA_ERROR_NOT_SUPPORTED);
}

static CUresult encode_interleaved(unsigned rank, CUdeviceptr address, uint64_t stride,
                                   CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle)
{
    CUtensorMap map;
    const cuuint64_t size[] = {8, 16, 16, 4}, strides[] = {stride, 16 * stride, 256 * stride};
    const cuuint32_t box[] = {8, 4, 4, 1}, step[] = {1, 1, 1, 1};
    return cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank,
                                  (void *)(uintptr_t)address, size, strides, box, step, interleave,
                                  swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static void interleaved_maps_are_checked(void **state)
{
    (void)state;
    const CUtensorMapInterleave narrow = CU_TENSOR_MAP_INTERLEAVE_16B,
                                wide = CU_TENSOR_MAP_INTERLEAVE_32B;
    assert_ok(encode_interleaved(4, f.tensor, 16, narrow, CU_TENSOR_MAP_SWIZZLE_NONE));
    assert_ok(encode_interleaved(3, f.tensor, 32, wide, CU_TENSOR_MAP_SWIZZLE_32B));
    assert_is(encode_interleaved(2, f.tensor, 16, narrow, CU_TENSOR_MAP_SWIZZLE_NONE),
              CUDA_ERROR_INVALID_VALUE);
    assert_is(encode_interleaved(4, f.tensor, 32, wide, CU_TENSOR_MAP_SWIZZLE_NONE),
              CUDA_ERROR_INVALID_VALUE);
    assert_is(encode_interleaved(4, f.tensor + 16, 32, wide, CU_TENSOR_MAP_SWIZZLE_32B),
              CUDA_ERROR_INVALID_VALUE);
    assert_is(encode_interleaved(4, f.tensor, 48, wide, CU_TENSOR_MAP_SWIZZLE_32B),
              CUDA_ERROR_INVALID_VALUE);
}

static struct box pixel_box(void)
{
    return (struct box){.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                        .bytes = 2,
                        .rank = 4,
                        .size = {32, 9, 7, 3},
                        .stride = {64, 640, 4608},
                        .step = {1, 1, 1, 1},
                        .im2col = true,
                        .lower = {-1, -1},
                        .upper = {-1, -1},
                        .channels = 16,
                        .pixels = 64,
                        .first = {8, 3, 2, 0}};
}

static void maps_of_pixels_are_checked(void **state)
{
    (void)state;
    CUtensorMap map;
    const struct box good = pixel_box();
    assert_ok(encode(&good, &map, f.tensor));
#define REFUSES_PIXELS(change)                                             \
    do {                                                                   \
        struct box bad = pixel_box();                                      \
        bad.change;                                                        \
        assert_is(encode(&bad, &map, f.tensor), CUDA_ERROR_INVALID_VALUE); \
    } while (0)
    REFUSES_PIXELS(rank = 2);
    REFUSES_PIXELS(channels = 257);
    REFUSES_PIXELS(channels = 0);
    REFUSES_PIXELS(pixels = 1025);
    REFUSES_PIXELS(pixels = 0);
    REFUSES_PIXELS(lower[0] = -129);
    REFUSES_PIXELS(upper[1] = 128);
    REFUSES_PIXELS(upper[0] = -10); // an empty box: from -1 to -2
    REFUSES_PIXELS(rank = 5);       // its corners have five bits, and there is no third step
    struct box flat = pixel_box();
    flat.rank = 3;
    flat.lower[0] = -32768;
    flat.upper[0] = 32767;
    assert_ok(encode(&flat, &map, f.tensor));
}

static void addresses_of_maps_are_replaced(void **state)
{
    (void)state;
    CUtensorMap map, other;
    const struct box box = plain_box();
    assert_ok(encode(&box, &map, f.tensor));
    assert_ok(encode(&box, &other, f.tensor + 4096));
    assert_ok(cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(f.tensor + 4096)));
    assert_memory_equal(&map, &other, sizeof(map));
    assert_is(cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(f.tensor + 8)),
              CUDA_ERROR_INVALID_VALUE);
    assert_is(cuTensorMapReplaceAddress(NULL, (void *)(uintptr_t)f.tensor),
              CUDA_ERROR_INVALID_VALUE);
}

// --- Copies --------------------------------------------------------------------------------------

// Four answers by hand, so that the model itself is tested.
static void a_tile_is_where_the_manual_says(void **state)
{
    (void)state;
    struct box box = plain_box();
    for (unsigned i = 0; i < TENSOR_BYTES / 4; i++)
        memcpy(f.tensor_bytes + i * 4, &i, 4);
    box.box[0] = 32; // rows of 128 bytes
    box.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    box.first[0] = -4;
    box.first[1] = 44;
    check_copy(&box, true);
    const uint32_t *found = (const uint32_t *)(void *)f.box_bytes;
    assert_int_equal(found[0], 0);            // left of the matrix
    assert_int_equal(found[4], 44 * 64);      // element 0 of row 44
    assert_int_equal(found[32 + 0], 45 * 64); // chunk 1 of row 1 changes place with 0
    assert_int_equal(found[3 * 32 + (2 ^ 3) * 4 + 1], 47 * 64 + 5);
    assert_int_equal(found[4 * 32 + 4], 0); // below the matrix
}

static void choose_sizes(struct box *box)
{
    uint64_t bytes = box->bytes;
    for (unsigned i = 0; i < box->rank; i++) {
        static const unsigned most[] = {0, 4000, 90, 24, 12, 7};
        box->size[i] = 1 + random_below(most[box->rank]);
        bytes *= box->size[i];
        bytes = (bytes + 15) / 16 * 16 + 16 * random_below(3);
        box->stride[i] = bytes;
        box->step[i] = 1 + random_below(4) / 2 * random_below(4);
        box->first[i] = (int)random_below((unsigned)box->size[i] + 8) - 5;
        if (i == 0) // a multiple of 16 bytes
            box->first[i] = box->first[i] * (int)box->bytes / 16 * 16 / (int)box->bytes;
    }
}

// Returns false if a kernel cannot hold the box, or its tensor is too large.
static bool random_box(struct box *box)
{
    static const struct {
        CUtensorMapDataType type;
        unsigned bytes;
    } types[] = {
        {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},    {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2},
        {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4},   {CU_TENSOR_MAP_DATA_TYPE_INT64, 8},
        {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2},  {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4},
        {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2}, {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8},
    };
    static const unsigned spans[] = {0, 32, 64, 128, 128, 128, 128};
    const unsigned type = random_below(sizeof(types) / sizeof(*types));
    *box = (struct box){.type = types[type].type, .bytes = types[type].bytes};
    box->im2col = random_below(3) == 0;
    box->rank = box->im2col ? 3 + random_below(3) : 1 + random_below(5);
    box->swizzle = (CUtensorMapSwizzle)random_below(7);
    if (box->bytes == 2 && box->type != CU_TENSOR_MAP_DATA_TYPE_UINT16)
        box->fill = (CUtensorMapFloatOOBfill)random_below(2);
    choose_sizes(box);
    const unsigned row = box->swizzle ? spans[box->swizzle] : 16 * (1 + random_below(12));
    box->box[0] = box->channels = row / box->bytes;
    for (unsigned i = 1; i < box->rank; i++)
        box->box[i] = 1 + random_below(8);
    box->pixels = 1 + random_below(200);
    for (unsigned i = 0; box->im2col && i + 2 < box->rank; i++) {
        box->lower[i] = (int)random_below(6) - 4;
        box->upper[i] = (int)random_below(6) - 3;
        box->offset[i] = (uint16_t)random_below(4);
        if ((int64_t)box->size[i + 1] - 1 + box->upper[i] < box->lower[i])
            return false;
    }
    return box->box[0] <= 256 && bytes_of_box(box) <= BOX_BYTES &&
           box->stride[box->rank - 1] <= TENSOR_BYTES;
}

static void random_tensors_are_copied_like_the_model(void **state)
{
    (void)state;
    fill_memory();
    unsigned done = 0;
    for (unsigned i = 0; done < 400; i++) {
        struct box box;
        if (!random_box(&box))
            continue;
        done++;
        check_copy(&box, true);
        if (!box.im2col)
            check_copy(&box, false);
    }
}

// The block with rank 2 of four copies the box to the blocks of the mask. Each of them waits for
// its own barrier, and writes its box behind those of the blocks before it.
static void put_multicast(struct base_buf *text, const struct box *box, unsigned mask)
{
    base_buf_puts(
        text,
        ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n"
        ".entry k(.param .align 64 .b8 map[128], .param .u64 memory, .param .u32 bytes, .param "
        ".align 4 .b8 first[20]) .reqnctapercluster 4 {\n.shared .align 8 .b64 bar;\n"
        ".reg .b64 %m, %p, %q; .reg .b32 %t, %n, %i, %s, %k, %c<5>, %r<3>; .reg .b16 %b;\n"
        ".reg .pred %o, %w;\n"
        "mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %p, [memory];\n"
        "ld.param.u32 %n, [bytes]; mov.u32 %t, %tid.x; shl.b32 %i, %t, 2; mov.u32 %s, s;\n"
        "mov.u32 %k, %cluster_ctarank; mul.wide.u32 %q, %k, %n; add.u64 %p, %p, %q;\n");
    char coordinates[64] = "";
    for (unsigned i = 0; i < box->rank; i++) {
        base_buf_printf(text, "ld.param.u32 %%c%u, [first+%u];\n", i, 4 * i);
        sprintf(coordinates + strlen(coordinates), "%s%%c%u", i ? ", " : "", i);
    }
    base_buf_printf(
        text,
        "setp.ne.u32 %%o, %%t, 0; mov.b16 %%b, %u; @!%%o mbarrier.init.shared.b64 [bar], 1;\n"
        "fence.mbarrier_init.release.cluster;\n"
        "@!%%o mbarrier.arrive.expect_tx.shared.b64 _, [bar], %%n;\n"
        "barrier.cluster.arrive; barrier.cluster.wait; setp.eq.and.u32 %%w, %%k, 2, !%%o;\n"
        "@%%w cp.async.bulk.tensor.%ud.shared::cluster.global.%s.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%%s], [%%m, {%s}], [bar]",
        mask, box->rank, box->im2col ? "im2col" : "tile", coordinates);
    for (unsigned i = 0; box->im2col && i + 2 < box->rank; i++)
        base_buf_printf(text, "%s%u", i ? ", " : ", {", box->offset[i]);
    base_buf_printf(
        text,
        "%s, %%b;\nshr.u32 %%r0, %u, %%k; and.b32 %%r0, %%r0, 1; setp.eq.u32 %%w, %%r0, 0;\n"
        "@%%w bra DONE;\n"
        "WAIT: mbarrier.try_wait.parity.shared.b64 %%w, [bar], 0; @!%%w bra WAIT;\n"
        "OUT: setp.ge.u32 %%w, %%i, %%n; @%%w bra DONE; cvt.u64.u32 %%q, %%i;\n"
        "add.u64 %%q, %%q, %%p; add.u32 %%r1, %%s, %%i; ld.shared.u32 %%r2, [%%r1];\n"
        "st.global.u32 [%%q], %%r2; add.u32 %%i, %%i, 512; bra OUT;\n"
        "DONE: barrier.cluster.arrive; barrier.cluster.wait; ret; }\n",
        box->im2col ? "}" : "", mask);
}

static void check_multicast(const struct box *box, unsigned mask)
{
    struct base_buf text = {0};
    const uint64_t bytes = bytes_of_box(box);
    put_multicast(&text, box, mask);
    assert_ok(cuMemsetD8_v2(f.box, 0xAB, BOX_BYTES));
    assert_ok(run_text(text.text, box, 4));
    assert_ok(cuMemcpyDtoH_v2(f.box_bytes, f.box, 4 * bytes));
    for (unsigned rank = 0; rank < 4; rank++) {
        if (!(mask >> rank & 1))
            memset(f.expected, 0xAB, bytes);
        else
            over_elements(box, true, load_element);
        assert_memory_equal(f.box_bytes + rank * bytes, f.expected, bytes);
    }
    base_buf_fini(&text);
}

static void random_tensors_are_copied_to_several_blocks(void **state)
{
    (void)state;
    fill_memory();
    assert_ok(cuMemcpyHtoD_v2(f.tensor, f.tensor_bytes, TENSOR_BYTES));
    unsigned done = 0;
    for (unsigned i = 0; done < 100; i++) {
        struct box box;
        if (!random_box(&box) || bytes_of_box(&box) * 4 > BOX_BYTES)
            continue;
        check_multicast(&box, done++ % 16);
    }
}

// --- Reductions ----------------------------------------------------------------------------------

static const char *reduction;
static bool is_signed;

static uint64_t combine(uint64_t a, uint64_t b, bool less)
{
    return strcmp(reduction, "add") == 0   ? a + b
           : strcmp(reduction, "min") == 0 ? (less ? a : b)
           : strcmp(reduction, "max") == 0 ? (less ? b : a)
           : strcmp(reduction, "and") == 0 ? (a & b)
           : strcmp(reduction, "or") == 0  ? (a | b)
           : strcmp(reduction, "xor") == 0 ? (a ^ b)
           : strcmp(reduction, "inc") == 0 ? (a >= b ? 0 : a + 1)
                                           : (a == 0 || a > b ? b : a - 1);
}

static void reduce_element(const struct box *box, int64_t in_tensor, uint64_t in_box)
{
    uint64_t a = 0, b = 0;
    if (in_tensor < 0)
        return;
    memcpy(&a, f.expected + in_tensor, box->bytes);
    memcpy(&b, f.box_bytes + in_box, box->bytes);
    const bool less = box->bytes == 4 && is_signed ? (int32_t)a < (int32_t)b
                      : is_signed                  ? (int64_t)a < (int64_t)b
                                                   : a < b;
    a = combine(a, b, less);
    memcpy(f.expected + in_tensor, &a, box->bytes);
}

static void check_reduction(struct box box, const char *operation)
{
    reduction = operation;
    fill_memory();
    assert_ok(cuMemcpyHtoD_v2(f.tensor, f.tensor_bytes, TENSOR_BYTES));
    assert_ok(cuMemcpyHtoD_v2(f.box, f.box_bytes, BOX_BYTES));
    memcpy(f.expected, f.tensor_bytes, TENSOR_BYTES);
    assert_false(over_elements(&box, false, reduce_element));
    assert_ok(run_box(&box, operation, false, ""));
    assert_ok(cuMemcpyDtoH_v2(f.tensor_bytes, f.tensor, TENSOR_BYTES));
    assert_memory_equal(f.tensor_bytes, f.expected, TENSOR_BYTES);
}

static void whole_numbers_are_reduced(void **state)
{
    (void)state;
    static const struct {
        CUtensorMapDataType type;
        unsigned bytes;
        bool is_signed;
    } types[] = {{CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, false},
                 {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, true},
                 {CU_TENSOR_MAP_DATA_TYPE_UINT64, 8, false},
                 {CU_TENSOR_MAP_DATA_TYPE_INT64, 8, true}};
    static const char *const operations[] = {"add", "min", "max", "and", "or", "xor"};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct box box = plain_box();
        box.type = types[i].type;
        box.bytes = types[i].bytes;
        box.size[0] = 256 / box.bytes;
        box.first[0] = (int)(box.size[0] - 16 / box.bytes);
        box.first[1] = 45;
        is_signed = types[i].is_signed;
        for (size_t k = 0; k < sizeof(operations) / sizeof(*operations); k++)
            check_reduction(box, operations[k]);
        if (i == 0) {
            check_reduction(box, "inc");
            check_reduction(box, "dec");
        }
    }
}

// Sums of small whole numbers are exact.
static void floating_point_numbers_are_added(void **state)
{
    (void)state;
    struct box box = plain_box();
    box.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    float *tensor = (float *)(void *)f.tensor_bytes, *summands = (float *)(void *)f.box_bytes;
    for (unsigned i = 0; i < TENSOR_BYTES / 4; i++)
        tensor[i] = (float)(i % 100);
    for (unsigned i = 0; i < 128; i++)
        summands[i] = (float)i;
    assert_ok(cuMemcpyHtoD_v2(f.tensor, tensor, TENSOR_BYTES));
    assert_ok(cuMemcpyHtoD_v2(f.box, summands, BOX_BYTES));
    assert_ok(run_box(&box, "add", false, ""));
    assert_ok(cuMemcpyDtoH_v2(tensor, f.tensor, TENSOR_BYTES));
    for (unsigned row = 0; row < 8; row++) {
        for (unsigned column = 0; column < 16; column++)
            assert_true(tensor[row * 64 + column] ==
                        (float)((row * 64 + column) % 100 + row * 16 + column));
    }
}

// --- Maps in kernels -----------------------------------------------------------------------------

#define IN_COPY(bits) ".shared::cta.b1024." bits " [copy], "
static const char *const changes[] = {
    "global_address.shared::cta.b1024.b64 [%r2], %d0",
    "rank" IN_COPY("b32") "2",
    "elemtype" IN_COPY("b32") "1",
    "global_dim" IN_COPY("b32") "0, %r3",
    "global_dim" IN_COPY("b32") "1, %r4",
    "global_dim" IN_COPY("b32") "2, 5",
    "global_stride" IN_COPY("b64") "0, %d1",
    "global_stride" IN_COPY("b64") "1, %d2",
    "box_dim" IN_COPY("b32") "0, %r5",
    "box_dim" IN_COPY("b32") "1, 6",
    "box_dim" IN_COPY("b32") "2, 3",
    "element_stride" IN_COPY("b32") "1, %r6",
    "element_stride" IN_COPY("b32") "2, 1",
    "interleave_layout" IN_COPY("b32") "0",
    "fill_mode" IN_COPY("b32") "0",
};

// A kernel changes a copy of the map in shared memory, publishes it in global memory and loads with
// it what the host's map would have described.
static void kernels_change_maps(void **state)
{
    (void)state;
    struct base_buf text = {0}, before = {0};
    struct box box = plain_box(), wanted = plain_box();
    wanted.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
    wanted.bytes = 2;
    wanted.rank = 3;
    wanted.size[0] = 40;
    wanted.size[1] = 30;
    wanted.size[2] = 5;
    wanted.stride[0] = 96;
    wanted.stride[1] = 3072;
    wanted.box[0] = 32;
    wanted.box[1] = 6;
    wanted.box[2] = 3;
    wanted.step[1] = 2;
    wanted.step[2] = 1;
    wanted.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
    wanted.first[0] = 24;
    wanted.first[1] = 1;
    wanted.first[2] = 3;
    base_buf_puts(&before, "mov.u32 %r2, copy;\n");
    for (unsigned i = 0; i < 16; i++)
        base_buf_printf(&before, "ld.u64 %%d0, [%%m+%u]; @!%%o st.shared.u64 [copy+%u], %%d0;\n",
                        8 * i, 8 * i);
    base_buf_printf(
        &before,
        "mov.u64 %%d0, %llu; mov.u64 %%d1, 96; mov.u64 %%d2, 3072; mov.u32 %%r3, 40;\n"
        "mov.u32 %%r4, 30; mov.u32 %%r5, 32; mov.u32 %%r6, 2; add.u64 %%d3, %%p, 16384;\n",
        (unsigned long long)(f.tensor + 512));
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
        base_buf_printf(&before, "@!%%o tensormap.replace.tile.%s;\n", changes[i]);
    base_buf_puts(
        &before, "bar.sync 0; "
                 "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync."
                 "aligned [%d3], [%r2], 128;\n"
                 "bar.sync 0; @!%o tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%d3], 2;\n"
                 "fence.proxy.tensormap::generic.release.gpu;\n"
                 "fence.proxy.tensormap::generic.acquire.gpu [%d3], 128; mov.b64 %m, %d3;\n");
    fill_memory();
    assert_ok(cuMemcpyHtoD_v2(f.tensor, f.tensor_bytes, TENSOR_BYTES));
    memmove(f.tensor_bytes, f.tensor_bytes + 512, TENSOR_BYTES - 512);
    over_elements(&wanted, true, load_element);
    put_kernel(&text, &wanted, NULL, true, before.text);
    struct kernel_params params;
    CUmodule module;
    CUfunction kernel;
    assert_ok(encode(&box, &params.map, f.tensor));
    params.memory = f.box;
    params.bytes = (uint32_t)bytes_of_box(&wanted);
    memcpy(params.first, wanted.first, sizeof(wanted.first));
    void *arguments[] = {&params.map, &params.memory, &params.bytes, params.first};
    assert_ok(cuModuleLoadData(&module, text.text));
    assert_ok(cuModuleGetFunction(&kernel, module, "k"));
    assert_ok(cuLaunchKernel(kernel, 1, 1, 1, THREADS, 1, 1, BOX_BYTES, NULL, arguments, NULL));
    assert_ok(cuCtxSynchronize());
    assert_ok(cuMemcpyDtoH_v2(f.box_bytes, f.box, BOX_BYTES));
    assert_memory_equal(f.box_bytes, f.expected, params.bytes);
    base_buf_fini(&text);
    base_buf_fini(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiled_maps_are_checked),
        cmocka_unit_test(interleaved_maps_are_checked),
        cmocka_unit_test(maps_of_pixels_are_checked),
        cmocka_unit_test(addresses_of_maps_are_replaced),
        cmocka_unit_test(a_tile_is_where_the_manual_says),
        cmocka_unit_test(random_tensors_are_copied_like_the_model),
        cmocka_unit_test(random_tensors_are_copied_to_several_blocks),
        cmocka_unit_test(whole_numbers_are_reduced),
        cmocka_unit_test(floating_point_numbers_are_added),
        cmocka_unit_test(kernels_change_maps),
    };
    return cmocka_run_group_tests(tests, tensors_setup, tensors_teardown);
}
