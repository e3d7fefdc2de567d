// SPDX-License-Identifier: Apache-2.0
// Reads the plan in the corrected program, finds the row for a call, and counts what was done, row
// by row. A call path is compared with the plan once, when its number is first seen, frame by
// frame. Images are compared by build id, so that an image of another build never matches.
#include "correct.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/correct/memory/ask.h"
#include "inject/correct/memory/back.h"
#include "inject/correct/memory/pool.h"
#include "inject/correct/memory/uses.h"
#include "inject/correct/wait/copy.h"
#include "inject/correct/wait/memory.h"
#include "inject/correct/wait/owed.h"
#include "inject/correct/wait/release.h"
#include "inject/correct/wait/sync.h"
#include "inject/guard/state.h"
#include "inject/util/settings.h"

struct correct_state correct_state = {.marks.lock = PTHREAD_MUTEX_INITIALIZER};

enum {
    PATHS_MOST = 1 << 20, // calls with higher path numbers are not corrected
    PLAN_MOST_BYTES = 64 << 20,
};

void correct_stand(enum core_hook hook, void *function)
{
    core_state.stands[hook] = function;
}

// --- Reading -------------------------------------------------------------------------------------

static char *read_file(const char *path, size_t *bytes)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const off_t size = file < 0 ? -1 : lseek(file, 0, SEEK_END);
    char *text = size > 0 && size <= PLAN_MOST_BYTES ? malloc((size_t)size) : NULL;
    size_t got = 0;
    while (text && got < (size_t)size) {
        const ssize_t more = pread(file, text + got, (size_t)size - got, (off_t)got);
        if (more <= 0)
            break;
        got += (size_t)more;
    }
    if (file >= 0)
        close(file);
    if (text && got < (size_t)size) {
        free(text);
        text = NULL;
    }
    *bytes = got;
    return text;
}

static uint64_t hash_frame(uint64_t hash, uint32_t image, uint64_t offset)
{
    hash = (hash ^ offset ^ (uint64_t)image << 48) * UINT64_C(0x9FB21C651E98DF25);
    return hash ^ hash >> 32;
}

static uint64_t hash_row(const struct plan_row *row)
{
    uint64_t hash = row->truncated;
    for (size_t i = 0; i < row->frame_count; i++) {
        const struct plan_frame *frame = &correct_state.plan.plan.frames.items[row->first + i];
        hash = hash_frame(hash, frame->image, frame->offset);
    }
    return hash;
}

static bool same_path(const struct plan_row *a, const struct plan_row *b)
{
    if (a->truncated != b->truncated || a->frame_count != b->frame_count)
        return false;
    for (size_t i = 0; i < a->frame_count; i++) {
        const struct plan_frame *one = &correct_state.plan.plan.frames.items[a->first + i];
        const struct plan_frame *other = &correct_state.plan.plan.frames.items[b->first + i];
        if (one->image != other->image || one->offset != other->offset)
            return false;
    }
    return true;
}

