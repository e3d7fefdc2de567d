// SPDX-License-Identifier: Apache-2.0
// Stands in for the parts of libglint.so that shadow memory uses. The driver's functions come from
// the simulated GPU's library, and records go to a ring in the memory of the test.
#include "shadow_harness.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/core/names.h"
#include "inject/core/object_records.h"
#include "inject/shadow/model.h"

enum { RING_SLOTS = 1 << 16 };

struct core_state core_state;
__thread struct core_thread core_thread __attribute__((tls_model("initial-exec")));

static struct {
    void *driver;
    _Atomic int phase;
    void *ring;
    struct event_reader reader;
    CUcontext handle;
    struct core_context context;
    CUmodule module;
    BASE_ARRAY(struct harness_record) taken[EVENT_KINDS];
    size_t given[EVENT_KINDS];
    BASE_ARRAY(struct core_stream *) streams;
    struct base_buf notes;
} harness;

// --- What shadow*.c call -------------------------------------------------------------------------

static const char *const symbols[HOOK_AND_USED_COUNT] = {
#define HOOK(name, version, symbol, kind, how)              [HOOK_##symbol] = #symbol,
#define HOOK_BOTH(name, version, symbol, suffix, kind, how) [HOOK_##symbol] = #symbol,
#define USED(symbol)                                        [HOOK_##symbol] = #symbol,
#define REPORTED(name, kind)
#include "inject/core/hooks.def"
};

void *harness_driver(const char *name)
{
    if (!harness.driver)
        harness.driver = dlopen(HARNESS_DRIVER, RTLD_NOW | RTLD_LOCAL);
    void *found = harness.driver ? dlsym(harness.driver, name) : NULL;
    if (!found)
        fail_msg("%s: %s", name, dlerror());
    return found;
}

void *core_driver_find(enum core_hook hook)
{
    void *found = harness_driver(symbols[hook]);
    atomic_store(&core_state.driver_found[hook], found);
    return found;
}

struct core_context *core_context_current(void)
{
    CUcontext handle = NULL;
    REAL(cuCtxGetCurrent)(&handle);
    return handle == harness.handle && handle ? &harness.context : NULL;
}

uint32_t core_thread_number_new(void)
{
    core_thread.generation = core_state.generation;
    core_thread.number = atomic_fetch_add(&core_state.threads_made, 1) + 1;
    return core_thread.number;
}

void core_note(enum event_severity severity, const char *text)
{
    struct event_note note = {severity};
    core_put(EVENT_NOTE, &note, sizeof(note), text, strlen(text));
}

void core_no_memory(void)
{
    core_note(EVENT_ERROR, "no memory");
}

void core_object_share(uint64_t address)
{
    core_objects_share(&core_state.objects, address);
}

// --- Start and finish ----------------------------------------------------------------------------

static char *text_of(const char *path)
{
    struct base_error error = {0};
    char *text = NULL;
    size_t length;
    if (base_file_read(path, &text, &length, &error) != BASE_OK)
        fail_msg("%s cannot be read", path);
    return text;
}

uint32_t random_next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

struct core_context *harness_context;

int harness_start(void **unused)
{
    (void)unused;
    memset(&core_state, 0, sizeof(core_state));
    core_state.phase = &harness.phase;
    core_state.generation = 1;
    core_state.simulated = true;
    util_clock_prepare(&core_state.clock);
    pthread_mutex_init(&core_state.lock, NULL);
    core_objects_init(&core_state.objects);
    const size_t bytes = event_ring_bytes(RING_SLOTS);
    harness.ring = aligned_alloc(4096, bytes);
    memset(harness.ring, 0, bytes);
    core_state.ring = event_ring_make(harness.ring, bytes);
    assert_true(event_reader_init(&harness.reader, harness.ring, bytes));
    MUST(DRIVER(cuInit)(0));
    MUST(DRIVER(cuCtxCreate_v2)(&harness.handle, 0, 0));
    harness.context = (struct core_context){.number = 1, .device = 1, .handle = harness.handle};
    bool added;
    *base_map_put(&core_state.contexts, 1, &added) = (uint64_t)(uintptr_t)&harness.context;
    char *ptx = text_of("shadow_kernels.ptx");
    MUST(DRIVER(cuModuleLoadData)(&harness.module, ptx));
    free(ptx);
    harness.context.legacy = calloc(1, sizeof(struct core_stream));
    *harness.context.legacy = (struct core_stream){.number = ++core_state.streams_made,
                                                   .flags = EVENT_STREAM_LEGACY,
                                                   .handle = CU_STREAM_LEGACY,
                                                   .context = &harness.context};
    core_thread.depth = 1;
    harness_context = &harness.context;
    return 0;
}

int harness_finish(void **unused)
{
    (void)unused;
    MUST(DRIVER(cuCtxSynchronize)());
    shadow_finish();
    struct shadow *shadow = atomic_load(&harness.context.shadow);
    shadow_context_gone(&harness.context, 0);
    while (shadow && atomic_load(&shadow->lanes)) { // no thread uses them anymore
        struct shadow_lane *lane = atomic_load(&shadow->lanes);
        atomic_store(&shadow->lanes, lane->next);
        free(lane);
    }
    free(shadow);
    MUST(DRIVER(cuCtxDestroy_v2)(harness.handle));
    core_objects_fini(&core_state.objects);
    base_map_fini(&core_state.contexts);
    for (int kind = 0; kind < EVENT_KINDS; kind++) {
        for (size_t i = 0; i < harness.taken[kind].count; i++)
            free((void *)(uintptr_t)harness.taken[kind].items[i].bytes);
        base_array_fini(&harness.taken[kind]);
        harness.given[kind] = 0;
    }
    base_buf_fini(&harness.notes);
    harness.notes = (struct base_buf){0};
    for (size_t i = 0; i < harness.streams.count; i++)
        free(harness.streams.items[i]);
    base_array_fini(&harness.streams);
    free(harness.context.legacy);
    free(harness.ring);
    return 0;
}

