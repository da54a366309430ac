#include "base/base.h"
#include "policy/policy.h"

/* In the order of enum policy_fault. */
const struct policy_fault_name policy_fault_table[] = {
    {POLICY_FAULT_UNREADABLE, "E101", "a file cannot be read"},
    {POLICY_FAULT_UNSAFE, "E102", "a file may be changed by others than root and the caller"},
    {POLICY_FAULT_INCLUDE_CYCLE, "E103", "a file includes itself, directly or by way of others"},
    {POLICY_FAULT_INCLUDE_DEPTH, "E104", "includes are nested too deeply"},
    {POLICY_FAULT_TOO_MANY_FILES, "E105", "the policy is made of too many files"},
    {POLICY_FAULT_TOO_LARGE, "E106", "a file, or all files together, are too large"},
    {POLICY_FAULT_BYTE_ORDER_MARK, "E107", "a file begins with a byte order mark"},
    {POLICY_FAULT_NO_VERSION, "E108", "a file does not begin with a version"},
    {POLICY_FAULT_UNKNOWN_VERSION, "E109", "the version of the language is unknown"},
    {POLICY_FAULT_LATE_VERSION, "E110", "a version stands where it is not the first statement"},
    {POLICY_FAULT_NOT_TEXT, "E111", "a file holds a NUL byte or invalid UTF-8"},
    {POLICY_FAULT_CONTROL_CHARACTER, "E112", "a control character stands in the text"},
    {POLICY_FAULT_DECEPTIVE_CHARACTER, "E113", "a character cannot be seen or turns the text round"},
    {POLICY_FAULT_UNCLOSED_QUOTE, "E114", "a quote is not closed before the end of its line"},
    {POLICY_FAULT_ESCAPE, "E115", "an escape is unknown, incomplete or a NUL byte"},
    {POLICY_FAULT_TOO_LONG, "E116", "a word, or what replacements insert in all, is too long"},
    {POLICY_FAULT_UNKNOWN_STATEMENT, "E201", "a statement is unknown"},
    {POLICY_FAULT_TOO_FEW_WORDS, "E202", "a statement has too few words"},
    {POLICY_FAULT_TOO_MANY_WORDS, "E203", "a statement has too many words"},
    {POLICY_FAULT_UNKNOWN_WORD, "E204", "a word is none of those that may stand there"},
    {POLICY_FAULT_DEFINITION_NAME, "E205", "the name of a definition is malformed"},
    {POLICY_FAULT_UNDEFINED, "E206", "a replacement names what is not defined"},
    {POLICY_FAULT_DEFINITION_DEPTH, "E207", "a definition leads to itself, or through too many others"},
    {POLICY_FAULT_REFUSED_REPLACEMENT, "E208", "a replacement stands where none may"},
    {POLICY_FAULT_BARE_DOLLAR, "E209", "a dollar sign does not begin a replacement"},
    {POLICY_FAULT_GIVEN_TWICE, "E210", "a file gives a single value twice"},
    {POLICY_FAULT_DISAGREEMENT, "E211", "two files give a single value, and neither includes the other"},
    {POLICY_FAULT_OUTSIDE_TWICE, "E212", "--define gives a definition twice"},
    {POLICY_FAULT_OUTSIDE_UNKNOWN, "E213", "--define gives what the policy does not define"},
    {POLICY_FAULT_UNKNOWN_RIGHT, "E301", "a right is unknown"},
    {POLICY_FAULT_SCOPE, "E302", "a scope is given for a path or a port"},
    {POLICY_FAULT_MIXED_RIGHTS, "E303", "file rights and network rights are given in one line"},
    {POLICY_FAULT_ALWAYS_RESTRICTED, "E304", "a right that is always restricted is left unrestricted"},
    {POLICY_FAULT_CONTRADICTION, "E305", "a right is required and left unrestricted at once"},
    {POLICY_FAULT_REQUIREMENT, "E306", "a requirement is neither an ABI nor rights"},
    {POLICY_FAULT_ABI, "E307", "a number is no Landlock ABI that is known"},
    {POLICY_FAULT_PATH, "E308", "a path is not absolute, malformed or too long"},
    {POLICY_FAULT_PORT, "E309", "a word is neither a port nor a range of ports"},
    {POLICY_FAULT_EMPTY_NAME, "E310", "the name of a program or of an included file is empty"},
    {POLICY_FAULT_RESOURCE, "E311", "a resource is unknown"},
    {POLICY_FAULT_LIMIT, "E312", "the value of a limit is malformed or too large"},
    {POLICY_FAULT_VARIABLE, "E313", "the name of an environment variable is malformed"},
    {POLICY_FAULT_ASSIGNMENT, "E314", "a word is not an assignment to an environment variable"},
    {POLICY_FAULT_USER, "E315", "a word is not a user ID"},
    {POLICY_FAULT_PRESET, "E316", "a preset is unknown"},
    {POLICY_FAULT_PART_OF_CONTAINER, "E317", "the container is described in part"},
};
const size_t policy_fault_count = array_size(policy_fault_table);

const char *policy_fault_code(enum policy_fault fault)
{
    for (size_t i = 0; i < policy_fault_count; i++)
        if (policy_fault_table[i].fault == fault)
            return policy_fault_table[i].code;
    return "E000";
}
