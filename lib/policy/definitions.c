#include "policy/internal.h"

#include <search.h>
#include <string.h>

/* ---- Values that may be given once a file ---- */

bool claim(struct parser *parser, struct slot *slot, const char *what, const struct policy_position *position)
{
    uint64_t bit = (uint64_t)1 << position->file;

    if (slot->files & bit)
        return complain(parser, POLICY_FAULT_GIVEN_TWICE, position, "%s given twice; a file gives it once",
                        what);
    slot->what = what;
    if (slot->files && parser->files[slot->winner].includes & bit) {
        slot->files |= bit;
        return false;
    }
    slot->files |= bit;
    slot->winner = position->file;
    slot->position = *position;
    return true;
}

bool check_claims(struct parser *parser, const struct slot *slot)
{
    uint64_t beaten = parser->files[slot->winner].includes | (uint64_t)1 << slot->winner;
    size_t other = 0;

    if (!(slot->files & ~beaten))
        return true;
    while (!((slot->files & ~beaten) >> other & 1))
        other++;
    return complain(parser, POLICY_FAULT_DISAGREEMENT, &slot->position,
                    "%s is also given in %s, and neither file includes the other; a file that includes both "
                    "must decide",
                    slot->what, parser->files[other].name);
}

/* ---- Definitions ---- */

static int compare_definitions(const void *a, const void *b)
{
    return strcmp(((const struct definition *)a)->name, ((const struct definition *)b)->name);
}

static struct definition *find_definition(const struct parser *parser, const char *name)
{
    struct definition key = {.name = name};
    void *const *found = tfind(&key, &parser->definition_tree, compare_definitions);

    return found ? *(struct definition *const *)found : NULL;
}

static struct definition *add_definition(struct parser *parser, const char *name)
{
    struct definition *definition = find_definition(parser, name);

    if (definition)
        return definition;
    definition = store_get(parser->policy->store, sizeof *definition);
    if (!definition || array_reserve(&parser->definitions, &parser->definition_capacity,
                                     parser->definition_count, sizeof(struct definition *)) < 0)
        return NULL;
    *definition = (struct definition){.name = name};
    if (!tsearch(definition, &parser->definition_tree, compare_definitions))
        return NULL;
    parser->definitions[parser->definition_count++] = definition;
    return definition;
}

bool add_outside_definitions(struct parser *parser, const struct policy_definition *definitions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct definition *definition = add_definition(parser, definitions[i].name);

        if (!definition)
            return out_of_memory(parser);
        if (definition->is_from_outside)
            complain_of_file(parser, POLICY_FAULT_OUTSIDE_TWICE, NULL, definitions[i].name,
                             "--define %s given twice", definitions[i].name);
        definition->is_from_outside = true;
        definition->state = DEFINITION_KNOWN;
        definition->value = (struct slice){definitions[i].value, strlen(definitions[i].value)};
    }
    return true;
}

static const char *definition_name(size_t i, const void *context)
{
    const struct parser *parser = context;

    return parser->definitions[i]->slot.files ? parser->definitions[i]->name : "";
}

/* Its value, from the word that holds; replacements in it are made first. */
static bool resolve(struct parser *parser, struct definition *definition,
                    const struct policy_position *position)
{
    uint32_t from = 0;

    if (definition->state == DEFINITION_IN_USE)
        return complain(parser, POLICY_FAULT_DEFINITION_DEPTH, position,
                        "the definition of '%s' leads back to itself", definition->name);
    if (definition->state != DEFINITION_RAW)
        return definition->state == DEFINITION_KNOWN;
    if (parser->definition_depth == POLICY_MAX_NESTING)
        return complain(parser, POLICY_FAULT_DEFINITION_DEPTH, position,
                        "definitions lead to each other too often; 64 levels are allowed");
    definition->state = DEFINITION_IN_USE;
    parser->definition_depth++;
    definition->state =
        word_value(parser, definition->slot.winner, &definition->word, &from, '\0', &definition->value)
            ? DEFINITION_KNOWN
            : DEFINITION_BROKEN;
    parser->definition_depth--;
    return definition->state == DEFINITION_KNOWN;
}

void check_definitions(struct parser *parser)
{
    for (size_t i = 0; i < parser->definition_count; i++) {
        struct definition *definition = parser->definitions[i];
        char hint[NAME_SIZE + 32];

        if (definition->slot.files) {
            if (!definition->is_from_outside && check_claims(parser, &definition->slot))
                resolve(parser, definition,
                        &definition->slot.position); /* used or not: its faults are told */
            continue;
        }
        suggest(parser, hint, definition->name, parser->definition_count, definition_name, parser);
        complain_of_file(parser, POLICY_FAULT_OUTSIDE_UNKNOWN, NULL, definition->name,
                         "--define %s: the policy has no such definition%s", definition->name, hint);
    }
}

bool definition_value(struct parser *parser, const char *name, const struct policy_position *position,
                      struct slice *value)
{
    struct definition *definition = find_definition(parser, name);
    char hint[NAME_SIZE + 32];

    if (!definition || !definition->slot.files) {
        suggest(parser, hint, name, parser->definition_count, definition_name, parser);
        return complain(parser, POLICY_FAULT_UNDEFINED, position,
                        "'%s' is not defined%s; expected a statement: define %s VALUE", name, hint, name);
    }
    if (!resolve(parser, definition, position))
        return false;
    *value = definition->value;
    return true;
}

bool define(struct parser *parser, const struct statement *statement)
{
    const struct word *name = &statement->words[1];
    const char *source = parser->sources[statement->file].text + name->offset;
    struct policy_position position = position_of(statement->file, name, 0);
    struct definition *definition;
    char *copy;

    if (!name->is_plain || !is_name(source, name->length))
        return complain(parser, POLICY_FAULT_DEFINITION_NAME, &position,
                        "'%.*s' is not a name; expected letters, digits and '_', at most 63, no digit first",
                        (int)(name->length > NAME_SIZE ? NAME_SIZE : name->length), source);
    copy = keep_text(parser, source, name->length);
    definition = copy ? add_definition(parser, copy) : NULL;
    if (!definition)
        return out_of_memory(parser);
    if (claim(parser, &definition->slot, definition->name, &position))
        definition->word = statement->words[2];
    definition->word.is_plain = false; /* its value is copied: the source is still to be read a second time */
    return true;
}
