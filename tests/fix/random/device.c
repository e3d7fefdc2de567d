// SPDX-License-Identifier: Apache-2.0
// Device memory: pieces of four kinds, and kernels that use them. Kernels run long enough that any
// work that fails to wait for them sees the old data.
#include "random.h"

#include <string.h>

// Every kernel first waits for a number of nanoseconds.
#define WAITING                                                                              \
    "    .reg .b64 %t<3>;\n    .reg .pred %q;\n    ld.param.u32 %r1, [words];\n"             \
    "    mov.u64 %t0, %globaltimer;\n    ld.param.u64 %t2, [wait_ns];\n"                     \
    "again:\n    mov.u64 %t1, %globaltimer;\n    sub.u64 %t1, %t1, %t0;\n"                   \
    "    setp.lt.u64 %q, %t1, %t2;\n    @%q bra again;\n"                                    \
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n"      \
    "    mad.lo.u32 %r5, %r2, %r3, %r4;\n    setp.ge.u32 %q, %r5, %r1;\n    @%q bra done;\n" \
    "    mul.wide.u32 %rd9, %r5, 4;\n"
#define REGISTERS "    .reg .b32 %r<12>;\n    .reg .b64 %rd<12>;\n"
// to[i] = from[i] * 1664525 + key + i, %rd1 from, %rd2 to, %r6 the key
#define MIX                                                                \
    "    add.u64 %rd3, %rd1, %rd9;\n    ld.global.u32 %r7, [%rd3];\n"      \
    "    mad.lo.u32 %r7, %r7, 1664525, %r6;\n    add.u32 %r7, %r7, %r5;\n" \
    "    add.u64 %rd4, %rd2, %rd9;\n    st.global.u32 [%rd4], %r7;\n"

// Mixes words at addresses that it computes from its parameters: %rd1 and %rd2.
#define HIDDEN(name, type, address)                                                               \
    ".visible .entry hidden_" name "(.param " type " a, .param " type " b, .param " type          \
    " c, .param " type                                                                            \
    " d, .param .u32 words, .param .u32 key, .param .u64 wait_ns)\n{\n" REGISTERS WAITING address \
    "    ld.param.u32 %r6, [key];\n" MIX "done:\n    ret;\n}\n"
