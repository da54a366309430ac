#include "config/internal.h"

#include <stdarg.h>

void add_note(struct config_notes *notes, const char *format, ...)
{
    va_list arguments;
    char *text;

    if (notes->count == CONFIG_MAX_NOTES) {
        notes->dropped++;
        return;
    }
    va_start(arguments, format);
    text = text_of_list(format, arguments);
    va_end(arguments);
    if (!text || array_reserve(&notes->items, &notes->capacity, notes->count, sizeof *notes->items) < 0) {
        free(text);
        notes->is_out_of_memory = true;
        return;
    }
    notes->items[notes->count++] = text;
}

void config_notes_free(struct config_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->items[i]);
    free(notes->items);
    *notes = (struct config_notes){0};
}
