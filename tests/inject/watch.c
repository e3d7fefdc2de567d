// SPDX-License-Identifier: Apache-2.0
// The recorder of the tests: runs a program with libglint.so and prints what it recorded, one line
// per record, without values that differ from run to run (addresses, times, process numbers).
//
//     watch FILE LIBRARY PROGRAM [ARGUMENT...]
//
// writes the records to FILE ("-": no file and no recorder) and exits as the program did.
// LIBRARY is libglint.so, or "-" to run the program as it is.
// The output has one section per process, in the order in which they connect. With WATCH_DEAF set,
// nothing is read from the rings before the program has ended.
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "event/event.h"

enum { MOST_RINGS = 64 };

struct process {
    struct event_reader reader;
    struct base_map functions, addresses, starts;
    struct base_intervals images; // value 1: libglint.so's
    struct base_map stacks;       // numbers of the call paths received so far
    struct base_buf text, times;
    BASE_ARRAY(struct event_access) accesses;
    uint64_t calls, objects;
    bool simulated, finished;
};

static struct process processes[MOST_RINGS];
static size_t process_count;

// --- Printing ------------------------------------------------------------------------------------

static const char *const call_kinds[] = {
    "other",        "alloc",      "free", "copy",   "set",     "launch", "graph_launch", "sync",
    "event_record", "event_wait", "host", "stream", "context", "module", "memory"};
static const char *const object_kinds[] = {"none",     "device",  "pitched", "array",  "managed",
                                           "pool",     "mapping", "global",  "pinned", "registered",
                                           "imported", "graph",   "part",    "heap"};
static const char *const memories[] = {"none",    "pageable", "pinned", "device",
                                       "managed", "array",    "unknown"};
static const char *const directions[] = {"none", "h2d", "d2h", "d2d", "h2h", "p2p"};
static const char *const node_kinds[] = {"none",  "kernel", "copy",         "set",
                                         "alloc", "free",   "event_record", "event_wait",
                                         "host",  "graph",  "empty",        "other"};

#define TEXT(names, value) ((value) < sizeof(names) / sizeof((names)[0]) ? (names)[value] : "?")

static void print_copy(struct base_buf *out, const struct event_copy *copy)
{
    base_buf_printf(out, " %s %s->%s %" PRIu64 " bytes object %" PRIu64 "->%" PRIu64,
                    TEXT(directions, copy->direction), TEXT(memories, copy->from_memory),
                    TEXT(memories, copy->to_memory), copy->bytes, copy->from_object,
                    copy->to_object);
    if (copy->height != 1 || copy->depth != 1)
        base_buf_printf(out, " %" PRIu64 "x%" PRIu64 "x%" PRIu64 " pitch %" PRIu64 "->%" PRIu64,
                        copy->width_bytes, copy->height, copy->depth, copy->from_pitch,
                        copy->to_pitch);
}

static void print_set(struct base_buf *out, const struct event_set *set)
{
    base_buf_printf(out, " value %#x width %u %" PRIu64 " bytes object %" PRIu64, set->value,
                    set->value_bytes, set->bytes, set->object);
    if (set->height != 1)
        base_buf_printf(out, " %" PRIu64 "x%" PRIu64 " pitch %" PRIu64, set->width_bytes,
                        set->height, set->pitch);
}

static void print_launch(struct base_buf *out, const struct event_launch *launch)
{
    base_buf_printf(out, " kernel %u grid %u,%u,%u block %u,%u,%u shared %u%s", launch->kernel,
                    launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                    launch->block[1], launch->block[2], launch->dynamic_shared_bytes,
                    launch->flags & EVENT_LAUNCH_COOPERATIVE ? " cooperative" : "");
    if (launch->flags & EVENT_LAUNCH_WATCHED)
        base_buf_puts(out, " watched");
    if (launch->flags & EVENT_LAUNCH_PASSED)
        base_buf_puts(out, " passed");
}

