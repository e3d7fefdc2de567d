// SPDX-License-Identifier: Apache-2.0
// Memory that kernels allocate themselves: which functions give and take it, and the text of what
// clones call in their place. Nobody but the kernels knows of that memory, so clones keep a map of
// the blocks that are there at every moment, for all launches of a context (struct
// instrument_heap_blocks): an access is told of the block that was there when it happened, however
// often the memory is given out again.
//
// A block is cut into pieces that are as long as a power of two and aligned to it, as few as there
// can be; a piece is found by its place and size in a hash table. So a block of n bytes takes some
// 2 * log2(n / 16) places, and looking an address up some steps for each size that there is.
// Nothing is remembered by a thread from one access to the next: the block may be another by then.
#include <stddef.h>
#include <string.h>

#include "work.h"

#define TABLE(field)  (unsigned)offsetof(struct instrument_table, field)
#define HEAP(field)   (unsigned)offsetof(struct instrument_heap, field)
#define BLOCKS(field) (unsigned)offsetof(struct instrument_heap_blocks, field)
#define PIECE(field)  (unsigned)offsetof(struct instrument_heap_piece, field)
#define ENTRY(field)  (unsigned)offsetof(struct instrument_heap_entry, field)
#define PAGE(field)   (unsigned)offsetof(struct instrument_heap_page, field)

enum {
    LEAST_SM = 35,    // 64-bit bitwise atomic operations
    FREED = 1,        // the key of a place that may be used again
    MOST_STEPS = 256, // from where a key should be
};

#define SPREAD "0x9e3779b97f4a7c15"

// --- Which functions -----------------------------------------------------------------------------

static const struct {
    const char *name;
    uint32_t params; // of 64 bits each
    bool gives;
} functions[] = {
    {"malloc", 1, true},
    {"__cuda_syscall_aligned_malloc", 2, true}, // bytes, alignment
    {"free", 1, false},
};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static int find(const char *name)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        if (strcmp(name, functions[i].name) == 0)
            return i;
    }
    return -1;
}

bool instrument_is_heap(const struct instrument_work *work, const struct ptx_function *function)
{
    const int at = find(function->name);
    if (at < 0 || function->has_body || work->sm < LEAST_SM ||
        function->param_count != functions[at].params ||
        function->return_count != (functions[at].gives ? 1u : 0u))
        return false;
    for (uint32_t i = 0; i < function->param_count; i++) {
        if (function->params[i]->size_bytes != 8)
            return false;
    }
    return !functions[at].gives || function->returns[0]->size_bytes == 8;
}

// --- Pieces --------------------------------------------------------------------------------------

// The first place of a key in a hash table: %%place, and %%mask, of its number.
static void emit_place(struct base_buf *out)
{
    base_buf_puts(out, "mul.lo.u64 %place, %key, " SPREAD ";\n"
                       "shr.u64 %place, %place, %shift;\n"
                       "mov.u64 %mask, -1;\n"
                       "shr.u64 %mask, %mask, %shift;\n");
}

// The piece of a key, or 0.
static void emit_piece(struct base_buf *out)
{
    base_buf_printf(out,
                    "\n.func (.param .b64 glint$0) glint$piece (\n\t.param .b64 glint$1,\n"
                    "\t.param .b64 glint$2\n)\n{\n"
                    ".reg .pred %%p;\n.reg .b32 %%shift, %%left;\n"
                    ".reg .b64 %%blocks, %%key, %%place, %%mask, %%pieces, %%piece, %%have;\n"
                    "ld.param.b64 %%blocks, [glint$1];\n"
                    "ld.param.b64 %%key, [glint$2];\n"
                    "ld.global.u64 %%pieces, [%%blocks+%u];\n"
                    "ld.global.u32 %%shift, [%%blocks+%u];\n"
                    "ld.volatile.global.u32 %%left, [%%blocks+%u];\n",
                    BLOCKS(pieces), BLOCKS(shift), BLOCKS(reach));
    emit_place(out);
    base_buf_printf(out,
                    "$places:\n"
                    ".pragma \"nounroll\";\n"
                    "mad.lo.u64 %%piece, %%place, %u, %%pieces;\n"
                    "ld.volatile.global.u64 %%have, [%%piece+%u];\n"
                    "setp.eq.u64 %%p, %%have, %%key;\n"
                    "@%%p bra $done;\n"
                    "setp.eq.u64 %%p, %%have, 0;\n"
                    "@%%p bra $none;\n"
                    "setp.eq.u32 %%p, %%left, 0;\n"
                    "@%%p bra $none;\n"
                    "sub.u32 %%left, %%left, 1;\n"
                    "add.u64 %%place, %%place, 1;\n"
                    "and.b64 %%place, %%place, %%mask;\n"
                    "bra $places;\n"
                    "$none:\n"
                    "mov.u64 %%piece, 0;\n"
                    "$done:\n"
                    "st.param.b64 [glint$0], %%piece;\n"
                    "ret;\n}\n",
                    (unsigned)sizeof(struct instrument_heap_piece), PIECE(key));
}

