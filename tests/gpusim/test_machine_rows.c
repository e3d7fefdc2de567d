// SPDX-License-Identifier: Apache-2.0
// Loads, stores and textures have fast forms for whole warps. A launch whose accesses are watched
// goes lane by lane, and must leave the same memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpusim/machine/sim.h"

static uint32_t state;

static uint32_t next(void)
{
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

static void watch_nothing(void *user, uint64_t address, uint32_t bytes, bool reads, bool writes)
{
    (void)user;
    (void)address;
    (void)bytes;
    (void)reads;
    (void)writes;
}

enum { MEMORY_WORDS = 8192, MEMORY_BYTES = MEMORY_WORDS * 4, RESULT = MEMORY_WORDS / 2 };

struct setting {
    struct sim_device *device;
    struct sim_module *module;
    uint32_t *memory;
    struct sim_texture *texture;
};

static void launch(const struct setting *setting, bool watched)
{
    const uint64_t params[] = {(uintptr_t)setting->memory, (uintptr_t)setting->texture};
    struct sim_launch launch = {.kernel = sim_module_kernel_at(setting->module, 0),
                                .grid = {1, 1, 1},
                                .block = {64, 1, 1},
                                .params = (const unsigned char *)params,
                                .watch = watched ? watch_nothing : NULL,
                                .id = 1};
    struct sim_fault fault;
    sim_launch_run(setting->device, &launch, NULL, &fault);
    if (fault.kind != SIM_FAULT_NONE)
        fail_msg("%s", fault.text);
}

// Runs the kernel both ways, on memory that begins with random words.
static void same_either_way(const struct setting *setting, uint32_t seed, const char *what)
{
    static uint32_t watched[MEMORY_WORDS];
    for (int plain = 0; plain < 2; plain++) {
        state = seed;
        for (int i = 0; i < MEMORY_WORDS; i++)
            setting->memory[i] = next() << 8 ^ next();
        launch(setting, !plain);
        launch(setting, !plain); // what the first one found is known now
        if (!plain)
            memcpy(watched, setting->memory, sizeof(watched));
    }
    for (int i = 0; i < MEMORY_WORDS; i++)
        if (watched[i] != setting->memory[i])
            fail_msg("%s, seed %u: word %d is 0x%08x, and 0x%08x lane by lane", what, seed, i,
                     setting->memory[i], watched[i]);
}

static void open_setting(struct setting *setting, const char *text)
{
    const struct sim_ptx ptx = {.text = text, .length = strlen(text), .name = "rows"};
    struct base_error error = {0};
    assert_int_equal(sim_device_create(sim_preset_find("h200"), 1, NULL, &setting->device, &error),
                     BASE_OK);
    if (sim_module_load(setting->device, &ptx, 1, &setting->module, &error) != BASE_OK) {
        char message[512];
        base_error_text(&error, message, sizeof(message));
        fail_msg("%s", message);
    }
    setting->memory = aligned_alloc(64, MEMORY_BYTES);
    assert_non_null(setting->memory);
    assert_int_equal(sim_object_add(setting->device, (uintptr_t)setting->memory, MEMORY_BYTES,
                                    GPUSIM_OBJECT_DEVICE, "memory", &error),
                     BASE_OK);
}

static void close_setting(struct setting *setting)
{
    sim_module_unload(setting->module);
    sim_device_destroy(setting->device);
    free(setting->memory);
}

// --- Loads and stores ----------------------------------------------------------------------------

// %d1 is the memory, %d2 the place of what the thread loads, %d3 of what it stores. %p1 says which
// lanes do. `shape` tells how the places of lanes lie to each other.
static const char *const shapes[] = {
    "mov.u32 %r4, %r1;",                                  // a row
    "mov.u32 %r4, 5;",                                    // all the same
    "and.b32 %r4, %r1, 48; shr.u32 %r4, %r4, 4;",         // halves the same
    "and.b32 %r4, %r1, 15; add.u32 %r4, %r4, %r1;",       // no shape
    "mul.lo.u32 %r4, %r1, 37; and.b32 %r4, %r4, 63;",     // mixed
    "and.b32 %r5, %r1, 16; mad.lo.u32 %r4, %r5, 3, %r1;", // two rows
    "sub.u32 %r4, 63, %r1;",                              // a row from behind
};
static const char *const guards[] = {
    "setp.ge.u32 %p1, %r1, 0;",
    "setp.lt.u32 %p1, %r1, 35;",
    "and.b32 %r5, %r1, 5; setp.eq.u32 %p1, %r5, 1;",
    "and.b32 %r5, %r1, 30; setp.ne.u32 %p1, %r5, 6;",
};
static const struct {
    const char *type, *registers;
    unsigned bytes;
} accesses[] = {
    {"u8", "%h1", 1},
    {"s8", "%h1", 1},
    {"s8", "%r6", 1},
    {"u16", "%h1", 2},
    {"s16", "%h1", 2},
    {"s16", "%r6", 2},
    {"u32", "%r6", 4},
    {"v2.u32", "{%r6,%r7}", 8},
    {"v4.u32", "{%r6,%r7,%r8,%r9}", 16},
    {"v4.f32", "{%r6,_,%r8,_}", 16},
    {"u64", "%d4", 8},
    {"v2.u64", "{%d4,%d5}", 16},
    {"v2.u8", "{%h1,%h2}", 2},
    {"v4.u8", "{%h1,%h2,%h3,%h4}", 4},
    {"v4.u16", "{%h1,%h2,%h3,%h4}", 8},
};
static const char *const spaces[] = {"global", "shared", "local"};

static void accesses_of_a_warp_are_those_of_its_lanes(void **unused)
{
    (void)unused;
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++) {
        for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
            const char *guard = guards[seed % (sizeof guards / sizeof *guards)];
            const char *space = spaces[seed / 7 % 3], *stored = accesses[i].registers;
            const char *kind = accesses[i].type;
            char text[4096], store[64];
            snprintf(store, sizeof(store), "%s",
                     strchr(stored, '_') ? "{%r6,%r7,%r8,%r9}" : stored);
            snprintf(
                text, sizeof(text),
                ".version 8.0\n.target sm_80\n.address_size 64\n"
                ".visible .entry k(.param .u64 p, .param .u64 t) {\n"
                ".reg .b32 %%r<12>; .reg .b64 %%d<9>; .reg .b16 %%h<6>; .reg .pred %%p<3>;\n"
                ".shared .align 16 .b8 tile[4096]; .local .align 16 .b8 stack[4096];\n"
                "ld.param.u64 %%d1, [p]; mov.u32 %%r1, %%tid.x;\n"
                "mov.u32 %%r6, 6; mov.u32 %%r7, 7; mov.u32 %%r8, 8; mov.u32 %%r9, 9;\n"
                "mov.u16 %%h1, 1; mov.u16 %%h2, 2; mov.u16 %%h3, 3; mov.u16 %%h4, 4;\n"
                "mov.u64 %%d4, 4; mov.u64 %%d5, 5; %s %s\n"
                "mul.lo.u32 %%r4, %%r4, %u; cvt.u64.u32 %%d2, %%r4; add.u64 %%d3, %%d1, %%d2;\n"
                // The first half of the space comes from memory.
                "mov.u32 %%r10, tile; mov.u32 %%r11, stack;\n"
                "@%%p1 ld.global.%s %s, [%%d3];\n"
                "%s\n"
                "@%%p1 st.%s.%s [%s], %s;\n@%%p1 ld.%s.%s %s, [%s+16];\n"
                "@%%p1 st.global.%s [%%d3+%u], %s;\n"
                // All registers, with their upper halves.
                "mul.lo.u32 %%r4, %%r1, 64; cvt.u64.u32 %%d2, %%r4; add.u64 %%d3, %%d1, %%d2;\n"
                "st.global.u32 [%%d3+%u], %%r6; st.global.u32 [%%d3+%u], %%r7;\n"
                "st.global.u32 [%%d3+%u], %%r8; st.global.u32 [%%d3+%u], %%r9;\n"
                "st.global.u64 [%%d3+%u], %%d4; st.global.u64 [%%d3+%u], %%d5;\n"
                "cvt.u32.u16 %%r6, %%h1; cvt.s32.s16 %%r7, %%h2; cvt.u32.u16 %%r8, %%h3;\n"
                "st.global.u32 [%%d3+%u], %%r6; st.global.u32 [%%d3+%u], %%r7;\n"
                "st.global.u32 [%%d3+%u], %%r8; ret;\n}\n",
                shapes[shape], guard, accesses[i].bytes, kind, stored,
                !strcmp(space, "global")   ? "mov.u64 %d6, %d3;"
                : !strcmp(space, "shared") ? "add.u32 %r10, %r10, %r4;"
                                           : "add.u32 %r11, %r11, %r4;",
                space, kind,
                !strcmp(space, "global")   ? "%d6+4096"
                : !strcmp(space, "shared") ? "%r10"
                                           : "%r11",
                store, space, kind, stored,
                !strcmp(space, "global")   ? "%d6+4096"
                : !strcmp(space, "shared") ? "%r10"
                                           : "%r11",
                kind, 8192u, store, 16384u, 16388u, 16392u, 16396u, 16400u, 16408u, 16416u, 16420u,
                16424u);
            struct setting setting = {0};
            open_setting(&setting, text);
            same_either_way(&setting, seed++, kind);
            close_setting(&setting);
        }
    }
}

