// SPDX-License-Identifier: Apache-2.0
// Finds the interpreter's version, checks the layout against the frames that it first sees, and
// reads frames in one of two ways.
//
// A thread's own frames and their code exist while the thread runs them, so it may read them
// directly. The exception is the end of the interpreter: it frees the states of all other threads,
// which may be in a CUDA call meanwhile, as daemon threads are. The first thread of the process
// ends the interpreter itself and reads directly; other threads read with system calls, which fail
// where nothing is left. So do signal handlers, which may interrupt Python anywhere, and all reads
// before the layout is checked. Rejected: looking whether the interpreter is being ended. It may
// begin to end between the look and the read.
#include "python.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "codes.h"
#include "inject/util/next.h"

enum state {
    STATE_NEW = 0, // the layout is not checked yet
    STATE_GOOD,
    STATE_OFF, // frames are not read
};

struct python {
    _Atomic int state;
    _Atomic bool noted;
    void *(*this_thread)(void); // PyGILState_GetThisThreadState
    struct python_layout layout;
    // Valid if the state is GOOD. All threads that check the layout find the same.
    _Atomic uint64_t code_type, bytes_type, text_type;
    struct python_codes *codes;
    const char *_Atomic why; // frames are not read; NULL: they are
};

#define NOT_READ "Python frames are not in call paths: "

// --- The interpreter -----------------------------------------------------------------------------

static bool is_version(const char *text, const char *end)
{
    while (text < end && ((*text >= '0' && *text <= '9') || *text == '.'))
        text++;
    return text == end;
}

// Returns whether it is the name of an interpreter: python, python3.11, libpython3.11.so.1.0.
static bool is_name(const char *path, uint32_t bytes)
{
    static const char program[] = "python", library[] = "libpython";
    const char *end = path + bytes, *name = end;
    while (name > path && name[-1] != '/')
        name--;
    const size_t length = (size_t)(end - name);
    return (length >= strlen(library) && !memcmp(name, library, strlen(library))) ||
           (length >= strlen(program) && !memcmp(name, program, strlen(program)) &&
            is_version(name + strlen(program), end));
}

enum python_kind python_recognize(const struct link_map *image, const char *path,
                                  uint32_t path_bytes)
{
    if (util_symbol(image, "PyGILState_GetThisThreadState"))
        return PYTHON_FOUND;
    // An executable that is linked with libpython has such a name, too, and Python is not in it.
    return path && is_name(path, path_bytes) && !util_needs(image, "libpython") ? PYTHON_NAMELESS
                                                                                : PYTHON_NONE;
}

// Returns Py_Version; for 3.9 and 3.10, which have none, a version that has the same functions; 0:
// older.
static uint32_t version_of(const struct link_map *image)
{
    const unsigned long *version = util_symbol(image, "Py_Version");
    if (version)
        return (uint32_t)*version;
    return util_symbol(image, "PyIter_Send")       ? 0x030A0000
           : util_symbol(image, "PyFrame_GetBack") ? 0x03090000
                                                   : 0;
}

// Returns why the frames of the interpreter cannot be read; NULL: they can.
static const char *find_layout(const struct link_map *image, struct python_layout *layout)
{
    const uint32_t hex = version_of(image);
    const unsigned minor = hex >> 16 & 0xFF;
    if (hex >> 24 != 3 || minor < 9)
        return NOT_READ "glint knows Python 3.9 to 3.14, and this version is older";
    if (minor > 14)
        return NOT_READ "glint knows Python 3.9 to 3.14, and this version is newer";
    if (python_layout_of_version(minor, layout))
        return NULL;
    const uint64_t *words = util_symbol(image, "_PyRuntime");
    if (!words || !python_layout_of_offsets(hex, words, layout))
        return NOT_READ "this build of Python does not say where they are, or has no global lock";
    return NULL;
}

