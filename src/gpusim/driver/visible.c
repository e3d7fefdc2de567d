// SPDX-License-Identifier: Apache-2.0
// The devices of the process: those that GLINT_SIM_DEVICE names, and of them those that
// CUDA_VISIBLE_DEVICES lets the program see, in its order. As with NVIDIA's driver, that list ends
// before its first entry that names no device. An entry is a number, or "GPU-" and the start of one
// device's UUID.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

// The first device's UUID is that of a machine with one device. Others differ in an early byte, so
// that a few characters identify a device.
void driver_device_uuid(const struct driver_device *device, CUuuid *uuid)
{
    enum { DIFFERENT = 3 };
    memset(uuid->bytes, 0, sizeof uuid->bytes);
    snprintf(uuid->bytes, sizeof uuid->bytes, "glint-%s", device->preset->key);
    uuid->bytes[DIFFERENT] = (char)(uuid->bytes[DIFFERENT] + (char)device->physical);
}

bool driver_devices_linked(const struct driver_device *device, const struct driver_device *other)
{
    return device->preset == other->preset;
}

// Returns the device that the entry names, or NULL.
static const struct driver_device *named(const char *entry, size_t length,
                                         const struct driver_device *all, unsigned count)
{
    if (length && strspn(entry, "0123456789") >= length) {
        const unsigned long number = strtoul(entry, NULL, 10);
        return number < count ? &all[number] : NULL;
    }
    const struct driver_device *found = NULL;
    for (unsigned i = 0; i < count && length > strlen("GPU-"); i++) {
        CUuuid uuid;
        struct base_buf text = {0};
        driver_device_uuid(&all[i], &uuid);
        base_buf_puts(&text, "GPU-");
        for (size_t k = 0; k < sizeof uuid.bytes; k++)
            base_buf_printf(&text, "%s%02x", k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "",
                            (unsigned char)uuid.bytes[k]);
        const bool fits =
            !text.failed && length <= text.length && strncasecmp(entry, text.text, length) == 0;
        base_buf_fini(&text);
        if (fits && found)
            return NULL;
        if (fits)
            found = &all[i];
    }
    return found;
}

static bool is_visible(const struct driver_device *device)
{
    for (unsigned i = 0; i < driver.device_count; i++)
        if (driver.devices[i].physical == device->physical)
            return true;
    return false;
}

// Stores the devices that the list names.
static void choose(const char *list, const struct driver_device *all, unsigned count)
{
    for (const char *at = list;; at++) {
        while (isspace((unsigned char)*at))
            at++;
        size_t length = strcspn(at, ",");
        const char *next = at + length;
        while (length && isspace((unsigned char)at[length - 1]))
            length--;
        const struct driver_device *device = named(at, length, all, count);
        if (!device || is_visible(device))
            return;
        driver.devices[driver.device_count++] = *device;
        at = next;
        if (!*at)
            return;
    }
}

CUresult driver_devices_find(void)
{
    const char *list = getenv("GLINT_SIM_DEVICE"), *visible = getenv("CUDA_VISIBLE_DEVICES");
    const struct sim_preset *presets[SIM_DEVICES_MAX];
    const unsigned count = sim_presets_read(list && *list ? list : "h200", presets);
    if (!count) {
        struct base_buf known = {0};
        const struct sim_preset *preset;
        for (unsigned i = 0; (preset = sim_preset_at(i)); i++)
            base_buf_printf(&known, "%s%s", i ? ", " : "", preset->key);
        driver_say_once("GLINT_SIM_DEVICE: unknown GPU '%s'; available: %s", list,
                        known.text ? known.text : "none");
        base_buf_fini(&known);
        return CUDA_ERROR_NO_DEVICE;
    }
    struct driver_device all[SIM_DEVICES_MAX];
    for (unsigned i = 0; i < count; i++)
        all[i] = (struct driver_device){.physical = i, .preset = presets[i]};
    driver.device_count = visible ? 0 : count;
    if (!visible) {
        memcpy(driver.devices, all, count * sizeof all[0]);
        return CUDA_SUCCESS;
    }
    choose(visible, all, count);
    if (!driver.device_count && *visible && *visible != '-')
        driver_say_once(
            "simulated GPU: CUDA_VISIBLE_DEVICES=%s names none of the %u simulated GPU%s", visible,
            count, count == 1 ? "" : "s");
    return driver.device_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
