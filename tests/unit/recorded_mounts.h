/*
 * Recorded mounts in the place of this machine's, for programs linked with --wrap=mnt_table_parse_stream and --wrap=statx: what is
 * read is a file of mountinfo/ or a text, and what stands at a mount point is what was mounted there last.
 */
#ifndef RECORDED_MOUNTS_H
#define RECORDED_MOUNTS_H

#include "container_fixture.h"

/* What statx(2) says of a path, where that is not what was mounted there last. */
struct recorded_sight {
    const char *path;
    mode_t type;    /* 0: a directory */
    uint64_t mount; /* 0: what was mounted there last */
    int fault;      /* errno; 0: none */
    bool has_no_mount;
};

/* Has a file of mountinfo/ read from now on. */
void use_recording(const char *name);

/* Has a text read in its place. It stays the caller's. */
void use_text(const char *text);

/* Takes out every line of a mount on `point` or below it. */
void drop_from_recording(const char *point);

/* Adds lines to the recording that is in use. */
void add_to_recording(const char *lines);

/* Has `sights` seen from now on; they stay the caller's. use_recording() and use_text() forget them. */
void use_sights(const struct recorded_sight *sights, size_t count);

/* Has the reading fail as libmount does: what mnt_table_parse_stream() returns. Likewise until then. */
void fail_reading(int result);

/* The mount on which `path` lies, going by what was mounted last. */
uint64_t recorded_mount(const char *path);
bool is_recorded_point(const char *path);

#endif
