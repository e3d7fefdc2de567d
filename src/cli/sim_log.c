// SPDX-License-Identifier: Apache-2.0
// glint sim-log: prints the simulated GPU's log, one line a record, as words and key=value pairs
// that people read and scripts take apart; or sums for each launch and object.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "gpusim/gpusim.h"

enum { CALLS = 1, OBJECTS = 2, LAUNCHES = 4, ACCESSES = 8, SUMMARY = 16 };

struct request {
    unsigned parts; // 0: all but the summary
    bool inner;
    uint64_t launch; // 0: all
};

static const struct cli_option options[] = {
    {'c', "calls", NULL, "API calls: what the program called with, and what it got"},
    {'o', "objects", NULL, "memory that kernels may touch: made and ended"},
    {'l', "launches", NULL, "kernels: begun and ended"},
    {'a', "accesses", NULL, "every access of a warp to memory, with its values"},
    {'s', "summary", NULL, "what each launch read and wrote of each object"},
    {'n', "launch", "NUMBER", "only that launch, and its accesses"},
    {'i', "inner", NULL, "also calls that the runtime makes, and that compilers put in"},
    {0, NULL, NULL, NULL},
};

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    struct request *request = user;
    char *end;
    switch (option->letter) {
    case 'c': request->parts |= CALLS; return true;
    case 'o': request->parts |= OBJECTS; return true;
    case 'l': request->parts |= LAUNCHES; return true;
    case 'a': request->parts |= ACCESSES; return true;
    case 's': request->parts |= SUMMARY; return true;
    case 'i': request->inner = true; return true;
    default:
        errno = 0;
        request->launch = strtoull(argument, &end, 10);
        if (argument[0] < '0' || argument[0] > '9' || *end || errno || !request->launch) {
            cli_message("--launch takes a number from 1, not '%s'", argument);
            return false;
        }
        return true;
    }
}

// --- Lines ---------------------------------------------------------------------------------------

static void put_call(struct base_buf *line, const struct gpusim_log_call *call)
{
    base_buf_printf(line, "call %llu thread=%llu", (unsigned long long)call->number,
                    (unsigned long long)call->thread);
    if (call->inside)
        base_buf_printf(line, " inside=%llu", (unsigned long long)call->inside);
    base_buf_printf(line, " %s %s", call->name, call->arguments);
}

static void put_return(struct base_buf *line, const struct gpusim_log_return *returned)
{
    base_buf_printf(line, "return %llu result=%lld %s", (unsigned long long)returned->number,
                    (long long)returned->result, returned->outputs);
}

static void put_object(struct base_buf *line, const struct gpusim_object *object)
{
    base_buf_printf(line, "object %llu %s %s address=0x%llx bytes=%llu",
                    (unsigned long long)object->id, gpusim_object_kind_name(object->kind),
                    object->name, (unsigned long long)object->address,
                    (unsigned long long)object->size_bytes);
}

static void put_launch(struct base_buf *line, const struct gpusim_log_launch *launch)
{
    base_buf_printf(line,
                    "launch %llu %s call=%llu stream=0x%llx grid=%u,%u,%u block=%u,%u,%u "
                    "static_shared=%u dynamic_shared=%u%s params=",
                    (unsigned long long)launch->number, launch->kernel,
                    (unsigned long long)launch->call, (unsigned long long)launch->stream,
                    launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                    launch->block[1], launch->block[2], launch->static_shared_bytes,
                    launch->dynamic_shared_bytes, launch->cooperative ? " cooperative=1" : "");
    for (size_t i = 0; i < launch->params_bytes; i++)
        base_buf_printf(line, "%02x", ((const unsigned char *)launch->params)[i]);
}

static void put_launch_end(struct base_buf *line, const struct gpusim_log_launch_end *ended)
{
    base_buf_printf(line, "launch %llu ended fault=%u %s", (unsigned long long)ended->number,
                    ended->fault, ended->text);
}

// One value: as a number where it can be one, else its bytes in their order.
static void put_value(struct base_buf *line, const unsigned char *value, uint32_t bytes)
{
    bool number = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    for (uint32_t i = 0; i < bytes; i++)
        base_buf_printf(line, "%02x", value[number ? bytes - 1 - i : i]);
}

static void put_values(struct base_buf *line, const char *key,
                       const struct gpusim_log_access *access, const unsigned char *values)
{
    unsigned lanes = access->value_stride ? (unsigned)__builtin_popcount(access->mask) : 1;
    base_buf_printf(line, " %s=", key);
    for (unsigned i = 0; i < lanes; i++) {
        if (i)
            base_buf_putc(line, ',');
        put_value(line, values + i * access->value_stride, access->bytes);
    }
}

