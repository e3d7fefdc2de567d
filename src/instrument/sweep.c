// SPDX-License-Identifier: Apache-2.0
// The texts of glint$sweep, which marks what a loop touched from round to round: chunks of bytes, a
// fixed step apart, and of glint$range, which does so where there is no gap and all is known to be
// in the object. What the lanes of a warp bring is put together where it fits, in this order:
// - chunks that follow each other are one range of bytes, a row;
// - lanes that all bring the same share its rows, or the words of its one row;
// - lanes next to each other whose rows follow each other make longer rows of them, and share
// those. All of it is found by comparing what the lanes have; else each lane marks its own rows.
#include <stddef.h>

#include "work.h"

#define SLOT(field) (unsigned)offsetof(struct instrument_slot, field)

// The loop over rows: the first byte of each, and `bytes` further, into %%u and %%t. For printf.
#define NEXT_ROW                             \
    "$rows:\n"                               \
    ".pragma \"nounroll\";\n"                \
    "setp.ge.u32 %%p, %%row, %%row_count;\n" \
    "@%%p bra $done;\n"                      \
    "cvt.u64.u32 %%t, %%row;\n"              \
    "mad.lo.u64 %%u, %%t, %%step, %%low;\n"  \
    "add.u64 %%t, %%u, %%bytes;\n"

static void emit_head(struct base_buf *out)
{
    base_buf_printf(
        out,
        "\n.func glint$sweep (\n\t.param .b64 glint$1,\n\t.param .align 8 .b8 glint$2[%zu],\n"
        "\t.param .b64 glint$3,\n\t.param .b64 glint$4,\n\t.param .b32 glint$5,\n"
        "\t.param .b32 glint$6,\n\t.param .b32 glint$7,\n\t.param .b32 glint$8,\n"
        "\t.param .b32 glint$9\n)\n{\n"
        ".reg .pred %%p, %%q, %%inside, %%same, %%alike, %%together, %%check;\n"
        ".reg .b32 %%rounds, %%shift, %%weight, %%options, %%access, %%chunk, %%n, %%m, %%lane, "
        "%%mask, %%have,\n"
        "\t%%lanes, %%leader, %%row, %%row_step, %%row_count, %%word_start, %%word_step, %%first, "
        "%%last, %%factor;\n"
        ".reg .b64 %%base, %%bits, %%counts, %%low, %%step, %%reach, %%bytes, %%t, %%u, %%from, "
        "%%to, %%word, %%words, %%at;\n"
        "ld.param.b64 %%low, [glint$3];\n"
        "ld.param.b64 %%step, [glint$4];\n"
        "ld.param.b32 %%rounds, [glint$5];\n"
        "ld.param.b32 %%chunk, [glint$6];\n" // so many accesses
        "ld.param.b32 %%access, [glint$7];\n"
        "mul.lo.u32 %%chunk, %%chunk, %%access;\n"
        "ld.param.b32 %%options, [glint$9];\n"
        "ld.param.u64 %%base, [glint$2+%u];\n"
        "ld.param.u32 %%shift, [glint$2+%u];\n"
        "ld.param.u32 %%n, [glint$2+%u];\n"
        // The lowest address, the distance to the highest.
        "setp.lt.s64 %%p, %%step, 0;\n"
        "abs.s64 %%step, %%step;\n"
        "sub.u32 %%m, %%rounds, 1;\n"
        "cvt.u64.u32 %%t, %%m;\n"
        "mul.lo.u64 %%reach, %%step, %%t;\n"
        "mul.hi.u64 %%t, %%step, %%t;\n"
        "@!%%p sub.u64 %%low, %%low, %%reach;\n"
        "setp.eq.u64 %%inside, %%t, 0;\n"
        "cvt.u64.u32 %%t, %%n;\n"
        "add.u64 %%u, %%base, %%t;\n"
        "sub.u64 %%u, %%low, %%u;\n"
        "ld.param.u64 %%at, [glint$2+%u];\n"
        "sub.u64 %%at, %%at, %%t;\n"
        "setp.lt.and.u64 %%inside, %%u, %%at, %%inside;\n"
        "cvt.u64.u32 %%t, %%chunk;\n"
        "add.u64 %%t, %%t, %%reach;\n"
        "add.u64 %%t, %%t, %%u;\n"
        "setp.le.and.u64 %%inside, %%t, %%at, %%inside;\n"
        "setp.gt.and.u64 %%inside, %%t, %%u, %%inside;\n"
        "@!%%inside bra $outside;\n",
        sizeof(struct instrument_slot), SLOT(base), SLOT(shift), SLOT(lead), SLOT(bytes));
}

