// SPDX-License-Identifier: Apache-2.0
// Kernels without probes are known by their arguments: a launch may access each object that one of
// its parameters points into, and nothing else is known of it.
#ifndef GLINT_INJECT_PROBE_PASSED_H
#define GLINT_INJECT_PROBE_PASSED_H

#include "kernel.h"

// Records which objects the arguments of a launch point into, if the kernel has no probes, or the
// launch is like others that were watched (call->alike). The driver has accepted the launch, and
// its record follows.
void probe_passed_launch(struct core_call *call, const void *function, void **pointers,
                         void **extra);

enum { PROBE_PASSED_MOST = 256 };
struct probe_passed_objects {
    uint64_t numbers[PROBE_PASSED_MOST];
    uint32_t count;
};
// Finds the same objects without recording them. Returns whether the launch can access no others,
// as far as its arguments tell. The launch's shape must be possible (core/params.h).
bool probe_passed_find(const void *function, void **pointers, void **extra,
                       struct probe_passed_objects *objects);

// The same for a kernel with probes, which is known better: objects in which its accesses are
// expected, and its variables, are among them.
bool probe_passed_by(const struct probe_kernel *kernel, const struct probe_params *params,
                     struct probe_passed_objects *objects);

// What nodes of an executable graph pass to kernels without probes: each word that may be an
// address. Initialize with {0}. One thread at a time.
struct probe_passed_word {
    uint64_t word;
    uint32_t index; // of the node
};
struct probe_passed_nodes {
    BASE_ARRAY(struct probe_passed_word) words;
};

// Notes the arguments of a node.
void probe_passed_add(struct probe_passed_nodes *nodes, uint32_t index, const void *function,
                      const CUDA_KERNEL_NODE_PARAMS *params);
// Forgets those of `count` nodes from an index on.
void probe_passed_forget(struct probe_passed_nodes *nodes, uint32_t index, uint32_t count);
// Records which objects they point into now, in a launch of the executable that is about to be
// made.
void probe_passed_replay(struct core_call *call, const struct probe_passed_nodes *nodes);

#endif
