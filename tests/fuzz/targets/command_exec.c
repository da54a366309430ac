/* landlock-exec's half of the target `command`. */
#include "command.h"
#include "landlock-exec/command.h"
#include "landlock-exec/table.h"

#include <string.h>

/* What its options must come to. */
struct model {
    const char *policy;
    size_t definitions, pass_fds;
    long status_fd, max_abi;
    bool is_dry_run, is_verbose, wants_help, wants_version, has_fault;
};

static void apply(struct model *model, const struct given *given, const struct options *options)
{
    long number = 0;

    switch (given->id) {
    case EXEC_POLICY:
        model->policy = given->argument;
        model->has_fault |= !given->argument[0];
        break;
    case EXEC_DEFINE:
        if (is_defined(given->argument, &options->request, model->definitions))
            model->definitions++;
        else
            model->has_fault = true;
        break;
    case EXEC_PASS_FD:
        if (!is_number(given->argument, 0, INT_MAX, &number)) {
            model->has_fault = true;
            break;
        }
        promise(model->pass_fds < options->request.pass_fd_count &&
                    options->request.pass_fds[model->pass_fds] == number,
                "descriptor %ld is not passed", number);
        model->pass_fds++;
        break;
    case EXEC_STATUS_FD:
        if (is_number(given->argument, 2, INT_MAX, &number))
            model->status_fd = number;
        else
            model->has_fault = true;
        break;
    case EXEC_MAX_ABI:
        if (is_number(given->argument, 1, 11, &number))
            model->max_abi = number;
        else
            model->has_fault = true;
        break;
    default:
        model->is_dry_run |= given->id == EXEC_DRY_RUN;
        model->is_verbose |= given->id == EXEC_VERBOSE;
        model->wants_help |= given->id == EXEC_HELP;
        model->wants_version |= given->id == EXEC_VERSION;
    }
}

/* As much as can be understood is taken, whether there is a fault or not. */
static void compare(const struct model *model, const struct options *options)
{
    const struct launch_request *request = &options->request;

    promise(!strcmp(request->policy_file, model->policy), "policy %s, and not %s", request->policy_file,
            model->policy);
    promise(request->definition_count == model->definitions, "%zu definitions", request->definition_count);
    promise(request->pass_fd_count == model->pass_fds, "%zu descriptors", request->pass_fd_count);
    promise(request->status_fd == model->status_fd, "status descriptor %d", request->status_fd);
    promise(request->max_abi == (unsigned long)model->max_abi, "ABI %u", request->max_abi);
    promise(options->is_dry_run == model->is_dry_run && options->is_verbose == model->is_verbose &&
                options->wants_help == model->wants_help && options->wants_version == model->wants_version,
            "a switch");
}

bool try_landlock_exec(const struct words *words)
{
    static struct error error;
    static struct opinion opinion;
    static char *environment[] = {"A=b", NULL};
    struct words asked = copy_words(words), ours = copy_words(words), others = copy_words(words);
    struct model model = {.policy = DEFAULT_POLICY, .status_fd = -1};
    struct options options;
    int result;

    error = (struct error){0};
    result = read_options(ours.count, ours.items, environment, &options, &error);
    promise(!result == !error.code, "%d: %s", result, error.message);
    promise(!result || (error.code == LAUNCH_USAGE && error.message[0] && error.hint[0]), "code %d: %s",
            error.code, error.message);
    ask_getopt(&landlock_exec_table, true, &asked, &opinion);
    model.has_fault = opinion.has_fault;
    for (size_t i = 0; i < opinion.count; i++)
        apply(&model, &opinion.options[i], &options);
    compare(&model, &options);
    model.has_fault |= model.is_verbose && model.status_fd == 2;
    promise(model.has_fault == (result < 0), "%s", result < 0 ? error.message : "a fault is not told");
    promise(options.request.environment == environment, "the environment");
    promise(options.request.command == ours.items + opinion.first,
            "the command begins with word %td, and not %d", options.request.command - ours.items,
            opinion.first);
    for (int i = opinion.first; i <= words->count; i++)
        promise(ours.items[i] ? !strcmp(ours.items[i], others.items[i]) : i == words->count,
                "word %d is changed", i);
    free_options(&options);
    free_words(&asked);
    free_words(&ours);
    free_words(&others);
    return result == 0;
}
