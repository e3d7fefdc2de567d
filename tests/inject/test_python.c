// SPDX-License-Identifier: Apache-2.0
// Python frames in memory that is laid out as each version of CPython does it: they are found, code
// is recorded once, code that takes the place of freed code is told apart, and memory that does not
// fit the layout gives a note and never a crash.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/python/codes.h"
#include "inject/python/layout.h"
#include "inject/python/python.h"

// --- An interpreter that does not run ------------------------------------------------------------

enum { MEMORY_BYTES = 1 << 20, RING_SLOTS = 1 << 14, FRAME_BYTES = 160 };

struct world {
    struct python_layout layout;
    struct python *python;
    _Atomic uint32_t numbers;
    struct event_ring *ring;
    struct event_reader reader;
    void *ring_memory;
    unsigned char *memory;
    size_t used;
    uint64_t code_type, bytes_type, text_type;
    uint64_t state, frame_place; // frame_place: the word that holds the current frame
};

static uint64_t the_state; // of the calling thread

static void *this_thread(void)
{
    return (void *)(uintptr_t)the_state;
}

static void put8(uint64_t at, uint8_t value)
{
    *(uint8_t *)(uintptr_t)at = value;
}

static void put32(uint64_t at, uint32_t value)
{
    memcpy((void *)(uintptr_t)at, &value, sizeof(value));
}

static void put64(uint64_t at, uint64_t value)
{
    memcpy((void *)(uintptr_t)at, &value, sizeof(value));
}

static uint64_t take(struct world *world, size_t bytes)
{
    const uint64_t at = (uint64_t)(uintptr_t)world->memory + world->used;
    world->used += (bytes + 15) & ~(size_t)15;
    assert_true(world->used <= MEMORY_BYTES);
    return at;
}

static uint64_t make_type(struct world *world, const char *name)
{
    const uint64_t type = take(world, 64);
    const uint64_t text = take(world, strlen(name) + 1);
    strcpy((char *)(uintptr_t)text, name);
    put64(type + 24, text);
    return type;
}

static uint64_t make_bytes(struct world *world, const void *bytes, size_t length)
{
    const struct python_layout *layout = &world->layout;
    const uint64_t at = take(world, layout->bytes_data + length + 1);
    put64(at + layout->type, world->bytes_type);
    put64(at + layout->bytes_size, length);
    memcpy((void *)(uintptr_t)(at + layout->bytes_data), bytes, length);
    return at;
}

// width: of characters; hash: -1 if Python has not computed it.
static uint64_t make_text(struct world *world, const void *text, size_t length, unsigned width,
                          bool ascii, int64_t hash)
{
    const struct python_layout *layout = &world->layout;
    const size_t data = ascii ? layout->text_ascii : layout->text_data;
    const uint64_t at = take(world, data + (length + 1) * width);
    put64(at + layout->type, world->text_type);
    put64(at + layout->text_length, length);
    put64(at + layout->text_length + 8, (uint64_t)hash);
    put32(at + layout->text_state, (width | 1u << 3 | (unsigned)ascii << 4) << layout->text_kind);
    memcpy((void *)(uintptr_t)(at + data), text, length * width);
    return at;
}

static uint64_t make_name(struct world *world, const char *name)
{
    return make_text(world, name, strlen(name), 1, true, 0x1234 + name[0]);
}

static void fill_code(struct world *world, uint64_t code, uint32_t first_line, uint64_t file,
                      uint64_t name, uint64_t lines)
{
    const struct python_layout *layout = &world->layout;
    put64(code + layout->type, world->code_type);
    put32(code + layout->first_line, first_line);
    put64(code + layout->filename, file);
    put64(code + layout->name, name);
    put64(code + layout->line_table, lines);
}

static uint64_t make_code(struct world *world, const char *file, const char *name, uint32_t line)
{
    const unsigned char lines[] = {2, (unsigned char)line, 4, 1};
    const uint64_t code = take(world, 512);
    fill_code(world, code, line, make_text(world, file, strlen(file), 1, true, -1),
              make_name(world, name), make_bytes(world, lines, sizeof(lines)));
    return code;
}

