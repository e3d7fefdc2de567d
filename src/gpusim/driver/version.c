// SPDX-License-Identifier: Apache-2.0
// The version of the driver. With GLINT_SIM_DRIVER=11.4 in the environment, for example, the
// simulated driver poses as an older one, to show what programs do with it.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

int driver_version(void)
{
    static _Atomic int known;
    int version = atomic_load_explicit(&known, memory_order_relaxed);
    if (!version) {
        const char *text = getenv("GLINT_SIM_DRIVER");
        unsigned major = 0, minor = 0;
        const bool older = text && sscanf(text, "%u.%u", &major, &minor) == 2 && major >= 2 &&
                           minor < 100 && major * 1000 + minor * 10 < DRIVER_VERSION;
        version = older ? (int)(major * 1000 + minor * 10) : DRIVER_VERSION;
        atomic_store_explicit(&known, version, memory_order_relaxed);
    }
    return version;
}

// CUDA 11.N has PTX 7.N and CUDA 12.N has 8.N, but 12.7 has 8.6, and those after it are one behind.
bool driver_knows_ptx(uint32_t version)
{
    const uint32_t major = (uint32_t)driver_version() / 1000;
    uint32_t minor = (uint32_t)driver_version() % 1000 / 10;
    if (driver_version() == DRIVER_VERSION || major < 11)
        return true;
    minor -= major == 12 && minor >= 7;
    return version <= (major - 4) * 10 + minor;
}
