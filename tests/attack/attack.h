/*
 * Ways out of the restriction, each tried for real.
 *
 *     attack stage [uid=N] [contained] [work=DIRECTORY] FOLDER -- COMMAND [ARGUMENT...]
 *     attack serve        what COMMAND runs, in the restriction or out of it: tries what it is told on its standard input
 *     attack list         the table, as JSON, a line an attack
 *
 * The stage makes FOLDER, and in it files of the user's; processes, sockets, System V and POSIX objects, keys and a terminal of the
 * same user; and descriptors that COMMAND inherits. Before each attack it puts the files right, then has it tried, and looks itself at
 * what came of it. It prints a line an attack:
 *
 *     GROUP.NAME OPEN               it did what it was meant to do
 *     GROUP.NAME DENIED ERRNO       it failed; NOTHING: it seemed to succeed, and did nothing
 *     GROUP.NAME ABSENT REASON      this system, or this arrangement, does not have what is attacked
 *     GROUP.NAME DIED | BLOCKED     which no attack may do
 *
 * contained: COMMAND starts a container, with FOLDER/work on DIRECTORY; it then stays root, and gets no terminal.
 */
#ifndef ATTACK_H
#define ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { NAME_SIZE = 160, SECRET_SIZE = 33 };

/* Descriptors of COMMAND: of the first ones the launcher is told nothing, the others are passed with --pass-fd. */
enum {
    INHERITED_FILE = 40,
    INHERITED_DIRECTORY,
    INHERITED_SOCKET,
    PASSED_FILE = 50, /* of other/kept, for reading */
    PASSED_DIRECTORY,
    PASSED_SOCKET,   /* by which the victim hands over the same, and the directory */
    PASSED_PROCESS,  /* the victim, by pidfd_open(2) */
    PASSED_WRITABLE, /* of a file, for writing */
    PASSED_END,
};
enum { VICTIMS_FILE = 30 }; /* the victim's descriptor of other/kept */

/* What an attacker knows. */
struct scene {
    char work[NAME_SIZE];   /* a directory that it may read and write */
    char other[NAME_SIZE];  /* one of the same user's in which no line allows it anything */
    char shared[NAME_SIZE]; /* one of the same user's that it may read and execute */
    char secret[SECRET_SIZE], abstract[32], abstract_datagram[32], queue[32];
    pid_t victim, parent; /* the parent of the server, which is out of the restriction */
    uint16_t tcp, udp, udplite, sctp, free_port;
    int shm, semaphore, messages;
};

/* What the stage has, to look at what came of an attack. */
struct stage {
    struct scene scene;
    char work[NAME_SIZE]; /* where scene.work is here */
    uid_t uid;
    bool is_contained, is_root;
    char *const *command;
    int to, from; /* the server */
    int victim;   /* a socket by which it answers */
    long pings;   /* echo requests that have come so far */
    int answer;   /* of the attempt that has just been made */
    int tcp, udp, udplite, sctp, stream, datagram, abstract, abstract_datagram; /* they listen */
    int master, slave;                                                          /* a terminal */
};

/* What keeps an attack from succeeding, or is not there. cover_table has the words. */
enum cover {
    NOTHING,
    USER,        /* an ordinary user may not do it anyway */
    DESCRIPTORS, /* the launcher closes what is not passed; Docker passes none */
    ENVIRONMENT,
    TERMINAL,
    LIMITS,
    PRIVILEGES, /* no_new_privs */
    FILTER,
    MOUNTS, /* from here on the container's: it is not mounted there */
    PROCESSES,
    IPC,
    NETWORK,
    SECCOMP,
};

/* What a system must have for an attack to make sense. need_table tells how that is found out. */
enum need {
    ANYWHERE,
    NEEDS_ROOT,
    NEEDS_EXECUTABLE,
    NEEDS_LOADER,
    NEEDS_XATTR,
    NEEDS_FANOTIFY,
    NEEDS_USER_NAMESPACE,
    NEEDS_URING,
    NEEDS_URING_SOCKET,
    NEEDS_MPTCP,
    NEEDS_FASTOPEN,
    NEEDS_UDPLITE,
    NEEDS_SCTP,
    NEEDS_PING,
    NEEDS_VSOCK,
    NEEDS_SOCK_DIAG,
    NEEDS_QUEUE,
    NEEDS_PERF,
    NEEDS_KERNEL_LOG,
    NEEDS_TIOCSTI,
    NEEDS_IA32,
    NEEDS_CORE_LIMIT,
};

