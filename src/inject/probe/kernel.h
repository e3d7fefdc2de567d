// SPDX-License-Identifier: Apache-2.0
// Kernels and their clones with probes.
#ifndef GLINT_INJECT_PROBE_KERNEL_H
#define GLINT_INJECT_PROBE_KERNEL_H

#include "instrument/instrument.h"
#include "probe.h"

struct probe_fit;
struct probe_room;

// A clone in one context.
struct probe_clone {
    struct probe_clone *next;
    uint32_t context;
    CUfunction original, function; // function NULL: there is none
    CUfunction light;              // the second one; NULL: there is none
    _Atomic uint32_t settings; // value of the kernel's `settings` that were last set on the clone
    struct probe_fit *_Atomic fits;   // see fit.c
    struct probe_room *_Atomic rooms; // see spare.c
    _Atomic bool noted;               // that there is no function
    uint32_t most_threads;            // of a block of the original
    // The most dynamic shared memory that the program allows the kernel, and that glint allows the
    // clone, which is 0 unless it is more. UINT32_MAX: the driver does not report it.
    _Atomic uint32_t limit, raised;
    uint64_t variables[]; // by root: its address; 0 for parameters
};

// A kernel of a module, whichever handles lead to it. Handles and graphs count as users.
struct probe_kernel {
    _Atomic uint32_t users;
    const struct instrument_kernel *about; // NULL: it has no probes
    struct probe_text *text;               // the text that contains it
    const char *reason;                    // why it has none, or NULL
    bool is_passed;   // without probes, its launches are known by their arguments: see passed.h
    bool is_compiled; // its module is machine code
    const char *allocates; // its name, if it may allocate or free memory itself
    uint32_t module;
    const char *name;      // without probes: in the module; NULL: unknown
    void *_Atomic sampled; // kept by inject/sampled, never freed; NULL: nothing
    _Atomic uint32_t launches;
    _Atomic uint32_t number;         // number in its records; 0: not recorded yet
    _Atomic bool refused;            // it was noted that a launch of it was not watched
    _Atomic uint32_t settings;       // how often attributes were set
    _Atomic int cache_config, banks; // -1: not set
    struct probe_clone *_Atomic clones;
};

// Both return NULL if memory runs out or the handle is unknown. core/kernels.h calls
// probe_kernel_make.
void *probe_kernel_make(uint32_t module, const char *name);
struct probe_kernel *probe_kernel_of(const void *handle);
void probe_kernel_hold(struct probe_kernel *kernel);
void probe_kernel_drop(struct probe_kernel *kernel);
// Records the kernel's probes and sites, once.
void probe_kernel_tell(struct probe_kernel *kernel, uint32_t number);
// Returns whether the next launch is to be watched, and counts that launch.
bool probe_kernel_chosen(struct probe_kernel *kernel);
// Returns the kernel's clone in the current context, with the attributes that the kernel has; NULL:
// none. The first time, loads what launches of the kernel need, too.
struct probe_clone *probe_kernel_clone(struct probe_kernel *kernel, const void *handle,
                                       struct core_context *context);

// Makes the clone, if the kernel has probes. Called where the program gets the kernel or function:
// a launch should not load anything, because the driver then waits for all work that runs. The
// context is current; NULL: there is none.
void probe_kernel_prepare(const void *handle, struct core_context *context);

// Says that the kernel runs unwatched in the context.
void probe_kernel_unwatched(const struct probe_kernel *kernel, struct core_context *context);
// Notes, once for the kernel, why a launch of it is not watched.
void probe_kernel_note(struct probe_kernel *kernel, const char *why);

// The parameters of a launch of a clone: copies of the program's values, and the launch context.
// free() frees all of it.
struct probe_params {
    void **pointers;             // to the values, and last to the context
    uint64_t *given;             // by root: its value
    uint64_t *roots;             // by root: an address in the object that accesses are expected in
    const unsigned char *values; // of the program's parameters, about->context_offset bytes
    void *context;               // about->context_bytes
};
// Returns NULL if the program's values cannot be read.
struct probe_params *probe_params_make(const struct probe_kernel *kernel,
                                       const struct probe_clone *clone, void **pointers,
                                       void **extra);

#define PROBE_LITTLE_STACK "launches by threads with less than 48 KiB of stack are not watched"

#endif
