// SPDX-License-Identifier: Apache-2.0
// The texts of findings: message, suggestion and worth. Inner header of src/report.
#ifndef GLINT_REPORT_FINDINGS_H
#define GLINT_REPORT_FINDINGS_H

#include "data.h"

// Adds what is wrong: "`B_gpu` (8.0 MiB) is allocated 5 GPU API calls before its first use".
void report_put_message(const struct report_data *data, const struct analyze_finding *finding,
                        struct base_buf *out);
// Adds what to do: "move the allocation of `B_gpu` (2mm.cu:187) to just before the launch of
// mm2_kernel1 (2mm.cu:203)".
void report_put_suggestion(const struct report_data *data, const struct analyze_finding *finding,
                           struct base_buf *out);

// Add both, in few words, for one line each.
void report_put_brief(const struct report_data *data, const struct analyze_finding *finding,
                      struct base_buf *message, struct base_buf *suggestion);

// Adds both as sentences, for formats with one text per finding.
void report_put_advice(const struct report_data *data, const struct analyze_finding *finding,
                       struct base_buf *out);

// Adds its place: a line of a kernel if it is at one, else that of its call (report_put_place).
void report_put_finding_place(const struct report_data *data, const struct analyze_finding *finding,
                              struct base_buf *out);

// Adds what fixing it saves: "4.0 MiB off the peak (50.0%)".
void report_put_worth(const struct report_data *data, const struct analyze_finding *finding,
                      struct base_buf *out);
// Counts the findings that are not worthwhile. report_put_hidden adds "14 findings are worth less
// than 0.1% or 4 KiB", and how many have an unknown gain; it returns false if there are none.
struct report_hidden {
    size_t small, unknown; // findings by their gain
    size_t covered;        // those whose gain is that of others
    bool waits;            // the gain of some small ones is only a number of waits
};
void report_count_hidden(struct report_hidden *hidden, const struct analyze_finding *finding);
bool report_put_hidden(const struct report_hidden *hidden, struct base_buf *out);
// Returns whether worthwhile findings lower the peak; and whether they shorten the run.
bool report_lowers_peak(const struct report_data *data);
bool report_shortens_run(const struct report_data *data);
// Returns whether the recording did not observe which waits were needed.
bool report_lacks_first_uses(const struct report_data *data);

// Returns the time that fixing it saves: of the run if it is about waits, else of the GPU.
static inline uint64_t report_saved_ns(const struct analyze_finding *finding)
{
    return finding->host_ns > finding->gpu_ns ? finding->host_ns : finding->gpu_ns;
}

// Returns the highest peak if only this finding is fixed.
uint64_t report_peak_after(const struct report_data *data, const struct analyze_finding *finding);

// Adds a number with commas: "2,160,640".
void report_put_count(uint64_t count, struct base_buf *out);

// analyses.c: adds why patterns that need the input were not searched for. Returns false if they
// were.
bool report_put_skipped(const struct report_data *data, enum analyze_input input,
                        struct base_buf *out);
// Adds how many objects' contents were not looked at, though that was wanted. Returns false if all
// were.
bool report_put_unseen_contents(const struct report_data *data, struct base_buf *out);
// Returns whether the recording was asked for the input.
bool report_was_wanted(const struct report_data *data, enum analyze_input input);
// Returns whether the input was recorded, or there was nothing to record.
bool report_was_recorded(const struct report_data *data, enum analyze_input input);
// Returns whether the pattern is about waits, which cost run time and not memory.
bool report_is_about_sync(enum analyze_pattern pattern);
// Returns whether the word is in a list that is separated by commas.
bool report_is_in_list(const char *list, const char *word);

#endif
