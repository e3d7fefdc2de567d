// SPDX-License-Identifier: Apache-2.0
// The public interface of the simulated GPU. Programs use it through libraries that replace
// NVIDIA's (libcuda.so.1, libcudart.so.*, libglint-redirect.so). This header is for the command
// line, which starts programs on it, and for tests of other parts, which compare their results with
// its log.
#ifndef GLINT_GPUSIM_GPUSIM_H
#define GLINT_GPUSIM_GPUSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

// Returns the name of the GPU preset with this index, NULL past the last. The first is the default.
const char *gpusim_preset_name(unsigned index);
// Returns how many devices a list of presets names, such as 5 for "h200*4,a100"; 0 if the list is
// wrong.
unsigned gpusim_device_count(const char *list);

// How an executable file uses CUDA.
struct gpusim_program {
    bool is_elf;          // false: a script, for example; no other field is set
    bool is_native;       // for the same processor architecture as this glint
    bool is_dynamic;      // uses the dynamic loader, which obeys LD_PRELOAD and LD_LIBRARY_PATH
    bool has_device_code; // contains fatbins
    bool has_runtime;     // contains the static CUDA runtime with its symbols
    bool is_stripped;     // contains the static CUDA runtime without symbols
    bool has_rpath;       // has DT_RPATH, which the loader searches before LD_LIBRARY_PATH
    unsigned runtime;     // the shared CUDA runtime it needs: 11, 12 or 13; 0: none
    bool needs_driver;    // needs libcuda.so.1
    bool needs_asan;      // needs libasan.so, which must be loaded first
    const char *vendor_library; // the first needed library that works only with NVIDIA's driver
    unsigned standins;          // a bit for each needed library that has a stand-in
};

// Returns the name of the stand-in for bit `index`, NULL past the last.
const char *gpusim_standin_name(unsigned index);

// Reads the file's headers and symbols. Returns BASE_IO or BASE_NO_MEMORY on failure.
enum base_code gpusim_program_read(const char *path, struct gpusim_program *program,
                                   struct base_error *error);

// --- The log: what a program did, exactly (docs/reference/sim-log.md) ----------------------------

enum gpusim_log_type {
    GPUSIM_LOG_CALL = 1,   // a program entered an API function
    GPUSIM_LOG_RETURN,     // an API function returned
    GPUSIM_LOG_OBJECT,     // an object was created: memory that kernels may access
    GPUSIM_LOG_OBJECT_END, // an object ended
    GPUSIM_LOG_LAUNCH,     // a kernel started to run
    GPUSIM_LOG_LAUNCH_END, // a kernel ended; all its accesses precede this
    GPUSIM_LOG_COPY,       // the driver copied memory
    GPUSIM_LOG_FILL,       // the driver set memory to a value
    GPUSIM_LOG_CONTENTS,   // an object has initial contents
    GPUSIM_LOG_ACCESS,
};

struct gpusim_log_call {
    uint64_t number; // from 1, in order of entry
    uint64_t inside; // the call that made this one, as the runtime calls the driver; 0: the program
                     // made it
    uint64_t thread; // from 1, in the order of their first calls
    const char *name;
    const char *arguments; // "bytesize=1024 flags=1"
};

struct gpusim_log_return {
    uint64_t number;
    int64_t result;      // CUresult or cudaError_t; 0 if the function returns something else
    const char *outputs; // values it stored for the caller: "dptr=0x7f0000000200"
};

enum gpusim_object_kind {
    GPUSIM_OBJECT_DEVICE,
    GPUSIM_OBJECT_MANAGED,
    GPUSIM_OBJECT_HOST,     // pinned or registered
    GPUSIM_OBJECT_POOL,     // stream-ordered
    GPUSIM_OBJECT_MAPPED,   // virtual memory API
    GPUSIM_OBJECT_VARIABLE, // of a module
    GPUSIM_OBJECT_CONSTANT, // of a module
    GPUSIM_OBJECT_ARRAY,    // behind textures and surfaces
    GPUSIM_OBJECT_HEAP,     // malloc() in a kernel
};

