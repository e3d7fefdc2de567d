// SPDX-License-Identifier: Apache-2.0
// Modules, libraries and their functions.
#ifndef GLINT_GPUSIM_DRIVER_MODULE_H
#define GLINT_GPUSIM_DRIVER_MODULE_H

#include "driver.h"

struct driver_function {
    uint64_t magic;
    uint64_t kernel_magic; // its address is the CUkernel of a library's function
    struct driver_module *module;
    struct sim_kernel *kernel;
    const struct sim_kernel_info *info;
    uint32_t max_dynamic_shared; // cuFuncSetAttribute
    int carveout;
    CUfunc_cache cache;
    int cluster_policy, cluster[3];
    bool known; // the program has its handle
    bool late;  // since work was underway, its code is loaded by the first launch
};

struct driver_module {
    uint64_t magic;
    struct driver_context *context; // NULL: a library, which belongs to no context
    struct driver_module *next;     // in the list of the context, or of libraries
    struct sim_module *module;
    struct driver_function *functions; // one for each kernel
    unsigned function_count;
};

// Load a module from memory or a file. name is for messages. If log is not NULL, the reason of a
// failure is appended to it.
CUresult driver_module_load(const void *image, const char *name, struct base_buf *log,
                            struct driver_module **module);
CUresult driver_module_load_file(const char *path, struct base_buf *log,
                                 struct driver_module **module);
// None of the module's kernels may be running. Not locked.
void driver_module_free(struct driver_module *module);
bool driver_module_valid(const struct driver_module *module);
// Resets variables and attributes of all libraries to their state at load time. None of their
// kernels may be running.
void driver_libraries_reset(void);
// Returns the function of a CUfunction or CUkernel, or NULL if the handle is invalid.
struct driver_function *driver_function_of(const void *handle);
CUresult driver_module_function(struct driver_module *module, const char *name,
                                struct driver_function **function);
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
CUresult driver_texts_add(struct driver_texts *texts, const void *image, const char *name,
                          struct base_buf *log);
CUresult driver_texts_add_file(struct driver_texts *texts, const char *path, struct base_buf *log);
void driver_texts_fini(struct driver_texts *texts);

#endif
