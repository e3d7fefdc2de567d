// SPDX-License-Identifier: Apache-2.0
// A library by CUPTI's name that does not look up the driver's functions by name.
int cuptiGetVersion(unsigned *version);
int cuptiGetVersion(unsigned *version)
{
    *version = 130000;
    return 0;
}
