#include "verdict_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

enum { DIRECTORIES = 16, FILES = 44, LINKS = 16, HARD_LINKS = 5, MOUNTS = 7, MOST_DEPTH_BYTES = 2500 };

/* ---- Random numbers ---- */

size_t roll(struct dice *dice, size_t count)
{
    dice->state ^= dice->state >> 12;
    dice->state ^= dice->state << 25;
    dice->state ^= dice->state >> 27;
    return (size_t)((dice->state * 0x2545f4914f6cdd1dULL) >> 33) % count;
}

bool happens(struct dice *dice, unsigned percent)
{
    return roll(dice, 100) < percent;
}

/* ---- Small things ---- */

static void give_up(const char *what, const char *path)
{
    fprintf(stderr, "verdict_tree: %s %s: %s\n", what, path, strerror(errno));
    exit(1);
}

static void need_done(int result, const char *what, const char *path)
{
    if (result < 0)
        give_up(what, path);
}

static char *add(struct node_list *list, const char *path)
{
    char *copy = strdup(path);

    if (!copy || array_reserve(&list->paths, &list->capacity, list->count, sizeof *list->paths) < 0)
        give_up("memory for", path);
    return list->paths[list->count++] = copy; /* cppcheck-suppress memleak ; the list has it */
}

static const char *any(struct dice *dice, const struct node_list *list)
{
    return list->paths[roll(dice, list->count)];
}

/* A name that is new wherever it is used. */
static void make_name(struct dice *dice, char name[static NAME_MAX + 1])
{
    static const char *const kinds[] = {
        "plain",        "also plain",
        "-leading",     "\xd0\xba\xd0\xb8\xd1\x80\xd0\xb8\xd0\xbb\xd0\xbb\xd0\xb8\xd1\x86\xd0\xb0",
        "quo\"ted",     "back\\slash",
        "${dollar}",    "#hash",
        "tab\t",        "new\nline",
        "\x80\xff",     "no-break\xc2\xa0space",
        "\xe2\x80\x8b", "*",
        "comma,list",   "~",
    };
    static unsigned number;
    size_t length;

    snprintf(name, NAME_MAX + 1, "%s%u", kinds[happens(dice, 60) ? 0 : roll(dice, array_size(kinds))],
             number++);
    length = strlen(name);
    if (happens(dice, 3)) {
        memset(name + length, 'n', NAME_MAX - length);
        name[NAME_MAX] = '\0';
    }
}

static void path_in(struct dice *dice, const char *directory, char path[static PATH_MAX])
{
    char name[NAME_MAX + 1];

    make_name(dice, name);
    snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX / 2 + 1000, directory, name);
}

/* ---- Directories and files ---- */

static void own(const struct tree *tree, struct dice *dice, const char *path)
{
    static const uid_t users[] = {TREE_USER, TREE_USER, TREE_USER, TREE_USER, 0, TREE_STRANGER};
    static const gid_t groups[] = {TREE_GROUP, TREE_SECOND_GROUP, 0, TREE_STRANGER};

    if (tree->is_roots)
        need_done(lchown(path, users[roll(dice, array_size(users))], groups[roll(dice, array_size(groups))]),
                  "chown", path);
}

static void make_directories(struct tree *tree, struct dice *dice)
{
    static const mode_t modes[] = {0755,  0755,  0755, 0777, 0777, 0700, 0700, 0555,
                                   01777, 02775, 0770, 0750, 0111, 0333, 0444, 0};
    char path[PATH_MAX];

    add(&tree->made, tree->top);
    tree->modes = calloc(DIRECTORIES + 1, sizeof *tree->modes);
    if (!tree->modes)
        give_up("memory for", tree->top);
    tree->modes[0] = 0755;
    while (tree->made.count <= DIRECTORIES) {
        size_t among = happens(dice, 50) && tree->made.count > 4 ? 4 : tree->made.count;
        const char *parent = tree->made.paths[roll(dice, among)];

        if (strlen(parent) > MOST_DEPTH_BYTES)
            continue;
        path_in(dice, parent, path);
        need_done(mkdir(path, 0700), "mkdir", path);
        own(tree, dice, path);
        tree->modes[tree->made.count] = modes[roll(dice, array_size(modes))];
        add(&tree->made, path);
    }
}

/* No program, whatever it begins with: execve(2) answers ENOEXEC once it may open it. */
static void make_regular(struct dice *dice, const char *path)
{
    auto_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    static const char garbage[] = "no program\n";

    need_done(fd, "create", path);
    need_done(write_all(fd, garbage, roll(dice, sizeof garbage)), "write", path);
}

