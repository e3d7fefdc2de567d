// SPDX-License-Identifier: Apache-2.0
// Walks the stack by the rules of cfi.h. A rule is valid for an address only while its image stays
// loaded, so a walk verifies each image that it passes.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include "unwind.h"

// --- Where the stack ends ------------------------------------------------------------------------

// Bounds of the stack that the thread last ran on. Initial-exec: access must not call the loader,
// which may allocate.
static __thread struct stack_unwind_bounds thread_bounds __attribute__((tls_model("initial-exec")));

struct maps_reader {
    uint64_t start, end; // parsed so far of the line
    unsigned field;      // 0: in the start address, 1: in the end address, 2: behind them
};

// Returns true when the line's mapping holds the address.
static bool maps_next(struct maps_reader *reader, char c, uint64_t address)
{
    if (c == '\n') {
        bool found = reader->start <= address && address < reader->end;
        if (!found)
            *reader = (struct maps_reader){0, 0, 0};
        return found;
    }
    unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                            : 16;
    if (digit == 16)
        reader->field += reader->field < 2;
    else if (reader->field == 0)
        reader->start = reader->start << 4 | digit;
    else if (reader->field == 1)
        reader->end = reader->end << 4 | digit;
    return false;
}

// Since Linux 6.11 the kernel answers queries about one mapping (PROCMAP_QUERY of <linux/fs.h>). In
// a process with thousands of mappings that is milliseconds faster than reading the list.
struct procmap_query {
    uint64_t size, flags, address;
    uint64_t start, end;
    uint64_t rest[8]; // attributes, name and build id of the mapping, which are not requested
};

static bool ask_for_mapping(long file, uint64_t address, struct stack_unwind_bounds *bounds)
{
    struct procmap_query query = {.size = sizeof(query), .address = address};
    if (syscall(SYS_ioctl, file, _IOWR('f', 17, struct procmap_query), &query))
        return false;
    *bounds = (struct stack_unwind_bounds){query.start, query.end};
    return true;
}

static __attribute__((noinline)) void read_mappings(long file, uint64_t address,
                                                    struct stack_unwind_bounds *bounds)
{
    char text[1024];
    struct maps_reader reader = {0, 0, 0};
    for (long got; (got = syscall(SYS_read, file, text, sizeof(text))) > 0;)
        for (long i = 0; i < got; i++)
            if (maps_next(&reader, text[i], address)) {
                *bounds = (struct stack_unwind_bounds){reader.start, reader.end};
                return;
            }
}

// Finds the mapping that holds the address. Makes system calls without the C library's functions,
// at which a thread may be cancelled.
static __attribute__((noinline)) struct stack_unwind_bounds find_mapping(uint64_t address)
{
    struct stack_unwind_bounds bounds = {0, 0};
    long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return bounds;
    if (!ask_for_mapping(file, address, &bounds))
        read_mappings(file, address, &bounds);
    syscall(SYS_close, file);
    return bounds;
}

// glibc keeps a thread's structure at the top of its stack. Memory above it is unrelated, and may
// be unmapped. The first thread's stack and alternative stacks have separate mappings.
static struct stack_unwind_bounds bounds_of(uint64_t sp)
{
    if (sp >= thread_bounds.low && sp < thread_bounds.high)
        return thread_bounds;
    int saved = errno;
    struct stack_unwind_bounds bounds = find_mapping(sp);
    errno = saved;
    uint64_t self = (uint64_t)(uintptr_t)pthread_self();
    if (self > sp && self < bounds.high)
        bounds.high = self;
    thread_bounds = bounds;
    return bounds;
}

struct stack_unwind_bounds stack_unwind_bounds_from(uint64_t sp)
{
    struct stack_unwind_bounds bounds = bounds_of(sp);
    bounds.low = sp;
    if (bounds.high < sizeof(uint64_t)) // none was found
        bounds.high = sizeof(uint64_t);
    return bounds;
}

