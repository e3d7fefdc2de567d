// SPDX-License-Identifier: Apache-2.0
// The words of enumerations, for C and for the tables of words behind the views, which are filled
// from here; and the names of API functions as programs write them.
#include <string.h>

#include "schema.h"

static bool is_suffix(const char *text, size_t length)
{
    if (length == strlen("_ptsz") && text[0] == '_')
        return memcmp(text, "_ptsz", length) == 0 || memcmp(text, "_ptds", length) == 0;
    if (length < 3 || text[0] != '_' || text[1] != 'v')
        return false;
    for (size_t i = 2; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
    }
    return true;
}

size_t profile_plain_length(const char *name)
{
    size_t length = strlen(name);
    for (;;) {
        const char *last = memrchr(name, '_', length);
        if (!last || last == name || !is_suffix(last, length - (size_t)(last - name)))
            return length;
        length = (size_t)(last - name);
    }
}

#define WORDS(list, prefix)      \
    {                            \
        list(FACTS_WORD, prefix) \
    }

static const char *const call_kinds[] = WORDS(FACTS_CALL_KINDS, PROFILE_CALL_);
static const char *const object_kinds[] = {[PROFILE_OBJECT_OTHER] = "other",
                                           FACTS_OBJECT_KINDS(FACTS_WORD, PROFILE_OBJECT_)};
static const char *const node_kinds[] = WORDS(FACTS_NODE_KINDS, PROFILE_NODE_);
static const char *const memories[] = WORDS(FACTS_MEMORIES, PROFILE_MEMORY_);
static const char *const directions[] = WORDS(FACTS_DIRECTIONS, PROFILE_);
static const char *const severities[] = WORDS(FACTS_SEVERITIES, PROFILE_);
static const char *const name_sources[] = WORDS(FACTS_NAME_SOURCES, PROFILE_NAME_);
static const char *const endings[] = WORDS(FACTS_ENDINGS, PROFILE_);
static const char *const site_accesses[] = WORDS(FACTS_SITE_ACCESSES, PROFILE_SITE_);
static const char *const map_kinds[] = WORDS(FACTS_MAP_KINDS, PROFILE_MAP_);
static const char *const use_kinds[] = WORDS(FACTS_USE_KINDS, PROFILE_USE_);
static const char *const hosts[] = WORDS(FACTS_HOSTS, PROFILE_HOST_);
static const char *const remedies[] = WORDS(FACTS_REMEDIES, PROFILE_REMEDY_);
static const char *const doubts[] = WORDS(FACTS_DOUBTS, PROFILE_DOUBT_);
static const char *const value_types[] = WORDS(FACTS_VALUE_TYPES, PROFILE_TYPE_);
static const char *const contents_kinds[] = WORDS(FACTS_CONTENTS_KINDS, PROFILE_CONTENTS_);
static const char *const accessed_ways[] = WORDS(FACTS_ACCESSED_WAYS, PROFILE_ACCESSED_);
static const char *const collective_types[] = WORDS(FACTS_COLLECTIVE_TYPES, PROFILE_COLLECTIVE_);

#define COUNT(words) (sizeof(words) / sizeof((words)[0]))

const struct profile_words profile_words[PROFILE_WORDS_TABLES] = {
    {"call_kinds", call_kinds, COUNT(call_kinds)},
    {"object_kinds", object_kinds, COUNT(object_kinds)},
    {"node_kinds", node_kinds, COUNT(node_kinds)},
    {"memories", memories, COUNT(memories)},
    {"directions", directions, COUNT(directions)},
    {"severities", severities, COUNT(severities)},
    {"name_sources", name_sources, COUNT(name_sources)},
    {"endings", endings, COUNT(endings)},
    {"site_accesses", site_accesses, COUNT(site_accesses)},
    {"map_kinds", map_kinds, COUNT(map_kinds)},
    {"use_kinds", use_kinds, COUNT(use_kinds)},
    {"hosts", hosts, COUNT(hosts)},
    {"remedies", remedies, COUNT(remedies)},
    {"doubt_kinds", doubts, COUNT(doubts)},
    {"value_types", value_types, COUNT(value_types)},
    {"contents_kinds", contents_kinds, COUNT(contents_kinds)},
    {"accessed_ways", accessed_ways, COUNT(accessed_ways)},
    {"collective_types", collective_types, COUNT(collective_types)},
};

static const char *word(const char *const *words, size_t count, size_t value)
{
    return value < count && words[value] ? words[value] : "?";
}

const char *profile_call_kind_word(enum profile_call_kind kind)
{
    return word(call_kinds, COUNT(call_kinds), kind);
}

const char *profile_object_kind_word(enum profile_object_kind kind)
{
    return word(object_kinds, COUNT(object_kinds), kind);
}

const char *profile_node_kind_word(enum profile_node_kind kind)
{
    return word(node_kinds, COUNT(node_kinds), kind);
}

const char *profile_doubt_word(enum profile_doubt_kind kind)
{
    return word(doubts, COUNT(doubts), kind);
}

const char *profile_memory_word(enum profile_memory memory)
{
    return word(memories, COUNT(memories), memory);
}

const char *profile_direction_word(enum profile_direction direction)
{
    return word(directions, COUNT(directions), direction);
}

const char *profile_severity_word(enum profile_severity severity)
{
    return word(severities, COUNT(severities), severity);
}

const char *profile_name_source_word(enum profile_name_source source)
{
    return word(name_sources, COUNT(name_sources), source);
}

const char *profile_ending_word(enum profile_ending ending)
{
    return word(endings, COUNT(endings), ending);
}

const char *profile_site_access_word(enum profile_site_access access)
{
    return word(site_accesses, COUNT(site_accesses), access);
}

const char *profile_map_kind_word(enum profile_map_kind kind)
{
    return word(map_kinds, COUNT(map_kinds), kind);
}

const char *profile_use_kind_word(enum profile_use_kind kind)
{
    return word(use_kinds, COUNT(use_kinds), kind);
}

const char *profile_host_word(enum profile_host host)
{
    return word(hosts, COUNT(hosts), host);
}

const char *profile_remedy_word(enum profile_remedy remedy)
{
    return word(remedies, COUNT(remedies), remedy);
}

const char *profile_value_type_word(enum profile_value_type type)
{
    return word(value_types, COUNT(value_types), type);
}

const char *profile_contents_kind_word(enum profile_contents_kind kind)
{
    return word(contents_kinds, COUNT(contents_kinds), kind);
}
