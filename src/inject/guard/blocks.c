// SPDX-License-Identifier: Apache-2.0
// To read or change a block, a thread exchanges its key for 1, and writes the key, or 0, last.
#include "blocks.h"

#include <sched.h>
#include <stddef.h>
#include <time.h>

enum { FREE = 0, TAKEN = 1, TRIES = 1000 };

static struct guard_block *block_at(struct guard_blocks *blocks, unsigned place)
{
    return &blocks->blocks[place / BLOCKS_WAYS][place % BLOCKS_WAYS];
}

static _Atomic uint64_t *key_at(struct guard_blocks *blocks, unsigned place)
{
    return &blocks->keys[place / BLOCKS_WAYS][place % BLOCKS_WAYS];
}

// Pauses before another try, because the thread that changes the entry may have been preempted. All
// tries together take at most about 50 ms.
static void pause_before(unsigned tries)
{
    const struct timespec a_while = {.tv_nsec = 100000};
    if (tries > TRIES / 2)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &a_while, NULL); // which keeps errno
    else if (tries > TRIES / 10)
        sched_yield();
}

static bool exchange(_Atomic uint64_t *key, uint64_t from)
{
    return atomic_compare_exchange_strong(key, &from, TAKEN);
}

static void mark_used(struct guard_blocks *blocks, unsigned set)
{
    atomic_fetch_or(&blocks->used[set / 64], UINT64_C(1) << set % 64);
}

static bool is_empty(struct guard_blocks *blocks, unsigned set)
{
    for (unsigned way = 0; way < BLOCKS_WAYS; way++) {
        if (atomic_load(&blocks->keys[set][way]))
            return false;
    }
    return true;
}

// A thread that adds a block takes its place before it marks the set, so one of the two threads
// sees the other's change.
static void leave(struct guard_blocks *blocks, unsigned place)
{
    const unsigned set = place / BLOCKS_WAYS;
    atomic_store(key_at(blocks, place), FREE);
    if (!is_empty(blocks, set))
        return;
    atomic_fetch_and(&blocks->used[set / 64], ~(UINT64_C(1) << set % 64));
    if (!is_empty(blocks, set))
        mark_used(blocks, set);
}

// Takes a place of the set: that of the same address, a free one, or another's.
static int take_place(struct guard_blocks *blocks, unsigned set, uint64_t address)
{
    for (unsigned way = 0; way < BLOCKS_WAYS; way++) {
        if (exchange(&blocks->keys[set][way], address))
            return (int)way;
    }
    for (unsigned way = 0; way < BLOCKS_WAYS; way++) {
        if (exchange(&blocks->keys[set][way], FREE))
            return (int)way;
    }
    for (unsigned i = 0; i < BLOCKS_WAYS; i++) {
        const unsigned way = atomic_fetch_add(&blocks->turn, 1) % BLOCKS_WAYS;
        const uint64_t key = atomic_load(&blocks->keys[set][way]);
        if (key != TAKEN && exchange(&blocks->keys[set][way], key))
            return (int)way;
    }
    return -1;
}

void guard_blocks_put(struct guard_blocks *blocks, const struct guard_block *block)
{
    const unsigned set = guard_blocks_set_of(block->address);
    const int way = take_place(blocks, set, block->address);
    if (way < 0)
        return;
    blocks->blocks[set][way] = *block;
    atomic_store_explicit(&blocks->bytes[set][way], block->bytes, memory_order_relaxed);
    mark_used(blocks, set);
    atomic_fetch_add(&blocks->puts, 1);
    atomic_store(&blocks->keys[set][way], block->address);
}

bool guard_blocks_take(struct guard_blocks *blocks, uint64_t address, struct guard_block *taken)
{
    const unsigned set = guard_blocks_set_of(address);
    bool busy = true;
    for (unsigned i = 0; busy && i < TRIES; i++) {
        pause_before(i);
        busy = false;
        for (unsigned way = 0; way < BLOCKS_WAYS; way++) {
            _Atomic uint64_t *key = &blocks->keys[set][way];
            const uint64_t now = atomic_load_explicit(key, memory_order_relaxed);
            busy |= now == TAKEN;
            if (now != address || !exchange(key, address))
                continue;
            *taken = blocks->blocks[set][way];
            leave(blocks, set * BLOCKS_WAYS + way);
            return true;
        }
    }
    return false;
}

