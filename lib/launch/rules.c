#include "launch/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

static int add_grant(struct launch *launch, const struct object *object, policy_rights rights,
                     const struct policy_path_rule *rule)
{
    if (array_reserve(&launch->grants, &launch->grant_capacity, launch->grant_count, sizeof *launch->grants) <
        0)
        return -1;
    launch->grants[launch->grant_count++] =
        (struct launch_grant){object->device, object->inode, object->mount, rights, rule};
    return 0;
}

static int skip(struct launch *launch, const struct policy_path_rule *rule, struct error *error)
{
    if (array_reserve(&launch->skipped, &launch->skipped_capacity, launch->skipped_count,
                      sizeof *launch->skipped) < 0)
        return system_error(error, "reading rules");
    launch->skipped[launch->skipped_count++] = (struct policy_path){rule->path, rule->position};
    return 0;
}

static bool is_missing(int failure)
{
    return failure == ENOENT || failure == ENOTDIR;
}

static int say_unreachable(const struct launch *launch, const char *path,
                           const struct policy_position *position, struct error *error)
{
    int failure = errno;

    policy_error(error, LAUNCH_PATH, launch, position, "%s: %s", path, strerror(failure));
    if (failure == EACCES)
        error_hint(error, "UID %u may not search a directory on the way (namei -l shows which)", getuid());
    else if (is_missing(failure))
        error_hint(error, "create it, or take it out of the policy");
    return hint_at_descriptors(error, failure);
}

static int say_rule_unreachable(const struct launch *launch, const struct policy_path_rule *rule,
                                struct error *error)
{
    auto_free char *word = NULL;
    int failure = errno;

    say_unreachable(launch, rule->path, &rule->position, error);
    word = is_missing(failure) ? text_as_word(rule->path) : NULL;
    if (word)
        error_hint(error, "create it, take it out of the policy, or write -%s if it may be missing%s", word,
                   strchr(rule->path, '*') ? "; a path has no wildcards" : "");
    return -1;
}

int open_named(const struct launch *launch, struct walker *walker, const char *path,
               const struct policy_position *position, struct error *error)
{
    int fd;

    walker->position = position;
    fd = walk_open(walker, path, error);
    if (fd >= 0 || error->code)
        return fd;
    return say_unreachable(launch, path, position, error);
}

/* What a rule gives to something that is not a directory: what fits of its groups, all of what it names
 * singly. */
static int rights_for_file(const struct launch *launch, const struct policy_path_rule *rule,
                           policy_rights *rights, struct error *error)
{
    policy_rights misfits = rule->singles & ~policy_rights_of_files();

    *rights = rule->rights & policy_rights_of_files();
    if (!misfits && *rights)
        return 0;
    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].bit & (misfits ? misfits : rule->rights))
            return policy_error(error, LAUNCH_PATH, launch, &rule->position,
                                "%s is not a directory, and %s is a right on directories", rule->path,
                                policy_right_table[i].name);
    return -1;
}

static int add_rule(struct launch *launch, struct walker *walker, const struct policy_path_rule *rule, int fd,
                    struct error *error)
{
    policy_rights rights = rule->rights;
    struct object object;

    if (object_of(fd, &object) < 0)
        return system_error(error, rule->path);
    if (!S_ISDIR(object.mode) && rights_for_file(launch, rule, &rights, error) < 0)
        return -1;
    launch->not_granted |= rights & POLICY_REFER & ~launch->handled;
    if (add_grant(launch, &object, rights, rule) < 0)
        return system_error(error, "reading rules");
    rights &= launch->handled;
    if ((rights & policy_rights_that_create()) && walk_note_creatable(walker, &object, rule->path) < 0)
        return system_error(error, "reading rules");
    if (rights && launch->ruleset >= 0 &&
        landlock_allow_path(launch->ruleset, fd, policy_rights_fs(rights)) < 0)
        return policy_error(error, LAUNCH_PATH, launch, &rule->position,
                            "%s: the kernel takes no rule for it: %s", rule->path, strerror(errno));
    return 0;
}

/* Descriptors with consecutive numbers, all of them opened here, closed by one call: that is cheaper than one each. */
struct batch {
    int first, count;
};

enum { MOST_IN_BATCH = 32 };

static void close_batch(struct batch *batch)
{
    if (batch->count && syscall(SYS_close_range, batch->first, batch->first + batch->count - 1, 0) < 0)
        for (int i = 0; i < batch->count; i++)
            close(batch->first + i);
    batch->count = 0;
}

static void close_later(struct batch *batch, int fd)
{
    if (batch->count == MOST_IN_BATCH || (batch->count && fd != batch->first + batch->count))
        close_batch(batch);
    if (!batch->count)
        batch->first = fd;
    batch->count++;
}

