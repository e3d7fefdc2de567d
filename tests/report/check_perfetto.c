// SPDX-License-Identifier: Apache-2.0
// Decodes a trace of glint report --format perfetto, independently of the writer's code.
// check_perfetto TRACE fails if the trace is not well-formed, and else prints its contents:
//   slices CATEGORY N      instants CATEGORY N      flows N
//   counter TRACK/NAME highest N last N
// Well-formed: every length matches its content; each sequence begins with a cleared state; each
// track is described once, before its use; names, categories and annotations use numbers that were
// defined before in the same sequence; texts are UTF-8; on each track, slices are properly nested
// and in the order of time; every flow begins once and ends once, in that
// order.
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRACKS = 100000, MOST_FLOWS = 2000000, MOST_NUMBERS = 100000, MOST_SEQUENCES = 8 };
enum { CATEGORIES = 16 };

struct piece {
    const unsigned char *at, *end;
};

struct field {
    uint64_t number, value; // value: of a varint or of 64 bits
    unsigned wire;
    struct piece content; // of wire 2
};

struct track {
    bool known, is_counter, has_value;
    uint64_t parent;
    char name[128];
    unsigned open;    // slices
    uint64_t last_ns; // of the last event
    int64_t highest, last;
};

struct sequence {
    bool begun;
    char *categories[CATEGORIES]; // texts by number
    bool names[MOST_NUMBERS], texts[MOST_NUMBERS], annotations[MOST_NUMBERS];
};

static struct track tracks[MOST_TRACKS];
static struct sequence sequences[MOST_SEQUENCES];
static unsigned char flow_ends[MOST_FLOWS]; // by hash of the number: 0 none, 1 begun, 2 ended
static uint64_t flow_numbers[MOST_FLOWS];
static uint64_t flow_ns[MOST_FLOWS];
static struct count {
    const char *category;
    uint64_t slices, instants;
} counts[CATEGORIES];
static uint64_t packets, flows_begun, flows_ended;

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "packet %llu: ", (unsigned long long)packets);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

// --- The encoding --------------------------------------------------------------------------------

static uint64_t take_varint(struct piece *piece)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (piece->at == piece->end)
            fail("a number is cut off");
        unsigned char byte = *piece->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    fail("a number is too long");
}

static bool take_field(struct piece *piece, struct field *field)
{
    if (piece->at == piece->end)
        return false;
    uint64_t tag = take_varint(piece);
    *field = (struct field){.number = tag >> 3, .wire = tag & 7};
    if (field->wire == 0) {
        field->value = take_varint(piece);
    } else if (field->wire == 1) {
        if (piece->end - piece->at < 8)
            fail("64 bits are cut off");
        for (unsigned i = 0; i < 8; i++)
            field->value |= (uint64_t)*piece->at++ << 8 * i;
    } else if (field->wire == 2) {
        uint64_t length = take_varint(piece);
        if (length > (uint64_t)(piece->end - piece->at))
            fail("a length of %llu goes beyond its message", (unsigned long long)length);
        field->content = (struct piece){piece->at, piece->at + length};
        piece->at += length;
    } else {
        fail("field %llu is of kind %u", (unsigned long long)field->number, field->wire);
    }
    return true;
}

// A partial check that the text is UTF-8, and has no control characters.
static void check_text(struct piece text)
{
    while (text.at < text.end) {
        unsigned char first = *text.at++;
        int more = first < 0x80 ? 0 : first < 0xc2 ? -1 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        if (more < 0 || first > 0xf4 || more > text.end - text.at || first < 0x20)
            fail("a text has the byte 0x%02x", first);
        for (; more > 0; more--) {
            if ((*text.at++ & 0xc0) != 0x80)
                fail("a text is not UTF-8");
        }
    }
}

static char *copy_text(struct piece text)
{
    check_text(text);
    char *copy = strndup((const char *)text.at, (size_t)(text.end - text.at));
    if (!copy)
        fail("out of memory");
    return copy;
}

// --- Tracks --------------------------------------------------------------------------------------

static struct track *track_at(uint64_t number)
{
    if (number == 0 || number >= MOST_TRACKS || !tracks[number].known)
        fail("track %llu is not described", (unsigned long long)number);
    return &tracks[number];
}

static void take_thread_name(struct track *track, struct piece message, uint64_t name_field)
{
    struct field field;
    bool has_pid = false;
    while (take_field(&message, &field)) {
        has_pid |= field.number == 1 && field.value != 0;
        if (field.number == name_field) {
            char *name = copy_text(field.content);
            snprintf(track->name, sizeof(track->name), "%s", name);
            free(name);
        }
    }
    if (!has_pid)
        fail("a process or thread without a number");
}

