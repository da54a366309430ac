#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

const char *warning(const struct options *options, const struct launch *launch, unsigned number)
{
    enum { FIRST_ABI_WITH_AUDIT = 7 };
    const char *warnings[3];
    unsigned count = 0;

    if (options->request.max_abi)
        warnings[count++] = "--max-abi is for trying a policy: what newer kernels restrict is left open";
    if (launch->is_root)
        warnings[count++] = "UID 0 owns files that Landlock does not guard from chmod and chown: run as "
                            "another user";
    if (launch->policy && launch->policy->audit && launch->abi < FIRST_ABI_WITH_AUDIT)
        warnings[count++] = "audit on has no effect below Landlock ABI 7";
    return number < count ? warnings[number] : NULL;
}

/* ---- The status line ---- */

static void add_rights(FILE *out, const char *key, policy_rights rights)
{
    const char *separator = "";

    fprintf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].bit & rights) {
            fprintf(out, "%s\"%s\"", separator, policy_right_table[i].name);
            separator = ",";
        }
    putc(']', out);
}

static void add_warnings(FILE *out, const struct options *options, const struct launch *launch)
{
    const char *text;

    fputs(",\"warnings\":[", out);
    for (unsigned i = 0; (text = warning(options, launch, i)); i++) {
        if (i)
            putc(',', out);
        text_write_json(out, text);
    }
    putc(']', out);
}

static void add_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, ",\"%s\":", key);
    if (text && text[0])
        text_write_json(out, text);
    else
        fputs("null", out);
}

static const char *container_text(const struct launch *launch)
{
    static const char *const texts[] = {
        [LAUNCH_CONTAINER_NOT_NEEDED] = "not-needed", [LAUNCH_CONTAINER_CHECKED] = "checked"};

    return texts[launch->container];
}

static void add_findings(FILE *out, const struct container_findings *findings)
{
    fputs(",\"findings\":[", out);
    for (size_t i = 0; i < findings->count; i++) {
        fputs(i ? ",{\"message\":" : "{\"message\":", out);
        text_write_json(out, findings->items[i].message);
        fputs(",\"hint\":", out);
        text_write_json(out, findings->items[i].hint);
        putc('}', out);
    }
    putc(']', out);
}

static void write_json(FILE *out, const char *event, const struct options *options,
                       const struct launch *launch, const struct error *error)
{
    fprintf(out, "{\"event\":\"%s\"", event);
    add_text(out, "reason", error ? launch_reason(error->code)->name : NULL);
    add_text(out, "message", error ? error->message : NULL);
    add_text(out, "hint", error ? error->hint : NULL);
    fprintf(out, ",\"abi\":%u,\"max_abi\":%u,\"kernel_abi\":%u,\"uid\":%u", launch->abi,
            options->request.max_abi ? options->request.max_abi : POLICY_NEWEST_ABI, launch->kernel_abi,
            getuid());
    add_rights(out, "not_enforced", launch->not_enforced);
    add_rights(out, "not_granted", launch->not_granted);
    add_rights(out, "unrestricted", launch->policy ? launch->policy->unrestricted : 0);
    add_text(out, "container", container_text(launch));
    add_findings(out, &launch->findings);
    add_text(out, "proof", launch->proof ? launch->proof->name : "none");
    add_warnings(out, options, launch);
    fputs("}\n", out);
}

/* A refusal that there is no memory to tell in full: its reason alone. 0, or -1 and errno. */
static int write_reason(int fd, const struct error *error)
{
    char line[512];

    snprintf(line, sizeof line,
             "{\"event\":\"refused\",\"reason\":\"%s\",\"message\":\"out of memory\",\"hint\":null,\"abi\":0,"
             "\"max_abi\":0,\"kernel_abi\":0,\"uid\":0,\"not_enforced\":[],\"not_granted\":[],"
             "\"unrestricted\":[],\"container\":null,\"findings\":[],\"proof\":\"none\",\"warnings\":[]}\n",
             launch_reason(error->code)->name);
    return write_all(fd, line, strlen(line));
}

int write_status(int fd, const char *event, const struct options *options, const struct launch *launch,
                 const struct error *error)
{
    struct text line = {0};
    FILE *out = text_open(&line);
    int result;

    if (out)
        write_json(out, event, options, launch, error);
    if (!out || text_close(out, &line) < 0)
        return error ? write_reason(fd, error) : -1;
    result = write_all(fd, line.bytes, line.size);
    free(line.bytes);
    return result;
}

void write_diagnostics(int fd, const struct policy_diagnostics *diagnostics)
{
    struct text text = {0};
    FILE *out = diagnostics->count ? text_open(&text) : NULL;

    if (!out)
        return;
    policy_diagnostics_write(out, diagnostics);
    if (text_close(out, &text) == 0)
        write_all(fd, text.bytes, text.size);
    free(text.bytes);
}

void write_findings(int fd, const struct container_findings *findings)
{
    if (findings->count < 2)
        return;
    for (size_t i = 0; i < findings->count; i++) {
        text_write_line(fd, "landlock-exec: container: ", findings->items[i].message);
        text_write_line(fd, "landlock-exec: hint: ", findings->items[i].hint);
    }
}

