// SPDX-License-Identifier: Apache-2.0
// What every kernel of the benchmark needs: arrays that the host also knows, timing, checking
// results, and printing what probes must find.
//
// A kernel's definition is written twice: for the GPU, and for the host as accesses to arrays
// (load, store, add), one unit (a thread or a block) at a time. The host's version computes what
// must be in memory afterwards and, run for every unit, what was read and written in total. So the
// expectation comes from the definition alone, and not from PTX.
#pragma once

#include <cuda_runtime.h>
#include <glint/glint.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "../check.h"

// Returns a pseudorandom number that depends only on i and stream.
static inline uint32_t noise(uint64_t i, uint32_t stream)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u + (uint64_t)stream * 0xd1b54a32d192ed03u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return (uint32_t)(x >> 32);
}

// The same, between 0 and 1, with few digits, so that sums hardly depend on their order.
static inline float unit_noise(uint64_t i, uint32_t stream)
{
    return (float)(noise(i, stream) >> 20) / 4096.0f;
}

// Compares the GPU's value with the host's. Integers must be equal; floating-point sums may differ
// slightly, because their order may differ.
static inline bool near(int found, int wanted)
{
    return found == wanted;
}
static inline bool near(double found, double wanted)
{
    return fabs(found - wanted) <= 1e-4 * fmax(1.0, fabs(wanted));
}
static inline bool near(float found, float wanted)
{
    return near((double)found, (double)wanted);
}
static inline bool near(float4 found, float4 wanted)
{
    return near(found.x, wanted.x) && near(found.y, wanted.y) && near(found.z, wanted.z) &&
           near(found.w, wanted.w);
}

// The accessed bytes of an array, as one bit per byte.
struct touched_bytes {
    std::vector<uint64_t> words;

    // Accesses are aligned to their size, so their bits lie in one word.
    void set(size_t offset, size_t bytes)
    {
        words[offset / 64] |= ((1ull << bytes) - 1) << (offset % 64);
    }
};

// Returns how many elements of a given size were accessed according to either of the two.
static inline uint64_t pieces(const touched_bytes &a, const touched_bytes &b, unsigned bytes)
{
    uint64_t count = 0, mask = (1ull << bytes) - 1;
    for (size_t i = 0; i < a.words.size(); i++) {
        for (uint64_t word = a.words[i] | b.words[i]; word; word = word >> bytes)
            count += (word & mask) != 0;
    }
    return count;
}

// What is known about an array, independent of its type.
struct buffer {
    char name[48]; // KERNEL.NAME, the name that the program gives glint
    void *memory = nullptr;
    size_t bytes = 0;
    bool is_result = true; // zeroed before each launch; false: an input, which is only read
    bool is_variable = false;
    uint64_t read_bytes = 0, written_bytes = 0; // each access counts
    touched_bytes read, written;
    std::vector<uint32_t> accesses[3]; // per element of 4, 8 or 16 bytes

    virtual void fetch() = 0;              // copies the kernel's result to the host
    virtual uint64_t hash() const = 0;     // of the result
    virtual size_t wrong_sums() const = 0; // elements that differ from the sums of add()

    void tell(const char *kernel) const // prints the lines "expect" and "counts" of kernels.cu
    {
        const uint64_t numbers[] = {
            read_bytes,
            written_bytes,
            pieces(read, written, 4),
            pieces(read, written, 8),
            pieces(read, written, 16),
            pieces(read, read, 1),
            pieces(written, written, 1),
        };
        printf("expect %s %s", kernel, name);
        for (uint64_t number : numbers)
            printf(" %llu", (unsigned long long)number);
        printf(" %p\n", memory);
        for (int k = 0; k < 3; k++) {
            const std::vector<uint32_t> &counts = accesses[k];
            uint64_t sum = 0;
            size_t most_at = 0;
            for (size_t i = 0; i < counts.size(); i++) {
                sum += counts[i];
                if (counts[i] > counts[most_at])
                    most_at = i;
            }
            printf("counts %s %s %d %llu %u %zu\n", kernel, name, 4 << k, (unsigned long long)sum,
                   counts[most_at], most_at);
        }
    }

  protected:
    ~buffer() = default;
};

// One run of one kernel.
struct bench {
    // Options of the command line.
    double scale = 1;      // size relative to that for a large GPU
    int repeats = 5;       // number of timed launches; the fastest counts
    bool expects = false;  // print what probes must find; every unit then runs on the host
    void *flush = nullptr; // memory that is filled before each launch
    size_t flush_bytes = 0;

    const char *kernel = nullptr;
    std::vector<buffer *> buffers;
    double best_ms = INFINITY;
    size_t wrong = 0;

    // Sizes at this scale. The work is proportional to it, whether work grows with n, n^2 or n^3.
    int linear(int n) const
    {
        return sized(n, scale);
    }
    int square(int n) const
    {
        return sized(n, sqrt(scale));
    }
    int cube(int n) const
    {
        return sized(n, cbrt(scale));
    }

