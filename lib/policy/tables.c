#include "policy/internal.h"

#include <string.h>

enum { FILE_OK = RIGHT_FITS_FILE, FREE_OK = RIGHT_MAY_BE_UNRESTRICTED };

const struct policy_right policy_right_table[] = {
    {POLICY_EXECUTE, "execute", 1, FILE_OK, "execute a file"},
    {POLICY_FS(1), "write_file", 1, FILE_OK, "open a file for writing"},
    {POLICY_READ_FILE, "read_file", 1, FILE_OK, "open a file for reading"},
    {POLICY_READ_DIR, "read_dir", 1, 0, "list a directory"},
    {POLICY_FS(4), "remove_dir", 1, 0, "remove or rename a directory"},
    {POLICY_FS(5), "remove_file", 1, 0, "remove or rename a file"},
    {POLICY_FS(6), "make_char", 1, 0, "make a character device"},
    {POLICY_FS(7), "make_dir", 1, 0, "make a directory"},
    {POLICY_FS(8), "make_reg", 1, 0, "make a regular file"},
    {POLICY_FS(9), "make_sock", 1, 0, "make a socket in a directory"},
    {POLICY_FS(10), "make_fifo", 1, 0, "make a FIFO"},
    {POLICY_FS(11), "make_block", 1, 0, "make a block device"},
    {POLICY_FS(12), "make_sym", 1, 0, "make a symbolic link"},
    {POLICY_REFER, "refer", 2, 0, "link or rename a file into another directory"},
    {POLICY_FS(14), "truncate", 3, FILE_OK, "truncate a file"},
    {POLICY_FS(15), "ioctl_dev", 5, FILE_OK | FREE_OK,
     "send device-specific requests to a device opened afterwards"},
    {POLICY_FS(16), "resolve_unix", 9, FILE_OK | FREE_OK,
     "connect to a socket in a directory, made outside the domain"},
    {POLICY_BIND_TCP, "bind_tcp", 4, FREE_OK, "bind a TCP socket to a port"},
    {POLICY_NET(1), "connect_tcp", 4, FREE_OK, "connect a TCP socket to a port"},
    {POLICY_NET(2), "bind_udp", 10, FREE_OK, "bind a UDP socket to a port"},
    {POLICY_NET(3), "connect_send_udp", 10, FREE_OK, "connect a UDP socket, or send with one, to a port"},
    {POLICY_SCOPE(0), "abstract_unix_socket", 6, FREE_OK,
     "connect to an abstract socket made outside the domain"},
    {POLICY_SIGNAL, "signal", 6, FREE_OK, "signal a process outside the domain"},
};
const size_t policy_right_count = array_size(policy_right_table);

const struct policy_group policy_group_table[] = {
    {"read", POLICY_READ_FILE | POLICY_READ_DIR, "read_file, read_dir"},
    {"write", POLICY_FS(1) | POLICY_FS(14), "write_file, truncate"},
    {"create", POLICY_FS(8) | POLICY_FS(7) | POLICY_FS(12) | POLICY_FS(10) | POLICY_FS(9),
     "make_reg, make_dir, make_sym, make_fifo, make_sock"},
    {"remove", POLICY_FS(5) | POLICY_FS(4), "remove_file, remove_dir"},
    {"rename", POLICY_REFER, "refer"},
    {"network", POLICY_NET(0) | POLICY_NET(1) | POLICY_NET(2) | POLICY_NET(3), "every network right"},
};
const size_t policy_group_count = array_size(policy_group_table);

const struct policy_resource policy_resource_table[] = {
    {"as", RLIMIT_AS, true, "address space of a process"},
    {"core", RLIMIT_CORE, true, "core dump (always 0)"},
    {"cpu", RLIMIT_CPU, false, "CPU time of a process, in seconds"},
    {"data", RLIMIT_DATA, true, "data segment of a process"},
    {"fsize", RLIMIT_FSIZE, true, "size of a file that is written"},
    {"locks", RLIMIT_LOCKS, false, "file locks"},
    {"memlock", RLIMIT_MEMLOCK, true, "locked memory"},
    {"msgqueue", RLIMIT_MSGQUEUE, true, "POSIX message queues of the user"},
    {"nice", RLIMIT_NICE, false, "20 less the least nice value"},
    {"nofile", RLIMIT_NOFILE, false, "open descriptors of a process"},
    {"nproc", RLIMIT_NPROC, false, "processes and threads of the user, across containers"},
    {"rss", RLIMIT_RSS, true, "resident memory (no effect in today's kernels)"},
    {"rtprio", RLIMIT_RTPRIO, false, "real-time priority"},
    {"rttime", RLIMIT_RTTIME, false, "real-time CPU time between sleeps, in microseconds"},
    {"sigpending", RLIMIT_SIGPENDING, false, "queued signals of the user"},
    {"stack", RLIMIT_STACK, true, "stack of the first thread"},
};
const size_t policy_resource_count = array_size(policy_resource_table);

