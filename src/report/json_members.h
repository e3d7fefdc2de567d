// SPDX-License-Identifier: Apache-2.0
// Members of the objects of the report as JSON. Inner header of src/report.
#ifndef GLINT_REPORT_JSON_MEMBERS_H
#define GLINT_REPORT_JSON_MEMBERS_H

#include "data.h"

static inline void report_json_number(struct base_json *json, const char *key, uint64_t value)
{
    base_json_key(json, key);
    base_json_u64(json, value);
}

static inline void report_json_number_or_null(struct base_json *json, const char *key,
                                              uint64_t value, bool known)
{
    base_json_key(json, key);
    if (known)
        base_json_u64(json, value);
    else
        base_json_null(json);
}

static inline void report_json_string(struct base_json *json, const char *key, const char *text)
{
    base_json_key(json, key);
    base_json_string(json, text);
}

static inline void report_json_bool(struct base_json *json, const char *key, bool value)
{
    base_json_key(json, key);
    base_json_bool(json, value);
}

static inline void report_json_time(struct base_json *json, const char *key, int64_t ns, bool known)
{
    base_json_key(json, key);
    if (known)
        base_json_i64(json, ns);
    else
        base_json_null(json);
}

// Frames as an array. In call paths that repeat, of objects and findings, only what people look
// for; else the whole.
void report_json_frames(struct base_json *json, const struct report_data *data,
                        const struct profile_frame *frames, uint32_t count, bool whole);

// The member "findings" (json_findings.c). False when memory ran out.
bool report_json_findings(struct base_json *json, const struct report_data *data);

// What a finding is worth, as an object.
void report_json_worth(struct base_json *json, const struct analyze_finding *finding);

// The member "kernels" (json_kernels.c).
enum base_code report_json_kernels(struct base_json *json, struct profile *profile,
                                   struct base_error *error);

#endif
