// SPDX-License-Identifier: Apache-2.0
// Inserts text where loops are entered and left. Such an edit adds blocks and redirects branches at
// several places; if one of them fails, all are undone.
#include "edit_loops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edit.h"

// An edit at several places, which is undone as a whole if one of them fails. Its changes are
// recorded in order.
enum change_kind {
    CHANGE_INSERT, // statements between above and below
    CHANGE_REMOVE, // a statement from between above and below
    CHANGE_TARGET, // the target of a branch
};

struct change {
    enum change_kind kind;
    struct ptx_stmt *above, *below, *removed;
    struct ptx_operand *operand, was;
};

struct edit {
    struct ptx_cfg *cfg;
    const char *text;
    const struct ptx_operand *arguments;
    unsigned argument_count;
    struct base_error *error;
    size_t regs;
    uint32_t scopes;
    struct base_map blocks; // label to block
    BASE_ARRAY(struct change) changes;
};

static void start_edit(struct edit *edit, struct ptx_cfg *cfg, const char *text,
                       const struct ptx_operand *arguments, unsigned argument_count,
                       struct base_error *error)
{
    memset(edit, 0, sizeof(*edit));
    edit->cfg = cfg;
    edit->text = text;
    edit->error = error;
    edit->regs = cfg->function->reg_count;
    edit->scopes = cfg->function->scope_count;
    edit->arguments = arguments;
    edit->argument_count = argument_count;
}

// Inserts a list of statements, NULL for none, between two others, which need not be adjacent.
static void link_between(struct ptx_function *function, struct ptx_stmt *above,
                         struct ptx_stmt *row, struct ptx_stmt *below)
{
    struct ptx_stmt *top = row ? row : below, *bottom = row ? row : above;
    *(above ? &above->next : &function->first) = top;
    *(below ? &below->prev : &function->last) = bottom;
    if (row) {
        row->prev = above;
        row->next = below;
    }
}

static void take_back(struct edit *edit)
{
    struct ptx_function *function = edit->cfg->function;
    while (edit->changes.count) {
        struct change *change = &edit->changes.items[--edit->changes.count];
        if (change->kind == CHANGE_TARGET)
            *change->operand = change->was;
        else
            link_between(function, change->above, change->removed, change->below);
    }
    function->reg_count = edit->regs;
    function->scope_count = edit->scopes;
}

// Ends the edit: keeps its changes on success, and otherwise undoes all of them.
static enum base_code end_edit(struct edit *edit, enum base_code code)
{
    if (code != BASE_OK)
        take_back(edit);
    base_array_fini(&edit->changes);
    base_map_fini(&edit->blocks);
    return code;
}

static enum base_code no_memory(struct edit *edit)
{
    return base_no_memory_while(edit->error, "editing %s", edit->cfg->function->name);
}

// Inserts generated statements before a statement (NULL: at the end); #0 in them is the argument.
static enum base_code insert(struct edit *edit, struct ptx_stmt *below, const char *text,
                             const struct ptx_operand *arguments, unsigned argument_count)
{
    struct ptx_function *function = edit->cfg->function;
    struct change *change = base_array_push(&edit->changes);
    if (!change)
        return no_memory(edit);
    *change = (struct change){
        .kind = CHANGE_INSERT, .above = below ? below->prev : function->last, .below = below};
    enum base_code code =
        ptx_insert_text(function, below, text, arguments, argument_count, edit->error);
    if (code != BASE_OK)
        edit->changes.count--;
    return code;
}

// Inserts the text of the caller.
static enum base_code insert_asked(struct edit *edit, struct ptx_stmt *below)
{
    return insert(edit, below, edit->text, edit->arguments, edit->argument_count);
}

// Inserts a new label and returns it.
static enum base_code insert_label(struct edit *edit, struct ptx_stmt *below, const char *prefix,
                                   struct ptx_label **label)
{
    struct ptx_function *function = edit->cfg->function;
    const char *name = ptx_fresh_name(function->module, prefix);
    char text[64];
    if (!name)
        return no_memory(edit);
    snprintf(text, sizeof(text), "%s:", name);
    enum base_code code = insert(edit, below, text, NULL, 0);
    if (code == BASE_OK)
        *label = (struct ptx_label *)(below ? below->prev : function->last);
    return code;
}

static enum base_code insert_jump(struct edit *edit, struct ptx_stmt *below,
                                  struct ptx_label *label)
{
    struct ptx_operand to = {.kind = PTX_OPERAND_LABEL, .label = label};
    return insert(edit, below, "bra.uni #0;", &to, 1);
}

