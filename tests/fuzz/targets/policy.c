/*
 * The parser of policies, lib/policy. The input is the text of the policy, and behind it sections:
 *
 *     ==> NAME          the file NAME of the same folder, its text following
 *     ==> =NAME=VALUE   --define NAME=VALUE
 *     ==> !N            the allocation number N is refused
 */
#include "../../unit/allocations.h"
#include "policy/internal.h"
#include "policy_text.h"
#include "report.h"

#include <errno.h>
#include <string.h>

#define FOLDER "/etc/p/"
enum { MOST_FILES = 80, MOST_DEFINITIONS = 8 };

enum { ACCEPTED, REFUSED, INCLUDED, DEFINED, STARVED };
struct tally tallies[] = {[ACCEPTED] = {"policies accepted", 0},
                          [REFUSED] = {"policies refused", 0},
                          [INCLUDED] = {"policies of several files", 0},
                          [DEFINED] = {"definitions from outside", 0},
                          [STARVED] = {"allocations refused", 0}};
const size_t tally_count = array_size(tallies);

struct input_file {
    const char *name; /* NULL: the policy itself */
    const char *text;
    size_t size;
};

struct input {
    char *copy;
    struct input_file files[MOST_FILES];
    struct policy_definition definitions[MOST_DEFINITIONS];
    size_t file_count, definition_count, refused, reads, bytes_read;
};

static const uint8_t *present;
static size_t present_size;

void describe_input(FILE *out)
{
    fwrite(present, 1, present_size, out);
    putc('\n', out);
}

/* ---- The input ---- */

/* What begins with the line of a section: the file whose text follows, or NULL. */
static struct input_file *take_section(struct input *input, char *line, char *text)
{
    char *equals = line[0] == '=' ? strchr(line + 1, '=') : NULL;

    if (line[0] == '!') {
        input->refused = strtoul(line + 1, NULL, 10);
    } else if (equals && input->definition_count < MOST_DEFINITIONS) {
        *equals = '\0';
        input->definitions[input->definition_count++] = (struct policy_definition){line + 1, equals + 1};
    } else if (!equals && input->file_count < MOST_FILES) {
        input->files[input->file_count] = (struct input_file){line, text, 0};
        return &input->files[input->file_count++];
    }
    return NULL;
}

static void take_input(struct input *input, const uint8_t *data, size_t size)
{
    static const char mark[] = "==> ";
    struct input_file *file = &input->files[0];
    char *end;

    *input = (struct input){.copy = malloc(size + 1), .file_count = 1};
    if (!input->copy)
        abort();
    memcpy(input->copy, data, size);
    end = input->copy + size;
    *end = '\0';
    *file = (struct input_file){"", input->copy, 0};
    for (char *line = input->copy, *next; line < end; line = next) {
        char *newline = memchr(line, '\n', (size_t)(end - line));

        next = newline ? newline + 1 : end;
        if ((size_t)(end - line) >= strlen(mark) && !memcmp(line, mark, strlen(mark))) {
            next[-!!newline] = '\0';
            file = take_section(input, line + strlen(mark), next);
        } else if (file) {
            file->size = (size_t)(next - file->text);
        }
    }
}

/* The file of a name; the same by whatever folder it is named. NULL: there is none. */
static const struct input_file *find_file(const struct input *input, const char *name)
{
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;

    if (!strcmp(name, FOLDER "main"))
        return &input->files[0];
    for (size_t i = 1; i < input->file_count; i++)
        if (!strcmp(input->files[i].name, last))
            return &input->files[i];
    return NULL;
}

static int refuse_file(const char *name)
{
    if (strstr(name, "unsafe"))
        return EPERM;
    if (strstr(name, "large"))
        return EFBIG;
    return strstr(name, "folder") ? EISDIR : ENOENT;
}

