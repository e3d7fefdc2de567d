// SPDX-License-Identifier: Apache-2.0
// Symbols of a library that is really loaded, in all the forms in which programs are shipped.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture/target.h"
#include "record/record.h"
#include "record/symbols.h"

struct loaded {
    char folder[PATH_MAX - 64], path[PATH_MAX];
    void *library;
    uint64_t bias;
    unsigned char build_id[20];
    struct record_symbols *symbols;
    uint32_t image;
};

static int find_id(struct dl_phdr_info *info, size_t bytes, void *user)
{
    (void)bytes;
    struct loaded *loaded = user;
    if (info->dlpi_addr != loaded->bias)
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const unsigned char *note = (const unsigned char *)(info->dlpi_addr + header->p_vaddr);
        if (header->p_type == PT_NOTE && header->p_memsz == 36) // sizes, "GNU", 20 bytes
            memcpy(loaded->build_id, note + 16, sizeof(loaded->build_id));
    }
    return 1;
}

static void load(struct loaded *loaded, const char *name, bool debug_files)
{
    memset(loaded, 0, sizeof(*loaded));
    ssize_t length = readlink("/proc/self/exe", loaded->folder, sizeof(loaded->folder) - 1);
    assert_true(length > 0);
    *strrchr(loaded->folder, '/') = 0;
    snprintf(loaded->path, sizeof(loaded->path), "%s/%s", loaded->folder, name);
    loaded->library = dlopen(loaded->path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(loaded->library);
    struct link_map *map;
    assert_int_equal(dlinfo(loaded->library, RTLD_DI_LINKMAP, &map), 0);
    loaded->bias = map->l_addr;
    dl_iterate_phdr(find_id, loaded);
    char debug[PATH_MAX + 8];
    snprintf(debug, sizeof(debug), "%s/debug", loaded->folder);
    loaded->symbols = record_symbols_create(debug_files ? debug : "/nonexistent");
    assert_non_null(loaded->symbols);
    loaded->image = record_symbols_image(loaded->symbols, loaded->path, strlen(loaded->path),
                                         loaded->build_id, sizeof(loaded->build_id));
    assert_int_equal(loaded->image, 1);
}

static void unload(const struct loaded *loaded)
{
    record_symbols_destroy(loaded->symbols);
    dlclose(loaded->library);
}

static void take_return_address(void *user)
{
    *(uint64_t *)user =
        (uint64_t)(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
}

// Returns the place of the callback's caller when the library's function runs.
static const struct record_symbols_place *place_in(struct loaded *loaded, const char *function)
{
    int (*call)(target_callback *, void *);
    void *found = dlsym(loaded->library, function);
    assert_non_null(found);
    memcpy(&call, &found, sizeof(call));
    uint64_t address = 0;
    call(take_return_address, &address);
    const struct record_symbols_place *place =
        record_symbols_find(loaded->symbols, loaded->image, address - loaded->bias);
    assert_non_null(place);
    // A second lookup returns the same place.
    assert_ptr_equal(record_symbols_find(loaded->symbols, loaded->image, address - loaded->bias),
                     place);
    return place;
}

static uint32_t line_of(const struct loaded *loaded, const char *name)
{
    const int *line = dlsym(loaded->library, name);
    assert_non_null(line);
    return (uint32_t)*line;
}

static void assert_file(const char *file, const char *name)
{
    assert_non_null(file);
    const char *slash = strrchr(file, '/');
    assert_string_equal(slash ? slash + 1 : file, name);
}

static void assert_inlined_frames(struct loaded *loaded)
{
    const struct record_symbols_place *place = place_in(loaded, "target_outer");
    assert_int_equal(place->status, RECORD_SYMBOLS_FOUND);
    assert_int_equal(place->count, 3);
    static const char *const functions[] = {"inner", "middle", "target_outer"};
    static const char *const lines[] = {"target_inner_line", "target_middle_line",
                                        "target_outer_line"};
    for (unsigned i = 0; i < 3; i++) {
        assert_string_equal(place->frames[i].function, functions[i]);
        assert_file(place->frames[i].file, "target.c");
        assert_int_equal(place->frames[i].line, line_of(loaded, lines[i]));
        assert_int_equal(place->frames[i].inlined, i < 2);
        assert_true(place->frames[i].offset > 0 && place->frames[i].offset < 200);
    }
    place = place_in(loaded, "target_calls_hidden");
    assert_int_equal(place->count, 1);
    assert_string_equal(place->frames[0].function, "space::hidden(int, float const*)");
    assert_file(place->frames[0].file, "target.c");
}

static void debug_information_gives_lines_and_inlined_frames(void **state)
{
    (void)state;
    struct loaded loaded;
    load(&loaded, "test_target_full.so", false);
    assert_inlined_frames(&loaded);
    unload(&loaded);
}

static void columns_are_told_unless_nvcc_changed_the_layout(void **state)
{
    (void)state;
    struct loaded loaded;
    load(&loaded, "test_target_full.so", false);
    const struct record_symbols_place *place = place_in(&loaded, "target_outer");
    assert_true(place->frames[0].column > 0 && place->frames[1].column > 0);
    assert_true(place->frames[0].built_s > 0);
    unload(&loaded);
    load(&loaded, "test_target_layout.so", false);
    place = place_in(&loaded, "target_outer");
    for (unsigned i = 0; i < place->count; i++) {
        assert_int_equal(place->frames[i].column, 0);
        assert_true(place->frames[i].line > 0);
    }
    unload(&loaded);
}

// As without debug information, also where there is some, here in a file of its own.
static void names_only_leaves_out_lines(void **state)
{
    (void)state;
    struct loaded loaded;
    load(&loaded, "test_target_stripped.so", true);
    record_symbols_names_only(loaded.symbols, loaded.image);
    const struct record_symbols_place *place = place_in(&loaded, "target_outer");
    assert_int_equal(place->status, RECORD_SYMBOLS_FOUND);
    assert_int_equal(place->count, 1);
    assert_string_equal(place->frames[0].function, "target_outer");
    assert_null(place->frames[0].file);
    assert_int_equal(place->frames[0].line, 0);
    place = place_in(&loaded, "target_calls_hidden"); // only the debug file's .symtab has it
    assert_string_equal(place->frames[0].function, "space::hidden(int, float const*)");
    unload(&loaded);
}

static void units_without_an_index_are_searched(void **state)
{
    (void)state;
    struct loaded loaded;
    load(&loaded, "test_target_unindexed.so", false);
    assert_inlined_frames(&loaded);
    unload(&loaded);
}

static void a_debug_file_is_found_by_its_build_id(void **state)
{
    (void)state;
    struct loaded loaded;
    load(&loaded, "test_target_stripped.so", true);
    assert_inlined_frames(&loaded);
    unload(&loaded);
}

static void without_debug_information_there_are_symbols(void **state)
{
    (void)state;
    struct loaded loaded;
    load(&loaded, "test_target_symbols.so", false);
    const struct record_symbols_place *place = place_in(&loaded, "target_outer");
    assert_int_equal(place->status, RECORD_SYMBOLS_FOUND);
    assert_int_equal(place->count, 1);
    assert_string_equal(place->frames[0].function, "target_outer");
    assert_null(place->frames[0].file);
    assert_int_equal(place->frames[0].line, 0);
    assert_true(place->frames[0].offset > 0 && place->frames[0].offset < 200);
    place = place_in(&loaded, "target_calls_hidden"); // only .symtab has it
    assert_string_equal(place->frames[0].function, "space::hidden(int, float const*)");
    unload(&loaded);
}

static void stripped_there_are_exported_symbols_and_offsets(void **state)
{
    (void)state;
    struct loaded loaded;
    load(&loaded, "test_target_stripped.so", false);
    const struct record_symbols_place *place = place_in(&loaded, "target_outer");
    assert_string_equal(place->frames[0].function, "target_outer");
    place = place_in(&loaded, "target_calls_hidden");
    assert_int_equal(place->count, 1);
    assert_null(place->frames[0].function); // not the function before it
    assert_null(place->frames[0].file);
    assert_true(place->frames[0].offset > 200); // offset in the image
    unload(&loaded);
}

static void a_file_that_changed_is_not_believed(void **state)
{
    (void)state;
    struct loaded loaded;
    load(&loaded, "test_target_full.so", true);
    loaded.build_id[3] ^= 1;
    loaded.image = record_symbols_image(loaded.symbols, loaded.path, strlen(loaded.path),
                                        loaded.build_id, sizeof(loaded.build_id));
    assert_int_equal(loaded.image, 2);
    const struct record_symbols_place *place = place_in(&loaded, "target_outer");
    assert_int_equal(place->status, RECORD_SYMBOLS_CHANGED);
    assert_int_equal(place->count, 1);
    assert_null(place->frames[0].function);
    unload(&loaded);
}

static void what_is_no_library_is_told(void **state)
{
    (void)state;
    struct record_symbols *symbols = record_symbols_create(NULL);
    static const char *const paths[] = {"/nonexistent/libx.so", "/dev/null", "/", "test_symbols.c"};
    for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        uint32_t image = record_symbols_image(symbols, paths[i], strlen(paths[i]), NULL, 0);
        assert_int_equal(image, i + 1);
        assert_int_equal(record_symbols_image(symbols, paths[i], strlen(paths[i]), NULL, 0), image);
        const struct record_symbols_place *place = record_symbols_find(symbols, image, 0x1234);
        assert_non_null(place);
        assert_int_equal(place->status, RECORD_SYMBOLS_NO_FILE);
        assert_int_equal(place->count, 1);
        assert_null(place->frames[0].function);
        assert_int_equal(place->frames[0].offset, 0x1234);
    }
    record_symbols_destroy(symbols);
}

static void many_addresses_stay_within_bounds(void **state)
{
    (void)state;
    struct loaded loaded;
    load(&loaded, "test_target_full.so", false);
    for (uint64_t i = 0; i < 400000; i++)
        assert_non_null(record_symbols_find(loaded.symbols, loaded.image, 0x100000 + i));
    assert_inlined_frames(&loaded);
    unload(&loaded);
}

// libdw looks at all symbols for each address. The C library has aliases, weak symbols and labels.
static void functions_are_those_that_libdw_finds(void **state)
{
    (void)state;
    enum { STEP = 61 };
    struct link_map *map;
    void *library = dlopen("libc.so.6", RTLD_NOW);
    assert_non_null(library);
    assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    const char *const paths[] = {map->l_name, "/proc/self/exe"};
    for (unsigned i = 0; i < 2; i++) {
        struct record_symbols *symbols = record_symbols_create("/nonexistent");
        const uint32_t image = record_symbols_image(symbols, paths[i], strlen(paths[i]), NULL, 0);
        Dwfl_Module *module = record_symbols_module(symbols, image);
        assert_non_null(module);
        GElf_Addr start, end;
        dwfl_module_info(module, NULL, &start, &end, NULL, NULL, NULL, NULL);
        unsigned named = 0;
        for (uint64_t address = start; address < end; address += STEP) {
            GElf_Off wanted_offset = 0;
            uint64_t offset = 0;
            GElf_Sym symbol;
            unsigned type;
            const char *wanted =
                dwfl_module_addrinfo(module, address, &wanted_offset, &symbol, NULL, NULL, NULL);
            const unsigned wanted_type = wanted ? GELF_ST_TYPE(symbol.st_info) : STT_OBJECT;
            const char *name = record_symbols_function(symbols, image, address, &offset, &type);
            if (wanted_type != STT_FUNC && wanted_type != STT_NOTYPE &&
                wanted_type != STT_GNU_IFUNC)
                wanted = NULL;
            if (!wanted) {
                assert_null(name);
                continue;
            }
            assert_non_null(name);
            assert_string_equal(name, wanted);
            assert_int_equal(offset, wanted_offset);
            assert_int_equal(type, wanted_type);
            named++;
        }
        assert_true(named > 100);
        record_symbols_destroy(symbols);
    }
    dlclose(library);
}

static void names_are_demangled(void **state)
{
    (void)state;
    char *name = record_demangle("_ZN5space6hiddenEiPKf");
    assert_string_equal(name, "space::hidden(int, float const*)");
    free(name);
    name = record_demangle("_Zwrong");
    assert_string_equal(name, "_Zwrong");
    free(name);
    name = record_demangle("main");
    assert_string_equal(name, "main");
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debug_information_gives_lines_and_inlined_frames),
        cmocka_unit_test(columns_are_told_unless_nvcc_changed_the_layout),
        cmocka_unit_test(names_only_leaves_out_lines),
        cmocka_unit_test(units_without_an_index_are_searched),
        cmocka_unit_test(a_debug_file_is_found_by_its_build_id),
        cmocka_unit_test(without_debug_information_there_are_symbols),
        cmocka_unit_test(stripped_there_are_exported_symbols_and_offsets),
        cmocka_unit_test(a_file_that_changed_is_not_believed),
        cmocka_unit_test(what_is_no_library_is_told),
        cmocka_unit_test(many_addresses_stay_within_bounds),
        cmocka_unit_test(functions_are_those_that_libdw_finds),
        cmocka_unit_test(names_are_demangled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
