// SPDX-License-Identifier: Apache-2.0
// Tests threads that exit before others of their block or warp synchronize: prints what barriers, shuffles, votes,
// matches and reductions return to the remaining threads. PTX defines these results: a GPU and the simulated GPU must
// print returns.expected. With the argument "open", it prints results that PTX leaves undefined, which no test
// compares: what a shuffle reads from a lane that has exited or never existed.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cg = cooperative_groups;

enum { MOST = 256, BLOCKS = 2, FULL = 0xffffffff };

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    printf("%s: %s\n", what, cudaGetErrorName(error));
    exit(1);
}

// --- Barriers of a block -------------------------------------------------------------------------

__device__ unsigned exchanged(unsigned *shared, unsigned t, unsigned from, unsigned given)
{
    shared[t] = given;
    __syncthreads();
    return shared[from];
}

__global__ void barrier(unsigned n, unsigned *out)
{
    __shared__ unsigned shared[MOST];
    unsigned t = threadIdx.x;
    if (t >= n)
        return;
    out[t] = exchanged(shared, t, n - 1 - t, 3 * t);
}

// The barriers of a loop, with fewer threads in each round.
__global__ void barriers_in_loop(unsigned n, unsigned *out)
{
    __shared__ unsigned shared[MOST];
    unsigned t = threadIdx.x, left = n;
    unsigned value = t;
    for (unsigned round = 0; left > 2; round++, left = left / 2 + 1) {
        if (t >= left)
            return;
        value += exchanged(shared, t, (t + 1) % left, value + round);
        out[t] = value;
        __syncthreads();
    }
}

// Lanes that end are scattered over the warps.
__global__ void barrier_every_third(unsigned n, unsigned *out)
{
    __shared__ unsigned shared[MOST];
    unsigned t = threadIdx.x;
    if (t % 3 == n % 3)
        return;
    unsigned from = t ^ 1;
    if (from % 3 == n % 3 || from >= blockDim.x)
        from = t;
    out[t] = exchanged(shared, t, from, t * t);
}

__global__ void barrier_some_warps(unsigned n, unsigned *out)
{
    __shared__ unsigned shared[MOST];
    unsigned t = threadIdx.x, warp = t / 32;
    if (warp % 2 == 1 || (warp == 2 && t % 32 >= n % 32))
        return;
    out[t] = exchanged(shared, t, t % 32 % (n % 32), t + 100);
}

__global__ void barrier_reductions(unsigned n, unsigned *out)
{
    unsigned t = threadIdx.x;
    if (t >= n)
        return;
    unsigned count = __syncthreads_count(t % 3 == 0);
    unsigned all = __syncthreads_and(t < n), none = __syncthreads_and(t != n - 1);
    unsigned any = __syncthreads_or(t == n - 1), never = __syncthreads_or(t >= n);
    out[t] = count << 8 | (all != 0) | (none != 0) << 1 | (any != 0) << 2 | (never != 0) << 3;
}

// The barrier has a thread count, which is a multiple of the warp size.
__global__ void barrier_counted(unsigned n, unsigned *out)
{
    __shared__ unsigned shared[MOST];
    unsigned t = threadIdx.x, threads = (blockDim.x + 31) / 32 * 32;
    if (t % 32 >= n % 32)
        return;
    shared[t] = 5 * t;
    asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
    const unsigned value = shared[(t + 32) % blockDim.x / 32 * 32 + t % (n % 32) % (blockDim.x % 32 ? 16 : 32)];
    asm volatile("barrier.sync 2, %0;" ::"r"(threads) : "memory");
    unsigned count;
    asm volatile("{ .reg .pred %%p; setp.lt.u32 %%p, %1, 9; bar.red.popc.u32 %0, 3, %2, %%p; }"
                 : "=r"(count)
                 : "r"(t), "r"(threads)
                 : "memory");
    out[t] = value + (count << 16); // stored once: all blocks write the same places
}

// The first warp arrives without waiting, and exits; the second warp waits for it.
__global__ void barrier_arrive(unsigned n, unsigned *out)
{
    __shared__ unsigned shared[MOST];
    unsigned t = threadIdx.x;
    if (t % 32 >= n)
        return;
    shared[t] = 7 * t;
    if (t < 32) {
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        out[t] = 1;
        return;
    }
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] = shared[t - 32];
}

// Some threads skip a barrier and still have work to do at the kernel's end. barrier.sync, unlike bar.sync, is allowed
// in divergent code.
__global__ void barrier_before_tail(unsigned n, unsigned *out)
{
    __shared__ unsigned shared[MOST];
    unsigned t = threadIdx.x, value = 1;
    if (t < n) {
        shared[t] = t;
        asm volatile("barrier.sync 0;" ::: "memory");
        value = shared[n - 1 - t] + 2;
    }
    out[t] = value;
}

// --- Ways to end ---------------------------------------------------------------------------------

