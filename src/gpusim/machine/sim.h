// SPDX-License-Identifier: Apache-2.0
// The interface of the machine, which executes PTX. It provides a device with memory, modules made
// from PTX, and launches that run to their end on the calling thread and the device's workers. The
// machine has no notion of CUDA's handles, streams, contexts or error codes; the driver
// (src/gpusim/driver) implements those.
//
// Device memory is host memory and a device address is a host pointer, so that managed, pinned and
// mapped memory need no special treatment. The machine keeps a map of live objects and checks every
// access of a kernel against it.
#ifndef GLINT_GPUSIM_MACHINE_SIM_H
#define GLINT_GPUSIM_MACHINE_SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "gpusim/gpusim.h"

struct sim_device;
struct sim_module;
struct sim_memory;
struct sim_kernel;
struct log_file;

// --- The device ----------------------------------------------------------------------------------

enum { SIM_DEVICES_MAX = 32 }; // of a machine

// The properties of a simulated device; presets.c has the table.
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
    // The timing model: a kernel takes the larger of the time for its instructions and the time for
    // its memory traffic, plus a fixed cost.
    double launch_ns, instructions_per_ns, memory_bytes_per_ns, copy_bytes_per_ns;
};

const struct sim_preset *sim_preset_find(const char *key); // NULL if no preset has the key
// Reads a list of devices: names of presets with commas between them, each perhaps with "*4" for
// four of them. Returns how many there are; 0 if the list is wrong or has more than
// SIM_DEVICES_MAX.
unsigned sim_presets_read(const char *list, const struct sim_preset *presets[SIM_DEVICES_MAX]);
const struct sim_preset *sim_preset_at(unsigned index); // NULL: past the last

// Creates a device. workers 0 means one for each CPU. The log may be NULL.
enum base_code sim_device_create(const struct sim_preset *preset, unsigned workers,
                                 struct log_file *log, struct sim_device **device,
                                 struct base_error *error);
// Creates a further device in the same machine as `first`: addresses are unique over both, and each
// may be permitted to access the other's memory. Its workers start with its first launch.
enum base_code sim_device_create_beside(struct sim_device *first, const struct sim_preset *preset,
                                        unsigned workers, struct sim_device **device,
                                        struct base_error *error);
void sim_device_destroy(struct sim_device *device);
bool sim_is_worker(void); // whether the calling thread is a device's worker
const struct sim_preset *sim_device_preset(const struct sim_device *device);

// Sets the size of the heap for malloc() in kernels. Call it before the first launch.
void sim_device_set_heap(struct sim_device *device, uint64_t bytes);
// Frees all memory that kernels have allocated with malloc(). No launch may be running.
void sim_device_clear_heap(struct sim_device *device);
// Sets the size of each thread's stack for calls, from the next launch on. There is a minimum.
void sim_device_set_stack(struct sim_device *device, uint64_t bytes);
// Sets how many launches of a root's kernels may be requested and not begun.
void sim_device_set_slots(struct sim_device *device, uint64_t count);
// Appends to `out` what kernels of all devices of the machine have printed since the last call. Any
// thread.
void sim_device_take_output(struct sim_device *device, struct base_buf *out);

// What kernels may ask the driver for by functions of the device runtime. Any thread that runs
// kernels calls these. owner: what sim_kernel_set_owner() has set.
struct sim_host {
    int runtime_version;
    // Return cudaError_t.
    int (*attribute)(int device, int attribute, int *value);
    int (*limit)(uint32_t device, int limit, uint64_t *value);
    int (*device_count)(void);
    const char *(*error_name)(int code);
    const char *(*error_text)(int code);
    // Returns the maximum of dynamic shared memory.
    uint32_t (*dynamic_shared)(const void *owner);
    uint32_t (*blocks_per_sm)(const void *owner, uint32_t threads, uint64_t dynamic_shared_bytes);
    // Writes cudaFuncAttributes and returns its size, at most `room`.
    size_t (*function_attributes)(const void *owner, void *out, size_t room);
    // Sets the value by which conditional nodes of a graph decide.
    void (*set_condition)(uint64_t handle, uint32_t value);
};
// Call it before the first launch. *host must outlive the device.
void sim_device_set_host(struct sim_device *device, const struct sim_host *host);