// Pushes a frame that is at the instruction with this offset in bytes.
static uint64_t push(struct world *world, uint64_t code, uint32_t offset, bool entry)
{
    const struct python_layout *layout = &world->layout;
    const uint64_t frame = take(world, FRAME_BYTES);
    uint64_t caller;
    memcpy(&caller, (void *)(uintptr_t)world->frame_place, sizeof(caller));
    put64(frame + layout->previous, caller);
    put64(frame + layout->code, code);
    if (layout->index_bytes)
        put32(frame + layout->instruction, offset / layout->index_bytes);
    else
        put64(frame + layout->instruction, code + layout->instructions + offset);
    if (layout->entry)
        put8(frame + layout->entry, entry);
    put64(world->frame_place, frame);
    return frame;
}

// Pushes what stands for a frame of C, where the version has that.
static void push_c(struct world *world)
{
    if (!world->layout.owner_none || world->layout.entry)
        return;
    const uint64_t frame = push(world, take(world, 512), 0, false);
    put8(frame + world->layout.owner, world->layout.owner_none);
}

static void world_init(struct world *world, const struct python_layout *layout)
{
    memset(world, 0, sizeof(*world));
    world->layout = *layout;
    world->memory =
        mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const size_t bytes = event_ring_bytes(RING_SLOTS);
    world->ring_memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(world->memory != MAP_FAILED && world->ring_memory != MAP_FAILED);
    world->ring = event_ring_make(world->ring_memory, bytes);
    assert_true(event_reader_init(&world->reader, world->ring_memory, bytes));
    world->python = python_make_of(layout, this_thread, &world->numbers);
    assert_non_null(world->python);
    world->code_type = make_type(world, "code");
    world->bytes_type = make_type(world, "bytes");
    world->text_type = make_type(world, "str");
    world->state = the_state = take(world, 512);
    put64(world->state + layout->thread_id, (uint64_t)pthread_self());
    world->frame_place = world->state + layout->frame;
    if (layout->indirect) {
        const uint64_t there = take(world, 64);
        put64(world->state + layout->frame, there);
        world->frame_place = there + layout->frame_there;
    }
}

static void world_fini(struct world *world)
{
    python_free(world->python);
    munmap(world->memory, MEMORY_BYTES);
    munmap(world->ring_memory, event_ring_bytes(RING_SLOTS));
}

// --- What it should be ---------------------------------------------------------------------------

