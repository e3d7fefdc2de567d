// SPDX-License-Identifier: Apache-2.0
// Two tables. `contents` has what is recorded of code, once for equal code, and is never emptied.
// `sights` has where code objects were seen, by address: the memory that tells one from another,
// and its content. A slot of it is replaced by a newer sight. Nothing is moved or freed, so no
// reader needs a lock.
//
// A sight has what file, name and lines follow from: the first line's number, and the addresses of
// the texts and of the table of lines; the hashes of texts, which Python keeps with nearly every
// name, or else the texts themselves; and the table. If all are equal, nothing else matters.
// `spans` lists the same memory for those who read it with system calls.
#include "codes.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/base.h"
#include "texts.h"

enum {
    SETS = 1 << 12,
    WAYS = 2,
    CONTENTS = 1 << 16,
    PROBES = 64,
    ROOM_BYTES = 64 << 20,
    ROOM_SCARCE_BYTES = 1 << 20,
    HEAD_MOST = 512,        // bytes of a code object's head
    LINES_MOST = 128 << 10, // of a table of lines; the rest is not known
    SPANS_MOST = 8,
};

struct content {
    uint64_t hash;
    uint32_t number, bytes;
    struct event_code event;
    _Atomic bool told;
    unsigned char data[]; // file, name, lines
};

struct span { // memory, and what was there
    uint64_t address;
    uint32_t bytes, at; // at: in the sight's data
};

struct seen_text {
    uint64_t address, hash, length; // as in struct python_text
    uint64_t data_address;
    uint32_t data_bytes, at; // at: of the text in the sight's data
};

struct sight {
    uint64_t code;
    uint64_t file_hash; // of the file's name; equal for all code in a file
    uint64_t lines, lines_size;
    uint32_t first_line, number;
    uint32_t lines_bytes, lines_at; // of the table that was read, and where it is in the data
    struct seen_text file, name;
    uint32_t count;
    struct span spans[SPANS_MOST]; // lengths precede what they are the length of
    unsigned char data[];
};

struct python_codes {
    uint64_t mapped_bytes, room_bytes;
    _Atomic uint64_t used_bytes;
    _Atomic uint32_t *numbers;
    _Atomic uint32_t turn; // which way is replaced next
    struct sight *_Atomic sights[SETS][WAYS];
    struct content *_Atomic contents[CONTENTS];
    _Alignas(16) unsigned char room[];
};

struct python_codes *python_codes_make(bool scarce, _Atomic uint32_t *numbers)
{
    const uint64_t room = scarce ? ROOM_SCARCE_BYTES : ROOM_BYTES;
    const uint64_t bytes = sizeof(struct python_codes) + room;
    // Only pages that are touched use physical memory.
    struct python_codes *codes = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (codes == MAP_FAILED)
        return NULL;
    codes->mapped_bytes = bytes;
    codes->room_bytes = room;
    codes->numbers = numbers;
    return codes;
}

void python_codes_free(struct python_codes *codes)
{
    if (codes)
        munmap(codes, codes->mapped_bytes);
}

static void *take_room(struct python_codes *codes, uint64_t bytes)
{
    const uint64_t all = (bytes + 15) & ~UINT64_C(15);
    uint64_t start = atomic_load_explicit(&codes->used_bytes, memory_order_relaxed);
    do {
        if (all > codes->room_bytes - start)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&codes->used_bytes, &start, start + all,
                                                    memory_order_relaxed, memory_order_relaxed));
    return codes->room + start;
}

// Gives back what was taken last; otherwise it stays unused.
static void return_room(struct python_codes *codes, const void *taken, uint64_t bytes)
{
    const uint64_t start = (uint64_t)((const unsigned char *)taken - codes->room);
    uint64_t end = start + ((bytes + 15) & ~UINT64_C(15));
    atomic_compare_exchange_strong_explicit(&codes->used_bytes, &end, start, memory_order_relaxed,
                                            memory_order_relaxed);
}

// --- Sights --------------------------------------------------------------------------------------

static inline struct sight *_Atomic *set_of(struct python_codes *codes, uint64_t code)
{
    const uint64_t hash = (code >> 4) * UINT64_C(0x9E3779B97F4A7C15);
    return codes->sights[hash >> 40 & (SETS - 1)];
}

