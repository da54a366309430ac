#include "trial/internal.h"

#include <dirent.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

static const char no_opening[] = "a socket cannot be opened", no_reaching[] = "it cannot be reached";

/* Where, in the folder of a scene's own, a link gets its new name. */
#define FOLDER_SUFFIX ".folder"

struct scene empty_scene(const struct launch *launch, const struct trial *trial, int udp)
{
    return (struct scene){.launch = launch,
                          .trial = trial,
                          .directory = -1,
                          .file = -1,
                          .folder = -1,
                          .socket = -1,
                          .udp = udp};
}

/* ---- What the path leads to ---- */

/* Holds it: as the directory, or as the file. NULL, or why not. */
static const char *look_up(struct scene *scene, int *failure)
{
    struct stat status;
    int fd = open(scene->trial->path, O_PATH | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &status) < 0) {
        *failure = errno;
        cleanup_close(&fd);
        return no_reaching;
    }
    *(S_ISDIR(status.st_mode) ? &scene->directory : &scene->file) = fd;
    return NULL;
}

static void name_descriptor(char path[static DESCRIPTOR_PATH_SIZE], int fd)
{
    snprintf(path, DESCRIPTOR_PATH_SIZE, "/proc/self/fd/%d", fd);
}

const char *have_directory(struct scene *scene, int *failure)
{
    const char *why_not = look_up(scene, failure);

    if (why_not)
        return why_not;
    name_descriptor(scene->subject, scene->directory);
    if (scene->directory >= 0)
        return NULL;
    *failure = ENOTDIR;
    return "it is not a directory";
}

typedef bool of_kind(const struct stat *status);

/* The file that the path leads to, if it is of a kind. */
static const char *use_file(struct scene *scene, of_kind *kind, const char *otherwise, int *failure)
{
    struct stat status;

    name_descriptor(scene->subject, scene->file);
    if (fstat(scene->file, &status) == 0 && kind(&status))
        return NULL;
    *failure = otherwise == no_opening ? ENXIO : EINVAL;
    return otherwise;
}

/* ---- Names and files of the scene's own ---- */

/* Where nothing can be removed (chattr +a), nothing is made. */
static bool is_append_only(int directory)
{
    struct statx status;

    return statx(directory, "", AT_EMPTY_PATH, 0, &status) == 0 && status.stx_attributes & STATX_ATTR_APPEND;
}

static const char *choose_name(struct scene *scene, int *failure)
{
    uint64_t number;

    *failure = EPERM;
    if (is_append_only(scene->directory))
        return "what is made in it could not be removed again";
    if (getrandom(&number, sizeof number, 0) != sizeof number) {
        *failure = errno;
        return "there is no name for it";
    }
    snprintf(scene->name, sizeof scene->name, TRIAL_OWN_NAME "%016jx", (uintmax_t)number);
    return NULL;
}

const char *have_name(struct scene *scene, int *failure)
{
    const char *why_not = have_directory(scene, failure);

    return why_not ? why_not : choose_name(scene, failure);
}

