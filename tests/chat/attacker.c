/*
 * What code in a chat does to its directory, as fast as it can, until it is told to end (SIGTERM):
 *
 *     attacker swap FOLDER NAME STASH SECRET OUTSIDE    FOLDER/NAME is a file of As, one of Bs, a link to SECRET or OUTSIDE, a FIFO, a
 *                                                       socket, a folder, a file with another name OUTSIDE, a huge one, and nothing
 *     attacker folder FOLDER NAME STASH OUTSIDE         FOLDER/NAME is a folder, a link to the folder OUTSIDE, a file, and nothing
 *     attacker temporary FOLDER SECRET OUTSIDE          files that have a name for a moment are replaced by links, linked and removed
 *     attacker link FILE NAME                           NAME is another name of FILE for a moment, over and over
 *     attacker foreign FOLDER NAME OTHER                the folder FOLDER/OTHER, which is another user's, comes to NAME and goes back
 *     attacker mount FOLDER NAME FILE SUBFOLDER         FILE is mounted on FOLDER/NAME, a file system on FOLDER/SUBFOLDER (root)
 *
 * It says "ready", and how often it did so.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { A_SIZE = 200000, B_SIZE = 300000, PATH_SIZE = 4096 };

static volatile sig_atomic_t is_over;

static void end(int signal)
{
    (void)signal;
    is_over = 1;
}

/* ---- Kinds of things: each is made at a path where nothing is ---- */

static void make_letters(const char *path, char letter, size_t size)
{
    static char letters[B_SIZE];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    memset(letters, letter, size);
    if (fd < 0)
        return; /* another one was faster */
    if (write(fd, letters, size) < 0)
        warn("%s", path);
    close(fd);
}

static void make_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (strlen(path) >= sizeof address.sun_path)
        errx(1, "%s: too long for a socket", path);
    strcpy(address.sun_path, path);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 && errno != EADDRINUSE)
        warn("%s", path);
    close(fd);
}

static void make_huge(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return;
    if (ftruncate(fd, (off_t)1 << 40) < 0)
        warn("%s", path);
    close(fd);
}

/* `link` and `file` return what there is nothing to be done about: another one was faster. */
#define try_to(call)   \
    do {               \
        if (call)      \
            errno = 0; \
    } while (0)

static void make_kind(unsigned kind, const char *path, char **targets)
{
    switch (kind) {
    case 0:
        make_letters(path, 'A', A_SIZE);
        break;
    case 1:
        make_letters(path, 'B', B_SIZE);
        break;
    case 2:
        try_to(symlink(targets[0], path));
        break;
    case 3:
        try_to(symlink(targets[1], path));
        break;
    case 4:
        try_to(mkfifo(path, 0600));
        break;
    case 5:
        make_socket(path);
        break;
    case 6:
        try_to(mkdir(path, 0700));
        break;
    case 7:
        try_to(link(targets[1], path));
        break;
    case 8:
        make_huge(path);
        break;
    default: /* nothing */
        break;
    }
}

/* ---- The attacks: each is made once ---- */

static void replace(const char *made, const char *path)
{
    if (rename(made, path) == 0)
        return;
    if (unlink(path) < 0)
        try_to(rmdir(path));
    if (rename(made, path) < 0 && unlink(made) < 0) /* a command was faster */
        try_to(rmdir(made));
}

static void swap(char **words, unsigned turn)
{
    enum { KINDS = 10 };
    char made[PATH_SIZE], path[PATH_SIZE];
    unsigned kind = (unsigned)random() % KINDS;

    snprintf(made, sizeof made, "%s/%u.%d", words[2], turn % 8, getpid());
    snprintf(path, sizeof path, "%s/%s", words[0], words[1]);
    make_kind(kind, made, words + 3);
    if (kind + 1 < KINDS)
        replace(made, path);
    else if (unlink(path) < 0)
        try_to(rmdir(path));
}