/* ---- --verbose and --dry-run ---- */

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void tell(const char *format, ...)
{
    char text[ERROR_TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_write_line(STDERR_FILENO, "landlock-exec: ", text);
}

static void tell_rights(const char *what, policy_rights rights)
{
    char names[POLICY_RIGHTS_TEXT];

    if (rights)
        tell("%s: %s", what, policy_rights_text(rights, names));
}

void tell_preparation(const struct launch *launch)
{
    for (size_t i = 0; i < launch->policy->file_count; i++)
        tell("policy: read %s", launch->policy->files[i].name);
    tell("Landlock: the kernel has ABI %u, this build knows up to %d, ABI %u is used", launch->kernel_abi,
         POLICY_NEWEST_ABI, launch->abi);
    if (launch->kernel_abi > POLICY_NEWEST_ABI)
        tell("Landlock: what ABI %u adds to %d is not restricted", launch->kernel_abi, POLICY_NEWEST_ABI);
    if (launch->scopes_are_broken)
        tell("Landlock: the kernel announces scopes and refuses them");
    tell_rights("not enforced below a newer ABI", launch->not_enforced);
    tell_rights("not granted by this ABI", launch->not_granted);
    tell_rights("unrestricted, as the policy says", launch->policy->unrestricted);
    for (size_t i = 0; i < launch->skipped_count; i++)
        tell("skipped, missing: %s", launch->skipped[i].path);
    tell("container: %s", container_text(launch));
    tell("program: %s", launch->program);
}

void tell_restriction(const struct launch *launch)
{
    tell("restricted; proof: %s",
         launch->proof ? launch->proof->name : "none, the policy denies nothing that could be tried");
}

static void print_rights(FILE *out, const char *what, policy_rights rights)
{
    char names[POLICY_RIGHTS_TEXT];

    fprintf(out, "%-14s%s\n", what, rights ? policy_rights_text(rights, names) : "-");
}

static void print_text(FILE *out, const char *what, const char *text)
{
    fprintf(out, "%-14s", what);
    text_write_safe(out, text);
    putc('\n', out);
}

static void print_rule(FILE *out, const struct launch *launch, bool is_skipped, policy_rights rights)
{
    policy_rights effective = rights & launch->handled;
    char names[POLICY_RIGHTS_TEXT];

    fprintf(out, "%-14s%s ",
            is_skipped  ? "missing"
            : effective ? "allow"
                        : "no effect",
            policy_rights_text(effective ? effective : rights, names));
}

/* Grants and skipped rules stand in the order of the rules, each rule being one or the other. */
static void print_rules(FILE *out, const struct launch *launch)
{
    const struct policy *policy = launch->policy;

    for (size_t i = 0, granted = 0, skipped = 0; i < policy->path_rule_count; i++) {
        const struct policy_path_rule *rule = &policy->path_rules[i];
        bool is_skipped = skipped < launch->skipped_count && launch->skipped[skipped].path == rule->path;

        print_rule(out, launch, is_skipped, is_skipped ? rule->rights : launch->grants[granted].rights);
        text_write_safe(out, rule->path);
        putc('\n', out);
        granted += !is_skipped;
        skipped += is_skipped;
    }
    for (size_t i = 0; i < policy->port_rule_count; i++) {
        print_rule(out, launch, false, policy->port_rules[i].rights);
        fprintf(out, "%u-%u\n", policy->port_rules[i].first, policy->port_rules[i].last);
    }
    for (size_t i = 0; i < policy->private_count; i++)
        print_text(out, "private", policy->privates[i].path);
}

/* Names only: a value may be a secret. */
static void print_environment(FILE *out, const struct launch *launch)
{
    fprintf(out, "%-14s", "environment");
    for (char **variable = launch->environment; *variable; variable++) {
        auto_free char *name = strndup(*variable, strcspn(*variable, "="));

        fputs(variable == launch->environment ? "" : " ", out);
        text_write_safe(out, name ? name : "(out of memory)");
    }
    putc('\n', out);
}

static void print_limits(FILE *out, const struct policy *policy)
{
    for (size_t i = 0; i < policy_resource_count; i++) {
        const struct policy_limit *limit = &policy->limits[policy_resource_table[i].resource];

        if (limit->is_set && policy_resource_table[i].resource != RLIMIT_CORE)
            fprintf(out, "%-14s%s %ju\n", "limit", policy_resource_table[i].name, (uintmax_t)limit->value);
    }
    fprintf(out, "%-14score 0\n", "limit");
}

/* One a line: any of them may hold blanks. A private file has been replaced by now. */
static void print_arguments(FILE *out, const struct launch *launch)
{
    print_text(out, "program", launch->program);
    for (char **argument = launch->arguments + 1; launch->arguments[0] && *argument; argument++)
        print_text(out, "argument", *argument);
}

void print_dry_run(FILE *out, const struct options *options, const struct launch *launch)
{
    const char *text;

    for (size_t i = 0; i < launch->policy->file_count; i++)
        print_text(out, "policy", launch->policy->files[i].name);
    fprintf(out, "%-14s%u (kernel %u, this build %d)\n", "landlock abi", launch->abi, launch->kernel_abi,
            POLICY_NEWEST_ABI);
    print_rights(out, "restricted", launch->handled);
    print_rights(out, "not enforced", launch->not_enforced);
    print_rights(out, "not granted", launch->not_granted);
    print_rights(out, "unrestricted", launch->policy->unrestricted);
    print_rules(out, launch);
    print_text(out, "audit", launch->policy->audit ? "on" : "off");
    print_text(out, "directory",
               launch->policy->directory.path ? launch->policy->directory.path : "(the caller's)");
    print_environment(out, launch);
    print_limits(out, launch->policy);
    print_text(out, "container", container_text(launch));
    print_text(out, "proof", launch->proof ? launch->proof->name : "none");
    print_arguments(out, launch);
    for (unsigned i = 0; (text = warning(options, launch, i)); i++)
        print_text(out, "warning", text);
}