// The offsets that an interpreter of 3.13 or 3.14 states, of a layout that is no version's.
static void state_offsets(uint32_t hex, uint64_t words[PYTHON_OFFSETS_WORDS])
{
    static const uint8_t v13[] = {23, 24, 29, 30, 31, 33, 35, 37, 38,
                                  39, 43, 45, 65, 66, 67, 68, 69, 70};
    static const uint8_t v14[] = {26, 27, 32, 33, 34, 36, 40, 42, 43,
                                  44, 48, 51, 75, 76, 77, 78, 79, 80};
    // Current frame, thread, previous, executable, instruction, owner, file, qualified name, lines,
    // first line, instructions, type, size and data of bytes, size, state and length of texts, and
    // size of ASCII texts.
    static const uint64_t offsets[] = {80, 160, 16, 8,  64, 78, 120, 136, 144,
                                       76, 208, 8,  16, 32, 72, 32,  16,  48};
    const uint8_t *at = hex >> 16 == 0x30D ? v13 : v14;
    for (unsigned i = 0; i < PYTHON_OFFSETS_WORDS; i++)
        words[i] = 9999999; // not to be read
    memcpy(words, "xdebugpy", 8);
    words[1] = hex;
    words[2] = 0;
    for (unsigned i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
        words[at[i]] = offsets[i];
}

enum { VERSIONS = 6 };

static struct python_layout layout_of(unsigned index)
{
    struct python_layout layout;
    uint64_t words[PYTHON_OFFSETS_WORDS];
    if (index < 4) {
        assert_true(python_layout_of_version(9 + index, &layout));
        return layout;
    }
    const uint32_t hex = index == 4 ? 0x030D01F0 : 0x030E00F0;
    state_offsets(hex, words);
    assert_true(python_layout_of_offsets(hex, words, &layout));
    return layout;
}

static uint32_t frames_of(struct world *world, uint64_t *keys, bool *truncated)
{
    return python_frames(world->python, world->ring, false, keys, truncated);
}

// Returns the kind of the next record; texts of a code record are copied.
static enum event_kind next_record(struct world *world, struct event_code *code, char file[256],
                                   char name[256], char note[256])
{
    struct base_buf got = {0};
    const enum event_kind kind = event_take(&world->reader, &got, false);
    if (kind == EVENT_CODE) {
        memcpy(code, got.text, sizeof(*code));
        snprintf(file, 256, "%.*s", (int)code->file_bytes, got.text + sizeof(*code));
        snprintf(name, 256, "%.*s", (int)code->name_bytes,
                 got.text + sizeof(*code) + code->file_bytes);
    } else if (kind == EVENT_NOTE) {
        snprintf(note, 256, "%.*s", (int)(got.length - sizeof(struct event_note)),
                 got.text + sizeof(struct event_note));
    }
    base_buf_fini(&got);
    return kind;
}

static void frames_of_all_versions_are_found(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VERSIONS; i++) {
        const struct python_layout layout = layout_of(i);
        struct world world;
        world_init(&world, &layout);
        uint64_t keys[PYTHON_FRAMES_MOST];
        bool truncated = true;
        assert_int_equal(frames_of(&world, keys, &truncated), 0); // none is no reason for a note
        const uint64_t module = make_code(&world, "/a/train.py", "<module>", 1);
        const uint64_t step = make_code(&world, "/a/train.py", "Model.step", 20);
        push_c(&world);
        push(&world, module, 14, true);
        push(&world, step, 2, false);
        push_c(&world);
        push(&world, step, 6, true);
        for (unsigned again = 0; again < 3; again++) { // checked, directly, and known
            assert_int_equal(frames_of(&world, keys, &truncated), 3);
            assert_false(truncated);
            const uint32_t first = (uint32_t)(keys[0] >> 32) & EVENT_PYTHON_CODES_MOST;
            const uint32_t last = (uint32_t)(keys[2] >> 32) & EVENT_PYTHON_CODES_MOST;
            assert_int_equal(first, 1);
            assert_int_equal(last, 2);
            // In 3.9 and 3.10 a frame of C runs each. The others say so themselves.
            assert_true(keys[0] == event_python_frame(first, 6, true));
            assert_true(keys[1] == event_python_frame(first, 2, layout.objects));
            assert_true(keys[2] == event_python_frame(last, 14, true));
        }
        struct event_code code;
        char file[256], name[256], note[256] = "";
        assert_int_equal(next_record(&world, &code, file, name, note), EVENT_CODE);
        assert_int_equal(code.number, 1);
        assert_int_equal(code.first_line, 20);
        assert_int_equal(code.lines, layout.lines);
        assert_string_equal(file, "/a/train.py");
        assert_string_equal(name, "Model.step");
        assert_int_equal(next_record(&world, &code, file, name, note), EVENT_CODE);
        assert_int_equal(code.number, 2);
        assert_string_equal(name, "<module>");
        assert_int_equal(next_record(&world, &code, file, name, note), EVENT_NONE);
        world_fini(&world);
    }
}

static bool is_at(uint64_t key, uint32_t number)
{
    return (key & ~(UINT64_C(1) << 63)) == event_python_frame(number, 2, false);
}

