// SPDX-License-Identifier: Apache-2.0
// against_log LEVEL PROFILE LOG [any-order|some-heap]: compares the results of probes, in a profile
// with maps, with the simulated GPU's log of the same run. Each launch and object, and the total
// for each object, must be equal. LEVEL is the recorded level: objects, elements or counts. With
// ",requests" behind it, the requests of each launch and instruction must be equal, too.
// Launches of a kernel are matched by their order. With any-order, for threads that launch the same
// kernel, they are matched by their accesses. With some-heap, the profile may lack accesses to
// memory that kernels allocated, but the accesses that it has must be right. Exit status: 0 if both
// agree, 1 if not. The program prints what it compared, or the differences.
//
// If SPOIL is set in the environment, the named value of the profile's story is falsified first;
// then the comparison must fail.
#include "against_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "requests.h"

enum { MOST_COMPLAINTS = 20 };

// --- Stories -------------------------------------------------------------------------------------

static int by_order(const void *a, const void *b)
{
    const struct launch *one = a, *other = b;
    return one->order < other->order ? -1 : one->order > other->order;
}

static int by_object(const void *a, const void *b)
{
    const struct life *one = a, *other = b;
    return one->object < other->object ? -1 : one->object > other->object;
}

void story_number(struct story *story)
{
    if (story->launches.count)
        qsort(story->launches.items, story->launches.count, sizeof(struct launch), by_order);
    if (story->lives.count)
        qsort(story->lives.items, story->lives.count, sizeof(struct life), by_object);
    for (size_t i = 0; i < story->launches.count; i++) {
        struct launch *launch = &story->launches.items[i];
        launch->nth = 0;
        for (size_t k = i; k-- > 0;) {
            if (strcmp(story->launches.items[k].kernel, launch->kernel) == 0) {
                launch->nth = story->launches.items[k].nth + 1;
                break;
            }
        }
    }
    for (size_t i = 0; i < story->lives.count; i++) {
        story->lives.items[i].nth = 0;
        for (size_t k = 0; k < i; k++)
            story->lives.items[i].nth +=
                story->lives.items[k].address == story->lives.items[i].address;
    }
}

void story_free(struct story *story)
{
    for (size_t i = 0; i < story->launches.count; i++) {
        free(story->launches.items[i].kernel);
        base_map_fini(&story->launches.items[i].given);
        base_map_fini(&story->launches.items[i].taken);
        base_array_fini(&story->launches.items[i].rows);
        for (size_t k = 0; k < story->launches.items[i].requests.count; k++)
            free(story->launches.items[i].requests.items[k].text);
        base_array_fini(&story->launches.items[i].requests);
    }
    for (size_t i = 0; i < story->lives.count; i++)
        free(story->lives.items[i].times);
    base_array_fini(&story->launches);
    base_array_fini(&story->lives);
    base_array_fini(&story->blocks);
    base_map_fini(&story->addresses);
}

// --- Comparing -----------------------------------------------------------------------------------

