// SPDX-License-Identifier: Apache-2.0
// Findings on synchronisation in words.
#include "findings.h"
#include "units.h"

// " 1,000 times, 1.2 s in all". Times that are not real are left out.
static void put_times(const struct report_data *data, const struct analyze_finding *finding,
                      struct base_buf *out)
{
    const bool timed = !analyze_is_simulated(data->analysis);
    if (finding->times > 1) {
        base_buf_putc(out, ' ');
        report_put_count(finding->times, out);
        base_buf_puts(out, timed ? " times," : " times");
    }
    if (!timed)
        return;
    base_buf_putc(out, ' ');
    report_put_ns(out, finding->waited_ns);
    base_buf_puts(out, finding->times > 1 ? " in all" : "");
}

// "3.4 ms and 5 calls", or "5 calls".
static void put_later(const struct report_data *data, const struct analyze_finding *finding,
                      struct base_buf *out)
{
    const bool timed = !analyze_is_simulated(data->analysis);
    if (timed)
        report_put_ns(out, finding->use_ns);
    if (finding->use_calls || !timed)
        base_buf_printf(out, "%s%llu call%s", timed ? " and " : "",
                        (unsigned long long)finding->use_calls, finding->use_calls == 1 ? "" : "s");
}

// "its first use (a.cu:12)".
static void put_use(const struct report_data *data, const struct analyze_finding *finding,
                    struct base_buf *out)
{
    base_buf_puts(out, "its first use");
    if (finding->use_path)
        report_put_where(data, finding->use_path, finding->path, finding->call, out);
}

// "cudaDeviceSynchronize at a.cu:12"; `else_word` where no function is known.
static void put_called(const struct report_data *data, const struct analyze_finding *finding,
                       const char *else_word, struct base_buf *out)
{
    struct base_buf place = {0};
    const char *called = report_called_at(data, finding->path);
    report_put_place_beside(data, finding->path, 0, &place);
    report_put_text(out, called ? called : else_word);
    if (place.text)
        base_buf_printf(out, " at %s", place.text);
    else
        base_buf_printf(out, " (call %llu)", (unsigned long long)finding->call);
    out->failed |= place.failed;
    base_buf_fini(&place);
}

static void put_place(const struct report_data *data, const struct analyze_finding *finding,
                      struct base_buf *out)
{
    report_put_where(data, finding->path, 0, finding->call, out);
}

// "cudaMemcpy to the host".
static void put_copy(const struct report_data *data, const struct analyze_finding *finding,
                     struct base_buf *out)
{
    const char *called = report_called_at(data, finding->path);
    report_put_text(out, called ? called : "the copy");
    base_buf_puts(out, finding->to_host ? " to the host" : " to the device");
}

static void put_transfer(const struct report_data *data, const struct analyze_finding *finding,
                         struct base_buf *out)
{
    put_copy(data, finding, out);
    put_place(data, finding, out);
    base_buf_puts(out, " keeps the program waiting");
    put_times(data, finding, out);
    base_buf_puts(out, ", for ");
    report_put_bytes(out, finding->moved_bytes);
    if (finding->memory == PROFILE_MEMORY_PAGEABLE)
        base_buf_puts(out, finding->to_host ? " to pageable memory" : " from pageable memory");
    if (!finding->to_host) {
        base_buf_puts(out, ", and nothing needs it to be over when it returns");
    } else if (finding->use_ns) {
        base_buf_puts(out, ", at least ");
        put_later(data, finding, out);
        base_buf_puts(out, " before ");
        put_use(data, finding, out);
    } else {
        base_buf_puts(out, ", and nothing uses what it brings before the next wait");
    }
}

static void put_duplicate(const struct report_data *data, const struct analyze_finding *finding,
                          struct base_buf *out)
{
    put_copy(data, finding, out);
    report_put_where(data, finding->path, finding->other_path, finding->call, out);
    base_buf_puts(out, " brings the bytes that are there already, unchanged since a copy");
    report_put_where(data, finding->other_path, finding->path, finding->other_call, out);
    base_buf_puts(out, " brought them: ");
    report_put_bytes(out, finding->moved_bytes);
    if (finding->times > 1) {
        base_buf_puts(out, " in ");
        report_put_count(finding->times, out);
        base_buf_puts(out, " copies");
    }
}

