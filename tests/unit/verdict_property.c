/*
 * What verdict_of_path() and verdict_of_port() say is what the kernel does: random trees, policies and questions, each answered by
 * the verdict and by a real attempt. SEED and ROUNDS (of one policy each) in the environment override what is here; a disagreement
 * is found again by the seed that is printed.
 */
#include "child.h"
#include "launch/launch.h"
#include "trial/trial.h"
#include "verdict/verdict.h"
#include "verdict_tree.h"

#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum {
    ROUNDS = 280,
    ROUNDS_A_TREE = 20,
    QUESTIONS = 64,  /* of a policy */
    SUGGESTIONS = 2, /* of a policy, that are followed */
    MOST_RULES = 6,
    MOST_RIGHTS = 64,
    OBSTACLES = 8,
    MOST_SAID = 20,
    FIRST_PORT = 40000,
    PORTS = 12
};

/* What was met; shared with the children. */
struct totals {
    unsigned long comparisons, untried, undecided, suggestions, disagreements;
    unsigned long passed[MOST_RIGHTS], denied[MOST_RIGHTS]; /* by Landlock, as the attempts show it */
    unsigned long abis[POLICY_NEWEST_ABI + 1];
    unsigned long obstacles[OBSTACLES], system_obstacles[OBSTACLES];
    bool has_read_only, has_devices;
};

static struct totals *totals;

/* One policy on one ABI, and the questions that it is asked. */
struct round {
    struct dice *dice;
    const struct tree *tree;
    unsigned number, abi;
    uint64_t seed;
    const char *file; /* that the policy is written to */
    char *text;
    struct launch launch;
    struct launch_request request;
    struct launch_faults faults;
    struct trial trials[QUESTIONS];
    struct verdict verdicts[QUESTIONS];
};

/* ---- Random policies ---- */

static void put_quoted(FILE *out, const char *path)
{
    for (; *path; path++)
        if ((*path >= 'a' && *path <= 'z') || (*path >= '0' && *path <= '9') || *path == '/')
            putc(*path, out);
        else
            fprintf(out, "\\x%02x", (unsigned char)*path);
}

static const struct node_list *any_list(struct round *round)
{
    for (;;) {
        const struct node_list *list = &round->tree->nodes[roll(round->dice, NODE_KINDS)];

        if (list->count)
            return list;
    }
}

/* For a rule: often one of the first directories, which much is below. */
static const char *any_path(struct round *round)
{
    const struct node_list *list =
        happens(round->dice, 60) ? &round->tree->nodes[NODE_DIRECTORY] : any_list(round);

    if (happens(round->dice, 50))
        return round->tree->made.paths[roll(round->dice, 5)];
    return list->paths[roll(round->dice, list->count)];
}

/* One to four names out of those that fit. */
static void put_rights(struct round *round, FILE *out, policy_rights among)
{
    size_t wanted = happens(round->dice, 30) ? 14 : 1 + roll(round->dice, 5), count = 0;

    for (size_t tries = 0; tries < 400 && (count < wanted || !count); tries++) {
        size_t i = roll(round->dice, policy_right_count + policy_group_count);
        policy_rights rights = i < policy_right_count ? policy_right_table[i].bit
                                                      : policy_group_table[i - policy_right_count].rights;
        const char *name = i < policy_right_count ? policy_right_table[i].name
                                                  : policy_group_table[i - policy_right_count].name;

        if (rights & ~among)
            continue;
        fprintf(out, "%s%s", count++ ? "," : "", name);
    }
}

static void put_path(struct round *round, FILE *out)
{
    bool is_missing = happens(round->dice, 6);

    fputs(is_missing && happens(round->dice, 80) ? " -" : " ", out);
    put_quoted(out, any_path(round));
    if (is_missing)
        fputs("/missing", out);
}

/* A file rule is more often for a directory: what is on a file alone decides few questions. */
static void put_rules(struct round *round, FILE *out, policy_rights unrestricted)
{
    size_t count = 1 + roll(round->dice, MOST_RULES);

    for (size_t i = 0; i < count; i++) {
        bool fits_files = happens(round->dice, 25);

        fputs("allow ", out);
        put_rights(round, out, (fits_files ? policy_rights_of_files() : POLICY_ALL_FS) & ~unrestricted);
        for (size_t k = 1 + roll(round->dice, 3); k > 0; k--)
            put_path(round, out);
        putc('\n', out);
    }
    if (!round->tree->has_devices) { /* this machine's own */
        fputs("allow ", out);
        put_rights(round, out, policy_rights_of_files() & ~unrestricted);
        fputs(" -/dev/null -/dev/zero\n", out);
    }
    if (happens(round->dice, 35)) { /* for links, which show refer only where this is given, too */
        fputs("allow make_reg ", out);
        put_quoted(out, round->tree->top);
        putc('\n', out);
    }
}

