/*
 * lib/container/presets.c: a mount is a runtime's own by its point, type, root and source together, and by nothing less.
 */
#include "container_fixture.h"

enum { D = CONTAINER_DOCKER, P = CONTAINER_PODMAN, B = CONTAINER_BUBBLEWRAP, ALL = D | P | B };

struct mount {
    const char *point, *type, *root, *source;
    unsigned presets; /* which know it */
};

/* Each preset alone, none, and all together. */
static void check_mount(const struct mount *mount)
{
    static const unsigned sets[] = {0, D, P, B, ALL};

    for (size_t i = 0; i < array_size(sets); i++) {
        bool is_known = is_known_mount(sets[i], mount->point, mount->type, mount->root, mount->source);

        if (is_known != ((sets[i] & mount->presets) != 0))
            fail_msg("%s (%s, root %s, source %s): presets %u say %d", mount->point, mount->type, mount->root,
                     mount->source, sets[i], is_known);
    }
}

static void a_runtimes_own_mounts_are_known(void **state)
{
    static const struct mount table[] = {
        {"/proc", "proc", "/", "proc", ALL},
        {"/proc/keys", "tmpfs", "/null", "tmpfs", D | P},
        {"/proc/timer_list", "devtmpfs", "/null", "devtmpfs", D | P},
        {"/proc/kcore", "devtmpfs", "/null", "udev", D | P},
        {"/proc/x y", "tmpfs", "/null", "tmpfs", D | P},
        {"/dev", "tmpfs", "/", "tmpfs", ALL},
        {"/dev/pts", "devpts", "/", "devpts", ALL},
        {"/dev/console", "devpts", "/0", "devpts", ALL},
        {"/dev/console", "devpts", "/1234", "devpts", ALL},
        {"/dev/mqueue", "mqueue", "/", "mqueue", ALL},
        {"/dev/shm", "tmpfs", "/", "shm", D | P},
        {"/sys/fs/cgroup", "tmpfs", "/", "tmpfs", D | P},
        {"/sys/fs/cgroup/cpu", "cgroup", "/docker/4f1c07d2a9be", "cgroup", D | P},
        {"/sys/fs/cgroup/systemd", "cgroup", "/", "cgroup", D | P},
        {"/dev/null", "devtmpfs", "/null", "devtmpfs", ALL},
        {"/dev/null", "devtmpfs", "/null", "udev", ALL},
        {"/dev/zero", "devtmpfs", "/zero", "dev", ALL},
        {"/dev/full", "devtmpfs", "/full", "none", ALL},
        {"/dev/tty", "devtmpfs", "/tty", "", ALL},
        {"/dev/random", "devtmpfs", "/random", "devtmpfs", ALL},
        {"/dev/urandom", "devtmpfs", "/urandom", "devtmpfs", ALL},
        {"/dev/null", "tmpfs", "/null", "tmpfs", B},
        {"/dev/urandom", "tmpfs", "/urandom", "tmpfs", B},
        {"/run", "tmpfs", "/", "tmpfs", P},
        {"/tmp", "tmpfs", "/", "tmpfs", P},
        {"/var/tmp", "tmpfs", "/", "tmpfs", P},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        check_mount(&table[i]);
}

/* One thing is another's in each. */
static const struct mount strangers[] = {
    /* the point */
    {"", "proc", "/", "proc", 0},
    {"/", "tmpfs", "/", "tmpfs", 0},
    {"/pro", "proc", "/", "proc", 0},
    {"/procs", "proc", "/", "proc", 0},
    {"/proc/", "proc", "/", "proc", 0},
    {"/x/proc", "proc", "/", "proc", 0},
    {"/proc/", "tmpfs", "/null", "tmpfs", 0},
    {"/proc", "tmpfs", "/null", "tmpfs", 0},
    {"/proc/sys/kernel", "tmpfs", "/null", "tmpfs", 0},
    {"/sys/fs/cgroup/", "cgroup", "/", "cgroup", 0},
    {"/sys/fs/cgroup/cpu/x", "cgroup", "/", "cgroup", 0},
    {"/dev/shm/x", "tmpfs", "/", "shm", 0},
    {"/dev/pts2", "devpts", "/", "devpts", 0},
    {"/dev/zero", "devtmpfs", "/null", "devtmpfs", 0},
    {"/tmp/x", "tmpfs", "/", "tmpfs", 0},
    /* the type */
    {"/proc", "ext4", "/", "proc", 0},
    {"/proc", "procs", "/", "proc", 0},
    {"/proc/keys", "ext4", "/null", "tmpfs", 0},
    {"/dev", "devtmpfs", "/", "devtmpfs", 0},
    {"/dev/mqueue", "ext4", "/", "mqueue", 0},
    {"/dev/console", "tmpfs", "/0", "devpts", 0},
    {"/sys/fs/cgroup/cpu", "cgroup2", "/", "cgroup", 0},
    {"/dev/null", "ext4", "/null", "devtmpfs", 0},
    {"/tmp", "ext4", "/", "tmpfs", 0},
    {"/tmp", "overlay", "/", "tmpfs", 0},
    {"/tmp", "", "/", "tmpfs", 0},
    /* the root */
    {"/proc", "proc", "/sys", "proc", 0},
    {"/proc/keys", "tmpfs", "/", "tmpfs", 0},
    {"/proc/keys", "tmpfs", "/null2", "tmpfs", 0},
    {"/proc/keys", "tmpfs", "/x/null", "tmpfs", 0},
    {"/proc/keys", "tmpfs", "/null//deleted", "tmpfs", 0},
    {"/proc/keys", "devtmpfs", "/vda", "devtmpfs", 0},
    {"/dev", "tmpfs", "/dev", "tmpfs", 0},
    {"/dev/shm", "tmpfs", "/x", "shm", 0},
    {"/dev/console", "devpts", "/", "devpts", 0},
    {"/dev/console", "devpts", "/ptmx", "devpts", 0},
    {"/dev/console", "devpts", "/0x", "devpts", 0},
    {"/dev/console", "devpts", "/0/1", "devpts", 0},
    {"/dev/console", "devpts", "/#", "devpts", 0},
    {"/dev/null", "devtmpfs", "/vda", "devtmpfs", 0},
    {"/dev/null", "devtmpfs", "/", "devtmpfs", 0},
    {"/tmp", "tmpfs", "/chats", "tmpfs", 0},
    {"/run", "tmpfs", "", "tmpfs", 0},
    /* the source */
    {"/proc", "proc", "/", "none", 0},
    {"/dev", "tmpfs", "/", "", 0},
    {"/dev/shm", "tmpfs", "/", "tmpfs", 0},
    {"/dev/shm", "tmpfs", "/", "shm2", 0},
    {"/dev/pts", "devpts", "/", "tmpfs", 0},
    {"/proc/keys", "tmpfs", "/null", "shm", 0},
    {"/sys/fs/cgroup", "tmpfs", "/", "cgroup", 0},
    {"/sys/fs/cgroup/cpu", "cgroup", "/", "tmpfs", 0},
    {"/tmp", "tmpfs", "/", "/dev/vda", 0},
};

static void what_differs_in_one_thing_is_a_stranger(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(strangers); i++)
        check_mount(&strangers[i]);
}