struct gpusim_object {
    uint64_t id;
    uint32_t device; // whose memory it is, or for whose context it was made, from 0
    uint64_t address, size_bytes;
    enum gpusim_object_kind kind;
    const char *name; // of a variable its name, else the call that created it: "cudaMalloc"
};

struct gpusim_log_launch {
    uint64_t number; // from 1, in the order in which launches began
    uint64_t call;   // the call that submitted it
    uint64_t stream; // its handle; 0: the default stream, 2: the thread's default stream
    uint32_t device; // that ran it, from 0
    const char *kernel;
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; // blocks of a cluster; zeros: the launch has none
    uint32_t static_shared_bytes, dynamic_shared_bytes;
    bool cooperative;
    const void *params; // the packed parameters; unaligned
    size_t params_bytes;
};

struct gpusim_log_launch_end {
    uint64_t number;
    unsigned fault;   // enum sim_fault_kind; 0: none
    const char *text; // message of the fault
};

// The bytes that a copy or fill reads or writes: rows in slices. Width, height and depth are those
// of the copy or fill.
struct gpusim_log_rows {
    uint64_t address;
    uint64_t pitch, slice; // bytes from one row to the next, and from one slice to the next
    const struct gpusim_object *const *objects; // that hold some of the bytes
    size_t object_count;
};

struct gpusim_log_copy {
    uint64_t call, stream;         // as of a launch
    uint64_t width, height, depth; // bytes of a row, rows of a slice, slices
    struct gpusim_log_rows to;
    struct gpusim_log_rows from; // address 0: pageable memory as it was when the call was made
    // What was written, row after row without gaps. NULL: the destination is in no object, or the
    // copy is too large for the log.
    const unsigned char *bytes;
};

struct gpusim_log_fill {
    uint64_t call, stream;
    uint64_t width, height; // bytes of a row, rows
    struct gpusim_log_rows to;
    uint64_t value;
    uint32_t value_bytes; // 1, 2, 4 or 8; width is a multiple of it
};

// What an object holds from now on. Only variables of modules have such a record.
struct gpusim_log_contents {
    const struct gpusim_object *object;
    const unsigned char *bytes; // the first bytes of the object; all that follow are 0
    size_t byte_count;
};

// An instruction that accesses memory.
struct gpusim_log_site {
    uint32_t number;
    const char *function; // the kernel or device function that contains it
    const char *text;     // opcode and modifiers: "ld.global.v4.f32"
    uint32_t index;       // among the function's instructions, from 0
    uint32_t ptx_line;
    const char *file; // source file by .loc; "" if the PTX has none
    uint32_t line;
};

enum gpusim_log_access_kind {
    GPUSIM_LOG_LOAD = 1,
    GPUSIM_LOG_STORE,
    GPUSIM_LOG_ATOMIC,    // reads and writes
    GPUSIM_LOG_REDUCTION, // reads and writes, and returns no value
};

// The space of the accessed bytes, also if the address is generic.
enum gpusim_log_space {
    GPUSIM_LOG_GLOBAL = 1,
    GPUSIM_LOG_CONST,
    GPUSIM_LOG_SHARED,  // addresses are offsets in the block's shared memory
    GPUSIM_LOG_LOCAL,   // addresses are offsets in the thread's local memory
    GPUSIM_LOG_PARAM,   // offsets from the first parameter; only accesses by generic address
    GPUSIM_LOG_TEXTURE, // addresses are those of the texels
    GPUSIM_LOG_SURFACE,
    // Shared memory of another block of the cluster. Addresses are places in the cluster's window:
    // the block's rank times 2^24, plus an offset in its shared memory.
    GPUSIM_LOG_CLUSTER,
};

