// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of tensor copies: descriptions of tensors and boxes, a model of copies that
// goes over single elements, and kernels that copy one box.
#ifndef GLINT_TESTS_GPUSIM_TENSOR_TESTING_H
#define GLINT_TESTS_GPUSIM_TENSOR_TESTING_H

#include "base/base.h"
#include "driver_testing.h"

enum {
    MOST_RANK = 5,
    TENSOR_BYTES = 1 << 20,
    BOX_BYTES = 32768, // the most of a box
    THREADS = 128,
};

struct box {
    CUtensorMapDataType type;
    unsigned bytes; // of an element
    unsigned rank;
    uint64_t size[MOST_RANK], stride[MOST_RANK]; // stride[0] is that of dimension 1
    uint32_t box[MOST_RANK], step[MOST_RANK];
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;
    int32_t first[MOST_RANK];
    bool im2col;
    int lower[3], upper[3];
    uint32_t channels, pixels;
    uint16_t offset[3];
};

static struct tensor_fixture {
    CUdeviceptr tensor, box;
    unsigned char *tensor_bytes, *box_bytes; // the same on the host
    unsigned char *expected;
} f;

static inline CUresult encode(const struct box *box, CUtensorMap *map, CUdeviceptr address)
{
    void *at = (void *)(uintptr_t)address;
    if (box->im2col)
        return cuTensorMapEncodeIm2col(map, box->type, box->rank, at, (const cuuint64_t *)box->size,
                                       (const cuuint64_t *)box->stride, box->lower, box->upper,
                                       box->channels, box->pixels, box->step,
                                       CU_TENSOR_MAP_INTERLEAVE_NONE, box->swizzle,
                                       CU_TENSOR_MAP_L2_PROMOTION_NONE, box->fill);
    return cuTensorMapEncodeTiled(map, box->type, box->rank, at, (const cuuint64_t *)box->size,
                                  (const cuuint64_t *)box->stride, box->box, box->step,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, box->swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_128B, box->fill);
}

// --- The model -----------------------------------------------------------------------------------

static inline unsigned count_of(const struct box *box, unsigned dimension)
{
    unsigned count = 0;
    for (unsigned at = 0; at < box->box[dimension]; at += box->step[dimension])
        count++;
    return dimension == 0 ? box->box[0] : count;
}

static inline uint64_t rows_of(const struct box *box)
{
    uint64_t rows = 1;
    for (unsigned i = 1; i < box->rank && !box->im2col; i++)
        rows *= count_of(box, i);
    return box->im2col ? box->pixels : rows;
}

static inline unsigned columns_of(const struct box *box)
{
    return box->im2col ? box->channels : box->box[0];
}

static inline uint64_t bytes_of_box(const struct box *box)
{
    return rows_of(box) * columns_of(box) * box->bytes;
}

// Where a byte of the box lies in shared memory: chunks of a line of 128 bytes change places.
static inline uint64_t place_in_box(const struct box *box, uint64_t at)
{
    const uint64_t line = at / 128, chunk = at % 128 / 16;
    switch (box->swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_32B: return line * 128 + (chunk ^ line % 2) * 16 + at % 16;
    case CU_TENSOR_MAP_SWIZZLE_64B: return line * 128 + (chunk ^ line % 4) * 16 + at % 16;
    case CU_TENSOR_MAP_SWIZZLE_128B: return line * 128 + (chunk ^ line % 8) * 16 + at % 16;
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B:
        return line * 128 + (at % 128 / 32 ^ line % 4) * 32 + at % 32;
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B:
        return line * 128 + (at % 128 / 32 ^ line % 4) * 32 + at % 32 / 16 * 16 +
               (at % 16 / 8 ^ line % 2) * 8 + at % 8;
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B:
        return line * 128 + (at % 128 / 64 ^ line % 2) * 64 + at % 64;
    default: return at;
    }
}

// Goes to the next pixel: to the right, to the next line, slice or image.
static inline void advance(const struct box *box, int64_t at[MOST_RANK])
{
    for (unsigned i = 1; i + 1 < box->rank; i++) {
        at[i] += box->step[i];
        if (at[i] <= (int64_t)box->size[i] - 1 + box->upper[i - 1])
            return;
        at[i] = box->lower[i - 1];
    }
    at[box->rank - 1]++;
}

// Returns how far a row of the tensor reaches. Its last 16 bytes are stored whole.
static inline int64_t row_of(const struct box *box, bool loads)
{
    const int64_t whole = loads ? 1 : 16 / box->bytes;
    return ((int64_t)box->size[0] + whole - 1) / whole * whole;
}

