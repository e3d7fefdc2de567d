// SPDX-License-Identifier: Apache-2.0
// Defines hooks that exist for probes only.
#ifndef GLINT_INJECT_HOOKS_PROBED_H
#define GLINT_INJECT_HOOKS_PROBED_H

#include "inject/core/call.h"
#include "inject/probe/probe.h"

// Defines a hook that makes no record: if `sense` holds for the arguments, `answer` takes the place
// of the driver's function.
#define PROBED(symbol, params, args, sense, answer)                           \
    CUresult symbol params                                                    \
    {                                                                         \
        struct core_call call;                                                \
        if (!core_is_on() || !probe_state ||                                  \
            !core_call_begin(&call, HOOK_##symbol, NO_STREAM, UNWIND_CALLER)) \
            return REAL(symbol) args;                                         \
        core_call_start(&call);                                               \
        const CUresult result = (sense) ? (answer) : REAL(symbol) args;       \
        core_call_stop(&call, result);                                        \
        return core_call_end(&call);                                          \
    }

#endif
