#include "lint/internal.h"

/* A rule, looked at beside the others at its path and above. */
struct look {
    struct linter *linter;
    const char *path; /* of the rule, in the index that is walked */
    const struct policy_path_rule *rule;
    policy_rights rights; /* what is looked for in the others; given by those found so far */
    const struct policy_path_rule *found;
};

static bool is_strictly_above(const struct look *look, const struct indexed *item)
{
    return strlen(item->path) < strlen(look->path);
}

/* " (FILE:LINE)" for a message about two rules. */
static char *other_place(const struct look *look)
{
    return place_text(look->linter->policy, &look->found->position);
}

/* ---- W101 ---- */

/* Of two rules at one path the later one tells. */
static bool gives_the_other(void *context, const struct indexed *item)
{
    struct look *look = context;

    if (!(item->rule->rights & look->rights) || !(is_strictly_above(look, item) || item->rule <= look->rule))
        return false;
    look->found = item->rule;
    return true;
}

static void find_writable_executable(struct linter *linter, const struct indexed *item)
{
    struct look look = {.linter = linter, .path = item->path, .rule = item->rule};
    policy_rights own = item->rule->rights & (POLICY_EXECUTE | POLICY_WRITE_FILE);
    auto_free char *place = NULL;

    if (!own)
        return;
    look.rights = own == POLICY_EXECUTE ? POLICY_WRITE_FILE : POLICY_EXECUTE;
    if (!index_walk(&linter->real, item->path, gives_the_other, &look))
        return;
    place = other_place(&look);
    add_finding(linter, LINT_WRITABLE_EXECUTABLE, &item->rule->position,
                look.found == item->rule
                    ? text_of("%s may be both written and executed", item->rule->path)
                    : text_of("%s may be both written and executed: %s is allowed by %s", item->rule->path,
                              look.rights == POLICY_EXECUTE ? "execute" : "write_file", place),
                text_of("the program can run whatever it brings along: allow one of the two, and keep "
                        "programs where it "
                        "cannot write"));
}

/* ---- W102 ---- */

static bool lets_create_above(void *context, const struct indexed *item)
{
    struct look *look = context;

    if (!(item->rule->rights & policy_rights_that_create()) || !is_strictly_above(look, item))
        return false;
    look->found = item->rule;
    return true;
}

static void find_below_creatable(struct linter *linter, const struct indexed *item)
{
    struct look look = {.linter = linter, .path = item->path, .rule = item->rule};
    auto_free char *place = NULL;

    if (!index_walk(&linter->real, item->path, lets_create_above, &look))
        return;
    place = other_place(&look);
    add_finding(linter, LINT_BELOW_CREATABLE, &item->rule->position,
                text_of("%s lies in %s, where the program may create (%s)", item->rule->path,
                        look.found->path, place),
                text_of("the last run may have put something else in its place: name a path outside, or drop "
                        "the line "
                        "if the other one gives enough"));
}

/* ---- W103 ---- */

static bool covers(void *context, const struct indexed *item)
{
    struct look *look = context;
    policy_rights own = look->rule->rights, other = item->rule->rights;
    bool is_above = is_strictly_above(look, item);

    if (item->rule == look->rule)
        return false;
    /* of two equal ones the earlier covers the later */
    if (!is_above && !(!(own & ~other) && (other & ~own || item->rule < look->rule)))
        return false;
    if (!(other & look->rights))
        return false;
    look->rights &= ~other;
    look->found = item->rule;
    return !look->rights;
}

static void find_covered(struct linter *linter, const struct indexed *item)
{
    struct look look = {
        .linter = linter, .path = item->path, .rule = item->rule, .rights = item->rule->rights};
    auto_free char *place = NULL;

    if (!index_walk(&linter->written, item->path, covers, &look))
        return;
    place = other_place(&look);
    add_finding(linter, LINT_COVERED, &item->rule->position,
                text_of("%s: all of its rights are given already, by the rule for %s (%s)", item->rule->path,
                        look.found->path, place),
                text_of("drop the line, or the word"));
}

/* ---- W106 ---- */

/* /, /root, /home and the folders in it. */
static bool is_root_or_home(const char *path)
{
    if (!strcmp(path, "/") || !strcmp(path, "/root") || !strcmp(path, "/home"))
        return true;
    return !strncmp(path, "/home/", 6) && !strchr(path + 6, '/');
}

static void find_too_wide(struct linter *linter, const struct indexed *item)
{
    if (is_root_or_home(item->path))
        add_finding(linter, LINT_TOO_WIDE, &item->rule->position,
                    text_of("%s is %s: the rule holds for everything in it", item->rule->path,
                            strcmp(item->path, "/") ? "a home directory" : "the root directory"),
                    text_of("name what the program needs; landlock-exec --dry-run tells what a policy "
                            "amounts to"));
}

void lint_rules(struct linter *linter)
{
    for (size_t i = 0; i < linter->real.count; i++) {
        find_writable_executable(linter, &linter->real.items[i]);
        find_below_creatable(linter, &linter->real.items[i]);
        find_too_wide(linter, &linter->real.items[i]);
        find_covered(linter, &linter->written.items[i]);
    }
}