#define FIND_PIECE(key, to)                                  \
    "{\n.param .b64 q0;\n.param .b64 q1;\n.param .b64 q2;\n" \
    "st.param.b64 [q1], %blocks;\n"                          \
    "st.param.b64 [q2], " key ";\n"                          \
    "call (q0), glint$piece, (q1, q2);\n"                    \
    "ld.param.b64 " to ", [q0];\n}\n"

// Some piece of the block that holds an address, or 0.
static void emit_block(struct base_buf *out)
{
    base_buf_printf(out,
                    "\n.func (.param .b64 glint$0) glint$block (\n\t.param .b64 glint$1,\n"
                    "\t.param .b64 glint$2\n)\n{\n"
                    ".reg .pred %%p;\n.reg .b32 %%level;\n"
                    ".reg .b64 %%blocks, %%address, %%sizes, %%size, %%t, %%key, %%piece;\n"
                    "ld.param.b64 %%blocks, [glint$1];\n"
                    "ld.param.b64 %%address, [glint$2];\n"
                    "ld.volatile.global.u64 %%sizes, [%%blocks+%u];\n",
                    BLOCKS(sizes));
    base_buf_puts(out, "$sizes:\n"
                       ".pragma \"nounroll\";\n"
                       "mov.u64 %piece, 0;\n"
                       "setp.eq.u64 %p, %sizes, 0;\n"
                       "@%p bra $done;\n"
                       "brev.b64 %t, %sizes;\n"
                       "clz.b64 %level, %t;\n"
                       "sub.u64 %t, %sizes, 1;\n"
                       "and.b64 %sizes, %sizes, %t;\n"
                       "mov.u64 %size, 1;\n"
                       "shl.b64 %size, %size, %level;\n"
                       "neg.s64 %t, %size;\n"
                       "and.b64 %key, %address, %t;\n"
                       "shr.u64 %size, %size, 1;\n"
                       "or.b64 %key, %key, %size;\n" FIND_PIECE(
                           "%key", "%piece") "setp.eq.u64 %p, %piece, 0;\n"
                                             "@%p bra $sizes;\n");
    base_buf_printf(out,
                    "ld.volatile.global.u64 %%t, [%%piece+%u];\n"
                    "sub.u64 %%t, %%address, %%t;\n"
                    "ld.volatile.global.u64 %%size, [%%piece+%u];\n"
                    "setp.ge.u64 %%p, %%t, %%size;\n" // in the bytes that fill up the last 16
                    "@%%p mov.u64 %%piece, 0;\n"
                    "$done:\n"
                    "st.param.b64 [glint$0], %%piece;\n"
                    "ret;\n}\n",
                    PIECE(start), PIECE(bytes));
}

#define FIND_BLOCK                                           \
    "{\n.param .b64 q0;\n.param .b64 q1;\n.param .b64 q2;\n" \
    "st.param.b64 [q1], %blocks;\n"                          \
    "st.param.b64 [q2], %address;\n"                         \
    "call (q0), glint$block, (q1, q2);\n"                    \
    "ld.param.b64 %piece, [q0];\n}\n"

// The next piece of what is left from %%at to %%end: its %%key and its size, %%t.
static void emit_next_piece(struct base_buf *out)
{
    base_buf_puts(out, "brev.b64 %t, %at;\n"
                       "clz.b64 %level, %t;\n"
                       "sub.u64 %t, %end, %at;\n"
                       "clz.b64 %n, %t;\n"
                       "sub.u32 %n, 63, %n;\n"
                       "min.u32 %level, %level, %n;\n"
                       "mov.u64 %t, 1;\n"
                       "shl.b64 %t, %t, %level;\n"
                       "shr.u64 %key, %t, 1;\n"
                       "or.b64 %key, %key, %at;\n");
}

