// SPDX-License-Identifier: Apache-2.0
// A layer that counts calls and objects, and records nothing: see template.h.
#include "template.h"

#include <stdlib.h>
#include <string.h>

#include "inject/util/settings.h"
#include "state.h"

struct template_state template_state;

// Decides whether the layer takes part: by its variable in the environment, which `glint record`
// sets for the analysis that needs the layer. A child of fork starts anew, so everything is reset.
static bool start(const struct core_driver *driver)
{
    (void)driver;
    memset(&template_state, 0, sizeof(template_state));
    const char *wanted = util_setting("GLINT_TEMPLATE");
    template_state.on = wanted && strcmp(wanted, "1") == 0;
    return template_state.on;
}

// Records are written here, once the call's own record is in the ring: core_put(EVENT_..., ...).
static void after(struct core_call *call)
{
    (void)call;
    atomic_fetch_add_explicit(&template_state.calls, 1, memory_order_relaxed);
}

static void object_ended(uint64_t object)
{
    (void)object;
    atomic_fetch_add_explicit(&template_state.ended, 1, memory_order_relaxed);
}

const struct inject_layer template_layer = {
    .name = "template",
    .start = start,
    .after = after,
    .object_ended = object_ended,
};
