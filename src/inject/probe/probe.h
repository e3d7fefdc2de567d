// SPDX-License-Identifier: Apache-2.0
// Probes: kernels that report what they touch (instrument/instrument.h). When a module is loaded
// its PTX is rewritten, so that each kernel has a clone with probes, beside it or in a module of
// its own. A launch that is to be watched launches the clone, with memory for what its probes find
// (shadow/shadow.h). A layer that takes part where GLINT_PROBES asks for it.
//
//   probe.c   what is asked for, and the layer
//   module.c  modules and what they are loaded from
//   image.c   the PTX of an image, and an image with other PTX
//   link.c    code that is linked before it is loaded
//   parts.c   clones in modules of their own
//   kernel.c  kernels and their clones, whatever handle the program has
//   fit.c     launches that would not fit the GPU at once with the clone
//   launch.c  launches
//   graph.c   kernels that executable graphs launch
//   cache.c   what was rewritten in earlier runs
#ifndef GLINT_INJECT_PROBE_PROBE_H
#define GLINT_INJECT_PROBE_PROBE_H

#include <regex.h>

#include "inject/core/call.h"

struct probe_linked;
struct probe_text;

struct probe_state {
    // Written at the start alone:
    uint32_t facts;  // enum instrument_facts
    uint32_t sample; // each so many launches of a kernel are watched
    bool selects;    // only kernels that match `kernels`
    regex_t kernels;
    char *expression; // its text; NULL: none
    char *cache;      // the folder of rewritten modules; NULL: none
    // Any thread, without the lock:
    _Atomic uint32_t launches;   // watched so far: results are collected from time to time
    _Atomic bool hidden;         // it was noted that kernels of some graphs are not watched
    pthread_mutex_t lock;        // protects all below; the driver is not called under it
    struct base_map modules;     // number of a module to struct probe_module
    struct probe_text *texts;    // all of them
    struct base_map links;       // CUlinkState to struct probe_link
    struct probe_linked *linked; // images that were linked from rewritten texts
    struct base_map execs;       // CUgraphExec to struct probe_exec
    struct base_map graphs;      // CUgraph to struct probe_graph, from which those were made
};

extern const struct inject_layer probe_layer;
extern struct probe_state *probe_state; // NULL: the layer does not take part. Written at the start

// Whether the kernel of this mangled name is to have probes.
bool probe_wants(const char *kernel);

// Brackets calls of the driver that may load something, which a stream capture of another thread
// would forbid. probe_relax returns what probe_unrelax takes.
bool probe_relax(CUstreamCaptureMode *mode);
void probe_unrelax(bool relaxed, CUstreamCaptureMode *mode);

#endif
