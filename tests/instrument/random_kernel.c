// SPDX-License-Identifier: Apache-2.0
// The frame of a random kernel: its shape, its buffers and parameters, its device functions, and
// the module's text.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "random_kernel.h"

const char *const random_features[FEATURES] = {
    "loops",     "while",   "branches", "guards",   "returns", "functions", "vectors",
    "types",     "atomics", "copies",   "generic",  "mixed",   "tables",    "choices",
    "variables", "data",    "strides",  "pointers", "shapes",  "exits",     "indirect",
    "warps",     "forms",   "clusters", "impure"};

// The buffers.
enum { IN_A, IN_B, IN_C, OUT_A, OUT_B, OUT_C, OWN, SUMS, FSUMS, TABLE, BUFFER_COUNT };
enum { FUNCTION_COUNT = 3, SUM_BYTES = 6000, TABLE_BYTES = 100 };

_Static_assert(RANDOM_IN == (int)IN_A && RANDOM_OUT == (int)OUT_A, "others find them");

// Indices of the parameters; s is a structure that contains two pointers.
static const char params[] =
    ".param .u64 in_a, .param .u32 sixteen, .param .u64 in_b, .param .u64 out_a,\n"
    ".param .align 8 .b8 s[40], .param .u64 out_b, .param .u64 own, .param .u64 sums,\n"
    ".param .u64 fsums, .param .u64 table, .param .align 8 .b8 forms[160]";
enum {
    AT_IN_A = 0,
    AT_SIXTEEN = 8,
    AT_IN_B = 16,
    AT_OUT_A = 24,
    AT_S = 32,
    AT_OUT_B = 72,
    AT_OWN = 80,
    AT_SUMS = 88,
    AT_FSUMS = 96,
    AT_TABLE = 104,
    AT_FORMS = 112
};

// --- Chance --------------------------------------------------------------------------------------

uint64_t random_hash(uint64_t seed, uint64_t more)
{
    uint64_t bits = (seed ^ more * 0xD6E8FEB86659FD93u) + 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

unsigned below(struct writer *writer, unsigned limit)
{
    writer->random = random_hash(writer->random, 1);
    return (unsigned)((writer->random >> 20) % limit);
}

bool has(const struct writer *writer, uint32_t feature)
{
    return !(writer->off & feature);
}

void put(struct writer *writer, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    base_buf_puts(&writer->text, line);
    base_buf_putc(&writer->text, '\n');
}

// --- Shape, buffers and parameters ---------------------------------------------------------------

static void make_shape(struct writer *writer)
{
    static const uint32_t blocks[][3] = {{32, 1, 1}, {64, 1, 1}, {96, 1, 1}, {33, 3, 1},
                                         {16, 6, 1}, {8, 4, 2},  {1, 1, 1},  {100, 1, 1},
                                         {31, 1, 1}, {7, 5, 3},  {32, 3, 1}, {64, 2, 1}};
    static const uint32_t grids[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 1, 1}, {2, 2, 1}};
    struct oracle_case *test = &writer->kernel->test;
    const bool any = has(writer, FEATURE_SHAPES);
    static const uint32_t alone[][3] = {{32, 1, 1}, {8, 4, 1}, {31, 1, 1}, {5, 2, 3}};
    const unsigned which = below(writer, any ? 12 : 3);
    memcpy(test->block, has(writer, FEATURE_WARPS) ? blocks[which] : alone[any ? which % 4 : 0],
           sizeof(test->block));
    memcpy(test->grid, grids[below(writer, any ? 5 : 4)], sizeof(test->grid));
    if (has(writer, FEATURE_CLUSTERS))
        test->grid[0] *= 2;
    writer->block_threads = test->block[0] * test->block[1] * test->block[2];
    writer->threads = writer->block_threads * test->grid[0] * test->grid[1] * test->grid[2];
}

