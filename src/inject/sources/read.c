// SPDX-License-Identifier: Apache-2.0
// Reads and hashes memory of the program (XXH3-128, as uses/hash.c). By the time of the second hash
// the program may have unmapped the memory, closed it, or truncated the file behind it, and another
// thread may do so at any moment. The kernel therefore copies the bytes, and fails where a load
// would raise a signal.
//
// A program may filter its system calls, and kill itself when it sees one that it does not expect.
// Nothing is read once the mode of filtering has changed. A filter that was there at the start, as
// in containers, is tried once: such filters return an error.
#include "read.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "inject/guard/kernel.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    CHUNK_BYTES = 64 << 10,
    FREE_BYTES = 256 << 20, // are read whatever it costs: less than a tenth of a second
    MOST_PART = 50,         // more is read as long as it takes a 50th of the run
};

static int seccomp_mode(void)
{
    return (int)guard_system_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0);
}

static bool copy_out(void *to, uint64_t from, uint64_t bytes)
{
    const struct iovec here = {to, bytes};
    const struct iovec there = {(void *)(uintptr_t)from, bytes}; // NOLINT
    return guard_system_call6(SYS_process_vm_readv, getpid(), (long)(uintptr_t)&here, 1,
                              (long)(uintptr_t)&there, 1, 0) == (long)bytes;
}

void sources_read_start(void)
{
    char copied = 0;
    static const char sample = 1;
    sources_state.start_ns = core_now_ns();
    sources_state.seccomp = seccomp_mode();
    sources_state.unreadable = !copy_out(&copied, (uint64_t)(uintptr_t)&sample, 1);
}

bool sources_may_read(uint64_t bytes)
{
    if (atomic_load_explicit(&sources_state.unreadable, memory_order_relaxed))
        return false;
    if (atomic_load(&sources_state.read_bytes) + bytes <= FREE_BYTES)
        return true;
    return atomic_load(&sources_state.spent_ns) * MOST_PART <
           core_now_ns() - sources_state.start_ns;
}

// A chunk is too large for the stack of a thread in a hook. One is kept for the next thread.
static char *take_chunk(void)
{
    char *chunk = atomic_exchange(&sources_state.chunk, NULL);
    return chunk ? chunk : malloc(CHUNK_BYTES);
}

static void give_chunk(char *chunk)
{
    free(atomic_exchange(&sources_state.chunk, chunk));
}

bool sources_read(uint64_t start, uint64_t bytes, sources_take *take, void *user)
{
    const uint64_t start_ns = core_now_ns();
    uint64_t done = 0;
    if (seccomp_mode() != sources_state.seccomp) {
        atomic_store(&sources_state.unreadable, true);
        return false;
    }
    char *chunk = take_chunk();
    while (chunk && done < bytes) {
        const uint64_t left = bytes - done, now = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        if (!copy_out(chunk, start + done, now))
            break;
        take(user, chunk, now);
        done += now;
    }
    const bool good = chunk && done == bytes;
    give_chunk(chunk);
    atomic_fetch_add(&sources_state.spent_ns, core_now_ns() - start_ns);
    atomic_fetch_add(&sources_state.read_bytes, done);
    return good;
}

static void add_to_hash(void *user, const char *chunk, size_t bytes)
{
    XXH3_128bits_update(user, chunk, bytes);
}

struct core_call_hash sources_hash(uint64_t start, uint64_t bytes)
{
    struct core_call_hash hash = {.known = false};
    XXH3_state_t sum;
    const uint64_t start_ns = core_now_ns();
    XXH3_128bits_reset(&sum);
    hash.known = sources_read(start, bytes, add_to_hash, &sum);
    if (hash.known) {
        const XXH128_hash_t found = XXH3_128bits_digest(&sum);
        hash.high = found.high64;
        hash.low = found.low64;
    }
    hash.took_ns = core_now_ns() - start_ns;
    return hash;
}
