// SPDX-License-Identifier: Apache-2.0
// The table of call paths: open addressing over nodes that are never moved or freed. A node is
// filled before it is published in the table by compare-and-exchange. So no reader ever sees half
// of one, and a thread that stops at any point blocks no other.
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "stack.h"

struct stack_node {
    uint64_t hash;
    uint32_t number, depth;
    uint32_t below;  // 0, or the number of the path that the Python frames belong to
    uint16_t python; // the image of the interpreter on the path; 0: none
    bool truncated;
    _Atomic bool reported;
    uint64_t frames[]; // as frame_key; with `below`, Python frames
};

enum { TABLE_SLOTS = 1 << 19, TABLE_PROBES = 64 };
enum { NODES_MOST_BYTES = 128 << 20, NODES_LEAST_BYTES = 1 << 20 };

// A path that was walked, by where it began. Any thread may write it. What was read is invalid if
// the version is odd, or has changed meanwhile.
struct recall {
    _Atomic uint32_t version, number; // number 0: nothing is kept
    _Atomic uint16_t python;          // as in the node
    _Atomic uint64_t pc, sp, fp;
    struct stack_unwind_notes notes;
};

enum { RECALLS = 1024, INTERPRETERS = 4 };

// An interpreter, by its image. One that is unloaded and loaded again is another.
struct interpreter {
    _Atomic uint32_t image; // 0: not used yet
    struct python *_Atomic python;
};

struct stack_table {
    uint64_t mapped_bytes, node_bytes;
    bool scarce;
    _Atomic bool nameless_noted;
    _Atomic uint32_t numbers, codes;
    struct interpreter interpreters[INTERPRETERS];
    _Atomic uint64_t used_bytes;        // by nodes
    _Atomic uint32_t slot[TABLE_SLOTS]; // 1 + offset of the node in words; 0: empty
    struct recall recall[RECALLS];
    struct stack_unwind unwind;
    _Alignas(64) unsigned char nodes[];
};

struct stack_table *stack_table_make(bool scarce)
{
    int saved = errno;
    size_t bytes = scarce ? NODES_LEAST_BYTES : NODES_MOST_BYTES;
    for (; bytes >= NODES_LEAST_BYTES; bytes /= 2) {
        // Only pages that are touched use physical memory.
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
        table->scarce = scarce;
        return table;
    }
    return NULL;
}

void stack_table_free(struct stack_table *table)
{
    for (unsigned i = 0; table && i < INTERPRETERS; i++)
        python_free(atomic_load(&table->interpreters[i].python));
    if (table)
        munmap(table, table->mapped_bytes);
}

// The same address in another image is another frame. Addresses have at most 57 bits, nearly always
// 47. If both parts overlap, two different frames might compare equal.
static uint64_t frame_key(const struct stack_unwind_path *path, uint32_t i)
{
    return path->pc[i] ^ (uint64_t)path->image[i] << 48;
}

// What a node is made of.
struct key {
    const uint64_t *frames;
    uint32_t depth, below;
    uint16_t python;
    bool truncated;
};

static uint64_t hash_of(const struct key *key)
{
    uint64_t hash = key->truncated | (uint64_t)key->below << 1;
    for (uint32_t i = 0; i < key->depth; i++) {
        hash = (hash ^ key->frames[i]) * UINT64_C(0x9FB21C651E98DF25);
        hash ^= hash >> 32;
    }
    return hash;
}

static bool is_path(const struct stack_node *node, uint64_t hash, const struct key *key)
{
    if (node->hash != hash || node->depth != key->depth || node->truncated != key->truncated ||
        node->below != key->below)
        return false;
    for (uint32_t i = 0; i < key->depth; i++)
        if (node->frames[i] != key->frames[i])
            return false;
    return true;
}

