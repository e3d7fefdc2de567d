// SPDX-License-Identifier: Apache-2.0
// The functions that clones call, as text: looking an address up in the table, and what is seldom
// done or too long to stand at every access.
#include <stddef.h>

#include "work.h"

#define TABLE(field)  (unsigned)offsetof(struct instrument_table, field)
#define SLOT(field)   (unsigned)offsetof(struct instrument_slot, field)
#define STRAYS(field) (unsigned)offsetof(struct instrument_strays, field)

// Searches the table at %table for %address: %entry becomes 1 + the number of the entry that holds
// it and %slot the entry's address. Where there is none, %entry is 0; a stray is counted if asked
// for, unless the address is in memory that kernels allocated, of which it is then told what
// heap_bytes and heap_kinds say (see heap.c; NULL: nothing looks there). Uses %p, %n, %m, %at; goes
// on behind itself.
static void emit_search(struct base_buf *out, bool count, const char *heap_bytes,
                        const char *heap_kinds)
{
    // Most often it is the entry that was found last, by whomever.
    base_buf_printf(out,
                    "ld.global.u32 %%entry, [%%table+%u];\n"
                    "ld.global.u64 %%at, [%%table+%u];\n"
                    "setp.eq.u32 %%p, %%entry, 0;\n"
                    "@%%p bra $begin;\n"
                    "mad.wide.u32 %%slot, %%entry, %u, %%at;\n"
                    "sub.u64 %%slot, %%slot, %u;\n"
                    "ld.global.u64 %%at, [%%slot+%u];\n"
                    "ld.global.u32 %%lead, [%%slot+%u];\n"
                    "ld.global.u64 %%room, [%%slot+%u];\n"
                    "sub.u64 %%at, %%address, %%at;\n"
                    "setp.lt.u64 %%p, %%at, %%room;\n"
                    "cvt.u64.u32 %%room, %%lead;\n"
                    "setp.ge.and.u64 %%p, %%at, %%room, %%p;\n"
                    "ld.global.u64 %%room, [%%slot+%u];\n"
                    "@%%p bra $searched;\n"
                    "$begin:\n",
                    TABLE(recent), TABLE(entries), (unsigned)sizeof(struct instrument_slot),
                    (unsigned)sizeof(struct instrument_slot), SLOT(base), SLOT(lead), SLOT(bytes),
                    SLOT(bytes));
    base_buf_printf(out,
                    "ld.global.u32 %%m, [%%table+%u];\n"
                    "mov.u32 %%entry, 0;\n"
                    // Entries below entry start at the address or before it, those from m on after.
                    "$search:\n"
                    ".pragma \"nounroll\";\n"
                    "ld.global.u64 %%at, [%%table+%u];\n"
                    "setp.ge.u32 %%p, %%entry, %%m;\n"
                    "@%%p bra $found;\n"
                    "add.u32 %%n, %%entry, %%m;\n"
                    "shr.u32 %%n, %%n, 1;\n"
                    "mad.wide.u32 %%slot, %%n, %u, %%at;\n"
                    "ld.global.u32 %%lead, [%%slot+%u];\n"
                    "ld.global.u64 %%at, [%%slot+%u];\n"
                    "cvt.u64.u32 %%slot, %%lead;\n"
                    "add.u64 %%at, %%at, %%slot;\n"
                    "setp.gt.u64 %%p, %%at, %%address;\n"
                    "@%%p mov.u32 %%m, %%n;\n"
                    "@!%%p add.u32 %%entry, %%n, 1;\n"
                    "bra $search;\n"
                    "$found:\n"
                    "mad.wide.u32 %%slot, %%entry, %u, %%at;\n"
                    "sub.u64 %%slot, %%slot, %u;\n"
                    "setp.eq.u32 %%p, %%entry, 0;\n"
                    "@%%p bra $stray;\n"
                    "ld.global.u64 %%at, [%%slot+%u];\n"
                    "sub.u64 %%at, %%address, %%at;\n"
                    "ld.global.u64 %%room, [%%slot+%u];\n"
                    "setp.lt.u64 %%p, %%at, %%room;\n"
                    "@%%p st.global.u32 [%%table+%u], %%entry;\n"
                    "@%%p bra $searched;\n",
                    TABLE(count), TABLE(entries), (unsigned)sizeof(struct instrument_slot),
                    SLOT(lead), SLOT(base), (unsigned)sizeof(struct instrument_slot),
                    (unsigned)sizeof(struct instrument_slot), SLOT(base), SLOT(bytes),
                    TABLE(recent));
    if (!count) {
        base_buf_puts(out, "$stray:\n"
                           "mov.u32 %entry, 0;\n"
                           "$searched:\n");
        return;
    }
    base_buf_puts(out, "$stray:\n"
                       "mov.u32 %entry, 0;\n");
    if (heap_bytes)
        instrument_emit_heap_stray(out, heap_bytes, heap_kinds);
    base_buf_printf(out,
                    "ld.global.u64 %%at, [%%table+%u];\n"
                    "setp.eq.u64 %%p, %%address, 0;\n"
                    "selp.u64 %%room, %llu, 1, %%p;\n"
                    "red.global.add.u64 [%%at+%u], %%room;\n"
                    "ld.global.u32 %%n, [%%at+%u];\n"
                    "setp.ge.u32 %%p, %%n, %u;\n"
                    "@%%p bra $searched;\n"
                    "atom.global.add.u64 %%room, [%%at+%u], 1;\n"
                    "setp.ge.u64 %%p, %%room, %u;\n"
                    "@%%p bra $searched;\n"
                    "mad.lo.u64 %%at, %%room, 8, %%at;\n"
                    "st.global.u64 [%%at+%u], %%address;\n"
                    "$searched:\n",
                    TABLE(strays), (unsigned long long)(INSTRUMENT_WRAPPED + 1), STRAYS(count),
                    STRAYS(next), (unsigned)INSTRUMENT_STRAYS, STRAYS(next),
                    (unsigned)INSTRUMENT_STRAYS, STRAYS(addresses));
}

