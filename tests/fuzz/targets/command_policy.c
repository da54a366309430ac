/* landlock-policy's half of the target `command`. */
#include "command.h"
#include "landlock-policy/command.h"

#include <string.h>

/* How many operands each subcommand takes, and which options are not every one's. */
static const struct form {
    const char *name;
    size_t least, most;
    bool takes_abi, takes_ignore, traces;
} forms[] = {{"check", 1, SIZE_MAX, false, true, false}, {"show", 1, 1, true, false, false},
             {"why", 3, SIZE_MAX, true, false, false},   {"test", 1, 1, true, false, false},
             {"probe", 0, 1, true, false, false},        {"trace", 1, SIZE_MAX, true, false, true},
             {"import", 1, 1, false, false, false},      {"export", 1, 1, false, false, false}};

struct model {
    size_t definitions, ignored;
    long max_abi, runs;
    const char *output, *report;
    bool is_json, gathers, wants_help, wants_version, has_fault;
};

static const struct form *form_of(const char *name)
{
    for (size_t i = 0; i < array_size(forms); i++)
        if (!strcmp(forms[i].name, name))
            return &forms[i];
    return NULL;
}

/* What only a trace takes. */
static void apply_to_trace(struct model *model, const struct given *given, const struct form *form)
{
    long number = 0;

    if (!form || !form->traces) {
        model->has_fault = true;
    } else if (given->id == RUNS) {
        model->has_fault |= !is_number(given->argument, 1, 1000, &number);
        model->runs = number;
    } else if (given->id == GATHER) {
        model->gathers = true;
    } else {
        *(given->id == OUTPUT ? &model->output : &model->report) = given->argument;
    }
}

/* `form` NULL: before the subcommand. */
static void apply(struct model *model, const struct given *given, const struct form *form,
                  const struct options *options)
{
    long number = 0;

    switch (given->id) {
    case DEFINE:
        if (is_defined(given->argument, &options->request, model->definitions))
            model->definitions++;
        else
            model->has_fault = true;
        break;
    case MAX_ABI:
        if (form && form->takes_abi && is_number(given->argument, 1, 11, &number))
            model->max_abi = number;
        else
            model->has_fault = true;
        break;
    case FORMAT:
        model->is_json = !strcmp(given->argument, "json");
        model->has_fault |= !model->is_json && strcmp(given->argument, "text") != 0;
        break;
    case IGNORE:
        if (!form || !form->takes_ignore) {
            model->has_fault = true;
            break;
        }
        promise(model->ignored < options->ignored_count &&
                    !strcmp(options->ignored[model->ignored], given->argument),
                "%s is not ignored", given->argument);
        model->ignored++;
        break;
    case OUTPUT:
    case REPORT:
    case GATHER:
    case RUNS:
        apply_to_trace(model, given, form);
        break;
    default:
        model->wants_help |= given->id == HELP;
        model->wants_version |= given->id == VERSION;
    }
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static void compare(const struct model *model, const struct options *options)
{
    promise(model->has_fault ||
                (is_same(options->output, model->output) && is_same(options->report, model->report) &&
                 options->runs == (unsigned long)model->runs && options->gathers == model->gathers),
            "an option of trace");
    promise(options->request.definition_count == model->definitions, "%zu definitions",
            options->request.definition_count);
    promise(options->ignored_count == model->ignored, "%zu lists of codes", options->ignored_count);
    promise(options->request.max_abi == (unsigned long)model->max_abi, "ABI %u", options->request.max_abi);
    promise(options->is_json == model->is_json && options->line.wants_help == model->wants_help &&
                options->line.wants_version == model->wants_version,
            "a switch");
}

/* What stands behind the subcommand. */
static void apply_rest(struct model *model, struct words *words, int at, const struct form *form,
                       const struct options *options)
{
    static struct opinion opinion;
    struct words rest = {.count = words->count - at};
    size_t operands;

    memcpy(rest.items, words->items + at, (size_t)rest.count * sizeof *rest.items);
    ask_getopt(&landlock_policy_table, false, &rest, &opinion);
    model->has_fault |= opinion.has_fault;
    for (size_t i = 0; i < opinion.count; i++)
        apply(model, &opinion.options[i], form, options);
    if (model->has_fault)
        return;
    operands = (size_t)(rest.count - opinion.first);
    promise(options->line.operand_count == operands, "%zu operands, and not %zu", options->line.operand_count,
            operands);
    for (size_t i = 0; i < operands; i++)
        promise(!strcmp(options->line.operands[i], rest.items[(size_t)opinion.first + i]),
                "operand %zu is %s", i, options->line.operands[i]);
    if (model->wants_help || model->wants_version)
        return;
    promise(!operands || options->request.policy_file == options->line.operands[0], "the policy");
    model->has_fault = operands < form->least || operands > form->most;
}

static void apply_all(struct model *model, struct words *words, const struct options *options)
{
    static struct opinion opinion;
    const struct form *form;

    ask_getopt(&landlock_policy_table, true, words, &opinion);
    model->has_fault = opinion.has_fault;
    for (size_t i = 0; i < opinion.count; i++)
        apply(model, &opinion.options[i], NULL, options);
    if (model->has_fault || model->wants_help || model->wants_version)
        return;
    form = opinion.first < words->count ? form_of(words->items[opinion.first]) : NULL;
    model->has_fault = !form;
    if (!form)
        return;
    promise(!strcmp(options->line.subcommand->name, form->name), "subcommand %s",
            options->line.subcommand->name);
    apply_rest(model, words, opinion.first, form, options);
}

bool try_landlock_policy(const struct words *words)
{
    static struct error error;
    static char *environment[] = {"A=b", NULL};
    struct words asked = copy_words(words), ours = copy_words(words);
    struct model model = {.runs = 1};
    struct options options;
    int result;

    error = (struct error){0};
    result = read_options(ours.count, ours.items, environment, &options, &error);
    promise(!result == !error.code, "%d: %s", result, error.message);
    promise(!result || (error.code == LAUNCH_USAGE && error.message[0] && error.hint[0]), "code %d: %s",
            error.code, error.message);
    apply_all(&model, &asked, &options);
    compare(&model, &options);
    promise(model.has_fault == (result < 0), "%s", result < 0 ? error.message : "a fault is not told");
    promise(options.request.environment == environment, "the environment");
    free_options(&options);
    free_words(&asked);
    free_words(&ours);
    return result == 0;
}