static int read_input(void *context, const char *name, char **text, size_t *size, uint64_t *device,
                      uint64_t *inode, char *reason, size_t reason_size)
{
    struct input *input = context;
    const struct input_file *file = find_file(input, name);
    int failure = file ? 0 : refuse_file(name);

    input->reads++;
    if (!failure) {
        *text = malloc(file->size + 1);
        failure = *text ? 0 : ENOMEM;
    }
    if (failure) {
        snprintf(reason, reason_size, "%s", strerror(failure));
        return failure;
    }
    memcpy(*text, file->text, file->size);
    input->bytes_read += file->size;
    *size = file->size;
    *device = 1;
    *inode = (uint64_t)(file - input->files);
    return 0;
}

static struct policy *load(struct input *input, struct policy_diagnostics *diagnostics)
{
    *diagnostics = (struct policy_diagnostics){0};
    input->reads = input->bytes_read = 0;
    return policy_load(FOLDER "main", input->definitions, input->definition_count, read_input, input,
                       diagnostics);
}

/* ---- What is promised of faults ---- */

/* Characters of a line of a file; -1: it has no such line. The line behind the last newline is one, too. */
static long characters_of_line(const struct input_file *file, size_t line)
{
    const char *at = file->text, *end = file->text + file->size;
    long count = 0;

    for (; line > 1; line--) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            return -1;
        at++;
    }
    for (; at < end && *at != '\n'; at++)
        count += ((unsigned char)*at & 0xc0) != 0x80;
    return count;
}

static void check_place(const struct input *input, const struct policy_diagnostic *item)
{
    const struct input_file *file = item->file ? find_file(input, item->file) : NULL;
    long characters;

    promise(!item->line == !item->column, "line %zu, column %zu", item->line, item->column);
    promise(!item->file == !!item->definition, "a fault is in a file or in --define: %s", item->message);
    if (!item->line)
        return;
    promise(file, "a place in a file that was not read: %s", item->file);
    characters = characters_of_line(file, item->line);
    promise(characters >= 0 && item->column <= (size_t)characters + 1, "%s:%zu:%zu is not in the file: %s",
            item->file, item->line, item->column, item->message);
}

static bool is_in_order(const struct policy_diagnostic *a, const struct policy_diagnostic *b)
{
    if (a->file_index != b->file_index)
        return a->file_index < b->file_index;
    return a->line != b->line ? a->line < b->line : a->column <= b->column;
}

/* As many lines as there are faults, and nothing in them that could forge one. */
static void check_written(const struct policy_diagnostics *diagnostics)
{
    char *text = NULL;
    size_t size = 0, lines = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        abort();
    policy_diagnostics_write(out, diagnostics);
    if (fclose(out) != 0)
        abort();
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
        promise(text[i] == '\n' || ((unsigned char)text[i] >= ' ' && text[i] != 0x7f),
                "a control character is written: %s", text);
    }
    promise(lines == diagnostics->count + !!diagnostics->dropped + diagnostics->out_of_memory,
            "%zu lines for %zu faults", lines, diagnostics->count);
    free(text);
}

static void check_diagnostics(const struct input *input, const struct policy_diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->count; i++) {
        const struct policy_diagnostic *item = &diagnostics->items[i];

        promise(policy_fault_code(item->fault)[0] == 'E', "no code: %s", item->message);
        promise(item->message[0], "no message");
        promise(!i || is_in_order(item - 1, item), "out of order: %s", item->message);
        check_place(input, item);
    }
    promise(diagnostics->count <= POLICY_MAX_DIAGNOSTICS, "%zu faults are kept", diagnostics->count);
    check_written(diagnostics);
}

/* ---- What is promised of a policy ---- */

static void check_path(const char *path)
{
    size_t length = strlen(path);

    promise(path[0] == '/' && length < PATH_MAX, "path '%s'", path);
    promise(length == 1 || path[length - 1] != '/', "path '%s'", path);
    for (const char *at = strchr(path, '/'); at && length > 1; at = strchr(at + 1, '/')) {
        size_t size = strcspn(at + 1, "/");

        promise(size && strncmp(at, "/..", size + 1) != 0, "path '%s'", path);
    }
}

static policy_rights known_rights(void)
{
    policy_rights known = 0;

    for (size_t i = 0; i < policy_right_count; i++)
        known |= policy_right_table[i].bit;
    return known;
}

