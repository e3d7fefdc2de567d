// SPDX-License-Identifier: Apache-2.0
// The machine inside the simulated GPU, as the driver on top of it sees it: a device with memory,
// modules made from PTX, and launches that run to their end on the calling thread and the device's
// workers. It knows nothing of CUDA's handles, streams, contexts or error codes; the driver
// (src/gpusim/driver) makes those.
//
// Device memory is host memory and a device address is a host pointer, so that managed, pinned and
// mapped memory need nothing special. What the machine adds is the map of live objects, against
// which every access of a kernel is checked.
#ifndef GLINT_GPUSIM_MACHINE_SIM_H
#define GLINT_GPUSIM_MACHINE_SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "gpusim/gpusim.h"

struct sim_device;
struct sim_module;
struct sim_kernel;
struct log_file;

// --- The device ----------------------------------------------------------------------------------

// What a preset says of a device; presets.c holds the table.
struct sim_preset {
    const char *key;  // "h200"
    const char *name; // "NVIDIA H200"
    uint32_t major, minor;
    uint32_t sm_count;
    uint32_t warps_per_sm;
    uint32_t blocks_per_sm;
    uint32_t clock_khz, memory_clock_khz, memory_bus_bits;
    uint64_t memory_bytes;
    uint64_t l2_bytes;
    uint32_t copy_engines;
    uint32_t pci_device_id; // device and vendor
    uint32_t shared_per_block, shared_per_block_optin, shared_per_sm, reserved_shared_per_block;
    uint32_t registers_per_block, registers_per_sm;
    uint64_t const_bytes;
    // The timing model: what a kernel takes is the largest of what its instructions and its traffic
    // take, plus a fixed cost.
    double launch_ns, instructions_per_ns, memory_bytes_per_ns, copy_bytes_per_ns;
};

const struct sim_preset *sim_preset_find(const char *key); // NULL: none of that name
const struct sim_preset *sim_preset_at(unsigned index);    // NULL: past the last

// workers 0: one for each CPU. The log may be NULL.
enum base_code sim_device_create(const struct sim_preset *preset, unsigned workers,
                                 struct log_file *log, struct sim_device **device,
                                 struct base_error *error);
void sim_device_destroy(struct sim_device *device);
bool sim_is_worker(void); // the calling thread is a device's
const struct sim_preset *sim_device_preset(const struct sim_device *device);

// Bytes of the heap behind malloc() in kernels, and of the printf buffer. Before the first launch.
void sim_device_set_heap(struct sim_device *device, uint64_t bytes);
// Frees what malloc() in kernels has given out. Nothing may be running.
void sim_device_clear_heap(struct sim_device *device);
// Bytes of each thread's stack for calls, from the next launch on; there are always some.
void sim_device_set_stack(struct sim_device *device, uint64_t bytes);
// Moves what kernels have printed since the last call to the end of out. Any thread.
void sim_device_take_output(struct sim_device *device, struct base_buf *out);

// --- Memory --------------------------------------------------------------------------------------

// Tells the machine of memory that kernels may touch from now on. name serves messages
// ("cudaMalloc"); it is borrowed and must be static or outlive the object. Any thread.
// BASE_CONFLICT where it overlaps.
enum base_code sim_object_add(struct sim_device *device, uint64_t address, uint64_t size_bytes,
                              enum gpusim_object_kind kind, const char *name,
                              struct base_error *error);
// Ends the object that starts there; accesses to it are then "use after free". False: there is
// none.
bool sim_object_remove(struct sim_device *device, uint64_t address);

// The live object that contains the address. Any thread.
bool sim_object_find(struct sim_device *device, uint64_t address, struct gpusim_object *object);

// --- Modules -------------------------------------------------------------------------------------

// One PTX text of a module. Several are linked: .extern of one is resolved by .visible of another.
struct sim_ptx {
    const char *text;
    size_t length;
    const char *name; // for messages
};

// Parses, links, lays out variables and decodes every kernel. What the machine cannot execute is
// found here: the error names the instruction, the kernel and the line, and the code is
// BASE_UNSUPPORTED.
enum base_code sim_module_load(struct sim_device *device, const struct sim_ptx *texts, size_t count,
                               struct sim_module **module, struct base_error *error);
// Nothing of it may be running.
void sim_module_unload(struct sim_module *module);
// Its variables hold their initial values again. Nothing of it may be running.
void sim_module_reset(struct sim_module *module);

struct sim_param {
    uint32_t offset, size_bytes;
};

// What a kernel needs and allows. Lives as long as its module.
struct sim_kernel_info {
    const char *name;
    const struct sim_param *params;
    uint32_t param_count;
    uint32_t param_bytes; // of the packed buffer
    uint32_t static_shared_bytes;
    uint32_t local_bytes; // for each thread
    uint32_t const_bytes;
    uint32_t max_threads; // from .maxntid or .reqntid; else 1024
    uint32_t required[3]; // .reqntid; 0: any
    uint32_t registers;   // what to report; occupancy does not depend on it
    uint32_t ptx_version; // 90 for 9.0
    uint32_t target;      // 90 for sm_90
    bool uses_grid_sync;
};

