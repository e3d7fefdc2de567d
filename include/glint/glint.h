/* SPDX-License-Identifier: Apache-2.0 */
/* What a program can tell glint about its GPU memory. Nothing of glint is linked: where the program
 * is not being recorded, each function looks once, finds nobody, and costs a load and a branch from
 * then on. For C and C++ on Linux. With a C library older than glibc 2.34, link with -ldl.
 *
 *     #include <glint/glint.h>
 *
 *     glint_name(weights, "weights");        reports call the object so
 *
 *     char *block = pool_take(&pool, bytes); a pool inside one large allocation
 *     glint_suballoc(block, bytes);          the block is an object of its own, until
 *     glint_subfree(block);
 *
 * All return 0 where glint has noted it, and -1 where it has not: the program is not recorded, no
 * object holds the address, or the part would overlap another part or reach beyond its object. May
 * be called from any thread. */
#ifndef GLINT_GLINT_H
#define GLINT_GLINT_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Finds a function of the recording library; *place caches it: 0 not looked yet, 1 not there. */
static inline uintptr_t glint_find_function(uintptr_t *place, const char *name)
{
    uintptr_t found = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (found == 0) {
        found = (uintptr_t)dlsym(NULL /* RTLD_DEFAULT */, name);
        if (found == 0)
            found = 1;
        __atomic_store_n(place, found, __ATOMIC_RELAXED);
    }
    return found == 1 ? 0 : found;
}

/* Names the object that holds the address. Of several names the last one counts. */
static inline int glint_name(const void *address, const char *name)
{
    static uintptr_t place;
    uintptr_t found = glint_find_function(&place, "glint_v1_name");
    return found ? ((int (*)(const void *, const char *))found)(address, name) : -1;
}

/* Announces a part of an allocation as an object, from address on. */
static inline int glint_suballoc(const void *address, size_t bytes)
{
    static uintptr_t place;
    uintptr_t found = glint_find_function(&place, "glint_v1_suballoc");
    return found ? ((int (*)(const void *, uint64_t))found)(address, (uint64_t)bytes) : -1;
}

/* Ends the part that begins at the address. Parts also end with their allocation. */
static inline int glint_subfree(const void *address)
{
    static uintptr_t place;
    uintptr_t found = glint_find_function(&place, "glint_v1_subfree");
    return found ? ((int (*)(const void *))found)(address) : -1;
}

#ifdef __cplusplus
}
#endif

#endif