/* A position is in its file, its line is where it says, and those of one list are in the order of the file. */
static void check_position(const struct input *input, const struct policy *policy,
                           const struct policy_position *position, const struct policy_position *before)
{
    const struct input_file *file;
    size_t lines = 1, line, column;

    promise(position->file < policy->file_count, "file %u", position->file);
    file = find_file(input, policy->files[position->file].name);
    promise(file && policy->files[position->file].size == file->size, "%s is not what was read",
            policy->files[position->file].name);
    promise(position->line_start <= position->offset && position->offset < file->size, "offset %u",
            position->offset);
    for (size_t i = 0; i < position->line_start; i++)
        lines += file->text[i] == '\n';
    promise(lines == position->line, "offset %u is said to be in line %u", position->offset, position->line);
    policy_locate(policy, position, &line, &column);
    promise(line == lines && column >= 1 && column <= position->offset - position->line_start + 1,
            "column %zu", column);
    promise(!before || before->file != position->file || before->offset <= position->offset, "positions are "
                                                                                             "out of order");
}

#define check_list(input, policy, list, count) \
    for (size_t i = 0; i < (count); i++)       \
    check_position(input, policy, &(list)[i].position, i ? &(list)[i - 1].position : NULL)

static void check_positions(const struct input *input, const struct policy *policy)
{
    check_list(input, policy, policy->path_rules, policy->path_rule_count);
    check_list(input, policy, policy->port_rules, policy->port_rule_count);
    check_list(input, policy, policy->privates, policy->private_count);
    check_list(input, policy, policy->requirements, policy->requirement_count);
    check_list(input, policy, policy->kept, policy->kept_count);
    check_list(input, policy, policy->container.read_only, policy->container.read_only_count);
    check_list(input, policy, policy->container.writable, policy->container.writable_count);
    check_list(input, policy, policy->expectations, policy->expectation_count);
    for (size_t i = 0; i < policy->setting_count; i++)
        check_position(input, policy, &policy->settings[i].position, NULL);
    if (policy->run_position.line)
        check_position(input, policy, &policy->run_position, NULL);
}

static void check_allowed(const struct policy *policy, policy_rights known)
{
    for (size_t i = 0; i < policy->path_rule_count; i++) {
        const struct policy_path_rule *rule = &policy->path_rules[i];

        promise(rule->rights && !(rule->rights & ~(known & POLICY_ALL_FS)), "rights of %s", rule->path);
        promise(!(rule->singles & ~rule->rights), "singles of %s", rule->path);
    }
    for (size_t i = 0; i < policy->port_rule_count; i++) {
        const struct policy_port_rule *rule = &policy->port_rules[i];

        promise(rule->rights && !(rule->rights & ~(known & POLICY_ALL_NET)), "rights of %u", rule->first);
        promise(rule->first <= rule->last, "ports %u to %u", rule->first, rule->last);
    }
}

static void check_expected(const struct policy *policy, policy_rights known)
{
    for (size_t i = 0; i < policy->expectation_count; i++) {
        const struct policy_expectation *expectation = &policy->expectations[i];
        policy_rights kind = expectation->path ? POLICY_ALL_FS : POLICY_ALL_NET;

        promise(expectation->rights && !(expectation->rights & ~(known & kind)), "rights of an expectation");
        promise(expectation->path || expectation->first <= expectation->last, "ports of an expectation");
    }
}

static void check_required(const struct policy *policy, policy_rights known)
{
    policy_rights free_ones = 0;

    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].traits & RIGHT_MAY_BE_UNRESTRICTED)
            free_ones |= policy_right_table[i].bit;
    for (size_t i = 0; i < policy->requirement_count; i++) {
        const struct policy_requirement *requirement = &policy->requirements[i];

        promise(!requirement->abi == !!requirement->rights && requirement->abi <= POLICY_NEWEST_ABI, "a "
                                                                                                     "require"
                                                                                                     "ment");
        promise(!(requirement->rights & ~known), "a required right");
        promise(!(requirement->rights & policy->unrestricted), "what is required is unrestricted");
    }
    promise(!(policy->unrestricted & ~free_ones), "what must be restricted is unrestricted");
}

