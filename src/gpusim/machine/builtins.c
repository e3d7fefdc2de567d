// SPDX-License-Identifier: Apache-2.0
// Implements printf, assert, malloc and free for kernels. Arguments are among the caller's
// parameters; the values of printf are packed in local memory with their natural alignment.
#include "builtins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "device_runtime.h"
#include "objects.h"
#include "warp.h"

enum { LONGEST_TEXT = 4096, HEAP_ALIGN = 16 };

int sim_builtin_find(const char *name)
{
    static const struct {
        const char *name;
        int id;
    } rows[] = {{"vprintf", BUILTIN_PRINTF},
                {"__assertfail", BUILTIN_ASSERT},
                {"malloc", BUILTIN_MALLOC},
                {"__cuda_syscall_aligned_malloc", BUILTIN_ALIGNED_MALLOC},
                {"free", BUILTIN_FREE}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].id;
    }
    const int runtime = sim_device_runtime_find(name);
    return runtime < 0 ? BUILTIN_NONE : BUILTIN_DEVICE_RUNTIME + runtime;
}

void sim_builtin_read(const struct sim_warp *warp, const struct sim_uop *op, int lane,
                      uint32_t index, void *out, uint32_t bytes)
{
    const struct sim_call_plan *plan = op->extra;
    const struct sim_frame *frame = warp->path->frame;
    memset(out, 0, bytes);
    if (index < plan->argument_count) {
        const uint32_t given = plan->arguments[index].size_bytes;
        memcpy(out,
               frame->params + (size_t)lane * frame->code->param_bytes +
                   plan->arguments[index].offset,
               given < bytes ? given : bytes);
    }
}

uint64_t sim_builtin_argument(const struct sim_warp *warp, const struct sim_uop *op, int lane,
                              uint32_t index)
{
    uint64_t value;
    sim_builtin_read(warp, op, lane, index, &value, sizeof(value));
    return value;
}

void sim_builtin_result(struct sim_warp *warp, const struct sim_uop *op, int lane, uint64_t value)
{
    const struct sim_call_plan *plan = op->extra;
    struct sim_frame *frame = warp->path->frame;
    if (plan->result_bytes)
        memcpy(frame->params + (size_t)lane * frame->code->param_bytes + plan->result_offset,
               &value, plan->result_bytes < 8 ? plan->result_bytes : 8);
}

// Reads a string from device memory and checks every byte. Returns false if the string runs past
// its object; the launch has failed.
static bool read_string(struct sim_warp *warp, const struct sim_uop *op, int lane, uint64_t address,
                        char *out, size_t out_bytes)
{
    size_t used = 0;
    do {
        if (used + 1 == out_bytes) {
            out[used] = '\0';
            return true;
        }
        const unsigned char *from = sim_access_check(warp, op, lane, address + used, 1);
        if (!from)
            return false;
        out[used] = (char)*from;
    } while (out[used++]);
    return true;
}

// --- printf --------------------------------------------------------------------------------------

struct arguments {
    uint64_t base, used;
};

static bool next_value(struct sim_warp *warp, const struct sim_uop *op, int lane,
                       struct arguments *from, unsigned bytes, uint64_t *value)
{
    from->used = (from->used + bytes - 1) / bytes * bytes;
    const unsigned char *at = sim_access_check(warp, op, lane, from->base + from->used, bytes);
    if (!at)
        return false;
    *value = 0;
    memcpy(value, at, bytes);
    from->used += bytes;
    return true;
}

