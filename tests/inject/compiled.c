// SPDX-License-Identifier: Apache-2.0
// A program whose kernels are machine code with line numbers, which has a copy of its PTX
// (compiled.ptx, in Triton's manner).
//
//   compiled forge PTX CUBIN   writes a cubin that has what is read of one: kernels and the copy
//   compiled data CUBIN        runs its kernels, loaded from memory
//   compiled file CUBIN        the same, loaded from the file
//
// LATE_CACHE is where the program itself says that Triton's cache is.
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

enum { MOST = 1 << 16, COUNT = 1000, BLOCKS = 2, THREADS = 128, SHARED = THREADS * 16 };

#define TRY(call)                                              \
    do {                                                       \
        const CUresult result = (call);                        \
        if (result != CUDA_SUCCESS) {                          \
            printf("%s failed with %d\n", #call, (int)result); \
            return 1;                                          \
        }                                                      \
    } while (0)

static size_t read_file(const char *path, char *bytes)
{
    FILE *file = fopen(path, "r");
    const size_t length = file ? fread(bytes, 1, MOST - 1, file) : 0;
    bytes[length] = '\0';
    if (file)
        fclose(file);
    return length;
}

// --- The cubin -----------------------------------------------------------------------------------

// What ptxas 13.0 keeps of a line: nothing of comments and debug information, no tabs before it.
static const char *keep(char *line)
{
    char *comment = strstr(line, "//");
    line += strspn(line, " \t");
    if (strncmp(line, "//", 2) == 0 || strncmp(line, ".loc", 4) == 0 ||
        strncmp(line, ".file", 5) == 0 || strncmp(line, ".b8 ", 4) == 0 ||
        strncmp(line, ".b32 ", 5) == 0)
        return "";
    if (comment)
        *comment = '\0';
    return line;
}

static int forge(const char *from, const char *to)
{
    enum { NAMES = 1, SYMBOLS, TEXTS, COPY, SECTIONS, KERNEL = 0x10, CUDA = 190 };
    static char ptx[MOST], copy[MOST];
    static struct {
        Elf64_Ehdr header;
        Elf64_Shdr sections[SECTIONS];
        Elf64_Sym symbols[3];
        char names[32], texts[32];
    } cubin = {.names = "\0.nv_debug_ptx_txt", .texts = "\0add_kernel\0count_kernel"};
    size_t bytes = 0;
    read_file(from, ptx);
    for (char *line = ptx, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        const char *kept = keep(line);
        memcpy(copy + bytes, kept, strlen(kept) + 1);
        bytes += strlen(kept) + 1;
    }
    memcpy(cubin.header.e_ident, ELFMAG, SELFMAG);
    cubin.header.e_ident[EI_CLASS] = ELFCLASS64;
    cubin.header.e_ident[EI_DATA] = ELFDATA2LSB;
    cubin.header.e_ident[EI_ABIVERSION] = 8;
    cubin.header.e_type = ET_EXEC;
    cubin.header.e_machine = CUDA;
    cubin.header.e_flags = 90 << 8;
    cubin.header.e_shoff = sizeof(cubin.header);
    cubin.header.e_shentsize = sizeof(Elf64_Shdr);
    cubin.header.e_shnum = SECTIONS;
    cubin.header.e_shstrndx = NAMES;
    const struct {
        uint32_t type;
        const void *at;
        size_t bytes;
    } contents[] = {{SHT_STRTAB, cubin.names, sizeof(cubin.names)},
                    {SHT_SYMTAB, cubin.symbols, sizeof(cubin.symbols)},
                    {SHT_STRTAB, cubin.texts, sizeof(cubin.texts)},
                    {SHT_PROGBITS, (const char *)&cubin + sizeof(cubin), bytes}};
    for (int i = NAMES; i < SECTIONS; i++) {
        cubin.sections[i].sh_type = contents[i - 1].type;
        cubin.sections[i].sh_offset =
            (uint64_t)((const char *)contents[i - 1].at - (const char *)&cubin);
        cubin.sections[i].sh_size = contents[i - 1].bytes;
    }
    cubin.sections[COPY].sh_name = 1;
    cubin.sections[SYMBOLS].sh_link = TEXTS;
    for (int i = 1; i < 3; i++)
        cubin.symbols[i] =
            (Elf64_Sym){i == 1 ? 1 : 12, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), KERNEL, COPY, 0, 0};
    FILE *file = fopen(to, "w");
    const int failed =
        !file || fwrite(&cubin, sizeof(cubin), 1, file) != 1 || fwrite(copy, bytes, 1, file) != 1;
    return (file && fclose(file)) || failed;
}

// --- The program ---------------------------------------------------------------------------------

static int show(const char *what, CUdeviceptr memory)
{
    unsigned values[COUNT], sum = 0;
    TRY(cuMemcpyDtoH_v2(values, memory, sizeof(values)));
    for (int i = 0; i < COUNT; i++)
        sum = sum * 31 + values[i];
    printf("%s %u\n", what, sum);
    return 0;
}

static int run(const char *how, const char *path)
{
    static char image[MOST];
    CUcontext context;
    CUmodule module;
    CUfunction add, count;
    CUdeviceptr a, b, c, d, unused, scratch = 0;
    unsigned values[COUNT];
    int n = COUNT / 2 - 12, registers; // a multiple of 4, so that only half is touched
    for (unsigned i = 0; i < COUNT; i++)
        values[i] = i * i;
    if (getenv("LATE_CACHE"))
        setenv("TRITON_CACHE_DIR", getenv("LATE_CACHE"), 1);
    TRY(cuInit(0));
    TRY(cuCtxCreate_v2(&context, 0, 0));
    if (strcmp(how, "data") == 0) {
        read_file(path, image);
        TRY(cuModuleLoadData(&module, image));
    } else {
        TRY(cuModuleLoad(&module, path));
    }
    TRY(cuModuleGetFunction(&add, module, "add_kernel"));
    TRY(cuModuleGetFunction(&count, module, "count_kernel"));
    TRY(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add));
    printf("at most %d threads\n", registers);
    TRY(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
    TRY(cuMemAlloc_v2(&a, sizeof(values)));
    TRY(cuMemAlloc_v2(&b, sizeof(values)));
    TRY(cuMemAlloc_v2(&c, sizeof(values)));
    TRY(cuMemAlloc_v2(&d, sizeof(values)));
    TRY(cuMemAlloc_v2(&unused, sizeof(values)));
    TRY(cuMemcpyHtoD_v2(a, values, sizeof(values)));
    TRY(cuMemcpyHtoD_v2(b, values, sizeof(values)));
    TRY(cuMemsetD32_v2(c, 7, COUNT));
    TRY(cuMemsetD32_v2(d, 9, COUNT));
    void *params[] = {&a, &b, &c, &n, &scratch};
    void *counted[] = {&d};
    TRY(cuLaunchKernel(add, BLOCKS, 1, 1, THREADS, 1, 1, SHARED, NULL, params, NULL));
    TRY(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, NULL, counted, NULL));
    TRY(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, NULL, counted, NULL));
    // One thread too many for the kernel.
    printf("refused with %d\n",
           (int)cuLaunchKernel(add, BLOCKS, 1, 1, THREADS + 1, 1, 1, SHARED, NULL, params, NULL));
    if (show("added", c) || show("counted", d))
        return 1;
    TRY(cuModuleUnload(module));
    printf("next descriptor %d\n", dup(0));
    return 0;
}

int main(int count, char **arguments)
{
    if (count == 4)
        return forge(arguments[2], arguments[3]);
    return count == 3 ? run(arguments[1], arguments[2]) : 2;
}