static bool prepare_rows(void)
{
    const size_t count = correct_state.plan.plan.rows.count;
    correct_state.plan.hashes = calloc(count + 1, sizeof(*correct_state.plan.hashes));
    correct_state.plan.next = calloc(count + 1, sizeof(*correct_state.plan.next));
    correct_state.plan.counts = calloc(count + 1, sizeof(*correct_state.plan.counts));
    correct_state.plan.said =
        calloc(correct_state.plan.plan.images.count + 1, sizeof(*correct_state.plan.said));
    void *paths = mmap(NULL, PATHS_MOST * sizeof(*correct_state.plan.paths), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    correct_state.plan.paths = paths == MAP_FAILED ? NULL : paths;
    if (!correct_state.plan.hashes || !correct_state.plan.next || !correct_state.plan.counts ||
        !correct_state.plan.said || !correct_state.plan.paths)
        return false;
    const struct plan_row *rows = correct_state.plan.plan.rows.items;
    for (size_t i = 0; i < count; i++)
        correct_state.plan.hashes[i] = hash_row(&rows[i]);
    struct base_map last = {0}; // by hash: the last row
    bool good = true;
    for (size_t i = count; i-- > 0 && good;) {
        uint64_t *value = base_map_put(&last, correct_state.plan.hashes[i], NULL);
        good = value != NULL;
        if (good && *value && same_path(&rows[i], &rows[*value - 1]))
            correct_state.plan.next[i] = (uint32_t)*value;
        if (good)
            *value = i + 1;
    }
    base_map_fini(&last);
    return good;
}

static void refuse(const char *path, const struct base_error *error)
{
    char why[BASE_ERROR_TEXT], text[BASE_ERROR_TEXT + 512];
    base_error_text(error, why, sizeof(why));
    snprintf(text, sizeof(text), "nothing is corrected: the plan %s: %s", path, why);
    core_note(EVENT_ERROR, text);
}

static bool start(const struct core_driver *driver)
{
    (void)driver;
    correct_state.on = false;
    memset(&correct_state.plan, 0,
           sizeof(correct_state.plan)); // a child of fork abandons its copy of the parent's plan
    const char *path = util_setting(PLAN_VARIABLE);
    if (!path || !*path)
        return false;
    struct base_error error = {0};
    size_t bytes;
    char *text = read_file(path, &bytes);
    enum base_code code = text ? plan_read(text, bytes, &correct_state.plan.plan, &error)
                               : base_fail(&error, BASE_IO, "it cannot be read");
    free(text);
    if (code == BASE_OK && !prepare_rows())
        code = base_no_memory(&error);
    if (code != BASE_OK) {
        refuse(path, &error);
        return false;
    }
    correct_owed_start();
    correct_sync_start();
    correct_copy_start();
    correct_pool_start();
    correct_back_start();
    correct_uses_start();
    correct_ask_start();
    correct_release_start();
    guard_state.table.owes = true;
    correct_state.on = true;
    return true;
}

// --- The row of a call ---------------------------------------------------------------------------

static bool has_id(const char *hex, const struct event_image *image)
{
    static const char figures[] = "0123456789abcdef";
    for (uint32_t i = 0; i < image->build_id_bytes; i++) {
        if (hex[2 * i] != figures[image->build_id[i] >> 4] ||
            hex[2 * i + 1] != figures[image->build_id[i] & 15])
            return false;
    }
    return image->build_id_bytes && !hex[2 * image->build_id_bytes];
}

static void say_other_build(const struct stack_images_image *image)
{
    for (size_t i = 0; i < correct_state.plan.plan.images.count; i++) {
        const char *path = correct_state.plan.plan.images.items[i].path;
        if (strlen(path) != image->path_bytes || memcmp(path, image->path, image->path_bytes) != 0)
            continue;
        if (atomic_exchange(&correct_state.plan.said[i], true))
            return;
        char text[1024];
        snprintf(text, sizeof(text),
                 "%s is a different build from the one in the profile: no call path through it is "
                 "corrected",
                 path);
        core_note(EVENT_WARNING, text);
        return;
    }
}

// Returns the plan's index of an image of the process; UINT32_MAX: it is not in the plan.
static uint32_t find_image(uint32_t number)
{
    if (!number)
        return UINT32_MAX;
    const struct stack_images_image *image =
        stack_images_at(stack_images(core_state.stacks), number);
    for (size_t i = 0; i < correct_state.plan.plan.images.count; i++)
        if (has_id(correct_state.plan.plan.images.items[i].build_id, &image->event))
            return (uint32_t)i;
    say_other_build(image);
    return UINT32_MAX;
}

// Returns the first frame outside of CUDA's libraries.
static uint32_t first_above(const struct stack_unwind_path *path)
{
    uint32_t first = 0;
    while (first < path->depth && path->image[first]) {
        const struct stack_images_image *image =
            stack_images_at(stack_images(core_state.stacks), path->image[first]);
        if (!plan_is_below(image->path, image->path_bytes))
            break;
        first++;
    }
    return first;
}

// Returns the number of the first row with the call's path; 0: none. Not inlined, because its frame
// is large.
static __attribute__((noinline)) uint32_t match(const struct core_call *call)
{
    struct stack_unwind_path path;
    struct plan_frame frames[UNWIND_MOST] = {{0}};
    stack_walk(core_state.stacks, call->caller, &path);
    uint64_t hash = path.truncated;
    const uint32_t first = first_above(&path), depth = path.depth - first;
    for (uint32_t i = first; i < path.depth; i++) {
        const uint32_t image = find_image(path.image[i]);
        if (image == UINT32_MAX)
            return 0;
        frames[i - first] = (struct plan_frame){
            image, path.pc[i] -
                       stack_images_at(stack_images(core_state.stacks), path.image[i])->event.bias};
        hash = hash_frame(hash, frames[i - first].image, frames[i - first].offset);
    }
    for (size_t i = 0; i < correct_state.plan.plan.rows.count; i++) {
        const struct plan_row *row = &correct_state.plan.plan.rows.items[i];
        if (correct_state.plan.hashes[i] != hash || row->frame_count != depth ||
            row->truncated != path.truncated)
            continue;
        const struct plan_frame *own = &correct_state.plan.plan.frames.items[row->first];
        bool same = true;
        for (uint32_t k = 0; same && k < depth; k++)
            same = own[k].image == frames[k].image && own[k].offset == frames[k].offset;
        if (same)
            return (uint32_t)i + 1;
    }
    return 0;
}

static uint32_t first_row(const struct core_call *call)
{
    if (!call || !call->stack || call->stack >= PATHS_MOST || !core_state.stacks)
        return 0;
    _Atomic uint32_t *place = &correct_state.plan.paths[call->stack];
    uint32_t known = atomic_load_explicit(place, memory_order_acquire);
    if (!known) {
        known = match(call) + 1;
        for (uint32_t i = known - 1; i; i = correct_state.plan.next[i - 1])
            atomic_store_explicit(&correct_state.plan.counts[i].stack, call->stack,
                                  memory_order_relaxed);
        atomic_store_explicit(place, known, memory_order_release);
    }
    return known - 1;
}

static const struct plan_row *find_row(uint32_t number, enum plan_remedy remedy)
{
    while (number && correct_state.plan.plan.rows.items[number - 1].remedy != remedy)
        number = correct_state.plan.next[number - 1];
    return number ? &correct_state.plan.plan.rows.items[number - 1] : NULL;
}

const struct plan_row *correct_row(enum plan_remedy remedy)
{
    return correct_state.on ? find_row(first_row(core_thread.call), remedy) : NULL;
}

bool correct_has_row(void)
{
    return correct_state.on && first_row(core_thread.call);
}

const struct plan_row *correct_row_after(const struct plan_row *after)
{
    return find_row(correct_state.plan.next[after - correct_state.plan.plan.rows.items],
                    after->remedy);
}

const struct plan_row *correct_row_of(size_t number)
{
    return &correct_state.plan.plan.rows.items[number - 1];
}

size_t correct_row_number(const struct plan_row *row)
{
    return (size_t)(row - correct_state.plan.plan.rows.items) + 1;
}

bool correct_is_plain(const char *kernel)
{
    for (size_t i = 0; i < correct_state.plan.plan.kernels.count; i++) {
        if (strcmp(correct_state.plan.plan.kernels.items[i], kernel) == 0)
            return true;
    }
    return false;
}

// --- Counts --------------------------------------------------------------------------------------

static void tell(size_t number)
{
    struct correct_counts *counts = &correct_state.plan.counts[number];
    struct event_correction record = {
        .row = (uint32_t)number,
        .remedy =
            number ? (uint32_t)correct_state.plan.plan.rows.items[number - 1].remedy : PLAN_NONE,
        .stack = atomic_load_explicit(&counts->stack, memory_order_relaxed)};
    for (unsigned i = 0; i < EVENT_CORRECTION_COUNTS; i++)
        record.counts[i] = atomic_load_explicit(&counts->count[i], memory_order_relaxed);
    core_put(EVENT_CORRECTION, &record, sizeof(record), NULL, 0);
}

// A record is written when a count has doubled, so that a killed process has recorded most of each
// count.
void correct_count(const struct plan_row *row, enum event_correction_count what, uint64_t n)
{
    const size_t number = row ? correct_row_number(row) : 0;
    _Atomic uint64_t *count = &correct_state.plan.counts[number].count[what];
    if (what == EVENT_CORRECTION_PEAK_BYTES || what == EVENT_CORRECTION_NATIVE_PEAK_BYTES) {
        uint64_t highest = atomic_load_explicit(count, memory_order_relaxed);
        while (highest < n && !atomic_compare_exchange_weak(count, &highest, n))
            ;
        return;
    }
    const uint64_t before = atomic_fetch_add_explicit(count, n, memory_order_relaxed);
    if ((what == EVENT_CORRECTION_APPLIED || what == EVENT_CORRECTION_LEFT) &&
        (before & (before + n)) == 0)
        tell(number);
}

static void finish(void)
{
    if (!correct_state.on)
        return;
    correct_end();
    for (size_t i = 0; i <= correct_state.plan.plan.rows.count; i++)
        tell(i);
}

// --- The layer -----------------------------------------------------------------------------------

static void before(struct core_call *call)
{
    correct_owed_before(call);
    correct_pool_before(call);
    correct_uses_before(call);
}

static void after(struct core_call *call)
{
    correct_owed_after(call);
    correct_release_after(call);
    correct_back_after(call);
}

static bool free_memory(struct core_call *call)
{
    (void)call;
    const bool backs = correct_back_give_back(), pools = correct_pool_give_back();
    return correct_release() || backs || pools;
}

static void context_gone(struct core_context *context, uint64_t call)
{
    (void)call;
    correct_back_context_gone(context);
}

const struct inject_layer correct_layer = {
    .name = "corrections",
    .start = start,
    .finish = finish,
    .before_fork = correct_before_fork,
    .after_fork = correct_after_fork,
    .forked = correct_forked,
    .before = before,
    .after = after,
    .free_memory = free_memory,
    .context_gone = context_gone,
    .touched = correct_touch,
    .memory_gone = correct_memory_gone,
    .block_gone = correct_block_gone,
    .reader_found = correct_off,
    .loading = correct_deliver,
    .clock_read = correct_pay,
};
