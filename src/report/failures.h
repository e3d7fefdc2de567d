// SPDX-License-Identifier: Apache-2.0
// Which calls failed, and the sentence that leads a report. Inner header of src/report.
#ifndef GLINT_REPORT_FAILURES_H
#define GLINT_REPORT_FAILURES_H

#include "data.h"

// Takes the next call, in the order of numbers.
void report_take_failure(struct report_failures *failures, const struct profile_call *call);
// Decides which failures count, when all calls, call paths and notes are known.
void report_end_failures(struct report_data *data);
// Adds "kernel bad read out of bounds at oob.cu:9; 12 later calls failed", or "cudaMalloc (x.cu:3)
// failed: out of memory". Returns false if nothing failed.
bool report_put_failures(const struct report_data *data, struct base_buf *out);
// Adds the member "failure": that sentence, or null.
void report_json_failure(const struct report_data *data, struct base_json *json);

#endif
