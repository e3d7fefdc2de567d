// SPDX-License-Identifier: Apache-2.0
// Ways to begin: what a program finds and changes before it uses CUDA, and how it was started.
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

extern char **environ;

static void start_and_bring(void)
{
    static const enum place places[] = {BLOCK, PINNED, STATIC};
    start();
    for (unsigned i = 0; i < 3; i++) {
        const struct result result = place_result(places[i]);
        bring(&result, i);
        say_good(name_of(places[i]), result.words, result.count, i);
    }
}

// --- The process as it begins --------------------------------------------------------------------

void begin_plain(void)
{
    start_and_bring();
}

void begin_no_environment(void)
{
    clearenv();
    start_and_bring();
}

// As programs do that change what ps shows of them.
void begin_environment_overwritten(void)
{
    char *first = environ[0], *end = first;
    for (char **at = environ; *at; at++)
        end = *at + strlen(*at);
    memset(first, 'x', (size_t)(end - first));
    environ = NULL;
    start_and_bring();
}

void begin_folders(void)
{
    setenv("TMPDIR", "/dev/full", 1);
    setenv("HOME", "/dev/full", 1);
    setenv("XDG_CACHE_HOME", "/proc", 1);
    start_and_bring();
}

static volatile sig_atomic_t ticks;

static void tick(int signal)
{
    (void)signal;
    ticks++;
}

// Every system call is interrupted, and none is restarted.
void begin_alarms(void)
{
    const struct sigaction action = {.sa_handler = tick};
    const struct itimerval often = {{0, 150}, {0, 150}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    start_and_bring();
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d\n", ticks > 0);
}

void begin_ignored_signals(void)
{
    unsigned ignored = 0;
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_IGN);
    start_and_bring();
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        ignored += sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
    }
    printf("%u\n", ignored);
}

void begin_blocked_signals(void)
{
    sigset_t set;
    unsigned pending = 0, blocked = 0;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    start_and_bring();
    raise(SIGUSR1);
    sigpending(&set);
    for (int i = 1; i < NSIG; i++)
        pending += sigismember(&set, i) == 1;
    sigprocmask(SIG_BLOCK, NULL, &set);
    for (int i = 1; i < NSIG; i++)
        blocked += sigismember(&set, i) == 1;
    printf("%u %u\n", pending, blocked);
}

void begin_one_processor(void)
{
    const struct sched_param priority = {0};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    say("affinity", sched_setaffinity(0, sizeof(set), &set));
    say("batch", sched_setscheduler(0, SCHED_BATCH, &priority));
    start_and_bring();
    sched_getaffinity(0, sizeof(set), &set);
    printf("%d %d\n", CPU_COUNT(&set), sched_getscheduler(0));
}

void begin_little_space(void)
{
    const struct rlimit limit = {700 << 20, 700 << 20};
    setrlimit(RLIMIT_AS, &limit);
    start_and_bring();
}

void begin_no_descriptors(void)
{
    const struct rlimit limit = {3, 3};
    setrlimit(RLIMIT_NOFILE, &limit);
    start_and_bring();
}

void begin_endless_stack(void)
{
    const struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    say("limit", setrlimit(RLIMIT_STACK, &limit));
    say("exec", run_again("begin.plain"));
}

// --- Ways to start a program ---------------------------------------------------------------------

static void copy_to(int to)
{
    static char bytes[1 << 16];
    const int from = open(own_path, O_RDONLY | O_CLOEXEC);
    ssize_t got;
    while ((got = read(from, bytes, sizeof(bytes))) > 0) {
        if (write(to, bytes, (size_t)got) != got)
            exit(1);
    }
    close(from);
}

// The executable has no name.
void begin_in_memory(void)
{
    char *const arguments[] = {"program", "begin.plain", NULL};
    const int memory = memfd_create("program", MFD_CLOEXEC);
    copy_to(memory);
    say("exec", fexecve(memory, arguments, environ));
}

// The executable is gone when CUDA is first used.
void begin_deleted(void)
{
    if (getenv("DELETED")) {
        unlink("copy");
        start_and_bring();
        return;
    }
    const int copy = open("copy", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    copy_to(copy);
    close(copy);
    setenv("DELETED", "1", 1);
    say("exec", execl("./copy", "copy", "begin.deleted", (char *)NULL));
}

static void say_status(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    printf("status %x\n", (unsigned)status);
}

void begin_spawned(void)
{
    char *const arguments[] = {"", "begin.plain", NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t all;
    pid_t child;
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &all);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    start();
    const int error = posix_spawn(&child, own_path, &actions, &attributes, arguments, environ);
    say_status(child);
    printf("%d\n", error);
}

void begin_vfork(void)
{
    start();
    for (unsigned i = 0; i < 3; i++) {
        const pid_t child = vfork();
        if (child == 0) {
            execl(own_path, own_path, "begin.plain", (char *)NULL);
            _exit(9);
        }
        say_status(child);
    }
}

// A child that clone3 made: no handler of fork knows of it.
void begin_clone3(void)
{
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    start();
    const struct result result = place_result(BLOCK);
    bring(&result, 3);
    const long child = syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (child == 0) {
        say_good("child", result.words, result.count, 3);
        execl(own_path, own_path, "begin.plain", (char *)NULL);
        _exit(9);
    }
    if (child < 0) {
        not_here("clone3");
        return;
    }
    say_status((pid_t)child);
    say_good("parent", result.words, result.count, 3);
}

// Children that use CUDA, one after another, before the program does.
void begin_children(void)
{
    unsigned good = 0;
    for (unsigned i = 0; i < 8; i++) {
        int status = 1;
        const pid_t child = fork();
        if (child == 0) {
            start();
            const struct result result = place_result(BLOCK);
            bring(&result, 2);
            _exit(count_good(result.words, result.count, 2) != result.count);
        }
        waitpid(child, &status, 0);
        good += status == 0;
    }
    printf("%u\n", good);
    start_and_bring();
}

void begin_session(void)
{
    const pid_t group = getpgrp(), session = getsid(0), parent = getppid();
    const pid_t child = fork();
    if (child == 0) {
        printf("%d\n", setsid() > 0);
        start_and_bring();
        exit(0);
    }
    say_status(child);
    printf("%d %d %d\n", group == getpgrp(), session == getsid(0), parent == getppid());
}
