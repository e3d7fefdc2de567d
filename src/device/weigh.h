// SPDX-License-Identifier: Apache-2.0
// Weighing: GPU code that finds the value that most reads of a launch got. This header is also
// compiled as CUDA C; device.h includes it.
//
// It runs behind a launch with counts, before the reduction zeroes the counters, on objects that
// the launch only read. Each element of a field counts as often as the launch accessed it. Two
// kernels run one after the other: the first chooses the only value that can have more than half of
// the accesses, the second counts. The first pairs accesses to different values and drops both;
// what is left over is of one value, and no value with more than half can be dropped.
#ifndef GLINT_DEVICE_WEIGH_H
#define GLINT_DEVICE_WEIGH_H

#include <stdint.h>

#ifndef __CUDACC__
extern const char device_weigh_ptx[]; // kernels DEVICE_WEIGH_CHOOSE, DEVICE_WEIGH_COUNT
#endif
#define DEVICE_WEIGH_CHOOSE "glint_weigh_choose" // (struct device_weigh)
#define DEVICE_WEIGH_COUNT  "glint_weigh_count"  // (struct device_weigh)

enum {
    DEVICE_WEIGH_JOBS = 16, // the most of one weighing
    DEVICE_WEIGH_THREADS = 256,
    DEVICE_WEIGH_BLOCKS = 512,                         // the most of a grid
    DEVICE_WEIGH_WORK = 64 + 16 * DEVICE_WEIGH_BLOCKS, // bytes of memory that a job needs
};

// One field of one object. An element of the field is one element of the counts.
struct device_weigh_job {
    uint64_t first, end;   // addresses: the object's first byte, and behind its last
    uint64_t base;         // address of the counts' element 0
    uint64_t bits, counts; // addresses of words and counters, as struct instrument_slot has them
    uint64_t work;         // address of DEVICE_WEIGH_WORK bytes: zero before and after
    uint64_t result;       // address of struct device_weighed, in host memory
    uint32_t shift;        // log2 of the element's size
    uint32_t stride, offset;
    uint32_t type; // enum device_type
};

struct device_weigh {
    uint64_t done;     // address of a uint32_t: blocks that have ended; 0 between kernels
    uint64_t sequence; // address of a uint32_t in host memory; set to 1 when all is written
    uint32_t job_count;
    uint32_t reserved;
    struct device_weigh_job jobs[DEVICE_WEIGH_JOBS];
};

struct device_weighed {
    uint64_t accesses; // to all elements of the field
    uint64_t value;    // as values.h has them; -0.0 is +0.0
    uint64_t count;    // accesses to elements that hold it; 0: no value has more than half
};

#endif
