#include "command.h"

#include <string.h>

struct report {
    struct progress progress;
    json_t *files; /* NULL: text */
};

/* ---- Text ---- */

static void print_file(const struct chat_imported *file)
{
    printf("%-8s  ", chat_outcome_name(file->outcome));
    if (file->why) {
        text_write_safe(stdout, file->why->message);
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

static int put_report(const struct chat_import *import, json_t *files, struct error *error)
{
    json_t *answer = json_object();

    json_set(answer, "files", files);
    json_set(answer, "copied", json_integer((json_int_t)import->copied));
    json_set(answer, "replaced", json_integer((json_int_t)import->replaced));
    json_set(answer, "skipped", json_integer((json_int_t)import->skipped));
    return put_json(answer, error);
}

/* ---- The import ---- */

static void tell(void *context, const struct chat_imported *file)
{
    struct report *report = context;

    if (report->files) {
        json_add(report->files, file_object(file));
        return;
    }
    progress_clear(&report->progress);
    print_file(file);
}

static int tell_end(struct report *report, const struct chat_import *import, struct error *error)
{
    progress_clear(&report->progress);
    if (report->files)
        return put_report(import, report->files, error);
    printf("%zu copied, %zu replaced, %zu skipped\n", import->copied, import->replaced, import->skipped);
    return 0;
}

int import(const struct options *options, struct error *error)
{
    auto_chat struct chat chat = {.directory = -1};
    struct report report = {0};
    struct chat_import import = {.tell = tell, .context = &report};
    char *const *operands = options->line.operands;

    if (chat_read_limit(getenv("LLM_MAX_ATTACHMENT_FILES"), &import.most, error) < 0 ||
        chat_open(&chat, operands[0], error) < 0)
        return -1;
    chat.mode = options->mode;
    progress_start(&report.progress, options->line.subcommand->name, 0);
    import.watch = report.progress.watch;
    report.files = options->is_json ? json_array() : NULL;
    if (chat_import(&chat, operands + 1, options->line.operand_count - 1, &import, error) < 0) {
        json_decref(report.files);
        return -1;
    }
    return tell_end(&report, &import, error) < 0 ? -1 : import.is_complete ? 0 : 1;
}
