#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

struct tree *seen_tree;

/* Those of the present tree: too many to be made anew for each. */
static struct open_file open_files[MOST_OPEN];

/* ---- What is where ---- */

bool is_directory(const struct tree *tree, int node)
{
    return S_ISDIR(tree->nodes[node].mode);
}

bool is_link(const struct tree *tree, int node)
{
    return S_ISLNK(tree->nodes[node].mode);
}

bool is_below_node(const struct tree *tree, int node, int top)
{
    while (node != top && node != NONE)
        node = tree->nodes[node].parent;
    return node == top;
}

/* Moves from a mount point into what is mounted there last. */
static struct position cross(const struct tree *tree, struct position at)
{
    for (int i = tree->mount_count - 1; i > 0; i--)
        if (tree->mounts[i].parent == at.mount && tree->mounts[i].point == at.node) {
            at = (struct position){i, tree->mounts[i].root};
            i = tree->mount_count;
        }
    return at;
}

static int named(const struct tree *tree, int parent, const char *name, size_t length)
{
    for (int i = 0; i < tree->node_count; i++)
        if (tree->nodes[i].parent == parent && !tree->nodes[i].is_gone &&
            strlen(tree->nodes[i].name) == length && !memcmp(tree->nodes[i].name, name, length))
            return i;
    return NONE;
}

bool find_child(const struct tree *tree, struct position *at, const char *name, size_t length)
{
    int child = named(tree, at->node, name, length);

    if (child == NONE)
        return false;
    *at = cross(tree, (struct position){at->mount, child});
    return true;
}

struct position parent_of(const struct tree *tree, struct position at)
{
    struct position up = at;

    while (up.mount && up.node == tree->mounts[up.mount].root)
        up = (struct position){tree->mounts[up.mount].parent, tree->mounts[up.mount].point};
    if (up.node == tree->mounts[up.mount].root || tree->nodes[up.node].parent == NONE)
        return up;
    return cross(tree, (struct position){up.mount, tree->nodes[up.node].parent});
}

struct position root_of(const struct tree *tree)
{
    return (struct position){0, tree->mounts[0].root};
}

static bool is_covered(const struct tree *tree, struct position at)
{
    for (int i = 1; i < tree->mount_count; i++)
        if (tree->mounts[i].parent == at.mount && tree->mounts[i].point == at.node)
            return true;
    return false;
}

/* Whether paths come to a position, or to what is mounted on it. */
static bool is_reached(const struct tree *tree, struct position at)
{
    const struct mounted *mounted = &tree->mounts[at.mount];

    while (at.node != mounted->root) {
        at.node = tree->nodes[at.node].parent;
        if (at.node == NONE || is_covered(tree, at))
            return false;
    }
    return !at.mount || is_reached(tree, (struct position){mounted->parent, mounted->point});
}

bool is_visible(const struct tree *tree, struct position at)
{
    return is_reached(tree, at) && !is_covered(tree, at);
}

/* Puts "/NAME" for each directory from below `top` down to the node. */
static void put_path(FILE *out, const struct tree *tree, int node, int top)
{
    if (node == top || tree->nodes[node].parent == NONE)
        return;
    put_path(out, tree, tree->nodes[node].parent, top);
    fprintf(out, "/%s", tree->nodes[node].name);
}

static void put_position(FILE *out, const struct tree *tree, struct position at)
{
    const struct mounted *mounted = &tree->mounts[at.mount];

    if (at.mount)
        put_position(out, tree, (struct position){mounted->parent, mounted->point});
    put_path(out, tree, at.node, mounted->root);
}

static FILE *open_text(char **text, size_t *size)
{
    FILE *out = open_memstream(text, size);

    if (!out)
        abort();
    return out;
}

char *path_of(const struct tree *tree, struct position at)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_text(&text, &size);

    put_position(out, tree, at);
    if (!ftell(out))
        putc('/', out);
    fclose(out);
    return text;
}

static const struct {
    const char *text;
    bool maps_overflow; /* and so UID 65534 is a user of its own */
} user_maps[] = {{"         0          0 4294967295\n", true},
                 {"         0     100000      65536\n", true},
                 {"         0       1000          1\n", false},
                 {"      1000       1000          1\n", false},
                 {"0 1000 1\n1 100000 65533\n65535 200000 10\n", false}};

