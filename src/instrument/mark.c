// SPDX-License-Identifier: Apache-2.0
// Writes the code that marks what accesses of roots touch (probes/mark.ptx, which describes the
// registers). It stands in every block, so it is kept short. Each lane checks the accesses of a
// group (groups.c) together. If all of them lie in the spans of their roots' views, they are marked
// together; otherwise glint$access looks up each of them.
//
// Bits: if all lanes of a warp that is a piece of a row are inside, and their addresses grow by a
// step, the first lanes mark for all, one word each. The run of elements that the warp touches has
// n elements and begins at bit s of its first word, so in word j it covers the bits from s - 32 j
// up to s + n - 32 j. Members that are alike form a set, whose words other lanes mark at the same
// time. If many threads mark the same words, they read them first, through the cache. Bits are only
// ever set, so an outdated copy costs one superfluous operation and nothing else.
#include "mark.h"

#include "fill.h"
#include "groups.h"
#include "probe.h"

struct instrument_view instrument_view_of(const struct instrument_slot *slot,
                                          uint32_t element_bytes)
{
    struct instrument_view view = {.slot = *slot, .first = slot->base + slot->lead};
    const uint64_t span = slot->bytes - slot->lead, size = (uint64_t)1 << slot->shift;
    view.ahead = slot->lead >> slot->shift;
    if (slot->shift != instrument_shift(element_bytes) || slot->lead % size ||
        slot->bytes >> slot->shift > UINT32_MAX)
        return view;
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t unit = (uint64_t)4 << i;
        view.spans[i] = view.first % unit ? 0 : span & ~(unit - 1);
    }
    return view;
}

// --- What a member is ----------------------------------------------------------------------------

static struct instrument_member member_of(const struct instrument_work *work,
                                          const struct instrument_body *body,
                                          const struct instrument_probe *probe)
{
    struct instrument_member member = {
        .probe = probe,
        .slot = instrument_slot_offset(probe->root),
        .shift = instrument_shift(body->kernel->roots[probe->root].element_bytes),
        .width = probe->before + probe->behind,
        .class = CLASS_LANE,
        .aligned = true,
    };
    const uint32_t element = 1u << member.shift;
    for (const struct instrument_probe *each = probe; each; each = instrument_next(body, each))
        member.aligned &= each->site->bytes % element == 0;
    member.aligned &= member.width % element == 0 && probe->step % element == 0;
    if (work->counts) {
        if (probe->lanes == LANES_STEP && probe->step == member.width)
            member.class = member.aligned ? CLASS_RUN
                           : instrument_run_bytes(&member) + 2 * (element - 1) <= 32 * element
                               ? CLASS_SPAN
                               : CLASS_LANE;
    } else if (probe->lanes == LANES_STEP && probe->step == member.width && !probe->next &&
               member.aligned)
        member.class = CLASS_RUN;
    else if (probe->lanes == LANES_ONE ||
             // No element fits between the bytes of two lanes.
             (probe->lanes == LANES_STEP && probe->step < member.width + 4))
        member.class = CLASS_SPAN;
    return member;
}
bool instrument_is_run(const struct instrument_work *work, const struct instrument_body *body,
                       const struct instrument_probe *probe)
{
    return member_of(work, body, probe).class != CLASS_LANE;
}

bool instrument_go_together(const struct instrument_work *work, const struct instrument_body *body,
                            const struct instrument_probe *one,
                            const struct instrument_probe *other)
{
    const struct instrument_member a = member_of(work, body, one), b = member_of(work, body, other);
    if (work->counts)
        return true;
    return (a.class == CLASS_LANE) == (b.class == CLASS_LANE) &&
           (a.class != CLASS_RUN || b.class != CLASS_RUN ||
            instrument_own_elements(&a) == instrument_own_elements(&b));
}

// --- Inside --------------------------------------------------------------------------------------

// Writes the code that computes the distance of the address from the object's first byte, and
// whether the access is in the span.
static void emit_check(struct base_buf *out, const struct instrument_member *member)
{
    const bool natural = !member->probe->next && member->width <= INSTRUMENT_NATURAL;
    const uint32_t span = natural && member->width > 4 ? member->width > 8 ? 2 : 1 : 0;
    instrument_emit_address(out, member->probe->site->address, "%glint$o", member->k,
                            -(int64_t)member->probe->before);
    FILL(out, check, NUMBER(k, member->k), NUMBER(view, member->slot),
         NUMBER(span, member->slot + 8 * span), NUMBER(wide, !natural),
         NUMBER(width, member->width));
}

