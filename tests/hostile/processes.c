// SPDX-License-Identifier: Apache-2.0
// Processes that the program starts while work of the GPU is pending or results are unused.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

extern char **environ;

// Waits for a child and prints how it ended.
static void say_end(const char *what, pid_t child)
{
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        say(what, -1);
    else if (WIFSIGNALED(status))
        printf("%s: signal %d\n", what, WTERMSIG(status));
    else
        printf("%s: status %d\n", what, WEXITSTATUS(status));
}

static int good_status(const struct result *result, unsigned key)
{
    return count_good(result->words, result->count, key) == result->count ? 40 : 41;
}

// --- fork ----------------------------------------------------------------------------------------

// A child reads the results before its parent does; pinned and registered memory stay shared.
void processes_fork(const struct result *result, unsigned key)
{
    const pid_t child = fork();
    if (child == 0)
        _exit(good_status(result, key));
    say_end(name_of(result->place), child);
    say_good("parent", result->words, result->count, key);
}

// A child overwrites what its parent has not used; the parent must not see that.
void processes_fork_writes(const struct result *result, unsigned key)
{
    if (result->place == PINNED || result->place == REGISTERED || result->place == MANAGED)
        return;
    const pid_t child = fork();
    if (child == 0) {
        memset(result->words, 0, result->count * sizeof(unsigned));
        _exit(good_status(result, key));
    }
    say_end(name_of(result->place), child);
    say_good("parent", result->words, result->count, key);
}

// Forks while kernels run and a copy is under way.
void processes_fork_pending(void)
{
    const struct result result = place_result(PINNED);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned round = 0; round < 5; round++) {
        bring_async(&result, round, stream);
        const pid_t child = fork();
        if (child == 0)
            _exit(7);
        say_end("child", child);
        CHECK(cuStreamSynchronize(stream));
        say_good("parent", result.words, result.count, round);
    }
}

// CUDA does not work in a child of a process that has used it: the error must be the same.
void processes_fork_calls(void)
{
    const struct result result = place_result(BLOCK);
    bring(&result, 2);
    const pid_t child = fork();
    if (child == 0) {
        unsigned found[8] = {0};
        CUdeviceptr memory;
        printf("alloc %d\n", cuMemAlloc_v2(&memory, 64));
        printf("copy %d\n", cuMemcpyDtoH_v2(found, device_words, sizeof(found)));
        printf("synchronize %d\n", cuCtxSynchronize());
        printf("init %d\n", cuInit(0));
        fflush(stdout);
        _exit(good_status(&result, 2));
    }
    say_end("child", child);
}

// The usual way: children that use CUDA are forked before the parent does.
void processes_fork_first(void)
{
    pid_t children[3];
    for (unsigned i = 0; i < 3; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            start();
            const struct result result = place_result(i % 2 ? PINNED : BLOCK);
            bring(&result, i);
            exit(good_status(&result, i) + (int)i);
        }
    }
    start();
    const struct result result = place_result(BLOCK);
    bring(&result, 9);
    say_good("parent", result.words, result.count, 9);
    for (unsigned i = 0; i < 3; i++)
        say_end("child", children[i]);
}

static void *fork_in_thread(void *user)
{
    const struct result *result = user;
    for (unsigned i = 0; i < 5; i++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(good_status(result, 4));
        say_end("child", child);
    }
    return NULL;
}

// Forks in a thread, while another one uses the GPU.
void processes_fork_thread(void)
{
    pthread_t thread;
    struct result kept = place_result(BLOCK);
    const struct result other = place_result(MAPPED);
    bring(&kept, 4);
    pthread_create(&thread, NULL, fork_in_thread, &kept);
    unsigned good = 0;
    for (unsigned i = 0; i < 30; i++) {
        bring(&other, i);
        good += count_good(other.words, other.count, i) == other.count;
    }
    pthread_join(thread, NULL);
    printf("%u\n", good);
}

static unsigned prepared;

static void wait_before_fork(void)
{
    CHECK(cuCtxSynchronize());
    prepared++;
}

