// SPDX-License-Identifier: Apache-2.0
// The words for kinds: the same for C and for the views, whose tables of words are filled from
// here; and the names of functions as people write them.
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

static const char *const call_kinds[] = {
    [PROFILE_CALL_OTHER] = "other",
    [PROFILE_CALL_ALLOC] = "alloc",
    [PROFILE_CALL_FREE] = "free",
    [PROFILE_CALL_COPY] = "copy",
    [PROFILE_CALL_SET] = "set",
    [PROFILE_CALL_LAUNCH] = "launch",
    [PROFILE_CALL_GRAPH_LAUNCH] = "graph-launch",
    [PROFILE_CALL_SYNC] = "sync",
    [PROFILE_CALL_EVENT_RECORD] = "event-record",
    [PROFILE_CALL_EVENT_WAIT] = "event-wait",
    [PROFILE_CALL_HOST] = "host",
    [PROFILE_CALL_STREAM] = "stream",
    [PROFILE_CALL_CONTEXT] = "context",
    [PROFILE_CALL_MODULE] = "module",
    [PROFILE_CALL_MEMORY] = "memory",
};

static const char *const object_kinds[] = {
    [PROFILE_OBJECT_OTHER] = "other",       [PROFILE_OBJECT_DEVICE] = "device",
    [PROFILE_OBJECT_PITCHED] = "pitched",   [PROFILE_OBJECT_ARRAY] = "array",
    [PROFILE_OBJECT_MANAGED] = "managed",   [PROFILE_OBJECT_POOL] = "pool",
    [PROFILE_OBJECT_MAPPING] = "mapping",   [PROFILE_OBJECT_GLOBAL] = "global",
    [PROFILE_OBJECT_PINNED] = "pinned",     [PROFILE_OBJECT_REGISTERED] = "registered",
    [PROFILE_OBJECT_IMPORTED] = "imported", [PROFILE_OBJECT_GRAPH] = "graph",
    [PROFILE_OBJECT_PART] = "part",         [PROFILE_OBJECT_HEAP] = "heap",
};

static const char *const node_kinds[] = {
    [PROFILE_NODE_KERNEL] = "kernel",
    [PROFILE_NODE_COPY] = "copy",
    [PROFILE_NODE_SET] = "set",
    [PROFILE_NODE_ALLOC] = "alloc",
    [PROFILE_NODE_FREE] = "free",
    [PROFILE_NODE_EVENT_RECORD] = "event-record",
    [PROFILE_NODE_EVENT_WAIT] = "event-wait",
    [PROFILE_NODE_HOST] = "host",
    [PROFILE_NODE_GRAPH] = "graph",
    [PROFILE_NODE_EMPTY] = "empty",
    [PROFILE_NODE_OTHER] = "other",
};

static const char *const memories[] = {
    [PROFILE_MEMORY_PAGEABLE] = "pageable", [PROFILE_MEMORY_PINNED] = "pinned",
    [PROFILE_MEMORY_DEVICE] = "device",     [PROFILE_MEMORY_MANAGED] = "managed",
    [PROFILE_MEMORY_ARRAY] = "array",       [PROFILE_MEMORY_UNKNOWN] = "unknown",
};

static const char *const directions[] = {
    [PROFILE_HOST_TO_DEVICE] = "host-to-device",     [PROFILE_DEVICE_TO_HOST] = "device-to-host",
    [PROFILE_DEVICE_TO_DEVICE] = "device-to-device", [PROFILE_HOST_TO_HOST] = "host-to-host",
    [PROFILE_PEER_TO_PEER] = "peer-to-peer",
};

static const char *const severities[] = {
    [PROFILE_INFO] = "info",
    [PROFILE_WARNING] = "warning",
    [PROFILE_ERROR] = "error",
};

static const char *const name_sources[] = {
    [PROFILE_NAME_PATH] = "path",
    [PROFILE_NAME_PLACE] = "place",
    [PROFILE_NAME_SOURCE] = "source",
    [PROFILE_NAME_PROGRAM] = "program",
};

static const char *const endings[] = {
    [PROFILE_RECORDER_LOST] = "recorder lost", [PROFILE_EXITED] = "exited",
    [PROFILE_SIGNALLED] = "signalled",         [PROFILE_ENDED] = "ended",
    [PROFILE_REPLACED] = "replaced",
};

static const char *const site_accesses[] = {
    [PROFILE_SITE_LOAD] = "load",
    [PROFILE_SITE_STORE] = "store",
    [PROFILE_SITE_ATOMIC] = "atomic",
};

static const char *const map_kinds[] = {
    [PROFILE_MAP_TOUCHED] = "touched",
    [PROFILE_MAP_SHARED] = "shared",
};

static const char *const use_kinds[PROFILE_USE_KINDS] = {
    [PROFILE_USE_READ] = "read",           [PROFILE_USE_WRITE] = "write",
    [PROFILE_USE_SYSTEM] = "system",       [PROFILE_USE_UNKNOWN] = "unknown",
    [PROFILE_USE_UNWATCHED] = "unwatched", [PROFILE_USE_CLOCK] = "clock",
};

static const char *const hosts[PROFILE_HOST_KINDS] = {
    [PROFILE_HOST_PAGEABLE] = "pageable", [PROFILE_HOST_ALLOCATED] = "allocated",
    [PROFILE_HOST_MAPPED] = "mapped",     [PROFILE_HOST_FILE] = "file",
    [PROFILE_HOST_STACK] = "stack",       [PROFILE_HOST_STATIC] = "static",
    [PROFILE_HOST_PINNED] = "pinned",     [PROFILE_HOST_REGISTERED] = "registered",
    [PROFILE_HOST_MANAGED] = "managed",
};

static const char *const remedies[PROFILE_REMEDIES] = {
    [PROFILE_REMEDY_DROP_SYNC] = "drop-sync", [PROFILE_REMEDY_ASYNC_COPY] = "async-copy",
    [PROFILE_REMEDY_POOL] = "pool",           [PROFILE_REMEDY_BACK] = "back",
    [PROFILE_REMEDY_LAST_USE] = "last-use",
};

static const char *const doubts[PROFILE_DOUBT_KINDS] = {
    [PROFILE_DOUBT_POINTER] = "pointer", [PROFILE_DOUBT_LEFT] = "left",
    [PROFILE_DOUBT_TEXTURE] = "texture", [PROFILE_DOUBT_WRAPPED] = "wrapped",
    [PROFILE_DOUBT_WORK] = "work",       [PROFILE_DOUBT_UNTOLD] = "untold",
};

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
