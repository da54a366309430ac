/*
 * Mounts. An input that begins with a digit is the text of a mountinfo, whatever it says: the launcher's parser and libmount must
 * agree on it. Any other describes mounts that the text is written from, so that it is known what each parser must read and what
 * check-container must find.
 */
#include "container/internal.h"
#include "launch/internal.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <libmount/libmount.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { MOST_LINES = 24, MOST_NAMED = 4, LONGEST = 200 };

enum { READ, COMPARED, OF_RUNTIME, NAMED, AMISS, REFUSED };
struct tally tallies[] = {[READ] = {"mounts read by the launcher", 0},
                          [COMPARED] = {"mounts compared with libmount", 0},
                          [OF_RUNTIME] = {"writable mounts of a runtime", 0},
                          [NAMED] = {"writable mounts that are named", 0},
                          [AMISS] = {"mounts found amiss", 0},
                          [REFUSED] = {"texts that libmount refuses", 0}};
const size_t tally_count = array_size(tallies);

/* ---- The input: a text, and what it was written from ---- */

struct line {
    uint64_t id, parent;
    unsigned major, minor;
    char point[LONGEST], type[LONGEST], root[LONGEST], source[LONGEST];
    bool is_writable;
    /* what stands at the point */
    bool is_socket, is_hidden;
    int failure;
};

struct input {
    struct line lines[MOST_LINES];
    size_t line_count;
    char *text;
    size_t size;
    bool is_raw;
};

static const struct input *present;

void describe_input(FILE *out)
{
    if (present)
        fwrite(present->text, 1, present->size, out);
}

/* ---- In the place of the kernel ---- */

static size_t offset; /* how far the launcher has read */
enum { MOUNTINFO_FD = 1 << 20 };

int __real_openat(int directory, const char *path, int flags, ...);
ssize_t __real_read(int fd, void *out, size_t size);
int __real_close(int fd);
int __wrap_openat(int directory, const char *path, int flags, ...);
ssize_t __wrap_read(int fd, void *out, size_t size);
int __wrap_close(int fd);
int __wrap_statx(int directory, const char *path, int flags, unsigned mask, struct statx *status);
int __wrap_open_proc(const char *path, struct error *error);

int __wrap_openat(int directory, const char *path, int flags, ...)
{
    if (!present || strcmp(path, "/proc/self/mountinfo") != 0)
        return __real_openat(directory, path, flags);
    offset = 0;
    return MOUNTINFO_FD;
}

ssize_t __wrap_read(int fd, void *out, size_t size)
{
    enum { AT_ONCE = 4096 };
    size_t left;

    if (fd != MOUNTINFO_FD)
        return __real_read(fd, out, size);
    left = present->size - offset;
    left = left < size ? left : size;
    left = left < AT_ONCE ? left : AT_ONCE;
    memcpy(out, present->text + offset, left);
    offset += left;
    return (ssize_t)left;
}

int __wrap_close(int fd)
{
    return fd == MOUNTINFO_FD ? 0 : __real_close(fd);
}

/* The helper's way to the same file. */
int __wrap_open_proc(const char *path, struct error *error)
{
    (void)error;
    promise(strstr(path, "/mountinfo"), "%s is opened", path);
    offset = 0;
    return MOUNTINFO_FD;
}

/* The last line whose point it is says what stands there. */
int __wrap_statx(int directory, const char *path, int flags, unsigned mask, struct statx *status)
{
    const struct line *line = NULL;

    (void)directory;
    promise(flags & AT_SYMLINK_NOFOLLOW && mask & STATX_MNT_ID, "statx with flags %x, mask %x", flags, mask);
    for (size_t i = 0; i < present->line_count; i++)
        if (!strcmp(present->lines[i].point, path))
            line = &present->lines[i];
    if (!line || line->failure) {
        errno = line ? line->failure : ENOENT;
        return -1;
    }
    *status = (struct statx){.stx_mask = STATX_TYPE | STATX_MNT_ID,
                             .stx_mode = line->is_socket ? S_IFSOCK : S_IFDIR,
                             .stx_mnt_id = line->is_hidden ? 1 : line->id};
    return 0;
}

/* ---- Making one ---- */

