// SPDX-License-Identifier: Apache-2.0
// The cache of the GPU. A line has a *home* among the partitions, where it is written and where
// atomic operations are done. Loads ask the partition of their multiprocessor, which keeps copies
// of lines with another home; only if it does not have a sector, the home is asked, and then
// memory. Whole sectors that are stored leave a copy near to their multiprocessor, too. So what all
// multiprocessors read or write takes room in each partition.
//
// It is write-back, but only a part of it may be dirty: a store beyond that has another line of its
// set written. A store of a whole sector needs nothing from memory. One of a part leaves a sector
// that is dirty, but not present: what is missing is read when it is loaded or leaves, unless
// another store has come meanwhile, which is taken to bring the rest. Memory is read, and copies
// are made, in aligned groups of sectors. All partitions have a line in the same set, and requests
// for different pieces of sets have nothing in common, so that threads can share them.
#include <stdlib.h>

#include "l2.h"
#include "level.h"

enum { AT_ONCE = 64 }; // requests

// What a piece has to itself, apart from others by a line of the CPU's cache.
struct piece {
    uint32_t owed[CACHE_KINDS]; // percents that are not a hit yet: part_stores_hit
    uint32_t dirty, most_dirty; // lines
    uint32_t apart[2 * CACHE_APART - CACHE_KINDS - 2];
};

struct cache_l2 {
    struct cache_level level;
    const struct cache_preset *preset;
    struct piece pieces[CACHE_PIECES];
    uint8_t fills[1 << CACHE_SECTORS]; // of each set of sectors: what memory delivers for it
    uint8_t near[];                    // of each multiprocessor: the partition
};

// Returns the sectors together with those that memory delivers at the same time.
static uint32_t filled(const struct cache_preset *preset, uint32_t sectors)
{
    if (preset->fill_sectors >= 4)
        return sectors ? 15 : 0;
    if (preset->fill_sectors == 2)
        return (sectors & 3 ? 3u : 0) | (sectors & 12 ? 12u : 0);
    return sectors;
}

static struct piece *piece_of(struct cache_l2 *l2, uint32_t set)
{
    return &l2->pieces[cache_level_piece_of(&l2->level, set)];
}

// Says how many lines of each piece may be dirty.
static void limit_dirty(struct cache_l2 *l2)
{
    const struct cache_level *level = &l2->level;
    const uint64_t lines = level->partitions * level->ways, percent = l2->preset->most_dirty;
    for (uint64_t first = 0, next; first < level->sets; first = next) {
        next = first + ((uint64_t)1 << level->piece_shift);
        next = next < level->sets ? next : level->sets;
        piece_of(l2, (uint32_t)first)->most_dirty =
            (uint32_t)((next - first) * lines * percent / 100);
    }
}

struct cache_l2 *cache_l2_create(const struct cache_preset *preset, uint32_t share)
{
    struct cache_l2 *l2 = calloc(1, sizeof(*l2) + preset->multiprocessors);
    if (!l2)
        return NULL;
    l2->preset = preset;
    for (uint32_t i = 0; i < preset->multiprocessors; i++)
        l2->near[i] = (uint8_t)((uint64_t)i * preset->partitions / preset->multiprocessors);
    for (uint32_t i = 0; i < 1 << CACHE_SECTORS; i++)
        l2->fills[i] = (uint8_t)filled(preset, i);
    if (!preset->multiprocessors || preset->most_dirty > 100 ||
        !cache_level_init(&l2->level, &preset->l2, share, preset->partitions, true)) {
        free(l2);
        return NULL;
    }
    limit_dirty(l2);
    return l2;
}

void cache_l2_destroy(struct cache_l2 *l2)
{
    if (l2)
        cache_level_fini(&l2->level);
    free(l2);
}

uint32_t cache_l2_share(const struct cache_l2 *l2)
{
    return l2->level.share;
}

const struct cache_preset *cache_l2_preset(const struct cache_l2 *l2)
{
    return l2->preset;
}

const struct cache_level *cache_l2_level(const struct cache_l2 *l2)
{
    return &l2->level;
}

// A request, its set, and whom all lines are counted for. Functions that are not compiled into the
// loop over requests have parts of it, so that the CPU keeps all in registers.
struct access {
    struct cache_l2 *l2;
    enum cache_form form;
    uint64_t word; // of an item
    uint32_t owner;
    uint32_t set; // of the first partition; those of the others follow it
    struct piece *piece;
    struct cache_l2_counts *counts;
};

// Numbers that the GPU of the preset does not have begin again with the first.
uint32_t cache_l2_near(const struct cache_l2 *l2, uint32_t multiprocessor)
{
    const uint32_t count = l2->preset->multiprocessors;
    return l2->near[multiprocessor < count ? multiprocessor : multiprocessor % count];
}

