/* Shared by the files of `trace`: what is found over all runs, how it is told, and where it goes. */
#ifndef TRACING_H
#define TRACING_H

#include "command.h"
#include "trace/trace.h"

struct found {
    struct trace_guards guards;   /* as they were before the first run */
    struct trace_lines needed;    /* by runs that failed */
    struct trace_lines tolerated; /* by those that succeeded */
    char *text;                   /* both, as a policy has them; NULL: none yet */
    int status;                   /* of the last run: waitpid(2) */
    bool has_succeeded;           /* the last run */
    bool is_unfinished;           /* the last run met something for which there is a line */
    bool was_signalled;           /* which ends more than the run */
    bool is_disturbed;            /* no line can be proposed any more */
    bool is_stuck;                /* what the program left behind would get in the way of another run */
    json_t *runs;                 /* NULL: text */
};

/* Whether the program ran, and succeeded: what it was denied, it went on from. */
bool has_succeeded(const struct trace_report *report);

/* ---- trace_report.c: on standard output ---- */

/* Tells a run, or keeps it for the document. */
void tell_run(struct found *found, const struct launch *launch, const struct trace_report *report);
/* Tells what is left to be told behind the last run. 0, or -1 and `error`. */
int tell_end(const struct options *options, struct found *found, struct error *error);

/* Writes lines, each behind `prefix`. 0, or -1: memory ran out, or it cannot be written. */
int write_lines(FILE *out, const char *prefix, const struct trace_lines *lines);

/* ---- trace_input.c: standard input, which each run is to find as the first one does ---- */

struct input {
    bool is_file;
    off_t start; /* in it */
    char *bytes; /* of what is none; NULL: nothing that could be read twice is expected there */
    size_t size;
};

/* Before the first run, of which there may be so many; before each run; and after the last. 0, or -1 and `error`. */
int take_input(struct input *input, unsigned runs, struct error *error);
int give_input(const struct input *input, struct error *error);
void free_input(const struct input *input);

/* ---- trace_files.c ---- */

/* Standard output is the program's while it runs: the report goes elsewhere. Zeroed at first. */
struct outputs {
    const char *policy, *report; /* the files that the command line names; NULL: none */
    int report_fd, programs_fd;  /* 0: not opened yet */
};

/* Whether a file of the policy is one of those. */
bool is_output(const struct outputs *outputs, uint64_t device, uint64_t inode);

/* Opens the report and looks whether the policy can be written. 0, or -1 and `error`. */
int open_outputs(struct outputs *outputs, struct error *error);
void close_outputs(const struct outputs *outputs);

/* Makes standard output the report's, or the program's again. 0, or -1 and `error`. */
int direct_to_report(const struct outputs *outputs, struct error *error);
int direct_to_program(const struct outputs *outputs, struct error *error);

/* Writes the policy: the file is replaced whole. 0, or -1 and `error`. */
int write_output(const char *file, const struct found *found, struct error *error);

#endif