// --- Memory --------------------------------------------------------------------------------------

// Adds an object: memory that kernels may access from now on. name is for messages ("cudaMalloc");
// it must outlive the object. BASE_CONFLICT if it overlaps another object of any device. Kernels of
// all devices may access managed and pinned memory; other memory only those of the object's device,
// and of those that sim_device_admit() and sim_object_admit() name. Any thread.
enum base_code sim_object_add(struct sim_device *device, uint64_t address, uint64_t size_bytes,
                              enum gpusim_object_kind kind, const char *name,
                              struct base_error *error);
// Ends the object that starts at the address; later accesses to it are reported as use after free.
// Returns false if there is none. Any thread.
bool sim_object_remove(struct sim_device *device, uint64_t address);

// Lets kernels access memory outside every object, unless is_mapped() says that the device has no
// memory there. warn() gets a line of text at the first such access of each instruction. Call it
// before the first launch. Both functions are called by any thread that runs kernels.
void sim_device_set_lenient(struct sim_device *device,
                            bool (*is_mapped)(uint64_t address, uint64_t size_bytes),
                            void (*warn)(const char *text));

// Sets which other devices may access the memory of this device, a bit for each by its number. Does
// not concern pools and mapped memory, which have devices of their own. Any thread.
void sim_device_admit(struct sim_device *device, uint32_t devices);
// Sets which devices may access the object that starts at the address: memory of a pool, or mapped.
// Unless it is set, only the object's device may. Any thread.
void sim_object_admit(struct sim_device *device, uint64_t address, uint32_t devices);

// Returns whether kernels of the device may access the live object that contains the address. Any
// thread.
bool sim_object_admits(struct sim_device *device, uint64_t address);

// Finds the live object that contains the address. Returns false if there is none. Any thread.
bool sim_object_find(struct sim_device *device, uint64_t address, struct gpusim_object *object);

// --- Modules -------------------------------------------------------------------------------------

// One PTX text of a module. Several are linked: .visible of one resolves .extern of another.
struct sim_ptx {
    const char *text;
    size_t length;
    const char *name; // for messages
};

// Parses and links the texts, lays out variables and decodes every kernel. BASE_UNSUPPORTED if the
// machine can execute none of the kernels: the error names instruction, kernel and line.
enum base_code sim_module_load(struct sim_device *device, const struct sim_ptx *texts, size_t count,
                               struct sim_module **module, struct base_error *error);
// Loads the texts of a module that was loaded on another device of the machine. Managed variables
// are those of `twin`, which must outlive the module; all others are new.
enum base_code sim_module_load_twin(struct sim_device *device, const struct sim_module *twin,
                                    const struct sim_ptx *texts, size_t count,
                                    struct sim_module **module, struct base_error *error);
// None of its kernels may be running.
void sim_module_unload(struct sim_module *module);
// Restores the initial values of its variables. None of its kernels may be running.
void sim_module_reset(struct sim_module *module);

struct sim_param {
    uint32_t offset, size_bytes;
};

// The properties of a kernel. Valid as long as its module.
struct sim_kernel_info {
    const char *name;
    const struct sim_param *params;
    uint32_t param_count;
    uint32_t param_bytes; // size of the packed buffer
    uint32_t static_shared_bytes;
    uint32_t local_bytes; // for each thread
    uint32_t const_bytes;
    uint32_t max_threads;     // from .maxntid or .reqntid; else 1024
    uint32_t required[3];     // .reqntid; 0: any
    uint32_t cluster[3];      // .reqnctapercluster: blocks of a cluster; 0: the launch says
    uint32_t max_cluster;     // .maxclusterrank: most blocks of a cluster; 0: not limited
    bool explicit_cluster;    // .explicitcluster: a launch has to say, unless `cluster` does
    bool blocks_are_clusters; // .blocksareclusters: the grid of a launch counts clusters
    uint32_t registers;       // for reports; occupancy does not depend on it
    uint32_t ptx_version;     // 90 for 9.0
    uint32_t target;          // 90 for sm_90
    bool uses_grid_sync;
};

