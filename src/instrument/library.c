// SPDX-License-Identifier: Apache-2.0
// The functions that clones call, as text: looking an address up in the table, and what is seldom
// done or too long to stand at every access.
#include <stddef.h>

#include "work.h"

#define TABLE(field)  (unsigned)offsetof(struct instrument_table, field)
#define SLOT(field)   (unsigned)offsetof(struct instrument_slot, field)
#define STRAYS(field) (unsigned)offsetof(struct instrument_strays, field)

// 1 + the number of the entry that holds the address; 0, and a stray more, where there is none.
static void emit_find(struct base_buf *out)
{
    base_buf_puts(out, "\n.func (.param .b64 glint$0) glint$find (\n\t.param .b64 glint$1,\n"
                       "\t.param .b64 glint$2\n)\n{\n"
                       ".reg .pred %p;\n.reg .b32 %n;\n"
                       ".reg .b64 %table, %address, %entries, %low, %high, %at, %first, %lead;\n"
                       "ld.param.b64 %table, [glint$1];\n"
                       "ld.param.b64 %address, [glint$2];\n");
    base_buf_printf(out,
                    "ld.global.u64 %%high, [%%table+%u];\n"
                    "ld.global.u64 %%entries, [%%table+%u];\n"
                    "mov.u64 %%low, 0;\n"
                    // Entries below low start at the address or before it, those from high on after
                    // it.
                    "search:\n"
                    ".pragma \"nounroll\";\n"
                    "setp.ge.u64 %%p, %%low, %%high;\n"
                    "@%%p bra found;\n"
                    "add.u64 %%at, %%low, %%high;\n"
                    "shr.u64 %%at, %%at, 1;\n"
                    "mad.lo.u64 %%first, %%at, %u, %%entries;\n"
                    "ld.global.u32 %%n, [%%first+%u];\n"
                    "ld.global.u64 %%first, [%%first+%u];\n"
                    "cvt.u64.u32 %%lead, %%n;\n"
                    "add.u64 %%first, %%first, %%lead;\n"
                    "setp.gt.u64 %%p, %%first, %%address;\n"
                    "@%%p mov.u64 %%high, %%at;\n"
                    "@!%%p add.u64 %%low, %%at, 1;\n"
                    "bra search;\n"
                    "found:\n"
                    "setp.eq.u64 %%p, %%low, 0;\n"
                    "@%%p bra stray;\n"
                    "sub.u64 %%at, %%low, 1;\n"
                    "mad.lo.u64 %%at, %%at, %u, %%entries;\n"
                    "ld.global.u64 %%first, [%%at+%u];\n"
                    "ld.global.u64 %%high, [%%at+%u];\n"
                    "sub.u64 %%first, %%address, %%first;\n"
                    "setp.lt.u64 %%p, %%first, %%high;\n"
                    "@%%p bra done;\n",
                    TABLE(count), TABLE(entries), (unsigned)sizeof(struct instrument_slot),
                    SLOT(lead), SLOT(base), (unsigned)sizeof(struct instrument_slot), SLOT(base),
                    SLOT(bytes));
    base_buf_printf(out,
                    "stray:\n"
                    "mov.u64 %%low, 0;\n"
                    "ld.global.u64 %%at, [%%table+%u];\n"
                    "red.global.add.u64 [%%at+%u], 1;\n"
                    "ld.global.u64 %%high, [%%at+%u];\n"
                    "setp.ge.u64 %%p, %%high, %u;\n"
                    "@%%p bra done;\n"
                    "atom.global.add.u64 %%high, [%%at+%u], 1;\n"
                    "setp.ge.u64 %%p, %%high, %u;\n"
                    "@%%p bra done;\n"
                    "mad.lo.u64 %%at, %%high, 8, %%at;\n"
                    "st.global.u64 [%%at+%u], %%address;\n"
                    "done:\n"
                    "st.param.b64 [glint$0], %%low;\n"
                    "ret;\n}\n",
                    TABLE(strays), STRAYS(count), STRAYS(next), (unsigned)INSTRUMENT_STRAYS,
                    STRAYS(next), (unsigned)INSTRUMENT_STRAYS, STRAYS(addresses));
}

// A call of glint$find: %table and %address in, the result into %entry, its address into %slot.
static void emit_call_of_find(struct base_buf *out)
{
    base_buf_printf(out,
                    "{\n.param .b64 f0;\n.param .b64 f1;\n.param .b64 f2;\n"
                    "st.param.b64 [f1], %%table;\n"
                    "st.param.b64 [f2], %%address;\n"
                    "call (f0), glint$find, (f1, f2);\n"
                    "ld.param.b64 %%entry, [f0];\n}\n"
                    "ld.global.u64 %%slot, [%%table+%u];\n"
                    "mad.lo.u64 %%slot, %%entry, %u, %%slot;\n"
                    "sub.u64 %%slot, %%slot, %u;\n",
                    TABLE(entries), (unsigned)sizeof(struct instrument_slot),
                    (unsigned)sizeof(struct instrument_slot));
}