static struct python *make(bool scarce, _Atomic uint32_t *numbers)
{
    struct python *python =
        mmap(NULL, sizeof(*python), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (python == MAP_FAILED)
        return NULL;
    python->codes = python_codes_make(scarce, numbers);
    if (!python->codes) {
        munmap(python, sizeof(*python));
        return NULL;
    }
    return python;
}

struct python *python_make(const struct link_map *image, bool scarce, _Atomic uint32_t *numbers)
{
    const int saved = errno;
    struct python *python = make(scarce, numbers);
    errno = saved;
    if (!python)
        return NULL;
    void *this_thread = util_symbol(image, "PyGILState_GetThisThreadState");
    memcpy(&python->this_thread, &this_thread, sizeof(this_thread));
    const char *why = find_layout(image, &python->layout);
    if (why) {
        atomic_store(&python->why, why);
        atomic_store(&python->state, STATE_OFF);
    }
    return python;
}

struct python *python_make_of(const struct python_layout *layout, void *(*this_thread)(void),
                              _Atomic uint32_t *numbers)
{
    struct python *python = make(false, numbers);
    if (!python)
        return NULL;
    python->layout = *layout;
    python->this_thread = this_thread;
    return python;
}

void python_free(struct python *python)
{
    if (!python)
        return;
    python_codes_free(python->codes);
    munmap(python, sizeof(*python));
}

// --- Notes ---------------------------------------------------------------------------------------

static void put_note(struct event_ring *ring, const char *text)
{
    const struct event_note note = {EVENT_WARNING};
    event_put(ring, EVENT_NOTE, &note, sizeof(note), text, strlen(text));
}

void python_note_nameless(struct event_ring *ring)
{
    put_note(ring, NOT_READ "the interpreter exports no symbols");
}

static void note_why(struct python *python, struct event_ring *ring)
{
    if (!atomic_exchange_explicit(&python->noted, true, memory_order_relaxed))
        put_note(ring, atomic_load(&python->why));
}

static void turn_off(struct python *python, const char *why)
{
    const char *none = NULL;
    atomic_compare_exchange_strong(&python->why, &none, why);
    atomic_store(&python->state, STATE_OFF);
}

// --- Frames --------------------------------------------------------------------------------------

// 0: not known yet. Initial-exec: see core_thread.
static __thread uint8_t whose __attribute__((tls_model("initial-exec")));

static bool is_first_thread(void)
{
    enum { FIRST = 1, OTHER = 2 };
    if (!whose)
        whose = syscall(SYS_gettid) == getpid() ? FIRST : OTHER;
    return whose == FIRST;
}

static bool may_read(void)
{
    uint64_t word = 1, read = 0;
    return python_read((uint64_t)(uintptr_t)&word, &read, sizeof(read)) && read == word;
}

// Checks the layout by the frames. Returns false if there are none, which says nothing.
static bool check(struct python *python, uint64_t thread, const struct python_walk *walk,
                  bool walked)
{
    static const char wrong[] = NOT_READ "they are not where this version of Python has them";
    struct python_types types;
    uint64_t id;
    if (!may_read()) {
        turn_off(python, NOT_READ "the system forbids to check where they are");
        return false;
    }
    if (!python_read(thread + python->layout.thread_id, &id, sizeof(id)) ||
        id != (uint64_t)pthread_self() || !walked) {
        turn_off(python, wrong);
        return false;
    }
    if (walk->depth == 0)
        return false;
    for (uint32_t i = 0; i < walk->depth; i++) {
        if (!python_codes_types(&python->layout, walk->frames[i].code, &types)) {
            turn_off(python, wrong);
            return false;
        }
    }
    int state = STATE_NEW;
    atomic_store_explicit(&python->code_type, types.code, memory_order_relaxed);
    atomic_store_explicit(&python->bytes_type, types.bytes, memory_order_relaxed);
    atomic_store_explicit(&python->text_type, types.text, memory_order_relaxed);
    atomic_compare_exchange_strong_explicit(&python->state, &state, STATE_GOOD,
                                            memory_order_release, memory_order_relaxed);
    return true;
}

// Leaves out what is no code of Python. Returns false if some frame is unknown.
static bool learn(struct python *python, struct event_ring *ring, struct python_walk *walk,
                  uint32_t *numbers)
{
    const struct python_types types = {
        .code = atomic_load_explicit(&python->code_type, memory_order_relaxed),
        .bytes = atomic_load_explicit(&python->bytes_type, memory_order_relaxed),
        .text = atomic_load_explicit(&python->text_type, memory_order_relaxed)};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < walk->depth; i++) {
        const enum python_codes_answer answer =
            numbers[i] ? PYTHON_CODES_KNOWN
                       : python_codes_learn(python->codes, &python->layout, &types, ring,
                                            walk->frames[i].code, &numbers[i]);
        if (answer == PYTHON_CODES_UNKNOWN)
            return false;
        if (answer == PYTHON_CODES_OTHER)
            continue;
        walk->frames[kept] = walk->frames[i];
        numbers[kept++] = numbers[i];
    }
    walk->depth = kept;
    return true;
}

