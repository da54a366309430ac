/*
 * Becomes somebody else, then a program:
 *
 *     become uid=N [ruid=N] [euid=N] [suid=N] [fsuid=N] [SET=CAPABILITY[,CAPABILITY...]]... [stay] -- PROGRAM [ARGUMENT...]
 *
 * uid: all four user IDs, and the groups; the others: one of them. SET: effective, permitted, inheritable, ambient or bounding;
 * CAPABILITY: a number, or `all`. A set that is not named is empty. What execve(2) makes of it the program has. With `stay` the
 * program is run as a child, and can look at its parent, of which nothing has changed.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REAL, EFFECTIVE_ID, SAVED, FILESYSTEM, ID_COUNT };
enum { EFFECTIVE, PERMITTED, INHERITABLE, AMBIENT, BOUNDING, SET_COUNT };

static const char *const id_names[] = {"ruid", "euid", "suid", "fsuid"};
static const char *const set_names[] = {"effective", "permitted", "inheritable", "ambient", "bounding"};

struct wish {
    uid_t ids[ID_COUNT];
    uint64_t sets[SET_COUNT];
    int stays;
};

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

/* ---- The command line ---- */

static uint64_t read_set(const char *text)
{
    uint64_t set = 0;

    if (!strcmp(text, "all"))
        return UINT64_MAX;
    for (char *rest; *text; text = rest + (*rest == ','))
        set |= UINT64_C(1) << (strtoul(text, &rest, 10) & 63);
    return set;
}

/* The place of NAME=… among the names; -1: it is not there. */
static int index_of(const char *word, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (!strncmp(word, names[i], strlen(names[i])) && word[strlen(names[i])] == '=')
            return i;
    return -1;
}

static void read_word(const char *word, struct wish *wish)
{
    int id = index_of(word, id_names, ID_COUNT), set = index_of(word, set_names, SET_COUNT);
    const char *value = strchr(word, '=');

    if (!strcmp(word, "stay"))
        wish->stays = 1;
    else if (!strncmp(word, "uid=", 4))
        for (int i = 0; i < ID_COUNT; i++)
            wish->ids[i] = (uid_t)strtoul(value + 1, NULL, 10);
    else if (id >= 0)
        wish->ids[id] = (uid_t)strtoul(value + 1, NULL, 10);
    else if (set >= 0)
        wish->sets[set] = read_set(value + 1);
    else
        fail(word);
}

/* ---- The process ---- */

static uint64_t own_permitted(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct halves[2];

    if (syscall(SYS_capget, &header, halves) < 0)
        fail("capget");
    return halves[0].permitted | (uint64_t)halves[1].permitted << 32;
}

static void set_capabilities(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct halves[2] = {
        {(uint32_t)effective, (uint32_t)permitted, (uint32_t)inheritable},
        {(uint32_t)(effective >> 32), (uint32_t)(permitted >> 32), (uint32_t)(inheritable >> 32)}};

    if (syscall(SYS_capset, &header, halves) < 0)
        fail("capset");
}

static void drop_bounding(uint64_t kept)
{
    for (unsigned long i = 0; i < 64; i++)
        if (!(kept >> i & 1) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 && errno != EINVAL)
            fail("PR_CAPBSET_DROP");
}

/* The order: the inheritable set while the bounding set allows it, the users while the capabilities to change them are there. */
static void fulfil(const struct wish *wish)
{
    const uid_t *ids = wish->ids;
    const uint64_t *sets = wish->sets;
    uint64_t own = own_permitted(), inheritable = sets[INHERITABLE] & own;

    set_capabilities(own, own, inheritable);
    drop_bounding(sets[BOUNDING]);
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
        setresgid(ids[REAL], ids[REAL], ids[REAL]) < 0 ||
        setresuid(ids[REAL], ids[EFFECTIVE_ID], ids[SAVED]) < 0)
        fail("the user");
    set_capabilities(own, own, inheritable);
    setfsuid(ids[FILESYSTEM]);
    if ((uid_t)setfsuid((uid_t)-1) != ids[FILESYSTEM])
        fail("setfsuid");
    set_capabilities(sets[EFFECTIVE] & own, sets[PERMITTED] & own, inheritable);
    for (unsigned long i = 0; i < 64; i++)
        if (sets[AMBIENT] & own & UINT64_C(1) << i &&
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) < 0)
            fail("PR_CAP_AMBIENT_RAISE");
}

static int watch(char **command)
{
    int status = 0;
    pid_t child = fork();

    if (child < 0)
        fail("fork");
    if (child == 0) {
        execv(command[0], command);
        fail(command[0]);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **arguments)
{
    struct wish wish = {0};
    int i = 1;

    for (; i < count && strcmp(arguments[i], "--") != 0; i++)
        read_word(arguments[i], &wish);
    if (i + 1 >= count) {
        fputs("usage: become uid=N [WHAT=VALUE]... [stay] -- PROGRAM [ARGUMENT...]\n", stderr);
        return 2;
    }
    fulfil(&wish);
    if (wish.stays)
        return watch(arguments + i + 1);
    execv(arguments[i + 1], arguments + i + 1);
    perror(arguments[i + 1]);
    return 2;
}
