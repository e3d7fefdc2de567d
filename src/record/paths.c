// SPDX-License-Identifier: Apache-2.0
// The last step of a session: adds functions, files and lines to call paths, puts Python frames
// where they belong, and adds names from the source to objects that the program has not named. The
// new rows replace those that were written when the records arrived.
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "results.h"
#include "rows.h"
#include "runtime.h"
#include "sources.h"
#include "symbols.h"

struct paths {
    struct record_session *session;
    struct record_symbols *symbols;
    struct record_names *names;
    BASE_ARRAY(uint32_t) images; // the symbolizer's number of each image
    BASE_ARRAY(struct record_symbols_frame) frames;
    BASE_ARRAY(struct profile_frame) rows;
    BASE_ARRAY(enum record_runtime_image) kinds;    // of the frames' images
    BASE_ARRAY(struct record_symbols_frame) merged; // with Python frames, to replace `frames`
    BASE_ARRAY(struct profile_frame) merged_rows;
    BASE_ARRAY(bool) runs;     // for each frame, whether its function runs Python code
    BASE_ARRAY(bool) entries;  // of Python frames
    BASE_ARRAY(size_t) before; // see record_python_merge
    struct base_buf called;    // the function of the CUDA runtime that the path leads to
    BASE_ARRAY(struct record_results_place) places; // return addresses
    struct base_map changed; // images for which a note says that they have changed
};

// The symbolizer's texts are valid until its next call, so a copy is kept for the whole path.
static const char *keep(struct base_arena *arena, const char *text)
{
    return text ? base_alloc_text(arena, text, strlen(text)) : NULL;
}

static void tell_changed(struct paths *paths, uint32_t image)
{
    bool added = false;
    base_map_put(&paths->changed, image, &added);
    if (!added)
        return;
    struct base_buf text = {0};
    base_buf_printf(&text, "%s has changed since the run: its functions are unknown",
                    paths->session->image_paths.items[image - 1]);
    const struct profile_note note = {PROFILE_WARNING, text.text};
    if (!text.failed)
        profile_add_note(paths->session->writer, &note, &paths->session->error);
    base_buf_fini(&text);
}

// Returns where the function begins in its image; 0 if that is unknown.
static uint64_t function_start(const struct record_symbols_frame *frame, uint64_t offset)
{
    return frame->function && frame->offset < offset ? offset - frame->offset : 0;
}

static void add_frame(struct paths *paths, struct base_arena *arena, uint32_t image,
                      enum record_runtime_image kind, uint64_t offset,
                      const struct record_symbols_frame *found)
{
    struct record_symbols_frame *frame = base_array_push(&paths->frames);
    struct profile_frame *row = base_array_push(&paths->rows);
    enum record_runtime_image *of_image = frame && row ? base_array_push(&paths->kinds) : NULL;
    if (!of_image)
        return;
    *of_image = kind;
    *frame = found ? *found : (struct record_symbols_frame){.offset = offset};
    frame->function = keep(arena, frame->function);
    frame->file = keep(arena, frame->file);
    frame->folder = keep(arena, frame->folder);
    *row = (struct profile_frame){.function = frame->function,
                                  .file = frame->file,
                                  .line = frame->line,
                                  .image = image,
                                  .offset = offset,
                                  .inlined = frame->inlined,
                                  .start = function_start(frame, offset)};
}

// Returns true if the file name of the image begins with one of these.
static bool is_one_of(const struct paths *paths, uint32_t image, const char *const *names)
{
    const char *path = image ? paths->session->image_paths.items[image - 1] : "";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    while (*names && strncmp(name, *names, strlen(*names)) != 0)
        names++;
    return *names != NULL;
}

// Returns true if the image is the C library or the CUDA runtime. Its functions are resolved, but
// not its lines: in a program without line information they would pass for the place of a call.
static bool is_known_library(const struct paths *paths, uint32_t image)
{
    static const char *const names[] = {"libc.so", "libpthread.so", "ld-linux", "libcudart", NULL};
    return is_one_of(paths, image, names);
}

