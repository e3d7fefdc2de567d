// SPDX-License-Identifier: Apache-2.0
// Operands, scalars and launches of cuBLAS: the part of it that cublasLt needs too.
#include <math.h>
#include <stdio.h>

#include "blas.h"

const char cublas_level1_ptx[] = ""
#include "cublas_level1.ptx.inc"
    ;
const char cublas_level3_ptx[] = ""
#include "cublas_level3.ptx.inc"
    ;

bool cublas_is_complex(enum cublas_type type)
{
    return type == CUBLAS_C_32F || type == CUBLAS_C_64F;
}

size_t cublas_bytes(enum cublas_type type)
{
    switch (type) {
    case CUBLAS_R_8I: return 1;
    case CUBLAS_R_16F:
    case CUBLAS_R_16BF: return 2;
    case CUBLAS_R_64F:
    case CUBLAS_C_32F: return 8;
    case CUBLAS_C_64F: return 16;
    default: return 4;
    }
}

int cublas_status_of(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS: return CUBLAS_OK;
    case CUDA_ERROR_OUT_OF_MEMORY: return CUBLAS_ALLOC_FAILED;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_NO_DEVICE: return CUBLAS_NOT_INITIALIZED;
    default: return CUBLAS_EXECUTION_FAILED;
    }
}

// --- Scalars and operands ------------------------------------------------------------------------

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                       : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}

static double bfloat_value(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    __builtin_memcpy(&value, &wide, sizeof(value));
    return value;
}

struct cublas_scalar cublas_scalar(const struct cublas_handle *handle, enum cublas_type type,
                                   const void *value)
{
    struct cublas_scalar scalar = {.type = (int32_t)type};
    if (handle->device_scalars) {
        scalar.device = (uint64_t)(uintptr_t)value;
        return scalar;
    }
    switch (type) {
    case CUBLAS_R_16F: scalar.real = half_value(*(const uint16_t *)value); break;
    case CUBLAS_R_16BF: scalar.real = bfloat_value(*(const uint16_t *)value); break;
    case CUBLAS_R_64F: scalar.real = *(const double *)value; break;
    case CUBLAS_R_32I: scalar.real = *(const int32_t *)value; break;
    case CUBLAS_C_32F:
        scalar.real = ((const float *)value)[0];
        scalar.imaginary = ((const float *)value)[1];
        break;
    case CUBLAS_C_64F:
        scalar.real = ((const double *)value)[0];
        scalar.imaginary = ((const double *)value)[1];
        break;
    default: scalar.real = *(const float *)value;
    }
    return scalar;
}

struct cublas_scalar cublas_number(double value)
{
    return (struct cublas_scalar){.real = value};
}

struct cublas_matrix cublas_dense(const void *address, int64_t ld)
{
    return (struct cublas_matrix){.address = (uint64_t)(uintptr_t)address, .row = 1, .column = ld};
}

void cublas_apply(struct cublas_matrix *matrix, int operation)
{
    if (operation == CUBLAS_N)
        return;
    if (matrix->storage ==
        CUBLAS_DENSE) { // the same as a flag, and what the kernel for dense operands knows
        const int64_t row = matrix->row;
        matrix->row = matrix->column;
        matrix->column = row;
        if (matrix->shape != CUBLAS_FULL)
            matrix->fill_lower = !matrix->fill_lower;
    } else {
        matrix->transpose = !matrix->transpose;
    }
    if (operation == CUBLAS_C)
        matrix->conjugate = !matrix->conjugate;
}

struct cublas_matrix cublas_operand(const void *address, int64_t ld, int operation)
{
    struct cublas_matrix matrix = cublas_dense(address, ld);
    cublas_apply(&matrix, operation);
    return matrix;
}

uint64_t cublas_first(enum cublas_type type, const void *address, int64_t n, int64_t step)
{
    const uint64_t first = (uint64_t)(uintptr_t)address;
    return step < 0 && n > 0 ? first - (uint64_t)((n - 1) * step) * cublas_bytes(type) : first;
}

