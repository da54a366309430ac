#include "recorded_mounts.h"

#include <libmount/libmount.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { LONGEST_RECORDING = 1 << 16 };

static char recording[LONGEST_RECORDING];
static const struct recorded_sight *sights;
static size_t sight_count;
static int result_of_reading;

void use_text(const char *text)
{
    if (strlen(text) >= sizeof recording)
        abort();
    memcpy(recording, text, strlen(text) + 1);
    sights = NULL;
    sight_count = 0;
    result_of_reading = 0;
}

void use_recording(const char *name)
{
    static char text[LONGEST_RECORDING];
    char path[PATH_MAX];

    snprintf(path, sizeof path, "mountinfo/%s", name);
    if (!read_small_file(path, text, sizeof text))
        fail_msg("tests/unit/%s: %s (the test runs in tests/unit)", path, strerror(errno));
    use_text(text);
}

void add_to_recording(const char *lines)
{
    size_t length = strlen(recording);

    if (length + strlen(lines) >= sizeof recording)
        abort();
    memcpy(recording + length, lines, strlen(lines) + 1);
}

void use_sights(const struct recorded_sight *new_sights, size_t count)
{
    sights = new_sights;
    sight_count = count;
}

void fail_reading(int result)
{
    result_of_reading = result;
}

/* ---- Going by what was mounted last ---- */

/* The next line's mount and point. False: there is none. */
static bool next_line(const char **rest, uint64_t *mount, char point[static PATH_MAX])
{
    const char *end = strchr(*rest, '\n');
    char *after;
    size_t length;

    if (!end)
        return false;
    *mount = strtoull(*rest, &after, 10);
    for (int field = 1; field < 4 && after; field++)
        after = strchr(after + 1, ' ');
    length = after ? strcspn(after + 1, " \n") : 0;
    snprintf(point, PATH_MAX, "%.*s", (int)length, after ? after + 1 : "");
    *rest = end + 1;
    return true;
}

/* Escapes as mountinfo does, so that a path can be compared with a point. */
static void escape(const char *path, char out[static PATH_MAX])
{
    size_t length = 0;

    for (; *path && length + 5 < PATH_MAX; path++)
        length += (size_t)snprintf(out + length, 5, strchr(" \t\n\\", *path) ? "\\%03o" : "%c",
                                   (unsigned char)*path);
    out[length] = '\0';
}

void drop_from_recording(const char *top)
{
    static char kept[LONGEST_RECORDING], point[PATH_MAX];
    const char *rest = recording, *line = recording;
    size_t length = 0;
    uint64_t mount;

    for (; next_line(&rest, &mount, point); line = rest) {
        if (!strncmp(point, top, strlen(top)) && (!point[strlen(top)] || point[strlen(top)] == '/'))
            continue;
        memcpy(kept + length, line, (size_t)(rest - line));
        length += (size_t)(rest - line);
    }
    kept[length] = '\0';
    memcpy(recording, kept, length + 1);
}

static uint64_t last_mount_on(const char *path)
{
    static char escaped[PATH_MAX], point[PATH_MAX];
    const char *rest = recording;
    uint64_t mount, found = 0;

    escape(path, escaped);
    while (next_line(&rest, &mount, point))
        if (!strcmp(point, escaped))
            found = mount;
    return found;
}

bool is_recorded_point(const char *path)
{
    return last_mount_on(path) != 0;
}

uint64_t recorded_mount(const char *path)
{
    char shorter[PATH_MAX];
    uint64_t mount;

    snprintf(shorter, sizeof shorter, "%s", path);
    for (;;) {
        char *slash = strrchr(shorter, '/');

        mount = last_mount_on(shorter[0] ? shorter : "/");
        if (mount || !slash)
            return mount;
        *slash = '\0';
    }
}

/* ---- In the place of the real ones ---- */

int __wrap_statx(int directory, const char *path, int flags, unsigned mask, struct statx *status);
int __wrap_mnt_table_parse_stream(struct libmnt_table *table, FILE *stream, const char *name);
int __real_mnt_table_parse_stream(struct libmnt_table *table, FILE *stream, const char *name);
char *__wrap_read_text(int fd);
char *__real_read_text(int fd);

int __wrap_statx(int directory, const char *path, int flags, unsigned mask, struct statx *status)
{
    const struct recorded_sight *sight = NULL;

    (void)directory;
    (void)mask;
    if (!(flags & AT_SYMLINK_NOFOLLOW))
        abort();
    for (size_t i = 0; i < sight_count; i++)
        if (sights[i].path && !strcmp(sights[i].path, path))
            sight = &sights[i];
    *status = (struct statx){.stx_mask = STATX_TYPE | STATX_MNT_ID, .stx_mode = S_IFDIR};
    status->stx_mnt_id = last_mount_on(path);
    if (!sight)
        return 0;
    if (sight->type)
        status->stx_mode = (uint16_t)sight->type;
    if (sight->mount)
        status->stx_mnt_id = sight->mount;
    if (sight->has_no_mount)
        status->stx_mask = STATX_TYPE;
    errno = sight->fault;
    return sight->fault ? -1 : 0;
}

int __wrap_mnt_table_parse_stream(struct libmnt_table *table, FILE *stream, const char *name)
{
    return result_of_reading ? result_of_reading : __real_mnt_table_parse_stream(table, stream, name);
}

static bool is_mountinfo(int fd)
{
    char link[64], path[PATH_MAX] = "";

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/mountinfo");
}

char *__wrap_read_text(int fd)
{
    char *text = __real_read_text(fd);

    if (text && is_mountinfo(fd)) {
        free(text);
        text = strdup(recording);
    }
    return text;
}