// Calls `each` with every element's byte in the tensor, or -1 outside, and its byte in the box.
// Returns whether a coordinate is negative.
static inline bool over_elements(const struct box *box, bool loads,
                                 void (*each)(const struct box *box, int64_t in_tensor,
                                              uint64_t in_box))
{
    bool negative = false;
    const uint64_t rows = rows_of(box);
    int64_t pixel[MOST_RANK];
    for (unsigned i = 0; i < box->rank; i++)
        pixel[i] = box->first[i];
    for (uint64_t row = 0; row < rows; row++) {
        int64_t at[MOST_RANK];
        uint64_t rest = row;
        for (unsigned i = 1; i < box->rank; i++) {
            at[i] = pixel[i] + (box->im2col && i + 1 < box->rank ? box->offset[i - 1] : 0);
            if (!box->im2col)
                at[i] += (int64_t)(rest % count_of(box, i)) * box->step[i];
            rest /= box->im2col ? 1 : count_of(box, i);
        }
        for (unsigned column = 0; column < columns_of(box); column++) {
            at[0] = pixel[0] + column;
            int64_t byte = at[0] * box->bytes;
            for (unsigned i = 0; i < box->rank; i++) {
                if (i)
                    byte += at[i] * (int64_t)box->stride[i - 1];
            }
            for (unsigned i = 0; i < box->rank; i++) {
                negative |= at[i] < 0;
                if (at[i] < 0 || at[i] >= (i ? (int64_t)box->size[i] : row_of(box, loads)))
                    byte = -1;
            }
            each(box, byte, place_in_box(box, (row * columns_of(box) + column) * box->bytes));
        }
        if (box->im2col)
            advance(box, pixel);
    }
    return negative;
}

static inline void load_element(const struct box *box, int64_t in_tensor, uint64_t in_box)
{
    static const unsigned char zero[8];
    const uint16_t nan = 0x7FF7;
    memcpy(f.expected + in_box,
           in_tensor >= 0 ? f.tensor_bytes + in_tensor
           : box->fill    ? (const unsigned char *)&nan
                          : zero,
           box->bytes);
}

static inline void store_element(const struct box *box, int64_t in_tensor, uint64_t in_box)
{
    if (in_tensor >= 0)
        memcpy(f.expected + in_tensor, f.box_bytes + in_box, box->bytes);
}

// --- Kernels -------------------------------------------------------------------------------------

struct kernel_params {
    CUtensorMap map;
    CUdeviceptr memory;
    uint32_t bytes;
    int32_t first[MOST_RANK];
};

// `before` is text that all threads run before thread 0 copies, with the map's address in %m. %o is
// true in all threads but that one.
static inline void put_kernel(struct base_buf *text, const struct box *box, const char *reduction,
                              bool loads, const char *before)
{
    const char *mode = !box->im2col ? "tile" : loads ? "im2col" : "im2col_no_offs";
    base_buf_printf(
        text,
        ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n"
        ".entry k(.param .align 64 .b8 map[128], .param .u64 memory, .param .u32 bytes, .param "
        ".align 4 .b8 first[20]) {\n"
        ".shared .align 8 .b64 bar; .shared .align 128 .b8 copy[128];\n"
        ".reg .b64 %%m, %%p, %%q, %%d<4>; .reg .b32 %%t, %%n, %%i, %%s, %%c<5>, %%r<9>; .reg .pred "
        "%%o, %%w;\n"
        "mov.b64 %%m, map; cvta.param.u64 %%m, %%m; ld.param.u64 %%p, [memory];\n"
        "ld.param.u32 %%n, [bytes]; mov.u32 %%t, %%tid.x; shl.b32 %%i, %%t, 2; mov.u32 %%s, s;\n");
    for (unsigned i = 0; i < box->rank; i++)
        base_buf_printf(text, "ld.param.u32 %%c%u, [first+%u];\n", i, 4 * i);
    base_buf_puts(text, "setp.ne.u32 %o, %t, 0;\n");
    if (!loads)
        base_buf_puts(text, "IN: setp.ge.u32 %w, %i, %n; @%w bra FILLED; cvt.u64.u32 %q, %i;\n"
                            "add.u64 %q, %q, %p; ld.global.u32 %r0, [%q]; add.u32 %r1, %s, %i;\n"
                            "st.shared.u32 [%r1], %r0; add.u32 %i, %i, 512; bra IN; FILLED:\n"
                            "fence.proxy.async; bar.sync 0;\n");
    base_buf_printf(text, "%s@%%o bra DONE;\n", before);
    char coordinates[64] = "";
    for (unsigned i = 0; i < box->rank; i++)
        sprintf(coordinates + strlen(coordinates), "%s%%c%u", i ? ", " : "", i);
    if (loads) {
        base_buf_printf(text,
                        "mbarrier.init.shared.b64 [bar], 1;\n"
                        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], %%n;\n"
                        "cp.async.bulk.tensor.%ud.shared::cluster.global.%s.mbarrier::complete_tx::"
                        "bytes [%%s], [%%m, {%s}], [bar]",
                        box->rank, mode, coordinates);
        for (unsigned i = 0; box->im2col && i + 2 < box->rank; i++)
            base_buf_printf(text, "%s%u", i ? ", " : ", {", box->offset[i]);
        base_buf_printf(text, "%s;\n", box->im2col ? "}" : "");
        base_buf_puts(text,
                      "WAIT: mbarrier.try_wait.parity.shared.b64 %w, [bar], 0; @!%w bra WAIT;\n"
                      "DONE: bar.sync 0;\n"
                      "OUT: setp.ge.u32 %w, %i, %n; @%w ret; cvt.u64.u32 %q, %i;\n"
                      "add.u64 %q, %q, %p; add.u32 %r1, %s, %i; ld.shared.u32 %r0, [%r1];\n"
                      "st.global.u32 [%q], %r0; add.u32 %i, %i, 512; bra OUT; }\n");
        return;
    }
    base_buf_printf(
        text,
        "%s.async.bulk.tensor.%ud.global.shared::cta%s%s.%s.bulk_group [%%m, {%s}], "
        "[%%s];\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE: ret; }\n",
        reduction ? "cp.reduce" : "cp", box->rank, reduction ? "." : "", reduction ? reduction : "",
        mode, coordinates);
}

