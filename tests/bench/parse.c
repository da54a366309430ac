/*
 * How long a line of a policy takes to be read: the same for 1,000, 10,000 and 100,000 lines.
 *
 *     parse [ROUNDS]
 */
#include "policy/policy.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct text make_policy(size_t lines)
{
    static const char *const rights[] = {"read", "read_file", "execute,read_file",
                                         "read,write,create,remove"};
    struct text text = {0};
    FILE *out = text_open(&text);

    if (!out)
        err(1, "memory");
    fputs("policy 1\n", out);
    for (size_t i = 1; i < lines; i++)
        fprintf(out, "allow %s /srv/folder-%03zu/file-%06zu\n", rights[i % 4], i % 1000, i);
    if (text_close(out, &text) < 0)
        err(1, "memory");
    return text;
}

static int give_text(void *context, const char *name, char **text, size_t *size, uint64_t *device,
                     uint64_t *inode, char *reason, size_t reason_size)
{
    const struct text *policy = context;

    (void)name, (void)reason, (void)reason_size;
    *text = malloc(policy->size + 1);
    if (!*text)
        err(1, "memory");
    memcpy(*text, policy->bytes, policy->size);
    *size = policy->size;
    *device = *inode = 1;
    return 0;
}

static double nanoseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double load_once(struct text *text)
{
    struct policy_diagnostics diagnostics = {0};
    double begin = nanoseconds(), end;
    struct policy *policy = policy_load("bench.policy", NULL, 0, give_text, text, &diagnostics);

    end = nanoseconds();
    if (!policy)
        errx(1, "the policy has faults: %s",
             diagnostics.count ? diagnostics.items[0].message : "out of memory");
    policy_free(policy);
    return end - begin;
}

static int compare_times(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median_of(struct text *text, size_t rounds)
{
    double *times = calloc(rounds, sizeof *times), median;

    if (!times)
        err(1, "memory");
    for (size_t i = 0; i < rounds; i++)
        times[i] = load_once(text);
    qsort(times, rounds, sizeof *times, compare_times);
    median = times[rounds / 2];
    free(times);
    return median;
}

int main(int count, char **arguments)
{
    size_t rounds = count > 1 ? strtoul(arguments[1], NULL, 10) : 21;

    printf("%8s  %11s  %12s\n", "lines", "median (us)", "ns a line");
    for (size_t lines = 1000; lines <= 100000; lines *= 10) {
        struct text text = make_policy(lines);
        double median = median_of(&text, rounds ? rounds : 1);

        printf("%8zu  %11.1f  %12.1f\n", lines, median / 1e3, median / (double)lines);
        free(text.bytes);
    }
    return 0;
}
