#include "container/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <string.h>
#include <sys/stat.h>

/* One line of /proc/self/mountinfo. */
struct mount_line {
    uint64_t id;
    const char *point, *type, *root, *source;
    bool is_writable;
};

/* What stands at a mount point now. */
struct seen {
    bool is_socket, is_hidden;
    int failure; /* an errno: it cannot be looked at */
};

/* ---- libmount ---- */

static void free_table(struct libmnt_table **table)
{
    mnt_unref_table(*table);
}

/* A line that libmount does not understand might be the one that matters. */
static int refuse_line(struct libmnt_table *table, const char *file, int line)
{
    (void)table;
    (void)file;
    (void)line;
    return -1;
}

static void close_stream(FILE **stream)
{
    if (*stream)
        fclose(*stream);
}

/* NULL and `error`: it cannot be read. */
static char *read_mountinfo(struct error *error)
{
    char path[32];
    auto_close int fd = -1;
    char *text;

    snprintf(path, sizeof path, "%d/mountinfo", (int)getpid());
    fd = open_proc(path, error);
    if (fd < 0)
        return NULL;
    text = read_text(fd);
    if (!text)
        error_set(error, 1, "/proc/%s: cannot be read: %s", path, strerror(errno));
    return text;
}

static int count_lines(const char *text)
{
    int count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* Where memory runs out, libmount may leave the rest out and call it success. */
static bool has_all(struct libmnt_table *table, const char *text)
{
    int count = mnt_table_get_nents(table);

    return count > 0 && count == count_lines(text);
}

static struct libmnt_table *read_table(struct error *error)
{
    auto_free char *text = read_mountinfo(error);
    __attribute__((cleanup(close_stream))) FILE *stream = text ? fmemopen(text, strlen(text), "r") : NULL;
    struct libmnt_table *table = stream ? mnt_new_table() : NULL;

    if (!text)
        return NULL;
    if (table && mnt_table_set_parser_errcb(table, refuse_line) == 0 &&
        mnt_table_parse_stream(table, stream, "/proc/self/mountinfo") == 0 && has_all(table, text))
        return table;
    mnt_unref_table(table);
    error_set(error, 1, "/proc/self/mountinfo: cannot be read");
    return NULL;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* The option of the mount itself, the sixth field: those after the " - " are the file system's, and say rw for a mount that is
 * read-only. What cannot be told is writable. */
static bool is_writable(struct libmnt_fs *fs)
{
    const char *options = mnt_fs_get_vfs_options(fs);

    return !options || mnt_optstr_get_option(options, "ro", NULL, NULL) != 0;
}

static struct mount_line line_of(struct libmnt_fs *fs)
{
    return (struct mount_line){.id = (uint64_t)mnt_fs_get_id(fs),
                               .point = or_empty(mnt_fs_get_target(fs)),
                               .type = or_empty(mnt_fs_get_fstype(fs)),
                               .root = or_empty(mnt_fs_get_root(fs)),
                               .source = or_empty(mnt_fs_get_source(fs)),
                               .is_writable = is_writable(fs)};
}

/* ---- The read-only paths ---- */

/* 1; 0 where no mount has the number; -1 when memory ran out. */
static int find_line(struct libmnt_table *table, uint64_t id, struct mount_line *line)
{
    struct libmnt_iter *at = mnt_new_iter(MNT_ITER_FORWARD);
    struct libmnt_fs *fs;
    int result = at ? 0 : -1;

    while (result == 0 && mnt_table_next_fs(table, at, &fs) == 0) {
        *line = line_of(fs);
        result = line->id == id;
    }
    mnt_free_iter(at);
    return result;
}

static int find_unlisted(struct check *check, const struct container_place *place)
{
    return find(check, REMEDY_UNLISTED, place->path,
                "%s lies on a mount that /proc/self/mountinfo does not list", place->path);
}

static int check_read_only(struct check *check, struct libmnt_table *table,
                           const struct container_place *place)
{
    bool is_root = !strcmp(place->path, "/");
    struct mount_line line = {0};
    int is_found = find_line(table, place->mount, &line);

    if (is_found < 0)
        return -1;
    if (!is_found)
        return find_unlisted(check, place);
    if (!line.is_writable)
        return 0;
    if (!strcmp(line.point, place->path))
        return find(check, is_root ? REMEDY_READ_ONLY_ROOT : REMEDY_READ_ONLY, place->path,
                    "%s must be read-only, and is mounted writable", place->path);
    return find(check, REMEDY_READ_ONLY, place->path,
                "%s must be read-only, and lies on %s, which is mounted writable", place->path, line.point);
}

/* ---- The writable mounts ---- */

static bool is_one_of(const char *text, size_t count, const char *const names[])
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(text, names[i]))
            return true;
    return false;
}