/* Through the working directory: the path may be longer than an address holds. Some are left with nobody who listens. */
static void make_socket(struct dice *dice, const char *path)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = strrchr(path, '/') + 1;
    auto_free char *directory = strndup(path, (size_t)(name - path));
    int type = types[roll(dice, array_size(types))], fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    if (!directory)
        give_up("memory for", path);
    if (strlen(name) >= sizeof address.sun_path) {
        close(fd);
        make_regular(dice, path);
        return;
    }
    strcpy(address.sun_path, name);
    need_done(chdir(directory), "chdir", path);
    need_done(bind(fd, (const struct sockaddr *)&address, sizeof address), "bind", path);
    if (type != SOCK_DGRAM)
        need_done(listen(fd, 4000), "listen", path);
    need_done(chdir("/"), "chdir", "/");
    if (happens(dice, 10))
        close(fd);
}

/* Of memory devices, and one that has no driver. */
static bool make_device(struct dice *dice, const char *path)
{
    const dev_t numbers[] = {makedev(1, 3), makedev(1, 3), makedev(1, 5), makedev(1, 7), makedev(253, 250)};

    return mknod(path, S_IFCHR | 0600, numbers[roll(dice, array_size(numbers))]) == 0;
}

static void make_file(struct tree *tree, struct dice *dice, const char *path)
{
    size_t kind = roll(dice, 10);

    if (kind < 2)
        make_socket(dice, path);
    else if (kind < 3)
        need_done(mkfifo(path, 0600), "mkfifo", path);
    else if (kind < 5 && tree->is_roots && make_device(dice, path))
        tree->has_devices = true;
    else
        make_regular(dice, path);
}

static void make_one_file(struct tree *tree, struct dice *dice, const char *directory)
{
    static const mode_t modes[] = {0644, 0666, 0666, 0666, 0755, 0755, 0777, 0777, 0777,
                                   0700, 0600, 0555, 0444, 0222, 0111, 0070, 0007, 0};
    char path[PATH_MAX];

    path_in(dice, directory, path);
    make_file(tree, dice, path);
    own(tree, dice, path);
    need_done(chmod(path, modes[roll(dice, array_size(modes))]), "chmod", path);
    add(&tree->nodes[NODE_REGULAR], path);
}

/* ---- Links ---- */

/* From one directory to a file, both below the top: up to the top, and down again. */
static char *relative(const struct tree *tree, const char *directory, const char *target)
{
    char *text = calloc(2, PATH_MAX);

    if (!text)
        give_up("memory for", target);
    for (const char *at = directory + strlen(tree->top); *at; at++)
        if (*at == '/')
            strcat(text, "../");
    strcat(text, target[strlen(tree->top)] ? target + strlen(tree->top) + 1 : ".");
    return text;
}

/* To what is there, links among it, or to nothing, or to itself. */
static void make_link(struct tree *tree, struct dice *dice)
{
    const char *directory = any(dice, &tree->made);
    const char *target = happens(dice, 50) ? any(dice, &tree->made) : any(dice, &tree->nodes[NODE_REGULAR]);
    auto_free char *text = relative(tree, directory, target);
    char path[PATH_MAX];

    path_in(dice, directory, path);
    if (happens(dice, 8))
        need_done(symlink("missing/away", path), "symlink", path);
    else if (happens(dice, 8))
        need_done(symlink(strrchr(path, '/') + 1, path), "symlink", path);
    else if (happens(dice, 50) && strlen(target) < PATH_MAX)
        need_done(symlink(target, path), "symlink", path);
    else
        need_done(symlink(text, path), "symlink", path);
    add(&tree->nodes[NODE_REGULAR], path);
}

static void make_hard_link(struct tree *tree, struct dice *dice)
{
    char path[PATH_MAX];

    path_in(dice, any(dice, &tree->made), path);
    need_done(linkat(AT_FDCWD, any(dice, &tree->nodes[NODE_REGULAR]), AT_FDCWD, path, 0), "link", path);
}

/* ---- Mounts ---- */

static unsigned long any_flags(struct dice *dice)
{
    static const unsigned long flags[] = {
        0, 0, MS_RDONLY, MS_RDONLY, MS_NOEXEC, MS_NODEV, MS_RDONLY | MS_NOEXEC, MS_NODEV | MS_NOEXEC};

    return flags[roll(dice, array_size(flags))];
}

