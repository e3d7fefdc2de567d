// SPDX-License-Identifier: Apache-2.0
// Probes: kernels that report what they touch (instrument/instrument.h). When a module is loaded,
// its PTX is rewritten, so that each kernel has a clone with probes, beside it or in a separate
// module. A launch that is to be watched launches the clone, with memory for the results of its
// probes (shadow/shadow.h). This layer takes part if GLINT_PROBES asks for probes.
//
//   probe.c   the settings, and the layer
//   range.c   which part of the run is watched
//   module.c  modules and what they are loaded from
//   image.c   the PTX of an image, and an image with other PTX
//   nearby.c  the PTX of machine code in the file system
//   link.c    code that is linked before it is loaded
//   parts.c   clones in separate modules
//   kernel.c  kernels and their clones, whatever handle the program has
//   fit.c     launches whose blocks would not all run at once with the clone
//   launch.c  launches
//   graph.c   kernels that executable graphs launch, with exec_nodes.c and exec_launch.c
//   passed.c  kernels without probes, which are known by their arguments
//   alike.c   launches without probes because others like them were watched
//   cache.c   results of earlier runs
#ifndef GLINT_INJECT_PROBE_PROBE_H
#define GLINT_INJECT_PROBE_PROBE_H

#include <regex.h>

#include "inject/core/call.h"

struct probe_linked;
struct probe_text;

// Names of kernels, by a regular expression.
struct probe_names {
    bool given;
    regex_t compiled;
    char *expression; // NULL: not given
};

struct probe_state {
    // Written at the start only:
    uint32_t facts;              // enum instrument_facts
    uint32_t word_ways;          // as in struct instrument_request
    uint32_t sample;             // every Nth launch of a kernel is watched
    uint32_t most_alike;         // see alike.h; 0: all launches are watched
    struct probe_names kernels;  // that are watched
    struct probe_names excluded; // of these, those that have no probes
    char *cache;                 // the folder of rewritten modules; NULL: none
    // Any thread, without the lock:
    _Atomic uint32_t launches;   // watched so far: results are collected from time to time
    _Atomic bool hidden;         // it was noted that the kernels of some graphs are not watched
    _Atomic bool waits;          // a kernel that may wait for other blocks was launched
    _Atomic bool passes;         // some kernels may be known by their arguments alone
    _Atomic uint64_t nearby_ns;  // what searches of nearby.c have taken
    _Atomic uint64_t left_out;   // launches that need not be watched: see alike.h
    pthread_mutex_t giving;      // held while memory is given back
    pthread_mutex_t lock;        // protects all below; the driver is not called under it
    struct base_map modules;     // number of a module to struct probe_module
    struct probe_text *texts;    // all of them
    struct base_map links;       // CUlinkState to struct probe_link
    struct probe_linked *linked; // images that were linked from rewritten texts
    struct base_map alike;       // see alike.c
    struct base_map execs;       // CUgraphExec to struct probe_exec
    struct base_map graphs;      // CUgraph to struct probe_graph, from which those were made
};

extern const struct inject_layer probe_layer;
extern struct probe_state *probe_state; // NULL: the layer does not take part. Written at the start

// Return whether the kernel of this mangled name is to be watched, and whether it is to have
// probes.
bool probe_selects(const char *kernel);
bool probe_wants(const char *kernel);

// Brackets calls of the driver that may load something, which a stream capture of another thread
// would forbid. probe_relax returns what probe_unrelax takes.
bool probe_relax(CUstreamCaptureMode *mode);
void probe_unrelax(bool relaxed, CUstreamCaptureMode *mode);

#endif
