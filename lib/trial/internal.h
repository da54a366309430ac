/* Shared by the files of lib/trial, and by nobody else. */
#ifndef TRIAL_INTERNAL_H
#define TRIAL_INTERNAL_H

#include "trial/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { OWN_NAME_SIZE = 40, DESCRIPTOR_PATH_SIZE = 32 };

/*
 * What one trial works with. A path is looked up once: what it led to then is held by descriptors (O_PATH), and reached by them alone,
 * so that nothing else can be put in its place before the attempt.
 */
struct scene {
    const struct launch *launch;
    const struct trial *trial;
    int directory;                      /* what the path leads to, a directory; else -1 */
    int file;                           /* the file that is tried; -1: there is none */
    int folder;                         /* one of the scene's own, for a link's new name; -1: none */
    int socket;                         /* that listens at the file; -1: none */
    int udp;                            /* a bound socket for all trials; -1: there is none */
    char subject[DESCRIPTOR_PATH_SIZE]; /* the file, as /proc/self/fd/N */
    char name[OWN_NAME_SIZE]; /* in the directory, nobody else's: what is made or removed; "": nothing is */
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

/* A scene in which nothing is open and nothing was made. */
struct scene empty_scene(const struct launch *launch, const struct trial *trial, int udp);

/* Removes what was made, by the scene or by the attempt, and closes what is open. */
void clean_scene(struct scene *scene);

#endif