enum { SMALL_BYTES = 48 << 10 };

// The first thread's stack grows, so the start of its mapping says nothing. The kernel puts the
// bytes that AT_RANDOM points to at its top.
bool stack_is_small(void)
{
    const uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    const struct stack_unwind_bounds bounds = bounds_of(sp);
    if (!bounds.high || sp - bounds.low >= SMALL_BYTES)
        return false;
    const uint64_t top = getauxval(AT_RANDOM);
    return top < bounds.low || top >= bounds.high;
}

// --- Rules by address ----------------------------------------------------------------------------

static inline uint64_t mix(uint64_t value)
{
    value *= UINT64_C(0x9E3779B97F4A7C15);
    return value ^ value >> 29;
}

// The products are independent of one another, and the walk need not wait for the comparison.
static inline uint64_t check_of(uint64_t pc, uint64_t a, uint64_t b, uint64_t c)
{
    return pc ^ a * UINT64_C(0x9E3779B97F4A7C15) ^ b * UINT64_C(0xD6E8FEB86659FD93) ^
           c * UINT64_C(0xC2B2AE3D27D4EB4F);
}

struct step {
    struct stack_cfi_rule rule;
    uint16_t image;
    bool stays; // the image is never unloaded
};

static inline struct stack_unwind_entry *set_of(struct stack_unwind *unwind, uint64_t pc)
{
    return unwind->entries[mix(pc) >> 32 & (UNWIND_SETS - 1)];
}

static inline bool look_up(struct stack_unwind *unwind, uint64_t pc, struct step *step)
{
    struct stack_unwind_entry *set = set_of(unwind, pc);
    for (unsigned i = 0; i < UNWIND_WAYS; i++) {
        uint64_t check = atomic_load_explicit(&set[i].check, memory_order_relaxed);
        uint64_t kind_cfa = atomic_load_explicit(&set[i].kind_cfa, memory_order_relaxed);
        uint64_t ra_fp = atomic_load_explicit(&set[i].ra_fp, memory_order_relaxed);
        uint64_t image = atomic_load_explicit(&set[i].image, memory_order_relaxed);
        if (check != check_of(pc, kind_cfa, ra_fp, image))
            continue;
        step->rule = (struct stack_cfi_rule){.kind = (uint8_t)kind_cfa,
                                             .fp = (uint8_t)(kind_cfa >> 8),
                                             .signs = (uint8_t)(kind_cfa >> 16),
                                             .cfa_offset = (int32_t)(kind_cfa >> 32),
                                             .ra_offset = (int32_t)ra_fp,
                                             .fp_offset = (int32_t)(ra_fp >> 32)};
        step->image = (uint16_t)image;
        step->stays = kind_cfa >> 24 & 0xFF;
        return true;
    }
    return false;
}

static void keep(struct stack_unwind *unwind, uint64_t pc, const struct step *step)
{
    const struct stack_cfi_rule *rule = &step->rule;
    uint64_t words[] = {rule->kind | (uint64_t)rule->fp << 8 | (uint64_t)rule->signs << 16 |
                            (uint64_t)step->stays << 24 |
                            (uint64_t)(uint32_t)rule->cfa_offset << 32,
                        (uint32_t)rule->ra_offset | (uint64_t)(uint32_t)rule->fp_offset << 32};
    struct stack_unwind_entry *set = set_of(unwind, pc), *place = NULL;
    for (unsigned i = 0; i < UNWIND_WAYS && !place;
         i++) { // the outdated one of this address, or an empty one
        uint64_t old[] = {atomic_load_explicit(&set[i].kind_cfa, memory_order_relaxed),
                          atomic_load_explicit(&set[i].ra_fp, memory_order_relaxed),
                          atomic_load_explicit(&set[i].image, memory_order_relaxed)};
        uint64_t check = atomic_load_explicit(&set[i].check, memory_order_relaxed);
        if (!check || check == check_of(pc, old[0], old[1], old[2]))
            place = &set[i];
    }
    if (!place) // the oldest is unknown: takes any
        place = &set[mix(pc ^ atomic_load_explicit(&set[0].check, memory_order_relaxed)) >> 32 &
                     (UNWIND_WAYS - 1)];
    atomic_store_explicit(&place->check, 1, memory_order_relaxed);
    atomic_store_explicit(&place->kind_cfa, words[0], memory_order_relaxed);
    atomic_store_explicit(&place->ra_fp, words[1], memory_order_relaxed);
    atomic_store_explicit(&place->image, step->image, memory_order_relaxed);
    atomic_store_explicit(&place->check, check_of(pc, words[0], words[1], step->image),
                          memory_order_relaxed);
}

