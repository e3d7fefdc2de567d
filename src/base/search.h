// SPDX-License-Identifier: Apache-2.0
// Binary search over a sorted range of indices, compiled in place. The order is an expression, so
// there is one search for every type and key:
//     // The first span that starts after the address.
//     size_t next = base_search(0, count, i, spans[i].start <= address);
#ifndef GLINT_BASE_SEARCH_H
#define GLINT_BASE_SEARCH_H

#include <stddef.h>

// Returns, as a size_t, the first index of [first, end) at which `before` is false, or `end` if it
// is true at every index. `before` is an expression over the size_t variable that `index` names. It
// must be true for a prefix of the range and false for the rest. The range may be empty, but
// `first` must not exceed `end`. `first` and `end` are evaluated once, `before` at most
// log2(end - first) + 1 times. `before` must not contain another base_search.
#define base_search(first, end, index, before)                          \
    __extension__({                                                     \
        size_t base_low = (first), base_high = (end);                   \
        while (base_low < base_high) {                                  \
            const size_t index = base_low + (base_high - base_low) / 2; \
            if (before)                                                 \
                base_low = index + 1;                                   \
            else                                                        \
                base_high = index;                                      \
        }                                                               \
        base_low;                                                       \
    })

#endif
