// SPDX-License-Identifier: Apache-2.0
// Decides the layout of a root. The stride is the greatest common divisor of the steps of its
// sites. What they move becomes cells in one stride: first those whose type is stated, then those
// that are integers unless something else is stated, and last words of which only the bits are
// moved. Cells that contradict each other make the layout unknown.
#include "layout.h"

#include <stdlib.h>
#include <string.h>

#include "touches.h"

// Steps beyond this are rows of a matrix, not structures.
enum { LONGEST_STRIDE = 4096 };

enum { WAY_LOAD = 1, WAY_STORE = 2 };

// What moves at one offset of the structure.
struct cell {
    uint32_t offset, bytes;
    uint8_t type;    // enum ptx_type of a float or word; integers: PTX_TYPE_NONE until the end
    uint8_t ways;    // WAY_LOAD, WAY_STORE
    bool is_integer; // the rest is about integers
    bool is_pointer;
    bool is_signed, is_unsigned; // stated
};

// One value that a site moves.
struct element {
    struct cell cell;
    uint8_t basis; // enum ptx_type_basis
};

struct sketch {
    struct base_arena *arena;
    uint64_t stride, still;
    uint32_t least;    // bytes of the smallest element
    bool whole, piece; // a site covers the whole structure, or only a piece of it
    bool *bits;        // by byte of the structure: bits are moved there
    uint8_t *bit_ways; // in which ways
    uint32_t *owner;   // by byte: 1 + the index of its cell, or 0
    BASE_ARRAY(struct cell) cells;
    bool assumed;           // the stride does not follow from the sites
    enum ptx_type declared; // the type of a variable
    const char *doubt;
};

static void doubt(struct sketch *sketch, const char *why)
{
    if (!sketch->doubt)
        sketch->doubt = why;
}

// Single elements, at constant addresses, say nothing about structures.
static uint8_t ways_of(const struct ptx_touch *touch)
{
    const struct ptx_site *site = touch->site;
    if (!touch->grid.step)
        return 0;
    return site->access == PTX_ACCESS_LOAD    ? WAY_LOAD
           : site->access == PTX_ACCESS_STORE ? WAY_STORE
                                              : WAY_LOAD | WAY_STORE;
}

// --- What a site moves ---------------------------------------------------------------------------

// Returns the type of values for a type of PTX, of the same size; PTX_TYPE_NONE if there is none.
static enum ptx_type value_type(enum ptx_type type)
{
    switch (type) {
    case PTX_TF32: return PTX_F32;
    case PTX_F16:
    case PTX_BF16:
    case PTX_F32:
    case PTX_F64:
    case PTX_U8:
    case PTX_S8:
    case PTX_U16:
    case PTX_S16:
    case PTX_U32:
    case PTX_S32:
    case PTX_U64:
    case PTX_S64: return type;
    default: return ptx_type_info(type)->bits == 8 ? PTX_U8 : PTX_TYPE_NONE;
    }
}

static struct element element_of(const struct sketch *sketch, const struct ptx_touch *touch,
                                 struct ptx_access_type access, uint32_t bytes)
{
    // The declaration of a variable states its type, unless it is an array of bytes.
    const struct ptx_type_info *declared = ptx_type_info(sketch->declared);
    if (access.basis == PTX_BASIS_NONE && declared->kind != PTX_CLASS_BITS &&
        ptx_type_bytes(sketch->declared) == bytes) {
        access.type = (uint8_t)sketch->declared;
        access.basis = declared->kind == PTX_CLASS_FLOAT ? PTX_BASIS_STATED : PTX_BASIS_INTEGER;
    }
    const enum ptx_type type = value_type((enum ptx_type)access.type);
    const struct ptx_type_info *info = ptx_type_info(type);
    struct element element = {.cell = {.bytes = bytes, .ways = ways_of(touch)},
                              .basis = access.basis};
    if (type == PTX_TYPE_NONE || ptx_type_bytes(type) != bytes)
        element.basis = PTX_BASIS_NONE;
    else if (bytes == 1 && element.basis == PTX_BASIS_NONE)
        element.basis = PTX_BASIS_BITS; // whatever a byte is, it can be read as an integer
    if (element.basis == PTX_BASIS_NONE)
        return element;
    if (info->kind == PTX_CLASS_FLOAT) {
        element.cell.type = (uint8_t)type;
        return element;
    }
    struct cell *cell = &element.cell;
    const bool is_signed = info->kind == PTX_CLASS_SIGNED;
    cell->is_integer = true;
    cell->is_pointer = bytes == 8 && (access.is_pointer || touch->site->type.is_pointer);
    if (cell->is_pointer)
        element.basis = PTX_BASIS_STATED;
    cell->is_signed = element.basis == PTX_BASIS_STATED && is_signed;
    cell->is_unsigned = element.basis == PTX_BASIS_STATED && !is_signed;
    return element;
}

