// SPDX-License-Identifier: Apache-2.0
// Computes binary floating point of any format in integers. This is slow and exact; it serves the
// directed roundings of f64 and the formats that the host lacks. A value is unpacked into
// num_exact, computed with, and rounded once into a format. Internal to src/gpusim/numbers; callers
// include numbers.h.
#ifndef GLINT_GPUSIM_NUMBERS_SOFT_H
#define GLINT_GPUSIM_NUMBERS_SOFT_H

#include <stdbool.h>
#include <stdint.h>

#include "numbers.h"

// A format consists of sign, exponent and fraction. Magnitudes above `largest` are the overflow
// result and NaN. Formats without infinity overflow to their NaN.
struct num_format {
    uint8_t exponent_bits;
    uint8_t fraction_bits;
    uint64_t largest;  // magnitude bits of the largest finite value
    uint64_t overflow; // magnitude bits of the result of an overflow
    uint64_t nan;      // magnitude bits of the canonical NaN
    bool has_infinity;
};

extern const struct num_format num_format_f64, num_format_f32, num_format_tf32, num_format_bf16,
    num_format_f16, num_format_e5m2, num_format_e4m3, num_format_e3m2, num_format_e2m3,
    num_format_e2m1;

enum num_kind { NUM_KIND_ZERO, NUM_KIND_FINITE, NUM_KIND_INFINITE, NUM_KIND_NAN };

// The value magnitude * 2^exponent. The lowest bit of magnitude is sticky: it is also set if any
// lower bit was lost. That suffices for every rounding as long as magnitude has at least two bits
// more than the format.
struct num_exact {
    unsigned __int128 magnitude; // not 0 if finite
    int32_t exponent;
    uint8_t kind; // enum num_kind
    bool negative;
};

struct num_exact num_exact_from(uint64_t bits, const struct num_format *format);
struct num_exact num_exact_from_int(uint64_t magnitude, bool negative);

// With `minus_zero`, a sum of opposites is -0, as when rounding down.
struct num_exact num_exact_add(struct num_exact a, struct num_exact b, bool minus_zero);
struct num_exact num_exact_mul(struct num_exact a, struct num_exact b); // at most 64 bits each
struct num_exact num_exact_div(struct num_exact a, struct num_exact b); // at most 53 bits each
struct num_exact num_exact_sqrt(struct num_exact a);

// Returns the bits of the value in `format`. NUM_FINITE, NUM_RELU and NUM_SAT of `flags` apply.
uint64_t num_exact_round(struct num_exact value, const struct num_format *format,
                         enum num_round round, unsigned flags);

// Converts between formats with num_exact_from and num_exact_round.
uint64_t num_exact_convert(uint64_t bits, const struct num_format *from,
                           const struct num_format *to, enum num_round round, unsigned flags);

#endif
