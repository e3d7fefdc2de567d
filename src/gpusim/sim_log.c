// SPDX-License-Identifier: Apache-2.0
// The oracle's log: every warp-level access and every API call, in the order in which they happen
// to be written. One file, little-endian, after the eight bytes "GLINTLG1" a sequence of records:
//
//   u8 type, u8 kind, u8 space, u8 bytes     type 1: an access; kind 1 load, 2 store, 3 atomic;
//   space as u32 mask                                 enum ptx_space, 0 generic; bytes that each
//   lane touches u64 launch, u64 block                    numbers, from 0 u32 warp, u32 kernel, u32
//   site           kernel: as announced; site: index of the instruction in its u32 function
//   function, announced like a kernel then for each lane of mask, lowest first: u64 address, and
//   `bytes` bytes of values: what memory held before a load or atomic, what it holds after a store.
//
//   u8 2, u8 0, u16 name bytes, u32 text bytes, name, text        an API call
//   u8 3, u8 0, u16 name bytes, u32 number, name                  announces a kernel or function
#include "sim_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_log {
    FILE *file;
    pthread_mutex_t lock;  // file and names
    struct base_map names; // struct code to its number, from 1
};

enum base_code sim_log_open(const char *path, struct sim_log **log, struct base_error *error)
{
    struct sim_log *made = calloc(1, sizeof(*made));
    *log = NULL;
    BASE_RETURN_IF(!made, error, BASE_NO_MEMORY, "out of memory for a log");
    made->file = fopen(path, "wbe");
    if (!made->file) {
        free(made);
        return base_fail(error, BASE_IO, "cannot write %s: %s", path, strerror(errno));
    }
    fwrite("GLINTLG1", 8, 1, made->file);
    pthread_mutex_init(&made->lock, NULL);
    *log = made;
    return BASE_OK;
}

void sim_log_close(struct sim_log *log)
{
    if (!log)
        return;
    fclose(log->file);
    base_map_fini(&log->names);
    pthread_mutex_destroy(&log->lock);
    free(log);
}

void sim_log_call(struct sim_log *log, const char *name, const char *arguments)
{
    if (!log)
        return;
    uint16_t name_bytes = (uint16_t)strlen(name);
    uint32_t text_bytes = (uint32_t)strlen(arguments);
    unsigned char head[8] = {2, 0};
    memcpy(head + 2, &name_bytes, 2);
    memcpy(head + 4, &text_bytes, 4);
    pthread_mutex_lock(&log->lock);
    fwrite(head, sizeof(head), 1, log->file);
    fwrite(name, name_bytes, 1, log->file);
    fwrite(arguments, text_bytes, 1, log->file);
    pthread_mutex_unlock(&log->lock);
}

// The number of a function, announced at its first mention. With log->lock held.
static uint32_t number_of(struct sim_log *log, const struct code *code)
{
    bool added;
    uint64_t *place = base_map_put(&log->names, (uintptr_t)code, &added);
    if (!place)
        return 0;
    if (added) {
        *place = log->names.live;
        uint16_t name_bytes = (uint16_t)strlen(code->name);
        uint32_t number = (uint32_t)*place;
        unsigned char head[8] = {3, 0};
        memcpy(head + 2, &name_bytes, 2);
        memcpy(head + 4, &number, 4);
        fwrite(head, sizeof(head), 1, log->file);
        fwrite(code->name, name_bytes, 1, log->file);
    }
    return (uint32_t)*place;
}

// What a store is about to write: the sources of its vector, as memory will hold them.
static void store_values(const struct warp *warp, const struct uop *op, uint32_t bytes, int lane,
                         unsigned char *out)
{
    unsigned width = op->mode & 2 ? 8 : 4; // as ops_memory.c marks wide registers
    for (unsigned k = 0; k < op->count && (k + 1u) * op->bytes <= bytes; k++) {
        const unsigned char *lanes = source(warp, op->count > 1 ? op->list[k] : op->b);
        memcpy(out + (size_t)k * op->bytes, lanes + (size_t)lane * width, op->bytes);
    }
}

void sim_log_access(struct warp *warp, const struct uop *op, uint32_t bytes, enum access_kind kind,
                    const struct access *access)
{
    const struct block *block = warp->block;
    struct sim_log *log = block->launch->device->log;
    unsigned char record[48 + LANES * (8 + 256)];
    size_t used = 48;
    uint64_t launch = block->launch->request->id;
    uint32_t site = op->instr ? op->instr->index : 0, index = warp->index;
    bool plain_store = kind == ACCESS_STORE && op->instr && ptx_op(op->instr) == PTX_OP_ST;
    if (bytes > 255)
        return;
    memset(record, 0, 48);
    record[0] = 1;
    record[1] = (unsigned char)kind;
    record[2] = op->space;
    record[3] = (unsigned char)bytes;
    memcpy(record + 4, &warp->mask, 4);
    memcpy(record + 8, &launch, 8);
    memcpy(record + 16, &block->number, 8);
    memcpy(record + 24, &index, 4);
    memcpy(record + 32, &site, 4);
    for (int i = 0; i < LANES; i++) {
        if (!(warp->mask >> i & 1))
            continue;
        memcpy(record + used, &access->address[i], 8);
        if (plain_store)
            store_values(warp, op, bytes, i, record + used + 8);
        else
            memcpy(record + used + 8, access->pointer[i], bytes);
        used += 8 + bytes;
    }
    pthread_mutex_lock(&log->lock);
    uint32_t kernel = number_of(log, block->launch->code);
    uint32_t function = number_of(log, warp->path->frame->code);
    memcpy(record + 28, &kernel, 4);
    memcpy(record + 36, &function, 4);
    fwrite(record, used, 1, log->file);
    pthread_mutex_unlock(&log->lock);
}
