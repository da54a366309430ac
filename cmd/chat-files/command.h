/* Shared by the files of this command. */
#ifndef CHAT_FILES_COMMAND_H
#define CHAT_FILES_COMMAND_H

#include "chat/chat.h"
#include "table.h"
#include "json/json.h"

#include <time.h>

/* What the command line says, and which streams were closed. */
struct options {
    struct command_line line;
    mode_t mode;
    unsigned stand_ins;
    bool is_json;
};

/* ---- The subcommands: each returns the exit status; -1: `error` says why it was not done ---- */

int put(const struct options *options, struct error *error);
int get(const struct options *options, struct error *error);
int list(const struct options *options, struct error *error);
int remove_file(const struct options *options, struct error *error);
int import(const struct options *options, struct error *error);

/* ---- answer.c ---- */

/* Writes a document to standard output, and releases it. 0, or -1 and `error`. */
int put_json(json_t *document, struct error *error);

/* Says an error on standard error: in lines, or as a document. */
void say_error(const struct options *options, const struct error *error);

/* A time as in RFC 3339, in UTC. */
enum { TIME_SIZE = 64 };
void format_time(const struct timespec *time, char text[static TIME_SIZE]);

/* ---- progress.c: a line on a terminal, for what takes long ---- */

struct progress {
    const char *what;
    uint64_t total;          /* bytes; 0: not known */
    int64_t next;            /* milliseconds (clock_gettime(2), CLOCK_MONOTONIC) */
    struct chat_watch watch; /* what tells it; its function is NULL where there is no terminal */
    bool is_shown;
};

void progress_start(struct progress *progress, const char *what, uint64_t total);

/* Takes the line away, before anything else is written. */
void progress_clear(struct progress *progress);

#endif
