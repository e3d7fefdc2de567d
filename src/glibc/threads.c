// SPDX-License-Identifier: Apache-2.0
// The thread's number (glibc 2.30) and the description of a signal (glibc 2.32).
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

pid_t glibc_gettid(void) __asm__("gettid");
pid_t glibc_gettid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

// Real-time signals, from 32 on, have no description. glint sets no locale, so that strsignal does
// not translate.
const char *glibc_sigdescr_np(int signal) __asm__("sigdescr_np");
const char *glibc_sigdescr_np(int signal)
{
    return signal > 0 && signal < 32 ? strsignal(signal) : NULL;
}