// Where the lanes are: in their object, or in their space where they have none.
static void put_offsets(struct base_buf *line, const struct gpusim_log_access *access)
{
    uint64_t base = access->object ? access->object->address : 0;
    int first = __builtin_ctz(access->mask), before = first;
    bool even = true; // one step for all
    int64_t step = 0;
    for (uint32_t left = access->mask & (access->mask - 1); left; left &= left - 1) {
        int i = __builtin_ctz(left);
        int64_t apart = (int64_t)(access->address[i] - access->address[before]);
        even &= apart % (i - before) == 0 && (before == first || apart / (i - before) == step);
        step = apart / (i - before);
        before = i;
    }
    base_buf_printf(line, even ? " offset=%llu" : " offsets=%llu",
                    (unsigned long long)(access->address[first] - base));
    if (even && before != first)
        base_buf_printf(line, " step=%lld", (long long)step);
    for (uint32_t left = even ? 0 : access->mask & (access->mask - 1); left; left &= left - 1)
        base_buf_printf(line, ",%llu",
                        (unsigned long long)(access->address[__builtin_ctz(left)] - base));
}

static void put_access(struct base_buf *line, const struct gpusim_log_access *access)
{
    const struct gpusim_log_site *site = access->site;
    base_buf_printf(line, "access launch=%llu block=%llu warp=%u mask=%08x %s %s bytes=%u",
                    (unsigned long long)access->launch->number, (unsigned long long)access->block,
                    access->warp, access->mask, gpusim_log_kind_name(access->kind),
                    gpusim_log_space_name(access->space), access->bytes);
    if (access->object)
        base_buf_printf(line, " object=%llu", (unsigned long long)access->object->id);
    put_offsets(line, access);
    if (access->after) {
        put_values(line, "before", access, access->values);
        put_values(line, "after", access, access->after);
    } else {
        put_values(line, "values", access, access->values);
    }
    base_buf_printf(line, "%s%s site=%u %s %s ptx_line=%u", access->generic ? " generic" : "",
                    access->continued ? " continued" : "", site->number, site->function, site->text,
                    site->ptx_line);
    if (site->file[0])
        base_buf_printf(line, " source=%s:%u", site->file, site->line);
}

static void put_use(struct base_buf *line, const struct gpusim_log_use *use)
{
    base_buf_printf(line, "use launch=%llu %s %s", (unsigned long long)use->launch->number,
                    use->launch->kernel, gpusim_log_space_name(use->space));
    if (use->object)
        base_buf_printf(line, " object=%llu", (unsigned long long)use->object->id);
    base_buf_printf(line, " loads=%llu stores=%llu atomics=%llu bytes_read=%llu bytes_written=%llu",
                    (unsigned long long)use->loads, (unsigned long long)use->stores,
                    (unsigned long long)use->atomics, (unsigned long long)use->bytes_read,
                    (unsigned long long)use->bytes_written);
    if (use->object)
        base_buf_printf(line, " unique_read=%llu unique_written=%llu of=%llu",
                        (unsigned long long)use->unique_read,
                        (unsigned long long)use->unique_written,
                        (unsigned long long)use->object->size_bytes);
}

// --- Selection -----------------------------------------------------------------------------------

struct printer {
    const struct request *request;
    struct base_buf line;
    struct base_map hidden; // calls that were not printed
    struct gpusim_log_uses *uses;
    bool failed;
};

static bool is_hidden(struct printer *printer, const struct gpusim_log_call *call)
{
    // Of the functions that compilers call, the one that launches is what the program wrote.
    static const char launches[] = "__cudaLaunchKernel";
    bool compilers = strncmp(call->name, "__", 2) == 0 &&
                     strncmp(call->name, launches, sizeof(launches) - 1) != 0;
    if (printer->request->inner || (!call->inside && !compilers))
        return false;
    printer->failed |= !base_map_put(&printer->hidden, call->number, NULL);
    return true;
}

