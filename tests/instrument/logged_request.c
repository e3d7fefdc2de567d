// SPDX-License-Identifier: Apache-2.0
// What requests of the simulator's log take: see logged_request.h.
#include "logged_request.h"

enum { LANES = 32, SECTOR_BYTES = 32, LINE_BYTES = 128, BANKS = 32, WORD_BYTES = 4 };

void logged_request_add(struct logged_request *request, const struct gpusim_log_access *access)
{
    request->launch = access->launch;
    request->site = access->site;
    request->space = access->space;
    request->bytes = access->bytes;
    request->loads = access->kind == GPUSIM_LOG_LOAD;
    request->generic = access->generic;
    request->lanes |= access->mask;
    for (uint32_t left = access->mask; left; left &= left - 1)
        request->addresses[__builtin_ctz(left)] = access->address[__builtin_ctz(left)];
}

// Returns how many parts of that size the lanes reach.
static uint64_t parts_of(const struct logged_request *request, uint64_t size)
{
    uint64_t parts[LANES], count = 0;
    for (unsigned i = 0; i < LANES; i++) {
        const uint64_t part = request->addresses[i] / size;
        bool is_new = request->lanes >> i & 1;
        for (uint64_t k = 0; k < count && is_new; k++)
            is_new = parts[k] != part;
        if (is_new)
            parts[count++] = part;
    }
    return count;
}

// Returns how many wavefronts some lanes take that are served together: the most words that one of
// 32 banks has to deliver.
static uint64_t words_of(const struct logged_request *request, uint32_t lanes)
{
    uint64_t words[LANES * SECTOR_BYTES / WORD_BYTES], count = 0, most = 0;
    unsigned in_bank[BANKS] = {0};
    for (unsigned i = 0; i < LANES; i++) {
        if (!(request->lanes & lanes & 1u << i))
            continue;
        for (uint64_t at = request->addresses[i] / WORD_BYTES;
             at <= (request->addresses[i] + request->bytes - 1) / WORD_BYTES; at++) {
            bool is_new = true;
            for (uint64_t k = 0; k < count && is_new; k++)
                is_new = words[k] != at;
            if (!is_new)
                continue;
            words[count++] = at;
            if (++in_bank[at % BANKS] > most)
                most = in_bank[at % BANKS];
        }
    }
    return most;
}

// Returns whether each of these lanes has the address of the one whose number differs in that bit.
static bool are_pairs(const struct logged_request *request, uint32_t lanes, unsigned bit)
{
    for (unsigned i = 0; i < LANES; i++) {
        const uint32_t both = 1u << i | 1u << (i ^ bit);
        if ((request->lanes & lanes & both) == both &&
            request->addresses[i] != request->addresses[i ^ bit])
            return false;
    }
    return true;
}

static uint64_t wavefronts_of(const struct logged_request *request)
{
    if (request->bytes != 8 && request->bytes != 16)
        return words_of(request, ~0u);
    const unsigned width = BANKS * WORD_BYTES / request->bytes;
    uint64_t sum = 0;
    for (unsigned first = 0; first < LANES; first += 2 * width) {
        const uint32_t low = ((1u << width) - 1) << first, both = low | low << width;
        if (request->loads && (are_pairs(request, both, 1) || are_pairs(request, both, 2)) &&
            words_of(request, both) == 1)
            sum++;
        else
            sum += words_of(request, low) + words_of(request, both & ~low);
    }
    return sum;
}

// Adds a request to local memory: its words are interleaved, so that those that the lanes of a warp
// have at one offset are a line. Each word is a part of its own.
static void sum_local(const struct logged_request *request,
                      uint64_t sums[INSTRUMENT_REQUEST_TALLIES])
{
    const uint32_t words = request->bytes < WORD_BYTES ? 1 : request->bytes / WORD_BYTES;
    for (uint32_t word = 0; word < words; word++) {
        struct logged_request own = *request, least = *request;
        for (unsigned lane = 0; lane < LANES; lane++) {
            own.addresses[lane] =
                ((request->addresses[lane] / WORD_BYTES + word) * LANES + lane) * WORD_BYTES;
            least.addresses[lane] = (uint64_t)lane * WORD_BYTES;
        }
        sums[INSTRUMENT_REQUEST_SECTORS] += parts_of(&own, SECTOR_BYTES);
        sums[INSTRUMENT_REQUEST_NEEDED] += parts_of(&least, SECTOR_BYTES);
        sums[INSTRUMENT_REQUEST_LINES] += parts_of(&own, LINE_BYTES);
    }
    sums[INSTRUMENT_REQUEST_COUNT]++;
}

void logged_request_sum(const struct logged_request *request,
                        uint64_t sums[INSTRUMENT_REQUEST_TALLIES])
{
    if (request->bytes > SECTOR_BYTES) // a bulk copy
        return;
    if (request->space == GPUSIM_LOG_LOCAL) {
        sum_local(request, sums);
        return;
    }
    const bool shared = request->space == GPUSIM_LOG_SHARED;
    const uint64_t bytes = (uint64_t)__builtin_popcount(request->lanes) * request->bytes;
    const uint64_t unit = shared ? BANKS * WORD_BYTES : SECTOR_BYTES;
    const uint64_t taken = shared ? wavefronts_of(request) : parts_of(request, SECTOR_BYTES);
    const uint64_t needed = (bytes + unit - 1) / unit;
    sums[INSTRUMENT_REQUEST_COUNT]++;
    sums[INSTRUMENT_REQUEST_SECTORS] += taken;
    sums[INSTRUMENT_REQUEST_NEEDED] += needed < taken ? needed : taken;
    if (!shared)
        sums[INSTRUMENT_REQUEST_LINES] += parts_of(request, LINE_BYTES);
}
