// SPDX-License-Identifier: Apache-2.0
// Runs the analyses of a function in the order in which they need each other.
#include "facts.h"

#include <stdlib.h>

enum base_code ptx_facts_create(struct ptx_function *function, size_t limit_bytes,
                                struct ptx_facts **facts, struct base_error *error)
{
    *facts = NULL;
    BASE_RETURN_IF(!function->has_body, error, BASE_INVALID, "function %s has no body",
                   function->name);
    struct ptx_facts *made = calloc(1, sizeof(*made));
    if (!made)
        return base_no_memory_while(error, "analysing %s", function->name);
    jmp_buf escape;
    base_arena_init(&made->arena, limit_bytes);
    made->arena.escape = &escape;
    made->function = function;
    if (setjmp(escape)) {
        ptx_facts_destroy(made);
        return base_no_memory_while(error, "analysing %s", function->name);
    }
    made->cfg = ptx_cfg_build(function, &made->arena);
    made->ssa = ptx_ssa_build(made->cfg, &made->arena);
    made->uniformity = ptx_uniformity_build(made->ssa, &made->arena);
    made->affine = ptx_affine_build(made->ssa, &made->arena);
    made->provenance = ptx_provenance_build(made->ssa, &made->arena);
    made->usage = ptx_usage_build(made->ssa, &made->arena);
    made->arena.escape = NULL;
    *facts = made;
    return BASE_OK;
}

void ptx_facts_destroy(struct ptx_facts *facts)
{
    if (!facts)
        return;
    base_arena_fini(&facts->arena);
    free(facts);
}
