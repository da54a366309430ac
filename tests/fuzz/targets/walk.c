/*
 * The walk along a policy's paths, lib/launch/walk.c and links.c, on a tree in memory (tree.c) which the input describes, an
 * attacker included. What must come of it is told by a second walk, which knows the whole tree.
 */
#include "launch/internal.h"
#include "tree.h"

#include <errno.h>
#include <string.h>

enum { MOST_PATHS = 6, MOST_LINKS = 40, MOST_STEPS = 4096 };

enum {
    FOUND_PLAIN,
    FOUND_BY_LINK,
    LINK_REFUSED,
    MISSING,
    LINK_ACCEPTED,
    LINK_WALKED,
    LINK_ALIAS,
    ATTACKED,
    FAULTS
};
struct tally tallies[] = {
    [FOUND_PLAIN] = {"paths found without a link", 0},
    [FOUND_BY_LINK] = {"paths found by links", 0},
    [LINK_REFUSED] = {"links refused while walking", 0},
    [MISSING] = {"paths missing", 0},
    [LINK_ACCEPTED] = {"links accepted by the check", 0},
    [LINK_WALKED] = {"links refused by the check: the program may create on the way", 0},
    [LINK_ALIAS] = {"links refused by the check: the program may create there by another mount", 0},
    [ATTACKED] = {"walks under attack that followed links", 0},
    [FAULTS] = {"walks in which a call fails", 0}};
const size_t tally_count = array_size(tallies);

struct asked {
    char *path;
    bool is_creatable;
};

struct input {
    struct tree tree;
    struct asked paths[MOST_PATHS];
    size_t path_count;
};

static const struct input *present;

void describe_input(FILE *out)
{
    if (!present)
        return;
    describe_tree(out, &present->tree);
    for (size_t i = 0; i < present->path_count; i++)
        fprintf(out, "path %s%s\n", present->paths[i].path,
                present->paths[i].is_creatable ? " (the program may create there)" : "");
}

/* ---- What must come of a walk ---- */

enum outcome { FOUND, REFUSED, FAILED };

/* A walk by someone who knows. `steps`: the directories walked through. */
struct guide {
    const struct tree *tree;
    struct position at;
    int steps[MOST_STEPS];
    size_t step_count, length; /* length: of all texts */
    bool is_trusted;
    unsigned links;
    int failure;
};

/* A link that a walk must have followed, and what it depends on. */
struct passed {
    const char *path;
    struct position directory;
    int *steps; /* all directories on the way to it */
    size_t step_count;
};

struct passed_links {
    struct passed items[MOST_PATHS * MOST_LINKS];
    size_t count;
};

static void step_into(struct guide *guide, struct position at)
{
    guide->at = at;
    guide->is_trusted &= is_trusted_node(guide->tree, at.node);
    if (guide->step_count < MOST_STEPS)
        guide->steps[guide->step_count++] = at.node;
}

static void note_link(const struct guide *guide, const char *path, struct passed_links *passed)
{
    struct passed *link = &passed->items[passed->count++];

    *link = (struct passed){path, guide->at, calloc(guide->step_count, sizeof(int)), guide->step_count};
    if (!link->steps)
        abort();
    memcpy(link->steps, guide->steps, guide->step_count * sizeof(int));
}

static enum outcome guide_along(struct guide *guide, const char *path, const char *text, bool more,
                                struct passed_links *passed);

static enum outcome guide_by_link(struct guide *guide, const char *path, int link, bool more,
                                  struct passed_links *passed)
{
    if (!guide->is_trusted || guide->links == MOST_LINKS)
        return REFUSED;
    guide->links++;
    note_link(guide, path, passed);
    return guide_along(guide, path, guide->tree->nodes[link].target, more, passed);
}

static enum outcome give_up(struct guide *guide, int failure)
{
    guide->failure = failure;
    return FAILED;
}

