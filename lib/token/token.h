/*
 * The service token: the secret that two services share, as the value of a variable in a file that Docker Compose reads (.env).
 *
 * Nothing here keeps state, and nothing here prints. No message, hint or report holds a value or any other text of the file. What is
 * read of it is wiped from memory.
 *
 * The file is read as Docker Compose reads it (compose-go, package dotenv): a byte order mark is passed over; blank lines, comments;
 * "export"; a name, up to "=" or ":", with blanks around it; a value to the end of its line, in which " #" begins a comment, or in
 * quotes, over several lines, too; escapes; behind a closing quote, the next name. A name given twice has the last value. What Compose
 * refuses is refused. A NUL byte is, too, which Compose takes in a comment. Not looked at are, since they do not touch the token: which
 * letters beyond ASCII a name may have, and in the values of other variables, whether what "${" begins is sound and escapes make a NUL.
 */
#ifndef TOKEN_H
#define TOKEN_H

#include "base/base.h"

enum { TOKEN_LEAST = 32, TOKEN_MADE = 64 }; /* characters: what a token must have, what one made here has */

/* "AI_INTERPRETER_SERVICE_TOKEN" */
extern const char token_variable[];

/* ---- Refusals: the codes of errors ---- */

enum token_refusal {
    TOKEN_MISSING = 1,
    TOKEN_SHORT,
    TOKEN_UNUSABLE,
    TOKEN_EXPANDED,
    TOKEN_INHERITED,
    TOKEN_EXPOSED,
    TOKEN_SYNTAX,
    TOKEN_LINK,
    TOKEN_KIND,
    TOKEN_SIZE,
    TOKEN_USAGE,
    TOKEN_PERMISSION,
    TOKEN_BUSY,
    TOKEN_SPACE,
    TOKEN_SYSTEM
};

/* A code, by the name that it keeps, and the exit status that it leads to: 1, the file is not as it must be; 2, the work could not be
 * done. */
struct token_refusal_row {
    int code;
    const char *name;
    int exit_status;
    const char *help;
};

extern const struct token_refusal_row token_refusal_table[];
extern const size_t token_refusal_count;

/* The row of an error's code; of one that is none, TOKEN_SYSTEM's. */
const struct token_refusal_row *token_refusal(int code);

/* ---- What is done ---- */

/*
 * Whether `value` can be the token: at least TOKEN_LEAST characters, all of them printable ASCII but the blank (RFC 6750, section 2.1, asks
 * for no more than that it can be sent in a header). NULL, as getenv(3) has it: there is none. 0; or -1 and `error`: TOKEN_MISSING,
 * TOKEN_SHORT, TOKEN_UNUSABLE. The value stays the caller's and is in no text.
 */
int token_check_value(const char *value, struct error *error);

/* What was found and done. */
struct token_report {
    size_t length;                       /* characters of the token; 0: none that is known */
    bool was_added;                      /* by this call */
    bool was_file;                       /* there was one */
    unsigned mode_before, mode;          /* of the file; before: where there was one */
    size_t times, first_line, last_line; /* how often the variable was given, and where; the last counts */
};

/*
 * Makes sure that `file` gives the variable a good value and has mode 600. A good value stays; where the variable is not given, a line with
 * a new one, TOKEN_MADE hexadecimal digits from getrandom(2), is put behind all others, which stay as they are byte for byte. A file that
 * is missing is made. What is good is not written to, but for its mode.
 *
 * The new file takes the old one's place whole, with its owner and group, and is on the disk when this returns. Who is killed on the way
 * leaves the old or the new file, perhaps with a third beside it (".service-token-", and digits; mode 600), which the next call removes.
 * Calls on files of one directory wait for each other by flock(2) on it, 10 seconds at most.
 *
 * 0 and `report`; or -1 and `error`, with the file as it was. What was found stands in `report` all the same, as far as it was read:
 *     TOKEN_SHORT, TOKEN_UNUSABLE, TOKEN_EXPANDED, TOKEN_INHERITED    the value
 *     TOKEN_SYNTAX, TOKEN_LINK, TOKEN_KIND, TOKEN_SIZE                the file
 *     TOKEN_MISSING        the directory
 *     TOKEN_USAGE          `file` is empty
 *     TOKEN_PERMISSION     reading, writing to the directory, keeping the owner; a read-only file system
 *     TOKEN_BUSY           the lock was not to be had, or another changed the file meanwhile
 *     TOKEN_SPACE          no space, no quota, or beyond the limit on the size of files (the caller ignores SIGXFSZ)
 *     TOKEN_SYSTEM         all else, memory among it
 * Where TOKEN_SYSTEM says that the directory could not be written to the disk, the new file is in place all the same.
 */
int token_ensure(const char *file, struct token_report *report, struct error *error);

/* Looks whether it is so, that is, whether the value is good and group and others have no permission. Writes nothing and waits for nobody.
 * 0 and `report`; or -1 and `error`: as token_ensure() but for TOKEN_SPACE, TOKEN_BUSY only where the file is changed while it is read, and
 * TOKEN_MISSING (file or variable), TOKEN_EXPOSED (the mode). */
int token_check(const char *file, struct token_report *report, struct error *error);

/* Keeps this process's memory from core files and from other processes of the same user: before a secret comes into it. 0, or -1 and
 * `error`: TOKEN_SYSTEM. */
int token_guard_memory(struct error *error);

#endif