// --- Blocks come and go --------------------------------------------------------------------------

// An entry of the log: what it is in %%what, of %%serial, with %%address and %%bytes.
static void emit_log(struct base_buf *out)
{
    base_buf_printf(out,
                    "atom.global.add.u64 %%at, [%%heap+%u], 1;\n"
                    "ld.global.u64 %%t, [%%heap+%u];\n"
                    "setp.ge.u64 %%p, %%at, %%t;\n"
                    "@%%p bra $logged;\n"
                    "ld.global.u64 %%t, [%%heap+%u];\n"
                    "mad.lo.u64 %%at, %%at, %u, %%t;\n"
                    "shl.b64 %%t, %%serial, 2;\n"
                    "or.b64 %%t, %%t, %%what;\n"
                    "st.global.u64 [%%at+%u], %%t;\n"
                    "st.global.u64 [%%at+%u], %%address;\n"
                    "st.global.u64 [%%at+%u], %%bytes;\n"
                    "$logged:\n"
                    "membar.gl;\n",
                    HEAP(logged), HEAP(log_room), HEAP(log),
                    (unsigned)sizeof(struct instrument_heap_entry), ENTRY(what), ENTRY(address),
                    ENTRY(bytes));
}

#define BLOCK_REGISTERS                                                                         \
    ".reg .pred %p;\n.reg .b32 %shift, %level, %n, %steps;\n"                                   \
    ".reg .b64 %heap, %blocks, %address, %bytes, %serial, %what, %at, %end, %t, %key, %place, " \
    "%mask, %pieces, %piece, %have;\n"

// (table, address, bytes): a block was given.
static void emit_given(struct base_buf *out)
{
    base_buf_printf(out,
                    "\n.func glint$given (\n\t.param .b64 glint$1,\n\t.param .b64 glint$2,\n"
                    "\t.param .b64 glint$3\n)\n{\n%s"
                    "ld.param.b64 %%heap, [glint$1];\n"
                    "ld.param.b64 %%address, [glint$2];\n"
                    "ld.param.b64 %%bytes, [glint$3];\n"
                    "setp.eq.u64 %%p, %%address, 0;\n"
                    "@%%p bra $done;\n"
                    "setp.eq.u64 %%p, %%bytes, 0;\n"
                    "@%%p bra $done;\n"
                    "ld.global.u64 %%heap, [%%heap+%u];\n"
                    "setp.eq.u64 %%p, %%heap, 0;\n"
                    "@%%p bra $done;\n"
                    "ld.global.u64 %%blocks, [%%heap+%u];\n"
                    "ld.global.u64 %%pieces, [%%blocks+%u];\n"
                    "ld.global.u32 %%shift, [%%blocks+%u];\n"
                    "atom.global.add.u64 %%serial, [%%blocks+%u], 1;\n"
                    "add.u64 %%serial, %%serial, 1;\n"
                    "mov.u64 %%what, %u;\n"
                    "mov.u64 %%at, %%address;\n"
                    "add.u64 %%end, %%address, %%bytes;\n"
                    "add.u64 %%end, %%end, 15;\n"
                    "and.b64 %%end, %%end, -16;\n"
                    "$cut:\n"
                    ".pragma \"nounroll\";\n",
                    BLOCK_REGISTERS, TABLE(heap), HEAP(blocks), BLOCKS(pieces), BLOCKS(shift),
                    BLOCKS(count), (unsigned)INSTRUMENT_HEAP_BEGAN);
    emit_next_piece(out);
    base_buf_puts(out, "add.u64 %at, %at, %t;\n");
    emit_place(out);
    base_buf_printf(out,
                    "mov.u32 %%steps, 0;\n"
                    "$places:\n"
                    ".pragma \"nounroll\";\n"
                    "mad.lo.u64 %%piece, %%place, %u, %%pieces;\n"
                    "ld.volatile.global.u64 %%have, [%%piece+%u];\n"
                    "setp.gt.u64 %%p, %%have, %u;\n"
                    "@%%p bra $next;\n"
                    "atom.global.cas.b64 %%mask, [%%piece+%u], %%have, %%key;\n"
                    "setp.eq.u64 %%p, %%mask, %%have;\n"
                    "@%%p bra $placed;\n"
                    "$next:\n"
                    "add.u32 %%steps, %%steps, 1;\n"
                    "setp.gt.u32 %%p, %%steps, %u;\n"
                    "@%%p bra $unplaced;\n"
                    "mov.u64 %%mask, -1;\n"
                    "shr.u64 %%mask, %%mask, %%shift;\n"
                    "add.u64 %%place, %%place, 1;\n"
                    "and.b64 %%place, %%place, %%mask;\n"
                    "bra $places;\n"
                    "$unplaced:\n"
                    "mov.u64 %%what, %u;\n"
                    "bra $log;\n"
                    "$placed:\n"
                    "st.volatile.global.u64 [%%piece+%u], %%address;\n"
                    "st.volatile.global.u64 [%%piece+%u], %%bytes;\n"
                    "st.volatile.global.u64 [%%piece+%u], %%serial;\n"
                    "red.global.max.u32 [%%blocks+%u], %%steps;\n"
                    "mov.u64 %%t, 1;\n"
                    "shl.b64 %%t, %%t, %%level;\n"
                    "red.global.or.b64 [%%blocks+%u], %%t;\n"
                    "setp.lt.u64 %%p, %%at, %%end;\n"
                    "@%%p bra $cut;\n"
                    "$log:\n",
                    (unsigned)sizeof(struct instrument_heap_piece), PIECE(key), (unsigned)FREED,
                    PIECE(key), (unsigned)MOST_STEPS, (unsigned)INSTRUMENT_HEAP_UNPLACED,
                    PIECE(start), PIECE(bytes), PIECE(serial), BLOCKS(reach), BLOCKS(sizes));
    emit_log(out);
    base_buf_puts(out, "$done:\n"
                       "ret;\n}\n");
}