static uint32_t give(const struct python_walk *walk, const uint32_t *numbers, uint64_t *keys,
                     bool *truncated)
{
    for (uint32_t i = 0; i < walk->depth; i++)
        keys[i] = event_python_frame(numbers[i], walk->frames[i].offset, walk->frames[i].entry);
    *truncated = walk->truncated;
    return walk->depth;
}

// Not inlined, because its frame is large.
static __attribute__((noinline)) uint32_t read_carefully(struct python *python,
                                                         struct event_ring *ring, uint64_t thread,
                                                         uint64_t *keys, bool *truncated)
{
    const int saved = errno;
    struct python_window window;
    struct python_walk walk;
    uint32_t numbers[PYTHON_FRAMES_MOST];
    window.bytes = 0;
    bool good = python_walk(&python->layout, thread, &window, &walk);
    if (atomic_load_explicit(&python->state, memory_order_acquire) == STATE_NEW)
        good = check(python, thread, &walk, good);
    if (good)
        python_codes_recall_all(python->codes, walk.frames, walk.depth, numbers);
    good = good && learn(python, ring, &walk, numbers);
    errno = saved;
    return good ? give(&walk, numbers, keys, truncated) : 0;
}

// Reads what is new with system calls: python_codes_recall has not answered for it.
static __attribute__((noinline)) bool learn_rest(struct python *python, struct event_ring *ring,
                                                 struct python_walk *walk, uint32_t *numbers)
{
    const int saved = errno;
    const bool good = learn(python, ring, walk, numbers);
    errno = saved;
    return good;
}

static uint32_t read_directly(struct python *python, struct event_ring *ring, uint64_t thread,
                              uint64_t *keys, bool *truncated)
{
    struct python_walk walk;
    uint32_t numbers[PYTHON_FRAMES_MOST];
    struct python_recalled last = {0};
    bool all = true;
    if (!python_walk(&python->layout, thread, NULL, &walk))
        return 0;
    for (uint32_t i = 0; i < walk.depth; i++) {
        const bool known =
            python_codes_recall(python->codes, &python->layout, walk.frames[i].code, &last);
        numbers[i] = known ? last.number : 0;
        all &= known;
    }
    return all || learn_rest(python, ring, &walk, numbers) ? give(&walk, numbers, keys, truncated)
                                                           : 0;
}

uint32_t python_frames(struct python *python, struct event_ring *ring, bool in_signal,
                       uint64_t keys[PYTHON_FRAMES_MOST], bool *truncated)
{
    const int state = atomic_load_explicit(&python->state, memory_order_acquire);
    if (state == STATE_OFF) {
        note_why(python, ring);
        return 0;
    }
    const uint64_t thread = (uint64_t)(uintptr_t)python->this_thread();
    if (!thread)
        return 0;
    const uint32_t count = state == STATE_GOOD && !in_signal && is_first_thread()
                               ? read_directly(python, ring, thread, keys, truncated)
                               : read_carefully(python, ring, thread, keys, truncated);
    if (!count && atomic_load_explicit(&python->state, memory_order_relaxed) == STATE_OFF)
        note_why(python, ring);
    return count;
}
