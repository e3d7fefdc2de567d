// SPDX-License-Identifier: Apache-2.0
// The state of the template: all that the room may change, in one struct. Beside each field stands
// the lock or the single writer that protects it. A lock gets its rank in util/ranks.h.
#ifndef GLINT_INJECT_TEMPLATE_STATE_H
#define GLINT_INJECT_TEMPLATE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct template_state {
    bool on;                // the layer takes part; written at the start alone
    _Atomic uint64_t calls; // hooked calls so far; any thread
    _Atomic uint64_t ended; // objects that have ended so far; any thread
};

extern struct template_state template_state;

#endif
