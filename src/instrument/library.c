// SPDX-License-Identifier: Apache-2.0
// The device functions that clones call: probes/library.ptx, probes/sweep.ptx, probes/values.ptx,
// probes/requests.ptx, probes/local.ptx, probes/reuse.ptx, and probes/heap.ptx for memory that
// kernels allocate. A text gets those that its clones need, each before the functions that call it.
#include "library.h"

#include "fill.h"
#include "heap.h"
#include "local.h"
#include "requests.h"
#include "reuse.h"

static void emit_heap(const struct instrument_work *work, struct base_buf *out)
{
    const bool elements = work->elements, counts = work->counts;
    const size_t page_bytes = !elements ? sizeof(uint64_t)
                              : counts  ? sizeof(struct instrument_heap_page)
                                        : offsetof(struct instrument_heap_page, counts);
    PUT(out, piece_function);
    PUT(out, block_function);
    PUT(out, given_function);
    PUT(out, taken_function);
    FILL(out, heap_function, NUMBER(elements, elements), NUMBER(counts, counts),
         NUMBER(page_bytes, page_bytes));
    instrument_emit_heap_calls(work, out);
}

void instrument_emit_library(const struct instrument_work *work, uint32_t helpers,
                             struct base_buf *out)
{
    if (work->allocates)
        emit_heap(work, out);
    if (helpers & HELPER_TOUCH)
        FILL(out, touch_function, NUMBER(allocates, work->allocates));
    if (helpers & HELPER_LEAVE)
        PUT(out, leave_function);
    if (helpers & HELPER_ENTER)
        PUT(out, enter_function);
    if (helpers & HELPER_ACCESS)
        FILL(out, access_function, NUMBER(allocates, work->allocates),
             NUMBER(counts, work->counts));
    if (helpers & HELPER_COUNT)
        PUT(out, count_function);
    if (helpers & HELPER_RANGE)
        PUT(out, range_function);
    if (helpers & HELPER_SWEEP)
        FILL(out, sweep_function, NUMBER(counts, work->counts));
    if (helpers & HELPER_REQUEST)
        instrument_emit_request_functions(work, out);
    if (helpers & HELPER_LOCAL)
        instrument_emit_local_function(work, out);
    if (helpers & HELPER_REUSE)
        instrument_emit_reuse_functions(work, out);
    if (helpers & HELPER_STORE) {
        PUT(out, stored_function);
        PUT(out, store_function);
    }
}
