// SPDX-License-Identifier: Apache-2.0
// Recognizes NVIDIA's libraries that use a GPU (cuBLAS, cuDNN, NCCL and the like) by the names of
// their files. NVRTC, which needs no GPU, is none of them, nor are the runtime and the driver.
// Inner header of src/base. It has no .c file because glint's smallest libraries do not contain
// src/base.
#ifndef GLINT_BASE_VENDOR_H
#define GLINT_BASE_VENDOR_H

#include <stddef.h>
#include <string.h>

// Returns how the name of the file begins, "libcublas" for "/usr/lib/libcublasLt.so.13"; NULL if it
// is no such library.
static inline const char *base_vendor_library(const char *path)
{
    static const char *const libraries[] = {
        "libcublas", "libcudnn",    "libcudss",    "libcufft",    "libcufile",
        "libcurand", "libcusolver", "libcusparse", "libcutensor", "libnccl",
        "libnpp",    "libnvjpeg",   "libnvinfer",  "libnvshmem",
    };
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
            return libraries[i];
    }
    return NULL;
}

#endif
