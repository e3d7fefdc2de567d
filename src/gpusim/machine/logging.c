// SPDX-License-Identifier: Apache-2.0
// Logs launches and accesses. The accesses of an instruction are noted while it runs and become
// records when it has ended, because only then are the stored values known. Lanes in the same space
// and object share a record. Each worker buffers its records and writes many at once. Records of
// one block are in order; those of several blocks are only if one worker runs them.
//
// Logging changes execution in one respect: a load reads from the copy that is logged, because
// other workers may change memory between two reads.
#include "logging.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "gpusim/log/format.h"
#include "objects.h"

enum { FRAME_BYTES = 1 << 16 };

// The data for logging the accesses of a function.
struct sim_code_log {
    uint32_t first_site;
    sim_handler **handlers; // the original handler of each instruction
    atomic_bool *announced;
};

// One access of the running instruction.
struct pending {
    enum gpusim_log_access_kind kind;
    enum gpusim_log_space space; // 0: depends on each lane's address
    bool generic;
    bool by_lane;    // added lane by lane with sim_log_lane()
    bool has_values; // the stored values are known; otherwise memory holds them after the
                     // instruction
    uint32_t bytes, mask;
    uint64_t address[LANES];           // in `space`, if that is known
    const unsigned char *place[LANES]; // host pointers
    unsigned char *values, *after;     // of all lanes, in one allocation that `values` owns
};

struct sim_log_writer {
    struct log_file *log;
    const struct sim_run *launch;
    struct base_buf frame;
    BASE_ARRAY(struct pending) pending;
    uint64_t block; // block of the previous record in the frame, among those of the family
    uint32_t warp;
    bool has_record;
    struct gpusim_object found; // the object found last; size_bytes 0: none
};

// --- Launches ------------------------------------------------------------------------------------

void sim_log_launch(struct log_file *log, const struct sim_launch *launch)
{
    const struct sim_kernel_info *info = &launch->kernel->info;
    const struct gpusim_log_launch logged = {
        .number = launch->id,
        .call = launch->call,
        .stream = launch->stream,
        .device = launch->kernel->module->device->number,
        .kernel = info->name,
        .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
        .block = {launch->block[0], launch->block[1], launch->block[2]},
        .cluster = {launch->cluster[0], launch->cluster[1], launch->cluster[2]},
        .static_shared_bytes = info->static_shared_bytes,
        .dynamic_shared_bytes = launch->dynamic_shared_bytes,
        .cooperative = launch->cooperative,
        .params = launch->params,
        .params_bytes = launch->params ? info->param_bytes : 0,
    };
    log_launch(log, &logged);
}

void sim_log_launch_end(struct log_file *log, const struct sim_launch *launch,
                        const struct sim_fault *fault)
{
    const struct gpusim_log_launch_end end = {
        .number = launch->id, .fault = (unsigned)fault->kind, .text = fault->text};
    log_launch_end(log, &end);
}

// --- Noting accesses -----------------------------------------------------------------------------

static struct sim_log_writer *writer_of(struct sim_warp *warp)
{
    const struct sim_run *launch = warp->block->launch->root;
    struct sim_worker *worker = warp->block->worker;
    if (!worker->log) {
        worker->log = calloc(1, sizeof(*worker->log));
        if (worker->log)
            *worker->log = (struct sim_log_writer){.log = launch->device->log, .launch = launch};
    }
    return worker->log;
}

// Returns NULL when memory runs out; the log then drops all later records.
static struct pending *new_pending(struct sim_warp *warp, uint32_t bytes)
{
    struct sim_log_writer *writer = writer_of(warp);
    unsigned char *values = malloc((size_t)2 * LANES * bytes);
    struct pending *made = writer && values ? base_array_push(&writer->pending) : NULL;
    if (!made) {
        free(values);
        log_fail(warp->block->launch->device->log, ENOMEM);
        return NULL;
    }
    made->bytes = bytes;
    made->values = values;
    made->after = values + (size_t)LANES * bytes;
    return made;
}

