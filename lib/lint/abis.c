#include "lint/internal.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The oldest ABI on which the policy runs: what it requires says. */
static unsigned oldest_abi(const struct policy *policy)
{
    unsigned abi = 1;

    for (size_t i = 0; i < policy->requirement_count; i++)
        if (policy->requirements[i].abi > abi)
            abi = policy->requirements[i].abi;
    return abi;
}

/* What every kernel on which the policy runs can restrict. */
static policy_rights always_restricted(const struct policy *policy)
{
    policy_rights rights = policy_rights_of_abi(oldest_abi(policy)) | POLICY_REFER;

    for (size_t i = 0; i < policy->requirement_count; i++)
        rights |= policy->requirements[i].rights;
    return rights;
}

/* The last ABI that cannot restrict one of `rights`. */
static unsigned last_without(policy_rights rights)
{
    unsigned last = 0;

    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].bit & rights && policy_right_table[i].abi > last + 1)
            last = policy_right_table[i].abi - 1U;
    return last;
}

/* ---- W110 ---- */

static void find_open_on_older(struct linter *linter)
{
    const struct policy *policy = linter->policy;
    policy_rights always = always_restricted(policy) | policy->unrestricted;

    if (policy->container.is_described) /* it is checked there, so that nothing else can be truncated */
        always |= POLICY_TRUNCATE;
    for (size_t i = 0; i < policy->expectation_count; i++) {
        const struct policy_expectation *expectation = &policy->expectations[i];
        policy_rights open = expectation->rights & ~always;
        char names[POLICY_RIGHTS_TEXT];

        if (expectation->allowed || !open)
            continue;
        policy_rights_text(open, names);
        add_finding(linter, LINT_NOT_ON_EVERY_ABI, &expectation->position,
                    text_of("expected to be denied, but Landlock ABI %u and older cannot restrict all of it: "
                            "%s",
                            last_without(open), names),
                    text_of("refuse to run there: require %s", names));
    }
}

/* ---- W111 ---- */

/* Whether the policy says on purpose that a right is denied at, or above, a path (NULL: on any port). */
static bool is_on_purpose(const struct policy *policy, policy_rights right, const char *path)
{
    for (size_t i = 0; i < policy->expectation_count; i++) {
        const struct policy_expectation *expectation = &policy->expectations[i];

        if (!expectation->allowed && expectation->rights & right &&
            (!path || (expectation->path && is_at_or_below(path, expectation->path))))
            return true;
    }
    return false;
}

static bool gives(void *context, const struct indexed *item)
{
    return item->rule->rights & *(const policy_rights *)context;
}

/* A right that works unasked below some ABI, beside one that is allowed. */
struct companion {
    policy_rights with, right;
    const char *doing; /* what will be denied */
    bool (*concerns)(const struct stat *status);
};

static bool is_file_or_folder(const struct stat *status)
{
    return S_ISREG(status->st_mode) || S_ISDIR(status->st_mode);
}

/* A memory device such as /dev/null takes no request of its own. */
static bool is_device(const struct stat *status)
{
    enum { MEMORY_DEVICES = 1 };

    return S_ISBLK(status->st_mode) || (S_ISCHR(status->st_mode) && major(status->st_rdev) != MEMORY_DEVICES);
}

static bool is_socket(const struct stat *status)
{
    return S_ISSOCK(status->st_mode);
}

static const struct companion companions[] = {
    {POLICY_WRITE_FILE, POLICY_TRUNCATE, "empty a file, as opening it with \"w\" does,", is_file_or_folder},
    {POLICY_READ_FILE | POLICY_WRITE_FILE, POLICY_IOCTL_DEV, "send the device requests", is_device},
    {POLICY_READ_FILE | POLICY_WRITE_FILE, POLICY_RESOLVE_UNIX, "connect to the socket", is_socket},
};

static void add_denied(struct linter *linter, const struct policy_position *position, policy_rights right,
                       const char *doing, const char *where)
{
    char names[POLICY_RIGHTS_TEXT];
    unsigned last = last_without(right);

    policy_rights_text(right, names);
    add_finding(linter, LINT_DENIED_BY_NEWER, position,
                text_of("%s%s: the program may %s up to Landlock ABI %u and no more from ABI %u on",
                        right & POLICY_ALL_NET ? "port " : "", where, doing, last, last + 1),
                text_of("allow %s, too; or run only where it is denied: require %s", names, names));
}

static void find_companions(struct linter *linter, const struct policy_path_rule *rule)
{
    policy_rights open = ~always_restricted(linter->policy) & ~linter->policy->unrestricted;
    struct stat status;
    auto_free char *real = NULL;

    for (size_t i = 0; i < array_size(companions); i++) {
        const struct companion *companion = &companions[i];
        policy_rights right = companion->right;

        if (!(rule->rights & companion->with) || !(companion->right & open))
            continue;
        if (!real && (stat(rule->path, &status) < 0 || !(real = real_path(rule->path))))
            return;
        if (companion->concerns(&status) && !index_walk(&linter->real, real, gives, &right) &&
            !is_on_purpose(linter->policy, companion->right, rule->path))
            add_denied(linter, &rule->position, companion->right, companion->doing, rule->path);
    }
}

/* Names are looked up by UDP. */
static void find_name_lookup(struct linter *linter)
{
    const struct policy *policy = linter->policy;
    const struct policy_port_rule *tcp = NULL;
    policy_rights open = ~always_restricted(policy) & ~policy->unrestricted;

    if (!(open & POLICY_CONNECT_SEND_UDP) || is_on_purpose(policy, POLICY_CONNECT_SEND_UDP, NULL))
        return;
    for (size_t i = 0; i < policy->port_rule_count; i++) {
        if (policy->port_rules[i].rights & POLICY_CONNECT_SEND_UDP)
            return;
        if (!tcp && policy->port_rules[i].rights & POLICY_CONNECT_TCP)
            tcp = &policy->port_rules[i];
    }
    if (tcp)
        add_denied(linter, &tcp->position, POLICY_CONNECT_SEND_UDP, "look up names by UDP", "53");
}

void lint_abis(struct linter *linter)
{
    find_open_on_older(linter);
    for (size_t i = 0; i < linter->policy->path_rule_count; i++)
        find_companions(linter, &linter->policy->path_rules[i]);
    find_name_lookup(linter);
}
