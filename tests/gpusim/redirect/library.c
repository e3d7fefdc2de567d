// SPDX-License-Identifier: Apache-2.0
// A shared library that contains the imitated runtime, and uses it in its constructor.
#include <stdio.h>

#include "vendor.h"

static struct {
    unsigned magic, version;
    const void *fatbin, *name;
} wrapper __attribute__((section(".nvFatBinSegment"), used)) = {0x466243b1, 1, &wrapper, NULL};

__attribute__((constructor)) static void on_load(void)
{
    void *memory;
    printf("library: malloc says %d, tiny %d\n", cudaMalloc(&memory, 66), cudaTiny());
    fflush(stdout);
}
