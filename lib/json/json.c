#include "json.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

enum { FAILED = 2 };

/* jansson takes no bytes that are not UTF-8; a file's name may have them. */
static json_t *mended(const char *text)
{
    struct text copy = {0};
    FILE *out = text_open(&copy);
    json_t *string;

    if (!out)
        return NULL;
    for (const char *at = text; *at;) {
        size_t length = utf8_sequence(at, strlen(at));

        if (length)
            fwrite(at, 1, length, out);
        else
            fputs("\xef\xbf\xbd", out);
        at += length ? length : 1;
    }
    string = text_close(out, &copy) == 0 ? json_string(copy.bytes) : NULL;
    free(copy.bytes);
    return string;
}

static void __attribute__((noreturn, cold)) end_without_memory(void)
{
    char prefix[64];

    snprintf(prefix, sizeof prefix, "%s: ", program_invocation_short_name);
    text_write_line(STDERR_FILENO, prefix, "writing JSON: out of memory");
    exit(FAILED);
}

void json_set(json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) < 0)
        end_without_memory();
}

void json_add(json_t *array, json_t *value)
{
    if (!value || json_array_append_new(array, value) < 0)
        end_without_memory();
}

json_t *json_text(const char *text)
{
    json_t *string;

    if (!text)
        return json_null();
    string = json_string(text);
    return string ? string : mended(text);
}

int json_put(FILE *out, json_t *document, size_t indent)
{
    int result;

    errno = 0;
    result = json_dumpf(document, out, JSON_INDENT(indent) | JSON_PRESERVE_ORDER);
    json_decref(document);
    if (result == 0 && putc('\n', out) != EOF)
        return 0;
    errno = errno ? errno : ENOMEM;
    return -1;
}
