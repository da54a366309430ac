/*
 * The policy language: what a policy file says, as data.
 *
 * This library reads policy files and nothing else of the system; it knows the names and numbers of Landlock's
 * access rights, not its system calls. The language, version 1 (words, quotes, escapes and replacement are told
 * in landlock-exec.policy(5)):
 *
 *   policy      = { [ statement ] [ comment ] newline } ;           (* the first statement is "policy 1" *)
 *   statement   = "policy" "1"
 *               | "include" [ "-" ] FILE
 *               | "define" NAME VALUE
 *               | "run" PROGRAM { ARGUMENT }
 *               | "private" PATH { PATH }
 *               | "directory" PATH
 *               | "require" ( "abi" NUMBER | rights )
 *               | "allow" rights ( path { path } | ports { ports } )   (* file rights | network rights *)
 *               | "unrestricted" rights
 *               | "audit" ( "on" | "off" )
 *               | "environment" ( "keep" pattern { pattern }
 *                               | "set" NAME "=" VALUE { NAME "=" VALUE } )
 *               | "limit" RESOURCE SIZE
 *               | "container" ( "check" ( "old-abi" | "always" )
 *                             | "uid" NUMBER
 *                             | "capabilities" "none"
 *                             | "read-only" PATH { PATH }
 *                             | "writable" ( PRESET | PATH ) { PRESET | PATH } )
 *               | "expect" ( "allowed" | "denied" ) rights ( PATH { PATH } | ports { ports } ) ;
 *   rights      = ( RIGHT | GROUP ) { "," ( RIGHT | GROUP ) } ;
 *   path        = [ "-" ] PATH ;                                       (* "-": may be missing *)
 *   ports       = PORT [ "-" PORT ] ;
 *   pattern     = NAME [ "*" ] ;
 *   comment     = "#" { any character } ;
 */
#ifndef POLICY_H
#define POLICY_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

/* ---- Access rights ---- */

/* The newest Landlock ABI whose rights this build knows. */
enum { POLICY_NEWEST_ABI = 11 };

/* A set of rights and scopes, in the kernel's own bits (Documentation/userspace-api/landlock.rst):
 * bits 0–31 `handled_access_fs`, 32–47 `handled_access_net`, 48–63 `scoped`. */
typedef uint64_t policy_rights;

#define POLICY_FS(bit) ((policy_rights)1 << (bit))
#define POLICY_NET(bit) ((policy_rights)1 << (32 + (bit)))
#define POLICY_SCOPE(bit) ((policy_rights)1 << (48 + (bit)))
#define POLICY_ALL_FS ((policy_rights)0xffffffff)
#define POLICY_ALL_NET ((policy_rights)0xffff << 32)
#define POLICY_ALL_SCOPES ((policy_rights)0xffff << 48)

static inline uint64_t policy_rights_fs(policy_rights rights)
{
    return rights & POLICY_ALL_FS;
}

static inline uint64_t policy_rights_net(policy_rights rights)
{
    return (rights & POLICY_ALL_NET) >> 32;
}

static inline uint64_t policy_rights_scoped(policy_rights rights)
{
    return (rights & POLICY_ALL_SCOPES) >> 48;
}

enum policy_right_traits {
    RIGHT_FITS_FILE = 1,          /* may be given for what is not a directory */
    RIGHT_MAY_BE_UNRESTRICTED = 2 /* `unrestricted` takes it */
};

/* One right or scope. */
struct policy_right {
    policy_rights bit;
    const char *name;
    unsigned char abi;    /* the first ABI that can restrict it */
    unsigned char traits; /* enum policy_right_traits */
    const char *help;
};

/* A name for several rights. */
struct policy_group {
    const char *name;
    policy_rights rights;
    const char *help;
};

/* The one table of rights, in the order of their bits, and the one of groups: parsing and messages come from them, and man/check
 * compares landlock-exec.policy(5) with them. */
extern const struct policy_right policy_right_table[];
extern const size_t policy_right_count;
extern const struct policy_group policy_group_table[];
extern const size_t policy_group_count;