/* One component; `more`: something follows, and so it must be a directory. */
static enum outcome guide_one(struct guide *guide, const char *path, const char *name, size_t length,
                              bool more, struct passed_links *passed)
{
    struct position child = guide->at;

    if (length == 1 && name[0] == '.')
        return FOUND;
    if (length == 2 && name[0] == '.' && name[1] == '.') {
        step_into(guide, parent_of(guide->tree, guide->at));
        return FOUND;
    }
    if (length > NAME_MAX)
        return give_up(guide, ENAMETOOLONG);
    if (!find_child(guide->tree, &child, name, length))
        return give_up(guide, ENOENT);
    if (is_link(guide->tree, child.node))
        return guide_by_link(guide, path, child.node, more, passed);
    if (!more) {
        guide->at = child;
        return FOUND;
    }
    if (!is_directory(guide->tree, child.node))
        return give_up(guide, ENOTDIR);
    step_into(guide, child);
    return FOUND;
}

static enum outcome guide_along(struct guide *guide, const char *path, const char *text, bool more,
                                struct passed_links *passed)
{
    guide->length += strlen(text);
    if (text[0] == '/')
        step_into(guide, root_of(guide->tree));
    while (*(text += strspn(text, "/"))) {
        size_t length = strcspn(text, "/");
        enum outcome outcome = guide_one(guide, path, text, length, more || text[length], passed);

        if (outcome != FOUND)
            return outcome;
        text += length;
    }
    return FOUND;
}

/* ---- What must come of the check ---- */

/* Walks up from a position as Landlock does, which passes over a directory on which something is mounted. */
static bool is_under(const struct tree *tree, struct position at, const bool creatable[static MOST_NODES])
{
    while (at.node != NONE) {
        if (creatable[at.node])
            return true;
        while (at.mount && at.node == tree->mounts[at.mount].root)
            at = (struct position){tree->mounts[at.mount].parent, tree->mounts[at.mount].point};
        at.node = tree->nodes[at.node].parent;
    }
    return false;
}

/* Whether the program may create in a directory, by whatever mount it comes there; `hidden`: or would, if no other mount lay over it. */
static bool is_writable(const struct tree *tree, int node, const bool creatable[static MOST_NODES],
                        bool hidden)
{
    for (int mount = 0; mount < tree->mount_count; mount++) {
        struct position at = {mount, node};
        bool is_there = hidden ? is_below_node(tree, node, tree->mounts[mount].root) : is_visible(tree, at);

        if (is_there && is_under(tree, at, creatable))
            return true;
    }
    return false;
}

static bool was_walked(const struct passed *link, const bool creatable[static MOST_NODES])
{
    for (size_t i = 0; i < link->step_count; i++)
        if (creatable[link->steps[i]])
            return true;
    return false;
}

/* ---- The input ---- */

/* The next link from a node on that a mount shows; the node itself where there is none. */
static int next_link(const struct tree *tree, int node, int top)
{
    for (int i = 0; i < tree->node_count; i++) {
        int next = (node + i) % tree->node_count;

        if (is_link(tree, next) && is_below_node(tree, next, top))
            return next;
    }
    return node;
}

/* Where the directory above what a mount shows is seen by another mount, or by none. */
static struct position above_mount(const struct tree *tree, int mount)
{
    struct position at = {0, tree->nodes[tree->mounts[mount].root].parent};

    while (at.node != NONE && at.mount < tree->mount_count && !is_visible(tree, at))
        at.mount++;
    return at.node == NONE || at.mount == tree->mount_count ? root_of(tree) : at;
}

/* A place to ask for: any, a link, or above a mount, where what may be created is seen in the mount, too. */
static struct position some_position(const struct tree *tree, struct choices *choices)
{
    struct position at = {(int)choose(choices, (unsigned)tree->mount_count),
                          (int)choose(choices, (unsigned)tree->node_count)};
    int top = tree->mounts[at.mount].root;
    unsigned kind = choose(choices, 8);

    if (kind == 1 || kind == 2)
        return above_mount(tree, at.mount);
    if (kind > 4)
        at.node = next_link(tree, at.node, top);
    if (!is_below_node(tree, at.node, top))
        at.node = top;
    return at;
}

static char *some_path(const struct tree *tree, struct choices *choices)
{
    static const char *const ends[] = {"/a", "/b", "/c", "/d", "/x y", "/back\\slash", "/a/b", "/b/a"};
    char *base = path_of(tree, some_position(tree, choices));
    unsigned more = choose(choices, 32);
    bool has_end = more < array_size(ends);
    char *path = text_of("%s%s", has_end && !base[1] ? "" : base, has_end ? ends[more] : "");

    free(base);
    if (!path)
        abort();
    if (strlen(path) >= PATH_MAX)
        strcpy(path, "/a");
    return path;
}

