#include "policy/internal.h"

#include <stdarg.h>
#include <string.h>

bool out_of_memory(struct parser *parser)
{
    parser->diagnostics->out_of_memory = true;
    return false;
}

static size_t characters(const char *text, size_t size)
{
    size_t count = 0;

    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static size_t column_of(struct parser *parser, const struct policy_position *position)
{
    const char *text = parser->sources[position->file].text;
    bool goes_on = parser->counted_column && parser->counted_file == position->file &&
                   parser->counted_line_start == position->line_start &&
                   parser->counted_offset <= position->offset;
    uint32_t from = goes_on ? parser->counted_offset : position->line_start;
    size_t column = goes_on ? parser->counted_column : 1;

    column += characters(text + from, position->offset - from);
    parser->counted_file = position->file;
    parser->counted_line_start = position->line_start;
    parser->counted_offset = position->offset;
    parser->counted_column = column;
    return column;
}

/* A word that goes on over several lines is known by the first one. */
static void pass_continued_lines(const struct parser *parser, struct policy_position *position)
{
    const char *text = parser->sources[position->file].text, *newline;

    while ((newline = memchr(text + position->line_start, '\n', position->offset - position->line_start))) {
        position->line++;
        position->line_start = (uint32_t)(newline + 1 - text);
    }
}

static void free_texts(struct policy_diagnostic *diagnostic)
{
    free(diagnostic->file);
    free(diagnostic->definition);
    free(diagnostic->message);
}

/* A text that may be NULL. */
static bool copy_text(char **copy, const char *text)
{
    *copy = text ? strdup(text) : NULL;
    return *copy || !text;
}

/* `diagnostic` has no texts yet: they are copied. */
static bool record(struct parser *parser, struct policy_diagnostic diagnostic, const char *file,
                   const char *definition, const char *format, va_list arguments)
{
    struct policy_diagnostics *all = parser->diagnostics;

    if (all->count == POLICY_MAX_DIAGNOSTICS) {
        all->dropped++;
        return false;
    }
    if (array_reserve(&all->items, &all->capacity, all->count, sizeof *all->items) < 0)
        return out_of_memory(parser);
    diagnostic.message = text_of_list(format, arguments);
    if (!diagnostic.message)
        return out_of_memory(parser);
    if (!copy_text(&diagnostic.file, file) || !copy_text(&diagnostic.definition, definition)) {
        free_texts(&diagnostic);
        return out_of_memory(parser);
    }
    all->items[all->count++] = diagnostic;
    return false;
}

bool complain(struct parser *parser, enum policy_fault fault, const struct policy_position *position,
              const char *format, ...)
{
    struct policy_position exact = *position;
    struct policy_diagnostic diagnostic = {.fault = fault, .file_index = position->file};
    va_list arguments;

    if (parser->diagnostics->count < POLICY_MAX_DIAGNOSTICS) {
        pass_continued_lines(parser, &exact);
        diagnostic.line = exact.line;
        diagnostic.column = column_of(parser, &exact);
    }
    va_start(arguments, format);
    record(parser, diagnostic, parser->files[position->file].name, NULL, format, arguments);
    va_end(arguments);
    return false;
}

bool complain_of_file(struct parser *parser, enum policy_fault fault, const char *file,
                      const char *definition, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    record(parser, (struct policy_diagnostic){.fault = fault}, file, definition, format, arguments);
    va_end(arguments);
    return false;
}

static int compare(const void *left, const void *right)
{
    const struct policy_diagnostic *a = left, *b = right;

    if (a->file_index != b->file_index)
        return a->file_index < b->file_index ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->column < b->column ? -1 : a->column > b->column;
}

void diagnostics_sort(struct policy_diagnostics *diagnostics)
{
    if (diagnostics->count > 1)
        qsort(diagnostics->items, diagnostics->count, sizeof *diagnostics->items, compare);
}

void suggest(const struct parser *parser, char out[static NAME_SIZE + 32], const char *word, size_t count,
             const char *(*name_at)(size_t, const void *), const void *context)
{
    bool is_shown = parser->diagnostics->count < POLICY_MAX_DIAGNOSTICS;
    const char *nearest = is_shown ? text_nearest(word, count, name_at, context) : NULL;

    out[0] = '\0';
    if (nearest)
        snprintf(out, NAME_SIZE + 32, " (did you mean '%s'?)", nearest);
}

void policy_diagnostics_write(FILE *out, const struct policy_diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->count; i++) {
        const struct policy_diagnostic *item = &diagnostics->items[i];

        text_write_safe(out, item->file ? item->file : "command line");
        if (item->line)
            fprintf(out, ":%zu:%zu", item->line, item->column);
        fputs(": error: ", out);
        text_write_safe(out, item->message);
        putc('\n', out);
    }
    if (diagnostics->dropped)
        fprintf(out, "and %zu more errors\n", diagnostics->dropped);
    if (diagnostics->out_of_memory)
        fputs("out of memory: not everything was read\n", out);
}

void policy_diagnostics_free(struct policy_diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->count; i++)
        free_texts(&diagnostics->items[i]);
    free(diagnostics->items);
    *diagnostics = (struct policy_diagnostics){0};
}

void policy_locate(const struct policy *policy, const struct policy_position *position, size_t *line,
                   size_t *column)
{
    const char *text = policy->files[position->file].text;

    *line = position->line;
    *column = characters(text + position->line_start, position->offset - position->line_start) + 1;
}

int policy_compare_positions(const struct policy_position *a, const struct policy_position *b)
{
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}
