#include "container/internal.h"

#include <string.h>

enum {
    DOCKER = CONTAINER_DOCKER | CONTAINER_PODMAN, /* Podman's are Docker's and more */
    PODMAN = CONTAINER_PODMAN,
    BUBBLEWRAP = CONTAINER_BUBBLEWRAP,
    ALL = DOCKER | BUBBLEWRAP
};

/* A mount that a runtime makes. */
struct known_mount {
    unsigned presets;
    const char *point; /* a last component `*`: whatever name */
    const char *type;
    const char *root;   /* `#` at its end: a number; NULL: any */
    const char *source; /* NULL: the kernel has only one, and its name is the host's choice */
};

/* The mounts that a runtime itself makes writable. What they hold is the kernel's (proc, devpts, mqueue, cgroup), a device without
 * content, or new with the container: truncation finds nothing there. */
static const struct known_mount known_mounts[] = {
    {ALL, "/proc", "proc", "/", "proc"},
    {DOCKER, "/proc/*", "tmpfs", "/null", "tmpfs"}, /* a file of /proc hidden under the null device */
    {DOCKER, "/proc/*", "devtmpfs", "/null", NULL}, /* likewise where the runtime may not make devices */
    {ALL, "/dev", "tmpfs", "/", "tmpfs"},
    {ALL, "/dev/pts", "devpts", "/", "devpts"},
    {ALL, "/dev/console", "devpts", "/#", "devpts"}, /* with a terminal */
    {ALL, "/dev/mqueue", "mqueue", "/", "mqueue"},
    {DOCKER, "/dev/shm", "tmpfs", "/", "shm"},
    {DOCKER, "/sys/fs/cgroup", "tmpfs", "/", "tmpfs"}, /* control groups of version 1 */
    /* Where users are remapped, what is in it is writable, and so is version 2: the kernel's files, and root's. */
    {DOCKER, "/sys/fs/cgroup/*", "cgroup", NULL, "cgroup"},
    {DOCKER, "/sys/fs/cgroup/systemd", "cgroup", NULL, "systemd"},
    {DOCKER, "/sys/fs/cgroup", "cgroup2", NULL, "cgroup"},
    {ALL, "/dev/null", "devtmpfs", "/null", NULL},
    {ALL, "/dev/zero", "devtmpfs", "/zero", NULL},
    {ALL, "/dev/full", "devtmpfs", "/full", NULL},
    {ALL, "/dev/tty", "devtmpfs", "/tty", NULL},
    {ALL, "/dev/random", "devtmpfs", "/random", NULL},
    {ALL, "/dev/urandom", "devtmpfs", "/urandom", NULL},
    {BUBBLEWRAP, "/dev/null", "tmpfs", "/null", "tmpfs"}, /* in a container of Docker's */
    {BUBBLEWRAP, "/dev/zero", "tmpfs", "/zero", "tmpfs"},
    {BUBBLEWRAP, "/dev/full", "tmpfs", "/full", "tmpfs"},
    {BUBBLEWRAP, "/dev/tty", "tmpfs", "/tty", "tmpfs"},
    {BUBBLEWRAP, "/dev/random", "tmpfs", "/random", "tmpfs"},
    {BUBBLEWRAP, "/dev/urandom", "tmpfs", "/urandom", "tmpfs"},
    {PODMAN, "/run", "tmpfs", "/", "tmpfs"}, /* --read-only-tmpfs, the default */
    {PODMAN, "/tmp", "tmpfs", "/", "tmpfs"},
    {PODMAN, "/var/tmp", "tmpfs", "/", "tmpfs"},
};

/* Whether `text` is `pattern`, in which a last `*` stands for one component and a last `#` for a number. */
static bool matches(const char *pattern, const char *text)
{
    size_t length = strcspn(pattern, "*#");
    const char *rest;

    if (strncmp(pattern, text, length) != 0)
        return false;
    rest = text + length;
    if (pattern[length] == '*')
        return rest[0] && !strchr(rest, '/');
    if (pattern[length] == '#')
        return rest[0] && !rest[strspn(rest, "0123456789")];
    return !rest[0];
}

bool is_known_mount(unsigned presets, const char *point, const char *type, const char *root,
                    const char *source)
{
    for (size_t i = 0; i < array_size(known_mounts); i++) {
        const struct known_mount *known = &known_mounts[i];

        if (known->presets & presets && matches(known->point, point) && !strcmp(known->type, type) &&
            (!known->root || matches(known->root, root)) &&
            (!known->source || !strcmp(known->source, source)))
            return true;
    }
    return false;
}

bool has_known_mount(unsigned presets, const char *point)
{
    for (size_t i = 0; i < array_size(known_mounts); i++)
        if (known_mounts[i].presets & presets && matches(known_mounts[i].point, point))
            return true;
    return false;
}