bool is_trusted_node(const struct tree *tree, int node)
{
    uid_t uid = tree->nodes[node].uid;
    bool is_roots = uid == ROOT_UID || (uid == OVERFLOW_UID && !user_maps[tree->user_map].maps_overflow);

    return is_roots && !(tree->nodes[node].mode & 022);
}

/* ---- Making one ---- */

#define NAME_51 "a-name-of-fifty-one-bytes--------------------------"
static const char *const names[] = {
    "a", "b", "c", "d", "x y", "back\\slash", "new\nline", NAME_51 NAME_51 NAME_51 NAME_51 NAME_51};
static const char *const components[] = {"a",         "b",  "c", "d",     "x y", "back\\slash",
                                         "new\nline", "..", ".", "../..", "/",   "a/../b"};

/* Mostly the plain ones. */
static const char *some_name(struct choices *choices)
{
    unsigned choice = choose(choices, 64);

    return names[choice < array_size(names) ? choice : choice % 4];
}

static char *some_target(struct choices *choices)
{
    unsigned flags = choose(choices, 256), count = flags & 7,
             times = flags >> 5 == 7 ? 1 + choose(choices, 255) : 1;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_text(&text, &size);

    if (flags & 8)
        putc('/', out);
    for (unsigned i = 0; i < count; i++) {
        const char *component = components[choose(choices, array_size(components))];

        for (unsigned k = 0; k < times && ftell(out) + (long)strlen(component) + 3 < PATH_MAX; k++)
            fprintf(out, "%s%s", i + k ? "/" : "", component);
    }
    if (flags & 16 || !ftell(out))
        putc('/', out);
    fclose(out);
    return text;
}

static int add_node(struct tree *tree, struct node node)
{
    if (tree->node_count == MOST_NODES) {
        free(node.target);
        return NONE;
    }
    tree->nodes[tree->node_count] = node;
    return tree->node_count++;
}

static int some_directory(const struct tree *tree, struct choices *choices)
{
    int node = (int)choose(choices, (unsigned)tree->node_count);

    while (!is_directory(tree, node))
        node--; /* the first is one */
    return node;
}

/* Owner and mode of a directory; mostly such that links in it are followed. */
static void set_rights(struct node *node, unsigned choice)
{
    static const mode_t modes[] = {0755, 0755, 0700, 02755, 0775, 01777, 0757, 0770};
    static const uid_t owners[] = {ROOT_UID, ROOT_UID, OVERFLOW_UID, USER_UID};
    bool is_plain = choice >= array_size(modes) * array_size(owners);

    node->mode = S_IFDIR | (is_plain ? 0755 : modes[choice % array_size(modes)]);
    node->uid = is_plain ? ROOT_UID : owners[choice / array_size(modes)];
}

static void make_node(struct tree *tree, struct choices *choices)
{
    unsigned kind = choose(choices, 16);
    struct node node = {.name = NULL};

    set_rights(&node, choose(choices, 128));
    node.name = some_name(choices);
    node.parent = some_directory(tree, choices);
    node.device = tree->nodes[node.parent].device;
    if (kind == 0) {
        node.parent = NONE;
        node.device = (unsigned)tree->node_count;
    } else if (named(tree, node.parent, node.name, strlen(node.name)) != NONE) {
        return;
    } else if (kind == 1) {
        node.mode = S_IFREG | 0644;
    } else if (kind < 7) {
        node.mode = S_IFLNK | 0777;
        node.target = some_target(choices);
    }
    add_node(tree, node);
}

static void make_mount(struct tree *tree, struct choices *choices)
{
    int root = (int)choose(choices, (unsigned)tree->node_count),
        parent = (int)choose(choices, (unsigned)tree->mount_count);
    struct position point = {parent, (int)choose(choices, (unsigned)tree->node_count)};

    if (is_link(tree, root) || is_link(tree, point.node) ||
        is_directory(tree, root) != is_directory(tree, point.node) ||
        !is_below_node(tree, point.node, tree->mounts[parent].root))
        return;
    point = cross(tree, point);
    if (!point.mount && point.node == tree->mounts[0].root)
        return;
    tree->mounts[tree->mount_count++] = (struct mounted){root, point.mount, point.node};
}

