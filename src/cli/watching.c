// SPDX-License-Identifier: Apache-2.0
// What a recording is to find out. Checks the options before the program starts, and turns them
// into environment variables for libglint.so and settings of the profile.
#include "watching.h"

#include <assert.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/event.h"
#include "sanitizer.h"

// --- Analyses ------------------------------------------------------------------------------------

// Calls, and with them waits, are always recorded; each input of src/analyze adds to that.
static const char default_analyses[] = "objects";

// "objects, elements, counts, values, requests, shared, cache, sync, all and none".
static void put_known(struct base_buf *out)
{
    for (unsigned i = 0; i < ANALYZE_INPUTS; i++)
        base_buf_printf(out, "%s, ", analyze_input_name((enum analyze_input)i));
    base_buf_puts(out, "all and none");
}

static enum analyze_input find_input(struct base_str word)
{
    unsigned i = 0;
    while (i < ANALYZE_INPUTS && !base_str_is(word, analyze_input_name((enum analyze_input)i)))
        i++;
    return (enum analyze_input)i;
}

static void refuse_analysis(struct base_str word, const char *known)
{
    static const char names[] = ANALYZE_INPUT_TABLE(CLI_WATCHING_WORD) "all none";
    char *copy = strndup(word.text, word.length);
    cli_message("--analyses: '%.*s' is not an analysis%s; the analyses are %s", (int)word.length,
                word.text, copy ? cli_nearest_of(copy, names).text : "", known);
    free(copy);
}

// Adds what a word of the list asks for. Returns false after a message.
static bool add_analysis(struct base_str word, uint32_t *wanted, bool *maps)
{
    const enum analyze_input input = find_input(word);
    struct base_buf known = {0};
    if (base_str_is(word, "all")) {
        *maps = true;
        // Those are slow.
        *wanted |= ((1u << ANALYZE_INPUTS) - 1) &
                   ~(1u << ANALYZE_INPUT_REQUESTS | 1u << ANALYZE_INPUT_SHARED |
                     1u << ANALYZE_INPUT_CACHE);
        return true;
    }
    if (input != ANALYZE_INPUTS) {
        *wanted |= 1u << input;
        return true;
    }
    put_known(&known);
    if (base_str_is(word, "none"))
        cli_message("--analyses: none cannot be combined with others");
    else
        refuse_analysis(word, known.text ? known.text : "others");
    base_buf_fini(&known);
    return false;
}

static bool take_analyses(struct cli_watching_request *request, const char *list)
{
    uint32_t wanted = 0;
    request->all_maps = false;
    for (const char *word = list; word && strcmp(list, "none") != 0;) {
        const char *comma = strchr(word, ',');
        const size_t length = comma ? (size_t)(comma - word) : strlen(word);
        if (!add_analysis((struct base_str){word, length}, &wanted, &request->all_maps))
            return false;
        word = comma ? comma + 1 : NULL;
    }
    request->analyses = list;
    request->probes = 0;
    request->sync = wanted >> ANALYZE_INPUT_SYNC & 1;
    for (unsigned i = 0; i < ANALYZE_INPUTS; i++)
        request->probes |= wanted >> i & 1 ? analyze_input_probes((enum analyze_input)i) : 0;
    // The profile also lists analyses that others imply.
    int length = snprintf(request->analyses_text, sizeof(request->analyses_text), "none");
    for (unsigned i = 0, found = 0; i < ANALYZE_INPUTS; i++) {
        const uint32_t probes = analyze_input_probes((enum analyze_input)i);
        const bool implied = probes && (probes & request->probes) == probes;
        if (!(wanted >> i & 1) && !implied)
            continue;
        length = found ? length : 0;
        length += snprintf(request->analyses_text + length,
                           sizeof(request->analyses_text) - (size_t)length, "%s%s",
                           found++ ? "," : "", analyze_input_name((enum analyze_input)i));
    }
    return true;
}

// --- The other options ---------------------------------------------------------------------------

// Returns false after a message if the argument is not a regular expression.
static bool take_names(const char *option, const char *pattern, const char **taken)
{
    regex_t compiled;
    int result = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);
    if (result != 0) {
        char why[128];
        regerror(result, &compiled, why, sizeof(why));
        cli_message("--%s: '%s' is not a regular expression: %s", option, pattern, why);
        return false;
    }
    regfree(&compiled);
    *taken = pattern;
    return true;
}

