// SPDX-License-Identifier: Apache-2.0
// The product of cublasLt: D = epilogue(alpha * op(A) * op(B) + beta * C).
#include <stdio.h>

#include "lt.h"

static const char lt_ptx[] = ""
#include "cublas_lt.ptx.inc"
    ;

static bool is_valid(const struct cublas_layout *layout)
{
    const uint64_t length = layout->order == CUBLAS_BY_COLUMNS ? layout->rows : layout->columns;
    return layout->ld >= 1 && (uint64_t)layout->ld >= length && layout->members >= 1;
}

static struct cublas_matrix matrix_of(const struct cublas_layout *layout, const void *address,
                                      int operation)
{
    struct cublas_matrix matrix = cublas_dense(address, layout->ld);
    if (layout->order == CUBLAS_BY_ROWS)
        cublas_apply(&matrix, CUBLAS_T);
    cublas_apply(&matrix, operation);
    matrix.batch = layout->stride;
    return matrix;
}

// Copies C to D, which the product then adds to.
static int copy(const struct cublas_layout *from, const void *source,
                const struct cublas_layout *to, void *target, CUstream stream)
{
    const size_t size = cublas_bytes((enum cublas_type)to->type);
    const bool by_rows = to->order == CUBLAS_BY_ROWS;
    CUresult result = CUDA_SUCCESS;
    for (int32_t i = 0; i < to->members && result == CUDA_SUCCESS; i++) {
        const CUDA_MEMCPY2D about = {
            .srcMemoryType = CU_MEMORYTYPE_DEVICE,
            .srcDevice = (CUdeviceptr)(uintptr_t)source + (uint64_t)(i * from->stride) * size,
            .srcPitch = (size_t)from->ld * size,
            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
            .dstDevice = (CUdeviceptr)(uintptr_t)target + (uint64_t)(i * to->stride) * size,
            .dstPitch = (size_t)to->ld * size,
            .WidthInBytes = (by_rows ? to->columns : to->rows) * size,
            .Height = by_rows ? to->rows : to->columns,
        };
        result = cuMemcpy2DAsync_v2(&about, stream);
    }
    return cublas_status_of(result);
}

static int run_epilogue(const struct cublas_matmul *matmul, const struct cublas_layout *layout,
                        void *d, CUstream stream)
{
    static const struct {
        int type, bias;
        const char *name;
    } kernels[] = {
        {CUBLAS_R_32F, CUBLAS_R_32F, "s"},   {CUBLAS_R_64F, CUBLAS_R_64F, "d"},
        {CUBLAS_R_16F, CUBLAS_R_16F, "h"},   {CUBLAS_R_16F, CUBLAS_R_32F, "hs"},
        {CUBLAS_R_16BF, CUBLAS_R_16BF, "b"}, {CUBLAS_R_16BF, CUBLAS_R_32F, "bs"},
        {CUBLAS_R_32F, CUBLAS_R_16F, "sh"},  {CUBLAS_R_32F, CUBLAS_R_16BF, "sb"},
    };
    const int bias_type = matmul->bias_type < 0 ? layout->type : matmul->bias_type;
    struct cublas_epilogue about = {
        .d = matrix_of(layout, d, CUBLAS_N),
        .bias = matmul->epilogue & CUBLAS_EPILOGUE_BIAS ? matmul->bias : 0,
        .bias_batch = matmul->bias_batch,
        .m = (int64_t)layout->rows,
        .n = (int64_t)layout->columns,
        .function = matmul->epilogue & CUBLAS_EPILOGUE_RELU   ? CUBLAS_RELU
                    : matmul->epilogue & CUBLAS_EPILOGUE_GELU ? CUBLAS_GELU
                                                              : CUBLAS_IDENTITY,
    };
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        if (kernels[i].type != layout->type || kernels[i].bias != bias_type)
            continue;
        char name[32];
        snprintf(name, sizeof(name), "cublas_%sepilogue", kernels[i].name);
        const struct common_launch launch = {
            .ptx = lt_ptx,
            .kernel = name,
            .blocks = common_blocks((uint64_t)(about.m * about.n), CUBLAS_THREADS),
            .members = (unsigned)layout->members,
            .threads = CUBLAS_THREADS,
            .stream = stream,
            .parameter = &about};
        return cublas_status_of(common_launch(&launch));
    }
    return COMMON_REFUSE("cublasLtMatmul with an epilogue for these types", CUBLAS_NOT_SUPPORTED);
}

