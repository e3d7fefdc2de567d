// SPDX-License-Identifier: Apache-2.0
// Sums up a profile for a job profile: the numbers of the process, of its kernels, objects, copies
// and waits, and its findings, with the texts of their reports. Nothing in it depends on the order
// in which profiles are merged, or on numbers that only hold in one profile.
#include <string.h>

#include "data.h"
#include "findings.h"
#include "identity.h"
#include "job_parting.h"
#include "text.h"
#include "units.h"

struct object_sum { // objects of one name, kind and call path
    const struct report_object *first;
    uint64_t count, bytes, largest, peak_count, peak_bytes, read_by, written_by;
};

struct object_sums {
    struct base_map groups; // index + 1 in sums
    BASE_ARRAY(struct object_sum) sums;
};

static struct job_cell number_if(bool known, uint64_t number)
{
    return known ? job_number(number) : (struct job_cell){0};
}

void report_parting_put(struct report_parting *of, enum job_table table,
                        const struct job_cell *cells)
{
    of->failed |= !job_part_put(of->part, table, cells);
}

// Returns the text of a buffer, "" for none; notes when memory ran out.
static const char *text_of(struct report_parting *of, const struct base_buf *buf)
{
    of->failed |= buf->failed;
    return buf->text && !buf->failed ? buf->text : "";
}

const struct job_place *report_parting_place(struct report_parting *of, uint32_t path)
{
    uint64_t *slot = path ? base_map_put(&of->places, path, NULL) : NULL;
    of->failed |= path && !slot;
    if (!slot || *slot || !report_path_of(&of->data, path))
        return slot ? (const struct job_place *)(uintptr_t)*slot : NULL;
    const struct profile_frame *frame = report_place(&of->data, path);
    struct base_buf trace = {0};
    report_put_user_trace(&of->data, path, &trace);
    const struct job_place place = {.trace = text_of(of, &trace),
                                    .function = frame ? frame->function : NULL,
                                    .file = frame ? frame->file : NULL,
                                    .line = frame ? frame->line : 0};
    const struct job_place *kept = job_part_keep(of->part, &place);
    *slot = (uint64_t)(uintptr_t)kept;
    of->failed |= !kept;
    base_buf_fini(&trace);
    return kept;
}

// --- The process ---------------------------------------------------------------------------------

// Adds the analyses of which findings could be made, separated by commas. A profile that does not
// say what was recorded is taken to have all that can be seen in it.
static void put_recorded(const struct report_data *data, struct base_buf *out)
{
    bool says = false;
    for (size_t i = 0; i < data->settings.count; i++)
        says |= strcmp(data->settings.items[i].name, "analyses") == 0;
    for (unsigned i = 0; i < ANALYZE_INPUTS; i++) {
        const enum analyze_input input = (enum analyze_input)i;
        if ((input != ANALYZE_INPUT_SYNC && !says) || report_was_recorded(data, input))
            base_buf_printf(out, "%s%s", out->length ? "," : "", analyze_input_name(input));
    }
}

