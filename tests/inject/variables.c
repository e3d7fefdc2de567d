// SPDX-License-Identifier: Apache-2.0
// Loads modules with variables, most of which it never looks up: program FILE. The program
// writes one of the modules to FILE.
#include <string.h>

#include "program.h"

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .b32 counter[6];\n"
    ".visible .const .align 4 .f32 table[16] = {0f3f800000};\n"
    ".global .align 1 .b8 _ZN5inner5bytesE[7];\n"
    "// .global .u32 not_there;\n"
    ".visible .global .attribute(.managed) .align 8 .b8 everywhere[40];\n"
    ".visible .entry first()\n{\n    .local .align 4 .b8 own[4];\n    ret;\n}\n"
    ".visible .entry second()\n{\n    ret;\n}\n";
static const char plain[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                            ".visible .entry none()\n{\n    ret;\n}\n";

static void launch(CUfunction function)
{
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
}

static CUdeviceptr address_of(CUmodule module, const char *name)
{
    CUdeviceptr address;
    CHECK(cuModuleGetGlobal_v2(&address, NULL, module, name));
    return address;
}

int main(int argc, char **argv)
{
    CUmodule module, unused, other;
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUcontext second;
    CUdeviceptr address;
    char values[64];
    if (argc != 2)
        return 2;
    start_thread();

    // glint reports the variables with the first function, and nothing more with the second.
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&function, module, "first"));
    CHECK(cuModuleGetFunction(&function, module, "second"));
    launch(function);
    address = address_of(module, "table"); // already reported
    CHECK(cuMemcpyDtoH_v2(values, address + 60, 4));
    address = address_of(module, "everywhere");
    CHECK(cuMemcpyDtoH_v2(values, address, 40));
    if (cuModuleGetGlobal_v2(&address, NULL, module, "not_there") != CUDA_ERROR_NOT_FOUND)
        return 3;

    // No function is requested, so glint only reports the variable that the program asks for.
    CHECK(cuModuleLoadData(&unused, ptx));
    (void)address_of(unused, "counter");
    if (cuModuleGetFunction(&function, unused, "third") != CUDA_ERROR_NOT_FOUND)
        return 3;

    // A module from a file, and a module without variables.
    FILE *file = fopen(argv[1], "we");
    if (!file || fwrite(ptx, 1, sizeof(ptx) - 1, file) != sizeof(ptx) - 1 || fclose(file) != 0)
        return 2;
    CHECK(cuModuleLoad(&other, argv[1]));
    CHECK(cuModuleGetFunction(&function, other, "first"));
    CHECK(cuModuleUnload(other));
    CHECK(cuModuleLoadData(&other, plain));
    CHECK(cuModuleGetFunction(&function, other, "none"));
    launch(function);

    // glint reports a library's variables when the program launches a kernel by its library handle.
    // A preserved image is read only then; the memory of another may be reused once it is loaded.
    CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
    void *value = NULL;
    CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, &preserved, &value, 1));
    CHECK(cuLibraryGetKernel(&kernel, library, "second"));
    launch((CUfunction)kernel);
    launch((CUfunction)kernel);
    CHECK(cuLibraryUnload(library));
    char *copy = malloc(sizeof(ptx));
    if (!copy)
        return 2;
    memcpy(copy, ptx, sizeof(ptx));
    CHECK(cuLibraryLoadData(&library, copy, NULL, NULL, 0, NULL, NULL, 0));
    memset(copy, 'x', sizeof(ptx));
    CHECK(cuLibraryGetKernel(&kernel, library, "second"));
    CHECK(cuKernelGetFunction(&function, kernel));
    free(copy);

    // A module in another context is a separate module.
    CHECK(cuCtxCreate_v2(&second, 0, 0));
    CHECK(cuModuleLoadData(&other, ptx));
    CHECK(cuModuleGetFunction(&function, other, "first"));
    CHECK(cuCtxDestroy_v2(second));
    return 0;
}