// Prints one conversion. `spec` reaches from % to the conversion letter.
static bool print_one(struct sim_warp *warp, const struct sim_uop *op, int lane,
                      struct arguments *from, const char *spec, size_t length, struct base_buf *out)
{
    char format[64], text[LONGEST_TEXT];
    uint64_t value;
    int stars[2] = {0, 0}, star_count = 0;
    if (length >= sizeof(format))
        return true;
    memcpy(format, spec, length);
    format[length] = '\0';
    for (const char *at = format; *at; at++) {
        if (*at == '*' && star_count < 2) {
            if (!next_value(warp, op, lane, from, 4, &value))
                return false;
            stars[star_count++] = (int)(uint32_t)value;
        }
    }
    char letter = format[length - 1];
    bool wide = strstr(format, "ll") || strchr(format, 'l') || strchr(format, 'z') ||
                strchr(format, 'j') || strchr(format, 't');
    bool floating = strchr("fFeEgGaA", letter) != NULL;
    unsigned bytes = floating || wide || letter == 'p' || letter == 's' ? 8 : 4;
    if (!next_value(warp, op, lane, from, bytes, &value))
        return false;
    char inner[LONGEST_TEXT / 2];
#define PRINT(argument_)                                                           \
    (star_count == 0   ? snprintf(text, sizeof(text), format, argument_)           \
     : star_count == 1 ? snprintf(text, sizeof(text), format, stars[0], argument_) \
                       : snprintf(text, sizeof(text), format, stars[0], stars[1], argument_))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (floating) {
        double number;
        memcpy(&number, &value, sizeof(number));
        PRINT(number);
    } else if (letter == 's') {
        if (!read_string(warp, op, lane, value, inner, sizeof(inner)))
            return false;
        PRINT(inner);
    } else if (letter == 'p') {
        PRINT((void *)(uintptr_t)value);
    } else if (bytes == 8) {
        PRINT((long long)value);
    } else {
        PRINT((int)(uint32_t)value);
    }
#pragma GCC diagnostic pop
#undef PRINT
    base_buf_puts(out, text);
    return true;
}

// *values counts the conversions, which is the result of vprintf.
static bool print_lane(struct sim_warp *warp, const struct sim_uop *op, int lane,
                       struct base_buf *out, uint32_t *values)
{
    char format[LONGEST_TEXT];
    struct arguments from = {sim_builtin_argument(warp, op, lane, 1), 0};
    if (!read_string(warp, op, lane, sim_builtin_argument(warp, op, lane, 0), format,
                     sizeof(format)))
        return false;
    for (const char *at = format; *at;) {
        if (*at != '%') {
            base_buf_putc(out, *at++);
        } else if (at[1] == '%') {
            base_buf_putc(out, '%');
            at += 2;
        } else {
            size_t length = 1 + strspn(at + 1, "-+ #0123456789.*hlLzjt");
            if (!at[length]) {
                base_buf_puts(out, at);
                break;
            }
            if (!print_one(warp, op, lane, &from, at, length + 1, out))
                return false;
            at += length + 1;
            ++*values;
        }
    }
    return true;
}

static enum sim_step run_printf(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_device *device = warp->block->launch->device;
    struct base_buf text = {0};
    bool good = true;
    for (int lane = 0; lane < LANES && good; lane++) {
        if (warp->mask >> lane & 1) {
            uint32_t values = 0;
            good = print_lane(warp, op, lane, &text, &values);
            sim_builtin_result(warp, op, lane, values);
        }
    }
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    base_buf_add(&memory->output, text.text ? text.text : "", text.length);
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
    base_buf_fini(&text);
    return good ? STEP_NEXT : STEP_STOP;
}

// --- assert --------------------------------------------------------------------------------------

static enum sim_step run_assert(struct sim_warp *warp, const struct sim_uop *op)
{
    int lane = __builtin_ctz(warp->mask);
    char what[200], file[200];
    if (!read_string(warp, op, lane, sim_builtin_argument(warp, op, lane, 0), what, sizeof(what)) ||
        !read_string(warp, op, lane, sim_builtin_argument(warp, op, lane, 1), file, sizeof(file)))
        return STEP_STOP;
    return sim_warp_fault(warp, op, SIM_FAULT_ASSERT, lane, "%s:%u: assertion `%s' failed", file,
                          (unsigned)sim_builtin_argument(warp, op, lane, 2), what);
}

