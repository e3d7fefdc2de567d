// SPDX-License-Identifier: Apache-2.0
// The layers of libglint.so (core/layer.h), bottom up. A new capability is a folder and a row here.
#include "asked.h"
#include "inject/correct/correct.h"
#include "inject/guard/guard.h"
#include "inject/probe/probe.h"
#include "inject/sampled/sampled.h"
#include "inject/sources/sources.h"
#include "inject/uses/first_use.h"

const struct inject_layer *const inject_layers[] = {
    &guard_layer,   &uses_layer,    &probe_layer,       &sampled_layer,
    &sources_layer, &correct_layer, &hooks_asked_layer, NULL,
};