static const char *const points[] = {
    "/",
    "/proc",
    "/proc/keys",
    "/proc/a/b",
    "/dev",
    "/dev/pts",
    "/dev/console",
    "/dev/shm",
    "/dev/mqueue",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/random",
    "/dev/urandom",
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/cpu",
    "/sys/fs/cgroup/systemd",
    "/run",
    "/tmp",
    "/var/tmp",
    "/sandbox",
    "/etc/resolv.conf",
    "/a b",
    "/back\\slash",
    "/new\nline",
    "/tab\there",
    "/a#b",
    "/proc/",
    "/dev/nullx",
    "/dev/nul",
    "/sandbox/deeper",
};
static const char *const types[] = {"proc",    "tmpfs", "devtmpfs", "devpts", "mqueue", "cgroup",
                                    "cgroup2", "ext4",  "overlay",  "sysfs",  "fuse.x", "devpts2"};
static const char *const roots[] = {"/",   "/null", "/zero",  "/full", "/tty",  "/random", "/urandom",   "/0",
                                    "/12", "/0x",   "/null2", "/a b",  "/../x", "/b\\c",   "/a//deleted"};
static const char *const sources[] = {"proc",   "tmpfs",      "devpts", "mqueue",  "shm",
                                      "cgroup", "systemd",    "udev",   "none",    "overlay",
                                      "/dev/a", "with space", "a\\b",   "devtmpfs"};

/* One of a table, or a few bytes of the input. */
static void some_text(char out[static LONGEST], struct choices *choices, const char *const *table,
                      size_t count, const char *first)
{
    unsigned choice = choose(choices, 256);
    size_t length = 0;

    if (choice < 240) {
        snprintf(out, LONGEST, "%s", table[choice % count]);
        return;
    }
    length = (size_t)snprintf(out, LONGEST, "%s", first);
    for (choice -= 240; choice && choices->size; choice--) {
        char letter = (char)choose(choices, 256);

        if (letter)
            out[length++] = letter;
    }
    out[length] = '\0';
    if (!length)
        snprintf(out, LONGEST, "%s", table[0]);
}

/* What runtimes mount writable; the policy need not name it where its preset is given. */
static const struct {
    const char *point, *type, *root, *source;
} usual[] = {
    {"/proc", "proc", "/", "proc"},
    {"/proc/keys", "tmpfs", "/null", "tmpfs"},
    {"/proc/timer_list", "devtmpfs", "/null", "udev"},
    {"/dev", "tmpfs", "/", "tmpfs"},
    {"/dev/pts", "devpts", "/", "devpts"},
    {"/dev/console", "devpts", "/0", "devpts"},
    {"/dev/console", "devpts", "/12", "devpts"},
    {"/dev/mqueue", "mqueue", "/", "mqueue"},
    {"/dev/shm", "tmpfs", "/", "shm"},
    {"/sys/fs/cgroup", "tmpfs", "/", "tmpfs"},
    {"/sys/fs/cgroup", "cgroup2", "/", "cgroup"},
    {"/sys/fs/cgroup/cpu", "cgroup", "/docker/1", "cgroup"},
    {"/sys/fs/cgroup/systemd", "cgroup", "/docker/1", "systemd"},
    {"/dev/null", "devtmpfs", "/null", "udev"},
    {"/dev/urandom", "devtmpfs", "/urandom", "none"},
    {"/dev/zero", "tmpfs", "/zero", "tmpfs"},
    {"/dev/tty", "tmpfs", "/tty", "tmpfs"},
    {"/run", "tmpfs", "/", "tmpfs"},
    {"/tmp", "tmpfs", "/", "tmpfs"},
    {"/var/tmp", "tmpfs", "/", "tmpfs"},
};

/* A usual mount, half of the time with something about it changed; or any. */
static void make_texts(struct line *line, struct choices *choices)
{
    unsigned which = choose(choices, 2 * array_size(usual)),
             change = which < array_size(usual) ? choose(choices, 8) : 15;

    if (which < array_size(usual)) {
        snprintf(line->point, LONGEST, "%s", usual[which].point);
        snprintf(line->type, LONGEST, "%s", usual[which].type);
        snprintf(line->root, LONGEST, "%s", usual[which].root);
        snprintf(line->source, LONGEST, "%s", usual[which].source);
    }
    if (change == 1 || change == 15)
        some_text(line->point, choices, points, array_size(points), "/");
    if (change == 2 || change == 15)
        some_text(line->type, choices, types, array_size(types), "");
    if (change == 3 || change == 15)
        some_text(line->root, choices, roots, array_size(roots), "/");
    if (change == 4 || change == 15)
        some_text(line->source, choices, sources, array_size(sources), "");
}

