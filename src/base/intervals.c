// SPDX-License-Identifier: Apache-2.0
// The interval map as a B+ tree: ranges lie in linked leaves of about a kilobyte, sorted by start,
// and inner nodes hold only separators. As ranges never overlap, order by start is order by last
// too, so a tree of starts answers every query. A binary tree would have twenty levels, with a
// cache miss on each, instead of four, and need twice the memory.
#include "intervals.h"

#include <stdlib.h>
#include <string.h>

#include "search.h"

// Both kinds of node fill the 1008 bytes that malloc rounds to 1024.
#define LEAF_RANGES    41
#define INNER_CHILDREN 62

// A node that is less than a quarter full is merged with a neighbor if the result is at most three
// quarters full. The free space prevents an immediate split.
#define FEW(capacity)    ((capacity) / 4)
#define MERGED(capacity) ((capacity)*3 / 4)

// More than enough: a higher tree would have more nodes than memory has bytes.
#define HEIGHT_LIMIT 16

// More empty nodes than these are freed.
#define SPARES_KEPT 4

struct base_intervals_node {
    size_t count; // ranges or children; 0 only temporarily, during a removal
    union {
        struct {
            struct base_intervals_node *below, *above; // the neighboring leaves; also links spares
            struct base_interval ranges[LEAF_RANGES];
        };
        struct {
            // For i > 0: starts in children[i - 1] < keys[i] <= starts in children[i]. keys[0] has
            // no meaning. A key need not be the start of a range that still exists.
            uint64_t keys[INNER_CHILDREN];
            struct base_intervals_node *children[INNER_CHILDREN];
        };
    };
};

_Static_assert(sizeof(struct base_intervals_node) == 1008, "a node wastes no memory");

// The path from the root to a leaf: nodes[height] is the leaf, places[level] the index of the child
// on the path. In the leaf the place is the number of ranges that begin at or below the address.
struct path {
    struct base_intervals_node *nodes[HEIGHT_LIMIT + 1];
    size_t places[HEIGHT_LIMIT + 1];
};

void base_intervals_init(struct base_intervals *map, size_t limit_bytes)
{
    memset(map, 0, sizeof(*map));
    map->limit_bytes = limit_bytes;
}

static void free_tree(struct base_intervals_node *node, unsigned height)
{
    for (size_t i = 0; height && i < node->count; i++)
        free_tree(node->children[i], height - 1);
    free(node);
}

void base_intervals_fini(struct base_intervals *map)
{
    if (map->root)
        free_tree(map->root, map->height);
    while (map->spare) {
        struct base_intervals_node *next = map->spare->above;
        free(map->spare);
        map->spare = next;
    }
    base_intervals_init(map, map->limit_bytes);
}

// --- Nodes: allocated in advance, so that a change that has begun cannot fail --------------------

static bool reserve(struct base_intervals *map, size_t nodes)
{
    const size_t bytes = sizeof(struct base_intervals_node);
    if (map->height == HEIGHT_LIMIT)
        return false;
    while (map->spare_count < nodes) {
        if (map->limit_bytes &&
            (bytes > map->limit_bytes || map->allocated_bytes > map->limit_bytes - bytes))
            return false;
        struct base_intervals_node *node = malloc(bytes);
        if (!node)
            return false;
        node->above = map->spare;
        map->spare = node;
        map->spare_count++;
        map->allocated_bytes += bytes;
    }
    return true;
}

static struct base_intervals_node *take(struct base_intervals *map)
{
    struct base_intervals_node *node = map->spare;
    map->spare = node->above;
    map->spare_count--;
    node->count = 0;
    return node;
}

static void release(struct base_intervals *map, struct base_intervals_node *node)
{
    if (map->spare_count >= SPARES_KEPT) {
        free(node);
        map->allocated_bytes -= sizeof(*node);
        return;
    }
    node->above = map->spare;
    map->spare = node;
    map->spare_count++;
}

// --- Search --------------------------------------------------------------------------------------

static size_t ranges_from(const struct base_intervals_node *leaf, uint64_t address)
{
    return base_search(0, leaf->count, i, leaf->ranges[i].start <= address);
}

static size_t child_for(const struct base_intervals_node *inner, uint64_t address)
{
    return base_search(1, inner->count, i, inner->keys[i] <= address) - 1;
}

static void descend(const struct base_intervals *map, uint64_t address, struct path *path)
{
    struct base_intervals_node *node = map->root;
    for (unsigned level = 0; level < map->height; level++) {
        path->nodes[level] = node;
        path->places[level] = child_for(node, address);
        node = node->children[path->places[level]];
    }
    path->nodes[map->height] = node;
    path->places[map->height] = ranges_from(node, address);
}

