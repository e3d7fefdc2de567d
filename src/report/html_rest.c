// SPDX-License-Identifier: Apache-2.0
// Sums up the calls that are not in the page: for each stream, how many start in each interval of
// time, and how long the GPU works on them. The times of a simulated GPU are not real, so there the
// intervals are numbers of calls.
#include "html_calls.h"
#include "json_members.h"

static unsigned lane_of(struct page_rest *rest, uint32_t stream)
{
    for (unsigned i = 0; i < rest->lanes; i++) {
        if (rest->streams[i] == stream)
            return i;
    }
    if (rest->lanes < PAGE_LANES)
        rest->streams[rest->lanes++] = stream;
    return rest->lanes - 1;
}

void page_rest_add(struct page_rest *rest, const struct profile_call *call)
{
    int64_t start = call->has_gpu_time ? call->gpu_start_ns : call->start_ns;
    int64_t end = call->has_gpu_time ? call->gpu_end_ns : call->start_ns;
    double from = rest->by_number ? (double)call->number : (double)start;
    double part = rest->end > 0 ? from / (double)rest->end : 0;
    int at = part <= 0 ? 0 : part >= 1 ? PAGE_BUCKETS - 1 : (int)(part * PAGE_BUCKETS);
    struct page_bucket *bucket = &rest->buckets[lane_of(rest, call->stream)][at];
    rest->calls++;
    bucket->count++;
    if (!rest->by_number && end > start)
        bucket->busy_ns += (uint64_t)end - (uint64_t)start;
}

void page_rest_put(const struct page_rest *rest, struct base_json *json)
{
    base_json_begin_object(json);
    report_json_number(json, "calls", rest->calls);
    report_json_number(json, "buckets", PAGE_BUCKETS);
    report_json_time(json, "end", rest->end, true);
    base_json_key(json, "lanes");
    base_json_begin_array(json);
    for (unsigned i = 0; i < rest->lanes; i++) {
        base_json_begin_object(json);
        report_json_number(json, "stream", rest->streams[i]);
        PAGE_COLUMN(json, "count", struct page_bucket, rest->buckets[i], PAGE_BUCKETS, row->count);
        PAGE_COLUMN(json, "busy_ns", struct page_bucket, rest->buckets[i], PAGE_BUCKETS,
                    row->busy_ns);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_end_object(json);
}
