// SPDX-License-Identifier: Apache-2.0
// Tables of objects, in which probes look up addresses that come from no root. A table is made when
// a launch needs one and the objects have changed since the last one. Launches in flight keep
// theirs.
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

struct instrument_slot shadow_slot(const struct core_objects_piece *piece, uint32_t shift)
{
    const uint64_t unit = (uint64_t)128 << shift;
    const uint64_t lead = piece->start & (unit - 1);
    return (struct instrument_slot){
        .base = piece->start - lead,
        .bytes = lead + piece->bytes,
        .shift = shift,
        .lead = (uint32_t)lead,
    };
}

// Makes a table of all present pieces, without memory on the device. NULL: out of memory.
static struct shadow_table *list(void)
{
    enum { FEW = 64 };
    size_t room = FEW;
    for (;;) {
        struct shadow_table *table = malloc(sizeof(*table) + room * sizeof(table->pieces[0]));
        if (!table)
            break;
        uint64_t changes;
        const size_t count =
            core_objects_pieces(&core_state.objects, table->pieces, room, &changes);
        if (count <= room) {
            *table =
                (struct shadow_table){.changes = changes, .holders = 1, .count = (uint32_t)count};
            return table;
        }
        free(table);
        room = count + count / 8; // more may be added meanwhile
    }
    core_no_memory();
    return NULL;
}

static bool upload(struct shadow *shadow, struct shadow_table *table)
{
    struct shadow_block staging = {0};
    const uint64_t bytes = table->count * sizeof(struct instrument_slot);
    if (!bytes)
        return true;
    if (!shadow_take(shadow, &shadow->device, bytes, &table->entries) ||
        !shadow_take(shadow, &shadow->pinned, bytes, &staging)) {
        shadow_give(&shadow->device, &table->entries);
        return false;
    }
    struct instrument_slot *slots = shadow_host(staging);
    for (uint32_t i = 0; i < table->count; i++)
        slots[i] = shadow_slot(&table->pieces[i], 2);
    return shadow_own_copy(shadow, table->entries.address, &staging, bytes);
}

struct shadow_table *shadow_table_hold(struct shadow *shadow)
{
    struct shadow_table *table = shadow->table;
    if (table &&
        table->changes == atomic_load_explicit(&core_state.objects.changes, memory_order_relaxed)) {
        table->holders++;
        return table;
    }
    table = list();
    if (!table)
        return NULL;
    if (!upload(shadow, table)) {
        shadow_table_drop(shadow, table);
        return NULL;
    }
    shadow_table_drop(shadow, shadow->table);
    shadow->table = table;
    table->holders++;
    return table;
}

void shadow_table_drop(struct shadow *shadow, struct shadow_table *table)
{
    if (!table || --table->holders)
        return;
    shadow_give(&shadow->device, &table->entries);
    free(table->grains);
    free(table);
}
