// SPDX-License-Identifier: Apache-2.0
// Runs launches: distributes blocks over the device's workers and the calling thread, and gives the
// warps of a block turns. A block that runs for long or sleeps lets its worker start another block,
// so that blocks that wait for each other make progress.
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "children.h"
#include "device_runtime.h"
#include "frame.h"
#include "grid.h"
#include "logging.h"
#include "machine.h"
#include "objects.h"
#include "packing.h"
#include "streams.h"
#include "warp.h"

enum { SLOTS = 2048 };                                // for launches of kernels
enum { LEAST_STACK = 1 << 16, MOST_STACK = 1 << 24 }; // bytes of a thread's stack for calls

// Lengths of turns, in instructions of a warp.
enum {
    BLOCK_TURN = 1 << 16,    // a block's turn within its worker
    TOGETHER_TURN = 1 << 10, // the same in cooperative launches, whose blocks wait for each other
    PACKED_TURN = 1 << 13,   // the same with packed blocks; TOGETHER_TURN if one warp runs alone
    PATIENCE = 1 << 22,      // before a worker starts another block because its others do not end
    WAITING_ROUND = 32,      // the longest round of a loop that waits for others, on average
};

enum {
    RESIDENT_BYTES = 24 << 20, // memory of all running blocks that is kept unpacked if possible
};

// --- Blocks --------------------------------------------------------------------------------------

static void free_block(struct sim_block *block)
{
    for (uint32_t i = 0; i < block->warp_count; i++)
        sim_warp_fini(&block->warps[i]);
    free(block->warps);
    free(block->shared);
    free(block);
}

static struct sim_block *make_block(struct sim_run *launch, struct sim_worker *worker)
{
    struct sim_block *block = calloc(1, sizeof(*block));
    if (!block)
        return NULL;
    block->launch = launch;
    block->worker = worker;
    block->shared_bytes = launch->shared_bytes;
    void *shared = NULL;
    if (launch->shared_bytes && posix_memalign(&shared, 1024, launch->shared_bytes) != 0)
        shared = NULL;
    block->shared = shared;
    block->warps = malloc(launch->warps_per_block * sizeof(*block->warps));
    bool good = block->warps && (shared || !launch->shared_bytes);
    for (uint32_t i = 0; good && i < launch->warps_per_block; i++) {
        good = sim_warp_init(&block->warps[i], block, i);
        block->warp_count++;
    }
    if (good)
        return block;
    free_block(block);
    return NULL;
}

static void pack_block(struct sim_block *block)
{
    for (uint32_t i = 0; i < block->warp_count; i++)
        sim_warp_pack(&block->warps[i]);
}

// Makes the block that of the rank in the cluster that has the number in the grid.
static void place_block(struct sim_block *block, uint64_t cluster, uint32_t rank)
{
    const struct sim_run *launch = block->launch;
    const uint32_t *grid = launch->request->grid, *size = launch->cluster;
    uint64_t left = cluster;
    uint32_t inner = rank;
    for (int i = 0; i < 3; i++) {
        const uint32_t clusters = grid[i] / size[i];
        block->index[i] = (uint32_t)(left % clusters) * size[i] + inner % size[i];
        left /= clusters;
        inner /= size[i];
    }
    block->number =
        block->index[0] + grid[0] * (block->index[1] + (uint64_t)grid[1] * block->index[2]);
    block->rank = rank;
    block->window = rank << CLUSTER_WINDOW_BITS;
}

static bool start_block(struct sim_block *block)
{
    const struct sim_run *launch = block->launch;
    block->ended = block->stuck = false;
    block->live_threads = launch->threads_per_block;
    block->warp_turn = FIRST_WARP_TURN;
    memset(block->barriers, 0, sizeof(block->barriers));
    if (block->shared)
        memset(block->shared, 0, block->shared_bytes);
    for (uint32_t i = 0; i < block->warp_count; i++) {
        if (!sim_warp_start(&block->warps[i]))
            return false;
    }
    return true;
}

