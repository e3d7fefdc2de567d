// SPDX-License-Identifier: Apache-2.0
// Handles and descriptors of cublasLt, and the choice of algorithms, of which there is one.
#include <stdlib.h>
#include <string.h>

#include "lt.h"

COMMON_API int cublasLtCreate(void **handle)
{
    CUBLAS_REJECT(!handle, CUBLAS_INVALID_VALUE);
    if (common_context() != CUDA_SUCCESS)
        return CUBLAS_NOT_INITIALIZED;
    *handle = malloc(1); // has nothing to hold; a program may also pass the handle of cuBLAS
    return *handle ? CUBLAS_OK : CUBLAS_ALLOC_FAILED;
}

COMMON_API int cublasLtDestroy(void *handle)
{
    CUBLAS_REJECT(!handle, CUBLAS_NOT_INITIALIZED);
    free(handle);
    return CUBLAS_OK;
}

COMMON_API size_t cublasLtGetVersion(void)
{
    return STANDIN_VERSION * 10000;
}

COMMON_API size_t cublasLtGetCudartVersion(void)
{
    return STANDIN_VERSION * 1000;
}

COMMON_API int cublasLtGetProperty(int property, int *value)
{
    CUBLAS_REJECT(!value || property < 0 || property > 2, CUBLAS_INVALID_VALUE);
    *value = property == 0 ? STANDIN_VERSION : 0;
    return CUBLAS_OK;
}

COMMON_API const char *cublasLtGetStatusName(int status)
{
    return cublas_status_name(status);
}

COMMON_API const char *cublasLtGetStatusString(int status)
{
    return cublas_status_text(status);
}

// --- Attributes ----------------------------------------------------------------------------------

// A member of a descriptor that programs set and get.
struct cublas_attribute {
    int number;
    size_t offset, size_bytes;
};

#define ATTRIBUTE(number, structure, member)                                                   \
    {                                                                                          \
        number, offsetof(struct structure, member), sizeof(((struct structure *)NULL)->member) \
    }

static const struct cublas_attribute layout_attributes[] = {
    ATTRIBUTE(0, cublas_layout, type),   ATTRIBUTE(1, cublas_layout, order),
    ATTRIBUTE(2, cublas_layout, rows),   ATTRIBUTE(3, cublas_layout, columns),
    ATTRIBUTE(4, cublas_layout, ld),     ATTRIBUTE(5, cublas_layout, members),
    ATTRIBUTE(6, cublas_layout, stride),
};

static const struct cublas_attribute matmul_attributes[] = {
    ATTRIBUTE(0, cublas_matmul, compute),
    ATTRIBUTE(1, cublas_matmul, scalar),
    ATTRIBUTE(2, cublas_matmul, pointer_mode),
    ATTRIBUTE(3, cublas_matmul, a_operation),
    ATTRIBUTE(4, cublas_matmul, b_operation),
    ATTRIBUTE(5, cublas_matmul, c_operation),
    ATTRIBUTE(6, cublas_matmul, fill),
    ATTRIBUTE(7, cublas_matmul, epilogue),
    ATTRIBUTE(8, cublas_matmul, bias),
    ATTRIBUTE(10, cublas_matmul, bias_batch),
    ATTRIBUTE(15, cublas_matmul, sm_count_target),
    ATTRIBUTE(25, cublas_matmul, fast_sums),
    ATTRIBUTE(26, cublas_matmul, bias_type),
};

static const struct cublas_attribute *find(const struct cublas_attribute *attributes, size_t count,
                                           int number)
{
    for (size_t i = 0; i < count; i++) {
        if (attributes[i].number == number)
            return &attributes[i];
    }
    return NULL;
}

static int set(void *descriptor, const struct cublas_attribute *attribute, const void *value,
               size_t size_bytes)
{
    CUBLAS_REJECT(!descriptor || !value || size_bytes != attribute->size_bytes,
                  CUBLAS_INVALID_VALUE);
    memcpy((char *)descriptor + attribute->offset, value, size_bytes);
    return CUBLAS_OK;
}

