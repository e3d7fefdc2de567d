// SPDX-License-Identifier: Apache-2.0
// A layer that does nothing, to be copied. To add a capability to libglint.so:
//
//   1. Copy this folder to src/inject/NAME and replace "template" by NAME everywhere.
//   2. Add the line "inject/NAME: ..." to src/parts.txt, with the rooms below that it uses. Add
//      NAME to the line of inject/hooks, too.
//   3. Add &NAME_layer to hooks/layers.c, behind the layers that it stands on.
//   4. Delete the callbacks that it does not need: a callback that is not set does nothing.
//   5. Copy tests/inject/test_template.c, and test what the layer does.
//
// The template itself is compiled and tested, but has no row, so libglint.so never calls it.
#ifndef GLINT_INJECT_TEMPLATE_TEMPLATE_H
#define GLINT_INJECT_TEMPLATE_TEMPLATE_H

#include "inject/core/layer.h"

extern const struct inject_layer template_layer;

#endif