static inline uint64_t word_at(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

static inline const unsigned char *memory_at(uint64_t address)
{
    return (const unsigned char *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

static inline bool is_same_text(const struct python_layout *layout, const struct sight *sight,
                                const struct seen_text *text)
{
    const unsigned char *there = memory_at(text->address) + layout->text_length;
    if (text->hash != UINT64_MAX)
        return word_at(there + 8) == text->hash;
    return word_at(there) == text->length &&
           memcmp(memory_at(text->data_address), sight->data + text->at, text->data_bytes) == 0;
}

static inline bool is_unchanged(const struct python_layout *layout, const struct sight *sight,
                                struct python_recalled *last)
{
    const unsigned char *code = memory_at(sight->code);
    uint32_t first_line;
    memcpy(&first_line, code + layout->first_line, sizeof(first_line));
    if ((word_at(code + layout->filename) ^ sight->file.address) |
        (word_at(code + layout->name) ^ sight->name.address) |
        (word_at(code + layout->line_table) ^ sight->lines) | (first_line ^ sight->first_line))
        return false;
    // Only now is it known that these objects exist. All code of a file has the same text.
    const unsigned char *lines = memory_at(sight->lines);
    if (word_at(lines + layout->bytes_size) != sight->lines_size ||
        !is_same_text(layout, sight, &sight->name) ||
        memcmp(lines + layout->bytes_data, sight->data + sight->lines_at, sight->lines_bytes) != 0)
        return false;
    if (last->file == sight->file.address && last->file_hash == sight->file_hash)
        return true;
    if (!is_same_text(layout, sight, &sight->file))
        return false;
    last->file = sight->file.address;
    last->file_hash = sight->file_hash;
    return true;
}

bool python_codes_recall(struct python_codes *codes, const struct python_layout *layout,
                         uint64_t code, struct python_recalled *last)
{
    if (last->code == code)
        return true;
    struct sight *_Atomic *set = set_of(codes, code);
    for (unsigned i = 0; i < WAYS; i++) {
        const struct sight *sight = atomic_load_explicit(&set[i], memory_order_acquire);
        if (sight && sight->code == code && is_unchanged(layout, sight, last)) {
            last->code = code;
            last->number = sight->number;
            return true;
        }
    }
    return false;
}

// Pieces of memory that are read at once.
enum { BATCH_PIECES = 128, BATCH_BYTES = 4096 };
struct batch {
    uint32_t count, bytes;
    struct iovec pieces[BATCH_PIECES];
    const unsigned char *expected[BATCH_PIECES];
    uint32_t frame[BATCH_PIECES]; // whose it is
    unsigned char data[BATCH_BYTES];
};

// Compares what the batch has. Numbers of frames with something else become 0.
static void end_batch(struct batch *batch, uint32_t *numbers)
{
    const bool read = python_read_pieces(batch->pieces, batch->count, batch->data, batch->bytes);
    const unsigned char *at = batch->data;
    for (uint32_t i = 0; i < batch->count; i++) {
        const size_t bytes = batch->pieces[i].iov_len;
        if (!read || memcmp(at, batch->expected[i], bytes) != 0)
            numbers[batch->frame[i]] = 0;
        at += bytes;
    }
    batch->count = batch->bytes = 0;
}

static void add_to_batch(struct batch *batch, const struct sight *sight, uint32_t frame,
                         uint32_t *numbers)
{
    for (uint32_t i = 0; i < sight->count; i++) {
        const struct span *span = &sight->spans[i];
        for (uint32_t done = 0; done < span->bytes;) {
            if (batch->count == BATCH_PIECES || batch->bytes == BATCH_BYTES)
                end_batch(batch, numbers);
            const uint32_t rest = span->bytes - done, room = BATCH_BYTES - batch->bytes,
                           bytes = rest < room ? rest : room;
            batch->pieces[batch->count].iov_base =
                (void *)(uintptr_t)(span->address + done); // NOLINT(performance-no-int-to-ptr)
            batch->pieces[batch->count].iov_len = bytes;
            batch->expected[batch->count] = sight->data + span->at + done;
            batch->frame[batch->count++] = frame;
            batch->bytes += bytes;
            done += bytes;
        }
    }
}

void python_codes_recall_all(struct python_codes *codes, const struct python_frame *frames,
                             uint32_t count, uint32_t *numbers)
{
    struct batch batch;
    batch.count = batch.bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct sight *_Atomic *set = set_of(codes, frames[i].code);
        const struct sight *sight = NULL;
        for (unsigned way = 0; way < WAYS && (!sight || sight->code != frames[i].code); way++)
            sight = atomic_load_explicit(&set[way], memory_order_acquire);
        if (!sight || sight->code != frames[i].code) {
            numbers[i] = 0;
            continue;
        }
        numbers[i] = sight->number;
        add_to_batch(&batch, sight, i, numbers);
    }
    if (batch.count)
        end_batch(&batch, numbers);
}

// Prefers an outdated sight of the same address, and an empty place.
static void keep_sight(struct python_codes *codes, struct sight *sight)
{
    struct sight *_Atomic *set = set_of(codes, sight->code);
    unsigned way = atomic_fetch_add_explicit(&codes->turn, 1, memory_order_relaxed) % WAYS;
    for (unsigned i = WAYS; i-- > 0;) {
        const struct sight *there = atomic_load_explicit(&set[i], memory_order_acquire);
        if (!there)
            way = i;
    }
    for (unsigned i = 0; i < WAYS; i++) {
        const struct sight *there = atomic_load_explicit(&set[i], memory_order_acquire);
        if (there && there->code == sight->code)
            way = i;
    }
    atomic_store_explicit(&set[way], sight, memory_order_release);
}

// --- Contents ------------------------------------------------------------------------------------

static bool is_content(const struct content *one, const struct content *other)
{
    return one->hash == other->hash && one->bytes == other->bytes &&
           one->event.first_line == other->event.first_line &&
           one->event.file_bytes == other->event.file_bytes &&
           one->event.name_bytes == other->event.name_bytes &&
           memcmp(one->data, other->data, one->bytes) == 0;
}

// Returns the content that is equal to the made one, which may be the made one itself; NULL: no
// room is left.
static struct content *intern(struct python_codes *codes, struct content *made, uint64_t room_bytes)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct content *_Atomic *slot = &codes->contents[(made->hash + i) & (CONTENTS - 1)];
        struct content *there = atomic_load_explicit(slot, memory_order_acquire);
        if (!there) {
            if (!made->number)
                made->event.number = made->number =
                    atomic_fetch_add_explicit(codes->numbers, 1, memory_order_relaxed) + 1;
            if (atomic_compare_exchange_strong_explicit(slot, &there, made, memory_order_acq_rel,
                                                        memory_order_acquire))
                return made;
        }
        if (is_content(there, made)) {
            return_room(codes, made, room_bytes);
            return there;
        }
    }
    return NULL;
}