static void put_port_rules(struct round *round, FILE *out, policy_rights unrestricted)
{
    if (!(POLICY_ALL_NET & policy_rights_of_abi(POLICY_NEWEST_ABI) & ~unrestricted))
        return;
    for (size_t i = roll(round->dice, 3); i > 0; i--) {
        size_t first = FIRST_PORT + roll(round->dice, PORTS);

        fputs("allow ", out);
        put_rights(round, out, POLICY_ALL_NET & ~unrestricted);
        fprintf(out, " %zu", first);
        if (happens(round->dice, 50))
            fprintf(out, "-%zu", first + roll(round->dice, 4));
        putc('\n', out);
    }
}

static policy_rights put_unrestricted(struct round *round, FILE *out)
{
    policy_rights unrestricted = 0;

    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].traits & RIGHT_MAY_BE_UNRESTRICTED && happens(round->dice, 10)) {
            fprintf(out, "unrestricted %s\n", policy_right_table[i].name);
            unrestricted |= policy_right_table[i].bit;
        }
    return unrestricted;
}

static char *random_policy(struct round *round)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    policy_rights unrestricted;

    must(out);
    fputs("policy 1\n", out);
    unrestricted = put_unrestricted(round, out);
    put_rules(round, out, unrestricted);
    put_port_rules(round, out, unrestricted);
    must(fclose(out) == 0);
    return text;
}

static void write_policy(const struct round *round, const char *line)
{
    FILE *out = fopen(round->file, "we");

    must(out);
    fprintf(out, "%s%s\n", round->text, line);
    must(fclose(out) == 0);
}

/* ---- Random questions ---- */

static bool is_on_files(policy_rights right)
{
    return right & policy_rights_of_files();
}

/* Of a kind that the right is about, as a rule. */
static const struct node_list *fitting_list(struct round *round, policy_rights right)
{
    const struct node_list *nodes = round->tree->nodes, *list = &nodes[NODE_DIRECTORY];

    if (happens(round->dice, 12))
        return any_list(round);
    if (is_on_files(right) && happens(round->dice, 75)) {
        if (right == POLICY_IOCTL_DEV)
            list = &nodes[NODE_DEVICE];
        else if (right == POLICY_RESOLVE_UNIX)
            list = &nodes[NODE_SOCKET];
        else if (right & (POLICY_READ_FILE | POLICY_WRITE_FILE) && happens(round->dice, 30))
            list = &nodes[happens(round->dice, 50) ? NODE_DEVICE : NODE_FIFO];
        else
            list = &nodes[NODE_REGULAR];
    }
    return list->count ? list : &nodes[NODE_DIRECTORY];
}

/* Mostly one that this user may use so, for there Landlock decides. */
static const char *usable_path(struct round *round, policy_rights right)
{
    const struct node_list *list = fitting_list(round, right);
    int mode = right == POLICY_EXECUTE ? X_OK : is_on_files(right) || right == POLICY_READ_DIR ? F_OK : W_OK;
    const char *path;
    int tries = 0;

    do {
        path = list->paths[roll(round->dice, list->count)];
    } while (access(path, mode) < 0 && tries++ < 8 && happens(round->dice, 80));
    return path;
}

static char *random_subject(struct round *round, policy_rights right)
{
    static char too_long[NAME_MAX + 2];
    const char *path = usable_path(round, right);
    size_t kind = roll(round->dice, 100);

    memset(too_long, 'l', NAME_MAX + 1);
    if (!round->tree->has_devices && right == POLICY_IOCTL_DEV && happens(round->dice, 60))
        return text_of("/dev/%s", happens(round->dice, 50) ? "null" : "zero");
    if (kind < 5)
        return text_of("%s/missing", path);
    if (kind < 6)
        return text_of("%s/missing/away", path);
    if (kind < 7)
        return text_of("%s/%s", path, too_long);
    return strdup(path);
}

