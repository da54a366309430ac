/* Files and directories of the same user's in which no line allows anything; and those that may only be read. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int try_read(const struct scene *scene)
{
    return reads_secret(scene, open(SECRET(scene), O_RDONLY));
}

static int overwrites(const char *path, int flags)
{
    int fd = open(path, flags);

    return fd < 0 || write(fd, "x", 1) != 1 ? -1 : 0;
}

static int try_write(const struct scene *scene)
{
    return overwrites(SECRET(scene), O_WRONLY);
}

static int try_append(const struct scene *scene)
{
    return overwrites(SECRET(scene), O_WRONLY | O_APPEND);
}

static int try_both(const struct scene *scene)
{
    return overwrites(SECRET(scene), O_RDWR);
}

static int try_list(const struct scene *scene)
{
    DIR *directory = opendir(scene->other);
    const struct dirent *entry;

    if (!directory)
        return -1;
    while ((entry = readdir(directory)) && strcmp(entry->d_name, "secret") != 0)
        ;
    closedir(directory);
    return entry ? 0 : failed(EBADMSG);
}

static int try_write_shared(const struct scene *scene)
{
    return overwrites(in(scene->shared, "file").text, O_WRONLY);
}

static int try_truncate(const struct scene *scene)
{
    return truncate(SECRET(scene), 0);
}

static int try_otrunc(const struct scene *scene)
{
    return opened(open(SECRET(scene), O_WRONLY | O_TRUNC));
}

static int try_rtrunc(const struct scene *scene)
{
    return opened(open(in(scene->shared, "file").text, O_RDONLY | O_TRUNC));
}

static bool shared_is_empty(const struct stage *stage)
{
    struct stat state;

    return stat(in(stage->scene.shared, "file").text, &state) == 0 && state.st_size == 0;
}

/* Neither for reading nor for writing, but for ioctl(2) and the like: asks for no right to the content. */
static int try_ntrunc(const struct scene *scene)
{
    return opened(open(SECRET(scene), O_ACCMODE | O_TRUNC));
}

static int try_create(const struct scene *scene)
{
    return opened(open(in(scene->other, "new").text, O_WRONLY | O_CREAT | O_EXCL, 0600));
}

static int try_unnamed(const struct scene *scene)
{
    int fd = open(scene->other, O_WRONLY | O_TMPFILE, 0600);
    struct path link;

    if (fd < 0)
        return -1;
    snprintf(link.text, sizeof link.text, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link.text, AT_FDCWD, in(scene->other, "new").text, AT_SYMLINK_FOLLOW);
}

static int try_mkdir(const struct scene *scene)
{
    return mkdir(in(scene->other, "new").text, 0700);
}

static int try_symlink(const struct scene *scene)
{
    return symlink("/", in(scene->other, "new").text);
}

static int try_mknod(const struct scene *scene)
{
    return mknod(in(scene->other, "new").text, S_IFREG | 0600, 0);
}

static int try_fifo(const struct scene *scene)
{
    return mkfifo(in(scene->other, "new").text, 0600);
}

static int try_socket(const struct scene *scene)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof address.sun_path, "%.90s/new", scene->other);
    return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address);
}

/* The one device that every user may make: it hides a file below an overlay. */
static int try_whiteout(const struct scene *scene)
{
    return mknod(in(scene->other, "new").text, S_IFCHR, 0);
}

static int try_unlink(const struct scene *scene)
{
    return unlink(SECRET(scene));
}

static int try_rmdir(const struct scene *scene)
{
    return rmdir(in(scene->other, "empty").text);
}

static bool empty_is_gone(const struct stage *stage)
{
    return access(in(stage->scene.other, "empty").text, F_OK) < 0;
}

static int try_rename(const struct scene *scene)
{
    return rename(SECRET(scene), in(scene->other, "new").text);
}

static int try_take(const struct scene *scene)
{
    struct path stolen = in(scene->work, "stolen");

    return rename(SECRET(scene), stolen.text) < 0 ? -1 : reads_secret(scene, open(stolen.text, O_RDONLY));
}

static int try_put(const struct scene *scene)
{
    return rename(in(scene->work, "own").text, SECRET(scene));
}

static int try_exchange(const struct scene *scene)
{
    return renameat2(AT_FDCWD, in(scene->work, "own").text, AT_FDCWD, SECRET(scene), RENAME_EXCHANGE);
}