// --- malloc and free -----------------------------------------------------------------------------

// Returns the requested alignment, at least that of malloc; 0 if it is not a power of two.
static uint64_t alignment(const struct sim_warp *warp, const struct sim_uop *op, int lane,
                          bool aligned)
{
    const uint64_t asked = aligned ? sim_builtin_argument(warp, op, lane, 1) : HEAP_ALIGN;
    if (!asked || asked & (asked - 1))
        return 0;
    return asked < HEAP_ALIGN ? HEAP_ALIGN : asked;
}

void *sim_builtin_allocate(struct sim_device *device, uint64_t bytes, uint64_t align)
{
    void *memory = NULL;
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    bool room =
        align && bytes <= device->heap_bytes && device->heap_used <= device->heap_bytes - bytes;
    if (room)
        device->heap_used += bytes;
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    if (room && bytes && posix_memalign(&memory, align, bytes) == 0 &&
        sim_object_add(device, (uint64_t)(uintptr_t)memory, bytes, GPUSIM_OBJECT_HEAP, "malloc",
                       NULL) != BASE_OK) {
        free(memory);
        memory = NULL;
    }
    return memory;
}

bool sim_builtin_release(struct sim_device *device, uint64_t address)
{
    struct gpusim_object object;
    if (!sim_object_find(device, address, &object) || object.address != address ||
        object.kind != GPUSIM_OBJECT_HEAP || object.device != device->number)
        return false;
    sim_object_remove(device, address);
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    device->heap_used -= object.size_bytes;
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    free((void *)(uintptr_t)address);
    return true;
}

static enum sim_step run_malloc(struct sim_warp *warp, const struct sim_uop *op, bool aligned)
{
    struct sim_device *device = warp->block->launch->device;
    for (int lane = 0; lane < LANES; lane++) {
        if (!(warp->mask >> lane & 1))
            continue;
        void *memory = sim_builtin_allocate(device, sim_builtin_argument(warp, op, lane, 0),
                                            alignment(warp, op, lane, aligned));
        sim_builtin_result(warp, op, lane, (uint64_t)(uintptr_t)memory);
    }
    return STEP_NEXT;
}

static enum sim_step run_free(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_device *device = warp->block->launch->device;
    for (int lane = 0; lane < LANES; lane++) {
        if (!(warp->mask >> lane & 1))
            continue;
        const uint64_t address = sim_builtin_argument(warp, op, lane, 0);
        if (address && !sim_builtin_release(device, address))
            return sim_warp_fault(warp, op, SIM_FAULT_ADDRESS, lane,
                                  "free of 0x%llx, which malloc did not return",
                                  (unsigned long long)address);
    }
    return STEP_NEXT;
}

void sim_device_clear_heap(struct sim_device *device)
{
    for (struct gpusim_object object = {0};
         sim_objects_next(device, GPUSIM_OBJECT_HEAP, &object);) {
        sim_object_remove(device, object.address);
        free((void *)(uintptr_t)object.address);
    }
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    device->heap_used = 0;
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
}

enum sim_step sim_builtin_run(struct sim_warp *warp, const struct sim_uop *op, int builtin)
{
    if (builtin >= BUILTIN_DEVICE_RUNTIME)
        return sim_device_runtime_run(warp, op, builtin - BUILTIN_DEVICE_RUNTIME);
    switch ((enum sim_builtin)builtin) {
    case BUILTIN_PRINTF: return run_printf(warp, op);
    case BUILTIN_ASSERT: return run_assert(warp, op);
    case BUILTIN_MALLOC: return run_malloc(warp, op, false);
    case BUILTIN_ALIGNED_MALLOC: return run_malloc(warp, op, true);
    case BUILTIN_FREE: return run_free(warp, op);
    case BUILTIN_DEVICE_RUNTIME:
    case BUILTIN_NONE: break;
    }
    return STEP_NEXT;
}
