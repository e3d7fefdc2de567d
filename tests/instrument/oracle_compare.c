// SPDX-License-Identifier: Apache-2.0
// Reads the simulator's log of the launches, sums up what lanes did to each buffer and variable,
// and compares it with what probes reported.
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"
#include "gpusim/gpusim.h"
#include "logged_request.h"
#include "oracle.h"

enum { MOST_COMPLAINTS = 6, SHARED_BYTES = 256 << 20, MOST_SECONDS = 600 };

struct truth {
    bool read, written;
    uint64_t read_bytes, written_bytes;
    uint32_t *counts; // of elements from the slot's base on
};

// How often lanes executed a site of the original kernel, without probes, and what requests of
// warps took.
struct passed {
    const struct gpusim_log_site *site;
    enum gpusim_log_space space; // what it did in that memory
    uint64_t times;
    uint64_t requests[INSTRUMENT_REQUEST_TALLIES];
};

// The launches of one level in the log.
struct judge {
    const struct oracle_case *test;
    const struct oracle_level *level;
    const struct oracle_told *told;
    FILE *complaints;
    unsigned complained;
    bool saw_original, saw_clone;
    struct truth truth[ORACLE_OBJECTS];
    BASE_ARRAY(struct passed) passed;
    struct logged_request request;    // the last one
    struct oracle_values *values;     // NULL: not requested
    struct oracle_accessed *accessed; // NULL: not requested
    struct oracle_words *words;       // NULL: not requested, or not all are counted
    struct oracle_ranges *ranges;     // NULL: not requested, or not traced
    struct oracle_reuse_log *reuse;   // the same
    struct oracle_trace_log *trace;   // NULL: not requested, or not traced
};

