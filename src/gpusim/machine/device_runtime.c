// SPDX-License-Identifier: Apache-2.0
// Finds the functions of the device runtime by name, runs them lane by lane, and keeps the last
// error of each thread. device_requests.c implements what requests work; queries are here. The
// driver (struct sim_host) answers those that depend on CUDA's interface.
#include "device_runtime.h"

#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "builtins.h"
#include "children.h"
#include "device_call.h"
#include "grid.h"
#include "warp.h"

uint64_t sim_call_argument(const struct sim_call *call, uint32_t index)
{
    return sim_builtin_argument(call->warp, call->op, call->lane, index);
}

int sim_call_put(const struct sim_call *call, uint64_t address, const void *value, uint32_t bytes)
{
    if (!address)
        return CALL_INVALID_VALUE;
    unsigned char *place =
        sim_access_place(call->warp, call->op, call->lane, address, bytes, ACCESS_STORE);
    if (!place)
        return CALL_FAILED;
    memcpy(place, value, bytes);
    return CALL_OK;
}

int sim_call_put_int(const struct sim_call *call, uint64_t address, int value)
{
    return sim_call_put(call, address, &value, sizeof(value));
}

int sim_call_no_memory(const struct sim_call *call)
{
    sim_run_no_memory(call->block->launch);
    return CALL_FAILED;
}

const struct sim_kernel *sim_call_kernel(const struct sim_call *call, uint64_t function)
{
    const struct sim_module *module = call->block->launch->request->kernel->module;
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        if (module->kernels[i].code->identity == function)
            return &module->kernels[i];
    }
    return NULL;
}

static uint16_t *last_error(const struct sim_call *call)
{
    if (!call->warp->errors)
        call->warp->errors = calloc(LANES, sizeof(*call->warp->errors));
    return call->warp->errors ? &call->warp->errors[call->lane] : NULL;
}

// --- Queries -------------------------------------------------------------------------------------

static const struct sim_host *host_of(const struct sim_call *call)
{
    return call->block->launch->device->host;
}

static int get_attribute(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    int value = 0;
    const int error = host_of(call)
                          ? host_of(call)->attribute((int)sim_call_argument(call, 2),
                                                     (int)sim_call_argument(call, 1), &value)
                          : CALL_INVALID_VALUE;
    return error == CALL_OK ? sim_call_put_int(call, sim_call_argument(call, 0), value) : error;
}

static int get_limit(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    uint64_t value = 0;
    const struct sim_device *device = call->block->launch->device;
    const int error = host_of(call) ? host_of(call)->limit(device->number,
                                                           (int)sim_call_argument(call, 1), &value)
                                    : CALL_INVALID_VALUE;
    return error == CALL_OK ? sim_call_put(call, sim_call_argument(call, 0), &value, sizeof(value))
                            : error;
}

// Caches and banks of shared memory have no settings that matter.
static int get_cache_config(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    return sim_call_put_int(call, sim_call_argument(call, 0), 0);
}

static int get_bank_config(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    return sim_call_put_int(call, sim_call_argument(call, 0), 1); // cudaSharedMemBankSizeFourByte
}

static int get_device(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    return sim_call_put_int(call, sim_call_argument(call, 0),
                            (int)call->block->launch->device->number);
}

static int get_device_count(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    return sim_call_put_int(call, sim_call_argument(call, 0),
                            host_of(call) ? host_of(call)->device_count() : 1);
}

static int get_version(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    return sim_call_put_int(call, sim_call_argument(call, 0),
                            host_of(call) ? host_of(call)->runtime_version : 0);
}

static int get_function_attributes(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    unsigned char attributes[256];
    const struct sim_kernel *kernel = sim_call_kernel(call, sim_call_argument(call, 1));
    if (!kernel || !kernel->owner || !host_of(call))
        return CALL_INVALID_FUNCTION;
    const size_t bytes =
        host_of(call)->function_attributes(kernel->owner, attributes, sizeof(attributes));
    return sim_call_put(call, sim_call_argument(call, 0), attributes, (uint32_t)bytes);
}

