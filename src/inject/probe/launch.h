// SPDX-License-Identifier: Apache-2.0
// Launches that are watched.
#ifndef GLINT_INJECT_PROBE_LAUNCH_H
#define GLINT_INJECT_PROBE_LAUNCH_H

#include "kernel.h"
#include "probe.h"

// One launch, as the hook makes it.
struct probe_launch {
    struct shadow_ticket *ticket; // NULL: it is not watched
    bool refused;                 // the driver refuses it, so that nothing runs
    struct probe_kernel *kernel;
    struct probe_params *params;
    CUfunction function;   // launched, with params->pointers: a clone, or the kernel itself
    unsigned shared_bytes; // with so much dynamic shared memory
    CUlaunchConfig config; // made by probe_launch_config
};

void probe_launch_begin(struct probe_launch *launch, struct core_call *call, CUfunction function,
                        void **pointers, void **extra);
// Returns the launch's configuration for the clone.
const CUlaunchConfig *probe_launch_config(struct probe_launch *launch,
                                          const CUlaunchConfig *config);
// Says that the driver refused the clone. result: of the original kernel, which was launched
// instead.
// The driver has refused the launch: ends its ticket. The program's launch is made instead;
// probe_launch_refused says how that ended.
void probe_launch_withdraw(struct probe_launch *launch, struct core_call *call);
void probe_launch_refused(struct probe_launch *launch, struct core_call *call, CUresult refused,
                          CUresult result);
// Says that a launch through a pre-CUDA 4 function, or on several devices at once, is not watched.
void probe_launch_unwatched(CUfunction function, uint32_t number);

// Called before a call waits: enqueues the read-back of what was launched.
void probe_call_waits(const struct core_call *call);
// Called at a call's end, after its record: records results that have arrived.
void probe_call_end(struct core_call *call);

#endif
