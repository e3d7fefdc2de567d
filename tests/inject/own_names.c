// SPDX-License-Identifier: Apache-2.0
// A C program whose own functions have names that the C library has, too, as ISO C allows. They do
// something else, and nobody but the program may call them.
#include <string.h>

#include "program.h"

static unsigned calls;

#define OWN(name)                           \
    int name(void);                         \
    int name(void)                          \
    {                                       \
        fprintf(stderr, "own %s\n", #name); \
        return (int)++calls;                \
    }
OWN(connect)
OWN(fallocate)
OWN(fcntl)
OWN(futimens)
OWN(geteuid)
OWN(getppid)
OWN(getrandom)
OWN(getrlimit)
OWN(linkat)
OWN(lseek)
OWN(madvise)
OWN(memfd_create)
OWN(mincore)
OWN(mkdir)
OWN(openat)
OWN(prctl)
OWN(pread)
OWN(process_vm_readv)
OWN(read)
OWN(readlink)
OWN(sbrk)
OWN(sched_getaffinity)
OWN(send)
OWN(sendmsg)
OWN(socket)
OWN(unlinkat)

// Adds its index to each word.
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 to)\n"
    "{\n    .reg .b64 %rd<4>;\n    .reg .b32 %r<3>;\n    ld.param.u64 %rd1, [to];\n"
    "    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %rd2, %r1, 4;\n    add.u64 %rd3, %rd1, %rd2;\n"
    "    ld.global.u32 %r2, [%rd3];\n    add.u32 %r2, %r2, %r1;\n"
    "    st.global.u32 [%rd3], %r2;\n    ret;\n}\n";

int main(void)
{
    static unsigned words[1 << 16];
    CUmodule module;
    CUfunction add;
    CUdeviceptr memory;
    start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CHECK(cuMemAlloc_v2(&memory, sizeof(words)));
    CHECK(cuMemsetD32_v2(memory, 5, 1 << 16));
    for (unsigned i = 0; i < 3; i++) {
        CHECK(cuLaunchKernel(add, 1, 1, 1, 256, 1, 1, 0, NULL, (void *[]){&memory}, NULL));
        CHECK(cuCtxSynchronize());
        CHECK(cuMemcpyDtoH_v2(words, memory, sizeof(words)));
        printf("%u %u\n", words[0], words[255]);
    }
    CHECK(cuMemFree_v2(memory));
    printf("%u calls of own functions\n", calls);
    return 0;
}