static void make_buffers(struct writer *writer)
{
    struct random_kernel *kernel = writer->kernel;
    writer->own_words = 2 + below(writer, 5);
    writer->own_strided = below(writer, 2);
    kernel->test.buffer_count = BUFFER_COUNT;
    for (unsigned i = 0; i < BUFFER_COUNT; i++) {
        // Any size, so the last element may be incomplete.
        uint32_t bytes =
            16000 + 4 * below(writer, 6000) + (below(writer, 4) ? 0 : below(writer, 4));
        if (i == OWN)
            bytes = writer->threads * writer->own_words * 4;
        else if (i == SUMS || i == FSUMS)
            bytes = SUM_BYTES;
        else if (i == TABLE)
            bytes = TABLE_BYTES;
        kernel->test.buffer_bytes[i] = bytes;
        kernel->memory[i] = oracle_must(calloc(1, bytes));
        kernel->test.buffers[i] = kernel->memory[i];
        for (uint32_t at = 0; i <= IN_C && at < bytes; at++)
            kernel->memory[i][at] = (unsigned char)below(writer, 256);
    }
}

// A pointer to one of `count` buffers from `first` on; with `inside`, into its first half.
static struct pointer point(struct writer *writer, int in, uint32_t at, unsigned first,
                            unsigned count, bool inside)
{
    struct oracle_case *test = &writer->kernel->test;
    const unsigned to = first + below(writer, count);
    const uint32_t offset = inside ? 16 * below(writer, test->buffer_bytes[to] / 32) : 0;
    test->pointers[test->pointer_count++] =
        (struct oracle_pointer){.in = in, .at = at, .to = to, .offset = offset};
    return (struct pointer){.before = offset, .after = (int64_t)test->buffer_bytes[to] - offset};
}

static void pass(struct writer *writer, const char *name, enum place_class class, uint32_t at,
                 unsigned first, unsigned count)
{
    struct pointer *pointer = &writer->pointers[writer->pointer_count++];
    *pointer = point(writer, ORACLE_IN_PARAMS, at, first, count,
                     class != PLACE_SUM && class != PLACE_FSUM && below(writer, 2));
    pointer->class = class;
    snprintf(pointer->param, sizeof(pointer->param), "%s", name);
}

static void make_params(struct writer *writer)
{
    struct oracle_case *test = &writer->kernel->test;
    const uint32_t sixteen = 16;
    memcpy(test->params + AT_SIXTEEN, &sixteen, sizeof(sixteen));
    pass(writer, "in_a", PLACE_IN, AT_IN_A, IN_A, 1);
    pass(writer, "in_b", PLACE_IN, AT_IN_B, IN_A, 2);
    pass(writer, "s+8", PLACE_IN, AT_S + 8, IN_A, 2);
    pass(writer, "out_a", PLACE_OUT, AT_OUT_A, OUT_A, 1);
    pass(writer, "out_b", PLACE_OUT, AT_OUT_B, OUT_A, 2);
    pass(writer, "s+24", PLACE_OUT, AT_S + 24, OUT_A, 2);
    pass(writer, "sums", PLACE_SUM, AT_SUMS, SUMS, 1);
    pass(writer, "fsums", PLACE_FSUM, AT_FSUMS, FSUMS, 1);
    point(writer, ORACLE_IN_PARAMS, AT_OWN, OWN, 1, false);
    point(writer, ORACLE_IN_PARAMS, AT_TABLE, TABLE, 1, false);
    if (has(writer, FEATURE_FORMS))
        make_forms(writer, AT_FORMS, (const unsigned[]){IN_A, OUT_A}, 3);
    for (unsigned out = 0; out < 2; out++) {
        struct pointer *all = &writer->table[out];
        *all = (struct pointer){.param = "table", .before = INT32_MAX, .after = INT32_MAX};
        for (unsigned i = 0; i < 4; i++) {
            struct pointer one =
                point(writer, TABLE, 8 * (4 * out + i), out ? OUT_A : IN_A, 3, true);
            all->before = one.before < all->before ? one.before : all->before;
            all->after = one.after < all->after ? one.after : all->after;
        }
    }
}

// --- Text ----------------------------------------------------------------------------------------

static void add_var(struct writer *writer, const char *text, int64_t high)
{
    struct var *var = &writer->vars[writer->var_count++];
    *var = (struct var){.low = 0, .high = high};
    snprintf(var->text, sizeof(var->text), "%s", text);
}

