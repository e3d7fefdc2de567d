// SPDX-License-Identifier: Apache-2.0
// Writes the head of the JSON report: the program, the devices, and the summary of what was found.
#include "data.h"
#include "failures.h"
#include "json_members.h"

static void put_rank(struct base_json *json, const struct profile_rank *rank)
{
    report_json_string(json, "host", rank->host);
    report_json_string(json, "launcher", rank->launcher);
    report_json_string(json, "job", rank->job);
    report_json_number_or_null(json, "rank", rank->number, rank->has_number);
    report_json_number_or_null(json, "ranks", rank->count, rank->has_count);
    report_json_number_or_null(json, "local_rank", rank->local, rank->has_local);
}

void report_json_program(struct base_json *json, const struct report_data *data)
{
    const struct profile_program *program = profile_program(data->profile);
    const struct profile_meta *meta = profile_meta(data->profile);
    report_json_key(json, "program");
    base_json_begin_object(json);
    report_json_key(json, "argv");
    base_json_begin_array(json);
    for (uint32_t i = 0; i < program->argument_count; i++)
        base_json_string(json, program->arguments[i]);
    base_json_end_array(json);
    report_json_key(json, "exit");
    base_json_begin_object(json);
    report_json_string(json, "kind", profile_ending_word(meta->ending));
    report_json_time(json, "code", meta->code,
                     meta->ending == PROFILE_EXITED || meta->ending == PROFILE_SIGNALLED);
    base_json_end_object(json);
    report_json_string(json, "executable", program->executable);
    report_json_string(json, "folder", program->folder);
    report_json_time(json, "pid", program->pid, program->pid != 0);
    report_json_time(json, "start_unix_ns", program->start_unix_ns, program->start_unix_ns != 0);
    report_json_time(json, "end_ns", program->end_ns, program->has_end);
    report_json_number_or_null(json, "driver_version", program->driver_version,
                               program->driver_version);
    put_rank(json, &program->rank);
    base_json_end_object(json);
    report_json_key(json, "profile");
    base_json_begin_object(json);
    report_json_bool(json, "complete", meta->complete);
    report_json_string(json, "glint", meta->glint);
    report_json_number(json, "major", meta->major);
    report_json_number(json, "minor", meta->minor);
    report_json_key(json, "settings");
    base_json_begin_object(json);
    for (size_t i = 0; i < data->settings.count; i++) {
        base_json_key(json, data->settings.items[i].name);
        base_json_string(json, data->settings.items[i].value);
    }
    base_json_end_object(json);
    base_json_end_object(json);
}

static void put_device(struct base_json *json, const struct report_data *data,
                       const struct profile_device *device)
{
    base_json_begin_object(json);
    report_json_string(json, "name", device ? device->name : NULL);
    report_json_bool(json, "simulated", profile_program(data->profile)->simulated);
    if (device) {
        report_json_number(json, "id", device->number);
        report_json_key(json, "compute_capability");
        base_json_begin_array(json);
        base_json_u64(json, device->major);
        base_json_u64(json, device->minor);
        base_json_end_array(json);
        report_json_number(json, "multiprocessors", device->multiprocessors);
        report_json_number(json, "memory_bytes", device->memory_bytes);
    }
    base_json_end_object(json);
}

void report_json_devices(struct base_json *json, const struct report_data *data)
{
    report_json_key(json, "device");
    put_device(json, data, data->devices.count ? &data->devices.items[0] : NULL);
    report_json_key(json, "devices");
    base_json_begin_array(json);
    for (size_t i = 0; i < data->devices.count; i++)
        put_device(json, data, &data->devices.items[i]);
    base_json_end_array(json);
}

// Adds sums of waits by reason; none if first uses were not to be tracked.
static void put_wait_sums(struct base_json *json, const struct analysis *analysis,
                          const char *const *reasons, const struct analyze_wait_sum *sums,
                          unsigned count)
{
    const struct analyze_run_time *time = analyze_run_time(analysis);
    const bool asked = time->tracked || time->given_up;
    base_json_begin_array(json);
    for (unsigned i = 0; asked && i < count; i++) {
        if (!sums[i].waits)
            continue;
        base_json_begin_object(json);
        report_json_string(json, "reason", reasons[i]);
        report_json_number(json, "waits", sums[i].waits);
        report_json_number_or_null(json, "waited_ns", sums[i].waited_ns,
                                   !analyze_is_simulated(analysis));
        base_json_end_object(json);
    }
    base_json_end_array(json);
}

