// SPDX-License-Identifier: Apache-2.0
// All analyses of one function, which share one arena.
#ifndef GLINT_PTX_FACTS_H
#define GLINT_PTX_FACTS_H

#include "affine.h"
#include "cfg.h"
#include "provenance.h"
#include "ssa.h"
#include "uniform.h"
#include "usage.h"

struct ptx_facts {
    struct base_arena arena;
    struct ptx_function *function;
    struct ptx_cfg *cfg;
    struct ptx_ssa *ssa;
    struct ptx_uniformity *uniformity;
    struct ptx_affine *affine;
    struct ptx_provenance *provenance;
    struct ptx_usage *usage;
};

// Analyses a function that has a body. The facts are valid until the function is edited, and the
// caller destroys them. Fails only if memory runs out; limit_bytes bounds it (0: no bound).
enum base_code ptx_facts_create(struct ptx_function *function, size_t limit_bytes,
                                struct ptx_facts **facts, struct base_error *error);
void ptx_facts_destroy(struct ptx_facts *facts);

#endif
