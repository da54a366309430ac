#include "launch/internal.h"

#include <errno.h>
#include <string.h>

/* policy_error() begins a message with where in the policy it is; a fault has that as a position. */
static const char *without_position(const struct launch *launch, const struct policy_position *position,
                                    const char *message)
{
    auto_free char *prefix = NULL;
    size_t line, column;

    if (!position)
        return message;
    policy_locate(launch->policy, position, &line, &column);
    prefix = text_of("%s:%zu:%zu: ", launch->policy->files[position->file].name, line, column);
    return !prefix || strncmp(message, prefix, strlen(prefix)) != 0 ? message : message + strlen(prefix);
}

static int add_fault(struct launch_faults *faults, struct launch_fault fault)
{
    if (fault.message && fault.hint &&
        array_reserve(&faults->items, &faults->capacity, faults->count, sizeof *faults->items) == 0) {
        faults->items[faults->count++] = fault;
        return 0;
    }
    free(fault.message);
    free(fault.hint);
    errno = ENOMEM;
    return -1;
}

int fault(const struct launch *launch, const struct policy_position *position, struct error *error)
{
    struct launch_faults *faults = launch->request->faults;

    if (!faults || error->code == LAUNCH_SYSTEM)
        return -1;
    if (add_fault(faults,
                  (struct launch_fault){.reason = (enum launch_reason)error->code,
                                        .position = position ? *position : (struct policy_position){0},
                                        .message = strdup(without_position(launch, position, error->message)),
                                        .hint = strdup(error->hint)}) < 0)
        return system_error(error, "gathering faults");
    error->code = 0;
    return 0;
}

const struct launch_fault *launch_fault_at(const struct launch_faults *faults,
                                           const struct policy_position *position)
{
    for (size_t i = 0; i < faults->count; i++)
        if (faults->items[i].position.line &&
            policy_compare_positions(&faults->items[i].position, position) == 0)
            return &faults->items[i];
    return NULL;
}

void launch_faults_free(struct launch_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++) {
        free(faults->items[i].message);
        free(faults->items[i].hint);
    }
    free(faults->items);
    *faults = (struct launch_faults){0};
}