/* Of execute and refer more: each needs a second right, so that few are allowed. */
static void random_question(struct round *round, struct trial *trial)
{
    size_t kind = roll(round->dice, 100);

    trial->right = kind < 4 ? POLICY_EXECUTE : kind < 6 ? POLICY_REFER : POLICY_ALL_SCOPES;
    while (trial->right & POLICY_ALL_SCOPES || (trial->right & POLICY_ALL_NET && happens(round->dice, 70)))
        trial->right = policy_right_table[roll(round->dice, policy_right_count)].bit;
    if (trial->right & POLICY_ALL_NET) {
        trial->port = (uint16_t)(FIRST_PORT - 1 + roll(round->dice, PORTS + 3));
        return;
    }
    trial->path = random_subject(round, trial->right);
    must(trial->path);
}

/* ---- Comparing ---- */

static void say(const struct round *round, const struct trial *trial, const struct verdict *verdict,
                const char *what)
{
    char names[POLICY_RIGHTS_TEXT];

    if (++totals->disagreements > MOST_SAID)
        return;
    fprintf(stderr, "SEED=%llu, policy %u, ABI %u, %s ", (unsigned long long)round->seed, round->number,
            round->abi, policy_right_name(trial->right));
    if (trial->path)
        text_write_safe(stderr, trial->path);
    else
        fprintf(stderr, "%u", trial->port);
    fprintf(stderr,
            ": %s\n    verdict: %s, system: %s (%s), denied by Landlock: %s%s\n    attempt: outside %d (%s), "
            "inside %d%s%s\n",
            what, verdict_obstacle_name(verdict->obstacle), verdict_obstacle_name(verdict->system_obstacle),
            strerror(verdict->failure), policy_rights_text(verdict->missing, names),
            verdict->is_undecided ? ", undecided" : "", trial->outside, strerror(trial->outside),
            trial->inside, trial->untried ? ", not made: " : "", trial->untried ? trial->untried : "");
    fprintf(stderr, "    real: %s\n", verdict->real ? verdict->real : "");
}

/* What Landlock answers where it denies: linking tells of refer by another error. */
static int denial_of(policy_rights right)
{
    return right == POLICY_REFER ? EXDEV : EACCES;
}

/* The kernel asks Landlock before it looks for the capability to make a device. */
static bool is_asked_before_it_fails(const struct trial *trial)
{
    return trial->outside == EPERM && trial->right & (POLICY_MAKE_CHAR | POLICY_MAKE_BLOCK);
}

static unsigned bit_number(policy_rights right)
{
    return (unsigned)__builtin_ctzll(right);
}

static void compare_landlock(const struct round *round, const struct trial *trial,
                             const struct verdict *verdict)
{
    bool is_denied = trial->inside != trial->outside;

    if (is_denied && trial->inside != denial_of(trial->right))
        say(round, trial, verdict, "inside it fails with another error than Landlock's");
    if (trial->outside && !is_denied && !is_asked_before_it_fails(trial))
        return; /* Landlock need not have been asked */
    if (is_denied != verdict->landlock_denies)
        say(round, trial, verdict, "Landlock's part");
    (is_denied ? totals->denied : totals->passed)[bit_number(trial->right)]++;
}

/* What a verdict cannot know: whether somebody listens. */
static bool is_unforeseen(const struct trial *trial)
{
    return trial->right == POLICY_RESOLVE_UNIX && trial->outside == ECONNREFUSED;
}

/* Whatever file it is: the mount of the directory says so. */
static bool must_fail(const struct trial *trial)
{
    struct statvfs system;

    return statvfs(trial->path, &system) == 0 &&
           ((trial->right == POLICY_EXECUTE && system.f_flag & ST_NOEXEC) ||
            (trial->right == POLICY_TRUNCATE && system.f_flag & ST_RDONLY));
}

static void compare_system(const struct round *round, const struct trial *trial,
                           const struct verdict *verdict)
{
    if (is_unforeseen(trial))
        return;
    if (verdict->is_undecided) {
        if (verdict->system_obstacle != VERDICT_NOTHING && !trial->outside)
            say(round, trial, verdict, "undecided, and said to fail");
        if (verdict->system_obstacle == VERDICT_NOTHING && must_fail(trial))
            say(round, trial, verdict, "undecided, and it must fail");
        return;
    }
    if (verdict->failure != trial->outside)
        say(round, trial, verdict, "the system's part");
    if (!trial->untried && verdict->is_allowed != !trial->inside)
        say(round, trial, verdict, "the whole");
}

