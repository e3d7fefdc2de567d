// SPDX-License-Identifier: Apache-2.0
// Hooks of modules and libraries: what is loaded, and which kernel a handle refers to.
#define XXH_INLINE_ALL
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/core/kernels.h"
#include "inject/core/variables.h"
#include "inject/correct/wait/print.h"
#include "inject/probe/kernel.h"
#include "inject/probe/module.h"
#include "inject/sampled/sampled.h"

#include <xxhash.h>

// --- Images --------------------------------------------------------------------------------------

enum {
    WRAPPER_MAGIC = 0x466243b1,
    FATBIN_HEAD_BYTES = 16,
    ENTRY_PTX = 1,
    ENTRY_LEAST_BYTES = 64,
    ELF_HEAD_BYTES = 64,
    END_BYTES = 512 << 10, // of a large image, which are hashed
};
#define FATBIN_MAGIC 0xBA55ED50u

static uint64_t number_at(const unsigned char *bytes, size_t length)
{
    uint64_t number = 0;
    memcpy(&number, bytes, length);
    return number;
}

static bool fatbin_has_ptx(const unsigned char *fatbin, uint64_t bytes)
{
    for (uint64_t at = FATBIN_HEAD_BYTES; at + ENTRY_LEAST_BYTES <= bytes;) {
        uint64_t head = number_at(fatbin + at + 4, 4), payload = number_at(fatbin + at + 8, 8);
        if (number_at(fatbin + at, 2) == ENTRY_PTX)
            return true;
        if (head < ENTRY_LEAST_BYTES || payload > bytes || at + head + payload <= at)
            return false;
        at += head + payload;
    }
    return false;
}

static uint64_t elf_bytes(const unsigned char *elf)
{
    enum { SECTIONS_AT = 40, SECTION_BYTES = 58, SECTION_COUNT = 60 };
    // In files that the vendor's tools write, the section table comes last.
    return number_at(elf + SECTIONS_AT, 8) +
           number_at(elf + SECTION_BYTES, 2) * number_at(elf + SECTION_COUNT, 2);
}

// Libraries have images of hundreds of megabytes, of which the driver reads little. So only both
// ends of a large one are read.
static uint64_t hash(const unsigned char *bytes, uint64_t count)
{
    if (count <= 2 * END_BYTES)
        return XXH3_64bits(bytes, count);
    return XXH3_64bits_withSeed(bytes + count - END_BYTES, END_BYTES,
                                XXH3_64bits(bytes, END_BYTES));
}

// limit: size of the file; an image in memory describes its own size.
static struct event_module describe(const void *image, uint64_t limit)
{
    struct event_module about = {0};
    const unsigned char *bytes = image;
    if (limit >= FATBIN_HEAD_BYTES && number_at(bytes, 4) == WRAPPER_MAGIC)
        bytes = (const unsigned char *)(uintptr_t)number_at(bytes + 8, 8); // NOLINT
    if (!bytes || limit < FATBIN_HEAD_BYTES)
        return about;
    if (number_at(bytes, 4) == FATBIN_MAGIC) {
        about.bytes = number_at(bytes + 6, 2) + number_at(bytes + 8, 8);
        about.has_ptx = about.bytes <= limit && fatbin_has_ptx(bytes, about.bytes);
    } else if (memcmp(bytes, "\177ELF", 4) == 0) {
        about.bytes = limit < ELF_HEAD_BYTES ? limit : elf_bytes(bytes);
    } else { // anything else is PTX text
        about.bytes = strnlen((const char *)bytes, limit);
        about.has_ptx = 1;
    }
    if (about.bytes > limit)
        about.bytes = limit;
    about.hash = hash(bytes, about.bytes);
    return about;
}

static struct event_module describe_file(const char *path)
{
    struct event_module about = {0};
    struct stat stat;
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return about;
    void *bytes = MAP_FAILED;
    if (fstat(file, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size > 0)
        bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes != MAP_FAILED) {
        about = describe(bytes, (uint64_t)stat.st_size);
        munmap(bytes, (size_t)stat.st_size);
    }
    return about;
}

// --- Loading -------------------------------------------------------------------------------------

// Returns the module's number; 0: it was not loaded.
static uint32_t loaded(struct core_call *call, const void *handle, const void *image,
                       bool preserved)
{
    if (call->result != CUDA_SUCCESS)
        return 0;
    const struct event_module about = describe(image, SIZE_MAX);
    correct_loaded(image, NULL);
    const uint32_t number = core_module_new(handle, call->context, &about, NULL);
    core_variables_note(number, call->context, image, NULL, preserved);
    sampled_loaded(number, image, about.bytes, preserved, NULL);
    return number;
}

static uint32_t loaded_file(struct core_call *call, const void *handle, const char *path)
{
    if (call->result != CUDA_SUCCESS)
        return 0;
    correct_loaded(NULL, path);
    const struct event_module about = describe_file(path);
    const uint32_t number = core_module_new(handle, call->context, &about, path);
    core_variables_note(number, call->context, NULL, path, false);
    sampled_loaded(number, NULL, 0, false, path);
    return number;
}

// Returns whether the program keeps the image until it unloads the library.
static bool is_preserved(const CUlibraryOption *options, unsigned count)
{
    for (unsigned i = 0; options && i < count; i++) {
        if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
            return true;
    }
    return false;
}