// Writes the start of every body, which computes the thread's position in the grid.
static void write_head(struct writer *writer)
{
    const struct oracle_case *test = &writer->kernel->test;
    put(writer, "mov.u32 %%tx, %%tid.x;\nmov.u32 %%ty, %%tid.y;\nmov.u32 %%tz, %%tid.z;");
    put(writer, "mov.u32 %%bx, %%ctaid.x;\nmov.u32 %%nx, %%ntid.x;\nmov.u32 %%ny, %%ntid.y;");
    put(writer, "mad.lo.s32 %%gx, %%bx, %%nx, %%tx;");
    put(writer, "mad.lo.s32 %%lin, %%tz, %%ny, %%ty;\nmad.lo.s32 %%lin, %%lin, %%nx, %%tx;");
    put(writer, "mov.u32 %%block, %%nctaid.x;\nmov.u32 %%me, %%ctaid.y;");
    put(writer, "mad.lo.u32 %%block, %%me, %%block, %%bx;");
    put(writer, "mad.lo.u32 %%me, %%block, %u, %%lin;", writer->block_threads);
    if (has(writer, FEATURE_DATA))
        put(writer, "mov.u32 %%lane, %%laneid;");
    else // what lanes do is not taken for what parameters say
        put(writer, "and.b32 %%lane, %%lin, 31;");
    put(writer, "mov.u32 %%sink, 0;\nmov.u32 %%acc, 1;");
    writer->var_count = 0;
    add_var(writer, "%tx", test->block[0] - 1);
    add_var(writer, "%gx", (int64_t)test->block[0] * test->grid[0] - 1);
    add_var(writer, "%me", writer->threads - 1);
    add_var(writer, "%lin", writer->block_threads - 1);
    add_var(writer, "%ty", test->block[1] - 1);
    add_var(writer, "%bx", test->grid[0] - 1);
    add_var(writer, "%lane", 31);
    add_var(writer, "%gx", (int64_t)test->block[0] * test->grid[0] - 1);
}

static void start_body(struct writer *writer)
{
    writer->words = writer->wides = writer->halves = writer->floats = writer->doubles = 0;
    writer->preds = writer->depth = writer->loop_count = 0;
    writer->rounds = writer->in_function ? MOST_ROUNDS / 3 : 1;
    writer->done = writer->labels++;
    writer->text = (struct base_buf){0};
    write_head(writer);
}

// The number of registers is known only after the body was written.
static void end_body(struct writer *writer, const char *head)
{
    struct base_buf *out = &writer->kernel->ptx;
    base_buf_printf(
        out,
        "%s\n{\n.reg .b32 %%r<%u>; .reg .b64 %%d<%u>; .reg .b16 %%h<%u>;\n"
        ".reg .f32 %%f<%u>; .reg .f64 %%g<%u>; .reg .pred %%p<%u>;\n"
        ".reg .b32 %%acc, %%sink, %%tx, %%ty, %%tz, %%bx, %%nx, %%ny, %%gx, %%lin, %%me, "
        "%%block, %%lane;\n"
        ".local .align 16 .b8 mine[256]; .local .align 8 .b8 spill[8];\n",
        head, writer->words + 1, writer->wides + 1, writer->halves + 1, writer->floats + 1,
        writer->doubles + 1, writer->preds + 1);
    base_buf_add(out, writer->text.text, writer->text.length);
    base_buf_puts(out, "}\n");
    base_buf_fini(&writer->text);
}

