// SPDX-License-Identifier: Apache-2.0
// What a recording is to find out, as options say it and as the program's environment passes it on.
#ifndef GLINT_CLI_WATCHING_H
#define GLINT_CLI_WATCHING_H

#include "cli.h"
#include "profile/profile.h"

enum { CLI_WATCHING_SETTINGS = 6 };

// Begins as {0}.
struct cli_watching_request {
    const char *analyses;      // as given; NULL: the default
    uint32_t probes;           // sum of EVENT_PROBE_*
    const char *kernels;       // a regular expression; NULL: all
    uint64_t sample;           // every so many launches of a kernel; 0: not given
    uint64_t max_shadow_bytes; // 0: not given
    bool maps, all_maps;       // --maps; what --analyses all includes
    bool sync;                 // is among the analyses
    const char *sync_tracking; // "on", "full" or "off"; NULL: on with sync
    bool no_cache;
    const char *cache; // folder; NULL: the default
    // For the profile, when cli_watching_prepare was there.
    struct profile_setting settings[CLI_WATCHING_SETTINGS];
    uint32_t setting_count;
    char analyses_text[64], sample_text[24], max_shadow_text[24];
};

// Rows for a verb's table of options, and what takes them: false after a message. `option` must be
// one of them.
#define CLI_WATCHING_OPTIONS                                                                   \
    {'a', "analyses", "LIST", "objects, elements, counts, sync, all or none; default objects", \
     .list = "objects elements counts sync all none"},                                         \
        {'k', "kernels", "REGEX", "watch only kernels whose name matches"},                    \
        {'s', "sample", "N", "watch only every Nth launch of a kernel"},                       \
        {0, "max-shadow", "BYTES", "GPU memory that watching may take: 512M, 2G, ..."},        \
        {0, "maps", NULL, "keep which elements of each object were touched; in all"},          \
        {0, "sync-tracking", "on|full|off",                                                    \
         "watch for first uses of what the GPU gave: on with sync; full: whatever it costs",   \
         .values = "on full off"},                                                             \
        {0, "cache", "DIR", "where rewritten modules are kept; default: ~/.cache/glint"},      \
    {                                                                                          \
        0, "no-cache", NULL, "keep none"                                                       \
    }
bool cli_watching_has_option(const struct cli_option *option);
bool cli_watching_take_option(struct cli_watching_request *request, const struct cli_option *option,
                              const char *argument);

// Changes this process's own environment for the program, and makes the settings, which last as
// long as the request. False after a message.
bool cli_watching_prepare(struct cli_watching_request *request);
// After that: whether first uses are watched for.
bool cli_watching_has_first_uses(const struct cli_watching_request *request);

#endif
