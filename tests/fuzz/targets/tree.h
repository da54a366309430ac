/*
 * A file system in memory, in the place of the kernel's: directories, links and mounts, which the input describes, and an
 * attacker who changes them between two system calls. walk.c of lib/launch and what it uses see it through openat, openat2,
 * statx, fstat, readlinkat, read and close.
 */
#ifndef TREE_H
#define TREE_H

#include "report.h"

#include <sys/stat.h>

enum {
    MOST_NODES = 40,
    MOST_MOUNTS = 8,
    MOST_CHANGES = 4,
    MOST_FOLLOWED = 1024,
    MOST_OPEN = 65536,
    NONE = -1
};
enum { ROOT_UID = 0, USER_UID = 1000, OVERFLOW_UID = 65534 };
enum { FIRST_MOUNT_ID = 20, FIRST_DESCRIPTOR = 1 << 20 };

/* A file, by its place in its file system. */
struct node {
    int parent; /* NONE: the root of a file system */
    unsigned device;
    const char *name;
    char *target; /* of a link */
    uid_t uid;
    mode_t mode;
    bool is_gone; /* no name leads to it any more */
};

/* mounts[0] is the root's, and has no parent and no point. */
struct mounted {
    int root, parent, point;
};

struct position {
    int mount, node;
};

/* What the attacker does just before a system call: exchanges the names of two files, or puts a link in the place of one. */
struct change {
    unsigned before_call;
    int one, other; /* other NONE: the link */
    char *target;
};

/* A descriptor. */
struct open_file {
    bool is_open;
    struct position at;
    int through;      /* the directory it was opened from; NONE: none */
    const char *text; /* of a file of /proc */
    size_t offset;
};

/* A link that was read. */
struct read_link {
    int node, directory; /* the file, and the directory in which it was opened */
};

struct tree {
    struct node nodes[MOST_NODES];
    int node_count;
    struct mounted mounts[MOST_MOUNTS];
    int mount_count;
    struct change changes[MOST_CHANGES];
    unsigned change_count, calls;
    unsigned fault_at; /* the call that fails; 0: none */
    int fault;
    bool has_openat2, lists_root, shifts_devices;
    unsigned user_map; /* index of the table of /proc/self/uid_map */
    int open_count;    /* descriptors ever opened: no number is given twice */
    struct read_link links[MOST_FOLLOWED];
    unsigned link_count;
    char *mountinfo;
};

/* The tree that the calls see; NULL: the real one. */
extern struct tree *seen_tree;

void make_tree(struct tree *tree, struct choices *choices);
void free_tree(struct tree *tree);
void describe_tree(FILE *out, const struct tree *tree);

/* ---- What is where ---- */

bool is_directory(const struct tree *tree, int node);
bool is_link(const struct tree *tree, int node);
/* Whether `node` is `top` or below it, within their file system. */
bool is_below_node(const struct tree *tree, int node, int top);
/* The child of that name, mounts on it passed. False: there is none. */
bool find_child(const struct tree *tree, struct position *at, const char *name, size_t length);
/* What ".." leads to. */
struct position parent_of(const struct tree *tree, struct position at);
struct position root_of(const struct tree *tree);
/* Whether a path leads to a position: no other mount lies over it, or on the way to it. */
bool is_visible(const struct tree *tree, struct position at);
/* The path of a position; to be freed. */
char *path_of(const struct tree *tree, struct position at);
/* Whether a directory is root's, as far as the user namespace can tell, and nobody else's to write. */
bool is_trusted_node(const struct tree *tree, int node);

/* ---- Descriptors ---- */

struct position position_of_fd(const struct tree *tree, int fd);
unsigned count_open(const struct tree *tree);

#endif