static void check_rights(const struct policy *policy)
{
    policy_rights known = known_rights();

    check_allowed(policy, known);
    check_expected(policy, known);
    check_required(policy, known);
}

static void check_paths(const struct policy *policy)
{
    for (size_t i = 0; i < policy->path_rule_count; i++)
        check_path(policy->path_rules[i].path);
    for (size_t i = 0; i < policy->private_count; i++)
        check_path(policy->privates[i].path);
    for (size_t i = 0; i < policy->expectation_count; i++)
        if (policy->expectations[i].path)
            check_path(policy->expectations[i].path);
    for (size_t i = 0; i < policy->container.read_only_count; i++)
        check_path(policy->container.read_only[i].path);
    for (size_t i = 0; i < policy->container.writable_count; i++)
        check_path(policy->container.writable[i].path);
    if (policy->directory.path)
        check_path(policy->directory.path);
}

static void check_rest(const struct policy *policy)
{
    promise(!policy->run == !policy->run_count && (!policy->run || policy->run[0][0]), "run");
    promise(!policy->run || !policy->run[policy->run_count], "run has no end");
    promise(!policy->limits[RLIMIT_CORE].value, "limit core");
    for (size_t i = 0; i < policy->kept_count; i++)
        promise(is_name(policy->kept[i].name, strlen(policy->kept[i].name)), "a variable that is kept");
    for (size_t i = 0; i < policy->setting_count; i++) {
        const struct policy_setting *setting = &policy->settings[i];

        promise(is_name(setting->assignment, setting->name_length) &&
                    setting->assignment[setting->name_length] == '=',
                "a variable that is set: %s", setting->assignment);
        for (size_t k = 0; k < i; k++)
            promise(setting->name_length != policy->settings[k].name_length ||
                        memcmp(setting->assignment, policy->settings[k].assignment, setting->name_length) !=
                            0,
                    "a variable that is set twice: %s", setting->assignment);
    }
}

/* What a policy says, written as a policy, says the same. */
static void check_text(const struct policy *policy)
{
    char *text = policy_as_text(policy), *again;
    struct input input;
    struct policy_diagnostics diagnostics;
    struct policy *second;

    take_input(&input, (const uint8_t *)text, strlen(text));
    second = load(&input, &diagnostics);
    promise(second || diagnostics.items[0].fault == POLICY_FAULT_TOO_LONG, "%s\nis refused: %s", text,
            diagnostics.items[0].message);
    if (second) {
        again = policy_as_text(second);
        promise(!strcmp(text, again), "%s\nbecomes\n%s", text, again);
        free(again);
    }
    policy_free(second);
    policy_diagnostics_free(&diagnostics);
    free(input.copy);
    free(text);
}

static void check_policy_itself(const struct input *input, const struct policy *policy)
{
    check_positions(input, policy);
    check_rights(policy);
    check_paths(policy);
    check_rest(policy);
    check_text(policy);
}

/* ---- Once more: the same again, and with an allocation refused ---- */

static void check_same(const struct policy *one, const struct policy_diagnostics *faults_of_one,
                       const struct policy *other, const struct policy_diagnostics *faults_of_other)
{
    char *text = one ? policy_as_text(one) : NULL, *other_text = other ? policy_as_text(other) : NULL;

    promise(!text == !other_text && (!text || !strcmp(text, other_text)), "%s\nthen\n%s",
            text ? text : "refused", other_text ? other_text : "refused");
    promise(faults_of_one->count == faults_of_other->count, "%zu faults, then %zu", faults_of_one->count,
            faults_of_other->count);
    for (size_t i = 0; i < faults_of_one->count; i++) {
        const struct policy_diagnostic *a = &faults_of_one->items[i], *b = &faults_of_other->items[i];

        promise(a->fault == b->fault && a->line == b->line && a->column == b->column &&
                    !strcmp(a->message, b->message),
                "%s\nthen\n%s", a->message, b->message);
    }
    free(text);
    free(other_text);
}