static void make_change(struct tree *tree, struct choices *choices)
{
    struct change *change = &tree->changes[tree->change_count++];

    change->before_call = 1 + choose(choices, 64);
    change->one = (int)choose(choices, (unsigned)tree->node_count);
    change->other = (int)choose(choices, (unsigned)tree->node_count);
    if (change->one == change->other) {
        change->other = NONE;
        change->target = some_target(choices);
    }
}

void make_tree(struct tree *tree, struct choices *choices)
{
    static const int faults[] = {EIO, EMFILE, ENOMEM, EACCES};
    unsigned flags = choose(choices, 256), nodes = choose(choices, MOST_NODES - MOST_CHANGES),
             mounts = choose(choices, MOST_MOUNTS), rights;

    *tree = (struct tree){.mount_count = 1,
                          .has_openat2 = flags & 1,
                          .lists_root = (flags & 6) != 6,
                          .shifts_devices = flags & 8,
                          .user_map = (flags >> 4 & 7) % array_size(user_maps)};
    rights = choose(choices, 32);
    add_node(tree, (struct node){.parent = NONE,
                                 .name = "",
                                 .uid = rights == 31 ? USER_UID : ROOT_UID,
                                 .mode = S_IFDIR | (rights == 30 ? 01777 : 0755)});
    tree->mounts[0] = (struct mounted){0, NONE, NONE};
    for (unsigned i = 0; i < nodes && choices->size; i++)
        make_node(tree, choices);
    for (unsigned i = 1; i < mounts; i++)
        make_mount(tree, choices);
    if (choose(choices, 4) != 1)
        return;
    for (unsigned i = choose(choices, MOST_CHANGES + 1); i; i--)
        make_change(tree, choices);
    tree->fault_at = choose(choices, 64);
    tree->fault = faults[choose(choices, array_size(faults))];
}

void free_tree(struct tree *tree)
{
    for (int i = 0; i < tree->node_count; i++)
        free(tree->nodes[i].target);
    for (unsigned i = 0; i < tree->change_count; i++)
        free(tree->changes[i].target);
    free(tree->mountinfo);
}

void describe_tree(FILE *out, const struct tree *tree)
{
    fprintf(out, "openat2 %d, lists the root %d, uid_map %s", tree->has_openat2, tree->lists_root,
            user_maps[tree->user_map].text);
    for (int i = 0; i < tree->node_count; i++) {
        const struct node *node = &tree->nodes[i];

        fprintf(out, "%2d: device %u, ", i, node->device);
        put_path(out, tree, i, NONE);
        fprintf(out, " mode %o uid %u%s%s%s\n", node->mode, node->uid, node->target ? " -> " : "",
                node->target ? node->target : "", node->is_gone ? " (gone)" : "");
    }
    for (int i = 0; i < tree->mount_count; i++) {
        char *point = path_of(tree, (struct position){i, tree->mounts[i].root});

        fprintf(out, "mount %d: node %d at %s (of mount %d)\n", i, tree->mounts[i].root, point,
                tree->mounts[i].parent);
        free(point);
    }
    for (unsigned i = 0; i < tree->change_count; i++)
        fprintf(out, "before call %u: exchange %d and %d%s%s\n", tree->changes[i].before_call,
                tree->changes[i].one, tree->changes[i].other, tree->changes[i].target ? ", a link to " : "",
                tree->changes[i].target ? tree->changes[i].target : "");
    if (tree->fault_at)
        fprintf(out, "call %u fails: %s\n", tree->fault_at, strerror(tree->fault));
}

/* ---- The attacker ---- */

/* Whether he may change the names in the directory that holds a file. */
static bool is_his(const struct tree *tree, int node)
{
    const struct node *parent =
        tree->nodes[node].parent == NONE ? NULL : &tree->nodes[tree->nodes[node].parent];

    return parent && !tree->nodes[node].is_gone && (parent->uid == USER_UID || parent->mode & 022);
}