/* Holds what has just been made under the scene's name. */
static int hold_own(struct scene *scene)
{
    scene->file = openat(scene->directory, scene->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (scene->file < 0)
        return -1;
    name_descriptor(scene->subject, scene->file);
    return 0;
}

/* It is no program, whatever it begins with: execve(2) says so once it may open it. */
static int make_file(struct scene *scene)
{
    static const char no_program[] = "landlock-policy: no program\n";
    auto_close int fd = openat(scene->directory, scene->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

    return fd < 0 || write_all(fd, no_program, strlen(no_program)) < 0 ? -1 : hold_own(scene);
}

const char *have_file_to_remove(struct scene *scene, int *failure)
{
    const char *why_not = have_name(scene, failure);

    if (why_not || make_file(scene) == 0)
        return why_not;
    *failure = errno;
    return "nothing can be made in it that could be removed";
}

const char *have_folder_to_remove(struct scene *scene, int *failure)
{
    const char *why_not = have_name(scene, failure);

    if (why_not || mkdirat(scene->directory, scene->name, 0700) == 0)
        return why_not;
    *failure = errno;
    return "nothing can be made in it that could be removed";
}

static int make_folder(struct scene *scene)
{
    char name[OWN_NAME_SIZE + sizeof FOLDER_SUFFIX];

    snprintf(name, sizeof name, "%s" FOLDER_SUFFIX, scene->name);
    if (mkdirat(scene->directory, name, 0700) < 0)
        return -1;
    scene->folder = openat(scene->directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return scene->folder < 0 ? -1 : 0;
}

const char *have_file_to_link(struct scene *scene, int *failure)
{
    const char *why_not = have_name(scene, failure);

    if (why_not || (make_file(scene) == 0 && make_folder(scene) == 0))
        return why_not;
    *failure = errno;
    return "nothing can be made in it that could be linked";
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

/* One that other trials have made may be gone when it is tried. */
static bool is_own_name(const char *name)
{
    return !strncmp(name, TRIAL_OWN_NAME, strlen(TRIAL_OWN_NAME));
}

/* What is mounted there need not be as the directory is: read-only, or without programs. */
static bool is_mount_point(int fd)
{
    struct statx status;

    return statx(fd, "", AT_EMPTY_PATH, 0, &status) == 0 && status.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Holds an entry of the directory, if it is of the kind, may be accessed in that way, and no rule names it. */
static bool take_entry(struct scene *scene, const char *name, of_kind *kind, int mode)
{
    struct stat status;
    auto_close int fd = -1;

    if (is_own_name(name) || fstatat(scene->directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
        !kind(&status))
        return false;
    fd = openat(scene->directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0 || !kind(&status) || is_named(scene->launch, &status) ||
        is_mount_point(fd))
        return false;
    name_descriptor(scene->subject, fd);
    if (faccessat(AT_FDCWD, scene->subject, mode, AT_EACCESS) < 0)
        return false;
    scene->file = take_fd(&fd);
    return true;
}

static bool find(struct scene *scene, of_kind *kind, int mode)
{
    DIR *entries;
    struct dirent *entry;
    bool is_found = false;
    int fd;

    name_descriptor(scene->subject, scene->directory);
    fd = open(scene->subject, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    entries = fd < 0 ? NULL : fdopendir(fd);

    if (!entries) {
        cleanup_close(&fd);
        return false;
    }
    for (unsigned seen = 0; !is_found && seen < 10000 && (entry = readdir(entries)); seen++)
        is_found = take_entry(scene, entry->d_name, kind, mode);
    closedir(entries);
    return is_found;
}

/* In a directory: a file of the scene's own, or one that is there. */
static const char *own_or_found(struct scene *scene, int mode, bool own_first, int *failure)
{
    if (!own_first && find(scene, is_regular, mode))
        return NULL;
    if (!choose_name(scene, failure) && make_file(scene) == 0)
        return NULL;
    *failure = scene->name[0] ? errno : *failure;
    if (own_first && find(scene, is_regular, mode))
        return NULL;
    return "no file in it can be tried, and none can be made";
}

const char *have_file_to_read(struct scene *scene, int *failure)
{
    const char *why_not = look_up(scene, failure);

    if (why_not)
        return why_not;
    return scene->directory >= 0 ? own_or_found(scene, R_OK, false, failure)
                                 : use_file(scene, can_be_opened, no_opening, failure);
}

const char *have_file_to_write(struct scene *scene, int *failure)
{
    const char *why_not = look_up(scene, failure);

    if (why_not)
        return why_not;
    if (scene->directory >= 0)
        return own_or_found(scene, W_OK, true, failure);
    return scene->trial->right == POLICY_TRUNCATE
               ? use_file(scene, is_regular, "only a regular file can be truncated", failure)
               : use_file(scene, can_be_opened, no_opening, failure);
}

const char *have_program(struct scene *scene, int *failure)
{
    const char *why_not = look_up(scene, failure);

    if (why_not)
        return why_not;
    return scene->directory >= 0
               ? own_or_found(scene, X_OK, false, failure)
               : use_file(scene, is_regular, "only a regular file can be executed", failure);
}

const char *have_device(struct scene *scene, int *failure)
{
    const char *why_not = look_up(scene, failure);

    if (why_not)
        return why_not;
    if (scene->directory < 0)
        return use_file(scene, is_device, "it is no device", failure);
    *failure = ENODEV; /* one that can be opened either way: by which, the rules decide */
    return find(scene, is_harmless_device, R_OK | W_OK) ? NULL : "no device in it can be opened";
}

/* ---- Sockets ---- */

/* By the directory's descriptor, whose path is short. */
static int listen_in(struct scene *scene)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", scene->directory, scene->name);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 8) < 0)
        return -1;
    scene->socket = take_fd(&fd);
    return hold_own(scene);
}

const char *have_socket(struct scene *scene, int *failure)
{
    const char *why_not = look_up(scene, failure);

    if (why_not)
        return why_not;
    if (scene->directory < 0)
        return use_file(scene, is_socket, "it is no socket", failure);
    why_not = choose_name(scene, failure);
    if (why_not || listen_in(scene) == 0)
        return why_not;
    *failure = errno;
    return "no socket can be made in it";
}

/* ---- Leaving nothing behind ---- */

static void close_all(struct scene *scene)
{
    int *const fds[] = {&scene->directory, &scene->file, &scene->folder, &scene->socket};

    for (size_t i = 0; i < array_size(fds); i++)
        if (*fds[i] >= 0)
            close(take_fd(fds[i]));
}

/* The names are this scene's alone: nobody could guess them. */
void clean_scene(struct scene *scene)
{
    char folder[OWN_NAME_SIZE + sizeof FOLDER_SUFFIX];

    if (scene->folder >= 0)
        unlinkat(scene->folder, "link", 0);
    if (scene->name[0]) {
        snprintf(folder, sizeof folder, "%s" FOLDER_SUFFIX, scene->name);
        unlinkat(scene->directory, folder, AT_REMOVEDIR);
        if (unlinkat(scene->directory, scene->name, 0) < 0 && (errno == EISDIR || errno == EPERM))
            unlinkat(scene->directory, scene->name, AT_REMOVEDIR);
    }
    scene->name[0] = '\0';
    close_all(scene);
}
