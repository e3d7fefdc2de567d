// SPDX-License-Identifier: Apache-2.0
// Finding device code: the PTX and the cubins in PTX files, fatbins, cubins, ELF executables,
// shared libraries, objects and static archives, and in images that a process holds in memory. It
// does not read the PTX it finds (src/ptx) and chooses among the entries for nobody.
//
//     struct fatbin_image *image;
//     struct base_error error;
//     if (fatbin_open_file("a.out", &image, &error) == BASE_OK) {
//         for (size_t i = 0; i < image->entries.count; i++)
//             if (image->entries.items[i].kind == FATBIN_PTX)
//                 ... fatbin_entry_text(&image->entries.items[i], &text, &length, &error) ...
//                 free(text);
//         fatbin_close(image);
//     }
//
// Every input but that of fatbin_open_memory may be hostile. There is no state outside an image;
// one image may be read by several threads at once.
#ifndef GLINT_FATBIN_FATBIN_H
#define GLINT_FATBIN_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

// What was opened.
enum fatbin_form {
    FATBIN_FORM_PTX,        // PTX text
    FATBIN_FORM_FATBIN,     // one or more fatbins, one after the other
    FATBIN_FORM_CUBIN,      // an ELF file for the GPU
    FATBIN_FORM_EXECUTABLE, // an ELF file for the host, of any 64-bit little-endian machine
    FATBIN_FORM_LIBRARY,    // the same: a shared library
    FATBIN_FORM_OBJECT,     // the same: a relocatable object
    FATBIN_FORM_ARCHIVE,    // a static archive of such files
};

enum fatbin_kind {
    FATBIN_PTX,
    FATBIN_CUBIN,
    FATBIN_LTO,   // input of the vendor's link-time optimiser; its payload is encoded, unreadable
    FATBIN_OTHER, // see fatbin_entry.kind_number
};

enum fatbin_compression {
    FATBIN_STORED,
    FATBIN_LZ4,
    FATBIN_ZSTD,
    FATBIN_UNKNOWN, // compressed in a way glint does not know
};

// Bits of fatbin_entry.flags that are understood.
#define FATBIN_FLAG_64BIT    UINT64_C(0x1)
#define FATBIN_FLAG_DEBUG    UINT64_C(0x2)
#define FATBIN_FLAG_LINUX    UINT64_C(0x10)
#define FATBIN_FLAG_LZ4      UINT64_C(0x2000)
#define FATBIN_FLAG_ZSTD     UINT64_C(0x8000)
#define FATBIN_FLAG_SPECIFIC UINT64_C(0x100000) // sm_90a: for that architecture only
#define FATBIN_FLAG_FAMILY   UINT64_C(0x200000) // sm_100f: for that family of architectures

// Larger payloads are refused, stored or compressed.
#define FATBIN_PAYLOAD_LIMIT_BYTES (UINT64_C(1) << 30)

// One piece of device code. Texts are views into the image's bytes; empty where there is none.
struct fatbin_entry {
    enum fatbin_kind kind;
    unsigned kind_number; // as in the file; 0 where the entry stands for a whole PTX file or cubin
    unsigned arch;        // 90 for sm_90; 0 where PTX text does not say
    char arch_suffix;     // 'a' or 'f', else '\0'
    unsigned version_major; // PTX: of the ISA, 9.0; cubin: of its format, 1.8; 0.0: not known
    unsigned version_minor;
    uint64_t flags;
    enum fatbin_compression compression;
    const unsigned char *payload; // as stored, without padding where the file says how much
    size_t payload_bytes;
    size_t full_bytes;           // decompressed, as stated; a trailing NUL of PTX is counted
    struct base_str source_name; // "vectorAdd.cu", with -lineinfo and -G
    struct base_str options;     // the compiler's; text for PTX, for new cubins binary
    struct base_str section;     // ".nv_fatbin", "__nv_relfatbin", ".nv_debug_ptx_txt"
    struct base_str member;      // the archive's member
    uint64_t offset;             // of the entry in the file; in memory, from its fatbin's header
    size_t fatbin_index;         // which fatbin of the image, counted from 0
    bool relocatable;            // compiled with -rdc=true: to be linked before it is loaded
    // From a cubin's debug section rather than from a fatbin: the cubin's own PTX, lines in place,
    // but without .loc and .file and with emptied debug sections.
    bool from_debug_info;
};

// Read-only for users.
struct fatbin_image {
    enum fatbin_form form;
    char *name;                              // for messages
    BASE_ARRAY(struct fatbin_entry) entries; // at least one, in the order of the file
    size_t fatbin_count;                     // empty fatbins included
    char *file_bytes;                        // where fatbin_open_file read them, else NULL
};

// Each opens and enumerates: *image is the caller's, to be closed, where BASE_OK is returned, and
// NULL otherwise. Other codes: BASE_IO, BASE_NO_MEMORY, BASE_UNSUPPORTED (not a file with device
// code by its form), BASE_CORRUPT (truncated, or it contradicts itself), BASE_NOT_FOUND (of a right
// form, with no device code at all).
enum base_code fatbin_open_file(const char *path, struct fatbin_image **image,
                                struct base_error *error);

// Borrows bytes: they must outlive the image. name serves messages and is copied.
enum base_code fatbin_open_bytes(const void *bytes, size_t length, const char *name,
                                 struct fatbin_image **image, struct base_error *error);

// For what a process hands to cuModuleLoadData, cuLibraryLoadData or __cudaRegisterFatBinary: a
// fatbin wrapper (with all the fatbins it lists), a fatbin, a cubin, or NUL-terminated PTX. Sizes
// are taken from the headers, which are trusted as the driver trusts them. Borrows the memory.
enum base_code fatbin_open_memory(const void *memory, struct fatbin_image **image,
                                  struct base_error *error);

// NULL is allowed.
void fatbin_close(struct fatbin_image *image);

// The decompressed payload in memory that the caller frees; a NUL follows it and is not counted.
// PTX comes without its trailing NULs, and has none inside. BASE_UNSUPPORTED for FATBIN_LTO and for
// unknown compressions; BASE_CORRUPT where it does not decompress to exactly the stated size.
enum base_code fatbin_entry_text(const struct fatbin_entry *entry, char **text, size_t *length,
                                 struct base_error *error);

// BASE_OK where the image has PTX; else BASE_NOT_FOUND, saying what it has instead and for which
// architectures.
enum base_code fatbin_require_ptx(const struct fatbin_image *image, struct base_error *error);

// What the compiler hands to __cudaRegisterFatBinary, and the runtime to cuLibraryLoadData.
#define FATBIN_WRAPPER_MAGIC UINT32_C(0x466243b1)
struct fatbin_wrapper {
    uint32_t magic;
    uint32_t version;
    const void *fatbin;
    const void *const *linked; // version 2: the fatbins of -rdc units, NULL after the last
};

// Adds a fatbin of one piece of PTX, stored as it is, for the devices that take `like`, another
// piece of PTX, and with the same options of the compiler.
void fatbin_put_ptx(struct base_buf *out, const struct fatbin_entry *like, const char *text,
                    size_t length);

// Words for people: "fatbin", "shared library"; "PTX", "cubin"; "none", "LZ4", "zstd".
const char *fatbin_form_name(enum fatbin_form form);
const char *fatbin_kind_name(enum fatbin_kind kind);
const char *fatbin_compression_name(enum fatbin_compression compression);

#endif
