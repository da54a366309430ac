#include "landlock/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static int try_open(const char *path, int flags)
{
    auto_close int fd = openat(AT_FDCWD, path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    return fd < 0 ? errno : 0;
}

static int try_list(const char *path)
{
    return try_open(path, O_RDONLY | O_DIRECTORY);
}

static int try_read(const char *path)
{
    return try_open(path, O_RDONLY);
}

static int try_write(const char *path)
{
    return try_open(path, O_WRONLY);
}

/* Port 0 leaves the choice to the kernel; Landlock takes it as port 0. */
static int try_bind(const char *path)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)path;
    if (fd < 0)
        return errno;
    return bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? errno : 0;
}

/* The kernel's bits of the rights that the attempts need. */
enum { WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_DIR = 1 << 3, BIND_TCP = 1 << 0 };

const struct landlock_attempt landlock_attempts[] = {
    {"read_dir /", "/", {.fs = READ_DIR}, try_list},
    {"read_file /etc/passwd", "/etc/passwd", {.fs = READ_FILE}, try_read},
    {"read_file /proc/version", "/proc/version", {.fs = READ_FILE}, try_read},
    {"write_file /dev/full", "/dev/full", {.fs = WRITE_FILE}, try_write},
    {"bind_tcp 0", NULL, {.net = BIND_TCP}, try_bind},
};
const size_t landlock_attempt_count = array_size(landlock_attempts);

int landlock_prove(const struct landlock_attempt *attempt, struct error *error)
{
    int result = attempt->try(attempt->path);
    char sign[256];

    if (result == EACCES)
        return 0;
    snprintf(sign, sizeof sign, "%s: %s instead of %s", attempt->name, result ? strerror(result) : "allowed",
             strerror(EACCES));
    return say_not_enforced(error, sign);
}
