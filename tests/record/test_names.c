// SPDX-License-Identifier: Apache-2.0
// Names that source lines give to objects, and similar lines that must give none or another name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/names.h"

struct known_answer {
    const char *source;
    uint32_t line, column;
    const char *callee;
    enum record_names_strength strength;
    const char *name;
};

#define S RECORD_NAMES_STRONG
#define P RECORD_NAMES_PASSED
// The frame calls the driver itself, under any name.
static const struct known_answer pointer_answers[] = {
    {"api.cuMemAlloc(&a, bytes);", 1, 0, NULL, S, "a"},
    {"check(mem_alloc(&device_a, bytes), \"cuMemAlloc\");", 1, 0, NULL, S, "device_a"},
    {"p->MemAlloc(&a[i], n);", 1, 0, NULL, S, "a[i]"},
    {"CHECK(fn(&buffer, n));", 1, 0, NULL, S, "buffer"},
    {"if ((e = (*get)((void **)&s->x, n)) != 0) goto out;", 1, 0, NULL, S, "s->x"},
    {"return table[ALLOC](&x, n);", 1, 0, NULL, S, "x"},
    {"status = fn((CUdeviceptr *)(&x), n);", 1, 0, NULL, S, "x"},
    {"CHECK(create(&array, &description));", 1, 0, NULL, S, "array"},
    {"log_to(&log, \"x\", api.alloc(&x, n));", 1, 0, NULL, S, "x"},
    {"for (int i = 0; i < 4; i++) fn(&parts[i], n);", 1, 0, NULL, S, "parts[i]"},
    {"void *make(int n) {\n fn(&p, n);\n return p;\n}", 2, 0, NULL, RECORD_NAMES_RETURNED, "p"},
    {"int status = api->mem_alloc(out, n);", 1, 0, NULL, P, ""},
    // A helper that gets the pointer as a parameter.
    {"return api->mem_alloc(out, n);", 1, 0, NULL, P, ""},
    {"return api->mem_alloc((CUdeviceptr *)out, n);", 1, 0, NULL, P, ""},
    // Near misses.
    {"CHECK(fn(out, n));", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"fn(n, &x);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"fn(&a, other(&b));", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"my_alloc(&a, your_alloc(&b));", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"add_alloc_node(&node, graph, 0, 0, &params);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"int n = a & (b);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"run(sizeof(&x));", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"fn(&x + 1, n);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"fn(", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"fn(&", 1, 0, NULL, RECORD_NAMES_NONE, ""},
};
static const struct known_answer answers[] = {
    // Allocation functions.
    {"cudaMalloc(&A_gpu, n);", 1, 0, NULL, S, "A_gpu"},
    {"  cudaMalloc ( & A_gpu , n * sizeof(float) ) ;", 1, 0, NULL, S, "A_gpu"},
    {"cudaMalloc((void **)&p->data[i], n);", 1, 0, NULL, S, "p->data[i]"},
    {"cudaMalloc((void**) & (p->data), n);", 1, 0, NULL, S, "p->data"},
    {"cudaMalloc(reinterpret_cast<void **>(&x.y), n);", 1, 0, NULL, S, "x.y"},
    {"cudaMalloc<float>(&x, n);", 1, 0, NULL, S, "x"},
    {"cudaMallocManaged(&m, n, cudaMemAttachGlobal);", 1, 0, NULL, S, "m"},
    {"cudaMallocHost((void **)&pinned, n);", 1, 0, NULL, S, "pinned"},
    {"cudaHostAlloc(&pinned, n, 0);", 1, 0, NULL, S, "pinned"},
    {"cudaMallocAsync(&pool, n, stream);", 1, 0, NULL, S, "pool"},
    {"cudaMallocPitch(&image, &pitch, w, h);", 1, 0, NULL, S, "image"},
    {"cudaMalloc3D(&box, extent);", 1, 0, NULL, S, "box"},
    {"cudaMallocArray(&array, &format, w, h);", 1, 0, NULL, S, "array"},
    {"cuMemAlloc(&d, n);", 1, 0, NULL, S, "d"},
    {"cuMemAlloc_v2(&Module::table[2][k + 1], n);", 1, 0, NULL, S, "Module::table[2][k+1]"},
    {"cudaHostRegister(buffer, n, 0);", 1, 0, NULL, S, "buffer"},
    {"cudaHostRegister(values.data(), n, 0);", 1, 0, NULL, S, "values"},
    {"cudaHostRegister((void *)p->held->data(), n, 0);", 1, 0, NULL, S, "p->held"},
    {"cudaHostRegister(find(x).data(), n, 0);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"glint_suballoc(tensor, n);", 1, 0, NULL, S, "tensor"},
    {"glint_suballoc(block, n);\nreturn block;", 1, 0, NULL, RECORD_NAMES_RETURNED, "block"},
    // Code around allocation functions.
    {"CHECK(cudaMalloc(&x, n));", 1, 0, NULL, S, "x"},
    {"CUDA_TRY( cudaMalloc( (void**)&x, n ), \"cudaMalloc(&wrong, n)\" );", 1, 0, NULL, S, "x"},
    {"if (cudaMalloc(&x, n) != cudaSuccess) {", 1, 0, NULL, S, "x"},
    {"cudaError_t e = cudaMalloc(&x, n);", 1, 0, NULL, S, "x"},
    {"for (int i = 0; i < 4; i++)\n    cudaMalloc(&parts[i], n);", 2, 0, NULL, S, "parts[i]"},
    {"for (int i = 0; i < 4; i++) cudaMalloc(&parts[i], n);", 1, 0, NULL, S, "parts[i]"},
    {"cudaMalloc(\n    &x,\n    n);", 1, 0, NULL, S, "x"},
    {"cudaMalloc(\n    &x,\n    n);", 2, 0, NULL, S, "x"},
    {"cudaMalloc(\n    &x,\n    n);", 3, 0, NULL, S, "x"},
    {"int a;\n// cudaMalloc(&wrong, n);\ncudaMalloc(/* &wrong */ &x, n); // cudaMalloc(&b, 1);", 3,
     0, NULL, S, "x"},
    {"char q = '\"'; cudaMalloc(&x, n);", 1, 0, NULL, S, "x"},
    {"int k = 1'000'000; cudaMalloc(&x, n);", 1, 0, NULL, S, "x"},
    // Two calls in a line: only the column distinguishes them.
    {"cudaMalloc(&a, n); cudaMalloc(&b, n);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"cudaMalloc(&a, n); cudaMalloc(&b, n);", 1, 1, NULL, S, "a"},
    {"cudaMalloc(&a, n); cudaMalloc(&b, n);", 1, 20, NULL, S, "b"},
    {"CHECK(cudaMalloc(&a, n)); CHECK(cudaMalloc(&b, n));", 1, 27, NULL, S, "b"},
    {"f(cudaMalloc(&a, n), cudaMalloc(&b, n));", 1, 3, NULL, RECORD_NAMES_NONE, ""},
    // Near misses.
    {"mycudaMalloc(&x, n);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"cudaMallocs(&x, n);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"cudaMemcpy(&x, y, n, k);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"cudaFree(x);\ncudaMalloc(&y, n);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"\"cudaMalloc(&x, n)\";", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"cudaMalloc(&x, n);", 2, 0, NULL, RECORD_NAMES_NONE, ""},
    {"", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"cudaMalloc(", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"cudaMalloc(&", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"))]];;cudaMalloc(&x, n);", 1, 0, NULL, S, "x"},
    {"int status = run();", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"if (a == b) f(x);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    // Helpers: which lines are helpers, and the names in their callers.
    {"cudaMalloc(out, n);", 1, 0, NULL, RECORD_NAMES_PASSED, ""},
    {"return cudaMalloc((void **)(void *)devPtr, size);", 1, 0, NULL, RECORD_NAMES_PASSED, ""},
    {"float *make(int n) {\n float *p;\n cudaMalloc(&p, n);\n return p;\n}", 3, 0, NULL,
     RECORD_NAMES_RETURNED, "p"},
    {"void f() {\n cudaMalloc(&p, n);\n}\nint g() {\n return p;\n}", 2, 0, NULL, S, "p"},
    {"float *x = make(n);", 1, 0, "make", S, "x"},
    {"float* x = (float*)make(n);", 1, 0, "make", S, "x"},
    {"auto x = make<float>(n);", 1, 0, "make", S, "x"},
    {"auto x = static_cast<float *>(tools::make(n));", 1, 0, "make", S, "x"},
    {"this->rows[i].x = pool->make(n);", 1, 0, "make", S, "this->rows[i].x"},
    {"if ((x = make(n)) == NULL) return;", 1, 0, "make", S, "x"},
    {"make(&x, n);", 1, 0, "make", S, "x"},
    {"make(n, (void **)&s.x);", 1, 0, "make", S, "s.x"},
    {"make(out, n);", 1, 0, "make", RECORD_NAMES_PASSED, ""},
    {"return make(n);", 1, 0, "make", RECORD_NAMES_PASSED, ""},
    {"make(&x, &y);", 1, 0, "make", RECORD_NAMES_NONE, ""},
    {"use(make(n), make(m));", 1, 0, "make", RECORD_NAMES_NONE, ""},
    {"int done = run(make);", 1, 0, "make", RECORD_NAMES_NONE, ""},
    {"Buffer<float> weights(n);", 1, 0, "Buffer", S, "weights"},
    {"tools::Buffer weights{n};", 1, 0, "Buffer", S, "weights"},
    // The called function is unknown.
    {"float *x = library_make(n);", 1, 0, NULL, S, "x"},
    {"x = dev_alloc(n);", 1, 0, NULL, S, "x"},
    {"x = compute(n);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"float *x = y;", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"float *y = model_forward(model, x);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"float *y = forward(alloc, make);", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"int ok = create_context();", 1, 0, NULL, RECORD_NAMES_NONE, ""},
    {"auto x = static_cast<float *>(DeviceAllocate<float>(n));", 1, 0, NULL, S, "x"},
};

static unsigned count_wrong(const struct known_answer *known, size_t count, bool calls_driver)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const struct known_answer *answer = &known[i];
        struct base_buf name = {0};
        enum record_names_strength strength =
            record_names_in_source(answer->source, strlen(answer->source), answer->line,
                                   answer->column, answer->callee, calls_driver, &name);
        const char *text = name.text ? name.text : "";
        if (strength != answer->strength || strcmp(text, answer->name) != 0) {
            print_error("%s\n  gives %d \"%s\" and not %d \"%s\"\n", answer->source, strength, text,
                        answer->strength, answer->name);
            wrong++;
        }
        base_buf_fini(&name);
    }
    return wrong;
}

static void source_lines_give_known_answers(void **state)
{
    (void)state;
    assert_int_equal(count_wrong(answers, sizeof(answers) / sizeof(*answers), false), 0);
}

static void calls_by_pointers_give_known_answers(void **state)
{
    (void)state;
    const size_t count = sizeof(pointer_answers) / sizeof(*pointer_answers);
    assert_int_equal(count_wrong(pointer_answers, count, true), 0);
}

// If a frame of another library is in between, the address may be that library's own variable.
static void only_the_caller_of_the_driver_names_by_a_pointer(void **state)
{
    (void)state;
    const struct known_answer answer = {"model_init(&model, n);", 1, 0, NULL,
                                        RECORD_NAMES_NONE,        ""};
    assert_int_equal(count_wrong(&answer, 1, false), 0);
}

// The text ends at the end of a page and the next page is not readable, so that reading past the
// end faults. There is a name exactly if the strength says so. It is one line, and each of its
// words is in the text.
static void garbage_gives_words_of_the_text_or_nothing(void **state)
{
    (void)state;
    static const char pieces[] = "cudaMalloc(&x[i],n);{}()[]=*<>:->.'\"/\\\n make ";
    enum { LENGTH = 80 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    char *text = pages + page - LENGTH;
    unsigned named = 0;
    uint64_t random = 1;
    for (unsigned i = 0; i < 20000; i++) {
        char ended[LENGTH + 1] = "";
        for (size_t j = 0; j < LENGTH; j++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[j] = j % 16 < 11 && random >> 62 ? "cudaMalloc("[j % 16]
                                                  : pieces[(random >> 33) % (sizeof(pieces) - 1)];
        }
        memcpy(ended, text, LENGTH);
        struct base_buf name = {0};
        const enum record_names_strength strength = record_names_in_source(
            text, LENGTH, 1 + i % 4, i % 30, i % 2 ? "make" : NULL, i % 3 == 0, &name);
        assert_in_range(strength, RECORD_NAMES_NONE, RECORD_NAMES_STRONG);
        assert_int_equal(name.length > 0,
                         strength == RECORD_NAMES_STRONG || strength == RECORD_NAMES_RETURNED);
        named += name.length > 0;
        for (char *word = name.length ? name.text : NULL; word && *word;) {
            static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
            assert_true(*word != '\n');
            const size_t length = strspn(word, letters);
            char copy[LENGTH + 1] = "";
            assert_true(length <= LENGTH);
            memcpy(copy, word, length);
            assert_non_null(strstr(ended, copy));
            word += length ? length : 1;
        }
        base_buf_fini(&name);
    }
    assert_true(named > 100); // enough of the garbage resembles source code
    munmap(pages, 2 * page);
}

// --- Frames and files ----------------------------------------------------------------------------

struct written {
    char path[64];
    struct record_names *names;
};

static void write_source(struct written *written, const char *text)
{
    strcpy(written->path, "/tmp/glint-names-XXXXXX");
    int file = mkstemp(written->path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    written->names = record_names_create();
    assert_non_null(written->names);
}

static void assert_name(struct written *written, const struct record_symbols_frame *frames,
                        size_t count, const char *wanted)
{
    struct base_buf name = {0};
    if (!record_names_object(written->names, frames, count, &name))
        base_buf_puts(&name, "4096 bytes");
    assert_string_equal(name.text, wanted);
    base_buf_fini(&name);
}

static void remove_source(const struct written *written)
{
    record_names_destroy(written->names);
    unlink(written->path);
}

static void helpers_are_passed_to_the_caller_with_a_name(void **state)
{
    (void)state;
    struct written written;
    write_source(&written, "template <class T> cudaError_t cudaMalloc(T **p, size_t n) {\n"
                           "    return ::cudaMalloc((void **)(void *)p, n);\n"
                           "}\n"
                           "float *make(int n) {\n"
                           "    float *fresh;\n"
                           "    cudaMalloc(&fresh, n);\n"
                           "    return fresh;\n"
                           "}\n"
                           "int main() {\n"
                           "    float *weights = make(12);\n"
                           "    use(make(13));\n"
                           "}\n");
    const struct record_symbols_frame frames[] = {
        {.function = "cudart::cudaApiMalloc(void**, unsigned long)"},
        {.function = "cudaMalloc"},
        {.function = "cudaMalloc<float>(float**, unsigned long)", .file = written.path, .line = 2},
        {.function = "make(int)", .file = written.path, .line = 6},
        {.function = "main", .file = written.path, .line = 10},
        {.function = "__libc_start_main"}};
    assert_name(&written, frames, 6, "weights");
    struct record_symbols_frame unnamed[6];
    memcpy(unnamed, frames, sizeof(frames));
    unnamed[4].line = 11; // no name on this line: the helper's name is used
    assert_name(&written, unnamed, 6, "fresh");
    remove_source(&written);
}

static void members_are_those_of_the_variable_that_the_caller_makes(void **state)
{
    (void)state;
    struct written written;
    write_source(&written, "struct buffer {\n"
                           "    float *data;\n"
                           "    buffer(int n) { cudaMalloc(&data, n); }\n"
                           "    buffer(list l) : buffer(l.size()) {}\n"
                           "    void resize(int n) { cudaMalloc(&data_, n); }\n"
                           "    void once(int n) { cudaMalloc(&fresh, n); }\n"
                           "};\n"
                           "int main() {\n"
                           "    buffer<float> weights(12);\n"
                           "    use(buffer(13));\n"
                           "    bias.resize(14);\n"
                           "    bias.once(15);\n"
                           "    all.emplace_back(16);\n"
                           "    buffer<float> one(f(1, 2)), other(17);\n"
                           "    buffer<float> single(f(1, 2), 18);\n"
                           "}\n");
    const char *file = written.path;
    const struct record_symbols_frame
        constructor = {.function = "space::buffer<float>::buffer(unsigned long)",
                       .file = file,
                       .line = 3},
        delegates = {.function = "space::buffer<float>::buffer(list)", .file = file, .line = 4},
        resize = {.function = "space::buffer<float>::resize(int)", .file = file, .line = 5},
        once = {.function = "space::buffer<float>::once(int)", .file = file, .line = 6},
        grows = {.function = "std::vector<buffer>::emplace_back<int>(int&&)",
                 .file = "/usr/include/c++/12/bits/vector.tcc",
                 .line = 1};
    struct record_symbols_frame frames[] = {
        constructor, {.function = "main", .file = file, .line = 9}, {.function = "_start"}};
    assert_name(&written, frames, 3, "weights.data");
    frames[1].line = 10; // of no variable
    assert_name(&written, frames, 3, "data");
    frames[0] = resize;
    frames[1].line = 11;
    assert_name(&written, frames, 3, "bias.data_");
    frames[0] = once; // may be a variable of the method
    frames[1].line = 12;
    assert_name(&written, frames, 3, "fresh");
    frames[0] = constructor;
    frames[2] = (struct record_symbols_frame){.function = "main", .file = file, .line = 9};
    frames[1] = delegates;
    assert_name(&written, frames, 3, "weights.data");
    frames[1] = grows;
    frames[2].line = 13;
    assert_name(&written, frames, 3, "all.data");
    frames[1] = (struct record_symbols_frame){.function = "main", .file = file, .line = 14};
    assert_name(&written, frames, 2, "data"); // of which of the two?
    frames[1].line = 15;
    assert_name(&written, frames, 2, "single.data");
    remove_source(&written);
}

static void parts_of_what_a_helper_gets_or_returns_are_the_callers(void **state)
{
    (void)state;
    struct written written;
    write_source(&written, "matrix make(int n) { matrix m;\n"
                           "    cudaMalloc(&m.data, n);\n"
                           "    return m; }\n"
                           "void init(int n, matrix *m) {\n"
                           "    if (n)\n"
                           "        cudaMalloc((void **)&m->data, n); }\n"
                           "int fill(matrix &m, int n) { return cudaMalloc(&m.data, n); }\n"
                           "matrix both(int n) { matrix own;\n"
                           "    init(n, &own);\n"
                           "    return own; }\n"
                           "void by_value(matrix m, int n) { cudaMalloc(&m.data, n); }\n"
                           "int main() {\n"
                           "    matrix a = make(3);\n"
                           "    init(4, &b[i]);\n"
                           "    init(5, c);\n"
                           "    fill(d.inner, 6);\n"
                           "    matrix e = both(7);\n"
                           "    by_value(f, 8);\n"
                           "    matrix g = make(9), h = make(10);\n"
                           "    use(make(11));\n"
                           "    init(12, find(1));\n"
                           "    matrix k = make(13); matrix l = make(14), m = make(15);\n"
                           "}\n");
    const char *file = written.path;
    static const struct {
        const char *helper;
        unsigned line, caller;
        const char *wanted;
    } cases[] = {
        {"make(int)", 2, 13, "a.data"},
        {"init(int, matrix*)", 6, 14, "b[i].data"},
        {"init(int, matrix*)", 6, 15, "c->data"},
        {"fill(matrix&, int)", 7, 16, "d.inner.data"},
        // Near misses: the caller's variable is not the helper's, or not known.
        {"by_value(matrix, int)", 11, 18, "m.data"},
        {"make(int)", 2, 19, "m.data"},
        {"make(int)", 2, 20, "m.data"},
        {"init(int, matrix*)", 6, 21, "m->data"},
        {"make(int)", 2, 22, "m.data"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct record_symbols_frame frames[] = {
            {.function = "cudaMalloc<float>(float**, unsigned long)"},
            {.function = cases[i].helper, .file = file, .line = cases[i].line},
            {.function = "main", .file = file, .line = cases[i].caller}};
        assert_name(&written, frames, 3, cases[i].wanted);
    }
    const struct record_symbols_frame nested[] = {
        {.function = "init(int, matrix*)", .file = file, .line = 6},
        {.function = "both(int)", .file = file, .line = 9},
        {.function = "main", .file = file, .line = 17}};
    assert_name(&written, nested, 3, "e.data");
    remove_source(&written);
}

static void without_an_expression_there_is_the_place(void **state)
{
    (void)state;
    struct written written;
    write_source(&written, "int main() {\n    go();\n}\n");
    struct record_symbols_frame frames[] = {{.function = "cudaMalloc", .offset = 4},
                                            {.function = "main", .file = written.path, .line = 2}};
    char wanted[80];
    snprintf(wanted, sizeof(wanted), "%s:2", strrchr(written.path, '/') + 1);
    assert_name(&written, frames, 2, wanted);
    frames[1].file = "/nonexistent/a.cu";
    assert_name(&written, frames, 2, "a.cu:2");
    frames[1].file = NULL;
    assert_name(&written, frames + 1, 1, "main, 4096 bytes");
    frames[1].function = NULL;
    assert_name(&written, frames + 1, 1, "4096 bytes");
    assert_name(&written, frames, 0, "4096 bytes");
    remove_source(&written);
}

static void a_source_newer_than_the_program_is_not_believed(void **state)
{
    (void)state;
    struct written written;
    write_source(&written, "cudaMalloc(&x, n);\n");
    struct record_symbols_frame frame = {.function = "main", .file = written.path, .line = 1};
    struct stat status;
    assert_int_equal(stat(written.path, &status), 0);
    frame.built_s = status.st_mtim.tv_sec;
    assert_name(&written, &frame, 1, "x");
    frame.built_s--;
    char wanted[80];
    snprintf(wanted, sizeof(wanted), "%s:1", strrchr(written.path, '/') + 1);
    assert_name(&written, &frame, 1, wanted);
    remove_source(&written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_lines_give_known_answers),
        cmocka_unit_test(calls_by_pointers_give_known_answers),
        cmocka_unit_test(only_the_caller_of_the_driver_names_by_a_pointer),
        cmocka_unit_test(garbage_gives_words_of_the_text_or_nothing),
        cmocka_unit_test(helpers_are_passed_to_the_caller_with_a_name),
        cmocka_unit_test(members_are_those_of_the_variable_that_the_caller_makes),
        cmocka_unit_test(parts_of_what_a_helper_gets_or_returns_are_the_callers),
        cmocka_unit_test(without_an_expression_there_is_the_place),
        cmocka_unit_test(a_source_newer_than_the_program_is_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
