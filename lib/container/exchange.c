#include "container/container.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/*
 * The command line is made of words KEY=VALUE, in any order:
 *
 *     uid=NUMBER              once
 *     preset=NAME
 *     read-only=MOUNT:PATH
 *     writable=MOUNT:POINT:ALLOWED:PATH     POINT, ALLOWED: 0 or 1
 *     held=MOUNT:TEXT
 */

static const struct {
    const char *name;
    unsigned bit;
} presets[] = {
    {"docker", CONTAINER_DOCKER}, {"podman", CONTAINER_PODMAN}, {"bubblewrap", CONTAINER_BUBBLEWRAP}};

unsigned container_preset(const char *name)
{
    for (size_t i = 0; i < array_size(presets); i++)
        if (!strcmp(name, presets[i].name))
            return presets[i].bit;
    return 0;
}

void container_expectation_free(struct container_expectation *expectation)
{
    free(expectation->read_only);
    free(expectation->writable);
    free(expectation->held);
    *expectation = (struct container_expectation){0};
}

void container_findings_free(struct container_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].message);
        free(findings->items[i].hint);
    }
    free(findings->items);
    *findings = (struct container_findings){0};
}

int container_add_place(struct container_place **places, size_t *count, size_t *capacity,
                        const struct container_place *place)
{
    if (array_reserve(places, capacity, *count, sizeof **places) < 0)
        return -1;
    (*places)[(*count)++] = *place;
    return 0;
}

/* ---- The command line ---- */

void container_free_arguments(char **arguments)
{
    for (char **argument = arguments; argument && *argument; argument++)
        free(*argument);
    free(arguments);
}

/* Fills in the words; a NULL among them: memory ran out. Returns how many there are. */
static size_t put_words(const struct container_expectation *expectation, char **words)
{
    size_t count = 0;

    words[count++] = text_of("check-container");
    words[count++] = text_of("uid=%u", expectation->uid);
    for (size_t i = 0; i < array_size(presets); i++)
        if (expectation->presets & presets[i].bit)
            words[count++] = text_of("preset=%s", presets[i].name);
    for (size_t i = 0; i < expectation->read_only_count; i++)
        words[count++] = text_of("read-only=%" PRIu64 ":%s", expectation->read_only[i].mount,
                                 expectation->read_only[i].path);
    for (size_t i = 0; i < expectation->writable_count; i++) {
        const struct container_place *place = &expectation->writable[i];

        words[count++] = text_of("writable=%" PRIu64 ":%d:%d:%s", place->mount, place->is_mount_point,
                                 place->is_allowed, place->path);
    }
    for (size_t i = 0; i < expectation->held_count; i++)
        words[count++] =
            text_of("held=%" PRIu64 ":%s", expectation->held[i].mount, expectation->held[i].path);
    return count;
}

char **container_write_arguments(const struct container_expectation *expectation)
{
    size_t most = 2 + array_size(presets) + expectation->read_only_count + expectation->writable_count +
                  expectation->held_count + 1,
           count;
    char **words = calloc(most, sizeof *words);

    if (!words)
        return NULL;
    count = put_words(expectation, words);
    for (size_t i = 0; i < count; i++)
        if (!words[i]) {
            for (size_t k = 0; k < count; k++)
                free(words[k]);
            free(words);
            errno = ENOMEM;
            return NULL;
        }
    return words;
}

/* Takes a whole number up to `most` and the character `end` behind it. */
static bool take_number(const char **text, uint64_t most, char end, uint64_t *number)
{
    char *rest;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *number = strtoull(*text, &rest, 10);
    if (errno || *number > most || *rest != end)
        return false;
    *text = rest + (end != '\0');
    return true;
}

#define NO_UID ((uid_t)-1) /* no user's: credentials(7) */

static bool read_uid(struct container_expectation *expectation, const char *value)
{
    uint64_t uid;

    if (expectation->uid != NO_UID || !take_number(&value, NO_UID - 1, '\0', &uid))
        return false;
    expectation->uid = (uid_t)uid;
    return true;
}

