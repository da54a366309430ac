#include "command.h"

#include <errno.h>
#include <string.h>

struct report {
    struct progress progress;
    bool is_json, is_begun;
    int failure; /* errno of what could not be written */
};

/* ---- Text ---- */

/* A message begins with the source, or with what it would have become. */
static void print_reason(const struct chat_imported *file)
{
    if (strncmp(file->why->message, file->source, strlen(file->source)) != 0) {
        text_write_safe(stdout, file->source);
        fputs(" as ", stdout);
    }
    text_write_safe(stdout, file->why->message);
}

static void print_file(struct report *report, const struct chat_imported *file)
{
    (void)report;
    printf("%-8s  ", chat_outcome_name(file->outcome));
    if (file->why) {
        print_reason(file);
    } else {
        text_write_safe(stdout, file->path);
        fputs(" from ", stdout);
        text_write_safe(stdout, file->source);
    }
    putchar('\n');
}

/* ---- JSON ---- */

static json_t *file_object(const struct chat_imported *file)
{
    json_t *object = json_object();

    json_set(object, "source", json_text(file->source));
    json_set(object, "path", json_text(file->path));
    json_set(object, "outcome", json_text(chat_outcome_name(file->outcome)));
    json_set(object, "size", file->why ? json_null() : json_integer((json_int_t)file->size));
    json_set(object, "code", json_text(file->why ? chat_refusal(file->why->code)->name : NULL));
    json_set(object, "message", json_text(file->why ? file->why->message : NULL));
    return object;
}

/* The document is written as it comes: however many files there are, memory for one is enough. */
static void put_file(struct report *report, const struct chat_imported *file)
{
    fputs(report->is_begun ? "," : "{\"files\": [\n", stdout);
    report->is_begun = true;
    if (json_put(stdout, file_object(file), 0) < 0)
        report->failure = errno;
}

static int put_counts(const struct report *report, const struct chat_import *import, struct error *error)
{
    printf("%s],\n\"copied\": %zu, \"replaced\": %zu, \"skipped\": %zu}\n",
           report->is_begun ? "" : "{\"files\": [", import->copied, import->replaced, import->skipped);
    return report->failure ? error_set(error, CHAT_OUTPUT, "writing JSON: %s", strerror(report->failure)) : 0;
}

/* ---- The import ---- */

static void tell(void *context, const struct chat_imported *file)
{
    struct report *report = context;

    progress_clear(&report->progress);
    (report->is_json ? put_file : print_file)(report, file);
}

int import(const struct options *options, struct error *error)
{
    auto_chat struct chat chat = {.directory = -1};
    struct report report = {.is_json = options->is_json};
    struct chat_import import = {.tell = tell, .context = &report};
    char *const *operands = options->line.operands;

    if (chat_read_limit(getenv("LLM_MAX_ATTACHMENT_FILES"), &import.most, error) < 0 ||
        chat_open(&chat, operands[0], error) < 0)
        return -1;
    chat.mode = options->mode;
    progress_start(&report.progress, options->line.subcommand->name, 0);
    import.watch = report.progress.watch;
    if (chat_import(&chat, operands + 1, options->line.operand_count - 1, &import, error) < 0)
        return -1;
    progress_clear(&report.progress);
    if (report.is_json && put_counts(&report, &import, error) < 0)
        return -1;
    if (!report.is_json)
        printf("%zu copied, %zu replaced, %zu skipped\n", import.copied, import.replaced, import.skipped);
    return import.is_complete ? 0 : 1;
}
