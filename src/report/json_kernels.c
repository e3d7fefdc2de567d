// SPDX-License-Identifier: Apache-2.0
// Writes the kernels of the JSON report, with what their probes observe and their memory
// instructions. Probes and sites are read first and kept in memory.
#include "json_members.h"
#include "requests.h"
#include "short_names.h"

struct kernels {
    struct base_json *json;
    const struct report_data *data;
    BASE_ARRAY(struct profile_probe) probes;
    BASE_ARRAY(struct profile_kernel_site) sites;
    struct report_requests requests;
    size_t next_probe, next_site;
    bool failed; // memory ran out
};

static bool keep_probe(void *user, const struct profile_probe *probe)
{
    struct kernels *kernels = user;
    struct profile_probe *row = base_array_push(&kernels->probes);
    if (row)
        *row = *probe;
    kernels->failed |= !row;
    return row != NULL;
}

static bool keep_site(void *user, const struct profile_kernel_site *site)
{
    struct kernels *kernels = user;
    struct profile_kernel_site *row = base_array_push(&kernels->sites);
    if (row)
        *row = *site;
    kernels->failed |= !row;
    return row != NULL;
}

static void put_place(struct base_json *json, const char *file, uint32_t line, uint32_t column)
{
    report_json_string(json, "file", file);
    report_json_number_or_null(json, "line", line, line);
    report_json_number_or_null(json, "column", column, column);
}

static void put_requests(struct base_json *json, const struct report_site_requests *sum)
{
    report_json_key(json, "requests");
    if (!sum) {
        base_json_null(json);
        return;
    }
    base_json_begin_object(json);
    report_json_number(json, "requests", sum->requests);
    report_json_number_or_null(json, "sectors", sum->taken, !sum->shared);
    report_json_number_or_null(json, "wavefronts", sum->taken, sum->shared);
    report_json_number(json, "needed", sum->needed);
    base_json_end_object(json);
}

static void put_site(struct base_json *json, const struct profile_kernel_site *site,
                     const struct report_site_requests *sum)
{
    base_json_begin_object(json);
    report_json_number(json, "id", site->number);
    report_json_string(json, "function", site->function);
    report_json_string(json, "opcode", site->opcode);
    report_json_string(json, "access", profile_site_access_word(site->access));
    report_json_string(json, "type", site->type);
    report_json_number(json, "type_count", site->type_count);
    report_json_number_or_null(json, "bytes", site->bytes, site->bytes);
    report_json_bool(json, "generic", site->generic);
    put_place(json, site->file, site->line, site->column);
    report_json_string(json, "inlined_function", site->inlined_function);
    report_json_key(json, "inlined_at");
    if (site->at_file) {
        base_json_begin_object(json);
        put_place(json, site->at_file, site->at_line, site->at_column);
        base_json_end_object(json);
    } else {
        base_json_null(json);
    }
    put_requests(json, sum);
    base_json_end_object(json);
}

// Probes and sites are in the order of kernels, so each list is walked once.
static bool each_kernel(void *user, const struct profile_kernel *kernel)
{
    struct kernels *kernels = user;
    struct base_json *json = kernels->json;
    const struct profile_probe *probe = NULL;
    for (; kernels->next_probe < kernels->probes.count; kernels->next_probe++) {
        probe = &kernels->probes.items[kernels->next_probe];
        if (probe->kernel >= kernel->number)
            break;
    }
    if (probe && probe->kernel != kernel->number)
        probe = NULL;
    base_json_begin_object(json);
    report_json_number(json, "id", kernel->number);
    report_json_string(json, "name", kernel->name);
    report_json_string(json, "short", report_short_kernel(kernels->data, kernel->number));
    report_json_string(json, "mangled", kernel->mangled);
    report_json_number_or_null(json, "module", kernel->module, kernel->module);
    report_json_number(json, "registers", kernel->registers);
    report_json_number(json, "static_shared_bytes", kernel->static_shared_bytes);
    report_json_number(json, "local_bytes", kernel->local_bytes);
    report_json_key(json, "probes");
    if (probe) {
        base_json_begin_object(json);
        report_json_bool(json, "objects", probe->facts & PROFILE_PROBE_OBJECTS);
        report_json_bool(json, "elements", probe->facts & PROFILE_PROBE_ELEMENTS);
        report_json_bool(json, "counts", probe->facts & PROFILE_PROBE_COUNTS);
        report_json_string(json, "reason", probe->reason);
        base_json_end_object(json);
    } else {
        base_json_null(json);
    }
    report_json_key(json, "sites");
    base_json_begin_array(json);
    for (; kernels->next_site < kernels->sites.count; kernels->next_site++) {
        const struct profile_kernel_site *site = &kernels->sites.items[kernels->next_site];
        if (site->kernel > kernel->number)
            break;
        if (site->kernel == kernel->number)
            put_site(json, site, report_requests_at(&kernels->requests, site));
    }
    base_json_end_array(json);
    report_json_caches(json, kernels->data, kernel->number);
    base_json_end_object(json);
    return !json->failed;
}

enum base_code report_json_kernels(struct base_json *json, const struct report_data *data,
                                   struct base_error *error)
{
    struct profile *profile = data->profile;
    struct kernels kernels = {.json = json, .data = data};
    enum base_code code = profile_each_probe(profile, keep_probe, &kernels, error);
    if (code == BASE_OK)
        code = profile_each_kernel_site(profile, keep_site, &kernels, error);
    if (code == BASE_OK)
        code = report_load_requests(profile, &kernels.requests, error);
    if (code == BASE_OK && kernels.failed)
        code = base_no_memory(error);
    if (code == BASE_OK) {
        report_json_key(json, "kernels");
        base_json_begin_array(json);
        code = profile_each_kernel(profile, each_kernel, &kernels, error);
        base_json_end_array(json);
    }
    base_array_fini(&kernels.probes);
    base_array_fini(&kernels.sites);
    report_requests_fini(&kernels.requests);
    return code;
}
