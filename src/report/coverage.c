// SPDX-License-Identifier: Apache-2.0
// How much of the program's launches, and of their GPU time, was observed, and how.
#include "findings.h"
#include "units.h"

struct report_coverage report_kernel_coverage(const struct report_kernel *kernel)
{
    const uint64_t all = kernel->sum.count;
    const uint64_t watched = kernel->watched < all ? kernel->watched : all;
    const uint64_t passed = kernel->passed < all - watched ? kernel->passed : all - watched;
    struct report_coverage coverage = {.launches = {
                                           [REPORT_BY_PROBES] = watched,
                                           [REPORT_BY_ARGUMENTS] = passed,
                                           [REPORT_NOT_KNOWN] = all - watched - passed,
                                       }};
    for (unsigned way = 0; way < REPORT_KNOWN_WAYS && all; way++)
        coverage.gpu_ns[way] =
            (uint64_t)((double)kernel->sum.total_ns * (double)coverage.launches[way] / (double)all);
    return coverage;
}

struct report_coverage report_coverage(const struct report_data *data)
{
    struct report_coverage coverage = {.launches = {0}};
    for (size_t i = 0; i < data->kernel_rows.count; i++) {
        const struct report_coverage one = report_kernel_coverage(&data->kernel_rows.items[i]);
        for (unsigned way = 0; way < REPORT_KNOWN_WAYS; way++) {
            coverage.launches[way] += one.launches[way];
            coverage.gpu_ns[way] += one.gpu_ns[way];
        }
    }
    return coverage;
}

static bool has_times(const struct report_data *data)
{
    return !profile_program(data->profile)->simulated;
}

// Returns whether the first kernel has more that was not observed: GPU time, or else launches.
static bool is_larger(const struct report_data *data, const struct report_kernel *one,
                      const struct report_kernel *other)
{
    const struct report_coverage a = report_kernel_coverage(one), b = report_kernel_coverage(other);
    if (has_times(data) && a.gpu_ns[REPORT_NOT_KNOWN] != b.gpu_ns[REPORT_NOT_KNOWN])
        return a.gpu_ns[REPORT_NOT_KNOWN] > b.gpu_ns[REPORT_NOT_KNOWN];
    return a.launches[REPORT_NOT_KNOWN] > b.launches[REPORT_NOT_KNOWN];
}

size_t report_unobserved(const struct report_data *data,
                         const struct report_kernel *largest[REPORT_MOST_UNOBSERVED])
{
    size_t count = 0;
    for (size_t i = 0; i < data->kernel_rows.count; i++) {
        const struct report_kernel *kernel = &data->kernel_rows.items[i];
        if (!report_kernel_coverage(kernel).launches[REPORT_NOT_KNOWN])
            continue;
        size_t at = count;
        while (at > 0 && is_larger(data, kernel, largest[at - 1])) {
            if (at < REPORT_MOST_UNOBSERVED)
                largest[at] = largest[at - 1];
            at--;
        }
        if (at < REPORT_MOST_UNOBSERVED)
            largest[at] = kernel;
        count += count < REPORT_MOST_UNOBSERVED;
    }
    return count;
}

void report_put_unobserved(const struct report_data *data, struct base_buf *out)
{
    const struct report_kernel *largest[REPORT_MOST_UNOBSERVED];
    const size_t count = report_unobserved(data, largest);
    const struct report_coverage all = report_coverage(data);
    uint64_t gpu_ns = 0;
    for (unsigned way = 0; way < REPORT_KNOWN_WAYS; way++)
        gpu_ns += all.gpu_ns[way];
    for (size_t i = 0; i < count; i++) {
        const struct report_coverage one = report_kernel_coverage(largest[i]);
        base_buf_printf(out, "%s%s (", i ? ", " : "largest not observed: ", largest[i]->short_name);
        if (gpu_ns && has_times(data)) {
            report_put_share(out, one.gpu_ns[REPORT_NOT_KNOWN], gpu_ns);
            base_buf_puts(out, " of GPU time)");
        } else {
            report_put_count(one.launches[REPORT_NOT_KNOWN], out);
            base_buf_puts(out, one.launches[REPORT_NOT_KNOWN] == 1 ? " launch)" : " launches)");
        }
    }
}

void report_put_coverage(const struct report_data *data, struct base_buf *out)
{
    static const char *const words[REPORT_KNOWN_WAYS] = {
        [REPORT_BY_PROBES] = "by probes",
        [REPORT_BY_ARGUMENTS] = "by arguments",
        [REPORT_NOT_KNOWN] = "not at all",
    };
    const struct report_coverage coverage = report_coverage(data);
    const char *between = "launches observed ";
    uint64_t gpu_ns = 0;
    for (unsigned way = 0; way < REPORT_KNOWN_WAYS; way++)
        gpu_ns += coverage.gpu_ns[way];
    for (unsigned way = 0; way < REPORT_KNOWN_WAYS; way++) {
        if (!coverage.launches[way])
            continue;
        base_buf_printf(out, "%s%s: ", between, words[way]);
        report_put_count(coverage.launches[way], out);
        if (gpu_ns && has_times(data)) {
            base_buf_puts(out, " (");
            report_put_share(out, coverage.gpu_ns[way], gpu_ns);
            base_buf_puts(out, " of GPU time)");
        }
        between = ", ";
    }
}

bool report_has_gaps(const struct report_data *data)
{
    const struct report_coverage coverage = report_coverage(data);
    return coverage.launches[REPORT_BY_ARGUMENTS] || coverage.launches[REPORT_NOT_KNOWN];
}