// Returns the place of the innermost block that overlaps the range; -1: none; -2: a thread is
// changing an entry that may.
static int look(struct guard_blocks *blocks, uint64_t low, uint64_t high)
{
    int found = -1;
    bool busy = false;
    uint64_t best = 0;
    for (unsigned word = 0; word < BLOCKS_SETS / 64; word++) {
        uint64_t used = atomic_load_explicit(&blocks->used[word], memory_order_relaxed);
        for (; used; used &= used - 1) {
            const unsigned set = word * 64 + (unsigned)__builtin_ctzll(used);
            for (unsigned way = 0; way < BLOCKS_WAYS; way++) {
                const uint64_t key =
                    atomic_load_explicit(&blocks->keys[set][way], memory_order_acquire);
                busy |= key == TAKEN;
                if (key > best && key < high &&
                    key + atomic_load_explicit(&blocks->bytes[set][way], memory_order_relaxed) >
                        low) {
                    best = key;
                    found = (int)(set * BLOCKS_WAYS + way);
                }
            }
        }
    }
    return busy && found < 0 ? -2 : found;
}

bool guard_blocks_take_overlap(struct guard_blocks *blocks, uint64_t low, uint64_t high,
                               struct guard_block *taken)
{
    for (unsigned i = 0; i < TRIES; i++) {
        pause_before(i);
        const int place = look(blocks, low, high);
        if (place == -1)
            return false;
        if (place < 0)
            continue;
        const uint64_t key = atomic_load(key_at(blocks, (unsigned)place));
        if (key == TAKEN || !exchange(key_at(blocks, (unsigned)place), key))
            continue;
        *taken = *block_at(blocks, (unsigned)place);
        if (taken->address < high && taken->address + taken->bytes > low) {
            leave(blocks, (unsigned)place);
            return true;
        }
        atomic_store(key_at(blocks, (unsigned)place), key); // it is now another block's
    }
    return false;
}

// --- Finding -------------------------------------------------------------------------------------

static struct guard_block *borrow_at(struct guard_blocks *blocks, unsigned place, uint64_t address)
{
    const uint64_t key = atomic_load(key_at(blocks, place));
    if (key <= TAKEN || !exchange(key_at(blocks, place), key))
        return NULL;
    struct guard_block *block = block_at(blocks, place);
    if (address - block->address < block->bytes)
        return block;
    atomic_store(key_at(blocks, place), key);
    return NULL;
}

enum { PLACE_BITS = 16 };

static uint64_t mix(uint64_t value)
{
    value *= UINT64_C(0x9FB21C651E98DF25);
    return value ^ value >> 32;
}

struct guard_block *guard_blocks_borrow(struct guard_blocks *blocks, uint64_t address)
{
    const unsigned recall = (unsigned)(mix(address) % BLOCKS_RECALLS);
    _Atomic uint64_t *const found = &blocks->recalls[recall].found;
    _Atomic uint64_t *const check = &blocks->recalls[recall].check;
    const uint64_t last = atomic_load(found);
    if (atomic_load(check) == (address ^ mix(last)) &&
        last >> PLACE_BITS == atomic_load(&blocks->puts)) {
        const unsigned place = last % (1u << PLACE_BITS);
        struct guard_block *block = place ? borrow_at(blocks, place - 1, address) : NULL;
        if (block || !place)
            return block;
    }
    for (unsigned i = 0; i < TRIES; i++) {
        pause_before(i);
        const uint64_t puts = atomic_load(&blocks->puts);
        const int place = look(blocks, address, address + 1);
        struct guard_block *block = place >= 0 ? borrow_at(blocks, (unsigned)place, address) : NULL;
        if (!block && place != -1)
            continue;
        const uint64_t now = puts << PLACE_BITS | (uint64_t)(place + 1);
        atomic_store(found, now);
        atomic_store(check, address ^ mix(now));
        return block;
    }
    return NULL;
}

void guard_blocks_give_back(struct guard_blocks *blocks, struct guard_block *block)
{
    const ptrdiff_t place = block - &blocks->blocks[0][0];
    atomic_store(key_at(blocks, (unsigned)place), block->address);
}

void guard_blocks_forked(struct guard_blocks *blocks)
{
    for (unsigned place = 0; place < BLOCKS_SETS * BLOCKS_WAYS; place++)
        if (atomic_load_explicit(key_at(blocks, place), memory_order_relaxed) == TAKEN)
            leave(blocks, place);
}
