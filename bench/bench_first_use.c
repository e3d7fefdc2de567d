// SPDX-License-Identifier: Apache-2.0
// Measures what tracking first uses and hashing copies costs: microseconds for a synchronous copy
// from the device with or without a use of its data, or for a copy to the device ("sent"), in a
// native program, recorded without first uses, and with them. With them, sent data is read once
// more. Data from the device is read twice, before and after the copy, because it goes to the
// same place each time. The simulated GPU copies with the CPU. Runs itself under glint, which
// must be in ../bin. Prints the median of the rounds.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

enum { ROUNDS = 5 };

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

// --- The program that is measured ----------------------------------------------------------------

#define DRIVER(symbol) __typeof__(symbol) *real_##symbol = dlsym(driver, #symbol)

static void *allocate(CUresult (*pinned)(void **, size_t), const char *memory, size_t bytes)
{
    void *host = NULL;
    if (strcmp(memory, "pinned") == 0)
        return pinned(&host, bytes) == CUDA_SUCCESS ? host : NULL;
    host = malloc(bytes);
    if (host)
        memset(host, 0, bytes);
    return host;
}

static int copies(const char *memory, size_t bytes, unsigned count, const char *what)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    CUcontext context;
    CUdeviceptr device;
    if (!driver)
        return 1;
    DRIVER(cuInit);
    DRIVER(cuDevicePrimaryCtxRetain);
    DRIVER(cuCtxSetCurrent);
    DRIVER(cuMemAlloc_v2);
    DRIVER(cuMemAllocHost_v2);
    DRIVER(cuMemcpyDtoH_v2);
    DRIVER(cuMemcpyHtoD_v2);
    const bool used = strcmp(what, "used") == 0, sent = strcmp(what, "sent") == 0;
    if (real_cuInit(0) || real_cuDevicePrimaryCtxRetain(&context, 0) ||
        real_cuCtxSetCurrent(context) || real_cuMemAlloc_v2(&device, bytes))
        return 1;
    volatile char *host = allocate(real_cuMemAllocHost_v2, memory, bytes);
    if (!host || real_cuMemcpyDtoH_v2((void *)host, device, bytes))
        return 1;
    unsigned sum = 0;
    const double start = now_us();
    for (unsigned i = 0; i < count; i++) {
        if (sent)
            real_cuMemcpyHtoD_v2(device, (void *)host, bytes);
        else
            real_cuMemcpyDtoH_v2((void *)host, device, bytes);
        if (used)
            sum += (unsigned char)host[i % bytes];
    }
    printf("%.3f\n", (now_us() - start) / count);
    return sum != 0;
}

// --- Measuring it --------------------------------------------------------------------------------

static int by_value(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double measure(const char *folder, const char *how, const char *arguments)
{
    double rounds[ROUNDS];
    char command[1024];
    snprintf(command, sizeof(command), "'%s/../bin/glint' %s -- '%s/bench_first_use' %s", folder,
             how, folder, arguments);
    for (unsigned i = 0; i < ROUNDS; i++) {
        FILE *output = popen(command, "r"); // NOLINT(cert-env33-c)
        if (!output || fscanf(output, "%lf", &rounds[i]) != 1)
            rounds[i] = 0;
        if (output && pclose(output) != 0)
            rounds[i] = 0;
    }
    qsort(rounds, ROUNDS, sizeof(rounds[0]), by_value);
    return rounds[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    static const char *const cases[] = {
        "pinned 4096 20000 used",     "pinned 4096 20000 unused", "pinned 1048576 1000 used",
        "pinned 1048576 1000 unused", "malloc 1048576 1000 used", "malloc 1048576 1000 unused",
        "malloc 4096 20000 sent",     "malloc 1048576 1000 sent", "malloc 67108864 20 sent",
        "malloc 67108864 20 unused",
    };
    if (argc == 5)
        return copies(argv[1], strtoul(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10),
                      argv[4]);
    char folder[512], profile[] = "/tmp/glint-bench-XXXXXX", off[256], on[256];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    const int file = mkstemp(profile);
    if (length <= 0 || file < 0)
        return 1;
    close(file);
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    snprintf(off, sizeof(off), "record -q -f --device sim --sync-tracking off -o %s", profile);
    snprintf(on, sizeof(on), "record -q -f --device sim --sync-tracking on -o %s", profile);
    printf("a copy, microseconds, median of %d rounds\n", ROUNDS);
    printf("%-28s %10s %10s %10s %8s\n", "memory bytes copies", "native", "off", "on", "on/off");
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const double native = measure(folder, "run --device sim", cases[i]);
        const double without = measure(folder, off, cases[i]), with = measure(folder, on, cases[i]);
        printf("%-28s %10.2f %10.2f %10.2f %8.2f\n", cases[i], native, without, with,
               without > 0 ? with / without : 0);
    }
    unlink(profile);
    return 0;
}
