// SPDX-License-Identifier: Apache-2.0
// A program that is hard to record: hidden WAY [ARGUMENT...] changes its environment, root folder
// or limits before its first call of CUDA, or uses CUDA where glint does not see it.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

static int use_cuda(void)
{
    CUcontext context;
    CUdeviceptr memory;
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
           cuMemAlloc_v2(&memory, 4096) || cuMemFree_v2(memory);
}

static int limit(int which, rlim_t most)
{
    const struct rlimit limits = {most, most};
    return setrlimit(which, &limits);
}

// Finds the driver's function past glint, as a library does that was opened with RTLD_DEEPBIND.
static int use_deeply(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver ? 0 : 1;
}

static int change_root(const char *folder)
{
    if (chroot(folder) == 0 || (unshare(CLONE_NEWUSER) == 0 && chroot(folder) == 0))
        return chdir("/");
    return 1;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    int failed = 0;
    if (strcmp(way, "clearenv") == 0)
        failed = clearenv();
    else if (strcmp(way, "overwrite") == 0)
        for (char **variable = environ; *variable; variable++)
            memset(*variable, 'x', strlen(*variable));
    else if (strcmp(way, "chroot") == 0 && argc > 2)
        failed = change_root(argv[2]);
    else if (strcmp(way, "files") == 0)
        failed = limit(RLIMIT_NOFILE, 3);
    else if (strcmp(way, "size") == 0)
        failed = limit(RLIMIT_FSIZE, 4096);
    else if (strcmp(way, "deep") == 0)
        return use_deeply();
    else if (strcmp(way, "die") == 0)
        return raise(SIGKILL);
    else if (strcmp(way, "fork") == 0 && fork() != 0) // the parent ends first and uses no CUDA
        return usleep(300000);
    if (failed) {
        perror(way);
        return 3;
    }
    return use_cuda();
}