// Returns whether the element that the site stores is certainly an address.
static bool stores_pointer(const struct ptx_touch *touch, uint32_t element)
{
    const struct ptx_instr *instr = touch->site->instr;
    const struct ptx_operand *data = &instr->operands[1];
    if (instr->operand_count < 2)
        return false;
    if (data->kind == PTX_OPERAND_VECTOR)
        data = element < data->count ? &data->elements[element] : NULL;
    return data && ptx_operand_origin(touch->facts->provenance, instr, data).is_pointer;
}

typedef void (*visitor)(struct sketch *sketch, const struct element *element, uint64_t offset);

// Calls `visit` for every value that the site moves, with its offset from the root.
static void visit_elements(struct sketch *sketch, const struct ptx_touch *touch, visitor visit)
{
    const struct ptx_site *site = touch->site;
    const struct ptx_form *form = site->instr->form;
    const uint32_t bytes =
        form->type_count ? ptx_type_bytes((enum ptx_type)form->types[0]) : site->bytes;
    uint64_t offset = touch->grid.constant;
    if (!bytes || (!site->bytes && site->type.basis == PTX_BASIS_NONE)) {
        doubt(sketch, "a site moves an unknown number of bytes");
        return;
    }
    const uint32_t count = site->bytes && site->bytes > bytes ? site->bytes / bytes : 1;
    for (uint32_t i = 0; i < count; i++, offset += bytes) {
        bool unused = false;
        struct ptx_access_type access =
            ptx_element_type(touch->facts->usage, site->instr, i, &unused);
        // The rest of a vector may be padding.
        if (unused && count > 1 && access.basis == PTX_BASIS_NONE)
            continue;
        if (!form->type_count)
            access = (struct ptx_access_type){.count = 1};
        if (ptx_op(site->instr) == PTX_OP_ST && stores_pointer(touch, i)) {
            access.is_pointer = access.is_sure = true;
            access.basis = PTX_BASIS_STATED;
        }
        const uint32_t size = bytes / (access.count ? access.count : 1);
        struct element element = element_of(sketch, touch, access, size);
        for (uint32_t k = 0; k * size < bytes; k++)
            visit(sketch, &element, offset + (uint64_t)k * size);
    }
}

static void note_size(struct sketch *sketch, const struct element *element, uint64_t offset)
{
    (void)offset;
    if (element->cell.bytes < sketch->least)
        sketch->least = element->cell.bytes;
}

// --- Cells ---------------------------------------------------------------------------------------

static bool unlike(const struct cell *a, const struct cell *b)
{
    return a->is_integer != b->is_integer || a->type != b->type;
}

static void merge(struct cell *into, const struct cell *from)
{
    into->ways |= from->ways;
    into->is_pointer |= from->is_pointer;
    into->is_signed |= from->is_signed;
    into->is_unsigned |= from->is_unsigned;
}