static bool is_mount_point(const struct tree *tree, int node)
{
    for (int i = 1; i < tree->mount_count; i++)
        if (tree->mounts[i].point == node)
            return true;
    return false;
}

static void exchange(struct tree *tree, struct node *one, struct node *other)
{
    struct node copy = *one;

    if (one->device != other->device ||
        is_below_node(tree, (int)(one - tree->nodes), (int)(other - tree->nodes)) ||
        is_below_node(tree, (int)(other - tree->nodes), (int)(one - tree->nodes)))
        return;
    one->parent = other->parent;
    one->name = other->name;
    other->parent = copy.parent;
    other->name = copy.name;
}

static void attack(struct tree *tree, struct change *change)
{
    struct node *one = &tree->nodes[change->one];
    struct node link = {.parent = one->parent,
                        .device = one->device,
                        .name = one->name,
                        .uid = USER_UID,
                        .mode = S_IFLNK | 0777};

    if (!is_his(tree, change->one) || is_mount_point(tree, change->one))
        return;
    if (change->other != NONE) {
        if (is_his(tree, change->other) && !is_mount_point(tree, change->other))
            exchange(tree, one, &tree->nodes[change->other]);
        return;
    }
    one->is_gone = true;
    link.target = change->target;
    change->target = NULL;
    add_node(tree, link);
}

/* ---- System calls ---- */

/* What happens before each. False: it fails, with errno. */
static bool begin_call(struct tree *tree)
{
    tree->calls++;
    for (unsigned i = 0; i < tree->change_count; i++)
        if (tree->changes[i].before_call == tree->calls)
            attack(tree, &tree->changes[i]);
    errno = tree->fault;
    return tree->fault_at != tree->calls;
}

static struct open_file *file_of(const struct tree *tree, int fd)
{
    struct open_file *file = &open_files[fd - FIRST_DESCRIPTOR];

    promise(fd >= FIRST_DESCRIPTOR && fd < FIRST_DESCRIPTOR + tree->open_count,
            "descriptor %d was never open", fd);
    promise(file->is_open, "descriptor %d is closed", fd - FIRST_DESCRIPTOR);
    return file;
}

static int open_new(struct tree *tree, struct open_file file)
{
    if (tree->open_count == MOST_OPEN) { /* as if the input had asked for it */
        tree->fault_at = tree->calls;
        tree->fault = errno = EMFILE;
        return -1;
    }
    file.is_open = true;
    open_files[tree->open_count] = file;
    return FIRST_DESCRIPTOR + tree->open_count++;
}

static int fail(int error)
{
    errno = error;
    return -1;
}

struct position position_of_fd(const struct tree *tree, int fd)
{
    return file_of(tree, fd)->at;
}

unsigned count_open(const struct tree *tree)
{
    unsigned count = 0;

    for (int i = 0; i < tree->open_count; i++)
        count += open_files[i].is_open;
    return count;
}

/* File systems that tell other devices than mountinfo have no major number. */
static unsigned major_of(const struct tree *tree)
{
    return tree->shifts_devices ? 0 : 8;
}

static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        fprintf(out, strchr(" \t\n\\", *text) ? "\\%03o" : "%c", (unsigned char)*text);
}

static const char *mountinfo_of(struct tree *tree)
{
    size_t size = 0;
    FILE *out;

    free(tree->mountinfo);
    tree->mountinfo = NULL;
    out = open_text(&tree->mountinfo, &size);
    for (int i = tree->lists_root ? 0 : 1; i < tree->mount_count; i++) {
        const struct mounted *mounted = &tree->mounts[i];
        char *point = path_of(tree, (struct position){i, mounted->root}), *root = NULL;
        FILE *in;

        in = open_text(&root, &size);
        put_path(in, tree, mounted->root, NONE);
        fclose(in);
        fprintf(out, "%d %d %u:%u ", FIRST_MOUNT_ID + i, i ? FIRST_MOUNT_ID + mounted->parent : 1,
                major_of(tree), tree->nodes[mounted->root].device + (tree->shifts_devices ? 100 : 0));
        put_escaped(out, root[0] ? root : "/");
        putc(' ', out);
        put_escaped(out, point);
        fputs(" rw,relatime - ext4 /dev/sda rw\n", out);
        free(point);
        free(root);
    }
    fclose(out);
    return tree->mountinfo;
}

