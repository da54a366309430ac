#include "verdict/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

const struct name_row verdict_obstacle_table[] = {
    {VERDICT_NOTHING, "nothing", "it is allowed"},
    {VERDICT_LANDLOCK, "landlock", "no line of the policy allows it"},
    {VERDICT_PERMISSIONS, "permissions", "file permissions, or a mount without programs or devices"},
    {VERDICT_READ_ONLY, "read-only", "a read-only mount"},
    {VERDICT_MISSING, "missing", "there is no such file"},
    {VERDICT_KIND, "kind", "the file is of another kind than the right is about"},
    {VERDICT_OTHER, "other", "the kernel answers with another error"},
};
const size_t verdict_obstacle_count = array_size(verdict_obstacle_table);

/* The question, and what is known of the path. */
struct question {
    const struct launch *launch;
    policy_rights right;
    const char *path;
    struct stat status; /* of what it leads to */
    int failure;        /* why it does not lead to anything; 0: it does */
    char *real;         /* what it leads to, or the part of it that is there */
};

/* ---- Where the path leads ---- */

/* What the path leads to, or the nearest directory above it that is there. Of a link to what is missing, that is one above its
 * target: realpath(3) leaves in `found` how far it came. */
static int resolve(struct question *question)
{
    char path[PATH_MAX], found[PATH_MAX] = "";

    snprintf(path, sizeof path, "%s", question->path);
    question->failure = stat(path, &question->status) < 0 ? errno : 0;
    while (!realpath(path, found)) {
        if (errno == ENOMEM)
            return -1;
        if ((errno == ENOENT || errno == EACCES) && found[0] == '/')
            strcpy(path, found);
        if (!path_to_parent(path))
            break;
    }
    question->real = strdup(found[0] ? found : "/");
    return question->real ? 0 : -1;
}

/* ---- The system's part ---- */

static bool is_on_directory(policy_rights right)
{
    return !(right & policy_rights_of_files());
}

/* What a right on files needs of the file. */
static int mode_of(policy_rights right)
{
    if (right == POLICY_EXECUTE)
        return X_OK;
    return right & (POLICY_WRITE_FILE | POLICY_TRUNCATE | POLICY_RESOLVE_UNIX) ? W_OK : R_OK;
}

static bool is_device(const struct stat *status)
{
    return S_ISCHR(status->st_mode) || S_ISBLK(status->st_mode);
}

static bool is_of_kind(const struct question *question)
{
    mode_t mode = question->status.st_mode;

    if (question->right == POLICY_IOCTL_DEV)
        return is_device(&question->status);
    if (question->right == POLICY_RESOLVE_UNIX)
        return S_ISSOCK(mode);
    if (question->right & (POLICY_EXECUTE | POLICY_TRUNCATE))
        return S_ISREG(mode);
    return !S_ISSOCK(mode); /* which cannot be opened: ENXIO */
}

static int failure_of_kind(policy_rights right)
{
    if (is_on_directory(right))
        return ENOTDIR;
    return right & (POLICY_READ_FILE | POLICY_WRITE_FILE) ? ENXIO : EINVAL;
}

static int access_as(const struct question *question, int mode)
{
    return faccessat(AT_FDCWD, question->path, mode, AT_EACCESS) < 0 ? errno : 0;
}

static bool has_mount_flag(const struct question *question, unsigned long flag)
{
    struct statvfs system;

    return statvfs(question->path, &system) == 0 && system.f_flag & flag;
}

/* What may only be appended to (chattr +a) is not truncated, and nothing in it removed. */
static bool is_append_only(const struct question *question)
{
    struct statx status;

    return statx(AT_FDCWD, question->path, 0, 0, &status) == 0 && status.stx_attributes & STATX_ATTR_APPEND;
}

/* An open device, or a request to one, is refused where the mount says nodev. */
static int ask_file(const struct question *question)
{
    int failure = access_as(question, mode_of(question->right));

    if (failure && question->right == POLICY_IOCTL_DEV)
        failure = access_as(question, W_OK);
    if (!failure && is_device(&question->status) && has_mount_flag(question, ST_NODEV))
        failure = EACCES;
    if (!failure && question->right == POLICY_TRUNCATE && is_append_only(question))
        failure = EPERM;
    return failure;
}

