#include "lint/internal.h"

const struct name_row lint_code_table[] = {
    {LINT_WRITABLE_EXECUTABLE, "W101", "what is at a path may be both written and executed"},
    {LINT_BELOW_CREATABLE, "W102", "a rule stands below a path in which the policy lets the program create"},
    {LINT_COVERED, "W103", "other rules give all that a rule gives"},
    {LINT_CONTRADICTS_EXPECTATION, "W104", "a rule allows what the policy expects to be denied"},
    {LINT_CONTRADICTS_PRIVATE, "W105", "a rule lets the program open a private file"},
    {LINT_TOO_WIDE, "W106", "a rule is for the root directory or a home directory"},
    {LINT_SECRET, "W107", "an environment variable has the name of a secret"},
    {LINT_MISSING, "W108", "a path is missing here and is not marked as one that may be"},
    {LINT_REFUSED, "W109", "a path would make the launcher refuse here"},
    {LINT_NOT_ON_EVERY_ABI, "W110", "what the policy expects to be denied is open on an older Landlock ABI"},
    {LINT_DENIED_BY_NEWER, "W111", "a newer Landlock ABI denies what an older one leaves open"},
};
const size_t lint_code_count = array_size(lint_code_table);

void add_finding(struct linter *linter, enum lint_code code, const struct policy_position *position,
                 char *message, char *hint)
{
    struct lint_findings *findings = linter->findings;

    if (findings->count == LINT_MAX_FINDINGS) {
        findings->dropped++;
        free(message);
        free(hint);
        return;
    }
    if (message && hint &&
        array_reserve(&findings->items, &findings->capacity, findings->count, sizeof *findings->items) == 0) {
        findings->items[findings->count++] = (struct lint_finding){code, *position, message, hint};
        return;
    }
    free(message);
    free(hint);
    linter->is_out_of_memory = true;
}

char *place_text(const struct policy *policy, const struct policy_position *position)
{
    size_t line, column;

    policy_locate(policy, position, &line, &column);
    return text_of("%s:%zu", policy->files[position->file].name, line);
}

static int compare_findings(const void *left, const void *right)
{
    const struct lint_finding *a = left, *b = right;
    int order = policy_compare_positions(&a->position, &b->position);

    return order ? order : (int)a->code - (int)b->code;
}

int lint(const struct launch *launch, struct lint_findings *findings, struct error *error)
{
    struct linter linter = {.launch = launch, .policy = launch->policy, .findings = findings};

    if (index_rules(linter.policy, false, &linter.written) == 0 &&
        index_rules(linter.policy, true, &linter.real) == 0) {
        lint_rules(&linter);
        lint_contradictions(&linter);
        lint_abis(&linter);
        lint_environment(&linter);
        lint_faults(&linter);
    } else {
        linter.is_out_of_memory = true;
    }
    index_free(&linter.written);
    index_free(&linter.real);
    if (linter.is_out_of_memory)
        return error_set(error, LAUNCH_SYSTEM, "looking for what is doubtful: out of memory");
    if (findings->count > 1)
        qsort(findings->items, findings->count, sizeof *findings->items, compare_findings);
    return 0;
}

void lint_free(struct lint_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].message);
        free(findings->items[i].hint);
    }
    free(findings->items);
    *findings = (struct lint_findings){0};
}