#define SEARCH_REGISTERS                                                                         \
    ".reg .pred %p;\n.reg .b32 %n, %m, %entry, %lead;\n.reg .b64 %table, %address, %slot, %at, " \
    "%room;\n"

// What of addresses the entry at %slot holds: from %first on %extent bytes.
static void emit_extent(struct base_buf *out)
{
    base_buf_printf(out,
                    "ld.global.u64 %%first, [%%slot+%u];\n"
                    "ld.global.u32 %%n, [%%slot+%u];\n"
                    "cvt.u64.u32 %%at, %%n;\n"
                    "add.u64 %%first, %%first, %%at;\n"
                    "sub.u64 %%extent, %%room, %%at;\n",
                    SLOT(base), SLOT(lead));
}

// Objects: marks the entry of an address as read (0) or written (1); gives what addresses it holds.
static void emit_touch(struct base_buf *out, const struct instrument_work *work)
{
    base_buf_puts(out, "\n.func (.param .align 8 .b8 glint$0[16]) glint$touch (\n"
                       "\t.param .b64 glint$1,\n\t.param .b64 glint$2,\n\t.param .b32 glint$3\n)\n"
                       "{\n" SEARCH_REGISTERS ".reg .b16 %h;\n.reg .b64 %first, %extent;\n"
                       "ld.param.b64 %table, [glint$1];\n"
                       "ld.param.b64 %address, [glint$2];\n"
                       "mov.u64 %first, 0;\n"
                       "mov.u64 %extent, 0;\n");
    emit_search(out, true, work->allocates ? "mov.u64 %at, 1;\n" : NULL,
                "ld.param.b32 %n, [glint$3];\nadd.u32 %n, %n, 1;\n");
    base_buf_puts(out, "setp.eq.u32 %p, %entry, 0;\n"
                       "@%p bra $done;\n");
    emit_extent(out);
    base_buf_printf(out,
                    "ld.global.u64 %%at, [%%table+%u];\n"
                    "mad.wide.u32 %%at, %%entry, 2, %%at;\n"
                    "ld.param.b32 %%n, [glint$3];\n"
                    "cvt.u64.u32 %%slot, %%n;\n"
                    "add.u64 %%at, %%at, %%slot;\n"
                    "ld.global.u8 %%h, [%%at+-2];\n"
                    "setp.eq.u16 %%p, %%h, 0;\n"
                    "mov.u16 %%h, 1;\n"
                    "@%%p st.global.u8 [%%at+-2], %%h;\n"
                    "$done:\n"
                    "st.param.b64 [glint$0], %%first;\n"
                    "st.param.b64 [glint$0+8], %%extent;\n"
                    "ret;\n}\n",
                    TABLE(touched));
}

