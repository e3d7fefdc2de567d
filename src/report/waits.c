// SPDX-License-Identifier: Apache-2.0
// Says in words what is known of waits that are in no finding: of which it is unknown whether they
// were needed, which bound a time that the program measures, and which were not needed but stay.
#include "data.h"
#include "findings.h"

// Adds a reason, with the time spent in its waits; or with their number, where times are not real.
static const char *put_sum(struct base_buf *out, const char *between, const char *reason,
                           const struct analyze_wait_sum *sum, bool times)
{
    if (times ? !sum->waited_ns : !sum->waits)
        return between;
    base_buf_printf(out, "%s%s (", between, reason);
    if (times)
        report_put_ns(out, sum->waited_ns);
    else
        report_put_count(sum->waits, out);
    base_buf_puts(out, ")");
    return "; ";
}

// Adds the reasons why it is unknown whether waits were needed.
static void put_wait_reasons(struct base_buf *out, const struct analyze_run_time *time, bool times)
{
    static const char *const reasons[ANALYZE_WAIT_UNKNOWNS] = {
        [ANALYZE_WAIT_GIVEN_UP] = "first uses were not watched",
        [ANALYZE_WAIT_MANAGED] = "results in managed memory",
        [ANALYZE_WAIT_PINNED] = "results in pinned memory",
        [ANALYZE_WAIT_STACK] = "results on a stack",
        [ANALYZE_WAIT_STATIC] = "results in variables",
        [ANALYZE_WAIT_MAPPED] = "results in memory that the program mapped",
        [ANALYZE_WAIT_SMALL] = "results of less than 64 KiB",
        [ANALYZE_WAIT_RESULTS] = "results that were not watched, or only in part",
        [ANALYZE_WAIT_WORK] = "GPU work that may access memory of the host",
        [ANALYZE_WAIT_SHARED] = "GPU memory that other processes share",
        [ANALYZE_WAIT_ORDER] = "waits that may order the work of several streams",
        [ANALYZE_WAIT_OUTPUT] = "waits that show what kernels print",
        [ANALYZE_WAIT_EVENT] = "waits for an event of which it is not known what it stands for",
    };
    const char *between = "";
    for (unsigned i = 0; i < ANALYZE_WAIT_UNKNOWNS; i++)
        between = put_sum(out, between, reasons[i], &time->unknown[i], times);
}

bool report_put_unknown_waits(const struct report_data *data, struct base_buf *out)
{
    const struct analyze_run_time *time = analyze_run_time(data->analysis);
    const bool times = !profile_program(data->profile)->simulated;
    uint64_t waits = 0, waited_ns = 0;
    for (unsigned i = 0; i < ANALYZE_WAIT_UNKNOWNS; i++) {
        waits += time->unknown[i].waits;
        waited_ns += time->unknown[i].waited_ns;
    }
    if (!(time->tracked || time->given_up) || !(times ? waited_ns : waits))
        return false;
    base_buf_puts(out, "of ");
    if (times) {
        report_put_ns(out, time->waited_ns);
        base_buf_puts(out, " spent in waits, it is unknown whether ");
        report_put_ns(out, waited_ns);
    } else {
        report_put_count(time->waits, out);
        base_buf_puts(out, time->waits == 1 ? " wait, it is unknown whether "
                                            : " waits, it is unknown whether ");
        report_put_count(waits, out);
    }
    base_buf_puts(out, !times && waits == 1 ? " was needed: " : " were needed: ");
    put_wait_reasons(out, time, times);
    return true;
}

bool report_matter_unknown_waits(const struct report_data *data)
{
    enum { LEAST_PART = 10 }; // of all waits
    const struct analyze_run_time *time = analyze_run_time(data->analysis);
    const bool times = !profile_program(data->profile)->simulated;
    uint64_t waits = 0, waited_ns = 0;
    for (unsigned i = 0; i < ANALYZE_WAIT_UNKNOWNS; i++) {
        waits += time->unknown[i].waits;
        waited_ns += time->unknown[i].waited_ns;
    }
    return times ? waited_ns * ANALYZE_LEAST_PART >= time->recorded_ns &&
                       waited_ns * LEAST_PART >= time->waited_ns
                 : waits >= ANALYZE_LEAST_WAITS && waits * LEAST_PART >= time->waits;
}

// Adds how many waits, or how much time, the sums have together. Returns false if that is none.
static bool put_total(struct base_buf *out, const struct analyze_wait_sum *sums, unsigned count,
                      bool times)
{
    uint64_t waits = 0, waited_ns = 0;
    for (unsigned i = 0; i < count; i++) {
        waits += sums[i].waits;
        waited_ns += sums[i].waited_ns;
    }
    if (!(times ? waited_ns : waits))
        return false;
    if (times) {
        report_put_ns(out, waited_ns);
        base_buf_puts(out, " of waits");
    } else {
        report_put_count(waits, out);
        base_buf_puts(out, waits == 1 ? " wait" : " waits");
    }
    return true;
}

bool report_put_unlisted_waits(const struct report_data *data, struct base_buf *out)
{
    static const char *const reasons[ANALYZE_WAIT_UNLISTED] = {
        [ANALYZE_UNLISTED_NEEDED] = "other waits at the same place are needed",
        [ANALYZE_UNLISTED_UNKNOWN] = "other waits at the same place may be needed",
        [ANALYZE_UNLISTED_SMALL] = "too short to matter",
        [ANALYZE_UNLISTED_COSTLY] = "pinning memory would cost more",
        [ANALYZE_UNLISTED_NOWHERE] = "the call path is unknown",
    };
    const struct analyze_run_time *time = analyze_run_time(data->analysis);
    const bool times = !profile_program(data->profile)->simulated;
    const char *between = "";
    if (!put_total(out, time->unlisted, ANALYZE_WAIT_UNLISTED, times))
        return false;
    base_buf_puts(out, " that nothing needs stay: ");
    for (unsigned i = 0; i < ANALYZE_WAIT_UNLISTED; i++)
        between = put_sum(out, between, reasons[i], &time->unlisted[i], times);
    return true;
}

bool report_put_timed_waits(const struct report_data *data, struct base_buf *out)
{
    const bool times = !profile_program(data->profile)->simulated;
    if (!put_total(out, &analyze_run_time(data->analysis)->timed, 1, times))
        return false;
    base_buf_puts(out, " bound a time that the program measures");
    return true;
}
