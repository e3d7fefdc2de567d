// SPDX-License-Identifier: Apache-2.0
// Limits, descriptors, folders, the environment and rights of the process.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.h"

// Brings results to three kinds of memory, and prints them.
static void bring_some(void)
{
    static const enum place places[] = {BLOCK, PINNED, STATIC};
    for (unsigned i = 0; i < 3; i++) {
        const struct result result = place_result(places[i]);
        for (unsigned round = 0; round < 2; round++) {
            bring(&result, i + round);
            say_good(name_of(places[i]), result.words, result.count, i + round);
        }
    }
}

static void limit(int which, rlim_t value)
{
    struct rlimit found;
    getrlimit(which, &found);
    found.rlim_cur = value;
    say("setrlimit", setrlimit(which, &found));
}

// --- Resource limits -----------------------------------------------------------------------------

static rlim_t mapped_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = sure(fopen("/proc/self/statm", "r"));
    if (fscanf(file, "%lu", &pages) != 1)
        exit(1);
    fclose(file);
    return (rlim_t)pages * PAGE;
}

// The address space may grow by only 300 MiB, which arenas of malloc count against.
void limits_address_space(void)
{
    limit(RLIMIT_AS, mapped_bytes() + (300 << 20));
    bring_some();
    void *memory = malloc(8 << 20);
    printf("%d\n", memory != NULL);
    free(memory);
}

// Set before CUDA is there.
void limits_address_space_early(void)
{
    limit(RLIMIT_AS, (rlim_t)6 << 30);
    start();
    bring_some();
}

void limits_data(void)
{
    limit(RLIMIT_DATA, (rlim_t)1 << 30);
    start();
    bring_some();
}

