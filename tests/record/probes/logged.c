// SPDX-License-Identifier: Apache-2.0
// Builds a story, the list of launches and their accesses, from the log of the simulated GPU.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "against_log.h"
#include "gpusim/gpusim.h"
#include "instrument/instrument.h"
#include "requests.h"

// What one launch has done to one object so far.
struct use {
    const struct gpusim_object *object;
    struct row row;
    uint32_t *counts;  // indexed by element
    uint64_t elements; // elements of the object
    bool foreign;      // the launch runs on another device than the object's
};

struct running {
    struct running *next;
    uint64_t id;
    uint32_t device;
    struct launch *launch;
    BASE_ARRAY(struct use) uses;
};

struct reader {
    enum level level;
    const struct story *other;
    struct story *story;
    struct running *running;
    uint64_t at;             // position in the log
    struct base_map own;     // ids of objects that glint allocated
    struct base_map strange; // ids of objects that the other story does not contain
    bool wants_requests;
    struct requests_log requests;
};

// Returns whether the other story says that all launches of the kernel were watched.
static bool is_watched(const struct reader *reader, const char *kernel)
{
    bool watched = false;
    for (size_t i = 0; i < reader->other->launches.count; i++) {
        const struct launch *launch = &reader->other->launches.items[i];
        if (strcmp(launch->kernel, kernel) != 0)
            continue;
        if (!launch->watched)
            return false;
        watched = true;
    }
    return watched;
}

// Returns the program's name of a kernel, or NULL if the kernel is part of glint. Launches that are
// like earlier ones have no probes, and are watched nevertheless.
static char *own_name(const struct reader *reader, const char *kernel, bool *watched)
{
    const char *suffix = strstr(kernel, "$glint");
    *watched = suffix || is_watched(reader, kernel);
    if (strncmp(kernel, "glint", 5) == 0)
        return NULL;
    return suffix ? strndup(kernel, (size_t)(suffix - kernel)) : strdup(kernel);
}

static struct launch *launch_of(const struct reader *reader, uint64_t id)
{
    for (size_t i = 0; i < reader->story->launches.count; i++) {
        if (reader->story->launches.items[i].id == id)
            return &reader->story->launches.items[i];
    }
    return NULL;
}

static struct running *running_of(const struct reader *reader, uint64_t id)
{
    struct running *running = reader->running;
    while (running && running->id != id)
        running = running->next;
    return running;
}

// Returns the element size that the other story uses at this address, or 4 if it has none there.
static uint32_t element_bytes_of(const struct reader *reader, const struct launch *launch,
                                 uint64_t address)
{
    uint32_t found = 0;
    for (size_t i = 0; i < reader->other->launches.count; i++) {
        const struct launch *other = &reader->other->launches.items[i];
        const bool same = other->nth == launch->nth && strcmp(other->kernel, launch->kernel) == 0;
        for (size_t k = 0; k < other->rows.count; k++) {
            const struct row *row = &other->rows.items[k];
            if (row->address == address && (same || !found))
                found = row->element_bytes;
        }
    }
    return found ? found : 4;
}

// Returns how many elements form one candidate for the hottest ranges: as many as the largest range
// that the profile reports for this object, or one like it at its place.
static uint64_t piece_of(const struct reader *reader, const struct row *of)
{
    uint64_t piece = 1;
    for (size_t i = 0; i < reader->other->launches.count; i++) {
        const struct launch *other = &reader->other->launches.items[i];
        for (size_t k = 0; k < other->rows.count; k++) {
            const struct row *row = &other->rows.items[k];
            for (unsigned n = 0; row->address == of->address && row->bytes == of->bytes &&
                                 row->element_bytes == of->element_bytes && n < PROFILE_HOT_RANGES;
                 n++) {
                if (row->counts.hottest[n].elements > piece)
                    piece = row->counts.hottest[n].elements;
            }
        }
    }
    return piece;
}

static struct use *use_of(struct reader *reader, struct running *running,
                          const struct gpusim_object *object)
{
    for (size_t i = 0; i < running->uses.count; i++) {
        if (running->uses.items[i].object == object)
            return &running->uses.items[i];
    }
    struct use *use = must(base_array_push(&running->uses));
    const uint32_t fine = element_bytes_of(reader, launch_of(reader, running->id), object->address);
    *use = (struct use){.object = object, .foreign = object->device != running->device};
    use->row = (struct row){.object = object->id,
                            .address = object->address,
                            .bytes = object->size_bytes,
                            .heap = object->kind == GPUSIM_OBJECT_HEAP,
                            .element_bytes = fine};
    use->elements = (object->address + object->size_bytes - 1) / fine - object->address / fine + 1;
    use->counts = must(calloc(use->elements, sizeof(*use->counts)));
    return use;
}

