// SPDX-License-Identifier: Apache-2.0
// Writes members of JSON objects. Inner header of src/report.
#ifndef GLINT_REPORT_JSON_MEMBERS_H
#define GLINT_REPORT_JSON_MEMBERS_H

#include "data.h"

// Write a member with its key, which is a literal.
#define report_json_number(json, key, value) put_number(json, BASE_JSON_NAME(key), value)
#define report_json_number_or_null(json, key, value, known) \
    put_number_or_null(json, BASE_JSON_NAME(key), value, known)
#define report_json_string(json, key, text)    put_string(json, BASE_JSON_NAME(key), text)
#define report_json_bool(json, key, value)     put_bool(json, BASE_JSON_NAME(key), value)
#define report_json_time(json, key, ns, known) put_time(json, BASE_JSON_NAME(key), ns, known)
#define report_json_key(json, key)             base_json_name(json, BASE_JSON_NAME(key))

static inline void put_number(struct base_json *json, struct base_str name, uint64_t value)
{
    base_json_name(json, name);
    base_json_u64(json, value);
}

static inline void put_number_or_null(struct base_json *json, struct base_str name, uint64_t value,
                                      bool known)
{
    base_json_name(json, name);
    if (known)
        base_json_u64(json, value);
    else
        base_json_null(json);
}

static inline void put_string(struct base_json *json, struct base_str name, const char *text)
{
    base_json_name(json, name);
    base_json_string(json, text);
}

static inline void put_bool(struct base_json *json, struct base_str name, bool value)
{
    base_json_name(json, name);
    base_json_bool(json, value);
}

static inline void put_time(struct base_json *json, struct base_str name, int64_t ns, bool known)
{
    base_json_name(json, name);
    if (known)
        base_json_i64(json, ns);
    else
        base_json_null(json);
}

// Writes frames as an array, with all their members if `whole`; the call paths of objects and
// findings, which repeat, have only function, file and line.
void report_json_frames(struct base_json *json, const struct report_data *data,
                        const struct profile_frame *frames, uint32_t count, bool whole);

// The JSON of call paths, which is kept because paths repeat.
struct report_json_paths {
    struct base_map made; // number to struct base_str *
    struct base_arena *arena;
    bool failed; // memory ran out
};
// Writes the member "call_path" of objects and findings; empty for the number 0.
void report_json_call_path(struct base_json *json, const struct report_data *data,
                           struct report_json_paths *paths, uint32_t number);

// Writes only the value; the caller has written the key.
void report_json_path(struct base_json *json, const struct report_data *data,
                      struct report_json_paths *paths, uint32_t number);

// json_head.c: write the members "program", "device" and "devices", and "summary".
void report_json_program(struct base_json *json, const struct report_data *data);
void report_json_devices(struct base_json *json, const struct report_data *data);
void report_json_summary(struct base_json *json, const struct report_data *data);

// json_findings.c: writes the member "findings". Returns false when memory ran out.
bool report_json_findings(struct base_json *json, const struct report_data *data,
                          struct report_json_paths *paths);

// Writes what a finding is worth, as an object.
void report_json_worth(struct base_json *json, const struct analyze_finding *finding);

// json_kernels.c: writes the member "kernels".
enum base_code report_json_kernels(struct base_json *json, const struct report_data *data,
                                   struct base_error *error);

// json_caches.c: writes the member "caches" of a kernel.
void report_json_caches(struct base_json *json, const struct report_data *data, uint32_t number);

// json_flow.c: writes the member "value_flow". Returns false when memory ran out.
bool report_json_flow(struct base_json *json, const struct report_data *data);

#endif