static void count_work(const struct sim_block *block, struct sim_work *work)
{
    for (uint32_t i = 0; i < block->warp_count; i++) {
        const struct sim_warp *warp = &block->warps[i];
        work->warp_instructions += warp->warp_instructions;
        work->thread_instructions += warp->thread_instructions;
        work->global_bytes += warp->global_bytes;
        work->shared_bytes += warp->shared_bytes;
    }
}

// Ends the launch with the message that threads of the block wait for each other or for the
// cluster.
static void no_progress(struct sim_block *block)
{
    for (uint32_t i = 0; i < block->warp_count; i++) {
        struct sim_warp *warp = &block->warps[i];
        for (uint32_t p = 0; p < warp->path_count; p++) {
            struct sim_path *path = warp_path(warp, p);
            if (path->state == PATH_FREE || path->state == PATH_READY)
                continue;
            const struct sim_uop *op = &path->frame->code->ops[path->pc];
            warp->path = path;
            if (path->state == PATH_CLUSTER) {
                const struct sim_cluster *cluster = block->cluster;
                sim_warp_fault(warp, op, SIM_FAULT_DEADLOCK, __builtin_ctz(path->mask),
                               "deadlock at the barrier of the cluster: %u of %u threads have "
                               "arrived and the others cannot",
                               cluster->arrived, cluster->live_threads);
            } else if (path->state == PATH_BARRIER) {
                const struct sim_barrier *barrier = &block->barriers[path->barrier];
                sim_warp_fault(
                    warp, op, SIM_FAULT_DEADLOCK, __builtin_ctz(path->mask),
                    "deadlock at barrier %u: %u of %u threads have arrived and the others cannot",
                    path->barrier, barrier->arrived + barrier->absent,
                    barrier->expected ? barrier->expected : block->live_threads);
            } else {
                sim_warp_fault(
                    warp, op, SIM_FAULT_DEADLOCK, __builtin_ctz(path->mask),
                    "deadlock: waits for lanes 0x%08x of its warp, not all of which can arrive",
                    path->members);
            }
            return;
        }
    }
}

// Runs the block for a turn and adds the instructions to *spent. The turn ends early if a single
// warp runs for `alone` instructions, and if all warps that run seem to wait for other blocks: they
// repeat short loops that may wait. Returns true if the block has ended or the launch has failed.
// A block that waits for its cluster gets stuck.
static bool run_block(struct sim_block *block, uint64_t turn, uint64_t alone, uint64_t *spent)
{
    uint64_t end = *spent + turn, together = *spent; // `spent` when more than one warp last ran
    block->gave_way = block->waits = false;
    while (block->live_threads) {
        uint32_t ran = 0, working = block->warp_turn < WARP_TURN;
        block->progressed = false;
        for (uint32_t i = 0; i < block->warp_count; i++) {
            if (!block->warps[i].live)
                continue;
            const uint64_t before = block->warps[i].warp_instructions;
            const uint64_t repeats = block->warps[i].repeats;
            if (!sim_warp_run(&block->warps[i], block->warp_turn))
                return true;
            const uint64_t instructions = block->warps[i].warp_instructions - before;
            *spent += instructions;
            ran += instructions != 0;
            working += (block->warps[i].repeats - repeats) * WAITING_ROUND < instructions;
        }
        if (ran > 1)
            together = *spent;
        if (!block->progressed && block->live_threads) {
            block->stuck = block->waits = true;
            return false;
        }
        if (block->warp_turn < WARP_TURN)
            block->warp_turn = block->warp_turn ? 2 * block->warp_turn : FIRST_WARP_TURN;
        block->waits = !working && block->live_threads;
        if (*spent > end || *spent - together > alone || block->gave_way || block->waits)
            return !block->live_threads;
    }
    return true;
}

