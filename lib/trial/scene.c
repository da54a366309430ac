#include "trial/internal.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

/* How the names of the trial's own begin. */
#define OWN_NAME ".landlock-policy."

static const char no_memory[] = "out of memory", no_opening[] = "a socket cannot be opened";

/* ---- Names of the trial's own ---- */

/* A name in the directory that nothing else has. */
static char *own_name(const struct scene *scene, const char *kind)
{
    const char *folder = scene->trial->path;
    char *name;

    if (asprintf(&name, "%s/" OWN_NAME "%d.%u%s", strcmp(folder, "/") ? folder : "", (int)getpid(),
                 scene->number, kind) < 0)
        return NULL;
    return name;
}

static bool is_directory(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

const char *have_directory(struct scene *scene, int *failure)
{
    struct stat status;

    if (stat(scene->trial->path, &status) < 0) {
        *failure = errno;
        return "it cannot be reached";
    }
    *failure = ENOTDIR;
    return S_ISDIR(status.st_mode) ? NULL : "it is not a directory";
}

/* Where nothing can be removed (chattr +a), nothing is made. */
static bool is_append_only(const char *directory)
{
    struct statx status;

    return statx(AT_FDCWD, directory, 0, 0, &status) == 0 && status.stx_attributes & STATX_ATTR_APPEND;
}

const char *have_name(struct scene *scene, int *failure)
{
    const char *why_not = have_directory(scene, failure);

    if (why_not)
        return why_not;
    if (is_append_only(scene->trial->path)) {
        *failure = EPERM;
        return "what is made in it could not be removed again";
    }
    scene->subject = own_name(scene, "");
    scene->is_own = true;
    return scene->subject ? NULL : no_memory;
}

/* ---- Files of the trial's own ---- */

static int make_file(const char *name, const char *content)
{
    auto_close int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

    return fd < 0 ? -1 : write_all(fd, content, strlen(content));
}

/* No program, whatever it begins with: execve(2) says so once it may open it. */
static const char no_program[] = "landlock-policy: no program\n";

const char *have_file_to_remove(struct scene *scene, int *failure)
{
    const char *why_not = have_name(scene, failure);

    if (why_not)
        return why_not;
    if (make_file(scene->subject, no_program) == 0)
        return NULL;
    *failure = errno;
    return "nothing can be made in it that could be removed";
}

const char *have_folder_to_remove(struct scene *scene, int *failure)
{
    const char *why_not = have_name(scene, failure);

    if (why_not)
        return why_not;
    if (mkdir(scene->subject, 0700) == 0)
        return NULL;
    *failure = errno;
    return "nothing can be made in it that could be removed";
}

const char *have_file_to_link(struct scene *scene, int *failure)
{
    const char *why_not = have_file_to_remove(scene, failure);

    if (why_not)
        return why_not == no_memory ? why_not : "nothing can be made in it that could be linked";
    scene->other = own_name(scene, ".folder");
    if (!scene->other || asprintf(&scene->link, "%s/link", scene->other) < 0) {
        scene->link = NULL;
        return no_memory;
    }
    if (mkdir(scene->other, 0700) == 0)
        return NULL;
    *failure = errno;
    return "no folder can be made in it";
}

/* ---- Files that are there ---- */

/* Whether a rule of the policy is for this very file, so that it says nothing of the directory. */
static bool is_named(const struct launch *launch, const struct stat *status)
{
    for (size_t i = 0; i < launch->grant_count; i++)
        if (launch->grants[i].inode == status->st_ino && launch->grants[i].device == status->st_dev)
            return true;
    return false;
}

static bool is_regular(const struct stat *status)
{
    return S_ISREG(status->st_mode);
}

static bool is_device(const struct stat *status)
{
    return S_ISCHR(status->st_mode) || S_ISBLK(status->st_mode);
}

/* Of the memory devices, which do nothing when they are opened; of others, such as a watchdog, one cannot be sure. */
static bool is_harmless_device(const struct stat *status)
{
    enum { MEMORY_DEVICES = 1 };

    return S_ISCHR(status->st_mode) && major(status->st_rdev) == MEMORY_DEVICES;
}

static bool is_socket(const struct stat *status)
{
    return S_ISSOCK(status->st_mode);
}

static bool can_be_opened(const struct stat *status)
{
    return !is_socket(status);
}

typedef bool of_kind(const struct stat *status);

/* One that other trials have made may be gone when it is tried. */
static bool is_own_name(const char *name)
{
    return !strncmp(name, OWN_NAME, strlen(OWN_NAME));
}

/* Takes the first file of a kind that this process may access in that way, and that no rule names. */
static bool find_in(struct scene *scene, DIR *folder, of_kind *kind, int mode)
{
    const char *path = scene->trial->path;
    struct dirent *entry;

    for (unsigned seen = 0; seen < 10000 && (entry = readdir(folder)); seen++) {
        struct stat status;

        if (is_own_name(entry->d_name) ||
            fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !kind(&status) ||
            is_named(scene->launch, &status) || faccessat(dirfd(folder), entry->d_name, mode, AT_EACCESS) < 0)
            continue;
        if (asprintf(&scene->subject, "%s/%s", strcmp(path, "/") ? path : "", entry->d_name) < 0)
            scene->subject = NULL;
        scene->size = status.st_size;
        return scene->subject;
    }
    return false;
}

static bool find(struct scene *scene, of_kind *kind, int mode)
{
    DIR *folder = opendir(scene->trial->path);
    bool is_found = folder && find_in(scene, folder, kind, mode);

    if (folder)
        closedir(folder);
    return is_found;
}

/* The path itself, which is no directory. */
static const char *use_path(struct scene *scene, of_kind *kind, const char *otherwise, int *failure)
{
    struct stat status;

    if (stat(scene->trial->path, &status) < 0) {
        *failure = errno;
        return "it cannot be reached";
    }
    *failure = kind == can_be_opened ? ENXIO : EINVAL;
    if (!kind(&status))
        return otherwise;
    scene->size = status.st_size;
    scene->subject = strdup(scene->trial->path);
    return scene->subject ? NULL : no_memory;
}

/* In a directory: a file of the trial's own, or one that is there. */
static const char *own_or_found(struct scene *scene, int mode, bool own_first, int *failure)
{
    if (!own_first && find(scene, is_regular, mode))
        return NULL;
    if (!have_file_to_remove(scene, failure))
        return NULL;
    free(scene->subject);
    scene->subject = NULL;
    scene->is_own = false;
    if (own_first && find(scene, is_regular, mode))
        return NULL;
    return "no file in it can be tried, and none can be made";
}

const char *have_file_to_read(struct scene *scene, int *failure)
{
    return is_directory(scene->trial->path) ? own_or_found(scene, R_OK, false, failure)
                                            : use_path(scene, can_be_opened, no_opening, failure);
}

const char *have_file_to_write(struct scene *scene, int *failure)
{
    if (is_directory(scene->trial->path))
        return own_or_found(scene, W_OK, true, failure);
    return scene->trial->right == POLICY_TRUNCATE
               ? use_path(scene, is_regular, "only a regular file can be truncated", failure)
               : use_path(scene, can_be_opened, no_opening, failure);
}

const char *have_program(struct scene *scene, int *failure)
{
    return is_directory(scene->trial->path)
               ? own_or_found(scene, X_OK, false, failure)
               : use_path(scene, is_regular, "only a regular file can be executed", failure);
}

const char *have_device(struct scene *scene, int *failure)
{
    if (!is_directory(scene->trial->path))
        return use_path(scene, is_device, "it is no device", failure);
    *failure = ENODEV; /* one that can be opened either way: by which, the rules decide */
    return find(scene, is_harmless_device, R_OK | W_OK) ? NULL : "no device in it can be opened";
}

/* ---- Sockets ---- */

int socket_address(const char *path, struct sockaddr_un *address, int *fd)
{
    const size_t size = sizeof address->sun_path;
    const char *name = strrchr(path, '/') + 1;
    bool is_name_long = strlen(name) > size / 2;
    auto_free char *directory = strndup(path, (size_t)(name - path));

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) < size) {
        strcpy(address->sun_path, path);
        return 0;
    }
    *fd = directory ? open(is_name_long ? path : directory, O_PATH | O_CLOEXEC) : -1;
    if (is_name_long)
        snprintf(address->sun_path, size, "/proc/self/fd/%d", *fd);
    else
        snprintf(address->sun_path, size, "/proc/self/fd/%d/%s", *fd, name);
    return *fd < 0 ? -1 : 0;
}