// (table, address): a block is about to be taken.
static void emit_taken(struct base_buf *out)
{
    base_buf_printf(out,
                    "\n.func glint$taken (\n\t.param .b64 glint$1,\n\t.param .b64 glint$2\n)\n"
                    "{\n%s"
                    "ld.param.b64 %%heap, [glint$1];\n"
                    "ld.param.b64 %%address, [glint$2];\n"
                    "ld.global.u64 %%heap, [%%heap+%u];\n"
                    "setp.eq.u64 %%p, %%heap, 0;\n"
                    "@%%p bra $done;\n"
                    "ld.global.u64 %%blocks, [%%heap+%u];\n",
                    BLOCK_REGISTERS, TABLE(heap), HEAP(blocks));
    base_buf_puts(out, FIND_BLOCK);
    base_buf_printf(out,
                    "setp.eq.u64 %%p, %%piece, 0;\n"
                    "@%%p bra $done;\n"
                    "ld.volatile.global.u64 %%at, [%%piece+%u];\n"
                    "setp.ne.u64 %%p, %%at, %%address;\n"
                    "@%%p bra $done;\n"
                    "ld.volatile.global.u64 %%bytes, [%%piece+%u];\n"
                    "ld.volatile.global.u64 %%serial, [%%piece+%u];\n"
                    "mov.u64 %%what, %u;\n"
                    "add.u64 %%end, %%address, %%bytes;\n"
                    "add.u64 %%end, %%end, 15;\n"
                    "and.b64 %%end, %%end, -16;\n"
                    "$cut:\n"
                    ".pragma \"nounroll\";\n",
                    PIECE(start), PIECE(bytes), PIECE(serial), (unsigned)INSTRUMENT_HEAP_ENDED);
    emit_next_piece(out);
    base_buf_puts(out, "add.u64 %at, %at, %t;\n" FIND_PIECE("%key", "%piece"));
    base_buf_printf(out,
                    "setp.ne.u64 %%p, %%piece, 0;\n" // else there was no place for it
                    "@%%p st.volatile.global.u64 [%%piece+%u], %u;\n"
                    "setp.lt.u64 %%p, %%at, %%end;\n"
                    "@%%p bra $cut;\n",
                    PIECE(key), (unsigned)FREED);
    emit_log(out);
    base_buf_puts(out, "$done:\n"
                       "ret;\n}\n");
}