/* What of a verdict's fields follows from the others. */
static bool is_consistent(const struct verdict *verdict)
{
    enum verdict_obstacle obstacle = verdict->landlock_denies ? VERDICT_LANDLOCK : verdict->system_obstacle;

    return verdict->obstacle == obstacle && verdict->is_allowed == (obstacle == VERDICT_NOTHING) &&
           verdict->landlock_denies == (verdict->missing != 0) &&
           (verdict->system_obstacle == VERDICT_NOTHING) == (verdict->failure == 0) &&
           (!verdict->suggestion || verdict->landlock_denies) &&
           (!verdict->is_restricted || verdict->landlock_denies ||
            (verdict->position && verdict->position->line)) &&
           (!verdict->given_to || verdict->position);
}

static void count(const struct round *round, const struct trial *trial, const struct verdict *verdict)
{
    totals->comparisons++;
    totals->untried += trial->untried != NULL;
    totals->undecided += verdict->is_undecided;
    totals->abis[round->abi]++;
    totals->obstacles[verdict->obstacle]++;
    totals->system_obstacles[verdict->system_obstacle]++;
}

/* A link that cannot be told of inside: it needs make_reg, too. */
static bool is_untold_link(const struct trial *trial)
{
    return trial->right == POLICY_REFER && trial->untried && trial->outside == 0;
}

static void compare(const struct round *round, const struct trial *trial, const struct verdict *verdict)
{
    count(round, trial, verdict);
    if (!is_consistent(verdict))
        say(round, trial, verdict, "the verdict contradicts itself");
    if (!trial->untried)
        compare_landlock(round, trial, verdict);
    if (!is_untold_link(trial))
        compare_system(round, trial, verdict);
    else if (launch_grants(&round->launch, verdict->real, POLICY_MAKE_REG))
        say(round, trial, verdict, "a link that is denied for want of make_reg, which is given");
}

/* ---- Suggestions ---- */

static void prepare(struct round *round)
{
    struct error error = {0};

    round->launch = (struct launch){0};
    round->faults = (struct launch_faults){0};
    round->request = (struct launch_request){
        .policy_file = round->file, .status_fd = -1, .max_abi = round->abi, .faults = &round->faults};
    if (launch_prepare_domain(&round->launch, &round->request, &error) < 0) {
        policy_diagnostics_write(stderr, &round->launch.diagnostics);
        fprintf(stderr, "%s\n%s\n", error.message, round->text);
        _exit(1);
    }
}

static void release(struct round *round)
{
    launch_free(&round->launch);
    launch_faults_free(&round->faults);
}

static int ask(const struct round *round, const struct trial *trial, struct verdict *verdict,
               struct error *error)
{
    return trial->path ? verdict_of_path(&round->launch, trial->right, trial->path, verdict, error)
                       : verdict_of_port(&round->launch, trial->right, trial->port, verdict, error);
}

/* With the line that is suggested, Landlock does not deny it any more. */
static void follow_suggestion(struct round *round, const struct trial *asked, const struct verdict *verdict)
{
    struct trial trial = {.right = asked->right, .path = asked->path, .port = asked->port};
    struct verdict anew;
    struct error error = {0};

    write_policy(round, verdict->suggestion);
    prepare(round);
    must(trial_run(&round->launch, &trial, 1, &error) == 0);
    must(ask(round, &trial, &anew, &error) == 0);
    totals->suggestions++;
    if (anew.landlock_denies || anew.suggestion)
        say(round, &trial, &anew, "the verdict does not take what it suggested");
    if (!trial.untried && trial.inside != trial.outside)
        say(round, &trial, &anew, "what was suggested does not help");
    if (round->faults.count && round->faults.items[round->faults.count - 1].position.line > 1 &&
        trial.untried == NULL && trial.inside != trial.outside)
        fprintf(stderr, "    %s\n", round->faults.items[round->faults.count - 1].message);
    verdict_free(&anew);
    release(round);
}

/* Where no line would do: what is not there or cannot be reached, what is of another kind, refer on ABI 1. */
static bool can_be_suggested(const struct verdict *verdict, const struct trial *trial, unsigned abi)
{
    bool is_reached = verdict->system_obstacle != VERDICT_MISSING &&
                      verdict->system_obstacle != VERDICT_KIND && verdict->system_obstacle != VERDICT_OTHER;
    struct stat status;

    return !trial->path ||
           (is_reached && stat(trial->path, &status) == 0 && (trial->right != POLICY_REFER || abi > 1));
}