static void swap_folder(char **words, unsigned turn)
{
    enum { KINDS = 4 };
    char made[PATH_SIZE], path[PATH_SIZE];
    unsigned kind = (unsigned)random() % KINDS;

    snprintf(made, sizeof made, "%s/%u.%d", words[2], turn, getpid());
    snprintf(path, sizeof path, "%s/%s", words[0], words[1]);
    try_to(rename(path, made)); /* with what is in it */
    if (kind == 0)
        try_to(mkdir(path, 0700));
    else if (kind == 1)
        try_to(symlink(words[3], path));
    else if (kind == 2)
        make_letters(path, 'A', 1);
}

static void attack_temporary(const char *folder, const char *name, char **targets)
{
    char path[PATH_SIZE];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    switch (random() % 4) {
    case 0:
        try_to(unlink(path) || symlink(targets[0], path));
        break;
    case 1:
        try_to(unlink(path) || symlink(targets[1], path));
        break;
    case 2:
        try_to(unlink(path));
        break;
    default:
        try_to(rename(
            path, targets[1])); /* out of the chat, over what is another's: it belongs to the attacker, too */
        break;
    }
}

static void search_temporary(char **words, unsigned turn)
{
    DIR *stream = opendir(words[0]);
    const struct dirent *entry;

    (void)turn;
    while (stream && (entry = readdir(stream)))
        if (entry->d_name[0] == '\001')
            attack_temporary(words[0], entry->d_name, words + 1);
    if (stream)
        closedir(stream);
}

static void link_for_a_moment(char **words, unsigned turn)
{
    (void)turn;
    try_to(link(words[0], words[1]));
    try_to(unlink(words[1]));
}

static void move_foreign(char **words, unsigned turn)
{
    char path[PATH_SIZE], other[PATH_SIZE];

    (void)turn;
    snprintf(path, sizeof path, "%s/%s", words[0], words[1]);
    snprintf(other, sizeof other, "%s/%s", words[0], words[2]);
    try_to(renameat2(AT_FDCWD, other, AT_FDCWD, path, RENAME_NOREPLACE));
    try_to(renameat2(AT_FDCWD, other, AT_FDCWD, path, RENAME_EXCHANGE));
    try_to(renameat2(AT_FDCWD, path, AT_FDCWD, other, RENAME_NOREPLACE));
}

static void mount_over(char **words, unsigned turn)
{
    char path[PATH_SIZE], folder[PATH_SIZE];

    snprintf(path, sizeof path, "%s/%s", words[0], words[1]);
    snprintf(folder, sizeof folder, "%s/%s", words[0], words[3]);
    if (mount(words[2], path, NULL, MS_BIND, NULL) < 0 || mount("none", folder, "tmpfs", 0, "size=1m") < 0)
        err(1, "mount");
    usleep(turn % 8 * 250);
    if (umount2(path, MNT_DETACH) < 0 || umount2(folder, MNT_DETACH) < 0)
        err(1, "umount2");
    usleep(turn % 5 * 250);
}

/* ---- The loop ---- */

static const struct {
    const char *name;
    int words;
    void (*attack)(char **words, unsigned turn);
} attacks[] = {{"swap", 5, swap},
               {"folder", 4, swap_folder},
               {"temporary", 3, search_temporary},
               {"link", 2, link_for_a_moment},
               {"foreign", 3, move_foreign},
               {"mount", 4, mount_over}};

int main(int count, char **arguments)
{
    const struct sigaction action = {.sa_handler = end};
    unsigned turn = 0;

    for (size_t i = 0; count > 1 && i < sizeof attacks / sizeof attacks[0]; i++) {
        if (strcmp(arguments[1], attacks[i].name) != 0 || count - 2 != attacks[i].words)
            continue;
        sigaction(SIGTERM, &action, NULL);
        srandom((unsigned)getpid());
        puts("ready");
        fflush(stdout);
        while (!is_over)
            attacks[i].attack(arguments + 2, turn++);
        printf("%u\n", turn);
        return 0;
    }
    errx(2, "usage: attacker ATTACK WORD...");
}