/* Some rights that code has to name. */
#define POLICY_EXECUTE POLICY_FS(0)
#define POLICY_WRITE_FILE POLICY_FS(1)
#define POLICY_READ_FILE POLICY_FS(2)
#define POLICY_READ_DIR POLICY_FS(3)
#define POLICY_REMOVE_DIR POLICY_FS(4)
#define POLICY_REMOVE_FILE POLICY_FS(5)
#define POLICY_MAKE_CHAR POLICY_FS(6)
#define POLICY_MAKE_DIR POLICY_FS(7)
#define POLICY_MAKE_REG POLICY_FS(8)
#define POLICY_MAKE_SOCK POLICY_FS(9)
#define POLICY_MAKE_FIFO POLICY_FS(10)
#define POLICY_MAKE_BLOCK POLICY_FS(11)
#define POLICY_MAKE_SYM POLICY_FS(12)
#define POLICY_REFER POLICY_FS(13)
#define POLICY_TRUNCATE POLICY_FS(14)
#define POLICY_IOCTL_DEV POLICY_FS(15)
#define POLICY_RESOLVE_UNIX POLICY_FS(16)
#define POLICY_BIND_TCP POLICY_NET(0)
#define POLICY_CONNECT_TCP POLICY_NET(1)
#define POLICY_BIND_UDP POLICY_NET(2)
#define POLICY_CONNECT_SEND_UDP POLICY_NET(3)
#define POLICY_ABSTRACT_UNIX_SOCKET POLICY_SCOPE(0)
#define POLICY_SIGNAL POLICY_SCOPE(1)

/* What ABI `abi` (1 or more; above POLICY_NEWEST_ABI: as that) can restrict. */
policy_rights policy_rights_of_abi(unsigned abi);

/* What may be given for something other than a directory. */
policy_rights policy_rights_of_files(void);

/* The rights with which a program puts new names into a directory: make_*, refer. */
policy_rights policy_rights_that_create(void);

/* The right or group of that name (`length` bytes); 0: there is none. */
policy_rights policy_rights_named(const char *name, size_t length, bool *is_group);

/* The rights of a list such as "read,truncate", into *rights. NULL, or the first name in `text` that is unknown; *length then is its
 * length. */
const char *policy_rights_read(const char *text, policy_rights *rights, size_t *length);

/* The name of one right. */
const char *policy_right_name(policy_rights right);

/* The right or group whose name is nearest to `word`, or NULL: text_nearest(). */
const char *policy_rights_nearest(const char *word);

/* The names of `rights`, separated by commas, groups not used, in `out`; all of them fit. Returns `out`. */
enum { POLICY_RIGHTS_TEXT = 512 };
const char *policy_rights_text(policy_rights rights, char out[static POLICY_RIGHTS_TEXT]);

/* Likewise in `out`, with the names of groups for all of their rights: shorter, for people. */
const char *policy_rights_short_text(policy_rights rights, char out[static POLICY_RIGHTS_TEXT]);

/* "443", or "8000-8010", in `out`. Returns `out`. */
enum { POLICY_PORTS_TEXT = 16 };
const char *policy_ports_text(uint16_t first, uint16_t last, char out[static POLICY_PORTS_TEXT]);

/* ---- A policy ---- */

/* Where a statement or one of its words stands. Offsets are bytes in the file's text. */
struct policy_position {
    uint16_t file;       /* index in policy.files */
    uint16_t flags;      /* of what stands there: enum policy_flags */
    uint32_t line;       /* from 1 */
    uint32_t line_start; /* where that line begins */
    uint32_t offset;
};

enum policy_flags {
    POLICY_OPTIONAL = 1 /* `-PATH`: may be missing */
};

/* A path: absolute, no empty, "." or ".." component, shorter than PATH_MAX. */
struct policy_path {
    const char *path;
    struct policy_position position;
};

struct policy_path_rule {
    const char *path;
    policy_rights rights;  /* file rights only, never empty */
    policy_rights singles; /* those of them that were named singly, not as part of a group */
    struct policy_position position;
};

struct policy_port_rule {
    uint16_t first, last; /* first <= last */
    policy_rights rights; /* network rights only, never empty */
    struct policy_position position;
};

/* `require abi N`: rights is 0; `require RIGHTS`: abi is 0. */
struct policy_requirement {
    unsigned abi;
    policy_rights rights;
    struct policy_position position;
};

struct policy_expectation {
    bool allowed;
    policy_rights rights;
    const char *path; /* NULL: ports */
    uint16_t first, last;
    struct policy_position position;
};

/* `environment set`: of two with the same name the policy holds the later one. */
struct policy_setting {
    const char *assignment; /* NAME=VALUE */
    size_t name_length;
    struct policy_position position;
};

/* `environment keep` */
struct policy_pattern {
    const char *name; /* without the "*" */
    bool is_prefix;   /* NAME ended in "*" */
    struct policy_position position;
};

struct policy_limit {
    bool is_set;
    rlim_t value;
    struct policy_position position;
};

/* One row of the table of `limit` resources. */
struct policy_resource {
    const char *name;
    int resource; /* setrlimit(2) */
    bool is_size; /* bytes: K, M, G and T may follow */
    const char *help;
};
extern const struct policy_resource policy_resource_table[];
extern const size_t policy_resource_count;

enum policy_container_check { POLICY_CHECK_OLD_ABI, POLICY_CHECK_ALWAYS };