static int open_proc_file(struct tree *tree, const char *path, int flags)
{
    struct open_file file = {.at = {NONE, NONE}, .through = NONE};

    promise((flags & O_ACCMODE) == O_RDONLY && flags & O_CLOEXEC, "flags %o", flags);
    if (!strcmp(path, "/proc/self/mountinfo"))
        file.text = mountinfo_of(tree);
    else if (!strcmp(path, "/proc/sys/kernel/overflowuid"))
        file.text = "65534\n";
    else if (!strcmp(path, "/proc/self/uid_map"))
        file.text = user_maps[tree->user_map].text;
    promise(file.text, "%s is opened", path);
    return open_new(tree, file);
}

static int open_component(struct tree *tree, int directory, const char *name, int flags)
{
    struct position at;

    promise(flags & O_PATH && flags & O_CLOEXEC, "flags %o", flags);
    if (!strcmp(name, "/"))
        return open_new(tree, (struct open_file){.at = root_of(tree), .through = NONE});
    promise(!strchr(name, '/') && name[0], "%s is opened, and not a component", name);
    at = file_of(tree, directory)->at;
    if (!is_directory(tree, at.node))
        return fail(ENOTDIR);
    if (strlen(name) > NAME_MAX)
        return fail(ENAMETOOLONG);
    if (!strcmp(name, ".."))
        at = parent_of(tree, at);
    else if (!find_child(tree, &at, name, strlen(name)))
        return fail(ENOENT);
    promise(!is_link(tree, at.node) || flags & O_NOFOLLOW, "the kernel is to follow the link %s", name);
    if (flags & O_DIRECTORY && !is_directory(tree, at.node))
        return fail(ENOTDIR);
    return open_new(tree, (struct open_file){.at = at, .through = directory});
}

/* A whole path, without following any link. */
static int open_path(struct tree *tree, const char *path, const struct open_how *how)
{
    struct position at = root_of(tree);

    if (!tree->has_openat2)
        return fail(ENOSYS);
    promise(path[0] == '/' && how->resolve == RESOLVE_NO_SYMLINKS && how->flags == (O_PATH | O_CLOEXEC) &&
                !how->mode,
            "openat2 of %s", path);
    while (*(path += strspn(path, "/"))) {
        size_t length = strcspn(path, "/");

        if (!is_directory(tree, at.node))
            return fail(ENOTDIR);
        if (length > NAME_MAX)
            return fail(ENAMETOOLONG);
        if (!find_child(tree, &at, path, length))
            return fail(ENOENT);
        if (is_link(tree, at.node))
            return fail(ELOOP);
        path += length;
    }
    return open_new(tree, (struct open_file){.at = at, .through = NONE});
}

static int stat_file(const struct tree *tree, int fd, struct statx *status)
{
    struct position at = file_of(tree, fd)->at;
    const struct node *node = &tree->nodes[at.node];

    *status =
        (struct statx){.stx_mask = STATX_BASIC_STATS | STATX_MNT_ID,
                       .stx_attributes_mask = STATX_ATTR_MOUNT_ROOT,
                       .stx_attributes = at.node == tree->mounts[at.mount].root ? STATX_ATTR_MOUNT_ROOT : 0,
                       .stx_nlink = 1,
                       .stx_uid = node->uid,
                       .stx_mode = (uint16_t)node->mode,
                       .stx_ino = (uint64_t)at.node + 1000,
                       .stx_dev_major = major_of(tree),
                       .stx_dev_minor = node->device,
                       .stx_mnt_id = (uint64_t)(at.mount + FIRST_MOUNT_ID)};
    return 0;
}

