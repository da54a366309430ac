/* A random tree of files for verdict_property.c, and the random numbers that it is made of. */
#ifndef VERDICT_TREE_H
#define VERDICT_TREE_H

#include "base/base.h"

/* xorshift64*: the same numbers on every machine. */
struct dice {
    uint64_t state; /* not 0 */
};

size_t roll(struct dice *dice, size_t count); /* 0 to count - 1 */
bool happens(struct dice *dice, unsigned percent);

/* What a path leads to. */
enum node_kind {
    NODE_DIRECTORY,
    NODE_REGULAR,
    NODE_FIFO,
    NODE_SOCKET,
    NODE_DEVICE,
    NODE_NOTHING,
    NODE_KINDS
};

struct node_list {
    char **paths;
    size_t count, capacity;
};

/* Who asks the questions. As root the tree has files of this user, of root and of a third one. */
enum { TREE_USER = 1000, TREE_GROUP = 1000, TREE_SECOND_GROUP = 3000, TREE_STRANGER = 2000 };

struct tree {
    char top[PATH_MAX];
    bool is_roots; /* made by root: with owners, device nodes and mounts as far as they can be had */
    bool has_read_only, has_devices;    /* a mount; device nodes */
    struct node_list nodes[NODE_KINDS]; /* every path, also by links and by each mount */
    struct node_list made;              /* directories, in the order in which they were made */
    mode_t *modes;                      /* that they get when all is made */
};

/* Makes a tree at tree->top, which is an empty directory; with tree->is_roots mounts are made in this process's own mount
 * namespace. Listening sockets stay open. What fails ends the process. */
void tree_make(struct tree *tree, struct dice *dice);

/* Removes a directory and all that is in it, as far as the caller may; nothing may be mounted there. */
void tree_remove(const char *path);

#endif
