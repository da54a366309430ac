/* Shared by the files of lib/trial, and by nobody else. */
#ifndef TRIAL_INTERNAL_H
#define TRIAL_INTERNAL_H

#include "trial/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

/* What one trial works with. Texts are malloc'd. */
struct scene {
    const struct launch *launch;
    const struct trial *trial;
    char *subject; /* the file or name that is tried */
    char *other;   /* a second one of the scene's own: the directory of a link's new name */
    char *link;    /* that new name */
    bool is_own;   /* the subject was made for the trial */
    off_t size;    /* of the subject */
    int socket;    /* that listens at the subject; -1: none */
    int udp;       /* a bound socket for all trials; -1: there is none */
    unsigned number;
};

/* How a right is tried. */
struct attempt {
    policy_rights right;
    const char *(*prepare)(struct scene *scene,
                           int *failure);  /* NULL, or why it cannot be tried; may be NULL */
    int (*try)(const struct scene *scene); /* 0, or the errno; UNTOLD: it does not tell */
};

enum { UNTOLD = -1 };

extern const struct attempt attempt_table[];
extern const size_t attempt_count;

/* ---- scene.c: the files of a trial ---- */

/* Each returns NULL, or why there is none, with the errno of what failed in *failure. */
const char *have_directory(struct scene *scene, int *failure);
const char *have_name(struct scene *scene, int *failure); /* a free name in the directory */
const char *have_file_to_remove(struct scene *scene, int *failure);
const char *have_folder_to_remove(struct scene *scene, int *failure);
const char *have_file_to_link(struct scene *scene, int *failure);
const char *have_file_to_read(struct scene *scene, int *failure);
const char *have_file_to_write(struct scene *scene, int *failure);
const char *have_program(struct scene *scene, int *failure);
const char *have_device(struct scene *scene, int *failure);
const char *have_socket(struct scene *scene, int *failure);

/* The address of a socket at an absolute path. One that is too long for it is reached by /proc, through its directory or through
 * itself, which *fd holds open as long as the address is used; else *fd is left alone. 0, or -1 with errno. */
int socket_address(const char *path, struct sockaddr_un *address, int *fd);

/* Removes what was made, the subject only if it is the scene's own or was made by the attempt. */
void clean_scene(struct scene *scene);

#endif
