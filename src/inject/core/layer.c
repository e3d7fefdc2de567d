// SPDX-License-Identifier: Apache-2.0
// Announcements to layers. At the start, core decides which layers take part, and gathers the
// callbacks of every call into lists, so that a recording without layers pays one comparison per
// call.
#include "layer.h"

#include <string.h>

#include "contexts.h"
#include "driver.h"

static unsigned count_layers(void)
{
    unsigned count = 0;
    while (inject_layers[count])
        count++;
    return count;
}

static void add(const struct inject_layer *layer)
{
    struct core_layer_lists *lists = &core_state.layers;
    lists->layers[lists->count++] = layer;
    if (layer->waits)
        lists->waits[lists->waits_count++] = layer->waits;
    if (layer->before)
        lists->before[lists->before_count++] = layer->before;
    if (layer->after)
        lists->after[lists->after_count++] = layer->after;
    if (layer->object_ended)
        lists->object_ended[lists->ended_count++] = layer->object_ended;
}

bool core_layers_start(const struct core_driver *driver)
{
    const unsigned count = count_layers();
    bool finishes = false;
    memset(&core_state.layers, 0, sizeof(core_state.layers));
    for (unsigned i = 0; i < count && i < LAYERS_MOST; i++) {
        const struct inject_layer *layer = inject_layers[i];
        if (!layer->start || !layer->start(driver))
            continue;
        add(layer);
        finishes |= layer->finish != NULL;
    }
    return finishes;
}

// --- Layers that take part -----------------------------------------------------------------------

#define ANNOUNCE(callback, ...)                                 \
    for (unsigned i = 0; i < core_state.layers.count; i++) {    \
        if (core_state.layers.layers[i]->callback)              \
            core_state.layers.layers[i]->callback(__VA_ARGS__); \
    }
#define ANY_OF(any, callback, ...)                                       \
    for (unsigned i = 0; i < core_state.layers.count; i++) {             \
        if (core_state.layers.layers[i]->callback)                       \
            (any) |= core_state.layers.layers[i]->callback(__VA_ARGS__); \
    }

void core_layers_finish(void)
{
    for (unsigned i = core_state.layers.count; i-- > 0;) {
        if (core_state.layers.layers[i]->finish)
            core_state.layers.layers[i]->finish();
    }
}

void core_layers_ended(void)
{
    for (unsigned i = core_state.layers.count; i-- > 0;) {
        if (core_state.layers.layers[i]->ended)
            core_state.layers.layers[i]->ended();
    }
}

bool core_layers_free_memory(struct core_call *call)
{
    bool any = false;
    ANY_OF(any, free_memory, call)
    return any;
}

void core_layers_context_gone(struct core_context *context, uint64_t call)
{
    ANNOUNCE(context_gone, context, call)
}

void core_layers_module_ended(uint32_t module)
{
    ANNOUNCE(module_ended, module)
}

void core_layers_kernel_dropped(void *kept)
{
    ANNOUNCE(kernel_dropped, kept)
}

bool core_layers_touched(uint64_t low, uint64_t high)
{
    bool any = false;
    ANY_OF(any, touched, low, high)
    return any;
}

void core_layers_memory_gone(uint64_t low, uint64_t high)
{
    ANNOUNCE(memory_gone, low, high)
}

void core_layers_block_gone(uint64_t start)
{
    ANNOUNCE(block_gone, start)
}

void core_layers_reader_found(const char *why)
{
    ANNOUNCE(reader_found, why)
}

void core_layers_loading(void)
{
    ANNOUNCE(loading)
}

void core_layers_gave_up(void)
{
    ANNOUNCE(gave_up)
}

void core_layers_clock_read(void)
{
    ANNOUNCE(clock_read)
}

// --- All layers ----------------------------------------------------------------------------------

void core_layers_before_fork(void)
{
    for (unsigned i = count_layers(); i-- > 0;) {
        if (inject_layers[i]->before_fork)
            inject_layers[i]->before_fork();
    }
}

void core_layers_after_fork(void)
{
    for (unsigned i = count_layers(); i-- > 0;) {
        if (inject_layers[i]->after_fork)
            inject_layers[i]->after_fork();
    }
}

void core_layers_forked(void)
{
    for (unsigned i = count_layers(); i-- > 0;) {
        if (inject_layers[i]->forked)
            inject_layers[i]->forked();
    }
}