#if defined(__aarch64__)
// Recognizes the code to which a signal handler returns. Some kernels have no .eh_frame for it, so
// this compares its two instructions, as libgcc does.
static bool returns_from_signal(const struct stack_images_image *image, uint64_t pc)
{
    static const uint32_t code[] = {0xD2801168, 0xD4000001}; // mov x8, #139; svc #0
    return pc + sizeof(code) <= image->event.end &&
           !memcmp((const void *)(uintptr_t)pc, code, sizeof(code));
}
#else
static bool returns_from_signal(const struct stack_images_image *image, uint64_t pc)
{
    (void)image, (void)pc;
    return false;
}
#endif

// pc is a return address, which may be the first address of the next function, so the address
// before it is looked up. If no image holds it, nothing is kept, because one may be loaded there
// later.
static __attribute__((noinline)) struct step find_step(struct stack_unwind *unwind, uint64_t pc)
{
    struct step step = {{.kind = CFI_STOP}, 0, false};
    uint32_t image = stack_images_find(&unwind->images, pc - 1);
    if (!image)
        return step;
    const struct stack_images_image *found = stack_images_at(&unwind->images, image);
    step.image = (uint16_t)image;
    step.stays = found->stays;
    step.rule = stack_cfi_find(&found->cfi, pc - 1);
    if (step.rule.kind == CFI_STOP && found->hidden && returns_from_signal(found, pc))
        step.rule.kind = CFI_OTHER;
    keep(unwind, pc, &step);
    return step;
}

// How many verified images a walk remembers. If it passes more, some are verified again.
enum { SURE = 16 };
struct sure {
    uint16_t image[SURE];
    unsigned next;
};

static __attribute__((noinline)) bool make_sure(const struct stack_unwind *unwind,
                                                struct sure *sure, uint16_t image, uint64_t pc)
{
    for (unsigned i = 0; i < SURE; i++)
        if (sure->image[i] == image)
            return true;
    if (!stack_images_is_at(&unwind->images, image, pc - 1))
        return false;
    sure->image[sure->next++ % SURE] = image;
    return true;
}

static inline struct step step_at(struct stack_unwind *unwind, struct sure *sure, uint64_t pc)
{
    struct step step;
    if (look_up(unwind, pc, &step) &&
        (step.stays || step.image == sure->image[0] || make_sure(unwind, sure, step.image, pc)))
        return step;
    return find_step(unwind, pc);
}

// --- The walk ------------------------------------------------------------------------------------

struct registers {
    uint64_t pc, sp, fp;
    bool fp_lost;
    bool fp_noted;    // it was used, and the notes say so
    uint64_t fp_from; // address from which it was read; 0: the path began with it
    uint64_t link;    // link register, if the path begins in an interrupted function; else 0
};

// Release: a thread that has seen that the notes change must not see less than that.
#define NOTE(field, value) atomic_store_explicit(&(field), value, memory_order_release)
#define NOTED(field)       atomic_load_explicit(&(field), memory_order_relaxed)

