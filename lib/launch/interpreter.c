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

/* What the kernel executes along with a file: an interpreter or a loader, to be freed; NULL with errno 0: nothing. */
static char *interpreter_of(const struct launch *launch, const char *path, bool *is_script)
{
    auto_free char *bytes = malloc(FIRST_BYTES);
    const char *script, *name;
    size_t size;

    if (!bytes)
        return NULL;
    size = read_first(launch, path, bytes);
    script = named_by_script(bytes, size);
    name = script ? script : named_by_elf(bytes, size);
    *is_script = script;
    errno = 0;
    return name ? strdup(name) : NULL;
}

int check_interpreters(const struct launch *launch, struct error *error)
{
    auto_free char *interpreter = NULL;
    bool is_script = true;

    for (int i = 0; i < MOST_SCRIPTS && is_script; i++) {
        char *next = interpreter_of(launch, interpreter ? interpreter : launch->program, &is_script);

        if (!next)
            return errno ? system_error(error, "looking for the program") : 0;
        free(interpreter);
        interpreter = next;
        if (check_executable(launch, interpreter, is_script ? "the interpreter" : "the ELF loader", error) <
            0)
            return -1;
    }
    return 0;
}

char *launch_interpreter_of(const char *program)
{
    const struct launch anywhere = {.directory = AT_FDCWD};
    bool is_script;

    return interpreter_of(&anywhere, program, &is_script);
}
