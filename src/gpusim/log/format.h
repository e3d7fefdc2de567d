// SPDX-License-Identifier: Apache-2.0
// Constants and names of the log's format, shared by its writer and its reader.
// docs/reference/sim-log.md describes the format.
#ifndef GLINT_GPUSIM_LOG_FORMAT_H
#define GLINT_GPUSIM_LOG_FORMAT_H

#include <stdint.h>

#define LOG_MAGIC "GLINTLOG"
enum { LOG_VERSION = 4, LOG_HEADER_BYTES = 16 };

// The type of a frame: the first byte of its payload.
enum log_frame {
    LOG_CALL = 1,
    LOG_RETURN,
    LOG_OBJECT,
    LOG_OBJECT_END,
    LOG_LAUNCH,
    LOG_LAUNCH_END,
    LOG_SITE,
    LOG_ACCESSES,
    LOG_END,
    LOG_COPY,
    LOG_FILL,
    LOG_CONTENTS,
};

// The first byte of an access.
enum {
    LOG_KIND = 3,        // enum gpusim_log_access_kind - 1
    LOG_SAME_WARP = 4,   // block and warp are those of the previous record in the frame
    LOG_ALL_LANES = 8,   // all lanes are active; no mask follows
    LOG_AFFINE = 16,     // one stride for all lanes follows the first address
    LOG_SAME_VALUE = 32, // one value for all lanes
    LOG_CONTINUED = 64,
    LOG_GENERIC = 128,
};

enum { LOG_SPACE_BITS = 4 }; // low bits of the number that holds space and bytes

// Maps signed numbers to unsigned ones so that small ones stay small: 0, -1, 1, -2, ...
static inline uint64_t log_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t log_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

#endif
