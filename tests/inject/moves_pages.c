// SPDX-License-Identifier: Apache-2.0
// Exits with 0 if the system lets a process move pages away and make everyone wait for them, as
// src/inject/guard/pager.c does. Run when the build is configured.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    const unsigned long long move = 1ULL << 16; // newer than many systems' headers
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_FORK | move};
    const long file = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    return file >= 0 && ioctl((int)file, UFFDIO_API, &api) == 0 ? 0 : 1;
}