// Counts what it takes to write these sectors to memory: those that are not present are read first.
static void count_written(struct cache_l2_counts *counts, uint64_t word)
{
    const uint64_t dirty = word >> CACHE_DIRTY_SHIFT & 15;
    counts->written += cache_count_of(dirty);
    counts->read += cache_count_of(dirty & ~word);
}

static uint32_t near_of(uint64_t word)
{
    return word >> CACHE_NEAR_SHIFT & (CACHE_MOST_PARTITIONS - 1);
}

static uint32_t home_of(uint64_t word)
{
    return word >> CACHE_HOME_SHIFT & (CACHE_MOST_PARTITIONS - 1);
}

static inline struct cache_spot spot_in(const struct access *access, uint32_t partition)
{
    return (struct cache_spot){access->set + partition,
                               cache_tag_of(cache_word_line(access->word))};
}

static bool is_dirty(uint64_t word)
{
    return word >> CACHE_DIRTY_SHIFT & 15;
}

// Counts what is written to memory of a line that leaves its place.
static inline __attribute__((always_inline)) void leave(const struct cache_level *level,
                                                        struct cache_place place,
                                                        struct piece *piece,
                                                        struct cache_l2_counts *counts)
{
    if (!is_dirty(place.gone))
        return;
    piece->dirty--;
    count_written(&counts[*cache_level_writer(level, place.word)], place.gone);
}

// Writes a dirty line to memory, and keeps it, clean.
static void clean(const struct cache_level *level, uint64_t *word, struct piece *piece,
                  struct cache_l2_counts *counts)
{
    const uint64_t dirty = *word >> CACHE_DIRTY_SHIFT & 15;
    piece->dirty--;
    count_written(&counts[*cache_level_writer(level, word)], *word);
    *word = (*word | dirty) & ~((uint64_t)15 << CACHE_DIRTY_SHIFT);
}

// Writes a dirty line of the set to memory, but not this one, if there is another. Which one
// depends on the line of the spot.
static __attribute__((noinline)) void clean_another(const struct cache_level *level,
                                                    struct cache_spot spot, const uint64_t *word,
                                                    struct piece *piece,
                                                    struct cache_l2_counts *counts)
{
    uint64_t *words = level->words + (size_t)spot.set * level->ways;
    for (uint32_t i = 0; i < level->ways; i++) {
        uint64_t *other = words + ((spot.tag + i) & (level->ways - 1));
        if (other != word && is_dirty(*other)) {
            clean(level, other, piece, counts);
            return;
        }
    }
}

// Finds the line, or makes room for it; what must leave for that is written to memory.
static inline __attribute__((always_inline)) struct cache_place line_in(const struct access *access,
                                                                        uint32_t partition)
{
    struct cache_level *level = &access->l2->level;
    const struct cache_place place = cache_level_use(
        level, access->form, spot_in(access, partition), cache_word_line(access->word), true);
    leave(level, place, access->piece, access->counts);
    return place;
}

// Returns what memory delivers if these sectors are needed that a line does not have.
static inline uint64_t delivered(const struct access *access, uint64_t there, uint32_t sectors)
{
    return access->l2->fills[sectors & ~(uint32_t)there] & ~there & 15;
}

// Returns which sectors are hits.
static inline __attribute__((always_inline)) uint32_t load(const struct access *access)
{
    const uint32_t sectors = cache_word_sectors(access->word);
    const uint32_t near = near_of(access->word), home = home_of(access->word);
    struct cache_place place = line_in(access, near);
    const uint32_t hits = (uint32_t)place.now & sectors;
    // Of two conditions a compiler makes two branches, both of which are hard to predict.
    const uint32_t asks_home = (sectors ^ hits) * (home ^ near);
    if (asks_home) {
        *place.word = place.now | access->l2->fills[sectors];
        place = line_in(access, home);
    }
    const uint64_t read = delivered(access, place.now, sectors);
    access->counts[access->owner].read += cache_count_of(read);
    *place.word = place.now | read;
    return hits;
}

// Of these sectors, which are not there, returns those that count as hits: the first ones, of as
// many as it should be. What is left over is kept, so that the share is right in the long run, and
// the same in each run.
static __attribute__((noinline)) uint32_t
hits_of(const struct cache_preset *preset, struct piece *piece, uint32_t kind, uint32_t sectors)
{
    const uint32_t percent = kind == CACHE_STORE ? preset->part_stores_hit : preset->atomics_hit;
    const uint32_t sum = piece->owed[kind] + (uint32_t)cache_count_of(sectors) * percent;
    uint32_t others = sectors;
    for (uint32_t i = 0; i < sum / 100; i++)
        others &= others - 1;
    piece->owed[kind] = sum % 100;
    return sectors & ~others;
}

