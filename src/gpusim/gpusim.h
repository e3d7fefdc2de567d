// SPDX-License-Identifier: Apache-2.0
// The public face of the simulated GPU. What it does for programs it does through libraries that
// stand in for NVIDIA's (libcuda.so.1, libcudart.so.*, libglint-redirect.so). What is declared here
// is for the command line, which starts programs on it, and for the tests of other parts, which
// compare what they measured with its log.
#ifndef GLINT_GPUSIM_GPUSIM_H
#define GLINT_GPUSIM_GPUSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

// The names of the GPUs that can be simulated, the default first; NULL past the last.
const char *gpusim_preset_name(unsigned index);

// How an executable file is tied to CUDA.
struct gpusim_program {
    bool is_elf;     // else a script, or whatever the system makes of it; nothing more is known
    bool is_native;  // made for the processor that this glint is made for
    bool is_dynamic; // started by the loader, which heeds LD_PRELOAD and LD_LIBRARY_PATH
    bool has_device_code; // fatbins
    bool has_runtime;     // the static CUDA runtime, with its symbols
    bool is_stripped;     // the static CUDA runtime, without
    bool has_rpath;       // folders that the loader searches before LD_LIBRARY_PATH
    unsigned runtime;     // which shared CUDA runtime it names: 11, 12, 13; 0: none
    bool needs_driver;    // names libcuda.so.1
    bool needs_asan;      // names the library of the address sanitizer, which wants to be first
    const char *vendor_library; // the first it names that needs NVIDIA's own driver; NULL: none
};

// Reads the file's headers and symbols. BASE_IO, BASE_NO_MEMORY.
enum base_code gpusim_program_read(const char *path, struct gpusim_program *program,
                                   struct base_error *error);

// --- The log: what a program did, exactly (docs/reference/sim-log.md) ----------------------------

enum gpusim_log_type {
    GPUSIM_LOG_CALL = 1,   // an API function was entered
    GPUSIM_LOG_RETURN,     // and left
    GPUSIM_LOG_OBJECT,     // memory that kernels may touch was made
    GPUSIM_LOG_OBJECT_END, // and ended
    GPUSIM_LOG_LAUNCH,     // a kernel began to run
    GPUSIM_LOG_LAUNCH_END, // and ended; its accesses all come before this
    GPUSIM_LOG_ACCESS,
};

struct gpusim_log_call {
    uint64_t number; // from 1, in order of entry
    uint64_t inside; // the call that made it, as the runtime's functions do the driver's; 0: the
                     // program itself
    uint64_t thread; // from 1, in order of first calls
    const char *name;
    const char *arguments; // "bytesize=1024 flags=1"
};

struct gpusim_log_return {
    uint64_t number;
    int64_t result;      // CUresult or cudaError_t; 0 where the function returns none
    const char *outputs; // what it gave back: "dptr=0x7f0000000200"
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
    uint64_t address, size_bytes;
    enum gpusim_object_kind kind;
    const char *name; // of a variable its name, else who made it: "cudaMalloc"
};

struct gpusim_log_launch {
    uint64_t number; // from 1, in the order in which launches began
    uint64_t call;   // that submitted it
    uint64_t stream; // its handle; 0 the default stream, 2 a thread's default stream
    const char *kernel;
    uint32_t grid[3], block[3];
    uint32_t static_shared_bytes, dynamic_shared_bytes;
    bool cooperative;
    const void *params; // as the kernel sees them; not aligned
    size_t params_bytes;
};

struct gpusim_log_launch_end {
    uint64_t number;
    unsigned fault;   // 0: it ran to its end
    const char *text; // of the fault
};

// An instruction that touches memory.
struct gpusim_log_site {
    uint32_t number;
    const char *function; // where it stands: the kernel, or one that it calls
    const char *text;     // opcode and modifiers: "ld.global.v4.f32"
    uint32_t index;       // among the function's instructions, from 0
    uint32_t ptx_line;
    const char *file; // of the source, by .loc; "" where the PTX has none
    uint32_t line;
};

enum gpusim_log_access_kind {
    GPUSIM_LOG_LOAD = 1,
    GPUSIM_LOG_STORE,
    GPUSIM_LOG_ATOMIC,    // reads and writes
    GPUSIM_LOG_REDUCTION, // the same, and gives nothing back
};