static void print_detail(struct base_buf *out, unsigned kind, const void *detail, size_t bytes)
{
    const struct event_alloc *alloc = detail;
    const struct event_graph *graph = detail;
    const struct event_sync *sync = detail;
    if (!bytes)
        return;
    switch (kind) {
    case EVENT_CALL_ALLOC:
    case EVENT_CALL_FREE:
    case EVENT_CALL_MEMORY:
        base_buf_printf(out, " %" PRIu64 " bytes object %" PRIu64, alloc->bytes, alloc->object);
        break;
    case EVENT_CALL_COPY: print_copy(out, detail); break;
    case EVENT_CALL_SET: print_set(out, detail); break;
    case EVENT_CALL_LAUNCH: print_launch(out, detail); break;
    case EVENT_CALL_GRAPH_LAUNCH:
        base_buf_printf(out, " graph %" PRIu64 " nodes %u", graph->number, graph->node_count);
        break;
    case EVENT_CALL_SYNC:
    case EVENT_CALL_EVENT_RECORD:
    case EVENT_CALL_EVENT_WAIT:
        if (sync->event)
            base_buf_printf(out, " event %" PRIu64 " record %u", sync->event, sync->record);
        break;
    default: break;
    }
}

static void print_object(struct process *process, struct event_object object)
{
    struct base_buf *out = &process->text;
    base_buf_printf(out,
                    "object %" PRIu64 " %s %" PRIu64 " bytes call %" PRIu64 " ctx %u device %u",
                    object.number, TEXT(object_kinds, object.kind), object.bytes, object.call,
                    object.context, object.device);
    if (object.parent)
        base_buf_printf(out, " parent %" PRIu64, object.parent);
    if (object.stream)
        base_buf_printf(out, " stream %u", object.stream);
    if (object.height)
        base_buf_printf(out, " %" PRIu64 "x%" PRIu64 "x%" PRIu64 " pitch %" PRIu64,
                        object.width_bytes, object.height, object.depth, object.pitch);
    bool added;
    uint64_t *place = base_map_put(&process->addresses, object.address, &added);
    if (!added && object.address)
        base_buf_printf(out, " where %" PRIu64 " was", *place);
    *place = object.number;
    base_buf_putc(out, '\n');
    process->objects++;
}

static void print_end(struct base_buf *out, struct event_object_end end)
{
    base_buf_printf(out, "end %" PRIu64 " call %" PRIu64, end.number, end.call);
    if (end.stream)
        base_buf_printf(out, " stream %u", end.stream);
    base_buf_putc(out, '\n');
}

// Prints the objects in a call's record as if they were separate records.
static void print_objects_of(struct process *process, const struct event_call *call,
                             const char *detail, size_t bytes)
{
    struct event_alloc alloc;
    struct event_object object;
    struct event_object_end end;
    if ((call->kind != EVENT_CALL_ALLOC && call->kind != EVENT_CALL_FREE &&
         call->kind != EVENT_CALL_MEMORY) ||
        bytes < sizeof(alloc))
        return;
    memcpy(&alloc, detail, sizeof(alloc));
    if (event_begins(call, &alloc, &object))
        print_object(process, object);
    if (event_ends(call, &alloc, &end))
        print_end(&process->text, end);
}

