// SPDX-License-Identifier: Apache-2.0
// Measures glint merge and the report and the page of the job profile, with the targets.
// bench_merge [RANKS [CALLS]] writes profiles of a synthetic job (tests/job/ranks.h) into a folder
// in the current one and removes it. Without arguments: 100 and 1,000 ranks of 10,000 calls.
// bench_merge scale: 1,000 and 10,000 ranks of 1,000 calls, whose times for a profile should be
// equal. That takes 5 GB of the disk.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tests/job/ranks.h"
#include "merge/merge.h"
#include "profiles.h"
#include "report/report.h"

enum { CALLS = 10000, KERNELS = 20, PROCESSES = 2, PATH = 64 };

static const char folder[] = "bench_merge", job[] = "bench_merge/job.glint";

struct work {
    char (*paths)[PATH];
    uint32_t ranks;
};

static uint64_t merge_all(const struct work *work)
{
    struct base_error error = {0};
    struct merge_result result;
    struct stat status;
    const char **files = calloc(work->ranks, sizeof(*files));
    for (uint32_t i = 0; files && i < work->ranks; i++)
        files[i] = work->paths[i];
    check(merge_files(&(struct merge_request){.files = files,
                                              .count = work->ranks,
                                              .output = job,
                                              .force = true,
                                              .processes = PROCESSES},
                      &result, &error),
          &error);
    free(files);
    return stat(job, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static bool count_bytes(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    *(uint64_t *)user += length;
    return true;
}

static uint64_t report(const struct work *work)
{
    struct base_error error = {0};
    struct profile *profile;
    uint64_t bytes = 0;
    (void)work;
    check(profile_open_job(job, &profile, &error), &error);
    check(report_job_text(profile, NULL, &(struct report_choice){.file = job},
                          &(struct report_style){.width = 80, .wrap = true}, count_bytes, &bytes,
                          &error),
          &error);
    profile_close(profile);
    return bytes;
}

// Returns 0 if glint was built without the page.
static uint64_t page(const struct work *work)
{
    struct base_error error = {0};
    struct profile *profile;
    uint64_t bytes = 0;
    (void)work;
    check(profile_open_job(job, &profile, &error), &error);
    const enum base_code code = report_job_html(profile, NULL, folder, count_bytes, &bytes, &error);
    check(code == BASE_UNSUPPORTED ? BASE_OK : code, &error);
    profile_close(profile);
    return bytes;
}

// Runs in a child process, so that the peak memory is that of the work and its processes.
static void measure(const char *name, uint64_t (*run)(const struct work *work),
                    const struct work *work, const char *wanted)
{
    fflush(stdout);
    const pid_t process = fork();
    if (process == 0) {
        struct rusage own, children;
        const struct moment start = now();
        const uint64_t bytes = run(work);
        const struct moment took = since(start);
        getrusage(RUSAGE_SELF, &own);
        getrusage(RUSAGE_CHILDREN, &children);
        const double processor_s = took.processor_s + (double)children.ru_utime.tv_sec +
                                   (double)children.ru_utime.tv_usec / 1e6 +
                                   (double)children.ru_stime.tv_sec +
                                   (double)children.ru_stime.tv_usec / 1e6;
        printf("%-8s %8.2f s (%.2f s of processors, %.2f ms for a profile), %4.0f MB, of a process "
               "%4.0f MB, %llu bytes%s\n",
               name, took.clock_s, processor_s, processor_s * 1000 / (double)work->ranks,
               (double)own.ru_maxrss / 1000, (double)children.ru_maxrss / 1000,
               (unsigned long long)bytes, wanted);
        fflush(stdout);
        _exit(0);
    }
    int status = 1;
    waitpid(process, &status, 0);
    if (status != 0)
        exit(1);
}

static void run(uint32_t ranks, uint64_t calls)
{
    struct work work = {calloc(ranks, PATH), ranks};
    const bool is_target = ranks == 1000 && calls == CALLS;
    mkdir(folder, 0777);
    if (!work.paths)
        exit(1);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        snprintf(work.paths[rank], PATH, "%s/rank-%05u.glint", folder, rank);
        ranks_write(work.paths[rank], &(struct ranks_options){.rank = rank,
                                                              .ranks = ranks,
                                                              .calls = calls,
                                                              .seed = 1,
                                                              .kernels = KERNELS,
                                                              .factor = rank == 5 ? 2 : 1,
                                                              .slowness = rank == 2 ? 10 : 1});
    }
    printf("%u profiles of %llu calls, merged in %d processes\n", ranks, (unsigned long long)calls,
           PROCESSES);
    measure("merge", merge_all, &work,
            is_target ? "; wanted: at most 60 s and 300 MB on two cores" : "");
    measure("text", report, &work, is_target ? "; wanted: at most 3 s" : "");
    measure("page", page, &work, "; wanted: at most 8000000 bytes");
    for (uint32_t rank = 0; rank < ranks; rank++)
        unlink(work.paths[rank]);
    unlink(job);
    rmdir(folder);
    free(work.paths);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "scale") == 0) {
        run(1000, 1000);
        run(10000, 1000);
        return 0;
    }
    const uint64_t calls = argc > 2 ? strtoull(argv[2], NULL, 10) : CALLS;
    if (argc > 1) {
        run((uint32_t)strtoul(argv[1], NULL, 10), calls);
        return 0;
    }
    run(100, calls);
    run(1000, calls);
    return 0;
}