static enum base_code set_target(struct edit *edit, struct ptx_operand *operand,
                                 struct ptx_label *label)
{
    struct change *change = base_array_push(&edit->changes);
    if (!change)
        return no_memory(edit);
    *change = (struct change){.kind = CHANGE_TARGET, .operand = operand, .was = *operand};
    operand->label = label;
    return BASE_OK;
}

// Records the block of every label as it was before the edit.
static bool note_labels(struct edit *edit)
{
    const struct ptx_cfg *cfg = edit->cfg;
    uint32_t block = cfg->block_count - 1; // for labels behind the last instruction
    for (struct ptx_stmt *stmt = cfg->function->last; stmt; stmt = stmt->prev) {
        if (stmt->kind == PTX_STMT_INSTR)
            block = cfg->block_of[((struct ptx_instr *)stmt)->index];
        if (stmt->kind != PTX_STMT_LABEL)
            continue;
        uint64_t *of = base_map_put(&edit->blocks, (uintptr_t)stmt, NULL);
        if (!of)
            return false;
        *of = block;
    }
    return true;
}

static bool is_label_of(const struct edit *edit, const struct ptx_operand *operand, uint32_t block)
{
    if (operand->kind != PTX_OPERAND_LABEL)
        return false;
    const uint64_t *of = base_map_get(&edit->blocks, (uintptr_t)operand->label);
    return of && *of == block;
}

static struct ptx_instr *last_instr(const struct ptx_block *block)
{
    return block->instr_count ? block->instrs[block->instr_count - 1] : NULL;
}

// Returns the last operand of a branch, which is its target.
static struct ptx_operand *target_operand(const struct ptx_instr *instr)
{
    return instr && ptx_flags(instr) & PTX_FLAG_BRANCH ? &instr->operands[instr->operand_count - 1]
                                                       : NULL;
}

static bool is_list(const struct ptx_operand *where)
{
    return where->kind == PTX_OPERAND_LABEL && where->label->kind == PTX_LABEL_BRANCH_TARGETS;
}

// Returns whether the branch at the end of one block names a label of the other.
static bool jumps_to(const struct edit *edit, uint32_t from, uint32_t to)
{
    const struct ptx_operand *where = target_operand(last_instr(&edit->cfg->blocks[from]));
    if (!where || !is_list(where))
        return where && is_label_of(edit, where, to);
    for (uint32_t i = 0; i < where->label->target_count; i++) {
        if (is_label_of(edit, &where->label->targets[i], to))
            return true;
    }
    return false;
}

// Returns whether control can continue behind the instruction.
static bool runs_on(const struct ptx_instr *instr)
{
    return !instr || instr->guard || !(ptx_flags(instr) & (PTX_FLAG_BRANCH | PTX_FLAG_END));
}

static bool falls_to(const struct ptx_cfg *cfg, uint32_t from, uint32_t to)
{
    return to == from + 1 && runs_on(last_instr(&cfg->blocks[from]));
}

static bool is_shared(const struct ptx_function *function, const struct ptx_instr *branch)
{
    const struct ptx_label *list = target_operand(branch)->label;
    for (struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *other = ptx_stmt_instr(stmt);
        const struct ptx_operand *where = target_operand(other);
        if (other != branch && where && where->kind == PTX_OPERAND_LABEL && where->label == list)
            return true;
    }
    return false;
}

// Copies the list of targets for this branch, so that changing it affects no other branch.
static enum base_code own_targets(struct edit *edit, struct ptx_instr *branch)
{
    struct ptx_operand *where = target_operand(branch);
    struct ptx_function *function = edit->cfg->function;
    struct base_arena *arena = &function->module->arena;
    const char *name = ptx_fresh_name(function->module, "$glint_targets");
    struct change *change = base_array_push(&edit->changes);
    if (!name || !change) {
        edit->changes.count -= change != NULL;
        return no_memory(edit);
    }
    struct ptx_label *list = where->label;
    struct ptx_label *volatile copy = NULL;
    jmp_buf escape;
    arena->escape = &escape;
    if (setjmp(escape) == 0) {
        struct ptx_label *made = base_new(arena, struct ptx_label);
        *made = *list;
        made->name = name;
        made->stmt.line = made->stmt.column = 0;
        made->targets = base_new_array(arena, struct ptx_operand, list->target_count);
        memcpy(made->targets, list->targets, list->target_count * sizeof(*list->targets));
        copy = made;
    }
    arena->escape = NULL;
    if (!copy) {
        edit->changes.count--;
        return no_memory(edit);
    }
    *change =
        (struct change){.kind = CHANGE_INSERT, .above = list->stmt.prev, .below = &list->stmt};
    link_between(function, list->stmt.prev, &copy->stmt, &list->stmt);
    return set_target(edit, where, copy);
}