static void check_suggestions(struct round *round)
{
    for (size_t i = 0; i < QUESTIONS; i++) {
        const struct verdict *verdict = &round->verdicts[i];

        if (verdict->landlock_denies &&
            (verdict->suggestion != NULL) != can_be_suggested(verdict, &round->trials[i], round->abi))
            say(round, &round->trials[i], verdict,
                verdict->suggestion ? "a suggestion too many" : "no suggestion");
    }
    for (size_t i = 0, followed = 0; i < QUESTIONS && followed < SUGGESTIONS; i++)
        if (round->verdicts[i].suggestion) {
            follow_suggestion(round, &round->trials[i], &round->verdicts[i]);
            followed++;
        }
}

/* ---- Rounds ---- */

static void run_round(struct round *round)
{
    struct error error = {0};

    round->text = random_policy(round);
    write_policy(round, "");
    prepare(round);
    for (size_t i = 0; i < QUESTIONS; i++) {
        round->trials[i] = (struct trial){0};
        random_question(round, &round->trials[i]);
        must(ask(round, &round->trials[i], &round->verdicts[i], &error) == 0);
    }
    if (trial_run(&round->launch, round->trials, QUESTIONS, &error) < 0) {
        fprintf(stderr, "%s\n", error.message);
        _exit(1);
    }
    for (size_t i = 0; i < QUESTIONS; i++)
        compare(round, &round->trials[i], &round->verdicts[i]);
    release(round);
    check_suggestions(round);
    for (size_t i = 0; i < QUESTIONS; i++) {
        verdict_free(&round->verdicts[i]);
        free((char *)round->trials[i].path);
    }
    free(round->text);
}

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoul(text, NULL, 10) : otherwise;
}

static unsigned kernel_abi(void)
{
    struct error error;
    int abi = landlock_abi(&error);

    return abi < 0 ? 0 : abi > POLICY_NEWEST_ABI ? POLICY_NEWEST_ABI : (unsigned)abi;
}