/* Of the files in it, what holds for all of them. */
static int ask_for_files(const struct question *question)
{
    int failure = access_as(question, X_OK);

    if (!failure && question->right == POLICY_EXECUTE && has_mount_flag(question, ST_NOEXEC))
        failure = EACCES;
    if (!failure && question->right == POLICY_TRUNCATE && has_mount_flag(question, ST_RDONLY))
        failure = EROFS;
    return failure;
}

/* The kernel's order: a name is looked up, the mount is asked for writing, then the directory's mode. access(2) has another. */
static int ask_for_change(const struct question *question)
{
    int failure = access_as(question, X_OK);

    if (!failure && has_mount_flag(question, ST_RDONLY))
        failure = EROFS;
    if (!failure)
        failure = access_as(question, W_OK);
    if (!failure && question->right & (POLICY_REMOVE_DIR | POLICY_REMOVE_FILE) && is_append_only(question))
        failure = EPERM;
    return failure;
}

static int ask_directory(const struct question *question)
{
    if (question->right == POLICY_READ_DIR)
        return access_as(question, R_OK);
    return is_on_directory(question->right) ? ask_for_change(question) : ask_for_files(question);
}

/* Last of all the kernel asks for the capability to make a device, which the program does not have. */
static int ask(const struct question *question)
{
    int failure = S_ISDIR(question->status.st_mode) ? ask_directory(question) : ask_file(question);

    if (!failure && question->right & (POLICY_MAKE_CHAR | POLICY_MAKE_BLOCK))
        return EPERM;
    return failure;
}

static enum verdict_obstacle obstacle_of(int failure)
{
    switch (failure) {
    case 0:
        return VERDICT_NOTHING;
    case EACCES:
    case EPERM:
        return VERDICT_PERMISSIONS;
    case EROFS:
        return VERDICT_READ_ONLY;
    case ENOENT:
    case ENOTDIR:
        return VERDICT_MISSING;
    default:
        return VERDICT_OTHER;
    }
}