// Adds the frames of one return address.
static void add_frames(struct paths *paths, struct base_arena *arena,
                       const struct record_session_frame *frame)
{
    const char *path = frame->image ? paths->session->image_paths.items[frame->image - 1] : "";
    const enum record_runtime_image kind = record_runtime_image(path);
    const struct record_symbols_place *place = NULL;
    if (frame->image && frame->image <= paths->images.count && kind != RECORD_RUNTIME_BELOW)
        place = record_symbols_find(paths->symbols, paths->images.items[frame->image - 1],
                                    frame->offset);
    if (place && place->status == RECORD_SYMBOLS_CHANGED)
        tell_changed(paths, frame->image);
    for (uint32_t k = 0; place && k < place->count; k++)
        add_frame(paths, arena, frame->image, kind, frame->offset, &place->frames[k]);
    if (!place)
        add_frame(paths, arena, frame->image, kind, frame->offset, NULL);
}

// --- Python frames -------------------------------------------------------------------------------

static void add_merged(struct paths *paths, const struct record_symbols_frame *frame,
                       const struct profile_frame *row)
{
    struct record_symbols_frame *to = base_array_push(&paths->merged);
    struct profile_frame *row_to = to ? base_array_push(&paths->merged_rows) : NULL;
    if (!row_to) {
        paths->merged.count = paths->merged_rows.count;
        return;
    }
    *to = *frame;
    *row_to = *row;
}

static void add_python(struct paths *paths, uint64_t frame)
{
    const struct record_session *session = paths->session;
    const struct record_python_code *code = record_session_code(session, frame);
    const struct profile_frame row = record_python_frame(session, frame);
    const struct record_symbols_frame symbols = {.function = row.function,
                                                 .offset = row.offset,
                                                 .file = row.file,
                                                 .folder = session->program.folder,
                                                 .line = row.line,
                                                 .code = code,
                                                 .code_offset = (uint32_t)frame,
                                                 .built_s = code ? code->seen_s : 0};
    add_merged(paths, &symbols, &row);
}

// Returns false if memory ran out.
static bool note_frames(struct paths *paths, const struct record_session_stack *stack)
{
    paths->runs.count = paths->entries.count = paths->before.count = 0;
    for (size_t i = 0; i < paths->frames.count; i++) {
        bool *runs = base_array_push(&paths->runs);
        if (!runs)
            return false;
        *runs = record_python_runs(paths->frames.items[i].function);
    }
    for (uint32_t i = 0; i < stack->python_depth; i++) {
        bool *entry = base_array_push(&paths->entries);
        if (!entry)
            return false;
        *entry = paths->session->python_frames.items[stack->python_first + i] >> 63;
    }
    for (size_t i = 0; i <= paths->frames.count; i++) {
        const size_t *before = base_array_push(&paths->before);
        if (!before)
            return false;
    }
    return true;
}

// Puts the stack's Python frames in place of the functions of the interpreter that run them.
static void merge(struct paths *paths, const struct record_session_stack *stack)
{
    if (!stack->python_depth || !note_frames(paths, stack))
        return;
    const size_t count = paths->frames.count;
    record_python_merge(paths->runs.items, count, paths->entries.items, stack->python_depth,
                        stack->python_truncated, paths->before.items);
    paths->merged.count = paths->merged_rows.count = 0;
    size_t done = 0;
    for (size_t i = 0; i <= count; i++) {
        for (; done < paths->before.items[i]; done++)
            add_python(paths, paths->session->python_frames.items[stack->python_first + done]);
        if (i < count && !paths->runs.items[i])
            add_merged(paths, &paths->frames.items[i], &paths->rows.items[i]);
    }
    paths->frames.count = paths->rows.count = 0;
    for (size_t i = 0; i < paths->merged.count; i++) {
        struct record_symbols_frame *frame = base_array_push(&paths->frames);
        struct profile_frame *row = frame ? base_array_push(&paths->rows) : NULL;
        if (!row)
            break;
        *frame = paths->merged.items[i];
        *row = paths->merged_rows.items[i];
    }
    paths->frames.count = paths->rows.count;
}