// The space that the bytes really are in, also where the address is generic.
enum gpusim_log_space {
    GPUSIM_LOG_GLOBAL = 1,
    GPUSIM_LOG_CONST,
    GPUSIM_LOG_SHARED,  // addresses count from the block's first byte
    GPUSIM_LOG_LOCAL,   // from the thread's
    GPUSIM_LOG_PARAM,   // from the function's first parameter; only accesses by generic address
    GPUSIM_LOG_TEXTURE, // addresses are of the texels' bytes
    GPUSIM_LOG_SURFACE,
};

// What lanes of one warp did at once, in one space and one object.
struct gpusim_log_access {
    const struct gpusim_log_launch *launch;
    const struct gpusim_log_site *site;
    const struct gpusim_object *object; // NULL: shared, local, param; or ended meanwhile
    uint64_t block;                     // x + grid x * (y + grid y * z)
    uint32_t warp;                      // in its block
    uint32_t mask;                      // of lanes
    uint32_t bytes;                     // that each lane touches
    enum gpusim_log_access_kind kind;
    enum gpusim_log_space space;
    bool generic;   // the instruction names no space
    bool continued; // of the same execution of the instruction as the record before it
    uint64_t address[32];
    // Of the lane that is the nth in mask, at n * value_stride: what was loaded or stored; of
    // atomic operations what was there before and what after.
    const unsigned char *values, *after;
    size_t value_stride; // bytes, or 0 where all lanes have the same
};

struct gpusim_log_record {
    enum gpusim_log_type type;
    union {
        struct gpusim_log_call call;
        struct gpusim_log_return returned;
        const struct gpusim_object *object; // made or ended
        const struct gpusim_log_launch *launch;
        struct gpusim_log_launch_end launch_end;
        struct gpusim_log_access access;
    };
};

// How a log ends; known once gpusim_log_next has returned BASE_NOT_FOUND.
enum gpusim_log_state {
    GPUSIM_LOG_READING,
    GPUSIM_LOG_COMPLETE,
    GPUSIM_LOG_UNFINISHED, // the program was ended, or is still running: what it did last may lack
    GPUSIM_LOG_CUT,        // the same, in the middle of a record
};

struct gpusim_log;

// BASE_IO, BASE_NO_MEMORY; BASE_CORRUPT where it is no log; BASE_UNSUPPORTED: of another version.
enum base_code gpusim_log_open(const char *path, struct gpusim_log **log, struct base_error *error);
// The same over bytes that outlive the log. name serves messages.
enum base_code gpusim_log_open_bytes(const void *bytes, size_t length, const char *name,
                                     struct gpusim_log **log, struct base_error *error);
void gpusim_log_close(struct gpusim_log *log);

// The next record. BASE_NOT_FOUND: there is none; BASE_CORRUPT, BASE_NO_MEMORY. Pointers to
// objects, launches, sites, texts and values live as long as the log.
enum base_code gpusim_log_next(struct gpusim_log *log, struct gpusim_log_record *record,
                               struct base_error *error);
enum gpusim_log_state gpusim_log_state(const struct gpusim_log *log);

// Words for people: "store", "global", "managed".
const char *gpusim_log_kind_name(enum gpusim_log_access_kind kind);
const char *gpusim_log_space_name(enum gpusim_log_space space);
const char *gpusim_object_kind_name(enum gpusim_object_kind kind);

// What one launch did to one object in one space.
struct gpusim_log_use {
    const struct gpusim_log_launch *launch;
    const struct gpusim_object *object; // NULL: all of shared, local or param
    enum gpusim_log_space space;
    uint64_t loads, stores, atomics;      // by lanes; reductions count as atomics
    uint64_t bytes_read, bytes_written;   // sums over those; atomics do both
    uint64_t unique_read, unique_written; // bytes of the object; 0 where object is NULL
};

struct gpusim_log_uses;

// NULL: no memory.
struct gpusim_log_uses *gpusim_log_uses_create(void);
void gpusim_log_uses_destroy(struct gpusim_log_uses *uses);
// Counts an access of a log that must live as long as the uses. BASE_NO_MEMORY.
enum base_code gpusim_log_uses_add(struct gpusim_log_uses *uses,
                                   const struct gpusim_log_access *access);
// In order of first accesses; NULL: past the last.
const struct gpusim_log_use *gpusim_log_uses_at(const struct gpusim_log_uses *uses, size_t index);
// How many accesses of lanes the byte of the use's object had, atomics in both numbers.
void gpusim_log_use_byte(const struct gpusim_log_use *use, uint64_t offset, uint32_t *reads,
                         uint32_t *writes);

#endif
