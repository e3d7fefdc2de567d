// SPDX-License-Identifier: Apache-2.0
// Adds up the requests of warps by memory instruction.
#include "requests.h"

static uint64_t key_of(uint32_t kernel, uint32_t site)
{
    return (uint64_t)kernel << 32 | site;
}

static bool add_row(struct report_requests *requests, const struct profile_requests *row)
{
    uint64_t *slot = base_map_put(&requests->index, key_of(row->kernel, row->site), NULL);
    if (slot && *slot == 0) {
        struct report_site_requests *made = base_array_push(&requests->rows);
        *slot = made ? requests->rows.count : 0;
    }
    if (!slot || *slot == 0)
        return false;
    struct report_site_requests *sum = &requests->rows.items[*slot - 1];
    sum->requests += row->requests;
    sum->taken += row->taken;
    sum->needed += row->needed;
    sum->shared = row->shared;
    return true;
}

struct requests_reading {
    struct report_requests *requests;
    bool failed; // memory ran out
};

static bool take_row(void *user, const struct profile_requests *row)
{
    struct requests_reading *reading = user;
    reading->failed |= !add_row(reading->requests, row);
    return !reading->failed;
}

enum base_code report_load_requests(struct profile *profile, struct report_requests *requests,
                                    struct base_error *error)
{
    struct requests_reading reading = {.requests = requests};
    enum base_code code = profile_each_requests(profile, take_row, &reading, error);
    return code == BASE_OK && reading.failed ? base_no_memory(error) : code;
}

void report_requests_fini(struct report_requests *requests)
{
    base_array_fini(&requests->rows);
    base_map_fini(&requests->index);
}

const struct report_site_requests *report_requests_at(const struct report_requests *requests,
                                                      const struct profile_kernel_site *site)
{
    const uint64_t *slot = base_map_get(&requests->index, key_of(site->kernel, site->number));
    return slot && *slot ? &requests->rows.items[*slot - 1] : NULL;
}