static bool tell(struct content *content, struct event_ring *ring)
{
    if (atomic_load_explicit(&content->told, memory_order_acquire))
        return true;
    if (!event_put(ring, EVENT_CODE, &content->event, sizeof(content->event), content->data,
                   content->bytes))
        return false;
    atomic_store_explicit(&content->told, true, memory_order_release);
    return true;
}

// --- Reading -------------------------------------------------------------------------------------

// What a code object leads to.
struct parts {
    unsigned char head[HEAD_MOST]; // from the first line to behind the table of lines
    uint32_t head_bytes;
    uint64_t lines, lines_bytes;
    struct python_text file, name;
};

// Returns whether all is where the layout says.
static enum python_codes_answer read_parts(const struct python_layout *layout,
                                           const struct python_types *types, uint64_t code,
                                           struct parts *parts)
{
    uint64_t type, size[2] = {0, 0}, file, name;
    parts->head_bytes = layout->line_table + 8u - layout->first_line;
    if (parts->head_bytes > sizeof(parts->head) || layout->filename < layout->first_line ||
        layout->filename > layout->line_table || layout->name < layout->first_line ||
        layout->name > layout->line_table || !python_read(code + layout->type, &type, sizeof(type)))
        return PYTHON_CODES_UNKNOWN;
    if (type != types->code)
        return PYTHON_CODES_OTHER;
    if (!python_read(code + layout->first_line, parts->head, parts->head_bytes))
        return PYTHON_CODES_UNKNOWN;
    file = word_at(parts->head + (layout->filename - layout->first_line));
    name = word_at(parts->head + (layout->name - layout->first_line));
    parts->lines = word_at(parts->head + (layout->line_table - layout->first_line));
    if (!python_read(parts->lines + layout->type, &type, sizeof(type)) || type != types->bytes ||
        !python_read(parts->lines + layout->bytes_size, size, sizeof(size[0])) ||
        size[0] > INT32_MAX || !python_text_read(layout, types->text, file, &parts->file) ||
        !python_text_read(layout, types->text, name, &parts->name))
        return PYTHON_CODES_UNKNOWN;
    parts->lines_bytes = size[0];
    return PYTHON_CODES_KNOWN;
}

// Returns the type of the object, if the type has this name; 0: it has not.
static uint64_t type_called(const struct python_layout *layout, uint64_t object, const char *name)
{
    enum { NAME = 24 }; // of a type object: a pointer to its name
    uint64_t type, at;
    char there[8] = "";
    const size_t bytes = strlen(name) + 1;
    return object % 8 == 0 && python_read(object + layout->type, &type, sizeof(type)) &&
                   type % 8 == 0 && python_read(type + NAME, &at, sizeof(at)) &&
                   python_read(at, there, bytes) && memcmp(there, name, bytes) == 0
               ? type
               : 0;
}

bool python_codes_types(const struct python_layout *layout, uint64_t code,
                        struct python_types *types)
{
    uint64_t lines, file;
    struct parts parts;
    types->code = type_called(layout, code, "code");
    if (!types->code || !python_read(code + layout->line_table, &lines, sizeof(lines)) ||
        !python_read(code + layout->filename, &file, sizeof(file)))
        return false;
    types->bytes = type_called(layout, lines, "bytes");
    types->text = type_called(layout, file, "str");
    return types->bytes && types->text &&
           read_parts(layout, types, code, &parts) == PYTHON_CODES_KNOWN;
}

