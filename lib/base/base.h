/*
 * What every library here stands on: errors as values, descriptors and memory that free themselves, and text
 * that cannot forge a line.
 *
 * Nothing here keeps state. Nothing here knows of policies or Landlock.
 */
#ifndef BASE_H
#define BASE_H

#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define array_size(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Cleanup: a variable so marked releases what it holds at the end of its scope. ---- */

#define auto_close __attribute__((cleanup(cleanup_close)))
#define auto_free __attribute__((cleanup(cleanup_free)))

static inline void cleanup_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

/* Hands a descriptor over to the caller of the function that owned it: the variable is left at -1. */
static inline int take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

/* Grows `*items` (malloc'd or NULL, `*capacity` items of `size` bytes) so that `count` + 1 items fit.
 * 0, or -1 with the array as it was and errno ENOMEM. */
int array_reserve(void *items, size_t *capacity, size_t count, size_t size);

/* ---- Errors are values that carry their message. ---- */

enum { ERROR_TEXT_SIZE = 3 * PATH_MAX + 512 }; /* two paths, the policy's among them, and a reason */

/*
 * An error. `code` is 0 for none, else a constant of the library that set it. `message` reads "WHAT: WHY";
 * `hint` says what to do and is empty where nothing can be done. Text that does not fit ends in "...". The
 * texts may hold names that an attacker chose: print them with text_write_line() or text_write_json() only.
 */
struct error {
    int code;
    char message[ERROR_TEXT_SIZE];
    char hint[ERROR_TEXT_SIZE];
};