static void see_block(struct reader *reader, const struct gpusim_object *object, bool ends)
{
    if (object->kind != GPUSIM_OBJECT_HEAP)
        return;
    if (!ends) {
        PUSH(struct block, &reader->story->blocks) = (struct block){.object = object->id,
                                                                    .address = object->address,
                                                                    .bytes = object->size_bytes,
                                                                    .began = reader->at};
        return;
    }
    for (size_t i = reader->story->blocks.count; reader->running && i-- > 0;) { // else all end
        struct block *block = &reader->story->blocks.items[i];
        if (block->object == object->id) {
            block->has_end = true;
            block->ended = reader->at;
            return;
        }
    }
}

// The log does not say which launch allocated or freed a block. The probes store the block's
// address at both times, and these stores show which launches are possible.
static void see_given(struct launch *launch, const struct gpusim_log_access *access)
{
    const bool given = strcmp(access->site->function, "glint$given") == 0;
    if ((!given && strcmp(access->site->function, "glint$taken") != 0) ||
        access->kind != GPUSIM_LOG_STORE || access->bytes != sizeof(uint64_t))
        return;
    const unsigned lanes = (unsigned)__builtin_popcount(access->mask);
    for (unsigned i = 0; i < lanes; i++) {
        uint64_t value;
        memcpy(&value, access->values + i * access->value_stride, sizeof(value));
        must(base_map_put(given ? &launch->given : &launch->taken, value, NULL));
    }
}

static bool is_in(const struct gpusim_object *object, uint64_t address)
{
    return address - object->address < object->size_bytes;
}

// Returns the flags of a launch at object level. The context is the last parameter, followed by an
// unknown number of bounds, so every offset is tried. At that level there are no tallies.
static uint64_t flags_of(const struct gpusim_log_launch *launch)
{
    struct instrument_context context;
    for (size_t from = sizeof(context); from <= launch->params_bytes;
         from += sizeof(struct instrument_bounds)) {
        memcpy(&context, (const char *)launch->params + launch->params_bytes - from,
               sizeof(context));
        if (context.flags && !context.tallies && context.options <= INSTRUMENT_ROWS &&
            !context.whole[0] && !context.whole[1] && !context.dense)
            return context.flags;
    }
    return 0;
}

// An object is glint's if glint's kernels or functions touch it. At object level there are no such
// kernels, so launch contexts identify the flags. A clone touches all other objects exactly as its
// kernel would.
static void see_own(struct reader *reader, const struct gpusim_log_access *access)
{
    const struct gpusim_log_launch *launch = access->launch;
    const struct gpusim_object *object = access->object;
    bool own = strncmp(launch->kernel, "glint", 5) == 0 ||
               strncmp(access->site->function, "glint$", 6) == 0;
    if (!object || access->space != GPUSIM_LOG_GLOBAL)
        return;
    if (reader->level == LEVEL_OBJECTS && strstr(launch->kernel, "$glint"))
        own |= is_in(object, flags_of(launch));
    if (own)
        must(base_map_put(&reader->own, object->id, NULL));
}

// Only the driver knows the memory with which the blocks of a cooperative launch synchronize, so
// the profile lacks it. It must contain all other objects that a kernel touches.
static void see_strange(struct reader *reader, const struct gpusim_log_access *access)
{
    const struct gpusim_object *object = access->object;
    bool added;
    must(base_map_put(&reader->strange, object->id, &added));
    if (!added)
        return;
    if (strcmp(object->name, "grid barrier") == 0) {
        reader->story->barriers++;
        return;
    }
    reader->story->wrong++;
    printf("the profile does not know object %llu of the log, 0x%llx of %llu bytes (%s, %s), which "
           "%s touches: %s, line %u\n",
           (unsigned long long)object->id, (unsigned long long)object->address,
           (unsigned long long)object->size_bytes, gpusim_object_kind_name(object->kind),
           object->name, access->launch->kernel, access->site->text, access->site->ptx_line);
}

// The driver reads the texts of printf.
static void see_request(struct reader *reader, const struct gpusim_log_access *access)
{
    const struct running *running = running_of(reader, access->launch->number);
    const bool own = access->object && base_map_get(&reader->own, access->object->id);
    const bool counted = access->space == GPUSIM_LOG_GLOBAL || access->space == GPUSIM_LOG_SHARED ||
                         access->space == GPUSIM_LOG_LOCAL;
    if (running && running->launch->watched && counted && !own &&
        strncmp(access->site->function, "glint$", 6) != 0 &&
        strncmp(access->site->text, "call", 4) != 0)
        requests_see(&reader->requests, reader->story, running->launch, access);
}

