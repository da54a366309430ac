/* Shared by the files of lib/container, and by nobody else. */
#ifndef CONTAINER_INTERNAL_H
#define CONTAINER_INTERNAL_H

#include "container/container.h"

/* A check under way. */
struct check {
    const struct container_expectation *expectation;
    pid_t pid;
    struct container_findings *findings;
    size_t size;  /* of the findings' texts so far, in bytes */
    bool is_full; /* there are more than are told */
};

/* Opens a file of /proc, by a path below it, for reading: the kernel's own. Where something is mounted on it or on the way there,
 * that is an error. The descriptor, or -1 and `error`. */
int open_proc(const char *path, struct error *error);

/* What kind of thing is amiss, and so what restores it. */
enum remedy {
    REMEDY_USER,
    REMEDY_CAPABILITIES,
    REMEDY_READ_ONLY_ROOT,
    REMEDY_READ_ONLY,
    REMEDY_UNLISTED,
    REMEDY_WRITABLE,
    REMEDY_HIDDEN,
    REMEDY_KERNEL_MOUNT,
    REMEDY_SHARED_MEMORY,
    REMEDY_RUNTIME_MOUNT,
    REMEDY_NOT_ALLOWED,
    REMEDY_PART,
    REMEDY_SOCKET,
    REMEDY_OUT_OF_SIGHT,
    REMEDY_HELD
};

/* Adds a finding, up to a bound; the last one then says that there are more. `subject` is what stands for `@` in the remedy's text.
 * 0, or -1 when memory ran out. */
int find(struct check *check, enum remedy remedy, const char *subject, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds what is amiss with the user and the capability sets. 0, or -1 and `error`. */
int check_process(struct check *check, struct error *error);

/* Adds what is amiss with the mounts. 0, or -1 and `error`. */
int check_mounts(struct check *check, struct error *error);

/* ---- presets.c ---- */

/* Whether a writable mount is one of the presets' own. */
bool is_known_mount(unsigned presets, const char *point, const char *type, const char *root,
                    const char *source);

/* Whether the presets know a writable mount at that point, whatever is mounted there now. */
bool has_known_mount(unsigned presets, const char *point);

#endif
