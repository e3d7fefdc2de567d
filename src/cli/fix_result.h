// SPDX-License-Identifier: Apache-2.0
// What a corrected run has done and gained, read from its profile, and the summary line.
#ifndef GLINT_CLI_FIX_RESULT_H
#define GLINT_CLI_FIX_RESULT_H

#include "fix_choice.h"

struct cli_fix_result {        // initialize with {0}, and `quiet`
    bool quiet;                // print no warnings, only that the GPU failed
    uint64_t remedies, places; // applied
    uint64_t waits;            // removed
    uint64_t put_off;          // made later, when their data was used
    uint64_t left;             // calls where a correction would not have been safe
    bool met;                  // the program reached a place of the plan
    bool failure_unreported;   // the GPU failed, and no call has reported it to the program
    bool simulated;            // the run was on the simulated GPU
    bool has_peak;
    uint64_t peak_bytes, native_peak_bytes;
};

// Reads the profile of a corrected run and prints its warnings, unless it is quiet. Returns false
// after a message.
bool cli_fix_result_read(struct cli_fix_result *result, const struct cli_fix_subject *subject,
                         const char *file);

// Run times of whole processes. Times of the simulated GPU are a model and are not printed.
struct cli_fix_times {
    int64_t corrected_ns; // 0: not printed
    int64_t native_ns;    // 0: there was no native run
};

// Appends the summary: "3 remedies applied at 41 places: 12,300 waits removed; run time 3.1 s,
// natively 4.4 s (-29 %)".
void cli_fix_result_put(const struct cli_fix_result *result, const struct cli_fix_times *times,
                        struct base_buf *out);

#endif