struct cublas_matrix cublas_column(enum cublas_type type, const void *address, int64_t n,
                                   int64_t step)
{
    return (struct cublas_matrix){.address = cublas_first(type, address, n, step), .row = step};
}

struct cublas_matrix cublas_row(enum cublas_type type, const void *address, int64_t n, int64_t step)
{
    return (struct cublas_matrix){.address = cublas_first(type, address, n, step), .column = step};
}

// --- Launches ------------------------------------------------------------------------------------

static char letter_of(enum cublas_type type)
{
    switch (type) {
    case CUBLAS_R_32F: return 's';
    case CUBLAS_R_64F: return 'd';
    case CUBLAS_C_32F: return 'c';
    default: return 'z';
    }
}

// A grid has at most 65535 blocks in z.
enum { MOST_MEMBERS = 65535 };

// Launches the kernel "cublas_" LETTER NAME, or "cublas_" NAME without a letter.
static int launch(struct cublas_handle *handle, const char *ptx, char letter, const char *name,
                  void *parameter, uint64_t blocks, unsigned threads, int64_t members)
{
    char kernel[64];
    if (letter)
        snprintf(kernel, sizeof(kernel), "cublas_%c%s", letter, name);
    else
        snprintf(kernel, sizeof(kernel), "cublas_%s", name);
    const struct common_launch about = {.ptx = ptx,
                                        .kernel = kernel,
                                        .blocks = members ? blocks : 0,
                                        .members = (unsigned)members,
                                        .threads = threads,
                                        .stream = handle->stream,
                                        .parameter = parameter};
    return cublas_status_of(common_launch(&about));
}

// Makes the matrix that of a later member of the batch.
static void advance(struct cublas_matrix *matrix, enum cublas_type type, int64_t members)
{
    if (matrix->pointers)
        matrix->address += (uint64_t)members * sizeof(uint64_t);
    else
        matrix->address += (uint64_t)(members * matrix->batch) * cublas_bytes(type);
}

static int launch_products(struct cublas_handle *handle, char letter, const char *name,
                           uint64_t blocks, const struct cublas_types *types,
                           const struct cublas_product *product, int64_t members)
{
    struct cublas_product part = *product;
    int status = CUBLAS_OK;
    for (int64_t done = 0; done < members && !status; done += MOST_MEMBERS) {
        const int64_t left = members - done;
        status = launch(handle, cublas_level3_ptx, letter, name, &part, blocks, CUBLAS_THREADS,
                        left < MOST_MEMBERS ? left : MOST_MEMBERS);
        advance(&part.a, (enum cublas_type)types->a, MOST_MEMBERS);
        advance(&part.b, (enum cublas_type)types->b, MOST_MEMBERS);
        advance(&part.c, (enum cublas_type)types->c, MOST_MEMBERS);
    }
    return status;
}

static uint64_t tiles(const struct cublas_product *product)
{
    return common_blocks((uint64_t)product->m, CUBLAS_TILE) *
           common_blocks((uint64_t)product->n, CUBLAS_TILE);
}

static bool is_plain(const struct cublas_matrix *matrix)
{
    return matrix->storage == CUBLAS_DENSE && matrix->shape == CUBLAS_FULL;
}

int cublas_launch_product(struct cublas_handle *handle, enum cublas_type type,
                          const struct cublas_product *product, int64_t members)
{
    enum { NARROW = 8 }; // columns or rows of C for which a thread for each element is faster
    const struct cublas_types types = {(int)type, (int)type, (int)type, 0};
    if (product->m <= 0 || product->n <= 0)
        return CUBLAS_OK;
    if (product->m > NARROW && product->n > NARROW && is_plain(&product->a) &&
        is_plain(&product->b) && is_plain(&product->c))
        return launch_products(handle, letter_of(type), "gemm", tiles(product), &types, product,
                               members);
    return launch_products(
        handle, letter_of(type), "product",
        common_blocks((uint64_t)product->m * (uint64_t)product->n, CUBLAS_THREADS), &types, product,
        members);
}

