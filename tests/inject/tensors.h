// SPDX-License-Identifier: Apache-2.0
// What the stand-ins for PyTorch's libraries and the program that uses them share. The names in
// quotation marks are those of c10::reportMemoryUsageToProfiler in C++.
#ifndef GLINT_TESTS_INJECT_TENSORS_H
#define GLINT_TESTS_INJECT_TENSORS_H

#include <stddef.h>
#include <stdint.h>

// c10::Device as several versions of PyTorch define it.
struct tensors_device {
    int8_t type, index;
};
struct tensors_wide_index {
    int8_t type;
    int16_t index;
};
struct tensors_wide_device {
    int16_t type, index;
};

struct tensors_sums {
    uint64_t calls;
    int64_t bytes[3];
};

void tensors_sizes(
    void *block, int64_t bytes, size_t allocated, size_t reserved,
    struct tensors_device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void tensors_signed(void *block, int64_t bytes, int64_t allocated, int64_t reserved,
                    struct tensors_wide_index
                        device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
void tensors_short(void *block, int64_t bytes, struct tensors_wide_device device) __asm__(
    "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE");

struct tensors_sums tensors_take_sums(void);
void *tensors_real(void); // address of the first function, as its library knows it

// Reports a block, by one of the three forms.
typedef void tensors_report(int form, int type, uint64_t block, int64_t bytes);

#endif
