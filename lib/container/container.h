/*
 * What is checked of the container around a program where Landlock leans on it: below ABI 3 it cannot stop truncation, so
 * nothing may be writable that the policy does not let the program write as a whole.
 *
 *     the user              real, effective, saved and filesystem UID are the one named            credentials(7)
 *     the capability sets   effective, permitted, inheritable, ambient and bounding are empty      capabilities(7)
 *     the read-only paths   each lies on a mount that is read-only by its own option               proc(5), mountinfo
 *     the writable mounts   each, hidden ones too, is one that a preset knows or one that is named, is a mount point, and is
 *                           wholly allowed by the policy
 *     the sockets           no mount point is one: below ABI 9 it could be connected to, read-only or not
 *     what is handed over   the root, the working directory and what is open lie on mounts that are listed, and so checked
 *
 * The launcher is static and must stay small, the libraries that this needs are not: so it is done by a helper, check-container,
 * which the launcher runs as its child. What they say to each other is made and read in one place: exchange.c.
 */
#ifndef CONTAINER_H
#define CONTAINER_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Runtimes whose own writable mounts are known; bits. */
enum { CONTAINER_DOCKER = 1, CONTAINER_PODMAN = 2, CONTAINER_BUBBLEWRAP = 4 };

/* A path of the policy, as it was opened. */
struct container_place {
    const char *path;
    uint64_t mount;      /* the mount it lies on, as in /proc/self/mountinfo */
    bool is_mount_point; /* it is that mount's root */
    bool is_allowed;     /* the policy lets the program write all of it */
};

/* What the container must be. `held`: what the program has without opening it, each with the mount it lies on; its path is "/" or a
 * text that says what it is. */
struct container_expectation {
    uid_t uid;
    unsigned presets;
    struct container_place *read_only, *writable, *held;
    size_t read_only_count, read_only_capacity, writable_count, writable_capacity, held_count, held_capacity;
};

/* What is amiss, and the option that restores it. Both texts may hold names that an attacker chose: print them with
 * text_write_line() or text_write_json() only. */
struct container_finding {
    char *message, *hint;
};

struct container_findings {
    struct container_finding *items;
    size_t count, capacity;
};

void container_expectation_free(struct container_expectation *expectation);
void container_findings_free(struct container_findings *findings);

/* Adds a copy of a place to read_only, writable or held (`places`, `count`, `capacity`); its text stays the caller's. 0, or -1 with
 * errno ENOMEM. */
int container_add_place(struct container_place **places, size_t *count, size_t *capacity,
                        const struct container_place *place);

/* The bit of a preset's name; 0: there is none of that name. */
unsigned container_preset(const char *name);

/* ---- Checking: the helper's part, and whoever links libcap-ng and libmount ---- */

/* Looks at the process `pid`, which must share this process's mount and PID namespaces, and at the mounts; adds what is amiss to
 * `findings`, which the caller frees. 0: it could all be looked at, whatever was found; -1 and `error` (code 1) where not: /proc
 * is missing, not this PID namespace's or cannot be read, or memory ran out. */
int container_check(const struct container_expectation *expectation, pid_t pid,
                    struct container_findings *findings, struct error *error);

/* ---- What the launcher and the helper say to each other ---- */

/* How the helper ends; where it found nothing it has said so, too, since other programs also end with 0. */
#define CONTAINER_CHECKED "checked"
enum { CONTAINER_FINE = 0, CONTAINER_HAS_FINDINGS = 1, CONTAINER_NOT_CHECKED = 2 };

/* An expectation as the helper's command line, NULL at its end; to be freed with container_free_arguments(). NULL: errno
 * ENOMEM. */
char **container_write_arguments(const struct container_expectation *expectation);
void container_free_arguments(char **arguments);

/* The reverse; the paths stay in `arguments`. 0, or -1 and `error` (code 1). Whatever happened, `expectation` is to be freed. */
int container_read_arguments(char *const *arguments, struct container_expectation *expectation,
                             struct error *error);

/* Findings as bytes: each text with its NUL. 0, or -1 with errno. */
int container_write_findings(int fd, const struct container_findings *findings);

/* The reverse, from exactly `size` bytes. 0, or -1 with errno: EBADMSG where the bytes are no findings, ENOMEM. Whatever
 * happened, `findings` is to be freed. */
int container_read_findings(const char *bytes, size_t size, struct container_findings *findings);

#endif