struct attack {
    const char *name, *what;
    int (*attempt)(const struct scene *scene); /* in a process of its own; below 0: failed, with errno */
    bool (*effect)(
        const struct stage
            *stage); /* whether it did what it was meant to; NULL: the attempt itself has made sure */
    enum need need;
    enum cover user;     /* USER, or NOTHING: the user can do it where nothing restricts it */
    unsigned landlock;   /* the ABI that first denies it; 0: none does */
    int error;           /* as which it fails then; 0: it has no effect */
    enum cover launcher; /* what else of the launcher stops it, */
    unsigned from; /* on this ABI and newer ones: it goes with a right that is restricted there; 0: always */
    int launcher_error;   /* and as which it fails then */
    enum cover container; /* what of the supplied container stops it by itself */
    bool is_filtered;     /* Docker's seccomp profile denies it, also inside the container */
};

struct attack_group {
    const char *name, *title;
    const struct attack *attacks;
    size_t count;
};

extern const struct attack_group file_group, attribute_group, execution_group, reopening_group,
    descriptor_group, process_group, signal_group, unix_group, network_group, ipc_group, terminal_group,
    namespace_group, own_group, privileged_group;

#define ROWS(table) .attacks = (table), .count = sizeof(table) / sizeof *(table)
#define LANDLOCK(abi, failure) .landlock = (abi), .error = (failure)
#define LAUNCHER(cover, failure) .launcher = (cover), .launcher_error = (failure)
#define FILTER_FROM(abi, failure) .launcher = FILTER, .from = (abi), .launcher_error = (failure)
#define CONTAINER(cover) .container = (cover)
#define FILTERED .is_filtered = true
#define NOBODY .user = USER
#define NEVER .landlock = 0

/* ---- Shared by the attacks ---- */

struct path {
    char text[2 * NAME_SIZE];
};

/* FOLDER/NAME, for one expression. */
struct path in(const char *folder, const char *name);
#define SECRET(scene) in((scene)->other, "secret").text

/* -1 with that errno. */
int failed(int error);
/* Closes what was opened: 0, or -1 with the errno of opening. */
int opened(int fd);
/* Whether the secret can be read from a descriptor, which is closed: 0, or -1. EBADMSG: it was something else. */
int reads_secret(const struct scene *scene, int fd);
int equals_secret(const struct scene *scene, const char *text);
/* Runs a program, which must end with the status of a witness. */
int witnessed(const char *program, const char *word, int fd);
enum { WITNESS = 42 };

/* By io_uring: io_uring.c. The result of the operation, or -1. */
int uring_open(const char *path, bool has_thread);
int uring_connect(int fd, const void *address, size_t size);
int uring_socket(int family, int type);
bool has_uring(void);
bool has_uring_socket(void);

/* ---- Of the stage, for effects ---- */

bool secret_is_changed(const struct stage *stage);
bool kept_is_changed(const struct stage *stage);
bool secret_is_gone(const struct stage *stage);
bool new_is_there(const struct stage *stage); /* other/new */
bool is_connected(int listener);              /* somebody has connected to it */
bool is_sent(int socket);                     /* something has come */
long pings(void);
int ask_victim(const struct stage *stage, char question);

enum { ASK_SIGNALS = 's', ASK_NOTHING = ' ' };
extern char victim_secret[SECRET_SIZE]; /* at the same address in every process of this program */

int be_victim(void);
int be_server(void);
int be_stage(int count, char **arguments);

/* What `need` stands for, on this system: NULL, or why it is not there. */
const char *missing(const struct stage *stage, enum need need);

extern const char *const cover_names[];
extern const struct attack_group *const groups[];
extern const size_t group_count;

#endif