// Elements: adds bytes read and written to an entry's, which may be none. Where a whole warp has
// the same entry, its first lane adds for all: threads that end together would wait for each other.
static void emit_leave(struct base_buf *out)
{
    base_buf_printf(out,
                    "\n.func glint$leave (\n\t.param .b64 glint$1,\n\t.param .b64 glint$2,\n"
                    "\t.param .b64 glint$3,\n\t.param .b64 glint$4\n)\n"
                    "{\n.reg .pred %%p, %%q;\n.reg .b16 %%h;\n.reg .b32 %%n, %%m, %%low, %%high;\n"
                    ".reg .b64 %%table, %%entry, %%read, %%written, %%moved, %%touched, %%t;\n"
                    "ld.param.b64 %%entry, [glint$2];\n"
                    "ld.param.b64 %%read, [glint$3];\n"
                    "ld.param.b64 %%written, [glint$4];\n"
                    "activemask.b32 %%m;\n"
                    "setp.ne.u32 %%p, %%m, -1;\n"
                    "@%%p bra $alone;\n"
                    "cvt.u32.u64 %%n, %%entry;\n"
                    "shfl.sync.idx.b32 %%low, %%n, 0, 31, -1;\n"
                    "setp.eq.u32 %%q, %%n, %%low;\n"
                    "vote.sync.all.pred %%q, %%q, -1;\n"
                    "@!%%q bra $alone;\n"
                    "mov.u32 %%n, 16;\n"
                    "$together:\n"
                    ".pragma \"nounroll\";\n"
                    "mov.b64 {%%low, %%high}, %%read;\n"
                    "shfl.sync.bfly.b32 %%low, %%low, %%n, 31, -1;\n"
                    "shfl.sync.bfly.b32 %%high, %%high, %%n, 31, -1;\n"
                    "mov.b64 %%t, {%%low, %%high};\n"
                    "add.u64 %%read, %%read, %%t;\n"
                    "mov.b64 {%%low, %%high}, %%written;\n"
                    "shfl.sync.bfly.b32 %%low, %%low, %%n, 31, -1;\n"
                    "shfl.sync.bfly.b32 %%high, %%high, %%n, 31, -1;\n"
                    "mov.b64 %%t, {%%low, %%high};\n"
                    "add.u64 %%written, %%written, %%t;\n"
                    "shr.u32 %%n, %%n, 1;\n"
                    "setp.ne.u32 %%p, %%n, 0;\n"
                    "@%%p bra $together;\n"
                    "mov.u32 %%n, %%laneid;\n"
                    "setp.ne.u32 %%p, %%n, 0;\n"
                    "@%%p bra $done;\n"
                    "$alone:\n"
                    "setp.eq.u64 %%p, %%entry, 0;\n"
                    "@%%p bra $done;\n"
                    "ld.param.b64 %%table, [glint$1];\n"
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
                    "ld.global.u64 %%t, [%%table+%u];\n"
                    "st.global.u8 [%%t+%u], %%h;\n"
                    "$done:\n"
                    "ret;\n}\n",
                    TABLE(moved), TABLE(touched), TABLE(strays), STRAYS(looked));
}

