/*
 * Swaps what stands at a path for something else and back, as fast as it can and at odd moments, until it is ended by SIGTERM:
 *
 *     swapper SWAP PATH...
 *
 * The swaps are in the table at the end. Says "ready" before the first one, and at the end how many it made. A swap that fails ends it.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Tells how the state number `turn` is made of the one before it. */
typedef void swap_function(char **paths, size_t count, unsigned long turn);

static void need_done(int result, const char *what, const char *path)
{
    if (result < 0)
        err(1, "%s %s", what, path);
}

/* ---- Swaps ---- */

/* PATH OTHER...: each of the others takes the path's place in turn, and gives it back. */
static void exchange(char **paths, size_t count, unsigned long turn)
{
    const char *other = paths[1 + turn / 2 % (count - 1)];

    need_done(renameat2(AT_FDCWD, paths[0], AT_FDCWD, other, RENAME_EXCHANGE), "exchange", other);
}

/* PATH TARGET...: a link to each in turn; for a moment there is none. */
static void relink(char **paths, size_t count, unsigned long turn)
{
    need_done(unlink(paths[0]), "unlink", paths[0]);
    need_done(symlink(paths[1 + turn % (count - 1)], paths[0]), "symlink", paths[0]);
}

/* PATH MODE...: octal. */
static void change_mode(char **paths, size_t count, unsigned long turn)
{
    need_done(chmod(paths[0], (mode_t)strtoul(paths[1 + turn % (count - 1)], NULL, 8)), "chmod", paths[0]);
}

/* PATH UID... */
static void change_owner(char **paths, size_t count, unsigned long turn)
{
    need_done(chown(paths[0], (uid_t)strtoul(paths[1 + turn % (count - 1)], NULL, 10), (gid_t)-1), "chown",
              paths[0]);
}

/* PATH NAME: the file at PATH has a second name at every other turn. */
static void add_name(char **paths, size_t count, unsigned long turn)
{
    (void)count;
    need_done(turn % 2 ? unlink(paths[1]) : link(paths[0], paths[1]), "link", paths[1]);
}

static size_t read_file(const char *path, char *bytes, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, bytes, size);

    need_done((int)length, "read", path);
    close(fd);
    return (size_t)length;
}

/* PATH FILE...: the bytes of each in turn are written in the place of what is there. */
static void rewrite(char **paths, size_t count, unsigned long turn)
{
    static char bytes[1 << 16];
    size_t length = read_file(paths[1 + turn % (count - 1)], bytes, sizeof bytes);
    int fd = open(paths[0], O_WRONLY | O_TRUNC | O_CLOEXEC);

    need_done(fd, "open", paths[0]);
    if (write(fd, bytes, length) != (ssize_t)length)
        err(1, "write %s", paths[0]);
    close(fd);
}

/* PATH OTHER: OTHER is mounted over the path at every other turn. */
static void overmount(char **paths, size_t count, unsigned long turn)
{
    (void)count;
    need_done(turn % 2 ? umount2(paths[0], MNT_DETACH) : mount(paths[1], paths[0], "", MS_BIND, NULL),
              "mount", paths[0]);
}

/* PATH: a tmpfs that anybody may write is mounted there at every other turn. */
static void overmount_writable(char **paths, size_t count, unsigned long turn)
{
    (void)count;
    need_done(turn % 2 ? umount2(paths[0], MNT_DETACH)
                       : mount("race", paths[0], "tmpfs", 0, "mode=1777,size=64k"),
              "mount", paths[0]);
}

/* PATH OTHER: what is mounted at the path is moved to the other, and back. */
static void move_mount_back_and_forth(char **paths, size_t count, unsigned long turn)
{
    (void)count;
    need_done(mount(paths[turn % 2], paths[!(turn % 2)], "", MS_MOVE, NULL), "move", paths[turn % 2]);
}

static const struct {
    const char *name;
    size_t least;
    swap_function *swap;
} table[] = {
    {"exchange", 2, exchange},
    {"relink", 3, relink},
    {"mode", 3, change_mode},
    {"owner", 3, change_owner},
    {"name", 2, add_name},
    {"rewrite", 3, rewrite},
    {"overmount", 2, overmount},
    {"tmpfs", 1, overmount_writable},
    {"move", 2, move_mount_back_and_forth},
};

static swap_function *swap_named(const char *name, size_t count)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!strcmp(table[i].name, name) && count >= table[i].least)
            return table[i].swap;
    errx(2, "no such swap, or not with so few paths: %s", name);
}

/* ---- Moments ---- */

enum { PHASE_NS = 20000000, LONGEST_PAUSE_NS = 1000000 };

/* For 20 ms as fast as it can, so that two looks at the same name seldom see the same; for the next 20 ms with pauses, in which a launch may
 * go any part of its way. */
static void wait_for_an_odd_moment(uint64_t *state)
{
    struct timespec now, pause = {0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    pause.tv_nsec = (long)(*state % LONGEST_PAUSE_NS);
    if (now.tv_nsec / PHASE_NS % 2)
        nanosleep(&pause, NULL);
}

static volatile sig_atomic_t is_ended;

static void end(int number)
{
    (void)number;
    is_ended = 1;
}

int main(int count, char **arguments)
{
    swap_function *swap = count > 2 ? swap_named(arguments[1], (size_t)count - 2) : NULL;
    const struct sigaction action = {.sa_handler = end};
    uint64_t state = 0x9e3779b97f4a7c15;
    unsigned long turn = 0;

    if (!swap)
        errx(2, "swapper SWAP PATH...");
    sigaction(SIGTERM, &action, NULL);
    puts("ready");
    fflush(stdout);
    /* It ends as it began: after an even number. */
    for (; !is_ended || turn % 2; turn++) {
        swap(arguments + 2, (size_t)count - 2, turn);
        wait_for_an_odd_moment(&state);
    }
    printf("%lu\n", turn);
    return 0;
}
