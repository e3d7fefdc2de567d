// SPDX-License-Identifier: Apache-2.0
// Measures how long it takes to put probes into PTX, compared with reading it and with ptxas on
// the original and on the result: bench_instrument [FILE...], by default the kernels of
// examples/. Times are the best of some rounds, summed over the files; those of ptxas are
// processor time.
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "instrument/instrument.h"
#include "ptx/ptx.h"

enum { ROUNDS = 5, LEVELS = 3 };

static const struct {
    const char *name;
    uint32_t facts;
} levels[LEVELS] = {{"objects", INSTRUMENT_OBJECTS},
                    {"elements", INSTRUMENT_ELEMENTS},
                    {"counts", INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS}};

struct sums {
    size_t bytes, made_bytes[LEVELS];
    double parse_ms, made_ms[LEVELS], ptxas_ms, made_ptxas_ms[LEVELS];
    bool ptxas_failed;
};

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void fail(const struct base_error *error)
{
    char text[1024];
    base_error_text(error, text, sizeof(text));
    fprintf(stderr, "bench_instrument: %s\n", text);
    exit(1);
}

static double children_ms(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)usage.ru_utime.tv_sec * 1e3 + (double)usage.ru_utime.tv_usec / 1e3;
}

// Returns the processor time of ptxas in milliseconds; notes if ptxas is missing or failed.
static double time_ptxas(const char *text, size_t length, struct sums *sums)
{
    char path[] = "/tmp/bench_instrumentXXXXXX";
    int file = mkstemp(path);
    if (file < 0 || write(file, text, length) != (ssize_t)length) {
        sums->ptxas_failed = true;
        return 0;
    }
    close(file);
    double before = children_ms();
    pid_t child = fork();
    if (child == 0) {
        execlp("ptxas", "ptxas", "-arch=sm_90", "-o", "/dev/null", path, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    unlink(path);
    sums->ptxas_failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return children_ms() - before;
}

static void measure(const char *path, struct sums *sums)
{
    struct base_error error = {0};
    char *text;
    size_t length;
    if (base_file_read(path, &text, &length, &error) != BASE_OK)
        fail(&error);
    sums->bytes += length;
    sums->ptxas_ms += time_ptxas(text, length, sums);
    double parse = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        struct ptx_module *module;
        double start = now_ms();
        if (ptx_parse(text, length, path, &module, &error) != BASE_OK)
            fail(&error);
        double took = now_ms() - start;
        parse = took < parse ? took : parse;
        ptx_module_destroy(module);
    }
    sums->parse_ms += parse;
    for (int level = 0; level < LEVELS; level++) {
        struct instrument_request request = {.facts = levels[level].facts};
        double best = 1e30;
        for (int round = 0; round < ROUNDS; round++) {
            struct instrument_module *module;
            double start = now_ms();
            if (instrument_ptx(text, length, &request, &module, &error) != BASE_OK)
                fail(&error);
            double took = now_ms() - start;
            best = took < best ? took : best;
            if (round == 0) {
                sums->made_bytes[level] += module->ptx_bytes;
                sums->made_ptxas_ms[level] += time_ptxas(module->ptx, module->ptx_bytes, sums);
            }
            instrument_destroy(module);
        }
        sums->made_ms[level] += best;
    }
    free(text);
}

int main(int argc, char **argv)
{
    struct sums sums = {0};
    glob_t found = {0};
    if (argc == 1 && glob("examples/*/*.ptx", 0, NULL, &found) != 0) {
        fprintf(stderr, "bench_instrument: run in glint's folder, or name PTX files\n");
        return 1;
    }
    for (size_t i = 0; i < found.gl_pathc; i++)
        measure(found.gl_pathv[i], &sums);
    for (int i = 1; i < argc; i++)
        measure(argv[i], &sums);
    globfree(&found);
    double megabytes = (double)sums.bytes / 1e6;
    printf("%.2f MB of PTX; milliseconds a MB, and of ptxas milliseconds\n", megabytes);
    printf("  parse      %8.1f ms/MB\n", sums.parse_ms / megabytes);
    for (int level = 0; level < LEVELS; level++)
        printf("  %-8s   %8.1f ms/MB, text %.1f times\n", levels[level].name,
               sums.made_ms[level] / megabytes,
               (double)sums.made_bytes[level] / (double)sums.bytes);
    if (sums.ptxas_failed) {
        printf("  ptxas      is not there, or refuses a file\n");
        return 0;
    }
    printf("  ptxas      %8.1f ms as it is\n", sums.ptxas_ms);
    for (int level = 0; level < LEVELS; level++)
        printf("             %8.1f ms with %s, %.1f times\n", sums.made_ptxas_ms[level],
               levels[level].name, sums.made_ptxas_ms[level] / sums.ptxas_ms);
    return 0;
}
