// SPDX-License-Identifier: Apache-2.0
// Compares memory that kernels allocated: which blocks existed, which launches allocated and freed
// them, and what was done to each. An address may be allocated many times. The profile lists
// launches in launch order and the log in execution order, so blocks are not paired by order but by
// their complete description as text. Blocks with equal texts are interchangeable, as far as the
// launches that allocated and freed them permit. The log does not name those launches; it only
// shows which launches ran at that time.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "against_log.h"

enum { MOST_COMPLAINTS = 10 };

struct side {
    char *text;
    const struct block *block;
};

// What a launch did to a block.
struct deed {
    uint64_t object;
    char *text;
};

static int by_object(const void *a, const void *b)
{
    const struct deed *one = a, *other = b;
    if (one->object != other->object)
        return one->object < other->object ? -1 : 1;
    return strcmp(one->text, other->text);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct side *)a)->text, ((const struct side *)b)->text);
}

static int life_by_object(const void *key, const void *item)
{
    const uint64_t object = *(const uint64_t *)key, other = ((const struct life *)item)->object;
    return object < other ? -1 : object > other;
}

static int deed_by_object(const void *key, const void *item)
{
    const uint64_t object = *(const uint64_t *)key, other = ((const struct deed *)item)->object;
    return object < other ? -1 : object > other;
}

// Sorted by object, then by text.
static struct deed *find_deeds(enum level level, const struct story *story, size_t *count)
{
    BASE_ARRAY(struct deed) deeds = {0};
    for (size_t i = 0; i < story->launches.count; i++) {
        const struct launch *launch = &story->launches.items[i];
        for (size_t k = 0; launch->watched && k < launch->rows.count; k++) {
            const struct row *row = &launch->rows.items[k];
            struct base_buf text = {0};
            if (!row->heap)
                continue;
            base_buf_printf(&text, "  %s, %" PRIu32 " of all:", launch->kernel, launch->like);
            print_row(&text, level, row);
            base_buf_putc(&text, '\0');
            PUSH(struct deed, &deeds) = (struct deed){row->object, must(text.text)};
        }
    }
    if (deeds.count)
        qsort(deeds.items, deeds.count, sizeof(struct deed), by_object);
    *count = deeds.count;
    return deeds.items;
}

static void print_life(struct base_buf *out, const struct life *life)
{
    base_buf_printf(out, "  %" PRIu64 " elements touched, %" PRIu64 " by more than one launch:",
                    life->touched, life->more);
    for (uint64_t i = 0; life->times && i < life->elements; i++)
        base_buf_putc(out, (char)('0' + life->times[i]));
    base_buf_puts(out, life->mixed ? ", mixed\n" : "\n");
}

static char *block_text(const struct block *block, const struct deed *deeds, size_t count,
                        const struct story *story)
{
    struct base_buf out = {0};
    base_buf_printf(&out, "0x%" PRIx64 " of %" PRIu64 " bytes, %s\n", block->address, block->bytes,
                    block->has_end ? "ended" : "not ended");
    const struct deed *deed =
        count ? bsearch(&block->object, deeds, count, sizeof(*deed), deed_by_object) : NULL;
    while (deed && deed > deeds && deed[-1].object == block->object)
        deed--;
    for (; deed && deed < deeds + count && deed->object == block->object; deed++)
        base_buf_puts(&out, deed->text);
    const struct life *life = story->lives.count
                                  ? bsearch(&block->object, story->lives.items, story->lives.count,
                                            sizeof(struct life), life_by_object)
                                  : NULL;
    if (life)
        print_life(&out, life);
    base_buf_putc(&out, '\0');
    return must(out.text);
}

static struct side *sides_of(enum level level, const struct story *story)
{
    struct side *sides = must(calloc(story->blocks.count + 1, sizeof(*sides)));
    size_t count;
    struct deed *deeds = find_deeds(level, story, &count);
    for (size_t i = 0; i < story->blocks.count; i++)
        sides[i] = (struct side){block_text(&story->blocks.items[i], deeds, count, story),
                                 &story->blocks.items[i]};
    for (size_t i = 0; i < count; i++)
        free(deeds[i].text);
    free(deeds);
    qsort(sides, story->blocks.count, sizeof(*sides), by_text);
    return sides;
}

