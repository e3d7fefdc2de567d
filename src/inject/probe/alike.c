// SPDX-License-Identifier: Apache-2.0
// Keys are compared as bytes: no two launches are taken for alike by a hash. Kernels are those of a
// loaded module, so others of the same name do not count, nor does the same one that is loaded
// again. If there are too many different launches, further ones are watched.
//
// What launches accessed must have arrived before others are left out. So a program that launches
// without waiting has more than the wanted number watched.
#include "alike.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/core/objects.h"
#include "inject/shadow/shadow.h"
#include "passed.h"

enum { MOST_KEPT = 1 << 16 };

// There is no padding.
struct alike_key {
    uint64_t kernel; // struct probe_kernel
    uint32_t context, cooperative, grid[3], block[3], cluster[3], shared_bytes;
    struct alike_word {
        uint64_t object, number; // one of them is 0
    } words[];
};

struct alike {
    struct shadow_alike shadow;
    uint64_t key[]; // struct alike_key
};

static size_t words_of(const struct instrument_kernel *about)
{
    size_t count = 0;
    for (uint32_t i = 0; i < about->param_count; i++)
        count += (about->params[i].bytes + 7) / 8;
    return count;
}

static struct alike_word word_at(const unsigned char *value, size_t bytes)
{
    struct core_objects_piece piece;
    struct alike_word word = {0};
    memcpy(&word.number, value, bytes < sizeof(word.number) ? bytes : sizeof(word.number));
    if (bytes >= sizeof(word.number) &&
        core_objects_find_piece(&core_state.objects, word.number, &piece))
        word = (struct alike_word){.object = piece.object.number};
    return word;
}

static void fill(struct alike_key *key, const struct probe_kernel *kernel,
                 const struct core_context *context, const struct probe_shape *shape,
                 const struct probe_params *params)
{
    struct alike_word *word = key->words;
    key->kernel = (uint64_t)(uintptr_t)kernel;
    key->context = context->number;
    key->cooperative = shape->cooperative;
    memcpy(key->grid, shape->grid, sizeof(key->grid));
    memcpy(key->block, shape->block, sizeof(key->block));
    memcpy(key->cluster, shape->cluster, sizeof(key->cluster));
    key->shared_bytes = shape->shared_bytes;
    for (uint32_t i = 0; i < kernel->about->param_count; i++) {
        const uint32_t bytes = kernel->about->params[i].bytes;
        for (uint32_t at = 0; at < bytes; at += 8)
            *word++ = word_at(params->values + kernel->about->params[i].offset + at, bytes - at);
    }
}

struct shadow_alike *probe_alike_of(const struct probe_kernel *kernel,
                                    const struct core_context *context,
                                    const struct probe_shape *shape,
                                    const struct probe_params *params)
{
    // What these access is not all known by addresses that they are passed.
    if (!probe_state->most_alike || kernel->allocates || kernel->about->textures ||
        kernel->about->tensors || kernel->about->outside)
        return NULL;
    const size_t bytes = sizeof(struct alike_key) +
                         words_of(kernel->about) * sizeof(((struct alike_key *)NULL)->words[0]);
    struct alike *made = calloc(1, sizeof(*made) + bytes), *found = NULL;
    if (!made) {
        core_no_memory();
        return NULL;
    }
    fill((struct alike_key *)made->key, kernel, context, shape, params);
    const struct base_str key = {(const char *)made->key, bytes};
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    uint64_t *place = base_map_get_str(&probe_state->alike, key);
    if (place) {
        found = (struct alike *)(uintptr_t)*place; // NOLINT(performance-no-int-to-ptr)
    } else if (probe_state->alike.live < MOST_KEPT) {
        place = base_map_put_str(&probe_state->alike, key, NULL);
        if (place) {
            *place = (uint64_t)(uintptr_t)made;
            found = made;
            made = NULL;
        }
    }
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    free(made);
    return found ? &found->shadow : NULL;
}

struct probe_passed_objects *probe_alike_known(const struct shadow_alike *alike,
                                               const struct probe_kernel *kernel,
                                               const struct probe_params *params)
{
    if (!alike || atomic_load(&alike->beyond) ||
        atomic_load(&alike->within) < probe_state->most_alike)
        return NULL;
    struct probe_passed_objects *objects = calloc(1, sizeof(*objects));
    if (!objects) {
        core_no_memory();
        return NULL;
    }
    if (probe_passed_by(kernel, params, objects)) {
        atomic_fetch_add(&probe_state->left_out, 1);
        return objects;
    }
    free(objects);
    return NULL;
}

void probe_alike_tell(void)
{
    char text[200];
    const uint64_t count = probe_state ? atomic_load(&probe_state->left_out) : 0;
    if (!count)
        return;
    snprintf(text, sizeof(text),
             "--launches %" PRIu32 ": %" PRIu64 " launches ran without probes, because others like "
             "them had been watched; they are known by their arguments",
             probe_state->most_alike, count);
    core_note(EVENT_INFO, text);
}