static void make_line(struct line *line, size_t number, struct choices *choices)
{
    unsigned kind = choose(choices, 32);

    make_texts(line, choices);
    line->id = 20 + number;
    line->parent = 20 + choose(choices, MOST_LINES);
    line->major = choose(choices, 256);
    line->minor = choose(choices, 256) * 257;
    line->is_writable = kind & 1;
    line->is_socket = kind >> 1 == 1;
    line->is_hidden = kind >> 1 == 2;
    if (kind >> 1 == 3)
        line->failure = kind & 1 ? ENOENT : EACCES;
    if (kind >> 1 == 4)
        line->failure = EACCES;
}

static void put_field(FILE *out, const char *text)
{
    for (; *text; text++)
        fprintf(out, strchr(" \t\n\\", *text) ? "\\%03o" : "%c", (unsigned char)*text);
    putc(' ', out);
}

static void put_line(FILE *out, const struct line *line, unsigned style)
{
    static const char *const options[] = {"", ",nosuid,nodev", ",relatime", ",rootcontext=\"rw,x\""};
    static const char *const optional[] = {"", "shared:1 ", "master:2 propagate_from:3 ", "unbindable "};

    fprintf(out, "%ju %ju %u:%u ", (uintmax_t)line->id, (uintmax_t)line->parent, line->major, line->minor);
    put_field(out, line->root);
    put_field(out, line->point);
    fprintf(out, "%s%s %s- ", line->is_writable ? "rw" : "ro", options[style & 3], optional[style >> 2 & 3]);
    put_field(out, line->type);
    put_field(out, line->source);
    fprintf(out, "%s\n", style & 16 ? "rw,size=4k" : "ro");
}

static void take_input(struct input *input, struct choices *choices)
{
    FILE *out = open_memstream(&input->text, &input->size);

    if (!out)
        abort();
    input->is_raw = choices->size && choices->bytes[0] >= '0' && choices->bytes[0] <= '9';
    if (input->is_raw)
        fwrite(choices->bytes, 1, choices->size, out);
    else
        choose(choices, 256);
    for (size_t i = 0; !input->is_raw && choices->size && i < MOST_LINES; i++) {
        make_line(&input->lines[i], i, choices);
        put_line(out, &input->lines[i], choose(choices, 32));
        input->line_count++;
    }
    fclose(out);
}

/* ---- The launcher's parser ---- */

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static void check_places(const struct mounts *mounts, const struct mount *mount)
{
    struct place own, below;
    char *path = text_of("%s/x", strcmp(mount->point, "/") ? mount->point : "");
    const char *root = strcmp(mount->root, "/") ? mount->root : "";
    size_t length = strlen(root);

    if (!path)
        abort();
    promise(place_of(mounts, mount->id, mount->point, &own) == 1, "%s is not placed", mount->point);
    promise(place_of(mounts, mount->id, path, &below) == 1, "%s is not placed", path);
    promise(!strcmp(own.path, root), "%s lies at %s, and not at %s", mount->point, own.path, root);
    promise(!strncmp(below.path, root, length) && !strcmp(below.path + length, "/x"), "%s lies at %s", path,
            below.path);
    promise(own.device == mount->device && below.device == mount->device, "the device of %s", path);
    free(own.path);
    free(below.path);
    free(path);
}

static size_t count_lines(const char *text)
{
    size_t count = 0;

    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        count++;
    return count;
}

static void compare_mount(const struct mount *mount, const struct line *line)
{
    promise(mount->id == line->id, "mount %ju is read as %ju", (uintmax_t)line->id, (uintmax_t)mount->id);
    promise(mount->device == ((uint64_t)line->major << 32 | line->minor), "device %u:%u", line->major,
            line->minor);
    promise(!strcmp(mount->point, line->point), "point '%s' is read as '%s'", line->point, mount->point);
    promise(!strcmp(mount->root, line->root), "root '%s' is read as '%s'", line->root, mount->root);
}