static void print_call(struct process *process, const char *record, size_t bytes)
{
    struct event_call call;
    memcpy(&call, record, sizeof(call));
    print_objects_of(process, &call, record + sizeof(call), bytes - sizeof(call));
    const uint64_t *name = base_map_get(&process->functions, call.function);
    struct base_buf *out = &process->text;
    base_buf_printf(out, "call %" PRIu64 " %s %s ctx %u stream %u", call.number,
                    name ? (const char *)(uintptr_t)*name : "?", TEXT(call_kinds, call.kind),
                    call.context, call.stream);
    if (call.thread != 1)
        base_buf_printf(out, " thread %u", call.thread);
    if (call.result)
        base_buf_printf(out, " result %d", call.result);
    // Aligned for the structure that follows.
    _Alignas(8) char detail[256];
    size_t rest = bytes - sizeof(call) < sizeof(detail) ? bytes - sizeof(call) : sizeof(detail);
    memcpy(detail, record + sizeof(call), rest);
    print_detail(out, call.kind, detail, rest);
    base_buf_printf(out, "%s%s%s%s\n", call.flags & EVENT_CALL_ASYNC ? " async" : "",
                    call.flags & EVENT_CALL_WAITED ? " waited" : "",
                    call.flags & EVENT_CALL_CAPTURED ? " captured" : "",
                    call.waited_ns ? " ns" : "");
    if (!base_map_get(&process->stacks, call.stack))
        base_buf_puts(out, "ERROR: has no call path\n");
    if (call.end_ns < call.start_ns)
        base_buf_puts(out, "ERROR: ends before it starts\n");
    *base_map_put(&process->starts, call.number, NULL) = call.start_ns;
    process->calls++;
}

static void print_graph(struct base_buf *out, const char *record, size_t bytes)
{
    struct event_graph graph;
    memcpy(&graph, record, sizeof(graph));
    base_buf_printf(out, "graph %" PRIu64 "\n", graph.number);
    for (uint32_t i = 0;
         i < graph.node_count && sizeof(graph) + i * sizeof(struct event_node) < bytes; i++) {
        struct event_node node;
        memcpy(&node, record + sizeof(graph) + i * sizeof(node), sizeof(node));
        base_buf_printf(out, "  node %s", TEXT(node_kinds, node.kind));
        switch (node.kind) {
        case EVENT_NODE_KERNEL: print_launch(out, &node.launch); break;
        case EVENT_NODE_COPY: print_copy(out, &node.copy); break;
        case EVENT_NODE_SET: print_set(out, &node.set); break;
        case EVENT_NODE_ALLOC:
        case EVENT_NODE_FREE:
            base_buf_printf(out, " object %" PRIu64 " %" PRIu64 " bytes", node.memory.object,
                            node.memory.bytes);
            break;
        case EVENT_NODE_EVENT_RECORD:
        case EVENT_NODE_EVENT_WAIT:
            base_buf_printf(out, " event %" PRIu64, node.event.event);
            break;
        default: break;
        }
        base_buf_putc(out, '\n');
    }
}

static void print_edges(struct base_buf *out, const char *record, size_t bytes)
{
    struct event_edges edges;
    memcpy(&edges, record, sizeof(edges));
    base_buf_printf(out, "  edges of graph %" PRIu64 ":", edges.number);
    for (uint32_t i = 0;
         i < edges.edge_count && sizeof(edges) + i * sizeof(struct event_edge) < bytes; i++) {
        struct event_edge edge;
        memcpy(&edge, record + sizeof(edges) + i * sizeof(edge), sizeof(edge));
        base_buf_printf(out, " %u-%u", edge.from, edge.to);
    }
    base_buf_putc(out, '\n');
}

static void print_definition(struct process *process, enum event_kind kind, const char *record,
                             const char *name)
{
    struct base_buf *out = &process->text;
    struct event_stream stream;
    struct event_module module;
    struct event_kernel kernel;
    switch (kind) {
    case EVENT_STREAM:
        memcpy(&stream, record, sizeof(stream));
        base_buf_printf(out, "stream %u ctx %u%s%s%s\n", stream.number, stream.context,
                        stream.flags & EVENT_STREAM_NON_BLOCKING ? " non-blocking" : "",
                        stream.flags & EVENT_STREAM_LEGACY ? " legacy" : "",
                        stream.flags & EVENT_STREAM_PER_THREAD ? " per-thread" : "");
        break;
    case EVENT_MODULE:
        memcpy(&module, record, sizeof(module));
        base_buf_printf(out, "module %u ctx %u%s%s\n", module.number, module.context,
                        module.bytes && module.hash ? " hashed" : "", module.has_ptx ? " ptx" : "");
        break;
    case EVENT_KERNEL:
        memcpy(&kernel, record, sizeof(kernel));
        base_buf_printf(out, "kernel %u module %u %s\n", kernel.number, kernel.module, name);
        break;
    default: break;
    }
}

