// SPDX-License-Identifier: Apache-2.0
// Writes the simulated GPU's log: the file itself, and the records for calls, objects, launches,
// copies and sites. Accesses are batched by the machine (logging.c). Every other record is one
// frame and one write(), so none of them is lost if the program is killed.
// docs/reference/sim-log.md describes the format.
#include "write.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format.h"
#include "gpusim/locks.h"

struct log_file {
    int file;
    pthread_mutex_t lock; // guards the fields below and the order of frames
    bool ended;           // log_end() was called; later records are dropped
    int error;            // errno of the first failed write; later records are dropped
    uint64_t calls;
    uint32_t sites;
};

// --- Numbers and texts ---------------------------------------------------------------------------

void log_put_number(struct base_buf *to, uint64_t value)
{
    char bytes[10];
    size_t used = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[used++] = (char)(value | 0x80);
    bytes[used++] = (char)value;
    base_buf_add(to, bytes, used);
}

void log_put_text(struct base_buf *to, const char *text)
{
    size_t length = strlen(text);
    log_put_number(to, length);
    base_buf_add(to, text, length + 1);
}

void log_begin(struct base_buf *frame, unsigned type)
{
    frame->length = 0;
    base_buf_add(frame, "\0\0\0", 4);
    base_buf_putc(frame, (char)type);
}

// --- The file ------------------------------------------------------------------------------------

enum base_code log_open(const char *path, struct log_file **log, struct base_error *error)
{
    struct log_file *made = calloc(1, sizeof(*made));
    *log = NULL;
    if (!made)
        return base_no_memory_while(error, "for a log");
    made->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    unsigned char header[LOG_HEADER_BYTES] = LOG_MAGIC;
    header[8] = LOG_VERSION;
    if (made->file < 0 || write(made->file, header, sizeof(header)) != (ssize_t)sizeof(header)) {
        enum base_code code =
            base_fail(error, BASE_IO, "cannot write %s: %s", path, strerror(errno));
        if (made->file >= 0)
            close(made->file);
        free(made);
        return code;
    }
    pthread_mutex_init(&made->lock, NULL);
    *log = made;
    return BASE_OK;
}

void log_close(struct log_file *log)
{
    if (!log)
        return;
    close(log->file);
    pthread_mutex_destroy(&log->lock);
    free(log);
}

// The caller holds log->lock.
static void write_frame(struct log_file *log, struct base_buf *frame)
{
    if (frame->failed && !log->error)
        log->error = ENOMEM;
    if (log->ended || log->error)
        return;
    uint32_t bytes = (uint32_t)(frame->length - 4);
    for (unsigned i = 0; i < 4; i++)
        frame->text[i] = (char)(bytes >> 8 * i);
    for (size_t at = 0; at < frame->length && !log->error;) {
        ssize_t done = write(log->file, frame->text + at, frame->length - at);
        if (done >= 0)
            at += (size_t)done;
        else if (errno != EINTR)
            log->error = errno;
    }
}

void log_fail(struct log_file *log, int error)
{
    gpusim_lock(&log->lock, GPUSIM_RANK_LOG);
    if (!log->error)
        log->error = error;
    gpusim_unlock(&log->lock, GPUSIM_RANK_LOG);
}

void log_write_frame(struct log_file *log, struct base_buf *frame)
{
    gpusim_lock(&log->lock, GPUSIM_RANK_LOG);
    write_frame(log, frame);
    gpusim_unlock(&log->lock, GPUSIM_RANK_LOG);
}

static void write_and_free(struct log_file *log, struct base_buf *frame)
{
    log_write_frame(log, frame);
    base_buf_fini(frame);
}

int log_end(struct log_file *log)
{
    struct base_buf frame = {0};
    log_begin(&frame, LOG_END);
    gpusim_lock(&log->lock, GPUSIM_RANK_LOG);
    write_frame(log, &frame);
    log->ended = true;
    int error = log->error;
    gpusim_unlock(&log->lock, GPUSIM_RANK_LOG);
    base_buf_fini(&frame);
    return error;
}

// --- Calls ---------------------------------------------------------------------------------------

uint64_t log_call(struct log_file *log, uint64_t inside, uint64_t thread, const char *name,
                  const char *arguments)
{
    struct base_buf frame = {0};
    gpusim_lock(&log->lock, GPUSIM_RANK_LOG); // so that numbers ascend in the file
    uint64_t number = ++log->calls;
    log_begin(&frame, LOG_CALL);
    log_put_number(&frame, number);
    log_put_number(&frame, inside);
    log_put_number(&frame, thread);
    log_put_text(&frame, name);
    log_put_text(&frame, arguments);
    write_frame(log, &frame);
    gpusim_unlock(&log->lock, GPUSIM_RANK_LOG);
    base_buf_fini(&frame);
    return number;
}

void log_return(struct log_file *log, uint64_t number, int64_t result, const char *outputs)
{
    struct base_buf frame = {0};
    log_begin(&frame, LOG_RETURN);
    log_put_number(&frame, number);
    log_put_number(&frame, log_zigzag(result));
    log_put_text(&frame, outputs);
    write_and_free(log, &frame);
}

// --- Objects and launches ------------------------------------------------------------------------

void log_object(struct log_file *log, const struct gpusim_object *object)
{
    struct base_buf frame = {0};
    if (!log)
        return;
    log_begin(&frame, LOG_OBJECT);
    log_put_number(&frame, object->id);
    log_put_number(&frame, object->address);
    log_put_number(&frame, object->size_bytes);
    log_put_number(&frame, object->kind);
    log_put_number(&frame, object->device);
    log_put_text(&frame, object->name);
    write_and_free(log, &frame);
}

