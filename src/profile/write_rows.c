// SPDX-License-Identifier: Apache-2.0
// Writes definitions, objects and notes as the integers of their tables. write_calls.c writes
// calls.
#include "writer.h"

// The arguments as a JSON array, for the view.
static void list_arguments(const struct profile_program *program, struct base_buf *out)
{
    struct base_json json;
    base_json_init_buf(&json, out, 0);
    base_json_begin_array(&json);
    for (uint32_t i = 0; i < program->argument_count; i++)
        base_json_string(&json, program->arguments[i]);
    base_json_end_array(&json);
    base_json_finish(&json);
}

enum base_code profile_set_program(struct profile_writer *writer,
                                   const struct profile_program *program, struct base_error *error)
{
    int64_t values[] = {1,
                        0,
                        0,
                        program->pid,
                        program->parent,
                        program->driver_version,
                        program->start_monotonic_ns,
                        program->start_unix_ns,
                        program->simulated,
                        program->timestamps,
                        0};
    struct base_buf list = {0};
    list_arguments(program, &list);
    if (list.failed) {
        base_buf_fini(&list);
        return base_no_memory(error);
    }
    enum base_code code = PROFILE_PUT(writer, PROGRAM, values, error, {1, program->executable},
                                      {2, program->folder}, {10, list.text});
    base_buf_fini(&list);
    for (uint32_t i = 0; i < program->argument_count && code == BASE_OK; i++)
        code =
            PROFILE_PUT(writer, ARGUMENTS, ((int64_t[]){i, 0}), error, {1, program->arguments[i]});
    if (code == BASE_OK)
        code = profile_put_rank(writer, &program->rank, error);
    if (code == BASE_OK && program->has_end)
        code = profile_put(writer, PROFILE_TABLE_PROGRAM_END,
                           (int64_t[]){1, program->end_ns, (int64_t)program->calls_made,
                                       (int64_t)program->objects_made},
                           error);
    return code;
}

enum base_code profile_add_image(struct profile_writer *writer, const struct profile_image *image,
                                 struct base_error *error)
{
    int64_t values[] = {image->number,       0, 0, (int64_t)image->start, (int64_t)image->end,
                        (int64_t)image->bias};
    return PROFILE_PUT(writer, IMAGES, values, error, {1, image->path}, {2, image->build_id});
}

enum base_code profile_add_function(struct profile_writer *writer,
                                    const struct profile_function *function,
                                    struct base_error *error)
{
    int64_t values[] = {function->number, 0, 0};
    struct base_buf plain = {0};
    if (function->name)
        base_buf_add(&plain, function->name, profile_plain_length(function->name));
    enum base_code code = plain.failed ? base_no_memory(error)
                                       : PROFILE_PUT(writer, FUNCTIONS, values, error,
                                                     {1, function->name}, {2, plain.text});
    base_buf_fini(&plain);
    return code;
}

enum base_code profile_add_thread(struct profile_writer *writer,
                                  const struct profile_thread *thread, struct base_error *error)
{
    int64_t values[] = {thread->number, thread->tid, 0};
    return PROFILE_PUT(writer, THREADS, values, error, {2, thread->name});
}

enum base_code profile_add_device(struct profile_writer *writer,
                                  const struct profile_device *device, struct base_error *error)
{
    int64_t values[] = {device->number,
                        0,
                        device->major,
                        device->minor,
                        device->multiprocessors,
                        (int64_t)device->memory_bytes,
                        0};
    return PROFILE_PUT(writer, DEVICES, values, error, {1, device->name}, {6, device->uuid});
}

enum base_code profile_add_context(struct profile_writer *writer,
                                   const struct profile_context *context, struct base_error *error)
{
    return profile_put_first(writer, PROFILE_TABLE_CONTEXTS,
                             (int64_t[]){context->number, context->device}, error);
}

enum base_code profile_add_stream(struct profile_writer *writer,
                                  const struct profile_stream *stream, struct base_error *error)
{
    return profile_put_first(writer, PROFILE_TABLE_STREAMS,
                             (int64_t[]){stream->number, stream->context, stream->flags,
                                         stream->priority, stream->thread},
                             error);
}

enum base_code profile_add_module(struct profile_writer *writer,
                                  const struct profile_module *module, struct base_error *error)
{
    int64_t values[] = {module->number,         module->context,       0,
                        (int64_t)module->bytes, (int64_t)module->hash, module->has_ptx};
    return PROFILE_PUT(writer, MODULES, values, error, {2, module->name});
}