// Fills the frames and rows of the stack, starting at the program's own code, and `called`. A path
// without code of the program, as in a thread of the driver, keeps its outermost frame.
static void symbolise(struct paths *paths, const struct record_session_stack *stack,
                      struct base_arena *arena)
{
    paths->frames.count = paths->rows.count = paths->kinds.count = 0;
    for (uint32_t i = 0; i < stack->depth; i++)
        add_frames(paths, arena, &paths->session->frames.items[stack->first + i]);
    const size_t count = paths->kinds.count;
    size_t first =
        record_runtime_fold(paths->frames.items, paths->kinds.items, count, &paths->called);
    if (first == count && !stack->python_depth)
        first -= count > 0;
    if (first) {
        memmove(paths->frames.items, paths->frames.items + first,
                (count - first) * sizeof(*paths->frames.items));
        memmove(paths->rows.items, paths->rows.items + first,
                (count - first) * sizeof(*paths->rows.items));
    }
    paths->frames.count = paths->rows.count = count - first;
    merge(paths, stack);
}

// Finds out whether the program looks at the result of the stack's call, which starts at the
// program's own code like the frames.
static enum profile_result_use use_of_result(struct paths *paths,
                                             const struct record_session_stack *stack)
{
    const struct record_session *session = paths->session;
    const struct profile_frame *own = &paths->rows.items[0];
    // In an executable without symbols, the first frame may be one of the runtime. Nothing is read
    // of what Python does with a result.
    if (!paths->rows.count || own->python || !own->function ||
        !base_map_get(&session->sync_stacks, stack->number))
        return PROFILE_RESULT_UNKNOWN;
    uint32_t first = 0;
    const struct record_session_frame *frames = &session->frames.items[stack->first];
    while (first < stack->depth &&
           (frames[first].image != own->image || frames[first].offset != own->offset))
        first++;
    paths->places.count = 0;
    for (uint32_t i = first; i < stack->depth; i++) {
        struct record_results_place *place = base_array_push(&paths->places);
        if (!place)
            return PROFILE_RESULT_UNKNOWN;
        const uint32_t image = frames[i].image;
        *place = (struct record_results_place){
            image && image <= paths->images.count ? paths->images.items[image - 1] : 0,
            frames[i].offset};
    }
    return record_results_use(paths->symbols, paths->places.items, paths->places.count);
}

static enum profile_name_source source_of(const struct paths *paths, const char *name)
{
    const char *colon = strrchr(name, ':');
    bool with_source = false;
    for (size_t i = 0; i < paths->frames.count && !with_source; i++)
        with_source = paths->frames.items[i].file != NULL;
    if (!with_source)
        return PROFILE_NAME_PATH;
    bool place = colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1);
    return place ? PROFILE_NAME_PLACE : PROFILE_NAME_SOURCE;
}

// Names the objects of the stack from its frames. Objects are sorted by stack; returns the index of
// the next one.
static size_t name_objects(struct paths *paths, uint32_t stack, size_t object)
{
    struct record_session *session = paths->session;
    while (object < session->objects_made.count &&
           session->objects_made.items[object].stack < stack)
        object++;
    if (object == session->objects_made.count || session->objects_made.items[object].stack > stack)
        return object;
    struct base_buf name = {0};
    const bool whole =
        record_names_object(paths->names, paths->frames.items, paths->frames.count, &name);
    const size_t length = name.length;
    for (;
         object < session->objects_made.count && session->objects_made.items[object].stack == stack;
         object++) {
        const struct record_session_object *made = &session->objects_made.items[object];
        name.length = length;
        if (!whole) {
            base_buf_u64(&name, made->bytes);
            base_buf_puts(&name, " bytes");
        }
        if (!name.failed && name.length)
            profile_name_object(session->writer, made->number, name.text,
                                source_of(paths, name.text), &session->error);
    }
    base_buf_fini(&name);
    return object;
}