static void put_profile(struct report_parting *of)
{
    const struct report_data *data = &of->data;
    const struct profile_program *program = profile_program(data->profile);
    const struct profile_meta *meta = profile_meta(data->profile);
    const struct analyze_run_time *time = analyze_run_time(data->analysis);
    const struct report_coverage coverage = report_coverage(data);
    const bool real = !program->simulated;
    const bool has_code = meta->ending == PROFILE_EXITED || meta->ending == PROFILE_SIGNALLED;
    uint64_t kernel_ns = 0, waits = 0, waited_ns = 0;
    struct base_buf arguments = {0}, recorded = {0};
    put_recorded(data, &recorded);
    for (uint32_t i = 0; i < program->argument_count; i++) {
        base_buf_puts(&arguments, i ? " " : "");
        report_put_argument(&arguments, program->arguments[i]);
    }
    for (size_t i = 0; i < data->kernel_rows.count; i++)
        kernel_ns += data->kernel_rows.items[i].sum.total_ns;
    for (size_t i = 0; i < data->wait_rows.count; i++) {
        waits += data->wait_rows.items[i].sum.count;
        waited_ns += data->wait_rows.items[i].sum.total_ns;
    }
    const uint64_t run_ns = time->recorded_ns  ? time->recorded_ns
                            : program->has_end ? (uint64_t)program->end_ns
                                               : 0;
    const struct profile_rank *rank = &program->rank;
    const struct job_cell cells[JOB_PROFILES_COUNT] = {
        [JOB_PROFILES_rank] = number_if(rank->has_number, rank->number),
        [JOB_PROFILES_ranks] = number_if(rank->has_count, rank->count),
        [JOB_PROFILES_local_rank] = number_if(rank->has_local, rank->local),
        [JOB_PROFILES_host] = job_text(rank->host),
        [JOB_PROFILES_job] = job_text(rank->job),
        [JOB_PROFILES_launcher] = job_text(rank->launcher),
        [JOB_PROFILES_pid] = job_number((uint64_t)(int64_t)program->pid),
        [JOB_PROFILES_start_unix_ns] = job_number((uint64_t)program->start_unix_ns),
        [JOB_PROFILES_clock_offset_ns] =
            number_if(program->start_unix_ns != 0,
                      (uint64_t)program->start_unix_ns - (uint64_t)program->start_monotonic_ns),
        [JOB_PROFILES_end_ns] = number_if(program->has_end, (uint64_t)program->end_ns),
        [JOB_PROFILES_executable] = job_text(program->executable),
        [JOB_PROFILES_arguments] = job_text(text_of(of, &arguments)),
        [JOB_PROFILES_glint] = job_text(meta->glint),
        [JOB_PROFILES_schema_minor] = job_number(meta->minor),
        [JOB_PROFILES_complete] = job_number(meta->complete),
        [JOB_PROFILES_ended] = job_text(profile_ending_word(meta->ending)),
        [JOB_PROFILES_code] = number_if(has_code, (uint64_t)(int64_t)meta->code),
        [JOB_PROFILES_simulated] = job_number(program->simulated),
        [JOB_PROFILES_unsearched] = job_number(analyze_is_incomplete(data->analysis)),
        [JOB_PROFILES_calls] = job_number(data->calls),
        [JOB_PROFILES_failed_calls] = job_number(data->failures.count),
        [JOB_PROFILES_launches] = job_number(data->launches),
        [JOB_PROFILES_objects] = job_number(data->objects.count),
        [JOB_PROFILES_dropped] = job_number(data->dropped_count),
        [JOB_PROFILES_peak_bytes] = job_number(data->peak_bytes),
        [JOB_PROFILES_achievable_bytes] = job_number(analyze_achievable_peak(data->analysis)),
        [JOB_PROFILES_run_ns] = number_if(real && run_ns, run_ns),
        [JOB_PROFILES_possible_ns] = number_if(real && report_shortens_run(data), time->after_ns),
        [JOB_PROFILES_kernel_ns] = job_number(kernel_ns),
        [JOB_PROFILES_waits] = job_number(waits),
        [JOB_PROFILES_waited_ns] = job_number(waited_ns),
        [JOB_PROFILES_findings] = job_number(analyze_finding_count(data->analysis)),
        [JOB_PROFILES_worthwhile] = job_number(analyze_worthwhile_count(data->analysis)),
        [JOB_PROFILES_all_waits] = job_number(time->waits),
        [JOB_PROFILES_recorded] = job_text(text_of(of, &recorded)),
        [JOB_PROFILES_by_probes] = job_number(coverage.launches[REPORT_BY_PROBES]),
        [JOB_PROFILES_by_arguments] = job_number(coverage.launches[REPORT_BY_ARGUMENTS]),
        [JOB_PROFILES_unobserved] = job_number(coverage.launches[REPORT_NOT_KNOWN]),
        [JOB_PROFILES_probes_ns] = job_number(coverage.gpu_ns[REPORT_BY_PROBES]),
        [JOB_PROFILES_arguments_ns] = job_number(coverage.gpu_ns[REPORT_BY_ARGUMENTS]),
        [JOB_PROFILES_unobserved_ns] = job_number(coverage.gpu_ns[REPORT_NOT_KNOWN]),
    };
    report_parting_put(of, JOB_PROFILES, cells);
    base_buf_fini(&arguments);
    base_buf_fini(&recorded);
}

