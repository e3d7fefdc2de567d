// SPDX-License-Identifier: Apache-2.0
// The record of a launch, and its small parts: what probes counted for each site and root. The
// reduction writes them, or the scan that follows the launch anyway. This header is also compiled
// as CUDA C; device.h includes it.
#ifndef GLINT_DEVICE_SMALL_H
#define GLINT_DEVICE_SMALL_H

#include <stdint.h>

// As struct instrument_accessed_words: rows are joined by OR, `most` by the maximum.
struct device_accessed {
    uint64_t low, most, high, reserved;
};

// As struct instrument_mask: which lanes of warps made requests, and how often.
enum { DEVICE_PLACES = 8, DEVICE_MASKS = 512 };
struct device_mask {
    uint32_t lanes, key;
    uint64_t count;
};

struct device_result {
    volatile uint32_t sequence;
    uint32_t entry_count; // of struct device_touched
    uint64_t strays, stray_at;
    // Followed, at their offsets, by uint64_t tallies[tally_count], the sums over rows, or with
    // by_place [tally_count][DEVICE_PLACES], those over every DEVICE_PLACES-th row; uint64_t
    // strayed[strayed_count]; struct device_accessed accessed[accessed_count], those of all rows
    // together; uint8_t flags[flag_count], set if set in any row; struct device_sums
    // jobs[job_count]; struct device_touched entries[entry_count]; with counts, one struct
    // device_counted per job and entry; and with masks, struct device_mask[1 + DEVICE_MASKS]: key
    // of the first is the number of those that follow, and its count of those that are lost.
};

// The small parts of a launch's record, which a block writes; and what they are made from, which it
// zeroes. Byte offsets in the record are multiples of 8.
struct device_small {
    uint64_t result; // address of the record
    uint64_t flags, tallies;
    uint64_t accessed; // address of accessed_rows rows of struct device_accessed[accessed_count]
    uint64_t strayed;  // address of uint64_t[strayed_count]
    uint64_t strays;   // address of struct instrument_strays; 0: no table
    uint64_t masks;    // address of struct device_mask[DEVICE_MASKS + 1]; 0: none
    uint32_t flags_at, tallies_at, accessed_at, strayed_at, masks_at;
    uint32_t flag_count, flag_rows, flag_row_bytes;
    uint32_t tally_count, tally_rows, tally_row_bytes;
    uint32_t accessed_count, accessed_rows, accessed_row_bytes;
    uint32_t strayed_count;
    uint32_t by_place; // 0 or 1
    uint32_t reserved;
};

#endif