/* Sets code and message and empties the hint. Always returns -1, so that `return error_set(…)` reads well. */
int error_set(struct error *error, int code, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* Sets the hint of an error that is already set. Always returns -1. */
int error_hint(struct error *error, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/* ---- /proc ---- */

/* Reads a small file, such as one of /proc, into `text` (`size` bytes, NUL included; what does not fit is
 * left out). False: it cannot be read. */
bool read_small_file(const char *path, char *text, size_t size);

/* Likewise from a descriptor; one that is negative cannot be read. */
bool read_small(int fd, char *text, size_t size);

/* Whether a file of which fstat(2) said `before` is still of that size and was not written to. Not ctime: it changes, too, when the
 * file is replaced whole, by rename(2). 1 or 0; -1 with errno. */
int is_as_before(int fd, const struct stat *before);

/* All that can be read from a descriptor, to be freed, of at most `most` bytes; a NUL stands behind them. NULL: errno; EBADF for a
 * negative one, EFBIG if there is more. */
char *read_bytes(int fd, size_t most, size_t *size);

/* Likewise, however much it is. */
char *read_text(int fd);

/* Likewise of a file that is opened for it. */
char *read_text_file(const char *path);

/* ---- A file that is replaced whole ---- */

/* `count` hexadecimal digits from getrandom(2), and a NUL. 0, or -1 with errno. */
int random_digits(char *digits, size_t count);

/* Opens the directory that a path's last component stands in; *name: that component, "" behind a last slash. -1: errno. */
int open_parent(const char *path, const char **name);

/* A new file, which takes the place of another once it is whole. */
struct replacement {
    int fd;        /* to be written to; -1: none */
    int directory; /* the caller's */
    char name[64];
};

/* Makes it, with nothing in it and mode 600 less the umask, under a name of `prefix` (at most 31 bytes) and 32 digits that nobody can
 * guess. 0, or -1 with errno. */
int replacement_open(struct replacement *replacement, int directory, const char *prefix);

/* Puts it in the place of `name` in its directory, on the disk: the content, then the entry. 0, or -1 with errno: then it is gone and
 * `name` is what it was, unless only the entry may not be on the disk yet. */
int replacement_place(struct replacement *replacement, const char *name);

/* Removes it, unless it has been placed or is gone. Keeps errno. */
void replacement_drop(struct replacement *replacement);

/* Removes the regular files of that prefix that were left by who was killed. For the caller to be sure of: nobody is writing one. What
 * cannot be removed stays. */
void replacement_sweep(int directory, const char *prefix);

/* ---- Users, as /proc tells of them ---- */

/* One line of /proc/self/uid_map (user_namespaces(7)): `count` IDs from `inside` on are `outside` in the
 * parent's numbers. */
struct id_range {
    unsigned long inside, outside, count;
};

/* Takes the next line of a map's text. False: there is none. */
bool next_id_range(const char **text, struct id_range *range);

/* Whether `uid`, as stat(2) gave it, is the overflow UID and stands for users that this user namespace does
 * not map, the outer root among them (user_namespaces(7)): 1; 0 where it maps that number itself. -1 and errno:
 * /proc does not tell. */
int uid_stands_for_unmapped(uid_t uid);

/* Likewise whether `uid` is root, as far as this user namespace can tell: 1, 0, or -1 and errno. */
int uid_is_roots(uid_t uid);

/* Likewise whether it is root or the real user ID of this process. */
int uid_is_roots_or_own(uid_t uid);

/* ---- Text ---- */

/* A row of a table that gives the constants of an enumeration their names: for messages, JSON and the manual. */
struct name_row {
    int value;
    const char *name, *help;
};

/* The name of a value, or its help; "" for one that is not in the table. */
const char *name_in(const struct name_row *table, size_t count, int value);
const char *help_in(const struct name_row *table, size_t count, int value);

/* Whether an absolute path is `top` or below it: by the texts alone. */
bool is_at_or_below(const char *path, const char *top);

/* Makes an absolute path that of the directory it stands in. False: it is the root, and stays so. */
bool path_to_parent(char *path);

/* asprintf(3), returning the text, which is to be freed; NULL: out of memory. */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_of_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* The length in bytes (1 to 4) of the UTF-8 sequence at `text`, of which `size` bytes may be read; 0 where it
 * is not valid UTF-8 (RFC 3629, section 3: no overlong forms, no surrogates, nothing above U+10FFFF). */
size_t utf8_sequence(const char *text, size_t size);

/* Whether the valid UTF-8 sequence of `length` bytes at `text` moves the cursor, ends the line, turns the text round or cannot be
 * seen: control characters (C0, DEL, C1), line and paragraph separators, bidirectional controls and everything else that Unicode
 * lets a display ignore. */
bool utf8_disturbs(const char *text, size_t length);

/* Writes `text` so that it stays within its line and its terminal: what utf8_disturbs() tells and bytes that are not UTF-8 become
 * \xHH, byte by byte, as the policy language writes them. */
void text_write_safe(FILE *out, const char *text);

/* Writes `text` as a JSON string with its quotes (RFC 8259, section 7); a byte that is not UTF-8 becomes
 * U+FFFD. */
void text_write_json(FILE *out, const char *text);

/* A text that is written with stdio(3) and grows in memory. open_memstream(3) does not tell when memory ran out on the way: part of
 * the text is then missing, from its middle, too. */
struct text {
    char *bytes; /* ends in NUL once it is closed; to be freed */
    size_t size, capacity;
    bool is_torn;
};

/* A stream that appends to `text`, which is empty. NULL: errno ENOMEM. */
FILE *text_open(struct text *text);

/* Closes the stream. 0; or -1 with errno ENOMEM where not all of what was written is there: then `text` is empty. */
int text_close(FILE *out, struct text *text);

/* A name as one word of the policy language, to be freed; also safe to be shown to a shell: what either would take for more than a
 * character is escaped (\\ \" \# \$ \xHH). NULL: memory ran out. */
char *text_as_word(const char *text);

/* Writes one line "`prefix``text`" to a descriptor with a single write(2), made safe as text_write_safe()
 * does; with many where memory runs out. What cannot be written is lost. */
void text_write_line(int fd, const char *prefix, const char *text);

/* The dispositions of the signals that end a process that writes: to a reader that has gone away (SIGPIPE), beyond the limit on the
 * size of files (SIGXFSZ). */
struct write_signals {
    struct sigaction pipe, size;
};

/* Ignores them from now on, and makes them what they were. 0, or -1 with errno. */
int hold_off_signals(struct write_signals *before);
int restore_signals(const struct write_signals *before);

/* Writes all `size` bytes to a descriptor, blocking as the descriptor does. 0, or -1 with errno. */
int write_all(int fd, const char *bytes, size_t size);

/* Opens what is closed of descriptors 0 to 2 on /dev/null, so that nothing else takes their places, and sets those bits of
 * *stand_ins. Call it before anything else opens a descriptor. 0, or -1 and `error` (`code`). */
int stand_in_for_streams(int code, unsigned *stand_ins, struct error *error);

/* Writes out what standard output holds. 0, or -1 with errno if any of it could not be written, now or before (then EIO: why is not
 * known any more). */
int flush_output(void);

/* Of `count` names (`name_at(i, context)`), the one nearest to `word`: at most a third of its letters
 * changed, added, left out or exchanged. NULL if none is near. At most the first 256 names are compared, so
 * that a long list costs no more. */
const char *text_nearest(const char *word, size_t count, const char *(*name_at)(size_t, const void *),
                         const void *context);

#endif