void processes_atfork(void)
{
    const struct result result = place_result(BLOCK);
    pthread_atfork(wait_before_fork, NULL, NULL);
    for (unsigned i = 0; i < 4; i++) {
        bring(&result, i);
        fill(device_words, WORDS, i, 1000000, NULL);
        const pid_t child = fork();
        if (child == 0)
            _exit(good_status(&result, i));
        say_end("child", child);
    }
    printf("%u\n", prepared);
}

void processes_double_fork(void)
{
    const struct result result = place_result(BLOCK);
    int ends[2];
    char byte = 0;
    bring(&result, 6);
    if (pipe(ends) != 0)
        exit(1);
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            byte = (char)good_status(&result, 6);
            _exit(write(ends[1], &byte, 1) != 1);
        }
        _exit(0);
    }
    say_end("child", child);
    say("read", read(ends[0], &byte, 1));
    printf("grandchild: %d\n", byte);
}

// The process that uses CUDA is a daemon, which outlives the one that was started.
void processes_daemon(void)
{
    say("daemon", daemon(1, 1));
    start();
    const struct result result = place_result(BLOCK);
    bring(&result, 3);
    say_good("daemon", result.words, result.count, 3);
}

// --- Other ways to make processes ----------------------------------------------------------------

void processes_vfork(const struct result *result, unsigned key)
{
    const pid_t child = vfork(); // NOLINT: this is what is tested
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    say_end(name_of(result->place), child);
    say_good("parent", result->words, result->count, key);
}

// Arguments of the new program are results.
void processes_spawn(const struct result *result, unsigned key)
{
    char *text = (char *)(result->words + 16);
    char *arguments[] = {"sh", "-c", text, NULL};
    pid_t child;
    put_text(text, "echo spawned; exit 3");
    const int failed = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
    say_end(name_of(result->place), child); // prints after the child
    say("spawn", failed);
    printf("%d\n", result->words[FEW_WORDS - 1] == word_of(FEW_WORDS - 1, key));
}

void processes_system(const struct result *result, unsigned key)
{
    char *text = (char *)(result->words + 16), line[64] = "";
    put_text(text, "echo by system; exit 2");
    printf("status %d\n", WEXITSTATUS(system(text)));
    put_text(text, "echo by popen");
    FILE *output = popen(text, "r");
    printf("%s", fgets(line, sizeof(line), output) ? line : "nothing\n");
    printf("status %d\n", pclose(output));
    printf("%d\n", result->words[FEW_WORDS - 1] == word_of(FEW_WORDS - 1, key));
}

static int in_clone(void *user)
{
    _exit(good_status(user, 8));
}

// Children that share the memory of their parent, by the system call itself.
void processes_clone(void)
{
    static char stack[1 << 16];
    struct result result = place_result(BLOCK);
    for (unsigned i = 0; i < 3; i++) {
        bring(&result, 8);
        const int flags = i == 0   ? SIGCHLD
                          : i == 1 ? CLONE_VM | CLONE_VFORK | SIGCHLD
                                   : CLONE_VM | SIGCHLD;
        say_end("clone", clone(in_clone, stack + sizeof(stack), flags, &result));
    }
}

void processes_clone_syscall(const struct result *result, unsigned key)
{
    const long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(good_status(result, key));
    say_end(name_of(result->place), (pid_t)child);
}

// Becomes another program while work is pending and results are unused.
void processes_exec(void)
{
    const struct result result = place_result(BLOCK);
    bring(&result, 2);
    fill(device_words, WORDS, 1, 2000000, NULL);
    puts("before");
    say("exec", run_again("processes.fork_first"));
}

void processes_exec_other(void)
{
    const struct result result = place_result(BLOCK);
    bring(&result, 2);
    say("exec", execl("/bin/sh", "sh", "-c", "echo another program; exit 6", (char *)NULL));
}

static void *exec_in_thread(void *user)
{
    (void)user;
    run_again("processes.fork_first");
    return NULL;
}

