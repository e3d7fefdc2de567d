// SPDX-License-Identifier: Apache-2.0
// Writes the report as a Perfetto trace; docs/guide/perfetto.md describes the tracks. There are two
// walks over the calls. The first finds flows. The second writes each call: its slice on its
// thread, its findings, its work on a stream, and what it does to objects. Memory is needed for
// objects and flows, not for calls.
#include <stdlib.h>

#include "findings.h"
#include "perfetto.h"
#include "suppress.h"

struct thread {
    struct perfetto_group group;  // tracks below the thread's, for slices that overlap
    struct perfetto_group ranges; // of NVTX
    int32_t tid;
    const char *name;
};

struct perfetto_writing {
    struct perfetto_trace trace;
    struct perfetto_flows flows;
    struct perfetto_lives lives;
    struct perfetto_work work;
    struct report_data *data;
    struct base_map threads; // number to index + 1 in thread_rows
    BASE_ARRAY(struct thread) thread_rows;
    uint32_t *findings; // indices, by call
    size_t finding_count, next_finding;
    uint64_t finding_track;       // for findings whose call is not in the profile; 0: none yet
    struct perfetto_group ranges; // of NVTX, of the process
    uint32_t calls;               // calls so far
    bool failed;                  // memory ran out
};

// --- Threads -------------------------------------------------------------------------------------

static struct thread *add_thread(struct perfetto_writing *writing, uint32_t number)
{
    bool added;
    uint64_t *slot = base_map_put(&writing->threads, number, &added);
    struct thread *thread = slot && added ? base_array_push(&writing->thread_rows) : NULL;
    if (thread)
        *slot = writing->thread_rows.count;
    writing->failed |= !slot || *slot == 0;
    return writing->failed ? NULL : &writing->thread_rows.items[*slot - 1];
}

static bool take_thread(void *user, const struct profile_thread *row)
{
    struct thread *thread = add_thread(user, row->number);
    if (thread) {
        thread->tid = row->tid;
        thread->name = row->name;
    }
    return thread != NULL;
}

// Returns the thread, which has its own track, the first lane of its calls; NULL: no memory.
static struct thread *thread_of(struct perfetto_writing *writing, uint32_t number)
{
    struct perfetto_trace *trace = &writing->trace;
    struct thread *thread = add_thread(writing, number);
    struct perfetto_group *group = thread ? &thread->group : NULL;
    if (group && group->tracks.count == 0) {
        uint64_t *track = base_array_push(&group->tracks);
        writing->failed |= !track;
        if (!track)
            return NULL;
        const char *name = thread->name && thread->name[0]
                               ? thread->name
                               : perfetto_format(trace, "thread %u", number);
        *track = perfetto_add_thread(trace, thread->tid, name);
        group->parent = thread->ranges.parent = *track;
        group->name = "calls that overlap";
        thread->ranges.name = "NVTX ranges";
    }
    return thread;
}

static uint64_t call_track(struct perfetto_writing *writing, const struct profile_call *call,
                           int64_t end_ns)
{
    struct thread *thread = thread_of(writing, call->thread);
    return thread
               ? perfetto_group_take(&writing->trace, &thread->group, call->start_ns, end_ns, NULL)
               : 0;
}

// --- Findings ------------------------------------------------------------------------------------