static void take_input(struct input *input, struct choices *choices)
{
    make_tree(&input->tree, choices);
    input->path_count = 1 + choose(choices, MOST_PATHS);
    for (size_t i = 0; i < input->path_count; i++) {
        input->paths[i].is_creatable = choose(choices, 3) == 1;
        input->paths[i].path = some_path(&input->tree, choices);
    }
}

static void free_input(struct input *input)
{
    for (size_t i = 0; i < input->path_count; i++)
        free(input->paths[i].path);
    free_tree(&input->tree);
}

/* ---- The trial ---- */

struct trial {
    const struct input *input;
    struct tree *tree;
    struct walker walker;
    struct passed_links passed;
    bool creatable[MOST_NODES];
    bool is_odd; /* something was too long, and it is not known what must come of the rest */
};

/* Nobody disturbs the walk, and so it is known what must come of it. */
static bool is_quiet(const struct trial *trial)
{
    return !trial->tree->change_count && !trial->tree->fault_at && !trial->is_odd;
}

/* The walk may find a path too long that the kernel would not: its buffers hold two of the longest. */
static bool is_too_long(const struct guide *guide)
{
    return guide->length > PATH_MAX;
}

static void compare(struct trial *trial, const struct asked *asked, int fd, int failure,
                    const struct error *error)
{
    struct guide guide = {.tree = trial->tree, .is_trusted = true};
    enum outcome outcome = guide_along(&guide, asked->path, asked->path, false, &trial->passed);
    const char *real = trial->walker.real;
    char *path;

    tally(outcome == REFUSED  ? LINK_REFUSED
          : outcome == FAILED ? MISSING
          : guide.links       ? FOUND_BY_LINK
                              : FOUND_PLAIN);
    if (fd < 0 && failure == ENAMETOOLONG && is_too_long(&guide)) {
        trial->is_odd = true;
        return;
    }
    promise((fd >= 0) == (outcome == FOUND), "%s: found %d (%s: %s), and should be %d", asked->path, fd >= 0,
            strerror(failure), error->message, outcome == FOUND);
    if (outcome == REFUSED)
        promise(error->code && strstr(error->message, asked->path), "%s: not refused, but %s", asked->path,
                strerror(failure));
    if (outcome == FAILED)
        promise(!error->code && failure == guide.failure, "%s: %s, and should be: %s", asked->path,
                strerror(failure), strerror(guide.failure));
    if (outcome != FOUND)
        return;
    promise(position_of_fd(trial->tree, fd).mount == guide.at.mount &&
                position_of_fd(trial->tree, fd).node == guide.at.node,
            "%s leads to node %d of mount %d, and should to %d of %d", asked->path,
            position_of_fd(trial->tree, fd).node, position_of_fd(trial->tree, fd).mount, guide.at.node,
            guide.at.mount);
    path = path_of(trial->tree, guide.at);
    promise(real || !guide.links, "%s: a link was followed, and no real path told", asked->path);
    promise(!strcmp(real ? real : asked->path, path), "%s: the real path is %s, and not %s", asked->path,
            path, real ? real : "said");
    free(path);
}

static void open_one(struct trial *trial, const struct asked *asked)
{
    static struct error error;
    struct object object;
    unsigned links = trial->tree->link_count, open = count_open(trial->tree);
    int fd, failure;

    error.code = 0;
    error.message[0] = '\0';
    errno = 0;
    fd = walk_open(&trial->walker, asked->path, &error);
    failure = errno;
    promise(fd >= 0 || failure || error.code, "%s: no reason", asked->path);
    promise(fd < 0 || !error.code, "%s: found, and an error: %s", asked->path, error.message);
    promise(!error.code || error.code == LAUNCH_PATH, "%s: code %d", asked->path, error.code);
    promise(trial->tree->link_count - links <= MOST_LINKS, "%s: %u links", asked->path,
            trial->tree->link_count - links);
    promise(count_open(trial->tree) == open + (fd >= 0), "%s: descriptors are left open", asked->path);
    if (is_quiet(trial))
        compare(trial, asked, fd, failure, &error);
    if (fd >= 0 && asked->is_creatable && object_of(fd, &object) == 0 && S_ISDIR(object.mode)) {
        promise(walk_note_creatable(&trial->walker, &object, asked->path) == 0, "%s is not noted",
                asked->path);
        trial->creatable[position_of_fd(trial->tree, fd).node] = true;
    }
    if (fd >= 0)
        close(fd);
}

