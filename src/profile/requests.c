// SPDX-License-Identifier: Apache-2.0
// Requests of warps: how many sectors, lines or wavefronts they took at each site of a launch.
// Table, view, writer and reader. Profiles older than version 1.11 have none.
#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_requests_schema[] =
    "CREATE TABLE requests(call, node, kernel, site, object, shared, requests, taken, needed, lines,"
    " stride, has_stride, local, PRIMARY KEY(call, node, site)) WITHOUT ROWID;"

    "CREATE VIEW v_requests AS SELECT r.call, NULLIF(r.node, 0) AS node, r.kernel, r.site,"
    " NULLIF(r.object, 0) AS object,"
    " CASE WHEN r.shared THEN 'shared' WHEN r.local THEN 'local' ELSE 'global' END AS space, r.requests,"
    " CASE WHEN NOT r.shared THEN r.taken END AS sectors, CASE WHEN NOT r.shared THEN r.lines END AS lines,"
    " CASE WHEN r.shared THEN r.taken END AS wavefronts, r.needed,"
    " CASE WHEN r.has_stride THEN r.stride END AS stride FROM requests r;";
// clang-format on

enum base_code profile_add_requests(struct profile_writer *writer,
                                    const struct profile_requests *requests,
                                    struct base_error *error)
{
    return profile_put_first(
        writer, PROFILE_TABLE_REQUESTS,
        (int64_t[]){(int64_t)requests->call, requests->node, requests->kernel, requests->site,
                    (int64_t)requests->object, requests->shared, (int64_t)requests->requests,
                    (int64_t)requests->taken, (int64_t)requests->needed, (int64_t)requests->lines,
                    requests->stride, requests->has_stride, requests->local},
        error);
}

PROFILE_DEFINE_EACH(requests, requests, REQUESTS,
                    "SELECT call, node, kernel, site, object, shared, requests, taken, needed,"
                    " lines, stride, has_stride, local FROM requests ORDER BY call, node, site",
                    .call = KEY(0), .node = NUMBER32(1), .kernel = U32(2), .site = U32(3),
                    .object = U64(4), .shared = BOOL(5), .requests = U64(6), .taken = U64(7),
                    .needed = U64(8), .lines = U64(9), .stride = I64(10), .has_stride = BOOL(11),
                    .local = BOOL(12))