// Adds a cell, or merges it with the one at its place. Returns false if the types differ or it
// overlaps others in part.
static bool add_cell(struct sketch *sketch, const struct cell *cell)
{
    if (cell->offset + cell->bytes > sketch->stride || sketch->stride % cell->bytes ||
        cell->offset % cell->bytes) {
        doubt(sketch, sketch->assumed ? "the step between elements is unknown"
                                      : "accesses do not fit into the step between elements");
        return false;
    }
    const uint32_t owner = sketch->owner[cell->offset];
    if (owner) {
        struct cell *have = &sketch->cells.items[owner - 1];
        if (have->offset != cell->offset || have->bytes != cell->bytes || unlike(have, cell))
            return false;
        merge(have, cell);
        return true;
    }
    for (uint32_t i = 0; i < cell->bytes; i++) {
        if (sketch->owner[cell->offset + i])
            return false;
    }
    *base_array_add(&sketch->cells, sketch->arena) = *cell;
    for (uint32_t i = 0; i < cell->bytes; i++)
        sketch->owner[cell->offset + i] = (uint32_t)sketch->cells.count;
    return true;
}

static void add_stated(struct sketch *sketch, const struct element *element, uint64_t offset)
{
    struct cell cell = element->cell;
    cell.offset = (uint32_t)(offset % sketch->stride);
    if (element->basis >= PTX_BASIS_INTEGER && !add_cell(sketch, &cell))
        doubt(sketch, sketch->assumed ? "the step between elements is unknown"
                                      : "sites disagree about the type");
}

// Marks bytes of which nothing is known but that they are moved.
static void add_bits(struct sketch *sketch, const struct cell *cell, uint64_t offset)
{
    for (uint32_t i = 0; i < cell->bytes && i < sketch->stride; i++) {
        const uint64_t at = (offset + i) % sketch->stride;
        const uint32_t owner = sketch->owner[at];
        sketch->bits[at] = true;
        sketch->bit_ways[at] |= cell->ways;
        if (!owner)
            continue;
        struct cell *have = &sketch->cells.items[owner - 1];
        have->ways |= cell->ways;
        // The bits may contain several values, but not a piece of one.
        if ((i == 0 && have->offset != at) ||
            (i + 1 == cell->bytes && have->offset + have->bytes != at + 1))
            doubt(sketch, "accesses overlap in part");
    }
}

static void add_integers(struct sketch *sketch, const struct element *element, uint64_t offset)
{
    struct cell cell = element->cell;
    cell.offset = (uint32_t)(offset % sketch->stride);
    if (element->basis != PTX_BASIS_BITS)
        return;
    // Bits are integers only if no other value is there.
    bool taken = cell.offset + cell.bytes > sketch->stride;
    for (uint32_t i = 0; i < cell.bytes && !taken; i++) {
        const uint32_t owner = sketch->owner[cell.offset + i];
        taken = owner && (sketch->cells.items[owner - 1].bytes != cell.bytes ||
                          unlike(&sketch->cells.items[owner - 1], &cell));
    }
    if (taken || !add_cell(sketch, &cell))
        add_bits(sketch, &cell, offset);
}

static void add_unstated(struct sketch *sketch, const struct element *element, uint64_t offset)
{
    if (element->basis == PTX_BASIS_NONE)
        add_bits(sketch, &element->cell, offset);
}

// Makes words of bytes that no cell has.
static void add_words(struct sketch *sketch)
{
    for (uint64_t at = 0; at < sketch->stride; at++) {
        if (!sketch->bits[at] || sketch->owner[at])
            continue;
        struct cell word = {.offset = (uint32_t)at, .bytes = 4, .type = PTX_B32};
        for (uint32_t i = 0; i < 4 && at + i < sketch->stride; i++) {
            word.ways |= sketch->bit_ways[at + i];
            if (!sketch->bits[at + i])
                doubt(sketch, "no site states a type");
        }
        if (at % 4 || !add_cell(sketch, &word)) {
            doubt(sketch, "no site states a type");
            return;
        }
    }
}

// --- The layout ----------------------------------------------------------------------------------