// A function of the heap as clones call it: with the table behind its parameters.
static void emit_function(struct base_buf *out, int at)
{
    const char *name = functions[at].name;
    const uint32_t count = functions[at].params;
    base_buf_printf(out, "\n.func %s%s" GLINT_SUFFIX " (\n",
                    functions[at].gives ? "(.param .b64 glint$0) " : "", name);
    for (uint32_t i = 1; i <= count + 1; i++)
        base_buf_printf(out, "\t.param .b64 glint$%u%s\n", i, i <= count ? "," : "");
    base_buf_puts(out, ")\n{\n.reg .b64 %table, %first, %second, %address;\n"
                       "ld.param.b64 %first, [glint$1];\n");
    base_buf_printf(out, "ld.param.b64 %%table, [glint$%u];\n", count + 1);
    if (!functions[at].gives) {
        base_buf_puts(out, "{\n.param .b64 a1;\n.param .b64 a2;\n"
                           "st.param.b64 [a1], %table;\n"
                           "st.param.b64 [a2], %first;\n"
                           "call glint$taken, (a1, a2);\n}\n"
                           "{\n.param .b64 a1;\n"
                           "st.param.b64 [a1], %first;\n"
                           "call free, (a1);\n}\n"
                           "ret;\n}\n");
        return;
    }
    base_buf_puts(out, "{\n.param .b64 a0;\n.param .b64 a1;\n.param .b64 a2;\n"
                       "st.param.b64 [a1], %first;\n");
    if (count > 1)
        base_buf_puts(out, "ld.param.b64 %second, [glint$2];\n"
                           "st.param.b64 [a2], %second;\n");
    base_buf_printf(out, "call (a0), %s, (a1%s);\n", name, count > 1 ? ", a2" : "");
    base_buf_puts(out, "ld.param.b64 %address, [a0];\n}\n"
                       "{\n.param .b64 a1;\n.param .b64 a2;\n.param .b64 a3;\n"
                       "st.param.b64 [a1], %table;\n"
                       "st.param.b64 [a2], %address;\n"
                       "st.param.b64 [a3], %first;\n"
                       "call glint$given, (a1, a2, a3);\n}\n"
                       "st.param.b64 [glint$0], %address;\n"
                       "ret;\n}\n");
}

// --- Accesses ------------------------------------------------------------------------------------

// The place of %%key among the launch's pages, %%page; goes to `lost` where there is none. At
// object level the key is two bits less than what stands there. Blocks of one page each, given one
// after the other, lie side by side, and so do the pages of one block, so that most of what is used
// is in few groups; only what collides is put elsewhere.
static void emit_find_page(struct base_buf *out, bool elements, unsigned page_bytes)
{
    base_buf_puts(out, "mul.lo.u64 %step, %key, " SPREAD ";\n"
                       "shr.u64 %step, %step, %shift;\n"
                       "or.b64 %step, %step, 1;\n"
                       "mov.u64 %mask, -1;\n"
                       "shr.u64 %mask, %mask, %shift;\n");
    if (elements)
        base_buf_puts(out, "setp.eq.u64 %p, %number, 0;\n"
                           "mul.lo.u64 %place, %serial, " SPREAD ";\n"
                           "shr.u64 %place, %place, %shift;\n"
                           "add.u64 %place, %place, %number;\n"
                           "@%p mov.u64 %place, %serial;\n"
                           "and.b64 %place, %place, %mask;\n");
    else
        base_buf_puts(out, "and.b64 %place, %serial, %mask;\n");
    base_buf_printf(out,
                    "mov.u32 %%steps, %u;\n"
                    "$places:\n"
                    ".pragma \"nounroll\";\n"
                    "mad.lo.u64 %%page, %%place, %u, %%pages;\n"
                    "ld.volatile.global.u64 %%have, [%%page];\n"
                    "setp.ne.u64 %%p, %%have, 0;\n"
                    "@%%p bra $compare;\n"
                    "atom.global.cas.b64 %%have, [%%page], 0, %%%s;\n"
                    "setp.ne.u64 %%p, %%have, 0;\n"
                    "@%%p bra $compare;\n"
                    "ld.global.u64 %%t, [%%heap+%u];\n"
                    "shr.u64 %%mask, %%place, %u;\n"
                    "add.u64 %%t, %%t, %%mask;\n"
                    "mov.u16 %%h, 1;\n"
                    "st.global.u8 [%%t], %%h;\n"
                    "bra $mark;\n"
                    "$compare:\n"
                    "%s"
                    "setp.eq.u64 %%p, %%t, %%key;\n"
                    "@%%p bra $mark;\n"
                    "sub.u32 %%steps, %%steps, 1;\n"
                    "setp.eq.u32 %%p, %%steps, 0;\n"
                    "@%%p bra $lost;\n"
                    "add.u64 %%place, %%place, %%step;\n"
                    "and.b64 %%place, %%place, %%mask;\n"
                    "bra $places;\n"
                    "$mark:\n",
                    (unsigned)MOST_STEPS, page_bytes, elements ? "key" : "fresh", HEAP(groups),
                    (unsigned)INSTRUMENT_HEAP_GROUP_BITS,
                    elements ? "mov.u64 %t, %have;\n" : "shr.u64 %t, %have, 2;\n");
}

