// SPDX-License-Identifier: Apache-2.0
// Estimates the GPU time of sectors and wavefronts that are taken and not needed, from the highest
// rates that the GPU reaches. A kernel that reaches less saves more; one that is busy with other
// work meanwhile saves less, which the profile does not show. A launch saves at most the part of
// its time that these units are of all that it takes.
#include "requests.h"

// Rates of an H200, as bench/requests/rates.cu measured them
// (bench/results/requests-2026-11-18.md): of each multiprocessor, and of memory. The profile says
// how many multiprocessors the GPU has; the others are not recorded. NVIDIA H100 Tensor Core GPU
// Architecture has the size of the L2 cache.
enum {
    MULTIPROCESSORS = 132, // if the profile does not say
    SECTOR_BYTES = 32,
    L2_BYTES = 50 << 20,
};
static const double l2_bytes_per_ns = 60.5, wavefronts_per_ns = 1.97, memory_bytes_per_ns = 4530;

// --- Sums ----------------------------------------------------------------------------------------

static bool add_to_object(struct analyze_request_sums *sums, const struct analyze_requests *row)
{
    uint64_t *slot = base_map_put(&sums->objects, row->object, NULL);
    if (slot && *slot == 0) {
        struct analyze_object_sum *made = base_array_push(&sums->of_object);
        *slot = made ? sums->of_object.count : 0;
    }
    if (!slot || *slot == 0)
        return false;
    sums->of_object.items[*slot - 1].taken += row->taken;
    sums->of_object.items[*slot - 1].needed += row->needed;
    return true;
}

bool analyze_sum_requests(const struct analyze_requests *rows, size_t count,
                          struct analyze_request_sums *sums)
{
    *sums = (struct analyze_request_sums){0};
    for (size_t i = 0; i < count; i++) {
        *(rows[i].shared ? &sums->shared_taken : &sums->taken) += rows[i].taken;
        if (rows[i].object != ANALYZE_NONE && !add_to_object(sums, &rows[i]))
            return false;
    }
    return true;
}

void analyze_request_sums_fini(struct analyze_request_sums *sums)
{
    base_map_fini(&sums->objects);
    base_array_fini(&sums->of_object);
}

// --- Times ---------------------------------------------------------------------------------------

bool analyze_has_request_time(const struct analyze_run *run, uint32_t call)
{
    return !run->model->simulated && run->model->calls.items[call].gpu_ns;
}

// Returns how many multiprocessors the call can use.
static double multiprocessors_of(const struct analyze_model *model, uint32_t call)
{
    const uint32_t all = model->multiprocessors ? model->multiprocessors : MULTIPROCESSORS;
    const struct analyze_call *row = &model->calls.items[call];
    const uint32_t blocks = row->kind == PROFILE_CALL_LAUNCH ? row->blocks : 0;
    return blocks && blocks < all ? blocks : all;
}

double analyze_memory_ns(double bytes, double reached)
{
    return bytes / (reached > memory_bytes_per_ns ? reached : memory_bytes_per_ns);
}

// Returns the nanoseconds in which device memory delivers what is not needed. Caches hide that if
// the object fits into L2, and sectors that are taken again and again come from there: the launch
// reads no more than the object has. What one instruction leaves of a sector, another may need. A
// part of the object that is taken repeatedly counts each time, until that is the whole object.
static double memory_ns(struct analyze_run *run, const struct analyze_request_sums *sums,
                        const struct analyze_requests *row)
{
    const uint64_t *slot =
        row->object == ANALYZE_NONE ? NULL : base_map_get(&sums->objects, row->object);
    if (!slot)
        return 0;
    const struct analyze_object_sum *sum = &sums->of_object.items[*slot - 1];
    const uint64_t bytes = run->model->objects.items[row->object].bytes;
    const double taken = (double)sum->taken * SECTOR_BYTES;
    const double needed = (double)sum->needed * SECTOR_BYTES;
    const double read = taken < (double)bytes ? taken : (double)bytes;
    if (bytes <= L2_BYTES || read <= needed)
        return 0;
    const double part = (double)(row->taken - row->needed) / (double)(sum->taken - sum->needed);
    return analyze_memory_ns((read - needed) * part, analyze_bandwidth(run));
}

double analyze_l2_ns(const struct analyze_model *model, uint32_t call, double bytes)
{
    return bytes / (multiprocessors_of(model, call) * l2_bytes_per_ns);
}

double analyze_request_ns(struct analyze_run *run, const struct analyze_request_sums *sums,
                          const struct analyze_requests *row)
{
    const double saved = (double)(row->taken - row->needed);
    const double multiprocessors = multiprocessors_of(run->model, row->call);
    const double whole = (double)(row->shared ? sums->shared_taken : sums->taken);
    const double most = (double)run->model->calls.items[row->call].gpu_ns * (saved / whole);
    double ns = row->shared ? saved / (wavefronts_per_ns * multiprocessors)
                            : saved * SECTOR_BYTES / (l2_bytes_per_ns * multiprocessors);
    if (!row->shared) {
        const double memory = memory_ns(run, sums, row);
        ns = memory > ns ? memory : ns;
    }
    return ns < most ? ns : most;
}
