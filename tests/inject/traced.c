// SPDX-License-Identifier: Apache-2.0
// Lets its parent trace it, as programs do that keep debuggers away, and gets signals, which stop
// it. Exits with status 5.
#include <signal.h>
#include <stdatomic.h>
#include <sys/ptrace.h>

#include "words.h"

static _Atomic int got;

static void take(int number)
{
    atomic_store(&got, number);
}

int main(void)
{
    words_count();
    signal(SIGUSR1, take);
    printf("traced %ld\n", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    fflush(stdout);
    raise(SIGUSR1);
    words_to_device();
    raise(SIGWINCH);
    printf("signal %d\n", atomic_load(&got));
    return 5;
}
