#include "container/internal.h"

#include <stdarg.h>
#include <string.h>

/* What restores it, with Docker's options (Podman's are the same) and with bubblewrap's. `@` stands for the subject. The layout is by
 * hand: a text must not be cut into shreds. */
/* clang-format off */
static const struct {
    const char *docker, *bubblewrap;
} remedies[] = {
    [REMEDY_USER] =
        {"--user @:@",
         "--unshare-user --uid @ --gid @, started by an ordinary user"},
    [REMEDY_CAPABILITIES] =
        {"--cap-drop ALL, and neither --privileged nor --cap-add",
         "--cap-drop ALL, started by an ordinary user"},
    [REMEDY_READ_ONLY_ROOT] =
        {"--read-only",
         "--remount-ro / (or --ro-bind in place of --bind)"},
    [REMEDY_READ_ONLY] =
        {"--read-only, and where @ is mounted on its own: -v SOURCE:@:ro, or readonly in its --mount",
         "--ro-bind SOURCE @"},
    [REMEDY_UNLISTED] =
        {"run it in a container, whose root is a mount, not in a chroot",
         "run it in a container, whose root is a mount, not in a chroot"},
    [REMEDY_WRITABLE] =
        {"leave out what mounts it (-v, --mount, --tmpfs, --volumes-from, a VOLUME of the image), or mount it read-only "
         "(:ro); if the program may write all of it, say in local.policy: allow write @ and: container writable @",
         "leave out what mounts it (--bind, --dev-bind, --tmpfs), or use --ro-bind; if the program may write all of it, "
         "say in local.policy: allow write @ and: container writable @"},
    [REMEDY_HIDDEN] =
        {"leave out the option that mounts the one below",
         "leave out the option that mounts the one below"},
    [REMEDY_KERNEL_MOUNT] =
        {"neither --privileged nor --security-opt systempaths=unconfined, nor a -v on it",
         "--ro-bind in place of --bind, or leave it out"},
    [REMEDY_SHARED_MEMORY] =
        {"neither --ipc=host nor a --tmpfs or -v on @; --shm-size sets its size",
         "leave it out, or say in local.policy: container writable @"},
    [REMEDY_RUNTIME_MOUNT] =
        {"no -v, --mount or --tmpfs on @",
         "no --bind or --tmpfs on @"},
    [REMEDY_NOT_ALLOWED] =
        {"mount only what the program may write, or say in the policy: allow write @",
         "bind only what the program may write, or say in the policy: allow write @"},
    [REMEDY_PART] =
        {"mount @ itself (-v DIRECTORY:@) and not what is above it",
         "bind @ itself (--bind DIRECTORY @) and not what is above it"},
    [REMEDY_SOCKET] =
        {"no -v or --mount on @",
         "no --bind or --ro-bind on @"},
    [REMEDY_HELD] =
        {"hand over a pipe in its place: cat FILE | ...",
         "hand over a pipe in its place: cat FILE | ..."},
    [REMEDY_OUT_OF_SIGHT] =
        {"no -v or --mount on @, or one whose directories everybody may search",
         "no --bind or --ro-bind on @, or one whose directories everybody may search"},
};
/* clang-format on */

static void put_remedy(FILE *out, const char *command, const char *text, const char *subject)
{
    fprintf(out, "%s: ", command);
    for (; *text; text++)
        if (*text == '@')
            fputs(subject, out);
        else
            putc(*text, out);
}

/* bubblewrap's first: Docker's preset is in the shipped policy, another one is what a site added for itself. */
static char *hint_of(unsigned presets, enum remedy remedy, const char *subject)
{
    const char *command = !(presets & CONTAINER_PODMAN) ? "docker run"
                          : presets & CONTAINER_DOCKER  ? "docker run or podman run"
                                                        : "podman run";
    auto_free char *word = text_as_word(subject);
    struct text text = {0};
    FILE *out = word ? text_open(&text) : NULL;

    if (!out)
        return NULL;
    if (presets & CONTAINER_BUBBLEWRAP)
        put_remedy(out, "bwrap", remedies[remedy].bubblewrap, word);
    if (presets & CONTAINER_BUBBLEWRAP && presets != CONTAINER_BUBBLEWRAP)
        fputs("; ", out);
    if (presets != CONTAINER_BUBBLEWRAP)
        put_remedy(out, command, remedies[remedy].docker, word);
    return text_close(out, &text) == 0 ? text.bytes : NULL;
}

static int add(struct check *check, char *message, char *hint)
{
    struct container_findings *findings = check->findings;

    if (message && hint &&
        array_reserve(&findings->items, &findings->capacity, findings->count, sizeof *findings->items) == 0) {
        findings->items[findings->count++] = (struct container_finding){message, hint};
        check->size += strlen(message) + strlen(hint);
        return 0;
    }
    free(message);
    free(hint);
    return -1;
}

/* Enough to see what is wrong. A status line with them fits a pipe, unless their names are odd. */
enum { MOST_FINDINGS = 100, MOST_BYTES = 32768 };

int find(struct check *check, enum remedy remedy, const char *subject, const char *format, ...)
{
    char *message;
    va_list arguments;

    if (check->is_full)
        return 0;
    check->is_full = check->findings->count == MOST_FINDINGS - 1 || check->size >= MOST_BYTES;
    if (check->is_full)
        return add(check, strdup("there is more, which is not told"), strdup("begin with what is"));
    va_start(arguments, format);
    message = text_of_list(format, arguments);
    va_end(arguments);
    return add(check, message, hint_of(check->expectation->presets, remedy, subject));
}