// How the work is divided: rows from row on in steps of row_step, of `bytes` bytes each, %%step
// apart from %%low on (from now on an offset), and of each the words from word_start on in steps of
// word_step.
static void emit_division(struct base_buf *out, bool counts)
{
    base_buf_puts(out, "mov.u32 %weight, 1;\n"
                       "and.b32 %n, %options, 1;\n"
                       "setp.eq.u32 %p, %n, 0;\n"
                       "@%p bra $all_columns;\n"
                       // Threads above each other bring the same: the lowest does it for all.
                       "mov.u32 %n, %tid.y;\n"
                       "mov.u32 %m, %tid.z;\n"
                       "or.b32 %n, %n, %m;\n"
                       "setp.ne.u32 %p, %n, 0;\n"
                       "@%p bra $done;\n"
                       "mov.u32 %n, %ntid.y;\n"
                       "mov.u32 %m, %ntid.z;\n"
                       "mul.lo.u32 %weight, %n, %m;\n"
                       "$all_columns:\n"
                       "sub.u64 %low, %low, %base;\n"
                       "mov.u32 %row, 0;\n"
                       "mov.u32 %row_step, 1;\n"
                       "mov.u32 %row_count, %rounds;\n"
                       "mov.u32 %word_start, 0;\n"
                       "mov.u32 %word_step, 1;\n"
                       "cvt.u64.u32 %bytes, %chunk;\n");
    if (counts)
        // Rounds that touch the same bytes count for more.
        base_buf_puts(out, "setp.eq.u64 %p, %step, 0;\n"
                           "@%p mul.lo.u32 %weight, %weight, %rounds;\n"
                           "@%p mov.u32 %row_count, 1;\n"
                           "setp.eq.u64 %together, %step, %bytes;\n"
                           "setp.eq.or.u32 %together, %row_count, 1, %together;\n");
    else
        // Chunks that overlap, or are no further apart than elements are large, leave no gap.
        base_buf_puts(out, "mov.u64 %t, 1;\n"
                           "shl.b64 %t, %t, %shift;\n"
                           "max.u64 %t, %t, %bytes;\n"
                           "setp.le.u64 %together, %step, %t;\n"
                           "setp.eq.or.u32 %together, %rounds, 1, %together;\n");
    base_buf_puts(out,
                  // In counts, rounds of no step have reached nothing.
                  "@%together add.u64 %bytes, %bytes, %reach;\n"
                  "@%together mov.u32 %row_count, 1;\n"
                  "activemask.b32 %lanes;\n"
                  "bfind.u32 %leader, %lanes;\n"
                  "mov.u32 %lane, %laneid;\n"
                  "shfl.sync.idx.b32 %n, %rounds, %leader, 31, %lanes;\n"
                  "setp.eq.u32 %alike, %n, %rounds;\n"
                  "mov.b64 {%n, %m}, %step;\n"
                  "shfl.sync.idx.b32 %have, %n, %leader, 31, %lanes;\n"
                  "setp.eq.and.u32 %alike, %n, %have, %alike;\n"
                  "shfl.sync.idx.b32 %have, %m, %leader, 31, %lanes;\n"
                  "setp.eq.and.u32 %alike, %m, %have, %alike;\n"
                  "vote.sync.all.pred %alike, %alike, %lanes;\n"
                  "@!%alike bra $divided;\n"
                  "mov.b64 {%n, %m}, %low;\n"
                  "shfl.sync.idx.b32 %have, %n, %leader, 31, %lanes;\n"
                  "setp.eq.u32 %same, %n, %have;\n"
                  "shfl.sync.idx.b32 %have, %m, %leader, 31, %lanes;\n"
                  "setp.eq.and.u32 %same, %m, %have, %same;\n"
                  "vote.sync.all.pred %same, %same, %lanes;\n"
                  "popc.b32 %mask, %lanes;\n"
                  "@!%same bra $differ;\n"
                  "mul.lo.u32 %weight, %weight, %mask;\n"
                  "mov.u32 %n, %lanemask_lt;\n"
                  "and.b32 %n, %n, %lanes;\n"
                  "popc.b32 %n, %n;\n"
                  "bra $share;\n"
                  "$differ:\n"
                  "brev.b32 %leader, %lanes;\n" // the first lane, the others following it
                  "clz.b32 %leader, %leader;\n"
                  "shr.u32 %first, %lanes, %leader;\n"
                  "add.u32 %have, %first, 1;\n"
                  "and.b32 %have, %have, %first;\n"
                  "setp.ne.u32 %p, %have, 0;\n"
                  "@%p bra $divided;\n"
                  "shfl.sync.idx.b32 %n, %n, %leader, 31, %lanes;\n"
                  "shfl.sync.idx.b32 %m, %m, %leader, 31, %lanes;\n"
                  "mov.b64 %t, {%n, %m};\n"
                  "sub.u32 %lane, %lane, %leader;\n"
                  "cvt.u64.u32 %u, %lane;\n"
                  "mad.lo.u64 %u, %u, %bytes, %t;\n"
                  "setp.eq.u64 %p, %u, %low;\n"
                  "vote.sync.all.pred %p, %p, %lanes;\n"
                  "@!%p bra $divided;\n"
                  "mov.u64 %low, %t;\n"
                  "cvt.u64.u32 %u, %mask;\n"
                  "mul.lo.u64 %bytes, %bytes, %u;\n"
                  "mov.u32 %n, %lane;\n"
                  "$share:\n"
                  "setp.eq.u32 %p, %row_count, 1;\n"
                  "@%p mov.u32 %word_start, %n;\n"
                  "@%p mov.u32 %word_step, %mask;\n"
                  "@!%p mov.u32 %row, %n;\n"
                  "@!%p mov.u32 %row_step, %mask;\n"
                  "$divided:\n");
}

