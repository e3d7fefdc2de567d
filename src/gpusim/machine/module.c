// SPDX-License-Identifier: Apache-2.0
// Loads modules: parses and links PTX texts, lays out their variables in memory with initial
// values, and decodes every function.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "decode.h"
#include "gpusim/log/write.h"
#include "machine.h"
#include "module.h"

// --- Look-ups ------------------------------------------------------------------------------------

struct sim_code *sim_module_code(const struct sim_module *module, const char *name)
{
    struct base_str key = base_str(name);
    const uint64_t *found = base_map_get_str(&module->code_names, key);
    return found ? module->codes[*found] : NULL;
}

const struct sim_variable *sim_module_variable(const struct sim_module *module, const char *name)
{
    const uint64_t *found = base_map_get_str(&module->variable_names, base_str(name));
    const struct sim_variable *variable = found ? &module->variables[*found] : NULL;
    return variable && !(variable->var->linkage & PTX_LINK_EXTERN) ? variable : NULL;
}

uint32_t sim_module_kernel_count(const struct sim_module *module)
{
    return module->kernel_count;
}

struct sim_kernel *sim_module_kernel_at(const struct sim_module *module, uint32_t index)
{
    return index < module->kernel_count ? &module->kernels[index] : NULL;
}

struct sim_kernel *sim_module_kernel(const struct sim_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        if (strcmp(module->kernels[i].info.name, name) == 0)
            return &module->kernels[i];
    }
    return NULL;
}

const struct sim_kernel_info *sim_kernel_info(const struct sim_kernel *kernel)
{
    return &kernel->info;
}

void sim_kernel_set_owner(struct sim_kernel *kernel, const void *owner)
{
    kernel->owner = owner;
}

const char *sim_kernel_refusal(const struct sim_kernel *kernel)
{
    return kernel->code->refused;
}

bool sim_module_global(const struct sim_module *module, const char *name, uint64_t *address,
                       uint64_t *size_bytes, bool *managed)
{
    const struct sim_variable *variable = sim_module_variable(module, name);
    if (!variable)
        return false;
    *address = variable->address;
    *size_bytes = variable->size_bytes;
    if (managed)
        *managed = variable->managed;
    return true;
}

// --- Variables -----------------------------------------------------------------------------------

static bool is_placed(const struct ptx_var *var)
{
    return var->space == PTX_SPACE_GLOBAL || var->space == PTX_SPACE_CONST;
}

// Gathers global and constant variables of all texts. A definition replaces declarations of the
// same name.
static void gather_variable(struct sim_module *module, const struct ptx_var *var)
{
    bool added;
    uint64_t *place = base_map_put_str(&module->variable_names, base_str(var->name), &added);
    if (!place)
        longjmp(*module->arena.escape, 1);
    if (added) {
        size_t capacity = module->variable_count;
        (void)capacity;
        *place = module->variable_count;
        base_array_grow((base_array_items *)&module->variables, &module->variable_count,
                        &module->variable_capacity, sizeof(*module->variables), &module->arena);
        module->variables[*place] = (struct sim_variable){.name = var->name, .var = var};
    } else if (module->variables[*place].var->linkage & PTX_LINK_EXTERN ||
               (var->init && !module->variables[*place].var->init)) {
        module->variables[*place].var = var;
    }
}

static void gather_variables(struct sim_module *module)
{
    for (size_t t = 0; t < module->text_count; t++) {
        for (struct ptx_item *item = module->texts[t]->first; item; item = item->next) {
            if (item->kind == PTX_ITEM_VAR && is_placed(item->var))
                gather_variable(module, item->var);
            if (item->kind != PTX_ITEM_FUNCTION)
                continue;
            for (struct ptx_stmt *stmt = item->function->first; stmt; stmt = stmt->next) {
                if (stmt->kind == PTX_STMT_VAR && is_placed(((struct ptx_var_stmt *)stmt)->var))
                    gather_variable(module, ((struct ptx_var_stmt *)stmt)->var);
            }
        }
    }
}

