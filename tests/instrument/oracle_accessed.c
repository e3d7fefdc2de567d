// SPDX-License-Identifier: Apache-2.0
// What the log says about accessed values: the bits and the greatest magnitude of what loads and
// stores of roots move in each field. Each thread of the clone executes the accesses of the
// kernel's thread in the same order, and loads of probes between them, so the kernel's launch tells
// from which site an access of the clone comes. Where a field lies follows from the address alone.
#include <string.h>

#include "base/base.h"
#include "gpusim/gpusim.h"
#include "oracle.h"

enum { BLOCK_THREADS = 1024, MOST_ALIGN = 32 };

struct step { // of a thread
    uint64_t address;
    uint32_t site;
    uint8_t kind; // enum gpusim_log_access_kind
};

struct thread {
    BASE_ARRAY(struct step) steps; // in the kernel's launch
    size_t done;                   // in the clone's launch
};

struct oracle_accessed {
    const struct oracle_told *told;
    struct thread *threads;
    size_t thread_count;
    struct instrument_accessed_words *words; // by number in told->accessed
    bool *strayed;                           // by root: an access left its object
    bool *executed;                          // by site
    bool lost;                               // an access of the clone that the kernel does not have
    bool pieces;                             // an observed access moves a piece of a field
};

struct oracle_accessed *oracle_accessed_create(const struct oracle_case *test,
                                               const struct oracle_told *told)
{
    struct oracle_accessed *accessed = oracle_must(calloc(1, sizeof(*accessed)));
    accessed->told = told;
    accessed->thread_count = (size_t)test->grid[0] * test->grid[1] * test->grid[2] * BLOCK_THREADS;
    accessed->threads = oracle_must(calloc(accessed->thread_count, sizeof(struct thread)));
    accessed->words = oracle_must(calloc(told->accessed_count + 1, sizeof(*accessed->words)));
    accessed->strayed = oracle_must(calloc(told->root_count + 1, sizeof(bool)));
    accessed->executed = oracle_must(calloc(told->site_count + 1, sizeof(bool)));
    return accessed;
}

void oracle_accessed_destroy(struct oracle_accessed *accessed)
{
    if (!accessed)
        return;
    for (size_t i = 0; i < accessed->thread_count; i++)
        base_array_fini(&accessed->threads[i].steps);
    free(accessed->threads);
    free(accessed->words);
    free(accessed->strayed);
    free(accessed->executed);
    free(accessed);
}

static const struct oracle_object *object_at(const struct oracle_told *told, uint64_t address)
{
    for (unsigned i = 0; i < told->object_count; i++) {
        const struct oracle_object *object = &told->objects[i];
        if (address >= object->address && address - object->address < object->bytes)
            return object;
    }
    return NULL;
}

// --- Values --------------------------------------------------------------------------------------

static uint32_t size_of(uint32_t type)
{
    static const uint8_t sizes[] = {4, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8}; // FACTS_VALUE_TYPES
    return sizes[type];
}

static uint64_t magnitude(uint32_t type, uint64_t value)
{
    const unsigned bits = 8 * size_of(type);
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    const bool is_signed = type == INSTRUMENT_TYPE_S8 || type == INSTRUMENT_TYPE_S16 ||
                           type == INSTRUMENT_TYPE_S32 || type == INSTRUMENT_TYPE_S64;
    if (type >= INSTRUMENT_TYPE_F16)
        return value & (sign - 1);
    return is_signed && value & sign ? (sign << 1) - value : value;
}

// Makes all NaNs the same.
static uint64_t plain_most(uint32_t type, uint64_t most)
{
    const uint64_t infinity = type == INSTRUMENT_TYPE_F16    ? 0x7c00
                              : type == INSTRUMENT_TYPE_BF16 ? 0x7f80
                              : type == INSTRUMENT_TYPE_F32  ? 0x7f800000
                              : type == INSTRUMENT_TYPE_F64  ? UINT64_C(0x7ff0000000000000)
                                                             : UINT64_MAX;
    return most > infinity ? UINT64_MAX : most;
}

static void combine(struct instrument_accessed_words *words, uint32_t type, uint64_t value)
{
    const uint64_t all = UINT64_MAX >> (64 - 8 * size_of(type)), none = ~value & all;
    words->any |= (uint32_t)value;
    words->any_high |= (uint32_t)(value >> 32);
    words->none |= (uint32_t)none;
    words->none_high |= (uint32_t)(none >> 32);
    if (magnitude(type, value) > words->most)
        words->most = magnitude(type, value);
}

static void take_field(struct oracle_accessed *accessed, const struct oracle_site *site,
                       uint32_t field, uint32_t type, const unsigned char *bytes)
{
    const struct oracle_told *told = accessed->told;
    uint64_t value = 0;
    memcpy(&value, bytes, size_of(type));
    for (unsigned i = 0; i < told->accessed_count; i++) {
        const struct instrument_accessed *about = &told->accessed[i].about;
        if (about->root == site->root && about->field == field &&
            about->written == (site->access == 1)) {
            combine(&accessed->words[i], type, value);
            return;
        }
    }
    accessed->pieces = true;
}

static void take(struct oracle_accessed *accessed, const struct oracle_site *site,
                 const struct gpusim_log_access *access, uint64_t address,
                 const unsigned char *values)
{
    const struct oracle_root *root = &accessed->told->roots[site->root];
    const struct instrument_layout *layout = &root->layout;
    for (uint32_t at = 0; at < access->bytes;) {
        const int64_t from = (int64_t)(address + at - root->address) % layout->stride;
        const uint32_t offset = (uint32_t)(from < 0 ? from + layout->stride : from);
        uint32_t size = 1;
        for (uint32_t i = 0; i < layout->field_count; i++) {
            const uint32_t type = layout->fields[i].type, own = size_of(type);
            if (offset < layout->fields[i].offset || offset >= layout->fields[i].offset + own)
                continue;
            if (offset != layout->fields[i].offset || at + own > access->bytes)
                accessed->pieces = true;
            else
                take_field(accessed, site, i, type, values + at);
            size = layout->fields[i].offset + own - offset;
        }
        at += size;
    }
}

