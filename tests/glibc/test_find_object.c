// SPDX-License-Identifier: Apache-2.0
// Tests of what stands in for functions of newer glibc: images are found in the loader's list as
// the loader itself finds them, also after libraries come and go, and from several threads.
#include <setjmp.h> // cmocka needs these before it
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "glibc/glibc.h"

typedef int finder(void *address, struct dl_find_object *found);

static finder *loader_finds(void)
{
    finder *real = (finder *)dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (!real) {
        print_message("SKIP: this glibc has no _dl_find_object\n");
        skip();
    }
    return real;
}

// The kernel has mapped the executable and the loader. If there are gaps between their segments,
// the loader's function returns one of them, and not the gaps.
static bool may_have_gaps(const struct link_map *map)
{
    return map == _r_debug.r_map || strstr(map->l_name, "ld-linux");
}

static void compare(finder *real, const void *address)
{
    struct dl_find_object wanted = {0}, found = {0};
    const bool known = real((void *)address, &wanted) == 0;
    const bool is_found = glibc_search_object((void *)address, &found);
    if (is_found && !known && may_have_gaps(found.dlfo_link_map))
        return;
    assert_int_equal(is_found, known);
    if (!known)
        return;
    assert_ptr_equal(found.dlfo_link_map, wanted.dlfo_link_map);
    if (may_have_gaps(found.dlfo_link_map)) {
        assert_true(found.dlfo_map_start <= wanted.dlfo_map_start);
        assert_true(found.dlfo_map_end >= wanted.dlfo_map_end);
    } else {
        assert_ptr_equal(found.dlfo_map_start, wanted.dlfo_map_start);
        assert_ptr_equal(found.dlfo_map_end, wanted.dlfo_map_end);
    }
    assert_ptr_equal(found.dlfo_eh_frame, wanted.dlfo_eh_frame);
}

static void every_image_is_found_at_its_borders(void **state)
{
    (void)state;
    finder *real = loader_finds();
    unsigned count = 0;
    for (struct link_map *map = _r_debug.r_map; map; map = map->l_next, count++) {
        struct dl_find_object image;
        assert_int_equal(real(map->l_ld, &image), 0);
        const char *start = image.dlfo_map_start, *end = image.dlfo_map_end;
        compare(real, start);
        compare(real, start + 100);
        compare(real, end - 1);
        compare(real, start - 1);
        compare(real, end);
        compare(real, map->l_ld);
    }
    assert_true(count >= 3);
}

static void addresses_outside_are_not_found(void **state)
{
    (void)state;
    struct dl_find_object found;
    assert_false(glibc_search_object(NULL, &found));
    assert_false(glibc_search_object(&found, &found)); // the stack
    assert_false(glibc_search_object((void *)UINTPTR_MAX, &found));
}

// A library that has gone is forgotten, and one that comes is found, though a thread remembers.
static void libraries_come_and_go(void **state)
{
    (void)state;
    finder *real = loader_finds();
    for (int i = 0; i < 3; i++) {
        void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            skip();
            return;
        }
        void *inside = dlsym(library, "_Unwind_Backtrace");
        struct dl_find_object found;
        assert_true(glibc_search_object(inside, &found));
        compare(real, inside);
        compare(real, (void *)(uintptr_t)libraries_come_and_go);
        dlclose(library);
        compare(real, inside);
    }
}

static void *search_often(void *data)
{
    for (int i = 0; i < 1000; i++) {
        struct dl_find_object found;
        if (!glibc_search_object((void *)(uintptr_t)search_often, &found) ||
            !glibc_search_object((void *)(uintptr_t)strtoul, &found))
            return data;
    }
    return NULL;
}

static void threads_search_at_the_same_time(void **state)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, search_often, (void *)state), 0);
    for (int i = 0; i < 4; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

static void the_loaders_own_function_is_called(void **state)
{
    (void)state;
    finder *real = loader_finds();
    struct dl_find_object wanted, found;
    assert_int_equal(real((void *)(uintptr_t)strtoul, &wanted), 0);
    assert_int_equal(glibc_find_object((void *)(uintptr_t)strtoul, &found), 0);
    assert_ptr_equal(found.dlfo_link_map, wanted.dlfo_link_map);
    assert_int_not_equal(glibc_find_object(NULL, &found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_image_is_found_at_its_borders),
        cmocka_unit_test(addresses_outside_are_not_found),
        cmocka_unit_test(libraries_come_and_go),
        cmocka_unit_test(threads_search_at_the_same_time),
        cmocka_unit_test(the_loaders_own_function_is_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