static void complain(struct judge *judge, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void complain(struct judge *judge, const char *format, ...)
{
    const uint32_t facts = judge->level->facts;
    if (judge->complained++ >= MOST_COMPLAINTS)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(judge->complaints, "%s, %s%s%s%s, elements of %u bytes: ", judge->test->name,
            facts & INSTRUMENT_OBJECTS ? "objects " : "",
            facts & INSTRUMENT_ELEMENTS ? "elements " : "",
            facts & INSTRUMENT_COUNTS ? "counts " : "", facts & INSTRUMENT_VALUES ? "values" : "",
            1u << judge->level->shift);
    vfprintf(judge->complaints, format, arguments);
    fputc('\n', judge->complaints);
    va_end(arguments);
}

static uint64_t elements_of(const struct oracle_object *object)
{
    return (object->slot.bytes + (1u << object->slot.shift) - 1) >> object->slot.shift;
}

// --- What the log says ---------------------------------------------------------------------------

static void see_lane(struct judge *judge, const struct gpusim_log_access *access, uint64_t address)
{
    for (unsigned i = 0; i < judge->told->object_count; i++) {
        const struct oracle_object *object = &judge->told->objects[i];
        struct truth *truth = &judge->truth[i];
        if (!truth->counts || address < object->address ||
            address - object->address >= object->bytes)
            continue;
        if (access->kind != GPUSIM_LOG_STORE) {
            truth->read = true;
            truth->read_bytes += access->bytes;
        }
        if (access->kind != GPUSIM_LOG_LOAD) {
            truth->written = true;
            truth->written_bytes += access->bytes;
        }
        const uint64_t at = address - object->slot.base;
        for (uint64_t element = at >> object->slot.shift;
             element <= (at + access->bytes - 1) >> object->slot.shift; element++)
            truth->counts[element]++;
        return;
    }
}

static struct passed *passed_at(struct judge *judge, const struct gpusim_log_site *site,
                                enum gpusim_log_space space)
{
    for (size_t i = 0; i < judge->passed.count; i++) {
        if (judge->passed.items[i].site == site && judge->passed.items[i].space == space)
            return &judge->passed.items[i];
    }
    struct passed *passed = oracle_must(base_array_push(&judge->passed));
    *passed = (struct passed){.site = site, .space = space};
    return passed;
}

static void end_request(struct judge *judge)
{
    struct logged_request *request = &judge->request;
    if (!request->site)
        return;
    logged_request_sum(request, passed_at(judge, request->site, request->space)->requests);
    *request = (struct logged_request){0};
}

static void see_site(struct judge *judge, const struct gpusim_log_access *access)
{
    passed_at(judge, access->site, access->space)->times +=
        (unsigned)__builtin_popcount(access->mask);
    if (judge->request.space != access->space)
        end_request(judge);
    logged_request_add(&judge->request, access);
}

static void see(struct judge *judge, const struct gpusim_log_access *access)
{
    if (!access->continued)
        end_request(judge);
    const bool clone = strcmp(access->launch->kernel, judge->told->clone) == 0;
    if (judge->trace)
        oracle_trace_see(judge->trace, access, clone);
    if ((access->space == GPUSIM_LOG_SHARED || access->space == GPUSIM_LOG_LOCAL) && !clone) {
        see_site(judge, access);
        if (judge->words && access->space == GPUSIM_LOG_SHARED)
            oracle_words_see(judge->words, access);
        if (judge->ranges && access->space == GPUSIM_LOG_SHARED)
            oracle_ranges_see(judge->ranges, access);
    }
    if (access->space != GPUSIM_LOG_GLOBAL)
        return;
    if (judge->values)
        oracle_values_see(judge->values, access, clone);
    if (judge->accessed)
        oracle_accessed_see(judge->accessed, access, clone);
    if (!clone)
        see_site(judge, access);
    if (!clone && judge->reuse)
        oracle_reuse_see(judge->reuse, access);
    // With values, probes of the clone load what the program stores.
    if (clone == (judge->values != NULL))
        return;
    for (uint32_t left = access->mask; left; left &= left - 1)
        see_lane(judge, access, access->address[__builtin_ctz(left)]);
}

// --- Comparing -----------------------------------------------------------------------------------

static void judge_elements(struct judge *judge, const struct oracle_object *object,
                           const struct truth *truth)
{
    const uint64_t elements = elements_of(object);
    for (uint64_t i = 0; i < (elements + 31) / 32 * 32; i++) {
        const bool touched = i < elements && truth->counts[i];
        const bool told = object->bits[i / 32] >> i % 32 & 1;
        if (told != touched)
            complain(judge, "%s: element %lld: touched %u, wanted %u", object->name,
                     (long long)i - (object->slot.lead >> object->slot.shift), told, touched);
    }
    for (uint64_t i = 0; object->counts && i < elements; i++) {
        if (object->counts[i] != truth->counts[i])
            complain(judge, "%s: element %lld: count %u, wanted %u", object->name,
                     (long long)i - (object->slot.lead >> object->slot.shift), object->counts[i],
                     truth->counts[i]);
    }
}

static void judge_object(struct judge *judge, const struct oracle_object *object,
                         const struct truth *truth)
{
    if (object->read != truth->read || object->written != truth->written)
        complain(judge, "%s: read %d, written %d, wanted %d, %d", object->name, object->read,
                 object->written, truth->read, truth->written);
    if (!(judge->level->facts & INSTRUMENT_ELEMENTS))
        return;
    if (object->read_bytes != truth->read_bytes || object->written_bytes != truth->written_bytes)
        complain(judge, "%s: %lld bytes read, %lld written, wanted %lld, %lld", object->name,
                 (long long)object->read_bytes, (long long)object->written_bytes,
                 (long long)truth->read_bytes, (long long)truth->written_bytes);
    judge_elements(judge, object, truth);
}

static bool is_at(const struct oracle_site *told, const struct gpusim_log_site *site)
{
    return told->index == site->index && strcmp(told->function, site->function) == 0;
}

// Every site that accessed global memory must be in the table of sites. Tallies must equal the
// log's counts. A copy instruction has two sites, one of which is not global.
static void judge_sites(struct judge *judge)
{
    for (size_t i = 0; i < judge->passed.count; i++) {
        const struct gpusim_log_site *site = judge->passed.items[i].site;
        const struct oracle_site *found = NULL;
        if (judge->passed.items[i].space != GPUSIM_LOG_GLOBAL)
            continue;
        for (unsigned k = 0; k < judge->told->site_count && !found; k++) {
            if (is_at(&judge->told->sites[k], site))
                found = &judge->told->sites[k];
        }
        if (!found || strcmp(found->opcode, site->text) != 0)
            complain(judge, "%s, instruction %u, %s: %s in the table of sites", site->function,
                     site->index, site->text, found ? found->opcode : "not");
        else if (found->counted && found->times != judge->passed.items[i].times)
            complain(judge, "%s, instruction %u, %s: %llu times, wanted %llu", site->function,
                     site->index, site->text, (unsigned long long)found->times,
                     (unsigned long long)judge->passed.items[i].times);
    }
}

// Sums of a site that made no requests must be 0.
static void judge_request(struct judge *judge, const struct oracle_site *told,
                          enum gpusim_log_space space)
{
    static const char *const names[] = {"requests", "sectors or wavefronts", "needed", "lines"};
    static const struct passed none;
    const struct passed *own = &none;
    for (size_t i = 0; i < judge->passed.count; i++) {
        const struct passed *passed = &judge->passed.items[i];
        if (passed->space == space && is_at(told, passed->site))
            own = passed;
    }
    for (unsigned k = 0; told->requested && k < INSTRUMENT_REQUEST_TALLIES; k++) {
        if (told->requests[k] != own->requests[k])
            complain(judge, "instruction %u, %s: %llu %s, wanted %llu", told->index, told->opcode,
                     (unsigned long long)told->requests[k], names[k],
                     (unsigned long long)own->requests[k]);
    }
}

static void judge_requests(struct judge *judge)
{
    for (unsigned i = 0; i < judge->told->site_count; i++)
        judge_request(judge, &judge->told->sites[i], GPUSIM_LOG_GLOBAL);
    for (unsigned i = 0; i < judge->told->shared_count; i++)
        judge_request(judge, &judge->told->shared[i],
                      judge->told->shared[i].local ? GPUSIM_LOG_LOCAL : GPUSIM_LOG_SHARED);
}

static void complain_of_lines(struct judge *judge, struct base_buf *lines)
{
    char *rest = NULL;
    for (char *line = lines->length ? strtok_r(lines->text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        complain(judge, "%s", line);
    base_buf_fini(lines);
}

static void judge_values(struct judge *judge)
{
    struct base_buf lines = {0};
    oracle_values_judge(judge->values, &lines);
    if (judge->accessed)
        oracle_accessed_judge(judge->accessed, &lines);
    complain_of_lines(judge, &lines);
}

static void judge_words(struct judge *judge)
{
    struct base_buf lines = {0};
    oracle_words_judge(judge->words, &lines);
    if (judge->ranges)
        oracle_ranges_judge(judge->ranges, &lines);
    complain_of_lines(judge, &lines);
}

static void judge_reuse(struct judge *judge)
{
    struct base_buf lines = {0};
    oracle_reuse_judge(judge->reuse, &lines);
    complain_of_lines(judge, &lines);
}

static void judge_trace(struct judge *judge)
{
    struct base_buf lines = {0};
    if (judge->trace)
        oracle_trace_judge(judge->trace, &lines);
    else if (judge->level->must_trace)
        complain(judge, "lines are not traced");
    complain_of_lines(judge, &lines);
}

static bool judge_level(struct judge *judge)
{
    const struct oracle_told *told = judge->told;
    if (!told->done)
        complain(judge, "%s", *told->problem ? told->problem : "the run failed");
    else if (!judge->saw_original || !judge->saw_clone)
        complain(judge, "the log has no such launches");
    if (judge->complained)
        return false;
    if (*told->differs)
        complain(judge, "%s", told->differs);
    if (told->strays)
        complain(judge, "%llu accesses strayed", (unsigned long long)told->strays);
    const bool leaves = (judge->test->leaves || (judge->test->may_leave && told->unknown)) &&
                        !(judge->level->facts & INSTRUMENT_ELEMENTS);
    if (told->unknown != leaves)
        complain(judge, "what was touched is told to be %s", leaves ? "known" : "unknown");
    for (unsigned i = 0; !leaves && i < told->object_count; i++)
        judge_object(judge, &told->objects[i], &judge->truth[i]);
    end_request(judge);
    judge_sites(judge);
    judge_requests(judge);
    if (judge->level->must_be_regular && !told->regular)
        complain(judge, "the launch is not regular");
    if (judge->words)
        judge_words(judge);
    else if (judge->level->all_words)
        complain(judge, "not all words of shared memory are counted");
    if (judge->level->all_ranges && !judge->ranges)
        complain(judge, "live ranges are not traced");
    if (judge->reuse && !leaves)
        judge_reuse(judge);
    else if (judge->level->all_reuse && !judge->reuse)
        complain(judge, "not all that blocks load is counted");
    judge_trace(judge);
    if (judge->values && !leaves)
        judge_values(judge);
    return !judge->complained;
}

// Each level has two launches, the kernel's and the clone's.
static bool read_log(struct judge *judges, unsigned count, const char *path)
{
    struct gpusim_log *log;
    struct gpusim_log_record record;
    struct base_error error = {0};
    enum base_code code = gpusim_log_open(path, &log, &error);
    if (code != BASE_OK)
        return false;
    // A level that was not launched has no launches.
    unsigned level = 0;
    while ((code = gpusim_log_next(log, &record, &error)) == BASE_OK) {
        if (record.type == GPUSIM_LOG_LAUNCH) {
            while (level < count && (!judges[level].told->done || judges[level].saw_clone))
                level++;
            if (level == count)
                break;
            judges[level].saw_clone = strcmp(record.launch->kernel, judges[level].told->clone) == 0;
            judges[level].saw_original |= !judges[level].saw_clone;
        }
        if (record.type == GPUSIM_LOG_ACCESS && level < count)
            see(&judges[level], &record.access);
    }
    const bool whole = code == BASE_NOT_FOUND && gpusim_log_state(log) == GPUSIM_LOG_COMPLETE;
    for (unsigned i = 0; i < count; i++) {
        if (judges[i].told->done)
            judge_level(&judges[i]); // before the log's sites are freed
    }
    gpusim_log_close(log);
    return whole;
}

bool oracle_compare(const struct oracle_case *test, const struct oracle_level *levels,
                    unsigned count, const struct oracle_told *told, const char *log_path,
                    FILE *complaints)
{
    struct judge *judges = oracle_must(calloc(count, sizeof(*judges)));
    bool good = true;
    for (unsigned i = 0; i < count; i++) {
        judges[i] = (struct judge){
            .test = test, .level = &levels[i], .told = &told[i], .complaints = complaints};
        for (unsigned k = 0; told[i].done && k < told[i].object_count; k++)
            judges[i].truth[k].counts = oracle_must(calloc(elements_of(&told[i].objects[k]), 4));
        if (told[i].done && levels[i].facts & INSTRUMENT_VALUES)
            judges[i].values = oracle_values_create(test, &told[i]);
        if (told[i].done && levels[i].facts & INSTRUMENT_ACCESSED)
            judges[i].accessed = oracle_accessed_create(test, &told[i]);
        if (told[i].done && told[i].counts_words)
            judges[i].words = oracle_words_create(test, &told[i]);
        if (judges[i].words && told[i].traces)
            judges[i].ranges = oracle_ranges_create(test, &told[i], judges[i].words);
        if (told[i].done && told[i].reuse.complete)
            judges[i].reuse = oracle_reuse_create(test, &told[i]);
        if (told[i].done && told[i].trace.complete)
            judges[i].trace = oracle_trace_create(test, &told[i]);
    }
    if (!read_log(judges, count, log_path)) {
        fprintf(complaints, "%s: the log is not whole\n", test->name);
        good = false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!told[i].done)
            judge_level(&judges[i]);
        good &= !judges[i].complained;
        for (unsigned k = 0; k < ORACLE_OBJECTS; k++)
            free(judges[i].truth[k].counts);
        base_array_fini(&judges[i].passed);
        oracle_values_destroy(judges[i].values);
        oracle_accessed_destroy(judges[i].accessed);
        oracle_words_destroy(judges[i].words);
        oracle_ranges_destroy(judges[i].ranges);
        oracle_reuse_destroy(judges[i].reuse);
        oracle_trace_destroy(judges[i].trace);
    }
    free(judges);
    return good;
}

// --- Both ----------------------------------------------------------------------------------------

static _Noreturn void run(const struct oracle_case *test, const struct oracle_level *levels,
                          unsigned count, struct oracle_shared *shared, struct oracle_told *told,
                          const char *log_path)
{
    char workers[16];
    CUcontext context;
    alarm(MOST_SECONDS);
    snprintf(workers, sizeof(workers), "%u", levels[0].workers);
    unsetenv("GLINT_SIM_DEVICE");
    if (setenv("GLINT_SIM_LOG", log_path, 1) != 0 || setenv("GLINT_SIM_WORKERS", workers, 1) != 0 ||
        cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v4(&context, NULL, 0, 0) != CUDA_SUCCESS)
        exit(1);
    for (unsigned i = 0; i < count; i++)
        oracle_launch(test, &levels[i], shared, &told[i]);
    cuCtxDestroy_v2(context);
    exit(0); // runs exit handlers, which finish the log
}

bool oracle_holds(const struct oracle_case *test, const struct oracle_level *levels, unsigned count,
                  FILE *complaints)
{
    char path[] = "/tmp/glint-oracle-XXXXXX";
    struct oracle_shared shared = {.bytes = SHARED_BYTES};
    int file = mkstemp(path), status = -1;
    shared.memory = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file < 0 || close(file) != 0 || shared.memory == MAP_FAILED)
        return false;
    struct oracle_told *told = oracle_take(&shared, count * sizeof(*told));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        run(test, levels, count, &shared, told, path);
    bool good = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    if (!good)
        fprintf(complaints, "%s: the process that launches ended with status 0x%x\n", test->name,
                (unsigned)status);
    good = oracle_compare(test, levels, count, told, path, complaints) && good;
    unlink(path);
    munmap(shared.memory, SHARED_BYTES);
    return good;
}