// Elements: leaves an entry for that of an address; gives it, what addresses it holds, its words
// and counters, shift and lead.
static void emit_enter(struct base_buf *out)
{
    base_buf_puts(out, "\n.func (.param .align 8 .b8 glint$0[48]) glint$enter (\n"
                       "\t.param .b64 glint$1,\n\t.param .b64 glint$2,\n\t.param .b64 glint$3,\n"
                       "\t.param .b64 glint$4,\n\t.param .b64 glint$5\n)\n"
                       "{\n" SEARCH_REGISTERS
                       ".reg .b64 %first, %extent, %bits, %old, %read, %written;\n"
                       "ld.param.b64 %table, [glint$1];\n"
                       "ld.param.b64 %address, [glint$2];\n"
                       "ld.param.b64 %old, [glint$3];\n"
                       "ld.param.b64 %read, [glint$4];\n"
                       "ld.param.b64 %written, [glint$5];\n"
                       "{\n.param .b64 l1;\n.param .b64 l2;\n.param .b64 l3;\n.param .b64 l4;\n"
                       "st.param.b64 [l1], %table;\n"
                       "st.param.b64 [l2], %old;\n"
                       "st.param.b64 [l3], %read;\n"
                       "st.param.b64 [l4], %written;\n"
                       "call glint$leave, (l1, l2, l3, l4);\n}\n"
                       "mov.u64 %first, 0;\n"
                       "mov.u64 %extent, 0;\n");
    emit_search(out, false, NULL, NULL);
    base_buf_puts(out, "setp.eq.u32 %p, %entry, 0;\n"
                       "@%p bra $done;\n");
    emit_extent(out);
    base_buf_printf(out,
                    "ld.global.u64 %%bits, [%%slot+%u];\n"
                    "ld.global.u64 %%read, [%%slot+%u];\n"
                    "ld.global.u32 %%m, [%%slot+%u];\n"
                    "st.param.b64 [glint$0+24], %%bits;\n"
                    "st.param.b64 [glint$0+32], %%read;\n"
                    "st.param.b32 [glint$0+40], %%m;\n"
                    "st.param.b32 [glint$0+44], %%n;\n"
                    "$done:\n"
                    "cvt.u64.u32 %%old, %%entry;\n"
                    "st.param.b64 [glint$0], %%old;\n"
                    "st.param.b64 [glint$0+8], %%first;\n"
                    "st.param.b64 [glint$0+16], %%extent;\n"
                    "ret;\n}\n",
                    SLOT(bits), SLOT(counts), SLOT(shift));
}