static inline void note(struct stack_unwind_notes *notes, const struct stack_unwind_bounds *bounds,
                        uint64_t address, uint64_t value)
{
    if (!notes)
        return;
    const uint32_t count = NOTED(notes->load_count);
    if (count < UNWIND_LOADS) {
        NOTE(notes->loads[count].place, (address - bounds->low) / sizeof(value));
        NOTE(notes->loads[count].value, value);
    }
    NOTE(notes->load_count, count + 1);
}

static inline bool load(struct stack_unwind_notes *notes, const struct stack_unwind_bounds *bounds,
                        uint64_t address, uint64_t *value)
{
    if (!stack_unwind_read(bounds, address, value))
        return false;
    note(notes, bounds, address, *value);
    return true;
}

// Notes the image of a frame.
static inline void note_image(struct stack_unwind_notes *notes, uint64_t pc, uint16_t image)
{
    if (!notes)
        return;
    const uint32_t count = NOTED(notes->moving_count);
    for (uint32_t i = 0; i < count && i < UNWIND_MOVING; i++)
        if (NOTED(notes->moving[i].image) == image)
            return;
    if (count < UNWIND_MOVING) {
        NOTE(notes->moving[count].pc, pc);
        NOTE(notes->moving[count].image, image);
    }
    NOTE(notes->moving_count, count + 1);
}

// A frame pointer often holds an unrelated value, so it is noted only if a rule uses it.
static inline void note_fp(struct stack_unwind_notes *notes,
                           const struct stack_unwind_bounds *bounds, struct registers *registers)
{
    if (registers->fp_noted)
        return;
    registers->fp_noted = true;
    if (registers->fp_from)
        note(notes, bounds, registers->fp_from, registers->fp);
    else if (notes)
        NOTE(notes->needs_fp, true);
}

static uint64_t without_signature(uint64_t address)
{
#if defined(__aarch64__)
    register uint64_t x30 __asm__("x30") = address;
    __asm__("hint #7" : "+r"(x30)); // xpaclri, which is a no-op on older processors
    return x30;
#else
    return address;
#endif
}

// Advances to the caller's registers. Returns false if the values there cannot belong to a stack.
static inline bool step_out(const struct stack_cfi_rule *rule,
                            const struct stack_unwind_bounds *bounds,
                            struct stack_unwind_notes *notes, struct registers *registers)
{
    if (rule->kind != CFI_SP || rule->fp == CFI_FP_AT_FP)
        note_fp(notes, bounds, registers);
    uint64_t base = rule->kind == CFI_SP ? registers->sp : registers->fp;
    uint64_t cfa = base + (uint64_t)(int64_t)rule->cfa_offset;
    if (rule->kind == CFI_FP_DEREF && !load(notes, bounds, cfa, &cfa))
        return false;
    uint64_t ra;
    if (cfa <= registers->sp || cfa > bounds->high || cfa % 8 ||
        !load(notes, bounds, cfa + (uint64_t)(int64_t)rule->ra_offset, &ra))
        return false;
    if (rule->fp == CFI_FP_AT_CFA || rule->fp == CFI_FP_AT_FP) {
        registers->fp_from =
            (rule->fp == CFI_FP_AT_CFA ? cfa : registers->fp) + (uint64_t)(int64_t)rule->fp_offset;
        registers->fp_noted = false;
        if (!stack_unwind_read(bounds, registers->fp_from, &registers->fp))
            return false;
    }
    if (rule->fp != CFI_FP_SAME)
        registers->fp_lost = rule->fp == CFI_FP_LOST;
    registers->pc = rule->signs ? without_signature(ra) : ra;
    registers->sp = cfa;
    return true;
}

enum ending { COMPLETE, TRUNCATED, NEEDS_LIBGCC };