// Times arrive at any moment, so they are printed separately. Work must end after it begins, and
// begin after its call, within the tolerance between the clocks of GPU and host. The simulated GPU
// has an independent clock.
static void print_time(struct process *process, const struct event_time *time)
{
    const uint64_t tolerance_ns = 1000000;
    const uint64_t *start = base_map_get(&process->starts, time->call);
    bool good = start && time->end_ns >= time->start_ns &&
                (process->simulated || time->start_ns + tolerance_ns >= *start);
    base_buf_printf(&process->times, "time %" PRIu64 "%s%s\n", time->call,
                    time->flags & EVENT_TIME_ESTIMATED ? " start estimated" : "",
                    good ? "" : " ERROR");
}

static void take_image(struct process *process, const char *record, size_t bytes)
{
    static const char own[] = "/libglint.so";
    struct event_image image;
    memcpy(&image, record, sizeof(image));
    const size_t length = bytes - sizeof(image), tail = sizeof(own) - 1;
    const char *path = record + sizeof(image);
    bool is_own = length >= tail && memcmp(path + length - tail, own, tail) == 0;
    base_intervals_remove_range(&process->images, image.start, image.end - image.start);
    base_intervals_insert(&process->images, image.start, image.end - image.start, is_own, NULL);
}

// Checks that every frame lies in a known image, and that the innermost frame is the program's.
static void take_stack(struct process *process, const char *record, size_t bytes)
{
    struct event_stack stack;
    memcpy(&stack, record, sizeof(stack));
    bool good = stack.depth && bytes == sizeof(stack) + stack.depth * sizeof(uint64_t);
    for (uint32_t i = 0; good && i < stack.depth; i++) {
        uint64_t address;
        memcpy(&address, record + sizeof(stack) + i * sizeof(address), sizeof(address));
        const struct base_interval *image = base_intervals_find(&process->images, address - 1);
        good = image && (i || !image->value);
    }
    if (!good)
        base_buf_printf(&process->text, "ERROR: call path %u\n", stack.number);
    base_map_put(&process->stacks, stack.number, NULL);
}

static void print_probe(struct base_buf *out, const char *record, size_t bytes)
{
    struct event_probe probe;
    memcpy(&probe, record, sizeof(probe));
    base_buf_printf(out, "probe kernel %u facts %u%s%.*s\n", probe.kernel, probe.facts,
                    bytes > sizeof(probe) ? ": " : "", (int)(bytes - sizeof(probe)),
                    record + sizeof(probe));
}

static void print_site(struct base_buf *out, const char *record)
{
    static const char *const accesses[] = {"load", "store", "atomic"};
    struct event_site site;
    memcpy(&site, record, sizeof(site));
    const char *function = record + sizeof(site), *opcode = function + strlen(function) + 1;
    base_buf_printf(out, "site kernel %u %u %s %u bytes in %s %s\n", site.kernel, site.number,
                    TEXT(accesses, site.access), site.bytes, function, opcode);
}

// Accesses arrive when the GPU has finished, at no fixed time. They are printed at the end, sorted.
static int by_call(const void *one, const void *other)
{
    const struct event_access *a = one, *b = other;
    const uint64_t keys[][2] = {{a->call, b->call}, {a->node, b->node}, {a->object, b->object}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    }
    return 0;
}

static void take_access(struct process *process, const char *record)
{
    struct event_access *access = base_array_push(&process->accesses);
    if (!access)
        exit(125);
    memcpy(access, record, sizeof(*access));
}

