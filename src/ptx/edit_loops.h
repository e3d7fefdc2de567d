// SPDX-License-Identifier: Apache-2.0
// Edits that insert text where a loop is entered or left.
#ifndef GLINT_PTX_EDIT_LOOPS_H
#define GLINT_PTX_EDIT_LOOPS_H

#include "cfg.h"

// Inserts text that runs once each time the loop is entered, before its header: at the end of the
// preheader or, if there is none, in a new block to which the entering branches are redirected.
// Invalidates the graph.
enum base_code ptx_insert_preheader(struct ptx_cfg *cfg, uint32_t loop, const char *text,
                                    const struct ptx_operand *arguments, unsigned argument_count,
                                    struct base_error *error);

// Inserts text on every edge that leaves the loop, so that it runs once each time a thread leaves.
enum base_code ptx_insert_exits(struct ptx_cfg *cfg, uint32_t loop, const char *text,
                                const struct ptx_operand *arguments, unsigned argument_count,
                                struct base_error *error);

#endif