static int get(const void *descriptor, const struct cublas_attribute *attribute, void *value,
               size_t size_bytes, size_t *written)
{
    CUBLAS_REJECT(!descriptor || (!value && size_bytes) || (!size_bytes && !written),
                  CUBLAS_INVALID_VALUE);
    if (written)
        *written = attribute->size_bytes;
    if (!size_bytes)
        return CUBLAS_OK;
    CUBLAS_REJECT(size_bytes < attribute->size_bytes, CUBLAS_INVALID_VALUE);
    memcpy(value, (const char *)descriptor + attribute->offset, attribute->size_bytes);
    return CUBLAS_OK;
}

#define ATTRIBUTES(Name, structure, table)                                                       \
    COMMON_API int cublasLt##Name##SetAttribute(struct structure *to, int number,                \
                                                const void *value, size_t size_bytes)            \
    {                                                                                            \
        const struct cublas_attribute *const attribute =                                         \
            find(table, sizeof(table) / sizeof(table[0]), number);                               \
        return attribute ? set(to, attribute, value, size_bytes)                                 \
                         : COMMON_REFUSE("this attribute in cublasLt" #Name "SetAttribute",      \
                                         CUBLAS_NOT_SUPPORTED);                                  \
    }                                                                                            \
    COMMON_API int cublasLt##Name##GetAttribute(const struct structure *from, int number,        \
                                                void *value, size_t size_bytes, size_t *written) \
    {                                                                                            \
        const struct cublas_attribute *const attribute =                                         \
            find(table, sizeof(table) / sizeof(table[0]), number);                               \
        return attribute ? get(from, attribute, value, size_bytes, written)                      \
                         : COMMON_REFUSE("this attribute in cublasLt" #Name "GetAttribute",      \
                                         CUBLAS_NOT_SUPPORTED);                                  \
    }
ATTRIBUTES(MatrixLayout, cublas_layout, layout_attributes)
ATTRIBUTES(MatmulDesc, cublas_matmul, matmul_attributes)

// --- Descriptors ---------------------------------------------------------------------------------

COMMON_API int cublasLtMatrixLayoutInit_internal(struct cublas_layout *layout, size_t size_bytes,
                                                 int type, uint64_t rows, uint64_t columns,
                                                 int64_t ld)
{
    CUBLAS_REJECT(!layout, CUBLAS_INVALID_VALUE);
    CUBLAS_REJECT(size_bytes < sizeof(*layout), CUBLAS_ALLOC_FAILED);
    *layout = (struct cublas_layout){type, CUBLAS_BY_COLUMNS, rows, columns, ld, 1, 0};
    return CUBLAS_OK;
}

COMMON_API int cublasLtMatrixLayoutCreate(struct cublas_layout **layout, int type, uint64_t rows,
                                          uint64_t columns, int64_t ld)
{
    CUBLAS_REJECT(!layout, CUBLAS_INVALID_VALUE);
    *layout = malloc(sizeof(**layout));
    CUBLAS_REJECT(!*layout, CUBLAS_ALLOC_FAILED);
    return cublasLtMatrixLayoutInit_internal(*layout, sizeof(**layout), type, rows, columns, ld);
}

COMMON_API int cublasLtMatrixLayoutDestroy(struct cublas_layout *layout)
{
    free(layout);
    return CUBLAS_OK;
}

COMMON_API int cublasLtMatmulDescInit_internal(struct cublas_matmul *matmul, size_t size_bytes,
                                               int compute, int scalar)
{
    CUBLAS_REJECT(!matmul, CUBLAS_INVALID_VALUE);
    CUBLAS_REJECT(size_bytes < sizeof(*matmul), CUBLAS_ALLOC_FAILED);
    *matmul = (struct cublas_matmul){.compute = compute,
                                     .scalar = scalar,
                                     .epilogue = CUBLAS_EPILOGUE_DEFAULT,
                                     .fill = 2,
                                     .bias_type = -1};
    return CUBLAS_OK;
}

COMMON_API int cublasLtMatmulDescCreate(struct cublas_matmul **matmul, int compute, int scalar)
{
    CUBLAS_REJECT(!matmul, CUBLAS_INVALID_VALUE);
    *matmul = malloc(sizeof(**matmul));
    CUBLAS_REJECT(!*matmul, CUBLAS_ALLOC_FAILED);
    return cublasLtMatmulDescInit_internal(*matmul, sizeof(**matmul), compute, scalar);
}

