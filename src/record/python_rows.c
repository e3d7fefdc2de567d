// SPDX-License-Identifier: Apache-2.0
// Keeps the code that Python ran, and converts call paths through it to rows.
#include <stdlib.h>
#include <string.h>

#include "rows.h"

// Two threads may send the same code.
bool record_code(struct record_session *session, struct record_piece *piece)
{
    struct event_code event;
    bool added = true;
    if (!record_take(piece, &event, sizeof(event)) || event.file_bytes > piece->length ||
        event.name_bytes > piece->length - event.file_bytes)
        return false;
    uint64_t *slot = base_map_put(&session->code_numbers, event.number, &added);
    if (!added)
        return true;
    const size_t texts = (size_t)event.file_bytes + event.name_bytes;
    const size_t lines_bytes = piece->length - texts;
    struct record_python_code *code = slot ? base_array_push(&session->codes) : NULL;
    unsigned char *lines = base_new_array(&session->arena, unsigned char, lines_bytes + 1);
    if (!code || !lines) {
        base_no_memory(&session->error);
        return true;
    }
    memcpy(lines, piece->bytes + texts, lines_bytes);
    *code = (struct record_python_code){
        .file = base_alloc_text(&session->arena, piece->bytes, event.file_bytes),
        .name = base_alloc_text(&session->arena, piece->bytes + event.file_bytes, event.name_bytes),
        .lines = lines,
        .lines_bytes = (uint32_t)lines_bytes,
        .first_line = event.first_line,
        .format = event.lines,
        .seen_s = event.seen_unix_s};
    *slot = session->codes.count;
    if (!code->file || !code->name)
        base_no_memory(&session->error);
    return true;
}

const struct record_python_code *record_session_code(const struct record_session *session,
                                                     uint64_t frame)
{
    const uint64_t *slot =
        base_map_get(&session->code_numbers, frame >> 32 & EVENT_PYTHON_CODES_MOST);
    return slot && *slot ? &session->codes.items[*slot - 1] : NULL;
}

struct profile_frame record_python_frame(const struct record_session *session, uint64_t frame)
{
    const struct record_python_code *code = record_session_code(session, frame);
    const uint32_t offset = (uint32_t)frame;
    if (!code)
        return (struct profile_frame){.python = true};
    return (struct profile_frame){.function = *code->name ? code->name : NULL,
                                  .file = *code->file ? code->file : NULL,
                                  .line = record_python_find(code, offset).line,
                                  .offset = offset == EVENT_PYTHON_START ? 0 : offset,
                                  .python = true};
}

// Writes the path at once, for the case that the recorder is killed. Where the Python frames belong
// is only known with the names of functions, so they come first until then.
static void write_python_path(struct record_session *session,
                              const struct record_session_stack *stack)
{
    const uint32_t count = stack->python_depth + stack->depth;
    struct profile_frame *frames = calloc(count + 1u, sizeof(*frames));
    if (!frames) {
        base_no_memory(&session->error);
        return;
    }
    for (uint32_t i = 0; i < stack->python_depth; i++)
        frames[i] =
            record_python_frame(session, session->python_frames.items[stack->python_first + i]);
    for (uint32_t i = 0; i < stack->depth; i++) {
        const struct record_session_frame *frame = &session->frames.items[stack->first + i];
        frames[stack->python_depth + i] =
            (struct profile_frame){.image = frame->image, .offset = frame->offset};
    }
    const struct profile_path path = {.number = stack->number,
                                      .frames = frames,
                                      .frame_count = count,
                                      .truncated = stack->truncated || stack->python_truncated};
    profile_add_path(session->writer, &path, &session->error);
    free(frames);
}

bool record_python(struct record_session *session, struct record_piece *piece)
{
    enum { MOST_DEPTH = 4096 };
    struct event_python event;
    bool added = true;
    if (!record_take(piece, &event, sizeof(event)) || event.depth > MOST_DEPTH ||
        piece->length < event.depth * sizeof(uint64_t))
        return false;
    const uint64_t *below = base_map_get(&session->stack_numbers, event.below);
    if (!below || !*below)
        return false;
    struct record_session_stack stack = session->stacks.items[*below - 1];
    uint64_t *slot = base_map_put(&session->stack_numbers, event.number, &added);
    if (!added)
        return true;
    stack.number = event.number;
    stack.python_depth = event.depth;
    stack.python_first = session->python_frames.count;
    stack.python_truncated = event.truncated;
    bool good = slot != NULL;
    for (uint32_t i = 0; i < event.depth && good; i++) {
        uint64_t *frame = base_array_push(&session->python_frames);
        good = frame && record_take(piece, frame, sizeof(*frame));
    }
    struct record_session_stack *kept = good ? base_array_push(&session->stacks) : NULL;
    if (!kept) {
        base_no_memory(&session->error);
        return true;
    }
    *kept = stack;
    *slot = session->stacks.count;
    write_python_path(session, &stack);
    return true;
}