static void code_at_the_place_of_freed_code_is_other_code(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VERSIONS; i++) {
        const struct python_layout layout = layout_of(i);
        struct world world;
        world_init(&world, &layout);
        uint64_t keys[PYTHON_FRAMES_MOST];
        bool truncated;
        const char file[] = "<one>";
        const unsigned char table[] = {2, 1, 4, 1};
        const uint64_t code = take(&world, 512);
        const uint64_t file_at = make_text(&world, file, 5, 1, true, -1);
        const uint64_t name_at = make_name(&world, "f");
        const uint64_t lines_at = make_bytes(&world, table, sizeof(table));
        fill_code(&world, code, 3, file_at, name_at, lines_at);
        push(&world, code, 2, true);
        assert_int_equal(frames_of(&world, keys, &truncated), 1);
        assert_true(is_at(keys[0], 1));
        // All at the same places: another line in the table, another character in the file, another
        // name of the same length, with its hash.
        put8(lines_at + layout.bytes_data + 1, 7);
        assert_int_equal(frames_of(&world, keys, &truncated), 1);
        assert_true(is_at(keys[0], 2));
        put8(file_at + layout.text_ascii + 1, 't');
        assert_int_equal(frames_of(&world, keys, &truncated), 1);
        assert_true(is_at(keys[0], 3));
        put8(name_at + layout.text_ascii, 'g');
        put64(name_at + layout.text_length + 8, 77);
        assert_int_equal(frames_of(&world, keys, &truncated), 1);
        assert_true(is_at(keys[0], 4));
        put32(code + layout.first_line, 4);
        assert_int_equal(frames_of(&world, keys, &truncated), 1);
        assert_true(is_at(keys[0], 5));
        // What was there before has its old number.
        put32(code + layout.first_line, 3);
        assert_int_equal(frames_of(&world, keys, &truncated), 1);
        assert_true(is_at(keys[0], 4));
        // Equal code at another place has it, too. System calls tell the same.
        const uint64_t elsewhere = take(&world, 512);
        fill_code(&world, elsewhere, 3, file_at, name_at, lines_at);
        push(&world, elsewhere, 2, true);
        for (unsigned careful = 0; careful < 2; careful++) {
            assert_int_equal(python_frames(world.python, world.ring, careful, keys, &truncated), 2);
            assert_true(is_at(keys[0], 4) && keys[1] == keys[0]);
        }
        put8(lines_at + layout.bytes_data + 1, 8);
        assert_int_equal(python_frames(world.python, world.ring, true, keys, &truncated), 2);
        assert_true(is_at(keys[0], 6) && keys[1] == keys[0]);
        world_fini(&world);
    }
}

static void other_threads_and_signal_handlers_see_the_same(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VERSIONS; i++) {
        const struct python_layout layout = layout_of(i);
        struct world world;
        world_init(&world, &layout);
        uint64_t keys[PYTHON_FRAMES_MOST], other[PYTHON_FRAMES_MOST];
        bool truncated;
        char name[16];
        for (unsigned k = 0; k < 100; k++) {
            snprintf(name, sizeof(name), "f%u", k);
            push(&world, make_code(&world, "/a/b.py", name, 10 + k), 2 * k, true);
        }
        assert_int_equal(frames_of(&world, keys, &truncated), 100);
        for (unsigned again = 0; again < 2; again++) {
            assert_int_equal(python_frames(world.python, world.ring, true, other, &truncated), 100);
            assert_memory_equal(keys, other, 100 * sizeof(keys[0]));
        }
        world_fini(&world);
    }
}

static void texts_of_all_widths_are_utf_8(void **state)
{
    (void)state;
    static const uint8_t latin[] = {'g', 0xF6, 'x'};
    static const uint16_t wide[] = {0x0440, 'x', 0xDC80, 0xD800}; // the third is the byte 0x80
    static const uint32_t widest[] = {0x1D4B3, 'y'};
    for (unsigned i = 0; i < VERSIONS; i++) {
        const struct python_layout layout = layout_of(i);
        struct world world;
        world_init(&world, &layout);
        uint64_t keys[PYTHON_FRAMES_MOST];
        bool truncated;
        const uint64_t lines = make_bytes(&world, "", 0);
        const uint64_t texts[] = {make_text(&world, latin, 3, 1, false, -1),
                                  make_text(&world, wide, 4, 2, false, -1),
                                  make_text(&world, widest, 2, 4, false, 5)};
        static const char *const utf8[] = {"g\xC3\xB6x", "\xD1\x80x\x80\xEF\xBF\xBD",
                                           "\xF0\x9D\x92\xB3y"};
        for (unsigned k = 0; k < 3; k++) {
            const uint64_t code = take(&world, 512);
            fill_code(&world, code, 1, texts[k], make_name(&world, "f"), lines);
            push(&world, code, 0, true);
        }
        assert_int_equal(frames_of(&world, keys, &truncated), 3);
        for (unsigned k = 3; k-- > 0;) {
            struct event_code code;
            char file[256], name[256], note[256];
            assert_int_equal(next_record(&world, &code, file, name, note), EVENT_CODE);
            assert_string_equal(file, utf8[k]);
        }
        assert_int_equal(frames_of(&world, keys, &truncated), 3);
        world_fini(&world);
    }
}

