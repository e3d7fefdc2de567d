// SPDX-License-Identifier: Apache-2.0
// Measures how long src/ptx takes on a large module compared with ptxas, in one run, and how much
// memory it needs for each byte of text. bench_ptx [FILE...] measures the given PTX files; by
// default it makes a module of more than 1 MB from the kernels of examples/.
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "ptx/ptx.h"

enum { ROUNDS = 5, WANTED_BYTES = 3 << 19 };

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void fail(const struct base_error *error)
{
    char text[1024];
    base_error_text(error, text, sizeof(text));
    fprintf(stderr, "bench_ptx: %s\n", text);
    exit(1);
}

// Returns the name of a copy: the original name and a number.
static const char *numbered(struct ptx_module *module, const char *name, unsigned copy)
{
    struct base_buf text = {0};
    base_buf_printf(&text, "%s_copy%u", name, copy);
    const char *kept = base_alloc_text(&module->arena, text.text, text.length);
    base_buf_fini(&text);
    return kept;
}

// Appends one copy of a module's variables and functions under new names, without line numbers.
static void add_copy(const char *path, unsigned copy, struct base_buf *out)
{
    char *text;
    size_t length;
    struct base_error error;
    struct ptx_module *module;
    if (base_file_read(path, &text, &length, &error) ||
        ptx_parse(text, length, path, &module, &error))
        fail(&error);
    struct ptx_item *next;
    for (struct ptx_item *item = module->first; item; item = next) {
        next = item->next;
        bool keep = item->kind == PTX_ITEM_VAR || item->kind == PTX_ITEM_FUNCTION;
        if (item->kind == PTX_ITEM_VAR) {
            item->var->name = numbered(module, item->var->name, copy);
        } else if (item->kind == PTX_ITEM_FUNCTION) {
            struct ptx_function *function = item->function;
            // A function that the driver provides is declared once and keeps its name.
            if (function->linkage & PTX_LINK_EXTERN)
                keep = copy == 0;
            else
                function->name = numbered(module, function->name, copy);
            struct ptx_stmt *after;
            for (struct ptx_stmt *stmt = function->first; stmt; stmt = after) {
                after = stmt->next;
                if (stmt->kind != PTX_STMT_LOC)
                    continue;
                *(stmt->prev ? &stmt->prev->next : &function->first) = stmt->next;
                *(stmt->next ? &stmt->next->prev : &function->last) = stmt->prev;
            }
        }
        if (!keep) {
            *(item->prev ? &item->prev->next : &module->first) = item->next;
            *(item->next ? &item->next->prev : &module->last) = item->prev;
        }
    }
    struct base_buf printed = {0};
    ptx_print(module, &printed);
    const char *body = strstr(printed.text, "\n\n");
    base_buf_puts(out, body ? body : "");
    base_buf_fini(&printed);
    ptx_module_destroy(module);
    free(text);
}

static char *make_large(size_t *length)
{
    glob_t found;
    struct base_buf text = {0};
    if (glob("examples/*/*.ptx", 0, NULL, &found) != 0) {
        fprintf(stderr, "bench_ptx: run it where examples/ is\n");
        exit(1);
    }
    base_buf_puts(&text, ".version 9.0\n.target sm_80\n.address_size 64\n");
    // Examples that declare the same external function would clash, so each declaration is taken
    // from one file only.
    for (unsigned copy = 0; text.length < WANTED_BYTES; copy++) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            if (!strstr(found.gl_pathv[i], "device_functions") &&
                !strstr(found.gl_pathv[i], "linked_list"))
                add_copy(found.gl_pathv[i], copy, &text);
        }
    }
    globfree(&found);
    *length = text.length;
    return text.text;
}

// Returns the milliseconds that ptxas takes, or -1 if it is missing or fails.
static double time_ptxas(const char *text, size_t length)
{
    const char *ptxas =
        access("/usr/local/cuda/bin/ptxas", X_OK) == 0 ? "/usr/local/cuda/bin/ptxas" : "ptxas";
    char path[] = "/tmp/bench_ptxXXXXXX";
    int file = mkstemp(path);
    if (file < 0 || write(file, text, length) != (ssize_t)length)
        return -1;
    close(file);
    const char *target = strstr(text, ".target");
    char arch[32] = "-arch=sm_80";
    if (target)
        snprintf(arch, sizeof(arch), "-arch=%.*s", (int)strcspn(target + 8, " ,\r\n\t"),
                 target + 8);
    double start = now_ms();
    pid_t child = fork();
    if (child == 0) {
        execlp(ptxas, ptxas, arch, "-o", "/dev/null", path, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    double took = now_ms() - start;
    unlink(path);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? took : -1;
}

static void measure(const char *name, const char *text, size_t length)
{
    double best = 1e30, analysis = 0;
    size_t bytes = 0;
    struct base_error error;
    for (int round = 0; round < ROUNDS; round++) {
        struct ptx_module *module;
        struct base_buf printed = {0};
        double start = now_ms();
        if (ptx_parse(text, length, name, &module, &error))
            fail(&error);
        ptx_print(module, &printed);
        double took = now_ms() - start;
        best = took < best ? took : best;
        bytes = ptx_module_bytes(module);
        base_buf_fini(&printed);
        start = now_ms();
        for (struct ptx_item *item = module->first; round == 0 && item; item = item->next) {
            struct ptx_facts *facts;
            if (item->kind != PTX_ITEM_FUNCTION || !item->function->has_body)
                continue;
            if (ptx_facts_create(item->function, 0, &facts, &error))
                fail(&error);
            ptx_facts_destroy(facts);
        }
        analysis = round == 0 ? now_ms() - start : analysis;
        ptx_module_destroy(module);
    }
    double ptxas = time_ptxas(text, length);
    printf("%s: %.2f MB of PTX\n", name, (double)length / 1e6);
    printf("  parse and print      %8.1f ms, best of %d\n", best, ROUNDS);
    printf("  all analyses         %8.1f ms\n", analysis);
    if (ptxas >= 0)
        printf("  ptxas                %8.1f ms\n"
               "  parse and print / ptxas  %5.2f %%  (wanted: under 5 %%)\n",
               ptxas, 100 * best / ptxas);
    else
        printf("  ptxas                no ptxas, or it refuses the file: no ratio\n");
    printf("  memory / text        %8.1f times  (wanted: under 20)\n",
           (double)bytes / (double)length);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *text;
        size_t length;
        struct base_error error;
        if (base_file_read(argv[i], &text, &length, &error))
            fail(&error);
        measure(argv[i], text, length);
        free(text);
    }
    if (argc == 1) {
        size_t length;
        char *text = make_large(&length);
        measure("the examples' kernels, many times", text, length);
        free(text);
    }
    return 0;
}