static void emit_mark_block(struct base_buf *out)
{
    base_buf_puts(out, "mov.u64 %key, %serial;\n"
                       "cvt.u64.u32 %what, %kinds;\n"
                       "shl.b64 %fresh, %serial, 2;\n"
                       "or.b64 %fresh, %fresh, %what;\n");
    emit_find_page(out, false, sizeof(uint64_t));
    base_buf_puts(out, "and.b64 %t, %have, %what;\n" // 0 where it has just been put there
                       "setp.eq.u64 %p, %t, %what;\n"
                       "@!%p red.global.or.b64 [%page], %what;\n"
                       "bra $done;\n");
}

// From %%first to %%last, elements of the block, page by page.
static void emit_mark_elements(struct base_buf *out, bool counts)
{
    base_buf_printf(out,
                    "add.u64 %%last, %%first, %%room;\n"
                    "min.u64 %%last, %%last, %%end;\n"
                    "sub.u64 %%last, %%last, 1;\n"
                    "shr.u64 %%last, %%last, 2;\n"
                    "shr.u64 %%first, %%first, 2;\n"
                    "$next_page:\n"
                    ".pragma \"nounroll\";\n"
                    "shl.b64 %%key, %%serial, %u;\n"
                    "shr.u64 %%number, %%first, 5;\n"
                    "or.b64 %%key, %%key, %%number;\n",
                    (unsigned)INSTRUMENT_HEAP_PAGE_BITS);
    emit_find_page(out, true,
                   counts ? (unsigned)sizeof(struct instrument_heap_page) : PAGE(counts));
    base_buf_printf(out,
                    // Bytes are those of the access, told at its first page.
                    "and.b32 %%n, %%kinds, 1;\n"
                    "setp.ne.u32 %%p, %%n, 0;\n"
                    "@%%p red.global.add.u64 [%%page+%u], %%room;\n"
                    "and.b32 %%n, %%kinds, 2;\n"
                    "setp.ne.u32 %%p, %%n, 0;\n"
                    "@%%p red.global.add.u64 [%%page+%u], %%room;\n"
                    "mov.u64 %%room, 0;\n"
                    "cvt.u32.u64 %%low, %%first;\n"
                    "and.b32 %%low, %%low, 31;\n"
                    "or.b64 %%t, %%first, 31;\n"
                    "min.u64 %%t, %%t, %%last;\n"
                    "cvt.u32.u64 %%high, %%t;\n"
                    "and.b32 %%high, %%high, 31;\n"
                    "add.u64 %%first, %%t, 1;\n"
                    "mov.b32 %%n, -1;\n"
                    "shl.b32 %%n, %%n, %%low;\n"
                    "sub.u32 %%steps, 31, %%high;\n"
                    "mov.b32 %%m, -1;\n"
                    "shr.u32 %%m, %%m, %%steps;\n"
                    "and.b32 %%n, %%n, %%m;\n"
                    "ld.volatile.global.u32 %%m, [%%page+%u];\n"
                    "and.b32 %%m, %%m, %%n;\n"
                    "setp.ne.u32 %%p, %%m, %%n;\n"
                    "@%%p red.global.or.b32 [%%page+%u], %%n;\n",
                    PAGE(moved), PAGE(moved) + 8, PAGE(bits), PAGE(bits));
    if (counts)
        base_buf_printf(out,
                        "$elements:\n"
                        ".pragma \"nounroll\";\n"
                        "mad.wide.u32 %%t, %%low, 4, %%page;\n"
                        "red.global.add.u32 [%%t+%u], 1;\n"
                        "add.u32 %%low, %%low, 1;\n"
                        "setp.le.u32 %%p, %%low, %%high;\n"
                        "@%%p bra $elements;\n",
                        PAGE(counts));
    base_buf_puts(out, "setp.le.u64 %p, %first, %last;\n"
                       "@%p bra $next_page;\n"
                       "bra $done;\n");
}

