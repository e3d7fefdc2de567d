// SPDX-License-Identifier: Apache-2.0
// Explicit synchronizations that are left out. A synchronization that finds nothing pending is
// made, because it costs nothing and reports errors.
#include "sync.h"

#include "owed.h"

// Returns the row if the call is to be left out and would wait.
static const struct plan_row *wanted(const struct core_call *call)
{
    return call->pending_count ? correct_row(PLAN_DROP_SYNC) : NULL;
}

static bool leave_out(struct core_call *call, const struct plan_row *row, bool owes)
{
    correct_count(row, owes ? EVENT_CORRECTION_APPLIED : EVENT_CORRECTION_LEFT, 1);
    if (owes)
        correct_left_out(call);
    return owes;
}

static bool leave_out_stream(struct core_call *call)
{
    const struct plan_row *row = wanted(call);
    return row && leave_out(call, row, call->stream && correct_owe(call->stream));
}

static bool leave_out_context(struct core_call *call)
{
    const struct plan_row *row = wanted(call);
    return row && leave_out(call, row, correct_owe(NULL));
}

static bool leave_out_event(struct core_call *call, CUevent event)
{
    const struct plan_row *row = wanted(call);
    return row && leave_out(call, row, correct_owe_event(event, call));
}

static CUresult correct_cuCtxSynchronize(void)
{
    return leave_out_context(correct_call()) ? CUDA_SUCCESS : REAL(cuCtxSynchronize)();
}

static CUresult correct_cuCtxSynchronize_v2(CUcontext context)
{
    return leave_out_context(correct_call()) ? CUDA_SUCCESS : REAL(cuCtxSynchronize_v2)(context);
}

static CUresult correct_cuStreamSynchronize(CUstream stream)
{
    return leave_out_stream(correct_call()) ? CUDA_SUCCESS : REAL(cuStreamSynchronize)(stream);
}

static CUresult correct_cuStreamSynchronize_ptsz(CUstream stream)
{
    return leave_out_stream(correct_call()) ? CUDA_SUCCESS : REAL(cuStreamSynchronize_ptsz)(stream);
}

static CUresult correct_cuEventSynchronize(CUevent event)
{
    return leave_out_event(correct_call(), event) ? CUDA_SUCCESS : REAL(cuEventSynchronize)(event);
}

#define STAND(symbol) correct_stand(HOOK_##symbol, (void *)(uintptr_t)correct_##symbol)

void correct_sync_start(void)
{
    STAND(cuCtxSynchronize);
    STAND(cuCtxSynchronize_v2);
    STAND(cuStreamSynchronize);
    STAND(cuStreamSynchronize_ptsz);
    STAND(cuEventSynchronize);
}