static int get_occupancy(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    const struct sim_kernel *kernel = sim_call_kernel(call, sim_call_argument(call, 1));
    const int threads = (int)sim_call_argument(call, 2);
    if (!kernel || !kernel->owner || !host_of(call))
        return CALL_INVALID_FUNCTION;
    if (threads <= 0)
        return CALL_INVALID_VALUE;
    return sim_call_put_int(call, sim_call_argument(call, 0),
                            (int)host_of(call)->blocks_per_sm(kernel->owner, (uint32_t)threads,
                                                              sim_call_argument(call, 3)));
}

// --- Errors --------------------------------------------------------------------------------------

// A text in memory that kernels may read.
struct sim_said {
    struct sim_said *next;
    uint32_t bytes;
    char text[];
};

// Returns the address of a copy of the text that kernels may read, or 0. There is one for each
// text.
static uint64_t say(struct sim_device *device, const char *text)
{
    const uint32_t bytes = (uint32_t)strlen(text) + 1;
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    struct sim_said *said = device->said;
    while (said && strcmp(said->text, text) != 0)
        said = said->next;
    if (!said && (said = malloc(sizeof(*said) + bytes))) {
        memcpy(said->text, text, bytes);
        said->bytes = bytes;
        if (sim_object_add(device, (uint64_t)(uintptr_t)said->text, bytes, GPUSIM_OBJECT_CONSTANT,
                           "text of an error", NULL) == BASE_OK) {
            said->next = device->said;
            device->said = said;
        } else {
            free(said);
            said = NULL;
        }
    }
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    return said ? (uint64_t)(uintptr_t)said->text : 0;
}

void sim_device_runtime_fini(struct sim_device *device)
{
    while (device->said) {
        struct sim_said *next = device->said->next;
        free(device->said);
        device->said = next;
    }
}

static int get_error_name(const struct sim_call *call, uint64_t *result)
{
    const char *name =
        host_of(call) ? host_of(call)->error_name((int)sim_call_argument(call, 0)) : "";
    *result = say(call->block->launch->device, name);
    return *result ? CALL_OK : sim_call_no_memory(call);
}

static int get_error_text(const struct sim_call *call, uint64_t *result)
{
    const char *text =
        host_of(call) ? host_of(call)->error_text((int)sim_call_argument(call, 0)) : "";
    *result = say(call->block->launch->device, text);
    return *result ? CALL_OK : sim_call_no_memory(call);
}

static int peek_error(const struct sim_call *call, uint64_t *result)
{
    *result = call->warp->errors ? call->warp->errors[call->lane] : 0;
    return CALL_OK;
}

static int take_error(const struct sim_call *call, uint64_t *result)
{
    peek_error(call, result);
    if (call->warp->errors)
        call->warp->errors[call->lane] = 0;
    return CALL_OK;
}

static int set_condition(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    if (host_of(call))
        host_of(call)->set_condition(sim_call_argument(call, 0),
                                     (uint32_t)sim_call_argument(call, 1));
    return CALL_OK;
}

// --- The functions -------------------------------------------------------------------------------

typedef int function(const struct sim_call *call, uint64_t *result);

enum { RETURNS_ERROR = 0, RETURNS_RESULT = 1, TAKES_SLOT = 2, HAS_PLAIN_NAME = 4 };

