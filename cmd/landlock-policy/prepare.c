#include "command.h"

int look_at_policy(struct look *look, const struct options *options, const char *file, bool always_checks,
                   struct error *error)
{
    *look = (struct look){.request = options->request};
    look->request.policy_file = file;
    look->request.faults = &look->faults;
    look->request.always_checks = always_checks;
    return launch_prepare_domain(&look->launch, &look->request, error);
}

void look_free(struct look *look)
{
    launch_free(&look->launch);
    launch_faults_free(&look->faults);
}

void say_diagnostics(const struct policy_diagnostics *diagnostics)
{
    policy_diagnostics_write(stderr, diagnostics);
}