void sim_run_no_memory(struct sim_run *run)
{
    struct sim_run *launch = run->root;
    gpusim_lock(&launch->lock, GPUSIM_RANK_RUN);
    if (launch->fault.kind == SIM_FAULT_NONE) {
        launch->fault.kind = SIM_FAULT_NO_MEMORY;
        snprintf(launch->fault.text, sizeof(launch->fault.text),
                 "kernel %s: out of memory for a block", launch->code->name);
    }
    gpusim_unlock(&launch->lock, GPUSIM_RANK_RUN);
    atomic_store(&launch->stop, true);
}

// Returns whether all blocks of the cluster that have not ended are stuck, so that none can release
// the others.
static bool is_deadlocked(const struct sim_cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (!cluster->blocks[i]->ended && !cluster->blocks[i]->stuck)
            return false;
    }
    return true;
}

// --- Workers -------------------------------------------------------------------------------------

// The blocks that a worker has started and that have not ended; they run in turn.
struct resident {
    struct sim_block **blocks;
    size_t count, room;
    size_t expected; // number of blocks that will be resident together
    size_t usual; // most blocks that stay unpacked; above that, the waits before another one grow
    uint64_t spent, since, patience; // in instructions: so far, at the last start, until the next
    struct sim_block *spare;         // of `spare_run`, whose address may have been reused
    uint64_t spare_run;              // first_block of the run
    struct sim_work work;            // of blocks that were freed
};

// Returns whether blocks are packed while others run.
static bool packs(const struct resident *resident)
{
    return resident->count > resident->usual || resident->expected > resident->usual;
}

static bool make_room(struct resident *resident)
{
    if (resident->count < resident->room)
        return true;
    size_t room = resident->room ? 2 * resident->room : 64;
    struct sim_block **blocks = realloc(resident->blocks, room * sizeof(struct sim_block *));
    if (!blocks)
        return false;
    resident->blocks = blocks;
    resident->room = room;
    return true;
}

static void free_spare(struct resident *resident)
{
    while (resident->spare) {
        struct sim_block *next = resident->spare->next;
        count_work(resident->spare, &resident->work);
        free_block(resident->spare);
        resident->spare = next;
    }
}

// Finds a cluster that can start: of the grids that kernels have launched, or of the root.
static bool next_cluster(struct sim_run *root, struct sim_run **run, uint64_t *number)
{
    if (atomic_load(&root->stop))
        return false;
    if (sim_family_take(root->family, run, number))
        return true;
    if (atomic_load(&root->next_cluster) >= root->cluster_total)
        return false;
    *run = root;
    *number = atomic_fetch_add(&root->next_cluster, 1);
    return *number < root->cluster_total;
}

static struct sim_block *take_block(struct sim_run *launch, struct sim_worker *worker,
                                    struct resident *resident)
{
    struct sim_block *block = resident->spare;
    if (block)
        resident->spare = block->next;
    else
        block = make_block(launch, worker);
    if (block && make_room(resident) && start_block(block))
        return block;
    if (block)
        free_block(block);
    sim_run_no_memory(launch);
    return NULL;
}

// Starts the blocks of the next cluster. If memory runs out, those that have started end as others
// do, because the launch has failed.
static bool take_cluster(struct sim_run *root, struct sim_worker *worker, struct resident *resident)
{
    struct sim_cluster *cluster = NULL;
    struct sim_run *launch;
    uint64_t number;
    if (!next_cluster(root, &launch, &number))
        return false;
    if (resident->spare_run != launch->first_block)
        free_spare(resident);
    resident->spare_run = launch->first_block;
    for (uint32_t rank = 0; rank < launch->cluster_blocks; rank++) {
        struct sim_block *block = take_block(launch, worker, resident);
        if (!block)
            return false;
        if (!cluster) {
            cluster = &block->own_cluster;
            *cluster = (struct sim_cluster){0};
        }
        block->cluster = cluster;
        place_block(block, number, rank);
        cluster->blocks[cluster->count++] = block;
        cluster->running++;
        cluster->live_threads += block->live_threads;
        resident->blocks[resident->count++] = block;
        if (packs(resident))
            pack_block(block);
    }
    return true;
}