// Defines the hook of a function that loads an image or a file. `instead` loads load.replacement,
// in which kernels have clones with probes, if the driver accepts it. Cancellation is disabled
// until everything is done: reading files and joining threads are cancellation points, and helper
// threads work on this thread's data.
#define LOADS(symbol, params, args, image, path, values, count, library, instead, ...) \
    CUresult symbol params                                                             \
    {                                                                                  \
        struct core_call call;                                                         \
        struct probe_load load;                                                        \
        CUresult result = CUDA_ERROR_UNKNOWN;                                          \
        int cancel;                                                                    \
        if (!core_call_begin(&call, HOOK_##symbol, NO_STREAM, UNWIND_CALLER))          \
            return REAL(symbol) args;                                                  \
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);                       \
        probe_load_begin(&load, &call, (image), (path), (library));                    \
        probe_load_options(&load, (values), (count));                                  \
        core_call_start(&call);                                                        \
        if (load.replacement) {                                                        \
            result = (instead);                                                        \
            if (result != CUDA_SUCCESS)                                                \
                probe_load_refused(&load, result);                                     \
        }                                                                              \
        if (!load.replacement)                                                         \
            CALLED_WITH(call, result, CALLED(symbol) args);                            \
        core_call_stop(&call, result);                                                 \
        const uint32_t number = __VA_ARGS__;                                           \
        probe_load_end(&load, number);                                                 \
        pthread_setcancelstate(cancel, NULL);                                          \
        return core_call_end(&call);                                                   \
    }

// The code of a library may be compiled later than it is loaded. Listing its kernels makes the
// driver compile it now.
static CUresult check_library(CUresult result, const CUlibrary *library)
{
    unsigned count = 0;
    if (result != CUDA_SUCCESS)
        return result;
    result = REAL(cuLibraryGetKernelCount)(&count, *library);
    if (result == CUDA_ERROR_NOT_SUPPORTED || (result == CUDA_SUCCESS && count))
        return CUDA_SUCCESS;
    REAL(cuLibraryUnload)(*library);
    return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_IMAGE : result;
}

LOADS(cuModuleLoad, (CUmodule * module, const char *path), (module, path), NULL, path, NULL, 0,
      false, REAL(cuModuleLoadData)(module, load.replacement),
      loaded_file(&call, result ? NULL : *module, path))
LOADS(cuModuleLoadData, (CUmodule * module, const void *image), (module, image), image, NULL, NULL,
      0, false, REAL(cuModuleLoadData)(module, load.replacement),
      loaded(&call, result ? NULL : *module, image, false))
LOADS(cuModuleLoadDataEx,
      (CUmodule * module, const void *image, unsigned count, CUjit_option *options, void **values),
      (module, image, count, options, values), image, NULL, values, count, false,
      REAL(cuModuleLoadDataEx)(module, load.replacement, count, options, values),
      loaded(&call, result ? NULL : *module, image, false))
LOADS(cuModuleLoadFatBinary, (CUmodule * module, const void *image), (module, image), image, NULL,
      NULL, 0, false, REAL(cuModuleLoadData)(module, load.replacement),
      loaded(&call, result ? NULL : *module, image, false))
LOADS(cuLibraryLoadData,
      (CUlibrary * library, const void *code, CUjit_option *jit, void **jit_values,
       unsigned jit_count, CUlibraryOption *options, void **values, unsigned count),
      (library, code, jit, jit_values, jit_count, options, values, count), code, NULL, jit_values,
      jit_count, true,
      check_library(REAL(cuLibraryLoadData)(library, load.replacement, jit, jit_values, jit_count,
                                            options, values, count),
                    library),
      loaded(&call, result ? NULL : *library, code, is_preserved(options, count)))
LOADS(cuLibraryLoadFromFile,
      (CUlibrary * library, const char *path, CUjit_option *jit, void **jit_values,
       unsigned jit_count, CUlibraryOption *options, void **values, unsigned count),
      (library, path, jit, jit_values, jit_count, options, values, count), NULL, path, jit_values,
      jit_count, true,
      check_library(REAL(cuLibraryLoadData)(library, load.replacement, jit, jit_values, jit_count,
                                            options, values, count),
                    library),
      loaded_file(&call, result ? NULL : *library, path))

// The module's kernels may still run, so the driver waits, and does little else.
#define UNLOADED(symbol, type)                                                        \
    HOOKED(                                                                           \
        symbol, (type module), (module), NO_STREAM, { call.waited_is_known = true; }, \
        {                                                                             \
            if (result == CUDA_SUCCESS)                                               \
                core_module_end(module, call.number);                                 \
        })

UNLOADED(cuModuleUnload, CUmodule)
UNLOADED(cuLibraryUnload, CUlibrary)

// --- Kernels -------------------------------------------------------------------------------------

static void prepare(const void *handle, const struct core_call *call)
{
    if (probe_state)
        probe_kernel_prepare(handle, call->current);
    sampled_prepare(handle, call->current);
}

HOOKED(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name),
       (function, module, name), NO_STREAM, {}, {
           if (result == CUDA_SUCCESS) {
               const uint32_t number = core_module_of(module);
               core_kernel_note(*function, number, name, false);
               core_variables_tell(number, *function, call.context);
               prepare(*function, &call);
           }
       })
HOOKED(cuLibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char *name),
       (kernel, library, name), NO_STREAM, {}, {
           if (result == CUDA_SUCCESS) {
               core_kernel_note(*kernel, core_module_of(library), name, true);
               prepare(*kernel, &call); // the CUDA runtime launches it without getting the function
           }
       })
HOOKED(cuKernelGetFunction, (CUfunction * function, CUkernel kernel), (function, kernel), NO_STREAM,
       {}, {
           if (result == CUDA_SUCCESS) {
               core_variables_tell(core_kernel_alias(*function, kernel), *function, call.context);
               prepare(*function, &call);
           }
       })
HOOKED(cuLibraryGetModule, (CUmodule * module, CUlibrary library), (module, library), NO_STREAM, {},
       {
           if (result == CUDA_SUCCESS)
               core_module_alias(*module, library);
       })