static int compare_cells(const void *a, const void *b)
{
    const struct cell *left = a, *right = b;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

// Signed evidence decides: compilers turn comparisons and extensions of numbers that are not
// negative into unsigned ones, and never do the reverse. Without evidence, bytes are unsigned and
// longer integers are signed.
static enum ptx_type integer_type(const struct cell *cell)
{
    const bool is_signed =
        !cell->is_pointer && (cell->is_signed || (!cell->is_unsigned && cell->bytes > 1));
    switch (cell->bytes) {
    case 1: return is_signed ? PTX_S8 : PTX_U8;
    case 2: return is_signed ? PTX_S16 : PTX_U16;
    case 4: return is_signed ? PTX_S32 : PTX_U32;
    default: return is_signed ? PTX_S64 : PTX_U64;
    }
}

// Sets the types of integers. Fields whose sign nothing states have the sign that is stated of all
// others of their size, so that an unrolled loop does not look like a structure.
static void settle_integers(struct sketch *sketch)
{
    struct cell all[9] = {0}; // by size in bytes
    for (size_t i = 0; i < sketch->cells.count; i++) {
        const struct cell *cell = &sketch->cells.items[i];
        if (cell->is_integer && !cell->is_pointer)
            merge(&all[cell->bytes], cell);
    }
    for (size_t i = 0; i < sketch->cells.count; i++) {
        struct cell *cell = &sketch->cells.items[i];
        if (!cell->is_integer)
            continue;
        if (!cell->is_pointer && !cell->is_signed && !cell->is_unsigned &&
            all[cell->bytes].is_signed != all[cell->bytes].is_unsigned)
            merge(cell, &(struct cell){.ways = cell->ways,
                                       .is_signed = all[cell->bytes].is_signed,
                                       .is_unsigned = all[cell->bytes].is_unsigned});
        cell->type = (uint8_t)integer_type(cell);
    }
}

// Returns whether fields of one type without gaps are a structure, not an array. An unrolled loop
// and threads that process several elements look like one, so there must be more evidence: a number
// of fields that is not a power of two; vectors that are accessed whole and in part; or fields that
// are only read or only written, if threads are a structure apart.
static bool is_structure(const struct sketch *sketch)
{
    const size_t count = sketch->cells.count;
    if (count & (count - 1))
        return true;
    if (sketch->whole && sketch->piece)
        return true;
    uint8_t any = 0, all = WAY_LOAD | WAY_STORE;
    for (size_t i = 0; i < count; i++) {
        any |= sketch->cells.items[i].ways;
        all &= sketch->cells.items[i].ways;
    }
    return any != all && sketch->still == sketch->stride;
}

static void finish(struct sketch *sketch, struct ptx_layout *layout)
{
    struct cell *cells = sketch->cells.items;
    const size_t count = sketch->cells.count;
    bool alike = true, named = false;
    uint64_t bytes = 0;
    if (count > 1)
        qsort(cells, count, sizeof(*cells), compare_cells);
    for (size_t i = 0; i < count; i++) {
        alike &= cells[i].type == cells[0].type;
        named |= cells[i].type != PTX_B32;
        bytes += cells[i].bytes;
    }
    if (!named)
        doubt(sketch, "no site states a type");
    else if (count > PTX_LAYOUT_FIELDS && !alike)
        doubt(sketch, "there are more than 8 fields");
    if (sketch->doubt)
        return;
    if (alike &&
        (count > PTX_LAYOUT_FIELDS || (bytes == sketch->stride && !is_structure(sketch)))) {
        layout->stride = cells[0].bytes;
        layout->field_count = 1;
        layout->fields[0] = (struct ptx_field){0, cells[0].type};
        return;
    }
    layout->stride = (uint32_t)sketch->stride;
    layout->field_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        layout->fields[i] = (struct ptx_field){cells[i].offset, cells[i].type};
}

static void visit_all(struct sketch *sketch, struct ptx_touches *touches, visitor visit)
{
    for (size_t i = 0; i < touches->list.count; i++)
        visit_elements(sketch, &touches->list.items[i], visit);
}

// Finds the stride, and moves the sites' constants into it.
static void find_stride(struct sketch *sketch, struct ptx_touches *touches)
{
    sketch->least = UINT32_MAX;
    for (size_t i = 0; i < touches->list.count; i++) {
        struct ptx_touch *touch = &touches->list.items[i];
        const struct ptx_site *site = touch->site;
        if (!site->bytes) // a piece of a matrix
            touch->grid = (struct ptx_grid){.step = 1, .still = 1};
        touch->grid = ptx_grid_aligned(
            touch->grid,
            site->bytes ? site->bytes : ptx_type_bytes(value_type((enum ptx_type)site->type.type)));
        sketch->stride = ptx_gcd(sketch->stride, touch->grid.step);
        sketch->still = ptx_gcd(sketch->still, touch->grid.still);
    }
    visit_all(sketch, touches, note_size);
    if (sketch->least == UINT32_MAX) {
        doubt(sketch, "no site states a type");
        return;
    }
    // Where all addresses are constant, or elements are far apart, an array is assumed.
    if (!sketch->stride || sketch->stride > LONGEST_STRIDE) {
        sketch->stride = sketch->least;
        sketch->assumed = true;
    }
    for (size_t i = 0; i < touches->list.count; i++) {
        struct ptx_touch *touch = &touches->list.items[i];
        int64_t rest = (int64_t)touch->grid.constant % (int64_t)sketch->stride;
        touch->grid.constant = (uint64_t)(rest < 0 ? rest + (int64_t)sketch->stride : rest);
        sketch->whole |= touch->site->bytes == sketch->stride;
        sketch->piece |= touch->grid.step && touch->site->bytes < sketch->stride;
    }
}

static void decide(struct ptx_touches *touches, struct ptx_layout *layout)
{
    struct sketch sketch = {.arena = touches->arena, .doubt = touches->doubt};
    if (layout->root.kind == PTX_ROOT_VAR)
        sketch.declared = (enum ptx_type)layout->root.var->type;
    if (!sketch.doubt)
        find_stride(&sketch, touches);
    if (!sketch.doubt) {
        sketch.bits = base_new_array(sketch.arena, bool, sketch.stride);
        sketch.bit_ways = base_new_array(sketch.arena, uint8_t, sketch.stride);
        sketch.owner = base_new_array(sketch.arena, uint32_t, sketch.stride);
        visit_all(&sketch, touches, add_stated);
        visit_all(&sketch, touches, add_integers);
        visit_all(&sketch, touches, add_unstated);
        add_words(&sketch);
        settle_integers(&sketch);
    }
    finish(&sketch, layout);
    layout->doubt = sketch.doubt;
}

// Returns whether the site's address may come from any root.
static bool is_stray(const struct ptx_site *site, bool escaped)
{
    bool stray = site->origin.many || !site->origin.count;
    for (uint8_t i = 0; i < site->origin.count; i++) {
        const uint8_t kind = site->origin.roots[i].kind;
        stray |=
            kind == PTX_ROOT_OTHER || (escaped && (kind == PTX_ROOT_LOAD || kind == PTX_ROOT_CALL));
    }
    return stray && ptx_site_is_global(site);
}

// Sites whose address may come from the root must move what an array of one type has.
static void check_strays(const struct ptx_touches *touches, const struct ptx_site *sites,
                         uint32_t site_count, struct ptx_layout *layout)
{
    for (uint32_t i = 0; i < site_count && !layout->doubt; i++) {
        if (!is_stray(&sites[i], touches->escapes))
            continue;
        const enum ptx_type type = value_type((enum ptx_type)sites[i].type.type);
        if (layout->field_count != 1 || layout->fields[0].type != type ||
            layout->stride != ptx_type_bytes(type))
            layout->doubt = "an address of unknown origin may lead there";
    }
}

static bool is_listed(const struct ptx_layout *layouts, size_t count, const struct ptx_root *root)
{
    for (size_t i = 0; i < count; i++) {
        if (ptx_same_root(&layouts[i].root, root))
            return true;
    }
    return false;
}

static void find_layout(struct ptx_touches *touches, struct ptx_facts *facts,
                        const struct ptx_site *sites, uint32_t site_count,
                        struct ptx_layout *layout)
{
    ptx_touches_find(touches, facts, sites, site_count, &layout->root);
    decide(touches, layout);
    check_strays(touches, sites, site_count, layout);
    if (layout->doubt) {
        layout->stride = 4;
        layout->field_count = 1;
        memset(layout->fields, 0, sizeof(layout->fields));
        layout->fields[0].type = PTX_B32;
    }
}

static int compare_layouts(const void *a, const void *b)
{
    const struct ptx_root *left = &((const struct ptx_layout *)a)->root;
    const struct ptx_root *right = &((const struct ptx_layout *)b)->root;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    if (left->kind == PTX_ROOT_VAR)
        return strcmp(left->var->name, right->var->name);
    if (left->index != right->index)
        return left->index < right->index ? -1 : 1;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

enum base_code ptx_layouts_find(struct ptx_facts *facts, const struct ptx_site *sites,
                                uint32_t site_count, struct ptx_layout **layouts, uint32_t *count,
                                struct base_error *error)
{
    BASE_ARRAY(struct ptx_layout) found = {0};
    jmp_buf escape;
    struct ptx_touches *const touches = base_new(&facts->arena, struct ptx_touches);
    if (!touches)
        return base_no_memory_while(error, "finding the layouts of %s", facts->function->name);
    touches->arena = &facts->arena;
    touches->error = error;
    facts->arena.escape = &escape;
    if (setjmp(escape)) {
        facts->arena.escape = NULL;
        ptx_touches_fini(touches);
        return base_no_memory_while(error, "finding the layouts of %s", facts->function->name);
    }
    for (uint32_t i = 0; i < site_count; i++) {
        for (uint8_t k = 0; k < sites[i].origin.count && ptx_site_is_global(&sites[i]); k++) {
            const struct ptx_root *root = &sites[i].origin.roots[k];
            const bool is_root =
                root->kind == PTX_ROOT_PARAM ||
                (root->kind == PTX_ROOT_VAR && root->var->space == PTX_SPACE_GLOBAL);
            if (is_root && !is_listed(found.items, found.count, root)) {
                base_array_add(&found, &facts->arena)->root = *root;
                find_layout(touches, facts, sites, site_count, &found.items[found.count - 1]);
            }
        }
    }
    facts->arena.escape = NULL;
    ptx_touches_fini(touches);
    if (found.count > 1)
        qsort(found.items, found.count, sizeof(*found.items), compare_layouts);
    *layouts = found.items;
    *count = (uint32_t)found.count;
    return BASE_OK;
}

bool ptx_layout_place(const struct ptx_facts *facts, const struct ptx_layout *layout,
                      const struct ptx_site *site, uint32_t *offset)
{
    const struct ptx_grid grid = ptx_grid_aligned(
        ptx_address_grid(facts, site->instr, site->address, &layout->root), site->bytes);
    const int64_t stride = layout->stride;
    // An aligned access does not need a grid if it covers whole structures of an array.
    const bool whole = !(stride & (stride - 1)) && site->bytes && site->bytes % stride == 0;
    if (grid.lost || grid.step % (uint64_t)stride) {
        *offset = 0;
        return whole;
    }
    const int64_t rest = (int64_t)grid.constant % stride;
    *offset = (uint32_t)(rest < 0 ? rest + stride : rest);
    return true;
}

void ptx_layout_print(const struct ptx_layout *layout, struct base_buf *out)
{
    if (layout->doubt) {
        base_buf_printf(out, "unknown: %s", layout->doubt);
        return;
    }
    const enum ptx_type first = (enum ptx_type)layout->fields[0].type;
    if (layout->field_count == 1 && layout->stride == ptx_type_bytes(first)) {
        base_buf_puts(out, ptx_type_info(first)->name);
        return;
    }
    base_buf_printf(out, "%u bytes: ", layout->stride);
    for (uint32_t i = 0; i < layout->field_count; i++)
        base_buf_printf(out, "%s%s at %u", i ? ", " : "",
                        layout->fields[i].type == PTX_B32
                            ? "raw"
                            : ptx_type_info((enum ptx_type)layout->fields[i].type)->name,
                        layout->fields[i].offset);
}