// What a partition has of these sectors is not valid any more.
static inline __attribute__((always_inline)) void drop_copy(const struct access *access,
                                                            uint32_t partition, uint64_t sectors)
{
    uint64_t *copy = cache_level_find(&access->l2->level, access->form, spot_in(access, partition),
                                      cache_word_line(access->word));
    if (copy)
        *copy &= ~sectors;
}

// Returns which sectors are hits.
static inline __attribute__((always_inline)) uint32_t change(const struct access *access)
{
    const uint32_t sectors = cache_word_sectors(access->word), kind = cache_word_kind(access->word);
    const uint32_t near = near_of(access->word), home = home_of(access->word);
    const struct cache_place place = line_in(access, home);
    const uint64_t there = place.now & 15, dirty = place.now >> CACHE_DIRTY_SHIFT & 15;
    const uint64_t whole = kind == CACHE_STORE ? cache_word_whole(access->word) | dirty : 0;
    const uint32_t missing = sectors & ~(uint32_t)(there | whole);
    uint64_t now = place.now | (sectors & whole) | (uint64_t)sectors << CACHE_DIRTY_SHIFT;
    if (kind != CACHE_STORE) {
        const uint64_t read = delivered(access, there, missing);
        access->counts[access->owner].read += cache_count_of(read);
        now |= read;
    }
    *place.word = now;
    *cache_level_writer(&access->l2->level, place.word) = access->owner;
    access->piece->dirty += !dirty;
    if (access->piece->dirty > access->piece->most_dirty)
        clean_another(&access->l2->level, spot_in(access, home), place.word, access->piece,
                      access->counts);
    const uint32_t whole_now = kind == CACHE_STORE ? cache_word_whole(access->word) : 0;
    const uint32_t kept_in = whole_now ? near : home; // a copy, unless that is the home
    for (uint32_t i = 0; i < access->l2->level.partitions; i++) {
        if (i != home && i != kept_in)
            drop_copy(access, i, sectors);
    }
    if (kept_in != home) {
        const struct cache_place copy = line_in(access, kept_in);
        *copy.word = (copy.now & ~(uint64_t)sectors) | whole_now;
    }
    return (sectors & ~missing) |
           (missing ? hits_of(access->l2->preset, access->piece, kind, missing) : 0);
}

static inline __attribute__((always_inline)) void
run_some(struct cache_l2 *l2, enum cache_form form, const struct cache_item *items,
         const uint32_t *sets, size_t count, struct cache_l2_counts *counts, uint8_t *outcomes)
{
    const uint32_t partitions = l2->level.partitions;
    for (size_t i = 0; i < count; i++) {
        const uint64_t word = items[i].word;
        const struct access access = {.l2 = l2,
                                      .form = form,
                                      .word = word,
                                      .owner = items[i].owner,
                                      .set = sets[i] * partitions,
                                      .piece = piece_of(l2, sets[i]),
                                      .counts = counts};
        const uint32_t hits = cache_word_kind(word) == CACHE_LOAD ? load(&access) : change(&access);
        outcomes[i] = (uint8_t)(cache_word_sectors(word) | hits << CACHE_HITS_SHIFT);
    }
}

void cache_l2_run_items(struct cache_l2 *l2, const struct cache_item *items, const uint32_t *sets,
                        size_t count, struct cache_l2_counts *counts, uint8_t *outcomes)
{
    if (l2->level.form == CACHE_LRU_16)
        run_some(l2, CACHE_LRU_16, items, sets, count, counts, outcomes);
    else
        run_some(l2, l2->level.form, items, sets, count, counts, outcomes);
}

// Makes an item of a request, and returns its set.
static inline uint32_t make_item(const struct cache_l2 *l2, const struct cache_request *request,
                                 uint32_t near, struct cache_item *item)
{
    const uint64_t word =
        cache_word_of(request->line, request->kind, request->sectors, request->whole);
    item->word = cache_l2_word_of(&l2->level, word, near);
    item->owner = request->owner;
    return cache_level_set_of(&l2->level, request->line);
}

// Finds sets, and has the CPU fetch them, for several requests at once. Returns how many items
// there are: those without sectors are left out.
static inline __attribute__((always_inline)) size_t
make_items(const struct cache_l2 *l2, enum cache_form form, const struct cache_request *requests,
           size_t count, struct cache_item *items, uint32_t *sets)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct cache_request *request = &requests[i];
        if (!request->sectors)
            continue;
        const uint32_t near = cache_l2_near(l2, request->multiprocessor);
        const uint32_t set = make_item(l2, request, near, &items[used]);
        const uint32_t first = set * l2->level.partitions;
        cache_level_prefetch(&l2->level, form, first + near);
        cache_level_prefetch(&l2->level, form, first + home_of(items[used].word)); // often the same
        sets[used++] = set;
    }
    return used;
}