// All variables lie in one mapping. Bytes between them belong to no object.
static enum base_code place_variables(struct sim_module *module, struct base_error *error)
{
    uint64_t used = 0;
    for (size_t i = 0; i < module->variable_count; i++) {
        struct sim_variable *variable = &module->variables[i];
        const struct ptx_var *var = variable->var;
        if (var->linkage & PTX_LINK_EXTERN)
            continue; // undefined; functions that refer to it are refused
        uint64_t align = var->align > 256 ? var->align : 256;
        used = (used + align - 1) / align * align;
        variable->address = used;
        variable->size_bytes = var->size_bytes;
        variable->managed = var->managed;
        const struct sim_variable *shared =
            var->managed && module->twin ? sim_module_variable(module->twin, variable->name) : NULL;
        if (shared) {
            variable->address = shared->address;
            variable->shared = true;
            continue;
        }
        used += var->size_bytes ? var->size_bytes : 1;
        if (var->space == PTX_SPACE_CONST)
            module->const_bytes += var->size_bytes;
    }
    if (!used)
        return BASE_OK;
    module->data_bytes = used;
    module->data = mmap(NULL, used, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (module->data == MAP_FAILED) {
        module->data = NULL;
        return base_no_memory_while(error, "for a module's variables");
    }
    for (size_t i = 0; i < module->variable_count; i++) {
        struct sim_variable *variable = &module->variables[i];
        if (variable->shared)
            continue;
        variable->address += (uint64_t)(uintptr_t)module->data;
        if (!variable->size_bytes)
            continue;
        enum gpusim_object_kind kind = variable->managed ? GPUSIM_OBJECT_MANAGED
                                       : variable->var->space == PTX_SPACE_CONST
                                           ? GPUSIM_OBJECT_CONSTANT
                                           : GPUSIM_OBJECT_VARIABLE;
        enum base_code code = sim_object_add(module->device, variable->address,
                                             variable->size_bytes, kind, variable->name, error);
        if (code != BASE_OK)
            return code;
        variable->owned = true;
    }
    return BASE_OK;
}

// Writes one value of an initializer.
static enum base_code put_value(const struct sim_module *module, const struct ptx_var *var,
                                const struct ptx_init *init, unsigned char *at, unsigned bytes,
                                struct base_error *error)
{
    uint64_t bits = init->bits;
    if (init->kind == PTX_INIT_VAR || init->kind == PTX_INIT_FUNCTION) {
        const char *name = init->kind == PTX_INIT_VAR ? init->var->name : init->function->name;
        const struct sim_variable *variable = sim_module_variable(module, name);
        const struct sim_code *code = sim_module_code(module, name);
        BASE_RETURN_IF(!variable && !code, error, BASE_NOT_FOUND,
                       "the initial value of %s names %s, which no module defines", var->name,
                       name);
        bits = (variable ? variable->address : code->identity) + (uint64_t)init->offset;
        if (init->mask)
            bits = (bits & init->mask) >> __builtin_ctzll(init->mask);
    } else if (init->kind == PTX_INIT_F32 || init->kind == PTX_INIT_F64) {
        double wide;
        float narrow;
        uint32_t low = (uint32_t)bits;
        memcpy(&wide, &bits, sizeof(wide));
        memcpy(&narrow, &low, sizeof(narrow));
        if (init->kind == PTX_INIT_F64 && bytes == 4) {
            narrow = (float)wide;
            memcpy(&low, &narrow, sizeof(low));
            bits = low;
        } else if (init->kind == PTX_INIT_F32 && bytes == 8) {
            wide = narrow;
            memcpy(&bits, &wide, sizeof(bits));
        }
    } else if (init->kind == PTX_INIT_NAME) {
        return base_fail(error, BASE_NOT_FOUND,
                         "the initial value of %s names %s, which no module defines", var->name,
                         init->name);
    }
    memcpy(at, &bits, bytes < 8 ? bytes : 8);
    return BASE_OK;
}

// Writes the initial values. A closing brace skips to the end of the row that it closes, so that
// rows may be incomplete.
static enum base_code initialise(const struct sim_module *module,
                                 const struct sim_variable *variable, struct base_error *error)
{
    const struct ptx_var *var = variable->var;
    unsigned bytes = ptx_type_bytes((enum ptx_type)var->type);
    unsigned char *data = (unsigned char *)(uintptr_t)variable->address;
    if (!data || variable->shared)
        return BASE_OK; // the variable has no memory of this module
    uint64_t at = 0, starts[17] = {0};
    unsigned depth = 0;
    for (uint64_t i = 0; i < var->init_count; i++) {
        const struct ptx_init *init = &var->init[i];
        if (init->kind == PTX_INIT_OPEN) {
            if (depth < 16)
                starts[depth++] = at;
            continue;
        }
        if (init->kind == PTX_INIT_CLOSE) {
            uint64_t row = bytes * (uint64_t)var->vec;
            if (depth)
                depth--;
            for (uint32_t d = depth; d < var->dim_count; d++)
                row *= d == 0 && !var->dims[0] ? 1 : var->dims[d];
            if (depth)
                at = starts[depth] + row;
            continue;
        }
        if (init->kind == PTX_INIT_FIELD)
            return base_fail(error, BASE_UNSUPPORTED, "%s: samplers and textures by name",
                             var->name);
        BASE_RETURN_IF(at + bytes > variable->size_bytes, error, BASE_INVALID,
                       "%s has more initial values than elements", var->name);
        enum base_code code = put_value(module, var, init, data + at, bytes, error);
        if (code != BASE_OK)
            return code;
        at += bytes;
    }
    return BASE_OK;
}

// Logs what the variables hold, so that a reader of the log knows the contents of all memory.
static void log_variables(const struct sim_module *module)
{
    for (size_t i = 0; i < module->variable_count && module->device->log; i++) {
        const struct sim_variable *variable = &module->variables[i];
        struct gpusim_object object;
        if (variable->owned && sim_object_find(module->device, variable->address, &object))
            log_contents(module->device->log, object.id,
                         (const unsigned char *)(uintptr_t)variable->address, variable->size_bytes);
    }
}

// --- Loading -------------------------------------------------------------------------------------

static void add_code(struct sim_module *module, struct ptx_module *text,
                     struct ptx_function *function)
{
    struct sim_code *code = base_new(&module->arena, struct sim_code);
    code->name = function->name;
    code->function = function;
    code->module = text;
    code->identity = (uint64_t)(uintptr_t)code;
    bool added;
    uint64_t *place = base_map_put_str(&module->code_names, base_str(function->name), &added);
    if (!place)
        longjmp(*module->arena.escape, 1);
    if (!added && !(function->linkage & PTX_LINK_WEAK))
        return; // the first definition of a name wins
    if (!added)
        return;
    *place = module->code_count;
    base_array_grow((base_array_items *)&module->codes, &module->code_count, &module->code_capacity,
                    sizeof(*module->codes), &module->arena);
    module->codes[*place] = code;
}

static void describe_cluster(const struct ptx_function *function, struct sim_kernel_info *info)
{
    const struct ptx_attr *size = ptx_function_attr(function, ".reqnctapercluster");
    const struct ptx_attr *most = ptx_function_attr(function, ".maxclusterrank");
    for (uint32_t i = 0; size && i < 3; i++)
        info->cluster[i] = i < size->count ? (uint32_t)size->values[i] : 1;
    info->max_cluster = most && most->count ? (uint32_t)most->values[0] : 0;
    info->explicit_cluster = ptx_function_attr(function, ".explicitcluster") != NULL;
    info->blocks_are_clusters = ptx_function_attr(function, ".blocksareclusters") != NULL;
}

static void describe_kernel(struct sim_module *module, struct sim_kernel *kernel,
                            struct sim_code *code)
{
    const struct ptx_attr *most = ptx_function_attr(code->function, ".maxntid");
    const struct ptx_attr *exactly = ptx_function_attr(code->function, ".reqntid");
    struct sim_kernel_info *info = &kernel->info;
    kernel->module = module;
    kernel->code = code;
    kernel->shared_bytes = code->dynamic_shared;
    info->name = code->name;
    info->params = code->params;
    info->param_count = code->param_count;
    info->param_bytes = code->own_param_bytes;
    info->static_shared_bytes = code->static_shared_bytes;
    info->local_bytes = code->local_bytes;
    info->const_bytes = (uint32_t)module->const_bytes;
    info->max_threads = 1024;
    const struct ptx_attr *limit = exactly ? exactly : most;
    if (limit) {
        uint64_t threads = 1;
        for (uint32_t i = 0; i < limit->count; i++) {
            threads *= limit->values[i];
            if (exactly)
                info->required[i] = (uint32_t)limit->values[i];
        }
        for (uint32_t i = limit->count; exactly && i < 3; i++)
            info->required[i] = 1;
        info->max_threads = threads < 1024 ? (uint32_t)threads : 1024;
    }
    // The number of registers is unknown without a compiler. Use .maxnreg, or a number that leaves
    // room for all warps.
    const struct ptx_attr *registers = ptx_function_attr(code->function, ".maxnreg");
    info->registers = registers && registers->values[0] >= 1 && registers->values[0] <= 255
                          ? (uint32_t)registers->values[0]
                          : 32;
    info->ptx_version = code->module->version_major * 10 + code->module->version_minor;
    const char *arch = strstr(code->module->target, "sm_");
    info->target = arch ? (uint32_t)strtoul(arch + 3, NULL, 10) : 0;
    info->uses_grid_sync = false;
    describe_cluster(code->function, info);
}

// Refuses a kernel that may reach a function that cannot be executed.
static void refuse_callers(struct sim_module *module, struct sim_code *kernel)
{
    for (size_t i = 0; i < module->code_count && !kernel->refused; i++) {
        const char *why = module->codes[i]->refused;
        if (!kernel->reaches[i] || !why)
            continue;
        struct base_buf text = {0};
        base_buf_printf(&text, "%s (kernel %s may call it)", why, kernel->name);
        kernel->refused =
            text.failed ? why : base_alloc_text(&module->arena, text.text, text.length);
        base_buf_fini(&text);
    }
}

// Decodes every function and remembers which ones cannot be executed. Fails only if that leaves no
// kernel to run.
static enum base_code decode_all(struct sim_module *module, struct base_error *error)
{
    jmp_buf *escape = module->arena.escape;
    struct base_error first = {0};
    size_t kernels = 0, refused = 0;
    for (size_t i = 0; i < module->code_count; i++) {
        struct sim_code *code = module->codes[i];
        struct base_error why = {0};
        enum base_code result = sim_code_decode(module, code, &why);
        module->arena.escape = escape;
        if (result == BASE_UNSUPPORTED) {
            char text[1000];
            base_error_text(&why, text, sizeof(text));
            code->refused = base_alloc_text(&module->arena, text, strlen(text));
            if (first.code == BASE_OK)
                first = why;
        } else if (result != BASE_OK) {
            *error = why;
            return result;
        }
    }
    for (size_t i = 0; i < module->code_count; i++) {
        if (!module->codes[i]->function->is_entry)
            continue;
        refuse_callers(module, module->codes[i]);
        kernels++;
        refused += module->codes[i]->refused != NULL;
    }
    if (!refused || refused < kernels)
        return BASE_OK;
    *error = first;
    return first.code;
}

static enum base_code load(struct sim_module *module, const struct sim_ptx *texts, size_t count,
                           struct base_error *error)
{
    enum base_code result;
    module->texts = base_new_array(&module->arena, struct ptx_module *, count);
    for (size_t i = 0; i < count; i++) {
        result = ptx_parse(texts[i].text, texts[i].length, texts[i].name, &module->texts[i], error);
        if (result != BASE_OK)
            return result;
        module->text_count++;
    }
    for (size_t t = 0; t < module->text_count; t++) {
        for (struct ptx_item *item = module->texts[t]->first; item; item = item->next) {
            if (item->kind == PTX_ITEM_FUNCTION && item->function->has_body)
                add_code(module, module->texts[t], item->function);
        }
    }
    gather_variables(module);
    result = place_variables(module, error);
    for (size_t i = 0; i < module->variable_count && result == BASE_OK; i++)
        result = initialise(module, &module->variables[i], error);
    if (result == BASE_OK)
        log_variables(module);
    if (result == BASE_OK)
        result = sim_module_place_shared(module, error);
    if (result != BASE_OK)
        return result;
    uint32_t kernels = 0;
    for (size_t i = 0; i < module->code_count; i++)
        kernels += module->codes[i]->function->is_entry;
    result = decode_all(module, error);
    if (result != BASE_OK)
        return result;
    module->kernels = base_new_array(&module->arena, struct sim_kernel, kernels);
    for (size_t i = 0; i < module->code_count; i++) {
        if (module->codes[i]->function->is_entry)
            describe_kernel(module, &module->kernels[module->kernel_count++], module->codes[i]);
    }
    return BASE_OK;
}

// A separate function, so that setjmp() clobbers no local variables of load().
static enum base_code load_guarded(struct sim_module *module, const struct sim_ptx *texts,
                                   size_t count, struct base_error *error)
{
    jmp_buf escape;
    module->arena.escape = &escape;
    if (setjmp(escape))
        return base_no_memory_while(error, "loading a module");
    enum base_code result = load(module, texts, count, error);
    module->arena.escape = NULL;
    return result;
}

enum base_code sim_module_load_twin(struct sim_device *device, const struct sim_module *twin,
                                    const struct sim_ptx *texts, size_t count,
                                    struct sim_module **module, struct base_error *error)
{
    struct base_error own = {0};
    struct base_error *problem = error ? error : &own;
    *module = NULL;
    struct sim_module *made = calloc(1, sizeof(*made));
    if (!made)
        return base_no_memory_while(problem, "loading a module");
    made->device = device;
    made->twin = twin;
    base_arena_init(&made->arena, 0);
    enum base_code result = load_guarded(made, texts, count, problem);
    if (result != BASE_OK) {
        sim_module_unload(made);
        return result;
    }
    *module = made;
    return BASE_OK;
}

enum base_code sim_module_load(struct sim_device *device, const struct sim_ptx *texts, size_t count,
                               struct sim_module **module, struct base_error *error)
{
    return sim_module_load_twin(device, NULL, texts, count, module, error);
}

void sim_module_reset(struct sim_module *module)
{
    if (module->data)
        memset(module->data, 0, module->data_bytes);
    // Errors in initial values were reported when the module was loaded.
    for (size_t i = 0; i < module->variable_count; i++)
        initialise(module, &module->variables[i], NULL);
    log_variables(module);
}

void sim_module_unload(struct sim_module *module)
{
    if (!module)
        return;
    for (size_t i = 0; i < module->variable_count; i++) {
        if (module->variables[i].owned)
            sim_object_remove(module->device, module->variables[i].address);
    }
    if (module->data)
        munmap(module->data, module->data_bytes);
    for (size_t i = 0; i < module->text_count; i++)
        ptx_module_destroy(module->texts[i]);
    base_map_fini(&module->variable_names);
    base_map_fini(&module->code_names);
    base_arena_fini(&module->arena);
    free(module);
}