    // The events surround only the launch, so the time includes work that a tool adds to the stream
    // before and after the kernel. The fill before them keeps the GPU busy until everything is
    // submitted, so that host time is not measured. It also evicts the caches.
    template <class F> void measure(F launch)
    {
        cudaEvent_t start, stop;
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
        for (int i = 0; i <= repeats; i++) { // the first launch loads the kernel, and is not timed
            for (buffer *one : buffers) {
                if (one->is_result)
                    CHECK(cudaMemsetAsync(one->memory, 0, one->bytes, 0));
            }
            CHECK(cudaMemsetAsync(flush, 0, flush_bytes, 0));
            CHECK(cudaEventRecord(start));
            launch();
            CHECK(cudaGetLastError());
            CHECK(cudaEventRecord(stop));
            CHECK(cudaEventSynchronize(stop));
            float ms;
            CHECK(cudaEventElapsedTime(&ms, start, stop));
            if (i > 0 && ms < best_ms)
                best_ms = ms;
        }
        CHECK(cudaEventDestroy(start));
        CHECK(cudaEventDestroy(stop));
        for (buffer *one : buffers) {
            if (one->is_result)
                one->fetch();
        }
    }

    // Runs units on the host: all of them if expectations are printed, else a sample. Each unit
    // makes about this many accesses.
    template <class F> void check(size_t units, double accesses, F unit)
    {
        size_t step = 1;
        if (!expects && (double)units * accesses > 2e6)
            step = (size_t)((double)units * accesses / 2e6) | 1;
        for (size_t i = 0; i < units; i += step)
            unit(i);
        report();
    }

    // Runs all units, because the sums of add() need all.
    template <class F> void check_all(size_t units, F unit)
    {
        for (size_t i = 0; i < units; i++)
            unit(i);
        for (buffer *one : buffers)
            wrong += one->wrong_sums();
        report();
    }

  private:
    void report() const
    {
        uint64_t hash = 0;
        for (const buffer *one : buffers) {
            if (one->is_result)
                hash = hash * 31 + one->hash();
        }
        if (wrong)
            printf("kernel %s %.4f WRONG\n", kernel, best_ms);
        else
            printf("kernel %s %.4f %016llx\n", kernel, best_ms, (unsigned long long)hash);
        for (const buffer *one : buffers) {
            if (expects)
                one->tell(kernel);
        }
        fflush(stdout);
    }

    static int sized(int n, double divisor)
    {
        return (int)fmax(40, (double)n / divisor);
    }
};

template <class T> struct array : buffer {
    T *device;
    size_t count;

    array(bench &b, const char *array_name, size_t elements, T *variable = nullptr)
        : device(variable), count(elements), owner(b)
    {
        snprintf(name, sizeof name, "%s.%s", b.kernel, array_name);
        bytes = count * sizeof(T);
        is_variable = variable != nullptr;
        if (!variable)
            CHECK(cudaMalloc(&device, bytes));
        memory = device;
        glint_name(memory, name);
        if (b.expects) {
            read.words.resize(bytes / 64 + 1);
            written.words.resize(bytes / 64 + 1);
            for (int k = 0; k < 3; k++)
                accesses[k].resize((bytes >> (2 + k)) + 1);
        }
        b.buffers.push_back(this);
    }

    ~array()
    {
        if (!is_variable)
            CHECK(cudaFree(device));
    }

    array(const array &) = delete;
    array &operator=(const array &) = delete;

    // Makes the array an input.
    template <class F> void fill(F value)
    {
        is_result = false;
        given.resize(count);
        for (size_t i = 0; i < count; i++)
            given[i] = value(i);
        CHECK(cudaMemcpy(device, given.data(), bytes, cudaMemcpyHostToDevice));
    }

    // Each of these is one access of one thread.
    T load(size_t i)
    {
        note(i * sizeof(T), sizeof(T), true, false);
        return is_result ? T() : given[i];
    }
    template <class F, class S> F load(size_t i, F S::*field) // S is T
    {
        size_t in_element = (size_t)((char *)&(given[i].*field) - (char *)&given[i]);
        note(i * sizeof(T) + in_element, sizeof(F), true, false);
        return given[i].*field;
    }
    void store(size_t i, T value)
    {
        note(i * sizeof(T), sizeof(T), false, true);
        owner.wrong += !near(left[i], value);
    }
    void add(size_t i, T value) // atomically
    {
        note(i * sizeof(T), sizeof(T), true, true);
        sums.resize(count);
        sums[i] += value;
    }

    void fetch() override
    {
        left.resize(count);
        CHECK(cudaMemcpy(left.data(), device, bytes, cudaMemcpyDeviceToHost));
    }

    uint64_t hash() const override
    {
        uint64_t result = 0xcbf29ce484222325u;
        const char *at = (const char *)left.data();
        for (size_t i = 0; i < bytes; i += 8) {
            uint64_t word = 0;
            memcpy(&word, at + i, bytes - i < 8 ? bytes - i : 8);
            result = (result ^ word) * 0x100000001b3u;
            result ^= result >> 29;
        }
        return result;
    }

    size_t wrong_sums() const override
    {
        size_t wrong = 0;
        for (size_t i = 0; i < sums.size(); i++)
            wrong += memcmp(&sums[i], &left[i], sizeof(T)) != 0;
        return wrong;
    }

  private:
    bench &owner;
    std::vector<T> given, left, sums; // before, after, and what add() made

    void note(size_t offset, size_t size, bool reads, bool writes)
    {
        if (!owner.expects)
            return;
        if (reads) {
            read_bytes += size;
            read.set(offset, size);
        }
        if (writes) {
            written_bytes += size;
            written.set(offset, size);
        }
        for (int k = 0; k < 3; k++) {
            size_t last = (offset + size - 1) >> (2 + k);
            for (size_t i = offset >> (2 + k); i <= last; i++)
                accesses[k][i]++;
        }
    }
};

// Returns how many blocks of a size cover `count` elements.
static inline int blocks(int count, int block)
{
    return (count + block - 1) / block;
}
