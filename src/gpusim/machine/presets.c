// SPDX-License-Identifier: Apache-2.0
// The simulated devices, with the properties that real ones report and the four parameters of the
// timing model. Speeds come from the data sheets. The instruction rate counts warp instructions:
// each of the four schedulers of a multiprocessor issues one per cycle.
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static const struct sim_preset presets[] = {
    {.key = "h200",
     .name = "NVIDIA H200",
     .major = 9,
     .minor = 0,
     .sm_count = 132,
     .warps_per_sm = 64,
     .blocks_per_sm = 32,
     .clock_khz = 1980000,
     .memory_clock_khz = 3201000,
     .memory_bus_bits = 6016,
     .memory_bytes = UINT64_C(150109880320),
     .l2_bytes = 62914560,
     .copy_engines = 3,
     .pci_device_id = 0x233510de,
     .shared_per_block = 49152,
     .shared_per_block_optin = 232448,
     .shared_per_sm = 233472,
     .reserved_shared_per_block = 1024,
     .registers_per_block = 65536,
     .registers_per_sm = 65536,
     .const_bytes = 65536,
     .launch_ns = 2000,
     .instructions_per_ns = 1045,
     .memory_bytes_per_ns = 4800,
     .copy_bytes_per_ns = 55},
    {.key = "a100",
     .name = "NVIDIA A100-SXM4-40GB",
     .major = 8,
     .minor = 0,
     .sm_count = 108,
     .warps_per_sm = 64,
     .blocks_per_sm = 32,
     .clock_khz = 1410000,
     .memory_clock_khz = 1215000,
     .memory_bus_bits = 5120,
     .memory_bytes = UINT64_C(42298834944),
     .l2_bytes = 41943040,
     .copy_engines = 3,
     .pci_device_id = 0x20b010de,
     .shared_per_block = 49152,
     .shared_per_block_optin = 166912,
     .shared_per_sm = 167936,
     .reserved_shared_per_block = 1024,
     .registers_per_block = 65536,
     .registers_per_sm = 65536,
     .const_bytes = 65536,
     .launch_ns = 2500,
     .instructions_per_ns = 609,
     .memory_bytes_per_ns = 1555,
     .copy_bytes_per_ns = 25},
    {.key = "rtx3090",
     .name = "NVIDIA GeForce RTX 3090",
     .major = 8,
     .minor = 6,
     .sm_count = 82,
     .warps_per_sm = 48,
     .blocks_per_sm = 16,
     .clock_khz = 1695000,
     .memory_clock_khz = 9751000,
     .memory_bus_bits = 384,
     .memory_bytes = UINT64_C(25447170048),
     .l2_bytes = 6291456,
     .copy_engines = 2,
     .pci_device_id = 0x220410de,
     .shared_per_block = 49152,
     .shared_per_block_optin = 101376,
     .shared_per_sm = 102400,
     .reserved_shared_per_block = 1024,
     .registers_per_block = 65536,
     .registers_per_sm = 65536,
     .const_bytes = 65536,
     .launch_ns = 2500,
     .instructions_per_ns = 556,
     .memory_bytes_per_ns = 936,
     .copy_bytes_per_ns = 25},
    {.key = "rtx2080ti",
     .name = "NVIDIA GeForce RTX 2080 Ti",
     .major = 7,
     .minor = 5,
     .sm_count = 68,
     .warps_per_sm = 32,
     .blocks_per_sm = 16,
     .clock_khz = 1545000,
     .memory_clock_khz = 7000000,
     .memory_bus_bits = 352,
     .memory_bytes = UINT64_C(11554717696),
     .l2_bytes = 5767168,
     .copy_engines = 3,
     .pci_device_id = 0x1e0710de,
     .shared_per_block = 49152,
     .shared_per_block_optin = 65536,
     .shared_per_sm = 65536,
     .reserved_shared_per_block = 0,
     .registers_per_block = 65536,
     .registers_per_sm = 65536,
     .const_bytes = 65536,
     .launch_ns = 3000,
     .instructions_per_ns = 420,
     .memory_bytes_per_ns = 616,
     .copy_bytes_per_ns = 12},
};

const struct sim_preset *sim_preset_at(unsigned index)
{
    return index < sizeof presets / sizeof presets[0] ? &presets[index] : NULL;
}

const struct sim_preset *sim_preset_find(const char *key)
{
    for (unsigned i = 0; sim_preset_at(i); i++)
        if (base_str_is(base_str(key), presets[i].key))
            return &presets[i];
    return NULL;
}

unsigned sim_presets_read(const char *list, const struct sim_preset *devices[SIM_DEVICES_MAX])
{
    unsigned count = 0;
    for (const char *at = list;; at++) {
        char key[32];
        const size_t length = strcspn(at, "*,");
        if (!length || length >= sizeof key)
            return 0;
        memcpy(key, at, length);
        key[length] = '\0';
        const struct sim_preset *preset = sim_preset_find(key);
        unsigned long many = 1;
        at += length;
        if (*at == '*' && at[1] >= '1' && at[1] <= '9') {
            char *end;
            many = strtoul(at + 1, &end, 10);
            at = end;
        }
        if (!preset || (*at && *at != ',') || many > SIM_DEVICES_MAX - count)
            return 0;
        for (; many; many--)
            devices[count++] = preset;
        if (!*at)
            return count;
    }
}

unsigned gpusim_device_count(const char *list)
{
    const struct sim_preset *devices[SIM_DEVICES_MAX];
    return sim_presets_read(list, devices);
}

const char *gpusim_preset_name(unsigned index)
{
    const struct sim_preset *preset = sim_preset_at(index);
    return preset ? preset->key : NULL;
}