static void print_accesses(struct process *process)
{
    struct base_buf *out = &process->text;
    if (process->accesses.count)
        qsort(process->accesses.items, process->accesses.count, sizeof(struct event_access),
              by_call);
    for (size_t i = 0; i < process->accesses.count; i++) {
        const struct event_access *access = &process->accesses.items[i];
        base_buf_printf(out, "access call %" PRIu64, access->call);
        if (access->node)
            base_buf_printf(out, " node %u", access->node);
        base_buf_printf(out, " object %" PRIu64 "%s%s%s", access->object,
                        access->flags & EVENT_ACCESS_READ ? " read" : "",
                        access->flags & EVENT_ACCESS_WRITTEN ? " written" : "",
                        access->flags & EVENT_ACCESS_PASSED ? " passed" : "");
        if (access->element_bytes)
            base_buf_printf(out, " %" PRIu64 "+%" PRIu64 " bytes, %" PRIu64 " elements of %u",
                            access->read_bytes, access->written_bytes, access->elements,
                            access->element_bytes);
        base_buf_putc(out, '\n');
    }
}

static void print(struct process *process, enum event_kind kind, const struct base_buf *record)
{
    const char *bytes = record->text;
    struct base_buf *out = &process->text;
    struct event_name name;
    struct event_object object;
    struct event_object_end end;
    struct event_context context;
    struct event_finish finish;
    struct event_process about;
    struct event_time time;
    switch (kind) {
    case EVENT_PROCESS:
        memcpy(&about, bytes, sizeof(about));
        process->simulated = about.simulated;
        base_buf_printf(out, "process driver %u%s%s\n", about.driver_version,
                        about.simulated ? " simulated" : "", about.timestamps ? " times" : "");
        break;
    case EVENT_FUNCTION:
        memcpy(&name, bytes, sizeof(name));
        *base_map_put(&process->functions, name.number, NULL) =
            (uint64_t)(uintptr_t)strndup(bytes + sizeof(name), record->length - sizeof(name));
        break;
    case EVENT_CONTEXT:
        memcpy(&context, bytes, sizeof(context));
        base_buf_printf(out, "context %u device %u\n", context.number, context.device);
        break;
    case EVENT_STREAM: print_definition(process, kind, bytes, ""); break;
    case EVENT_MODULE: print_definition(process, kind, bytes, ""); break;
    case EVENT_KERNEL: {
        char *text = strndup(bytes + sizeof(struct event_kernel),
                             record->length - sizeof(struct event_kernel));
        print_definition(process, kind, bytes, text);
        free(text);
        break;
    }
    case EVENT_CALL: print_call(process, bytes, record->length); break;
    case EVENT_OBJECT:
        memcpy(&object, bytes, sizeof(object));
        print_object(process, object);
        break;
    case EVENT_OBJECT_END:
        memcpy(&end, bytes, sizeof(end));
        print_end(out, end);
        break;
    case EVENT_OBJECT_NAME:
        memcpy(&name, bytes, sizeof(name));
        base_buf_printf(out, "name %" PRIu64 " %.*s\n", name.number,
                        (int)(record->length - sizeof(name)), bytes + sizeof(name));
        break;
    case EVENT_IMAGE: take_image(process, bytes, record->length); break;
    case EVENT_STACK: take_stack(process, bytes, record->length); break;
    case EVENT_GRAPH: print_graph(out, bytes, record->length); break;
    case EVENT_EDGES: print_edges(out, bytes, record->length); break;
    case EVENT_TIME:
        memcpy(&time, bytes, sizeof(time));
        print_time(process, &time);
        break;
    case EVENT_PROBE: print_probe(out, bytes, record->length); break;
    case EVENT_SITE: print_site(out, bytes); break;
    case EVENT_ACCESS: take_access(process, bytes); break;
    case EVENT_NOTE:
        base_buf_printf(out, "note %.*s\n", (int)(record->length - sizeof(struct event_note)),
                        bytes + sizeof(struct event_note));
        break;
    case EVENT_FINISH:
        memcpy(&finish, bytes, sizeof(finish));
        base_buf_printf(out, "finish%s%s\n", finish.calls == process->calls ? "" : " CALLS MISSING",
                        finish.objects == process->objects ? "" : " OBJECTS MISSING");
        process->finished = true;
        break;
    default: break; // threads and devices differ between machines
    }
}