int cublas_launch_gemm(struct cublas_handle *handle, const struct cublas_types *types,
                       const struct cublas_product *product, int64_t members)
{
    // Values of cublasComputeType_t.
    enum {
        COMPUTE_16F = 64,
        COMPUTE_16F_PEDANTIC = 65,
        COMPUTE_32F = 68,
        COMPUTE_64F = 70,
        COMPUTE_32I = 72,
        COMPUTE_32I_PEDANTIC = 73,
        COMPUTE_64F_PEDANTIC = 71,
        COMPUTE_32F_LAST = 77
    };
    static const struct {
        enum cublas_type in, out;
        const char *name;
    } kernels[] = {{CUBLAS_R_16F, CUBLAS_R_16F, "hgemm"},   {CUBLAS_R_16F, CUBLAS_R_32F, "hsgemm"},
                   {CUBLAS_R_16BF, CUBLAS_R_16BF, "bgemm"}, {CUBLAS_R_16BF, CUBLAS_R_32F, "bsgemm"},
                   {CUBLAS_R_8I, CUBLAS_R_32I, "igemm"},    {CUBLAS_R_8I, CUBLAS_R_32F, "isgemm"}};
    if (types->a != types->b)
        return COMMON_REFUSE("cuBLAS: a product of matrices of two types", CUBLAS_NOT_SUPPORTED);
    const bool wide = types->compute == COMPUTE_64F || types->compute == COMPUTE_64F_PEDANTIC;
    const bool whole = types->compute == COMPUTE_32I || types->compute == COMPUTE_32I_PEDANTIC;
    const bool is_double = types->a == CUBLAS_R_64F || types->a == CUBLAS_C_64F;
    const bool is_float = types->a == CUBLAS_R_32F || types->a == CUBLAS_C_32F;
    CUBLAS_REJECT((is_double || is_float) && (types->a != types->c || wide != is_double || whole),
                  CUBLAS_NOT_SUPPORTED);
    if (is_double || is_float)
        return cublas_launch_product(handle, (enum cublas_type)types->a, product, members);
    CUBLAS_REJECT(wide || (whole && types->c != CUBLAS_R_32I) ||
                      (!whole && types->c == CUBLAS_R_32I),
                  CUBLAS_NOT_SUPPORTED);
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        if ((int)kernels[i].in == types->a && (int)kernels[i].out == types->c)
            return product->m <= 0 || product->n <= 0
                       ? CUBLAS_OK
                       : launch_products(handle, 0, kernels[i].name, tiles(product), types, product,
                                         members);
    }
    return COMMON_REFUSE("cuBLAS: a product of matrices of these types", CUBLAS_NOT_SUPPORTED);
}

int cublas_launch_solve(struct cublas_handle *handle, enum cublas_type type,
                        const struct cublas_solve *solve, int64_t members)
{
    struct cublas_solve part = *solve;
    int status = CUBLAS_OK;
    if (solve->m <= 0 || solve->n <= 0)
        return CUBLAS_OK;
    for (int64_t done = 0; done < members && !status; done += MOST_MEMBERS) {
        const int64_t left = members - done;
        status =
            launch(handle, cublas_level3_ptx, letter_of(type), "solve", &part, (uint64_t)solve->n,
                   CUBLAS_PIVOT_THREADS, left < MOST_MEMBERS ? left : MOST_MEMBERS);
        advance(&part.a, type, MOST_MEMBERS);
        advance(&part.x, type, MOST_MEMBERS);
    }
    return status;
}

int cublas_launch_one(struct cublas_handle *handle, enum cublas_type type, const char *name,
                      void *parameter, uint64_t blocks)
{
    return launch(handle, cublas_level1_ptx, letter_of(type), name, parameter, blocks,
                  CUBLAS_THREADS, 1);
}

int cublas_launch_factor(struct cublas_handle *handle, enum cublas_type type, const char *name,
                         struct cublas_factor *factor, int64_t members)
{
    return launch(handle, cublas_level3_ptx, letter_of(type), name, factor, (uint64_t)members,
                  CUBLAS_PIVOT_THREADS, 1);
}
