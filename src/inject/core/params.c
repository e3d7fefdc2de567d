// SPDX-License-Identifier: Apache-2.0
// Sizes of parameters are asked of the driver at the first launch and kept with the kernel: asking
// takes about a microsecond for each parameter.
#include "params.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "kernels.h"

enum { MOST_PARAMS = 4096 };

// Returns the number of the function's parameters, and stores the sizes of the first `room` of
// them; UINT32_MAX: unknown. The driver reports the end of the list by an error; an older driver
// knows no parameters.
static uint32_t ask(CUfunction function, uint32_t *sizes, uint32_t room)
{
    for (uint32_t i = 0; i < MOST_PARAMS; i++) {
        size_t offset, bytes;
        const CUresult result = REAL(cuFuncGetParamInfo)(function, i, &offset, &bytes);
        if (result != CUDA_SUCCESS)
            return result == CUDA_ERROR_INVALID_VALUE ? i : UINT32_MAX;
        if (i < room)
            sizes[i] = (uint32_t)bytes;
    }
    return UINT32_MAX;
}

static struct core_params *find(const void *handle)
{
    const CUfunction function = core_kernel_function(handle);
    const uint32_t count = ask(function, NULL, 0);
    if (count == UINT32_MAX)
        return NULL;
    struct core_params *params = malloc(sizeof(*params) + count * sizeof(params->bytes[0]));
    if (!params) {
        core_no_memory();
        return NULL;
    }
    params->count = count;
    ask(function, params->bytes, count);
    return params;
}

const struct core_params *core_params_of(const void *handle)
{
    const struct core_params *known = core_kernel_params(handle, NULL);
    return known ? known : core_kernel_params(handle, find(handle));
}

bool core_params_unpack(void **extra, const unsigned char **values, size_t *bytes)
{
    *values = NULL;
    *bytes = 0;
    for (int i = 0; extra && i < 4 && extra[0] != CU_LAUNCH_PARAM_END; i++, extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *values = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            memcpy(bytes, extra[1], sizeof(*bytes));
    }
    return *values && *bytes;
}

bool core_params_each(const void *handle, void **pointers, void **extra, core_params_visit *visit,
                      void *user)
{
    const unsigned char *values;
    size_t bytes;
    if (core_params_unpack(extra, &values, &bytes)) {
        visit(user, values, bytes);
        return true;
    }
    const struct core_params *params = core_params_of(handle);
    if (!params || (params->count && !pointers))
        return false;
    for (uint32_t i = 0; i < params->count; i++) {
        if (!pointers[i])
            return false;
        visit(user, pointers[i], params->bytes[i]);
    }
    return true;
}