// (table, address, bytes, kinds): marks the block that holds the address; 0: there is none.
static void emit_access(struct base_buf *out, bool elements, bool counts)
{
    base_buf_printf(out,
                    "\n.func (.param .b32 glint$0) glint$heap (\n\t.param .b64 glint$1,\n"
                    "\t.param .b64 glint$2,\n\t.param .b64 glint$3,\n\t.param .b32 glint$4\n)\n{\n"
                    ".reg .pred %%p;\n.reg .b32 %%kinds, %%found, %%n, %%m, %%steps, %%shift, "
                    "%%low, %%high;\n"
                    ".reg .b64 %%heap, %%blocks, %%address, %%room, %%piece, %%serial, %%first, "
                    "%%last, %%end, %%key, %%number, %%step, %%fresh, %%what, %%place, %%mask, "
                    "%%pages, %%page, %%have, %%t;\n.reg .b16 %%h;\n"
                    "mov.u32 %%found, 0;\n"
                    "ld.param.b64 %%heap, [glint$1];\n"
                    "ld.global.u64 %%heap, [%%heap+%u];\n"
                    "setp.eq.u64 %%p, %%heap, 0;\n"
                    "@%%p bra $done;\n"
                    "ld.param.b64 %%address, [glint$2];\n"
                    "ld.param.b64 %%room, [glint$3];\n"
                    "ld.param.b32 %%kinds, [glint$4];\n"
                    "ld.global.u64 %%blocks, [%%heap+%u];\n",
                    TABLE(heap), HEAP(blocks));
    base_buf_puts(out, FIND_BLOCK "setp.eq.u64 %p, %piece, 0;\n"
                                  "@%p bra $done;\n"
                                  "mov.u32 %found, 1;\n");
    base_buf_printf(out,
                    "ld.global.u64 %%pages, [%%heap+%u];\n"
                    "ld.global.u32 %%shift, [%%heap+%u];\n"
                    "ld.volatile.global.u64 %%serial, [%%piece+%u];\n"
                    "ld.volatile.global.u64 %%t, [%%piece+%u];\n"
                    "ld.volatile.global.u64 %%end, [%%piece+%u];\n"
                    "sub.u64 %%first, %%address, %%t;\n",
                    HEAP(pages), HEAP(page_shift), PIECE(serial), PIECE(start), PIECE(bytes));
    if (elements)
        emit_mark_elements(out, counts);
    else
        emit_mark_block(out);
    base_buf_printf(out,
                    "$lost:\n"
                    "red.global.add.u64 [%%heap+%u], 1;\n"
                    "$done:\n"
                    "st.param.b32 [glint$0], %%found;\n"
                    "ret;\n}\n",
                    HEAP(lost));
}

void instrument_emit_heap_stray(struct base_buf *out, const char *bytes, const char *kinds)
{
    base_buf_printf(out,
                    "%s%s"
                    "{\n.param .b32 h0;\n.param .b64 h1;\n.param .b64 h2;\n.param .b64 h3;\n"
                    ".param .b32 h4;\n"
                    "st.param.b64 [h1], %%table;\n"
                    "st.param.b64 [h2], %%address;\n"
                    "st.param.b64 [h3], %%at;\n"
                    "st.param.b32 [h4], %%n;\n"
                    "call (h0), glint$heap, (h1, h2, h3, h4);\n"
                    "ld.param.b32 %%n, [h0];\n}\n"
                    "setp.ne.u32 %%p, %%n, 0;\n"
                    "@%%p bra $searched;\n",
                    bytes, kinds);
}

void instrument_emit_heap(const struct instrument_work *work, struct base_buf *out)
{
    if (!work->allocates)
        return;
    emit_piece(out);
    emit_block(out);
    emit_given(out);
    emit_taken(out);
    emit_access(out, work->elements, work->counts);
    for (int i = 0; i < FUNCTIONS; i++) {
        if (work->heap_functions & 1u << i)
            emit_function(out, i);
    }
}

void instrument_note_heap(struct instrument_work *work, const struct ptx_function *function)
{
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        if (strcmp(function->name, functions[i].name) == 0)
            work->heap_functions |= 1u << i;
    }
    work->allocates = true;
}