uint32_t sim_module_kernel_count(const struct sim_module *module);
struct sim_kernel *sim_module_kernel_at(const struct sim_module *module, uint32_t index);
struct sim_kernel *sim_module_kernel(const struct sim_module *module,
                                     const char *name); // NULL: none
const struct sim_kernel_info *sim_kernel_info(const struct sim_kernel *kernel);
// Sets what the functions of struct sim_host get for the kernel.
void sim_kernel_set_owner(struct sim_kernel *kernel, const void *owner);
// Returns why the machine cannot execute the kernel, with instruction and line; NULL if it can.
const char *sim_kernel_refusal(const struct sim_kernel *kernel);

// Finds a variable's device address and size. Returns false if there is none. managed may be NULL.
bool sim_module_global(const struct sim_module *module, const char *name, uint64_t *address,
                       uint64_t *size_bytes, bool *managed);

// --- Launches ------------------------------------------------------------------------------------

// Gets an access of a launch to global memory before it is made. Several threads call it at once.
typedef void sim_watch(void *user, uint64_t address, uint32_t bytes, bool reads, bool writes);

struct sim_launch {
    struct sim_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; // blocks of a cluster, a divisor of `grid`; zeros: not specified
    uint32_t dynamic_shared_bytes;
    const void *params; // packed as sim_kernel_info says; read before sim_launch_run returns
    bool cooperative;
    uint64_t id;           // for the log
    uint64_t call, stream; // for the log: the call that submitted it, and its stream
    sim_watch *watch;      // gets accesses of loads, stores, atomics and copies; NULL: nobody does
    void *watch_user;      // its first argument
};

// Why a launch failed. The driver translates these into CUDA's error codes.
enum sim_fault_kind {
    SIM_FAULT_NONE,
    SIM_FAULT_ADDRESS,     // outside every live object, or after free: cudaErrorIllegalAddress
    SIM_FAULT_MISALIGNED,  // cudaErrorMisalignedAddress
    SIM_FAULT_ASSERT,      // cudaErrorAssert
    SIM_FAULT_TRAP,        // trap: cudaErrorLaunchFailure
    SIM_FAULT_INSTRUCTION, // cudaErrorIllegalInstruction
    SIM_FAULT_SPACE,       // an address in the wrong space: cudaErrorInvalidAddressSpace
    SIM_FAULT_PC,          // an indirect branch outside its table: cudaErrorInvalidPc
    SIM_FAULT_CLUSTER,   // a block that has ended or is not in the cluster: cudaErrorLaunchFailure
    SIM_FAULT_STACK,     // recursion too deep: cudaErrorIllegalAddress, as on an H200
    SIM_FAULT_DEADLOCK,  // all threads wait for one another: cudaErrorLaunchTimeout
    SIM_FAULT_NO_MEMORY, // the host ran out of memory
};

struct sim_fault {
    enum sim_fault_kind kind;
    char text[1088]; // one line: kernel, source line, block, thread, address, nearest object
};

// The work of a launch, for the timing model.
struct sim_work {
    uint64_t warp_instructions, thread_instructions;
    uint64_t global_bytes; // the sum over active lanes, not of sectors
    uint64_t shared_bytes;
};

// Runs the whole grid and returns the modeled GPU time in nanoseconds. The caller has checked the
// sizes against the preset and the kernel. Any thread; concurrent launches share the workers.
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