static void write_recursive(struct writer *writer, unsigned number)
{
    base_buf_printf(
        &writer->kernel->ptx,
        ".func (.param .b32 result) f%u(.param .b64 p, .param .b64 q, .param .b32 i)\n{\n"
        ".reg .b64 %%d<4>; .reg .b32 %%r<8>; .reg .pred %%p<3>;\n"
        "ld.param.u64 %%d0, [p]; ld.param.u64 %%d1, [q]; ld.param.u32 %%r0, [i];\n"
        "and.b32 %%r0, %%r0, 7;\nmad.wide.u32 %%d2, %%r0, 4, %%d0;\n"
        "ld.global.u32 %%r1, [%%d2+%u];\nsetp.eq.u32 %%p0, %%r0, 0;\n@%%p0 bra L%u;\n"
        "mad.wide.u32 %%d3, %%r0, 8, %%d1;\nmov.u32 %%r2, 0x5a5a5a5a;\n"
        "setp.gt.u32 %%p1, %%r0, 4;\n@%%p1 st.global.u32 [%%d3], %%r2;\nsub.u32 %%r3, %%r0, 1;\n"
        "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b32 back;\n"
        "st.param.b64 [a], %%d0; st.param.b64 [b], %%d1; st.param.b32 [c], %%r3;\n"
        "call.uni (back), f%u, (a, b, c);\nld.param.b32 %%r4, [back]; }\n"
        "add.u32 %%r1, %%r1, %%r4;\nL%u:\nst.param.b32 [result], %%r1;\nret;\n}\n",
        number, 4 * below(writer, 8), writer->labels, number, writer->labels);
    writer->labels++;
}

static void write_function(struct writer *writer, uint64_t number)
{
    const struct writer outside = *writer;
    char head[128];
    writer->in_function = true;
    writer->pointer_count = 2;
    writer->pointers[0] = (struct pointer){"p", PLACE_IN, 0, FUNCTION_ROOM};
    writer->pointers[1] = (struct pointer){"q", PLACE_OUT, 0, FUNCTION_ROOM};
    start_body(writer);
    put(writer, "ld.param.u32 %%r0, [i];\nadd.u32 %%acc, %%acc, %%r0;");
    writer->words = 1;
    add_var(writer, "%r0", 31);
    write_body(writer, number, 6);
    put(writer, "L%u:\nst.param.b32 [result], %%acc;\nret;", writer->done);
    snprintf(head, sizeof(head),
             ".func (.param .b32 result) f%u(.param .b64 p, .param .b64 q, .param .b32 i)",
             writer->functions);
    end_body(writer, head);
    const unsigned labels = writer->labels;
    *writer = outside;
    writer->labels = labels;
}

static void write_functions(struct writer *writer, uint64_t seed)
{
    base_buf_puts(
        &writer->kernel->ptx,
        ".func (.param .b64 result) pick(.param .b64 a, .param .b64 b, .param .b32 c)\n{\n"
        ".reg .b64 %d<3>; .reg .b32 %r; .reg .pred %p;\n"
        "ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u32 %r, [c];\n"
        "setp.ne.u32 %p, %r, 0;\nselp.b64 %d2, %d0, %d1, %p;\n"
        "st.param.b64 [result], %d2;\nret;\n}\n");
    for (writer->functions = 0; writer->functions < FUNCTION_COUNT; writer->functions++) {
        writer->random = random_hash(seed, 50 + writer->functions);
        if (below(writer, 3) == 0)
            write_recursive(writer, writer->functions);
        else
            write_function(writer, random_hash(seed, 60 + writer->functions));
    }
    if (has(writer, FEATURE_INDIRECT)) {
        struct oracle_case *test = &writer->kernel->test;
        base_buf_puts(&writer->kernel->ptx,
                      ".visible .global .u64 v_functions[3] = {f0, f1, f2};\n");
        test->variables[test->variable_count++] = "v_functions";
    }
}

static void write_variables(struct writer *writer)
{
    struct oracle_case *test = &writer->kernel->test;
    struct base_buf *out = &writer->kernel->ptx;
    static const char *const names[] = {"v_byte", "v_in",         "v_counts",
                                        "v_out",  "v_in_pointer", "v_out_pointer"};
    base_buf_puts(
        out, ".visible .global .u8 v_byte = 77;\n.visible .global .align 16 .b32 v_in[1000] = {");
    for (unsigned i = 0; i < 200; i++)
        base_buf_printf(out, "%s%u", i ? ", " : "", below(writer, 1u << 31));
    base_buf_puts(out, "};\n.visible .global .align 4 .u32 v_counts[3];\n"
                       ".visible .global .align 16 .b8 v_out[4096];\n"
                       ".visible .global .u64 v_in_pointer = v_in;\n"
                       ".visible .global .u64 v_out_pointer = v_out;\n");
    memcpy(test->variables, names, sizeof(names));
    test->variable_count = sizeof(names) / sizeof(names[0]);
}

