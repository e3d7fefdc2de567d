// SPDX-License-Identifier: Apache-2.0
// What the log says about values: which pieces of objects are written, and which stores change
// nothing. Each thread of the clone executes the writes of the kernel's thread in the same order,
// so the kernel's launch tells from which site a write of the clone comes. The contents of objects
// are replayed in the clone's launch, in which threads that race may win in another order.
#include <string.h>

#include "base/base.h"
#include "gpusim/gpusim.h"
#include "oracle.h"

enum { BLOCK_THREADS = 1024, MOST_LOADED = 16, LOADS = 16 };

struct thread {
    BASE_ARRAY(uint32_t) sites; // of its writes, in the kernel's launch
    size_t done;                // writes in the clone's launch
    // What probes of the thread loaded, of which the last is overwritten first. That is what they
    // compare with: between a load and a store, other warps may have run, and lanes that have
    // diverged. If the thread or a lane that runs with it has written there since, the load does
    // not count.
    struct load {
        uint64_t address;
        uint32_t bytes; // 0: none
        unsigned char loaded[MOST_LOADED];
    } loads[LOADS];
    unsigned next;
};

struct object {
    unsigned char *memory;
    bool *written; // by piece
    uint64_t pieces;
    uint64_t stored, silent;
};

struct oracle_values {
    const struct oracle_told *told;
    struct object objects[ORACLE_OBJECTS];
    struct thread *threads;
    size_t thread_count;
    uint64_t *silent; // by site
    uint64_t *still;  // by site
    bool *strayed;    // by site: it wrote to another object than its root's
    bool lost;        // a write of the clone that the kernel does not have
};

struct oracle_values *oracle_values_create(const struct oracle_case *test,
                                           const struct oracle_told *told)
{
    struct oracle_values *values = oracle_must(calloc(1, sizeof(*values)));
    values->told = told;
    values->thread_count = (size_t)test->grid[0] * test->grid[1] * test->grid[2] * BLOCK_THREADS;
    values->threads = oracle_must(calloc(values->thread_count, sizeof(*values->threads)));
    values->silent = oracle_must(calloc(told->site_count + 1, sizeof(*values->silent)));
    values->still = oracle_must(calloc(told->site_count + 1, sizeof(*values->still)));
    values->strayed = oracle_must(calloc(told->site_count + 1, sizeof(*values->strayed)));
    for (unsigned i = 0; i < told->object_count; i++) {
        struct object *object = &values->objects[i];
        const struct oracle_object *from = &told->objects[i];
        const uint64_t lead = from->address - from->pieces.base;
        object->memory = oracle_must(malloc(from->bytes + 1));
        memcpy(object->memory, from->initial, from->bytes);
        object->pieces = ((lead + from->bytes - 1) >> INSTRUMENT_PIECE_SHIFT) + 1;
        object->written = oracle_must(calloc(object->pieces, 1));
    }
    return values;
}

void oracle_values_destroy(struct oracle_values *values)
{
    if (!values)
        return;
    for (size_t i = 0; i < values->thread_count; i++)
        base_array_fini(&values->threads[i].sites);
    for (unsigned i = 0; i < ORACLE_OBJECTS; i++) {
        free(values->objects[i].memory);
        free(values->objects[i].written);
    }
    free(values->threads);
    free(values->silent);
    free(values->still);
    free(values->strayed);
    free(values);
}

// Returns the object that holds the address, or ORACLE_OBJECTS.
static unsigned object_at(const struct oracle_told *told, uint64_t address)
{
    for (unsigned i = 0; i < told->object_count; i++) {
        const struct oracle_object *object = &told->objects[i];
        if (address >= object->address && address - object->address < object->bytes)
            return i;
    }
    return ORACLE_OBJECTS;
}

static struct thread *thread_of(struct oracle_values *values,
                                const struct gpusim_log_access *access, unsigned lane)
{
    return &values->threads[access->block * BLOCK_THREADS + access->warp * 32 + lane];
}

// A store whose old value may be loaded. Others may wait for a volatile or releasing store.
static bool is_plain_store(const struct oracle_site *site)
{
    return strncmp(site->opcode, "st.", 3) == 0 && !strstr(site->opcode, ".volatile") &&
           !strstr(site->opcode, ".release") && !strstr(site->opcode, ".mmio");
}

// An atomic operation on one word of 4 or 8 bytes.
static bool is_plain_atomic(const struct oracle_site *site)
{
    static const char *const types[] = {".u32", ".s32", ".b32", ".u64",   ".s64",
                                        ".b64", ".f32", ".f64", ".f16x2", ".bf16x2"};
    const char *type = strrchr(site->opcode, '.');
    if ((strncmp(site->opcode, "atom.", 5) != 0 && strncmp(site->opcode, "red.", 4) != 0) ||
        strstr(site->opcode, ".v2.") || strstr(site->opcode, ".v4."))
        return false;
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(type, types[i]) == 0)
            return true;
    }
    return false;
}

// --- The kernel's launch -------------------------------------------------------------------------

