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
enum {
    OLD_ABI = 2,
    WRITABLE = 0x17be
}; /* read,write,create,remove on ABI 2: all but execute, make_char, make_block and refer */

static const char *const writable[] = CONTAINER_WRITABLE;
enum { WRITABLE_COUNT = sizeof writable / sizeof writable[0] };

/* All that this kernel's ABI has, up to the newest that landlock-exec knows or may use: as it handles them. */
static struct floor_header floor_header(const struct scene *scene)
{
    static const unsigned char fs_bits[] = {0, 13, 14, 15, 15, 16, 16, 16, 16, 17},
                               net_bits[] = {0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 4},
                               scopes[] = {0, 0, 0, 0, 0, 0, 2};
    long abi = syscall(CREATE_RULESET, NULL, 0, 1);
    size_t at;

    if (abi < 1)
        errx(EXIT_SKIPPED, "this kernel has no Landlock: there is nothing to measure");
    if (scene->is_container && abi > OLD_ABI)
        abi = OLD_ABI;
    at = (size_t)abi;
    return (struct floor_header){
        .handled = {(1U << fs_bits[at < sizeof fs_bits ? at : sizeof fs_bits - 1]) - 1,
                    (1U << net_bits[at < sizeof net_bits ? at : sizeof net_bits - 1]) - 1,
                    (1U << scopes[at < sizeof scopes ? at : sizeof scopes - 1]) - 1},
        .restrict_flags = abi >= 7 ? 1 | 4 : 0,
        .rule_count = (uint32_t)scene->path_count,
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

static uint64_t rights_of(const struct scene *scene, size_t i)
{
    if (i + 1 == scene->path_count)
        return READ_FILE | EXECUTE;
    return scene->is_container && i < WRITABLE_COUNT ? WRITABLE : READ_FILE;
}

static void write_floor_rules(const struct scene *scene)
{
    FILE *out = create(scene->folder, "rules");
    struct floor_header header = floor_header(scene);
    char *path = format("%s/rules", scene->folder);
    int fd;

    fwrite(&header, sizeof header, 1, out);
    for (size_t i = 0; i < scene->path_count; i++) {
        uint64_t rights = rights_of(scene, i);

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

static void describe_container(struct scene *scene, FILE *policy)
{
    static const char *const read_only[] = CONTAINER_READ_ONLY;

    fprintf(policy, "container uid %d\ncontainer capabilities none\n", CONTAINER_USER);
    for (size_t i = 0; i < sizeof read_only / sizeof read_only[0]; i++)
        fprintf(policy, "container read-only %s\n", read_only[i]);
    fputs("container writable docker\n", policy);
    for (size_t i = 0; i < WRITABLE_COUNT; i++) {
        fprintf(policy, "container writable %s\nallow read,write,create,remove %s\n", writable[i],
                writable[i]);
        scene->paths[scene->path_count++] = format("%s", writable[i]);
    }
}

char *make_scene(struct scene *scene, size_t count)
{
    FILE *policy = create(scene->folder, "policy");

    scene->paths = calloc(count + WRITABLE_COUNT, sizeof *scene->paths);
    if (!scene->paths)
        err(1, "paths");
    fputs("policy 1\n", policy);
    if (scene->is_container)
        describe_container(scene, policy);
    for (size_t i = 0; i + 1 < count; i++) {
        char *path = make_file(scene->folder, i);

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