void print_row(struct base_buf *out, enum level level, const struct row *row)
{
    base_buf_printf(out, "  0x%" PRIx64 " of %" PRIu64 " bytes:%s%s", row->address, row->bytes,
                    row->read ? " read" : "", row->written ? " written" : "");
    if (level >= LEVEL_ELEMENTS)
        base_buf_printf(
            out, ", %" PRIu64 " bytes read, %" PRIu64 " written, %" PRIu64 " elements of %" PRIu32,
            row->bytes_read, row->bytes_written, row->elements, row->element_bytes);
    if (level >= LEVEL_COUNTS) {
        const struct profile_counts *counts = &row->counts;
        base_buf_printf(out,
                        ", sum %" PRIu64 ", squares %" PRIu64 " %" PRIu64 ", most %" PRIu32
                        " at %" PRIu64 ", bins",
                        counts->sum, counts->squares_high, counts->squares_low, counts->most,
                        counts->most_at);
        for (unsigned i = 0; i < PROFILE_COUNT_BINS; i++) {
            if (counts->bins[i])
                base_buf_printf(out, " %u:%" PRIu64, i, counts->bins[i]);
        }
        base_buf_puts(out, ", hottest");
        for (unsigned i = 0; i < PROFILE_HOT_RANGES && counts->hottest[i].elements; i++)
            base_buf_printf(out, " %" PRIu64 "+%" PRIu64 ":%" PRIu64, counts->hottest[i].first,
                            counts->hottest[i].elements, counts->hottest[i].sum);
    }
    base_buf_putc(out, '\n');
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Sorts rows by their texts, because the order of several rows at one address is unknown.
static char *launch_text(enum level level, const struct launch *launch)
{
    struct base_buf out = {0};
    const size_t count = launch->watched ? launch->rows.count : 0;
    char **rows = must(calloc(count + 1, sizeof(*rows)));
    for (size_t i = 0; i < count; i++) {
        struct base_buf row = {0};
        print_row(&row, level, &launch->rows.items[i]);
        base_buf_putc(&row, '\0');
        rows[i] = must(row.text);
    }
    qsort(rows, count, sizeof(*rows), by_text);
    base_buf_printf(&out, "%s%s\n", launch->kernel, launch->watched ? "" : ", not watched");
    for (size_t i = 0; i < count; i++) {
        base_buf_puts(&out, rows[i]);
        free(rows[i]);
    }
    free(rows);
    print_requests(&out, launch);
    base_buf_putc(&out, '\0');
    return must(out.text);
}

struct side {
    char *text;
    struct launch *launch;
};

static struct side *sides_of(enum level level, const struct story *story, bool any_order)
{
    struct side *sides = must(calloc(story->launches.count + 1, sizeof(*sides)));
    for (size_t i = 0; i < story->launches.count; i++)
        sides[i] =
            (struct side){launch_text(level, &story->launches.items[i]), &story->launches.items[i]};
    if (any_order)
        qsort(sides, story->launches.count, sizeof(*sides), by_text); // `text` is the first member
    return sides;
}

// Removes from the log's launch the accesses to kernel-allocated memory that the profile lacks.
static void leave_out(enum level level, const struct launch *said, struct launch *done)
{
    size_t kept = 0;
    for (size_t i = 0; i < done->rows.count; i++) {
        struct base_buf one = {0};
        print_row(&one, level, &done->rows.items[i]);
        bool told = !done->rows.items[i].heap;
        for (size_t k = 0; k < said->rows.count && !told; k++) {
            struct base_buf other = {0};
            print_row(&other, level, &said->rows.items[k]);
            told = one.length == other.length && memcmp(one.text, other.text, one.length) == 0;
            base_buf_fini(&other);
        }
        base_buf_fini(&one);
        if (told)
            done->rows.items[kept++] = done->rows.items[i];
    }
    done->rows.count = kept;
}

static int by_kernel(const void *a, const void *b)
{
    const struct launch *one = a, *other = b;
    const int names = strcmp(one->kernel, other->kernel);
    return names ? names : one->nth < other->nth ? -1 : one->nth > other->nth;
}

// Also pairs launches: by their order, or with any-order by their texts. Launches with equal texts
// are interchangeable.
static unsigned compare_launches(enum level level, struct story *profile, struct story *log,
                                 bool any_order, bool some_heap)
{
    unsigned different = 0;
    if (profile->launches.count != log->launches.count) {
        printf("%zu launches in the profile, %zu in the log\n", profile->launches.count,
               log->launches.count);
        return 1;
    }
    if (profile->launches.count) {
        qsort(profile->launches.items, profile->launches.count, sizeof(struct launch), by_kernel);
        qsort(log->launches.items, log->launches.count, sizeof(struct launch), by_kernel);
    }
    for (size_t i = 0; some_heap && i < log->launches.count; i++)
        leave_out(level, &profile->launches.items[i], &log->launches.items[i]);
    struct side *said = sides_of(level, profile, any_order),
                *done = sides_of(level, log, any_order);
    uint32_t like = 0;
    for (size_t i = 0; i < log->launches.count; i++) {
        if (strcmp(said[i].text, done[i].text) != 0 && different++ < MOST_COMPLAINTS)
            printf("launch %u of the profile, %sof the log, %s", said[i].launch->nth, said[i].text,
                   done[i].text);
        like += i && !(any_order && strcmp(said[i].text, said[i - 1].text) == 0);
        said[i].launch->like = done[i].launch->like = like;
    }
    for (size_t i = 0; i < log->launches.count; i++) {
        free(said[i].text);
        free(done[i].text);
    }
    free(said);
    free(done);
    return different;
}

// Skips memory that kernels allocated, which compare_blocks covers.
static unsigned compare_lives(const struct story *profile, const struct story *log)
{
    unsigned different = 0;
    for (size_t i = 0; i < log->lives.count; i++) {
        const struct life *done = &log->lives.items[i], *said = NULL;
        if (done->heap)
            continue;
        for (size_t k = 0; k < profile->lives.count && !said; k++) {
            const struct life *life = &profile->lives.items[k];
            if (life->address == done->address && life->nth == done->nth)
                said = life;
        }
        if (said && (said->mixed || done->mixed))
            continue;
        if (said && said->foreign && done->foreign)
            continue;
        if (said && said->foreign != done->foreign) {
            printf("0x%" PRIx64 ": %s\n", done->address,
                   said->foreign ? "what all launches touched is unknown"
                                 : "launches of another device, which the profile does not show");
            different++;
            continue;
        }
        if (!said || said->touched != done->touched || said->more != done->more) {
            printf("0x%" PRIx64 ": %" PRIu64 " elements touched, %" PRIu64
                   " by more than one launch; in the log %" PRIu64 ", %" PRIu64 "\n",
                   done->address, said ? said->touched : 0, said ? said->more : 0, done->touched,
                   done->more);
            different++;
        } else if (!said->times) {
            printf("0x%" PRIx64 ": no map\n", done->address);
            different++;
        } else if ((said->elements != done->elements ||
                    memcmp(said->times, done->times, done->elements) != 0)) {
            printf("0x%" PRIx64 ": another map of %" PRIu64 " elements than the log's of %" PRIu64
                   "\n",
                   done->address, said->elements, done->elements);
            different++;
        }
    }
    return different;
}

// Moves a row to another block at the same address, so each launch still has the same text.
static bool spoil_block_row(struct story *story)
{
    for (size_t i = 0; i < story->launches.count; i++) {
        struct launch *launch = &story->launches.items[i];
        for (size_t k = 0; k < launch->rows.count; k++) {
            struct row *row = &launch->rows.items[k];
            for (size_t n = 0; row->heap && n < story->blocks.count; n++) {
                const struct block *block = &story->blocks.items[n];
                if (block->address != row->address || block->object == row->object)
                    continue;
                row->object = block->object;
                return true;
            }
        }
    }
    return false;
}

static bool spoil_block_life(const char *what, struct story *story)
{
    for (size_t i = 0; i < story->lives.count; i++) {
        struct life *life = &story->lives.items[i];
        if (!life->heap || !life->times)
            continue;
        if (strcmp(what, "block_touched") == 0)
            life->touched--;
        else
            life->times[life->elements / 2] ^= 1;
        return true;
    }
    return false;
}

static bool spoil_block(const char *what, struct story *story)
{
    struct block *block = &story->blocks.items[0];
    const uint64_t last = story->launches.items[story->launches.count - 1].id;
    if (strcmp(what, "block_row") == 0)
        return spoil_block_row(story);
    if (strcmp(what, "block_touched") == 0 || strcmp(what, "block_map") == 0)
        return spoil_block_life(what, story);
    for (size_t i = 0; i < story->blocks.count && !block->has_end; i++)
        block = &story->blocks.items[i];
    if (strcmp(what, "block") == 0)
        story->blocks.count--;
    else if (strcmp(what, "block_bytes") == 0)
        block->bytes++;
    else if (strcmp(what, "block_began") == 0)
        block->began = last;
    else if (strcmp(what, "block_ended") == 0)
        block->has_end = !block->has_end;
    else if (strcmp(what, "block_ended_by") == 0)
        block->ended = last;
    return true;
}

// Returns false if the story has nothing of that kind.
static bool spoil(const char *what, struct story *story)
{
    struct row *row = NULL;
    struct life *life = story->lives.count ? &story->lives.items[0] : NULL;
    for (size_t i = 0; i < story->launches.count && !row; i++) {
        struct launch *launch = &story->launches.items[i];
        row = launch->rows.count ? &launch->rows.items[0] : NULL;
        if (row && strcmp(what, "row") == 0)
            launch->rows.count--;
        if (row && strcmp(what, "watched") == 0)
            launch->watched = false;
    }
    if (strncmp(what, "block", 5) == 0)
        return story->blocks.count && spoil_block(what, story);
    if (strncmp(what, "request_", 8) == 0 || strncmp(what, "shared_", 7) == 0 ||
        strncmp(what, "local_", 6) == 0)
        return requests_spoil(what, story);
    if (!row)
        return false;
    if (strcmp(what, "object") == 0)
        return base_map_remove(&story->addresses, row->address);
    if (strcmp(what, "read") == 0)
        row->read = !row->read;
    else if (strcmp(what, "written") == 0)
        row->written = !row->written;
    else if (strcmp(what, "bytes_read") == 0)
        row->bytes_read++;
    else if (strcmp(what, "bytes_written") == 0)
        row->bytes_written++;
    else if (strcmp(what, "elements") == 0)
        row->elements--;
    else if (strcmp(what, "sum") == 0)
        row->counts.sum++;
    else if (strcmp(what, "most_at") == 0)
        row->counts.most_at++;
    else if (strcmp(what, "bins") == 0)
        row->counts.bins[7]++;
    else if (strcmp(what, "hottest") == 0)
        row->counts.hottest[0].sum--;
    else if (strcmp(what, "touched") == 0 && life)
        life->touched--;
    else if (strcmp(what, "shared") == 0 && life)
        life->more++;
    else if (strcmp(what, "map") == 0 && life && life->times)
        life->times[life->elements / 2] ^= 1;
    else
        return strcmp(what, "row") == 0 || strcmp(what, "watched") == 0;
    return true;
}

// Reads LEVEL. Returns false if there is no such level.
static bool read_scope(const char *word, struct scope *scope)
{
    static const char *const levels[] = {"objects", "elements", "counts"};
    const size_t length = strcspn(word, ",");
    scope->requests = strcmp(word + length, ",requests") == 0;
    for (unsigned i = 0; i < 3; i++) {
        scope->level = (enum level)i;
        if (strlen(levels[i]) == length && strncmp(word, levels[i], length) == 0)
            return scope->requests || !word[length];
    }
    return false;
}

static unsigned compare(const struct scope *scope, struct story *profile, struct story *log,
                        const char *order)
{
    const bool some_heap = strcmp(order, "some-heap") == 0;
    requests_match(profile, log);
    unsigned different =
        compare_launches(scope->level, profile, log, strcmp(order, "any-order") == 0, some_heap);
    if (scope->level >= LEVEL_ELEMENTS && !some_heap)
        different += compare_lives(profile, log);
    if (!some_heap)
        different += compare_blocks(scope->level, profile, log);
    if (log->untold && !some_heap) {
        printf("%" PRIu64 " accesses to memory that kernels allocated are not told\n", log->untold);
        different++;
    }
    return different + profile->wrong + log->wrong;
}

// Says what was compared.
static void print_compared(const struct scope *scope, const struct story *profile,
                           const struct story *log)
{
    size_t rows = 0, watched = 0, maps = 0, requests = 0;
    for (size_t i = 0; i < log->launches.count; i++) {
        watched += log->launches.items[i].watched;
        rows += log->launches.items[i].rows.count;
        requests += log->launches.items[i].requests.count;
    }
    for (size_t i = 0; i < profile->lives.count; i++)
        maps += profile->lives.items[i].times != NULL;
    printf("%zu launches, %zu watched, %zu rows, %zu maps, %zu blocks of the kernels' own with "
           "%" PRIu64 " accesses: as the log says; %" PRIu64 " of glint's objects, %" PRIu64
           " of cooperative launches",
           log->launches.count, watched, rows, maps, log->blocks.count, log->heap, log->own,
           log->barriers);
    if (scope->requests)
        printf("; %zu rows of requests by %" PRIu64 " instructions as the log says, %" PRIu64
               " requests of instructions that are not counted",
               requests, log->compared, log->uncounted);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct story profile = {0}, log = {0};
    struct scope scope;
    unsigned different = 1;
    if (argc < 4 || !read_scope(argv[1], &scope)) {
        printf(
            "against_log objects|elements|counts[,requests] PROFILE LOG [any-order|some-heap]\n");
        return 1;
    }
    const char *spoilt = getenv("SPOIL");
    const bool is_told = told(argv[2], &scope, &profile);
    if (is_told && spoilt && !spoil(spoilt, &profile))
        printf("there is nothing to be spoilt: %s\n", spoilt);
    if (is_told && logged(argv[3], &scope, &profile, &log))
        different = compare(&scope, &profile, &log, argc > 4 ? argv[4] : "-");
    if (!different)
        print_compared(&scope, &profile, &log);
    story_free(&profile);
    story_free(&log);
    return different != 0;
}
