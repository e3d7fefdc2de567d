// SPDX-License-Identifier: Apache-2.0
// What requests of warps took at each memory instruction, in all launches together. Inner header of
// src/report.
#ifndef GLINT_REPORT_REQUESTS_H
#define GLINT_REPORT_REQUESTS_H

#include "base/base.h"
#include "profile/profile.h"

struct report_site_requests {
    uint64_t requests;      // instructions of warps
    uint64_t taken, needed; // sectors; of shared memory, wavefronts
    bool shared;
};

// Initialize with {0}; the caller calls report_requests_fini.
struct report_requests {
    BASE_ARRAY(struct report_site_requests) rows;
    struct base_map index; // kernel and site to index + 1
};

// Reads the requests of all launches. The caller calls report_requests_fini, also after a failure.
enum base_code report_load_requests(struct profile *profile, struct report_requests *requests,
                                    struct base_error *error);
void report_requests_fini(struct report_requests *requests);

// Returns the requests of an instruction; NULL if it made none, or none were recorded.
const struct report_site_requests *report_requests_at(const struct report_requests *requests,
                                                      const struct profile_kernel_site *site);

#endif
