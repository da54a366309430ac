#include "command.h"

#include <sys/stat.h>

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

static policy_rights rights_of_kind(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return ~(policy_rights)0;
    case S_IFREG:
        return policy_rights_of_files() & ~(POLICY_IOCTL_DEV | POLICY_RESOLVE_UNIX);
    case S_IFSOCK:
        return POLICY_RESOLVE_UNIX;
    case S_IFIFO:
        return POLICY_READ_FILE | POLICY_WRITE_FILE;
    default:
        return POLICY_READ_FILE | POLICY_WRITE_FILE | POLICY_IOCTL_DEV;
    }
}

policy_rights fitting_rights(policy_rights rights, const char *path)
{
    struct stat status;
    policy_rights fitting = path && stat(path, &status) == 0 ? rights & rights_of_kind(status.st_mode) : 0;

    return fitting ? fitting : rights;
}

void say_diagnostics(const struct policy_diagnostics *diagnostics)
{
    policy_diagnostics_write(stderr, diagnostics);
}
