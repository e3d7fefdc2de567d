// SPDX-License-Identifier: Apache-2.0
// Makes the rows of a plan: call paths as return addresses in images with build ids. A path with an
// unknown frame makes no row, because it might match another path. Frames in CUDA's libraries are
// not part of a path (plan_is_below).
#include <stdlib.h>
#include <string.h>

#include "fix.h"

struct image {
    const char *build_id, *path;
};

// A call path. Paths that differ only inside CUDA's libraries are the same.
struct frames {
    size_t first, count;
    bool sure, truncated;
    size_t same; // index of the first path that is the same
};

struct making {
    struct fix *fix;
    struct plan *plan;
    struct base_map images; // from its number to index + 1 in image_rows
    struct base_map paths;  // from its number to index + 1 in path_rows; 0 until it is read
    BASE_ARRAY(struct image) image_rows;
    BASE_ARRAY(struct frames) path_rows;
    BASE_ARRAY(struct plan_frame) frames;
    struct base_map hashes; // from the hash of the frames to index + 1 in path_rows
    enum base_code code;
    struct base_error *error;
};

static void fail(struct making *making)
{
    if (making->code == BASE_OK)
        making->code = base_no_memory(making->error);
}

// --- Reading -------------------------------------------------------------------------------------

static bool take_image(void *user, const struct profile_image *image)
{
    struct making *making = user;
    uint64_t *slot = base_map_put(&making->images, image->number, NULL);
    struct image *row = slot ? base_array_push(&making->image_rows) : NULL;
    if (!row) {
        fail(making);
        return false;
    }
    *row = (struct image){image->build_id, image->path};
    *slot = making->image_rows.count;
    return true;
}

static const struct image *image_of(const struct making *making, uint32_t number)
{
    const uint64_t *index = base_map_get(&making->images, number);
    return index ? &making->image_rows.items[*index - 1] : NULL;
}

// Adds a frame, and its image to the plan. Returns false if the frame cannot be identified.
static bool add_frame(struct making *making, const struct image *image, uint64_t offset)
{
    if (!image || !image->build_id || !image->path || strchr(image->path, '\n'))
        return false;
    struct plan_frame *added = base_array_push(&making->frames);
    if (!added) {
        fail(making);
        return false;
    }
    added->offset = offset;
    const enum base_code code =
        plan_add_image(making->plan, image->build_id, image->path, &added->image, making->error);
    if (making->code == BASE_OK)
        making->code = code;
    return code == BASE_OK;
}

// Reads the addresses of a profile_stack. Returns false if one of them cannot be identified.
static bool add_frames(struct making *making, const char *addresses, bool *truncated)
{
    bool below = true; // still in CUDA's libraries
    *truncated = false;
    for (const char *at = addresses; *at;) {
        char *end;
        if (strcmp(at, "...") == 0) {
            *truncated = true;
            break;
        }
        const unsigned long number = strtoul(at, &end, 10);
        if (end == at || *end != ':')
            return false;
        at = end + 1;
        const uint64_t offset = strtoull(at, &end, 16);
        if (end == at || (*end != ' ' && *end != '\0'))
            return false;
        const struct image *image = image_of(making, (uint32_t)number);
        below = below && image && image->path && plan_is_below(image->path, strlen(image->path));
        if (!below && !add_frame(making, image, offset))
            return false;
        at = end + (*end == ' ');
    }
    return true;
}

static bool are_same(const struct making *making, const struct frames *a, const struct frames *b)
{
    if (a->count != b->count || a->truncated != b->truncated)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct plan_frame *one = &making->frames.items[a->first + i],
                                *other = &making->frames.items[b->first + i];
        if (one->image != other->image || one->offset != other->offset)
            return false;
    }
    return true;
}