static void a_point_is_known_whatever_is_mounted_there(void **state)
{
    static const struct {
        const char *point;
        unsigned presets;
    } table[] = {
        {"/proc", ALL},
        {"/proc/keys", D | P},
        {"/dev", ALL},
        {"/dev/shm", D | P},
        {"/dev/console", ALL},
        {"/sys/fs/cgroup", D | P},
        {"/dev/mqueue", ALL},
        {"/dev/null", ALL},
        {"/run", P},
        {"/sys/fs/cgroup/cpu", D | P},
        {"/tmp", P},
        {"/var/tmp", P},
        {"", 0},
        {"/", 0},
        {"/sandbox", 0},
        {"/proc/sys/kernel", 0},
        {"/dev/shm/x", 0},
        {"/sys", 0},
        {"/sys/fs/cgroup/a/b", 0},
        {"/proc/", 0},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        for (unsigned presets = 0; presets <= ALL; presets++)
            if (has_known_mount(presets, table[i].point) != ((presets & table[i].presets) != 0))
                fail_msg("%s: presets %u", table[i].point, presets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_runtimes_own_mounts_are_known),
        cmocka_unit_test(what_differs_in_one_thing_is_a_stranger),
        cmocka_unit_test(a_point_is_known_whatever_is_mounted_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
