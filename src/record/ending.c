// SPDX-License-Identifier: Apache-2.0
// Finds out how a process ended that is not the recorder's child. Only its parent can use waitpid.
// But /proc has the status until the parent has waited, and from Linux 6.15 on the pidfd has it
// afterwards. If neither is readable, the ending is reported as unknown.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session.h"

// Definitions of Linux that the headers of older systems lack.
struct pidfd_facts {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code; // as waitpid returns it
};
_Static_assert(sizeof(struct pidfd_facts) == 64, "the first version of the kernel's structure");
enum { PIDFD_EXIT = 1 << 3 };
#define PIDFD_FACTS _IOWR(0xFF, 11, struct pidfd_facts)

// For a process that its parent has waited for.
static bool status_of_gone(int pidfd, int *status)
{
    struct pidfd_facts facts = {.mask = PIDFD_EXIT};
    if (ioctl(pidfd, PIDFD_FACTS, &facts) != 0 || !(facts.mask & PIDFD_EXIT))
        return false;
    *status = facts.exit_code;
    return true;
}

// For a process that its parent has not waited for: the last field of its line in /proc, which is 0
// for readers without permission.
static bool status_of_zombie(const struct record_session *session, int *status)
{
    char path[64], *line = NULL;
    size_t length = 0;
    struct base_error error;
    snprintf(path, sizeof(path), "/proc/%d/stat", session->pid);
    if (base_file_read(path, &line, &length, &error) != BASE_OK)
        return false;
    // "PID (NAME) STATE ...": a name may contain brackets and blanks.
    const char *state = strrchr(line, ')'), *last = strrchr(line, ' ');
    bool dead = state && state[1] == ' ' && state[2] == 'Z' && last > state;
    if (dead)
        *status = (int)strtol(last + 1, NULL, 10);
    free(line);
    // The process still exists, so the line is not that of a later process with the same number.
    return dead && syscall(SYS_pidfd_send_signal, session->pidfd, 0, NULL, 0) == 0;
}

void record_session_find_ending(const struct record_session *session, enum profile_ending *ending,
                                int *code)
{
    int status = 0;
    *ending = PROFILE_ENDED;
    *code = 0;
    if (session->pidfd < 0 ||
        (!status_of_gone(session->pidfd, &status) && !status_of_zombie(session, &status) &&
         !status_of_gone(session->pidfd, &status))) // its parent has waited meanwhile
        return;
    *ending = WIFSIGNALED(status) ? PROFILE_SIGNALLED : PROFILE_EXITED;
    *code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}