static void load_again(struct input *input, const struct policy *policy,
                       const struct policy_diagnostics *faults, size_t refused)
{
    long in_use = allocations_in_use();
    struct policy_diagnostics diagnostics;
    struct policy *second;

    refuse(refused, false);
    second = load(input, &diagnostics);
    refuse_no_more();
    promise(!second != !(diagnostics.count || diagnostics.out_of_memory), "%s with %zu faults",
            second ? "a policy" : "no policy", diagnostics.count);
    if (diagnostics.out_of_memory)
        tally(STARVED);
    if (second || !refused)
        check_same(policy, faults, second, &diagnostics);
    policy_free(second);
    policy_diagnostics_free(&diagnostics);
    promise(allocations_in_use() == in_use, "%ld allocations are left", allocations_in_use() - in_use);
}

/* Each byte that is read costs no more than this many allocations; each file that is read a few more. */
enum { ALLOCATIONS_A_BYTE = 4, ALLOCATIONS_A_FILE = 16 };

/* The input without the lines in which there are faults. Its size. */
static size_t repair(const struct input *input, const struct policy_diagnostics *diagnostics,
                     const uint8_t *data, size_t size, uint8_t *out)
{
    bool *is_bad = calloc(size + 1, sizeof *is_bad);
    size_t length = 0;

    if (!is_bad)
        abort();
    for (size_t i = 0; i < diagnostics->count; i++) {
        const struct policy_diagnostic *item = &diagnostics->items[i];
        const struct input_file *file = item->line ? find_file(input, item->file) : NULL;
        size_t at = file ? (size_t)(file->text - input->copy) : size;

        for (size_t line = 1; file && line < item->line; at++)
            line += input->copy[at] == '\n';
        while (at < size && input->copy[at] != '\n')
            is_bad[at++] = true;
    }
    for (size_t i = 0; i < size; i++)
        if (!is_bad[i])
            out[length++] = data[i];
    free(is_bad);
    return length;
}

/* Whether there was a policy; else `repaired` (room for `size` bytes) is the input without what was wrong. */
static bool try(const uint8_t *data, size_t size, uint8_t *repaired, size_t *repaired_size)
{
    struct input input;
    struct policy_diagnostics diagnostics;
    struct policy *policy;
    size_t allocations;
    bool is_accepted;

    present = data;
    present_size = size;
    take_input(&input, data, size);
    refuse(0, false);
    policy = load(&input, &diagnostics);
    is_accepted = policy;
    allocations = allocations_so_far();
    promise(!diagnostics.out_of_memory, "memory did not run out");
    tally(policy ? ACCEPTED : REFUSED);
    if (policy && policy->file_count > 1)
        tally(INCLUDED);
    if (policy && input.definition_count)
        tally(DEFINED);
    promise(!policy != !diagnostics.count, "%s with %zu faults", policy ? "a policy" : "no policy",
            diagnostics.count);
    promise(allocations <= 64 + ALLOCATIONS_A_BYTE * input.bytes_read + ALLOCATIONS_A_FILE * input.reads +
                               8 * input.definition_count,
            "%zu allocations for %zu bytes", allocations, input.bytes_read);
    check_diagnostics(&input, &diagnostics);
    if (policy)
        check_policy_itself(&input, policy);
    load_again(&input, policy, &diagnostics, 0);
    if (input.refused)
        load_again(&input, policy, &diagnostics, input.refused % (allocations + 2));
    *repaired_size = repair(&input, &diagnostics, data, size, repaired);
    policy_free(policy);
    policy_diagnostics_free(&diagnostics);
    free(input.copy);
    return is_accepted;
}

/* What is refused is tried again without the lines that were wrong: most inputs have some, and a policy has none. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *repaired = malloc(size + 1), *again = malloc(size + 1);
    size_t repaired_size, again_size;

    if (!repaired || !again)
        abort();
    if (!try(data, size, repaired, &repaired_size) && repaired_size < size)
        try(repaired, repaired_size, again, &again_size);
    free(repaired);
    free(again);
    return 0;
}
