// SPDX-License-Identifier: Apache-2.0
// The reasons for missing functions, by a part of their name. Names of the driver and of the
// runtime share these parts.
#include "reasons.h"

#include <string.h>

const char *calls_reason(const char *function)
{
    static const char *const reasons[][2] = {
        {"Ipc", ": memory and events of the simulated GPU cannot be shared with other processes"},
        {"ShareableHandle", ": memory of the simulated GPU cannot be shared with other processes"},
        {"PoolExport", ": memory of the simulated GPU cannot be shared with other processes"},
        {"PoolImport", ": memory of the simulated GPU cannot be shared with other processes"},
        {"ExternalMemory", ": the simulated GPU has no memory of other drivers, such as Vulkan's"},
        {"ExternalSemaphore",
         ": the simulated GPU has no semaphores of other drivers, such as Vulkan's"},
        {"Graphics", ": the simulated GPU does not draw"},
        {"Multicast", ": simulated GPUs have no multicast objects"},
    };
    for (unsigned i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (strstr(function, reasons[i][0]))
            return reasons[i][1];
    }
    return "";
}