// Redirects the branch at the end of `from` from block `to` to the label.
static enum base_code retarget(struct edit *edit, uint32_t from, uint32_t to,
                               struct ptx_label *label)
{
    struct ptx_instr *branch = last_instr(&edit->cfg->blocks[from]);
    struct ptx_operand *where = target_operand(branch);
    enum base_code code = BASE_OK;
    if (!is_list(where))
        return set_target(edit, where, label);
    if (is_shared(edit->cfg->function, branch))
        code = own_targets(edit, branch);
    for (uint32_t i = 0; code == BASE_OK && i < where->label->target_count; i++) {
        if (is_label_of(edit, &where->label->targets[i], to))
            code = set_target(edit, &where->label->targets[i], label);
    }
    return code;
}

static bool is_visible(const struct ptx_scope *scope, const struct ptx_stmt *from)
{
    const struct ptx_scope *at = from->scope;
    while (at && at->depth > scope->depth)
        at = at->outer;
    return at == scope;
}

// The place of a new block that continues into a block of the graph: before one of its labels or,
// if no label is visible to all that will branch to the new block, in the outermost scope possible.
// Between the preceding instruction and the block there may be several labels and braces.
struct room {
    struct ptx_stmt *top;    // the first statement behind the preceding instruction
    struct ptx_stmt *place;  // before which the new block is inserted; NULL: at the end of the body
    struct ptx_label *label; // of the block, if `place` is a label; else NULL
    bool labels_above;       // there are labels between the preceding instruction and `place`
    bool runs_in;            // control falls through from the preceding instruction
};

static struct room find_room(const struct edit *edit, uint32_t block, const bool *branches,
                             bool only_outermost)
{
    const struct ptx_cfg *cfg = edit->cfg;
    struct ptx_function *function = cfg->function;
    struct ptx_stmt *end =
        cfg->blocks[block].instr_count ? &cfg->blocks[block].instrs[0]->stmt : NULL;
    struct ptx_stmt *above = end ? end->prev : function->last;
    while (above && above->kind != PTX_STMT_INSTR)
        above = above->prev;
    struct room room = {.top = above ? above->next : function->first, .place = end};
    if (end)
        room.place = ptx_place_before(cfg->blocks[block].instrs[0]);
    room.runs_in = runs_on((struct ptx_instr *)above);
    uint32_t depth = end ? end->scope->depth : function->scope->depth;
    for (struct ptx_stmt *stmt = room.top; stmt != end; stmt = stmt->next) {
        bool is_code =
            stmt->kind == PTX_STMT_LABEL && ((struct ptx_label *)stmt)->kind == PTX_LABEL_CODE;
        bool seen = is_code && !only_outermost;
        for (uint32_t i = 0; seen && i < cfg->block_count; i++)
            seen = !branches[i] || is_visible(stmt->scope, &last_instr(&cfg->blocks[i])->stmt);
        if (seen) {
            room.place = stmt;
            room.label = (struct ptx_label *)stmt;
            break;
        }
        if (stmt->scope->depth < depth) {
            depth = stmt->scope->depth;
            room.place = stmt;
        }
    }
    for (struct ptx_stmt *stmt = room.top; stmt != room.place; stmt = stmt->next)
        room.labels_above |= stmt->kind == PTX_STMT_LABEL;
    return room;
}

// Inserts the edit's text as a block that continues into `to`, and redirects the branches of the
// marked blocks to it. Control that falls through into `to` passes through the new block if
// `through` is set, and around it otherwise.
static enum base_code insert_block(struct edit *edit, uint32_t to, const bool *branches,
                                   bool through)
{
    struct ptx_cfg *cfg = edit->cfg;
    struct room room = find_room(edit, to, branches, false);
    // Branches to the labels above must bypass the new block, but control that falls through must
    // not. In an outer scope, a jump from the top reaches the new block.
    bool from_top = through && room.runs_in && room.labels_above;
    if (from_top)
        room = find_room(edit, to, branches, true);
    bool around = room.labels_above || (room.runs_in && !through);
    struct ptx_label *past = room.label, *label = NULL;
    enum base_code code = BASE_OK;
    if (around && !past) {
        code = insert_label(edit, room.place, "$glint_past", &past);
        room.place = code == BASE_OK ? &past->stmt : NULL;
    }
    if (code == BASE_OK && around)
        code = insert_jump(edit, room.place, past);
    if (code == BASE_OK)
        code = insert_label(edit, room.place, "$glint_at", &label);
    if (code == BASE_OK)
        code = insert_asked(edit, room.place);
    if (code == BASE_OK && from_top)
        code = insert_jump(edit, room.top, label);
    for (uint32_t i = 0; code == BASE_OK && i < cfg->block_count; i++) {
        if (branches[i])
            code = retarget(edit, i, to, label);
    }
    return code;
}

