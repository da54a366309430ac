/*
 * Real attempts at what a policy allows and denies: each is made twice, by this process as it is and by a child inside the
 * restriction, so that what Landlock denies can be told from what file permissions do.
 *
 * Nothing is left behind. What a right makes or removes is a file of the attempt's own, with a name that begins with
 * ".landlock-policy."; a file that was there is opened and closed, never emptied, changed or run: a truncation is asked for beyond
 * the limit on file sizes, a program is stopped by ptrace(2) before its first instruction and ended. Where nothing can be
 * removed (chattr +a), nothing is made. What a caller can see of it is a directory's time, a device, FIFO or socket that was opened,
 * and, on OverlayFS, that a file opened for writing was copied up.
 *
 * A right on a directory is tried there; a right on files that is asked of a directory, on a file in it: one of the attempt's own
 * where it can make one, else one that is there and no rule names.
 */
#ifndef TRIAL_H
#define TRIAL_H

#include "launch/launch.h"

/* How the names begin of what a trial makes. */
#define TRIAL_OWN_NAME ".landlock-policy."

/* One right at one path or port. */
struct trial {
    policy_rights right;
    const char *path; /* absolute; NULL: a port */
    uint16_t port;

    /* What came of it. */
    const char *untried; /* why it could not be tried; NULL: it was */
    int outside;         /* 0, or the errno; of a trial that could not be made, what it failed with here */
    int inside;          /* likewise inside the restriction */
};

/* Makes `count` trials. `launch` was prepared and has a ruleset; this process must have no capabilities (launch_drop_capabilities()),
 * and is not restricted afterwards. Signals that end a process wait until what was made is removed again. 0, or -1 and `error`:
 * the restriction failed, the child did not end well or in time, or memory ran out. */
int trial_run(struct launch *launch, struct trial *trials, size_t count, struct error *error);

#endif
