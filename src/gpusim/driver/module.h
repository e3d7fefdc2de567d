// SPDX-License-Identifier: Apache-2.0
// Modules, libraries and their functions.
#ifndef GLINT_GPUSIM_DRIVER_MODULE_H
#define GLINT_GPUSIM_DRIVER_MODULE_H

#include "driver.h"

struct driver_library;
struct driver_texts;

#define DRIVER_FUNCTION_MAGIC UINT64_C(0x676c696e7466756e)
#define DRIVER_KERNEL_MAGIC   UINT64_C(0x676c696e746b6572)

struct driver_function {
    uint64_t magic;
    uint64_t kernel_magic; // its address is the CUkernel of a library's function
    struct driver_module *module;
    struct sim_kernel *kernel;
    const struct sim_kernel_info *info;
    uint32_t max_dynamic_shared; // cuFuncSetAttribute
    int carveout;
    CUfunc_cache cache;
    int cluster_policy, cluster[3]; // size that the program requires; zeros: any
    int non_portable_cluster;
    sim_watch *watch; // gets the accesses of later launches; NULL: nobody does
    void *watch_user;
    bool known; // the program has its handle
    bool late;  // since work was underway, its code is loaded by the first launch
};

// A library is a module that belongs to no context. It is loaded for the device that was current,
// and for each other one when that first needs it; each has functions and variables of its own.
struct driver_module {
    uint64_t magic;
    struct driver_device *device;
    struct driver_context *context; // NULL: a library
    struct driver_library *library; // NULL: a module, or there is only one device
    struct driver_module *next;     // in the list of the context, or of libraries
    struct sim_module *module;
    struct driver_function *functions; // one for each kernel
    unsigned function_count;
};

// Load a module from memory or a file. name is for messages. If log is not NULL, the reason of a
// failure is appended to it.
CUresult driver_module_load(struct driver_device *device, const void *image, const char *name,
                            struct base_buf *log, struct driver_module **module);
CUresult driver_module_load_file(struct driver_device *device, const char *path,
                                 struct base_buf *log, struct driver_module **module);
// Makes a module of texts, which it frees. twin: the same code on another device, or NULL.
CUresult driver_module_make(struct driver_device *device, const struct driver_module *twin,
                            struct driver_texts *texts, struct base_buf *log,
                            struct driver_module **module);
// None of the module's kernels may be running. Not locked.
void driver_module_free(struct driver_module *module);
bool driver_module_valid(const struct driver_module *module);
// Resets the device's variables and attributes of all libraries to their state at load time. None
// of their kernels may be running.
void driver_libraries_reset(const struct driver_device *device);
// Returns the library of a CUkernel's function.
CUlibrary driver_library_of(const struct driver_function *function);
// Returns the function of a CUfunction, or that of a CUkernel for the device of the current
// context; NULL if the handle is invalid or the code cannot be loaded for the device. Not locked.
struct driver_function *driver_function_of(const void *handle);
// The same for a CUkernel and this device. The result for a CUfunction may be of any device.
struct driver_function *driver_function_on(const void *handle, struct driver_device *device);
CUresult driver_module_function(struct driver_module *module, const char *name,
                                struct driver_function **function);
// Finds a variable. dptr and bytes may be NULL.
CUresult driver_module_variable(const struct driver_module *module, const char *name,
                                CUdeviceptr *dptr, size_t *bytes, bool managed_only);
// Sets the function's attributes to their defaults.
void driver_function_reset(struct driver_function *function);
// Returns logs and times through the array of values, in which some pointers stand for numbers.
void driver_options_answer(unsigned count, const CUjit_option *options, void **values,
                           const struct base_buf *log);
// Returns CUDA_ERROR_NOT_SUPPORTED, and prints why on stderr, if the machine cannot execute it.
CUresult driver_function_ready(const struct driver_function *function);

// The image that cuLinkComplete returns and cuModuleLoadData accepts.
#define DRIVER_LINKED_MAGIC "glint linked PTX"
struct driver_linked {
    char magic[16];
    uint64_t count;
    uint64_t lengths[]; // the texts follow, each with a NUL
};

// The PTX texts of images, one for each translation unit (texts.c). The caller frees them.
struct driver_texts {
    BASE_ARRAY(struct sim_ptx) texts;
};
CUresult driver_texts_add(struct driver_texts *texts, const struct sim_preset *preset,
                          const void *image, const char *name, struct base_buf *log);
CUresult driver_texts_add_file(struct driver_texts *texts, const struct sim_preset *preset,
                               const char *path, struct base_buf *log);
void driver_texts_fini(struct driver_texts *texts);

#endif
