// SPDX-License-Identifier: Apache-2.0
// Implements sizes of clusters, the attributes of functions that concern them, and how many
// clusters are resident at once.
#include "cluster.h"

#include "driver.h"
#include "launch.h"

// The most blocks of a cluster, without and with permission by the function's attribute.
enum { PORTABLE_BLOCKS = 8, MOST_BLOCKS = 16 };

static const struct sim_preset *preset_of(const struct driver_function *function)
{
    return function->module->device->preset;
}

static bool has_clusters(const struct driver_function *function)
{
    return preset_of(function)->major >= 9;
}

// --- Sizes ---------------------------------------------------------------------------------------

void driver_cluster_of(const struct driver_function *function, const uint32_t asked[3],
                       uint32_t size[3])
{
    for (int i = 0; i < 3; i++)
        size[i] = asked[0]                     ? asked[i]
                  : function->info->cluster[0] ? function->info->cluster[i]
                                               : (uint32_t)function->cluster[i];
}

static uint64_t volume(const uint32_t size[3])
{
    return (uint64_t)size[0] * size[1] * size[2];
}

static unsigned most_blocks(const struct driver_function *function)
{
    const unsigned most = function->non_portable_cluster ? MOST_BLOCKS : PORTABLE_BLOCKS;
    const uint32_t limit = function->info->max_cluster;
    return limit && limit < most ? limit : most;
}

// Returns whether the launch asks for other clusters than the kernel requires.
static bool differs(const struct driver_function *function, const uint32_t size[3])
{
    const struct sim_kernel_info *info = function->info;
    for (int i = 0; i < 3; i++) {
        const uint32_t required =
            info->cluster[0] ? info->cluster[i] : (uint32_t)function->cluster[i];
        if (required && required != size[i])
            return true;
    }
    return false;
}

CUresult driver_cluster_check(const struct driver_op *op)
{
    const struct driver_function *function = op->launch.function;
    const struct sim_kernel_info *info = function->info;
    uint32_t size[3];
    driver_cluster_of(function, op->launch.cluster, size);
    DRIVER_REJECT(!size[0] && info->explicit_cluster, CUDA_ERROR_INVALID_CLUSTER_SIZE);
    if (!size[0] && !size[1] && !size[2])
        return CUDA_SUCCESS;
    DRIVER_REJECT(!volume(size), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    DRIVER_REJECT(volume(size) > 1 && !has_clusters(function), CUDA_ERROR_NOT_SUPPORTED);
    DRIVER_REJECT(volume(size) > most_blocks(function) || differs(function, size),
                  CUDA_ERROR_INVALID_CLUSTER_SIZE);
    for (int i = 0; i < 3; i++)
        DRIVER_REJECT(!info->blocks_are_clusters && op->launch.grid[i] % size[i],
                      CUDA_ERROR_INVALID_CLUSTER_SIZE);
    return CUDA_SUCCESS;
}

CUresult driver_cluster_set(struct driver_function *function, CUfunction_attribute attribute,
                            int value)
{
    int at;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        DRIVER_REJECT(value < 0, CUDA_ERROR_INVALID_VALUE);
        at = attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
        if (function->info->cluster[0]) // which stays as it is
            return (uint32_t)value == function->info->cluster[at] ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_INVALID_VALUE;
        function->cluster[at] = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        function->non_portable_cluster = value != 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        DRIVER_REJECT(value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT ||
                          value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING,
                      CUDA_ERROR_INVALID_VALUE);
        function->cluster_policy = value;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

// --- Occupancy -----------------------------------------------------------------------------------

// The blocks of a cluster run on different multiprocessors of one group, of which an H200 has
// eight. Which multiprocessors a GPU lacks differs, so its numbers may differ by a few clusters.
// These are those of one H200: a group of 14, and others of 16 and of 18.
static unsigned active_clusters(const struct driver_function *function, const uint32_t size[3],
                                unsigned threads, size_t dynamic_shared_bytes)
{
    enum { GROUPS = 8 };
    const unsigned sms = preset_of(function)->sm_count, blocks = (unsigned)volume(size);
    const unsigned each = driver_blocks_per_sm(function, threads, dynamic_shared_bytes);
    const unsigned most = sms / GROUPS / 2 * 2, smallest = most - 2;
    const unsigned larger = (sms - smallest - (GROUPS - 1) * most) / 2;
    return each * (smallest / blocks + (GROUPS - 1 - larger) * (most / blocks) +
                   larger * ((most + 2) / blocks));
}

// Reads the arguments of a question about the clusters of a configuration. answer: where it goes.
static CUresult read_question(const struct driver_function *function, const CUlaunchConfig *config,
                              const int *answer, uint32_t size[3], unsigned *threads)
{
    uint32_t asked[3] = {0};
    DRIVER_REJECT(!function, CUDA_ERROR_INVALID_HANDLE);
    DRIVER_REJECT(!answer || !config, CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            asked[0] = attribute->value.clusterDim.x;
            asked[1] = attribute->value.clusterDim.y;
            asked[2] = attribute->value.clusterDim.z;
        }
    }
    driver_cluster_of(function, asked, size);
    for (int i = 0; i < 3; i++)
        size[i] = size[i] ? size[i] : 1;
    const uint64_t all = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    DRIVER_REJECT(!all || all > function->info->max_threads, CUDA_ERROR_INVALID_VALUE);
    *threads = (unsigned)all;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                      const CUlaunchConfig *config)
{
    DRIVER_BEGIN();
    uint32_t size[3];
    unsigned threads;
    const struct driver_function *function = driver_function_of(func);
    DRIVER_TRY(read_question(function, config, numClusters, size, &threads));
    DRIVER_REJECT(!has_clusters(function) && volume(size) > 1, CUDA_ERROR_NOT_SUPPORTED);
    DRIVER_REJECT(volume(size) > most_blocks(function) || differs(function, size),
                  CUDA_ERROR_INVALID_CLUSTER_SIZE);
    *numClusters = (int)active_clusters(function, size, threads, config->sharedMemBytes);
    return CUDA_SUCCESS;
}

// Returns the most blocks of a cluster with which at least one cluster of the configuration runs.
CUresult cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                            const CUlaunchConfig *config)
{
    DRIVER_BEGIN();
    uint32_t size[3];
    unsigned threads;
    const struct driver_function *function = driver_function_of(func);
    DRIVER_TRY(read_question(function, config, clusterSize, size, &threads));
    size[1] = size[2] = 1;
    size[0] = has_clusters(function) ? most_blocks(function) : 1;
    while (size[0] && !active_clusters(function, size, threads, config->sharedMemBytes))
        size[0]--;
    *clusterSize = (int)size[0];
    return CUDA_SUCCESS;
}
