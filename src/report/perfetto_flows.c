// SPDX-License-Identifier: Apache-2.0
// Finds dependencies, which become flows. A wait for an event depends on its record. Through an
// object, a read depends on the last write; a write depends on the last read since then, otherwise
// on the last write. A flow must be attached to its source, which is written first, so all flows
// are found before anything is written; each takes about ten bytes. Perfetto draws flows forward in
// time, so flows that contradict the clocks are left out.
#include <stdlib.h>

#include "perfetto.h"

enum { ALIKE = 8 }; // how many earlier flows are searched for the same flow

struct end { // an end of a flow: a call, by its position in the profile
    uint32_t call;
    int64_t ns;
    bool is;
};

struct object_state {
    struct end writer, reader; // reader: the last one since the write
};

struct event_state {
    struct end record;
    uint64_t count; // number of records
};

struct finding_flows {
    struct perfetto_flows *flows;
    struct perfetto_lives *lives;
    const struct report_data *data;
    struct object_state *objects; // parallel to data->objects
    struct base_map events;       // number to index + 1 in event_rows
    BASE_ARRAY(struct event_state) event_rows;
    struct profile_accesses *accesses;
    const struct profile_access *access; // the next access
    uint32_t calls;                      // calls so far
    bool failed;
};

static void add_flow(struct finding_flows *finding, const struct end *from, const struct end *to)
{
    struct perfetto_flows *flows = finding->flows;
    size_t count = flows->targets.count;
    if (!from->is || from->call == to->call || from->ns > to->ns || count == UINT32_MAX)
        return;
    for (size_t i = count; i > 0 && count - i < ALIKE && flows->targets.items[i - 1] == to->call;
         i--) {
        if (flows->by_source.items[i - 1] >> 32 == from->call)
            return;
    }
    uint32_t *target = base_array_push(&flows->targets);
    uint64_t *source = target ? base_array_push(&flows->by_source) : NULL;
    finding->failed |= !source;
    if (!source)
        return;
    *target = to->call;
    *source = (uint64_t)from->call << 32 | count;
}

static void touch(struct finding_flows *finding, const struct end *call, uint64_t number, bool read,
                  bool written)
{
    const struct report_object *object = number ? report_find_object(finding->data, number) : NULL;
    if (!object)
        return;
    struct object_state *state = &finding->objects[object - finding->data->objects.items];
    if (read)
        add_flow(finding, &state->writer, call);
    if (written) {
        add_flow(finding, state->reader.is || read ? &state->reader : &state->writer, call);
        *state = (struct object_state){.writer = *call};
    } else if (read) {
        state->reader = *call;
    }
}

static void touch_nodes(struct finding_flows *finding, const struct end *call, uint64_t number)
{
    const struct report_graph *graph = report_graph_of(finding->data, number);
    for (uint32_t i = 0; graph && i < graph->node_count; i++) {
        const struct report_node *node = &graph->nodes[i];
        if (node->kind == PROFILE_NODE_COPY)
            touch(finding, call, node->objects[0], true, false);
        if (node->kind == PROFILE_NODE_COPY || node->kind == PROFILE_NODE_SET)
            touch(finding, call, node->objects[node->kind == PROFILE_NODE_COPY], false, true);
    }
}

static void take_work(struct finding_flows *finding, const struct profile_call *call,
                      const struct end *end)
{
    if (call->kind == PROFILE_CALL_COPY) {
        touch(finding, end, call->copy.from_object, true, false);
        touch(finding, end, call->copy.to_object, false, true);
    } else if (call->kind == PROFILE_CALL_SET) {
        touch(finding, end, call->set.object, false, true);
    } else if (call->kind == PROFILE_CALL_GRAPH_LAUNCH) {
        touch_nodes(finding, end, call->graph);
    }
    for (; finding->access && finding->access->call == call->number;
         finding->access = profile_accesses_next(finding->accesses))
        touch(finding, end, finding->access->object, finding->access->read,
              finding->access->written);
}