// Parses digits and an optional letter, which multiplies by a power of 1024. Returns 0 if
// the text is not such a number, or the number is too large.
static uint64_t number_of(const char *text, const char *letters)
{
    char *end;
    errno = 0;
    if (text[0] < '0' || text[0] > '9')
        return 0;
    uint64_t number = strtoull(text, &end, 10);
    if (errno)
        return 0;
    if (!*end)
        return number;
    const char *letter = strchr(letters, *end);
    if (!letter || end[1])
        return 0;
    unsigned shift = 10 * (unsigned)(letter - letters + 1);
    return number > UINT64_MAX >> shift ? 0 : number << shift;
}

static bool take_capture_range(struct cli_watching_request *request, const char *argument)
{
    request->capture_range = argument;
    if (event_capture_parse(argument, &request->capture))
        return true;
    if (strlen(argument) >= EVENT_CAPTURE_TEXT)
        cli_message("--capture-range: the name is longer than %d bytes", EVENT_CAPTURE_TEXT - 1);
    else
        cli_message("--capture-range takes profiler, nvtx:NAME or nvtx:NAME@DOMAIN, not '%s'",
                    argument);
    return false;
}

static bool take_sample(const char *option, const char *argument, uint64_t *every)
{
    *every = number_of(argument, "");
    if (*every == 0 || *every > UINT32_MAX) {
        cli_message("--%s takes a number from 1 to %u, not '%s'", option, UINT32_MAX, argument);
        return false;
    }
    return true;
}

static bool take_max_shadow(struct cli_watching_request *request, const char *argument)
{
    request->max_shadow_bytes = number_of(argument, "KMGT");
    if (request->max_shadow_bytes == 0) {
        cli_message("--max-shadow takes a number of bytes such as 1000000, 512K, 256M or 2G, "
                    "not '%s'",
                    argument);
        return false;
    }
    return true;
}

static bool take_sync_tracking(struct cli_watching_request *request, const char *argument)
{
    if (strcmp(argument, "on") != 0 && strcmp(argument, "full") != 0 &&
        strcmp(argument, "off") != 0) {
        cli_message("--sync-tracking takes on, full or off, not '%s'", argument);
        return false;
    }
    request->sync_tracking = argument;
    return true;
}

// Returns the value of the environment variable for the argument of --sync-tracking.
static const char *tracking_value(const char *word)
{
    return strcmp(word, "off") == 0 ? "0" : strcmp(word, "on") == 0 ? "1" : "2";
}

static const struct cli_option options[] = {CLI_WATCHING_OPTIONS};
enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

bool cli_watching_has_option(const struct cli_option *option)
{
    for (unsigned i = 0; i < OPTIONS; i++) {
        if (strcmp(options[i].name, option->name) == 0)
            return true;
    }
    return false;
}

bool cli_watching_take_option(struct cli_watching_request *request, const struct cli_option *option,
                              const char *argument)
{
    if (strcmp(option->name, "analyses") == 0)
        return take_analyses(request, argument);
    if (strcmp(option->name, "kernels") == 0)
        return take_names(option->name, argument, &request->kernels);
    if (strcmp(option->name, "no-probes") == 0)
        return take_names(option->name, argument, &request->no_probes);
    if (strcmp(option->name, "sample") == 0)
        return take_sample(option->name, argument, &request->sample);
    if (strcmp(option->name, "launches") == 0)
        return take_sample(option->name, argument, &request->launches);
    if (strcmp(option->name, "sample-native") == 0)
        return take_sample(option->name, argument, &request->sample_native);
    if (strcmp(option->name, "capture-range") == 0)
        return take_capture_range(request, argument);
    if (strcmp(option->name, "max-shadow") == 0)
        return take_max_shadow(request, argument);
    if (strcmp(option->name, "sync-tracking") == 0)
        return take_sync_tracking(request, argument);
    if (strcmp(option->name, "values") == 0)
        request->values = argument;
    if (strcmp(option->name, "maps") == 0)
        request->maps = true;
    if (strcmp(option->name, "protect-pages") == 0)
        request->protects = true;
    request->no_cache = strcmp(option->name, "no-cache") == 0 ||
                        (request->no_cache && strcmp(option->name, "cache") != 0);
    if (strcmp(option->name, "cache") == 0)
        request->cache = argument;
    return true;
}