void processes_exec_in_thread(void)
{
    pthread_t thread;
    const struct result result = place_result(BLOCK);
    bring(&result, 2);
    pthread_create(&thread, NULL, exec_in_thread, NULL);
    for (;;)
        bring(&result, 3);
}

// --- Relations between processes -----------------------------------------------------------------

// A child asks to be killed with its parent's thread, and a parent asks to reap grandchildren.
void processes_prctl(void)
{
    const struct result result = place_result(BLOCK);
    int number = -1;
    bring(&result, 4);
    say("subreaper", prctl(PR_SET_CHILD_SUBREAPER, 1));
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_GET_PDEATHSIG, &number);
        if (fork() == 0)
            _exit(good_status(&result, 4));
        _exit(number);
    }
    say_end("child", child);
    int status;
    say("grandchild", waitpid(-1, &status, 0) > 0);
    printf("%d\n", WEXITSTATUS(status));
    say("no more", waitpid(-1, &status, 0));
}

// No child may be there that the program did not make.
void processes_wait_any(const struct result *result, unsigned key)
{
    int status;
    siginfo_t info;
    say("wait", waitpid(-1, &status, WNOHANG));
    say("waitid", waitid(P_ALL, 0, &info, WEXITED | WNOHANG));
    say("group", waitpid(0, &status, 0));
    say_good(name_of(result->place), result->words, result->count, key);
}

void processes_groups(void)
{
    const struct result result = place_result(BLOCK);
    bring(&result, 4);
    const pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        kill(0, SIGTERM); // the group is this process alone
        _exit(1);
    }
    say_end("child", child);
    say_good("parent", result.words, result.count, 4);
}

// A debugger: the child stops, its parent reads its memory and lets it go on.
void processes_ptrace(const struct result *result, unsigned key)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(good_status(result, key));
    }
    waitpid(child, &status, 0);
    printf("%s: stopped %d\n", name_of(result->place), WIFSTOPPED(status));
    errno = 0;
    const long word = ptrace(PTRACE_PEEKDATA, child, result->words + 2, NULL);
    printf("%d\n", errno == 0 && (unsigned)word == word_of(2, key));
    ptrace(PTRACE_CONT, child, NULL, NULL);
    say_end("child", child);
}

// The program itself is stopped and continued.
void processes_stopped(void)
{
    const struct result result = place_result(BLOCK);
    const pid_t self = getpid();
    for (unsigned i = 0; i < 3; i++) {
        bring(&result, i);
        fill(device_words, WORDS, i, 5000000, NULL);
        const pid_t child = fork();
        if (child == 0) {
            kill(self, SIGSTOP);
            usleep(20000);
            kill(self, SIGCONT);
            _exit(0);
        }
        say_end("child", child);
        CHECK(cuCtxSynchronize());
        say_good("stopped", result.words, result.count, i);
    }
}

// A child that stays behind when its parent has ended, and prints.
void processes_orphan(void)
{
    const struct result result = place_result(BLOCK);
    bring(&result, 5);
    fflush(stdout);
    if (fork() == 0) {
        const pid_t parent = getppid();
        for (unsigned i = 0; i < 20000 && getppid() == parent; i++)
            usleep(1000);
        say_good("orphan", result.words, result.count, 5);
        fflush(stdout);
        _exit(0);
    }
    _exit(11);
}

// A child reads the memory of its parent.
void processes_read_parent(const struct result *result, unsigned key)
{
    static unsigned found[WORDS];
    const struct iovec to = {found, result->count * sizeof(unsigned)};
    const struct iovec from = {result->words, result->count * sizeof(unsigned)};
    int ends[2];
    char byte = 0;
    if (pipe(ends) != 0)
        exit(1);
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        if (read(ends[0], &byte, 1) != 1)
            _exit(1);
        const ssize_t got = process_vm_readv(parent, &to, 1, &from, 1, 0);
        _exit(got < 0 ? 2 : count_good(found, result->count, key) == result->count ? 40 : 41);
    }
    bring(result, key); // so that it is newer than what the child inherited
    say("write", write(ends[1], &byte, 1));
    say_end(name_of(result->place), child);
    close(ends[0]);
    close(ends[1]);
}