#define FOUR                                                     \
    "    ld.param.u64 %rd5, [a];\n    ld.param.u64 %rd6, [b];\n" \
    "    ld.param.u64 %rd7, [c];\n    ld.param.u64 %rd8, [d];\n"

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry fill(.param .u64 to, .param .u32 words, .param .u32 key, .param .u64 "
    "wait_ns)\n{\n" //
    REGISTERS WAITING "    ld.param.u64 %rd2, [to];\n    ld.param.u32 %r6, [key];\n"
    "    mul.lo.u32 %r7, %r5, 2654435761;\n    xor.b32 %r7, %r7, %r6;\n"
    "    add.u64 %rd4, %rd2, %rd9;\n    st.global.u32 [%rd4], %r7;\n"
    "done:\n    ret;\n}\n"
    ".visible .entry mix(.param .u64 from, .param .u64 to, .param .u32 words, .param .u32 key, "
    ".param .u64 wait_ns)\n"
    "{\n" REGISTERS WAITING "    ld.param.u64 %rd1, [from];\n    ld.param.u64 %rd2, [to];\n    "
    "ld.param.u32 %r6, [key];\n" MIX "done:\n    ret;\n}\n"
    // The pointers `from` and `to` are stored in memory.
    ".visible .entry follow(.param .u64 pointers, .param .u32 words, .param .u32 key, .param .u64 "
    "wait_ns)\n"
    "{\n" REGISTERS WAITING "    ld.param.u64 %rd5, [pointers];\n    ld.global.u64 %rd1, [%rd5];\n "
    "   ld.global.u64 %rd2, [%rd5+8];\n"
    "    ld.param.u32 %r6, [key];\n" MIX //
    "done:\n    ret;\n}\n"               //
    HIDDEN("sum", ".u64", FOUR "    add.u64 %rd1, %rd5, %rd6;\n    add.u64 %rd2, %rd7, %rd8;\n")
        HIDDEN("difference", ".u64",
               FOUR "    sub.u64 %rd1, %rd5, %rd6;\n    sub.u64 %rd2, %rd7, %rd8;\n")
            HIDDEN("xor", ".u64",
                   FOUR "    xor.b64 %rd1, %rd5, %rd6;\n    xor.b64 %rd2, %rd7, %rd8;\n")
                HIDDEN("tagged", ".u64",
                       FOUR "    and.b64 %rd1, %rd5, 0xffffffffffff;\n    and.b64 %rd2, %rd7, "
                            "0xffffffffffff;\n")
                    HIDDEN("halves", ".u32",
                           "    ld.param.u32 %r8, [a];\n    ld.param.u32 %r9, [b];\n    "
                           "ld.param.u32 %r10, [c];\n"
                           "    ld.param.u32 %r11, [d];\n    mov.b64 %rd1, {%r8, %r9};\n    "
                           "mov.b64 %rd2, {%r10, %r11};\n");

// The kernel of each form.
static const char *const hidden_names[FORMS] = {
    [FORM_LOWER] = "hidden_sum", [FORM_DISTANCE] = "hidden_sum",  [FORM_END] = "hidden_difference",
    [FORM_XORED] = "hidden_xor", [FORM_TAGGED] = "hidden_tagged", [FORM_HALVES] = "hidden_halves",
};

void load_kernels(struct world *world)
{
    CHECK(cuModuleLoadData(&world->module, ptx));
    CHECK(cuModuleGetFunction(&world->fill, world->module, "fill"));
    CHECK(cuModuleGetFunction(&world->mix, world->module, "mix"));
    CHECK(cuModuleGetFunction(&world->follow, world->module, "follow"));
    for (unsigned i = 0; i < FORMS; i++)
        CHECK(cuModuleGetFunction(&world->hidden[i], world->module, hidden_names[i]));
}

// Now and then long enough for other work to overtake the kernel.
static uint64_t some_ns(struct world *world)
{
    return below(world, 4) ? 0 : 20000 + below(world, 200000);
}

static void launch(CUfunction function, unsigned words, CUstream stream, void **params)
{
    CHECK(cuLaunchKernel(function, (words + 255) / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
}

void fill_words(struct world *world, CUdeviceptr to, unsigned words, uint32_t key, CUstream stream)
{
    uint64_t wait_ns = some_ns(world);
    launch(world->fill, words, stream, (void *[]){&to, &words, &key, &wait_ns});
}

void mix_words(struct world *world, CUdeviceptr from, CUdeviceptr to, unsigned words, uint32_t key,
               CUstream stream)
{
    uint64_t wait_ns = some_ns(world);
    launch(world->mix, words, stream, (void *[]){&from, &to, &words, &key, &wait_ns});
}

void follow_words(struct world *world, CUdeviceptr pointers, unsigned words, uint32_t key,
                  CUstream stream)
{
    uint64_t wait_ns = some_ns(world);
    launch(world->follow, words, stream, (void *[]){&pointers, &words, &key, &wait_ns});
}

// Sets the two values from which a kernel computes an address. `other` is another object.
static void hide(struct world *world, enum form form, CUdeviceptr address, CUdeviceptr other,
                 uint64_t values[2])
{
    // The index of the first element: small, or farther away than any object is large.
    const uint64_t lower = below(world, 2) ? 4 : UINT64_C(4) << (20 + below(world, 16));
    switch (form) {
    case FORM_LOWER: values[1] = lower; break;
    case FORM_DISTANCE: values[1] = address - other; break;
    case FORM_END: values[1] = 4 * (uint64_t)(1 + below(world, 6000)); break;
    case FORM_XORED: values[1] = UINT64_C(0x123456789abcdef0) ^ next_random(world); break;
    case FORM_TAGGED: values[1] = (uint64_t)(1 + below(world, 255)) << 56; break;
    default: values[1] = address >> 32;
    }
    values[0] = form == FORM_END      ? address + values[1]
                : form == FORM_XORED  ? address ^ values[1]
                : form == FORM_TAGGED ? address | values[1]
                : form == FORM_HALVES ? (uint32_t)address
                                      : address - values[1];
}

static void mix_hidden(struct world *world, enum form form, const CUdeviceptr addresses[2],
                       unsigned words, uint32_t key, CUstream stream)
{
    uint64_t wait_ns = some_ns(world), values[4];
    hide(world, form, addresses[0], addresses[1], values);
    hide(world, form, addresses[1], addresses[0], values + 2);
    // As this is a little-endian machine, a parameter of 32 bits is the lower half of its value.
    launch(world->hidden[form], words, stream,
           (void *[]){&values[0], &values[1], &values[2], &values[3], &words, &key, &wait_ns});
}

uint32_t filled(unsigned i, uint32_t key)
{
    return i * 2654435761u ^ key;
}

uint32_t mixed(uint32_t word, unsigned i, uint32_t key)
{
    return word * 1664525u + key + i;
}

// A piece of the last kind has several GPU pages to itself, and the program uses
// a random part in the middle.
static void allocate_device(struct world *world, struct device_piece *piece, unsigned stream)
{
    piece->words = 256 + below(world, 6000);
    piece->model = malloc(4 * (size_t)piece->words);
    if (!piece->model)
        exit(1);
    piece->defined = false;
    piece->last = (struct work){0};
    size_t bytes = 4 * (size_t)piece->words, before = 0;
    switch (piece->kind) {
    case DEVICE_POOL:
        CHECK(cuMemAllocAsync(&piece->start, bytes, handle_of(world, stream)));
        issued(world, &piece->last, stream);
        break;
    case DEVICE_MANAGED:
        CHECK(cuMemAllocManaged(&piece->start, bytes, CU_MEM_ATTACH_GLOBAL));
        break;
    case DEVICE_LARGE:
        before = 4 * (size_t)below(world, (6u << 20) / 4 - piece->words);
        bytes = 6 << 20;
        // fall through
    default: CHECK(cuMemAlloc_v2(&piece->start, bytes));
    }
    piece->address = piece->start + before;
}

struct device_piece *device_piece(struct world *world, unsigned index, bool defined,
                                  unsigned stream)
{
    struct device_piece *piece = &world->devices[index];
    if (!piece->address)
        allocate_device(world, piece, stream);
    if (defined && !piece->defined)
        launch_fill(world, piece, stream);
    return piece;
}

void free_device(struct world *world, struct device_piece *piece)
{
    if (!piece->address)
        return;
    if (piece->kind == DEVICE_POOL) {
        CHECK(cuMemFreeAsync(piece->start, handle_of(world, piece->last.stream)));
    } else {
        // cuMemFree waits for the work on this memory, so that work is done.
        CHECK(cuMemFree_v2(piece->start));
        if (is_pending(world, &piece->last))
            world->streams[piece->last.stream].done = piece->last.number;
    }
    free(piece->model);
    piece->address = 0;
    piece->last = (struct work){0};
}

void launch_fill(struct world *world, struct device_piece *to, unsigned stream)
{
    uint32_t key = next_random(world);
    order_after(world, &to->last, stream);
    fill_words(world, to->address, to->words, key, handle_of(world, stream));
    issued(world, &to->last, stream);
    for (unsigned i = 0; i < to->words; i++)
        to->model[i] = filled(i, key);
    to->defined = true;
}

// Launches one of the kernels that mix; `form` is FORMS for plain addresses.
static void launch_mix_in(struct world *world, enum form form, struct device_piece *from,
                          struct device_piece *to, unsigned stream)
{
    const CUdeviceptr addresses[2] = {from->address, to->address};
    uint32_t key = next_random(world);
    unsigned words = from->words < to->words ? from->words : to->words;
    order_after(world, &from->last, stream);
    order_after(world, &to->last, stream);
    if (form == FORMS)
        mix_words(world, from->address, to->address, words, key, handle_of(world, stream));
    else
        mix_hidden(world, form, addresses, words, key, handle_of(world, stream));
    issued(world, &from->last, stream);
    issued(world, &to->last, stream);
    for (unsigned i = 0; i < words; i++)
        to->model[i] = mixed(from->model[i], i, key);
    to->defined |= words == to->words;
}

void launch_mix(struct world *world, struct device_piece *from, struct device_piece *to,
                unsigned stream)
{
    launch_mix_in(world, FORMS, from, to, stream);
}

void launch_hidden(struct world *world, enum form form, struct device_piece *from,
                   struct device_piece *to, unsigned stream)
{
    launch_mix_in(world, form, from, to, stream);
}
