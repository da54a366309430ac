#include "bench.h"
#include "launch.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77, FILES_A_FOLDER = 100 };
enum { EXECUTE = 1 << 0, READ_FILE = 1 << 2 };

/* All that this kernel's ABI has, up to the newest that landlock-exec knows: as it handles them. */
static struct floor_header floor_header(size_t rule_count)
{
    static const unsigned char fs_bits[] = {0, 13, 14, 15, 15, 16, 16, 16, 16, 17},
                               net_bits[] = {0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 4},
                               scopes[] = {0, 0, 0, 0, 0, 0, 2};
    long abi = syscall(CREATE_RULESET, NULL, 0, 1);
    size_t at = (size_t)abi;

    if (abi < 1)
        errx(EXIT_SKIPPED, "this kernel has no Landlock: there is nothing to measure");
    return (struct floor_header){
        .handled = {(1U << fs_bits[at < sizeof fs_bits ? at : sizeof fs_bits - 1]) - 1,
                    (1U << net_bits[at < sizeof net_bits ? at : sizeof net_bits - 1]) - 1,
                    (1U << scopes[at < sizeof scopes ? at : sizeof scopes - 1]) - 1},
        .restrict_flags = abi >= 7 ? 1 | 4 : 0,
        .rule_count = (uint32_t)rule_count,
    };
}

static FILE *create(const char *folder, const char *name)
{
    char *path = format("%s/%s", folder, name);
    FILE *out = fopen(path, "w");

    if (!out)
        err(1, "%s", path);
    free(path);
    return out;
}

static void finish(FILE *out, const char *what)
{
    if (ferror(out) | fclose(out))
        err(1, "%s", what);
}

static char *make_file(const char *folder, size_t i)
{
    char *below = format("%s/%03zu", folder, i / FILES_A_FOLDER),
         *path = format("%s/%02zu", below, i % FILES_A_FOLDER);
    int fd;

    if (i % FILES_A_FOLDER == 0)
        mkdir(below, 0755);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        err(1, "%s", path);
    close(fd);
    free(below);
    return path;
}

static void write_floor_rules(const struct scene *scene)
{
    FILE *out = create(scene->folder, "rules");
    struct floor_header header = floor_header(scene->path_count);
    char *path = format("%s/rules", scene->folder);
    int fd;

    fwrite(&header, sizeof header, 1, out);
    for (size_t i = 0; i < scene->path_count; i++) {
        uint64_t rights = READ_FILE | (i + 1 == scene->path_count ? EXECUTE : 0);

        fwrite(&rights, sizeof rights, 1, out);
        fwrite(scene->paths[i], strlen(scene->paths[i]) + 1, 1, out);
    }
    if (ftell(out) > FLOOR_MOST_BYTES)
        errx(1, "too many rules for the floor");
    finish(out, "rules");
    fd = open(path, O_RDONLY);
    if (fd < 0 || (fd != FLOOR_RULES_FD && (dup2(fd, FLOOR_RULES_FD) < 0 || close(fd) < 0)))
        err(1, "%s", path);
    free(path);
}

char *make_scene(struct scene *scene, size_t count)
{
    FILE *policy = create(scene->folder, "policy");

    scene->paths = calloc(count, sizeof *scene->paths);
    if (!scene->paths)
        err(1, "paths");
    fputs("policy 1\n", policy);
    while (scene->path_count + 1 < count) {
        char *path = make_file(scene->folder, scene->path_count);

        fprintf(policy, "allow read_file %s\n", path);
        scene->paths[scene->path_count++] = path;
    }
    fprintf(policy, "allow execute,read_file %s\n", scene->program);
    scene->paths[scene->path_count++] = format("%s", scene->program);
    finish(policy, "policy");
    write_floor_rules(scene);
    return format("%s/policy", scene->folder);
}

void free_scene(struct scene *scene)
{
    for (size_t i = 0; i < scene->path_count; i++)
        free(scene->paths[i]);
    free(scene->paths);
    scene->paths = NULL;
    scene->path_count = 0;
}
