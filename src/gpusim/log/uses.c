// SPDX-License-Identifier: Apache-2.0
// Summarizes the accesses of a log: what each launch did to each object. Counts reads and writes of
// every byte, in pages that are allocated when they are first touched.
#include <stdlib.h>

#include "gpusim/gpusim.h"

enum { PAGE_BYTES = 4096 };

struct use_page {
    uint32_t reads[PAGE_BYTES], writes[PAGE_BYTES];
};

// Identifies a use. The struct has no padding, because its bytes are a map's key.
struct key {
    const struct gpusim_log_launch *launch;
    const struct gpusim_object *object;
    uint64_t space;
};

struct entry {
    struct gpusim_log_use use; // must be first: callers hold pointers to it
    struct key key;
    struct base_map pages; // offset / PAGE_BYTES to struct use_page
};

struct gpusim_log_uses {
    BASE_ARRAY(struct entry *) entries;
    struct base_map by_key; // struct key to index into entries
};

struct gpusim_log_uses *gpusim_log_uses_create(void)
{
    return calloc(1, sizeof(struct gpusim_log_uses));
}

void gpusim_log_uses_destroy(struct gpusim_log_uses *uses)
{
    for (size_t i = 0; uses && i < uses->entries.count; i++) {
        struct entry *entry = uses->entries.items[i];
        for (size_t k = 0; k < entry->pages.count; k++)
            free((void *)(uintptr_t)entry->pages.entries[k].value);
        base_map_fini(&entry->pages);
        free(entry);
    }
    if (uses) {
        base_array_fini(&uses->entries);
        base_map_fini(&uses->by_key);
    }
    free(uses);
}

static struct entry *find(struct gpusim_log_uses *uses, const struct gpusim_log_access *access)
{
    const struct key key = {access->launch, access->object, access->space};
    const uint64_t *known =
        base_map_get_str(&uses->by_key, (struct base_str){(const char *)&key, sizeof(key)});
    if (known)
        return uses->entries.items[*known];
    struct entry *made = calloc(1, sizeof(*made));
    struct entry **place = made ? base_array_push(&uses->entries) : NULL;
    if (!place) {
        free(made);
        return NULL;
    }
    *place = made;
    made->key = key;
    made->use = (struct gpusim_log_use){
        .launch = access->launch, .object = access->object, .space = access->space};
    uint64_t *index = base_map_put_str(
        &uses->by_key, (struct base_str){(const char *)&made->key, sizeof(key)}, NULL);
    if (!index)
        return NULL;
    *index = uses->entries.count - 1;
    return made;
}

static struct use_page *page_of(struct entry *entry, uint64_t offset)
{
    bool added;
    uint64_t *place = base_map_put(&entry->pages, offset / PAGE_BYTES, &added);
    if (place && !*place)
        *place = (uint64_t)(uintptr_t)calloc(1, sizeof(struct use_page));
    return place ? (struct use_page *)(uintptr_t)*place : NULL;
}

static bool count_bytes(struct entry *entry, uint64_t offset, uint32_t bytes, bool reads,
                        bool writes)
{
    struct use_page *page = NULL;
    for (uint64_t at = offset; at < offset + bytes; at++) {
        if (!page || at % PAGE_BYTES == 0)
            page = page_of(entry, at);
        if (!page)
            return false;
        if (reads)
            entry->use.unique_read += !page->reads[at % PAGE_BYTES]++;
        if (writes)
            entry->use.unique_written += !page->writes[at % PAGE_BYTES]++;
    }
    return true;
}

enum base_code gpusim_log_uses_add(struct gpusim_log_uses *uses,
                                   const struct gpusim_log_access *access)
{
    struct entry *entry = find(uses, access);
    if (!entry)
        return BASE_NO_MEMORY;
    struct gpusim_log_use *use = &entry->use;
    uint64_t lanes = (uint64_t)__builtin_popcount(access->mask);
    bool reads = access->kind != GPUSIM_LOG_STORE, writes = access->kind != GPUSIM_LOG_LOAD;
    *(reads && writes ? &use->atomics : reads ? &use->loads : &use->stores) += lanes;
    use->bytes_read += reads ? lanes * access->bytes : 0;
    use->bytes_written += writes ? lanes * access->bytes : 0;
    for (uint32_t left = access->object ? access->mask : 0; left; left &= left - 1) {
        uint64_t offset = access->address[__builtin_ctz(left)] - access->object->address;
        if (!count_bytes(entry, offset, access->bytes, reads, writes))
            return BASE_NO_MEMORY;
    }
    return BASE_OK;
}

const struct gpusim_log_use *gpusim_log_uses_at(const struct gpusim_log_uses *uses, size_t index)
{
    return index < uses->entries.count ? &uses->entries.items[index]->use : NULL;
}

void gpusim_log_use_byte(const struct gpusim_log_use *use, uint64_t offset, uint32_t *reads,
                         uint32_t *writes)
{
    const struct entry *entry = (const struct entry *)use;
    const uint64_t *place = base_map_get(&entry->pages, offset / PAGE_BYTES);
    const struct use_page *page = place ? (const struct use_page *)(uintptr_t)*place : NULL;
    *reads = page ? page->reads[offset % PAGE_BYTES] : 0;
    *writes = page ? page->writes[offset % PAGE_BYTES] : 0;
}
