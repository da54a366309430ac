#include "config/internal.h"

/* Groups are what an ABI has of these, the newest, too, for which there are no names: landlockconfig takes them from a library that may
 * know them. */
static const struct {
    const char *name;
    policy_rights kinds; /* of lists */
    policy_rights rights;
} groups[] = {
    {"abi.all", POLICY_ALL_FS | POLICY_ALL_NET | POLICY_ALL_SCOPES, ~(policy_rights)0},
    {"abi.read_execute", POLICY_ALL_FS, POLICY_EXECUTE | POLICY_READ_FILE | POLICY_READ_DIR | POLICY_REFER},
    {"abi.read_write", POLICY_ALL_FS, ~POLICY_EXECUTE},
};

policy_rights rights_of_name(const char *name, policy_rights kind, unsigned abi, bool *is_group)
{
    policy_rights rights;

    *is_group = false;
    for (size_t i = 0; i < array_size(groups); i++)
        if (groups[i].kinds & kind && !strcmp(groups[i].name, name)) {
            *is_group = true;
            return groups[i].rights & kind & policy_rights_of_abi(abi);
        }
    rights = policy_rights_named(name, strlen(name), is_group);
    rights = *is_group ? 0 : rights & kind & policy_rights_of_abi(CONFIG_NEWEST_ABI);
    *is_group = false;
    return rights;
}
