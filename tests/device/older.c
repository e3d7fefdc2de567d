// SPDX-License-Identifier: Apache-2.0
// older N: prints the Nth text of device code as drivers before CUDA 11.7 get it.
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "device/device.h"

int main(int argc, char **argv)
{
    const char *const texts[] = {device_ptx, device_counts_ptx, device_values_ptx,
                                 device_values_others_ptx, device_weigh_ptx};
    const size_t count = sizeof(texts) / sizeof(texts[0]);
    const size_t number = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    struct base_buf out = {0};
    if (number < 1 || number > count)
        return 2;
    device_for_older(texts[number - 1], &out);
    fputs(out.text, stdout);
    base_buf_fini(&out);
    return 0;
}