// Fills the line, or leaves it empty.
static void print_record(struct printer *printer, const struct gpusim_log_record *record)
{
    struct base_buf *line = &printer->line;
    const struct request *request = printer->request;
    unsigned parts = request->parts ? request->parts : CALLS | OBJECTS | LAUNCHES | ACCESSES;
    if (request->launch) // calls and objects belong to none
        parts &= request->parts ? ~0u : ~(unsigned)(CALLS | OBJECTS);
    bool all = !request->launch;
    switch (record->type) {
    case GPUSIM_LOG_CALL:
        if (parts & CALLS && !is_hidden(printer, &record->call))
            put_call(line, &record->call);
        break;
    case GPUSIM_LOG_RETURN:
        if (parts & CALLS && !base_map_get(&printer->hidden, record->returned.number))
            put_return(line, &record->returned);
        break;
    case GPUSIM_LOG_OBJECT:
        if (parts & OBJECTS)
            put_object(line, record->object);
        break;
    case GPUSIM_LOG_OBJECT_END:
        if (parts & OBJECTS)
            base_buf_printf(line, "object %llu ended", (unsigned long long)record->object->id);
        break;
    case GPUSIM_LOG_LAUNCH:
        if (parts & LAUNCHES && (all || record->launch->number == request->launch))
            put_launch(line, record->launch);
        break;
    case GPUSIM_LOG_LAUNCH_END:
        if (parts & LAUNCHES && (all || record->launch_end.number == request->launch))
            put_launch_end(line, &record->launch_end);
        break;
    case GPUSIM_LOG_ACCESS:
        if (!all && record->access.launch->number != request->launch)
            break;
        if (parts & ACCESSES)
            put_access(line, &record->access);
        if (parts & SUMMARY)
            printer->failed |= gpusim_log_uses_add(printer->uses, &record->access) != BASE_OK;
        break;
    }
}

// Writes the line, without blanks at its end.
static void flush_line(struct printer *printer)
{
    struct base_buf *line = &printer->line;
    while (line->length && line->text[line->length - 1] == ' ')
        line->length--;
    if (!line->length)
        return;
    base_buf_putc(line, '\n');
    printer->failed |= line->failed;
    if (!line->failed)
        fwrite(line->text, 1, line->length, stdout);
    line->length = 0;
}

static int print_log(struct gpusim_log *log, const char *path, const struct request *request)
{
    struct printer printer = {.request = request, .uses = gpusim_log_uses_create()};
    struct gpusim_log_record record;
    struct base_error error = {0};
    enum base_code code = BASE_OK;
    printer.failed = !printer.uses;
    while (!printer.failed && (code = gpusim_log_next(log, &record, &error)) == BASE_OK) {
        print_record(&printer, &record);
        flush_line(&printer);
    }
    const struct gpusim_log_use *use;
    for (size_t i = 0; printer.uses && (use = gpusim_log_uses_at(printer.uses, i)); i++) {
        put_use(&printer.line, use);
        flush_line(&printer);
    }
    bool good = !printer.failed && code == BASE_NOT_FOUND;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        cli_message("cannot write the output: %m");
        good = false;
    }
    if (printer.failed)
        cli_no_memory();
    else if (code != BASE_NOT_FOUND)
        cli_error(&error);
    else if (gpusim_log_state(log) == GPUSIM_LOG_CUT)
        cli_message("%s ends in the middle of a record: the program was ended, or still runs",
                    path);
    else if (gpusim_log_state(log) == GPUSIM_LOG_UNFINISHED)
        cli_message("%s has no end: the program was ended, or still runs", path);
    gpusim_log_uses_destroy(printer.uses);
    base_map_fini(&printer.hidden);
    base_buf_fini(&printer.line);
    return good ? 0 : CLI_FAILURE;
}

static int run(const struct cli_verb *verb, int argc, char **argv)
{
    struct request request = {0};
    int first = cli_options(verb, argc, argv, take_option, &request);
    if (first == -2)
        return 0;
    if (first < 0)
        return CLI_FAILURE;
    if (first + 1 != argc) {
        cli_message("%s Try 'glint sim-log --help'",
                    first == argc ? "which log?" : "one log at a time.");
        return CLI_FAILURE;
    }
    struct gpusim_log *log;
    struct base_error error = {0};
    if (gpusim_log_open(argv[first], &log, &error) != BASE_OK) {
        cli_error(&error);
        return CLI_FAILURE;
    }
    int status = print_log(log, argv[first], &request);
    gpusim_log_close(log);
    return status;
}

const struct cli_verb cli_sim_log = {
    .name = "sim-log",
    .arguments = "FILE",
    .summary = "print what a program did on the simulated GPU",
    .details = "FILE is what 'glint run --sim-log FILE' has written. Without a choice, all is "
               "printed but the\n"
               "summary, in the order in which it happened; docs/reference/sim-log.md tells what "
               "each line "
               "means. A log\n"
               "that was cut short is printed as far as it goes, and a message says so.\n",
    .options = options,
    .run = run,
};
