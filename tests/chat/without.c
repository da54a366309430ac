/*
 * without WHAT[,WHAT...] COMMAND [ARGUMENT...]: runs a command as if the kernel or the file system had not
 *
 *     tmpfile     open(2): O_TMPFILE
 *     noreplace   renameat2(2): RENAME_NOREPLACE
 *     exchange    renameat2(2): RENAME_EXCHANGE
 *     emptypath   linkat(2): AT_EMPTY_PATH, as for users without CAP_DAC_READ_SEARCH
 *     copyrange   copy_file_range(2)
 *     splice      splice(2)
 *     openat2     openat2(2)
 *     chown       fchown(2)
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { O_TMPFILE_ALONE = O_TMPFILE & ~O_DIRECTORY };

/* A call whose argument has one of some bits (0: any call) fails. */
static const struct refused {
    const char *name;
    unsigned call, argument, bits;
    int number;
} table[] = {{"tmpfile", SYS_openat, 2, O_TMPFILE_ALONE, EOPNOTSUPP},
             {"noreplace", SYS_renameat2, 4, RENAME_NOREPLACE, EINVAL},
             {"exchange", SYS_renameat2, 4, RENAME_EXCHANGE, EINVAL},
             {"emptypath", SYS_linkat, 4, AT_EMPTY_PATH, ENOENT},
             {"copyrange", SYS_copy_file_range, 0, 0, EXDEV},
             {"splice", SYS_splice, 0, 0, EINVAL},
             {"openat2", SYS_openat2, 0, 0, ENOSYS},
             {"chown", SYS_fchown, 0, 0, EPERM}};

static void refuse(const struct refused *refused)
{
    unsigned argument =
        (unsigned)offsetof(struct seccomp_data, args) + 8 * refused->argument; /* little-endian */
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused->call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
        BPF_JUMP(BPF_JMP | (refused->bits ? BPF_JSET : BPF_JGE) | BPF_K, refused->bits, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)refused->number),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        err(1, "seccomp");
}

static void refuse_named(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!strcmp(table[i].name, name)) {
            refuse(&table[i]);
            return;
        }
    errx(1, "%s: unknown", name);
}

int main(int count, char **arguments)
{
    if (count < 3)
        errx(1, "usage: without WHAT[,WHAT...] COMMAND [ARGUMENT...]");
    for (char *name = strtok(arguments[1], ","); name; name = strtok(NULL, ","))
        refuse_named(name);
    execv(arguments[2], arguments + 2);
    err(1, "%s", arguments[2]);
}