void random_kernel_make(struct random_kernel *kernel, uint64_t seed, uint32_t off,
                        const uint64_t *without, size_t without_count)
{
    struct writer writer = {.kernel = kernel,
                            .off = off,
                            .without = without,
                            .without_count = without_count,
                            .random = random_hash(seed, 1)};
    char head[512];
    const bool old = seed % 3 == 0;
    if (old)
        writer.off |= FEATURE_COPIES;
    if (seed % 4) // probes at object level may not know what such kernels touch
        writer.off |= FEATURE_FORMS;
    // Blocks that end before others reach their memory would end the launch.
    if (old || seed % 7 != 5 || !has(&writer, FEATURE_MIXED))
        writer.off |= FEATURE_CLUSTERS;
    else if (has(&writer, FEATURE_CLUSTERS))
        writer.off |= FEATURE_EXITS | FEATURE_RETURNS;
    memset(kernel, 0, sizeof(*kernel));
    kernel->source = -1;
    kernel->test.aims = kernel->test.may_leave = has(&writer, FEATURE_FORMS);
    make_shape(&writer);
    make_buffers(&writer);
    make_params(&writer);
    base_buf_printf(&kernel->ptx,
                    ".version %s\n.address_size 64\n"
                    ".shared .align 16 .b8 tile[256];\n.shared .align 16 .b8 banks[2064];\n",
                    old ? "6.5\n.target sm_75" : "8.0\n.target sm_90");
    base_buf_printf(&kernel->ptx, ".shared .align 16 .b8 copies[%u];\n", 16 * writer.block_threads);
    if (has(&writer, FEATURE_VARIABLES))
        write_variables(&writer);
    if (has(&writer, FEATURE_FUNCTIONS))
        write_functions(&writer, seed);
    if (has(&writer, FEATURE_IMPURE))
        base_buf_puts(&kernel->ptx, ".const .align 4 .u32 c_words[16];\n"
                                    ".func (.param .b32 result) look(.param .b64 p)\n{\n"
                                    ".reg .b64 %d; .reg .b32 %r;\nld.param.u64 %d, [p];\n"
                                    "ld.global.u32 %r, [%d+32];\nst.param.b32 [result], %r;\n"
                                    "ret;\n}\n");
    const char *meet =
        has(&writer, FEATURE_CLUSTERS) ? "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" : "";
    start_body(&writer);
    put(&writer, "%s", meet);
    write_body(&writer, random_hash(seed, 2), 20);
    if (has(&writer, FEATURE_IMPURE) && !writer.impure_done)
        write_impure(&writer);
    put(&writer, "L%u:", writer.done);
    write_own(&writer);
    put(&writer, "%sEND: ret;", meet);
    snprintf(head, sizeof(head), ".visible .entry k(%s)%s", params,
             has(&writer, FEATURE_CLUSTERS) ? " .reqnctapercluster 2" : "");
    end_body(&writer, head);
    base_buf_putc(&kernel->ptx, '\0');
    kernel->test.ptx = kernel->ptx.text;
    kernel->test.ptx_bytes = kernel->ptx.length - 1;
    kernel->test.kernel = "k";
    snprintf(kernel->test.name, sizeof(kernel->test.name), "seed %llu", (unsigned long long)seed);
}

// All lack some features, so that there is something for each reason to be the only one.
uint32_t random_repeats_off(uint64_t seed, uint32_t off)
{
    const uint64_t bits = random_hash(seed, 200) & random_hash(seed, 201);
    const uint32_t some = (uint32_t)(bits >> 20) & ((1u << FEATURES) - 1);
    off = (off & ~FEATURE_IMPURE) | (some & ~(RANDOM_PURE | FEATURE_IMPURE));
    if (seed % 8 == 7)
        return off | (some & RANDOM_PURE) | FEATURE_IMPURE;
    return off | RANDOM_PURE | (seed % 4 == 0 ? FEATURE_IMPURE : 0);
}

void random_kernel_free(struct random_kernel *kernel)
{
    for (unsigned i = 0; i < ORACLE_BUFFERS; i++)
        free(kernel->memory[i]);
    base_buf_fini(&kernel->ptx);
    base_array_fini(&kernel->statements);
}
