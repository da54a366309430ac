#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

enum option_id {
    POLICY = 'p',
    DEFINE = 'D',
    DRY_RUN = 'n',
    VERBOSE = 'v',
    HELP = 'h',
    VERSION = 'V',
    PASS_FD = 256,
    STATUS_FD,
    MAX_ABI
};

/* The one table of options: parsing and help come from it. */
static const struct {
    int id;
    const char *name, *argument, *help;
} option_table[] = {
    {POLICY, "policy", "FILE", "the policy; default: " DEFAULT_POLICY},
    {DEFINE, "define", "NAME=VALUE", "the value of a definition of the policy; repeatable"},
    {PASS_FD, "pass-fd", "FD",
     "leave a descriptor open for the program; repeatable; all others above 2 are closed"},
    {STATUS_FD, "status-fd", "FD",
     "write one line of JSON on what was done, before the program starts or on refusal"},
    {MAX_ABI, "max-abi", "N", "use nothing newer than Landlock ABI N, to try a policy"},
    {DRY_RUN, "dry-run", NULL, "do all but restrict and run; print what would hold"},
    {VERBOSE, "verbose", NULL, "tell what is done"},
    {HELP, "help", NULL, "print this"},
    {VERSION, "version", NULL, "print the version"},
};

void print_help(FILE *out)
{
    fputs("usage: landlock-exec [OPTION...] [--] [PROGRAM [ARGUMENT...]]\n"
          "Runs a program under a policy that Landlock enforces, or runs nothing.\n\n",
          out);
    for (size_t i = 0; i < array_size(option_table); i++) {
        const char *argument = option_table[i].argument ? option_table[i].argument : "";
        char letter[8] = "   ";

        if (option_table[i].id < PASS_FD)
            snprintf(letter, sizeof letter, "-%c,", option_table[i].id);
        fprintf(out, "  %s --%s%s%s\n", letter, option_table[i].name, argument[0] ? " " : "", argument);
        fprintf(out, "          %s\n", option_table[i].help);
    }
    fputs("\nWithout a program, the one that the policy names (run) is started.\n"
          "Exit status: the program's own; 125 refused, the program did not run; 126 it cannot be executed; "
          "127 not found.\n"
          "See landlock-exec(1), landlock-exec.policy(5).\n",
          out);
}

/* The first fault is the one that is told; reading goes on behind it, for the status descriptor's sake. */
static int usage(struct error *error, const char *option, const char *what)
{
    if (error->code)
        return -1;
    error_set(error, LAUNCH_USAGE, "%s: %s", option, what);
    return error_hint(error, "landlock-exec --help lists the options");
}

static int read_number(const char *text, long least, long most, long *number)
{
    char *end;

    errno = 0;
    *number = strtol(text, &end, 10);
    return errno || end == text || *end || text[0] < '0' || text[0] > '9' || *number < least || *number > most
               ? -1
               : 0;
}

static int read_definition(struct options *options, char *argument, struct error *error)
{
    struct policy_definition *definitions = (struct policy_definition *)options->request.definitions;
    char *equals = strchr(argument, '=');

    if (!equals || equals == argument)
        return usage(error, "--define", "expected NAME=VALUE");
    *equals = '\0';
    definitions[options->request.definition_count++] = (struct policy_definition){argument, equals + 1};
    return 0;
}

static int read_descriptor(struct options *options, int id, const char *argument, struct error *error)
{
    const char *name = id == PASS_FD ? "--pass-fd" : "--status-fd";
    long number;

    if (read_number(argument, 0, INT_MAX, &number) < 0)
        return usage(error, name, "expected the number of a descriptor");
    if (id == STATUS_FD && number < STDERR_FILENO)
        return usage(error, name, "expected 2 or a number above it: 0 and 1 belong to the program");
    if (id == STATUS_FD)
        options->request.status_fd = (int)number;
    else
        ((int *)options->request.pass_fds)[options->request.pass_fd_count++] = (int)number;
    return 0;
}

static int read_max_abi(struct options *options, const char *argument, struct error *error)
{
    long number;

    if (read_number(argument, 1, POLICY_NEWEST_ABI, &number) < 0)
        return usage(error, "--max-abi", "expected a Landlock ABI that this build knows, 1 to 11");
    options->request.max_abi = (unsigned)number;
    return 0;
}

static int read_option(struct options *options, int id, char *argument, struct error *error)
{
    switch (id) {
    case POLICY:
        options->request.policy_file = argument;
        return argument[0] ? 0 : usage(error, "--policy", "expected the name of a file");
    case DEFINE:
        return read_definition(options, argument, error);
    case PASS_FD:
    case STATUS_FD:
        return read_descriptor(options, id, argument, error);
    case MAX_ABI:
        return read_max_abi(options, argument, error);
    case DRY_RUN:
        options->is_dry_run = true;
        return 0;
    case VERBOSE:
        options->is_verbose = true;
        return 0;
    case HELP:
        options->wants_help = true;
        return 0;
    default:
        options->wants_version = true;
        return 0;
    }
}

/* getopt_long(3)'s two tables, from ours. */
static void make_getopt_tables(struct option *longs, char *letters)
{
    *letters++ = '+'; /* options end at the program's name */
    *letters++ = ':'; /* a missing argument is told apart */
    for (size_t i = 0; i < array_size(option_table); i++) {
        longs[i] =
            (struct option){option_table[i].name, option_table[i].argument ? required_argument : no_argument,
                            NULL, option_table[i].id};
        if (option_table[i].id >= PASS_FD)
            continue;
        *letters++ = (char)option_table[i].id;
        if (option_table[i].argument)
            *letters++ = ':';
    }
    *letters = '\0';
    longs[array_size(option_table)] = (struct option){0};
}

static int read_all(int count, char **arguments, struct options *options, struct error *error)
{
    struct option longs[array_size(option_table) + 1];
    char letters[2 * array_size(option_table) + 3];
    int id, result = 0;

    make_getopt_tables(longs, letters);
    opterr = 0;
    for (int at = optind; (id = getopt_long(count, arguments, letters, longs, NULL)) != -1; at = optind) {
        if (id == '?')
            result |= usage(error, arguments[at], "unknown option, or one that takes no argument");
        else if (id == ':')
            result |= usage(error, arguments[at], "its argument is missing");
        else
            result |= read_option(options, id, optarg, error);
    }
    options->request.command = arguments + optind;
    if (options->is_verbose && options->request.status_fd == STDERR_FILENO)
        result |= usage(error, "--verbose",
                        "cannot be had with --status-fd 2, which keeps standard error for the status line");
    return result;
}

int read_options(int count, char **arguments, char **environment, struct options *options,
                 struct error *error)
{
    *options = (struct options){
        .request = {.policy_file = DEFAULT_POLICY, .status_fd = -1, .environment = environment}};
    options->request.definitions = calloc((size_t)count + 1, sizeof *options->request.definitions);
    options->request.pass_fds = calloc((size_t)count + 1, sizeof *options->request.pass_fds);
    options->request.command = arguments + count;
    if (!options->request.definitions || !options->request.pass_fds)
        return error_set(error, LAUNCH_SYSTEM, "reading options: out of memory");
    return read_all(count, arguments, options, error);
}

void free_options(struct options *options)
{
    free((void *)options->request.definitions);
    free((void *)options->request.pass_fds);
}