const struct policy_preset policy_preset_table[] = {
    {"docker", POLICY_PRESET_DOCKER, "the mounts that Docker itself makes"},
    {"podman", POLICY_PRESET_PODMAN, "the mounts that Podman itself makes"},
    {"bubblewrap", POLICY_PRESET_BUBBLEWRAP, "the mounts that bubblewrap's --dev and --proc make"},
};
const size_t policy_preset_count = array_size(policy_preset_table);

static policy_rights rights_with_traits(unsigned traits)
{
    policy_rights rights = 0;

    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].traits & traits)
            rights |= policy_right_table[i].bit;
    return rights;
}

policy_rights policy_rights_of_abi(unsigned abi)
{
    policy_rights rights = 0;

    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].abi <= abi)
            rights |= policy_right_table[i].bit;
    return rights;
}

policy_rights policy_rights_of_files(void)
{
    return rights_with_traits(RIGHT_FITS_FILE);
}

policy_rights policy_rights_that_create(void)
{
    enum { FIRST_MAKE = 6, LAST_MAKE = 12 };
    policy_rights rights = POLICY_REFER;

    for (unsigned bit = FIRST_MAKE; bit <= LAST_MAKE; bit++)
        rights |= POLICY_FS(bit);
    return rights;
}

static bool is_called(const char *name, const char *word, size_t length)
{
    return strlen(name) == length && !memcmp(name, word, length);
}

policy_rights policy_rights_named(const char *name, size_t length, bool *is_group)
{
    *is_group = false;
    for (size_t i = 0; i < policy_right_count; i++)
        if (is_called(policy_right_table[i].name, name, length))
            return policy_right_table[i].bit;
    *is_group = true;
    for (size_t i = 0; i < policy_group_count; i++)
        if (is_called(policy_group_table[i].name, name, length))
            return policy_group_table[i].rights;
    return 0;
}

const char *policy_rights_read(const char *text, policy_rights *rights, size_t *length)
{
    *rights = 0;
    for (const char *name = text;; name += *length + 1) {
        policy_rights named;
        bool is_group;

        *length = strcspn(name, ",");
        named = policy_rights_named(name, *length, &is_group);
        if (!named)
            return name;
        *rights |= named;
        if (!name[*length])
            return NULL;
    }
}

const char *right_name(size_t i, const void *context)
{
    (void)context;
    return i < policy_right_count ? policy_right_table[i].name
                                  : policy_group_table[i - policy_right_count].name;
}

const char *policy_right_name(policy_rights right)
{
    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].bit == right)
            return policy_right_table[i].name;
    return "";
}

const char *policy_rights_nearest(const char *word)
{
    return text_nearest(word, policy_right_count + policy_group_count, right_name, NULL);
}

/* Adds a name to a list that ends at `end`, and returns its new end. */
static char *add_name(char *begin, char *end, const char *name)
{
    if (end > begin)
        *end++ = ',';
    return stpcpy(end, name);
}

const char *policy_rights_text(policy_rights rights, char out[static POLICY_RIGHTS_TEXT])
{
    char *end = out;

    *end = '\0';
    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].bit & rights)
            end = add_name(out, end, policy_right_table[i].name);
    return out;
}

const char *policy_rights_short_text(policy_rights rights, char out[static POLICY_RIGHTS_TEXT])
{
    char *end = out;

    *end = '\0';
    for (size_t i = 0; i < policy_group_count; i++)
        if ((rights & policy_group_table[i].rights) == policy_group_table[i].rights) {
            end = add_name(out, end, policy_group_table[i].name);
            rights &= ~policy_group_table[i].rights;
        }
    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].bit & rights)
            end = add_name(out, end, policy_right_table[i].name);
    return out;
}

const char *policy_ports_text(uint16_t first, uint16_t last, char out[static POLICY_PORTS_TEXT])
{
    if (first == last)
        snprintf(out, POLICY_PORTS_TEXT, "%u", first);
    else
        snprintf(out, POLICY_PORTS_TEXT, "%u-%u", first, last);
    return out;
}