// Makes what is recorded, and returns it, or an equal one that was made before; NULL: no room is
// left, or the table of lines cannot be read.
static struct content *take_content(struct python_codes *codes, const struct python_layout *layout,
                                    const struct parts *parts)
{
    const uint32_t lines =
        parts->lines_bytes < LINES_MOST ? (uint32_t)parts->lines_bytes : LINES_MOST;
    const uint64_t file = python_text_utf8(&parts->file, NULL);
    const uint64_t name = python_text_utf8(&parts->name, NULL);
    const uint64_t bytes = sizeof(struct content) + file + name + lines;
    struct content *content = take_room(codes, bytes);
    if (!content)
        return NULL;
    memset(content, 0, sizeof(*content));
    uint32_t first_line;
    struct timespec now;
    memcpy(&first_line, parts->head, sizeof(first_line));
    clock_gettime(CLOCK_REALTIME, &now);
    content->event = (struct event_code){.first_line = first_line,
                                         .file_bytes = (uint32_t)file,
                                         .name_bytes = (uint32_t)name,
                                         .lines = layout->lines,
                                         .seen_unix_s = now.tv_sec};
    content->bytes = (uint32_t)(file + name + lines);
    python_text_utf8(&parts->file, content->data);
    python_text_utf8(&parts->name, content->data + file);
    if (!python_read(parts->lines + layout->bytes_data, content->data + file + name, lines)) {
        return_room(codes, content, bytes);
        return NULL;
    }
    content->hash = base_hash(content->data, content->bytes) ^ first_line * 0x9E3779B97F4A7C15u;
    return intern(codes, content, bytes);
}

static void add_span(struct sight *sight, uint64_t address, const void *there, uint32_t bytes,
                     uint32_t *at)
{
    if (!bytes)
        return;
    sight->spans[sight->count++] = (struct span){address, bytes, *at};
    memcpy(sight->data + *at, there, bytes);
    *at += bytes;
}

static uint32_t text_bytes(const struct python_text *text)
{
    return text->hash != UINT64_MAX ? 8 : 8 + text->data_bytes;
}

static struct seen_text add_text(struct sight *sight, const struct python_layout *layout,
                                 const struct python_text *text, uint32_t *at)
{
    struct seen_text seen = {.address = text->address,
                             .hash = text->hash,
                             .length = text->length,
                             .data_address = text->data_address,
                             .data_bytes = text->data_bytes};
    if (text->hash != UINT64_MAX) {
        add_span(sight, text->address + layout->text_length + 8, &text->hash, 8, at);
        return seen;
    }
    add_span(sight, text->address + layout->text_length, &text->length, 8, at);
    seen.at = *at;
    add_span(sight, text->data_address, text->data, text->data_bytes, at);
    return seen;
}

enum python_codes_answer python_codes_learn(struct python_codes *codes,
                                            const struct python_layout *layout,
                                            const struct python_types *types,
                                            struct event_ring *ring, uint64_t code,
                                            uint32_t *number)
{
    struct parts parts;
    const enum python_codes_answer answer = read_parts(layout, types, code, &parts);
    if (answer != PYTHON_CODES_KNOWN)
        return answer;
    struct content *content = take_content(codes, layout, &parts);
    if (!content || !tell(content, ring))
        return PYTHON_CODES_UNKNOWN;
    *number = content->number;
    const uint32_t lines = content->bytes - content->event.file_bytes - content->event.name_bytes;
    // Without room it is read again each time.
    struct sight *sight = take_room(codes, sizeof(*sight) + parts.head_bytes + 8 + lines +
                                               text_bytes(&parts.file) + text_bytes(&parts.name));
    if (!sight)
        return PYTHON_CODES_KNOWN;
    uint32_t at = 0;
    memset(sight, 0, sizeof(*sight));
    sight->code = code;
    sight->number = content->number;
    sight->first_line = content->event.first_line;
    sight->file_hash = base_hash(content->data, content->event.file_bytes);
    add_span(sight, code + layout->first_line, parts.head, parts.head_bytes, &at);
    add_span(sight, parts.lines + layout->bytes_size, &parts.lines_bytes, 8, &at);
    sight->file = add_text(sight, layout, &parts.file, &at);
    sight->name = add_text(sight, layout, &parts.name, &at);
    sight->lines = parts.lines;
    sight->lines_size = parts.lines_bytes;
    sight->lines_bytes = lines;
    sight->lines_at = at;
    add_span(sight, parts.lines + layout->bytes_data,
             content->data + content->event.file_bytes + content->event.name_bytes, lines, &at);
    keep_sight(codes, sight);
    return PYTHON_CODES_KNOWN;
}
