// SPDX-License-Identifier: Apache-2.0
// The benchmark of what probes cost: 18 kernels of many kinds, each launched several times.
//
//   kernels [--scale N] [--repeats N] [--only NAME] [--expect]
//
//   --scale N    divides the work for a large GPU by N: 1 on an H200, 100000 on
//                the simulated one with its log
//   --repeats N  launches that are timed, after one that is not; default: 5
//   --only NAME  that kernel only
//   --expect     print what probes must find
//
// Prints for each kernel
//   kernel NAME MILLISECONDS HASH
// the best time of its launches and a hash of all results, which must be the same whichever tool
// watches; and with --expect for each array, which has that name in profiles, what one launch does:
//   expect NAME NAME.ARRAY READ WRITTEN ELEMENTS4 ELEMENTS8 ELEMENTS16 READ_ONCE WRITTEN_ONCE ADDRESS
// bytes read and written, each as often as it was, atomics being both; how many different pieces of
// 4, 8 and 16 bytes were touched; and how many different bytes were read and written. And
//   counts NAME NAME.ARRAY ELEMENT_BYTES SUM MAXIMUM MAXIMUM_AT
// for elements of 4, 8 and 16 bytes how often they were accessed: in all, the one that was most often,
// and which is the first such one.
// Exit status 1: a result is not what the host computes.
#include "bench.h"
#include "blocks.h"
#include "dense.h"
#include "irregular.h"

static const struct {
    const char *name;
    void (*run)(bench &);
} kernels[] = {
    {"triad", run_triad},
    {"sgemm", run_sgemm},
    {"sgemm_tiled", run_sgemm_tiled},
    {"gather", run_gather},
    {"scatter", run_scatter},
    {"spmv", run_spmv},
    {"stencil", run_stencil},
    {"reduction", run_reduction},
    {"bfs", run_bfs},
    {"transpose", run_transpose},
    {"copy4", run_copy4},
    {"grey", run_grey},
    {"stencil3d", run_stencil3d},
    {"histogram", run_histogram},
    {"nbody", run_nbody},
    {"chase", run_chase},
    {"search", run_search},
    {"async", run_async},
};

static void usage()
{
    fprintf(stderr, "usage: kernels [--scale N] [--repeats N] [--only NAME] [--expect]\n");
    exit(2);
}

int main(int argc, char **argv)
{
    bench settings;
    const char *only = nullptr;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--expect") == 0) {
            settings.expects = true;
            continue;
        }
        if (strcmp(argv[i], "--scale") == 0)
            settings.scale = atof(value);
        else if (strcmp(argv[i], "--repeats") == 0)
            settings.repeats = atoi(value);
        else if (strcmp(argv[i], "--only") == 0)
            only = value;
        else
            usage();
        i++;
    }
    if (!(settings.scale >= 1) || settings.repeats < 1)
        usage();

    // Takes a third of a millisecond to be filled, which is more than it takes to submit a launch.
    settings.flush_bytes = (size_t)((1u << 30) / settings.scale);
    CHECK(cudaMalloc(&settings.flush, settings.flush_bytes));
    size_t ran = 0, wrong = 0;
    for (const auto &kernel : kernels) {
        if (only && strcmp(only, kernel.name) != 0)
            continue;
        bench one = settings;
        one.kernel = kernel.name;
        kernel.run(one);
        ran++;
        wrong += one.wrong != 0;
    }
    CHECK(cudaFree(settings.flush));
    if (!ran)
        usage();
    return wrong ? 1 : 0;
}
