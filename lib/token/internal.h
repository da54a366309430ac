/* Shared by the files of lib/token, by their tests, and by nobody else. */
#ifndef TOKEN_INTERNAL_H
#define TOKEN_INTERNAL_H

#include "token/token.h"

#include <string.h>

/* ---- Memory that holds secrets ---- */

struct secret {
    char *bytes; /* malloc'd */
    size_t capacity, size;
};

#define auto_secret __attribute__((cleanup(secret_wipe)))

/* Memory for so many bytes, which never grows, so that no copy is left behind. 0, or -1 with errno. */
int secret_reserve(struct secret *secret, size_t capacity);

/* Wipes and frees it; it may be empty. */
void secret_wipe(struct secret *secret);

/* ---- environment.c: a file as Docker Compose reads it ---- */

/* What becomes of a variable. */
enum environment_value {
    ENVIRONMENT_NONE, /* it is not given */
    ENVIRONMENT_LITERAL,
    ENVIRONMENT_EXPANDED, /* it refers to variables */
    ENVIRONMENT_INHERITED /* a name without "=" */
};

struct environment_entry {
    enum environment_value kind;
    size_t times, first_line, last_line;
    struct secret value; /* LITERAL: with a NUL behind it, not counted in size; to be wiped */
};

/* Why a text is refused; NULL in `what`: it is not. */
struct environment_fault {
    const char *what;
    size_t line;
};

/* Reads the whole text and finds the variable of that name. 0; or -1: fault->what says why the text is refused, or is NULL: memory ran
 * out. Either way `entry` is to be wiped. */
int environment_find(const char *text, size_t size, const char *name, struct environment_entry *entry,
                     struct environment_fault *fault);

/* ---- value.c ---- */

/* Judges what was found; "`where``variable`: ..." and what to do, `file` being what the hint names (NULL: the variable is not from a file). */
int judge_value(const char *where, const char *value, size_t length, const char *file, struct error *error);

/* ---- content.c: the file ---- */

/* Where it is: `name` is looked up in `directory`; messages call it `file`. */
struct place {
    int directory;
    const char *name, *file;
};

/* A file that was read whole; what is missing is empty. */
struct content {
    int fd; /* -1: it is missing */
    struct stat status;
    struct secret text;
    struct environment_entry entry;
};

#define auto_content __attribute__((cleanup(content_close)))

/* Reads it and finds the variable; anything but a regular file is refused without being opened. 0, or -1 and `error`. Either way it is to be
 * closed. */
int content_open(const struct place *place, struct content *content, struct error *error);
void content_close(struct content *content);

/* Whether the place still holds what was read. */
bool content_is_current(const struct place *place, const struct content *content);

/* 0 where the token is good or the variable is not given; else -1 and `error`. */
int content_judge(const struct place *place, const struct content *content, struct error *error);

/* Puts into the report what was found. */
void content_report(const struct content *content, struct token_report *report);

/* Sets `error` by errno: "`file``what`: ...". Returns -1. */
int say_failure(const char *file, const char *what, struct error *error);

#endif
