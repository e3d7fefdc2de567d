// SPDX-License-Identifier: Apache-2.0
// Lists of names. Names are only added, without a lock, so that a child of fork finds none held.
#include "nvtx_names.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 }; // in a list

struct name_list { // any thread, without a lock
    struct hooks_nvtx_name *_Atomic first;
    _Atomic unsigned count;
};

static struct {
    struct name_list domains, strings;
} names;

static struct hooks_nvtx_name *find(struct name_list *list, const char *text)
{
    struct hooks_nvtx_name *name = atomic_load(&list->first);
    while (name && strcmp(name->text, text) != 0)
        name = name->next;
    return name;
}

// If two threads add the same text at once, it has two names.
static struct hooks_nvtx_name *intern(struct name_list *list, const char *text, bool is_wanted)
{
    struct hooks_nvtx_name *name = find(list, text);
    const size_t bytes = strlen(text) + 1;
    if (name)
        return name;
    name = atomic_fetch_add(&list->count, 1) < MOST ? malloc(sizeof(*name) + bytes) : NULL;
    if (!name)
        return NULL;
    name->is_wanted = is_wanted;
    memcpy(name->text, text, bytes);
    name->next = atomic_load(&list->first);
    while (!atomic_compare_exchange_weak(&list->first, &name->next, name))
        ;
    return name;
}

struct hooks_nvtx_name *hooks_nvtx_domain(const char *text, bool is_wanted)
{
    return intern(&names.domains, text, is_wanted);
}

struct hooks_nvtx_name *hooks_nvtx_string(const char *text, bool is_wanted)
{
    return intern(&names.strings, text, is_wanted);
}