/* Whether a line is one that the kernel writes: words with one blank between them, their escapes whole. */
static bool is_regular(const char *line, const char *end)
{
    unsigned blanks = 0;

    if (memchr(line, '\0', (size_t)(end - line)) || memchr(line, '\t', (size_t)(end - line)) || *line < '1' ||
        *line > '9')
        return false;
    for (const char *at = line; at < end; at++) {
        blanks += *at == ' ';
        if (*at == ' ' && (at + 1 == end || at[1] == ' '))
            return false;
        if (*at == '\\' && (end - at < 4 || at[1] < '0' || at[1] > '3' || at[2] < '0' || at[2] > '7' ||
                            at[3] < '0' || at[3] > '7' || !memcmp(at + 1, "000", 3)))
            return false;
    }
    return blanks >= 8 && end - line < 4096;
}

static bool is_regular_text(const struct input *input)
{
    const char *at = input->text, *end = input->text + input->size;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        if (!newline || !is_regular(at, newline))
            return false;
        at = newline + 1;
    }
    return true;
}

/* What libmount makes of the text; NULL: it does not understand a line. */
static struct libmnt_table *read_by_libmount(void)
{
    struct libmnt_table *table = mnt_new_table();
    FILE *text = fmemopen(present->text, present->size, "r");
    int result;

    if (!table || !text)
        abort();
    result = mnt_table_parse_stream(table, text, "");
    fclose(text);
    if (result == 0)
        return table;
    mnt_unref_table(table);
    return NULL;
}

static void compare_with_libmount(const struct mounts *mounts)
{
    struct libmnt_table *table = read_by_libmount();
    struct libmnt_iter *at = mnt_new_iter(MNT_ITER_FORWARD);
    struct libmnt_fs *fs;
    size_t count = 0;

    if (!at)
        abort();
    if (table && (size_t)mnt_table_get_nents(table) == mounts->count)
        while (mnt_table_next_fs(table, at, &fs) == 0) {
            const struct mount *mount = &mounts->items[count++];
            const char *point = or_empty(mnt_fs_get_target(fs));

            tally(COMPARED);
            dev_t device = mnt_fs_get_devno(fs);
            promise((uint64_t)mnt_fs_get_id(fs) == mount->id, "mount %d is read as %ju", mnt_fs_get_id(fs),
                    (uintmax_t)mount->id);
            promise(!strcmp(or_empty(mnt_fs_get_root(fs)), mount->root), "root '%s' is read as '%s'",
                    or_empty(mnt_fs_get_root(fs)), mount->root);
            promise(!strncmp(point, mount->point, strlen(point)) &&
                        (!mount->point[strlen(point)] || strstr(mount->point, "(deleted)")),
                    "point '%s' is read as '%s'", point, mount->point);
            promise(major(device) == (unsigned)(mount->device >> 32 & 0xfff) || mount->device >> 32 > 0xfff,
                    "device");
        }
    mnt_free_iter(at);
    mnt_unref_table(table);
}

static void check_parser(const struct input *input)
{
    struct walker walker = {0};
    const struct mounts *mounts = mounts_of(&walker);

    promise(mounts || !input->text[0], "the text is not read");
    if (!mounts)
        return;
    promise(mounts->count == count_lines(input->text), "%zu lines are read as %zu", count_lines(input->text),
            mounts->count);
    promise(input->is_raw || mounts->count == input->line_count, "%zu mounts are read", mounts->count);
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount *mount = &mounts->items[i];

        tally(READ);
        promise(find_mount(mounts, mount->id) && find_mount(mounts, mount->id)->id == mount->id, "a mount is "
                                                                                                 "not found");
        if (!input->is_raw)
            compare_mount(mount, &input->lines[i]);
        if (find_mount(mounts, mount->id) == mount && mount->point[0] == '/')
            check_places(mounts, mount);
    }
    if (is_regular_text(input))
        compare_with_libmount(mounts);
    walk_free(&walker);
}

/* ---- The check of the container ---- */

