#include "policy_text.h"

#include <string.h>

/* A word in quotes; what would end it, or is not plain text, is escaped. */
static void put_word(FILE *out, const char *before, const char *text)
{
    fprintf(out, " \"%s", before);
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || (unsigned char)*text > '~' || strchr("\\\"$", *text))
            fprintf(out, "\\x%02X", (unsigned char)*text);
        else
            putc(*text, out);
    putc('"', out);
}

/* `singles` by their names, and the rest by every group that is wholly there and needed. */
static void put_rights(FILE *out, policy_rights rights, policy_rights singles)
{
    const char *separator = " ";

    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].bit & singles) {
            fprintf(out, "%s%s", separator, policy_right_table[i].name);
            separator = ",";
        }
    for (size_t i = 0; i < policy_group_count; i++)
        if (!(policy_group_table[i].rights & ~rights) && policy_group_table[i].rights & rights & ~singles) {
            fprintf(out, "%s%s", separator, policy_group_table[i].name);
            separator = ",";
        }
}

static void put_path(FILE *out, const char *statement, const struct policy_path *path)
{
    fputs(statement, out);
    put_word(out, "", path->path);
    putc('\n', out);
}

static void put_rules(FILE *out, const struct policy *policy)
{
    char ports[POLICY_PORTS_TEXT];

    for (size_t i = 0; i < policy->path_rule_count; i++) {
        const struct policy_path_rule *rule = &policy->path_rules[i];

        fputs("allow", out);
        put_rights(out, rule->rights, rule->singles);
        put_word(out, rule->position.flags & POLICY_OPTIONAL ? "-" : "", rule->path);
        putc('\n', out);
    }
    for (size_t i = 0; i < policy->port_rule_count; i++) {
        const struct policy_port_rule *rule = &policy->port_rules[i];

        fputs("allow", out);
        put_rights(out, rule->rights, rule->rights);
        fprintf(out, " %s\n", policy_ports_text(rule->first, rule->last, ports));
    }
}

static void put_expectations(FILE *out, const struct policy *policy)
{
    char ports[POLICY_PORTS_TEXT];

    for (size_t i = 0; i < policy->expectation_count; i++) {
        const struct policy_expectation *expectation = &policy->expectations[i];

        fprintf(out, "expect %s", expectation->allowed ? "allowed" : "denied");
        put_rights(out, expectation->rights, expectation->rights);
        if (expectation->path)
            put_word(out, "", expectation->path);
        else
            fprintf(out, " %s", policy_ports_text(expectation->first, expectation->last, ports));
        putc('\n', out);
    }
}

static void put_demands(FILE *out, const struct policy *policy)
{
    for (size_t i = 0; i < policy->requirement_count; i++) {
        fputs("require", out);
        if (policy->requirements[i].abi)
            fprintf(out, " abi %u", policy->requirements[i].abi);
        else
            put_rights(out, policy->requirements[i].rights, policy->requirements[i].rights);
        putc('\n', out);
    }
    if (policy->unrestricted_position.line) {
        fputs("unrestricted", out);
        put_rights(out, policy->unrestricted, policy->unrestricted);
        putc('\n', out);
    }
}

static void put_environment(FILE *out, const struct policy *policy)
{
    for (size_t i = 0; i < policy->kept_count; i++)
        fprintf(out, "environment keep %s%s\n", policy->kept[i].name, policy->kept[i].is_prefix ? "*" : "");
    for (size_t i = 0; i < policy->setting_count; i++) {
        fputs("environment set", out);
        put_word(out, "", policy->settings[i].assignment);
        putc('\n', out);
    }
}

static void put_singles(FILE *out, const struct policy *policy)
{
    if (policy->run_position.line) {
        fputs("run", out);
        for (size_t i = 0; i < policy->run_count; i++)
            put_word(out, "", policy->run[i]);
        putc('\n', out);
    }
    if (policy->directory.path)
        put_path(out, "directory", &policy->directory);
    if (policy->audit_position.line)
        fprintf(out, "audit %s\n", policy->audit ? "on" : "off");
    for (size_t i = 0; i < policy_resource_count; i++) {
        const struct policy_limit *limit = &policy->limits[policy_resource_table[i].resource];

        if (limit->is_set)
            fprintf(out, "limit %s %ju\n", policy_resource_table[i].name, (uintmax_t)limit->value);
    }
}

static void put_container(FILE *out, const struct policy_container *container)
{
    if (container->check_position.line)
        fprintf(out, "container check %s\n", container->check == POLICY_CHECK_ALWAYS ? "always" : "old-abi");
    if (!container->is_described)
        return;
    fprintf(out, "container uid %u\ncontainer capabilities none\n", container->uid);
    for (size_t i = 0; i < container->read_only_count; i++)
        put_path(out, "container read-only", &container->read_only[i]);
    for (size_t i = 0; i < policy_preset_count; i++)
        if (container->presets & policy_preset_table[i].bit)
            fprintf(out, "container writable %s\n", policy_preset_table[i].name);
    for (size_t i = 0; i < container->writable_count; i++)
        put_path(out, "container writable", &container->writable[i]);
}

/* What the C library has allocated was not counted, and so must not be when it is freed. */
void __real_free(void *allocated);

char *policy_as_text(const struct policy *policy)
{
    char *text = NULL, *copy;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        abort();
    fputs("policy 1\n", out);
    put_rules(out, policy);
    put_expectations(out, policy);
    for (size_t i = 0; i < policy->private_count; i++)
        put_path(out, "private", &policy->privates[i]);
    put_demands(out, policy);
    put_environment(out, policy);
    put_singles(out, policy);
    put_container(out, &policy->container);
    if (fclose(out) != 0)
        abort();
    copy = strdup(text);
    __real_free(text);
    if (!copy)
        abort();
    return copy;
}