static int try_link_out(const struct scene *scene)
{
    struct path stolen = in(scene->work, "stolen");

    return link(SECRET(scene), stolen.text) < 0 ? -1 : reads_secret(scene, open(stolen.text, O_RDONLY));
}

static int try_link_in(const struct scene *scene)
{
    return link(in(scene->work, "own").text, in(scene->other, "new").text);
}

/* A link of one's own, which leads there. */
static int try_symlink_to(const struct scene *scene)
{
    struct path own = in(scene->work, "link");

    return symlink(SECRET(scene), own.text) < 0 ? -1 : reads_secret(scene, open(own.text, O_RDONLY));
}

static int try_replace_program(const struct scene *scene)
{
    return rename(in(scene->work, "own").text, in(scene->shared, "program").text);
}

static bool program_is_replaced(const struct stage *stage)
{
    struct stat state;

    return stat(in(stage->scene.shared, "program").text, &state) == 0 && state.st_size < 4096;
}

/* Its own, which it is running from; the name it has there. */
static int try_overwrite_program(const struct scene *scene)
{
    (void)scene;
    return overwrites("/proc/self/exe", O_WRONLY);
}

static const struct attack rows[] = {
    {"read", "opening for reading", try_read, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"write", "opening for writing", try_write, secret_is_changed, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"append", "opening for appending", try_append, secret_is_changed, LANDLOCK(1, EACCES),
     CONTAINER(MOUNTS)},
    {"read-write", "opening for both", try_both, secret_is_changed, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"write-readable", "writing what may only be read", try_write_shared, LANDLOCK(1, EACCES),
     CONTAINER(MOUNTS)},
    {"list", "listing a directory", try_list, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"truncate", "truncate(2)", try_truncate, secret_is_changed, LANDLOCK(3, EACCES), CONTAINER(MOUNTS)},
    {"open-truncate", "opening for writing with O_TRUNC", try_otrunc, secret_is_changed, LANDLOCK(1, EACCES),
     CONTAINER(MOUNTS)},
    {"truncate-readable", "opening what may only be read with O_TRUNC", try_rtrunc, shared_is_empty,
     LANDLOCK(3, EACCES), CONTAINER(MOUNTS)},
    {"truncate-for-nothing", "opening neither for reading nor for writing (O_ACCMODE), with O_TRUNC",
     try_ntrunc, secret_is_changed, LANDLOCK(3, EACCES), CONTAINER(MOUNTS)},
    {"create", "creating a file", try_create, new_is_there, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"create-unnamed", "creating a file without a name (O_TMPFILE), and giving it one", try_unnamed,
     new_is_there, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"mkdir", "creating a directory", try_mkdir, new_is_there, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"symlink", "creating a symbolic link", try_symlink, new_is_there, LANDLOCK(1, EACCES),
     CONTAINER(MOUNTS)},
    {"mknod", "mknod(2) of a file", try_mknod, new_is_there, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"mkfifo", "creating a FIFO", try_fifo, new_is_there, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"socket", "creating a socket", try_socket, new_is_there, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"whiteout", "creating a whiteout", try_whiteout, new_is_there, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"unlink", "removing a file", try_unlink, secret_is_gone, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"rmdir", "removing a directory", try_rmdir, empty_is_gone, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"rename", "renaming", try_rename, new_is_there, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"take", "moving a file into an allowed directory", try_take, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"put", "moving a file of its own over another", try_put, secret_is_changed, LANDLOCK(1, EACCES),
     CONTAINER(MOUNTS)},
    {"exchange", "exchanging two files", try_exchange, secret_is_changed, LANDLOCK(1, EACCES),
     CONTAINER(MOUNTS)},
    {"link-out", "linking a file into an allowed directory", try_link_out, LANDLOCK(1, EXDEV),
     CONTAINER(MOUNTS)},
    {"link-in", "linking a file of its own elsewhere", try_link_in, new_is_there, LANDLOCK(1, EACCES),
     CONTAINER(MOUNTS)},
    {"by-link", "reading by a symbolic link of its own", try_symlink_to, LANDLOCK(1, EACCES),
     CONTAINER(MOUNTS)},
    {"replace-program", "replacing an allowed program", try_replace_program, program_is_replaced,
     LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"overwrite-program", "overwriting the running program (/proc/self/exe)", try_overwrite_program, NOBODY},
};

const struct attack_group file_group = {
    .name = "files", .title = "Files of the same user that no line allows", ROWS(rows)};