// Elements: an access of any number of bytes, looked up, and as many as its last argument says, of
// lanes that follow; see instrument_access_word. Its arguments are kept in memory: who calls it has
// the more registers, and it is seldom called. What belongs to a root is told by tallies, unless
// it turns out to be in another object, whose words are elsewhere, than the slot's.
static void emit_access(struct base_buf *out, const struct instrument_work *work)
{
    base_buf_puts(out, "\n.func glint$access (\n\t.param .b64 glint$1,\n\t.param .b64 glint$2,\n"
                       "\t.param .b64 glint$3,\n\t.param .b32 glint$4,\n\t.param .b32 glint$5,\n"
                       "\t.param .b32 glint$6\n)\n"
                       "{\n" SEARCH_REGISTERS ".reg .pred %reads, %writes, %some;\n.reg .b16 %h;\n"
                       ".reg .b32 %what;\n"
                       ".local .align 8 .b8 kept[48];\n"
                       // A place that is not known before, or else there would be registers again.
                       ".reg .b32 %kept;\n"
                       "ld.param.b32 %n, [glint$6];\n"
                       "shr.u32 %n, %n, 31;\n"
                       "mov.u32 %kept, kept;\n"
                       "mad.lo.u32 %kept, %n, 8, %kept;\n"
                       "ld.param.b64 %table, [glint$1];\n"
                       "st.local.u64 [%kept], %table;\n"
                       "ld.param.b64 %address, [glint$2];\n"
                       "st.local.u64 [%kept+8], %address;\n"
                       "ld.param.b64 %at, [glint$3];\n"
                       "st.local.u64 [%kept+16], %at;\n"
                       "ld.param.b32 %n, [glint$4];\n"
                       "st.local.u32 [%kept+24], %n;\n"
                       "ld.param.b32 %n, [glint$5];\n"
                       "st.local.u32 [%kept+28], %n;\n"
                       "ld.param.b32 %n, [glint$6];\n"
                       "st.local.u32 [%kept+32], %n;\n"
                       "$lanes:\n"
                       ".pragma \"nounroll\";\n"
                       "ld.local.u64 %table, [%kept];\n"
                       "ld.local.u64 %address, [%kept+8];\n");
    emit_search(out, true,
                work->allocates ? "ld.local.u32 %n, [%kept+24];\ncvt.u64.u32 %at, %n;\n" : NULL,
                "ld.local.u32 %n, [%kept+28];\nand.b32 %n, %n, 3;\n");
    base_buf_printf(out,
                    "ld.local.u32 %%what, [%%kept+28];\n"
                    "and.b32 %%n, %%what, 1;\n"
                    "setp.ne.u32 %%reads, %%n, 0;\n"
                    "and.b32 %%n, %%what, 2;\n"
                    "setp.ne.u32 %%writes, %%n, 0;\n"
                    "setp.ne.u32 %%some, %%entry, 0;\n"
                    "@!%%some bra $elsewhere;\n"
                    "ld.local.u64 %%room, [%%kept+16];\n"
                    "ld.global.u64 %%at, [%%slot+%u];\n"
                    "setp.eq.u64 %%p, %%at, %%room;\n"
                    "@%%p bra $mark;\n"
                    "$elsewhere:\n"
                    "ld.local.u32 %%n, [%%kept+24];\n"
                    "cvt.u64.u32 %%room, %%n;\n"
                    "shr.u32 %%n, %%what, 8;\n"
                    "setp.eq.u32 %%p, %%n, 0;\n"
                    "@%%p bra $moved;\n"
                    "ld.global.u64 %%at, [%%table+%u];\n"
                    "mad.wide.u32 %%at, %%n, 16, %%at;\n"
                    "@%%reads red.global.add.u64 [%%at+-16], %%room;\n"
                    "@%%writes red.global.add.u64 [%%at+-8], %%room;\n"
                    "$moved:\n"
                    "@!%%some bra $done;\n"
                    "ld.global.u64 %%at, [%%table+%u];\n"
                    "mad.wide.u32 %%at, %%entry, 16, %%at;\n"
                    "@%%reads red.global.add.u64 [%%at+-16], %%room;\n"
                    "@%%writes red.global.add.u64 [%%at+-8], %%room;\n"
                    "ld.global.u64 %%at, [%%table+%u];\n"
                    "mad.wide.u32 %%at, %%entry, 2, %%at;\n"
                    "mov.u16 %%h, 1;\n"
                    "@%%reads st.global.u8 [%%at+-2], %%h;\n"
                    "@%%writes st.global.u8 [%%at+-1], %%h;\n"
                    "ld.global.u64 %%at, [%%table+%u];\n"
                    "st.global.u8 [%%at+%u], %%h;\n",
                    SLOT(bits), TABLE(strayed), TABLE(moved), TABLE(touched), TABLE(strays),
                    STRAYS(looked));
    // Element by element: %m of them behind the first, but for what reaches past the object's end.
    base_buf_printf(out,
                    "$mark:\n"
                    "ld.global.u64 %%at, [%%slot+%u];\n"
                    "sub.u64 %%address, %%address, %%at;\n"
                    "ld.global.u32 %%entry, [%%slot+%u];\n"
                    "ld.global.u64 %%at, [%%slot+%u];\n"
                    "ld.local.u32 %%n, [%%kept+24];\n"
                    "cvt.u64.u32 %%room, %%n;\n"
                    "add.u64 %%room, %%room, %%address;\n"
                    "min.u64 %%room, %%room, %%at;\n"
                    "sub.u64 %%room, %%room, 1;\n"
                    "shr.u64 %%room, %%room, %%entry;\n"
                    "shr.u64 %%address, %%address, %%entry;\n"
                    "$elements:\n"
                    ".pragma \"nounroll\";\n"
                    "ld.global.u64 %%at, [%%slot+%u];\n"
                    "shr.u64 %%table, %%address, 5;\n"
                    "mad.lo.u64 %%at, %%table, 4, %%at;\n"
                    "cvt.u32.u64 %%n, %%address;\n"
                    "%s"
                    "ld.global.u32 %%m, [%%at];\n"
                    "and.b32 %%m, %%m, %%n;\n"
                    "setp.eq.u32 %%p, %%m, 0;\n"
                    "@%%p red.global.or.b32 [%%at], %%n;\n",
                    SLOT(base), SLOT(shift), SLOT(bytes), SLOT(bits),
                    work->counts ? "mov.u32 %n, 0x80000000;\n" : "shf.l.wrap.b32 %n, 0, 1, %n;\n");
    if (work->counts)
        base_buf_printf(out,
                        "ld.global.u64 %%at, [%%slot+%u];\n"
                        "mad.lo.u64 %%at, %%address, 4, %%at;\n"
                        "red.global.add.u32 [%%at], 1;\n",
                        SLOT(counts));
    base_buf_puts(out, "add.u64 %address, %address, 1;\n"
                       "setp.le.u64 %p, %address, %room;\n"
                       "@%p bra $elements;\n"
                       "$done:\n"
                       "ld.local.u32 %n, [%kept+28];\n"
                       "bfe.u32 %n, %n, 2, 6;\n"
                       "cvt.u64.u32 %at, %n;\n"
                       "ld.local.u64 %address, [%kept+8];\n"
                       "add.u64 %address, %address, %at;\n"
                       "st.local.u64 [%kept+8], %address;\n"
                       "ld.local.u32 %n, [%kept+32];\n"
                       "sub.u32 %n, %n, 1;\n"
                       "st.local.u32 [%kept+32], %n;\n"
                       "setp.ne.u32 %p, %n, 0;\n"
                       "@%p bra $lanes;\n"
                       "ret;\n}\n");
}

