/*
 * Lets a seccomp filter answer Landlock's system calls, then becomes a program:
 *
 *     answer CALL=ERRNO... -- PROGRAM [ARGUMENT...]
 *
 * CALL is create, add, restrict or all; ERRNO a number, 0 meaning that the call seems to succeed.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { FIRST_CALL = 444 }; /* landlock_create_ruleset, landlock_add_rule, landlock_restrict_self */

static const char *const calls[] = {"create", "add", "restrict"};

/* Adds "if this is the call, answer". */
static unsigned add_answer(struct sock_filter *filter, unsigned call, unsigned error)
{
    filter[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIRST_CALL + call, 0, 1);
    filter[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA));
    return 2;
}

static unsigned read_answer(struct sock_filter *filter, const char *text)
{
    const char *equals = strchr(text, '=');
    unsigned count = 0;

    for (unsigned call = 0; equals && call < 3; call++)
        if (!strncmp(text, "all=", 4) ||
            (!strncmp(text, calls[call], strlen(calls[call])) && text[strlen(calls[call])] == '='))
            count += add_answer(filter + count, call, (unsigned)strtoul(equals + 1, NULL, 10));
    return count;
}

int main(int count, char **arguments)
{
    struct sock_filter filter[64] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    struct sock_fprog program = {.len = 1, .filter = filter};
    int i = 1;

    for (; i < count && strcmp(arguments[i], "--") != 0 && program.len < 56; i++)
        program.len = (unsigned short)(program.len + read_answer(filter + program.len, arguments[i]));
    filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (i + 1 >= count) {
        fputs("usage: answer CALL=ERRNO... -- PROGRAM [ARGUMENT...]\n", stderr);
        return 2;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0) {
        perror("answer");
        return 2;
    }
    execv(arguments[i + 1], arguments + i + 1);
    perror(arguments[i + 1]);
    return 2;
}