// --- The launches --------------------------------------------------------------------------------

static uint32_t site_of(const struct oracle_told *told, const struct gpusim_log_access *access)
{
    uint32_t site = 0;
    while (site < told->site_count && (told->sites[site].index != access->site->index ||
                                       strcmp(told->sites[site].function, access->site->function)))
        site++;
    return site;
}

// Returns whether an access of the clone is what the kernel's thread did next.
static bool is_next(const struct oracle_accessed *accessed, const struct step *step,
                    const struct gpusim_log_access *access, uint64_t address)
{
    const bool is_load = access->kind == GPUSIM_LOG_LOAD;
    if ((step->kind == GPUSIM_LOG_LOAD) != is_load || step->site == accessed->told->site_count)
        return false;
    if (!is_load)
        return true;
    const bool like_probes = strncmp(access->site->text, "ld.global.cg", 12) == 0;
    return strcmp(access->site->text, accessed->told->sites[step->site].opcode) == 0 &&
           (!like_probes || step->address == address);
}

static void see_clone(struct oracle_accessed *accessed, struct thread *thread,
                      const struct gpusim_log_access *access, uint64_t address, unsigned nth)
{
    const struct oracle_told *told = accessed->told;
    const struct step *step =
        thread->done < thread->steps.count ? &thread->steps.items[thread->done] : NULL;
    if (!step || !is_next(accessed, step, access, address)) {
        accessed->lost |= strncmp(access->site->text, "ld.global.cg", 12) != 0;
        return;
    }
    thread->done++;
    const struct oracle_site *site = &told->sites[step->site];
    accessed->executed[step->site] = true;
    if (!site->rooted)
        return;
    if (site->object == ORACLE_OBJECTS || object_at(told, address) != &told->objects[site->object])
        accessed->strayed[site->root] = true;
    else if (site->observed)
        take(accessed, site, access, address, access->values + nth * access->value_stride);
}

void oracle_accessed_see(struct oracle_accessed *accessed, const struct gpusim_log_access *access,
                         bool clone)
{
    unsigned nth = 0;
    for (uint32_t left = access->mask; left; left &= left - 1, nth++) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t address = access->address[lane];
        struct thread *thread =
            &accessed->threads[access->block * BLOCK_THREADS + access->warp * 32 + lane];
        if (!object_at(accessed->told, address))
            continue;
        if (clone)
            see_clone(accessed, thread, access, address, nth);
        else
            *(struct step *)oracle_must(base_array_push(&thread->steps)) =
                (struct step){address, site_of(accessed->told, access), (uint8_t)access->kind};
    }
}

// --- Comparing -----------------------------------------------------------------------------------

// Fields are found in structures that are aligned like their root.
static bool is_placed(const struct oracle_root *root)
{
    const uint32_t stride = root->layout.stride;
    uint32_t align = stride & -stride;
    return root->address % (align < MOST_ALIGN ? align : MOST_ALIGN) == 0;
}

void oracle_accessed_judge(const struct oracle_accessed *accessed, struct base_buf *complaints)
{
    const struct oracle_told *told = accessed->told;
    bool fewer = false;
    for (size_t i = 0; i < accessed->thread_count; i++)
        fewer |= accessed->threads[i].done != accessed->threads[i].steps.count;
    if (accessed->lost || fewer)
        base_buf_puts(complaints, "threads of the clone do not access what the kernel's access\n");
    for (unsigned i = 0; i < told->site_count; i++) {
        const struct oracle_site *site = &told->sites[i];
        if (!accessed->executed[i] || !site->rooted || site->observed)
            continue;
        for (unsigned way = 0; way < 2; way++) {
            if ((site->access == 2 || site->access == way) &&
                !told->roots[site->root].unobserved[way])
                base_buf_printf(complaints, "instruction %u, %s: not observed, and its root is\n",
                                site->index, site->opcode);
        }
    }
    bool placed = true;
    for (unsigned i = 0; i < told->accessed_count; i++) {
        const struct instrument_accessed *about = &told->accessed[i].about;
        const struct instrument_accessed_words *one = &told->accessed[i].words;
        const struct instrument_accessed_words *other = &accessed->words[i];
        const struct oracle_root *root = &told->roots[about->root];
        const uint32_t type = root->layout.fields[about->field].type;
        const uint32_t own = size_of(type) < 4 ? (1u << 8 * size_of(type)) - 1 : UINT32_MAX;
        placed &= is_placed(root);
        if (accessed->strayed[about->root] || !is_placed(root))
            continue;
        if (one->any != other->any || (one->none & own) != other->none ||
            one->any_high != other->any_high || one->none_high != other->none_high ||
            plain_most(type, one->most) != plain_most(type, other->most))
            base_buf_printf(complaints,
                            "root %u, field %u, %s: any %x %x, none %x %x, most %llx, wanted %x "
                            "%x, %x %x, %llx\n",
                            about->root, about->field, about->written ? "written" : "read",
                            one->any_high, one->any, one->none_high, one->none,
                            (unsigned long long)one->most, other->any_high, other->any,
                            other->none_high, other->none, (unsigned long long)other->most);
    }
    if (accessed->pieces && placed)
        base_buf_puts(complaints, "an observed access moves a piece of a field\n");
}