// Keeps the blocks of an ended cluster for others of the same run, or frees them. The structure is
// in the first of them.
static void put_away(struct resident *resident, struct sim_cluster *cluster, bool keep)
{
    for (uint32_t i = cluster->count; i > 0; i--) {
        struct sim_block *block = cluster->blocks[i - 1];
        if (keep) {
            block->next = resident->spare;
            resident->spare = block;
        } else {
            count_work(block, &resident->work);
            free_block(block);
        }
    }
}

// The memory of an ended block is kept until its cluster ends, because other blocks of the cluster
// may have its address.
static void end_block(struct resident *resident, size_t index)
{
    struct sim_block *block = resident->blocks[index];
    struct sim_cluster *cluster = block->cluster;
    for (uint32_t i = 0; i < block->warp_count; i++)
        sim_warp_stop(&block->warps[i]);
    if (packs(resident))
        pack_block(block); // other blocks need the memory of its registers
    block->ended = true;
    sim_family_forget(block);
    struct sim_run *run = block->launch;
    const bool waited = block->wants_slot;
    block->wants_slot = false;
    resident->blocks[index] = resident->blocks[--resident->count];
    if (--cluster->running == 0)
        put_away(resident, cluster, run->first_block == resident->spare_run);
    sim_family_end(run, waited);
}

static bool all_wait(const struct resident *resident)
{
    for (size_t i = 0; i < resident->count; i++) {
        if (!resident->blocks[i]->waits)
            return false;
    }
    return true;
}

static bool any_wants_slot(const struct resident *resident)
{
    for (size_t i = 0; i < resident->count; i++) {
        if (resident->blocks[i]->wants_slot)
            return true;
    }
    return false;
}

// Returns whether to start another block: the present ones may be waiting for it.
static bool wants_another(const struct sim_run *launch, struct resident *resident)
{
    if (launch->request->cooperative || all_wait(resident))
        return true;
    if (atomic_load(&launch->family->startable) && any_wants_slot(resident))
        return true;
    if (resident->spent - resident->since < resident->patience && !resident->blocks[0]->gave_way)
        return false;
    if (resident->count >= resident->usual)
        resident->patience += resident->patience / 8;
    resident->since = resident->spent;
    return true;
}

// Starts this worker's share of a cooperative launch at once, because all its blocks wait for each
// other.
static void take_share(struct sim_run *launch, struct sim_worker *worker, struct resident *resident)
{
    resident->expected = (size_t)(launch->block_total / (launch->device->worker_count + 1));
    while (resident->count < resident->expected && take_cluster(launch, worker, resident))
        ;
}

static void work_on(struct sim_run *launch, struct sim_worker *worker)
{
    uint64_t share = RESIDENT_BYTES / (launch->device->worker_count + 1);
    struct resident resident = {.usual = (size_t)(share / launch->block_bytes),
                                .patience = PATIENCE};
    memset(worker->seen, 0, sizeof(worker->seen));
    worker->texture = 0;
    if (launch->request->cooperative)
        take_share(launch, worker, &resident);
    while (resident.count || take_cluster(launch, worker, &resident)) {
        for (size_t i = 0; i < resident.count;) {
            struct sim_block *block = resident.blocks[i];
            const bool together = launch->request->cooperative || block->launch->cluster_blocks > 1;
            uint64_t turn = !together ? BLOCK_TURN : packs(&resident) ? PACKED_TURN : TOGETHER_TURN;
            uint64_t alone = together ? TOGETHER_TURN : BLOCK_TURN;
            bool over = run_block(block, turn, alone, &resident.spent);
            if (block->stuck && is_deadlocked(block->cluster))
                no_progress(block);
            if (over || atomic_load(&launch->stop)) {
                end_block(&resident, i);
                continue;
            }
            if (packs(&resident))
                pack_block(block);
            i++;
        }
        if (resident.count && wants_another(launch, &resident))
            take_cluster(launch, worker, &resident);
    }
    free_spare(&resident);
    free(resident.blocks);
    sim_worker_clear(worker);
    gpusim_lock(&launch->lock, GPUSIM_RANK_RUN);
    launch->work.warp_instructions += resident.work.warp_instructions;
    launch->work.thread_instructions += resident.work.thread_instructions;
    launch->work.global_bytes += resident.work.global_bytes;
    launch->work.shared_bytes += resident.work.shared_bytes;
    gpusim_unlock(&launch->lock, GPUSIM_RANK_RUN);
    sim_log_flush(worker);
}