// --- For the program -----------------------------------------------------------------------------

// Finds the folder of the cache, as an absolute path because the program may change its folder.
// Leaves it empty if there is none.
static bool find_cache(const struct cli_watching_request *request, struct base_buf *folder)
{
    const char *home = getenv("HOME"), *caches = getenv("XDG_CACHE_HOME");
    struct stat status;
    if (request->no_cache) {
        base_buf_puts(folder, "");
    } else if (request->cache) {
        bool there = mkdir(request->cache, 0777) == 0 || errno == EEXIST;
        if (there && stat(request->cache, &status) == 0 && !S_ISDIR(status.st_mode)) {
            errno = ENOTDIR;
            there = false;
        }
        if (!there) {
            cli_message("--cache: %s is not a folder: %s", request->cache, strerror(errno));
            return false;
        }
        char *whole = realpath(request->cache, NULL);
        base_buf_puts(folder, whole ? whole : request->cache);
        free(whole);
    } else if (caches && caches[0] == '/') {
        base_buf_printf(folder, "%s/glint", caches);
    } else if (home && home[0] == '/') {
        base_buf_printf(folder, "%s/.cache/glint", home);
    }
    return true;
}

static bool set(const char *variable, const char *value)
{
    // A variable that this process inherited must not reach the program.
    return (value ? setenv(variable, value, 1) : unsetenv(variable)) == 0;
}

static void add_setting(struct cli_watching_request *request, const char *name, const char *value)
{
    if (value)
        request->settings[request->setting_count++] = (struct profile_setting){name, value};
}

// Says where libglint.so finds what sampling needs. Returns false if memory runs out.
static bool set_native(const struct cli_watching_request *request)
{
    struct base_buf library = {0}, patch = {0};
    const bool wanted = request->sample_native;
    const bool has_patch = wanted && cli_sanitizer_find_patch(&patch);
    const bool found = wanted && cli_sanitizer_find(&library);
    if (wanted && !has_patch)
        cli_message("--sample-native: this glint was built without nvcc, which compiles the patch: "
                    "no launches are sampled");
    const bool good = set(EVENT_SAMPLE_NATIVE_VARIABLE, wanted ? request->native_text : NULL) &&
                      (!wanted || (set(EVENT_PATCH_VARIABLE, has_patch ? patch.text : "") &&
                                   set(EVENT_FOUND_VARIABLE, found ? library.text : "")));
    base_buf_fini(&library);
    base_buf_fini(&patch);
    return good;
}

