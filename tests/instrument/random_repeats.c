// SPDX-License-Identifier: Apache-2.0
// Compares launches of a random kernel with each other, by the simulated GPU's log: instructions,
// places and directions of all accesses to global memory, with how many of each there are. The
// order of accesses is not compared.
#include "random_repeats.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpusim/gpusim.h"
#include "random_run.h"

enum { LAUNCHES = 3, MOST_SECONDS = 600 };

// An access of one lane.
struct touch {
    uint64_t address;
    uint32_t site, bytes, kind, padding;
};

struct touches {
    uint64_t launch; // in the log
    BASE_ARRAY(struct touch) items;
};

bool random_repeats_judged(const struct random_kernel *kernel, bool *repeats, FILE *complaints)
{
    const struct instrument_request request = {.facts = INSTRUMENT_ELEMENTS};
    struct instrument_module *module;
    struct base_error error = {0};
    if (instrument_ptx(kernel->test.ptx, kernel->test.ptx_bytes, &request, &module, &error) !=
        BASE_OK) {
        char text[512];
        base_error_text(&error, text, sizeof(text));
        fprintf(complaints, "%s: %s\n", kernel->test.name, text);
        return false;
    }
    const struct instrument_kernel *found = NULL;
    for (unsigned i = 0; i < module->kernel_count; i++) {
        if (strcmp(module->kernels[i].name, kernel->test.kernel) == 0)
            found = &module->kernels[i];
    }
    *repeats = found && found->repeats;
    instrument_destroy(module);
    return true;
}

// --- The launches --------------------------------------------------------------------------------

static _Noreturn void run(const struct random_kernel *kernel, const char *log_path)
{
    CUcontext context;
    struct random_run run;
    alarm(MOST_SECONDS);
    unsetenv("GLINT_SIM_DEVICE");
    if (setenv("GLINT_SIM_LOG", log_path, 1) != 0 || setenv("GLINT_SIM_WORKERS", "1", 1) != 0 ||
        cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v4(&context, NULL, 0, 0) != CUDA_SUCCESS)
        exit(1);
    random_run_start(&run, kernel);
    for (uint64_t round = 0; round < LAUNCHES; round++) {
        random_run_renew(&run, round);
        random_run_launch(&run, 0);
    }
    cuCtxDestroy_v2(context);
    exit(0); // runs exit handlers, which finish the log
}

// --- The log -------------------------------------------------------------------------------------

static void see(struct touches *touches, const struct gpusim_log_access *access)
{
    for (uint32_t left = access->mask; left; left &= left - 1)
        *(struct touch *)oracle_must(base_array_push(&touches->items)) =
            (struct touch){.address = access->address[__builtin_ctz(left)],
                           .site = access->site->index,
                           .bytes = access->bytes,
                           .kind = access->kind};
}

static bool read_log(const char *path, struct touches launches[LAUNCHES])
{
    struct gpusim_log *log;
    struct gpusim_log_record record;
    struct base_error error = {0};
    unsigned count = 0;
    enum base_code code = gpusim_log_open(path, &log, &error);
    if (code != BASE_OK)
        return false;
    while ((code = gpusim_log_next(log, &record, &error)) == BASE_OK) {
        if (record.type == GPUSIM_LOG_LAUNCH && count < LAUNCHES)
            launches[count++].launch = record.launch->number;
        if (record.type == GPUSIM_LOG_ACCESS && record.access.space == GPUSIM_LOG_GLOBAL && count &&
            record.access.launch->number == launches[count - 1].launch)
            see(&launches[count - 1], &record.access);
    }
    const bool whole =
        code == BASE_NOT_FOUND && count == LAUNCHES && gpusim_log_state(log) == GPUSIM_LOG_COMPLETE;
    gpusim_log_close(log);
    return whole;
}

static int by_place(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct touch));
}

// Returns whether the launches touch the same; the accesses are in order.
static bool is_same(const struct touches *first, const struct touches *other)
{
    return first->items.count == other->items.count &&
           (!first->items.count || memcmp(first->items.items, other->items.items,
                                          first->items.count * sizeof(struct touch)) == 0);
}

static void describe(const struct random_kernel *kernel, const struct touches *first,
                     const struct touches *other, FILE *complaints)
{
    const struct touch *a = first->items.items, *b = other->items.items;
    const size_t most =
        first->items.count < other->items.count ? first->items.count : other->items.count;
    size_t at = 0;
    while (at < most && by_place(&a[at], &b[at]) == 0)
        at++;
    fprintf(complaints,
            "%s is said to repeat itself%s%s, but launches with equal parameters make %zu and %zu "
            "accesses",
            kernel->test.name, kernel->source >= 0 ? " despite " : "",
            kernel->source >= 0 ? random_sources[kernel->source].name : "", first->items.count,
            other->items.count);
    if (at < most)
        fprintf(complaints, "; for example, instruction %u at 0x%llx, or instruction %u at 0x%llx",
                a[at].site, (unsigned long long)a[at].address, b[at].site,
                (unsigned long long)b[at].address);
    fputc('\n', complaints);
}

bool random_repeats_hold(const struct random_kernel *kernel, struct random_repeats *told,
                         FILE *complaints)
{
    char path[] = "/tmp/glint-repeats-XXXXXX";
    struct touches launches[LAUNCHES] = {{0}};
    int status = -1;
    *told = (struct random_repeats){0};
    if (!random_repeats_judged(kernel, &told->judged, complaints))
        return false;
    const int file = mkstemp(path);
    if (file < 0 || close(file) != 0)
        return false;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        run(kernel, path);
    bool good = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    if (!good)
        fprintf(complaints, "%s: the process that launches ended with status 0x%x\n",
                kernel->test.name, (unsigned)status);
    if (good && !read_log(path, launches)) {
        fprintf(complaints, "%s: the log is not whole\n", kernel->test.name);
        good = false;
    }
    for (unsigned i = 0; good && i < LAUNCHES; i++) {
        if (launches[i].items.count)
            qsort(launches[i].items.items, launches[i].items.count, sizeof(struct touch), by_place);
        told->varies |= i && !is_same(&launches[0], &launches[i]);
    }
    for (unsigned i = 1; good && told->judged && i < LAUNCHES; i++) {
        if (is_same(&launches[0], &launches[i]))
            continue;
        describe(kernel, &launches[0], &launches[i], complaints);
        good = false;
    }
    for (unsigned i = 0; i < LAUNCHES; i++)
        base_array_fini(&launches[i].items);
    unlink(path);
    return good;
}