void report_put_sync_message(const struct report_data *data, const struct analyze_finding *finding,
                             struct base_buf *out)
{
    switch (finding->pattern) {
    case ANALYZE_UNNECESSARY_SYNC:
    case ANALYZE_MISPLACED_SYNC:
        put_called(data, finding, "the synchronization", out);
        base_buf_puts(out, " waits");
        put_times(data, finding, out);
        if (finding->pattern == ANALYZE_UNNECESSARY_SYNC) {
            base_buf_puts(out, ", and nothing that it protects is used before the next wait");
            break;
        }
        base_buf_puts(out, ", for data at least ");
        put_later(data, finding, out);
        base_buf_puts(out, " before ");
        put_use(data, finding, out);
        break;
    case ANALYZE_SYNCHRONOUS_TRANSFER: put_transfer(data, finding, out); break;
    case ANALYZE_DUPLICATE_TRANSFER: put_duplicate(data, finding, out); break;
    case ANALYZE_ALLOC_FREE_CHURN:
        base_buf_puts(out, "memory like ");
        report_put_object_size(data, finding->object, out);
        base_buf_puts(out, " is allocated");
        report_put_where(data, finding->other_path, finding->path, finding->other_call, out);
        base_buf_puts(out, " again after it was freed");
        report_put_where(data, finding->path, finding->other_path, finding->call, out);
        base_buf_putc(out, ',');
        put_times(data, finding, out);
        base_buf_puts(out, "; each free waits for the GPU");
        break;
    default: break;
    }
}

// --- What to do ----------------------------------------------------------------------------------

// " (allocated at a.cu:3, freed at a.cu:30)".
static void put_host_memory(const struct report_data *data, const struct analyze_finding *finding,
                            struct base_buf *out)
{
    struct base_buf allocated = {0}, freed = {0};
    report_put_place_beside(data, finding->allocated_path, finding->path, &allocated);
    report_put_place_beside(data, finding->freed_path, finding->path, &freed);
    if (allocated.text && freed.text)
        base_buf_printf(out, " (allocated at %s, freed at %s)", allocated.text, freed.text);
    else if (allocated.text)
        base_buf_printf(out, " (allocated at %s)", allocated.text);
    out->failed |= allocated.failed || freed.failed;
    base_buf_fini(&allocated);
    base_buf_fini(&freed);
}

static void suggest_transfer(const struct report_data *data, const struct analyze_finding *finding,
                             struct base_buf *out)
{
    if (finding->to_host && !finding->use_ns)
        base_buf_puts(out, "leave it out if nothing is to use it; else ");
    base_buf_puts(out, "make it asynchronous");
    if (finding->memory != PROFILE_MEMORY_PINNED) {
        base_buf_puts(out, ", pin the host memory that it uses");
        put_host_memory(data, finding, out);
    }
    if (!finding->to_host) {
        base_buf_puts(out, ", and leave that memory as it is until the copy is over");
    } else if (finding->use_ns) {
        base_buf_puts(out, ", and wait for it before ");
        put_use(data, finding, out);
    }
}

void report_put_sync_suggestion(const struct report_data *data,
                                const struct analyze_finding *finding, struct base_buf *out)
{
    switch (finding->pattern) {
    case ANALYZE_UNNECESSARY_SYNC:
        base_buf_puts(out, "remove ");
        put_called(data, finding, "the synchronization", out);
        break;
    case ANALYZE_MISPLACED_SYNC:
        base_buf_puts(out, "move ");
        put_called(data, finding, "the synchronization", out);
        base_buf_puts(out, " to just before ");
        put_use(data, finding, out);
        base_buf_puts(out, "; where more work is given to the GPU in between, wait there for an "
                           "event that is recorded here");
        break;
    case ANALYZE_SYNCHRONOUS_TRANSFER: suggest_transfer(data, finding, out); break;
    case ANALYZE_DUPLICATE_TRANSFER:
        base_buf_puts(out, "leave the copy out where nothing has changed");
        break;
    case ANALYZE_ALLOC_FREE_CHURN:
        base_buf_puts(out, "allocate it once and use it again, or take it from a pool, by "
                           "cudaMallocAsync and cudaFreeAsync");
        break;
    default: break;
    }
    if (finding->others_need)
        base_buf_puts(out, "; where it stays, it waits for what the other remedies leave out");
    else if (finding->host_ns == 0 && !analyze_is_simulated(data->analysis))
        base_buf_puts(out, "; alone it gains nothing, because what comes next, or the end of the "
                           "program, then waits as long");
}

void report_put_run_worth(const struct report_data *data, const struct analyze_finding *finding,
                          struct base_buf *out)
{
    const struct analyze_run_time *time = analyze_run_time(data->analysis);
    if (finding->waits) {
        report_put_count(finding->waits, out);
        base_buf_puts(out, finding->waits == 1 ? " wait fewer (" : " waits fewer (");
        report_put_share(out, finding->waits, time->waits);
        base_buf_putc(out, ')');
        return;
    }
    if (finding->host_is_bound)
        base_buf_puts(out, "at most ");
    report_put_ns(out, finding->host_ns);
    base_buf_puts(out, " off the run time (");
    report_put_share(out, finding->host_ns, time->recorded_ns);
    base_buf_putc(out, ')');
}
