#include "config/config.h"
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static void say_notes(const struct config_notes *notes, const char *prefix)
{
    char more[32];

    for (size_t i = 0; i < notes->count; i++)
        text_write_line(STDERR_FILENO, prefix, notes->items[i]);
    snprintf(more, sizeof more, "%zu more", notes->dropped);
    if (notes->dropped)
        text_write_line(STDERR_FILENO, prefix, more);
}

/* Writes what was made, if anything was left out says so. The exit status; -1: `error`. */
static int answer(int result, const struct text *text, const struct config_notes *notes, struct error *error)
{
    if (notes->is_out_of_memory)
        return error_set(error, LAUNCH_SYSTEM, "out of memory");
    if (result < 0)
        return -1;
    fwrite(text->bytes, 1, text->size, stdout);
    return notes->count ? FINDINGS : FINE;
}

static int import_text(const char *name, const char *bytes, size_t size, struct error *error)
{
    struct config_notes notes = {0};
    struct text text = {0};
    FILE *out = text_open(&text);
    int result = out ? config_import(bytes, size, out, &notes) : -1, status;

    notes.is_out_of_memory |= !out || text_close(out, &text) < 0;
    say_notes(&notes, result < 0 ? "landlock-policy: error: " : "landlock-policy: not said by the policy: ");
    if (result < 0)
        error_set(error, LAUNCH_POLICY, "%s: it is no configuration of landlockconfig", name);
    status = answer(result, &text, &notes, error);
    config_notes_free(&notes);
    free(text.bytes);
    return status;
}

int import(const struct options *options, struct error *error)
{
    const char *name = options->line.operands[0];
    bool is_standard_input = !strcmp(name, "-");
    auto_close int fd = is_standard_input ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    auto_free char *text = NULL;
    size_t size;

    if (is_standard_input || fd >= 0)
        text = read_bytes(is_standard_input ? STDIN_FILENO : fd, CONFIG_MAX_SIZE, &size);
    if (!text)
        return error_set(error, LAUNCH_SYSTEM, "%s: %s", name, strerror(errno));
    return import_text(name, text, size, error);
}

static int export_policy(const struct policy *policy, struct error *error)
{
    struct config_notes notes = {0};
    struct text text = {0};
    FILE *out = text_open(&text);
    int result = out ? config_export(policy, out, &notes) : -1, status;

    notes.is_out_of_memory |= !out || text_close(out, &text) < 0 || result < 0;
    say_notes(&notes, "landlock-policy: not said by the configuration: ");
    status = answer(result, &text, &notes, error);
    config_notes_free(&notes);
    free(text.bytes);
    return status;
}

int export(const struct options *options, struct error *error)
{
    const struct launch_request *request = &options->request;
    struct policy_diagnostics diagnostics = {0};
    struct policy *policy = policy_load(request->policy_file, request->definitions, request->definition_count,
                                        NULL, NULL, &diagnostics);
    int status;

    if (policy) {
        status = export_policy(policy, error);
    } else {
        say_diagnostics(&diagnostics);
        status = error_set(error, LAUNCH_POLICY, "%s: it has faults", request->policy_file);
    }
    policy_diagnostics_free(&diagnostics);
    policy_free(policy);
    return status;
}
