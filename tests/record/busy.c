// SPDX-License-Identifier: Apache-2.0
// A program to be recorded: busy [ROUNDS [CHILDREN [PROGRAM [ARGUMENT...]]]] allocates, fills,
// copies and frees in rounds (0: forever), itself or in CHILDREN processes. It then executes
// PROGRAM or exits with status 7.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

static int work(long rounds)
{
    CUcontext context;
    char host[256] = {0};
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        return 1;
    for (long i = 0; !rounds || i < rounds; i++) {
        CUdeviceptr memory;
        if (cuMemAlloc_v2(&memory, 4096 + (size_t)(i % 7)) || cuMemsetD8_v2(memory, 1, 256) ||
            cuMemcpyDtoH_v2(host, memory, sizeof(host)) || cuMemFree_v2(memory))
            return 1;
    }
    return host[255] == 1 ? 7 : 1;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    int children = argc > 2 ? atoi(argv[2]) : 0, status, result = 7;
    if (!children && argc <= 3)
        return work(rounds);
    if (!children) {
        result = work(rounds);
        execv(argv[3], argv + 3);
        return result + 1;
    }
    for (int i = 0; i < children; i++) {
        if (fork() == 0)
            exit(work(rounds));
    }
    while (wait(&status) > 0) {
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
            result = 1;
    }
    return result;
}