// Writes the code that computes whether all lanes of a warp that is a piece of a row are inside.
static void emit_full(struct base_buf *out)
{
    base_buf_puts(out, "activemask.b32 %glint$i;\n"
                       "setp.eq.and.u32 %glint$full, %glint$i, -1, %glint$rows;\n");
}

void instrument_emit_element(struct base_buf *out, const struct instrument_member *member)
{
    FILL(out, element, NUMBER(k, member->k), NUMBER(shift, member->shift),
         NUMBER(chosen, member->chosen), NUMBER(view, member->slot));
}

void instrument_emit_word(struct base_buf *out, const struct instrument_member *member,
                          const char *j)
{
    FILL(out, word, NUMBER(k, member->k), STRING(j, j), NUMBER(chosen, member->chosen),
         NUMBER(view, member->slot));
}

// --- Bits ----------------------------------------------------------------------------------------

// Return the most elements that a run may have, and the most words in which it may have bits.
static uint32_t most_elements(const struct instrument_member *member)
{
    const uint32_t size = 1u << member->shift;
    return (instrument_run_bytes(member) + (member->aligned ? 0 : 2 * size - 2)) >> member->shift;
}

static uint32_t most_words(const struct instrument_member *member)
{
    return (most_elements(member) + 30) / 32 + 1;
}

// Sets %glint$n to the number of elements that so many bytes touch, beginning at the distance
// %glint$o<k>.
static void emit_count(struct base_buf *out, const struct instrument_member *member, uint32_t bytes)
{
    const uint32_t size = 1u << member->shift;
    if (member->aligned)
        base_buf_printf(out, "mov.u32 %%glint$n, %u;\n", bytes >> member->shift);
    else
        FILL(out, count_elements, NUMBER(k, member->k), NUMBER(size, size),
             NUMBER(last, bytes + size - 1), NUMBER(shift, member->shift));
}

// Sets %glint$i to the first element of a run and %glint$w<k> to the address of its word j.
static void emit_first(struct base_buf *out, const struct instrument_member *member, const char *j)
{
    const uint32_t step = member->probe->lanes == LANES_STEP ? member->probe->step : 0;
    if (step && !member->aligned)
        FILL(out, first_lane, NUMBER(k, member->k), NUMBER(step, step));
    instrument_emit_element(out, member);
    if (step && member->aligned)
        base_buf_printf(out, "mad.lo.s32 %%glint$i, %%glint$lane, -%u, %%glint$i;\n",
                        step >> member->shift);
    instrument_emit_word(out, member, j);
}

// Computes what the runs of a group have in common, which have equally many elements, a multiple of
// 32.
static void emit_run_masks(struct base_buf *out, uint32_t elements, bool alone, const char *j)
{
    FILL(out, run_masks, NUMBER(alone, alone), STRING(j, j), NUMBER(elements, elements),
         NUMBER(several, elements > 1));
}

static void emit_run(struct base_buf *out, const struct instrument_member *member, bool alone)
{
    FILL(out, run, NUMBER(k, member->k), NUMBER(several, instrument_own_elements(member) > 1),
         NUMBER(alone, alone));
}

// j is below `words`.
static void emit_span(struct base_buf *out, const struct instrument_member *member, uint32_t words,
                      const char *j)
{
    emit_count(out, member, instrument_run_bytes(member));
    if (most_elements(member) <= 32 && words == 2)
        FILL(out, short_span, NUMBER(k, member->k), STRING(j, j));
    else
        FILL(out, long_span, NUMBER(k, member->k), STRING(j, j));
}

// Computes the bits of one lane. The bytes that a thread touches by several accesses may reach into
// another word.
static void emit_lane(struct base_buf *out, const struct instrument_member *member)
{
    instrument_emit_element(out, member);
    instrument_emit_word(out, member, NULL);
    if (!member->probe->next) {
        base_buf_printf(out, "shf.l.wrap.b32 %%glint$b%u, 0, %u, %%glint$i;\n", member->k,
                        (1u << instrument_own_elements(member)) - 1);
        return;
    }
    emit_count(out, member, member->width);
    FILL(out, lane_bits, NUMBER(k, member->k));
}

