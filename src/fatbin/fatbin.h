// SPDX-License-Identifier: Apache-2.0
// Finds device code: PTX and cubins in PTX files, fatbins, cubins, ELF executables, shared
// libraries, objects and static archives, and in images in the memory of a process. It does not
// parse PTX (see src/ptx), and it does not choose among entries.
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
// Every input except that of fatbin_open_memory may be hostile. There is no state outside an image,
// and several threads may read one image.
#ifndef GLINT_FATBIN_FATBIN_H
#define GLINT_FATBIN_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

// The form of an input.
enum fatbin_form {
    FATBIN_FORM_PTX,        // PTX text
    FATBIN_FORM_FATBIN,     // one or more consecutive fatbins
    FATBIN_FORM_CUBIN,      // an ELF file for the GPU
    FATBIN_FORM_EXECUTABLE, // an ELF file for the host, of any 64-bit little-endian machine
    FATBIN_FORM_LIBRARY,    // the same: a shared library
    FATBIN_FORM_OBJECT,     // the same: a relocatable object
    FATBIN_FORM_ARCHIVE,    // a static archive of such files
};

enum fatbin_kind {
    FATBIN_PTX,
    FATBIN_CUBIN,
    FATBIN_LTO, // input of NVIDIA's link-time optimiser; its payload is encoded and cannot be read
    FATBIN_OTHER, // see fatbin_entry.kind_number
};

enum fatbin_compression {
    FATBIN_STORED,
    FATBIN_LZ4,
    FATBIN_ZSTD,
    FATBIN_UNKNOWN, // an unknown compression
};

// The known bits of fatbin_entry.flags.
#define FATBIN_FLAG_64BIT    UINT64_C(0x1)
#define FATBIN_FLAG_DEBUG    UINT64_C(0x2)
#define FATBIN_FLAG_LINUX    UINT64_C(0x10)
#define FATBIN_FLAG_LZ4      UINT64_C(0x2000)
#define FATBIN_FLAG_ZSTD     UINT64_C(0x8000)
#define FATBIN_FLAG_SPECIFIC UINT64_C(0x100000) // sm_90a: for that architecture only
#define FATBIN_FLAG_FAMILY   UINT64_C(0x200000) // sm_100f: for that family of architectures

// Larger payloads are rejected, whether stored or compressed.
#define FATBIN_PAYLOAD_LIMIT_BYTES (UINT64_C(1) << 30)

// One piece of device code. Texts are views of the image's bytes; a missing text is empty.
struct fatbin_entry {
    enum fatbin_kind kind;
    unsigned kind_number;   // as in the file; 0 if the entry is a whole PTX file or cubin
    unsigned arch;          // 90 for sm_90; 0 if PTX text does not state it
    char arch_suffix;       // 'a' or 'f', else '\0'
    unsigned version_major; // PTX: of the ISA, 9.0; cubin: of its format, 1.8; 0.0: unknown
    unsigned version_minor;
    uint64_t flags;
    enum fatbin_compression compression;
    const unsigned char *payload; // as stored, without padding if its size is known
    size_t payload_bytes;
    size_t full_bytes; // decompressed, as the file states it, including a trailing NUL of PTX
    struct base_str source_name; // "vectorAdd.cu", with -lineinfo and -G
    struct base_str options;     // of the compiler; text for PTX, binary for new cubins
    struct base_str section;     // ".nv_fatbin", "__nv_relfatbin", ".nv_debug_ptx_txt"
    struct base_str member;      // name of the archive's member
    uint64_t offset;     // of the entry in the file; in memory, from the header of its fatbin
    size_t fatbin_index; // which fatbin of the image, counted from 0
    bool relocatable;    // compiled with -rdc=true: must be linked before it is loaded
    // Taken from a cubin's debug section instead of a fatbin: the PTX of the cubin with its line
    // numbers, but without .loc and .file and with empty debug sections.
    bool from_debug_info;
};

// Read-only for users.
struct fatbin_image {
    enum fatbin_form form;
    char *name;                              // for messages
    BASE_ARRAY(struct fatbin_entry) entries; // at least one, in the order of the file
    size_t fatbin_count;                     // empty fatbins included
    char *file_bytes;                        // if fatbin_open_file read them, else NULL
};