/* One row of the table of `container writable` presets. */
struct policy_preset {
    const char *name;
    unsigned bit;
    const char *help;
};
enum { POLICY_PRESET_DOCKER = 1, POLICY_PRESET_PODMAN = 2, POLICY_PRESET_BUBBLEWRAP = 4 };
extern const struct policy_preset policy_preset_table[];
extern const size_t policy_preset_count;

struct policy_container {
    bool is_described; /* uid, capabilities, read-only and writable are all there; else none is */
    /* of the statements that hold, and of the first `container writable`; line 0: not given */
    struct policy_position check_position, uid_position, capabilities_position, writable_position;
    enum policy_container_check check;
    uid_t uid;
    const struct policy_path *read_only;
    size_t read_only_count;
    unsigned presets;
    const struct policy_path *writable;
    size_t writable_count;
};

/* A file that the policy was read from. */
struct policy_file {
    const char *name; /* as it was named, an include's below its including file's folder */
    const char *text; /* its bytes, some separators overwritten with NUL */
    size_t size;
    uint64_t includes; /* bit i: includes files[i], directly or not */
};

/* A whole policy: every include read, every definition replaced. It owns all it points to. The arrays are in
 * the order of the lines, an include's lines standing where it is first included. */
struct policy {
    const struct policy_file
        *files; /* files[0] was named by the caller; the rest in the order first included */
    size_t file_count;
    const struct policy_path_rule *path_rules;
    size_t path_rule_count;
    const struct policy_port_rule *port_rules;
    size_t port_rule_count;
    const struct policy_path *privates;
    size_t private_count;
    const char *const *run; /* NULL-terminated; NULL: the policy names no program */
    size_t run_count;
    struct policy_position run_position; /* of the statement that holds; line 0: not given */
    struct policy_path directory;        /* path NULL: the caller's */
    const struct policy_requirement *requirements;
    size_t requirement_count;
    policy_rights unrestricted;
    struct policy_position unrestricted_position; /* of the last one's rights; line 0: not given */
    bool audit;
    struct policy_position audit_position; /* as run_position */
    const struct policy_pattern *kept;
    size_t kept_count;
    const struct policy_setting *settings;
    size_t setting_count;
    struct policy_limit limits[RLIM_NLIMITS]; /* by setrlimit(2)'s numbers */
    struct policy_container container;
    const struct policy_expectation *expectations;
    size_t expectation_count;
    struct policy_store *store; /* the memory behind all of this */
};

/* ---- Reading one ---- */

/* Bounds, each an error beyond it. */
enum {
    POLICY_MAX_FILES = 64,                  /* a policy and all it includes */
    POLICY_MAX_DEPTH = 16,                  /* levels of includes, the policy itself being the first */
    POLICY_MAX_NESTING = 64,                /* definitions that need each other */
    POLICY_MAX_FILE_SIZE = 8 * 1024 * 1024, /* bytes */
    POLICY_MAX_TOTAL_SIZE =
        64 * 1024 * 1024,                   /* bytes of all files, one that is included twice counted twice */
    POLICY_MAX_WORD_SIZE = 64 * 1024,       /* bytes, as it stands and after replacement */
    POLICY_MAX_REPLACED = 16 * 1024 * 1024, /* bytes that replacements insert, in all */
    POLICY_MAX_DIAGNOSTICS = 1000           /* kept; the rest is counted */
};

/* A definition from outside (--define), used as it is. */
struct policy_definition {
    const char *name;
    const char *value;
};