static void see_kernel(struct oracle_values *values, const struct gpusim_log_access *access,
                       unsigned lane)
{
    const struct oracle_told *told = values->told;
    const uint64_t address = access->address[lane];
    const unsigned number = object_at(told, address);
    if (number == ORACLE_OBJECTS || access->kind == GPUSIM_LOG_LOAD)
        return;
    uint32_t site = 0;
    while (site < told->site_count && (told->sites[site].index != access->site->index ||
                                       strcmp(told->sites[site].function, access->site->function)))
        site++;
    *(uint32_t *)oracle_must(base_array_push(&thread_of(values, access, lane)->sites)) = site;
    const uint64_t at = address - told->objects[number].pieces.base;
    for (uint64_t piece = at >> INSTRUMENT_PIECE_SHIFT;
         piece <= (at + access->bytes - 1) >> INSTRUMENT_PIECE_SHIFT; piece++) {
        if (piece < values->objects[number].pieces)
            values->objects[number].written[piece] = true;
    }
}

// --- The clone's launch --------------------------------------------------------------------------

static bool is_silent(const struct oracle_values *values, const struct gpusim_log_access *access,
                      const struct thread *thread, unsigned number, uint64_t address,
                      const unsigned char *now, const unsigned char *after)
{
    if (access->kind != GPUSIM_LOG_STORE)
        return memcmp(now, after, access->bytes) == 0;
    for (unsigned i = 1; i <= LOADS; i++) {
        const struct load *load = &thread->loads[(thread->next + LOADS - i) % LOADS];
        if (load->address == address && load->bytes == access->bytes)
            return memcmp(now, load->loaded, access->bytes) == 0;
    }
    const uint64_t at = address - values->told->objects[number].address;
    return memcmp(now, values->objects[number].memory + at, access->bytes) == 0;
}

static void count(struct oracle_values *values, uint32_t number, unsigned object, uint32_t bytes,
                  bool silent)
{
    const struct oracle_site *site = &values->told->sites[number];
    const struct instrument_pieces *pieces = &values->told->objects[object].pieces;
    if (!pieces->loads || !pieces->bytes)
        return;
    if (site->rooted && site->object == object) {
        values->silent[number] += silent;
    } else if (is_plain_store(site)) {
        values->objects[object].stored += bytes;
        values->objects[object].silent += silent ? bytes : 0;
    }
}

// What a lane wrote: whether it changed something, and the site to which it counts.
struct written {
    bool counts, silent;
    uint32_t site;
};

static struct written see_write(struct oracle_values *values,
                                const struct gpusim_log_access *access, unsigned lane, unsigned nth)
{
    const struct written nothing = {.counts = false};
    const uint64_t address = access->address[lane];
    const unsigned number = object_at(values->told, address);
    struct thread *thread = thread_of(values, access, lane);
    if (number == ORACLE_OBJECTS)
        return nothing;
    const uint32_t site = thread->done < thread->sites.count ? thread->sites.items[thread->done]
                                                             : values->told->site_count;
    thread->done++;
    if (site == values->told->site_count) {
        values->lost = true;
        return nothing;
    }
    values->strayed[site] |=
        values->told->sites[site].rooted && values->told->sites[site].object != number;
    const unsigned char *now = access->values + nth * access->value_stride;
    const unsigned char *after = access->after ? access->after + nth * access->value_stride : NULL;
    const bool silent = is_silent(values, access, thread, number, address, now, after);
    count(values, site, number, access->bytes, silent);
    const struct instrument_pieces *pieces = &values->told->objects[number].pieces;
    return (struct written){.counts = values->told->sites[site].rooted &&
                                      values->told->sites[site].object == number && pieces->loads &&
                                      pieces->bytes,
                            .silent = silent,
                            .site = site};
}

// Counts silent atomic operations of a warp in whose sector none of its lanes changed anything.
static void count_still(struct oracle_values *values, const struct gpusim_log_access *access,
                        const struct written *lanes)
{
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        bool still = lanes[lane].counts && lanes[lane].silent;
        for (uint32_t others = access->mask; others && still; others &= others - 1) {
            const unsigned other = (unsigned)__builtin_ctz(others);
            still = !lanes[other].counts || lanes[other].silent ||
                    access->address[other] / 32 != access->address[lane] / 32;
        }
        if (still)
            values->still[lanes[lane].site]++;
    }
}

static void see_load(struct oracle_values *values, const struct gpusim_log_access *access,
                     unsigned lane)
{
    const uint64_t address = access->address[lane];
    const unsigned number = object_at(values->told, address);
    struct thread *thread = thread_of(values, access, lane);
    if (number == ORACLE_OBJECTS || access->bytes > MOST_LOADED ||
        strncmp(access->site->text, "ld.global.cg", 12) != 0)
        return;
    struct load *load = &thread->loads[thread->next++ % LOADS];
    load->address = address;
    load->bytes = access->bytes;
    memcpy(load->loaded,
           values->objects[number].memory + (address - values->told->objects[number].address),
           access->bytes);
}

