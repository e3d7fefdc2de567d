// SPDX-License-Identifier: Apache-2.0
// What a corrected run has gained, from its profile and from what it is compared with.
#ifndef GLINT_CLI_FIX_RESULT_H
#define GLINT_CLI_FIX_RESULT_H

#include "fix_choice.h"

struct cli_fix_result {        // begins as {0}
    uint64_t remedies, places; // that were applied
    uint64_t waits;            // that were removed
    uint64_t put_off;          // that were made after all, when data was used
    uint64_t left;             // calls at which it would not have been safe
    bool met;                  // the program came to a place of the plan
    bool failure_unreported;   // the GPU has failed, and the program does not know
    bool simulated;            // it ran on the simulated GPU
    bool has_peak;
    uint64_t peak_bytes, native_peak_bytes;
};

// Reads what was done from the profile of a corrected run, and says what it warns of.
bool cli_fix_result_read(struct cli_fix_result *result, const struct cli_fix_subject *subject,
                         const char *file);

// The times of whole processes. Those on the simulated GPU are a model's, and are not result.
struct cli_fix_times {
    int64_t corrected_ns; // 0: not result
    int64_t native_ns;    // 0: it was not run natively
};

// "3 remedies applied at 41 places: 12,300 waits removed; run time 3.1 s, natively 4.4 s (-29 %)".
void cli_fix_result_put(const struct cli_fix_result *result, const struct cli_fix_times *times,
                        struct base_buf *out);

#endif
