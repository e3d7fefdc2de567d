// SPDX-License-Identifier: Apache-2.0
// How much of the program's launches, and of their GPU time, was observed, and how.
#include "findings.h"
#include "units.h"

struct report_coverage report_coverage(const struct report_data *data)
{
    struct report_coverage coverage = {.launches = {0}};
    for (size_t i = 0; i < data->kernel_rows.count; i++) {
        const struct report_kernel *kernel = &data->kernel_rows.items[i];
        const uint64_t all = kernel->sum.count;
        const uint64_t watched = kernel->watched < all ? kernel->watched : all;
        const uint64_t passed = kernel->passed < all - watched ? kernel->passed : all - watched;
        const uint64_t launches[REPORT_KNOWN_WAYS] = {
            [REPORT_BY_PROBES] = watched,
            [REPORT_BY_ARGUMENTS] = passed,
            [REPORT_NOT_KNOWN] = all - watched - passed,
        };
        for (unsigned way = 0; way < REPORT_KNOWN_WAYS && all; way++) {
            coverage.launches[way] += launches[way];
            coverage.gpu_ns[way] +=
                (uint64_t)((double)kernel->sum.total_ns * (double)launches[way] / (double)all);
        }
    }
    return coverage;
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
        if (gpu_ns && !profile_program(data->profile)->simulated) {
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