static void put_facts(struct report_parting *of)
{
    const struct report_data *data = &of->data;
    for (size_t i = 0; i < data->devices.count; i++) {
        const struct profile_device *device = &data->devices.items[i];
        report_parting_put(
            of, JOB_DEVICES,
            (struct job_cell[JOB_DEVICES_COUNT]){
                [JOB_DEVICES_ordinal] = job_number(device->number ? device->number - 1 : 0),
                [JOB_DEVICES_name] = job_text(device->name),
                [JOB_DEVICES_uuid] = job_text(device->uuid),
                [JOB_DEVICES_major] = job_number(device->major),
                [JOB_DEVICES_minor] = job_number(device->minor),
                [JOB_DEVICES_multiprocessors] = job_number(device->multiprocessors),
                [JOB_DEVICES_memory_bytes] = job_number(device->memory_bytes)});
    }
    for (size_t i = 0; i < data->peak_count; i++) {
        const struct analyze_peak *peak = &data->peaks[i];
        report_parting_put(of, JOB_PEAKS,
                           (struct job_cell[JOB_PEAKS_COUNT]){
                               [JOB_PEAKS_level] = job_number(i + 1),
                               [JOB_PEAKS_device] = number_if(peak->device, peak->device - 1),
                               [JOB_PEAKS_bytes] = job_number(peak->bytes),
                               [JOB_PEAKS_times] = job_number(peak->times)});
    }
    for (size_t i = 0; i < data->notes.count; i++)
        report_parting_put(of, JOB_NOTES,
                           (struct job_cell[JOB_NOTES_COUNT]){
                               [JOB_NOTES_position] = job_number(i + 1),
                               [JOB_NOTES_severity] =
                                   job_text(profile_severity_word(data->notes.items[i].severity)),
                               [JOB_NOTES_text] = job_text(data->notes.items[i].text)});
    for (size_t i = 0; i < data->dropped.count; i++)
        report_parting_put(of, JOB_DROPPED,
                           (struct job_cell[JOB_DROPPED_COUNT]){
                               [JOB_DROPPED_kind] = job_text(data->dropped.items[i].kind),
                               [JOB_DROPPED_count] = job_number(data->dropped.items[i].count)});
    for (size_t i = 0; i < data->settings.count; i++)
        report_parting_put(of, JOB_SETTINGS,
                           (struct job_cell[JOB_SETTINGS_COUNT]){
                               [JOB_SETTINGS_name] = job_text(data->settings.items[i].name),
                               [JOB_SETTINGS_value] = job_text(data->settings.items[i].value)});
}

// --- Work ----------------------------------------------------------------------------------------

static void put_work(struct report_parting *of)
{
    const struct report_data *data = &of->data;
    for (size_t i = 0; i < data->kernel_rows.count; i++) {
        const struct report_kernel *kernel = &data->kernel_rows.items[i];
        if (kernel->sum.count)
            report_parting_put(of, JOB_KERNELS,
                               (struct job_cell[JOB_KERNELS_COUNT]){
                                   [JOB_KERNELS_kernel] = job_text(kernel->name),
                                   [JOB_KERNELS_launches] = job_number(kernel->sum.count),
                                   [JOB_KERNELS_timed] = job_number(kernel->sum.timed),
                                   [JOB_KERNELS_gpu_ns] = job_number(kernel->sum.total_ns),
                                   [JOB_KERNELS_longest_ns] = job_number(kernel->sum.longest_ns)});
    }
    for (unsigned i = 0; i < REPORT_DIRECTIONS; i++) {
        const struct report_sum *sum = &data->copies[i];
        if (sum->count)
            report_parting_put(of, JOB_COPIES,
                               (struct job_cell[JOB_COPIES_COUNT]){
                                   [JOB_COPIES_direction] =
                                       job_text(profile_direction_word((enum profile_direction)i)),
                                   [JOB_COPIES_count] = job_number(sum->count),
                                   [JOB_COPIES_bytes] = job_number(sum->bytes),
                                   [JOB_COPIES_timed] = job_number(sum->timed),
                                   [JOB_COPIES_gpu_ns] = job_number(sum->total_ns),
                                   [JOB_COPIES_longest_ns] = job_number(sum->longest_ns)});
    }
    if (data->sets.count)
        report_parting_put(of, JOB_SETS,
                           (struct job_cell[JOB_SETS_COUNT]){
                               [JOB_SETS_count] = job_number(data->sets.count),
                               [JOB_SETS_bytes] = job_number(data->sets.bytes),
                               [JOB_SETS_timed] = job_number(data->sets.timed),
                               [JOB_SETS_gpu_ns] = job_number(data->sets.total_ns),
                               [JOB_SETS_longest_ns] = job_number(data->sets.longest_ns)});
    for (size_t i = 0; i < data->wait_rows.count; i++) {
        const struct report_wait *wait = &data->wait_rows.items[i];
        report_parting_put(
            of, JOB_WAITS,
            (struct job_cell[JOB_WAITS_COUNT]){
                [JOB_WAITS_path] = job_path(report_parting_place(of, wait->path)),
                [JOB_WAITS_function] = job_text(report_called(data, wait->path, wait->function)),
                [JOB_WAITS_explicit] = job_number(wait->is_explicit),
                [JOB_WAITS_count] = job_number(wait->sum.count),
                [JOB_WAITS_timed] = job_number(wait->sum.timed),
                [JOB_WAITS_waited_ns] = job_number(wait->sum.total_ns),
                [JOB_WAITS_longest_ns] = job_number(wait->sum.longest_ns)});
    }
}

