#include "launch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Other launchers, asked for a rule for each path that the policy has. They differ in what a rule is: Landlock rules for setpriv,
 * minijail0 and landrun; a mount for firejail and bwrap.
 */
static const struct peer {
    const char *name;
    const char *before[8];  /* NULL-terminated */
    const char *read, *run; /* for each path; "%s" stands for it; a blank parts two arguments */
} peer_table[] = {
    {"setpriv",
     {"--no-new-privs", "--landlock-access", "fs"},
     "--landlock-rule path-beneath:read-file:%s",
     "--landlock-rule path-beneath:execute,read-file:%s"},
    {"minijail0", {"-n"}, "--fs-path-ro=%s", "--fs-path-rx=%s"},
    {"landrun", {NULL}, "--ro %s", "--rox %s"},
    {"firejail", {"--quiet", "--noprofile"}, "--read-only=%s", "--read-only=%s"},
    {"bwrap", {"--unshare-user"}, "--ro-bind %s %s", "--ro-bind %s %s"},
};

char *find_in_path(const char *name)
{
    const char *path = getenv("PATH");
    char *copy = strdup(path ? path : "/usr/bin:/bin"), *rest = copy, *found = NULL;

    for (char *folder = strtok_r(copy, ":", &rest); folder && !found; folder = strtok_r(NULL, ":", &rest)) {
        found = format("%s/%s", folder, name);
        if (access(found, X_OK) < 0) {
            free(found);
            found = NULL;
        }
    }
    free(copy);
    return found;
}

/* "A %s %s" becomes the arguments "A", path and path. */
static void push_option(struct command *command, const char *pattern, const char *path)
{
    char *copy = format("%s", pattern), *rest = copy;

    for (char *part = strtok_r(copy, " ", &rest); part; part = strtok_r(NULL, " ", &rest)) {
        char *place = strstr(part, "%s");

        push(command, place ? format("%.*s%s", (int)(place - part), part, path) : format("%s", part));
    }
    free(copy);
}

static struct command peer_command(const struct peer *peer, char *executable, const struct scene *scene)
{
    struct command command = {.name = peer->name, .is_peer = true};

    push(&command, executable);
    for (size_t i = 0; peer->before[i]; i++)
        push(&command, format("%s", peer->before[i]));
    for (size_t i = 0; i < scene->path_count; i++)
        push_option(&command, i + 1 < scene->path_count ? peer->read : peer->run, scene->paths[i]);
    push(&command, format("--"));
    push(&command, format("%s", scene->program));
    return command;
}

size_t add_peers(struct command *commands, size_t count, size_t room, const struct scene *scene)
{
    for (size_t i = 0; i < sizeof peer_table / sizeof peer_table[0] && count < room; i++) {
        char *executable = find_in_path(peer_table[i].name);

        if (!executable)
            continue;
        commands[count] = peer_command(&peer_table[i], executable, scene);
        if (run_once(&commands[count], true) >= 0)
            count++;
        else
            free_command(&commands[count]);
    }
    return count;
}
