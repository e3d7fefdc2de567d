// SPDX-License-Identifier: Apache-2.0
// The page's timeline has one clock, the host's. The simulated GPU has another one, by which work
// may start before its call. Therefore its work is drawn from its call on, or after the work before
// it on its stream, for as long as the model says.
#include "html_calls.h"

bool page_to_host_clock(struct base_map *ends, uint32_t stream, int64_t called_ns,
                        int64_t *start_ns, int64_t *end_ns)
{
    const int64_t took_ns = *end_ns > *start_ns ? *end_ns - *start_ns : 0;
    uint64_t *end = base_map_put(ends, stream + (uint64_t)1, NULL);
    if (!end)
        return false;
    *start_ns = called_ns > 0 && *end < (uint64_t)called_ns ? called_ns : (int64_t)*end;
    *end_ns = *start_ns + took_ns;
    *end = (uint64_t)*end_ns;
    return true;
}