// --- Objects -------------------------------------------------------------------------------------

// Other names are made of lines and sizes, which differ between ranks.
static const char *name_of(const struct report_object *object)
{
    return object->name_source >= PROFILE_NAME_SOURCE ? object->name : NULL;
}

static struct object_sum *sum_of(struct report_parting *of, struct object_sums *objects,
                                 const struct report_object *object)
{
    // Equal names of a profile have equal pointers.
    const uint64_t key[] = {(uint64_t)(uintptr_t)name_of(object), object->path, object->kind};
    uint64_t *slot = base_map_put(&objects->groups, base_hash(key, sizeof(key)), NULL);
    if (slot && !*slot) {
        struct object_sum *sum = base_array_push(&objects->sums);
        if (sum)
            *sum = (struct object_sum){.first = object};
        *slot = sum ? objects->sums.count : 0;
    }
    of->failed |= !slot || !*slot;
    return of->failed ? NULL : &objects->sums.items[*slot - 1];
}

static void put_objects(struct report_parting *of)
{
    struct object_sums objects = {0};
    const struct report_data *data = &of->data;
    for (size_t i = 0; i < data->objects.count && !of->failed; i++) {
        const struct report_object *object = &data->objects.items[i];
        struct object_sum *sum = sum_of(of, &objects, object);
        const bool at_peak = report_is_in_highest(data, object);
        if (!sum)
            break;
        sum->count++;
        sum->bytes += object->bytes;
        sum->largest = object->bytes > sum->largest ? object->bytes : sum->largest;
        sum->peak_count += at_peak;
        sum->peak_bytes += at_peak ? object->bytes : 0;
        sum->read_by += object->use.reads;
        sum->written_by += object->use.writes;
    }
    for (size_t i = 0; objects.sums.items && i < objects.sums.count && !of->failed; i++) {
        const struct object_sum *sum = &objects.sums.items[i];
        report_parting_put(
            of, JOB_OBJECTS,
            (struct job_cell[JOB_OBJECTS_COUNT]){
                [JOB_OBJECTS_path] = job_path(report_parting_place(of, sum->first->path)),
                [JOB_OBJECTS_name] = job_text(name_of(sum->first)),
                [JOB_OBJECTS_kind] =
                    job_text(profile_object_kind_word((enum profile_object_kind)sum->first->kind)),
                [JOB_OBJECTS_count] = job_number(sum->count),
                [JOB_OBJECTS_bytes] = job_number(sum->bytes),
                [JOB_OBJECTS_largest_bytes] = job_number(sum->largest),
                [JOB_OBJECTS_peak_count] = job_number(sum->peak_count),
                [JOB_OBJECTS_peak_bytes] = job_number(sum->peak_bytes),
                [JOB_OBJECTS_read_by] = job_number(sum->read_by),
                [JOB_OBJECTS_written_by] = job_number(sum->written_by)});
    }
    base_map_fini(&objects.groups);
    base_array_fini(&objects.sums);
}

// --- Findings ------------------------------------------------------------------------------------

// Shares are kept in millionths, because sums of real numbers depend on their order.
static uint64_t share_ppm(const struct analyze_finding *finding)
{
    const double share = finding->share * 1e6;
    return share >= 1e6 ? 1000000 : share > 0 ? (uint64_t)share : 0;
}