static bool become_user(void)
{
    gid_t second = TREE_SECOND_GROUP;

    return setgroups(1, &second) == 0 && setresgid(TREE_GROUP, TREE_GROUP, TREE_GROUP) == 0 &&
           setresuid(TREE_USER, TREE_USER, TREE_USER) == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

/* Root of a user namespace need not have other users. */
static bool may_become_user(void)
{
    pid_t child;
    int status = -1;

    if (geteuid() != 0)
        return false;
    child = fork();
    if (child == 0)
        _exit(become_user() ? 0 : 1);
    waitpid(child, &status, 0);
    return status == 0;
}

struct part {
    char base[PATH_MAX];
    uint64_t seed;
    unsigned first, last;
};

/* In a child: a tree, and its rounds. */
static void run_part(const struct part *part)
{
    static struct round round;
    static struct tree tree;
    struct dice dice = {part->seed * 0x9e3779b97f4a7c15ULL + part->first + 1};
    auto_free char *file = text_of("%s/policy", part->base);
    unsigned newest = kernel_abi();
    struct error error = {0};

    dup3(STDERR_FILENO, CHILD_REPORT_FD, O_CLOEXEC);
    must(newest > 0);
    tree.is_roots = may_become_user();
    snprintf(tree.top, sizeof tree.top, "%.*s/tree", PATH_MAX / 2, part->base);
    must(mkdir(tree.top, 0755) == 0);
    tree_make(&tree, &dice);
    totals->has_read_only |= tree.has_read_only;
    totals->has_devices |= tree.has_devices;
    close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    must(chmod(file, 0600) == 0);
    if (tree.is_roots) {
        must(chown(file, TREE_USER, TREE_GROUP) == 0);
        must(become_user());
    }
    must(launch_drop_capabilities(&error) == 0);
    round = (struct round){.dice = &dice, .tree = &tree, .seed = part->seed, .file = file};
    for (round.number = part->first; round.number < part->last; round.number++) {
        round.abi = 1 + round.number % newest;
        run_round(&round);
    }
}

static void make_base(struct part *part)
{
    strcpy(part->base,
           access("/var/lib", W_OK) == 0 ? "/var/lib/unit-verdict-XXXXXX" : "/var/tmp/unit-verdict-XXXXXX");
    assert_non_null(mkdtemp(part->base));
    assert_int_equal(chmod(part->base, 0755), 0);
}

/* ---- What was met ---- */

static void put_totals(void)
{
    printf("%lu comparisons, %lu of attempts that could not be made, %lu of files in a directory, %lu "
           "suggestions followed\n",
           totals->comparisons, totals->untried, totals->undecided, totals->suggestions);
    printf("%-18s %8s %8s\n", "Landlock", "lets", "denies");
    for (size_t i = 0; i < policy_right_count; i++)
        if (!(policy_right_table[i].bit & POLICY_ALL_SCOPES))
            printf("%-18s %8lu %8lu\n", policy_right_table[i].name,
                   totals->passed[bit_number(policy_right_table[i].bit)],
                   totals->denied[bit_number(policy_right_table[i].bit)]);
    for (unsigned abi = 1; abi <= POLICY_NEWEST_ABI; abi++)
        if (totals->abis[abi])
            printf("ABI %-14u %8lu\n", abi, totals->abis[abi]);
    printf("%-18s %8s %8s\n", "obstacle", "in all", "system");
    for (size_t i = 0; i < verdict_obstacle_count; i++)
        printf("%-18s %8lu %8lu\n", verdict_obstacle_table[i].name, totals->obstacles[i],
               totals->system_obstacles[i]);
    fflush(stdout);
}

enum {
    LEAST_OF_ALL = 5000,
    LEAST_OF_RIGHT = 100,
    LEAST_OF_ABI = 300,
    LEAST_OF_OBSTACLE = 40,
    LEAST_SUGGESTIONS = 200
};

static void check_count(const char *what, const char *name, unsigned long met, unsigned long least)
{
    if (met < least)
        fail_msg("%s %s: met %lu times, which is less than %lu", what, name, met, least);
}

/* A right is denied from its ABI on, and refer is given from its ABI on. */
static void check_right(const struct policy_right *right, unsigned newest)
{
    unsigned number = bit_number(right->bit);

    if (right->bit & POLICY_ALL_SCOPES)
        return;
    if (right->bit == POLICY_IOCTL_DEV && !totals->has_devices && access("/dev/null", F_OK) < 0)
        return; /* no device at all */
    if (right->abi <= newest)
        check_count("denied:", right->name, totals->denied[number], LEAST_OF_RIGHT);
    if (right->abi <= newest || right->bit != POLICY_REFER)
        check_count("not denied:", right->name, totals->passed[number], LEAST_OF_RIGHT);
}

static void check_totals(void)
{
    unsigned newest = kernel_abi();
    char name[16];

    check_count("comparisons", "", totals->comparisons, LEAST_OF_ALL);
    check_count("suggestions", "", totals->suggestions, LEAST_SUGGESTIONS);
    for (size_t i = 0; i < policy_right_count; i++)
        check_right(&policy_right_table[i], newest);
    for (unsigned abi = 1; abi <= newest; abi++) {
        snprintf(name, sizeof name, "%u", abi);
        check_count("ABI", name, totals->abis[abi], LEAST_OF_ABI);
    }
    for (size_t i = 0; i < verdict_obstacle_count; i++)
        if (verdict_obstacle_table[i].value != VERDICT_READ_ONLY || totals->has_read_only)
            check_count("obstacle", verdict_obstacle_table[i].name,
                        verdict_obstacle_table[i].value == VERDICT_LANDLOCK ? totals->obstacles[i]
                                                                            : totals->system_obstacles[i],
                        LEAST_OF_OBSTACLE);
}

static void verdicts_are_what_the_kernel_does(void **state)
{
    unsigned rounds = (unsigned)setting("ROUNDS", ROUNDS);
    struct part part = {.seed = setting("SEED", 1)};
    bool is_well = true;

    (void)state;
    need(kernel_abi() > 0, "Landlock");
    totals = mmap(NULL, sizeof *totals, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(totals, MAP_FAILED);
    printf("SEED=%llu ROUNDS=%u\n", (unsigned long long)part.seed, rounds);
    for (part.first = 0; is_well && part.first < rounds; part.first = part.last) {
        pid_t child;
        int status = -1;

        part.last = part.first + ROUNDS_A_TREE < rounds ? part.first + ROUNDS_A_TREE : rounds;
        make_base(&part);
        fflush(NULL);
        child = fork();
        if (child == 0) {
            run_part(&part);
            _exit(0);
        }
        waitpid(child, &status, 0);
        tree_remove(part.base);
        is_well = status == 0;
    }
    put_totals();
    assert_true(is_well);
    assert_int_equal(totals->disagreements, 0);
    if (!getenv("SEED") && !getenv("ROUNDS")) /* other numbers may happen to meet less of something */
        check_totals();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_what_the_kernel_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