static enum gpusim_log_access_kind kind_of(const struct sim_uop *op, enum sim_access_kind kind)
{
    enum ptx_op opcode = op->instr ? ptx_op(op->instr) : PTX_OP_ATOM;
    if (kind == ACCESS_ATOMIC)
        return opcode == PTX_OP_RED || opcode == PTX_OP_RED_ASYNC ||
                       opcode == PTX_OP_CP_REDUCE_ASYNC_BULK ||
                       opcode == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR
                   ? GPUSIM_LOG_REDUCTION
                   : GPUSIM_LOG_ATOMIC;
    return kind == ACCESS_LOAD ? GPUSIM_LOG_LOAD : GPUSIM_LOG_STORE;
}

// Stores in `out` the bytes that a plain store is about to write: the sources of its vector, as
// memory will hold them.
static void store_values(const struct sim_warp *warp, const struct sim_uop *op, int lane,
                         unsigned char *out)
{
    unsigned width = op->mode & 2 ? 8 : 4; // TO_WIDE in ops_memory.c
    for (unsigned k = 0; k < op->count; k++) {
        const unsigned char *lanes = source(warp, op->count > 1 ? op->list[k] : op->b);
        memcpy(out + (size_t)k * op->bytes, lanes + (size_t)lane * width, op->bytes);
    }
}

void sim_log_access(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                    enum sim_access_kind kind, struct sim_access *access)
{
    struct pending *pending = new_pending(warp, bytes);
    if (!pending)
        return;
    pending->kind = kind_of(op, kind);
    pending->space = op->space == PTX_SPACE_SHARED  ? GPUSIM_LOG_SHARED
                     : op->space == PTX_SPACE_LOCAL ? GPUSIM_LOG_LOCAL
                     : op->space == PTX_SPACE_CONST ? GPUSIM_LOG_CONST
                     : op->space                    ? GPUSIM_LOG_GLOBAL
                                                    : 0;
    pending->generic = !op->space;
    pending->mask = warp->mask;
    // True for st, whose handlers in ops_memory.c store the source registers unchanged.
    pending->has_values = kind == ACCESS_STORE && op->instr && ptx_op(op->instr) == PTX_OP_ST &&
                          op->bytes <= 8 && bytes == (uint32_t)op->bytes * op->count;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        unsigned char *values = pending->values + (size_t)i * bytes;
        pending->address[i] = access->address[i];
        pending->place[i] = access->pointer[i];
        if (pending->has_values)
            store_values(warp, op, i, values);
        else
            memcpy(values, access->pointer[i], bytes);
        if (kind == ACCESS_LOAD)
            access->pointer[i] = values;
    }
}

void sim_log_lane(struct sim_warp *warp, int lane, enum gpusim_log_space space, const void *place,
                  uint32_t bytes, enum sim_access_kind kind)
{
    struct sim_log_writer *writer = writer_of(warp);
    struct pending *pending = NULL;
    // The n-th access of this lane goes into the same record as the n-th access of the lanes before
    // it.
    for (size_t i = 0; writer && i < writer->pending.count && !pending; i++) {
        struct pending *at = &writer->pending.items[i];
        if (at->by_lane && at->bytes == bytes && at->space == space && !(at->mask >> lane))
            pending = at;
    }
    if (!pending && !(pending = new_pending(warp, bytes)))
        return;
    pending->kind = kind == ACCESS_LOAD    ? GPUSIM_LOG_LOAD
                    : kind == ACCESS_STORE ? GPUSIM_LOG_STORE
                                           : GPUSIM_LOG_REDUCTION;
    pending->by_lane = true;
    pending->space = space;
    pending->generic = !space;
    pending->mask |= 1u << lane;
    pending->address[lane] = (uint64_t)(uintptr_t)place;
    pending->place[lane] = place;
    if (kind != ACCESS_STORE)
        memcpy(pending->values + (size_t)lane * bytes, place, bytes);
}