// Bits: %%first and %%last become those of the row's first and last word.
static void emit_bit_rows(struct base_buf *out)
{
    base_buf_printf(out,
                    "ld.param.u64 %%bits, [glint$2+%u];\n"
                    "and.b32 %%n, %%options, 2;\n"
                    "setp.ne.u32 %%check, %%n, 0;\n"
                    "setp.ne.u32 %%inside, %%word_start, 0;\n"
                    "add.u32 %%chunk, %%shift, 5;\n"
                    "sub.u64 %%bytes, %%bytes, 1;\n" NEXT_ROW "shr.u64 %%at, %%u, %%shift;\n"
                    "cvt.u32.u64 %%n, %%at;\n"
                    "shf.l.wrap.b32 %%first, 0, -1, %%n;\n"
                    "@%%inside mov.u32 %%first, -1;\n"
                    "shr.u64 %%at, %%t, %%shift;\n"
                    "cvt.u32.u64 %%n, %%at;\n"
                    "shf.l.wrap.b32 %%last, -1, 1, %%n;\n"
                    "shr.u64 %%u, %%u, %%chunk;\n"
                    "cvt.u32.u64 %%n, %%u;\n"
                    "add.u32 %%n, %%n, %%word_start;\n"
                    "shr.u64 %%t, %%t, %%chunk;\n"
                    "cvt.u32.u64 %%m, %%t;\n"
                    "$words:\n"
                    ".pragma \"nounroll\";\n"
                    "setp.gt.u32 %%p, %%n, %%m;\n"
                    "@%%p bra $next_row;\n"
                    "setp.eq.u32 %%p, %%n, %%m;\n"
                    "@%%p and.b32 %%first, %%first, %%last;\n"
                    "mad.wide.u32 %%at, %%n, 4, %%bits;\n"
                    "mov.u32 %%have, 0;\n"
                    "@%%check ld.global.u32 %%have, [%%at];\n"
                    "and.b32 %%have, %%have, %%first;\n"
                    "setp.ne.u32 %%p, %%have, %%first;\n"
                    "@%%p red.global.or.b32 [%%at], %%first;\n"
                    "mov.u32 %%first, -1;\n"
                    "add.u32 %%n, %%n, %%word_step;\n"
                    "bra $words;\n"
                    "$next_row:\n"
                    "add.u32 %%row, %%row, %%row_step;\n"
                    "bra $rows;\n",
                    SLOT(bits));
}