static void take_track(struct piece message)
{
    struct field field;
    struct track track = {.known = true};
    uint64_t number = 0;
    while (take_field(&message, &field)) {
        switch (field.number) {
        case 1: number = field.value; break;
        case 2: {
            char *name = copy_text(field.content);
            snprintf(track.name, sizeof(track.name), "%s", name);
            free(name);
            break;
        }
        case 3: take_thread_name(&track, field.content, 6); break;
        case 4: take_thread_name(&track, field.content, 5); break;
        case 5:
            track_at(field.value);
            track.parent = field.value;
            break;
        case 8: track.is_counter = true; break;
        case 11:
        case 12: break;
        default: fail("a track has the field %llu", (unsigned long long)field.number);
        }
    }
    if (number == 0 || number >= MOST_TRACKS || tracks[number].known || !track.name[0])
        fail("track %llu, '%s', is described twice or badly", (unsigned long long)number,
             track.name);
    tracks[number] = track;
}

// --- Names ---------------------------------------------------------------------------------------

static void take_new_names(struct sequence *sequence, struct piece message)
{
    struct field field, part;
    while (take_field(&message, &field)) {
        uint64_t number = 0;
        char *text = NULL;
        while (take_field(&field.content, &part)) {
            if (part.number == 1)
                number = part.value;
            else if (part.number == 2 && !text)
                text = copy_text(part.content);
            else
                fail("a name has the field %llu", (unsigned long long)part.number);
        }
        bool *known = field.number == 2    ? sequence->names
                      : field.number == 3  ? sequence->annotations
                      : field.number == 29 ? sequence->texts
                                           : NULL;
        bool is_category = field.number == 1 && number < CATEGORIES;
        if (!text || number == 0 || number >= MOST_NUMBERS || (!known && !is_category))
            fail("a name of kind %llu has the number %llu", (unsigned long long)field.number,
                 (unsigned long long)number);
        if (known ? known[number] : sequence->categories[number] != NULL)
            fail("a name is sent twice");
        if (is_category) {
            sequence->categories[number] = text;
        } else {
            known[number] = true;
            free(text);
        }
    }
}

static void check_known(const bool *known, uint64_t number, const char *what)
{
    if (number >= MOST_NUMBERS || !known[number])
        fail("%s %llu was not sent", what, (unsigned long long)number);
}

// --- Events --------------------------------------------------------------------------------------

// The end of a flow must come after its start in the file: Perfetto's sort by time is stable.
static void take_flow(uint64_t number, bool ends, uint64_t ns)
{
    size_t at = number * 0x9e3779b97f4a7c15u % MOST_FLOWS;
    while (flow_ends[at] && flow_numbers[at] != number)
        at = (at + 1) % MOST_FLOWS;
    if (flow_ends[at] != ends || (ends && flow_ns[at] > ns))
        fail("flow %llu %s", (unsigned long long)number,
             ends ? "ends where it has not begun" : "begins twice");
    flow_numbers[at] = number;
    flow_ns[at] = ns;
    flow_ends[at]++;
    flows_begun += !ends;
    flows_ended += ends;
}

static void check_annotation(const struct sequence *sequence, struct piece message)
{
    struct field field;
    unsigned names = 0, values = 0;
    while (take_field(&message, &field)) {
        switch (field.number) {
        case 1:
            check_known(sequence->annotations, field.value, "annotation");
            names++;
            break;
        case 6:
            check_text(field.content);
            values++;
            break;
        case 17:
            check_known(sequence->texts, field.value, "text");
            values++;
            break;
        case 3:
        case 4: values++; break;
        default: fail("an annotation has the field %llu", (unsigned long long)field.number);
        }
    }
    if (names != 1 || values != 1)
        fail("an annotation of %u names and %u values", names, values);
}

static struct count *count_of(const struct sequence *sequence, uint64_t category)
{
    const char *word = category < CATEGORIES ? sequence->categories[category] : NULL;
    if (!word)
        fail("category %llu was not sent", (unsigned long long)category);
    for (unsigned i = 0; i < CATEGORIES; i++) {
        if (!counts[i].category)
            counts[i].category = word;
        if (strcmp(counts[i].category, word) == 0)
            return &counts[i];
    }
    fail("too many categories");
}

