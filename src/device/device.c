// SPDX-License-Identifier: Apache-2.0
// The device code as text: the build turns each line of the PTX into a C string; and which code and
// grid a scan needs.
#include "device.h"

const char device_ptx[] = ""
#include "reduce.ptx.inc"
    ;

const char device_few_ptx[] = ""
#include "reduce_few.ptx.inc"
    ;

const char device_counts_ptx[] = ""
#include "reduce_counts.ptx.inc"
    ;

const char device_values_ptx[] = ""
#include "values.ptx.inc"
    ;

const char device_values_others_ptx[] = ""
#include "values_others.ptx.inc"
    ;

const char device_weigh_ptx[] = ""
#include "weigh.ptx.inc"
    ;

// --- Scans ---------------------------------------------------------------------------------------

_Static_assert(sizeof(struct device_values) <= 4096, "it can be a kernel's parameters");

bool device_values_is_words(const struct device_values_job *job)
{
    if (!job->describes)
        return true;
    const uint32_t type = job->fields[0].type;
    const bool is_wide = type == DEVICE_U64 || type == DEVICE_S64 || type == DEVICE_F64;
    const bool is_word =
        type == DEVICE_RAW || type == DEVICE_U32 || type == DEVICE_S32 || type == DEVICE_F32;
    const uint32_t size = is_wide ? 8 : 4;
    return job->field_count == 1 && (is_wide || is_word) && job->fields[0].offset == 0 &&
           job->stride == size && job->first % size == 0;
}

static uint64_t pieces_of(const struct device_values_job *job)
{
    if (job->which == DEVICE_RANGE)
        return ((job->to - job->from) >> DEVICE_PIECE_SHIFT) + 2;
    return job->pieces;
}

uint32_t device_values_grid(struct device_values *about, uint32_t processors)
{
    const uint32_t most = processors * DEVICE_VALUES_BLOCKS;
    uint64_t pieces = 0;
    uint32_t choices = 0;
    about->describing = 0;
    for (uint32_t i = 0; i < about->job_count; i++) {
        const struct device_values_job *job = &about->jobs[i];
        pieces += pieces_of(job);
        if (job->describes) {
            pieces += pieces_of(job); // few ones are hashed by other blocks
            about->describing = i + 1;
            choices += DEVICE_VALUES_CHOICES * job->field_count;
        }
    }
    // Others scan meanwhile.
    const uint32_t least = about->describing, enough = most / 2 > least ? most / 2 : least;
    about->samplers = choices < least ? least : choices < enough ? choices : enough;
    const uint64_t wanted = about->samplers + pieces;
    return (uint32_t)(wanted < most ? wanted : most);
}