static void put_other_waits(struct base_json *json, const struct analysis *analysis)
{
    // In the order of enum analyze_wait_unknown and enum analyze_wait_unlisted.
    static const char *const unknown[ANALYZE_WAIT_UNKNOWNS] = {
        "given_up",  "managed", "pinned", "stack", "static", "mapped", "small",
        "unwatched", "work",    "shared", "order", "output", "event",
    };
    static const char *const unlisted[ANALYZE_WAIT_UNLISTED] = {
        "needed", "unknown", "small", "costly", "nowhere",
    };
    static const char *const purposes[] = {"time"};
    const struct analyze_run_time *time = analyze_run_time(analysis);
    report_json_key(json, "unknown_waits");
    put_wait_sums(json, analysis, unknown, time->unknown, ANALYZE_WAIT_UNKNOWNS);
    report_json_key(json, "unlisted_waits");
    put_wait_sums(json, analysis, unlisted, time->unlisted, ANALYZE_WAIT_UNLISTED);
    report_json_key(json, "purpose_waits");
    put_wait_sums(json, analysis, purposes, &time->timed, 1);
}

static void put_run_time(struct base_json *json, const struct analysis *analysis)
{
    const struct analyze_run_time *time = analyze_run_time(analysis);
    const bool simulated = analyze_is_simulated(analysis), known = time->tracked && !simulated;
    report_json_number_or_null(json, "run_ns", time->recorded_ns, time->recorded_ns);
    report_json_number_or_null(json, "achievable_run_ns", time->after_ns, known);
    report_json_number_or_null(json, "waited_ns", time->waited_ns, time->recorded_ns);
    report_json_number_or_null(json, "unneeded_wait_ns", time->unneeded_ns, known);
    put_other_waits(json, analysis);
    report_json_bool(json, "run_estimated", time->is_estimated || (time->tracked && simulated));
    report_json_bool(json, "simulated", simulated);
}

static void put_level(struct base_json *json, const char *change, uint64_t bytes)
{
    report_json_string(json, "change", change);
    report_json_number(json, "peak_bytes", bytes);
}

// Each level includes the ones before it.
static void put_levels(struct base_json *json, const struct analyze_levels *levels)
{
    report_json_key(json, "peak_levels");
    base_json_begin_array(json);
    base_json_begin_object(json);
    put_level(json, "allocations", levels->allocations);
    base_json_end_object(json);
    base_json_begin_object(json);
    put_level(json, "initializers", levels->achievable);
    base_json_end_object(json);
    base_json_begin_object(json);
    put_level(json, "swaps", levels->swapped);
    report_json_number(json, "swaps", levels->swaps);
    report_json_number(json, "copied_bytes", levels->copied_bytes);
    report_json_number_or_null(json, "copy_ns", levels->copy_ns, levels->copy_ns > 0);
    base_json_end_object(json);
    base_json_end_array(json);
}

static void put_coverage(struct base_json *json, const struct report_data *data)
{
    static const char *const words[REPORT_KNOWN_WAYS] = {
        [REPORT_BY_PROBES] = "probes",
        [REPORT_BY_ARGUMENTS] = "arguments",
        [REPORT_NOT_KNOWN] = NULL,
    };
    const struct report_coverage coverage = report_coverage(data);
    const bool real = !profile_program(data->profile)->simulated;
    report_json_key(json, "coverage");
    base_json_begin_array(json);
    for (unsigned way = 0; way < REPORT_KNOWN_WAYS; way++) {
        base_json_begin_object(json);
        report_json_string(json, "known_by", words[way]);
        report_json_number(json, "launches", coverage.launches[way]);
        report_json_number_or_null(json, "gpu_ns", coverage.gpu_ns[way], real);
        base_json_end_object(json);
    }
    base_json_end_array(json);
}

