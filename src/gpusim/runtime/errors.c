// SPDX-License-Identifier: Apache-2.0
// The names and texts of the runtime's error codes. They are the same as in NVIDIA's runtime,
// because programs print them and their tests compare the output.
#include "runtime.h"

#define ERROR(code, text) \
    {                     \
        code, #code, text \
    }

// Sorted by code.
static const struct {
    cudaError_t code;
    const char *name, *text;
} errors[] = {
#include "gpusim/errors.def"
};

// Returns the index of a code, or -1.
static int find(cudaError_t code)
{
    const size_t count = sizeof errors / sizeof errors[0];
    size_t found = base_search(0, count, i, errors[i].code < code);
    return found < count && errors[found].code == code ? (int)found : -1;
}

const char *cudaGetErrorName(cudaError_t error)
{
    int index = find(error);
    return index < 0 ? "unrecognized error code" : errors[index].name;
}

const char *cudaGetErrorString(cudaError_t error)
{
    int index = find(error);
    return index < 0 ? "unrecognized error code" : errors[index].text;
}
