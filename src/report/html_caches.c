// SPDX-License-Identifier: Apache-2.0
// Writes what the model of the caches found about kernels that are worth showing: their objects,
// with hits, sectors of device memory and reuse distances; and how many sectors requests of warps
// took and needed, if that was recorded.
#include "caches.h"
#include "html.h"
#include "json_members.h"
#include "short_names.h"

enum { MOST_OBJECTS = 50 }; // of a kernel

struct cache_requests {
    uint64_t taken, needed; // sectors
};

struct cache_section {
    struct page *page;
    struct base_map index; // kernel and object to index + 1
    BASE_ARRAY(struct cache_requests) requests;
    struct page_section section;
    uint64_t shown, of; // objects
};

// --- Requests ------------------------------------------------------------------------------------

static uint64_t key_of(uint32_t kernel, uint64_t object)
{
    const uint64_t key[] = {kernel, object};
    return base_hash(key, sizeof(key));
}

static bool take_requests(void *user, const struct profile_requests *row)
{
    struct cache_section *caches = user;
    if (row->shared || row->local || !row->object)
        return true;
    uint64_t *slot = base_map_put(&caches->index, key_of(row->kernel, row->object), NULL);
    if (slot && *slot == 0) {
        struct cache_requests *made = base_array_push(&caches->requests);
        *slot = made ? caches->requests.count : 0;
    }
    caches->page->failed |= !slot || *slot == 0;
    if (caches->page->failed)
        return false;
    caches->requests.items[*slot - 1].taken += row->taken;
    caches->requests.items[*slot - 1].needed += row->needed;
    return true;
}

// --- Rows ----------------------------------------------------------------------------------------

static void put_hits(struct base_json *json, const char *key,
                     const struct profile_cache_hits *kinds)
{
    base_json_key(json, key);
    base_json_begin_array(json);
    for (unsigned kind = 0; kind < PROFILE_CACHE_KINDS; kind++) {
        base_json_u64(json, kinds[kind].sectors);
        base_json_u64(json, kinds[kind].hits);
    }
    base_json_end_array(json);
}

static void put_error(struct base_json *json, double error)
{
    if (error < 0)
        base_json_null(json);
    else
        base_json_double(json, error);
}

static void put_distances(struct base_json *json, const struct analyze_cache_object *object,
                          unsigned level)
{
    const struct analyze_cache_distances *distances = &object->levels[level];
    unsigned count = PROFILE_CACHE_DISTANCES;
    if (!object->has_distances[level]) {
        base_json_null(json);
        return;
    }
    while (count && !distances->sectors[count - 1])
        count--;
    base_json_begin_array(json);
    base_json_u64(json, distances->first);
    for (unsigned i = 0; i < count; i++)
        base_json_u64(json, distances->sectors[i]);
    base_json_end_array(json);
}

static void put_object(struct cache_section *caches, const struct analyze_cache_object *object)
{
    struct base_json *json = &caches->section.json;
    const uint64_t *slot = base_map_get(&caches->index, key_of(object->kernel, object->object));
    const struct cache_requests none = {0};
    const struct cache_requests *requests = slot ? &caches->requests.items[*slot - 1] : &none;
    base_json_begin_object(json);
    report_json_number(json, "object", object->object);
    put_hits(json, "l1", object->sum.l1);
    put_hits(json, "l2", object->sum.l2);
    report_json_number(json, "read", object->sum.read);
    report_json_number(json, "written", object->sum.written);
    base_json_key(json, "errors");
    base_json_begin_array(json);
    put_error(json, object->sum.l1_error);
    put_error(json, object->sum.l2_error);
    base_json_end_array(json);
    report_json_number(json, "taken", requests->taken);
    report_json_number(json, "needed", requests->needed);
    base_json_key(json, "reuse");
    base_json_begin_array(json);
    put_distances(json, object, 0);
    put_distances(json, object, 1);
    base_json_end_array(json);
    base_json_end_object(json);
}

static void put_kernel(struct cache_section *caches, const struct analyze_cache_kernel *kernel)
{
    struct base_json *json = &caches->section.json;
    const struct analyze_caches *all = analyze_caches(caches->page->data->analysis);
    caches->of += kernel->object_count;
    if (page_section_bytes(&caches->section) > PAGE_CACHE_BYTES)
        return;
    base_json_begin_object(json);
    report_json_number(
        json, "kernel",
        page_text(caches->page, report_short_kernel(caches->page->data, kernel->kernel)));
    base_json_key(json, "preset");
    page_put_text(json, kernel->preset);
    report_json_number(json, "launches", kernel->launches);
    report_json_number(json, "share", kernel->share);
    report_json_number(json, "records", kernel->records);
    report_json_number(json, "lost", kernel->lost);
    report_json_number(json, "l1_bytes", kernel->l1_bytes);
    report_json_number(json, "l2_bytes", kernel->l2_bytes);
    report_json_number(json, "dram", analyze_cache_dram(&kernel->sum));
    base_json_key(json, "objects");
    base_json_begin_array(json);
    for (size_t i = 0; i < kernel->object_count && i < MOST_OBJECTS; i++) {
        if (page_section_bytes(&caches->section) > PAGE_CACHE_BYTES)
            break;
        put_object(caches, &all->objects.items[kernel->first_object + i]);
        caches->shown++;
    }
    base_json_end_array(json);
    base_json_end_object(json);
}

enum base_code page_put_caches(struct page *page, struct base_error *error)
{
    struct cache_section caches = {.page = page};
    struct report_cache_kernels kernels = {0};
    const enum base_code code = profile_each_requests(page->profile, take_requests, &caches, error);
    page_begin(&caches.section, false);
    page->failed |= !report_cache_kernels(page->data, NULL, &kernels);
    for (size_t i = 0; i < kernels.list.count && code == BASE_OK && !page->failed; i++)
        put_kernel(&caches, kernels.list.items[i]);
    page->failed |= !page_end(page, &caches.section, "caches", PAGE_CACHE_BYTES + PAGE_ROW_BYTES);
    page_omit(page, "objects in caches", caches.shown, caches.of,
              "those with most traffic, of the kernels that take longest");
    base_array_fini(&kernels.list);
    base_array_fini(&caches.requests);
    base_map_fini(&caches.index);
    return code;
}