// %%u and %%t are the row's first byte and the one behind its last.
static void emit_word_counts(struct base_buf *out)
{
    base_buf_puts(out,
                  // The word's bytes: all of them in the row?
                  "add.u32 %n, %shift, 5;\n"
                  "shl.b64 %from, %word, %n;\n"
                  "mov.u64 %to, 1;\n"
                  "shl.b64 %to, %to, %n;\n"
                  "add.u64 %to, %to, %from;\n"
                  "setp.ge.u64 %p, %from, %u;\n"
                  "setp.le.and.u64 %p, %to, %t, %p;\n"
                  "mul.lo.u32 %n, %weight, %factor;\n"
                  "@%p red.global.add.u32 [%at], %n;\n"
                  "@%p bra $next_word;\n"
                  "ld.global.u32 %have, [%at];\n"
                  "setp.ge.s32 %p, %have, 0;\n"
                  "@%p red.global.or.b32 [%at], 0x80000000;\n"
                  // Access by access.
                  "max.u64 %from, %from, %u;\n"
                  "min.u64 %to, %to, %t;\n"
                  "$accesses:\n"
                  ".pragma \"nounroll\";\n"
                  "setp.ge.u64 %p, %from, %to;\n"
                  "@%p bra $next_word;\n"
                  "cvt.u64.u32 %at, %access;\n"
                  "add.u64 %at, %at, %from;\n"
                  "sub.u64 %at, %at, 1;\n"
                  "shr.u64 %at, %at, %shift;\n"
                  "cvt.u32.u64 %last, %at;\n"
                  "shr.u64 %at, %from, %shift;\n"
                  "cvt.u32.u64 %first, %at;\n"
                  "mad.lo.u64 %at, %at, 4, %counts;\n"
                  "$elements:\n"
                  ".pragma \"nounroll\";\n"
                  "red.global.add.u32 [%at], %weight;\n"
                  "add.u64 %at, %at, 4;\n"
                  "setp.ne.u32 %p, %first, %last;\n"
                  "add.u32 %first, %first, 1;\n"
                  "@%p bra $elements;\n"
                  "cvt.u64.u32 %at, %access;\n"
                  "add.u64 %from, %from, %at;\n"
                  "bra $accesses;\n");
}

static void emit_count_rows(struct base_buf *out)
{
    base_buf_printf(out,
                    "ld.param.u64 %%bits, [glint$2+%u];\n"
                    "ld.param.u64 %%counts, [glint$2+%u];\n"
                    // How many accesses an element takes that lies in a row as a whole.
                    "mov.u32 %%n, 1;\n"
                    "shl.b32 %%n, %%n, %%shift;\n"
                    "div.u32 %%factor, %%n, %%access;\n"
                    "max.u32 %%factor, %%factor, 1;\n" NEXT_ROW "sub.u64 %%to, %%t, 1;\n"
                    "shr.u64 %%from, %%u, %%shift;\n"
                    "shr.u64 %%to, %%to, %%shift;\n"
                    "shr.u64 %%words, %%to, 5;\n"
                    "shr.u64 %%word, %%from, 5;\n"
                    "cvt.u64.u32 %%at, %%word_start;\n"
                    "add.u64 %%word, %%word, %%at;\n"
                    "$words:\n"
                    ".pragma \"nounroll\";\n"
                    "setp.gt.u64 %%p, %%word, %%words;\n"
                    "@%%p bra $next_row;\n"
                    "mad.lo.u64 %%at, %%word, 4, %%bits;\n",
                    SLOT(bits), SLOT(counts));
    emit_word_counts(out);
    base_buf_puts(out, "$next_word:\n"
                       "cvt.u64.u32 %at, %word_step;\n"
                       "add.u64 %word, %word, %at;\n"
                       "bra $words;\n"
                       "$next_row:\n"
                       "add.u32 %row, %row, %row_step;\n"
                       "bra $rows;\n");
}

// Each access by itself.
static void emit_outside(struct base_buf *out)
{
    base_buf_printf(out,
                    "$outside:\n"
                    ".pragma \"nounroll\";\n"
                    "setp.eq.u32 %%p, %%rounds, 0;\n"
                    "@%%p bra $done;\n"
                    "ld.param.u64 %%bits, [glint$2+%u];\n",
                    SLOT(bits));
    base_buf_puts(out, "ld.param.b64 %u, [glint$1];\n"
                       "ld.param.b32 %m, [glint$6];\n"
                       "ld.param.b32 %n, [glint$8];\n"
                       "{\n.param .b64 a1;\n.param .b64 a2;\n.param .b64 a3;\n.param .b32 a4;\n"
                       ".param .b32 a5;\n.param .b32 a6;\n"
                       "st.param.b64 [a1], %u;\n"
                       "st.param.b64 [a2], %low;\n"
                       "st.param.b64 [a3], %bits;\n"
                       "st.param.b32 [a4], %access;\n"
                       "st.param.b32 [a5], %n;\n"
                       "st.param.b32 [a6], %m;\n"
                       "call glint$access, (a1, a2, a3, a4, a5, a6);\n}\n"
                       "add.u64 %low, %low, %step;\n"
                       "sub.u32 %rounds, %rounds, 1;\n"
                       "bra $outside;\n");
}

