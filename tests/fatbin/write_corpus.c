// SPDX-License-Identifier: Apache-2.0
// Writes the initial inputs of tests/fuzz/fuzz_fatbin.c: write_corpus FOLDER. They are binary, so
// they are generated instead of being kept in the tree.
#include <stdio.h>
#include <stdlib.h>

#include "writer.h"

static void save(const char *folder, const char *name, const struct base_buf *bytes)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = bytes->failed ? NULL : fopen(path, "wb");
    if (!file || fwrite(bytes->text, 1, bytes->length, file) != bytes->length || fclose(file)) {
        perror(path);
        exit(1);
    }
}

static void save_fatbin(const char *folder, const char *name, const struct writer_entry *entries,
                        size_t count)
{
    struct base_buf bytes = {0};
    writer_add_fatbin(&bytes, entries, count);
    save(folder, name, &bytes);
    base_buf_fini(&bytes);
}

static void save_fatbins(const char *folder)
{
    struct writer_entry entries[] = {WRITER_PTX(WRITER_STORED), WRITER_PTX(WRITER_LZ4),
                                     WRITER_PTX(WRITER_ZSTD), WRITER_PTX(WRITER_ZSTD)};
    save_fatbin(folder, "stored", &entries[0], 1);
    save_fatbin(folder, "lz4", &entries[1], 1);
    save_fatbin(folder, "zstd", &entries[2], 1);
    save_fatbin(folder, "empty", NULL, 0);
    entries[2].source_name = "vectorAdd.cu";
    entries[2].options = " --generate-line-info ";
    entries[3].kind = 8;
    save_fatbin(folder, "names", &entries[2], 1);
    save_fatbin(folder, "several-entries", entries, 4);
}

static void save_containers(const char *folder)
{
    struct base_buf whole = {0};
    struct base_buf linked = {0};
    struct base_buf file = {0};
    writer_add_fatbin(&whole, &WRITER_PTX(WRITER_ZSTD), 1);
    writer_add_fatbin(&linked, &WRITER_PTX(WRITER_LZ4), 1);
    const struct writer_section sections[] = {
        {".nv_fatbin", {whole.text, whole.length}, 0},
        {"__nv_relfatbin", {linked.text, linked.length}, 0},
        {".interp", base_str("/lib/ld.so"), 0},
    };
    writer_add_elf(&file, ET_DYN, EM_X86_64, sections, 3);
    save(folder, "executable", &file);

    static const char lines[] = "\0.version 9.0\0.target sm_90\0ret;\0";
    const struct writer_section cubin[] = {{".text.kernel", base_str("machine code"), 0},
                                           {".nv_debug_ptx_txt", {lines, sizeof(lines) - 1}, 0}};
    file.length = 0;
    writer_add_elf(&file, ET_EXEC, 190, cubin, 2);
    save(folder, "cubin", &file);

    struct base_buf object = {0};
    writer_add_object(&object, "__nv_relfatbin", &linked);
    save(folder, "object", &object);
    static const char names[] = "a_name_of_many_letters.o/\n";
    file.length = 0;
    writer_add_member(&file, "//", names, sizeof(names) - 1);
    writer_add_member(&file, "/0", object.text, object.length);
    writer_add_member(&file, "text/", "odd", 3);
    save(folder, "archive", &file);

    writer_align(&whole, 0, 256);
    base_buf_add(&whole, linked.text, linked.length);
    save(folder, "several-fatbins", &whole);
    base_buf_fini(&whole);
    base_buf_fini(&linked);
    base_buf_fini(&object);
    base_buf_fini(&file);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: write_corpus FOLDER\n");
        return 2;
    }
    save_fatbins(argv[1]);
    save_containers(argv[1]);
    struct base_buf text = {0};
    base_buf_puts(&text, "// a comment\n/* and another */\n");
    base_buf_puts(&text, writer_ptx);
    save(argv[1], "text", &text);
    base_buf_fini(&text);
    return 0;
}