// Prints why the product is refused, by the first reason. Returns CUBLAS_OK if it is not.
static int refuse(const struct cublas_matmul *matmul, const struct cublas_layout *const layouts[4])
{
    enum {
        FULL = 2,
        KNOWN = CUBLAS_EPILOGUE_DEFAULT | CUBLAS_EPILOGUE_RELU | CUBLAS_EPILOGUE_BIAS |
                CUBLAS_EPILOGUE_GELU,
        MOST_MEMBERS = 65535
    };
    for (int i = 0; i < 4; i++) {
        if (layouts[i]->order != CUBLAS_BY_COLUMNS && layouts[i]->order != CUBLAS_BY_ROWS)
            return COMMON_REFUSE("cublasLtMatmul with tiled layouts", CUBLAS_NOT_SUPPORTED);
    }
    if (matmul->pointer_mode > 1)
        return COMMON_REFUSE("cublasLtMatmul with vectors for alpha", CUBLAS_NOT_SUPPORTED);
    if (matmul->epilogue & ~(unsigned)KNOWN)
        return COMMON_REFUSE("cublasLtMatmul with this epilogue", CUBLAS_NOT_SUPPORTED);
    if (matmul->c_operation != CUBLAS_N || matmul->fill != FULL)
        return COMMON_REFUSE("cublasLtMatmul with a transposed or triangular result",
                             CUBLAS_NOT_SUPPORTED);
    if (layouts[2]->type != layouts[3]->type || layouts[2]->order != layouts[3]->order ||
        layouts[3]->members > MOST_MEMBERS)
        return COMMON_REFUSE("cublasLtMatmul with C and D of different types or layouts",
                             CUBLAS_NOT_SUPPORTED);
    return CUBLAS_OK;
}

COMMON_API int cublasLtMatmul(void *handle, const struct cublas_matmul *matmul, const void *alpha,
                              const void *a, const struct cublas_layout *a_layout, const void *b,
                              const struct cublas_layout *b_layout, const void *beta, const void *c,
                              const struct cublas_layout *c_layout, void *d,
                              const struct cublas_layout *d_layout, const void *algorithm,
                              void *workspace, size_t workspace_bytes, CUstream stream)
{
    (void)algorithm, (void)workspace, (void)workspace_bytes;
    CUBLAS_CHECK(handle, matmul && alpha && beta && a && b && d && a_layout && b_layout &&
                             c_layout && d_layout);
    const struct cublas_layout *const layouts[] = {a_layout, b_layout, c_layout, d_layout};
    for (int i = 0; i < 4; i++)
        CUBLAS_REJECT(!is_valid(layouts[i]) || layouts[i]->members != d_layout->members,
                      CUBLAS_INVALID_VALUE);
    const bool a_turned = matmul->a_operation != CUBLAS_N,
               b_turned = matmul->b_operation != CUBLAS_N;
    const uint64_t k = a_turned ? a_layout->rows : a_layout->columns;
    CUBLAS_REJECT(matmul->a_operation < 0 || matmul->a_operation > CUBLAS_C ||
                      matmul->b_operation < 0 || matmul->b_operation > CUBLAS_C ||
                      (a_turned ? a_layout->columns : a_layout->rows) != d_layout->rows ||
                      (b_turned ? b_layout->rows : b_layout->columns) != d_layout->columns ||
                      (b_turned ? b_layout->columns : b_layout->rows) != k ||
                      c_layout->rows != d_layout->rows || c_layout->columns != d_layout->columns,
                  CUBLAS_INVALID_VALUE);
    int status = refuse(matmul, layouts);
    if (status)
        return status;
    struct cublas_handle settings = {.stream = stream, .device_scalars = matmul->pointer_mode == 1};
    const struct cublas_types types = {a_layout->type, b_layout->type, d_layout->type,
                                       matmul->compute};
    const struct cublas_product product = {
        .a = matrix_of(a_layout, a, matmul->a_operation),
        .b = matrix_of(b_layout, b, matmul->b_operation),
        .c = matrix_of(d_layout, d, CUBLAS_N),
        .alpha = cublas_scalar(&settings, (enum cublas_type)matmul->scalar, alpha),
        .beta = cublas_scalar(&settings, (enum cublas_type)matmul->scalar, beta),
        .m = (int64_t)d_layout->rows,
        .n = (int64_t)d_layout->columns,
        .k = (int64_t)k,
    };
    const bool reads_c =
        product.beta.device || product.beta.real != 0 || product.beta.imaginary != 0;
    if (reads_c && c && c != d)
        status = copy(c_layout, c, d_layout, d, stream);
    if (!status)
        status = cublas_launch_gemm(&settings, &types, &product, d_layout->members);
    if (status || matmul->epilogue == CUBLAS_EPILOGUE_DEFAULT)
        return status;
    return run_epilogue(matmul, d_layout, d, stream);
}