static bool is_of_the_kernel(const char *type)
{
    static const char *const types[] = {
        "proc",     "sysfs",  "cgroup", "cgroup2",  "securityfs", "debugfs", "tracefs", "bpf",
        "efivarfs", "mqueue", "devpts", "devtmpfs", "configfs",   "pstore",  "fusectl", "selinuxfs"};

    return is_one_of(type, array_size(types), types);
}

static const struct container_place *named_in(const struct container_expectation *expectation,
                                              const struct mount_line *line)
{
    const struct container_place *found = NULL;

    for (size_t i = 0; i < expectation->writable_count; i++)
        if (expectation->writable[i].mount == line->id && (!found || expectation->writable[i].is_mount_point))
            found = &expectation->writable[i];
    return found;
}

/* Found already, as what must be read-only. */
static bool holds_read_only(const struct container_expectation *expectation, const struct mount_line *line)
{
    for (size_t i = 0; i < expectation->read_only_count; i++)
        if (expectation->read_only[i].mount == line->id)
            return true;
    return false;
}

/* What a runtime mounts writable where the root is. */
static bool goes_with_the_root(const char *point)
{
    static const char *const points[] = {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts",
                                         "/run/.containerenv"};

    return is_one_of(point, array_size(points), points);
}

static enum remedy remedy_for(const struct mount_line *line, bool is_known_point)
{
    if (goes_with_the_root(line->point))
        return REMEDY_READ_ONLY_ROOT;
    if (!strcmp(line->point, "/dev/shm"))
        return REMEDY_SHARED_MEMORY;
    if (is_known_point)
        return REMEDY_RUNTIME_MOUNT;
    return is_of_the_kernel(line->type) ? REMEDY_KERNEL_MOUNT : REMEDY_WRITABLE;
}

static int find_stranger(struct check *check, const struct mount_line *line, bool is_hidden)
{
    bool is_known_point = has_known_mount(check->expectation->presets, line->point);

    if (is_hidden)
        return find(check, REMEDY_HIDDEN, line->point,
                    "%s is a writable mount, hidden under another one (%s, source %s, root %s)", line->point,
                    line->type, line->source, line->root);
    return find(check, remedy_for(line, is_known_point), line->point,
                "%s is a writable mount%s (%s, source %s, root %s)", line->point,
                is_known_point ? ", but not the one that the runtime itself makes there"
                               : " that the policy does not name",
                line->type, line->source, line->root);
}

static int check_writable(struct check *check, const struct mount_line *line, bool is_hidden)
{
    const struct container_place *named = named_in(check->expectation, line);

    if (is_known_mount(check->expectation->presets, line->point, line->type, line->root, line->source) ||
        holds_read_only(check->expectation, line))
        return 0;
    if (!named)
        return find_stranger(check, line, is_hidden);
    if (!named->is_mount_point)
        return find(check, REMEDY_PART, named->path,
                    "%s is a writable mount, of which %s, which the policy names, is only a part",
                    line->point, named->path);
    if (!named->is_allowed)
        return find(check, REMEDY_NOT_ALLOWED, named->path,
                    "%s is a writable mount that the policy names, but does not let the program write and "
                    "truncate as a whole",
                    named->path);
    return 0;
}