// --- Recording -----------------------------------------------------------------------------------

static void drain(bool abandoned)
{
    struct base_buf record = {0};
    for (size_t i = 0; i < process_count; i++) {
        enum event_kind kind;
        while ((kind = event_take(&processes[i].reader, &record, abandoned)) != EVENT_NONE)
            print(&processes[i], kind, &record);
    }
    base_buf_fini(&record);
}

static void take_ring(int connection)
{
    struct base_error error = {0};
    size_t bytes;
    int pid;
    struct event_ring *ring = event_ring_accept(connection, &bytes, &pid, NULL, &error);
    close(connection);
    if (!ring && getenv("WATCH_SCARCE"))
        return; // libglint.so had no memory for a ring
    if (!ring || process_count == MOST_RINGS ||
        !event_reader_init(&processes[process_count++].reader, ring, bytes)) {
        char text[512];
        base_error_text(&error, text, sizeof(text));
        fprintf(stderr, "watch: %s\n", text);
        exit(125);
    }
}

static int wait_status(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int record(int listener, pid_t child)
{
    const bool deaf = getenv("WATCH_DEAF") != NULL;
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    for (;;) {
        int status;
        bool over = waitpid(child, &status, WNOHANG) == child;
        while (poll(&waiting, 1, over ? 0 : 1) > 0)
            take_ring(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
        if (over || !deaf)
            drain(over);
        if (over)
            return wait_status(status);
    }
}

static void write_all(const char *path)
{
    FILE *file = fopen(path, "we");
    for (size_t i = 0; file && i < process_count; i++) {
        struct process *process = &processes[i];
        print_accesses(process);
        fprintf(file, "%s%s%s", process->text.text ? process->text.text : "",
                process->times.text ? process->times.text : "",
                process->finished ? "" : "not finished\n");
        for (int kind = 1; kind < EVENT_KINDS; kind++) {
            if (event_dropped(&process->reader, (enum event_kind)kind))
                fprintf(file, "DROPPED %s\n", event_kind_name((enum event_kind)kind));
        }
    }
    if (!file || fclose(file) != 0) {
        fprintf(stderr, "watch: cannot write %s: %s\n", path, strerror(errno));
        exit(125);
    }
}

static void add_preload(const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    struct base_buf list = {0};
    base_buf_printf(&list, "%s%s%s", before ? before : "", before && *before ? ":" : "", library);
    setenv("LD_PRELOAD", list.text, 1);
    setenv("NVTX_INJECTION64_PATH", library, 1);
    base_buf_fini(&list);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: watch FILE LIBRARY PROGRAM [ARGUMENT...]\n");
        return 125;
    }
    const bool recording = strcmp(argv[1], "-") != 0;
    char folder[] = "/tmp/glint-watch-XXXXXX";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!mkdtemp(folder) || listener < 0)
        return 125;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, MOST_RINGS) != 0)
        return 125;
    pid_t child = fork();
    if (child == 0) {
        if (strcmp(argv[2], "-") != 0)
            add_preload(argv[2]);
        if (recording)
            setenv("GLINT_SOCKET", address.sun_path, 1);
        execvp(argv[3], argv + 3);
        fprintf(stderr, "watch: cannot run %s: %s\n", argv[3], strerror(errno));
        _exit(125);
    }
    int status = record(listener, child);
    unlink(address.sun_path);
    rmdir(folder);
    if (recording)
        write_all(argv[1]);
    return status;
}