static void deep_paths_keep_the_innermost_frames(void **state)
{
    (void)state;
    const struct python_layout layout = layout_of(2);
    struct world world;
    world_init(&world, &layout);
    uint64_t keys[PYTHON_FRAMES_MOST];
    bool truncated = false;
    const uint64_t code = make_code(&world, "a.py", "f", 1);
    for (unsigned i = 0; i < PYTHON_FRAMES_MOST + 1; i++)
        push(&world, code, 2 * i, false);
    assert_int_equal(frames_of(&world, keys, &truncated), PYTHON_FRAMES_MOST);
    assert_true(truncated);
    assert_true(keys[0] == event_python_frame(1, 2 * PYTHON_FRAMES_MOST, false));
    world_fini(&world);
}

static void frames_that_are_being_made_are_left_out(void **state)
{
    (void)state;
    for (unsigned i = 2; i < 4; i++) { // where the layout says from where on a frame is one
        const struct python_layout layout = layout_of(i);
        struct world world;
        world_init(&world, &layout);
        uint64_t keys[PYTHON_FRAMES_MOST];
        bool truncated;
        const uint64_t outer = make_code(&world, "a.py", "outer", 1);
        const uint64_t inner = make_code(&world, "a.py", "inner", 9);
        put32(inner + layout.traceable, 3);
        push(&world, outer, 8, true);
        const uint64_t frame = push(&world, inner, 4, false);
        assert_int_equal(frames_of(&world, keys, &truncated), 1);
        put64(frame + layout.instruction, inner + layout.instructions + 6);
        assert_int_equal(frames_of(&world, keys, &truncated), 2);
        // A generator has none of that.
        put64(frame + layout.instruction, inner + layout.instructions - 2);
        put8(frame + layout.owner, 1);
        assert_int_equal(frames_of(&world, keys, &truncated), 2);
        assert_true((uint32_t)keys[0] == EVENT_PYTHON_START);
        world_fini(&world);
    }
}

// --- What does not fit ---------------------------------------------------------------------------

static void expect_off(struct world *world)
{
    uint64_t keys[PYTHON_FRAMES_MOST];
    bool truncated;
    struct event_code code;
    char file[256], name[256], note[256] = "";
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(frames_of(world, keys, &truncated), 0);
    assert_int_equal(next_record(world, &code, file, name, note), EVENT_NOTE);
    assert_string_equal(note,
                        "Python frames are not in call paths: they are not where this version of "
                        "Python has them");
    assert_int_equal(next_record(world, &code, file, name, note), EVENT_NONE); // once
}

static void memory_that_does_not_fit_gives_one_note(void **state)
{
    (void)state;
    enum { THREAD, CODE_TYPE, FILE_TYPE, LINES_TYPE, WIDTH, UNMAPPED, ODD, CASES };
    for (unsigned i = 0; i < VERSIONS; i++) {
        for (unsigned wrong = 0; wrong < CASES; wrong++) {
            const struct python_layout layout = layout_of(i);
            struct world world;
            world_init(&world, &layout);
            const uint64_t code = make_code(&world, "a.py", "f", 1);
            uint64_t file, lines;
            memcpy(&file, (void *)(uintptr_t)(code + layout.filename), sizeof(file));
            memcpy(&lines, (void *)(uintptr_t)(code + layout.line_table), sizeof(lines));
            const uint64_t outer = push(&world, code, 2, true);
            push(&world, make_code(&world, "a.py", "g", 5), 2, true);
            switch (wrong) {
            case THREAD: put64(world.state + layout.thread_id, 1); break;
            case CODE_TYPE: put64(code + layout.type, world.text_type); break;
            case FILE_TYPE: put64(file + layout.type, world.bytes_type); break;
            case LINES_TYPE: put64(lines + layout.type, 0x1000); break;
            case WIDTH: put32(file + layout.text_state, 3u << layout.text_kind); break;
            case UNMAPPED: put64(outer + layout.code, 0x10000); break;
            default: put64(outer + layout.previous, 0x123457); break;
            }
            expect_off(&world);
            world_fini(&world);
        }
    }
}