// What of addresses the entry at %slot holds: from %first on %extent bytes.
static void emit_extent(struct base_buf *out)
{
    base_buf_printf(out,
                    "ld.global.u64 %%first, [%%slot+%u];\n"
                    "ld.global.u64 %%extent, [%%slot+%u];\n"
                    "ld.global.u32 %%n, [%%slot+%u];\n"
                    "cvt.u64.u32 %%lead, %%n;\n"
                    "add.u64 %%first, %%first, %%lead;\n"
                    "sub.u64 %%extent, %%extent, %%lead;\n",
                    SLOT(base), SLOT(bytes), SLOT(lead));
}

// Objects: marks the entry of an address as read (0) or written (1); gives what addresses it holds.
static void emit_touch(struct base_buf *out)
{
    base_buf_puts(out, "\n.func (.param .align 8 .b8 glint$0[16]) glint$touch (\n"
                       "\t.param .b64 glint$1,\n\t.param .b64 glint$2,\n\t.param .b32 glint$3\n)\n"
                       "{\n.reg .pred %p;\n.reg .b16 %h;\n.reg .b32 %n;\n"
                       ".reg .b64 %table, %address, %entry, %slot, %first, %extent, %lead;\n"
                       "ld.param.b64 %table, [glint$1];\n"
                       "ld.param.b64 %address, [glint$2];\n"
                       "mov.u64 %first, 0;\n"
                       "mov.u64 %extent, 0;\n");
    emit_call_of_find(out);
    base_buf_puts(out, "setp.eq.u64 %p, %entry, 0;\n"
                       "@%p bra done;\n");
    emit_extent(out);
    base_buf_printf(out,
                    "ld.global.u64 %%address, [%%table+%u];\n"
                    "mad.lo.u64 %%address, %%entry, 2, %%address;\n"
                    "ld.param.b32 %%n, [glint$3];\n"
                    "cvt.u64.u32 %%lead, %%n;\n"
                    "add.u64 %%address, %%address, %%lead;\n"
                    "ld.global.u8 %%h, [%%address+-2];\n"
                    "setp.eq.u16 %%p, %%h, 0;\n"
                    "mov.u16 %%h, 1;\n"
                    "@%%p st.global.u8 [%%address+-2], %%h;\n"
                    "done:\n"
                    "st.param.b64 [glint$0], %%first;\n"
                    "st.param.b64 [glint$0+8], %%extent;\n"
                    "ret;\n}\n",
                    TABLE(touched));
}

// Elements: adds bytes read and written to an entry's, which may be none.
static void emit_leave(struct base_buf *out)
{
    base_buf_printf(out,
                    "\n.func glint$leave (\n\t.param .b64 glint$1,\n\t.param .b64 glint$2,\n"
                    "\t.param .b64 glint$3,\n\t.param .b64 glint$4\n)\n"
                    "{\n.reg .pred %%p;\n.reg .b16 %%h;\n"
                    ".reg .b64 %%table, %%entry, %%read, %%written, %%moved, %%touched;\n"
                    "ld.param.b64 %%entry, [glint$2];\n"
                    "setp.eq.u64 %%p, %%entry, 0;\n"
                    "@%%p bra done;\n"
                    "ld.param.b64 %%table, [glint$1];\n"
                    "ld.param.b64 %%read, [glint$3];\n"
                    "ld.param.b64 %%written, [glint$4];\n"
                    "ld.global.u64 %%moved, [%%table+%u];\n"
                    "ld.global.u64 %%touched, [%%table+%u];\n"
                    "mad.lo.u64 %%moved, %%entry, 16, %%moved;\n"
                    "mad.lo.u64 %%touched, %%entry, 2, %%touched;\n"
                    "mov.u16 %%h, 1;\n"
                    "setp.ne.u64 %%p, %%read, 0;\n"
                    "@%%p red.global.add.u64 [%%moved+-16], %%read;\n"
                    "@%%p st.global.u8 [%%touched+-2], %%h;\n"
                    "setp.ne.u64 %%p, %%written, 0;\n"
                    "@%%p red.global.add.u64 [%%moved+-8], %%written;\n"
                    "@%%p st.global.u8 [%%touched+-1], %%h;\n"
                    "done:\n"
                    "ret;\n}\n",
                    TABLE(moved), TABLE(touched));
}

