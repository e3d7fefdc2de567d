// SPDX-License-Identifier: Apache-2.0
// Fills PTX templates. Templates are tables that the build makes of src/instrument/probes/*.ptx, so
// that filling one is copying text and writing numbers: nothing is parsed while a program runs. The
// names of structure members and constants in templates are resolved here, by the compiler.
#include "fill.h"

#include <assert.h>

#include "counters.h"
#include "work.h"

// What follows the text of a piece.
enum {
    NOTHING,
    NUMBER_OF, // a number
    FIELD_OF,  // the value of a field, plus a number
    IF,        // skips pieces if the field is false
    IF_NOT,    // skips pieces if the field is true
    SKIP,      // skips pieces
};

// The most fields that probes.awk lets a template have.
enum { MOST_FIELDS = 16 };

// What templates call structures and constants.
#define TABLE(member)        offsetof(struct instrument_table, member)
#define SLOT(member)         offsetof(struct instrument_slot, member)
#define STRAYS(member)       offsetof(struct instrument_strays, member)
#define VIEW(member)         offsetof(struct instrument_view, member)
#define CONTEXT(member)      offsetof(struct instrument_context, member)
#define BOUNDS(member)       offsetof(struct instrument_bounds, member)
#define HEAP(member)         offsetof(struct instrument_heap, member)
#define BLOCKS(member)       offsetof(struct instrument_heap_blocks, member)
#define PIECE(member)        offsetof(struct instrument_heap_piece, member)
#define ENTRY(member)        offsetof(struct instrument_heap_entry, member)
#define PAGE(member)         offsetof(struct instrument_heap_page, member)
#define PIECES(member)       offsetof(struct instrument_pieces, member)
#define WORD(member)         offsetof(struct instrument_word, member)
#define RANGE(member)        offsetof(struct instrument_range, member)
#define REUSE(member)        offsetof(struct instrument_reuse, member)
#define SET(member)          offsetof(struct instrument_reuse_set, member)
#define MASK(member)         offsetof(struct instrument_mask, member)
#define REUSED(member)       offsetof(struct instrument_reused, member)
#define TRACE(member)        offsetof(struct instrument_trace, member)
#define TRACED_BLOCK(member) offsetof(struct instrument_traced_block, member)