// Runs blocks of a kernel with the map of the box, and returns what waiting for it returns.
static inline CUresult run_text(const char *text, const struct box *box, unsigned blocks)
{
    struct kernel_params *params = aligned_alloc(64, 4096);
    CUmodule module;
    CUfunction kernel;
    assert_ok(encode(box, &params->map, f.tensor));
    params->memory = f.box;
    params->bytes = (uint32_t)bytes_of_box(box);
    memcpy(params->first, box->first, sizeof(box->first));
    void *arguments[] = {&params->map, &params->memory, &params->bytes, params->first};
    assert_ok(cuModuleLoadData(&module, text));
    assert_ok(cuModuleGetFunction(&kernel, module, "k"));
    assert_ok(
        cuLaunchKernel(kernel, blocks, 1, 1, THREADS, 1, 1, BOX_BYTES, NULL, arguments, NULL));
    const CUresult result = cuCtxSynchronize();
    if (result == CUDA_SUCCESS)
        assert_ok(cuModuleUnload(module));
    free(params);
    return result;
}

static inline CUresult run_box(const struct box *box, const char *reduction, bool loads,
                               const char *before)
{
    struct base_buf text = {0};
    put_kernel(&text, box, reduction, loads, before);
    const CUresult result = run_text(text.text, box, 1);
    base_buf_fini(&text);
    return result;
}

static inline void tensors_open(void)
{
    assert_ok(cuMemAlloc_v2(&f.tensor, TENSOR_BYTES));
    assert_ok(cuMemAlloc_v2(&f.box, BOX_BYTES));
    f.tensor_bytes = malloc(TENSOR_BYTES);
    f.box_bytes = malloc(BOX_BYTES);
    f.expected = malloc(TENSOR_BYTES);
    assert_true(f.tensor_bytes && f.box_bytes && f.expected);
}

static inline int tensors_setup(void **state)
{
    const int result = testing_setup(state);
    tensors_open();
    return result;
}

static inline int tensors_teardown(void **state)
{
    free(f.tensor_bytes);
    free(f.box_bytes);
    free(f.expected);
    return testing_teardown(state);
}

// Compares a copy by a kernel with the model's. A load leaves the box, a store the tensor.
static inline void check_copy(const struct box *box, bool loads)
{
    assert_ok(cuMemcpyHtoD_v2(f.tensor, f.tensor_bytes, TENSOR_BYTES));
    assert_ok(cuMemcpyHtoD_v2(f.box, f.box_bytes, BOX_BYTES));
    const uint64_t bytes = loads ? bytes_of_box(box) : TENSOR_BYTES;
    if (!loads)
        memcpy(f.expected, f.tensor_bytes, TENSOR_BYTES);
    const bool negative = over_elements(box, loads, loads ? load_element : store_element);
    if (negative && !loads)
        return; // which ends the launch: test_driver_tensor_faults.c
    assert_ok(run_box(box, NULL, loads, ""));
    unsigned char *found = loads ? f.box_bytes : f.tensor_bytes;
    assert_ok(cuMemcpyDtoH_v2(found, loads ? f.box : f.tensor, bytes));
    for (uint64_t i = 0; i < bytes; i++) {
        if (found[i] != f.expected[i])
            fail_msg("%s of rank %u, type %d, swizzling %d: byte %llu is %u instead of %u",
                     loads ? "load" : "store", box->rank, (int)box->type, (int)box->swizzle,
                     (unsigned long long)i, found[i], f.expected[i]);
    }
}

#endif