// A call of glint$leave with %read and %written.
static void emit_call_of_leave(struct base_buf *out)
{
    base_buf_puts(out, "{\n.param .b64 l1;\n.param .b64 l2;\n.param .b64 l3;\n.param .b64 l4;\n"
                       "st.param.b64 [l1], %table;\n"
                       "st.param.b64 [l2], %entry;\n"
                       "st.param.b64 [l3], %read;\n"
                       "st.param.b64 [l4], %written;\n"
                       "call glint$leave, (l1, l2, l3, l4);\n}\n");
}

// Elements: leaves an entry for that of an address; gives it, its slot, and what addresses it
// holds.
static void emit_enter(struct base_buf *out)
{
    base_buf_puts(
        out, "\n.func (.param .align 8 .b8 glint$0[32]) glint$enter (\n"
             "\t.param .b64 glint$1,\n\t.param .b64 glint$2,\n\t.param .b64 glint$3,\n"
             "\t.param .b64 glint$4,\n\t.param .b64 glint$5\n)\n"
             "{\n.reg .pred %p;\n.reg .b32 %n;\n"
             ".reg .b64 %table, %address, %entry, %slot, %first, %extent, %lead, %read, %written;\n"
             "ld.param.b64 %table, [glint$1];\n"
             "ld.param.b64 %address, [glint$2];\n"
             "ld.param.b64 %entry, [glint$3];\n"
             "ld.param.b64 %read, [glint$4];\n"
             "ld.param.b64 %written, [glint$5];\n"
             "mov.u64 %first, 0;\n"
             "mov.u64 %extent, 0;\n");
    emit_call_of_leave(out);
    emit_call_of_find(out);
    base_buf_puts(out, "setp.eq.u64 %p, %entry, 0;\n"
                       "@%p bra done;\n");
    emit_extent(out);
    base_buf_puts(out, "done:\n"
                       "st.param.b64 [glint$0], %entry;\n"
                       "st.param.b64 [glint$0+8], %slot;\n"
                       "st.param.b64 [glint$0+16], %first;\n"
                       "st.param.b64 [glint$0+24], %extent;\n"
                       "ret;\n}\n");
}

