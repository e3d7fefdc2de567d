// SPDX-License-Identifier: Apache-2.0
// Modules: loads device code into the machine, and finds kernels and variables in it.
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "driver.h"
#include "module.h"
#include "stream.h"

#define MODULE_MAGIC UINT64_C(0x676c696e746d6f64)

bool driver_module_valid(const struct driver_module *module)
{
    return module && module->magic == MODULE_MAGIC;
}

void driver_module_free(struct driver_module *module)
{
    sim_module_unload(module->module);
    for (unsigned i = 0; i < module->function_count; i++)
        module->functions[i].magic = module->functions[i].kernel_magic = 0;
    module->magic = 0;
    free(module->functions);
    free(module);
}

void driver_function_reset(struct driver_function *function)
{
    uint32_t room = function->module->device->preset->shared_per_block;
    uint32_t taken = function->info->static_shared_bytes;
    function->max_dynamic_shared = taken < room ? room - taken : 0;
    function->carveout = -1;
    function->cache = CU_FUNC_CACHE_PREFER_NONE;
    function->cluster_policy = function->non_portable_cluster = 0;
    memset(function->cluster, 0, sizeof function->cluster);
}

static bool add_functions(struct driver_module *module)
{
    module->function_count = sim_module_kernel_count(module->module);
    module->functions = calloc(module->function_count + 1, sizeof *module->functions);
    if (!module->functions)
        return false;
    for (unsigned i = 0; i < module->function_count; i++) {
        struct driver_function *function = &module->functions[i];
        function->magic = DRIVER_FUNCTION_MAGIC;
        function->kernel_magic = DRIVER_KERNEL_MAGIC;
        function->module = module;
        function->kernel = sim_module_kernel_at(module->module, i);
        function->info = sim_kernel_info(function->kernel);
        driver_function_reset(function);
        sim_kernel_set_owner(function->kernel, function);
    }
    return true;
}