__global__ void in_switch(unsigned n, unsigned *out)
{
    __shared__ unsigned shared[MOST];
    unsigned t = threadIdx.x, value = 0;
    switch ((t + n) % 5) {
    case 0: value = t; break;
    case 1: return;
    case 2: value = t * t; break;
    case 3:
        if (t & 4)
            return;
        value = 9;
        break;
    default:
        if (t & 8) {
            if (t & 2)
                return;
            value = 3;
        }
    }
    unsigned all = __ballot_sync(FULL, value != 0);
    out[t] = exchanged(shared, t, t, value) + (all << 8) + __syncthreads_count(1);
}

__global__ void in_nested_loops(unsigned n, unsigned *out)
{
    unsigned t = threadIdx.x, value = 0;
    for (unsigned i = 0; i < 6; i++) {
        for (unsigned k = 0; k < t % 4; k++) {
            if (i * k + t % 7 == n % 7 + 5)
                return;
            if ((i + k + t) % 5 == 4)
                break;
            value += i + k;
        }
        value += __syncthreads_count(value & 1);
        out[t] = value;
    }
}

__device__ __noinline__ void end_if(bool yes)
{
    if (yes)
        asm volatile("exit;");
}

__device__ __noinline__ unsigned meet(unsigned value)
{
    unsigned count = __syncthreads_count(value & 1);
    return count + __reduce_add_sync(FULL, value);
}

__global__ void in_functions(unsigned n, unsigned *out)
{
    unsigned t = threadIdx.x;
    if (t >= n)
        return;
    unsigned first = meet(t);
    end_if(t % 4 == 1);
    out[t] = first * 256 + meet(t);
}

__global__ void by_exit(unsigned n, unsigned *out)
{
    unsigned t = threadIdx.x;
    asm volatile("{ .reg .pred %%p; setp.ge.u32 %%p, %0, %1; @%%p exit; }" ::"r"(t), "r"(n));
    out[t] = __syncthreads_count(1) + __popc(__ballot_sync(FULL, 1));
}

// --- Lanes of a warp -----------------------------------------------------------------------------

__global__ void shuffles(unsigned n, unsigned *out)
{
    unsigned t = threadIdx.x, lane = t % 32;
    if (lane >= n)
        return;
    unsigned value = t * 3 + 1;
    unsigned up = __shfl_up_sync(FULL, value, 3), down = __shfl_down_sync(FULL, value, 2);
    unsigned bfly = __shfl_xor_sync(FULL, value, 1), idx = __shfl_sync(FULL, value, lane * 7 % n);
    unsigned part = __shfl_sync(FULL, value, 0, 8);
    if (lane + 2 >= n)
        down = 0; // undefined: that lane has ended, or there is none
    if ((lane ^ 1) >= n)
        bfly = 0;
    out[t] = up + 1000 * down + 7777 * bfly + 131071 * idx + 524287 * part;
}

__global__ void votes(unsigned n, unsigned *out)
{
    unsigned t = threadIdx.x, lane = t % 32;
    if (lane % 3 == n % 3)
        return;
    unsigned ballot = __ballot_sync(FULL, lane & 1), uni = __uni_sync(FULL, lane == 50);
    unsigned all = __all_sync(FULL, lane % 3 != n % 3), any = __any_sync(FULL, lane % 3 == n % 3);
    out[t] = ballot ^ (all != 0) << 31 ^ (any != 0) << 30 ^ (uni != 0) << 29;
}

__global__ void matches(unsigned n, unsigned *out)
{
    unsigned t = threadIdx.x, lane = t % 32;
    if (lane >= n)
        return;
    int same, other;
    unsigned any = __match_any_sync(FULL, lane % 5);
    unsigned all = __match_all_sync(FULL, n, &same), none = __match_all_sync(FULL, lane, &other);
    out[t] = any ^ all << 1 ^ none << 2 ^ (same != 0) << 30 ^ (other != 0) << 31;
}

__global__ void reductions(unsigned n, unsigned *out)
{
    unsigned t = threadIdx.x, lane = t % 32;
    if (lane < n)
        return;
    unsigned sum = __reduce_add_sync(FULL, t), most = __reduce_max_sync(FULL, t);
    unsigned least = __reduce_min_sync(FULL, t), all = __reduce_and_sync(FULL, t | 8);
    unsigned some = __reduce_or_sync(FULL, t), odd = __reduce_xor_sync(FULL, t);
    out[t] = sum + 31 * most + 101 * least + 211 * all + 307 * some + 401 * odd;
}

__global__ void active(unsigned n, unsigned *out)
{
    __shared__ unsigned shared[MOST];
    unsigned t = threadIdx.x, lane = t % 32;
    if (lane >= n)
        return;
    shared[t] = t;
    __syncwarp();
    unsigned next = shared[t - lane + (lane + 1) % n];
    __syncwarp(FULL);
    out[t] = __activemask() * 64 + next;
}