/* The mounts that runtimes make: d Docker's, p Podman's, b bubblewrap's; patterns of fnmatch(3). */
static const struct rule {
    const char *runtimes, *point, *type, *root, *source;
} rules[] = {
    {"dpb", "/proc", "proc", "/", "proc"},
    {"dpb", "/dev", "tmpfs", "/", "tmpfs"},
    {"dpb", "/dev/pts", "devpts", "/", "devpts"},
    {"dpb", "/dev/console", "devpts", "/+([0-9])", "devpts"},
    {"dpb", "/dev/mqueue", "mqueue", "/", "mqueue"},
    {"dp", "/dev/shm", "tmpfs", "/", "shm"},
    {"dp", "/proc/?*", "tmpfs", "/null", "tmpfs"},
    {"dp", "/proc/?*", "devtmpfs", "/null", "*"},
    {"dp", "/sys/fs/cgroup", "tmpfs", "/", "tmpfs"},
    {"dp", "/sys/fs/cgroup", "cgroup2", "*", "cgroup"},
    {"dp", "/sys/fs/cgroup/?*", "cgroup", "*", "cgroup"},
    {"dp", "/sys/fs/cgroup/systemd", "cgroup", "*", "systemd"},
    {"dpb", "/dev/@(null|zero|full|tty|random|urandom)", "devtmpfs", "=", "*"},
    {"b", "/dev/@(null|zero|full|tty|random|urandom)", "tmpfs", "=", "tmpfs"},
    {"p", "/@(run|tmp|var/tmp)", "tmpfs", "/", "tmpfs"},
};

static bool fits(const char *pattern, const char *text, bool is_path)
{
    return fnmatch(pattern, text, FNM_EXTMATCH | FNM_NOESCAPE | (is_path ? FNM_PATHNAME : 0)) == 0;
}

/* `=`: the device of the point's own name. */
static bool fits_root(const struct rule *rule, const struct line *line)
{
    return rule->root[0] == '=' ? !strcmp(line->root, strrchr(line->point, '/'))
                                : fits(rule->root, line->root, false);
}

static bool is_of_runtime(unsigned presets, const struct line *line)
{
    for (size_t i = 0; i < array_size(rules); i++) {
        const struct rule *rule = &rules[i];
        bool is_chosen = (presets & CONTAINER_DOCKER && strchr(rule->runtimes, 'd')) ||
                         (presets & CONTAINER_PODMAN && strchr(rule->runtimes, 'p')) ||
                         (presets & CONTAINER_BUBBLEWRAP && strchr(rule->runtimes, 'b'));

        if (is_chosen && fits(rule->point, line->point, true) && !strcmp(rule->type, line->type) &&
            fits_root(rule, line) && fits(rule->source, line->source, false))
            return true;
    }
    return false;
}

/* Places of the policy, each on a mount of its own. */
struct demands {
    struct container_place read_only[MOST_NAMED], writable[MOST_NAMED], held[MOST_NAMED];
    struct container_expectation expectation;
};

static size_t some_places(struct container_place *places, const struct input *input, struct choices *choices,
                          const char *const *names)
{
    size_t count = choose(choices, MOST_NAMED + 1);

    for (size_t i = 0; i < count; i++) {
        unsigned which = choose(choices, (unsigned)input->line_count + 1), flags = choose(choices, 4);
        bool is_known = which < input->line_count;

        places[i] = (struct container_place){.path = is_known && flags ? input->lines[which].point : names[i],
                                             .mount = is_known ? input->lines[which].id : 1000 + i,
                                             .is_mount_point = flags != 1,
                                             .is_allowed = flags != 2};
        for (size_t k = 0; k < i; k++)
            if (places[k].mount == places[i].mount)
                places[i].mount = 2000 + i;
    }
    return count;
}

static void make_demands(struct demands *demands, const struct input *input, struct choices *choices)
{
    static const char *const names[] = {"/named-one", "/named-two", "/named-three", "/named-four"};
    static const char *const held[] = {"/", "/held", "descriptor 0", "descriptor 3"};
    struct container_expectation *expectation = &demands->expectation;

    expectation->presets = choose(choices, 8);
    expectation->read_only = demands->read_only;
    expectation->writable = demands->writable;
    expectation->held = demands->held;
    expectation->read_only_count = some_places(demands->read_only, input, choices, names);
    expectation->writable_count = some_places(demands->writable, input, choices, names);
    expectation->held_count = some_places(demands->held, input, choices, held);
}

static const struct line *line_of(const struct input *input, uint64_t id)
{
    for (size_t i = 0; i < input->line_count; i++)
        if (input->lines[i].id == id)
            return &input->lines[i];
    return NULL;
}

