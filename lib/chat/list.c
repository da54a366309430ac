#include "chat/internal.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

static bool may_be_served(const char *name, unsigned char type)
{
    (void)name;
    return type == DT_REG || type == DT_UNKNOWN; /* some file systems do not tell */
}

static int add(struct chat_listing *listing, char *name, const struct stat *status)
{
    if (array_reserve(&listing->entries, &listing->capacity, listing->count, sizeof *listing->entries) < 0)
        return -1;
    listing->entries[listing->count++] =
        (struct chat_entry){name, (uint64_t)status->st_size, status->st_mtim};
    return 0;
}

/* Adds what can be opened. The listing has the name then. */
static int look_at(const struct chat *chat, char **name, struct chat_listing *listing, struct error *error)
{
    struct chat_file file = {.fd = -1};
    struct error why = {0};
    int result = chat_open_file(chat, *name, &file, &why);

    cleanup_close(&file.fd);
    if (result < 0 && why.code == CHAT_SYSTEM) {
        *error = why;
        return -1;
    }
    if (result < 0)
        return 0;
    if (add(listing, *name, &file.status) < 0)
        return error_set(error, CHAT_SYSTEM, "listing files: out of memory");
    *name = NULL;
    return 0;
}

int chat_list(const struct chat *chat, size_t most, struct chat_listing *listing, struct error *error)
{
    auto_names struct names names = {0};

    *listing = (struct chat_listing){0};
    if (read_names(chat->directory, most, may_be_served, &names) < 0) {
        if (errno != EOVERFLOW)
            return say_unreadable(error);
        error_set(error, CHAT_TOO_MANY, "the chat has more than %zu files", most);
        return error_hint(error, "remove some of them, as the directory's owner");
    }
    for (size_t i = 0; i < names.count; i++)
        if (look_at(chat, &names.items[i], listing, error) < 0)
            return -1;
    return 0;
}

void chat_free_listing(struct chat_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->entries[i].name);
    free(listing->entries);
    *listing = (struct chat_listing){0};
}