static struct base_interval *end_walk(struct base_intervals_walk *walk)
{
    walk->leaf = NULL;
    return NULL;
}

// Returns the range at the walk's position, whose index may be one past the end of its leaf.
static struct base_interval *settle(struct base_intervals_walk *walk)
{
    if (walk->leaf && walk->index == walk->leaf->count) {
        walk->leaf = walk->leaf->above;
        walk->index = 0;
    }
    if (!walk->leaf || walk->leaf->ranges[walk->index].start > walk->last)
        return end_walk(walk);
    return &walk->leaf->ranges[walk->index];
}

static struct base_interval *retreat(struct base_intervals_walk *walk)
{
    if (walk->index == 0) {
        walk->leaf = walk->leaf->below;
        if (!walk->leaf)
            return NULL;
        walk->index = walk->leaf->count;
    }
    walk->index--;
    return &walk->leaf->ranges[walk->index];
}

// Returns the lowest range that ends at or above the address: the one that contains it, or the
// next. All queries use this. The path leads to where a range that begins at the address is or
// would be.
static struct base_interval *seek(const struct base_intervals *map, uint64_t address, uint64_t last,
                                  struct path *path, struct base_intervals_walk *walk)
{
    walk->last = last;
    if (!map->root)
        return end_walk(walk);
    descend(map, address, path);
    walk->leaf = path->nodes[map->height];
    walk->index = path->places[map->height];
    struct base_intervals_walk below = *walk;
    const struct base_interval *holder = retreat(&below);
    if (holder && holder->last >= address)
        *walk = below;
    return settle(walk);
}

struct base_interval *base_intervals_find(const struct base_intervals *map, uint64_t address)
{
    struct path path;
    struct base_intervals_walk walk;
    return seek(map, address, address, &path, &walk);
}

struct base_interval *base_intervals_before(const struct base_intervals *map, uint64_t address)
{
    struct path path;
    struct base_intervals_walk walk = {.last = UINT64_MAX};
    if (!map->root)
        return NULL;
    descend(map, address, &path);
    walk.leaf = path.nodes[map->height];
    walk.index = path.places[map->height];
    struct base_interval *below = retreat(&walk);
    return below && below->last >= address ? retreat(&walk) : below;
}

struct base_interval *base_intervals_after(const struct base_intervals *map, uint64_t address)
{
    struct path path;
    struct base_intervals_walk walk = {.last = UINT64_MAX};
    if (!map->root)
        return NULL;
    descend(map, address, &path);
    walk.leaf = path.nodes[map->height];
    walk.index = path.places[map->height];
    return settle(&walk);
}

struct base_interval *base_intervals_first(const struct base_intervals *map,
                                           struct base_intervals_walk *walk)
{
    struct path path;
    return seek(map, 0, UINT64_MAX, &path, walk);
}

struct base_interval *base_intervals_first_overlap(const struct base_intervals *map, uint64_t start,
                                                   uint64_t size_bytes,
                                                   struct base_intervals_walk *walk)
{
    struct path path;
    if (!size_bytes)
        return end_walk(walk);
    uint64_t last = size_bytes - 1 > UINT64_MAX - start ? UINT64_MAX : start + (size_bytes - 1);
    return seek(map, start, last, &path, walk);
}

struct base_interval *base_intervals_next(struct base_intervals_walk *walk)
{
    if (walk->leaf)
        walk->index++;
    return settle(walk);
}

// --- Insertion -----------------------------------------------------------------------------------

// Returns how many new nodes an insertion at the path needs: full nodes split, from the leaf
// upwards.
static size_t nodes_to_insert(const struct base_intervals *map, const struct path *path)
{
    if (!map->root)
        return 1;
    if (path->nodes[map->height]->count < LEAF_RANGES)
        return 0;
    size_t nodes = 1;
    for (unsigned level = map->height; level-- > 0; nodes++) {
        if (path->nodes[level]->count < INNER_CHILDREN)
            return nodes;
    }
    return nodes + 1;
}

// Moves everything from `middle` on into a new node above it.
static struct base_intervals_node *split_leaf(struct base_intervals *map,
                                              struct base_intervals_node *leaf, size_t middle)
{
    struct base_intervals_node *right = take(map);
    right->count = leaf->count - middle;
    memcpy(right->ranges, leaf->ranges + middle, right->count * sizeof(leaf->ranges[0]));
    leaf->count = middle;
    right->below = leaf;
    right->above = leaf->above;
    if (right->above)
        right->above->below = right;
    leaf->above = right;
    return right;
}