bool cli_watching_prepare(struct cli_watching_request *request)
{
    char probes[16];
    struct base_buf cache = {0};
    if (!request->analyses && !take_analyses(request, default_analyses))
        return false;
    const bool maps = request->maps || request->all_maps;
    if (maps && !(request->probes & EVENT_PROBE_ELEMENTS)) {
        cli_message("--maps needs --analyses elements");
        return false;
    }
    if (request->sample_native && !request->probes) {
        cli_message("--sample-native needs an analysis of what kernels access, such as objects");
        return false;
    }
    if (request->values && !(request->probes & EVENT_PROBE_VALUES)) {
        cli_message("--values needs --analyses values");
        return false;
    }
    const bool accesses = request->values && strcmp(request->values, "accesses") == 0;
    request->probes |= accesses ? EVENT_PROBE_ACCESSED : 0;
    const char *protect = getenv(EVENT_PROTECT_VARIABLE);
    request->protects |= protect && strcmp(protect, "1") == 0;
    if (!request->sync_tracking)
        request->sync_tracking = request->sync ? "on" : "off";
    if (!find_cache(request, &cache)) {
        base_buf_fini(&cache);
        return false;
    }
    snprintf(probes, sizeof(probes), "%u", request->probes);
    snprintf(request->sample_text, sizeof(request->sample_text), "%llu",
             (unsigned long long)request->sample);
    snprintf(request->max_shadow_text, sizeof(request->max_shadow_text), "%llu",
             (unsigned long long)request->max_shadow_bytes);
    snprintf(request->native_text, sizeof(request->native_text), "%llu",
             (unsigned long long)request->sample_native);
    snprintf(request->launches_text, sizeof(request->launches_text), "%llu",
             (unsigned long long)request->launches);
    const char *launches = request->launches ? request->launches_text : NULL;
    const char *native = request->sample_native ? request->native_text : NULL;
    const char *sample = request->sample ? request->sample_text : NULL;
    const char *max_shadow = request->max_shadow_bytes ? request->max_shadow_text : NULL;
    bool good = !cache.failed && set(EVENT_PROBES_VARIABLE, probes) &&
                set(EVENT_KERNELS_VARIABLE, request->kernels) &&
                set(EVENT_NO_PROBES_VARIABLE, request->no_probes) &&
                set(EVENT_CAPTURE_VARIABLE, request->capture_range) &&
                set(EVENT_SAMPLE_VARIABLE, sample) && set(EVENT_LAUNCHES_VARIABLE, launches) &&
                set(EVENT_MAX_SHADOW_VARIABLE, max_shadow) &&
                set(EVENT_MAPS_VARIABLE, maps ? "1" : NULL) && set_native(request) &&
                set(EVENT_SYNC_TRACKING_VARIABLE, tracking_value(request->sync_tracking)) &&
                set(EVENT_PROTECT_VARIABLE, request->protects ? "1" : NULL) &&
                set(EVENT_CACHE_VARIABLE, cache.text ? cache.text : "");
    base_buf_fini(&cache);
    if (!good)
        cli_no_memory();
    add_setting(request, "analyses", request->analyses_text);
    add_setting(request, "kernels", request->kernels);
    add_setting(request, "no_probes", request->no_probes);
    add_setting(request, "sample", sample);
    add_setting(request, "launches", launches);
    add_setting(request, "sample_native", native);
    add_setting(request, "capture_range", request->capture_range);
    add_setting(request, "max_shadow_bytes", max_shadow);
    add_setting(request, "maps", maps ? "1" : NULL);
    add_setting(request, "sync_tracking", request->sync_tracking);
    add_setting(request, "protect_pages", request->protects ? "1" : NULL);
    add_setting(request, "values", accesses ? "accesses" : NULL);
    return good;
}

bool cli_watching_has_first_uses(const struct cli_watching_request *request)
{
    return strcmp(request->sync_tracking, "off") != 0;
}

// --- After the program ---------------------------------------------------------------------------

static void report_no_range(const struct event_capture *capture,
                            const struct record_captured *captured)
{
    if (!captured->nvtx)
        cli_message("no launch was watched: no range named '%s' occurred; the program did not use "
                    "NVTX, or chose another tool for it",
                    capture->name);
    else
        cli_message("no launch was watched: no range named '%s' occurred in %s%s%s%s",
                    capture->name, capture->domain[0] ? "domain '" : "the default domain",
                    capture->domain, capture->domain[0] ? "'" : "",
                    captured->other ? "; one occurred in another domain: use nvtx:NAME@DOMAIN, or "
                                      "nvtx:NAME for the default domain"
                                    : "");
}

void cli_watching_report_capture(const struct cli_watching_request *request,
                                 const struct record_outcome *outcome)
{
    const struct event_capture *capture = &request->capture;
    const struct record_captured *captured = &outcome->captured;
    if (capture->kind == EVENT_CAPTURE_ALL || !request->probes || !outcome->profile_count ||
        !captured->known || captured->inside)
        return;
    if (capture->kind == EVENT_CAPTURE_NVTX && !captured->range)
        report_no_range(capture, captured);
    else if (capture->kind == EVENT_CAPTURE_NVTX)
        cli_message("no launch was watched: none was inside of a range named '%s'; a pushed range "
                    "covers only launches of its own thread",
                    capture->name);
    else
        cli_message("no launch was watched: %s",
                    captured->range ? "none was between cudaProfilerStart and "
                                      "cudaProfilerStop"
                                    : "the program did not call cudaProfilerStart");
}
