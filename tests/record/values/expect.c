// SPDX-License-Identifier: Apache-2.0
// Computes the numbers of a profile about values from a replayed log: see expect.h.
#include "expect.h"

#include <string.h>

// --- Stores --------------------------------------------------------------------------------------

static struct expect_site *site_of(struct expect_sites *sites,
                                   const struct gpusim_log_access *access)
{
    for (size_t i = sites->all.count; i-- > 0;) {
        struct expect_site *site = &sites->all.items[i];
        if (site->launch == access->launch && site->site == access->site &&
            site->object == access->object && site->bytes == access->bytes)
            return site;
    }
    struct expect_site *made = replay_must(base_array_push(&sites->all));
    *made = (struct expect_site){.launch = access->launch,
                                 .site = access->site,
                                 .object = access->object,
                                 .atomic = access->kind != GPUSIM_LOG_STORE,
                                 .bytes = access->bytes};
    return made;
}

enum sameness { DIFFERENT, SAME, UNDECIDED };

static enum sameness same_bytes(const struct replay_object *object, uint64_t address,
                                const unsigned char *bytes, uint32_t count)
{
    const uint64_t at = address - object->base;
    enum sameness sameness = SAME;
    for (uint32_t i = 0; i < count; i++) {
        if (!object->known[at + i] || object->host)
            sameness = UNDECIDED;
        else if (object->bytes[at + i] != bytes[i])
            return DIFFERENT;
    }
    return sameness;
}

static bool changes(const struct gpusim_log_access *access, unsigned nth)
{
    const size_t at = nth * access->value_stride;
    return memcmp(access->values + at, access->after + at, access->bytes) != 0;
}

// Returns whether no lane of an atomic operation changes the sector that this lane uses.
static bool is_still(const struct gpusim_log_access *access, unsigned lane)
{
    unsigned nth = 0;
    for (uint32_t left = access->mask; left; left &= left - 1, nth++) {
        if (access->address[__builtin_ctz(left)] / 32 == access->address[lane] / 32 &&
            changes(access, nth))
            return false;
    }
    return true;
}

static void count_access(struct expect_sites *sites, const struct replay *replay,
                         const struct gpusim_log_access *access)
{
    const struct replay_object *object = replay_object(replay, access->object->id);
    struct expect_site *site = site_of(sites, access);
    unsigned nth = 0;
    for (uint32_t left = object ? access->mask : 0; left; left &= left - 1, nth++) {
        const size_t at = nth * access->value_stride;
        enum sameness sameness;
        if (site->atomic)
            sameness = changes(access, nth) ? DIFFERENT : SAME;
        else
            sameness = same_bytes(object, access->address[__builtin_ctz(left)], access->values + at,
                                  access->bytes);
        site->stores++;
        site->silent += sameness == SAME;
        site->still += site->atomic && is_still(access, (unsigned)__builtin_ctz(left));
        site->undecided += sameness == UNDECIDED;
    }
}

void expect_executed(struct expect_sites *sites, const struct replay *replay,
                     const struct gpusim_log_access *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (records[i].object && records[i].space == GPUSIM_LOG_GLOBAL &&
            records[i].kind != GPUSIM_LOG_LOAD)
            count_access(sites, replay, &records[i]);
    }
}

void expect_sites_end(struct expect_sites *sites, const struct gpusim_log_launch *launch)
{
    size_t kept = 0;
    for (size_t i = 0; i < sites->all.count; i++) {
        if (sites->all.items[i].launch != launch)
            sites->all.items[kept++] = sites->all.items[i];
    }
    sites->all.count = kept;
}

void expect_sites_end_call(struct expect_sites *sites, uint64_t call)
{
    size_t kept = 0;
    for (size_t i = 0; i < sites->all.count; i++) {
        if (sites->all.items[i].launch->call != call)
            sites->all.items[kept++] = sites->all.items[i];
    }
    sites->all.count = kept;
}

void expect_sites_fini(struct expect_sites *sites)
{
    base_array_fini(&sites->all);
}

// --- Contents ------------------------------------------------------------------------------------

unsigned char *expect_states(struct replay_object *object)
{
    if (!object->user)
        object->user = replay_must(calloc(1, object->pieces));
    return object->user;
}

void expect_forget(struct replay_object *object)
{
    free(object->user);
    object->user = NULL;
}

