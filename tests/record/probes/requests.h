// SPDX-License-Identifier: Apache-2.0
// Requests of warps in the stories of against_log.h.
#ifndef GLINT_TESTS_RECORD_PROBES_REQUESTS_H
#define GLINT_TESTS_RECORD_PROBES_REQUESTS_H

#include "../../instrument/logged_request.h"
#include "against_log.h"

// A memory instruction of a kernel, in the profile.
struct requests_site {
    uint32_t kernel, number, index;
    char *text;
    bool generic;
};
struct requests_sites {
    struct requests_site *items;
    size_t count, capacity;
};

void requests_see_site(struct requests_sites *sites, const struct profile_kernel_site *site);
void requests_sites_fini(struct requests_sites *sites);
// Returns false if the row's site is not there.
bool requests_tell(const struct requests_sites *sites, const struct profile_requests *row,
                   struct launch *launch);

// The last request of a log.
struct requests_log {
    struct logged_request request;
    struct launch *launch;
};

// Sees an access of a clone to memory that is not glint's, except for accesses of probes. Those of
// a request follow each other.
void requests_see(struct requests_log *log, struct story *story, struct launch *launch,
                  const struct gpusim_log_access *access);
// After the last access.
void requests_end(struct requests_log *log, struct story *story);

// Gives the log's instructions, which are those of clones, their numbers in the profile, and takes
// out those that are not counted.
void requests_match(const struct story *profile, struct story *log);

// Prints the requests of a launch as text, which is compared and shown.
void print_requests(struct base_buf *out, const struct launch *launch);

// Falsifies a value of the profile's story: request_row, request_count, request_taken,
// request_needed or request_lines; shared_... and local_... are the same of
// shared and local memory. Returns false if the
// story has nothing of that kind.
bool requests_spoil(const char *what, struct story *story);

#endif