// All descriptors are in use.
void limits_descriptors(void)
{
    int files[64], count = 0;
    limit(RLIMIT_NOFILE, 40);
    while (count < 64 && (files[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    printf("%s\n", strerror(errno));
    bring_some();
    while (count > 0)
        close(files[--count]);
    bring_some();
}

void limits_descriptors_early(void)
{
    limit(RLIMIT_NOFILE, 12);
    start();
    bring_some();
}

void limits_no_descriptors(void)
{
    limit(RLIMIT_NOFILE, 0);
    bring_some();
}

void limits_stack(void)
{
    limit(RLIMIT_STACK, 256 << 10);
    bring_some();
}

// No large file may be written; the signal would end the program.
void limits_file_size(void)
{
    limit(RLIMIT_FSIZE, 4096);
    start();
    bring_some();
}

void limits_processes(void)
{
    start();
    limit(RLIMIT_NPROC, 0);
    bring_some();
}

void limits_locked(void)
{
    limit(RLIMIT_MEMLOCK, 0);
    start();
    bring_some();
}

void limits_core(void)
{
    limit(RLIMIT_CORE, 0);
    prctl(PR_SET_DUMPABLE, 0);
    start();
    bring_some();
    printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
}

// --- Descriptors ---------------------------------------------------------------------------------

// The next descriptor is the lowest free one, as natively.
void limits_next_descriptor(void)
{
    int first = open("/dev/null", O_RDONLY);
    printf("%d\n", first);
    start();
    for (unsigned i = 0; i < 3; i++) {
        const struct result result = place_result(BLOCK);
        const int file = open("/dev/null", O_RDONLY);
        printf("%d\n", file);
        bring(&result, i);
        const int second = open("/dev/null", O_RDONLY);
        printf("%d\n", second);
        close(file);
    }
}

// Closes all descriptors but the first three, as daemons do.
void limits_closed(void)
{
    bring_some();
    closefrom(3);
    bring_some();
    say("close_range", close_range(3, UINT_MAX, 0));
    bring_some();
}

void limits_closed_early(void)
{
    closefrom(3);
    start();
    bring_some();
}

// Without standard streams, files that the program opens get their numbers.
void limits_no_standard(void)
{
    close(0);
    close(1);
    close(2);
    start();
    const int file = open("output", O_WRONLY | O_CREAT | O_APPEND, 0666);
    dprintf(file, "descriptor %d\n", file);
    const struct result result = place_result(BLOCK);
    bring(&result, 4);
    dprintf(file, "%u\n", count_good(result.words, result.count, 4));
    const int other = open("/dev/null", O_RDONLY);
    dprintf(file, "descriptor %d\n", other);
}

// Takes every number below 100 for itself, also what is in use.
void limits_dup_over(void)
{
    const int file = open("/dev/null", O_RDONLY);
    bring_some();
    for (int i = 3; i < 100; i++)
        dup2(file, i);
    bring_some();
}

void limits_unshared_files(void)
{
    say("unshare", syscall(SYS_unshare, 0x400)); // CLONE_FILES
    bring_some();
}

void limits_input(void)
{
    char line[64];
    while (fgets(line, sizeof(line), stdin))
        fputs(line, stdout);
    bring_some();
    printf("%d\n", getchar() == EOF);
}

// --- Folders, environment ------------------------------------------------------------------------

void limits_folder(void)
{
    say("mkdir", mkdir("gone", 0700));
    say("chdir", chdir("gone"));
    say("rmdir", rmdir("../gone"));
    start();
    bring_some();
    say("open", open("file", O_WRONLY | O_CREAT, 0600));
}

void limits_root(void)
{
    if (chroot(".") != 0) {
        not_here("chroot");
        return;
    }
    bring_some();
    say("open", open("/etc/passwd", O_RDONLY));
}

void limits_mask(void)
{
    umask(0777);
    start();
    bring_some();
    close(open("made", O_WRONLY | O_CREAT, 0666));
    struct stat status;
    say("stat", stat("made", &status));
    printf("%o\n", status.st_mode & 0777);
    chmod("made", 0600);
    printf("%o\n", umask(022));
}

void limits_environment(void)
{
    clearenv();
    bring_some();
    say("setenv", setenv("TMPDIR", "/nowhere", 1));
    setenv("HOME", "/nowhere", 1);
    setenv("PATH", "", 1);
    bring_some();
}

void limits_environment_early(void)
{
    setenv("TMPDIR", "/nowhere", 1);
    setenv("HOME", "/nowhere", 1);
    setenv("XDG_CACHE_HOME", "/nowhere", 1);
    start();
    bring_some();
}

void limits_large_environment(void)
{
    static char value[100000];
    char name[16];
    memset(value, 'v', sizeof(value) - 1);
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "LARGE%u", i);
        setenv(name, value, 1);
    }
    say("exec", run_again("limits.folder"));
}

// --- Rights --------------------------------------------------------------------------------------

void limits_user(void)
{
    if (getuid() != 0) {
        errno = EPERM;
        not_here("setuid");
        return;
    }
    bring_some();
    say("setgid", setgid(65534));
    say("setuid", setuid(65534));
    bring_some();
    printf("%d %d\n", (int)getuid(), (int)geteuid());
}

// After this filter, calls that the program does not need fail.
static void forbid(const int *numbers, unsigned count)
{
    struct sock_filter code[32];
    unsigned at = 0;
    code[at++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < count; i++) {
        code[at++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 1);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {(unsigned short)at, code};
    say("no new rights", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    say("filter", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

void limits_filter_files(void)
{
    static const int numbers[] = {SYS_openat, SYS_socket, SYS_memfd_create, SYS_connect};
    bring_some();
    forbid(numbers, 4);
    bring_some();
}

// Not even mprotect.
void limits_filter_memory(void)
{
    static const int numbers[] = {SYS_mprotect, SYS_mremap, SYS_madvise, SYS_userfaultfd,
                                  SYS_ptrace};
    bring_some();
    forbid(numbers, 5);
    bring_some();
}

void limits_filter_signals(void)
{
    static const int numbers[] = {SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_tgkill,
                                  SYS_sigaltstack};
    bring_some();
    forbid(numbers, 4);
    bring_some();
}

// Set before CUDA: glint may not connect to its recorder.
void limits_filter_early(void)
{
    static const int numbers[] = {SYS_socket, SYS_connect, SYS_sendmsg, SYS_recvmsg};
    forbid(numbers, 4);
    start();
    bring_some();
}

void limits_personality(void)
{
    printf("%d\n", personality(0xffffffff) >= 0);
    personality(ADDR_NO_RANDOMIZE);
    say("exec", run_again("limits.folder"));
}

// --- Mappings ------------------------------------------------------------------------------------

// Nearly all mappings that the system allows are in use.
void limits_mappings(void)
{
    long most = 0;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    if (!file || fscanf(file, "%ld", &most) != 1 || most > 300000) {
        not_here("a small vm.max_map_count");
        return;
    }
    fclose(file);
    char *memory = sure(mmap(NULL, (size_t)most * 2 * PAGE, PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    const struct result result = place_result(BLOCK), other = place_result(PINNED);
    bring(&result, 1);
    bring(&other, 2);
    long made = 0;
    while (made < most && mprotect(memory + 2 * made * PAGE, PAGE, PROT_NONE) == 0)
        made++;
    // Using the results takes no mapping natively.
    say_good("block", result.words, result.count, 1);
    say_good("pinned", other.words, other.count, 2);
    munmap(memory, (size_t)most * 2 * PAGE);
    bring(&result, 9);
    say_good("block", result.words, result.count, 9);
}
