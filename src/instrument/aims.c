// SPDX-License-Identifier: Apache-2.0
// Which object the accesses of a root are expected in. Mostly it is the one that the pointer points
// into, but programs also pass one-based arrays, ends of arrays, and pointers to which the kernel
// adds the distance to another object. Where addresses are affine forms of what the launch knows,
// the launch can compute where the grid's accesses go. It then compares accesses with the bounds of
// the object that they are expected in, and finds what they touch without looking up addresses. An
// expectation that is wrong does no harm: accesses leave these bounds, and are reported to.
#include "aims.h"

#include "plan.h"
#include "regular.h"

enum { MOST_PATHS = 8 }; // of a root

// --- From the code -------------------------------------------------------------------------------

// Says of which index of a block a term is. Returns false if it depends on data.
static bool place_term(const struct instrument_body *body, const struct ptx_term *from,
                       struct instrument_form_term *term)
{
    for (uint8_t i = 0; i < from->symbol_count; i++) {
        const struct ptx_symbol *symbol = &body->facts->affine->symbols[from->symbols[i]];
        if (symbol->kind == PTX_SYMBOL_VALUE)
            return false;
        if (symbol->kind == PTX_SYMBOL_CTAID && from->symbol_count == term->factor_count + 1)
            term->of = (uint8_t)(INSTRUMENT_TERM_BLOCK_X + symbol->component);
    }
    return true;
}

static bool are_terms_alike(const struct instrument_form_term *a,
                            const struct instrument_form_term *b)
{
    bool alike =
        a->coefficient == b->coefficient && a->of == b->of && a->factor_count == b->factor_count;
    for (uint32_t i = 0; alike && i < a->factor_count; i++) {
        const struct instrument_factor *one = &a->factors[i], *other = &b->factors[i];
        alike = one->kind == other->kind && one->component == other->component &&
                one->bytes == other->bytes && one->offset == other->offset;
    }
    return alike;
}

static bool are_alike(const struct instrument_form *a, const struct instrument_form *b)
{
    bool alike = a->term_count == b->term_count;
    for (uint32_t i = 0; alike && i < a->term_count; i++)
        alike = are_terms_alike(&a->terms[i], &b->terms[i]);
    return alike;
}

// Adds the way of an access to those of its root. Accesses that differ in a constant share one.
static void add_path(struct instrument_work *work, struct instrument_root *root,
                     const struct instrument_form *form, int64_t low, int64_t high)
{
    for (uint32_t i = 0; i < root->path_count; i++) {
        struct instrument_path *path = &root->paths[i];
        if (!are_alike(&path->form, form))
            continue;
        path->low = low < path->low ? low : path->low;
        path->high = high > path->high ? high : path->high;
        return;
    }
    if (root->path_count == MOST_PATHS)
        return;
    if (!root->paths)
        root->paths = base_new_array(work->arena, struct instrument_path, MOST_PATHS);
    root->paths[root->path_count++] =
        (struct instrument_path){.form = *form, .low = low, .high = high};
}

static void plan_probe(struct instrument_work *work, struct instrument_body *body,
                       const struct instrument_probe *probe)
{
    const struct ptx_linear *from = &probe->site->form;
    struct instrument_form form = {0};
    if (!from->term_count || !instrument_describe_form(work, body, probe, from, &form))
        return;
    for (uint32_t i = 0; i < form.term_count; i++) {
        if (!place_term(body, &from->terms[i], &form.terms[i]))
            return;
    }
    const int64_t low = form.constant;
    form.constant = 0;
    add_path(work, &body->kernel->roots[probe->root], &form, low,
             low + (probe->site->bytes ? probe->site->bytes : 1));
}

void instrument_plan_aims(struct instrument_work *work, struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->probe_count; i++) {
        if (body->probes[i].how == HOW_ROOT)
            plan_probe(work, body, &body->probes[i]);
    }
}

// --- In a launch ---------------------------------------------------------------------------------

