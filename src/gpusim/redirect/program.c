// SPDX-License-Identifier: Apache-2.0
// Reads from an executable what `glint run` must know before it starts the executable on the
// simulated GPU. The command line decides what follows from it.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf.h"
#include "gpusim/gpusim.h"

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#else
enum { OWN_MACHINE = EM_AARCH64 };
#endif

static void read_libraries(const struct redirect_elf *elf, struct gpusim_program *program)
{
    static const struct {
        const char *name;
        unsigned runtime;
    } runtimes[] = {{"libcudart.so.11", 11}, {"libcudart.so.12", 12}, {"libcudart.so", 13}};
    for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]) && !program->runtime; i++) {
        if (redirect_elf_dynamic(elf, DT_NEEDED, runtimes[i].name))
            program->runtime = runtimes[i].runtime;
    }
    program->needs_driver = redirect_elf_dynamic(elf, DT_NEEDED, "libcuda.so");
    program->needs_asan = redirect_elf_dynamic(elf, DT_NEEDED, "libasan.so");
    program->has_rpath = redirect_elf_dynamic(elf, DT_RPATH, NULL);
    program->vendor_library = redirect_elf_vendor_library(elf);
    const char *standin;
    for (unsigned i = 0; (standin = redirect_standin(i)) != NULL; i++)
        program->standins |= (unsigned)redirect_elf_dynamic(elf, DT_NEEDED, standin) << i;
}

const char *gpusim_standin_name(unsigned index)
{
    return redirect_standin(index);
}

static enum base_code read_elf(const struct redirect_elf *elf, struct gpusim_program *program,
                               struct base_error *error)
{
    program->is_elf = true;
    program->is_native = elf->header->e_machine == OWN_MACHINE;
    for (size_t i = 0; i < elf->segment_count; i++)
        program->is_dynamic |= elf->segments[i].p_type == PT_INTERP;
    program->has_device_code =
        redirect_elf_section(elf, ".nv_fatbin") || redirect_elf_section(elf, "__nv_relfatbin");
    program->is_stripped = redirect_elf_is_stripped(elf);
    read_libraries(elf, program);
    size_t limit = redirect_elf_site_limit(elf);
    if (limit) {
        struct redirect_site *sites = calloc(limit, sizeof(*sites));
        BASE_RETURN_IF_NO_MEMORY(!sites, error);
        program->has_runtime = redirect_elf_sites(elf, sites, limit) > 0;
        free(sites);
    }
    return BASE_OK;
}

enum base_code gpusim_program_read(const char *path, struct gpusim_program *program,
                                   struct base_error *error)
{
    *program = (struct gpusim_program){0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    BASE_RETURN_IF(file < 0, error, BASE_IO, "cannot read %s: %m", path);
    struct stat stat;
    // Mapped, not read: executables may hold gigabytes of device code, and only their ends are
    // needed.
    void *bytes = MAP_FAILED;
    if (fstat(file, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size > 0)
        bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes == MAP_FAILED)
        return BASE_OK; // exec will report what is wrong with the file
    struct redirect_elf elf;
    enum base_code code = BASE_OK;
    if (redirect_elf_init(&elf, bytes, (size_t)stat.st_size))
        code = read_elf(&elf, program, error);
    munmap(bytes, (size_t)stat.st_size);
    return code;
}
