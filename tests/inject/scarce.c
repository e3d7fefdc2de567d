// SPDX-License-Identifier: Apache-2.0
// A library to preload behind libglint.so. Only SCARCE_MAPPINGS of libglint.so's mappings succeed;
// those of other callers always do. libglint.so makes its own system calls, so a filter stops the
// calls of mmap that come from its code, and the handler of the signal makes or refuses them.
#include <errno.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static _Atomic long made;
static long most;

struct range {
    uint64_t low, high; // addresses of code
};

#if defined(__x86_64__)
enum { ARCHITECTURE = AUDIT_ARCH_X86_64 };
#define REGISTER(i, context) ((context)->uc_mcontext.gregs[registers[i]])
#define RESULT(context)      ((context)->uc_mcontext.gregs[REG_RAX])
static const int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
#else
enum { ARCHITECTURE = AUDIT_ARCH_AARCH64 };
#define REGISTER(i, context) ((context)->uc_mcontext.regs[i])
#define RESULT(context)      ((context)->uc_mcontext.regs[0])
#endif

static void map(int signal, siginfo_t *about, void *user)
{
    ucontext_t *context = user;
    const int error = errno;
    long result = -ENOMEM;
    (void)signal, (void)about;
    if (atomic_fetch_add(&made, 1) < most) {
        result = syscall(SYS_mmap, REGISTER(0, context), REGISTER(1, context), REGISTER(2, context),
                         REGISTER(3, context), REGISTER(4, context), REGISTER(5, context));
        if (result == -1)
            result = -errno;
    }
    RESULT(context) = (unsigned long)result;
    errno = error;
}

static int find_code(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct range *range = user;
    (void)bytes;
    if (!strstr(info->dlpi_name, "/libglint.so"))
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && header->p_flags & PF_X)
            *range = (struct range){info->dlpi_addr + header->p_vaddr,
                                    info->dlpi_addr + header->p_vaddr + header->p_memsz};
    }
    return 1;
}

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define LOW         FIELD(instruction_pointer)
#define HIGH                           \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
             offsetof(struct seccomp_data, instruction_pointer) + sizeof(uint32_t))
#define IF(what, value, yes, no) BPF_JUMP(BPF_JMP | (what) | BPF_K, (uint32_t)(value), yes, no)

__attribute__((constructor)) static void filter(void)
{
    struct range range = {0, 0};
    const char *text = getenv("SCARCE_MAPPINGS");
    if (!text || !dl_iterate_phdr(find_code, &range))
        return;
    most = strtol(text, NULL, 10);
    struct sock_filter steps[] = {
        FIELD(arch),
        IF(BPF_JEQ, ARCHITECTURE, 0, 12),
        FIELD(nr),
        IF(BPF_JEQ, SYS_mmap, 0, 10),
        HIGH, // at least range.low ...
        IF(BPF_JGT, range.low >> 32, 3, 0),
        IF(BPF_JEQ, range.low >> 32, 0, 7),
        LOW,
        IF(BPF_JGE, range.low, 0, 5),
        HIGH, // ... and below range.high
        IF(BPF_JGT, range.high >> 32, 3, 0),
        IF(BPF_JEQ, range.high >> 32, 0, 3),
        LOW,
        IF(BPF_JGE, range.high, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    const struct sock_fprog program = {sizeof(steps) / sizeof(steps[0]), steps};
    const struct sigaction action = {.sa_sigaction = map, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        abort();
}
