#include "container/internal.h"

#include <cap-ng.h>
#include <errno.h>
#include <string.h>

/* ---- /proc/PID/status ---- */

struct status {
    char *text; /* to be freed */
};

static int read_status(pid_t pid, struct status *status, struct error *error)
{
    char path[32];
    auto_close int fd = -1;

    snprintf(path, sizeof path, "%d/status", (int)pid);
    fd = open_proc(path, error);
    if (fd < 0)
        return -1;
    status->text = read_text(fd); /* a user may be in 65536 groups */
    if (!status->text)
        return error_set(error, 1, "/proc/%s: cannot be read: %s", path, strerror(errno));
    return 0;
}

/* What stands behind a name ("\nName:"); NULL and `error`: it is not there. */
static const char *value_of(const struct status *status, const char *name, struct error *error)
{
    const char *at = strstr(status->text, name);

    if (at)
        return at + strlen(name);
    error_set(error, 1, "/proc/PID/status has no line %s", name + 1);
    return NULL;
}

/* ---- The user ---- */

static int check_user(struct check *check, const struct status *status, struct error *error)
{
    static const char *const names[] = {"real", "effective", "saved", "filesystem"};
    const char *at = value_of(status, "\nUid:", error);
    uid_t expected = check->expectation->uid;
    char wanted[16], found[128] = "";
    int stands;

    for (size_t i = 0; at && i < array_size(names); i++) {
        char *end;
        unsigned long uid = strtoul(at, &end, 10);
        size_t length = strlen(found);

        if (end == at)
            return error_set(error, 1, "/proc/PID/status has no %s UID", names[i]);
        if (uid != expected)
            snprintf(found + length, sizeof found - length, "%s%s UID %lu", length ? ", " : "", names[i],
                     uid);
        at = end;
    }
    if (!at)
        return -1;
    snprintf(wanted, sizeof wanted, "%u", expected);
    stands = uid_stands_for_unmapped(expected);
    if (stands < 0) {
        error_set(error, 1, "whom UID %s stands for cannot be told: /proc: %s", wanted, strerror(errno));
        return error_hint(error, "mount /proc");
    }
    if ((found[0] && find(check, REMEDY_USER, wanted, "the user is not UID %s but %s", wanted, found) < 0) ||
        (stands && find(check, REMEDY_USER, wanted,
                        "UID %s stands for any user that this user namespace does not map", wanted) < 0))
        return error_set(error, 1, "out of memory");
    return 0;
}

/* ---- The capability sets ---- */

enum { MOST_CAPABILITIES = 64 };

static const struct set {
    const char *name, *line;
    capng_type_t type;
} sets[] = {{"effective", "\nCapEff:", CAPNG_EFFECTIVE},
            {"permitted", "\nCapPrm:", CAPNG_PERMITTED},
            {"inheritable", "\nCapInh:", CAPNG_INHERITABLE},
            {"ambient", "\nCapAmb:", CAPNG_AMBIENT},
            {"bounding", "\nCapBnd:", CAPNG_BOUNDING_SET}};

/* What libcap-ng or the kernel's own line says is in a set: libcap-ng says nothing is in the bounding set where a filter keeps it
 * from asking, and does not look above what /proc/sys/kernel/cap_last_cap says. */
static int holdings_of(const struct set *set, const struct status *status, uint64_t *holdings,
                       struct error *error)
{
    const char *line = value_of(status, set->line, error);
    char *end;

    if (!line)
        return -1;
    *holdings = strtoull(line, &end, 16);
    if (end == line)
        return error_set(error, 1, "/proc/PID/status has no %s capability set", set->name);
    for (unsigned i = 0; i < MOST_CAPABILITIES; i++)
        if (capng_have_capability(set->type, i) == 1)
            *holdings |= UINT64_C(1) << i;
    return 0;
}

static void put_name(FILE *out, unsigned capability, bool is_first)
{
    const char *name = capng_capability_to_name(capability), *separator = is_first ? "" : ", ";

    if (name)
        fprintf(out, "%scap_%s", separator, name);
    else
        fprintf(out, "%scapability %u", separator, capability);
}

/* The names of capabilities, "cap_a, cap_b", a long list cut short; to be freed. NULL: memory ran out. */
static char *names_of(uint64_t holdings)
{
    enum { MOST_NAMES = 8 };
    unsigned count = 0;
    struct text text = {0};
    FILE *out = text_open(&text);

    if (!out)
        return NULL;
    for (unsigned i = 0; i < MOST_CAPABILITIES; i++)
        if (holdings & UINT64_C(1) << i && count++ < MOST_NAMES)
            put_name(out, i, count == 1);
    if (count > MOST_NAMES)
        fprintf(out, " and %u more", count - MOST_NAMES);
    return text_close(out, &text) == 0 ? text.bytes : NULL;
}

static int check_set(struct check *check, const struct set *set, const struct status *status,
                     struct error *error)
{
    auto_free char *names = NULL;
    uint64_t holdings;

    if (holdings_of(set, status, &holdings, error) < 0)
        return -1;
    if (!holdings)
        return 0;
    names = names_of(holdings);
    if (!names ||
        find(check, REMEDY_CAPABILITIES, "", "the %s capability set is not empty: %s", set->name, names) < 0)
        return error_set(error, 1, "out of memory");
    return 0;
}

static int check_capabilities(struct check *check, const struct status *status, struct error *error)
{
    capng_setpid(check->pid);
    if (capng_get_caps_process() != 0)
        return error_set(error, 1, "the capabilities of process %d cannot be read: %s", (int)check->pid,
                         strerror(errno));
    for (size_t i = 0; i < array_size(sets); i++)
        if (check_set(check, &sets[i], status, error) < 0)
            return -1;
    return 0;
}

int check_process(struct check *check, struct error *error)
{
    struct status status = {0};
    int result = read_status(check->pid, &status, error) < 0 || check_user(check, &status, error) < 0 ||
                         check_capabilities(check, &status, error) < 0
                     ? -1
                     : 0;

    free(status.text);
    return result;
}