static void see_access(struct reader *reader, const struct gpusim_log_access *access)
{
    struct running *running = running_of(reader, access->launch->number);
    // The driver reads the texts of printf; constants and textures have no probes.
    if (!running || access->space != GPUSIM_LOG_GLOBAL ||
        strncmp(access->site->text, "call", 4) == 0)
        return;
    if (!access->object) {
        printf("an access to memory that has ended: nobody knows what it was\n");
        reader->story->wrong++;
        return;
    }
    if (base_map_get(&reader->own, access->object->id)) {
        see_given(launch_of(reader, running->id), access);
        return;
    }
    const bool heap = access->object->kind == GPUSIM_OBJECT_HEAP;
    reader->story->heap += heap;
    if (!base_map_get(&reader->other->addresses, access->object->address)) {
        reader->story->untold += heap;
        if (!heap)
            see_strange(reader, access);
        return;
    }
    struct use *use = use_of(reader, running, access->object);
    const uint64_t lanes = (unsigned)__builtin_popcount(access->mask);
    if (access->kind != GPUSIM_LOG_STORE) {
        use->row.read = true;
        use->row.bytes_read += lanes * access->bytes;
    }
    if (access->kind != GPUSIM_LOG_LOAD) {
        use->row.written = true;
        use->row.bytes_written += lanes * access->bytes;
    }
    const uint64_t fine = use->row.element_bytes, base = use->object->address / fine;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const uint64_t at = access->address[__builtin_ctz(left)];
        for (uint64_t i = at / fine; i <= (at + access->bytes - 1) / fine; i++)
            use->counts[i - base]++;
    }
}

// Returns the bin of a count. Bins 0, 1, 2, 3, 4, 5, ... begin at 1, 1.5, 2, 3, 4, 6, ...
static unsigned bin_of(uint64_t count)
{
    unsigned bin = 0;
    while (bin + 1 < PROFILE_COUNT_BINS && 2 * count >= ((bin + 1) % 2 ? (uint64_t)3 : (uint64_t)2)
                                                            << (bin + 1) / 2)
        bin++;
    return bin;
}

static void count_up(const struct use *use, struct row *row)
{
    unsigned __int128 squares = 0;
    for (uint64_t i = 0; i < use->elements; i++) {
        const uint32_t count = use->counts[i];
        if (!count)
            continue;
        row->elements++;
        row->counts.sum += count;
        squares += (uint64_t)count * count;
        if (count > row->counts.most) {
            row->counts.most = count;
            row->counts.most_at = i;
        }
        row->counts.bins[bin_of(count)]++;
    }
    row->counts.squares_low = (uint64_t)squares;
    row->counts.squares_high = (uint64_t)(squares >> 64);
}

// Finds the ranges with the highest sums; among equal sums, the first ranges win.
static void find_hottest(const struct use *use, uint64_t piece, struct profile_counts *counts)
{
    for (uint64_t first = 0; first < use->elements; first += piece) {
        struct profile_hot_range range = {.first = first};
        while (range.elements < piece && first + range.elements < use->elements)
            range.sum += use->counts[first + range.elements++];
        unsigned at = 0;
        while (at < PROFILE_HOT_RANGES && range.sum <= counts->hottest[at].sum)
            at++;
        if (at == PROFILE_HOT_RANGES || !range.sum)
            continue;
        memmove(&counts->hottest[at + 1], &counts->hottest[at],
                (PROFILE_HOT_RANGES - 1 - at) * sizeof(range));
        counts->hottest[at] = range;
    }
}

static void live_on(struct reader *reader, const struct use *use)
{
    struct life *life = NULL;
    for (size_t i = 0; i < reader->story->lives.count && !life; i++) {
        if (reader->story->lives.items[i].object == use->object->id)
            life = &reader->story->lives.items[i];
    }
    if (!life) {
        life = must(base_array_push(&reader->story->lives));
        *life = (struct life){.object = use->object->id,
                              .address = use->object->address,
                              .heap = use->row.heap,
                              .element_bytes = use->row.element_bytes,
                              .elements = use->elements,
                              .times = must(calloc(1, use->elements))};
    }
    life->mixed |= life->element_bytes != use->row.element_bytes;
    life->foreign |= use->foreign;
    for (uint64_t i = 0; i < use->elements && !life->mixed; i++) {
        if (!use->counts[i] || life->times[i] == 2)
            continue;
        life->touched += life->times[i] == 0;
        life->more += life->times[i] == 1;
        life->times[i]++;
    }
}

