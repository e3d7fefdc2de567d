// SPDX-License-Identifier: Apache-2.0
// Finds out whether one of the libraries that a program is linked with is MPI. The dynamic loader
// that the executable names lists them, because only it knows its paths, caches and environment. It
// loads the libraries without running their code. Scripts, static executables and those of other
// loaders have no such list.
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "record.h"

// Returns the loader that the program names if it is glibc's: others might run the program instead.
static bool find_loader(Elf *elf, char *loader, size_t room)
{
    size_t count = 0;
    GElf_Phdr segment;
    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_INTERP)
            continue;
        Elf_Data *data =
            elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz, ELF_T_BYTE);
        if (!data || !data->d_size || data->d_size > room ||
            memchr(data->d_buf, '\0', data->d_size) == NULL)
            return false;
        memcpy(loader, data->d_buf, data->d_size);
        const char *name = strrchr(loader, '/');
        return name && strncmp(name, "/ld-linux", strlen("/ld-linux")) == 0;
    }
    return false;
}

// Returns true if the library exports a function of this name.
static bool defines(const char *path, const char *wanted)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = file >= 0 ? elf_begin(file, ELF_C_READ_MMAP, NULL) : NULL;
    bool found = false;
    for (Elf_Scn *section = elf ? elf_nextscn(elf, NULL) : NULL; section && !found;
         section = elf_nextscn(elf, section)) {
        GElf_Shdr head;
        if (!gelf_getshdr(section, &head) || head.sh_type != SHT_DYNSYM || !head.sh_entsize)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (size_t i = 0; data && !found && i < head.sh_size / head.sh_entsize; i++) {
            GElf_Sym symbol;
            const char *name = gelf_getsym(data, (int)i, &symbol) && symbol.st_shndx != SHN_UNDEF
                                   ? elf_strptr(elf, head.sh_link, symbol.st_name)
                                   : NULL;
            found = name && strcmp(name, wanted) == 0;
        }
    }
    if (elf)
        elf_end(elf);
    if (file >= 0)
        close(file);
    return found;
}

// A line of the list is "\tlibmpi.so.40 => /usr/lib/libmpi.so.40 (0x0000ffff8a600000)".
static bool is_mpi(char *line)
{
    char *path = strstr(line, " => ");
    char *end = path ? strrchr(path, '(') : NULL;
    if (!end || end - path <= 5)
        return false;
    end[-1] = '\0';
    return defines(path + 4, "MPI_Init");
}

static FILE *ask(const char *loader, const char *program, pid_t *child)
{
    extern char **environ;
    char *arguments[] = {(char *)loader, "--list", (char *)program, NULL};
    int ends[2];
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return NULL;
    FILE *list = NULL;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        const bool good = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                                           O_RDONLY, 0) == 0 &&
                          posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) == 0 &&
                          posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                                           O_WRONLY, 0) == 0 &&
                          posix_spawn(child, loader, &actions, NULL, arguments, environ) == 0;
        close(ends[1]);
        list = good ? fdopen(ends[0], "r") : NULL;
        if (!list)
            close(ends[0]);
        if (good && !list)
            waitpid(*child, NULL, 0);
    }
    posix_spawn_file_actions_destroy(&actions);
    return list;
}

bool record_needs_mpi(const char *program)
{
    enum { LOADER_BYTES = 256 };
    char loader[LOADER_BYTES], *line = NULL;
    size_t room = 0;
    pid_t child = 0;
    elf_version(EV_CURRENT);
    const int file = open(program, O_RDONLY | O_CLOEXEC);
    Elf *elf = file >= 0 ? elf_begin(file, ELF_C_READ_MMAP, NULL) : NULL;
    const bool has_loader = elf && find_loader(elf, loader, sizeof(loader));
    if (elf)
        elf_end(elf);
    if (file >= 0)
        close(file);
    FILE *list = has_loader ? ask(loader, program, &child) : NULL;
    bool found = false;
    while (list && getline(&line, &room, list) > 0)
        found = found || is_mpi(line);
    free(line);
    if (list) {
        fclose(list);
        waitpid(child, NULL, 0);
    }
    return found;
}
