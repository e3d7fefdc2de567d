// SPDX-License-Identifier: Apache-2.0
// See release.h. What is released later than natively is released completely, so memory that was
// freed after the wait is, too. No program can rely on that being kept, because the driver may
// reuse or release it at any time.
#include "release.h"

#include "inject/correct/correct.h"
#include "owed.h"

void correct_release_left_out(void)
{
    if (atomic_load(&correct_state.owed.uses_pools))
        atomic_store(&correct_state.owed.keeps, true);
}

static bool uses_pool(const struct core_call *call)
{
    return call->kind == EVENT_CALL_ALLOC && call->how & HOOK_ASYNC;
}

void correct_release_after(const struct core_call *call)
{
    if (call->result != CUDA_SUCCESS)
        return;
    if (uses_pool(call) && !atomic_load(&correct_state.owed.uses_pools))
        atomic_store(&correct_state.owed.uses_pools, true);
    // correct_left_out has cleared the flag of a wait that was left out.
    if (call->kind == EVENT_CALL_SYNC && call->how & HOOK_WAITS)
        atomic_store(&correct_state.owed.keeps, false);
}

bool correct_release(void)
{
    if (!correct_state.on || !atomic_exchange(&correct_state.owed.keeps, false))
        return false;
    correct_settle();
    return REAL(cuCtxSynchronize)() == CUDA_SUCCESS;
}

static CUresult tells_pool(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    correct_release();
    return REAL(cuMemPoolGetAttribute)(pool, attribute, value);
}

void correct_release_start(void)
{
    correct_stand(HOOK_cuMemPoolGetAttribute, (void *)(uintptr_t)tells_pool);
}