COMMON_API int cublasLtMatmulDescDestroy(struct cublas_matmul *matmul)
{
    free(matmul);
    return CUBLAS_OK;
}

// cublasLtMatmulPreference_t: nothing in it changes the algorithm.
struct cublas_preference {
    uint64_t workspace_bytes;
};

COMMON_API int cublasLtMatmulPreferenceInit_internal(struct cublas_preference *preference,
                                                     size_t size_bytes)
{
    CUBLAS_REJECT(!preference, CUBLAS_INVALID_VALUE);
    CUBLAS_REJECT(size_bytes < sizeof(*preference), CUBLAS_ALLOC_FAILED);
    *preference = (struct cublas_preference){0};
    return CUBLAS_OK;
}

COMMON_API int cublasLtMatmulPreferenceCreate(struct cublas_preference **preference)
{
    CUBLAS_REJECT(!preference, CUBLAS_INVALID_VALUE);
    *preference = calloc(1, sizeof(**preference));
    return *preference ? CUBLAS_OK : CUBLAS_ALLOC_FAILED;
}

COMMON_API int cublasLtMatmulPreferenceDestroy(struct cublas_preference *preference)
{
    free(preference);
    return CUBLAS_OK;
}

COMMON_API int cublasLtMatmulPreferenceSetAttribute(struct cublas_preference *preference,
                                                    int number, const void *value,
                                                    size_t size_bytes)
{
    enum { WORKSPACE_BYTES = 1 };
    CUBLAS_REJECT(!preference || !value, CUBLAS_INVALID_VALUE);
    if (number != WORKSPACE_BYTES)
        return CUBLAS_OK;
    CUBLAS_REJECT(size_bytes != sizeof(preference->workspace_bytes), CUBLAS_INVALID_VALUE);
    memcpy(&preference->workspace_bytes, value, size_bytes);
    return CUBLAS_OK;
}

// --- Algorithms ----------------------------------------------------------------------------------

struct cublas_algorithm {
    uint64_t data[8];
};

// cublasLtMatmulHeuristicResult_t
struct cublas_heuristic {
    struct cublas_algorithm algorithm;
    size_t workspace_bytes;
    int32_t state;
    float waves;
    int32_t reserved[4];
};

COMMON_API int
cublasLtMatmulAlgoGetHeuristic(void *handle, const struct cublas_matmul *matmul,
                               const struct cublas_layout *a, const struct cublas_layout *b,
                               const struct cublas_layout *c, const struct cublas_layout *d,
                               const struct cublas_preference *preference, int wanted,
                               struct cublas_heuristic *results, int *found)
{
    (void)preference;
    CUBLAS_CHECK(handle, matmul && a && b && c && d && wanted > 0 && results && found);
    *results = (struct cublas_heuristic){.waves = 1};
    *found = 1;
    return CUBLAS_OK;
}

COMMON_API int cublasLtMatmulAlgoGetIds(void *handle, int compute, int scalar, int a, int b, int c,
                                        int d, int wanted, int *ids, int *found)
{
    (void)compute, (void)scalar, (void)a, (void)b, (void)c, (void)d;
    CUBLAS_CHECK(handle, wanted > 0 && ids && found);
    ids[0] = 0;
    *found = 1;
    return CUBLAS_OK;
}

COMMON_API int cublasLtMatmulAlgoInit(void *handle, int compute, int scalar, int a, int b, int c,
                                      int d, int id, struct cublas_algorithm *algorithm)
{
    (void)compute, (void)scalar, (void)a, (void)b, (void)c, (void)d;
    CUBLAS_CHECK(handle, algorithm && id == 0);
    *algorithm = (struct cublas_algorithm){{0}};
    return CUBLAS_OK;
}

COMMON_API int cublasLtMatmulAlgoCheck(void *handle, const struct cublas_matmul *matmul,
                                       const struct cublas_layout *a, const struct cublas_layout *b,
                                       const struct cublas_layout *c, const struct cublas_layout *d,
                                       const struct cublas_algorithm *algorithm,
                                       struct cublas_heuristic *result)
{
    CUBLAS_CHECK(handle, matmul && a && b && c && d && algorithm && result);
    *result = (struct cublas_heuristic){.waves = 1};
    return CUBLAS_OK;
}
