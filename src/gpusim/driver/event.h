// SPDX-License-Identifier: Apache-2.0
// Events.
#ifndef GLINT_GPUSIM_DRIVER_EVENT_H
#define GLINT_GPUSIM_DRIVER_EVENT_H

#include "driver.h"

struct driver_event {
    uint64_t magic;
    struct driver_context *context;
    struct driver_event *next;
    unsigned flags;
    bool gone;                       // its context was reset
    struct driver_command *recorded; // held; NULL: never recorded
    // If recorded in a capture: the nodes that a waiting stream must depend on.
    struct driver_capture *capture;
    uint64_t capture_id;
    struct driver_node **nodes;
    size_t node_count;
};

bool driver_event_valid(const struct driver_event *event);

#endif