// --- Textures ------------------------------------------------------------------------------------

enum { SIDE = 13, LAYERS = 5, TEXELS = 16 * 16 * LAYERS };

static const struct {
    uint8_t channels, bits, texel;
    bool normalized;
} formats[] = {
    {1, 32, SIM_TEXEL_FLOAT, false},   {2, 32, SIM_TEXEL_FLOAT, false},
    {4, 32, SIM_TEXEL_FLOAT, false},   {1, 16, SIM_TEXEL_FLOAT, false},
    {4, 8, SIM_TEXEL_UNSIGNED, true},  {2, 16, SIM_TEXEL_UNSIGNED, true},
    {1, 8, SIM_TEXEL_SIGNED, true},    {4, 16, SIM_TEXEL_SIGNED, true},
    {4, 8, SIM_TEXEL_UNSIGNED, false}, {2, 8, SIM_TEXEL_SIGNED, false},
    {1, 16, SIM_TEXEL_SIGNED, false},  {4, 32, SIM_TEXEL_UNSIGNED, false},
};

// Coordinates are between -20 and 44 texels, some of them exactly between two; a few are large.
static void write_sampling(char *text, size_t room, unsigned dimensions, bool whole)
{
    const char *where = dimensions == 1 ? "1d.v4.f32" : dimensions == 2 ? "2d.v4.f32" : "3d.v4.f32";
    const char *at = dimensions == 1   ? "{%f1}"
                     : dimensions == 2 ? "{%f1,%f2}"
                                       : "{%f1,%f2,%f3,%f3}";
    snprintf(text, room,
             ".version 8.0\n.target sm_80\n.address_size 64\n"
             ".visible .entry k(.param .u64 p, .param .u64 t) {\n"
             ".reg .b32 %%r<12>; .reg .b64 %%d<9>; .reg .b32 %%f<9>; .reg .pred %%p<3>;\n"
             "ld.param.u64 %%d1, [p]; ld.param.u64 %%d2, [t]; mov.u32 %%r1, %%tid.x;\n"
             "and.b32 %%r2, %%r1, 7; setp.ne.u32 %%p1, %%r2, 3;\n"
             "mul.wide.u32 %%d3, %%r1, 16; add.u64 %%d1, %%d1, %%d3;\n"
             "ld.global.v4.u32 {%%r2,%%r3,%%r4,%%r5}, [%%d1];\n"
             "and.b32 %%r2, %%r2, 2047; and.b32 %%r3, %%r3, 2047; and.b32 %%r4, %%r4, 2047;\n"
             "sub.s32 %%r2, %%r2, 640; sub.s32 %%r3, %%r3, 640; sub.s32 %%r4, %%r4, 640;\n"
             "cvt.rn.f32.s32 %%f1, %%r2; cvt.rn.f32.s32 %%f2, %%r3; cvt.rn.f32.s32 %%f3, %%r4;\n"
             "mul.f32 %%f1, %%f1, 0f3D000000; mul.f32 %%f2, %%f2, 0f3D000000;\n"
             "mul.f32 %%f3, %%f3, 0f3C000000;\n%s"
             "mov.u32 %%f5, 5; mov.u32 %%f6, 6; mov.u32 %%f7, 7; mov.u32 %%f8, 8;\n"
             "@%%p1 tex.%s.%s {%%f5,%%f6,%%f7,%%f8}, [%%d2, %s];\n"
             "st.global.v4.u32 [%%d1+%u], {%%f5,%%f6,%%f7,%%f8};\n"
             "tex.%s.%s {%%f5,_,_,%%f8}, [%%d2, %s];\n"
             "st.global.v4.u32 [%%d1+%u], {%%f5,%%f6,%%f7,%%f8}; ret;\n}\n",
             whole ? "cvt.rzi.s32.f32 %f1, %f1; cvt.rzi.s32.f32 %f2, %f2; cvt.rzi.s32.f32 %f3, "
                     "%f3;\n"
                   : "",
             where, whole ? "s32" : "f32", at, RESULT * 4, where, whole ? "s32" : "f32", at,
             RESULT * 4 + 4096);
}