static bool read_preset(struct container_expectation *expectation, const char *value)
{
    unsigned bit = container_preset(value);

    expectation->presets |= bit;
    return bit;
}

static bool read_read_only(struct container_expectation *expectation, const char *value)
{
    struct container_place place = {0};

    if (!take_number(&value, UINT64_MAX, ':', &place.mount) || value[0] != '/')
        return false;
    place.path = value;
    return container_add_place(&expectation->read_only, &expectation->read_only_count,
                               &expectation->read_only_capacity, &place) == 0;
}

static bool read_writable(struct container_expectation *expectation, const char *value)
{
    struct container_place place = {0};
    uint64_t is_mount_point, is_allowed;

    if (!take_number(&value, UINT64_MAX, ':', &place.mount) ||
        !take_number(&value, 1, ':', &is_mount_point) || !take_number(&value, 1, ':', &is_allowed) ||
        value[0] != '/')
        return false;
    place.path = value;
    place.is_mount_point = is_mount_point;
    place.is_allowed = is_allowed;
    return container_add_place(&expectation->writable, &expectation->writable_count,
                               &expectation->writable_capacity, &place) == 0;
}

static bool read_held(struct container_expectation *expectation, const char *value)
{
    struct container_place place = {0};

    if (!take_number(&value, UINT64_MAX, ':', &place.mount) || !value[0])
        return false;
    place.path = value;
    return container_add_place(&expectation->held, &expectation->held_count, &expectation->held_capacity,
                               &place) == 0;
}

static const struct {
    const char *key;
    bool (*read)(struct container_expectation *expectation, const char *value);
} keys[] = {{"uid=", read_uid},
            {"preset=", read_preset},
            {"read-only=", read_read_only},
            {"writable=", read_writable},
            {"held=", read_held}};

static bool read_word(struct container_expectation *expectation, const char *text)
{
    for (size_t i = 0; i < array_size(keys); i++)
        if (!strncmp(text, keys[i].key, strlen(keys[i].key)))
            return keys[i].read(expectation, text + strlen(keys[i].key));
    return false;
}

int container_read_arguments(char *const *arguments, struct container_expectation *expectation,
                             struct error *error)
{
    static const char hint[] = "check-container is not to be run by hand: landlock-exec --dry-run runs it";

    *expectation = (struct container_expectation){.uid = NO_UID};
    for (char *const *argument = arguments + !!arguments[0]; *argument; argument++)
        if (!read_word(expectation, *argument)) {
            error_set(error, 1, "'%s' is not understood", *argument);
            return error_hint(error, "%s", hint);
        }
    if (expectation->uid != NO_UID)
        return 0;
    error_set(error, 1, "no user is named");
    return error_hint(error, "%s", hint);
}

/* ---- The findings ---- */

int container_write_findings(int fd, const struct container_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct container_finding *finding = &findings->items[i];

        if (write_all(fd, finding->message, strlen(finding->message) + 1) < 0 ||
            write_all(fd, finding->hint, strlen(finding->hint) + 1) < 0)
            return -1;
    }
    return 0;
}

/* Takes one text. 0, or -1 with errno. */
static int take_text(const char **bytes, size_t *size, char **text)
{
    size_t length = strnlen(*bytes, *size);

    if (length == *size) {
        errno = EBADMSG;
        return -1;
    }
    *text = strdup(*bytes);
    *bytes += length + 1;
    *size -= length + 1;
    return *text ? 0 : -1;
}

int container_read_findings(const char *bytes, size_t size, struct container_findings *findings)
{
    *findings = (struct container_findings){0};
    while (size) {
        struct container_finding *finding;

        if (array_reserve(&findings->items, &findings->capacity, findings->count, sizeof *findings->items) <
            0)
            return -1;
        finding = &findings->items[findings->count++];
        *finding = (struct container_finding){0};
        if (take_text(&bytes, &size, &finding->message) < 0 || take_text(&bytes, &size, &finding->hint) < 0)
            return -1;
    }
    return 0;
}
