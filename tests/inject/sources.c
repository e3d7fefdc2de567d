// SPDX-License-Identifier: Apache-2.0
// Copies host memory to an object, launches another kernel, does something to the memory, and then
// uses the object, in one way for each of its arguments. It prints what the profile must say about
// the source of the copy: 1, it was the same at the first use; 0, it was not; -, nothing.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "program.h"

enum { BYTES = 3 << 16 };

static const char ptx[] = ".version 7.0\n"
                          ".target sm_75\n"
                          ".address_size 64\n"
                          ".visible .entry nothing() { ret; }\n"
                          ".visible .entry first(.param .align 8 .b8 what[24])\n"
                          "{\n"
                          "    .reg .b64 %rd<3>;\n"
                          "    .reg .b32 %r<2>;\n"
                          "    ld.param.u64 %rd1, [what+16];\n"
                          "    cvta.to.global.u64 %rd2, %rd1;\n"
                          "    ld.global.u32 %r1, [%rd2];\n"
                          "    add.u32 %r1, %r1, 1;\n"
                          "    st.global.u32 [%rd2], %r1;\n"
                          "    ret;\n"
                          "}\n";

static CUdeviceptr device;
static CUfunction nothing, first;
static unsigned char *memory;

static void launch_nothing(void)
{
    CHECK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

// The kernel gets a structure, whose last member points into the object.
static void use(void)
{
    struct {
        uint64_t size, other;
        CUdeviceptr object;
    } what = {1, 2, device + 64};
    void *params[] = {&what};
    CHECK(cuLaunchKernel(first, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CHECK(cuCtxSynchronize());
}

static const char *same(void)
{
    CHECK(cuMemcpyHtoD_v2(device, memory, BYTES));
    launch_nothing();
    use();
    return "1";
}

static const char *changed(void)
{
    CHECK(cuMemcpyHtoD_v2(device, memory, BYTES));
    launch_nothing();
    memory[BYTES - 1]++;
    use();
    return "0";
}

static const char *unmapped(void)
{
    CHECK(cuMemcpyHtoD_v2(device, memory, BYTES));
    launch_nothing();
    munmap(memory + BYTES / 3, BYTES / 3);
    use();
    return "0";
}

static const char *closed(void)
{
    CHECK(cuMemcpyHtoD_v2(device, memory, BYTES));
    launch_nothing();
    mprotect(memory, BYTES, PROT_NONE);
    use();
    mprotect(memory, BYTES, PROT_READ);
    return "0";
}

// A load from it would raise SIGBUS.
static const char *truncated(void)
{
    int file = memfd_create("source", 0);
    if (file < 0 || ftruncate(file, BYTES))
        exit(1);
    void *mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(cuMemcpyHtoD_v2(device, mapped, BYTES));
    launch_nothing();
    if (ftruncate(file, 0))
        exit(1);
    use();
    return "0";
}

// Without a launch in between, it is not looked at again.
static const char *at_once(void)
{
    CHECK(cuMemcpyHtoD_v2(device, memory, BYTES));
    use();
    return "-";
}

static const char *small(void)
{
    CHECK(cuMemcpyHtoD_v2(device, memory, 4095));
    launch_nothing();
    use();
    return "-";
}

static const char *pinned(void)
{
    void *host;
    CHECK(cuMemAllocHost_v2(&host, BYTES));
    memset(host, 5, BYTES);
    CHECK(cuMemcpyHtoDAsync_v2(device, host, BYTES, NULL));
    launch_nothing();
    use();
    return "1";
}

static const char *copied_back(void)
{
    static unsigned char back[64];
    CHECK(cuMemcpyHtoD_v2(device, memory, BYTES));
    launch_nothing();
    CHECK(cuMemcpyDtoH_v2(back, device + 128, sizeof(back)));
    memory[0]++; // too late to matter
    use();
    return "1";
}

static const char *after_use(void)
{
    use();
    CHECK(cuMemcpyHtoD_v2(device, memory, 4095));
    CHECK(cuMemcpyHtoD_v2(device, memory, BYTES));
    launch_nothing();
    use();
    return "-\n1"; // the first copy is small; that the object was used before matters to nobody
}

static const char *twice(void)
{
    CHECK(cuMemcpyHtoD_v2(device, memory, BYTES / 3));
    CHECK(cuMemcpyHtoD_v2(device + BYTES / 3, memory + BYTES / 3, BYTES / 3));
    launch_nothing();
    memory[BYTES / 3]++;
    use();
    return "1\n0";
}

static const char *freed(void)
{
    CHECK(cuMemcpyHtoD_v2(device, memory, BYTES));
    launch_nothing();
    CHECK(cuMemFree_v2(device));
    CHECK(cuMemAlloc_v2(&device, BYTES));
    use();
    return "-";
}

// The program kills itself if it makes the call by which the source would be read.
static const char *filtered(void)
{
    CHECK(cuMemcpyHtoD_v2(device, memory, BYTES));
    launch_nothing();
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 270, 0, 1), // process_vm_readv of aarch64
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 310, 0, 1), // of x86_64
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        exit(1);
    use();
    return "0";
}

static const struct {
    const char *name;
    const char *(*run)(void);
} cases[] = {
    {"same", same},           {"changed", changed},     {"unmapped", unmapped},
    {"closed", closed},       {"truncated", truncated}, {"at_once", at_once},
    {"small", small},         {"pinned", pinned},       {"copied_back", copied_back},
    {"after_use", after_use}, {"twice", twice},         {"freed", freed},
    {"filtered", filtered},
};

int main(int argc, char **argv)
{
    CUmodule module;
    start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&nothing, module, "nothing"));
    CHECK(cuModuleGetFunction(&first, module, "first"));
    CHECK(cuMemAlloc_v2(&device, BYTES));
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < BYTES; i++)
        memory[i] = (unsigned char)(i * 7);
    for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            printf("%s\n", cases[i].run());
            return 0;
        }
    }
    return 2;
}
