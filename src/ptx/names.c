// SPDX-License-Identifier: Apache-2.0
// Interns names and binds them in scopes. Each name has a stack of bindings, so that a look-up
// takes one hash of the spelling at any nesting; closing a scope pops its bindings. Members of a
// register family are bound when they are first used, so %r<1000000> costs nothing by itself.
#include "names.h"

#include <string.h>

enum { FIRST_BUCKETS = 256 };

struct ptx_names *ptx_names_create(struct base_arena *arena)
{
    struct ptx_names *names = base_new(arena, struct ptx_names);
    names->arena = arena;
    names->bucket_count = FIRST_BUCKETS;
    names->buckets = base_new_array(arena, struct ptx_name *, FIRST_BUCKETS);
    return names;
}

static void grow(struct ptx_names *names)
{
    size_t count = names->bucket_count * 4;
    struct ptx_name **buckets = base_new_array(names->arena, struct ptx_name *, count);
    for (size_t i = 0; i < names->bucket_count; i++) {
        struct ptx_name *next;
        for (struct ptx_name *name = names->buckets[i]; name; name = next) {
            next = name->next;
            name->next = buckets[name->hash & (count - 1)];
            buckets[name->hash & (count - 1)] = name;
        }
    }
    names->buckets = buckets;
    names->bucket_count = count;
}

struct ptx_name *ptx_name_intern(struct ptx_names *names, const char *text, size_t length)
{
    uint32_t hash = (uint32_t)base_hash(text, length);
    struct ptx_name *name = names->buckets[hash & (names->bucket_count - 1)];
    for (; name; name = name->next) {
        if (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0)
            return name;
    }
    if (names->count >= names->bucket_count)
        grow(names);
    name = base_new(names->arena, struct ptx_name);
    name->text = base_alloc_text(names->arena, text, length);
    name->length = (uint32_t)length;
    name->hash = hash;
    name->next = names->buckets[hash & (names->bucket_count - 1)];
    names->buckets[hash & (names->bucket_count - 1)] = name;
    names->count++;
    return name;
}

const struct ptx_form *ptx_name_form(struct ptx_names *names, struct ptx_name *name)
{
    if (!name->form) {
        struct ptx_form form;
        if (!ptx_form_decode(name->text, &form))
            return NULL;
        struct ptx_form *kept = base_new(names->arena, struct ptx_form);
        *kept = form;
        name->form = kept;
    }
    return name->form;
}

struct ptx_binding *ptx_name_bind(struct ptx_names *names, struct ptx_name *name,
                                  const struct ptx_scope *scope, enum ptx_binding_kind kind,
                                  struct ptx_scope_bindings *undo)
{
    if (name->bound && name->bound->scope == scope)
        return NULL;
    struct ptx_binding *binding = base_new(names->arena, struct ptx_binding);
    binding->name = name;
    binding->scope = scope;
    binding->kind = (uint8_t)kind;
    binding->hidden = name->bound;
    name->bound = binding;
    if (undo) {
        binding->next_in_scope = undo->bindings;
        undo->bindings = binding;
    }
    return binding;
}

struct ptx_family *ptx_name_bind_family(struct ptx_names *names, struct ptx_name *name,
                                        const struct ptx_scope *scope,
                                        struct ptx_scope_bindings *undo)
{
    if (name->families && name->families->scope == scope)
        return NULL;
    struct ptx_family *family = base_new(names->arena, struct ptx_family);
    family->name = name;
    family->scope = scope;
    family->hidden = name->families;
    family->next_in_scope = undo->families;
    undo->families = family;
    name->families = family;
    return family;
}

// Splits %r12 into %r and 12. Digits with a leading zero, or that are too large, are not a number.
static void split(struct ptx_names *names, struct ptx_name *name)
{
    name->split = true;
    size_t digits = 0;
    while (digits < name->length) {
        char c = name->text[name->length - digits - 1];
        if (c < '0' || c > '9')
            break;
        digits++;
    }
    size_t prefix = name->length - digits;
    if (digits == 0 || prefix == 0 || digits > 18 || (digits > 1 && name->text[prefix] == '0'))
        return;
    uint64_t number = 0;
    for (size_t i = prefix; i < name->length; i++)
        number = number * 10 + (uint64_t)(name->text[i] - '0');
    name->number = number;
    name->prefix = ptx_name_intern(names, name->text, prefix);
}

struct ptx_family *ptx_name_family(struct ptx_names *names, struct ptx_name *name)
{
    if (!name->split)
        split(names, name);
    if (!name->prefix)
        return NULL;
    struct ptx_family *family = name->prefix->families;
    while (family && family->count <= name->number)
        family = family->hidden;
    if (!family || !name->bound)
        return family;
    const struct ptx_scope *bound = name->bound->scope;
    return !bound || family->scope->depth > bound->depth ? family : NULL;
}

void ptx_names_unbind(struct ptx_scope_bindings *undo)
{
    for (struct ptx_binding *binding = undo->bindings; binding; binding = binding->next_in_scope)
        binding->name->bound = binding->hidden;
    for (struct ptx_family *family = undo->families; family; family = family->next_in_scope)
        family->name->families = family->hidden;
    undo->bindings = NULL;
    undo->families = NULL;
}

enum ptx_sreg ptx_name_sreg(struct ptx_name *name)
{
    if (!name->sreg_known) {
        unsigned number;
        name->sreg = (uint8_t)ptx_sreg_find((struct base_str){name->text, name->length}, &number);
        name->sreg_number = (uint16_t)number;
        name->sreg_known = true;
    }
    return (enum ptx_sreg)name->sreg;
}