// Counts: an access of each lane, of so many elements from a counter on, whose word is given. Lanes
// that have the same counter are put together, the last one's first, as long as there are such: one
// of them adds for all. Counters are 4 bytes and their addresses differ in the 32 bits behind
// those.
static void emit_count(struct base_buf *out)
{
    base_buf_puts(out, "\n.func glint$count (\n\t.param .b64 glint$1,\n\t.param .b64 glint$2,\n"
                       "\t.param .b32 glint$3\n)\n"
                       "{\n.reg .pred %p, %q;\n.reg .b32 %lanes, %first, %key, %other, %group, %n, "
                       "%more;\n.reg .b64 %at, %t;\n"
                       "ld.param.b64 %at, [glint$2];\n"
                       "shr.u64 %t, %at, 2;\n"
                       "cvt.u32.u64 %key, %t;\n"
                       "$round:\n"
                       ".pragma \"nounroll\";\n"
                       "activemask.b32 %lanes;\n"
                       "bfind.u32 %first, %lanes;\n"
                       "shfl.sync.idx.b32 %other, %key, %first, 31, %lanes;\n"
                       "setp.eq.u32 %p, %key, %other;\n"
                       "vote.sync.ballot.b32 %group, %p, %lanes;\n"
                       "popc.b32 %n, %group;\n"
                       "@%p bra $mine;\n"
                       "setp.gt.u32 %q, %n, 1;\n"
                       "@%q bra $round;\n"
                       "mov.u32 %n, 1;\n"
                       "bra $add;\n"
                       "$mine:\n"
                       "mov.u32 %other, %laneid;\n"
                       "setp.ne.u32 %p, %other, %first;\n"
                       "@%p bra $done;\n"
                       "$add:\n"
                       "ld.param.b64 %t, [glint$1];\n"
                       "ld.global.u32 %other, [%t];\n"
                       "setp.ge.s32 %p, %other, 0;\n"
                       "@%p red.global.or.b32 [%t], 0x80000000;\n"
                       "ld.param.b32 %more, [glint$3];\n"
                       "$elements:\n"
                       ".pragma \"nounroll\";\n"
                       "red.global.add.u32 [%at], %n;\n"
                       "add.u64 %at, %at, 4;\n"
                       "sub.u32 %more, %more, 1;\n"
                       "setp.ne.u32 %p, %more, 0;\n"
                       "@%p bra $elements;\n"
                       "$done:\n"
                       "ret;\n}\n");
}

void instrument_emit_library(const struct instrument_work *work, uint32_t helpers,
                             struct base_buf *out)
{
    instrument_emit_heap(work, out);
    if (helpers & HELPER_TOUCH)
        emit_touch(out, work);
    if (helpers & HELPER_LEAVE)
        emit_leave(out);
    if (helpers & HELPER_ENTER)
        emit_enter(out);
    if (helpers & HELPER_ACCESS)
        emit_access(out, work);
    if (helpers & HELPER_COUNT)
        emit_count(out);
    if (helpers & HELPER_RANGE)
        instrument_emit_range_function(out);
    if (helpers & HELPER_SWEEP)
        instrument_emit_sweep_function(out, work->counts);
}
