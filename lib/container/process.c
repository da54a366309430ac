#include "container/internal.h"

#include <cap-ng.h>
#include <errno.h>
#include <string.h>

/* ---- The user ---- */

enum { UID_COUNT = 4 }; /* real, effective, saved and filesystem, as proc(5) has them */

static bool read_uids(pid_t pid, unsigned long uids[static UID_COUNT])
{
    char path[64], status[4096], *at;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (!read_small_file(path, status, sizeof status))
        return false;
    at = strstr(status, "\nUid:");
    if (!at)
        return false;
    at += strlen("\nUid:");
    for (size_t i = 0; i < UID_COUNT; i++) {
        char *end;

        uids[i] = strtoul(at, &end, 10);
        if (end == at)
            return false;
        at = end;
    }
    return true;
}

static int check_user(struct check *check, struct error *error)
{
    static const char *const names[UID_COUNT] = {"real", "effective", "saved", "filesystem"};
    unsigned long uids[UID_COUNT];
    uid_t expected = check->expectation->uid;
    char wanted[16], found[128] = "";

    if (!read_uids(check->pid, uids))
        return error_set(error, 1, "/proc/%d/status: cannot be read: %s", (int)check->pid, strerror(errno));
    for (size_t i = 0; i < UID_COUNT; i++)
        if (uids[i] != expected) {
            size_t length = strlen(found);

            snprintf(found + length, sizeof found - length, "%s%s UID %lu", length ? ", " : "", names[i],
                     uids[i]);
        }
    snprintf(wanted, sizeof wanted, "%u", expected);
    if (found[0] && find(check, REMEDY_USER, wanted, "the user is not UID %s but %s", wanted, found) < 0)
        return error_set(error, 1, "out of memory");
    return 0;
}

/* ---- The capability sets ---- */

static void put_name(FILE *out, unsigned capability, bool is_first)
{
    const char *name = capng_capability_to_name(capability), *separator = is_first ? "" : ", ";

    if (name)
        fprintf(out, "%scap_%s", separator, name);
    else
        fprintf(out, "%scapability %u", separator, capability);
}

/* The names of what a set holds, "cap_a, cap_b", a long list cut short; to be freed. NULL: memory ran out. */
static char *names_of(capng_type_t set)
{
    enum { MOST_CAPABILITIES = 64, MOST_NAMES = 8 };
    unsigned count = 0;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (unsigned i = 0; i < MOST_CAPABILITIES; i++)
        if (capng_have_capability(set, i) == 1 && count++ < MOST_NAMES)
            put_name(out, i, count == 1);
    if (count > MOST_NAMES)
        fprintf(out, " and %u more", count - MOST_NAMES);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static int check_set(struct check *check, capng_type_t set, const char *name)
{
    auto_free char *names = names_of(set);

    if (!names)
        return -1;
    return names[0]
               ? find(check, REMEDY_CAPABILITIES, "", "the %s capability set is not empty: %s", name, names)
               : 0;
}

static int check_capabilities(struct check *check, struct error *error)
{
    static const struct {
        capng_type_t set;
        const char *name;
    } sets[] = {{CAPNG_EFFECTIVE, "effective"},
                {CAPNG_PERMITTED, "permitted"},
                {CAPNG_INHERITABLE, "inheritable"},
                {CAPNG_AMBIENT, "ambient"},
                {CAPNG_BOUNDING_SET, "bounding"}};

    capng_setpid(check->pid);
    if (capng_get_caps_process() != 0)
        return error_set(error, 1, "the capabilities of process %d cannot be read", (int)check->pid);
    for (size_t i = 0; i < array_size(sets); i++)
        if (check_set(check, sets[i].set, sets[i].name) < 0)
            return error_set(error, 1, "out of memory");
    return 0;
}

int check_process(struct check *check, struct error *error)
{
    return check_user(check, error) < 0 ? -1 : check_capabilities(check, error);
}