static struct base_intervals_node *split_inner(struct base_intervals *map,
                                               struct base_intervals_node *inner, size_t middle)
{
    struct base_intervals_node *right = take(map);
    right->count = inner->count - middle;
    memcpy(right->keys, inner->keys + middle, right->count * sizeof(inner->keys[0]));
    memcpy(right->children, inner->children + middle, right->count * sizeof(inner->children[0]));
    inner->count = middle;
    return right;
}

static void put_range(struct base_intervals_node *leaf, size_t place, struct base_interval range)
{
    memmove(leaf->ranges + place + 1, leaf->ranges + place,
            (leaf->count - place) * sizeof(leaf->ranges[0]));
    leaf->ranges[place] = range;
    leaf->count++;
}

static void put_child(struct base_intervals_node *inner, size_t place, uint64_t key,
                      struct base_intervals_node *child)
{
    size_t above = inner->count - place;
    memmove(inner->keys + place + 1, inner->keys + place, above * sizeof(inner->keys[0]));
    memmove(inner->children + place + 1, inner->children + place,
            above * sizeof(inner->children[0]));
    inner->keys[place] = key;
    inner->children[place] = child;
    inner->count++;
}

static void add_root(struct base_intervals *map, uint64_t key, struct base_intervals_node *right)
{
    struct base_intervals_node *root = take(map);
    put_child(root, 0, 0, map->root);
    put_child(root, 1, key, right);
    map->root = root;
    map->height++;
}

// Adds a range that overlaps none, at the path to its start. The nodes it needs are reserved.
static void add(struct base_intervals *map, const struct path *path, struct base_interval range)
{
    map->count++;
    if (!map->root) {
        map->root = take(map);
        map->root->below = map->root->above = NULL;
        put_range(map->root, 0, range);
        return;
    }
    struct base_intervals_node *leaf = path->nodes[map->height];
    size_t place = path->places[map->height];
    // Ascending addresses are common: the full node then stays full, and the next one begins empty.
    bool at_top = !leaf->above && place == leaf->count;
    if (leaf->count < LEAF_RANGES) {
        put_range(leaf, place, range);
        return;
    }
    size_t middle = at_top ? LEAF_RANGES : LEAF_RANGES / 2;
    struct base_intervals_node *right = split_leaf(map, leaf, middle);
    if (place >= middle)
        put_range(right, place - middle, range);
    else
        put_range(leaf, place, range);
    uint64_t key = right->ranges[0].start;

    for (unsigned level = map->height; level-- > 0;) {
        struct base_intervals_node *inner = path->nodes[level];
        place = path->places[level] + 1;
        if (inner->count < INNER_CHILDREN) {
            put_child(inner, place, key, right);
            return;
        }
        middle = at_top ? INNER_CHILDREN : INNER_CHILDREN / 2;
        struct base_intervals_node *beside = split_inner(map, inner, middle);
        if (place >= middle)
            put_child(beside, place - middle, key, right);
        else
            put_child(inner, place, key, right);
        right = beside;
        key = right->keys[0];
    }
    add_root(map, key, right);
}

static bool is_range(uint64_t start, uint64_t size_bytes)
{
    return size_bytes && size_bytes - 1 <= UINT64_MAX - start;
}

enum base_code base_intervals_insert(struct base_intervals *map, uint64_t start,
                                     uint64_t size_bytes, uint64_t value,
                                     struct base_interval **overlapping)
{
    if (overlapping)
        *overlapping = NULL;
    if (!is_range(start, size_bytes))
        return BASE_INVALID;
    const struct base_interval range = {start, start + (size_bytes - 1), value};
    struct path path;
    struct base_intervals_walk walk;
    struct base_interval *found = seek(map, range.start, range.last, &path, &walk);
    if (found) {
        if (overlapping)
            *overlapping = found;
        return BASE_CONFLICT;
    }
    if (!reserve(map, nodes_to_insert(map, &path)))
        return BASE_NO_MEMORY;
    add(map, &path, range);
    return BASE_OK;
}

// --- Removal -------------------------------------------------------------------------------------

static void take_child(struct base_intervals_node *inner, size_t place)
{
    size_t above = inner->count - place - 1;
    memmove(inner->keys + place, inner->keys + place + 1, above * sizeof(inner->keys[0]));
    memmove(inner->children + place, inner->children + place + 1,
            above * sizeof(inner->children[0]));
    inner->count--;
}