// Reads the word if the view asks for it (`sure`), or else if there are bits for it: whole warps
// may have none.
static void emit_look(struct base_buf *out, const struct instrument_member *member, bool sure)
{
    FILL(out, look, NUMBER(k, member->k), NUMBER(sure, sure), NUMBER(view, member->slot));
}

// Sets the bits that are not set yet.
static void emit_or(struct instrument_work *work, const struct instrument_member *member)
{
    const bool combine = member->class == CLASS_LANE && work->sm >= 80;
    const uint32_t set = work->labels, past = work->labels + 1;
    work->labels += combine ? 2 : 0;
    FILL(&work->out, set_bits, NUMBER(k, member->k), NUMBER(combine, combine), NUMBER(set, set),
         NUMBER(past, past));
}

// Members that differ only in their addresses. The lanes from m << log on mark the m-th member.
// Selecting among views takes as long as marking one more member, so some members of a set have the
// same root.
struct set {
    uint32_t members[INSTRUMENT_GROUP_MOST];
    uint32_t count;
    uint32_t words; // of a member; if there are several members, lanes
    uint32_t log;
    bool looks;
};

static bool must_look(const struct instrument_member *member)
{
    const struct instrument_probe *probe = member->probe;
    return probe->check || probe->lanes == LANES_ONE || !probe->step;
}

static bool are_alike(const struct instrument_member *a, const struct instrument_member *b)
{
    return a->class == b->class && a->shift == b->shift && a->width == b->width &&
           a->aligned == b->aligned && a->probe->lanes == b->probe->lanes &&
           a->probe->step == b->probe->step && must_look(a) == must_look(b);
}

static bool has_pair(const struct instrument_member *members, const struct set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (members[set->members[i]].slot == members[set->members[k]].slot)
                return true;
        }
    }
    return false;
}

// Divides members into sets and returns the number of sets.
static uint32_t find_sets(const struct instrument_member *members, uint32_t count, struct set *sets)
{
    enum {
        MOST_LOG = 3
    }; // bounded by INSTRUMENT_BEHIND, the words behind the last that lanes may access
    uint32_t found = 0;
    for (uint32_t k = 0; k < count; k++) {
        struct set *set = sets;
        while (set < sets + found && (!are_alike(&members[set->members[0]], &members[k]) ||
                                      set->log > MOST_LOG || (set->count + 1) << set->log > 32))
            set++;
        if (set == sets + found) {
            *set = (struct set){.words = most_words(&members[k]), .looks = must_look(&members[k])};
            while (1u << set->log < set->words)
                set->log++;
            found++;
        }
        set->members[set->count++] = k;
    }
    for (uint32_t i = 0; i < found; i++) {
        while (sets[i].count > 1 && !has_pair(members, &sets[i])) { // each member becomes a set
            sets[found] = sets[i];
            sets[found].members[0] = sets[i].members[--sets[i].count];
            sets[found++].count = 1;
        }
        sets[i].words = sets[i].count > 1 ? 1u << sets[i].log : sets[i].words;
    }
    return found;
}

// Writes the code that selects the lane's member of the set: its distance into %glint$o<k> of the
// first member, and its view into registers if members have different roots.
static struct instrument_member
emit_choice(struct base_buf *out, const struct instrument_member *members, const struct set *set)
{
    struct instrument_member chosen = members[set->members[0]];
    for (uint32_t m = 1; m < set->count; m++)
        chosen.chosen |= members[set->members[m]].slot != chosen.slot;
    base_buf_printf(out, "and.b32 %%glint$j, %%glint$lane, %u;\n", set->words - 1);
    for (uint32_t m = 0; m < set->count; m++) {
        const struct instrument_member *member = &members[set->members[m]];
        FILL(out, choose, NUMBER(from, m << set->log), STRING(guard, m ? "@%glint$p1 " : ""),
             NUMBER(k, member->k), NUMBER(chosen, chosen.chosen), NUMBER(view, member->slot));
    }
    base_buf_printf(out, "cvt.u64.u32 %%glint$o%u, %%glint$i;\n", chosen.k);
    return chosen;
}