void harness_settle(void)
{
    MUST(DRIVER(cuCtxSynchronize)());
    shadow_context_end(&harness.context);
}

struct core_stream *harness_stream(struct core_context *context, unsigned flags)
{
    struct core_stream *stream = calloc(1, sizeof(*stream));
    *stream = (struct core_stream){
        .number = ++core_state.streams_made,
        .flags = flags & CU_STREAM_NON_BLOCKING ? EVENT_STREAM_NON_BLOCKING : 0,
        .context = context};
    MUST(DRIVER(cuStreamCreate)(&stream->handle, flags));
    *base_array_push(&harness.streams) = stream;
    return stream;
}

// --- Objects -------------------------------------------------------------------------------------

struct core_object harness_object(uint64_t bytes, uint64_t lead)
{
    CUdeviceptr memory;
    MUST(DRIVER(cuMemAlloc_v2)(&memory, bytes + lead));
    struct core_object object = {.start = memory + lead,
                                 .bytes = bytes,
                                 .context = 1,
                                 .device = 1,
                                 .owner = (uint32_t)lead,
                                 .kind = EVENT_OBJECT_DEVICE};
    assert_true(core_objects_add_new(&core_state.objects, OBJECTS_MEMORY, &object));
    return object;
}

struct core_object harness_part(uint64_t start, uint64_t bytes)
{
    struct core_object part = {
        .start = start, .bytes = bytes, .context = 1, .kind = EVENT_OBJECT_PART};
    assert_true(core_objects_add_new(&core_state.objects, OBJECTS_PARTS, &part));
    return part;
}

void harness_end_object(const struct core_object *object)
{
    struct core_object taken;
    assert_true(core_objects_take(&core_state.objects, OBJECTS_MEMORY, object->start, &taken));
    shadow_object_ended(object->number);
    MUST(DRIVER(cuMemFree_v2)(object->start - object->owner));
}

void *harness_pinned(size_t bytes)
{
    void *memory;
    MUST(DRIVER(cuMemHostAlloc)(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE));
    return memory;
}

// --- Records -------------------------------------------------------------------------------------

static void drain(void)
{
    struct base_buf record = {0};
    enum event_kind kind;
    while ((kind = event_take(&harness.reader, &record, false)) != EVENT_NONE) {
        unsigned char *copy = malloc(record.length + 1);
        memcpy(copy, record.text, record.length);
        copy[record.length] = 0;
        if (kind == EVENT_NOTE) {
            base_buf_puts(&harness.notes, (const char *)copy + sizeof(struct event_note));
            base_buf_putc(&harness.notes, '\n');
        }
        *base_array_push(&harness.taken[kind]) = (struct harness_record){copy, record.length};
    }
    base_buf_fini(&record);
    for (int i = 0; i < EVENT_KINDS; i++)
        assert_int_equal(event_dropped(&harness.reader, (enum event_kind)i), 0);
}

size_t harness_records(enum event_kind kind, const struct harness_record **records)
{
    drain();
    const size_t given = harness.given[kind];
    harness.given[kind] = harness.taken[kind].count;
    *records = harness.taken[kind].items + given;
    return harness.given[kind] - given;
}

bool harness_noted(const char *text)
{
    drain();
    return harness.notes.length && strstr(harness.notes.text, text);
}

// --- Launches ------------------------------------------------------------------------------------

CUfunction harness_function(uint32_t facts)
{
    CUfunction function;
    MUST(DRIVER(cuModuleGetFunction)(&function, harness.module,
                                     facts & INSTRUMENT_ELEMENTS ? "elements_glint"
                                                                 : "objects_glint"));
    return function;
}

void harness_fill(const struct harness_run *run, struct harness_params *params)
{
    params->accesses = run->accesses;
    params->count = run->count;
    params->shape.flag_rows = INSTRUMENT_FLAG_ROWS;
    params->shape.flag_row_bytes = run->kernel->flag_row_bytes;
    params->shape.tally_rows = INSTRUMENT_TALLY_ROWS;
    params->shape.tally_row_bytes = run->kernel->tally_row_bytes;
    params->pointers[0] = (void *)&params->accesses;
    params->pointers[1] = &params->count;
    params->pointers[2] = &params->shape;
    params->pointers[3] = params->context;
}

bool harness_launch(const struct harness_run *run)
{
    struct harness_params params;
    const unsigned blocks = (run->count + HARNESS_BLOCK - 1) / HARNESS_BLOCK;
    harness_fill(run, &params);
    struct shadow_launch launch = {.stream = run->stream,
                                   .kernel = run->kernel,
                                   .kernel_number = 1,
                                   .given = run->roots,
                                   .roots = run->roots,
                                   .grid = {blocks, 1, 1},
                                   .block = {HARNESS_BLOCK, 1, 1},
                                   .facts = run->facts};
    struct shadow_ticket *ticket = shadow_begin(&launch, params.context);
    if (!ticket)
        return false;
    MUST(REAL(cuLaunchKernel)(harness_function(run->facts), blocks, 1, 1, HARNESS_BLOCK, 1, 1, 0,
                              run->stream->handle, params.pointers, NULL));
    shadow_launched(ticket, run->call, true);
    return true;
}