// Finds the first path that is the same as the one added last.
static void find_same(struct making *making)
{
    struct frames *row = &making->path_rows.items[making->path_rows.count - 1];
    uint64_t hash = row->truncated;
    for (size_t i = 0; i < row->count; i++) {
        const struct plan_frame *frame = &making->frames.items[row->first + i];
        const uint64_t words[] = {hash, frame->image, frame->offset};
        hash = base_hash(words, sizeof(words));
    }
    uint64_t *slot = base_map_put(&making->hashes, hash, NULL);
    row->same = making->path_rows.count - 1;
    if (!slot)
        fail(making);
    else if (*slot && are_same(making, row, &making->path_rows.items[*slot - 1]))
        row->same = *slot - 1;
    else if (!*slot)
        *slot = making->path_rows.count;
}

static bool take_stack(void *user, const struct profile_stack *stack)
{
    struct making *making = user;
    uint64_t *slot = base_map_get(&making->paths, stack->number);
    struct frames *row = slot && stack->addresses ? base_array_push(&making->path_rows) : NULL;
    if (!slot || !stack->addresses)
        return true;
    if (!row) {
        fail(making);
        return false;
    }
    row->first = making->frames.count;
    row->sure = add_frames(making, stack->addresses, &row->truncated);
    row->count = making->frames.count - row->first;
    row->sure &= row->count > 0 && row->count <= PLAN_MOST_FRAMES;
    *slot = making->path_rows.count;
    find_same(making);
    return making->code == BASE_OK;
}

static void want(struct making *making, uint32_t path)
{
    if (path && !base_map_put(&making->paths, path, NULL))
        fail(making);
}

// Returns NULL if the path cannot be identified.
static const struct frames *frames_of(const struct making *making, uint32_t path)
{
    const uint64_t *slot = base_map_get(&making->paths, path);
    const struct frames *frames = slot && *slot ? &making->path_rows.items[*slot - 1] : NULL;
    return frames && frames->sure ? frames : NULL;
}

// --- Rows ----------------------------------------------------------------------------------------

static bool is_same(const struct making *making, uint32_t one, uint32_t other)
{
    const struct frames *a = frames_of(making, one), *b = frames_of(making, other);
    return a && b && a->same == b->same;
}

// Adds a row and returns its number, or 0 on failure.
static size_t add_row(struct making *making, enum plan_remedy remedy, uint32_t path,
                      const uint64_t numbers[PLAN_NUMBERS], struct fix_row of)
{
    const struct frames *frames = frames_of(making, path);
    struct fix_row *kept = frames ? base_array_push(&making->fix->rows) : NULL;
    size_t number = 0;
    if (frames && !kept)
        fail(making);
    if (making->code != BASE_OK || !kept)
        return 0;
    *kept = of;
    struct plan_row row = {
        .remedy = remedy, .truncated = frames->truncated, .frame_count = frames->count};
    if (numbers)
        memcpy(row.numbers, numbers, sizeof(row.numbers));
    making->code = plan_add_row(making->plan, row, making->frames.items + frames->first, &number,
                                making->error);
    return number;
}

// Decides whether a place is taken, now that its call paths are known.
static void judge(const struct making *making, struct fix_place *place)
{
    const struct fix *fix = making->fix;
    if (!frames_of(making, place->path) ||
        (place->other_path && !frames_of(making, place->other_path)))
        place->left = FIX_UNSURE;
    for (size_t i = 0; i < fix->avoided.count && !place->left; i++) {
        if (fix->avoided.items[i].kind == place->kind &&
            is_same(making, fix->avoided.items[i].path, place->path))
            place->left = FIX_NEEDED;
    }
}

// A pool serves this memory already, so another remedy for it is left out.
static void leave_pooled(const struct making *making, struct fix_place *place)
{
    const struct fix *fix = making->fix;
    for (size_t i = 0; i < fix->places.count && place->remedy == PLAN_BACK && !place->left; i++) {
        const struct fix_place *other = &fix->places.items[i];
        if (other->remedy == PLAN_POOL && !other->left &&
            is_same(making, other->other_path, place->path))
            place->left = FIX_POOLED;
    }
}