// Elements: one access of any number of bytes, looked up. Its last argument is 1 for a load, 2 for
// a store, 3 for both, and 4 times the root, or less than 0. What belongs to a root is told by
// tallies, unless it turns out to be in another object than the one of the slot's base.
static void emit_access(struct base_buf *out, const struct instrument_work *work)
{
    base_buf_printf(out,
                    "\n.func glint$access (\n\t.param .b64 glint$1,\n\t.param .b64 glint$2,\n"
                    "\t.param .b64 glint$3,\n\t.param .b32 glint$4,\n\t.param .b32 glint$5\n)\n"
                    "{\n.reg .pred %%p, %%q;\n"
                    ".reg .b32 %%n, %%m, %%mask, %%have, %%what, %%lanes;\n"
                    ".reg .b64 %%table, %%address, %%bytes, %%entry, %%slot, %%read, %%written,\n"
                    "\t%%first, %%last, %%end, %%word, %%at, %%to;\n"
                    "ld.param.b64 %%table, [glint$1];\n"
                    "ld.param.b64 %%address, [glint$2];\n"
                    "ld.param.b32 %%n, [glint$4];\n"
                    "ld.param.b32 %%what, [glint$5];\n"
                    "cvt.u64.u32 %%bytes, %%n;\n"
                    "and.b32 %%n, %%what, 1;\n"
                    "setp.ne.u32 %%p, %%n, 0;\n"
                    "selp.u64 %%read, %%bytes, 0, %%p;\n"
                    "and.b32 %%n, %%what, 2;\n"
                    "setp.ne.u32 %%p, %%n, 0;\n"
                    "selp.u64 %%written, %%bytes, 0, %%p;\n");
    emit_call_of_find(out);
    base_buf_printf(out,
                    "mov.u64 %%to, -1;\n"
                    "setp.ne.u64 %%q, %%entry, 0;\n"
                    "@%%q ld.global.u64 %%to, [%%slot+%u];\n"
                    "ld.param.b64 %%at, [glint$3];\n"
                    "setp.eq.u64 %%p, %%to, %%at;\n"
                    "@%%p bra mark;\n"
                    "setp.lt.s32 %%p, %%what, 0;\n"
                    "@%%p bra moved;\n"
                    "shr.u32 %%n, %%what, 2;\n"
                    "ld.global.u64 %%at, [%%table+%u];\n"
                    "mad.wide.u32 %%at, %%n, 16, %%at;\n"
                    "setp.ne.u64 %%p, %%read, 0;\n"
                    "@%%p red.global.add.u64 [%%at], %%bytes;\n"
                    "setp.ne.u64 %%p, %%written, 0;\n"
                    "@%%p red.global.add.u64 [%%at+8], %%bytes;\n"
                    "moved:\n"
                    "@!%%q bra done;\n",
                    SLOT(base), TABLE(strayed));
    emit_call_of_leave(out);
    // What reaches past the object's end has no bits.
    base_buf_printf(out,
                    "mark:\n"
                    "sub.u64 %%first, %%address, %%to;\n"
                    "ld.global.u64 %%end, [%%slot+%u];\n"
                    "add.u64 %%last, %%first, %%bytes;\n"
                    "min.u64 %%last, %%last, %%end;\n"
                    "sub.u64 %%last, %%last, 1;\n"
                    "ld.global.u32 %%n, [%%slot+%u];\n"
                    "shr.u64 %%first, %%first, %%n;\n"
                    "shr.u64 %%last, %%last, %%n;\n"
                    "ld.global.u64 %%to, [%%slot+%u];\n"
                    "shr.u64 %%word, %%first, 5;\n"
                    "shr.u64 %%end, %%last, 5;\n"
                    "words:\n"
                    ".pragma \"nounroll\";\n"
                    "setp.gt.u64 %%p, %%word, %%end;\n"
                    "@%%p bra marked;\n"
                    "mad.lo.u64 %%at, %%word, 4, %%to;\n",
                    SLOT(bytes), SLOT(shift), SLOT(bits));
    if (work->counts)
        base_buf_puts(out, "mov.u32 %mask, 0x80000000;\n");
    else
        base_buf_puts(out, "mov.u32 %mask, -1;\n"
                           "shr.u64 %bytes, %first, 5;\n"
                           "setp.eq.u64 %p, %word, %bytes;\n"
                           "cvt.u32.u64 %n, %first;\n"
                           "and.b32 %n, %n, 31;\n"
                           "@%p shl.b32 %mask, %mask, %n;\n"
                           "setp.eq.u64 %p, %word, %end;\n"
                           "cvt.u32.u64 %n, %last;\n"
                           "not.b32 %n, %n;\n"
                           "and.b32 %n, %n, 31;\n"
                           "mov.u32 %have, -1;\n"
                           "@%p shr.u32 %have, %have, %n;\n"
                           "and.b32 %mask, %mask, %have;\n");
    // Lanes that have one word make one operation of it.
    if (work->sm >= 80)
        base_buf_puts(out, "activemask.b32 %lanes;\n"
                           "bfind.u32 %n, %lanes;\n"
                           "cvt.u32.u64 %have, %at;\n"
                           "shfl.sync.idx.b32 %m, %have, %n, 31, %lanes;\n"
                           "setp.eq.u32 %p, %have, %m;\n"
                           "shr.u64 %bytes, %at, 32;\n"
                           "cvt.u32.u64 %have, %bytes;\n"
                           "shfl.sync.idx.b32 %m, %have, %n, 31, %lanes;\n"
                           "setp.eq.and.u32 %p, %have, %m, %p;\n"
                           "vote.sync.all.pred %p, %p, %lanes;\n"
                           "redux.sync.or.b32 %m, %mask, %lanes;\n"
                           "mov.u32 %have, %laneid;\n"
                           "setp.ne.and.u32 %q, %have, %n, %p;\n"
                           "@%p mov.u32 %mask, %m;\n"
                           "@%q mov.u32 %mask, 0;\n");
    base_buf_puts(out, "ld.global.u32 %have, [%at];\n"
                       "and.b32 %have, %have, %mask;\n"
                       "setp.ne.u32 %q, %have, %mask;\n"
                       "@%q red.global.or.b32 [%at], %mask;\n"
                       "add.u64 %word, %word, 1;\n"
                       "bra words;\n"
                       "marked:\n");
    if (work->counts)
        base_buf_printf(out,
                        "ld.global.u64 %%to, [%%slot+%u];\n"
                        "count:\n"
                        ".pragma \"nounroll\";\n"
                        "setp.gt.u64 %%p, %%first, %%last;\n"
                        "@%%p bra done;\n"
                        "mad.lo.u64 %%at, %%first, 4, %%to;\n"
                        "red.global.add.u32 [%%at], 1;\n"
                        "add.u64 %%first, %%first, 1;\n"
                        "bra count;\n",
                        SLOT(counts));
    base_buf_puts(out, "done:\n"
                       "ret;\n}\n");
}

void instrument_emit_library(const struct instrument_work *work, struct base_buf *out)
{
    if (work->helpers & (HELPER_TOUCH | HELPER_ENTER | HELPER_ACCESS))
        emit_find(out);
    if (work->helpers & HELPER_TOUCH)
        emit_touch(out);
    if (work->helpers & HELPER_LEAVE)
        emit_leave(out);
    if (work->helpers & HELPER_ENTER)
        emit_enter(out);
    if (work->helpers & HELPER_ACCESS)
        emit_access(out, work);
    if (work->helpers & HELPER_SWEEP)
        instrument_emit_sweep_function(out, work->counts);
}