// Lanes exit one after the other, while others wait for them. (In an unrolled loop they could be at different votes.)
__global__ void one_after_the_other(unsigned n, unsigned *out)
{
    unsigned t = threadIdx.x, lane = t % 32;
    unsigned seen = 0;
#pragma unroll 1
    for (unsigned i = 0; i < n; i++) {
        if (lane == i)
            return;
        seen += __popc(__ballot_sync(FULL, 1)) + __reduce_min_sync(FULL, lane);
        out[t] = seen;
    }
}

// --- Cooperative groups --------------------------------------------------------------------------

__global__ void groups(unsigned n, unsigned *out)
{
    __shared__ unsigned shared[MOST];
    unsigned t = threadIdx.x;
    if (t >= n)
        return;
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    shared[t] = t + 1;
    cg::sync(block);
    unsigned value = shared[n - 1 - t];
    warp.sync();
    value += 1000 * warp.shfl(t, 0) + 7 * (warp.any(t == n - 1) != 0);
    cg::coalesced_group rest = cg::coalesced_threads();
    value += 65536 * rest.size() + (rest.shfl(t, rest.size() - 1) << 24);
    rest.sync();
    block.sync();
    out[t] = value;
}

// --- What PTX leaves undefined -------------------------------------------------------------------

__global__ void shuffles_from_the_ended(unsigned n, unsigned *out)
{
    unsigned t = threadIdx.x, lane = t % 32, value = t + 100;
    if (lane >= n)
        return;
    out[t] = __shfl_down_sync(FULL, value, 1) + 1000 * __shfl_sync(FULL, value, 31) +
             1000000 * __shfl_xor_sync(FULL, value, 16);
}

// --- The run -------------------------------------------------------------------------------------

struct shape {
    const char *name;
    void (*kernel)(unsigned n, unsigned *out);
    unsigned threads, n;
};

static const shape shapes[] = {
    {"barrier", barrier, 64, 40},
    {"barrier", barrier, 64, 32},
    {"barrier", barrier, 48, 20},
    {"barrier", barrier, 256, 100},
    {"barrier", barrier, 33, 1},
    {"barriers in loop", barriers_in_loop, 256, 200},
    {"barriers in loop", barriers_in_loop, 70, 70},
    {"barrier every third", barrier_every_third, 96, 1},
    {"barrier every third", barrier_every_third, 50, 2},
    {"barrier some warps", barrier_some_warps, 128, 9},
    {"barrier some warps", barrier_some_warps, 256, 31},
    {"barrier reductions", barrier_reductions, 128, 77},
    {"barrier reductions", barrier_reductions, 40, 3},
    {"barrier counted", barrier_counted, 64, 20},
    {"barrier counted", barrier_counted, 128, 1},
    {"barrier counted", barrier_counted, 48, 13},
    {"barrier arrive", barrier_arrive, 64, 20},
    {"barrier before tail", barrier_before_tail, 64, 40},
    {"barrier before tail", barrier_before_tail, 96, 7},
    {"in switch", in_switch, 64, 3},
    {"in switch", in_switch, 100, 1},
    {"in nested loops", in_nested_loops, 96, 2},
    {"in nested loops", in_nested_loops, 61, 4},
    {"in functions", in_functions, 64, 41},
    {"in functions", in_functions, 64, 64},
    {"by exit", by_exit, 64, 33},
    {"shuffles", shuffles, 64, 20},
    {"shuffles", shuffles, 32, 1},
    {"votes", votes, 64, 1},
    {"matches", matches, 64, 23},
    {"reductions", reductions, 64, 5},
    {"active", active, 64, 9},
    {"one after the other", one_after_the_other, 64, 30},
    {"groups", groups, 128, 75},
};
static const shape undefined[] = {
    {"shuffles from the ended", shuffles_from_the_ended, 64, 20},
    {"shuffles from the ended", shuffles_from_the_ended, 48, 32}, // the last warp is half a one
};

static void run(const shape *shape, unsigned *out)
{
    must(cudaMemset(out, 0xee, MOST * sizeof(*out)), "cudaMemset");
    shape->kernel<<<BLOCKS, shape->threads>>>(shape->n, out);
    must(cudaGetLastError(), shape->name);
    must(cudaDeviceSynchronize(), shape->name);
    unsigned results[MOST];
    must(cudaMemcpy(results, out, sizeof(results), cudaMemcpyDeviceToHost), "cudaMemcpy");
    printf("%s, %u threads, %u:", shape->name, shape->threads, shape->n);
    for (unsigned i = 0; i < shape->threads; i++) {
        if (results[i] == 0xeeeeeeee)
            printf(" -");
        else
            printf(" %x", results[i]);
    }
    printf("\n");
}

int main(int count, char **arguments)
{
    bool open = count > 1 && strcmp(arguments[1], "open") == 0;
    unsigned *out;
    must(cudaMalloc(&out, MOST * sizeof(*out)), "cudaMalloc");
    for (const shape &shape : shapes) {
        if (!open)
            run(&shape, out);
    }
    for (const shape &shape : undefined) {
        if (open)
            run(&shape, out);
    }
    must(cudaFree(out), "cudaFree");
}
