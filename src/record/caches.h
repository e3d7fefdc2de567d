// SPDX-License-Identifier: Apache-2.0
// What becomes of traces of launches: they go through the model of caches (src/cache), and only the
// results enter the profile. Internal.
//
// The model takes a while, and the ring must be read meanwhile, so a thread of its own runs one
// launch after the other, in the order in which their traces arrive. The session's thread writes
// what has become ready.
#ifndef GLINT_RECORD_CACHES_H
#define GLINT_RECORD_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "profile/profile.h"

struct record_caches;
struct record_session;

// What the model needs to know, as records arrive. All do nothing after memory has run out.
void record_caches_device(struct record_session *session, const struct event_device *device,
                          const char *name);
void record_caches_site(struct record_session *session, const struct event_site *site);
void record_caches_object(struct record_session *session, const struct event_object *object);
void record_caches_object_end(struct record_session *session, uint64_t number, uint64_t call);

void record_caches_call(struct record_session *session, const struct profile_call *call);

// Writes rows of launches that have gone through the model; with `all`, of all that are left.
void record_caches_write(struct record_session *session, bool all);
void record_caches_destroy(struct record_caches *caches);

#endif
