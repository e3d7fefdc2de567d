/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by which a program describes its GPU memory to glint. The header links nothing: if the
 * program is not recorded, each function searches for glint once, and later calls cost a load and a
 * branch. For C and C++ on Linux. With a C library older than glibc 2.34, link with -ldl.
 *
 *     #include <glint/glint.h>
 *
 *     glint_name(weights, "weights");        reports use this name for the object
 *
 *     char *block = pool_take(&pool, bytes); a pool inside one large allocation
 *     glint_suballoc(block, bytes);          the block is a separate object, until
 *     glint_subfree(block);
 *
 * Each function returns 0 if glint has recorded the call. It returns -1 if the program is not
 * recorded, no object contains the address, or the part would overlap another part or extend beyond
 * its object. The functions may be called from any thread. */
#ifndef GLINT_GLINT_H
#define GLINT_GLINT_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Finds a function of libglint.so. *place caches its address: 0 not searched yet, 1 not found. */
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

/* Names the object that contains the address. A later name replaces an earlier one. */
static inline int glint_name(const void *address, const char *name)
{
    static uintptr_t place;
    uintptr_t found = glint_find_function(&place, "glint_v1_name");
    return found ? ((int (*)(const void *, const char *))found)(address, name) : -1;
}

/* Announces `bytes` bytes of an allocation, starting at the address, as an object. */
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
