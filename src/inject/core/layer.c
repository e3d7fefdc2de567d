// SPDX-License-Identifier: Apache-2.0
// Announcements to layers. Which layers take part is decided once, at the start, and the callbacks
// of every call are gathered into lists then: a recording without any layer pays one comparison a
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
    struct layer_lists *lists = &state.layers;
    lists->layers[lists->count++] = layer;
    if (layer->before)
        lists->before[lists->before_count++] = layer->before;
    if (layer->after)
        lists->after[lists->after_count++] = layer->after;
    if (layer->object_ended)
        lists->object_ended[lists->ended_count++] = layer->object_ended;
}

bool layers_start(const struct door_driver *driver)
{
    const unsigned count = count_layers();
    bool finishes = false;
    memset(&state.layers, 0, sizeof(state.layers));
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

#define ANNOUNCE(callback, ...)                            \
    for (unsigned i = 0; i < state.layers.count; i++) {    \
        if (state.layers.layers[i]->callback)              \
            state.layers.layers[i]->callback(__VA_ARGS__); \
    }
#define ANY_OF(any, callback, ...)                                  \
    for (unsigned i = 0; i < state.layers.count; i++) {             \
        if (state.layers.layers[i]->callback)                       \
            (any) |= state.layers.layers[i]->callback(__VA_ARGS__); \
    }

void layers_finish(void)
{
    for (unsigned i = state.layers.count; i-- > 0;) {
        if (state.layers.layers[i]->finish)
            state.layers.layers[i]->finish();
    }
}

void layers_ended(void)
{
    for (unsigned i = state.layers.count; i-- > 0;) {
        if (state.layers.layers[i]->ended)
            state.layers.layers[i]->ended();
    }
}

bool layers_free_memory(void)
{
    bool any = false;
    ANY_OF(any, free_memory)
    return any;
}

void layers_context_gone(struct context *context, uint64_t call)
{
    ANNOUNCE(context_gone, context, call)
}

void layers_module_ended(uint32_t module)
{
    ANNOUNCE(module_ended, module)
}

void layers_kernel_dropped(void *kept)
{
    ANNOUNCE(kernel_dropped, kept)
}

bool layers_touched(uint64_t low, uint64_t high)
{
    bool any = false;
    ANY_OF(any, touched, low, high)
    return any;
}

void layers_memory_gone(uint64_t low, uint64_t high)
{
    ANNOUNCE(memory_gone, low, high)
}

void layers_block_gone(uint64_t start)
{
    ANNOUNCE(block_gone, start)
}

void layers_reader_found(const char *why)
{
    ANNOUNCE(reader_found, why)
}

void layers_loading(void)
{
    ANNOUNCE(loading)
}

void layers_gave_up(void)
{
    ANNOUNCE(gave_up)
}

void layers_clock_read(void)
{
    ANNOUNCE(clock_read)
}

// --- All layers ----------------------------------------------------------------------------------

void layers_before_fork(void)
{
    for (unsigned i = count_layers(); i-- > 0;) {
        if (inject_layers[i]->before_fork)
            inject_layers[i]->before_fork();
    }
}

void layers_after_fork(void)
{
    for (unsigned i = count_layers(); i-- > 0;) {
        if (inject_layers[i]->after_fork)
            inject_layers[i]->after_fork();
    }
}

void layers_forked(void)
{
    for (unsigned i = count_layers(); i-- > 0;) {
        if (inject_layers[i]->forked)
            inject_layers[i]->forked();
    }
}
