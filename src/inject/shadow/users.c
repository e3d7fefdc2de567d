// SPDX-License-Identifier: Apache-2.0
// The order of work of several streams: see users.h.
#include "users.h"

#include "inject/core/contexts.h"

// A stream that the program destroys may still work. Streams that synchronize with the legacy
// default stream of their context are ordered with it.
static bool is_before(const struct shadow_user *user, const struct core_stream *stream)
{
    const uint32_t both = user->flags | stream->flags;
    if (atomic_load(&user->context->synced) > user->syncs)
        return true;
    if (!user->stream)
        return false;
    if (user->number == stream->number)
        return true;
    if (user->context == stream->context && both & EVENT_STREAM_LEGACY &&
        !(both & EVENT_STREAM_NON_BLOCKING))
        return true;
    if (atomic_load(&user->stream->idle) >= user->work && user->stream->number == user->number)
        return true;
    return core_order_is_behind(stream->number, user->number, user->work);
}

bool shadow_users_are_before(const struct shadow_users *users, const struct core_stream *stream)
{
    bool before = !users->other.context || is_before(&users->other, stream);
    for (uint32_t i = 0; before && i < users->count; i++)
        before = is_before(&users->users[i], stream);
    return before;
}

void shadow_users_add(struct shadow_users *users, const struct core_stream *stream, uint64_t work)
{
    uint32_t kept = 0;
    const struct shadow_user user = {
        .stream = stream,
        .context = stream->context,
        .number = stream->number,
        .flags = stream->flags,
        .work = work,
        .syncs = atomic_load(&stream->context->syncs),
    };
    for (uint32_t i = 0; i < users->count; i++) {
        if (!is_before(&users->users[i], stream))
            users->users[kept++] = users->users[i];
    }
    users->count = kept;
    if (users->other.context && is_before(&users->other, stream))
        users->other = (struct shadow_user){0};
    if (kept == SHADOW_USERS) { // the oldest becomes one of the others
        const bool mixed = users->users[0].context != user.context ||
                           (users->other.context && users->other.context != user.context);
        users->other = user;
        users->other.stream = NULL;
        users->other.syncs = mixed ? UINT64_MAX : user.syncs; // no less than that of the oldest
        for (uint32_t i = 1; i < kept; i++)
            users->users[i - 1] = users->users[i];
        users->count--;
    }
    users->users[users->count++] = user;
}