/* walk_open(), with the descriptors that wait to be closed given up where there are too few. */
static int open_path(struct walker *walker, struct batch *batch, const char *path, struct error *error)
{
    int fd = walk_open(walker, path, error);

    if (fd >= 0 || errno != EMFILE || !batch->count)
        return fd;
    close_batch(batch);
    return walk_open(walker, path, error);
}

static int add_path_rule(struct launch *launch, struct walker *walker, struct batch *batch,
                         const struct policy_path_rule *rule, struct error *error)
{
    int fd;

    walker->position = &rule->position;
    fd = open_path(walker, batch, rule->path, error);
    if (fd >= 0) {
        close_later(batch, fd);
        return add_rule(launch, walker, rule, fd, error);
    }
    if (error->code)
        return -1;
    if (rule->position.flags & POLICY_OPTIONAL && is_missing(errno))
        return skip(launch, rule, error);
    return say_rule_unreachable(launch, rule, error);
}

static int add_port_rule(struct launch *launch, const struct policy_port_rule *rule, struct error *error)
{
    policy_rights rights = launch->ruleset >= 0 ? rule->rights & launch->handled : 0;

    for (unsigned port = rule->first; rights && port <= rule->last; port++)
        if (landlock_allow_port(launch->ruleset, (uint16_t)port, policy_rights_net(rights)) < 0)
            return policy_error(error, LAUNCH_PATH, launch, &rule->position,
                                "port %u: the kernel takes no rule for it: %s", port, strerror(errno));
    return 0;
}

int prepare_rules(struct launch *launch, struct walker *walker, struct error *error)
{
    const struct policy *policy = launch->policy;
    struct batch batch = {0};
    int result = 0;

    for (size_t i = 0; result == 0 && i < policy->path_rule_count; i++) {
        result = add_path_rule(launch, walker, &batch, &policy->path_rules[i], error);
        if (result < 0)
            result = fault(launch, &policy->path_rules[i].position, error);
    }
    close_batch(&batch);
    if (result < 0)
        return -1;
    for (size_t i = 0; i < policy->port_rule_count; i++)
        if (add_port_rule(launch, &policy->port_rules[i], error) < 0)
            return -1;
    return 0;
}

static int open_directory(struct launch *launch, struct walker *walker, const struct policy_path *directory,
                          struct error *error)
{
    struct stat status;

    launch->directory = open_named(launch, walker, directory->path, &directory->position, error);
    if (launch->directory < 0) {
        launch->directory = AT_FDCWD;
        return -1;
    }
    if (fstat(launch->directory, &status) < 0)
        return system_error(error, directory->path);
    if (!S_ISDIR(status.st_mode))
        return policy_error(error, LAUNCH_PATH, launch, &directory->position, "%s is not a directory",
                            directory->path);
    return 0;
}

int prepare_directory(struct launch *launch, struct walker *walker, struct error *error)
{
    const struct policy_path *directory = &launch->policy->directory;

    if (!directory->path || open_directory(launch, walker, directory, error) == 0)
        return 0;
    return fault(launch, &directory->position, error);
}

/* ---- What the rules grant ---- */

policy_rights granted_on(const struct launch *launch, uint64_t device, uint64_t inode)
{
    policy_rights rights = 0;

    for (size_t i = 0; i < launch->grant_count; i++)
        if (launch->grants[i].inode == inode && launch->grants[i].device == device)
            rights |= launch->grants[i].rights;
    return rights;
}

const struct launch_grant *launch_granting(const struct launch *launch, const char *path, policy_rights right)
{
    char *ancestor = strdupa(path);
    struct stat status;

    do {
        if (lstat(ancestor, &status) == 0)
            for (size_t i = 0; i < launch->grant_count; i++)
                if (launch->grants[i].rights & right && launch->grants[i].inode == status.st_ino &&
                    launch->grants[i].device == status.st_dev)
                    return &launch->grants[i];
    } while (path_to_parent(ancestor));
    return NULL;
}

int policy_grants(const struct launch *launch, const char *path, policy_rights rights)
{
    char *ancestor = strdupa(path);
    struct stat status;
    int failure = 0;

    do {
        if (lstat(ancestor, &status) == 0)
            rights &= ~granted_on(launch, status.st_dev, status.st_ino);
        else
            failure = errno;
    } while (rights && path_to_parent(ancestor));
    errno = failure;
    if (!rights)
        return 1;
    return failure ? -1 : 0;
}

bool launch_grants(const struct launch *launch, const char *path, policy_rights rights)
{
    return policy_grants(launch, path, rights & launch->handled) > 0;
}