// Returns a launch with blocks that have not started, or NULL. device->lock is held.
static struct sim_run *find_launch(struct sim_device *device)
{
    for (struct sim_run *launch = device->launches; launch; launch = launch->next) {
        if ((atomic_load(&launch->next_cluster) < launch->cluster_total ||
             atomic_load(&launch->family->startable)) &&
            !atomic_load(&launch->stop))
            return launch;
    }
    return NULL;
}

// Initial-exec, because signal handlers read it and must not allocate TLS.
static __thread bool is_worker __attribute__((tls_model("initial-exec")));

bool sim_is_worker(void)
{
    return is_worker;
}

static void *worker_main(void *user)
{
    struct sim_device *device = user;
    struct sim_worker worker = {0};
    is_worker = true;
    fesetenv(FE_DFL_ENV); // a program may have changed what its threads inherit
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    while (!device->stopping) {
        struct sim_run *launch = find_launch(device);
        if (!launch) {
            pthread_cond_wait(&device->work, &device->lock);
            continue;
        }
        launch->helpers++;
        gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
        work_on(launch, &worker);
        gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
        launch->helpers--;
        pthread_cond_broadcast(&launch->finished);
    }
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    return NULL;
}

// --- Launches ------------------------------------------------------------------------------------

static uint64_t modelled_ns(const struct sim_preset *preset, const struct sim_work *work)
{
    double instructions = (double)work->thread_instructions / preset->instructions_per_ns;
    double traffic = (double)work->global_bytes / preset->memory_bytes_per_ns;
    return (uint64_t)(preset->launch_ns + (instructions > traffic ? instructions : traffic));
}

// Returns the bytes of each thread's stack: the variables of all functions that it may be in at
// once. With recursion, calls by address or alloca that size is unknown; then the device's stack
// limit is used.
static uint32_t stack_of(struct sim_device *device, const struct sim_kernel *kernel)
{
    const struct sim_module *module = kernel->module;
    bool allocates = false;
    uint32_t bytes = kernel->info.local_bytes;
    for (size_t i = 0; i < module->code_count; i++) {
        const struct sim_code *code = module->codes[i];
        if (!kernel->code->reaches[i])
            continue;
        allocates |= code->allocates;
        if (code != kernel->code)
            bytes += code->local_bytes > LEAST_FRAME ? code->local_bytes : LEAST_FRAME;
    }
    if (!allocates && !kernel->code->endless)
        return bytes;
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    uint32_t asked = (uint32_t)device->stack_bytes;
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    return kernel->info.local_bytes + asked;
}

bool sim_run_place(struct sim_run *run)
{
    const uint32_t *size = run->request->block;
    run->tids = malloc(run->warps_per_block * sizeof(*run->tids));
    for (uint32_t i = 0; run->tids && i < run->warps_per_block * LANES; i++) {
        uint32_t(*tid)[LANES] = run->tids[i / LANES], lane = i % LANES;
        tid[0][lane] = i % size[0];
        tid[1][lane] = i / size[0] % size[1];
        tid[2][lane] = i / size[0] / size[1];
    }
    return run->tids;
}

