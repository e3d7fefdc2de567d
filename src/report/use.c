// SPDX-License-Identifier: Apache-2.0
// Sums up the accesses of kernels to objects, as recorded by probes, and how each kernel was
// watched.
#include <stdlib.h>
#include <string.h>

#include "data.h"

// --- Settings and probes -------------------------------------------------------------------------

struct setting_walk {
    struct report_data *data;
    bool failed; // memory ran out
};

static bool take_setting(void *user, const struct profile_setting *setting)
{
    struct setting_walk *walk = user;
    struct profile_setting *row = base_array_push(&walk->data->settings);
    walk->failed = !row;
    if (row)
        *row = *setting;
    if (strcmp(setting->name, "sample") == 0)
        walk->data->sample = strtoull(setting->value, NULL, 10);
    if (strcmp(setting->name, "capture_range") == 0)
        walk->data->capture_range = setting->value;
    if (strcmp(setting->name, "corrected") == 0)
        walk->data->corrected = true;
    if (strcmp(setting->name, "kernels") == 0)
        walk->data->kernels_wanted = setting->value;
    return row != NULL;
}

// A row stands for the kernels of that name in all modules, so only facts that all of them collect
// are known.
static bool take_probe(void *user, const struct profile_probe *probe)
{
    struct report_data *data = user;
    const uint64_t *index = base_map_get(&data->kernels, probe->kernel);
    if (!index)
        return true;
    struct report_kernel *kernel = &data->kernel_rows.items[*index - 1];
    kernel->facts = kernel->probed ? kernel->facts & probe->facts : probe->facts;
    kernel->probed = true;
    if (!kernel->reason)
        kernel->reason = probe->reason;
    return true;
}

enum base_code report_load_probes(struct report_data *data, struct base_error *error)
{
    struct setting_walk walk = {data, false};
    enum base_code code = profile_each_setting(data->profile, take_setting, &walk, error);
    if (code == BASE_OK && walk.failed)
        code = base_no_memory(error);
    return code == BASE_OK ? profile_each_probe(data->profile, take_probe, data, error) : code;
}

// --- Accesses ------------------------------------------------------------------------------------

uint64_t report_elements(const struct report_object *object)
{
    uint64_t bytes = object->use.element_bytes;
    if (bytes == 0 || object->bytes == 0)
        return 0;
    return (object->address + object->bytes - 1) / bytes - object->address / bytes + 1;
}

void report_add_access(struct report_data *data, const struct profile_access *access)
{
    struct report_object *object = report_find_object(data, access->object);
    data->accesses++;
    if (!object)
        return;
    report_touch(object, access->call);
    struct report_use *use = &object->use;
    use->passed += access->passed;
    if (access->passed)
        return;
    use->reads += access->read;
    use->writes += access->written;
    if (access->bytes_read != PROFILE_UNKNOWN && access->bytes_written != PROFILE_UNKNOWN) {
        use->bytes_read += access->bytes_read;
        use->bytes_written += access->bytes_written;
        use->moved = data->has_moved = true;
    }
    // What all launches together touched is unknown if that is unknown of one.
    use->mixed |= access->element_bytes && access->new_elements == PROFILE_UNKNOWN;
    if (access->element_bytes == 0 || access->new_elements == PROFILE_UNKNOWN ||
        access->shared_elements == PROFILE_UNKNOWN)
        return;
    use->mixed |= use->element_bytes && use->element_bytes != access->element_bytes;
    use->element_bytes = access->element_bytes;
    use->touched += access->new_elements;
    use->shared += access->shared_elements;
    data->has_elements = true;
}
