// SPDX-License-Identifier: Apache-2.0
// The table of call paths: open addressing over nodes that are never moved or freed. A node is
// filled before its place in the table is taken, by compare and exchange, so no reader ever sees
// half of one, and a thread that stops at any point holds up nobody.
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "stack.h"

struct node {
    uint64_t hash;
    uint32_t number, depth;
    bool truncated;
    _Atomic bool told;
    uint64_t frames[]; // as frame_key
};

enum { TABLE_SLOTS = 1 << 19, TABLE_PROBES = 64 };
enum { NODES_MOST_BYTES = 128 << 20, NODES_LEAST_BYTES = 1 << 20 };

struct stack_table {
    uint64_t mapped_bytes, node_bytes;
    _Atomic uint32_t numbers;
    _Atomic uint64_t used_bytes;        // of the nodes
    _Atomic uint32_t slot[TABLE_SLOTS]; // where the node is, in words from the first, + 1; 0: empty
    struct unwind unwind;
    _Alignas(64) unsigned char nodes[];
};

struct stack_table *stack_table_make(bool scarce)
{
    int saved = errno;
    size_t bytes = scarce ? NODES_LEAST_BYTES : NODES_MOST_BYTES;
    for (; bytes >= NODES_LEAST_BYTES; bytes /= 2) {
        // Only what is touched takes memory.
        size_t all = sizeof(struct stack_table) + bytes;
        void *memory = mmap(NULL, all, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            errno = saved;
            continue;
        }
        struct stack_table *table = memory;
        table->mapped_bytes = all;
        table->node_bytes = bytes;
        return table;
    }
    return NULL;
}

void stack_table_free(struct stack_table *table)
{
    if (table)
        munmap(table, table->mapped_bytes);
}

// The same address in another image is another frame. Addresses have at most 57 bits, nearly always
// 47: where both parts meet, only a comparison of two already different frames could suffer.
static uint64_t frame_key(const struct unwind_path *path, uint32_t i)
{
    return path->pc[i] ^ (uint64_t)path->image[i] << 48;
}

static uint64_t hash_of(const struct unwind_path *path)
{
    uint64_t hash = path->truncated;
    for (uint32_t i = 0; i < path->depth; i++) {
        hash = (hash ^ frame_key(path, i)) * UINT64_C(0x9FB21C651E98DF25);
        hash ^= hash >> 32;
    }
    return hash;
}

static bool is_path(const struct node *node, uint64_t hash, const struct unwind_path *path)
{
    if (node->hash != hash || node->depth != path->depth || node->truncated != path->truncated)
        return false;
    for (uint32_t i = 0; i < path->depth; i++)
        if (node->frames[i] != frame_key(path, i))
            return false;
    return true;
}

// A new node, filled; 0: no room is left. Its place is in words from the first, + 1.
static uint32_t make_node(struct stack_table *table, uint64_t hash, const struct unwind_path *path)
{
    uint32_t depth = path->depth;
    uint64_t bytes = sizeof(struct node) + (uint64_t)depth * sizeof(uint64_t);
    uint64_t start = atomic_load_explicit(&table->used_bytes, memory_order_relaxed);
    do {
        if (bytes > table->node_bytes - start)
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(&table->used_bytes, &start, start + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    struct node *node = (struct node *)(void *)(table->nodes + start);
    node->hash = hash;
    node->number = atomic_fetch_add_explicit(&table->numbers, 1, memory_order_relaxed) + 1;
    node->depth = depth;
    node->truncated = path->truncated;
    for (uint32_t i = 0; i < depth; i++)
        node->frames[i] = frame_key(path, i);
    return (uint32_t)(start / sizeof(uint64_t)) + 1;
}

static struct node *node_at(struct stack_table *table, uint32_t place)
{
    return (struct node *)(void *)(table->nodes + (uint64_t)(place - 1) * sizeof(uint64_t));
}

// The path's node, made where there is none; NULL: there is no room.
static struct node *intern(struct stack_table *table, const struct unwind_path *path)
{
    uint64_t hash = hash_of(path);
    uint32_t made = 0;
    for (uint32_t i = 0; i < TABLE_PROBES; i++) {
        _Atomic uint32_t *slot = &table->slot[(hash + i) & (TABLE_SLOTS - 1)];
        uint32_t there = atomic_load_explicit(slot, memory_order_acquire);
        if (!there) {
            if (!made && !(made = make_node(table, hash, path)))
                return NULL;
            if (atomic_compare_exchange_strong_explicit(slot, &there, made, memory_order_acq_rel,
                                                        memory_order_acquire))
                return node_at(table, made);
            // Another thread was first, perhaps with the same path: then the node made is lost.
        }
        struct node *node = node_at(table, there);
        if (is_path(node, hash, path))
            return node;
    }
    return NULL;
}

static bool tell(struct stack_table *table, struct event_ring *ring, struct node *node,
                 const struct unwind_path *path)
{
    for (uint32_t i = 0; i < path->depth; i++)
        if (path->image[i] && !images_tell(&table->unwind.images, path->image[i], ring))
            return false;
    struct event_stack stack = {node->number, node->depth, node->truncated};
    if (!event_put(ring, EVENT_STACK, &stack, sizeof(stack), path->pc,
                   node->depth * sizeof(uint64_t)))
        return false;
    // Release: who sees this writes its own record behind the one above.
    atomic_store_explicit(&node->told, true, memory_order_release);
    return true;
}

uint32_t stack_from(struct stack_table *table, struct event_ring *ring,
                    struct unwind_registers from)
{
    struct unwind_path path;
    unwind_from(&table->unwind, from, &path);
    struct node *node = intern(table, &path);
    if (!node || (!atomic_load_explicit(&node->told, memory_order_acquire) &&
                  !tell(table, ring, node, &path)))
        return 0;
    return node->number;
}