// The fatbin_open functions open an image and list its entries. On BASE_OK the caller closes
// *image; otherwise it is NULL. Other codes: BASE_IO, BASE_NO_MEMORY, BASE_UNSUPPORTED (a form that
// cannot hold device code), BASE_CORRUPT (truncated or inconsistent), BASE_NOT_FOUND (no device
// code). fatbin_open_file reads a file.
enum base_code fatbin_open_file(const char *path, struct fatbin_image **image,
                                struct base_error *error);

// Borrows bytes, which must outlive the image. `name` is used in messages and is copied.
enum base_code fatbin_open_bytes(const void *bytes, size_t length, const char *name,
                                 struct fatbin_image **image, struct base_error *error);

// Opens what a process passes to cuModuleLoadData, cuLibraryLoadData or __cudaRegisterFatBinary: a
// fatbin wrapper with all fatbins that it lists, a fatbin, a cubin, or NUL-terminated PTX. Sizes
// come from the headers, which are trusted, as the driver does. Borrows the memory.
enum base_code fatbin_open_memory(const void *memory, struct fatbin_image **image,
                                  struct base_error *error);

// Closes an image; NULL is allowed.
void fatbin_close(struct fatbin_image *image);

// Sets *text to the decompressed payload, which the caller frees. A NUL follows it and is not
// counted in *length. The trailing NULs of PTX are removed, and it has none inside. Returns
// BASE_UNSUPPORTED for FATBIN_LTO and unknown compressions, BASE_CORRUPT if the payload does not
// have the stated size.
enum base_code fatbin_entry_text(const struct fatbin_entry *entry, char **text, size_t *length,
                                 struct base_error *error);

// Returns BASE_OK if the image has PTX; otherwise BASE_NOT_FOUND, with an error that states what it
// has and for which architectures.
enum base_code fatbin_require_ptx(const struct fatbin_image *image, struct base_error *error);

// What compiled code passes to __cudaRegisterFatBinary, and the runtime to cuLibraryLoadData.
#define FATBIN_WRAPPER_MAGIC UINT32_C(0x466243b1)
struct fatbin_wrapper {
    uint32_t magic;
    uint32_t version;
    const void *fatbin;
    const void *const *linked; // version 2: the fatbins of -rdc units, NULL after the last
};

// Appends a fatbin with one uncompressed PTX entry. Its architecture and compiler options are those
// of `like`, another PTX entry.
void fatbin_put_ptx(struct base_buf *out, const struct fatbin_entry *like, const char *text,
                    size_t length);

// Calls visit with the name of each kernel of a cubin, until it returns false. A name is valid as
// long as the image. Returns BASE_UNSUPPORTED unless the entry is a cubin that is not compressed,
// BASE_CORRUPT if its headers are wrong.
typedef bool fatbin_visit_kernel(void *user, const char *kernel);
enum base_code fatbin_each_kernel(const struct fatbin_entry *cubin, fatbin_visit_kernel *visit,
                                  void *user, struct base_error *error);

// Reads the parameters of a kernel of a cubin: stores the first `room` of them in their order, and
// sets *count to how many there are. Returns the same codes; also BASE_NOT_FOUND if the cubin does
// not have the kernel, and BASE_CORRUPT if a parameter is missing or listed twice.
enum { FATBIN_MOST_PARAMS = 4096 };
struct fatbin_param {
    uint32_t offset, bytes;
};
enum base_code fatbin_kernel_params(const struct fatbin_entry *cubin, const char *kernel,
                                    struct fatbin_param *params, uint32_t room, uint32_t *count,
                                    struct base_error *error);

// Finds the copy of its PTX that a cubin has if it was compiled with line numbers: the whole text,
// but without .loc, .file and the contents of debug sections. *copy is a view of the cubin's bytes.
// Returns false if there is none or more than one, and for cubins that are compressed or must be
// linked.
bool fatbin_find_copy(const struct fatbin_entry *cubin, struct fatbin_entry *copy);

// Returns whether ptxas makes the first text, a copy, of the second one: nothing but comments,
// blanks, .loc, .file and debug sections differs. Both end with a NUL.
bool fatbin_is_copy(const char *copy, const char *text);

// Return names for messages: "fatbin", "shared library"; "PTX", "cubin"; "none", "LZ4", "zstd".
const char *fatbin_form_name(enum fatbin_form form);
const char *fatbin_kind_name(enum fatbin_kind kind);
const char *fatbin_compression_name(enum fatbin_compression compression);

#endif