void sim_log_atomic(struct sim_warp *warp, int lane, uint32_t offset, uint32_t bytes,
                    const void *before, const void *after)
{
    struct sim_log_writer *writer = writer_of(warp);
    if (!writer || !writer->pending.count)
        return;
    struct pending *pending = &writer->pending.items[writer->pending.count - 1];
    size_t at = (size_t)lane * pending->bytes + offset;
    memcpy(pending->values + at, before, bytes);
    memcpy(pending->after + at, after, bytes);
    pending->has_values = true;
}

// --- Locating a lane's bytes ---------------------------------------------------------------------

struct where {
    enum gpusim_log_space space;
    uint64_t address;
    struct gpusim_object object; // id 0: none
};

static bool find_object(struct sim_log_writer *writer, uint64_t address,
                        struct gpusim_object *object)
{
    if (address - writer->found.address < writer->found.size_bytes) {
        *object = writer->found;
        return true;
    }
    // Heap objects are looked up every time: a kernel may free one and allocate another at the same
    // address during a launch.
    const struct gpusim_object *known =
        sim_objects_find(writer->launch->objects, writer->launch->device, address);
    if (!known || known->kind == GPUSIM_OBJECT_HEAP)
        return sim_object_find(writer->launch->device, address, object);
    *object = writer->found = *known;
    return true;
}

// Returns whether a generic address lies in parameters, and its offset there.
static bool in_params(const struct sim_warp *warp, const unsigned char *place, uint64_t *offset)
{
    const struct sim_run *launch = warp->block->launch;
    *offset = (uint64_t)(place - launch->params);
    if (launch->params && *offset < launch->code->own_param_bytes)
        return true;
    for (const struct sim_frame *frame = warp->frames; frame; frame = frame->next) {
        uint64_t at = (uint64_t)(place - frame->params);
        if (at < (uint64_t)LANES * frame->code->param_bytes) {
            *offset = at % frame->code->param_bytes;
            return true;
        }
    }
    return false;
}

static struct where locate(struct sim_log_writer *writer, const struct sim_warp *warp,
                           const struct pending *pending, int lane)
{
    const struct sim_block *block = warp->block;
    const unsigned char *place = pending->place[lane];
    struct where where = {.space = pending->space, .address = pending->address[lane]};
    uint64_t in_local = (uint64_t)(place - warp->local), stack = block->launch->local_bytes;
    if (where.space == GPUSIM_LOG_LOCAL)
        return where;
    const struct sim_block *holder = where.space && where.space != GPUSIM_LOG_SHARED
                                         ? NULL
                                         : sim_cluster_holder(block, (uint64_t)(uintptr_t)place);
    if (holder) {
        where.space = holder == block ? GPUSIM_LOG_SHARED : GPUSIM_LOG_CLUSTER;
        where.address = (uint64_t)(place - holder->shared);
        if (holder != block)
            where.address += holder->window;
    } else if (!where.space && warp->local && in_local < LANES * stack) {
        where.space = GPUSIM_LOG_LOCAL;
        where.address = in_local % stack;
    } else if (!where.space && in_params(warp, place, &where.address)) {
        where.space = GPUSIM_LOG_PARAM;
    } else {
        where.address = (uint64_t)(uintptr_t)place;
        if (find_object(writer, where.address, &where.object) && !where.space)
            where.space =
                where.object.kind == GPUSIM_OBJECT_CONSTANT ? GPUSIM_LOG_CONST : GPUSIM_LOG_GLOBAL;
        else if (!where.space)
            where.space = GPUSIM_LOG_GLOBAL;
    }
    return where;
}

// --- Records -------------------------------------------------------------------------------------