/* Where the kernel has rules of its own, on other processes above all (ptrace(2)). */
static bool is_in_proc(const struct question *question)
{
    struct statfs system;

    return statfs(question->path, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

static void judge_system(const struct question *question, struct verdict *verdict)
{
    bool is_directory = !question->failure && S_ISDIR(question->status.st_mode);

    verdict->failure = question->failure;
    verdict->system_obstacle = obstacle_of(question->failure);
    if (question->failure)
        return;
    if (!is_directory && (is_on_directory(question->right) || !is_of_kind(question))) {
        verdict->system_obstacle = VERDICT_KIND;
        verdict->failure = failure_of_kind(question->right);
        return;
    }
    verdict->is_in_proc = !is_directory && is_in_proc(question);
    verdict->is_undecided = verdict->is_in_proc || (is_directory && !is_on_directory(question->right));
    verdict->failure = ask(question);
    verdict->system_obstacle = obstacle_of(verdict->failure);
}

/* ---- Landlock's part ---- */

/* Rights that the kernel asks for along with one: a program is opened for reading, too. */
static policy_rights companions_of(policy_rights right)
{
    return right == POLICY_EXECUTE ? POLICY_READ_FILE : 0;
}

/* Where a directory on the way may not be searched, by the texts alone: the rule was opened before capabilities were dropped. */
static const struct launch_grant *grant_by_text(const struct question *question, policy_rights right)
{
    for (size_t i = 0; question->failure == EACCES && i < question->launch->grant_count; i++) {
        const struct launch_grant *grant = &question->launch->grants[i];

        if (grant->rights & right && grant->rule && is_at_or_below(question->path, grant->rule->path))
            return grant;
    }
    return NULL;
}

static const struct launch_grant *grant_of(const struct question *question, policy_rights right)
{
    const struct launch_grant *grant = launch_granting(question->launch, question->real, right);

    return grant ? grant : grant_by_text(question, right);
}

/* A request is sent to what is open: by what right it is, of two that the mode of the device allows, no rule gives. */
static policy_rights missing_of_opening(const struct question *question)
{
    bool is_file = !question->failure && is_device(&question->status);
    bool may_read = !is_file || access_as(question, R_OK) == 0,
         may_write = !is_file || access_as(question, W_OK) == 0;

    if (!may_read && !may_write)
        may_read = may_write = true;
    if ((may_read && launch_grants(question->launch, question->real, POLICY_READ_FILE)) ||
        (may_write && launch_grants(question->launch, question->real, POLICY_WRITE_FILE)))
        return 0;
    return may_read ? POLICY_READ_FILE : POLICY_WRITE_FILE;
}

/* Which of the rights that are needed no rule gives. */
static policy_rights missing_of(const struct question *question)
{
    policy_rights needed = (question->right | companions_of(question->right)) & question->launch->handled,
                  missing = 0;

    for (policy_rights right = 1; right && right <= needed; right <<= 1)
        if (needed & right && !grant_of(question, right))
            missing |= right;
    if (question->right == POLICY_REFER && !(question->launch->handled & POLICY_REFER))
        missing |= POLICY_REFER; /* denied by ABI 1, whatever the rules say */
    if (question->right == POLICY_IOCTL_DEV)
        missing |= missing_of_opening(question);
    return missing;
}

static void judge_landlock(const struct question *question, struct verdict *verdict)
{
    const struct launch_grant *grant = grant_of(question, question->right);

    verdict->is_restricted = question->launch->handled & question->right || question->right == POLICY_REFER;
    verdict->missing = missing_of(question);
    verdict->landlock_denies = verdict->missing;
    if (grant) {
        verdict->position = &grant->rule->position;
        verdict->given_to = grant->rule->path;
    } else if (question->launch->policy->unrestricted & question->right) {
        verdict->position = &question->launch->policy->unrestricted_position;
    }
}

/* ---- The line that would allow it ---- */

/* Whether the path, or a directory above it, is the file that was asked about, by whatever name: bind mounts and hard links give it
 * several. */
static bool leads_through(const struct question *question, const char *path)
{
    char ancestor[PATH_MAX];
    struct stat status;

    snprintf(ancestor, sizeof ancestor, "%s", path);
    do {
        if (stat(ancestor, &status) == 0 && status.st_ino == question->status.st_ino &&
            status.st_dev == question->status.st_dev)
            return true;
    } while (path_to_parent(ancestor));
    return false;
}

/* Whether to allow what was asked about would open `path`, too. */
static bool would_open(const struct question *question, const char *path)
{
    char real[PATH_MAX];
    bool leads = realpath(path, real);

    return is_at_or_below(path, question->real) || (leads && is_at_or_below(real, question->real)) ||
           (!question->failure && leads_through(question, leads ? real : path));
}

/* The statement that forbids the line: what is expected to be denied at the path or below, or a private file there. */
static const struct policy_position *forbidden(const struct question *question, policy_rights rights)
{
    const struct policy *policy = question->launch->policy;

    for (size_t i = 0; i < policy->expectation_count; i++) {
        const struct policy_expectation *expectation = &policy->expectations[i];

        if (!expectation->allowed && expectation->path && expectation->rights & rights &&
            would_open(question, expectation->path))
            return &expectation->position;
    }
    for (size_t i = 0;
         rights & (POLICY_READ_FILE | POLICY_WRITE_FILE | POLICY_TRUNCATE) && i < policy->private_count; i++)
        if (would_open(question, policy->privates[i].path))
            return &policy->privates[i].position;
    return NULL;
}

/* A rule for it would hold for that process alone, which is not the program's. */
static bool is_of_one_process(const struct verdict *verdict)
{
    const char *real = verdict->real;

    return verdict->is_in_proc && !strncmp(real, "/proc/", 6) && real[6] >= '1' && real[6] <= '9';
}

static int suggest(const struct question *question, struct verdict *verdict)
{
    auto_free char *path = NULL;
    char names[POLICY_RIGHTS_TEXT];

    if (!verdict->landlock_denies || question->failure || verdict->system_obstacle == VERDICT_KIND ||
        !(question->launch->handled & verdict->missing) || is_of_one_process(verdict))
        return 0; /* what cannot be reached, a rule cannot be for */
    verdict->forbidden_by = forbidden(question, verdict->missing);
    if (verdict->forbidden_by)
        return 0;
    path = text_as_word(question->real);
    verdict->suggestion =
        path ? text_of("allow %s %s", policy_rights_text(verdict->missing, names), path) : NULL;
    return verdict->suggestion ? 0 : -1;
}

/* ---- What execve(2) opens beside the program ---- */

static int judge_path(struct question *question, struct verdict *verdict, unsigned scripts);

/* Of an interpreter's verdict, what stands in the way of the program. */
static void take_over(struct verdict *verdict, struct verdict *of_interpreter)
{
    verdict->landlock_denies = true;
    verdict->missing = of_interpreter->missing;
    verdict->interpreter = of_interpreter->interpreter ? of_interpreter->interpreter : of_interpreter->real;
    if (verdict->interpreter == of_interpreter->real)
        of_interpreter->real = NULL;
    of_interpreter->interpreter = NULL;
    verdict->suggestion = of_interpreter->suggestion;
    of_interpreter->suggestion = NULL;
    verdict->forbidden_by = of_interpreter->forbidden_by;
}

/* A program whose ELF loader or interpreter is not allowed is not executed. */
static int judge_interpreter(const struct question *question, struct verdict *verdict, unsigned scripts)
{
    enum { MOST_SCRIPTS = 5 }; /* execve(2) */
    auto_free char *interpreter = NULL;
    struct verdict of_interpreter = {0};
    struct question next = {.launch = question->launch, .right = POLICY_EXECUTE};
    int result;

    if (question->right != POLICY_EXECUTE || verdict->landlock_denies || verdict->system_obstacle ||
        S_ISDIR(question->status.st_mode) || scripts == MOST_SCRIPTS)
        return 0;
    next.path = interpreter = launch_interpreter_of(question->real);
    if (!interpreter)
        return errno ? -1 : 0;
    result = judge_path(&next, &of_interpreter, scripts + 1);
    if (result == 0 && of_interpreter.landlock_denies)
        take_over(verdict, &of_interpreter);
    verdict_free(&of_interpreter);
    return result;
}

static int judge_path(struct question *question, struct verdict *verdict, unsigned scripts)
{
    int result = resolve(question);

    verdict->real = question->real;
    if (result < 0)
        return -1;
    judge_system(question, verdict);
    judge_landlock(question, verdict);
    return suggest(question, verdict) < 0 ? -1 : judge_interpreter(question, verdict, scripts);
}

int verdict_of_path(const struct launch *launch, policy_rights right, const char *path,
                    struct verdict *verdict, struct error *error)
{
    struct question question = {.launch = launch, .right = right, .path = path};

    *verdict = (struct verdict){0};
    if (judge_path(&question, verdict, 0) < 0)
        return error_set(error, LAUNCH_SYSTEM, "looking at %s: out of memory", path);
    verdict->obstacle = verdict->landlock_denies ? VERDICT_LANDLOCK : verdict->system_obstacle;
    verdict->is_allowed = verdict->obstacle == VERDICT_NOTHING;
    return 0;
}

/* ---- Ports ---- */

static const struct policy_position *forbidden_port(const struct policy *policy, policy_rights right,
                                                    uint16_t port)
{
    for (size_t i = 0; i < policy->expectation_count; i++) {
        const struct policy_expectation *expectation = &policy->expectations[i];

        if (!expectation->allowed && expectation->rights & right && expectation->first <= port &&
            port <= expectation->last)
            return &expectation->position;
    }
    return NULL;
}

static const struct policy_port_rule *port_rule_of(const struct policy *policy, policy_rights right,
                                                   uint16_t port)
{
    for (size_t i = 0; i < policy->port_rule_count; i++)
        if (policy->port_rules[i].rights & right && policy->port_rules[i].first <= port &&
            port <= policy->port_rules[i].last)
            return &policy->port_rules[i];
    return NULL;
}

int verdict_of_port(const struct launch *launch, policy_rights right, uint16_t port, struct verdict *verdict,
                    struct error *error)
{
    const struct policy_port_rule *rule = port_rule_of(launch->policy, right, port);
    char names[POLICY_RIGHTS_TEXT];

    *verdict = (struct verdict){.is_restricted = launch->handled & right,
                                .landlock_denies = launch->handled & right && !rule};
    if (rule)
        verdict->position = &rule->position;
    else if (launch->policy->unrestricted & right)
        verdict->position = &launch->policy->unrestricted_position;
    verdict->is_allowed = !verdict->landlock_denies;
    if (verdict->is_allowed)
        return 0;
    verdict->obstacle = VERDICT_LANDLOCK;
    verdict->missing = right;
    verdict->forbidden_by = forbidden_port(launch->policy, right, port);
    if (verdict->forbidden_by)
        return 0;
    verdict->suggestion = text_of("allow %s %u", policy_rights_text(right, names), port);
    return verdict->suggestion ? 0
                               : error_set(error, LAUNCH_SYSTEM, "looking at port %u: out of memory", port);
}

void verdict_free(struct verdict *verdict)
{
    free(verdict->real);
    free(verdict->suggestion);
    free(verdict->interpreter);
    *verdict = (struct verdict){0};
}
