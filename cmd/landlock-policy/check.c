#include "command.h"
#include "lint/lint.h"

#include <string.h>

/* One call over all policies. */
struct checker {
    const struct options *options;
    size_t errors, warnings;
    bool has_unreadable; /* a policy that was named could not be read */
    json_t *policies;    /* NULL: text */
};

/* What is said of one place, whoever found it. */
struct remark {
    bool is_error;
    const char *code, *file, *definition, *message, *hint;
    size_t line, column; /* 0: of the whole file, or of none */
};

static bool is_ignored(const struct options *options, const char *code)
{
    for (size_t i = 0; i < options->ignored_count; i++)
        for (const char *at = options->ignored[i]; *at; at += *at == ',') {
            size_t length = strcspn(at, ",");

            if (strlen(code) == length && !memcmp(at, code, length))
                return true;
            at += length;
        }
    return false;
}

/* ---- Writing ---- */

static void put_remark(const struct remark *remark)
{
    put_text(remark->file ? remark->file : "command line");
    if (remark->line)
        printf(":%zu:%zu", remark->line, remark->column);
    fputs(": ", stdout);
    put_coloured(remark->is_error ? RED : YELLOW, remark->is_error ? "error" : "warning");
    fputs(": ", stdout);
    put_text(remark->message);
    printf(" [%s]\n", remark->code);
    if (remark->hint && remark->hint[0]) {
        fputs("    hint: ", stdout);
        put_text(remark->hint);
        putchar('\n');
    }
}

static json_t *json_remark(const struct remark *remark)
{
    json_t *object = json_object();

    json_set(object, "code", json_string(remark->code));
    json_set(object, "severity", json_string(remark->is_error ? "error" : "warning"));
    json_set(object, "file", json_text(remark->file));
    json_set(object, "line", remark->line ? json_integer((json_int_t)remark->line) : json_null());
    json_set(object, "column", remark->line ? json_integer((json_int_t)remark->column) : json_null());
    json_set(object, "definition", json_text(remark->definition));
    json_set(object, "message", json_text(remark->message));
    json_set(object, "hint", json_text(remark->hint && remark->hint[0] ? remark->hint : NULL));
    return object;
}

static void tell(struct checker *checker, json_t *into, const struct remark *remark)
{
    if (is_ignored(checker->options, remark->code))
        return;
    *(remark->is_error ? &checker->errors : &checker->warnings) += 1;
    if (into)
        json_add(into, json_remark(remark));
    else
        put_remark(remark);
}

/* ---- What is found ---- */

static void tell_diagnostics(struct checker *checker, json_t *into,
                             const struct policy_diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->count; i++) {
        const struct policy_diagnostic *item = &diagnostics->items[i];

        checker->has_unreadable |= item->fault == POLICY_FAULT_UNREADABLE && !item->line;
        tell(checker, into,
             &(struct remark){.is_error = true,
                              .code = policy_fault_code(item->fault),
                              .file = item->file,
                              .definition = item->definition,
                              .line = item->line,
                              .column = item->column,
                              .message = item->message});
    }
    checker->errors += diagnostics->dropped;
    if (diagnostics->dropped && !into)
        printf("and %zu more errors\n", diagnostics->dropped);
}

static void tell_findings(struct checker *checker, json_t *into, const struct policy *policy,
                          const struct lint_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct lint_finding *finding = &findings->items[i];
        size_t line, column;

        policy_locate(policy, &finding->position, &line, &column);
        tell(checker, into,
             &(struct remark){.code = lint_code_name(finding->code),
                              .file = policy->files[finding->position.file].name,
                              .line = line,
                              .column = column,
                              .message = finding->message,
                              .hint = finding->hint});
    }
    if (findings->dropped && !into)
        printf("and %zu more warnings\n", findings->dropped);
}

static int lint_it(struct checker *checker, json_t *into, const struct look *look, size_t *dropped,
                   struct error *error)
{
    struct lint_findings findings = {0};
    int result = lint(&look->launch, &findings, error);

    *dropped = findings.dropped;
    checker->warnings += findings.dropped;
    if (result == 0)
        tell_findings(checker, into, look->launch.policy, &findings);
    lint_free(&findings);
    return result;
}

static void add_policy(struct checker *checker, const char *file, json_t *diagnostics, size_t dropped)
{
    json_t *object = json_object();

    json_set(object, "policy", json_text(file));
    json_set(object, "diagnostics", diagnostics);
    json_set(object, "dropped", json_integer((json_int_t)dropped));
    json_add(checker->policies, object);
}

static int check_one(struct checker *checker, const char *file, struct error *error)
{
    json_t *into = checker->policies ? json_array() : NULL;
    struct look look;
    size_t dropped = 0;
    int result = look_at_policy(&look, checker->options, file, true, error);

    if (result == 0)
        result = lint_it(checker, into, &look, &dropped, error);
    else if (error->code == LAUNCH_POLICY && look.launch.diagnostics.count) {
        tell_diagnostics(checker, into, &look.launch.diagnostics);
        *error = (struct error){0};
        result = 0;
    }
    if (into)
        add_policy(checker, file, into, dropped + look.launch.diagnostics.dropped);
    look_free(&look);
    return result;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static int finish(struct checker *checker, struct error *error)
{
    size_t policies = checker->options->line.operand_count;
    json_t *document;

    if (!checker->policies) {
        printf("%zu polic%s checked: %zu error%s, %zu warning%s\n", policies, policies == 1 ? "y" : "ies",
               checker->errors, plural(checker->errors), checker->warnings, plural(checker->warnings));
        return 0;
    }
    document = json_object();
    json_set(document, "policies", json_incref(checker->policies));
    json_set(document, "errors", json_integer((json_int_t)checker->errors));
    json_set(document, "warnings", json_integer((json_int_t)checker->warnings));
    return put_json(document, error);
}

/* Whether all codes of a list exist. */
static int know_codes(const char *list, struct error *error)
{
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        bool is_known = false;

        for (size_t i = 0; i < lint_code_count; i++)
            is_known |=
                strlen(lint_code_table[i].name) == length && !memcmp(lint_code_table[i].name, at, length);
        if (!is_known) {
            error_set(error, LAUNCH_USAGE, "--ignore: unknown code '%.*s'", (int)length, at);
            return error_hint(error, "warnings can be left out, W101 to %s: landlock-policy(1) lists them",
                              lint_code_table[lint_code_count - 1].name);
        }
        at += length;
        if (!*at)
            return 0;
    }
}

static int check_all(struct checker *checker, struct error *error)
{
    const struct options *options = checker->options;

    for (size_t i = 0; i < options->ignored_count; i++)
        if (know_codes(options->ignored[i], error) < 0)
            return -1;
    for (size_t i = 0; i < options->line.operand_count; i++)
        if (check_one(checker, options->line.operands[i], error) < 0)
            return -1;
    return finish(checker, error);
}

int check(const struct options *options, struct error *error)
{
    struct checker checker = {.options = options, .policies = options->is_json ? json_array() : NULL};
    int result = check_all(&checker, error);

    json_decref(checker.policies);
    if (result < 0)
        return -1;
    return checker.has_unreadable ? FAILED : checker.errors || checker.warnings ? FINDINGS : FINE;
}