// Marks the words of the set by the first of the `lanes` active lanes. Lanes without bits of a run
// execute an operation that sets none, on a word that may lie behind the last: that is faster than
// diverging.
static void emit_set(struct instrument_work *work, const struct instrument_member *members,
                     const struct set *set, uint32_t lanes)
{
    struct base_buf *out = &work->out;
    struct instrument_member member = members[set->members[0]];
    const char *j = set->count > 1 ? "%glint$j" : "%glint$lane";
    const uint32_t own = set->count * set->words;
    if (set->count > 1)
        member = emit_choice(out, members, set);
    if (member.class == CLASS_RUN) {
        const bool alone = set->words == instrument_own_elements(&member) + 1;
        emit_run_masks(out, instrument_own_elements(&member), alone, j);
        emit_first(out, &member, j);
        emit_run(out, &member, alone);
    } else {
        emit_first(out, &member, j);
        emit_span(out, &member, set->words, j);
    }
    if (own < lanes)
        base_buf_printf(out,
                        "setp.lt.u32 %%glint$p1, %%glint$lane, %u;\n"
                        "selp.b32 %%glint$b%u, %%glint$b%u, 0, %%glint$p1;\n",
                        own, member.k, member.k);
    if (set->looks) {
        emit_look(out, &member, false);
        emit_or(work, &member);
    } else {
        base_buf_printf(out, "%sred.global.or.b32 [%%glint$w%u], %%glint$b%u;\n",
                        own < lanes ? "@%glint$p1 " : "", member.k, member.k);
    }
}

// Marks for a whole warp by its first lanes, one word each.
static void emit_for_all(struct instrument_work *work, const struct instrument_member *members,
                         uint32_t count, uint32_t done)
{
    struct base_buf *out = &work->out;
    struct set sets[INSTRUMENT_GROUP_MOST];
    const uint32_t found = find_sets(members, count, sets);
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < found; i++)
        lanes = sets[i].count * sets[i].words > lanes ? sets[i].count * sets[i].words : lanes;
    if (lanes < 32)
        base_buf_printf(out,
                        "setp.ge.u32 %%glint$p1, %%glint$lane, %u;\n"
                        "@%%glint$p1 bra $glint$%u;\n",
                        lanes, done);
    for (uint32_t i = 0; i < found; i++)
        emit_set(work, members, &sets[i], lanes);
    base_buf_printf(out, "bra $glint$%u;\n", done);
}

static void emit_bits(struct instrument_work *work, const struct instrument_member *members,
                      uint32_t count, uint32_t done)
{
    struct base_buf *out = &work->out;
    if (members[0].class != CLASS_LANE) {
        const uint32_t some = work->labels++;
        base_buf_printf(out, "@!%%glint$full bra $glint$%u;\n", some);
        emit_for_all(work, members, count, done);
        base_buf_printf(out, "$glint$%u:\n", some);
    }
    // All reads are issued before the first result is used.
    for (uint32_t k = 0; k < count; k++) {
        emit_lane(out, &members[k]);
        emit_look(out, &members[k], true);
    }
    for (uint32_t k = 0; k < count; k++)
        emit_or(work, &members[k]);
}

// --- A group -------------------------------------------------------------------------------------

void instrument_emit_group(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *last)
{
    struct base_buf *out = &work->out;
    struct instrument_member members[INSTRUMENT_GROUP_MOST] = {{0}};
    uint32_t count = 1, slow = work->labels++, done = work->labels++;
    bool runs = false;
    for (const struct instrument_probe *each = last; each->with;
         each = &body->probes[each->with - 1])
        count++;
    for (uint32_t k = count; k-- > 0;) {
        members[k] = member_of(work, body, last);
        members[k].k = k;
        runs |= members[k].class != CLASS_LANE;
        if (k)
            last = &body->probes[last->with - 1];
    }
    FILL(out, group_registers, NUMBER(count, count));
    for (uint32_t k = 0; k < count; k++)
        emit_check(out, &members[k]);
    base_buf_printf(out, "@!%%glint$p0 bra $glint$%u;\n", slow);
    if (runs)
        emit_full(out);
    if (!work->counts)
        emit_bits(work, members, count, done);
    for (uint32_t k = 0; k < count && work->counts; k++)
        instrument_emit_counted(work, &members[k]);
    base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", done, slow);
    for (uint32_t k = 0; k < count; k++)
        instrument_emit_slow(work, body, members[k].probe);
    base_buf_printf(out, "$glint$%u:\n}\n", done);
}