static void unlink_leaf(struct base_intervals_node *leaf)
{
    if (leaf->below)
        leaf->below->above = leaf->above;
    if (leaf->above)
        leaf->above->below = leaf->below;
}

// Merges children[place] into the child before it if the two fit.
static bool merge(struct base_intervals *map, struct base_intervals_node *parent, size_t place,
                  bool leaves)
{
    if (place == 0 || place >= parent->count)
        return false;
    struct base_intervals_node *left = parent->children[place - 1];
    struct base_intervals_node *right = parent->children[place];
    size_t together = left->count + right->count;
    if (left->count && right->count && together > MERGED(leaves ? LEAF_RANGES : INNER_CHILDREN))
        return false;
    if (leaves) {
        memcpy(left->ranges + left->count, right->ranges, right->count * sizeof(left->ranges[0]));
        unlink_leaf(right);
    } else {
        memcpy(left->keys + left->count, right->keys, right->count * sizeof(left->keys[0]));
        memcpy(left->children + left->count, right->children,
               right->count * sizeof(left->children[0]));
        // Its first child now needs a key, which is in the parent.
        if (right->count)
            left->keys[left->count] = parent->keys[place];
    }
    left->count = together;
    take_child(parent, place);
    release(map, right);
    return true;
}

// Removes the range at the path. Here the place in the leaf is the index of the range.
static void remove_at(struct base_intervals *map, const struct path *path)
{
    struct base_intervals_node *leaf = path->nodes[map->height];
    size_t index = path->places[map->height];
    memmove(leaf->ranges + index, leaf->ranges + index + 1,
            (leaf->count - index - 1) * sizeof(leaf->ranges[0]));
    leaf->count--;
    map->count--;

    for (unsigned level = map->height; level > 0; level--) {
        struct base_intervals_node *node = path->nodes[level];
        struct base_intervals_node *parent = path->nodes[level - 1];
        size_t place = path->places[level - 1];
        bool leaves = level == map->height;
        if (node->count >= FEW(leaves ? LEAF_RANGES : INNER_CHILDREN))
            break;
        if (node->count == 0 && parent->count == 1) {
            // There is no neighbor to merge with: the parent is empty too and is removed next.
            if (leaves)
                unlink_leaf(node);
            parent->count = 0;
            release(map, node);
        } else if (!merge(map, parent, place, leaves) && !merge(map, parent, place + 1, leaves)) {
            break;
        }
    }
    while (map->root && (map->root->count == 0 || (map->height && map->root->count == 1))) {
        struct base_intervals_node *root = map->root;
        map->root = root->count ? root->children[0] : NULL;
        map->height = root->count ? map->height - 1 : 0;
        release(map, root);
    }
}

bool base_intervals_remove(struct base_intervals *map, uint64_t start,
                           struct base_interval *removed)
{
    struct path path;
    if (!map->root)
        return false;
    descend(map, start, &path);
    size_t place = path.places[map->height];
    const struct base_intervals_node *leaf = path.nodes[map->height];
    // A range that begins at start can be in no other leaf.
    if (place == 0 || leaf->ranges[place - 1].start != start)
        return false;
    if (removed)
        *removed = leaf->ranges[place - 1];
    path.places[map->height] = place - 1;
    remove_at(map, &path);
    return true;
}

enum base_code base_intervals_remove_range(struct base_intervals *map, uint64_t start,
                                           uint64_t size_bytes)
{
    if (!is_range(start, size_bytes))
        return BASE_INVALID;
    uint64_t last = start + (size_bytes - 1);
    struct path path;
    struct base_intervals_walk walk;
    struct base_interval *range = base_intervals_find(map, last);
    // The piece above is inserted anew even if nothing remains below: moving the start in place
    // could move it past the key of the next leaf.
    bool remains = range && range->last > last;
    struct base_interval upper = {0};
    if (remains) {
        upper = (struct base_interval){last + 1, range->last, range->value};
        if (!reserve(map, map->height + 2))
            return BASE_NO_MEMORY;
    }
    range = seek(map, start, last, &path, &walk);
    if (range && range->start < start) {
        range->last = start - 1;
        range = seek(map, start, last, &path, &walk);
    }
    while (range) {
        base_intervals_remove(map, range->start, NULL);
        range = seek(map, start, last, &path, &walk);
    }
    if (remains) {
        seek(map, upper.start, upper.last, &path, &walk);
        add(map, &path, upper);
    }
    return BASE_OK;
}
