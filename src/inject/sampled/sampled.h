// SPDX-License-Identifier: Apache-2.0
// Sampled launches: some launches of kernels without probes run code that the Sanitizer API
// (sanitizer.h) has patched, so that it is known which objects they read and wrote. All
// others run the program's own code. This layer takes part if GLINT_SAMPLE_NATIVE asks for it.
//
//   sampled.c  the settings, and the layer
//   tools.c    other tools, such as CUPTI, to which it gives way
//   library.c  the Sanitizer API
//   modules.c  images of modules, and patched second copies of them
//   launch.c   which launches are sampled
//   budget.h   how much GPU time that may take
//   patch.cu   the patch, and mark.h, what it does at an access
//
// Whatever fails, the program's own kernel is launched. Results come back as those of probes do
// (shadow/shadow.h): a launch has the table of objects as its user data, and marks what it touches.
#ifndef GLINT_INJECT_SAMPLED_SAMPLED_H
#define GLINT_INJECT_SAMPLED_SAMPLED_H

#include <stdbool.h>

#include "inject/core/call.h"
#include "inject/core/layer.h"

struct probe_kernel;
struct sampled_copy;
struct shadow_ticket;

extern const struct inject_layer sampled_layer;

// Keeps the image of a module that was loaded, of so many bytes, or the file's content. preserved:
// the image stays until the program unloads the module. Module 0, or if the layer does not take
// part: does nothing.
void sampled_loaded(uint32_t module, const void *image, uint64_t bytes, bool preserved,
                    const char *path);
// Makes the patched copy of the kernel, if it has no probes. Called where the program gets the
// kernel or function, as probe_kernel_prepare is. The context is current; NULL: there is none.
void sampled_prepare(const void *handle, struct core_context *context);

// One launch, as the hook makes it.
struct sampled_launch {
    struct shadow_ticket *ticket; // NULL: it is not sampled
};
// Returns the function to be launched in the place of the program's, or that one.
CUfunction sampled_launch_begin(struct sampled_launch *launch, struct core_call *call,
                                CUfunction function, void **pointers, void **extra);
// Says whether the driver has accepted the launch. If not, there is no ticket any more, the
// program's function must be launched, and sampled_launch_refused gets the result.
void sampled_launch_made(struct sampled_launch *launch, struct core_call *call, CUresult result);
void sampled_launch_refused(CUresult original);
// Called at a call's end, after its record: enqueues the read-back of a sampled launch.
void sampled_call_end(struct core_call *call);

#endif
