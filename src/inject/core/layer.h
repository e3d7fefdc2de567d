// SPDX-License-Identifier: Apache-2.0
// Layers: capabilities that stand on core and guard, such as first uses, probes and corrections.
// The rooms below never call a layer by name. They announce what happens through struct
// inject_layer, and each layer sets the callbacks that it needs. To add a capability, copy
// src/inject/template and add a row to hooks/layers.c.
#ifndef GLINT_INJECT_CORE_LAYER_H
#define GLINT_INJECT_CORE_LAYER_H

#include <stdbool.h>
#include <stdint.h>

struct core_call;
struct core_context;
struct core_driver;

// Callbacks that are not set do nothing; those that return bool then return false. Unless a comment
// says otherwise, any thread calls them, inside a hook (core_thread.depth is not 0), and only in
// processes in which `start` has returned true.
struct inject_layer {
    const char *name;

    // Called when the process has met the recorder, also in each child of fork, which begins anew.
    // Other threads wait meanwhile. Returns whether the layer takes part in this process.
    bool (*start)(const struct core_driver *driver);
    // Called at the end of the process, while the driver still works. The last layer comes first.
    void (*finish)(void);
    // Called when libglint.so is unloaded or the process exits, after `finish`. The driver may be
    // unloaded by then.
    void (*ended)(void);

    // Called around fork, in every process that may be recorded, whether or not the layer takes
    // part: before it, and after it in the parent and in the child. The last layer comes first.
    void (*before_fork)(void);
    void (*after_fork)(void);
    void (*forked)(void);

    // Called before a call that waits for pending work is timed, unless its stream is under
    // capture. Work that is enqueued now is done when the call returns; behind the call it would be
    // new work for a GPU that has none left.
    void (*waits)(const struct core_call *call);
    // Called before and after the driver's function of every hooked call that is not nested in
    // another. `before` may change what the call does (struct core_call). `after` sees its result,
    // and its record is already in the ring.
    void (*before)(struct core_call *call);
    void (*after)(struct core_call *call);
    // Called when the driver has found no memory for the call. Returns true if the layer has freed
    // some, and the call is made again.
    bool (*free_memory)(struct core_call *call);

    // An object has ended. Its memory may belong to another object from now on.
    void (*object_ended)(uint64_t object);
    // The call has destroyed the context and everything in it.
    void (*context_gone)(struct core_context *context, uint64_t call);
    // A module was unloaded. Its kernels are dropped after this.
    void (*module_ended)(uint32_t module);
    // The last handle was dropped of a kernel for which the layer keeps something (core/kernels.h).
    // core_state.lock is held.
    void (*kernel_dropped)(void *kept);

    // --- Announced by guard, outside of hooks as well, and the first three in signal handlers too
    // --

    // Memory is about to be touched, or a thread has touched a closed page of it. Opens what the
    // layer has closed there. Returns whether there was anything.
    bool (*touched)(uint64_t low, uint64_t high);
    // Memory is unmapped or freed: pages from low to high, or a malloc block that begins at start.
    void (*memory_gone)(uint64_t low, uint64_t high);
    void (*block_gone)(uint64_t start);
    // Something may read or write the program's memory that closed pages cannot make wait
    // (guard/readers.h). The reason stays valid.
    void (*reader_found)(const char *why);
    // A thread is about to load a library, whose code was not examined yet.
    void (*loading)(void);
    // Guard closes no more pages, for the reason that guard_given_up returns.
    void (*gave_up)(void);
    // The thread reads a clock after a wait that the layer has left out (uses/clock_reads.h).
    void (*clock_read)(void);
};

// All layers, bottom up, followed by NULL: hooks/layers.c.
extern const struct inject_layer *const inject_layers[];

enum { LAYERS_MOST = 16 };

// The layers that take part, and of these the callbacks that are called most often. Written by
// core_layers_start alone.
struct core_layer_lists {
    unsigned count, waits_count, before_count, after_count, ended_count;
    const struct inject_layer *layers[LAYERS_MOST];
    void (*waits[LAYERS_MOST])(const struct core_call *call);
    void (*before[LAYERS_MOST])(struct core_call *call);
    void (*after[LAYERS_MOST])(struct core_call *call);
    void (*object_ended[LAYERS_MOST])(uint64_t object);
};

// Starts all layers. Returns whether one that takes part has a `finish`.
bool core_layers_start(const struct core_driver *driver);
void core_layers_finish(void);
void core_layers_ended(void);
void core_layers_before_fork(void);
void core_layers_after_fork(void);
void core_layers_forked(void);

// Announce to all layers that take part.
bool core_layers_free_memory(struct core_call *call);
void core_layers_context_gone(struct core_context *context, uint64_t call);
void core_layers_module_ended(uint32_t module);
void core_layers_kernel_dropped(void *kept);
bool core_layers_touched(uint64_t low, uint64_t high);
void core_layers_memory_gone(uint64_t low, uint64_t high);
void core_layers_block_gone(uint64_t start);
void core_layers_reader_found(const char *why);
void core_layers_loading(void);
void core_layers_gave_up(void);
void core_layers_clock_read(void);

#endif
