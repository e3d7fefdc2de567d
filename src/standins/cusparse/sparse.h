// SPDX-License-Identifier: Apache-2.0
// What the files of cuSPARSE share: handles, descriptors and launches. A function returns a
// cusparseStatus_t.
#ifndef GLINT_STANDINS_CUSPARSE_SPARSE_H
#define GLINT_STANDINS_CUSPARSE_SPARSE_H

#include "kernels.h"
#include "standins/common/common.h"

// Values of cusparseStatus_t.
enum cusparse_status {
    CUSPARSE_OK = 0,
    CUSPARSE_NOT_INITIALIZED = 1,
    CUSPARSE_ALLOC_FAILED = 2,
    CUSPARSE_INVALID_VALUE = 3,
    CUSPARSE_EXECUTION_FAILED = 6,
    CUSPARSE_MATRIX_TYPE_NOT_SUPPORTED = 8,
    CUSPARSE_NOT_SUPPORTED = 10,
    CUSPARSE_INSUFFICIENT_RESOURCES = 11,
};

enum cusparse_operation { CUSPARSE_N, CUSPARSE_T, CUSPARSE_H }; // values of cusparseOperation_t
enum cusparse_format { CUSPARSE_CSR = 1, CUSPARSE_CSC, CUSPARSE_COO }; // values of cusparseFormat_t
enum cusparse_order { CUSPARSE_BY_COLUMNS = 1, CUSPARSE_BY_ROWS };     // values of cusparseOrder_t

// What programs know as cusparseHandle_t. One thread at a time uses a handle.
struct cusparse_handle {
    CUstream stream;
    bool device_scalars; // CUSPARSE_POINTER_MODE_DEVICE
    CUdeviceptr
        result; // 16 bytes, from the first product of vectors whose result goes to the host on
};

// The descriptor of the older interface: cusparseMatDescr_t.
struct cusparse_older_matrix {
    int type, fill, diagonal, base;
};

// What programs know as cusparseSpMatDescr_t.
struct cusparse_sparse_matrix {
    enum cusparse_format format;
    int64_t rows, columns, count;
    void *starts; // in COO: row indices
    void *minors; // column indices; in CSC: row indices
    void *values;
    int start_type, minor_type; // cusparseIndexType_t
    int base, type;
    int fill, diagonal; // attributes
    int members;        // of the batch
};

// cusparseDnMatDescr_t
struct cusparse_dense_matrix {
    int64_t rows, columns, ld;
    void *values;
    int type, order;
    int members;
    int64_t stride;
};

// cusparseDnVecDescr_t
struct cusparse_dense_vector {
    int64_t size;
    void *values;
    int type;
};

// cusparseSpVecDescr_t
struct cusparse_sparse_vector {
    int64_t size, count;
    void *indices, *values;
    int index_type, base, type;
};

int cusparse_status_of(CUresult result);
bool cusparse_is_type(int type); // a type of values that kernels know
size_t cusparse_bytes(int type);

struct cusparse_scalar cusparse_scalar(const struct cusparse_handle *handle, int type,
                                       const void *value);
struct cusparse_indices cusparse_indices(const void *address, int index_type, int base);
struct cusparse_entries cusparse_entries(const struct cusparse_sparse_matrix *matrix);

// Launches "cusparse_" LETTER NAME, or "cusparse_" NAME if type is negative, for so many threads.
int cusparse_launch(const struct cusparse_handle *handle, int type, const char *name,
                    int64_t threads, void *parameter);

// The same for so many blocks of so many threads.
int cusparse_launch_blocks(const struct cusparse_handle *handle, int type, const char *name,
                           uint64_t blocks, unsigned threads, void *parameter);

// The matrix op(B), to read or to write.
struct cusparse_dense cusparse_dense(const struct cusparse_dense_matrix *matrix, int operation);

// Copies from the device and waits.
int cusparse_read(const struct cusparse_handle *handle, void *to, CUdeviceptr from, size_t bytes);

// Makes sure that the handle has its bytes for a result.
int cusparse_need_result(struct cusparse_handle *handle);

// Returns from the calling function if a condition does not hold.
#define CUSPARSE_CHECK(handle, condition)    \
    do {                                     \
        if (!(handle))                       \
            return CUSPARSE_NOT_INITIALIZED; \
        if (!(condition))                    \
            return CUSPARSE_INVALID_VALUE;   \
    } while (0)

#endif