uint32_t sim_module_kernel_count(const struct sim_module *module);
struct sim_kernel *sim_module_kernel_at(const struct sim_module *module, uint32_t index);
struct sim_kernel *sim_module_kernel(const struct sim_module *module,
                                     const char *name); // NULL: none
const struct sim_kernel_info *sim_kernel_info(const struct sim_kernel *kernel);
// Why the kernel cannot be executed, with instruction and line; NULL: it can. A module that has no
// kernel that can is not loaded at all.
const char *sim_kernel_refusal(const struct sim_kernel *kernel);

// A variable's device address and size; false where there is none. managed may be NULL.
bool sim_module_global(const struct sim_module *module, const char *name, uint64_t *address,
                       uint64_t *size_bytes, bool *managed);

// --- Launches ------------------------------------------------------------------------------------

struct sim_launch {
    struct sim_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_bytes;
    const void *params; // packed as sim_kernel_info says; read before sim_launch_run returns
    bool cooperative;
    uint64_t id;           // for the log
    uint64_t call, stream; // for the log: who submitted it, and where
};

// Why a launch ended early. The driver makes CUDA's codes of these.
enum sim_fault_kind {
    SIM_FAULT_NONE,
    SIM_FAULT_ADDRESS,     // outside every live object, or after free: cudaErrorIllegalAddress
    SIM_FAULT_MISALIGNED,  // cudaErrorMisalignedAddress
    SIM_FAULT_ASSERT,      // cudaErrorAssert
    SIM_FAULT_TRAP,        // trap: cudaErrorLaunchFailure
    SIM_FAULT_INSTRUCTION, // cudaErrorIllegalInstruction
    SIM_FAULT_SPACE,    // an operation on an address of a wrong space: cudaErrorInvalidAddressSpace
    SIM_FAULT_PC,       // a branch to nowhere: cudaErrorInvalidPc
    SIM_FAULT_STACK,    // recursion too deep: cudaErrorIllegalAddress, as an H200 has it
    SIM_FAULT_DEADLOCK, // threads wait for others that will never come: cudaErrorLaunchTimeout
    SIM_FAULT_NO_MEMORY, // of the host
};

struct sim_fault {
    enum sim_fault_kind kind;
    char text[1024]; // one line for people: kernel, source line, block, thread, address, nearest
                     // object
};

// What a launch did, for the timing model.
struct sim_work {
    uint64_t warp_instructions, thread_instructions;
    uint64_t global_bytes; // of sectors touched, 32 bytes each
    uint64_t shared_bytes;
};

// Runs the whole grid. The caller has checked sizes against the preset and the kernel. Several
// threads may run launches at once; they share the workers. Returns the modelled GPU time in
// nanoseconds.
uint64_t sim_launch_run(struct sim_device *device, const struct sim_launch *launch,
                        struct sim_work *work, struct sim_fault *fault);

// --- Textures and surfaces -----------------------------------------------------------------------

enum sim_texel { SIM_TEXEL_UNSIGNED, SIM_TEXEL_SIGNED, SIM_TEXEL_FLOAT };
enum sim_address_mode {
    SIM_ADDRESS_WRAP,
    SIM_ADDRESS_CLAMP,
    SIM_ADDRESS_MIRROR,
    SIM_ADDRESS_BORDER
};

// What a texture or surface object refers to. The driver keeps it alive as long as the object; its
// address is the 64-bit handle that a kernel gets.
struct sim_texture {
    uint32_t magic; // SIM_TEXTURE_MAGIC: tells a handle from a wild value
    bool is_surface;
    uint8_t dimensions;            // 1, 2, 3
    bool layered, cubemap, linear; // linear: plain memory read by integer coordinate
    uint32_t width, height, depth; // texels; depth is layers where layered, 6 faces where cubemap
    uint64_t pitch_bytes, slice_bytes;
    void *data;
    uint8_t channels;     // 1, 2, 4
    uint8_t channel_bits; // 8, 16, 32
    uint8_t texel;        // enum sim_texel
    bool normalized_coordinates;
    bool read_normalized; // 8- and 16-bit integers are returned as floats in [0, 1] or [-1, 1]
    bool filter_linear;
    bool srgb;
    uint8_t address_mode[3]; // enum sim_address_mode
    float border[4];
    struct sim_texture *levels; // of a mipmap, or NULL
    uint32_t level_count;
    bool levels_linear; // two levels are mixed
    float level_bias, level_least, level_most;
};

// Tells the machine that the address is a handle from now on, and that it is none any more. Any
// thread; no kernel that uses it may run when it is removed.
enum base_code sim_texture_add(struct sim_device *device, const struct sim_texture *texture);
void sim_texture_remove(struct sim_device *device, const struct sim_texture *texture);

#define SIM_TEXTURE_MAGIC 0x544C4754u

// --- Threads -------------------------------------------------------------------------------------

// A thread of the simulator's own: pthread_create, but that signals which are sent to the program
// are not taken there. Faults are its own affair.
int sim_thread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                      void *argument);

#endif