static CUresult check_version(const struct driver_module *module)
{
    for (unsigned i = 0; i < module->function_count; i++) {
        const uint32_t version = module->functions[i].info->ptx_version;
        if (!driver_knows_ptx(version)) {
            driver_say_once("simulated GPU: a driver of CUDA %d.%d does not know PTX %u.%u",
                            driver_version() / 1000, driver_version() % 1000 / 10, version / 10,
                            version % 10);
            return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult code_of(enum base_code code)
{
    switch (code) {
    case BASE_OK: return CUDA_SUCCESS;
    case BASE_NO_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
    case BASE_SYNTAX:
    case BASE_INVALID: return CUDA_ERROR_INVALID_PTX; // PTX from which no module can be made
    case BASE_UNSUPPORTED: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_IMAGE;
    }
}

CUresult driver_module_make(struct driver_device *device, const struct driver_module *twin,
                            struct driver_texts *texts, struct base_buf *log,
                            struct driver_module **loaded)
{
    driver_flush_output();
    struct base_error error = {0};
    struct driver_module *module = calloc(1, sizeof *module);
    enum base_code code = BASE_NO_MEMORY;
    if (module)
        code = sim_module_load_twin(device->machine, twin ? twin->module : NULL, texts->texts.items,
                                    texts->texts.count, &module->module, &error);
    driver_texts_fini(texts);
    if (code != BASE_OK) {
        char text[1000];
        base_error_text(&error, text, sizeof text);
        if (log)
            base_buf_puts(log, text);
        driver_say_once("simulated GPU: %s", text);
        free(module);
        return code_of(code);
    }
    module->magic = MODULE_MAGIC;
    module->device = device;
    const CUresult result =
        !add_functions(module) ? CUDA_ERROR_OUT_OF_MEMORY : check_version(module);
    if (result != CUDA_SUCCESS) {
        sim_module_unload(module->module);
        free(module->functions);
        free(module);
        return result;
    }
    *loaded = module;
    return CUDA_SUCCESS;
}

CUresult driver_module_load(struct driver_device *device, const void *image, const char *name,
                            struct base_buf *log, struct driver_module **module)
{
    struct driver_texts texts = {0};
    CUresult result = driver_texts_add(&texts, device->preset, image, name, log);
    if (result != CUDA_SUCCESS) {
        driver_texts_fini(&texts);
        return result;
    }
    return driver_module_make(device, NULL, &texts, log, module);
}

CUresult driver_module_load_file(struct driver_device *device, const char *path,
                                 struct base_buf *log, struct driver_module **module)
{
    struct driver_texts texts = {0};
    CUresult result = driver_texts_add_file(&texts, device->preset, path, log);
    if (result != CUDA_SUCCESS) {
        driver_texts_fini(&texts);
        return result;
    }
    return driver_module_make(device, NULL, &texts, log, module);
}

CUresult driver_function_ready(const struct driver_function *function)
{
    const char *why = sim_kernel_refusal(function->kernel);
    if (!why)
        return CUDA_SUCCESS;
    driver_say_once("simulated GPU: %s", why);
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult driver_module_function(struct driver_module *module, const char *name,
                                struct driver_function **function)
{
    for (unsigned i = 0; i < module->function_count; i++)
        if (strcmp(module->functions[i].info->name, name) == 0) {
            *function = &module->functions[i];
            return driver_function_ready(*function);
        }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult driver_module_variable(const struct driver_module *module, const char *name,
                                CUdeviceptr *dptr, size_t *bytes, bool managed_only)
{
    uint64_t address, size_bytes;
    bool managed = false;
    DRIVER_REJECT(!sim_module_global(module->module, name, &address, &size_bytes, &managed) ||
                      (managed_only && !managed),
                  CUDA_ERROR_NOT_FOUND);
    if (dptr)
        *dptr = address;
    if (bytes)
        *bytes = size_bytes;
    return CUDA_SUCCESS;
}

// --- Compiler options ----------------------------------------------------------------------------

static void give_log(void *buffer, size_t size, const struct base_buf *log)
{
    size_t length = log->length < size ? log->length : size ? size - 1 : 0;
    if (!buffer || !size)
        return;
    if (length && log->text)
        memcpy(buffer, log->text, length);
    ((char *)buffer)[length] = '\0';
}

void driver_options_answer(unsigned count, const CUjit_option *options, void **values,
                           const struct base_buf *log)
{
    static const struct base_buf nothing;
    void *info = NULL, *error = NULL;
    for (unsigned i = 0; options && values && i < count; i++) {
        if (options[i] == CU_JIT_INFO_LOG_BUFFER)
            info = values[i];
        else if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            error = values[i];
    }
    for (unsigned i = 0; options && values && i < count; i++) {
        size_t size = (size_t)(uintptr_t)values[i];
        if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) {
            give_log(info, size, &nothing);
            values[i] = NULL;
        } else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            give_log(error, size, log);
            values[i] = (void *)(uintptr_t)(log->length < size ? log->length : size);
        } else if (options[i] == CU_JIT_WALL_TIME) {
            values[i] = NULL;
        }
    }
}

// --- Modules -------------------------------------------------------------------------------------

// As on an H200, code is loaded into a context when its work has ended. The code of a function
// whose handle the program gets meanwhile is loaded when the function is launched, and the launch
// waits.
static void enter_module(struct driver_context *context, struct driver_module *module)
{
    driver_lock();
    driver_wait_context(context);
    module->context = context;
    module->next = context->modules;
    context->modules = module;
    driver_unlock();
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                            CUjit_option *options, void **optionValues)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    DRIVER_REJECT(!module || !image, CUDA_ERROR_INVALID_VALUE);
    struct base_buf log = {0};
    struct driver_module *loaded = NULL;
    CUresult result = driver_module_load(context->device, image, "the module", &log, &loaded);
    driver_options_answer(numOptions, options, optionValues, &log);
    base_buf_fini(&log);
    DRIVER_TRY(result);
    enter_module(context, loaded);
    *module = (CUmodule)loaded;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return cuModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
}

CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    DRIVER_REJECT(!module || !fname, CUDA_ERROR_INVALID_VALUE);
    struct driver_module *loaded;
    DRIVER_TRY(driver_module_load_file(context->device, fname, NULL, &loaded));
    enter_module(context, loaded);
    *module = (CUmodule)loaded;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule hmod)
{
    DRIVER_BEGIN();
    struct driver_module *module = (struct driver_module *)hmod;
    DRIVER_REJECT(!driver_module_valid(module), driver_no_handle("module"));
    DRIVER_REJECT(!module->context, CUDA_ERROR_INVALID_HANDLE); // a library
    driver_lock();
    driver_wait_device(module->device); // its kernels may be running
    struct driver_module **at = &module->context->modules;
    while (*at && *at != module)
        at = &(*at)->next;
    if (*at)
        *at = module->next;
    driver_unlock();
    driver_flush_output();
    driver_module_free(module);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    DRIVER_REJECT(!mode, CUDA_ERROR_INVALID_VALUE);
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    DRIVER_BEGIN();
    struct driver_module *module = (struct driver_module *)hmod;
    DRIVER_REJECT(!driver_module_valid(module), driver_no_handle("module"));
    DRIVER_REJECT(!hfunc || !name || !*name, CUDA_ERROR_INVALID_VALUE);
    struct driver_function *function;
    DRIVER_TRY(driver_module_function(module, name, &function));
    *hfunc = (CUfunction)function;
    driver_lock();
    function->late |= !function->known && module->context && driver_is_busy(module->context);
    function->known = true;
    driver_unlock();
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    DRIVER_BEGIN();
    struct driver_module *module = (struct driver_module *)mod;
    DRIVER_REJECT(!driver_module_valid(module), driver_no_handle("module"));
    DRIVER_REJECT(!count, CUDA_ERROR_INVALID_VALUE);
    *count = module->function_count;
    return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
    DRIVER_BEGIN();
    struct driver_module *module = (struct driver_module *)mod;
    DRIVER_REJECT(!driver_module_valid(module), driver_no_handle("module"));
    DRIVER_REJECT(!functions, CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < numFunctions && i < module->function_count; i++)
        functions[i] = (CUfunction)&module->functions[i];
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
    DRIVER_BEGIN();
    struct driver_module *module = (struct driver_module *)hmod;
    DRIVER_REJECT(!driver_module_valid(module), driver_no_handle("module"));
    DRIVER_REJECT(!name, CUDA_ERROR_INVALID_VALUE);
    return driver_module_variable(module, name, dptr, bytes, false);
}
