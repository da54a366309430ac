#include "config/internal.h"

enum { MOST_TEXT = 16384 }; /* bytes: bounds how deep an expansion goes */

/* ASCII alone, whatever the locale. */
static bool is_letter(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

const char *variable_name_fault(const char *name, size_t length)
{
    if (!length || !is_letter(name[0]))
        return "the name of a variable begins with a letter";
    for (size_t i = 0; i < length; i++)
        if (!is_letter(name[i]) && !(name[i] >= '0' && name[i] <= '9') && name[i] != '_')
            return "the name of a variable has letters, digits and underscores";
    return NULL;
}

struct variable *find_variable(const struct variables *variables, const char *name, size_t length)
{
    for (size_t i = 0; i < variables->count; i++)
        if (strlen(variables->items[i].name) == length && !memcmp(variables->items[i].name, name, length))
            return &variables->items[i];
    return NULL;
}

/* An expansion on its way: the path so far. */
struct expansion {
    struct variables *variables;
    take_path *take;
    void *context;
    char path[PATH_MAX];
};

static const char *expand(struct expansion *expansion, const char *text, size_t length);

/* Each value of a variable, which check() has seen, and what stands behind it. */
static const char *expand_variable(struct expansion *expansion, const char *name, size_t length)
{
    const char *end = strchr(name, '}'), *fault = NULL;
    const struct variable *variable = find_variable(expansion->variables, name, (size_t)(end - name));

    for (size_t i = 0; variable && i < variable->count && !fault; i++) {
        size_t more = strlen(variable->values[i]);

        if (++expansion->variables->expanded > CONFIG_MAX_PATHS)
            return "the variables expand to too many paths";
        if (length + more >= sizeof expansion->path)
            return "it expands to a path that is too long";
        memcpy(expansion->path + length, variable->values[i], more);
        fault = expand(expansion, end + 1, length + more);
    }
    return fault;
}

/* `length`: of the path so far. */
static const char *expand(struct expansion *expansion, const char *text, size_t length)
{
    for (; *text; text++) {
        if (!strncmp(text, "${", 2))
            return expand_variable(expansion, text + 2, length);
        text += !strncmp(text, "$$", 2); /* for one */
        if (length + 1 >= sizeof expansion->path)
            return "it is too long for a path";
        expansion->path[length++] = *text;
    }
    expansion->path[length] = '\0';
    return expansion->take(expansion->context, expansion->path);
}

/* A fault must be found, too, where a variable without values hides it. *is_nothing: it stands for no path. */
static const char *check(const char *text, const struct variables *variables, bool *is_nothing)
{
    const struct variable *variable;

    for (; (text = strchr(text, '$')); text++) {
        const char *end, *fault;

        if (text[1] == '$') {
            text++;
            continue;
        }
        if (text[1] != '{')
            continue;
        end = strchr(text, '}');
        fault = end ? variable_name_fault(text + 2, (size_t)(end - text) - 2) : "'${' without '}'";
        if (fault)
            return fault;
        variable = find_variable(variables, text + 2, (size_t)(end - text) - 2);
        if (!variable)
            return "it names a variable that there is not";
        *is_nothing |= !variable->count;
    }
    return NULL;
}

const char *expand_template(const char *text, struct variables *variables, take_path *take, void *context)
{
    struct expansion expansion = {.variables = variables, .take = take, .context = context};
    bool is_nothing = false;
    const char *fault = strlen(text) > MOST_TEXT ? "it is too long" : check(text, variables, &is_nothing);

    return fault || is_nothing ? fault : expand(&expansion, text, 0);
}
