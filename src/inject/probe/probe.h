// SPDX-License-Identifier: Apache-2.0
// Probes: kernels that tell what they touch (instrument/instrument.h). As a module is loaded its
// PTX is rewritten, so that each kernel has a clone with probes, beside it or in a module of its
// own; a launch that is to be watched launches the clone, with memory for what its probes find
// (shadow.h).
//
//   module.c  what is asked for; modules and what they are loaded from
//   image.c   the PTX of an image, and an image with other PTX
//   link.c    code that is linked before it is loaded
//   parts.c   clones in modules of their own
//   kernel.c  kernels and their clones, whatever handle the program has
//   fit.c     launches that would not fit the GPU at once with the clone
//   launch.c  launches
//   graph.c   kernels that executable graphs launch
//   cache.c   what was made in earlier runs
//   hooks/probe.c    hooks that are there for probes alone
//
// Without GLINT_PROBES state.probes is NULL and none of this is entered.
#ifndef GLINT_INJECT_PROBE_PROBE_H
#define GLINT_INJECT_PROBE_PROBE_H

#include <regex.h>

#include "fatbin/fatbin.h"
#include "inject/core/call.h"
#include "inject/core/graph_nodes.h"
#include "inject/shadow/shadow.h"
#include "instrument/instrument.h"

// One text of PTX, rewritten. Never freed: launches and graphs refer to what it tells of kernels
// for longer than a module lives. The same text, loaded again, is the same.
struct probe_text {
    uint64_t key[2];
    struct instrument_module *module;
    struct probe_text *next;
    struct probe_images *_Atomic images; // of its parts, linked; NULL: none
    struct probe_loaded *loaded;         // its parts in contexts; under the lock of probes
};

// What a loaded module is made of.
struct probe_module {
    struct probe_text **texts;
    size_t text_count;
    void *image;  // of glint's making, which the driver may read until it is unloaded
    bool refused; // the driver has not taken what was rewritten: only clones in parts are there
    char reason[1000]; // why, or why kernels of none of the texts have no probes
};

struct probes {
    uint32_t facts;  // enum instrument_facts
    uint32_t sample; // each so many launches of a kernel are watched
    bool selects;    // only kernels that match:
    regex_t kernels;
    char *expression;            // which is this; NULL: none
    char *cache;                 // the folder of rewritten modules; NULL: none
    _Atomic uint32_t launches;   // watched, in all: results are collected from time to time
    _Atomic bool hidden;         // said that kernels of some graphs are not watched
    pthread_mutex_t lock;        // protects all below; the driver is not asked under it
    struct base_map modules;     // number of a module to struct probe_module
    struct probe_text *texts;    // all of them
    struct base_map links;       // CUlinkState to struct probe_link
    struct probe_linked *linked; // images that were linked from rewritten texts
    struct base_map execs;       // CUgraphExec to struct probe_exec
    struct base_map graphs;      // CUgraph to struct probe_graph: from which those were made
};

// A copy, not of libc's malloc as strdup's would be.
char *probe_copy_text(const char *text);
void probe_start(void); // makes state.probes where probes are asked for

