// SPDX-License-Identifier: Apache-2.0
// The table of functions that glint hooks or calls (hooks.def).
#ifndef GLINT_INJECT_CORE_HOOK_H
#define GLINT_INJECT_CORE_HOOK_H

#include <stdbool.h>
#include <stdint.h>

// One enumerator per row of hooks.def: hooked functions, then functions that only glint calls, then
// calls that the program makes to glint itself.
#define HOOK(name, version, symbol, kind, how)              HOOK_##symbol,
#define HOOK_BOTH(name, version, symbol, suffix, kind, how) HOOK_##symbol, HOOK_##symbol##suffix,
#define USED(symbol)
#define REPORTED(name, kind)
enum core_hook {
#include "hooks.def"
    HOOK_COUNT,
    HOOK_LAST = HOOK_COUNT - 1,
#undef HOOK
#undef HOOK_BOTH
#undef USED
#define HOOK(name, version, symbol, kind, how)
#define HOOK_BOTH(name, version, symbol, suffix, kind, how)
#define USED(symbol) HOOK_##symbol,
#include "hooks.def"
    HOOK_AND_USED_COUNT,
    HOOK_BEFORE_TOLD = HOOK_AND_USED_COUNT - 1,
#undef USED
#undef REPORTED
#define USED(symbol)
#define REPORTED(name, kind) HOOK_##name,
#include "hooks.def"
    HOOK_ROWS,
};
#undef HOOK
#undef HOOK_BOTH
#undef USED
#undef REPORTED

enum { HOOK_ASYNC = 1, HOOK_WAITS = 2, HOOK_TIMED = 4, HOOK_HIDDEN = 8, HOOK_UNSURE = 16 };

struct core_hook_row {
    const char *name;   // as cuGetProcAddress takes it
    const char *symbol; // as the driver exports it
    int version;        // CUDA version since which the name means this symbol
    bool per_thread;    // stream 0 is the thread's own default stream
    uint8_t kind;       // enum event_call_kind
    uint8_t how;        // HOOK_*
};

extern const struct core_hook_row core_hook_rows[HOOK_ROWS];

#endif