// Bytes from `first` up to `end`.
struct span {
    uint64_t first, end;
};

// Adds what indices below `count` move the span by.
static void widen(struct span *span, uint64_t step, uint64_t count)
{
    const uint64_t all = step * (count ? count - 1 : 0);
    if ((int64_t)step < 0)
        span->first += all;
    else
        span->end += all;
}

// Finds the bytes that accesses of the path reach in the grid, in the first round of each loop.
// Returns false if they are no addresses.
static bool find_span(const struct instrument_path *path, uint32_t root,
                      const struct instrument_launch *launch, struct span *span)
{
    *span = (struct span){(uint64_t)path->low, (uint64_t)path->high};
    for (uint32_t i = 0; i < path->form.term_count; i++) {
        const struct instrument_form_term *term = &path->form.terms[i];
        const uint64_t value = instrument_term_value(term, launch, root);
        switch (term->of) {
        case INSTRUMENT_TERM_FIXED:
            span->first += value;
            span->end += value;
            break;
        case INSTRUMENT_TERM_X:
        case INSTRUMENT_TERM_Y:
        case INSTRUMENT_TERM_Z:
            widen(span, value, launch->block[term->of - INSTRUMENT_TERM_X]);
            break;
        case INSTRUMENT_TERM_LANE: widen(span, value, PTX_WARP_LANES); break;
        case INSTRUMENT_TERM_BLOCK_X:
        case INSTRUMENT_TERM_BLOCK_Y:
        case INSTRUMENT_TERM_BLOCK_Z:
            widen(span, value, launch->grid[term->of - INSTRUMENT_TERM_BLOCK_X]);
            break;
        default: break;
        }
    }
    return span->first < span->end;
}

// Returns how many bytes of the span are in the object.
static uint64_t overlap(const struct span *span, const struct instrument_extent *object)
{
    const uint64_t end = object->first + object->bytes;
    const uint64_t first = span->first > object->first ? span->first : object->first;
    const uint64_t last = span->end < end ? span->end : end;
    return first < last ? last - first : 0;
}

// Finds the object that holds most of the span, as far as its ends and its middle show it. Returns
// how many bytes that is.
static uint64_t find_most(const struct span *span, instrument_finds *find, void *user,
                          struct instrument_extent *best)
{
    const uint64_t places[] = {span->first + (span->end - span->first) / 2, span->first,
                               span->end - 1};
    uint64_t most = 0;
    for (int i = 0; i < 3; i++) {
        struct instrument_extent found;
        const uint64_t held = find(user, places[i], &found) ? overlap(span, &found) : 0;
        if (held > most) {
            most = held;
            *best = found;
        }
    }
    return most;
}

// Returns an address in the object at which structures begin as they do for the root.
static uint64_t aim_in(const struct instrument_extent *object, const struct instrument_root *root,
                       uint64_t pointer)
{
    const uint64_t stride = root->layout.stride ? root->layout.stride : root->element_bytes;
    uint64_t phase = 0;
    if (stride && pointer >= object->first)
        phase = (pointer - object->first) % stride;
    else if (stride)
        phase = (stride - (object->first - pointer) % stride) % stride;
    return object->first + (phase < object->bytes ? phase : 0);
}

uint64_t instrument_aim(const struct instrument_kernel *kernel, uint32_t root,
                        const struct instrument_launch *launch, instrument_finds *find, void *user)
{
    const struct instrument_root *about = &kernel->roots[root];
    const uint64_t pointer = launch->roots[root];
    struct instrument_extent own, best = {0};
    uint64_t most = 0;
    if (!about->path_count)
        return pointer;
    const bool inside = find(user, pointer, &own);
    for (uint32_t i = 0; i < about->path_count; i++) {
        struct span span;
        if (!find_span(&about->paths[i], root, launch, &span))
            continue;
        if (inside && overlap(&span, &own))
            return pointer;
        if (!most)
            most = find_most(&span, find, user, &best);
    }
    return most ? aim_in(&best, about, pointer) : pointer;
}
