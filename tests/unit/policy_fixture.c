#include "policy_fixture.h"

/* ---- Files in memory ---- */

struct memory {
    const struct memory_file *files;
    size_t count;
};

static size_t find_file(const struct memory *memory, const char *name)
{
    size_t i = 0;

    while (i < memory->count && strcmp(memory->files[i].name, name) != 0)
        i++;
    return i;
}

static int give(const struct memory_file *file, char **text, size_t *size)
{
    if (!file->text)
        return file->fault;
    *size = file->size ? file->size : strlen(file->text);
    *text = malloc(*size + 1);
    if (!*text)
        return ENOMEM;
    memcpy(*text, file->text, *size);
    return 0;
}

static int read_memory(void *context, const char *name, char **text, size_t *size, uint64_t *device,
                       uint64_t *inode, char *reason, size_t reason_size)
{
    const struct memory *memory = context;
    size_t found = find_file(memory, name);
    const struct memory_file *file = &memory->files[found];
    int fault = found < memory->count ? give(file, text, size) : ENOENT;

    if (fault) {
        snprintf(reason, reason_size, "%s", strerror(fault));
        return fault;
    }
    *device = 1;
    *inode = file->same_as ? find_file(memory, file->same_as) : found;
    return 0;
}

/* ---- Loading ---- */

void unload(struct loaded *loaded)
{
    policy_free(loaded->policy);
    policy_diagnostics_free(&loaded->diagnostics);
    loaded->policy = NULL;
}

struct loaded load_defined(const struct memory_file *files, size_t count,
                           const struct policy_definition *definitions, size_t definition_count)
{
    struct memory memory = {files, count};
    struct loaded loaded = {0};

    loaded.policy =
        policy_load(files[0].name, definitions, definition_count, read_memory, &memory, &loaded.diagnostics);
    return loaded;
}

struct loaded load_files(const struct memory_file *files, size_t count)
{
    return load_defined(files, count, NULL, 0);
}

struct loaded load_bytes(const char *text, size_t size)
{
    const struct memory_file file = {.name = "main", .text = text, .size = size};

    return load_files(&file, 1);
}

struct loaded load_body(const char *body)
{
    auto_free char *text = repeated("policy 1\n", "", 0, body);

    return load_bytes(text, 0);
}

/* ---- What is expected ---- */

static void fail_with_diagnostics(const struct loaded *loaded, const char *expected)
{
    policy_diagnostics_write(stderr, &loaded->diagnostics);
    fail_msg("%s", expected);
}

void assert_accepted(const struct loaded *loaded)
{
    if (!loaded->policy || loaded->diagnostics.count || loaded->diagnostics.dropped ||
        loaded->diagnostics.out_of_memory)
        fail_with_diagnostics(loaded, "the policy should have been accepted");
}

static bool is_same_file(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static void assert_item(const struct loaded *loaded, size_t i, const struct fault *fault)
{
    const struct policy_diagnostic *item = &loaded->diagnostics.items[i];
    char expected[512];

    if (is_same_file(item->file, fault->file) && item->line == fault->line && item->column == fault->column &&
        strstr(item->message, fault->part))
        return;
    snprintf(expected, sizeof expected, "fault %zu should have been %s:%zu:%zu: …%s…", i + 1,
             fault->file ? fault->file : "(no file)", fault->line, fault->column, fault->part);
    fail_with_diagnostics(loaded, expected);
}

void assert_faults(const struct loaded *loaded, const struct fault *faults, size_t count)
{
    if (loaded->policy)
        fail_msg("the policy should have been refused: %s", faults[0].part);
    for (size_t i = 0; i < count && i < loaded->diagnostics.count; i++)
        assert_item(loaded, i, &faults[i]);
    if (loaded->diagnostics.count != count || loaded->diagnostics.dropped)
        fail_with_diagnostics(loaded, "another number of faults was expected");
    assert_false(loaded->diagnostics.out_of_memory);
}

void assert_fault(const struct loaded *loaded, size_t line, size_t column, const char *part)
{
    const struct fault fault = {"main", line, column, part};

    assert_faults(loaded, &fault, 1);
}

void assert_fault_cases(const struct fault_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        auto_loaded struct loaded loaded = load_body(cases[i].body);

        if (loaded.policy || loaded.diagnostics.count != 1)
            print_error("in: %s\n", cases[i].body);
        assert_fault(&loaded, cases[i].line, cases[i].column, cases[i].part);
    }
}

/* ---- Long texts ---- */

char *repeated(const char *before, const char *text, size_t count, const char *after)
{
    char *whole = NULL;
    size_t size;
    FILE *out = open_memstream(&whole, &size);

    assert_non_null(out);
    fputs(before, out);
    for (size_t i = 0; i < count; i++)
        fputs(text, out);
    fputs(after, out);
    assert_int_equal(fclose(out), 0);
    return whole;
}
