// SPDX-License-Identifier: Apache-2.0
// Which streams have worked on something, and whether that is known to have ended when another
// stream works on it next. All functions need shadow->lock.
#ifndef GLINT_INJECT_SHADOW_USERS_H
#define GLINT_INJECT_SHADOW_USERS_H

#include <stdbool.h>
#include <stdint.h>

struct core_context;
struct core_stream;

// Work of a stream.
struct shadow_user {
    const struct core_stream *stream;
    const struct core_context *context;
    uint32_t number, flags; // of the stream, which may have been destroyed since
    uint64_t work;          // number of the piece of work
    uint64_t syncs;         // waits for the context that had begun by then
};

enum { SHADOW_USERS = 4 };
struct shadow_users {
    struct shadow_user users[SHADOW_USERS]; // of each stream its last work
    uint32_t count;
    struct shadow_user other; // of streams for which there was no room; context NULL: none
};

// Adds work of the stream, which is the piece of that number. Work that has ended before is
// forgotten.
void shadow_users_add(struct shadow_users *users, const struct core_stream *stream, uint64_t work);
// Returns whether all of the work is known to have ended when the stream's next work begins.
bool shadow_users_are_before(const struct shadow_users *users, const struct core_stream *stream);

#endif