// The hook of a function that is there for probes alone, and not recorded: where the arguments make
// sense, glint answers.
#define PROBED(symbol, params, args, sense, answer)                      \
    CUresult symbol params                                               \
    {                                                                    \
        struct call call;                                                \
        if (!state_is_on() || !state.probes ||                           \
            !call_begin(&call, HOOK_##symbol, NO_STREAM, UNWIND_CALLER)) \
            return REAL(symbol) args;                                    \
        call_start(&call);                                               \
        const CUresult result = (sense) ? (answer) : REAL(symbol) args;  \
        call_stop(&call, result);                                        \
        return call_end(&call);                                          \
    }

// --- Modules -------------------------------------------------------------------------------------

enum { PROBE_MOST_OPTIONS = 32 };

// The loading of an image.
struct probe_load {
    struct probe_module *module; // NULL: no probes are asked for, or there is no memory
    const void *replacement;     // to be loaded; NULL: the program's own
    struct probe_parts *parts;   // which come with it; NULL: none
    const struct context *context;
    // The values of the compiler's options, which a driver that refuses the image has changed.
    void **values, *saved[PROBE_MOST_OPTIONS];
    unsigned count;
};

// Before the driver loads what is at `image`, or in the file. `library`: for all devices.
void probe_load_begin(struct probe_load *load, const struct call *call, const void *image,
                      const char *path, bool library);
void probe_load_options(struct probe_load *load, void **values, unsigned count);
// The driver has refused what was to be loaded instead.
void probe_load_refused(struct probe_load *load, CUresult result);
// The program's module is loaded, from one or the other, or could not be.
void probe_load_end(struct probe_load *load, uint32_t module);
void probe_module_end(uint32_t module);
// Whether the kernel is one that glint has put into the module.
bool probe_module_hides(uint32_t module, const char *kernel);

// What is to be loaded in the image's place, which the module holds with what was rewritten; NULL:
// nothing, for the module's reason. memory: where the image is, if it is in memory.
const void *probe_image_rewrite(struct probe_module *module, const void *memory,
                                const struct fatbin_image *image, const struct context *context,
                                bool library);
// What is to be loaded in place of a text, and beside it in so many parts, on a GPU of this compute
// capability (90 for 9.0) or more; NULL: it cannot have probes, for the reason.
struct probe_text *probe_rewrite(const char *text, size_t length, unsigned gpu, unsigned parts,
                                 char *reason, size_t reason_bytes);
bool probe_text_has_clones(const struct probe_text *text); // in place of it
bool probe_wants(const char *kernel);                      // by its mangled name
unsigned probe_gpu_of(CUdevice device); // its compute capability, 90 for 9.0; 0: not known

// Of an image that came out of a linker, what went in: adds to the module's texts.
bool probe_link_find(const void *image, struct probe_module *module);
bool probe_module_add(struct probe_module *module, struct probe_text *text);

// --- Parts ---------------------------------------------------------------------------------------

unsigned probe_parts_wanted(void); // into how many a text is worth to be divided here
// Begins to link the text's parts for the current context; NULL: there are none, or no context.
struct probe_parts *probe_parts_begin(struct probe_text *text);
// All are linked, and loaded in the context.
void probe_parts_end(struct probe_parts *parts, const struct context *context);
// A part in the current context, of that number.
CUresult probe_parts_module(struct probe_text *text, uint32_t part, uint32_t context,
                            CUmodule *module);

// --- Cache ---------------------------------------------------------------------------------------

char *probe_cache_folder(void); // to be freed; NULL: there is to be none
// The key of a text as it is rewritten for a GPU, in so many parts.
void probe_cache_key(const char *text, size_t length, unsigned gpu, unsigned parts,
                     uint64_t key[2]);
// An entry, to be freed; NULL: there is none that is whole.
unsigned char *probe_cache_read(const uint64_t key[2], size_t *length);
void probe_cache_write(const uint64_t key[2], const void *bytes, size_t length);

// --- Kernels -------------------------------------------------------------------------------------

struct probe_param { // of a kernel
    uint32_t offset, bytes;
};

// A clone in one context.
struct probe_clone {
    struct probe_clone *next;
    uint32_t context;
    CUfunction original, function;  // function NULL: there is none
    _Atomic uint32_t settings;      // with which of the kernel's it agrees
    struct probe_param *params;     // of the kernel
    struct probe_fit *_Atomic fits; // see fit.c
    uint64_t variables[];           // by root: its address; 0 for parameters
};

// A kernel of a module, by whichever handles. Held by those handles, and by graphs.
struct probe_kernel {
    _Atomic uint32_t users;
    const struct instrument_kernel *about; // NULL: it has no probes
    struct probe_text *text;               // which tells it
    const char *reason;                    // why not, or NULL
    const char *allocates;                 // its name, where it may allocate or free memory itself
    _Atomic uint32_t launches;
    _Atomic uint32_t number;         // under which it was told; 0: it was not yet
    _Atomic bool refused;            // said that a launch of it was not watched
    _Atomic uint32_t settings;       // how often attributes were set
    _Atomic int cache_config, banks; // -1: not set
    struct probe_clone *_Atomic clones;
};

struct probe_kernel *probe_kernel_make(uint32_t module, const char *name);
void probe_kernel_hold(struct probe_kernel *kernel);
void probe_kernel_drop(struct probe_kernel *kernel);
// Tells of its probes and sites, once.
void probe_kernel_tell(struct probe_kernel *kernel, uint32_t number);
// Whether the next launch is to be watched; counts it.
bool probe_kernel_chosen(struct probe_kernel *kernel);
// Its clone in the current context, with the attributes that the kernel has; NULL: none.
struct probe_clone *probe_kernel_clone(struct probe_kernel *kernel, const void *handle,
                                       const struct context *context);

// The kernel runs unwatched in the context.
void probe_kernel_unwatched(const struct probe_kernel *kernel, struct context *context);
// Says of the kernel, once, why a launch of it is not watched.
void probe_kernel_note(struct probe_kernel *kernel, const char *why);

struct probe_shape { // of a launch
    unsigned grid[3], block[3], shared_bytes;
    unsigned cluster[3]; // in blocks; zeros: there are no clusters
    bool partly;         // it may run on some of the multiprocessors only, nobody says how many
    bool cooperative;
};
// Whether blocks of the launch may wait for each other, and all of them are on the GPU at once with
// the kernel, and would not be, as far as is known, with the clone. The context is current. Any
// thread; asks the driver once for each shape.
bool probe_fit_is_lost(const struct probe_kernel *kernel, struct probe_clone *clone,
                       const struct context *context, const struct probe_shape *shape);
void probe_fit_free(struct probe_clone *clone);
#define PROBE_FIT_LOST                                                                          \
    "launches whose blocks are all on the GPU at once are not watched where they would not be " \
    "with probes"

// The parameters of a launch of a clone: copies of the program's values, and the context. free()
// frees all of it.
struct probe_params {
    void **pointers; // to the values, and last to the context
    uint64_t *roots; // by root: its value
    void *context;   // about->context_bytes
};
// NULL: the program's values cannot be read.
struct probe_params *probe_params_make(const struct probe_kernel *kernel,
                                       const struct probe_clone *clone, void **pointers,
                                       void **extra);

// A question or an allocation may load something, which a capture elsewhere would forbid: between
// these it does not.
bool probe_relax(CUstreamCaptureMode *mode);
void probe_unrelax(bool relaxed, CUstreamCaptureMode *mode);

// --- Launches ------------------------------------------------------------------------------------

// One launch, as the hook makes it.
struct probe_launch {
    struct shadow_ticket *ticket; // NULL: it is not watched
    struct probe_kernel *kernel;
    struct probe_params *params;
    CUfunction function; // what is launched instead, with params->pointers
};

void probe_launch_begin(struct probe_launch *launch, struct call *call, CUfunction function,
                        void **pointers, void **extra);
// The driver has refused the clone, and has then taken the program's kernel, or has not.
void probe_launch_refused(struct probe_launch *launch, struct call *call, CUresult refused,
                          CUresult result);
// A launch in a way of before CUDA 4, or on several devices at once: it is not watched.
void probe_launch_passed(CUfunction function, uint32_t number);

// At a call's end, behind its record: results of what was launched are asked for, and those that
// have come are told.
void probe_call_end(struct call *call);

// --- Graphs --------------------------------------------------------------------------------------

// An executable graph was made of a graph, whose nodes are told as `nodes`.
void probe_exec_made(const struct call *call, CUgraphExec exec, CUgraph graph,
                     const struct graph *nodes);
// It is about to be changed all at once; and was, to what `nodes` say. It still knows its nodes by
// the handles of others, one for one.
void probe_exec_leave(CUgraphExec exec);
void probe_exec_updated(const struct call *call, CUgraphExec exec, const struct graph *nodes,
                        const struct graph *handles);
// The program has changed a node of it, of this index among those that are told: a kernel; a child
// graph; whether it runs.
void probe_exec_set(const struct call *call, CUgraphExec exec, uint32_t index, CUgraphNode node,
                    const CUDA_KERNEL_NODE_PARAMS *params);
void probe_exec_set_child(const struct call *call, CUgraphExec exec, uint32_t index,
                          CUgraphNode node, CUgraph child, const struct graph *nodes);
void probe_exec_enabled(CUgraphExec exec, uint32_t index, bool enabled);
// Around its launch; behind it where call->replays is set.
void probe_exec_launch(struct call *call, CUgraphExec exec);
void probe_exec_launched(struct call *call);
void probe_exec_end(CUgraphExec exec);
// The program destroys a graph. True: glint does later, when nothing refers to its nodes.
bool probe_graph_keep(CUgraph graph);
void probe_graph_node_end(CUgraphNode node); // before the program destroys it

#endif
