// SPDX-License-Identifier: Apache-2.0
// A request of a warp, one execution of an instruction, as the simulator's log tells it, and what
// it takes. The expectation of tests of requests: it is found lane by lane, without src/ptx/warps.
#ifndef GLINT_TESTS_INSTRUMENT_LOGGED_REQUEST_H
#define GLINT_TESTS_INSTRUMENT_LOGGED_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "gpusim/gpusim.h"
#include "instrument/instrument.h"

struct logged_request {
    const struct gpusim_log_launch *launch;
    const struct gpusim_log_site *site; // NULL: none
    enum gpusim_log_space space;
    uint64_t addresses[32];
    uint32_t lanes, bytes;
    bool loads, generic;
};

// Adds a record, one of several if the lanes reach several objects. The caller begins another
// request, with zeros, where the space changes and where a record does not continue the last one.
void logged_request_add(struct logged_request *request, const struct gpusim_log_access *access);

// Adds what the request takes to sums by enum instrument_request_tally. Bulk copies add nothing.
void logged_request_sum(const struct logged_request *request,
                        uint64_t sums[INSTRUMENT_REQUEST_TALLIES]);

#endif