void log_object_end(struct log_file *log, uint64_t id)
{
    struct base_buf frame = {0};
    if (!log)
        return;
    log_begin(&frame, LOG_OBJECT_END);
    log_put_number(&frame, id);
    write_and_free(log, &frame);
}

void log_launch(struct log_file *log, const struct gpusim_log_launch *launch)
{
    struct base_buf frame = {0};
    if (!log)
        return;
    log_begin(&frame, LOG_LAUNCH);
    log_put_number(&frame, launch->number);
    log_put_number(&frame, launch->call);
    log_put_number(&frame, launch->stream);
    log_put_number(&frame, launch->device);
    for (int i = 0; i < 3; i++)
        log_put_number(&frame, launch->grid[i]);
    for (int i = 0; i < 3; i++)
        log_put_number(&frame, launch->block[i]);
    for (int i = 0; i < 3; i++)
        log_put_number(&frame, launch->cluster[i]);
    log_put_number(&frame, launch->static_shared_bytes);
    log_put_number(&frame, launch->dynamic_shared_bytes);
    log_put_number(&frame, launch->cooperative);
    log_put_text(&frame, launch->kernel);
    log_put_number(&frame, launch->params_bytes);
    if (launch->params_bytes)
        base_buf_add(&frame, launch->params, launch->params_bytes);
    write_and_free(log, &frame);
}

void log_launch_end(struct log_file *log, const struct gpusim_log_launch_end *end)
{
    struct base_buf frame = {0};
    if (!log)
        return;
    log_begin(&frame, LOG_LAUNCH_END);
    log_put_number(&frame, end->number);
    log_put_number(&frame, end->fault);
    log_put_text(&frame, end->text);
    write_and_free(log, &frame);
}

// --- Copies and contents -------------------------------------------------------------------------

// The size of a frame is a number of four bytes; this leaves room for its other fields.
static const uint64_t MOST_COPIED_BYTES = UINT32_MAX - (1u << 20);

static void put_rows(struct base_buf *frame, const struct gpusim_log_rows *rows)
{
    log_put_number(frame, rows->address);
    log_put_number(frame, rows->pitch);
    log_put_number(frame, rows->slice);
    log_put_number(frame, rows->object_count);
    for (size_t i = 0; i < rows->object_count; i++)
        log_put_number(frame, rows->objects[i]->id);
}

// Adds what the destination of the copy holds.
static void put_copied(struct base_buf *frame, const struct gpusim_log_copy *copy)
{
    const char *first = (const char *)(uintptr_t)copy->to.address;
    base_buf_reserve(frame, copy->width * copy->height * copy->depth);
    for (uint64_t z = 0; z < copy->depth; z++)
        for (uint64_t y = 0; y < copy->height; y++)
            base_buf_add(frame, first + z * copy->to.slice + y * copy->to.pitch, copy->width);
}

void log_copy(struct log_file *log, const struct gpusim_log_copy *copy)
{
    struct base_buf frame = {0};
    if (!log)
        return;
    const bool has_bytes =
        copy->to.object_count && copy->width * copy->height * copy->depth <= MOST_COPIED_BYTES;
    log_begin(&frame, LOG_COPY);
    log_put_number(&frame, copy->call);
    log_put_number(&frame, copy->stream);
    log_put_number(&frame, copy->width);
    log_put_number(&frame, copy->height);
    log_put_number(&frame, copy->depth);
    put_rows(&frame, &copy->to);
    put_rows(&frame, &copy->from);
    log_put_number(&frame, has_bytes);
    if (has_bytes)
        put_copied(&frame, copy);
    write_and_free(log, &frame);
}

void log_fill(struct log_file *log, const struct gpusim_log_fill *fill)
{
    struct base_buf frame = {0};
    if (!log)
        return;
    log_begin(&frame, LOG_FILL);
    log_put_number(&frame, fill->call);
    log_put_number(&frame, fill->stream);
    log_put_number(&frame, fill->width);
    log_put_number(&frame, fill->height);
    put_rows(&frame, &fill->to);
    log_put_number(&frame, fill->value);
    log_put_number(&frame, fill->value_bytes);
    write_and_free(log, &frame);
}

void log_contents(struct log_file *log, uint64_t object, const unsigned char *bytes, size_t count)
{
    struct base_buf frame = {0};
    if (!log)
        return;
    while (count && !bytes[count - 1])
        count--;
    log_begin(&frame, LOG_CONTENTS);
    log_put_number(&frame, object);
    log_put_number(&frame, count);
    base_buf_add(&frame, (const char *)bytes, count);
    write_and_free(log, &frame);
}

// --- Sites ---------------------------------------------------------------------------------------

uint32_t log_reserve_sites(struct log_file *log, uint32_t count)
{
    gpusim_lock(&log->lock, GPUSIM_RANK_LOG);
    uint32_t first = log->sites + 1;
    log->sites += count;
    gpusim_unlock(&log->lock, GPUSIM_RANK_LOG);
    return first;
}

void log_site(struct log_file *log, const struct gpusim_log_site *site, atomic_bool *announced)
{
    struct base_buf frame = {0};
    log_begin(&frame, LOG_SITE);
    log_put_number(&frame, site->number);
    log_put_text(&frame, site->function);
    log_put_text(&frame, site->text);
    log_put_number(&frame, site->index);
    log_put_number(&frame, site->ptx_line);
    log_put_text(&frame, site->file);
    log_put_number(&frame, site->line);
    // Set *announced only after the write, because other workers may then write accesses of the
    // site.
    gpusim_lock(&log->lock, GPUSIM_RANK_LOG);
    if (!atomic_load(announced))
        write_frame(log, &frame);
    atomic_store(announced, true);
    gpusim_unlock(&log->lock, GPUSIM_RANK_LOG);
    base_buf_fini(&frame);
}
