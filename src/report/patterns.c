// SPDX-License-Identifier: Apache-2.0
// The table of what patterns are called and mean, for every report that explains them.
#include "patterns.h"

#include <assert.h>

static const struct report_pattern patterns[] = {
    [ANALYZE_EARLY_ALLOCATION] =
        {"Allocated too early",
         "Memory is held for nothing while GPU APIs run between the allocation of an object and "
         "the first access to it.",
         "Allocate the object just before its first access."},
    [ANALYZE_LATE_DEALLOCATION] =
        {"Freed too late",
         "Memory is held for nothing while GPU APIs run between the last access to an object and "
         "its free.",
         "Free the object right after its last access."},
    [ANALYZE_REDUNDANT_ALLOCATION] =
        {"Could lie in another object's memory",
         "An object is first accessed when another one of about its size is not needed any more.",
         "Use the other object's memory again, made as large as the larger of the two."},
    [ANALYZE_UNUSED_ALLOCATION] = {"Allocated and never used", "Nothing ever accesses the object.",
                                   "Do without the object, or allocate it only where it is used."},
    [ANALYZE_MEMORY_LEAK] =
        {"Never freed", "The process, or the context, ended and the object was still allocated.",
         "Free the object after its last access."},
    [ANALYZE_TEMPORARY_IDLENESS] =
        {"Idle between two uses",
         "Memory is held for nothing while GPU APIs run between two accesses to an object that "
         "follow each other.",
         "Move the object to the host in the meantime; or free it and allocate it again, where the "
         "second access overwrites all of it."},
    [ANALYZE_DEAD_WRITE] =
        {"Written in vain",
         "What a copy or set writes to an object is overwritten before anything reads it.",
         "Leave the first write out."},
    [ANALYZE_OVERALLOCATION] =
        {"Larger than what is used",
         "Kernels touch only a part of an object's elements, and what they do not touch lies in "
         "large pieces.",
         "Do not allocate the largest piece that nothing touches."},
    [ANALYZE_NON_UNIFORM_ACCESS] =
        {"Some elements are touched far more often than others",
         "How often a launch touches the elements of an object varies much.",
         "Keep the elements that are touched most often in shared memory."},
    [ANALYZE_STRUCTURED_ACCESS] =
        {"Used one slice after the other",
         "Launches of a kernel each touch a slice of their own of an object, one after the other.",
         "Allocate memory for one slice, and use it again for each launch."},
    [ANALYZE_UNNECESSARY_SYNC] =
        {"Waits for nothing",
         "A synchronisation waits for the GPU, and nothing that it protects is used before the "
         "next one.",
         "Leave the synchronisation out."},
    [ANALYZE_MISPLACED_SYNC] =
        {"Waits too early",
         "A synchronisation waits for the GPU long before anything that it protects is used.",
         "Move the synchronisation to just before that use."},
    [ANALYZE_SYNCHRONOUS_TRANSFER] =
        {"Copies while the program waits",
         "A copy waits for the GPU, and the program does not need it to be over when it returns.",
         "Make the copy asynchronous, and pin the host memory that it uses."},
    [ANALYZE_DUPLICATE_TRANSFER] =
        {"Copies what is there already",
         "A copy brings the bytes that an earlier one has brought to the same place, where nothing "
         "has changed them since.",
         "Leave the copy out."},
    [ANALYZE_ALLOC_FREE_CHURN] =
        {"Allocated and freed over and over",
         "Memory of one size is allocated and freed again and again, and each free waits for the "
         "GPU.",
         "Allocate the memory once, or take it from a pool (cudaMallocAsync, cudaFreeAsync)."},
};

static_assert(sizeof(patterns) / sizeof(patterns[0]) == ANALYZE_PATTERNS, "a pattern has no words");

const struct report_pattern *report_pattern(enum analyze_pattern pattern)
{
    return &patterns[pattern];
}