void sim_run_prepare(struct sim_run *run)
{
    const struct sim_launch *request = run->request;
    run->code = request->kernel->code;
    run->params = request->params;
    run->threads_per_block = request->block[0] * request->block[1] * request->block[2];
    run->warps_per_block = (run->threads_per_block + LANES - 1) / LANES;
    run->block_total = (uint64_t)request->grid[0] * request->grid[1] * request->grid[2];
    run->cluster_blocks = 1;
    for (int i = 0; i < 3; i++) {
        run->cluster[i] = request->cluster[i] ? request->cluster[i] : 1;
        run->cluster_blocks *= run->cluster[i];
    }
    run->cluster_total = run->block_total / run->cluster_blocks;
    run->shared_bytes = request->dynamic_shared_bytes
                            ? request->kernel->shared_bytes + request->dynamic_shared_bytes
                            : request->kernel->code->placed_shared_bytes;
    run->local_bytes = stack_of(run->device, request->kernel);
    run->block_bytes =
        sizeof(struct sim_block) + run->shared_bytes + run->warps_per_block * sim_warp_bytes(run);
}

// Runs blocks until all work of the root is done. The caller has put it on the device's list. The
// calling thread may round in another way, or flush subnormal numbers; kernels do not.
static void work_to_the_end(struct sim_run *root, struct sim_worker *worker)
{
    struct sim_device *device = root->device;
    bool done;
    fenv_t program;
    fegetenv(&program);
    fesetenv(FE_DFL_ENV);
    do {
        work_on(root, worker);
        gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
        while (!root->family->done && !atomic_load(&root->stop) &&
               !atomic_load(&root->family->startable))
            pthread_cond_wait(&root->finished, &device->lock);
        done = root->family->done || atomic_load(&root->stop);
        gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    } while (!done);
    fesetenv(&program);
}

static void start_workers(struct sim_device *device);

uint64_t sim_launch_run(struct sim_device *device, const struct sim_launch *request,
                        struct sim_work *work, struct sim_fault *fault)
{
    struct sim_run launch = {.device = device, .request = request};
    struct sim_family family;
    uint32_t workspace[8] = {0};
    sim_run_prepare(&launch);
    sim_family_init(&family, &launch);
    launch.objects = sim_objects_get(device);
    if (request->cooperative &&
        sim_object_add(device, (uint64_t)(uintptr_t)workspace, sizeof(workspace),
                       GPUSIM_OBJECT_DEVICE, "grid barrier", NULL) == BASE_OK)
        launch.grid_sync = (uint64_t)(uintptr_t)workspace;
    pthread_mutex_init(&launch.lock, NULL);
    pthread_cond_init(&launch.finished, NULL);
    if (!sim_run_place(&launch) || !launch.objects)
        sim_run_no_memory(&launch);
    sim_log_launch(device->log, request);

    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    if (launch.cluster_total > 1 && device->worker_limit)
        start_workers(device);
    launch.next = device->launches;
    // It is taken off the list again below, before this returns.
    // cppcheck-suppress autoVariables
    device->launches = &launch;
    if (launch.cluster_total > 1)
        pthread_cond_broadcast(&device->work);
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);

    struct sim_worker *worker = calloc(1, sizeof(*worker));
    if (worker)
        work_to_the_end(&launch, worker);
    else
        sim_run_no_memory(&launch);
    free(worker);

    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    struct sim_run **place = &device->launches;
    while (*place != &launch)
        place = &(*place)->next;
    *place = launch.next;
    while (launch.helpers)
        pthread_cond_wait(&launch.finished, &device->lock);
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);

    sim_family_fini(&family);
    if (launch.grid_sync)
        sim_object_remove(device, launch.grid_sync);
    sim_objects_put(launch.objects);
    free(launch.tids);
    pthread_mutex_destroy(&launch.lock);
    pthread_cond_destroy(&launch.finished);
    *fault = launch.fault;
    sim_log_launch_end(device->log, request, fault);
    if (work)
        *work = launch.work;
    return modelled_ns(device->preset, &launch.work);
}

// --- The device ----------------------------------------------------------------------------------

