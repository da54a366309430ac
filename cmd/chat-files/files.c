/* put, get, list and remove. */
#include "command.h"

/* ---- put ---- */

static int store(const struct options *options, struct chat_upload *upload, bool *is_replaced,
                 struct error *error)
{
    struct progress progress;
    int result;

    progress_start(&progress, options->line.subcommand->name, 0);
    result = chat_receive(upload, STDIN_FILENO, &progress.watch, error);
    progress_clear(&progress);
    return result < 0 ? -1 : chat_finish(upload, is_replaced, error);
}

int put(const struct options *options, struct error *error)
{
    auto_chat struct chat chat = {.directory = -1};
    auto_upload struct chat_upload upload = {.fd = -1};
    const char *name = options->line.operands[1];
    bool is_replaced;
    json_t *answer;

    if (chat_check_name(name, error) < 0 || chat_open(&chat, options->line.operands[0], error) < 0)
        return -1;
    chat.mode = options->mode;
    if (chat_begin(&chat, name, &upload, error) < 0 || store(options, &upload, &is_replaced, error) < 0)
        return -1;
    if (!options->is_json)
        return 0;
    answer = json_object();
    json_set(answer, "name", json_text(name));
    json_set(answer, "size", json_integer((json_int_t)upload.size));
    json_set(answer, "outcome", json_text(chat_outcome_name(is_replaced ? CHAT_REPLACED : CHAT_COPIED)));
    return put_json(answer, error);
}

/* ---- get ---- */

int get(const struct options *options, struct error *error)
{
    auto_chat struct chat chat = {.directory = -1};
    const char *name = options->line.operands[1];
    struct chat_file file = {.fd = -1};
    struct progress progress;
    int result;

    if (chat_open(&chat, options->line.operands[0], error) < 0)
        return -1;
    result = chat_open_file(&chat, name, &file, error);
    if (result == 0) {
        progress_start(&progress, options->line.subcommand->name, (uint64_t)file.status.st_size);
        result = chat_send(&file, name, STDOUT_FILENO, &progress.watch, error);
        progress_clear(&progress);
    }
    cleanup_close(&file.fd);
    return result;
}

/* ---- list ---- */

static int put_listing(const struct chat_listing *listing, struct error *error)
{
    json_t *answer = json_object(), *files = json_array();
    char time[TIME_SIZE];

    for (size_t i = 0; i < listing->count; i++) {
        const struct chat_entry *entry = &listing->entries[i];
        json_t *file = json_object();

        format_time(&entry->time, time);
        json_set(file, "name", json_text(entry->name));
        json_set(file, "size", json_integer((json_int_t)entry->size));
        json_set(file, "time", json_text(time));
        json_add(files, file);
    }
    json_set(answer, "files", files);
    return put_json(answer, error);
}

static int print_listing(const struct chat_listing *listing)
{
    char time[TIME_SIZE];

    for (size_t i = 0; i < listing->count; i++) {
        format_time(&listing->entries[i].time, time);
        printf("%10ju  %s  ", (uintmax_t)listing->entries[i].size, time);
        text_write_safe(stdout, listing->entries[i].name);
        putchar('\n');
    }
    return 0;
}

int list(const struct options *options, struct error *error)
{
    auto_chat struct chat chat = {.directory = -1};
    struct chat_listing listing = {0};
    int result;

    if (chat_open(&chat, options->line.operands[0], error) < 0)
        return -1;
    result = chat_list(&chat, CHAT_MOST_LISTED, &listing, error);
    if (result == 0)
        result = options->is_json ? put_listing(&listing, error) : print_listing(&listing);
    chat_free_listing(&listing);
    return result;
}

/* ---- remove ---- */

int remove_file(const struct options *options, struct error *error)
{
    auto_chat struct chat chat = {.directory = -1};
    const char *name = options->line.operands[1];
    json_t *answer;

    if (chat_open(&chat, options->line.operands[0], error) < 0 || chat_remove(&chat, name, error) < 0)
        return -1;
    if (!options->is_json)
        return 0;
    answer = json_object();
    json_set(answer, "name", json_text(name));
    json_set(answer, "outcome", json_text("removed"));
    return put_json(answer, error);
}