enum base_code ptx_insert_preheader(struct ptx_cfg *cfg, uint32_t loop_index, const char *text,
                                    const struct ptx_operand *arguments, unsigned argument_count,
                                    struct base_error *error)
{
    const struct ptx_loop *loop = &cfg->loops[loop_index];
    struct ptx_instr *last =
        loop->preheader == PTX_NO_BLOCK ? NULL : last_instr(&cfg->blocks[loop->preheader]);
    bool leaves = last && ptx_flags(last) & PTX_FLAG_BRANCH;
    // Not before a branch behind which some threads reach the end of the body.
    if (last && !(leaves && cfg->blocks[loop->preheader].ends)) {
        return ptx_insert_text(cfg->function,
                               leaves ? ptx_place_before(last) : ptx_place_after(last), text,
                               arguments, argument_count, error);
    }
    struct edit edit;
    start_edit(&edit, cfg, text, arguments, argument_count, error);
    bool *branches = calloc(cfg->block_count, sizeof(*branches));
    if (!branches || !note_labels(&edit)) {
        free(branches);
        return end_edit(&edit, no_memory(&edit));
    }
    const struct ptx_block *header = &cfg->blocks[loop->header];
    bool through = true;
    for (uint32_t i = 0; i < header->pred_count; i++) {
        uint32_t pred = header->preds[i];
        bool inside = ptx_loop_contains(cfg, loop_index, pred);
        branches[pred] = !inside && jumps_to(&edit, pred, loop->header);
        through &= !(inside && falls_to(cfg, pred, loop->header));
    }
    enum base_code code = end_edit(&edit, insert_block(&edit, loop->header, branches, through));
    free(branches);
    return code;
}

// A thread that ends inside the loop leaves it too. A guarded end becomes a branch around an
// unguarded one.
static enum base_code insert_before_end(struct edit *edit, struct ptx_instr *end)
{
    struct ptx_function *function = edit->cfg->function;
    if (!end->guard)
        return insert_asked(edit, &end->stmt);
    struct ptx_label *past;
    enum base_code code = insert_label(edit, end->stmt.next, "$glint_past", &past);
    struct ptx_operand arguments[] = {ptx_operand_of(end->guard),
                                      {.kind = PTX_OPERAND_LABEL, .label = past}};
    if (code == BASE_OK)
        code = insert(edit, &end->stmt, end->guard_negated ? "@#0 bra #1;" : "@!#0 bra #1;",
                      arguments, 2);
    if (code == BASE_OK)
        code = insert_asked(edit, &end->stmt);
    if (code == BASE_OK) {
        char again[64];
        snprintf(again, sizeof(again), "%.60s;", end->form->text);
        code = insert(edit, &end->stmt, again, NULL, 0);
    }
    struct change *change = code == BASE_OK ? base_array_push(&edit->changes) : NULL;
    if (!change)
        return code == BASE_OK ? no_memory(edit) : code;
    *change = (struct change){.kind = CHANGE_REMOVE,
                              .above = end->stmt.prev,
                              .below = end->stmt.next,
                              .removed = &end->stmt};
    link_between(function, end->stmt.prev, NULL, end->stmt.next);
    return BASE_OK;
}

enum base_code ptx_insert_exits(struct ptx_cfg *cfg, uint32_t loop_index, const char *text,
                                const struct ptx_operand *arguments, unsigned argument_count,
                                struct base_error *error)
{
    const struct ptx_loop *loop = &cfg->loops[loop_index];
    struct edit edit;
    start_edit(&edit, cfg, text, arguments, argument_count, error);
    bool *branches = calloc(cfg->block_count, sizeof(*branches));
    if (!branches || !note_labels(&edit)) {
        free(branches);
        return end_edit(&edit, no_memory(&edit));
    }
    enum base_code code = BASE_OK;
    for (uint32_t i = 0; i < loop->exit_count && code == BASE_OK; i++) {
        uint32_t from = loop->exits[i].from, to = loop->exits[i].to;
        if (jumps_to(&edit, from, to)) {
            branches[from] = true;
            code = insert_block(&edit, to, branches, false);
            branches[from] = false;
        }
        if (code == BASE_OK && falls_to(cfg, from, to))
            code = insert_asked(&edit, ptx_place_after(last_instr(&cfg->blocks[from])));
    }
    for (uint32_t i = 0; i < loop->block_count && code == BASE_OK; i++) {
        const struct ptx_block *block = &cfg->blocks[loop->blocks[i]];
        struct ptx_instr *last = last_instr(block);
        if (last && ptx_flags(last) & PTX_FLAG_END)
            code = insert_before_end(&edit, last);
        else if (last && block->ends) // the body's end
            code = insert_asked(&edit, ptx_place_after(last));
    }
    free(branches);
    return end_edit(&edit, code);
}