// Returns 1 + offset, in words, of a new node that is filled; 0: no room is left.
static uint32_t make_node(struct stack_table *table, uint64_t hash, const struct key *key)
{
    uint32_t depth = key->depth;
    uint64_t bytes = sizeof(struct stack_node) + (uint64_t)depth * sizeof(uint64_t);
    uint64_t start = atomic_load_explicit(&table->used_bytes, memory_order_relaxed);
    do {
        if (bytes > table->node_bytes - start)
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(&table->used_bytes, &start, start + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    struct stack_node *node = (struct stack_node *)(void *)(table->nodes + start);
    node->hash = hash;
    node->number = atomic_fetch_add_explicit(&table->numbers, 1, memory_order_relaxed) + 1;
    node->depth = depth;
    node->below = key->below;
    node->python = key->python;
    node->truncated = key->truncated;
    memcpy(node->frames, key->frames, depth * sizeof(uint64_t));
    return (uint32_t)(start / sizeof(uint64_t)) + 1;
}

static struct stack_node *node_at(struct stack_table *table, uint32_t place)
{
    return (struct stack_node *)(void *)(table->nodes + (uint64_t)(place - 1) * sizeof(uint64_t));
}

// Returns the path's node, made if there is none; NULL: there is no room.
static struct stack_node *intern(struct stack_table *table, const struct key *key)
{
    uint64_t hash = hash_of(key);
    uint32_t made = 0;
    for (uint32_t i = 0; i < TABLE_PROBES; i++) {
        _Atomic uint32_t *slot = &table->slot[(hash + i) & (TABLE_SLOTS - 1)];
        uint32_t there = atomic_load_explicit(slot, memory_order_acquire);
        if (!there) {
            if (!made && !(made = make_node(table, hash, key)))
                return NULL;
            if (atomic_compare_exchange_strong_explicit(slot, &there, made, memory_order_acq_rel,
                                                        memory_order_acquire))
                return node_at(table, made);
            // Another thread was first, perhaps with the same path; this node is then wasted.
        }
        struct stack_node *node = node_at(table, there);
        if (is_path(node, hash, key))
            return node;
    }
    return NULL;
}

// Release: a thread that sees this flag writes its own record behind that of the path.
static void set_reported(struct stack_node *node)
{
    atomic_store_explicit(&node->reported, true, memory_order_release);
}

static bool tell(struct stack_table *table, struct event_ring *ring, struct stack_node *node,
                 const struct stack_unwind_path *path)
{
    for (uint32_t i = 0; i < path->depth; i++)
        if (path->image[i] && !stack_images_tell(&table->unwind.images, path->image[i], ring))
            return false;
    struct event_stack stack = {node->number, node->depth, node->truncated};
    if (!event_put(ring, EVENT_STACK, &stack, sizeof(stack), path->pc,
                   node->depth * sizeof(uint64_t)))
        return false;
    set_reported(node);
    return true;
}

// --- Python --------------------------------------------------------------------------------------

static const struct stack_images_image *image_at(const struct stack_table *table, uint32_t number)
{
    return stack_images_at(&table->unwind.images, number);
}

// Returns the image of the interpreter on the path; 0: none. A path that ends early may have left
// it out; then the one in the executable is taken, which is always there.
static uint16_t interpreter_on(const struct stack_table *table,
                               const struct stack_unwind_path *path)
{
    uint16_t nameless = 0;
    for (uint32_t i = 0; i < path->depth; i++) {
        const uint16_t image = path->image[i];
        const uint8_t kind = image ? image_at(table, image)->python : PYTHON_NONE;
        if (kind == PYTHON_FOUND)
            return image;
        if (kind == PYTHON_NAMELESS)
            nameless = image;
    }
    for (unsigned i = 0; path->truncated && i < INTERPRETERS; i++) {
        const uint32_t image = atomic_load(&table->interpreters[i].image);
        if (image && image_at(table, image)->stays)
            return (uint16_t)image;
    }
    return nameless;
}

// Returns the interpreter in the image; NULL: it cannot be used.
static struct python *interpreter_in(struct stack_table *table, uint16_t image)
{
    for (unsigned i = 0; i < INTERPRETERS; i++) {
        struct interpreter *place = &table->interpreters[i];
        uint32_t there = 0;
        if (!atomic_compare_exchange_strong(&place->image, &there, image) && there != image)
            continue;
        struct python *python = atomic_load_explicit(&place->python, memory_order_acquire);
        if (python)
            return python;
        struct python *made =
            python_make(image_at(table, image)->link_map, table->scarce, &table->codes);
        if (!made || atomic_compare_exchange_strong(&place->python, &python, made))
            return made;
        python_free(made); // another thread was first
        return python;
    }
    return NULL;
}

// Returns the number of the path with the thread's Python frames above the path `number`, which is
// returned if there are none, or they cannot be recorded. Not inlined, because its frame is large.
static __attribute__((noinline)) uint32_t above(struct stack_table *table, struct event_ring *ring,
                                                uint32_t number, uint16_t image, bool in_signal)
{
    if (image_at(table, image)->python == PYTHON_NAMELESS) {
        if (!atomic_exchange(&table->nameless_noted, true))
            python_note_nameless(ring);
        return number;
    }
    uint64_t frames[PYTHON_FRAMES_MOST];
    struct key key = {.frames = frames, .below = number};
    struct python *python = interpreter_in(table, image);
    key.depth = python ? python_frames(python, ring, in_signal, frames, &key.truncated) : 0;
    struct stack_node *node = key.depth ? intern(table, &key) : NULL;
    if (!node)
        return number;
    if (!atomic_load_explicit(&node->reported, memory_order_acquire)) {
        const struct event_python event = {node->number, number, node->depth, node->truncated};
        if (!event_put(ring, EVENT_PYTHON, &event, sizeof(event), frames,
                       node->depth * sizeof(uint64_t)))
            return number;
        set_reported(node);
    }
    return node->number;
}

// --- Recently walked paths -----------------------------------------------------------------------

// Calls in a loop mostly have the same stack. If every word that the earlier walk has read is
// unchanged, the path is the same. Comparing takes a tenth of the time of a walk.

static struct recall *recall_of(struct stack_table *table,
                                const struct stack_unwind_registers *from)
{
    uint64_t hash = (from->pc ^ from->sp << 7) * UINT64_C(0x9FB21C651E98DF25);
    return &table->recall[hash >> 40 & (RECALLS - 1)];
}

#define READ(field) atomic_load_explicit(&(field), memory_order_relaxed)

// Reads the version again, after all reads above.
static uint32_t version_after_reading(struct recall *recall)
{
#ifdef __SANITIZE_THREAD__ // it does not know fences; this operation adds nothing, and takes longer
    return atomic_fetch_add_explicit(&recall->version, 0, memory_order_acq_rel);
#else
    atomic_thread_fence(memory_order_acquire);
    return READ(recall->version);
#endif
}

// Returns whether the words of the stack are unchanged. The loop has no branch per word, so that
// the processor can overlap the reads. The words lie within the stack, but may be anything by now,
// also memory that the address sanitizer has poisoned between variables.
__attribute__((no_sanitize_address)) static inline bool are_same(const struct recall *recall,
                                                                 uint32_t loads, uint64_t sp)
{
    const struct stack_unwind_bounds bounds = stack_unwind_bounds_from(sp);
    const uint64_t *words = (const uint64_t *)(uintptr_t)sp; // NOLINT(performance-no-int-to-ptr)
    if (sp % sizeof(*words) || bounds.high < sp + sizeof(*words))
        return false;
    const uint64_t count = (bounds.high - sp) / sizeof(*words);
    uint64_t differences = 0;
    for (uint32_t i = 0; i < loads; i++) {
        const uint64_t place = READ(recall->notes.loads[i].place);
        const bool good = place < count;
        differences |= (words[good ? place : 0] ^ READ(recall->notes.loads[i].value)) | !good;
    }
    return !differences;
}

// Checks the images that may be unloaded. Not inlined, because most paths have none.
static __attribute__((noinline)) bool are_there(struct stack_table *table, struct recall *recall,
                                                uint32_t version)
{
    const uint32_t moving = READ(recall->notes.moving_count);
    uint32_t images[UNWIND_MOVING];
    uint64_t pcs[UNWIND_MOVING];
    for (uint32_t i = 0; i < moving && i < UNWIND_MOVING; i++) {
        images[i] = READ(recall->notes.moving[i].image);
        pcs[i] = READ(recall->notes.moving[i].pc);
    }
    if (version_after_reading(recall) != version)
        return false;
    for (uint32_t i = 0; i < moving; i++)
        if (!stack_images_is_at(&table->unwind.images, images[i], pcs[i] - 1))
            return false;
    return true;
}

// A path of return addresses; number 0: unknown.
struct native {
    uint32_t number;
    uint16_t python; // the image of the interpreter on it; 0: none
};

// Returns the kept path. Only recorded paths are kept.
static inline struct native recalled(struct stack_table *table,
                                     const struct stack_unwind_registers *from)
{
    const struct native none = {0, 0};
    struct recall *recall = recall_of(table, from);
    const uint32_t version = atomic_load_explicit(&recall->version, memory_order_acquire);
    const struct stack_unwind_notes *notes = &recall->notes;
    const uint32_t loads = READ(notes->load_count), moving = READ(notes->moving_count);
    if (version % 2 || !loads || loads > UNWIND_LOADS || READ(recall->pc) != from->pc ||
        READ(recall->sp) != from->sp || (READ(notes->needs_fp) && READ(recall->fp) != from->fp) ||
        !are_same(recall, loads, from->sp))
        return none;
    const struct native native = {READ(recall->number), READ(recall->python)};
    if (version_after_reading(recall) != version)
        return none;
    return moving && !are_there(table, recall, version) ? none : native;
}

// Release: must not be visible before the version is odd.
#define WRITE(field, value) atomic_store_explicit(&(field), value, memory_order_release)

// Reserves the place of the path for a walk, whose notes go there; NULL: another thread writes it,
// or a signal handler has interrupted that.
static struct recall *begin_recall(struct stack_table *table,
                                   const struct stack_unwind_registers *from)
{
    struct recall *recall = recall_of(table, from);
    uint32_t version = READ(recall->version);
    if (version % 2 ||
        !atomic_compare_exchange_strong_explicit(&recall->version, &version, version + 1,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return NULL;
    WRITE(recall->number, 0);
    WRITE(recall->pc, from->pc);
    WRITE(recall->sp, from->sp);
    WRITE(recall->fp, from->fp);
    return recall;
}

// Keeps the node's number, if the notes are all that determines the path.
static void end_recall(struct recall *recall, const struct stack_unwind_path *path,
                       const struct stack_node *node)
{
    if (node && !path->truncated && !path->slow && READ(recall->notes.load_count) <= UNWIND_LOADS &&
        READ(recall->notes.moving_count) <= UNWIND_MOVING) {
        WRITE(recall->number, node->number);
        WRITE(recall->python, node->python);
    }
    atomic_store_explicit(&recall->version, READ(recall->version) + 1, memory_order_release);
}

static struct stack_node *told_node(struct stack_table *table, struct event_ring *ring,
                                    const struct stack_unwind_path *path)
{
    uint64_t frames[UNWIND_MOST];
    for (uint32_t i = 0; i < path->depth; i++)
        frames[i] = frame_key(path, i);
    const struct key key = {.frames = frames,
                            .depth = path->depth,
                            .python = interpreter_on(table, path),
                            .truncated = path->truncated};
    struct stack_node *node = intern(table, &key);
    return node && (atomic_load_explicit(&node->reported, memory_order_acquire) ||
                    tell(table, ring, node, path))
               ? node
               : NULL;
}

// Not inlined, because its frame is large.
static __attribute__((noinline)) struct native walked(struct stack_table *table,
                                                      struct event_ring *ring,
                                                      const struct stack_unwind_registers *from)
{
    struct stack_unwind_path path;
    struct recall *recall = begin_recall(table, from);
    stack_unwind_from(&table->unwind, *from, &path, recall ? &recall->notes : NULL);
    struct stack_node *node = told_node(table, ring, &path);
    if (recall)
        end_recall(recall, &path, node);
    return node ? (struct native){node->number, node->python} : (struct native){0, 0};
}

uint32_t stack_from(struct stack_table *table, struct event_ring *ring,
                    struct stack_unwind_registers from)
{
    struct native native = recalled(table, &from);
    if (!native.number)
        native = walked(table, ring, &from);
    return native.python ? above(table, ring, native.number, native.python, false) : native.number;
}

uint32_t stack_interrupted(struct stack_table *table, struct event_ring *ring,
                           struct stack_unwind_registers from, uint64_t link)
{
    struct stack_unwind_path path;
    stack_unwind_interrupted(&table->unwind, from, link, &path);
    const struct stack_node *node = told_node(table, ring, &path);
    if (!node)
        return 0;
    return node->python ? above(table, ring, node->number, node->python, true) : node->number;
}

uint32_t stack_of(struct stack_table *table, struct event_ring *ring, const uint64_t *frames,
                  uint32_t depth, bool truncated)
{
    const int saved = errno;
    struct stack_unwind_path path = {.depth = depth, .truncated = truncated};
    for (uint32_t i = 0; i < depth; i++) {
        path.pc[i] = frames[i];
        path.image[i] = (uint16_t)stack_images_find(&table->unwind.images, frames[i] - 1);
    }
    const struct stack_node *node = told_node(table, ring, &path);
    errno = saved;
    return node ? node->number : 0;
}

void stack_walk(struct stack_table *table, struct stack_unwind_registers from,
                struct stack_unwind_path *path)
{
    stack_unwind_from(&table->unwind, from, path, NULL);
}

const struct stack_images *stack_images(const struct stack_table *table)
{
    return &table->unwind.images;
}