// --- Pairing blocks with equal texts -------------------------------------------------------------

struct alike {
    const struct story *profile, *log;
    const struct side *said, *done;
    size_t count;  // blocks on each side
    size_t *taken; // indexed by done: 1 + index of its partner in said
    bool *seen;    // indexed by done: already tried in this search
};

static bool has(const struct base_map *addresses, uint64_t address)
{
    return base_map_get(addresses, address);
}

// Returns whether a launch of the call (a graph launch has several) could have allocated or freed
// the block: it ran at that time in the log, and allocated or freed memory at that address.
static bool may_be(const struct alike *alike, uint64_t call, uint64_t when,
                   const struct block *block, bool began)
{
    for (size_t i = 0; i < alike->log->launches.count; i++) {
        const struct launch *done = &alike->log->launches.items[i];
        if (when < done->from || when > done->to ||
            !has(began ? &done->given : &done->taken, block->address))
            continue;
        for (size_t k = 0; k < alike->profile->launches.count; k++) {
            const struct launch *said = &alike->profile->launches.items[k];
            if (said->id == call && said->like == done->like)
                return true;
        }
    }
    return false;
}

static bool fits(const struct alike *alike, const struct block *said, const struct block *done)
{
    return may_be(alike, said->began, done->began, done, true) &&
           (!done->has_end || may_be(alike, said->ended, done->ended, done, false));
}

// Finds an augmenting path: pairs `said` with a block of the log, moving earlier pairs if needed.
static bool pair(struct alike *alike, size_t said)
{
    for (size_t i = 0; i < alike->count; i++) {
        if (alike->seen[i] || !fits(alike, alike->said[said].block, alike->done[i].block))
            continue;
        alike->seen[i] = true;
        if (!alike->taken[i] || pair(alike, alike->taken[i] - 1)) {
            alike->taken[i] = said + 1;
            return true;
        }
    }
    return false;
}

static unsigned compare_alike(struct alike *alike)
{
    unsigned different = 0;
    alike->taken = must(calloc(alike->count + 1, sizeof(*alike->taken)));
    alike->seen = must(calloc(alike->count + 1, sizeof(*alike->seen)));
    for (size_t i = 0; i < alike->count; i++) {
        memset(alike->seen, 0, alike->count * sizeof(*alike->seen));
        if (pair(alike, i))
            continue;
        const struct block *block = alike->said[i].block;
        if (different++ < MOST_COMPLAINTS)
            printf("begun by call %" PRIu64 ", ended by %" PRIu64 ", but in the log by others: %s",
                   block->began, block->ended, alike->said[i].text);
    }
    free(alike->taken);
    free(alike->seen);
    return different;
}

unsigned compare_blocks(enum level level, const struct story *profile, const struct story *log)
{
    unsigned different = 0;
    struct side *said = sides_of(level, profile), *done = sides_of(level, log);
    const size_t said_count = profile->blocks.count, done_count = log->blocks.count;
    for (size_t i = 0, k = 0; i < said_count || k < done_count;) {
        const int order = i == said_count   ? 1
                          : k == done_count ? -1
                                            : strcmp(said[i].text, done[k].text);
        if (order != 0) {
            if (different++ < MOST_COMPLAINTS)
                printf("only in the %s: %s", order < 0 ? "profile" : "log",
                       order < 0 ? said[i].text : done[k].text);
            i += order < 0;
            k += order > 0;
            continue;
        }
        struct alike alike = {.profile = profile, .log = log, .said = said + i, .done = done + k};
        while (i < said_count && k < done_count && strcmp(said[i].text, alike.said->text) == 0 &&
               strcmp(done[k].text, alike.said->text) == 0) {
            alike.count++;
            i++;
            k++;
        }
        different += compare_alike(&alike);
    }
    for (size_t i = 0; i < said_count; i++)
        free(said[i].text);
    for (size_t i = 0; i < done_count; i++)
        free(done[i].text);
    free(said);
    free(done);
    return different;
}