static int by_call(const void *one, const void *other, void *user)
{
    const struct analysis *analysis = user;
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    uint64_t call_a = analyze_finding(analysis, a)->call,
             call_b = analyze_finding(analysis, b)->call;
    if (call_a != call_b)
        return call_a < call_b ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool order_findings(struct perfetto_writing *writing)
{
    size_t count = analyze_finding_count(writing->data->analysis);
    if (count < UINT32_MAX)
        writing->findings = calloc(count + 1, sizeof(*writing->findings));
    if (!writing->findings)
        return false;
    for (uint32_t i = 0; i < count; i++)
        writing->findings[i] = i;
    qsort_r(writing->findings, count, sizeof(*writing->findings), by_call, writing->data->analysis);
    writing->finding_count = count;
    return true;
}

static void put_finding(struct perfetto_writing *writing, uint32_t index, uint64_t track,
                        int64_t ns)
{
    struct perfetto_trace *trace = &writing->trace;
    const struct analyze_finding *finding = analyze_finding(writing->data->analysis, index);
    const struct report_object *object = report_find_object(writing->data, finding->object);
    struct base_buf message = {0}, suggestion = {0};
    report_put_message(writing->data, finding, &message);
    report_put_suggestion(writing->data, finding, &suggestion);
    writing->failed |= message.failed || suggestion.failed;
    perfetto_event(trace, PERFETTO_CALLS, PERFETTO_INSTANT, track, ns);
    perfetto_name(trace, PERFETTO_CATEGORY_FINDING, analyze_pattern_word(finding->pattern));
    perfetto_put_text(trace, PERFETTO_MESSAGE_IS, message.text ? message.text : "");
    perfetto_put_text(trace, PERFETTO_SUGGESTION_IS, suggestion.text ? suggestion.text : "");
    perfetto_put_u64(trace, PERFETTO_RANK_IS, (uint64_t)index + 1);
    perfetto_put_u64(trace, PERFETTO_COUNT_IS, finding->count);
    perfetto_put_u64(trace, PERFETTO_PEAK_BYTES_IS, finding->peak_bytes);
    perfetto_put_u64(trace, PERFETTO_TRAFFIC_BYTES_IS, finding->traffic_bytes);
    perfetto_put_u64(trace, PERFETTO_GPU_NS_IS, finding->gpu_ns);
    perfetto_put_u64(trace, PERFETTO_OBJECT_IS, finding->object);
    if (object && object->name)
        perfetto_put_text(trace, PERFETTO_NAME_IS, object->name);
    if (finding->call)
        perfetto_put_u64(trace, PERFETTO_CALL_IS, finding->call);
    perfetto_put_place(trace, finding->path);
    perfetto_event_end(trace);
    base_buf_fini(&message);
    base_buf_fini(&suggestion);
}

// Writes findings of calls before `call` that are not in the profile.
static void put_lost_findings(struct perfetto_writing *writing, uint64_t call)
{
    struct perfetto_trace *trace = &writing->trace;
    for (; writing->next_finding < writing->finding_count; writing->next_finding++) {
        uint32_t index = writing->findings[writing->next_finding];
        if (analyze_finding(writing->data->analysis, index)->call >= call)
            break;
        if (!writing->finding_track)
            writing->finding_track =
                perfetto_add_track(trace, trace->process, "findings of no call", INT32_MAX);
        put_finding(writing, index, writing->finding_track, 0);
    }
}

static void put_findings(struct perfetto_writing *writing, uint64_t call, uint64_t track,
                         int64_t ns)
{
    for (; writing->next_finding < writing->finding_count; writing->next_finding++) {
        uint32_t index = writing->findings[writing->next_finding];
        if (analyze_finding(writing->data->analysis, index)->call != call)
            break;
        put_finding(writing, index, track, ns);
    }
}

// --- Calls ---------------------------------------------------------------------------------------

static void put_range(struct perfetto_trace *trace, const struct profile_call *call)
{
    uint64_t object = 0, bytes = 0;
    switch (call->kind) {
    case PROFILE_CALL_ALLOC:
    case PROFILE_CALL_FREE:
    case PROFILE_CALL_MEMORY:
        object = call->range.object;
        bytes = call->range.bytes;
        break;
    case PROFILE_CALL_SET:
        object = call->set.object;
        bytes = call->set.bytes;
        break;
    case PROFILE_CALL_COPY: bytes = call->copy.bytes; break;
    default: break;
    }
    if (object)
        perfetto_put_u64(trace, PERFETTO_OBJECT_IS, object);
    if (bytes)
        perfetto_put_u64(trace, PERFETTO_BYTES_IS, bytes);
}

// The profile has the duration of a wait but not its start. A call waits for earlier work before it
// does its own, so the wait is drawn at the start of the call.
static void put_wait(struct perfetto_trace *trace, const struct profile_call *call, uint64_t track,
                     int64_t end_ns)
{
    uint64_t whole = (uint64_t)end_ns - (uint64_t)call->start_ns;
    if (call->waited_ns == 0)
        return;
    perfetto_event(trace, PERFETTO_CALLS, PERFETTO_BEGIN, track, call->start_ns);
    perfetto_name(trace, PERFETTO_CATEGORY_WAIT, "waits for the GPU");
    perfetto_event_end(trace);
    perfetto_end(trace, PERFETTO_CALLS, track,
                 call->waited_ns < whole ? (int64_t)((uint64_t)call->start_ns + call->waited_ns)
                                         : end_ns);
}

static void put_call(struct perfetto_writing *writing, const struct profile_call *call,
                     bool is_work)
{
    struct perfetto_trace *trace = &writing->trace;
    const int64_t end_ns = call->end_ns > call->start_ns ? call->end_ns : call->start_ns;
    const char *name = report_called(writing->data, call->path, call->function);
    uint64_t track = call_track(writing, call, end_ns);
    if (!track)
        return;
    perfetto_event(trace, PERFETTO_CALLS, PERFETTO_BEGIN, track, call->start_ns);
    perfetto_name(trace, PERFETTO_CATEGORY_CALL, name ? name : profile_call_kind_word(call->kind));
    if (is_work)
        perfetto_correlate(trace, call->number);
    else
        perfetto_put_flows(trace, &writing->flows, writing->calls);
    if (perfetto_flows_to_work(call))
        perfetto_flow(trace, 2 * call->number, false);
    perfetto_put_u64(trace, PERFETTO_CALL_IS, call->number);
    perfetto_put_place(trace, call->path);
    put_range(trace, call);
    if (call->result)
        perfetto_put_i64(trace, PERFETTO_RESULT_IS, call->result);
    if (call->flags & PROFILE_CALL_CAPTURED)
        perfetto_put_u64(trace, PERFETTO_CAPTURED_IS, true);
    if (call->flags & PROFILE_CALL_WAITED)
        perfetto_put_u64(trace, PERFETTO_WAITED_IS, call->waited_ns);
    perfetto_event_end(trace);
    put_findings(writing, call->number, track, call->start_ns);
    put_wait(trace, call, track, end_ns);
    perfetto_end(trace, PERFETTO_CALLS, track, end_ns);
}

static bool each_call(void *user, const struct profile_call *call)
{
    struct perfetto_writing *writing = user;
    bool is_work = perfetto_is_work(call);
    put_lost_findings(writing, call->number);
    put_call(writing, call, is_work);
    if (is_work)
        perfetto_put_work(&writing->trace, &writing->work, &writing->flows, writing->calls, call);
    perfetto_lives_call(&writing->trace, &writing->lives, call->number, call->start_ns);
    writing->calls++;
    return !writing->failed && !perfetto_failed(&writing->trace);
}

// --- Ranges of NVTX ------------------------------------------------------------------------------

static int64_t last_ns(const struct perfetto_writing *writing)
{
    const struct profile_program *program = profile_program(writing->data->profile);
    const int64_t last = writing->data->last_ns;
    return program->has_end && program->end_ns > last ? program->end_ns : last;
}

// A range that never ended lasts as long as the program.
static bool each_range(void *user, const struct profile_nvtx_range *range)
{
    struct perfetto_writing *writing = user;
    struct perfetto_trace *trace = &writing->trace;
    struct thread *thread = range->pushed ? thread_of(writing, range->thread) : NULL;
    struct perfetto_group *group = thread ? &thread->ranges : &writing->ranges;
    const int64_t end_ns = range->has_end ? range->end_ns : last_ns(writing);
    if (!group->name) {
        group->name = "NVTX ranges";
        group->parent = trace->process;
    }
    const uint64_t track = perfetto_group_take(trace, group, range->start_ns, end_ns, NULL);
    if (!track)
        return false;
    perfetto_event(trace, PERFETTO_CALLS, PERFETTO_BEGIN, track, range->start_ns);
    perfetto_name(trace, PERFETTO_CATEGORY_RANGE, range->name ? range->name : "");
    if (range->domain)
        perfetto_put_text(trace, PERFETTO_DOMAIN_IS, range->domain);
    perfetto_event_end(trace);
    perfetto_end(trace, PERFETTO_CALLS, track, end_ns);
    return !writing->failed && !perfetto_failed(trace);
}

// --- The trace -----------------------------------------------------------------------------------

// Requests all call paths, because every call shows its location.
static bool want_path(void *user, const struct profile_path *path)
{
    struct perfetto_writing *writing = user;
    writing->failed |= !base_map_put(&writing->data->paths, path->number, NULL);
    return !writing->failed;
}

static void put_end(struct perfetto_writing *writing)
{
    perfetto_lives_end(&writing->trace, &writing->lives, last_ns(writing));
}

static enum base_code write_trace(struct perfetto_writing *writing, report_write *write, void *user,
                                  struct base_error *error)
{
    struct perfetto_trace *trace = &writing->trace;
    struct profile *profile = writing->data->profile;
    enum base_code code = perfetto_lives_load(&writing->lives, writing->data, error);
    if (code == BASE_OK)
        code = perfetto_find_flows(&writing->flows, writing->data, &writing->lives, error);
    if (code == BASE_OK)
        code = perfetto_work_load(&writing->work, writing->data, error);
    if (code == BASE_OK)
        code = profile_each_thread(profile, take_thread, writing, error);
    writing->failed |= code == BASE_OK && !order_findings(writing);
    perfetto_init(trace, writing->data, write, user);
    if (code == BASE_OK && !writing->failed)
        code = profile_each_call(profile, each_call, writing, error);
    if (code == BASE_OK && !writing->failed)
        code = profile_each_nvtx_range(profile, each_range, writing, error);
    if (code == BASE_OK && !writing->failed) {
        put_lost_findings(writing, UINT64_MAX);
        put_end(writing);
        code = perfetto_put_nodes(trace, &writing->work, error);
    }
    if (code == BASE_OK && !base_protobuf_finish(&trace->out) && trace->out.refused)
        code = base_fail(error, BASE_IO, "the output could not be written");
    if (code == BASE_OK && (writing->failed || perfetto_failed(trace)))
        code = base_no_memory(error);
    enum base_code ended = perfetto_work_fini(&writing->work, code == BASE_OK ? error : NULL);
    return code == BASE_OK ? ended : code;
}

enum base_code report_perfetto(struct profile *profile, const struct report_rules *rules,
                               report_write *write, void *user, struct base_error *error)
{
    struct report_data data = {0};
    struct perfetto_writing writing = {.data = &data};
    enum base_code code = profile_each_path(profile, want_path, &writing, error);
    if (code == BASE_OK && writing.failed)
        code = base_no_memory(error);
    if (code == BASE_OK)
        code = report_data_load_by(&data, profile, rules, error);
    if (code == BASE_OK)
        code = write_trace(&writing, write, user, error);
    for (size_t i = 0; i < writing.thread_rows.count; i++) {
        perfetto_group_fini(&writing.thread_rows.items[i].group);
        perfetto_group_fini(&writing.thread_rows.items[i].ranges);
    }
    perfetto_group_fini(&writing.ranges);
    base_array_fini(&writing.thread_rows);
    base_map_fini(&writing.threads);
    free(writing.findings);
    perfetto_flows_fini(&writing.flows);
    perfetto_lives_fini(&writing.lives);
    perfetto_fini(&writing.trace);
    report_data_fini(&data);
    return code;
}