// Returns true if an earlier place has made the same row: an object may be allocated early and
// freed late, and several frees may belong to one allocation.
static bool is_made(const struct making *making, size_t index, uint32_t path)
{
    const struct fix_place *places = making->fix->places.items;
    for (size_t i = 0; i < index; i++) {
        if (!places[i].left && places[i].remedy == places[index].remedy &&
            (is_same(making, places[i].path, path) ||
             (places[i].remedy == PLAN_POOL && is_same(making, places[i].other_path, path))))
            return true;
    }
    return false;
}

// Returns the place of an allocation that has its last use, or NULL.
static const struct fix_place *last_use_of(const struct making *making, uint32_t path)
{
    for (size_t i = 0; i < making->fix->places.count; i++) {
        const struct fix_place *place = &making->fix->places.items[i];
        if (place->remedy == PLAN_BACK && !place->left && place->last_use &&
            is_same(making, place->path, path))
            return place;
    }
    return NULL;
}

static void add_place(struct making *making, size_t index)
{
    const struct fix_place *place = &making->fix->places.items[index];
    const struct fix_row waits = {index, true}, allocates = {index, false};
    if (!is_made(making, index, place->path)) {
        uint64_t numbers[PLAN_NUMBERS] = {0, 0};
        const struct fix_place *ends =
            place->remedy == PLAN_BACK ? last_use_of(making, place->path) : NULL;
        if (ends) {
            numbers[0] = add_row(making, PLAN_LAST_USE, ends->other_path, NULL, allocates);
            numbers[1] = ends->last_use;
        }
        add_row(making, place->remedy, place->path, numbers,
                place->remedy == PLAN_BACK ? allocates : waits);
    }
    if (place->remedy == PLAN_POOL && !is_same(making, place->other_path, place->path) &&
        !is_made(making, index, place->other_path))
        add_row(making, PLAN_POOL, place->other_path, NULL, allocates);
}

static void read_all(struct making *making, struct profile *profile)
{
    const struct fix *fix = making->fix;
    for (size_t i = 0; i < fix->places.count; i++) {
        want(making, fix->places.items[i].path);
        want(making, fix->places.items[i].other_path);
    }
    for (size_t i = 0; i < fix->avoided.count; i++)
        want(making, fix->avoided.items[i].path);
    if (making->code == BASE_OK)
        making->code = profile_each_image(profile, take_image, making, making->error);
    if (making->code == BASE_OK) {
        const enum base_code code = profile_each_stack(profile, take_stack, making, making->error);
        making->code = making->code == BASE_OK ? code : making->code;
    }
}

enum base_code fix_plan(struct profile *profile, struct fix *fix, struct plan *plan,
                        struct base_error *error)
{
    struct making making = {.fix = fix, .plan = plan, .error = error};
    read_all(&making, profile);
    for (size_t i = 0; i < fix->places.count; i++) {
        if (!fix->places.items[i].left)
            judge(&making, &fix->places.items[i]);
    }
    for (size_t i = 0; i < fix->places.count; i++)
        leave_pooled(&making, &fix->places.items[i]);
    for (size_t i = 0; i < fix->places.count && making.code == BASE_OK; i++) {
        if (!fix->places.items[i].left)
            add_place(&making, i);
    }
    bool backs = false;
    for (size_t i = 0; i < plan->rows.count; i++)
        backs |= plan->rows.items[i].remedy == PLAN_BACK;
    if (backs && making.code == BASE_OK)
        making.code = fix_plain_kernels(profile, plan, error);
    base_map_fini(&making.images);
    base_map_fini(&making.paths);
    base_map_fini(&making.hashes);
    base_array_fini(&making.image_rows);
    base_array_fini(&making.path_rows);
    base_array_fini(&making.frames);
    return making.code;
}