static void textures_of_a_warp_are_those_of_its_lanes(void **unused)
{
    (void)unused;
    uint32_t seed = 1;
    for (unsigned dimensions = 1; dimensions <= 3; dimensions++) {
        for (size_t i = 0; i < 4 * (sizeof formats / sizeof *formats); i++) {
            const size_t format = i / 4;
            const bool whole = i % 4 == 3, plain = formats[format].texel != SIM_TEXEL_FLOAT &&
                                                   !formats[format].normalized;
            static uint32_t texels[TEXELS * 4];
            struct sim_texture texture = {
                .data = texels,
                .width = SIDE,
                .height = dimensions > 1 ? 16 : 0,
                .depth = dimensions > 2 ? LAYERS : 0,
                .pitch_bytes = 16 * 16,
                .slice_bytes = 16 * 16 * 16,
                .dimensions = (uint8_t)dimensions,
                .channels = formats[format].channels,
                .channel_bits = formats[format].bits,
                .texel = formats[format].texel,
                .read_normalized = formats[format].normalized,
                .normalized_coordinates = i % 4 == 1,
                .filter_linear = seed % 3 != 0 && !plain,
                .address_mode = {seed % 4, seed / 4 % 4, seed / 16 % 4},
                .border = {0.5f, -2, 3, 0.25f},
            };
            char text[4096];
            struct setting setting = {.texture = &texture};
            write_sampling(text, sizeof(text), dimensions, whole);
            open_setting(&setting, text);
            struct base_error error;
            assert_int_equal(sim_object_add(setting.device, (uintptr_t)texels, sizeof(texels),
                                            GPUSIM_OBJECT_DEVICE, "texels", &error),
                             BASE_OK);
            assert_int_equal(sim_texture_add(setting.device, &texture), BASE_OK);
            state = seed;
            for (int k = 0; k < TEXELS * 4; k++) // also as f16, numbers and no NaN
                texels[k] = (next() & 0xBFFF) | (next() & 0x3FFF) << 16;
            same_either_way(&setting, seed++, "texture");
            sim_texture_remove(setting.device, &texture);
            close_setting(&setting);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_of_a_warp_are_those_of_its_lanes),
        cmocka_unit_test(textures_of_a_warp_are_those_of_its_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