// A wait refers to the latest record. If the event was recorded again since, the earlier record is
// no longer known.
static void take_event(struct finding_flows *finding, const struct profile_call *call,
                       const struct end *end)
{
    bool added;
    uint64_t *slot = base_map_put(&finding->events, call->sync.event, &added);
    const struct event_state *new = slot &&added ? base_array_push(&finding->event_rows) : NULL;
    if (new)
        *slot = finding->event_rows.count;
    finding->failed |= !slot || (added && !new);
    if (finding->failed || !finding->event_rows.items)
        return;
    struct event_state *event = &finding->event_rows.items[*slot - 1];
    if (call->kind == PROFILE_CALL_EVENT_RECORD)
        *event = (struct event_state){*end, event->count + 1};
    else if (call->sync.record == 0 || call->sync.record == event->count)
        add_flow(finding, &event->record, end);
}

static bool take_call(void *user, const struct profile_call *call)
{
    struct finding_flows *finding = user;
    struct end end = {finding->calls, call->start_ns, true};
    perfetto_lives_see(finding->lives, call->number);
    while (finding->access && finding->access->call < call->number)
        finding->access = profile_accesses_next(finding->accesses);
    if (perfetto_is_work(call)) {
        int64_t end_ns;
        perfetto_work_times(call, &end.ns, &end_ns);
        take_work(finding, call, &end);
    } else if (call->result == 0 && !(call->flags & PROFILE_CALL_CAPTURED) &&
               (call->kind == PROFILE_CALL_EVENT_RECORD || call->kind == PROFILE_CALL_EVENT_WAIT ||
                call->kind == PROFILE_CALL_SYNC) &&
               call->sync.event) {
        take_event(finding, call, &end);
    }
    return !finding->failed && finding->calls++ < UINT32_MAX;
}

static int by_value(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

enum base_code perfetto_find_flows(struct perfetto_flows *flows, const struct report_data *data,
                                   struct perfetto_lives *lives, struct base_error *error)
{
    struct finding_flows finding = {.flows = flows, .lives = lives, .data = data};
    finding.objects = calloc(data->objects.count + 1, sizeof(*finding.objects));
    finding.failed = !finding.objects;
    enum base_code code = BASE_OK;
    if (!finding.failed)
        code = profile_accesses_begin(data->profile, &finding.accesses, error);
    finding.access = profile_accesses_next(finding.accesses);
    if (code == BASE_OK && !finding.failed)
        code = profile_each_call(data->profile, take_call, &finding, error);
    enum base_code ended = profile_accesses_end(finding.accesses, code == BASE_OK ? error : NULL);
    code = code == BASE_OK ? ended : code;
    if (code == BASE_OK && finding.failed)
        code = base_no_memory(error);
    if (flows->by_source.count)
        qsort(flows->by_source.items, flows->by_source.count, sizeof(uint64_t), by_value);
    perfetto_lives_ready(lives);
    free(finding.objects);
    base_map_fini(&finding.events);
    base_array_fini(&finding.event_rows);
    return code;
}

void perfetto_flows_fini(struct perfetto_flows *flows)
{
    base_array_fini(&flows->by_source);
    base_array_fini(&flows->targets);
}

// Flows between calls have odd numbers; the flow from a call to its work has an even one.
static uint64_t flow_number(uint64_t index)
{
    return 2 * index + 1;
}

void perfetto_put_flows(struct perfetto_trace *trace, struct perfetto_flows *flows, uint32_t call)
{
    for (; flows->next_source < flows->by_source.count &&
           flows->by_source.items[flows->next_source] >> 32 == call;
         flows->next_source++)
        perfetto_flow(trace, flow_number((uint32_t)flows->by_source.items[flows->next_source]),
                      false);
    for (; flows->next_target < flows->targets.count &&
           flows->targets.items[flows->next_target] == call;
         flows->next_target++)
        perfetto_flow(trace, flow_number(flows->next_target), true);
}
