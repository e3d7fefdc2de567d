// SPDX-License-Identifier: Apache-2.0
// Writes what the model of the caches found about a kernel, as the member "caches" of the JSON
// report.
#include "json_members.h"

static void put_hits(struct base_json *json, struct base_str name,
                     const struct profile_cache_hits *kinds)
{
    static const struct base_str words[PROFILE_CACHE_KINDS] = {
        [PROFILE_SITE_LOAD] = BASE_JSON_NAME("load"),
        [PROFILE_SITE_STORE] = BASE_JSON_NAME("store"),
        [PROFILE_SITE_ATOMIC] = BASE_JSON_NAME("atomic")};
    base_json_name(json, name);
    base_json_begin_object(json);
    for (unsigned kind = 0; kind < PROFILE_CACHE_KINDS; kind++) {
        base_json_name(json, words[kind]);
        base_json_begin_object(json);
        report_json_number(json, "sectors", kinds[kind].sectors);
        report_json_number(json, "hits", kinds[kind].hits);
        base_json_end_object(json);
    }
    base_json_end_object(json);
}

static void put_error(struct base_json *json, struct base_str name, double error)
{
    base_json_name(json, name);
    if (error < 0)
        base_json_null(json);
    else
        base_json_double(json, error);
}

static void put_sum(struct base_json *json, const struct analyze_cache_sum *sum)
{
    put_hits(json, BASE_JSON_NAME("l1"), sum->l1);
    put_hits(json, BASE_JSON_NAME("l2"), sum->l2);
    report_json_number(json, "dram_read_sectors", sum->read);
    report_json_number(json, "dram_written_sectors", sum->written);
    put_error(json, BASE_JSON_NAME("l1_error_points"), sum->l1_error);
    put_error(json, BASE_JSON_NAME("l2_error_points"), sum->l2_error);
}

// Distances end with the last place that has any.
static void put_reuse(struct base_json *json, struct base_str name,
                      const struct analyze_cache_distances *distances, bool has)
{
    unsigned count = PROFILE_CACHE_DISTANCES;
    base_json_name(json, name);
    if (!has) {
        base_json_null(json);
        return;
    }
    while (count && !distances->sectors[count - 1])
        count--;
    base_json_begin_object(json);
    report_json_number(json, "first", distances->first);
    report_json_key(json, "distances");
    base_json_begin_array(json);
    for (unsigned i = 0; i < count; i++)
        base_json_u64(json, distances->sectors[i]);
    base_json_end_array(json);
    base_json_end_object(json);
}

static void put_object(struct base_json *json, const struct analyze_caches *caches,
                       const struct analyze_cache_object *object)
{
    base_json_begin_object(json);
    report_json_number_or_null(json, "object", object->object, object->object);
    put_sum(json, &object->sum);
    put_reuse(json, BASE_JSON_NAME("l1_reuse"), &object->levels[0], object->has_distances[0]);
    put_reuse(json, BASE_JSON_NAME("l2_reuse"), &object->levels[1], object->has_distances[1]);
    report_json_key(json, "sites");
    base_json_begin_array(json);
    for (size_t i = 0; i < object->place_count; i++) {
        const struct analyze_cache_place *place = &caches->places.items[object->first_place + i];
        base_json_begin_object(json);
        report_json_number_or_null(json, "site", place->site, place->site);
        put_sum(json, &place->sum);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_end_object(json);
}

void report_json_caches(struct base_json *json, const struct report_data *data, uint32_t number)
{
    const struct analyze_caches *caches = analyze_caches(data->analysis);
    const struct analyze_cache_kernel *kernel = analyze_find_cache_kernel(caches, number);
    report_json_key(json, "caches");
    if (!kernel) {
        base_json_null(json);
        return;
    }
    base_json_begin_object(json);
    report_json_string(json, "preset", kernel->preset);
    report_json_number(json, "launches", kernel->launches);
    report_json_key(json, "share");
    base_json_double(json, (double)kernel->share / PROFILE_CACHE_ALL);
    report_json_number(json, "records", kernel->records);
    report_json_number(json, "lost", kernel->lost);
    report_json_number(json, "l1_bytes", kernel->l1_bytes);
    report_json_number(json, "l2_bytes", kernel->l2_bytes);
    report_json_number(json, "shared_bytes", kernel->shared_bytes);
    put_sum(json, &kernel->sum);
    report_json_key(json, "objects");
    base_json_begin_array(json);
    for (size_t i = 0; i < kernel->object_count; i++)
        put_object(json, caches, &caches->objects.items[kernel->first_object + i]);
    base_json_end_array(json);
    base_json_end_object(json);
}