static enum ending walk(struct stack_unwind *unwind, struct registers registers,
                        struct stack_unwind_path *path, struct stack_unwind_notes *notes)
{
    const struct stack_unwind_bounds bounds = stack_unwind_bounds_from(registers.sp);
    if (bounds.high < bounds.low + sizeof(uint64_t))
        return TRUNCATED;
    struct sure sure = {{0}, 0};
    for (;;) {
        struct step step = step_at(unwind, &sure, registers.pc);
        if (path->depth == UNWIND_MOST)
            return TRUNCATED;
        path->image[path->depth] = step.image;
        path->pc[path->depth++] = registers.pc;
        if (!step.stays)
            note_image(notes, registers.pc, step.image);
        switch ((enum stack_cfi_kind)step.rule.kind) {
        case CFI_END: return COMPLETE;
        case CFI_LINK:
            if (!registers.link)
                return TRUNCATED;
            registers.pc = step.rule.signs ? without_signature(registers.link) : registers.link;
            registers.sp += (uint64_t)(int64_t)step.rule.cfa_offset;
            registers.link = 0;
            continue;
        case CFI_STOP: return TRUNCATED;
        case CFI_OTHER: return NEEDS_LIBGCC;
        case CFI_FP:
        case CFI_FP_DEREF:
            if (registers.fp_lost)
                return NEEDS_LIBGCC;
            break;
        case CFI_SP: break;
        }
        if (!step_out(&step.rule, &bounds, notes, &registers))
            return TRUNCATED;
        if (!registers.pc)
            return COMPLETE;
        registers.link = 0;
    }
}

// --- libgcc's unwinder, for the rest -------------------------------------------------------------

struct backtrace {
    struct stack_unwind *unwind;
    struct stack_unwind_path *path;
    struct sure sure;
    uint64_t from; // the first address of the path
};

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *user)
{
    struct backtrace *backtrace = user;
    struct stack_unwind_path *path = backtrace->path;
    uint64_t pc = _Unwind_GetIP(context);
    if (!pc || (!path->depth && pc != backtrace->from)) // glint's own frames come first
        return _URC_NO_REASON;
    if (path->depth == UNWIND_MOST) {
        path->truncated = true;
        return _URC_NORMAL_STOP;
    }
    path->image[path->depth] = step_at(backtrace->unwind, &backtrace->sure, pc).image;
    path->pc[path->depth++] = pc;
    return _URC_NO_REASON;
}

static __attribute__((noinline)) void walk_slowly(struct stack_unwind *unwind, uint64_t from,
                                                  struct stack_unwind_path *path)
{
    path->depth = 0;
    path->truncated = false;
    path->slow = true;
    struct backtrace backtrace = {.unwind = unwind, .path = path, .from = from};
    _Unwind_Backtrace(take_frame, &backtrace);
}

static void clear(struct stack_unwind_path *path, struct stack_unwind_notes *notes)
{
    path->depth = 0;
    path->slow = false;
    if (!notes)
        return;
    NOTE(notes->needs_fp, false);
    NOTE(notes->load_count, 0);
    NOTE(notes->moving_count, 0);
}

void stack_unwind_from(struct stack_unwind *unwind, struct stack_unwind_registers from,
                       struct stack_unwind_path *path, struct stack_unwind_notes *notes)
{
    clear(path, notes);
    enum ending ending =
        walk(unwind, (struct registers){.pc = from.pc, .sp = from.sp, .fp = from.fp}, path, notes);
    path->truncated = ending != COMPLETE;
    if (ending == NEEDS_LIBGCC)
        walk_slowly(unwind, from.pc, path);
}

// libgcc returns the address of the instruction, from which nothing has to be subtracted.
void stack_unwind_interrupted(struct stack_unwind *unwind, struct stack_unwind_registers from,
                              uint64_t link, struct stack_unwind_path *path)
{
    clear(path, NULL);
    enum ending ending =
        walk(unwind, (struct registers){.pc = from.pc, .sp = from.sp, .fp = from.fp, .link = link},
             path, NULL);
    path->truncated = ending != COMPLETE;
    if (ending != NEEDS_LIBGCC)
        return;
    walk_slowly(unwind, from.pc - 1, path);
    if (path->depth)
        path->pc[0] = from.pc;
}