static int by_stack(const void *a, const void *b)
{
    const struct record_session_object *one = a, *other = b;
    if (one->stack != other->stack)
        return one->stack < other->stack ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

// Sorts the objects without a name by the stacks that made them.
static void sort_objects(struct record_session *session)
{
    size_t kept = 0;
    for (size_t i = 0; i < session->objects_made.count; i++) {
        struct record_session_object *object = &session->objects_made.items[i];
        const uint64_t *stack = base_map_get(&session->allocations, object->call);
        object->stack = stack ? (uint32_t)*stack : 0;
        if (object->stack && !base_map_get(&session->named, object->number))
            session->objects_made.items[kept++] = *object;
    }
    session->objects_made.count = kept;
    if (kept)
        qsort(session->objects_made.items, kept, sizeof(struct record_session_object), by_stack);
}

static bool open_images(struct paths *paths)
{
    for (size_t i = 0; i < paths->session->images.count; i++) {
        const struct event_image *image = &paths->session->images.items[i];
        const char *path = paths->session->image_paths.items[i];
        uint32_t *place = base_array_push(&paths->images);
        if (!place)
            return false;
        *place = record_symbols_image(paths->symbols, path, strlen(path), image->build_id,
                                      image->build_id_bytes);
        if (*place && is_known_library(paths, (uint32_t)i + 1))
            record_symbols_names_only(paths->symbols, *place);
    }
    return true;
}

// Writes all return addresses of the path.
static void write_stack(struct record_session *session, const struct record_session_stack *stack)
{
    struct base_buf addresses = {0};
    for (uint32_t i = 0; i < stack->depth; i++) {
        const struct record_session_frame *frame = &session->frames.items[stack->first + i];
        base_buf_printf(&addresses, "%s%u:%llx", i ? " " : "", frame->image,
                        (unsigned long long)frame->offset);
    }
    base_buf_puts(&addresses, stack->truncated ? " ..." : "");
    const struct profile_stack row = {stack->number, addresses.text};
    if (!addresses.failed)
        profile_add_stack(session->writer, &row, &session->error);
    base_buf_fini(&addresses);
}

static int by_number(const void *a, const void *b)
{
    const struct record_session_stack *one = a, *other = b;
    return one->number < other->number ? -1 : one->number > other->number;
}

static void write_all(struct paths *paths)
{
    struct record_session *session = paths->session;
    sort_objects(session);
    qsort(session->stacks.items, session->stacks.count, sizeof(struct record_session_stack),
          by_number);
    size_t object = 0;
    for (size_t i = 0; i < session->stacks.count && session->error.code == BASE_OK; i++) {
        const struct record_session_stack *stack = &session->stacks.items[i];
        struct base_arena texts;
        base_arena_init(&texts, 0);
        symbolise(paths, stack, &texts);
        const struct profile_path row = {stack->number,
                                         paths->rows.items,
                                         (uint32_t)paths->rows.count,
                                         stack->truncated || stack->python_truncated,
                                         paths->called.length ? paths->called.text : NULL,
                                         use_of_result(paths, stack)};
        profile_add_path(session->writer, &row, &session->error);
        for (size_t k = 0; k < paths->frames.count; k++)
            record_sources_want_frame(session, &paths->frames.items[k]);
        write_stack(session, stack);
        object = name_objects(paths, stack->number, object);
        base_arena_fini(&texts);
        if (session->progress)
            session->progress(session->user, i + 1, session->stacks.count);
    }
}

void record_session_write_paths(struct record_session *session)
{
    if (!session->stacks.count || session->nameless)
        return;
    struct paths paths = {
        .session = session, .symbols = record_symbols_create(NULL), .names = record_names_create()};
    if (paths.symbols && paths.names && open_images(&paths))
        write_all(&paths);
    record_symbols_destroy(paths.symbols);
    record_names_destroy(paths.names);
    base_array_fini(&paths.images);
    base_array_fini(&paths.frames);
    base_array_fini(&paths.rows);
    base_array_fini(&paths.kinds);
    base_array_fini(&paths.places);
    base_array_fini(&paths.merged);
    base_array_fini(&paths.merged_rows);
    base_array_fini(&paths.runs);
    base_array_fini(&paths.entries);
    base_array_fini(&paths.before);
    base_buf_fini(&paths.called);
    base_map_fini(&paths.changed);
}