/* ---- Sockets, and what is hidden ---- */

static struct seen look_at(const struct mount_line *line)
{
    struct statx status;

    if (statx(AT_FDCWD, line->point, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
              STATX_TYPE | STATX_MNT_ID, &status) < 0)
        return (struct seen){.failure = errno, .is_hidden = errno == ENOENT || errno == ENOTDIR};
    return (struct seen){.is_socket = S_ISSOCK(status.stx_mode),
                         .is_hidden = status.stx_mask & STATX_MNT_ID && status.stx_mnt_id != line->id};
}

static int check_mount(struct check *check, const struct mount_line *line)
{
    struct seen seen = look_at(line);

    if (seen.is_socket && !seen.is_hidden)
        return find(check, REMEDY_SOCKET, line->point,
                    "%s is a socket: it could be connected to, whether mounted read-only or not",
                    line->point);
    if (line->is_writable)
        return check_writable(check, line, seen.is_hidden);
    /* EACCES: a directory that may not be searched can be the user's own, who opens it again with chmod(2) */
    if (seen.failure && !seen.is_hidden)
        return find(check, REMEDY_OUT_OF_SIGHT, line->point,
                    "%s is a mount that cannot be looked at, and could be a socket: %s", line->point,
                    strerror(seen.failure));
    return 0;
}

static int check_each(struct check *check, struct libmnt_table *table)
{
    struct libmnt_iter *at = mnt_new_iter(MNT_ITER_FORWARD);
    struct libmnt_fs *fs;
    int result = at ? 0 : -1;
    unsigned roots = 0;

    while (result == 0 && mnt_table_next_fs(table, at, &fs) == 0) {
        struct mount_line line = line_of(fs);

        roots += !strcmp(line.point, "/");
        result = check_mount(check, &line);
    }
    mnt_free_iter(at);
    if (result == 0 && roots > 1)
        result =
            find(check, REMEDY_HIDDEN, "/", "/ is mounted %u times: the one below is reached by /..", roots);
    return result;
}

/* ---- What is handed over ---- */

static int check_held(struct check *check, struct libmnt_table *table, const struct container_place *place)
{
    struct mount_line line;
    int is_found = find_line(table, place->mount, &line);

    if (is_found)
        return is_found < 0 ? -1 : 0;
    if (place->path[0] == '/')
        return find_unlisted(check, place);
    return find(check, REMEDY_HELD, "",
                "%s lies on a mount that is not the container's, and could be truncated or connected to "
                "there",
                place->path);
}

/* The shipped policy and a site's may both name a path. */
static bool is_repeated(const struct container_place *places, size_t count,
                        const struct container_place *place)
{
    for (size_t i = 0; i < count; i++)
        if (places[i].mount == place->mount && !strcmp(places[i].path, place->path))
            return true;
    return false;
}

static int check_places(struct check *check, struct libmnt_table *table)
{
    const struct container_expectation *expectation = check->expectation;
    const struct container_place *read_only = expectation->read_only;
    int result = 0;

    for (size_t i = 0; result == 0 && i < expectation->read_only_count; i++)
        if (!is_repeated(read_only, i, &read_only[i]))
            result = check_read_only(check, table, &read_only[i]);
    for (size_t i = 0; result == 0 && i < expectation->writable_count; i++)
        if (!is_repeated(expectation->writable, i, &expectation->writable[i]))
            result = check_held(check, table, &expectation->writable[i]);
    for (size_t i = 0; result == 0 && i < expectation->held_count; i++)
        if (!is_repeated(read_only, expectation->read_only_count, &expectation->held[i]))
            result = check_held(check, table, &expectation->held[i]);
    return result;
}

int check_mounts(struct check *check, struct error *error)
{
    __attribute__((cleanup(free_table))) struct libmnt_table *table = read_table(error);

    if (!table)
        return -1;
    return check_places(check, table) < 0 || check_each(check, table) < 0
               ? error_set(error, 1, "out of memory")
               : 0;
}