enum base_code profile_add_kernel(struct profile_writer *writer,
                                  const struct profile_kernel *kernel, struct base_error *error)
{
    int64_t values[] = {
        kernel->number,     kernel->module, 0, 0, kernel->registers, kernel->static_shared_bytes,
        kernel->local_bytes};
    return PROFILE_PUT(writer, KERNELS, values, error, {2, kernel->name}, {3, kernel->mangled});
}

static enum base_code add_frame(struct profile_writer *writer, const struct profile_frame *frame,
                                int64_t *id, struct base_error *error)
{
    int64_t values[] = {0,
                        0,
                        0,
                        frame->line,
                        frame->image,
                        (int64_t)frame->offset,
                        frame->inlined,
                        (int64_t)frame->start,
                        frame->python};
    enum base_code code = profile_intern_text(writer, frame->function, &values[1], error);
    if (code == BASE_OK)
        code = profile_intern_text(writer, frame->file, &values[2], error);
    if (code == BASE_OK)
        code = profile_intern_row(writer, &writer->frames, PROFILE_TABLE_FRAMES, values, error);
    *id = values[0];
    return code;
}

enum base_code profile_add_path(struct profile_writer *writer, const struct profile_path *path,
                                struct base_error *error)
{
    enum base_code code =
        profile_put_first(writer, PROFILE_TABLE_PATHS,
                          (int64_t[]){path->number, path->frame_count, path->truncated}, error);
    // Removes the frames of an earlier row of this path. Numbers nearly always ascend, and then
    // there is none.
    const bool again = path->number <= writer->highest_path;
    if (code == BASE_OK && again)
        code = profile_drop(writer, &writer->drop_path, PROFILE_TABLE_PATH_FRAMES, "path",
                            path->number, error);
    if (path->number > writer->highest_path)
        writer->highest_path = path->number;
    for (uint32_t i = 0; i < path->frame_count && code == BASE_OK; i++) {
        int64_t frame;
        code = add_frame(writer, &path->frames[i], &frame, error);
        if (code == BASE_OK)
            code = profile_put(writer, PROFILE_TABLE_PATH_FRAMES,
                               (int64_t[]){path->number, i, frame}, error);
    }
    if (code == BASE_OK && (path->called || again)) {
        int64_t values[] = {path->number, 0};
        code = PROFILE_PUT(writer, PATH_CALLS, values, error, {1, path->called});
    }
    if (code == BASE_OK && path->result_use != PROFILE_RESULT_UNKNOWN)
        code = profile_put(writer, PROFILE_TABLE_PATH_RESULTS,
                           (int64_t[]){path->number, path->result_use == PROFILE_RESULT_LOOKED_AT},
                           error);
    return code;
}

enum base_code profile_add_object(struct profile_writer *writer,
                                  const struct profile_object *object, struct base_error *error)
{
    return profile_put_first(
        writer, PROFILE_TABLE_OBJECTS,
        (int64_t[]){(int64_t)object->number, object->kind, (int64_t)object->address,
                    (int64_t)object->bytes, (int64_t)object->call, (int64_t)object->parent,
                    (int64_t)object->pitch, (int64_t)object->width_bytes, (int64_t)object->height,
                    (int64_t)object->depth, object->context, object->device, object->stream},
        error);
}

enum base_code profile_end_object(struct profile_writer *writer, uint64_t number, uint64_t call,
                                  uint32_t stream, struct base_error *error)
{
    return profile_put_first(writer, PROFILE_TABLE_OBJECT_ENDS,
                             (int64_t[]){(int64_t)number, (int64_t)call, stream}, error);
}

enum base_code profile_name_object(struct profile_writer *writer, uint64_t number, const char *name,
                                   enum profile_name_source source, struct base_error *error)
{
    int64_t values[] = {(int64_t)number, 0, source};
    return PROFILE_PUT(writer, OBJECT_NAMES, values, error, {1, name});
}

enum base_code profile_add_note(struct profile_writer *writer, const struct profile_note *note,
                                struct base_error *error)
{
    int64_t values[] = {(int64_t)++writer->note_count, note->severity, 0};
    return PROFILE_PUT(writer, NOTES, values, error, {2, note->text});
}

enum base_code profile_set_dropped(struct profile_writer *writer,
                                   const struct profile_dropped *dropped, struct base_error *error)
{
    int64_t values[] = {0, (int64_t)dropped->count};
    return PROFILE_PUT(writer, DROPPED, values, error, {0, dropped->kind});
}

enum base_code profile_set_setting(struct profile_writer *writer,
                                   const struct profile_setting *setting, struct base_error *error)
{
    return PROFILE_PUT(writer, SETTINGS, ((int64_t[]){0, 0}), error, {0, setting->name},
                       {1, setting->value});
}
