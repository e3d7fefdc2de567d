// SPDX-License-Identifier: Apache-2.0
// What is found, in words: the one place where the numbers of a finding become sentences. Inner
// header of src/report.
#ifndef GLINT_REPORT_FINDINGS_H
#define GLINT_REPORT_FINDINGS_H

#include "data.h"

// What it is: "`B_gpu` (8.0 MiB) is allocated 5 GPU APIs before its first use".
void report_put_message(const struct report_data *data, const struct analyze_finding *finding,
                        struct base_buf *out);
// What to do: "move the allocation of `B_gpu` (2mm.cu:187) to just before the launch of mm2_kernel1
// (2mm.cu:203)".
void report_put_suggestion(const struct report_data *data, const struct analyze_finding *finding,
                           struct base_buf *out);

// Both as sentences, for where there is one text for a finding.
void report_put_advice(const struct report_data *data, const struct analyze_finding *finding,
                       struct base_buf *out);

// What fixing it brings: "4.0 MiB off the peak (50.0%)".
void report_put_worth(const struct report_data *data, const struct analyze_finding *finding,
                      struct base_buf *out);
// "14 findings are worth less than 0.1% or 4 KiB", and that the gain of some is not known: of
// those that are not worthwhile. Adds nothing where there are none.
struct report_hidden {
    size_t small, unknown; // gains
    bool waits;            // some of the small ones are known as a number of waits only
};
void report_count_hidden(struct report_hidden *hidden, const struct analyze_finding *finding);
bool report_put_hidden(const struct report_hidden *hidden, struct base_buf *out);
// The peak can be lowered by more than nothing, by following findings that are worthwhile.
bool report_lowers_peak(const struct report_data *data);

// The time that fixing it saves: of the run where it is about synchronisation, else of the GPU.
static inline uint64_t report_saved_ns(const struct analyze_finding *finding)
{
    return finding->host_ns > finding->gpu_ns ? finding->host_ns : finding->gpu_ns;
}

// What is left of the highest peak when this alone is fixed.
uint64_t report_peak_after(const struct report_data *data, const struct analyze_finding *finding);

// "2,160,640".
void report_put_count(uint64_t count, struct base_buf *out);

// analyses.c: why the patterns that need the input were not looked for, or not all of them. Adds
// the reason; returns false where there is none.
bool report_put_skipped(const struct report_data *data, enum analyze_input input,
                        struct base_buf *out);
// Whether the input was recorded, or there was nothing to record.
bool report_was_recorded(const struct report_data *data, enum analyze_input input);
// Whether the pattern is about waits: it is worth run time, not memory.
bool report_is_about_sync(enum analyze_pattern pattern);
// A word of a list with commas in between.
bool report_is_in_list(const char *list, const char *word);

#endif