#define WRAPPED      INSTRUMENT_WRAPPED
#define WORD_LIMITED INSTRUMENT_WORD_LIMITED
#define TRACE_HASH   INSTRUMENT_TRACE_HASH
enum {
    SLOT_BYTES = sizeof(struct instrument_slot),
    PIECE_BYTES = sizeof(struct instrument_heap_piece),
    ENTRY_BYTES = sizeof(struct instrument_heap_entry),
    STRAYS_MOST = INSTRUMENT_STRAYS,
    FLAG_ROWS = INSTRUMENT_FLAG_ROWS,
    TALLY_ROWS = INSTRUMENT_TALLY_ROWS,
    PLACES = INSTRUMENT_PLACES,
    MASKS = INSTRUMENT_MASKS,
    MASK_SHIFT = 32 - INSTRUMENT_MASK_BITS,
    MASKS_BYTES = INSTRUMENT_MASKS * sizeof(struct instrument_mask),
    HEAP_BEGAN = INSTRUMENT_HEAP_BEGAN,
    HEAP_ENDED = INSTRUMENT_HEAP_ENDED,
    HEAP_UNPLACED = INSTRUMENT_HEAP_UNPLACED,
    HEAP_PAGE_BITS = INSTRUMENT_HEAP_PAGE_BITS,
    HEAP_GROUP_BITS = INSTRUMENT_HEAP_GROUP_BITS,
    PIECE_SHIFT = INSTRUMENT_PIECE_SHIFT,
    PIECE_STEP = INSTRUMENT_PIECE_STEP,
    PIECE_SPAN = 1 << INSTRUMENT_PIECE_SHIFT,
    PIECES_BYTES = sizeof(struct instrument_pieces),
    WORD_BYTES = INSTRUMENT_WORD_BYTES,
    COUNTERS_BYTES = sizeof(struct instrument_word),
    SPARE_HEAD = INSTRUMENT_SPARE_HEAD,
    SMALL_LIMIT = INSTRUMENT_SMALL_LIMIT,
    RANGE_BYTES = sizeof(struct instrument_range),
    TAG_BITS = INSTRUMENT_TAG_BITS,
    TAG_BASE_BITS = INSTRUMENT_TAG_BASE_BITS,
    TAG_THREAD = (1 << INSTRUMENT_TAG_BITS) - 1,
    SET_BYTES = sizeof(struct instrument_reuse_set),
    REUSED_BYTES = sizeof(struct instrument_reused),
    TRACE_LEVELS = INSTRUMENT_TRACE_LEVELS,
    TRACE_SHELVES = INSTRUMENT_TRACE_SHELVES,
    TRACE_SHELF_BYTES = sizeof(struct instrument_trace_shelf),
    TRACED_BYTES = sizeof(struct instrument_traced),
    TRACED_BLOCK_BYTES = sizeof(struct instrument_traced_block),
    TRACED_SECTORS_AT = INSTRUMENT_TRACED_SECTORS_AT,
    TRACED_PROCESSORS = INSTRUMENT_TRACED_PROCESSORS,
    TRACED_STEPS = INSTRUMENT_TRACED_STEPS,
    FREED = 1,        // the key of a piece whose place may be used again
    MOST_STEPS = 256, // that a key may be away from its place in a hash table
};
_Static_assert(sizeof(struct instrument_pieces) == 2 * sizeof(uint64_t[2]),
               "glint$stored finds the sums of an object by half the distance of its pieces");
_Static_assert((FLAG_ROWS & (FLAG_ROWS - 1)) == 0 && (TALLY_ROWS & (TALLY_ROWS - 1)) == 0,
               "rows are chosen by a mask");

#include "probe_data.inc"

// Finds the value of each field of the template, in the template's order; false if one is missing.
static bool find_values(const struct instrument_template *template,
                        const struct instrument_value *values, size_t count,
                        const struct instrument_value **found)
{
    for (uint16_t i = 0; i < template->field_count; i++) {
        size_t k = 0;
        while (k < count && values[k].field != template->fields[i])
            k++;
        if (k == count)
            return false;
        found[i] = &values[k];
    }
    return true;
}

static bool is_true(const struct instrument_value *value)
{
    return value->text || value->number;
}

static void put_value(struct base_buf *out, const struct instrument_value *value, int64_t more)
{
    if (value->text)
        base_buf_puts(out, value->text);
    else
        base_buf_i64(out, value->number + more);
}

void instrument_fill(struct base_buf *out, enum instrument_template_id id,
                     const struct instrument_value *values, size_t count)
{
    const struct instrument_template *template = &instrument_templates[id];
    const struct instrument_value *found[MOST_FIELDS];
    const bool complete =
        count == template->field_count && find_values(template, values, count, found);
    assert(complete && "each field of a template has one value");
    if (!complete) {
        out->failed = true;
        return;
    }
    const struct instrument_piece *piece = template->pieces;
    for (const struct instrument_piece *end = piece + template->piece_count; piece < end; piece++) {
        base_buf_add(out, piece->text, piece->length);
        switch (piece->what) {
        case NUMBER_OF: base_buf_i64(out, piece->number); break;
        case FIELD_OF: put_value(out, found[piece->field], piece->number); break;
        case IF: piece += is_true(found[piece->field]) ? 0 : piece->skip; break;
        case IF_NOT: piece += is_true(found[piece->field]) ? piece->skip : 0; break;
        case SKIP: piece += piece->skip; break;
        default: break;
        }
    }
}
