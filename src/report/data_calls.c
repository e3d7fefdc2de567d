// SPDX-License-Identifier: Apache-2.0
// One pass over all calls adds up sums of kernels, copies, sets and waits, and the call paths of
// objects. Work of graphs is added by their nodes.
#include <stdlib.h>

#include "data_loading.h"
#include "failures.h"

static int by_maker(const void *one, const void *other, void *user)
{
    const struct report_object *objects = user;
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    if (objects[a].call != objects[b].call)
        return objects[a].call < objects[b].call ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool index_makers(struct report_loading *loading)
{
    struct report_data *data = loading->data;
    bool sorted = true;
    if (data->objects.count < UINT32_MAX)
        loading->makers = calloc(data->objects.count + 1, sizeof(*loading->makers));
    for (size_t i = 0; loading->makers && i < data->objects.count; i++) {
        loading->makers[i] = (uint32_t)i;
        sorted &= i == 0 || data->objects.items[i - 1].call <= data->objects.items[i].call;
    }
    if (loading->makers && !sorted)
        qsort_r(loading->makers, data->objects.count, sizeof(*loading->makers), by_maker,
                data->objects.items);
    return loading->makers != NULL;
}

static void add_time(struct report_sum *sum, uint64_t ns)
{
    sum->timed++;
    sum->total_ns += ns;
    if (ns > sum->longest_ns)
        sum->longest_ns = ns;
}

static uint64_t duration(int64_t start, int64_t end)
{
    return end > start ? (uint64_t)end - (uint64_t)start : 0;
}

// Returns the sum to which work of this kind is added; NULL if there is none.
static struct report_sum *sum_of(struct report_data *data, enum profile_node_kind kind,
                                 uint32_t kernel, enum profile_direction direction)
{
    uint64_t *index;
    switch (kind) {
    case PROFILE_NODE_KERNEL:
        index = base_map_get(&data->kernels, kernel);
        return index ? &data->kernel_rows.items[*index - 1].sum : NULL;
    case PROFILE_NODE_COPY: return &data->copies[direction];
    case PROFILE_NODE_SET: return &data->sets;
    default: return NULL;
    }
}

static void add_work(struct report_data *data, const struct profile_call *call)
{
    struct report_sum *sum = NULL;
    uint64_t bytes = 0;
    switch (call->kind) {
    case PROFILE_CALL_LAUNCH:
        sum = sum_of(data, PROFILE_NODE_KERNEL, call->launch.kernel, 0);
        data->launches++;
        break;
    case PROFILE_CALL_COPY:
        sum = sum_of(data, PROFILE_NODE_COPY, 0, call->copy.direction);
        bytes = call->copy.bytes;
        report_touch_number(data, call->copy.from_object, call->number);
        report_touch_number(data, call->copy.to_object, call->number);
        break;
    case PROFILE_CALL_SET:
        sum = sum_of(data, PROFILE_NODE_SET, 0, 0);
        bytes = call->set.bytes;
        report_touch_number(data, call->set.object, call->number);
        break;
    default: break;
    }
    if (!sum)
        return;
    sum->count++;
    sum->bytes += bytes;
    if (call->has_gpu_time)
        add_time(sum, duration(call->gpu_start_ns, call->gpu_end_ns));
}

static bool add_graph_launch(struct report_loading *loading, const struct profile_call *call)
{
    struct report_data *data = loading->data;
    uint64_t *index = base_map_get(&data->graphs, call->graph);
    if (!index)
        return true;
    struct report_graph *graph = &data->graph_rows.items[*index - 1];
    struct report_graph_launch *launch = base_array_push(&loading->graph_launches);
    if (!launch)
        return false;
    *launch = (struct report_graph_launch){call->number, *index - 1};
    graph->launches++;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        report_touch_number(data, graph->nodes[i].objects[0], call->number);
        report_touch_number(data, graph->nodes[i].objects[1], call->number);
    }
    return true;
}

static bool add_wait(struct report_data *data, const struct profile_call *call)
{
    bool is_explicit = call->kind == PROFILE_CALL_SYNC;
    if (!is_explicit && !(call->flags & PROFILE_CALL_WAITED))
        return true;
    uint64_t key[3] = {call->function, call->path, is_explicit};
    uint64_t *slot = base_map_put(&data->waits, base_hash(key, sizeof(key)), NULL);
    if (!slot || !report_want_path(data, call->path))
        return false;
    if (*slot == 0) {
        struct report_wait *row = base_array_push(&data->wait_rows);
        if (!row)
            return false;
        *row = (struct report_wait){call->function, call->path, is_explicit, {0}};
        *slot = data->wait_rows.count;
    }
    struct report_sum *sum = &data->wait_rows.items[*slot - 1].sum;
    sum->count++;
    // If a call waited but has no waiting time, the time is unknown.
    if (call->waited_ns || !(call->flags & PROFILE_CALL_WAITED))
        add_time(sum, call->waited_ns);
    return true;
}