void cache_l2_run(struct cache_l2 *l2, const struct cache_request *requests, size_t count,
                  struct cache_l2_counts *counts)
{
    for (size_t i = 0; i < count; i += AT_ONCE) {
        const size_t some = count - i < AT_ONCE ? count - i : AT_ONCE;
        struct cache_item items[AT_ONCE];
        uint32_t sets[AT_ONCE];
        uint8_t outcomes[AT_ONCE];
        const size_t used = l2->level.form == CACHE_LRU_16
                                ? make_items(l2, CACHE_LRU_16, requests + i, some, items, sets)
                                : make_items(l2, l2->level.form, requests + i, some, items, sets);
        cache_l2_run_items(l2, items, sets, used, counts, outcomes);
        for (size_t k = 0; k < used; k++)
            cache_outcome_add(&counts[items[k].owner].kinds[cache_word_kind(items[k].word)],
                              outcomes[k]);
    }
}

void cache_l2_copy(struct cache_l2 *l2, uint64_t line, struct cache_l2_counts *counts)
{
    const uint32_t set = cache_level_set_of(&l2->level, line), partitions = l2->level.partitions;
    struct piece *piece = piece_of(l2, set);
    const struct cache_spot spot = {set * partitions + cache_home_of(line, partitions),
                                    cache_tag_of(line)};
    const struct cache_place place = cache_level_copy(&l2->level, spot, line);
    leave(&l2->level, place, piece, counts);
    *place.word = place.now | 15;
}

void cache_l2_clean(struct cache_l2 *l2, struct cache_l2_counts *counts)
{
    const struct cache_level *level = &l2->level;
    const uint64_t ways = level->partitions * level->ways; // of a set of all partitions
    for (uint64_t i = 0; i < level->sets * ways; i++) {
        if (is_dirty(level->words[i]))
            clean(level, &level->words[i], piece_of(l2, (uint32_t)(i / ways)), counts);
    }
}

// --- Another share -------------------------------------------------------------------------------

// Returns the way that is so old in a set, if the order is known, and otherwise any order of ways.
static uint32_t way_at(const struct cache_level *level, uint64_t set, uint32_t age)
{
    const uint64_t *word = cache_level_older(level, level->form, (uint32_t)set, age);
    return word ? (uint32_t)(word - level->words - set * level->ways) : age;
}

// Whether the line of that age was only copied.
static bool is_weak(const struct cache_level *level, uint64_t set, uint32_t age)
{
    return level->form == CACHE_LRU_16 && age >= level->states[set].used;
}

// Brings one line of a set, if it is sampled.
static void bring(const struct cache_level *from, uint64_t set, uint32_t age, struct cache_l2 *thin)
{
    struct cache_level *into = &thin->level;
    const uint64_t at = set * from->ways + way_at(from, set, age), word = from->words[at];
    const uint64_t line = word >> CACHE_LINE_SHIFT, few = UINT64_MAX >> (64 - CACHE_LINE_SHIFT);
    if (word == cache_no_line || !cache_is_sampled(line, into->share))
        return;
    const uint32_t set_into = cache_level_set_of(into, line);
    const uint32_t partition = (uint32_t)(set % from->partitions);
    struct piece *piece = piece_of(thin, set_into);
    const struct cache_spot spot = {set_into * into->partitions + partition, cache_tag_of(line)};
    const struct cache_place place = is_weak(from, set, age)
                                         ? cache_level_copy(into, spot, line)
                                         : cache_level_use(into, into->form, spot, line, true);
    piece->dirty -= is_dirty(place.gone);
    piece->dirty += is_dirty(word);
    *place.word = place.now | (word & few);
    *cache_level_writer(into, place.word) = from->writers[at];
}

// The oldest lines come first, and those that were only copied last, since they make room for
// others. What has no room for it any more is not written.
struct cache_l2 *cache_l2_thin(const struct cache_l2 *l2, uint32_t share)
{
    const struct cache_level *from = &l2->level;
    struct cache_l2 *thin = cache_l2_create(l2->preset, share);
    for (uint32_t i = 2 * from->ways; thin && i-- > 0;) {
        const bool weak = i < from->ways;
        for (uint64_t set = 0; set < from->sets * from->partitions; set++)
            if (is_weak(from, set, i % from->ways) == weak)
                bring(from, set, i % from->ways, thin);
    }
    return thin;
}