// After the check, a thread that is not the first may find that all is gone.
static void memory_that_is_gone_gives_no_frames(void **state)
{
    (void)state;
    const struct python_layout layout = layout_of(2);
    struct world world;
    world_init(&world, &layout);
    uint64_t keys[PYTHON_FRAMES_MOST];
    bool truncated;
    push(&world, make_code(&world, "a.py", "f", 1), 2, true);
    assert_int_equal(frames_of(&world, keys, &truncated), 1);
    assert_int_equal(mprotect(world.memory, MEMORY_BYTES, PROT_NONE), 0);
    assert_int_equal(python_frames(world.python, world.ring, true, keys, &truncated), 0);
    world_fini(&world);
}

static void random_memory_never_crashes(void **state)
{
    (void)state;
    uint64_t bits = 1;
    for (unsigned run = 0; run < 3000; run++) {
        const struct python_layout layout = layout_of(run % VERSIONS);
        struct world world;
        world_init(&world, &layout);
        uint64_t keys[PYTHON_FRAMES_MOST];
        bool truncated;
        for (unsigned k = 0; k < 4; k++)
            push(&world, make_code(&world, "a.py", "f", 1 + k), 2, true);
        const bool before = run % 2;
        if (before)
            python_frames(world.python, world.ring, true, keys, &truncated);
        for (unsigned k = 0; k < 1 + run % 7; k++) {
            bits = bits * 6364136223846793005u + 1442695040888963407u;
            const uint64_t at = (bits >> 20) % (world.used - 8);
            put64((uint64_t)(uintptr_t)world.memory + at,
                  run % 3 ? bits : (uint64_t)(uintptr_t)world.memory + (bits >> 40) % MEMORY_BYTES);
        }
        python_frames(world.python, world.ring, true, keys, &truncated);
        world_fini(&world);
    }
}

// --- Offsets -------------------------------------------------------------------------------------

static void offsets_of_other_builds_are_refused(void **state)
{
    (void)state;
    struct python_layout layout;
    uint64_t words[PYTHON_OFFSETS_WORDS];
    const uint32_t hexes[] = {0x030D01F0, 0x030E00F0};
    for (unsigned i = 0; i < 2; i++) {
        state_offsets(hexes[i], words);
        assert_true(python_layout_of_offsets(hexes[i], words, &layout));
        assert_false(python_layout_of_offsets(hexes[i] + 0x100, words, &layout)); // another version
        words[2] = 1;                                                             // free-threaded
        assert_false(python_layout_of_offsets(hexes[i], words, &layout));
        state_offsets(hexes[i], words);
        words[0]++;
        assert_false(python_layout_of_offsets(hexes[i], words, &layout));
        state_offsets(hexes[i], words);
        words[i ? 32 : 29] = 5000; // outside of any structure
        assert_false(python_layout_of_offsets(hexes[i], words, &layout));
    }
    state_offsets(0x030F00A1, words);
    assert_false(python_layout_of_offsets(0x030F00A1, words, &layout));
    assert_false(python_layout_of_version(8, &layout));
    assert_false(python_layout_of_version(13, &layout));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_all_versions_are_found),
        cmocka_unit_test(code_at_the_place_of_freed_code_is_other_code),
        cmocka_unit_test(other_threads_and_signal_handlers_see_the_same),
        cmocka_unit_test(texts_of_all_widths_are_utf_8),
        cmocka_unit_test(deep_paths_keep_the_innermost_frames),
        cmocka_unit_test(frames_that_are_being_made_are_left_out),
        cmocka_unit_test(memory_that_does_not_fit_gives_one_note),
        cmocka_unit_test(memory_that_is_gone_gives_no_frames),
        cmocka_unit_test(random_memory_never_crashes),
        cmocka_unit_test(offsets_of_other_builds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