/* A file system of its own over a directory, with a few files. */
static void mount_empty(struct tree *tree, struct dice *dice, const char *at)
{
    char path[PATH_MAX];

    if (mount("none", at, "tmpfs", any_flags(dice) & ~MS_RDONLY, "mode=755,size=1m") < 0)
        return;
    own(tree, dice, at);
    for (int i = 0; i < 4; i++)
        make_one_file(tree, dice, at);
    path_in(dice, at, path);
    need_done(mkdir(path, 0755), "mkdir", path);
    own(tree, dice, path);
    add(&tree->made, path);
}

/* A directory at a second place, or a file over a file; in the latest mounts, too. */
static void mount_again(struct tree *tree, struct dice *dice, const char *from, const char *at)
{
    unsigned long flags = any_flags(dice);

    if (mount(from, at, NULL, MS_BIND | (happens(dice, 50) ? MS_REC : 0), NULL) == 0 &&
        mount(NULL, at, NULL, MS_BIND | MS_REMOUNT | flags, NULL) == 0)
        tree->has_read_only |= flags & MS_RDONLY;
}

static bool are_files(const char *from, const char *at)
{
    struct stat one, other;

    return lstat(from, &one) == 0 && lstat(at, &other) == 0 && !S_ISDIR(one.st_mode) &&
           !S_ISLNK(one.st_mode) && !S_ISDIR(other.st_mode) && !S_ISLNK(other.st_mode);
}

static bool is_there(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0;
}

static void make_mount(struct tree *tree, struct dice *dice)
{
    size_t kind = roll(dice, 10);
    const char *at = any(dice, &tree->made), *from = any(dice, &tree->made);

    if (kind < 3) {
        at = any(dice, &tree->nodes[NODE_REGULAR]);
        from = any(dice, &tree->nodes[NODE_REGULAR]);
        if (are_files(from, at))
            mount_again(tree, dice, from, at);
    } else if (!strcmp(at, tree->top) || !is_there(at) || !is_there(from)) {
        return; /* beneath another mount */
    } else if (kind < 5) {
        mount_empty(tree, dice, at);
    } else {
        mount_again(tree, dice, from, at);
    }
}

static bool may_mount(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* ---- The whole ---- */

static struct tree *collecting;

static int collect(const char *path, const struct stat *status, int flag, struct FTW *place)
{
    enum node_kind kind = NODE_NOTHING;
    struct stat led_to;

    (void)status;
    (void)flag;
    (void)place;
    if (strlen(path) > PATH_MAX - 600)
        return 0;
    if (stat(path, &led_to) == 0)
        kind = S_ISDIR(led_to.st_mode)    ? NODE_DIRECTORY
               : S_ISREG(led_to.st_mode)  ? NODE_REGULAR
               : S_ISFIFO(led_to.st_mode) ? NODE_FIFO
               : S_ISSOCK(led_to.st_mode) ? NODE_SOCKET
                                          : NODE_DEVICE;
    add(&collecting->nodes[kind], path);
    return 0;
}

static void collect_all(struct tree *tree)
{
    for (int kind = 0; kind < NODE_KINDS; kind++)
        tree->nodes[kind].count = 0; /* what was noted on the way */
    collecting = tree;
    need_done(nftw(tree->top, collect, 32, FTW_PHYS), "list", tree->top);
}

/* From the last to the first: one that may not be searched would hide those in it. */
static void set_modes(const struct tree *tree)
{
    for (size_t i = DIRECTORIES + 1; i-- > 0;)
        need_done(chmod(tree->made.paths[i], tree->modes[i]), "chmod", tree->made.paths[i]);
}

void tree_make(struct tree *tree, struct dice *dice)
{
    umask(0);
    make_directories(tree, dice);
    for (int i = 0; i < FILES; i++)
        make_one_file(tree, dice, any(dice, &tree->made));
    for (int i = 0; i < HARD_LINKS; i++)
        make_hard_link(tree, dice);
    for (int i = 0; i < LINKS; i++)
        make_link(tree, dice);
    if (!tree->is_roots) {
        collect_all(tree);
        set_modes(tree);
        return;
    }
    set_modes(tree);
    if (may_mount())
        for (int i = 0; i < MOUNTS; i++)
            make_mount(tree, dice);
    collect_all(tree);
}

static void remove_in(int folder, const char *name)
{
    int fd;
    DIR *entries;
    struct dirent *entry;

    if (unlinkat(folder, name, 0) == 0)
        return;
    if (fchmodat(folder, name, 0700, 0) < 0)
        return;
    fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    entries = fd < 0 ? NULL : fdopendir(fd);
    while (entries && (entry = readdir(entries)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_in(fd, entry->d_name);
    if (entries)
        closedir(entries);
    unlinkat(folder, name, AT_REMOVEDIR);
}

void tree_remove(const char *path)
{
    remove_in(AT_FDCWD, path);
}