static bool has_creatable(const struct trial *trial)
{
    for (int i = 0; i < MOST_NODES; i++)
        if (trial->creatable[i])
            return true;
    return false;
}

/* Whether a link, or one before it on the same path, was refused. */
static bool is_path_refused(const struct passed_links *passed, const bool *refused, size_t i)
{
    const char *path = passed->items[i].path;

    while (!refused[i] && i && passed->items[i - 1].path == path)
        i--;
    return refused[i];
}

/* Every link in turn: it must be refused where the program may create, or may create on the way to it, and else must not. What no
 * path leads to is known to the tree alone, and so is where the mounts lie that are not listed: then it may. */
static void compare_links(struct trial *trial, const bool *refused)
{
    for (size_t i = 0; i < trial->passed.count; i++) {
        const struct passed *link = &trial->passed.items[i];
        int node = link->directory.node;
        bool is_his = is_writable(trial->tree, node, trial->creatable, false),
             is_on_the_way = was_walked(link, trial->creatable),
             may_be_his = is_writable(trial->tree, node, trial->creatable, true) || !trial->tree->lists_root;

        tally(is_on_the_way ? LINK_WALKED : is_his ? LINK_ALIAS : LINK_ACCEPTED);
        promise(!is_his || refused[i], "%s: a link in node %d, where the program may create, is accepted",
                link->path, node);
        promise(!is_on_the_way || is_path_refused(&trial->passed, refused, i),
                "%s: a link in node %d is accepted, and the program may create on the way to it", link->path,
                node);
        promise(is_his || is_on_the_way || may_be_his || !refused[i],
                "%s: a link in node %d is refused without need", link->path, node);
    }
}

static void check_all(struct trial *trial)
{
    static struct error error;
    bool refused[MOST_PATHS * MOST_LINKS] = {false};
    struct walker *walker = &trial->walker;
    size_t open = count_open(trial->tree);
    int result;

    do {
        error.code = 0;
        result = walk_check(walker, &error);
        promise(!result == !error.code, "%d: %s", result, error.message);
        promise(count_open(trial->tree) == open, "descriptors are left open");
        if (error.code == LAUNCH_SYSTEM) {
            promise(trial->tree->fault_at || !trial->tree->lists_root, "%s", error.message);
            return;
        }
        if (result < 0)
            refused[walker->checked - 1] = true;
    } while (result < 0);
    promise(walker->checked == walker->followed_count || !walker->creatable_count, "not all links are "
                                                                                   "checked");
    if (!is_quiet(trial))
        return;
    promise(walker->followed_count == trial->passed.count, "%zu links are told of, and there were %zu",
            walker->followed_count, trial->passed.count);
    if (has_creatable(trial))
        compare_links(trial, refused);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct trial trial;
    struct choices choices = {data, size};
    struct input input = {0};

    take_input(&input, &choices);
    present = &input;
    trial = (struct trial){.input = &input, .tree = &input.tree};
    seen_tree = &input.tree;
    for (size_t i = 0; i < input.path_count; i++)
        open_one(&trial, &input.paths[i]);
    check_all(&trial);
    if (input.tree.change_count && input.tree.link_count)
        tally(ATTACKED);
    if (input.tree.fault_at && input.tree.calls >= input.tree.fault_at)
        tally(FAULTS);
    walk_free(&trial.walker);
    promise(!count_open(&input.tree), "%u descriptors are left open", count_open(&input.tree));
    seen_tree = NULL;
    present = NULL;
    for (size_t i = 0; i < trial.passed.count; i++)
        free(trial.passed.items[i].steps);
    free_input(&input);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    enum { LENGTH = 300 };

    return mutate_choices(data, size, most, LENGTH, seed);
}
