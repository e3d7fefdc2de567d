// SPDX-License-Identifier: Apache-2.0
// What a set leaves in an object that it fills entirely: one value, so the description of its
// fields follows without looking at memory. A pure function of its arguments.
#ifndef GLINT_INJECT_SHADOW_CONSTANT_H
#define GLINT_INJECT_SHADOW_CONSTANT_H

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"

// A pattern that fills memory from its first byte on.
struct shadow_constant {
    uint32_t value;
    uint32_t bytes; // 1, 2 or 4; 0: there is none
};

// Returns what each aligned word holds, if the pattern begins at a multiple of its size.
uint32_t shadow_constant_word(const struct shadow_constant *constant);
// Returns whether the stride of the job's layout is a multiple of the bytes after which the pattern
// repeats. All elements of each field are then the same.
bool shadow_constant_is_single(const struct shadow_constant *constant,
                               const struct device_values_job *job);
// Describes the fields of the job's layout, if they are, as the scan of the object would.
void shadow_constant_describe(const struct shadow_constant *constant,
                              const struct device_values_job *job,
                              struct device_field_result *fields);

#endif