// One access by lanes of a warp, in one space and one object.
struct gpusim_log_access {
    const struct gpusim_log_launch *launch;
    const struct gpusim_log_site *site;
    const struct gpusim_object *object; // NULL: in no object, such as shared; or it has ended
    uint64_t block;                     // x + grid[0] * (y + grid[1] * z); of grids that kernels
                                        // launched, more than the last one's of the launch
    uint32_t warp;                      // in its block
    uint32_t mask;                      // of active lanes
    uint32_t bytes;                     // that each lane accesses
    enum gpusim_log_access_kind kind;
    enum gpusim_log_space space;
    bool generic;   // the instruction names no space
    bool continued; // same execution of the instruction as the previous record
    uint64_t address[32];
    // The bytes that were loaded or stored; for atomic operations the bytes before (values) and
    // after. Those of the nth lane in mask start at n * value_stride.
    const unsigned char *values, *after;
    size_t value_stride; // in bytes; 0: all lanes have the same value
};

struct gpusim_log_record {
    enum gpusim_log_type type;
    union {
        struct gpusim_log_call call;
        struct gpusim_log_return returned;
        const struct gpusim_object *object; // created or ended
        const struct gpusim_log_launch *launch;
        struct gpusim_log_launch_end launch_end;
        struct gpusim_log_copy copy;
        struct gpusim_log_fill fill;
        struct gpusim_log_contents contents;
        struct gpusim_log_access access;
    };
};

// How a log ends. Known after gpusim_log_next has returned BASE_NOT_FOUND.
enum gpusim_log_state {
    GPUSIM_LOG_READING,
    GPUSIM_LOG_COMPLETE,
    GPUSIM_LOG_UNFINISHED, // the program was killed or still runs; the last records may be missing
    GPUSIM_LOG_CUT,        // the file ends in the middle of a record
};

struct gpusim_log;

// Opens a log. BASE_IO, BASE_NO_MEMORY; BASE_CORRUPT if the file is not a log; BASE_UNSUPPORTED if
// its version is unknown. The caller closes it.
enum base_code gpusim_log_open(const char *path, struct gpusim_log **log, struct base_error *error);
// The same for bytes in memory, which must outlive the log. name is for messages.
enum base_code gpusim_log_open_bytes(const void *bytes, size_t length, const char *name,
                                     struct gpusim_log **log, struct base_error *error);
void gpusim_log_close(struct gpusim_log *log);

// Reads the next record. BASE_NOT_FOUND at the end; BASE_CORRUPT, BASE_NO_MEMORY. Pointers to
// objects, launches, sites, texts and values are valid until the log is closed.
enum base_code gpusim_log_next(struct gpusim_log *log, struct gpusim_log_record *record,
                               struct base_error *error);
enum gpusim_log_state gpusim_log_state(const struct gpusim_log *log);

// Words for output: "store", "global", "managed".
const char *gpusim_log_kind_name(enum gpusim_log_access_kind kind);
const char *gpusim_log_space_name(enum gpusim_log_space space);
const char *gpusim_object_kind_name(enum gpusim_object_kind kind);

// The accesses of one launch to one object in one space.
struct gpusim_log_use {
    const struct gpusim_log_launch *launch;
    const struct gpusim_object *object; // NULL: all memory of a space without objects
    enum gpusim_log_space space;
    uint64_t loads, stores, atomics;      // accesses by lanes; reductions count as atomics
    uint64_t bytes_read, bytes_written;   // their bytes; atomics count in both
    uint64_t unique_read, unique_written; // distinct bytes of the object; 0 if object is NULL
};

struct gpusim_log_uses;

// Sums up accesses. Returns NULL when memory runs out; the caller destroys it.
struct gpusim_log_uses *gpusim_log_uses_create(void);
void gpusim_log_uses_destroy(struct gpusim_log_uses *uses);
// Adds an access. Its log must outlive the uses. BASE_NO_MEMORY.
enum base_code gpusim_log_uses_add(struct gpusim_log_uses *uses,
                                   const struct gpusim_log_access *access);
// Returns the uses in the order of their first accesses; NULL past the last.
const struct gpusim_log_use *gpusim_log_uses_at(const struct gpusim_log_uses *uses, size_t index);
// Stores how many accesses by lanes the object's byte had. Atomics count in both numbers.
void gpusim_log_use_byte(const struct gpusim_log_use *use, uint64_t offset, uint32_t *reads,
                         uint32_t *writes);

#endif
