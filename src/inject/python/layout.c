// SPDX-License-Identifier: Apache-2.0
// The offsets of 3.9 to 3.12, as the public headers of these versions have them, and the order of
// the fields in _Py_DebugOffsets, by which later versions describe themselves. Offsets of 3.9 to
// 3.12 have not changed within these versions.
#include "layout.h"

#include <string.h>

static const struct python_layout v9 = {
    .lines = EVENT_LINES_LNOTAB,
    .objects = true,
    .thread_id = 176,
    .frame = 24,
    .previous = 24,
    .code = 32,
    .instruction = 104,
    .index_bytes = 1,
    .type = 8,
    .first_line = 40,
    .filename = 104,
    .name = 112,
    .line_table = 120,
    .bytes_size = 16,
    .bytes_data = 32,
    .text_length = 16,
    .text_state = 32,
    .text_ascii = 48,
    .text_data = 72,
    .text_kind = 2,
};

static const struct python_layout v10 = {
    .lines = EVENT_LINES_RANGES,
    .objects = true,
    .thread_id = 176,
    .frame = 24,
    .previous = 24,
    .code = 32,
    .instruction = 96,
    .index_bytes = 2,
    .type = 8,
    .first_line = 40,
    .filename = 104,
    .name = 112,
    .line_table = 120,
    .bytes_size = 16,
    .bytes_data = 32,
    .text_length = 16,
    .text_state = 32,
    .text_ascii = 48,
    .text_data = 72,
    .text_kind = 2,
};

static const struct python_layout v11 = {
    .lines = EVENT_LINES_LOCATIONS,
    .thread_id = 152,
    .frame = 56,
    .indirect = true,
    .frame_there = 8,
    .previous = 48,
    .code = 32,
    .instruction = 56,
    .owner = 69,
    .entry = 68,
    .type = 8,
    .first_line = 72,
    .filename = 112,
    .name = 128,
    .line_table = 136,
    .instructions = 184,
    .traceable = 168,
    .bytes_size = 16,
    .bytes_data = 32,
    .text_length = 16,
    .text_state = 32,
    .text_ascii = 48,
    .text_data = 72,
    .text_kind = 2,
    .owner_none = 3,
};

static const struct python_layout v12 = {
    .lines = EVENT_LINES_LOCATIONS,
    .thread_id = 136,
    .frame = 56,
    .indirect = true,
    .frame_there = 0,
    .previous = 8,
    .code = 0,
    .instruction = 56,
    .owner = 70,
    .type = 8,
    .first_line = 68,
    .filename = 112,
    .name = 128,
    .line_table = 136,
    .instructions = 192,
    .traceable = 176,
    .bytes_size = 16,
    .bytes_data = 32,
    .text_length = 16,
    .text_state = 32,
    .text_ascii = 40,
    .text_data = 56,
    .text_kind = 2,
    .owner_none = 3,
};

bool python_layout_of_version(unsigned minor, struct python_layout *layout)
{
    static const struct python_layout *const known[] = {&v9, &v10, &v11, &v12};
    const unsigned first = 9;
    if (minor < first || minor - first >= sizeof(known) / sizeof(known[0]))
        return false;
    *layout = *known[minor - first];
    return true;
}

// --- Versions that describe themselves -----------------------------------------------------------

// The places of the used offsets in _Py_DebugOffsets, in words.
struct places {
    uint8_t current_frame, thread_id, previous, executable, instruction, owner;
    uint8_t filename, qualified_name, line_table, first_line, instructions, type;
    uint8_t bytes_size, bytes_data, text_size, text_state, text_length, text_ascii;
    uint8_t kind; // first bit of the kind in a text's state: no offset, but it changed with them
};

static const struct places v13 = {23, 24, 29, 30, 31, 33, 35, 37, 38, 39,
                                  43, 45, 65, 66, 67, 68, 69, 70, 2};
static const struct places v14 = {26, 27, 32, 33, 34, 36, 40, 42, 43, 44,
                                  48, 51, 75, 76, 77, 78, 79, 80, 16};

bool python_layout_of_offsets(uint32_t hex, const uint64_t words[PYTHON_OFFSETS_WORDS],
                              struct python_layout *layout)
{
    enum { VERSION = 1, FREE_THREADED = 2, MOST = 4096 };
    static const char cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
    const unsigned version = hex >> 16;
    const struct places *at = version == 0x30D ? &v13 : version == 0x30E ? &v14 : NULL;
    if (!at || memcmp(words, cookie, sizeof(cookie)) != 0 || words[VERSION] != hex ||
        words[FREE_THREADED])
        return false;
    const uint8_t used[] = {at->current_frame, at->thread_id,  at->previous,     at->executable,
                            at->instruction,   at->owner,      at->filename,     at->qualified_name,
                            at->line_table,    at->first_line, at->instructions, at->type,
                            at->bytes_size,    at->bytes_data, at->text_size,    at->text_state,
                            at->text_length,   at->text_ascii};
    for (size_t i = 0; i < sizeof(used); i++)
        if (words[used[i]] >= MOST)
            return false;
    if (words[at->first_line] >= words[at->line_table] || words[at->text_size] <= 8 ||
        words[at->owner] == 0)
        return false;
    *layout = (struct python_layout){
        .lines = EVENT_LINES_LOCATIONS,
        .thread_id = (uint16_t)words[at->thread_id],
        .frame = (uint16_t)words[at->current_frame],
        .previous = (uint16_t)words[at->previous],
        .code = (uint16_t)words[at->executable],
        .instruction = (uint16_t)words[at->instruction],
        .owner = (uint16_t)words[at->owner],
        .type = (uint16_t)words[at->type],
        .first_line = (uint16_t)words[at->first_line],
        .filename = (uint16_t)words[at->filename],
        .name = (uint16_t)words[at->qualified_name],
        .line_table = (uint16_t)words[at->line_table],
        .instructions = (uint16_t)words[at->instructions],
        .bytes_size = (uint16_t)words[at->bytes_size],
        .bytes_data = (uint16_t)words[at->bytes_data],
        .text_length = (uint16_t)words[at->text_length],
        .text_state = (uint16_t)words[at->text_state],
        .text_ascii = (uint16_t)words[at->text_ascii],
        // A text that is not ASCII: its structure without the pointer to text elsewhere.
        .text_data = (uint16_t)(words[at->text_size] - 8),
        .text_kind = at->kind,
        .owner_none = 3,
    };
    return true;
}
