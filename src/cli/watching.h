// SPDX-License-Identifier: Apache-2.0
// What a recording is to find out: parses the options, and passes them to the program by its
// environment.
#ifndef GLINT_CLI_WATCHING_H
#define GLINT_CLI_WATCHING_H

#include "cli.h"
#include "event/event.h"
#include "profile/profile.h"
#include "record/record.h"

enum { CLI_WATCHING_SETTINGS = 12 };

// Initialize with {0}.
struct cli_watching_request {
    const char *analyses;         // the argument of --analyses; NULL: the default
    uint32_t probes;              // bits EVENT_PROBE_*
    const char *kernels;          // a regular expression; NULL: all
    const char *no_probes;        // the same; NULL: none
    uint64_t sample;              // watch every Nth launch of a kernel; 0: not given
    uint64_t launches;            // watch so many that are alike; 0: not given
    uint64_t sample_native;       // sample the first and every Nth one without probes; the same
    const char *capture_range;    // NULL: not given
    struct event_capture capture; // what it means
    uint64_t max_shadow_bytes;    // 0: not given
    const char *values;           // "borders" or "accesses"; NULL: not given
    bool maps, all_maps;          // --maps was given; --analyses all includes maps
    bool sync;                    // sync is among the analyses
    const char *sync_tracking;    // "on", "full" or "off"; NULL: on with sync
    bool protects;                // --protect-pages was given
    bool no_cache;
    const char *cache; // folder; NULL: the default
    // For the profile; filled by cli_watching_prepare.
    struct profile_setting settings[CLI_WATCHING_SETTINGS];
    uint32_t setting_count;
    char analyses_text[64], sample_text[24], launches_text[24], native_text[24],
        max_shadow_text[24];
};

// Rows for a verb's table of options, and the function that takes them, which returns false after a
// message. `option` must be one of these rows.
#define CLI_WATCHING_WORD(enumerator, word, probes)           word " "
#define CLI_WATCHING_WORD_AND_COMMA(enumerator, word, probes) word ", "
#define CLI_WATCHING_OPTIONS                                                                       \
    {'a', "analyses", "LIST",                                                                      \
     ANALYZE_INPUT_TABLE(CLI_WATCHING_WORD_AND_COMMA) "all or none; default objects",              \
     .list = ANALYZE_INPUT_TABLE(CLI_WATCHING_WORD) "all none"},                                   \
        {'k', "kernels", "REGEX", "watch only kernels whose name matches"},                        \
        {0, "no-probes", "REGEX",                                                                  \
         "no probes in kernels whose name matches: only what they are passed is known"},           \
        {'s', "sample", "N", "watch only every Nth launch of a kernel"},                           \
        {0, "launches", "N",                                                                       \
         "watch only the first N launches of a kernel with equal arguments and sizes (see docs)"}, \
        {0, "sample-native", "N",                                                                  \
         "see what every Nth launch of a kernel without probes accesses (see docs)"},              \
        {0, "capture-range", "RANGE",                                                              \
         "watch only launches inside: profiler (cudaProfilerStart), nvtx:NAME, nvtx:NAME@DOMAIN"}, \
        {0, "max-shadow", "BYTES", "limit the GPU memory for probe results: 512M, 2G, ..."},       \
        {0, "maps", NULL, "keep which elements of each object were touched; included in all"},     \
        {0, "values", "borders|accesses",                                                          \
         "where values are looked at; accesses: also what loads and stores move; default borders", \
         .values = "borders accesses"},                                                            \
        {0, "sync-tracking", "on|full|off",                                                        \
         "track first uses of results: on with sync; full: at any cost", .values = "on full off"}, \
        {0, "protect-pages", NULL,                                                                 \
         "also track first uses in ways that some programs notice (see docs)"},                    \
        {0, "cache", "DIR", "keep rewritten modules in DIR; default: ~/.cache/glint"},             \
    {                                                                                              \
        0, "no-cache", NULL, "keep no rewritten modules"                                           \
    }
bool cli_watching_has_option(const struct cli_option *option);
bool cli_watching_take_option(struct cli_watching_request *request, const struct cli_option *option,
                              const char *argument);

// Changes the environment of this process for the program, and fills the settings, which are valid
// as long as the request. Returns false after a message.
bool cli_watching_prepare(struct cli_watching_request *request);
// Returns whether first uses are tracked; call it after cli_watching_prepare.
bool cli_watching_has_first_uses(const struct cli_watching_request *request);

// Says why no launch was watched, if --capture-range is the reason. Called when the program has
// ended.
void cli_watching_report_capture(const struct cli_watching_request *request,
                                 const struct record_outcome *outcome);

#endif