// Drops what lanes that run together loaded where one of them has written.
static void drop_loads(struct oracle_values *values, const struct gpusim_log_access *access,
                       uint64_t address)
{
    for (uint32_t left = access->mask; left; left &= left - 1) {
        struct thread *thread = thread_of(values, access, (unsigned)__builtin_ctz(left));
        for (unsigned i = 0; i < LOADS; i++) {
            struct load *load = &thread->loads[i];
            if (load->address < address + access->bytes && address < load->address + load->bytes)
                load->bytes = 0;
        }
    }
}

static void change(struct oracle_values *values, const struct gpusim_log_access *access,
                   unsigned lane, unsigned nth)
{
    const unsigned number = object_at(values->told, access->address[lane]);
    const unsigned char *bytes = access->kind == GPUSIM_LOG_STORE ? access->values : access->after;
    if (number == ORACLE_OBJECTS)
        return;
    drop_loads(values, access, access->address[lane]);
    memcpy(values->objects[number].memory +
               (access->address[lane] - values->told->objects[number].address),
           bytes + nth * access->value_stride, access->bytes);
}

void oracle_values_see(struct oracle_values *values, const struct gpusim_log_access *access,
                       bool clone)
{
    struct written lanes[32];
    unsigned nth = 0;
    for (uint32_t left = access->mask; left; left &= left - 1, nth++) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        if (!clone)
            see_kernel(values, access, lane);
        else if (access->kind == GPUSIM_LOG_LOAD)
            see_load(values, access, lane);
        else
            lanes[lane] = see_write(values, access, lane, nth);
    }
    if (clone && access->kind != GPUSIM_LOG_LOAD && access->kind != GPUSIM_LOG_STORE)
        count_still(values, access, lanes);
    nth = 0;
    for (uint32_t left = access->mask; clone && left; left &= left - 1, nth++) {
        if (access->kind != GPUSIM_LOG_LOAD)
            change(values, access, (unsigned)__builtin_ctz(left), nth);
    }
}

// --- Comparing -----------------------------------------------------------------------------------

static void judge_marks(const struct oracle_object *object, const struct object *truth,
                        struct base_buf *complaints)
{
    uint64_t marked = 0, wanted = 0;
    for (uint64_t i = 0; i <= object->pieces.mask; i++)
        marked += object->marks[i] != 0;
    for (uint64_t i = 0; i < truth->pieces; i++) {
        const bool told =
            object->marks[(uint32_t)i * (uint32_t)INSTRUMENT_PIECE_STEP & object->pieces.mask];
        const bool want = truth->written[i] && object->pieces.bytes;
        wanted += want;
        if (told != want)
            base_buf_printf(complaints, "%s: piece %llu: marked %u, wanted %u\n", object->name,
                            (unsigned long long)i, told, want);
    }
    if (marked != wanted)
        base_buf_printf(complaints, "%s: %llu marks, wanted %llu\n", object->name,
                        (unsigned long long)marked, (unsigned long long)wanted);
    if (object->stored != truth->stored || object->silent != truth->silent)
        base_buf_printf(complaints, "%s: %llu bytes stored, %llu silent, wanted %llu, %llu\n",
                        object->name, (unsigned long long)object->stored,
                        (unsigned long long)object->silent, (unsigned long long)truth->stored,
                        (unsigned long long)truth->silent);
}

void oracle_values_judge(const struct oracle_values *values, struct base_buf *complaints)
{
    const struct oracle_told *told = values->told;
    bool fewer = false;
    for (size_t i = 0; i < values->thread_count; i++)
        fewer |= values->threads[i].done != values->threads[i].sites.count;
    if (values->lost || fewer)
        base_buf_puts(complaints, "threads of the clone do not write what the kernel's write\n");
    for (unsigned i = 0; i < told->object_count; i++)
        judge_marks(&told->objects[i], &values->objects[i], complaints);
    for (unsigned i = 0; i < told->site_count; i++) {
        const struct oracle_site *site = &told->sites[i];
        if (site->rooted && (is_plain_store(site) || is_plain_atomic(site)) && !site->examined)
            base_buf_printf(complaints, "instruction %u, %s: not examined\n", site->index,
                            site->opcode);
        if (site->examined && !values->strayed[i] && site->silent != values->silent[i])
            base_buf_printf(complaints, "instruction %u, %s: %llu silent, wanted %llu\n",
                            site->index, site->opcode, (unsigned long long)site->silent,
                            (unsigned long long)values->silent[i]);
        if (site->examined && site->stilled != is_plain_atomic(site))
            base_buf_printf(complaints, "instruction %u, %s: sectors are counted: %u\n",
                            site->index, site->opcode, site->stilled);
        if (site->stilled && !values->strayed[i] && site->still != values->still[i])
            base_buf_printf(complaints, "instruction %u, %s: %llu still, wanted %llu\n",
                            site->index, site->opcode, (unsigned long long)site->still,
                            (unsigned long long)values->still[i]);
    }
}