/* The target of a link may only be asked for where every directory on the way to it is trusted. */
static ssize_t read_link(struct tree *tree, int fd, char *out, size_t size)
{
    const struct open_file *file = file_of(tree, fd);
    const struct node *node = &tree->nodes[file->at.node];
    size_t length;

    promise(node->target && file->through != NONE, "descriptor %d is no link", fd);
    for (int directory = file->through; directory != NONE;) {
        const struct open_file *opened = &open_files[directory - FIRST_DESCRIPTOR];

        promise(is_trusted_node(tree, opened->at.node), "a link is followed by way of node %d",
                opened->at.node);
        directory = opened->through;
    }
    promise(tree->link_count < MOST_FOLLOWED, "%u links", tree->link_count);
    tree->links[tree->link_count++] =
        (struct read_link){file->at.node, open_files[file->through - FIRST_DESCRIPTOR].at.node};
    length = strlen(node->target);
    length = length < size ? length : size;
    memcpy(out, node->target, length);
    return (ssize_t)length;
}

int __real_openat(int directory, const char *path, int flags, ...);
int __real_fstat(int fd, struct stat *status);
ssize_t __real_readlinkat(int directory, const char *path, char *out, size_t size);
ssize_t __real_read(int fd, void *out, size_t size);
int __real_close(int fd);
int __wrap_openat(int directory, const char *path, int flags, ...);
int __wrap_fstat(int fd, struct stat *status);
ssize_t __wrap_readlinkat(int directory, const char *path, char *out, size_t size);
ssize_t __wrap_read(int fd, void *out, size_t size);
int __wrap_close(int fd);
long __wrap_syscall(long number, ...);

int __wrap_openat(int directory, const char *path, int flags, ...)
{
    if (!seen_tree)
        return __real_openat(directory, path, flags);
    if (!begin_call(seen_tree))
        return -1;
    if (!strncmp(path, "/proc/", strlen("/proc/")))
        return open_proc_file(seen_tree, path, flags);
    return open_component(seen_tree, directory, path, flags);
}

int __wrap_fstat(int fd, struct stat *status)
{
    struct statx all;

    if (!seen_tree)
        return __real_fstat(fd, status);
    if (!begin_call(seen_tree))
        return -1;
    stat_file(seen_tree, fd, &all);
    *status = (struct stat){.st_mode = all.stx_mode,
                            .st_uid = all.stx_uid,
                            .st_ino = all.stx_ino,
                            .st_dev = makedev(all.stx_dev_major, all.stx_dev_minor)};
    return 0;
}

ssize_t __wrap_readlinkat(int directory, const char *path, char *out, size_t size)
{
    if (!seen_tree)
        return __real_readlinkat(directory, path, out, size);
    promise(!path[0], "readlinkat of %s", path);
    return begin_call(seen_tree) ? read_link(seen_tree, directory, out, size) : -1;
}

ssize_t __wrap_read(int fd, void *out, size_t size)
{
    enum { AT_ONCE = 512 };
    struct open_file *file;
    size_t left;

    if (!seen_tree || fd < FIRST_DESCRIPTOR)
        return __real_read(fd, out, size);
    if (!begin_call(seen_tree))
        return -1;
    file = file_of(seen_tree, fd);
    promise(file->text, "descriptor %d is read", fd);
    left = strlen(file->text + file->offset);
    left = left < size ? left : size;
    left = left < AT_ONCE ? left : AT_ONCE;
    memcpy(out, file->text + file->offset, left);
    file->offset += left;
    return (ssize_t)left;
}

int __wrap_close(int fd)
{
    if (!seen_tree || fd < FIRST_DESCRIPTOR)
        return __real_close(fd);
    file_of(seen_tree, fd)->is_open = false;
    return 0;
}

long __wrap_syscall(long number, ...)
{
    long words[5];
    va_list arguments;

    va_start(arguments, number);
    for (size_t i = 0; i < array_size(words); i++)
        words[i] = va_arg(arguments, long);
    va_end(arguments);
    promise(seen_tree && (number == SYS_openat2 || number == SYS_statx), "system call %ld", number);
    if (!begin_call(seen_tree))
        return -1;
    if (number == SYS_openat2)
        return open_path(seen_tree, (const char *)words[1], (const struct open_how *)words[2]);
    return stat_file(seen_tree, (int)words[0], (struct statx *)words[4]);
}