static bool same_values(const struct pending *pending, const unsigned char *values, uint32_t mask)
{
    const unsigned char *first = values + (size_t)__builtin_ctz(mask) * pending->bytes;
    for (uint32_t left = mask & (mask - 1); left; left &= left - 1) {
        const unsigned char *other = values + (size_t)__builtin_ctz(left) * pending->bytes;
        if (memcmp(first, other, pending->bytes) != 0)
            return false;
    }
    return true;
}

static void put_values(struct base_buf *to, const struct pending *pending,
                       const unsigned char *values, uint32_t mask)
{
    for (uint32_t left = mask; left; left &= left - 1)
        base_buf_add(to, (const char *)values + (size_t)__builtin_ctz(left) * pending->bytes,
                     pending->bytes);
}

// Writes the addresses of lanes: the first relative to its object, each other one relative to its
// predecessor.
static void put_addresses(struct base_buf *to, const struct where where[LANES], uint32_t mask,
                          bool affine)
{
    int before = __builtin_ctz(mask);
    log_put_number(to, where[before].address - where[before].object.address);
    for (uint32_t left = mask & (mask - 1); left; left &= left - 1) {
        int i = __builtin_ctz(left);
        int64_t step = (int64_t)(where[i].address - where[before].address);
        log_put_number(to, log_zigzag(affine ? step / (i - before) : step));
        if (affine)
            return;
        before = i;
    }
}

static bool is_affine(const struct where where[LANES], uint32_t mask)
{
    int first = __builtin_ctz(mask);
    uint32_t others = mask & (mask - 1);
    if (!others)
        return false; // there is no stride to write
    int second = __builtin_ctz(others);
    int64_t step = (int64_t)(where[second].address - where[first].address);
    if (step % (second - first))
        return false;
    for (uint32_t left = others; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        if (where[i].address - where[first].address !=
            (uint64_t)(step / (second - first)) * (uint64_t)(i - first))
            return false;
    }
    return true;
}

static void put_record(struct sim_log_writer *writer, const struct sim_warp *warp, uint32_t site,
                       const struct pending *pending, const struct where where[LANES],
                       uint32_t mask, bool continued)
{
    struct base_buf *to = &writer->frame;
    const struct where *first = &where[__builtin_ctz(mask)];
    bool both = pending->kind >= GPUSIM_LOG_ATOMIC;
    bool uniform = same_values(pending, pending->values, mask) &&
                   (!both || same_values(pending, pending->after, mask));
    if (!to->length) {
        log_begin(to, LOG_ACCESSES);
        log_put_number(to, writer->launch->request->id);
        writer->has_record = false;
    }
    const uint64_t block = warp->block->launch->first_block + warp->block->number;
    bool same_warp = writer->has_record && writer->block == block && writer->warp == warp->index;
    bool affine = is_affine(where, mask);
    unsigned head = (pending->kind - 1u) | (same_warp ? LOG_SAME_WARP : 0) |
                    (mask == ALL_LANES ? LOG_ALL_LANES : 0) | (affine ? LOG_AFFINE : 0) |
                    (uniform ? LOG_SAME_VALUE : 0) | (continued ? LOG_CONTINUED : 0) |
                    (pending->generic ? LOG_GENERIC : 0);
    base_buf_putc(to, (char)head);
    log_put_number(to, site);
    if (!same_warp) {
        log_put_number(to, block);
        log_put_number(to, warp->index);
    }
    if (mask != ALL_LANES)
        base_buf_add(to, (const char *)&mask, sizeof(mask));
    log_put_number(to, (uint64_t)pending->bytes << LOG_SPACE_BITS | first->space);
    if (first->space != GPUSIM_LOG_SHARED && first->space != GPUSIM_LOG_CLUSTER &&
        first->space != GPUSIM_LOG_LOCAL && first->space != GPUSIM_LOG_PARAM)
        log_put_number(to, first->object.id);
    put_addresses(to, where, mask, affine);
    uint32_t lanes = uniform ? mask & (0 - mask) : mask;
    put_values(to, pending, pending->values, lanes);
    if (both)
        put_values(to, pending, pending->after, lanes);
    writer->block = block;
    writer->warp = warp->index;
    writer->has_record = true;
}

