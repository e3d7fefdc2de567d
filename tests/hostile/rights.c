// SPDX-License-Identifier: Apache-2.0
// Rights that a program gives up, and namespaces that it enters.
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

enum { NOBODY = 65534 };

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

static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    const struct __user_cap_data_struct none[2] = {{0}};
    say("capset", syscall(SYS_capset, &header, none));
}

// Results that are not used yet stay usable.
void rights_capabilities(void)
{
    const struct result result = place_result(MAPPED);
    bring_some();
    bring(&result, 3);
    drop_capabilities();
    say_good("kept", result.words, result.count, 3);
    bring_some();
}

void rights_capabilities_early(void)
{
    drop_capabilities();
    start();
    bring_some();
}

void rights_user(void)
{
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) {
        not_here("setuid");
        return;
    }
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    start();
    bring_some();
    printf("%d\n", (int)getuid());
}

// Another user for a while.
void rights_effective_user(void)
{
    if (seteuid(NOBODY) != 0) {
        not_here("seteuid");
        return;
    }
    start();
    bring_some();
    say("back", seteuid(getuid()));
    bring_some();
}

// Whatever is mapped from here on is locked, and not all of it may be.
void rights_locked(void)
{
    const struct rlimit limit = {1 << 30, 1 << 30};
    setrlimit(RLIMIT_MEMLOCK, &limit);
    if (setuid(NOBODY) != 0 || mlockall(MCL_FUTURE) != 0) {
        not_here("mlockall");
        return;
    }
    start();
    bring_some();
}

// No memory becomes executable.
void rights_no_code(void)
{
    enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1 };
    if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0) {
        not_here("PR_SET_MDWE");
        return;
    }
    start();
    bring_some();
}

// No file may be opened, read or written by its name.
void rights_no_files(void)
{
    enum { CREATE_RULESET = 444, RESTRICT_SELF = 446, ALL_OF_FIRST_VERSION = 0x1fff };
    const uint64_t handled[3] = {ALL_OF_FIRST_VERSION};
    const long rules = syscall(CREATE_RULESET, handled, sizeof(handled[0]), 0);
    if (rules < 0) {
        not_here("landlock");
        return;
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    say("restrict", syscall(RESTRICT_SELF, rules, 0));
    close((int)rules);
    start();
    bring_some();
}

// --- Namespaces ----------------------------------------------------------------------------------

static void start_in(int flags)
{
    if (unshare(flags) != 0) {
        not_here("unshare");
        return;
    }
    start();
    bring_some();
}

void rights_users(void)
{
    start_in(CLONE_NEWUSER);
}

void rights_network(void)
{
    start_in(CLONE_NEWNET);
}

void rights_processes(void)
{
    int status = 0;
    if (unshare(CLONE_NEWPID) != 0) {
        not_here("unshare");
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        printf("process %d\n", (int)getpid());
        start();
        bring_some();
        exit(4);
    }
    waitpid(child, &status, 0);
    printf("%x\n", (unsigned)status);
}

// Other folders of temporary files, which are full or must not be written.
void rights_mounts(void)
{
    if (unshare(CLONE_NEWNS) != 0) {
        not_here("unshare");
        return;
    }
    say("private", mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
    say("mount", mount("none", "/tmp", "tmpfs", 0, "size=4k"));
    say("mount", mount("none", "/dev/shm", "tmpfs", MS_RDONLY, "size=4k"));
    start();
    bring_some();
}

// No /proc.
void rights_no_proc(void)
{
    if (unshare(CLONE_NEWNS) != 0) {
        not_here("unshare");
        return;
    }
    say("private", mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
    say("mount", mount("none", "/proc", "tmpfs", 0, ""));
    start();
    bring_some();
}
