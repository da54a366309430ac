#include "attack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct attack_group *const groups[] = {
    &file_group,     &reopening_group, &attribute_group, &execution_group,  &descriptor_group,
    &process_group,  &signal_group,    &unix_group,      &network_group,    &ipc_group,
    &terminal_group, &namespace_group, &own_group,       &privileged_group,
};
const size_t group_count = sizeof groups / sizeof groups[0];

const char *const cover_names[] = {
    [NOTHING] = "nothing",         [USER] = "user",         [DESCRIPTORS] = "descriptors",
    [ENVIRONMENT] = "environment", [TERMINAL] = "terminal", [LIMITS] = "limits",
    [PRIVILEGES] = "privileges",   [FILTER] = "filter",     [MOUNTS] = "mounts",
    [PROCESSES] = "processes",     [IPC] = "ipc",           [NETWORK] = "network",
    [SECCOMP] = "seccomp",
};

static const char *name_of(int error)
{
    return error ? strerrorname_np(error) : "";
}

/* The texts have nothing in them that JSON would have to escape. */
static void list(const struct attack_group *group, const struct attack *attack)
{
    printf("{\"group\":\"%s\",\"title\":\"%s\",\"name\":\"%s\",\"what\":\"%s\",\"user\":\"%s\",\"landlock\":%"
           "u,\"error\":\"%s\","
           "\"launcher\":\"%s\",\"from\":%u,\"launcher_error\":\"%s\",\"container\":\"%s\",\"filtered\":%s}"
           "\n",
           group->name, group->title, attack->name, attack->what, cover_names[attack->user], attack->landlock,
           name_of(attack->error), cover_names[attack->launcher], attack->from,
           name_of(attack->launcher_error), cover_names[attack->container],
           attack->is_filtered ? "true" : "false");
}

static int list_all(void)
{
    for (size_t i = 0; i < group_count; i++)
        for (size_t j = 0; j < groups[i]->count; j++)
            list(groups[i], &groups[i]->attacks[j]);
    return 0;
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    int result = 2;

    if (!strcmp(mode, "list"))
        return list_all();
    if (!strcmp(mode, "serve"))
        return be_server();
    if (!strcmp(mode, "victim"))
        return be_victim();
    if (!strcmp(mode, "witness"))
        return WITNESS;
    if (!strcmp(mode, "witness-root"))
        return geteuid() == 0 ? WITNESS : 1;
    if (!strcmp(mode, "stage"))
        result = be_stage(count - 2, arguments + 2);
    if (result == 2)
        fputs("usage: attack stage [uid=N] [contained] [work=DIRECTORY] FOLDER -- COMMAND... | serve | "
              "list\n",
              stderr);
    return result;
}