static void take_event(struct sequence *sequence, struct piece message, uint64_t ns)
{
    struct field field;
    struct track *track = NULL;
    uint64_t type = 0, category = 0;
    bool has_name = false, has_value = false;
    int64_t value = 0;
    while (take_field(&message, &field)) {
        switch (field.number) {
        case 3: category = field.value; break;
        case 4: check_annotation(sequence, field.content); break;
        case 9: type = field.value; break;
        case 10:
            check_known(sequence->names, field.value, "name");
            has_name = true;
            break;
        case 11: track = track_at(field.value); break;
        case 23:
            check_text(field.content);
            has_name = true;
            break;
        case 30:
            value = (int64_t)field.value;
            has_value = true;
            break;
        case 47: take_flow(field.value, false, ns); break;
        case 48: take_flow(field.value, true, ns); break;
        case 52: break;
        default: fail("an event has the field %llu", (unsigned long long)field.number);
        }
    }
    if (!track || track->is_counter != (type == 4) || has_value != (type == 4) ||
        has_name != (type == 1 || type == 3))
        fail("an event of kind %llu is not one", (unsigned long long)type);
    if (ns < track->last_ns)
        fail("an event comes before the one before it on '%s'", track->name);
    if (type == 1) {
        track->open++;
        count_of(sequence, category)->slices++;
    } else if (type == 2) {
        if (track->open == 0)
            fail("a slice ends that has not begun, on '%s'", track->name);
        track->open--;
    } else if (type == 3) {
        count_of(sequence, category)->instants++;
    } else {
        if (value < 0)
            fail("'%s' is %lld", track->name, (long long)value);
        track->highest = track->has_value && track->highest > value ? track->highest : value;
        track->last = value;
        track->has_value = true;
    }
    track->last_ns = ns;
}

static void take_packet(struct piece message)
{
    struct field field;
    struct piece event = {0}, names = {0}, described = {0};
    uint64_t sequence = 0, flags = 0, ns = UINT64_MAX, others = 0;
    packets++;
    while (take_field(&message, &field)) {
        switch (field.number) {
        case 8: ns = field.value; break;
        case 10: sequence = field.value; break;
        case 11: event = field.content; break;
        case 12: names = field.content; break;
        case 13: flags = field.value; break;
        case 60: described = field.content; break;
        case 6:
        case 59:
        case 87: others++; break;
        default: fail("it has the field %llu", (unsigned long long)field.number);
        }
    }
    if (sequence == 0 || sequence >= MOST_SEQUENCES)
        fail("it is of sequence %llu", (unsigned long long)sequence);
    struct sequence *of = &sequences[sequence];
    if (flags != (of->begun ? 2u : 3u))
        fail("its flags are %llu", (unsigned long long)flags);
    of->begun = true;
    if (!event.at && !described.at && !others)
        fail("there is nothing in it");
    if (names.at)
        take_new_names(of, names);
    if (described.at)
        take_track(described);
    if (event.at) {
        if (ns > INT64_MAX)
            fail("an event without a time");
        take_event(of, event, ns);
    }
}

static unsigned char *read_all(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    size_t capacity = 1 << 20, got;
    unsigned char *bytes = malloc(capacity);
    *length = 0;
    while (file && bytes && (got = fread(bytes + *length, 1, capacity - *length, file)) > 0) {
        *length += got;
        if (*length == capacity)
            bytes = realloc(bytes, capacity *= 2);
    }
    if (!file || !bytes)
        fail("cannot read %s", path);
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: check_perfetto TRACE\n");
        return 2;
    }
    size_t length;
    unsigned char *bytes = read_all(argv[1], &length);
    struct piece trace = {bytes, bytes + length};
    struct field field;
    while (take_field(&trace, &field)) {
        if (field.number != 1 || field.wire != 2)
            fail("there is something else than packets");
        take_packet(field.content);
    }
    for (uint64_t i = 1; i < MOST_TRACKS; i++) {
        if (tracks[i].open)
            fail("a slice does not end, on '%s'", tracks[i].name);
        if (tracks[i].has_value)
            printf("counter %s/%s highest %lld last %lld\n", tracks[tracks[i].parent].name,
                   tracks[i].name, (long long)tracks[i].highest, (long long)tracks[i].last);
    }
    if (flows_begun != flows_ended)
        fail("%llu flows begin, %llu end", (unsigned long long)flows_begun,
             (unsigned long long)flows_ended);
    for (unsigned i = 0; i < CATEGORIES && counts[i].category; i++) {
        if (counts[i].slices)
            printf("slices %s %llu\n", counts[i].category, (unsigned long long)counts[i].slices);
        if (counts[i].instants)
            printf("instants %s %llu\n", counts[i].category,
                   (unsigned long long)counts[i].instants);
    }
    printf("flows %llu\n", (unsigned long long)flows_begun);
    free(bytes);
    return 0;
}