static int listen_at(const char *name)
{
    struct sockaddr_un address;
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), way = -1;

    if (fd < 0 || socket_address(name, &address, &way) < 0)
        return -1;
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 8) < 0)
        return -1;
    return take_fd(&fd);
}

const char *have_socket(struct scene *scene, int *failure)
{
    if (!is_directory(scene->trial->path))
        return use_path(scene, is_socket, "it is no socket", failure);
    if (!have_name(scene, failure)) {
        scene->socket = listen_at(scene->subject);
        if (scene->socket >= 0)
            return NULL;
    }
    *failure = errno;
    return "no socket can be made in it";
}

/* ---- Leaving nothing behind ---- */

/* What the name leads to is never followed, and a folder goes only if it is empty. */
static void remove_name(const char *name)
{
    if (name && unlink(name) < 0 && (errno == EISDIR || errno == EPERM))
        rmdir(name);
}

void clean_scene(struct scene *scene)
{
    remove_name(scene->link);
    remove_name(scene->other);
    if (scene->is_own)
        remove_name(scene->subject);
    cleanup_close(&scene->socket);
    scene->socket = -1;
    free(scene->link);
    free(scene->other);
    free(scene->subject);
    scene->link = scene->other = scene->subject = NULL;
    scene->is_own = false;
}
