// SPDX-License-Identifier: Apache-2.0
// The table of functions that glint hooks or calls, from hooks.def.
#include "hook.h"

#include "event/event.h"

#define HOOK(name, version, symbol, kind, how) \
    {#name, #symbol, version, false, EVENT_CALL_##kind, HOW(how)},
#define HOOK_BOTH(name, version, symbol, suffix, kind, how)        \
    {#name, #symbol, version, false, EVENT_CALL_##kind, HOW(how)}, \
        {#name, #symbol #suffix, version, true, EVENT_CALL_##kind, HOW(how)},
#define USED(symbol)         {#symbol, #symbol, 0, false, EVENT_CALL_OTHER, HOOK_HIDDEN},
#define REPORTED(name, kind) {#name, #name, 0, false, EVENT_CALL_##kind, HOOK_HIDDEN},
#define HOW(how)             (how)
#define ASYNC                HOOK_ASYNC
#define WAITS                HOOK_WAITS
#define TIMED                HOOK_TIMED
#define HIDDEN               HOOK_HIDDEN
#define UNSURE               HOOK_UNSURE
const struct core_hook_row core_hook_rows[HOOK_ROWS] = {
#include "hooks.def"
};