static void see_end(struct reader *reader, uint64_t id)
{
    struct running *running = running_of(reader, id);
    struct launch *launch = launch_of(reader, id);
    if (!running || !launch)
        return;
    launch->to = reader->at;
    for (size_t i = 0; i < running->uses.count; i++) {
        struct use *use = &running->uses.items[i];
        count_up(use, &use->row);
        find_hottest(use, piece_of(reader, &use->row), &use->row.counts);
        if (launch->watched && reader->level >= LEVEL_ELEMENTS)
            live_on(reader, use);
        if (reader->level < LEVEL_COUNTS)
            use->row.counts = (struct profile_counts){0};
        if (reader->level < LEVEL_ELEMENTS)
            use->row = (struct row){.object = use->row.object,
                                    .address = use->row.address,
                                    .bytes = use->row.bytes,
                                    .heap = use->row.heap,
                                    .read = use->row.read,
                                    .written = use->row.written};
        PUSH(struct row, &launch->rows) = use->row;
        free(use->counts);
    }
    struct running **link = &reader->running;
    while (*link != running)
        link = &(*link)->next;
    *link = running->next;
    base_array_fini(&running->uses);
    free(running);
}

// First pass: numbers the launches before their accesses are read, and finds glint's objects.
static enum base_code read_launches(struct reader *reader, struct gpusim_log *log,
                                    struct base_error *error)
{
    struct gpusim_log_record record;
    enum base_code code;
    while ((code = gpusim_log_next(log, &record, error)) == BASE_OK) {
        bool watched;
        if (record.type == GPUSIM_LOG_ACCESS)
            see_own(reader, &record.access);
        char *kernel = record.type == GPUSIM_LOG_LAUNCH
                           ? own_name(reader, record.launch->kernel, &watched)
                           : NULL;
        if (kernel)
            PUSH(struct launch, &reader->story->launches) =
                (struct launch){.kernel = kernel,
                                .id = record.launch->number,
                                .order = record.launch->call << 24 | record.launch->number,
                                .watched = watched};
    }
    story_number(reader->story);
    return code;
}

static enum base_code read_accesses(struct reader *reader, struct gpusim_log *log,
                                    struct base_error *error)
{
    struct gpusim_log_record record;
    enum base_code code;
    while ((code = gpusim_log_next(log, &record, error)) == BASE_OK) {
        struct launch *launch =
            record.type == GPUSIM_LOG_LAUNCH ? launch_of(reader, record.launch->number) : NULL;
        reader->at++;
        if (launch) {
            launch->from = reader->at;
            struct running *running = must(calloc(1, sizeof(*running)));
            *running = (struct running){.next = reader->running,
                                        .id = record.launch->number,
                                        .device = record.launch->device,
                                        .launch = launch};
            reader->running = running;
        } else if (record.type == GPUSIM_LOG_OBJECT || record.type == GPUSIM_LOG_OBJECT_END) {
            see_block(reader, record.object, record.type == GPUSIM_LOG_OBJECT_END);
        } else if (record.type == GPUSIM_LOG_ACCESS) {
            if (reader->wants_requests)
                see_request(reader, &record.access);
            see_access(reader, &record.access);
        } else if (record.type == GPUSIM_LOG_LAUNCH_END) {
            see_end(reader, record.launch_end.number);
        }
    }
    requests_end(&reader->requests, reader->story);
    return code;
}

bool logged(const char *path, const struct scope *scope, const struct story *other,
            struct story *story)
{
    struct reader reader = {
        .level = scope->level, .other = other, .story = story, .wants_requests = scope->requests};
    struct base_error error = {0};
    bool good = true;
    for (unsigned pass = 0; pass < 2 && good; pass++) {
        struct gpusim_log *log;
        good = gpusim_log_open(path, &log, &error) == BASE_OK;
        if (!good)
            break;
        good = (pass ? read_accesses : read_launches)(&reader, log, &error) == BASE_NOT_FOUND &&
               gpusim_log_state(log) == GPUSIM_LOG_COMPLETE;
        gpusim_log_close(log);
    }
    while (reader.running) { // the log may be truncated
        struct running *next = reader.running->next;
        base_array_fini(&reader.running->uses);
        free(reader.running);
        reader.running = next;
    }
    if (!good)
        printf("%s is not whole\n", path);
    story->own = reader.own.live;
    base_map_fini(&reader.own);
    base_map_fini(&reader.strange);
    story_number(story);
    return good;
}