static void put_finding(struct report_parting *of, const struct analyze_finding *finding,
                        const struct report_identity *identity)
{
    const struct report_data *data = &of->data;
    const struct report_object *object = report_find_object(data, finding->object);
    const struct analyze_line line = analyze_line_at(finding);
    const uint32_t path = report_finding_path(data, finding);
    const struct profile_frame *frame = line.file || !path ? NULL : report_place(data, path);
    const char *kernel = finding->kernel ? report_kernel_name(data, finding->kernel) : NULL;
    struct base_buf place = {0}, message = {0}, suggestion = {0}, brief = {0}, remedy = {0};
    report_put_finding_place(data, finding, &place);
    report_put_message(data, finding, &message);
    report_put_suggestion(data, finding, &suggestion);
    report_put_brief(data, finding, &brief, &remedy);
    const struct job_cell cells[JOB_FINDINGS_COUNT] = {
        [JOB_FINDINGS_pattern] = job_text(analyze_pattern_word(finding->pattern)),
        [JOB_FINDINGS_identity] = job_number(identity->hash),
        [JOB_FINDINGS_ordinal] = job_number(identity->ordinal),
        [JOB_FINDINGS_path] = job_path(report_parting_place(of, path)),
        [JOB_FINDINGS_place] = job_text(text_of(of, &place)),
        [JOB_FINDINGS_file] = job_text(line.file ? line.file
                                       : frame   ? frame->file
                                                 : NULL),
        [JOB_FINDINGS_line] = job_number(line.file ? line.line
                                         : frame   ? frame->line
                                                   : 0),
        [JOB_FINDINGS_object] = job_text(object ? object->name : NULL),
        [JOB_FINDINGS_kernel] = job_text(kernel),
        [JOB_FINDINGS_message] = job_text(text_of(of, &message)),
        [JOB_FINDINGS_suggestion] = job_text(text_of(of, &suggestion)),
        [JOB_FINDINGS_brief] = job_text(text_of(of, &brief)),
        [JOB_FINDINGS_remedy] = job_text(text_of(of, &remedy)),
        [JOB_FINDINGS_count] = job_number(finding->count),
        [JOB_FINDINGS_worthwhile] = job_number(finding->worthwhile),
        [JOB_FINDINGS_only_together] = job_number(finding->only_together),
        [JOB_FINDINGS_unestimated] = job_number(finding->gain_is_unknown),
        [JOB_FINDINGS_hard] = job_number(finding->is_hard),
        [JOB_FINDINGS_bound] = job_number(finding->traffic_is_bound || finding->host_is_bound),
        [JOB_FINDINGS_share_ppm] = job_number(share_ppm(finding)),
        [JOB_FINDINGS_peak_bytes] = job_number(finding->peak_bytes),
        [JOB_FINDINGS_traffic_bytes] = job_number(finding->traffic_bytes),
        [JOB_FINDINGS_gpu_ns] = job_number(finding->gpu_ns),
        [JOB_FINDINGS_run_ns] = job_number(finding->host_ns),
        [JOB_FINDINGS_waits] = job_number(finding->waits),
        [JOB_FINDINGS_together_bytes] = job_number(finding->together_bytes),
        [JOB_FINDINGS_together_ns] = job_number(finding->together_ns),
    };
    report_parting_put(of, JOB_FINDINGS, cells);
    base_buf_fini(&place);
    base_buf_fini(&message);
    base_buf_fini(&suggestion);
    base_buf_fini(&brief);
    base_buf_fini(&remedy);
}

static void put_findings(struct report_parting *of)
{
    const size_t count = analyze_finding_count(of->data.analysis);
    struct report_identity *identities = report_identities(&of->data);
    of->failed |= count && !identities;
    for (size_t i = 0; i < count && !of->failed; i++)
        put_finding(of, analyze_finding(of->data.analysis, i), &identities[i]);
    free(identities);
}

enum base_code report_job_part(struct profile *profile, struct job_part **part,
                               struct base_error *error)
{
    struct report_parting of = {.part = job_part_create()};
    *part = NULL;
    BASE_RETURN_IF_NO_MEMORY(!of.part, error);
    enum base_code code = report_data_load(&of.data, profile, NULL, error);
    if (code == BASE_OK) {
        put_profile(&of);
        put_facts(&of);
        put_work(&of);
        put_objects(&of);
        put_findings(&of);
        code = report_parting_put_communication(&of, error);
    }
    if (code == BASE_OK && of.failed)
        code = base_no_memory(error);
    base_map_fini(&of.places);
    report_data_fini(&of.data);
    if (code == BASE_OK)
        *part = of.part;
    else
        job_part_destroy(of.part);
    return code;
}
