// SPDX-License-Identifier: Apache-2.0
// Reductions: the device code (src/device) that sums up what a launch has marked.
#ifndef GLINT_INJECT_SHADOW_REDUCE_H
#define GLINT_INJECT_SHADOW_REDUCE_H

#include "model.h"

// Loads the code. Needs shadow->lock.
bool shadow_reduce_load(struct shadow *shadow, bool counts);
// Makes jobs and slots for the objects of the ticket's roots, with marks in the pad. Needs
// shadow->lock.
bool shadow_reduce_roots(struct shadow_pad *pad, struct shadow_ticket *ticket,
                         const uint64_t *roots, struct instrument_slot *slots);
// Bracket a launch at element level or with values, with its lane locked. shadow_reduce_enter fills
// the context, its slots and pieces, and prepares the reduction. shadow_reduce_launched enqueues
// the reduction, unless a scan does its work; the lane then owns the ticket.
bool shadow_reduce_enter(struct shadow_lane *lane, struct shadow_ticket *ticket,
                         const struct shadow_launch *launch, struct instrument_context *context,
                         struct instrument_slot *slots, struct instrument_pieces *pieces);
void shadow_reduce_launched(struct shadow_lane *lane, struct shadow_ticket *ticket);
// Describe the reduction of a launch, except for its jobs. shadow_reduce_describe fills in sizes
// and the layout of its record, and returns the record's bytes. shadow_reduce_place fills in the
// addresses that it reads and writes.
uint64_t shadow_reduce_describe(const struct shadow_ticket *ticket, struct device_reduction *about);
void shadow_reduce_place(const struct shadow_pad *pad, const struct shadow_ticket *ticket,
                         struct device_reduction *about);
// Returns how many threads a block of the reduction has.
uint32_t shadow_reduce_threads(const struct shadow *shadow, bool counts);
// Enqueues a reduction over this many words, of all objects together.
CUresult shadow_reduce_enqueue(const struct shadow *shadow, struct device_reduction *about,
                               uint64_t words, bool counts, CUstream stream);
// Describes the reduction of the lane's launch if only small parts are to be written, which a scan
// can do, too; else returns false.
bool shadow_reduce_small(const struct shadow_lane *lane, const struct shadow_ticket *ticket,
                         struct device_small *small);
bool shadow_reduce_landed(const struct shadow_batch *batch);

#endif