// The kernels of which the most was not observed.
static void put_unobserved(struct base_json *json, const struct report_data *data)
{
    const struct report_kernel *largest[REPORT_MOST_UNOBSERVED];
    const size_t count = report_unobserved(data, largest);
    const bool real = !profile_program(data->profile)->simulated;
    if (!count)
        return;
    report_json_key(json, "unobserved");
    base_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        const struct report_coverage coverage = report_kernel_coverage(largest[i]);
        base_json_begin_object(json);
        report_json_string(json, "kernel", largest[i]->name);
        report_json_number(json, "launches", coverage.launches[REPORT_NOT_KNOWN]);
        report_json_number_or_null(json, "gpu_ns", coverage.gpu_ns[REPORT_NOT_KNOWN], real);
        base_json_end_object(json);
    }
    base_json_end_array(json);
}

static void put_amount(struct base_json *json, struct base_str name,
                       const struct report_amount *amount)
{
    base_json_name(json, name);
    base_json_begin_object(json);
    report_json_number(json, "count", amount->count);
    report_json_number(json, "bytes", amount->bytes);
    base_json_end_object(json);
}

static void put_tensors(struct base_json *json, const struct report_data *data)
{
    const struct analyze_peak *peak = data->peak_count ? &data->peaks[0] : NULL;
    const struct report_tensors tensors =
        peak ? report_tensors(data, peak) : (struct report_tensors){.any = false};
    if (!tensors.any)
        return;
    report_json_key(json, "tensors");
    base_json_begin_object(json);
    put_amount(json, BASE_JSON_NAME("blocks"), &tensors.blocks);
    put_amount(json, BASE_JSON_NAME("segments"), &tensors.segments);
    put_amount(json, BASE_JSON_NAME("outside"), &tensors.outside);
    report_json_key(json, "outside_objects");
    base_json_begin_array(json);
    for (size_t i = 0; i < data->objects.count; i++) {
        if (report_is_outside_tensors(&data->objects.items[i], peak))
            base_json_u64(json, data->objects.items[i].number);
    }
    base_json_end_array(json);
    base_json_end_object(json);
}

void report_json_summary(struct base_json *json, const struct report_data *data)
{
    report_json_key(json, "summary");
    base_json_begin_object(json);
    report_json_number(json, "peak_bytes", data->peak_bytes);
    report_json_number(json, "achievable_peak_bytes", analyze_achievable_peak(data->analysis));
    report_json_number(json, "objects", data->objects.count);
    report_json_number(json, "calls", data->calls);
    report_json_number(json, "launches", data->launches);
    report_json_number(json, "dropped", data->dropped_count);
    report_json_number(json, "failed_calls", data->failures.count);
    report_json_failure(data, json);
    report_json_key(json, "peaks");
    base_json_begin_array(json);
    for (size_t i = 0; i < data->peak_count; i++) {
        const struct analyze_peak *peak_of = &data->peaks[i];
        base_json_begin_object(json);
        report_json_number(json, "bytes", peak_of->bytes);
        report_json_number(json, "start", peak_of->start);
        report_json_number_or_null(json, "end", peak_of->end, peak_of->end != ANALYZE_NEVER);
        report_json_number(json, "times", peak_of->times);
        if (peak_of->device) {
            report_json_number(json, "device", peak_of->device);
            report_json_number(json, "rank", peak_of->rank);
        }
        report_json_key(json, "objects");
        base_json_begin_array(json);
        for (size_t k = 0; k < data->objects.count; k++) {
            const struct report_object *object = &data->objects.items[k];
            if (report_is_in_peak(object, peak_of))
                base_json_u64(json, object->number);
        }
        base_json_end_array(json);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    report_json_number(json, "least_peak_bytes", analyze_least_peak(data->analysis));
    put_levels(json, analyze_peak_levels(data->analysis));
    report_json_number(json, "findings", analyze_finding_count(data->analysis));
    report_json_number(json, "worthwhile", analyze_worthwhile_count(data->analysis));
    put_run_time(json, data->analysis);
    put_coverage(json, data);
    put_unobserved(json, data);
    put_tensors(json, data);
    base_json_end_object(json);
}