int sim_thread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                      void *argument)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t all, before;
    sigfillset(&all);
    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int result = pthread_create(thread, attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

static struct sim_device *create(const struct sim_preset *preset, unsigned workers,
                                 struct log_file *log, struct sim_memory *memory)
{
    struct sim_device *device = calloc(1, sizeof(*device));
    const unsigned wanted = workers ? workers : (unsigned)get_nprocs();
    pthread_t *threads = calloc(wanted, sizeof(*threads));
    if (!device || !threads) {
        free(device);
        free(threads);
        return NULL;
    }
    device->preset = preset;
    device->log = log;
    device->memory = memory;
    device->threads = threads;
    device->worker_limit = wanted;
    device->heap_bytes = 8u << 20;
    device->stack_bytes = LEAST_STACK;
    device->slots = SLOTS;
    pthread_mutex_init(&device->lock, NULL);
    pthread_cond_init(&device->work, NULL);
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    device->number = memory->device_count++;
    memory->live_devices++;
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
    return device;
}

// Starts the device's workers unless they run. The launching thread also runs blocks, so one worker
// fewer is created. The caller holds device->lock, or knows that no other thread has the device.
static void start_workers(struct sim_device *device)
{
    const unsigned wanted = device->worker_limit;
    device->worker_limit = 0; // one attempt, also if it fails
    for (unsigned i = 1; i < wanted; i++)
        if (sim_thread_create(&device->threads[device->worker_count], NULL, worker_main, device) ==
            0)
            device->worker_count++;
}

enum base_code sim_device_create(const struct sim_preset *preset, unsigned workers,
                                 struct log_file *log, struct sim_device **made,
                                 struct base_error *error)
{
    struct sim_memory *memory = sim_memory_create();
    *made = memory ? create(preset, workers, log, memory) : NULL;
    if (!*made) {
        if (memory)
            sim_memory_destroy(memory);
        return base_no_memory_while(error, "for a device");
    }
    start_workers(*made);
    return BASE_OK;
}

enum base_code sim_device_create_beside(struct sim_device *first, const struct sim_preset *preset,
                                        unsigned workers, struct sim_device **made,
                                        struct base_error *error)
{
    *made = NULL;
    BASE_RETURN_IF(first->memory->device_count == SIM_DEVICES_MAX, error, BASE_INVALID,
                   "a machine has at most %d devices", SIM_DEVICES_MAX);
    *made = create(preset, workers, first->log, first->memory);
    return *made ? BASE_OK : base_no_memory_while(error, "for a device");
}

void sim_device_destroy(struct sim_device *device)
{
    if (!device)
        return;
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    device->stopping = true;
    pthread_cond_broadcast(&device->work);
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    for (unsigned i = 0; i < device->worker_count; i++)
        pthread_join(device->threads[i], NULL);
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    const bool last = --memory->live_devices == 0;
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
    if (last)
        sim_memory_destroy(memory);
    pthread_mutex_destroy(&device->lock);
    pthread_cond_destroy(&device->work);
    sim_device_runtime_fini(device);
    free(device->threads);
    free(device);
}

const struct sim_preset *sim_device_preset(const struct sim_device *device)
{
    return device->preset;
}

void sim_device_set_lenient(struct sim_device *device,
                            bool (*is_mapped)(uint64_t address, uint64_t size_bytes),
                            void (*warn)(const char *text))
{
    device->is_mapped = is_mapped;
    device->warn = warn;
}

void sim_device_set_heap(struct sim_device *device, uint64_t bytes)
{
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    device->heap_bytes = bytes;
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
}

void sim_device_set_stack(struct sim_device *device, uint64_t bytes)
{
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    device->stack_bytes = bytes < LEAST_STACK  ? LEAST_STACK
                          : bytes > MOST_STACK ? MOST_STACK
                                               : bytes;
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
}

void sim_device_take_output(struct sim_device *device, struct base_buf *out)
{
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    if (memory->output.length)
        base_buf_add(out, memory->output.text, memory->output.length);
    memory->output.length = 0;
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
}