/* The kinds of faults, in the order of their codes. */
enum policy_fault {
    /* files and text */
    POLICY_FAULT_UNREADABLE = 1,
    POLICY_FAULT_UNSAFE,
    POLICY_FAULT_INCLUDE_CYCLE,
    POLICY_FAULT_INCLUDE_DEPTH,
    POLICY_FAULT_TOO_MANY_FILES,
    POLICY_FAULT_TOO_LARGE,
    POLICY_FAULT_BYTE_ORDER_MARK,
    POLICY_FAULT_NO_VERSION,
    POLICY_FAULT_UNKNOWN_VERSION,
    POLICY_FAULT_LATE_VERSION,
    POLICY_FAULT_NOT_TEXT,
    POLICY_FAULT_CONTROL_CHARACTER,
    POLICY_FAULT_DECEPTIVE_CHARACTER,
    POLICY_FAULT_UNCLOSED_QUOTE,
    POLICY_FAULT_ESCAPE,
    POLICY_FAULT_TOO_LONG,
    /* words, statements and definitions */
    POLICY_FAULT_UNKNOWN_STATEMENT,
    POLICY_FAULT_TOO_FEW_WORDS,
    POLICY_FAULT_TOO_MANY_WORDS,
    POLICY_FAULT_UNKNOWN_WORD,
    POLICY_FAULT_DEFINITION_NAME,
    POLICY_FAULT_UNDEFINED,
    POLICY_FAULT_DEFINITION_DEPTH,
    POLICY_FAULT_REFUSED_REPLACEMENT,
    POLICY_FAULT_BARE_DOLLAR,
    POLICY_FAULT_GIVEN_TWICE,
    POLICY_FAULT_DISAGREEMENT,
    POLICY_FAULT_OUTSIDE_TWICE,
    POLICY_FAULT_OUTSIDE_UNKNOWN,
    /* rights, paths, ports and values */
    POLICY_FAULT_UNKNOWN_RIGHT,
    POLICY_FAULT_SCOPE,
    POLICY_FAULT_MIXED_RIGHTS,
    POLICY_FAULT_ALWAYS_RESTRICTED,
    POLICY_FAULT_CONTRADICTION,
    POLICY_FAULT_REQUIREMENT,
    POLICY_FAULT_ABI,
    POLICY_FAULT_PATH,
    POLICY_FAULT_PORT,
    POLICY_FAULT_EMPTY_NAME,
    POLICY_FAULT_RESOURCE,
    POLICY_FAULT_LIMIT,
    POLICY_FAULT_VARIABLE,
    POLICY_FAULT_ASSIGNMENT,
    POLICY_FAULT_USER,
    POLICY_FAULT_PRESET,
    POLICY_FAULT_PART_OF_CONTAINER
};

/* The names of faults, "E101": these stay, and one that goes out of use is not given again. */
extern const struct name_row policy_fault_table[];
extern const size_t policy_fault_count;

static inline const char *policy_fault_code(enum policy_fault fault)
{
    return name_in(policy_fault_table, policy_fault_count, (int)fault);
}

/* What is wrong, one entry a fault, in the order of files and lines. `message` reads "what is wrong; what was
 * expected". */
struct policy_diagnostic {
    enum policy_fault fault;
    char *file;          /* NULL: the fault is not in a file (--define) */
    char *definition;    /* the name given to --define, where that has the fault, else NULL */
    size_t file_index;   /* the order of files */
    size_t line, column; /* from 1, the column in characters; 0: no file, or one that cannot be read */
    char *message;
};

struct policy_diagnostics {
    struct policy_diagnostic *items;
    size_t count, capacity;
    size_t dropped;     /* beyond POLICY_MAX_DIAGNOSTICS */
    bool out_of_memory; /* not all could be read, or not all could be said */
};

/*
 * Gets one file's bytes. `name` is as in policy_file.name. On success: 0, *text a malloc'd buffer of *size
 * bytes with room for one byte more, which the policy will own, and *device and *inode telling whether two
 * names are one file. On failure: the errno that says whether the file is missing, unsafe (EPERM) or too large
 * (EFBIG), with a reason such as "is a directory" in `reason` (of `reason_size` bytes).
 */
typedef int policy_read_function(void *context, const char *name, char **text, size_t *size, uint64_t *device,
                                 uint64_t *inode, char *reason, size_t reason_size);

/* A policy_read_function (context unused) that reads a regular file owned by root or by the real user ID, not
 * writable by group or others, of at most POLICY_MAX_FILE_SIZE bytes. Where this user namespace does not map
 * root, the overflow UID stands for it (user_namespaces(7)). A FIFO or a device is refused without waiting.
 */
policy_read_function policy_read_file;

/*
 * Reads the policy `file` and all it includes with `read` (NULL: policy_read_file). Returns the policy, to be
 * freed with policy_free(), or NULL: then `diagnostics` (zeroed before, freed by the caller with
 * policy_diagnostics_free()) has at least one entry or says that memory ran out. All faults are reported in
 * one go.
 */
struct policy *policy_load(const char *file, const struct policy_definition *definitions,
                           size_t definition_count, policy_read_function *read, void *context,
                           struct policy_diagnostics *diagnostics);

void policy_free(struct policy *policy);

/* Writes a line "FILE:LINE:COLUMN: error: MESSAGE" for each entry, and how many more there were; safe for a
 * terminal. */
void policy_diagnostics_write(FILE *out, const struct policy_diagnostics *diagnostics);
void policy_diagnostics_free(struct policy_diagnostics *diagnostics);

/* Line (from 1) and column (from 1, in characters) of a position. */
void policy_locate(const struct policy *policy, const struct policy_position *position, size_t *line,
                   size_t *column);

/* The order of two positions by file and place in it: negative, 0 (they are the same) or positive. */
int policy_compare_positions(const struct policy_position *a, const struct policy_position *b);

/* Whether `path` is one that a policy may name; NULL, or what is wrong with it ("is not absolute"). */
const char *policy_path_fault(const char *path);

#endif