// A texture or surface object. Its address is the 64-bit handle that kernels get. The driver frees
// it after sim_texture_remove().
struct sim_texture {
    uint32_t magic; // SIM_TEXTURE_MAGIC
    bool is_surface;
    uint8_t dimensions;            // 1, 2, 3
    bool layered, cubemap, linear; // linear: plain memory, read by integer coordinate
    uint32_t width, height, depth; // in texels; depth counts layers if layered, 6 faces if cubemap
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
    struct sim_texture *levels; // levels of a mipmap, or NULL
    uint32_t level_count;
    bool levels_linear; // interpolate between two levels
    float level_bias, level_least, level_most;
};

// Add and remove a texture or surface. While it is added, its address is a valid handle. No kernel
// that uses it may be running when it is removed. Any thread.
enum base_code sim_texture_add(struct sim_device *device, const struct sim_texture *texture);
void sim_texture_remove(struct sim_device *device, const struct sim_texture *texture);

#define SIM_TEXTURE_MAGIC 0x544C4754u

// --- Tensor maps ---------------------------------------------------------------------------------

enum { SIM_TENSOR_RANK = 5, SIM_TENSOR_PIXEL_RANK = 3 };
enum sim_tensor_mode { SIM_TENSOR_NONE, SIM_TENSOR_TILED, SIM_TENSOR_IM2COL };

// Types of elements, in the numbers of PTX (tensormap.replace).
enum sim_tensor_type {
    SIM_TENSOR_U8,
    SIM_TENSOR_U16,
    SIM_TENSOR_U32,
    SIM_TENSOR_S32,
    SIM_TENSOR_U64,
    SIM_TENSOR_S64,
    SIM_TENSOR_F16,
    SIM_TENSOR_F32,
    SIM_TENSOR_F32_FTZ,
    SIM_TENSOR_F64,
    SIM_TENSOR_BF16,
    SIM_TENSOR_TF32,
    SIM_TENSOR_TF32_FTZ,
    SIM_TENSOR_TYPES,
};

// How copies permute what they write to shared memory, by units of some bytes within a span.
enum sim_tensor_swizzle {
    SIM_SWIZZLE_NONE,
    SIM_SWIZZLE_32,
    SIM_SWIZZLE_64,
    SIM_SWIZZLE_128,            // 16-byte units
    SIM_SWIZZLE_128_BY_32,      // 32-byte units
    SIM_SWIZZLE_128_BY_32_FLIP, // and the halves of each 16 bytes change places in every other line
    SIM_SWIZZLE_128_BY_64,
};

// What a CUtensorMap holds. The address comes first, as in NVIDIA's maps. Its bytes are copied by
// programs, as arguments of kernels for example, and kernels replace members (tensormap.replace).
struct sim_tensor_map {
    uint64_t address;
    uint32_t magic;                       // SIM_TENSOR_MAGIC
    uint32_t size[SIM_TENSOR_RANK];       // in elements, innermost first; 0 means 2^32
    uint64_t stride[SIM_TENSOR_RANK - 1]; // in bytes, of all dimensions but the innermost
    uint16_t box[SIM_TENSOR_RANK];        // of tiles
    uint16_t channels, pixels; // of im2col: elements along dimension 0, and along the others
    int16_t lower[SIM_TENSOR_PIXEL_RANK], upper[SIM_TENSOR_PIXEL_RANK]; // corners, width first
    uint8_t step[SIM_TENSOR_RANK]; // between elements that are copied
    uint8_t rank;
    uint8_t mode;       // enum sim_tensor_mode
    uint8_t type;       // enum sim_tensor_type
    uint8_t interleave; // 0, or the bytes of a slice of channels
    uint8_t swizzle;    // enum sim_tensor_swizzle
    bool fills_nan;     // elements outside are a NaN instead of 0
};

#define SIM_TENSOR_MAGIC 0x544D5347u
enum { SIM_TENSOR_MAP_BYTES = 128 };
_Static_assert(sizeof(struct sim_tensor_map) <= SIM_TENSOR_MAP_BYTES, "a CUtensorMap");

// --- Threads -------------------------------------------------------------------------------------

// pthread_create() for threads of the simulator: signals sent to the program are blocked in them,
// signals for faults are not.
int sim_thread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                      void *argument);

#endif