static const struct {
    const char *name; // without __cudaCDP2, or cuda if the name is plain
    function *run;
    unsigned flags;
} functions[] = {
    {"GetParameterBuffer", sim_request_get_parameter_buffer, RETURNS_RESULT | TAKES_SLOT},
    {"GetParameterBufferV2", sim_request_get_parameter_buffer_2, RETURNS_RESULT | TAKES_SLOT},
    {"LaunchDevice", sim_request_launch_device, 0},
    {"LaunchDeviceV2", sim_request_launch_device_2, 0},
    {"StreamCreateWithFlags", sim_request_create_stream, 0},
    {"StreamDestroy", sim_request_destroy_stream, 0},
    {"StreamWaitEvent", sim_request_wait_event, 0},
    {"EventCreateWithFlags", sim_request_create_event, 0},
    {"EventRecord", sim_request_record_event, 0},
    {"EventRecordWithFlags", sim_request_record_event, 0},
    {"EventDestroy", sim_request_destroy_event, 0},
    {"Malloc", sim_request_allocate, 0},
    {"Free", sim_request_release_memory, 0},
    {"MemcpyAsync", sim_request_copy_1d, TAKES_SLOT},
    {"Memcpy2DAsync", sim_request_copy_2d, TAKES_SLOT},
    {"Memcpy3DAsync", sim_request_copy_3d, TAKES_SLOT},
    {"MemsetAsync", sim_request_fill_1d, TAKES_SLOT},
    {"Memset2DAsync", sim_request_fill_2d, TAKES_SLOT},
    {"Memset3DAsync", sim_request_fill_3d, TAKES_SLOT},
    {"DeviceGetAttribute", get_attribute, 0},
    {"DeviceGetLimit", get_limit, 0},
    {"DeviceGetCacheConfig", get_cache_config, 0},
    {"DeviceGetSharedMemConfig", get_bank_config, 0},
    {"GetDevice", get_device, 0},
    {"GetDeviceCount", get_device_count, 0},
    {"RuntimeGetVersion", get_version, 0},
    {"FuncGetAttributes", get_function_attributes, 0},
    {"OccupancyMaxActiveBlocksPerMultiprocessor", get_occupancy, 0},
    {"OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", get_occupancy, 0},
    {"GetErrorName", get_error_name, RETURNS_RESULT},
    {"GetErrorString", get_error_text, RETURNS_RESULT},
    {"GetLastError", take_error, RETURNS_RESULT},
    {"PeekAtLastError", peek_error, RETURNS_RESULT},
    {"GraphSetConditional", set_condition, HAS_PLAIN_NAME},
};

// Names with this ending use the default stream of the thread.
static const char per_thread[] = "_ptsz";

int sim_device_runtime_find(const char *name)
{
    static const char prefix[] = "__cudaCDP2", plain[] = "cuda";
    unsigned kind = 0;
    if (strncmp(name, prefix, sizeof(prefix) - 1) == 0) {
        name += sizeof(prefix) - 1;
    } else if (strncmp(name, plain, sizeof(plain) - 1) == 0) {
        name += sizeof(plain) - 1;
        kind = HAS_PLAIN_NAME;
    } else {
        return -1;
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        const size_t length = strlen(functions[i].name);
        if ((functions[i].flags & HAS_PLAIN_NAME) != kind ||
            strncmp(name, functions[i].name, length) != 0)
            continue;
        if (!name[length] || strcmp(name + length, per_thread) == 0)
            return (int)(2 * i + (name[length] != '\0'));
    }
    return -1;
}

// Returns whether to run the call later, because a slot for each lane's launch may be free then.
static bool must_wait(struct sim_warp *warp)
{
    const uint32_t lanes = (uint32_t)__builtin_popcount(warp->mask);
    const enum sim_slot got = sim_family_reserve(warp->block, lanes);
    if (got == SLOT_TAKEN)
        sim_family_give_back(warp->block, lanes);
    return got == SLOT_WAIT;
}

enum sim_step sim_device_runtime_run(struct sim_warp *warp, const struct sim_uop *op, int number)
{
    const unsigned flags = functions[number / 2].flags;
    struct sim_call call = {.warp = warp, .op = op, .block = warp->block, .per_thread = number & 1};
    if (flags & TAKES_SLOT && must_wait(warp))
        return STEP_STOP;
    for (call.lane = 0; call.lane < LANES; call.lane++) {
        if (!(warp->mask >> call.lane & 1))
            continue;
        uint64_t result = 0;
        const int error = functions[number / 2].run(&call, &result);
        if (error == CALL_FAILED)
            return STEP_STOP;
        if (error != CALL_OK) {
            uint16_t *last = last_error(&call);
            if (last)
                *last = (uint16_t)error;
        }
        sim_builtin_result(warp, op, call.lane,
                           flags & RETURNS_RESULT ? result : (uint64_t)(unsigned)error);
    }
    return STEP_NEXT;
}

void sim_device_set_host(struct sim_device *device, const struct sim_host *host)
{
    device->host = host;
}
