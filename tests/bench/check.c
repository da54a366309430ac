/*
 * How long `landlock-policy check` takes for 1,000 policies in one call, against a floor that reads them and looks at their paths.
 *
 *     check [-n ROUNDS] [-c POLICIES] FLOOR LANDLOCK-POLICY POLICY...
 *
 * The policies are as many files that include each POLICY and add some lines of their own. The figure is the ratio of what a policy
 * adds: (time of all - time of one) of the one over that of the other, of medians, taken in turns.
 */
#include "launch.h"

#include <err.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLOOR_ONE, FLOOR_ALL, CHECK_ONE, CHECK_ALL, COMMANDS };

struct settings {
    size_t rounds, policies;
    char **files; /* FLOOR LANDLOCK-POLICY POLICY... */
    size_t file_count;
};

/* ---- The policies ---- */

static char *make_policy(const char *folder, size_t i, char **included, size_t count)
{
    char *name = format("%s/%zu.policy", folder, i);
    FILE *out = fopen(name, "w");

    if (!out)
        err(1, "%s", name);
    fputs("policy 1\n", out);
    for (size_t k = 0; k < count; k++) {
        char *real = real_path(included[k]);

        fprintf(out, "include \"%s\"\n", real);
        free(real);
    }
    fprintf(out,
            "allow read -/srv/chat-%zu\nallow read,write,create,remove -/srv/chat-%zu/work\nexpect denied "
            "read_file /etc/shadow\n",
            i, i);
    if (fclose(out) != 0)
        err(1, "%s", name);
    return name;
}

/* `all` also takes the policies after the first. */
static void name_policies(const struct settings *settings, const char *folder, struct command *commands)
{
    for (size_t i = 0; i < settings->policies; i++) {
        char *name = make_policy(folder, i, settings->files + 2, settings->file_count - 2);

        for (size_t k = 0; k < COMMANDS; k++)
            if (i == 0 || k == FLOOR_ALL || k == CHECK_ALL)
                push(&commands[k], format("%s", name));
        free(name);
    }
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

/* ---- The table ---- */

static void make_commands(const struct settings *settings, const char *folder, struct command *commands)
{
    static const char *const names[] = {"floor, 1 policy", "floor", "landlock-policy, 1", "landlock-policy"};

    for (size_t i = 0; i < COMMANDS; i++) {
        commands[i].name = names[i];
        commands[i].is_quiet = true;
        push(&commands[i], real_path(settings->files[i >= CHECK_ONE]));
        if (i >= CHECK_ONE)
            push(&commands[i], format("check"));
    }
    name_policies(settings, folder, commands);
}

static void print(const struct settings *settings, const struct command *commands)
{
    double floor = commands[FLOOR_ALL].median - commands[FLOOR_ONE].median,
           check = commands[CHECK_ALL].median - commands[CHECK_ONE].median;
    double more = (double)(settings->policies - 1);

    printf("checking policies (medians of %zu rounds)\n%9s  %-20s %12s %14s %8s\n", settings->rounds,
           "policies", "command", "time (ms)", "a policy (us)", "ratio");
    for (size_t i = 0; i < COMMANDS; i++) {
        bool is_all = i == FLOOR_ALL || i == CHECK_ALL;

        printf("%9zu  %-20s %12.2f", is_all ? settings->policies : 1, commands[i].name,
               commands[i].median / 1e3);
        if (is_all)
            printf(" %14.1f %8.2f\n", (i == FLOOR_ALL ? floor : check) / more,
                   i == FLOOR_ALL ? 1.0 : check / floor);
        else
            printf(" %14s %8s\n", "-", "-");
    }
}

static struct settings read_settings(int count, char **arguments)
{
    struct settings settings = {.rounds = 20, .policies = 1000};
    int option;

    while ((option = getopt(count, arguments, "n:c:")) != -1) {
        size_t number = option == '?' ? 0 : strtoul(optarg, NULL, 10);

        if (!number)
            errx(2, "usage: check [-n ROUNDS] [-c POLICIES] FLOOR LANDLOCK-POLICY POLICY...");
        *(option == 'n' ? &settings.rounds : &settings.policies) = number;
    }
    settings.files = arguments + optind;
    settings.file_count = (size_t)(count - optind);
    if (settings.file_count < 3 || settings.policies < 2)
        errx(2, "usage: check [-n ROUNDS] [-c POLICIES] FLOOR LANDLOCK-POLICY POLICY...");
    return settings;
}

int main(int count, char **arguments)
{
    struct settings settings = read_settings(count, arguments);
    char folder[] = "/var/tmp/landlock-policy-bench.XXXXXX";
    struct command commands[COMMANDS] = {0};

    if (!mkdtemp(folder))
        err(1, "%s", folder);
    stay_on_one_processor();
    make_commands(&settings, folder, commands);
    measure(commands, COMMANDS, settings.rounds);
    print(&settings, commands);
    for (size_t i = 0; i < COMMANDS; i++)
        free_command(&commands[i]);
    if (nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
        err(1, "%s", folder);
    return 0;
}