// Returns the kernel of a launch, or of a node of a graph launch; NULL if it is unknown.
static struct report_kernel *kernel_of(const struct report_data *data,
                                       const struct profile_call *call, uint32_t node)
{
    uint32_t number = 0;
    uint64_t *index;
    if (call->kind == PROFILE_CALL_LAUNCH) {
        number = call->launch.kernel;
    } else if (call->kind == PROFILE_CALL_GRAPH_LAUNCH) {
        const struct report_graph *graph = report_graph_of(data, call->graph);
        if (graph && node && node <= graph->node_count)
            number = graph->nodes[node - 1].kernel;
    }
    index = number ? base_map_get(&data->kernels, number) : NULL;
    return index ? &data->kernel_rows.items[*index - 1] : NULL;
}

// A launch that touched nothing has no accesses, but was watched, or passed nothing.
static void count_watched(struct report_loading *loading, const struct profile_call *call)
{
    const uint32_t flags = call->launch.flags;
    if (call->kind != PROFILE_CALL_LAUNCH || call->result != 0 ||
        !(flags & (PROFILE_LAUNCH_WATCHED | PROFILE_LAUNCH_PASSED)) ||
        call->flags & PROFILE_CALL_CAPTURED)
        return;
    struct report_kernel *kernel = kernel_of(loading->data, call, 0);
    if (kernel && flags & PROFILE_LAUNCH_WATCHED)
        kernel->watched++;
    else if (kernel)
        kernel->passed++;
    loading->watched_call = call->number;
    loading->watched_node = 0;
}

bool report_take_access(void *user, const struct profile_access *access)
{
    struct report_loading *loading = user;
    report_add_access(loading->data, access);
    // Of launches, a flag says so.
    if (access->passed && !access->node)
        return true;
    bool again = access->call == loading->watched_call && access->node == loading->watched_node;
    if (access->call == loading->call.number && !again) {
        struct report_kernel *kernel = kernel_of(loading->data, &loading->call, access->node);
        if (kernel && access->passed)
            kernel->passed++;
        else if (kernel)
            kernel->watched++;
    }
    loading->watched_call = access->call;
    loading->watched_node = access->node;
    return true;
}

bool report_take_call(void *user, const struct profile_call *call)
{
    struct report_loading *loading = user;
    struct report_data *data = loading->data;
    if (data->calls++ == 0 && !index_makers(loading)) {
        loading->failed = true;
        return false;
    }
    report_take_failure(&data->failures, call);
    if (call->end_ns > data->last_ns)
        data->last_ns = call->end_ns;
    for (; loading->next_made < data->objects.count; loading->next_made++) {
        struct report_object *object = &data->objects.items[loading->makers[loading->next_made]];
        if (object->call > call->number)
            break;
        if (object->call == call->number) {
            object->path = call->path;
            loading->failed |= !report_want_path(data, call->path);
        }
    }
    if (call->result == 0 && !(call->flags & PROFILE_CALL_CAPTURED)) {
        if (call->kind == PROFILE_CALL_GRAPH_LAUNCH)
            loading->failed |= !add_graph_launch(loading, call);
        else
            add_work(data, call);
    }
    loading->failed |=
        !add_wait(data, call) || !report_add_caller(data, call->path, call->function);
    count_watched(loading, call);
    loading->call = *call;
    return !loading->failed;
}

void report_add_graph_nodes(struct report_data *data)
{
    for (size_t g = 0; g < data->graph_rows.count; g++) {
        const struct report_graph *graph = &data->graph_rows.items[g];
        for (uint32_t i = 0; i < graph->node_count; i++) {
            const struct report_node *node = &graph->nodes[i];
            if (node->kind == PROFILE_NODE_KERNEL)
                data->launches += graph->launches;
            struct report_sum *sum = sum_of(data, node->kind, node->kernel, node->direction);
            if (sum) {
                sum->count += graph->launches;
                sum->bytes += node->bytes * graph->launches;
            }
        }
    }
}

bool report_take_node_time(void *user, const struct profile_time *time)
{
    struct report_loading *loading = user;
    struct report_data *data = loading->data;
    while (loading->next_launch < loading->graph_launches.count &&
           loading->graph_launches.items[loading->next_launch].call < time->call)
        loading->next_launch++;
    if (loading->next_launch == loading->graph_launches.count)
        return false;
    const struct report_graph_launch *launch = &loading->graph_launches.items[loading->next_launch];
    const struct report_graph *graph = &data->graph_rows.items[launch->graph];
    if (launch->call != time->call || time->node == 0 || time->node > graph->node_count)
        return true;
    const struct report_node *node = &graph->nodes[time->node - 1];
    struct report_sum *sum = sum_of(data, node->kind, node->kernel, node->direction);
    if (sum)
        add_time(sum, duration(time->start_ns, time->end_ns));
    return true;
}