static const struct container_place *place_on(const struct container_place *places, size_t count, uint64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (places[i].mount == id)
            return &places[i];
    return NULL;
}

/* Whether there must be a finding about a mount. */
static bool is_amiss(const struct input *input, const struct container_expectation *expectation,
                     const struct line *line)
{
    const struct line *top = line;
    const struct container_place *named =
        place_on(expectation->writable, expectation->writable_count, line->id);
    bool is_hidden;

    for (size_t i = 0; i < input->line_count; i++)
        if (!strcmp(input->lines[i].point, line->point))
            top = &input->lines[i];
    is_hidden = top != line || line->is_hidden;
    if (!top->failure && top->is_socket && !is_hidden)
        return true;
    if (!line->is_writable)
        return top->failure && top->failure != ENOENT;
    if (is_of_runtime(expectation->presets, line) ||
        place_on(expectation->read_only, expectation->read_only_count, line->id))
        return false;
    return !named || !named->is_mount_point || !named->is_allowed;
}

static void count_line(const struct input *input, const struct container_expectation *expectation,
                       const struct line *line)
{
    if (is_amiss(input, expectation, line))
        tally(AMISS);
    else if (line->is_writable)
        tally(is_of_runtime(expectation->presets, line) ? OF_RUNTIME : NAMED);
}

/* The next finding, which must tell of `subject`. */
static void expect(const struct container_findings *findings, size_t *next, const char *subject)
{
    promise(*next < findings->count, "%s is not found amiss", subject);
    promise(strstr(findings->items[*next].message, subject), "%s is not found amiss, but: %s", subject,
            findings->items[*next].message);
    promise(findings->items[*next].hint[0], "no hint: %s", findings->items[*next].message);
    (*next)++;
}

static void compare_findings(const struct input *input, const struct container_expectation *expectation,
                             const struct container_findings *findings)
{
    size_t next = 0, roots = 0;

    for (size_t i = 0; i < expectation->read_only_count; i++) {
        const struct line *line = line_of(input, expectation->read_only[i].mount);

        if (!line || line->is_writable)
            expect(findings, &next, expectation->read_only[i].path);
    }
    for (size_t i = 0; i < expectation->writable_count; i++)
        if (!line_of(input, expectation->writable[i].mount))
            expect(findings, &next, expectation->writable[i].path);
    for (size_t i = 0; i < expectation->held_count; i++) {
        const struct container_place *held = &expectation->held[i],
                                     *known = place_on(expectation->read_only, expectation->read_only_count,
                                                       held->mount);

        if (!line_of(input, held->mount) && !(known && !strcmp(known->path, held->path)))
            expect(findings, &next, held->path);
    }
    for (size_t i = 0; i < input->line_count; i++) {
        const char *point = input->lines[i].point;

        count_line(input, expectation, &input->lines[i]);
        if (is_amiss(input, expectation, &input->lines[i]))
            expect(findings, &next, point);
        roots += !strcmp(point, "/");
    }
    if (roots > 1)
        expect(findings, &next, "/ is mounted");
    promise(next == findings->count, "found amiss without need: %s", findings->items[next].message);
}

static void check_container(const struct input *input, struct choices *choices)
{
    static struct error error;
    struct demands demands = {0};
    struct container_findings findings = {0};
    struct check check = {.expectation = &demands.expectation, .findings = &findings};
    int result;

    make_demands(&demands, input, choices);
    error.code = 0;
    result = check_mounts(&check, &error);
    promise(!result == !error.code, "%d: %s", result, error.message);
    promise(input->is_raw || !input->line_count || result == 0, "%s", error.message);
    if (result < 0)
        tally(REFUSED);
    if (!input->is_raw && result == 0)
        compare_findings(input, &demands.expectation, &findings);
    container_findings_free(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct choices choices = {data, size};
    struct input input = {0};

    take_input(&input, &choices);
    present = &input;
    check_parser(&input);
    check_container(&input, &choices);
    present = NULL;
    free(input.text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    enum { LENGTH = 240 };

    if (size && data[0] >= '0' && data[0] <= '9' && roll(&seed, 8))
        return LLVMFuzzerMutate(data, size, most);
    return mutate_choices(data, size, most, LENGTH, seed);
}
