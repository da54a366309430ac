#include "launch/internal.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

enum {
    FIRST_BYTES =
        1024, /* hold the ELF headers and, as a rule, the loader's name; a script's first line has 255 at most */
    SCRIPT_LINE = 255,
    MOST_SCRIPTS = 5 /* a script's interpreter may be a script: execve(2) */
};

/* The interpreter that a script's first line names, in `bytes`, which is changed. NULL: none. */
static char *named_by_script(char *bytes, size_t size)
{
    char *name = bytes + 2;

    if (size < 3 || memcmp(bytes, "#!", 2) != 0)
        return NULL;
    bytes[size < SCRIPT_LINE ? size : SCRIPT_LINE] = '\0';
    name += strspn(name, " \t");
    name[strcspn(name, " \t\n")] = '\0';
    return name[0] ? name : NULL;
}

/* The loader that an ELF executable of this architecture asks for. NULL: none, or it stands further behind. */
static char *named_by_elf(char *bytes, size_t size)
{
    ElfW(Ehdr) header;
    ElfW(Phdr) segment;

    if (size < sizeof header || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return NULL;
    memcpy(&header, bytes, sizeof header);
    if (header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        header.e_phentsize != sizeof segment)
        return NULL;
    for (size_t i = 0; i < header.e_phnum; i++) {
        size_t at = header.e_phoff + i * sizeof segment;

        if (header.e_phoff > size || at + sizeof segment > size)
            return NULL;
        memcpy(&segment, bytes + at, sizeof segment);
        if (segment.p_type == PT_INTERP)
            return segment.p_filesz && segment.p_offset < size &&
                           segment.p_filesz <= size - segment.p_offset &&
                           !bytes[segment.p_offset + segment.p_filesz - 1]
                       ? bytes + segment.p_offset
                       : NULL;
    }
    return NULL;
}

/* The first bytes of a file, as far as this user may read it. */
static size_t read_first(const struct launch *launch, const char *path, char bytes[static FIRST_BYTES])
{
    auto_close int fd = openat(launch->directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t size = fd < 0 ? 0 : read(fd, bytes, FIRST_BYTES - 1);

    return size < 0 ? 0 : (size_t)size;
}

int check_interpreters(const struct launch *launch, struct error *error)
{
    auto_free char *interpreter = NULL;
    auto_free char *bytes = malloc(FIRST_BYTES);

    if (!bytes)
        return system_error(error, "looking for the program");
    for (int i = 0; i < MOST_SCRIPTS; i++) {
        size_t size = read_first(launch, interpreter ? interpreter : launch->program, bytes);
        char *script = named_by_script(bytes, size), *name = script ? script : named_by_elf(bytes, size);

        if (!name)
            return 0;
        free(interpreter);
        interpreter = strdup(name);
        if (!interpreter)
            return system_error(error, "looking for the program");
        if (check_executable(launch, interpreter, script ? "the interpreter" : "the ELF loader", error) < 0)
            return -1;
        if (!script)
            return 0;
    }
    return 0;
}

int launch_check_interpreters(const struct launch *launch, const char *program, struct error *error)
{
    struct launch other = *launch;

    other.program = (char *)program;
    other.directory = AT_FDCWD;
    return check_interpreters(&other, error);
}