void instrument_emit_sweep_function(struct base_buf *out, bool counts)
{
    emit_head(out);
    emit_division(out, counts);
    if (counts)
        emit_count_rows(out);
    else
        emit_bit_rows(out);
    emit_outside(out);
    base_buf_puts(out, "$done:\n"
                       "ret;\n}\n");
}

// Bits of elements from glint$2 to glint$3, in the words at glint$1, which are looked at first
// where glint$4 is not 0. Lanes whose ranges follow each other, as rows of a sparse matrix do, or
// that all have the same share the words. It calls nothing and needs few registers: a function that
// is linked has to save those of its callers.
void instrument_emit_range_function(struct base_buf *out)
{
    base_buf_puts(out,
                  "\n.func glint$range (\n\t.param .b64 glint$1,\n\t.param .b32 glint$2,\n"
                  "\t.param .b32 glint$3,\n\t.param .b32 glint$4\n)\n{\n"
                  ".reg .pred %p, %q;\n"
                  ".reg .b32 %from, %to, %lanes, %before, %n, %m, %step, %end;\n"
                  ".reg .b64 %bits, %at;\n"
                  "ld.param.b32 %from, [glint$2];\n"
                  "ld.param.b32 %to, [glint$3];\n"
                  "activemask.b32 %lanes;\n"
                  "mov.u32 %before, %lanemask_lt;\n"
                  "and.b32 %before, %before, %lanes;\n"
                  "setp.eq.u32 %q, %before, 0;\n"
                  "bfind.u32 %n, %before;\n"
                  "@%q mov.u32 %n, %laneid;\n"
                  "shfl.sync.idx.b32 %m, %to, %n, 31, %lanes;\n"
                  "sub.u32 %m, %from, %m;\n"
                  "setp.le.or.u32 %p, %m, 1, %q;\n"
                  "vote.sync.all.pred %p, %p, %lanes;\n"
                  "brev.b32 %n, %lanes;\n"
                  "clz.b32 %n, %n;\n" // the first lane
                  "shfl.sync.idx.b32 %m, %from, %n, 31, %lanes;\n"
                  "@%p bra $follow;\n"
                  "setp.eq.u32 %p, %m, %from;\n"
                  "shfl.sync.idx.b32 %n, %to, %n, 31, %lanes;\n"
                  "setp.eq.and.u32 %p, %n, %to, %p;\n"
                  "vote.sync.all.pred %p, %p, %lanes;\n"
                  "@%p bra $share;\n"
                  "mov.u32 %n, 0;\n"
                  "mov.u32 %step, 1;\n"
                  "bra $divided;\n"
                  "$follow:\n"
                  "mov.u32 %from, %m;\n"
                  "bfind.u32 %n, %lanes;\n"
                  "shfl.sync.idx.b32 %to, %to, %n, 31, %lanes;\n"
                  "$share:\n"
                  "popc.b32 %n, %before;\n"
                  "popc.b32 %step, %lanes;\n"
                  "$divided:\n"
                  "ld.param.b64 %bits, [glint$1];\n"
                  "ld.param.b32 %m, [glint$4];\n"
                  "setp.ne.u32 %q, %m, 0;\n"
                  "shr.u32 %end, %to, 5;\n"
                  "shf.l.wrap.b32 %to, -1, 1, %to;\n" // of the last word
                  "shr.u32 %m, %from, 5;\n"
                  "shf.l.wrap.b32 %from, 0, -1, %from;\n" // of the first, then of the others
                  "setp.ne.u32 %p, %n, 0;\n"
                  "@%p mov.u32 %from, -1;\n"
                  "add.u32 %n, %n, %m;\n"
                  "$words:\n"
                  ".pragma \"nounroll\";\n"
                  "setp.gt.u32 %p, %n, %end;\n"
                  "@%p bra $done;\n"
                  "setp.eq.u32 %p, %n, %end;\n"
                  "@%p and.b32 %from, %from, %to;\n"
                  "mad.wide.u32 %at, %n, 4, %bits;\n"
                  "mov.u32 %m, 0;\n"
                  "@%q ld.global.u32 %m, [%at];\n"
                  "and.b32 %m, %m, %from;\n"
                  "setp.ne.u32 %p, %m, %from;\n"
                  "@%p red.global.or.b32 [%at], %from;\n"
                  "mov.u32 %from, -1;\n"
                  "add.u32 %n, %n, %step;\n"
                  "bra $words;\n"
                  "$done:\n"
                  "ret;\n}\n");
}
