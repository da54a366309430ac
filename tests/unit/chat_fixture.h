/*
 * Shared by the tests of lib/chat. Each test is in a directory of its own, in which there is `chat` and nothing else; what it leaves of
 * descriptors fails it. Calls of lib/ can be answered as other kernels and file systems do.
 */
#ifndef CHAT_FIXTURE_H
#define CHAT_FIXTURE_H

#include "chat/chat.h"
#include "child.h"

enum { OWNER = 1000, STRANGER = 1001, PART_OF_A_COPY = 4 * 1024 * 1024 };

/* ---- Calls, as lib/ gets to see them ---- */

struct strange {
    bool has_no_tmpfile;         /* the file system: O_TMPFILE */
    bool has_no_noreplace;       /* the file system: RENAME_NOREPLACE */
    bool needs_proc;             /* the kernel: AT_EMPTY_PATH takes a capability */
    unsigned without_names;      /* so many calls of fstat(2) tell of a file that has no name any more */
    int openat2_failure;         /* errno of every call; 0: none */
    void (*before_rename)(void); /* of renameat(2), once */
    void (*after_creation)(void);
};
extern struct strange strange;

/* The ways to put a file in place: each test of that is run in all of them. */
void in_each_way(void (*test)(void));

/* ---- The place of a test ---- */

int enter_place(void **state);
int leave_place(void **state);
#define place_test(test) cmocka_unit_test_setup_teardown(test, enter_place, leave_place)

/* Empties the chat's directory. */
void clear_chat(void);

/* ---- Files ---- */

void write_text(const char *path, const char *text);
void append_text(const char *path, const char *text);
void make_folder(const char *path);
void make_socket(const char *path);
void assert_text(const char *path, const char *expected);
void assert_link(const char *path, const char *target);

/* All names in a directory, sorted, with a "|" behind each. */
void assert_names(const char *directory, const char *expected);

/* Owner, group and mode, as lstat(2) tells them. */
void assert_belongs(const char *path, uid_t owner, mode_t mode);

/* Bytes that differ from those before and after, however they are taken apart. */
char pattern_at(size_t position);
void write_pattern(const char *path, size_t size);
void assert_pattern(const char *path, size_t size);

/* ---- Calls of lib/chat, with one error for all ---- */

extern struct error why;

void open_chat(struct chat *chat);

/* Asserts that a call failed, with that code and a message. */
#define assert_refused(call, expected) assert_refusal((call), (expected), #call, __FILE__, __LINE__)
void assert_refusal(int result, int expected, const char *call, const char *file, int line);
#define assert_done(call) assert_success((call), #call, __FILE__, __LINE__)
void assert_success(int result, const char *call, const char *file, int line);

/* The same in a child, which must not return into the tests. */
#define must_refuse(call, expected) must((call) == -1 && why.code == (expected))

/* A whole upload, abandoned in the end. */
int put(struct chat *chat, const char *path, const char *text, bool *is_replaced);

/* In a child that is this user (root alone can be another one), with the chat's directory open. */
void as_user(uid_t user, void (*body)(struct chat *chat));

/* In a child with mounts of its own; the test is skipped where that cannot be. */
void with_own_mounts(void (*body)(const void *));

#endif
