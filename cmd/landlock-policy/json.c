#include "command.h"

#include <errno.h>
#include <string.h>

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
    text_write_line(STDERR_FILENO, "landlock-policy: ", "writing JSON: out of memory");
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

json_t *json_rights(policy_rights rights)
{
    json_t *names = json_array();

    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].bit & rights)
            json_add(names, json_string(policy_right_table[i].name));
    return names;
}

json_t *json_ports(uint16_t first, uint16_t last)
{
    json_t *range = json_object();

    json_set(range, "first", json_integer(first));
    json_set(range, "last", json_integer(last));
    return range;
}

void json_add_position(json_t *object, const struct policy *policy, const struct policy_position *position)
{
    size_t line = 0, column = 0;
    bool is_there = position && position->line;

    if (is_there)
        policy_locate(policy, position, &line, &column);
    json_set(object, "file", is_there ? json_text(policy->files[position->file].name) : json_null());
    json_set(object, "line", is_there ? json_integer((json_int_t)line) : json_null());
    json_set(object, "column", is_there ? json_integer((json_int_t)column) : json_null());
}

json_t *json_abi(const struct launch *launch)
{
    json_t *abi = json_object();

    json_set(abi, "kernel", launch->kernel_abi ? json_integer(launch->kernel_abi) : json_null());
    json_set(abi, "used", json_integer(launch->abi));
    return abi;
}

int put_json(json_t *document, struct error *error)
{
    int result = json_dumpf(document, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);

    json_decref(document);
    putchar('\n');
    return result == 0
               ? 0
               : error_set(error, LAUNCH_SYSTEM, "writing JSON: %s", strerror(errno ? errno : ENOMEM));
}