// Writes the frame and empties the buffer.
static void flush(struct sim_log_writer *writer)
{
    if (writer->frame.length)
        log_write_frame(writer->log, &writer->frame);
    writer->frame.length = 0;
}

static void put_pending(struct sim_log_writer *writer, const struct sim_warp *warp, uint32_t site,
                        struct pending *pending, bool continued)
{
    struct where where[LANES];
    for (uint32_t left = pending->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        size_t at = (size_t)i * pending->bytes;
        where[i] = locate(writer, warp, pending, i);
        if (!pending->has_values && pending->kind == GPUSIM_LOG_STORE)
            memcpy(pending->values + at, pending->place[i], pending->bytes);
        if (!pending->has_values && pending->kind >= GPUSIM_LOG_ATOMIC)
            memcpy(pending->after + at, pending->place[i], pending->bytes);
    }
    for (uint32_t left = pending->mask; left;) {
        const struct where *first = &where[__builtin_ctz(left)];
        uint32_t mask = 0;
        for (uint32_t rest = left; rest; rest &= rest - 1) {
            int i = __builtin_ctz(rest);
            if (where[i].space == first->space && where[i].object.id == first->object.id)
                mask |= 1u << i;
        }
        put_record(writer, warp, site, pending, where, mask, continued);
        continued = true;
        left &= ~mask;
    }
}

static void announce(struct log_file *log, const struct sim_code *code, const struct sim_uop *op,
                     uint32_t index)
{
    atomic_bool *announced = &code->log->announced[index];
    if (atomic_load(announced))
        return;
    const struct ptx_loc *loc = op->instr->loc;
    const char *file = loc ? ptx_file_path(code->module, loc->file) : NULL;
    const struct gpusim_log_site site = {.number = code->log->first_site + index,
                                         .function = code->name,
                                         .text = op->instr->form->text,
                                         .index = op->instr->index,
                                         .ptx_line = op->instr->stmt.line,
                                         .file = file ? file : "",
                                         .line = file ? loc->line : 0};
    log_site(log, &site, announced);
}

// --- Running -------------------------------------------------------------------------------------

static enum sim_step run_logged(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct sim_code *code = warp->path->frame->code;
    uint32_t index = (uint32_t)(op - code->ops);
    enum sim_step step = code->log->handlers[index](warp, op);
    struct sim_log_writer *writer = warp->block->worker->log;
    if (!writer || !writer->pending.count)
        return step;
    // A failed instruction has no accesses.
    bool failed = step == STEP_STOP && atomic_load(&warp->block->launch->root->stop);
    if (!failed)
        announce(writer->log, code, op, index);
    for (size_t i = 0; i < writer->pending.count; i++) {
        if (!failed)
            put_pending(writer, warp, code->log->first_site + index, &writer->pending.items[i],
                        i > 0);
        free(writer->pending.items[i].values);
    }
    writer->pending.count = 0;
    if (writer->frame.length > FRAME_BYTES)
        flush(writer);
    return step;
}

void sim_log_code(struct log_file *log, struct sim_code *code, struct base_arena *arena)
{
    code->log = base_new(arena, struct sim_code_log);
    code->log->handlers = base_new_array(arena, sim_handler *, code->op_count);
    code->log->announced = base_new_array(arena, atomic_bool, code->op_count);
    code->log->first_site = log_reserve_sites(log, code->op_count);
    for (uint32_t i = 0; i < code->op_count; i++) {
        code->log->handlers[i] = code->ops[i].run;
        if (code->ops[i].instr)
            code->ops[i].run = run_logged;
    }
}

void sim_log_flush(struct sim_worker *worker)
{
    struct sim_log_writer *writer = worker->log;
    if (!writer)
        return;
    flush(writer);
    base_buf_fini(&writer->frame);
    base_array_fini(&writer->pending);
    free(writer);
    worker->log = NULL;
}
