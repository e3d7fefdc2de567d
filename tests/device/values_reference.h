// SPDX-License-Identifier: Apache-2.0
// What the scan of contents must find, computed on the CPU in the plainest way. It depends on
// src/device/values.h only. docs/reference/values.md defines all numbers.
#ifndef GLINT_TESTS_VALUES_REFERENCE_H
#define GLINT_TESTS_VALUES_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "device/device.h"

// Computes, for each field of the job, every number that depends on the contents alone: all but
// candidates, slope, intercept, linear and roundings, which are 0. `memory` has the bytes from
// job->first to job->end, `looked_at` one byte per piece: not 0 if the scan looks at it.
void values_reference(const struct device_values_job *job, const unsigned char *memory,
                      const unsigned char *looked_at, struct device_field_result *fields);

// Checks pieces, bytes and all fields of a result. Numbers whose subject the sample chooses are
// checked for that subject, and subjects that the scan promises must be there. Returns false and
// describes the first mistake in `why`.
bool values_reference_check(const struct device_values_job *job, const unsigned char *memory,
                            const unsigned char *looked_at,
                            const struct device_values_result *result, char *why, size_t why_bytes);

// The hash of a piece, and what a known piece adds to the hash of its object.
void values_reference_hash(const struct device_values_job *job, const unsigned char *memory,
                           uint64_t piece, uint64_t hash[2]);
void values_reference_share(uint64_t piece, const uint64_t hash[2], uint64_t share[2]);

// Elements.
unsigned values_reference_size(uint32_t type); // bytes
bool values_reference_is_float(uint32_t type);
uint64_t values_reference_value(uint32_t type, uint64_t bits);
// Rounds a float to a mantissa of so many bits.
uint64_t values_reference_round(uint32_t type, uint64_t bits, int mantissa);
// Converts a number to a float type, to the nearest; of equal distances, to even.
uint64_t values_reference_convert(uint32_t type, double number);

#endif