static enum sameness same_piece(const struct replay_object *object,
                                const struct replay_write *write, uint64_t number)
{
    const struct replay_piece *piece = write ? write->pieces[number] : NULL;
    const unsigned char *after = object->bytes + (number << REPLAY_PIECE_SHIFT);
    const unsigned char *known = object->known + (number << REPLAY_PIECE_SHIFT);
    enum sameness sameness = SAME;
    for (unsigned i = 0; piece && i < REPLAY_PIECE_BYTES; i++) {
        if (!piece->written[i])
            continue;
        if (!piece->known[i] || !known[i])
            sameness = UNDECIDED;
        else if (piece->before[i] != after[i])
            return DIFFERENT;
    }
    return sameness;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// Returns how many bytes of the piece lie from address `from` up to `to`.
static uint64_t bytes_between(const struct replay_object *object, uint64_t number, uint64_t from,
                              uint64_t to)
{
    const uint64_t first = object->base + (number << REPLAY_PIECE_SHIFT);
    const uint64_t start = most(first, from), end = least(first + REPLAY_PIECE_BYTES, to);
    return start < end ? end - start : 0;
}

static void add_piece(struct replay_object *object, const struct replay_write *write,
                      uint64_t number, uint64_t from, uint64_t to, struct expect_row *row)
{
    const unsigned char *states = expect_states(object);
    const uint64_t first = object->object->address, end = first + object->object->size_bytes;
    const uint64_t moved = bytes_between(object, number, most(from, first), least(to, end));
    const bool known = states[number] & EXPECT_KNOWN;
    const enum sameness sameness = known ? same_piece(object, write, number) : DIFFERENT;
    row->looked_at[number] = 1;
    row->pieces++;
    row->bytes += bytes_between(object, number, first, end);
    row->moved += moved;
    row->fresh += !known;
    row->same += sameness == SAME ? moved : 0;
    row->undecided += sameness == UNDECIDED ? moved : 0;
    for (uint64_t i = 0; i < REPLAY_PIECE_BYTES; i++) {
        const uint64_t at = (number << REPLAY_PIECE_SHIFT) + i;
        row->unknown += object->base + at >= first && object->base + at < end && !object->known[at];
    }
}

static void begin_row(const struct replay_object *object, struct expect_row *row)
{
    *row = (struct expect_row){.looked_at = replay_must(calloc(1, object->pieces))};
}

// Sets the state of the described pieces and counts the known ones.
static void end_row(struct replay_object *object, unsigned state, struct expect_row *row)
{
    unsigned char *states = expect_states(object);
    for (uint64_t i = 0; i < object->pieces; i++) {
        if (row->looked_at[i])
            states[i] |= (unsigned char)state;
        row->known += states[i] & EXPECT_KNOWN;
    }
}

void expect_marked(struct replay_object *object, const struct replay_write *write,
                   struct expect_row *row)
{
    begin_row(object, row);
    for (uint64_t i = 0; write && i < object->pieces; i++) {
        if (write->pieces[i])
            add_piece(object, write, i, 0, UINT64_MAX, row);
    }
    end_row(object, EXPECT_KNOWN, row);
}

void expect_range(struct replay_object *object, const struct replay_write *write, uint64_t from,
                  uint64_t to, struct expect_row *row)
{
    begin_row(object, row);
    for (uint64_t i = 0; i < object->pieces; i++) {
        const uint64_t end = object->object->address + object->object->size_bytes;
        if (bytes_between(object, i, most(from, object->object->address), least(to, end)))
            add_piece(object, write, i, from, to, row);
    }
    end_row(object, EXPECT_KNOWN, row);
}

void expect_group(struct replay_object *object, const struct replay_write *write,
                  const struct replay_range *ranges, size_t range_count, struct expect_row *row)
{
    const uint64_t first = object->object->address, end = first + object->object->size_bytes;
    begin_row(object, row);
    for (uint64_t i = 0; i < object->pieces; i++) {
        bool in = write && write->pieces[i];
        for (size_t k = 0; k < range_count; k++)
            in |= bytes_between(object, i, most(ranges[k].from, first), least(ranges[k].to, end)) !=
                  0;
        if (in)
            add_piece(object, write, i, 0, UINT64_MAX, row);
    }
    end_row(object, EXPECT_KNOWN, row);
}

void expect_found(struct replay_object *object, unsigned with, unsigned without,
                  struct expect_row *row)
{
    const unsigned char *states = expect_states(object);
    begin_row(object, row);
    for (uint64_t i = 0; i < object->pieces; i++) {
        if ((states[i] & with) == with && !(states[i] & without))
            add_piece(object, NULL, i, 0, UINT64_MAX, row);
    }
    end_row(object, 0, row);
}
