/* What a user may do in a user namespace of his own; what only root may do; and what a program may do to itself. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/fsuid.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <sys/io.h>
#endif

static int in_namespaces(void)
{
    return unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS);
}

static int try_namespace(const struct scene *scene)
{
    (void)scene;
    return unshare(CLONE_NEWUSER);
}

static int try_mount(const struct scene *scene)
{
    return in_namespaces() < 0 ? -1 : mount("tmpfs", in(scene->work, "folder").text, "tmpfs", 0, NULL);
}

static int try_bind(const struct scene *scene)
{
    struct path folder = in(scene->work, "folder");

    if (in_namespaces() < 0 || mount(scene->other, folder.text, NULL, MS_BIND, NULL) < 0)
        return -1;
    return reads_secret(scene, open(in(folder.text, "secret").text, O_RDONLY));
}

static int try_propagation(const struct scene *scene)
{
    (void)scene;
    return in_namespaces() < 0 ? -1 : mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static int try_fsmount(const struct scene *scene)
{
    int context, tree;

    if (in_namespaces() < 0 || (context = (int)syscall(SYS_fsopen, "tmpfs", 0)) < 0 ||
        syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ||
        (tree = (int)syscall(SYS_fsmount, context, 0, 0)) < 0)
        return -1;
    return (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, in(scene->work, "folder").text,
                        MOVE_MOUNT_F_EMPTY_PATH);
}

static int clone_of(const char *path)
{
    return in_namespaces() < 0 ? -1
                               : (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | AT_RECURSIVE);
}

static int try_tree(const struct scene *scene)
{
    int tree = clone_of(scene->other);

    return tree < 0 ? -1 : reads_secret(scene, openat(tree, "secret", O_RDONLY));
}

static int try_move(const struct scene *scene)
{
    struct path folder = in(scene->work, "folder");
    int tree = clone_of(scene->other);

    if (tree < 0 || syscall(SYS_move_mount, tree, "", AT_FDCWD, folder.text, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return -1;
    return reads_secret(scene, open(in(folder.text, "secret").text, O_RDONLY));
}

static int try_pivot(const struct scene *scene)
{
    struct path folder = in(scene->work, "folder");

    if (in_namespaces() < 0)
        return -1;
    (void)!mount("tmpfs", folder.text, "tmpfs", 0, NULL);
    if (chdir(folder.text) < 0)
        return -1;
    return (int)syscall(SYS_pivot_root, ".", ".");
}

static int try_chroot(const struct scene *scene)
{
    return in_namespaces() < 0 || chroot(scene->other) < 0 ? -1
                                                           : reads_secret(scene, open("/secret", O_RDONLY));
}

static int try_chroot_above(const struct scene *scene)
{
    struct path path;

    if (in_namespaces() < 0 || chroot(in(scene->work, "folder").text) < 0)
        return -1;
    snprintf(path.text, sizeof path.text, "../../../../../../../..%s/secret", scene->other);
    return reads_secret(scene, open(path.text, O_RDONLY));
}

static const struct attack namespace_rows[] = {
    {"user", "making a user namespace, with all capabilities in it", try_namespace,
     .need = NEEDS_USER_NAMESPACE, CONTAINER(SECCOMP), FILTERED},
    {"mount", "mount(2)", try_mount, .need = NEEDS_USER_NAMESPACE, LANDLOCK(1, EPERM), CONTAINER(SECCOMP),
     FILTERED},
    {"bind", "mount(2) of a directory on an allowed one", try_bind, .need = NEEDS_USER_NAMESPACE,
     LANDLOCK(1, EPERM), CONTAINER(SECCOMP), FILTERED},
    {"propagation", "mount(2): changing propagation", try_propagation, .need = NEEDS_USER_NAMESPACE,
     LANDLOCK(1, EPERM), CONTAINER(SECCOMP), FILTERED},
    {"fsmount", "fsopen(2), fsmount(2), move_mount(2)", try_fsmount, .need = NEEDS_USER_NAMESPACE,
     LANDLOCK(1, EPERM), CONTAINER(SECCOMP), FILTERED},
    {"tree", "open_tree(2), and a file in it", try_tree, .need = NEEDS_USER_NAMESPACE, LANDLOCK(1, EACCES),
     CONTAINER(SECCOMP), FILTERED},
    {"move", "open_tree(2), move_mount(2)", try_move, .need = NEEDS_USER_NAMESPACE, LANDLOCK(1, EPERM),
     CONTAINER(SECCOMP), FILTERED},
    {"pivot", "pivot_root(2)", try_pivot, .need = NEEDS_USER_NAMESPACE, LANDLOCK(1, EPERM),
     CONTAINER(SECCOMP), FILTERED},
    {"chroot", "chroot(2), and a file in it", try_chroot, .need = NEEDS_USER_NAMESPACE, LANDLOCK(1, EACCES),
     CONTAINER(SECCOMP), FILTERED},
    {"chroot-above", "chroot(2), and a path that goes up out of it", try_chroot_above,
     .need = NEEDS_USER_NAMESPACE, LANDLOCK(1, EACCES), CONTAINER(SECCOMP), FILTERED},
};

const struct attack_group namespace_group = {.name = "namespaces",
                                             .title = "With the capabilities of a user namespace of its own",
                                             ROWS(namespace_rows)};

/* ---- To itself ---- */

/* Another layer can only take away. */
static int try_layer(const struct scene *scene)
{
    struct {
        uint64_t rights;
    } attributes = {4};
    struct {
        uint64_t rights;
        int32_t parent;
    } __attribute__((packed)) rule = {4, open(scene->other, O_PATH)};
    int ruleset = (int)syscall(444, &attributes, sizeof attributes, 0);

    if (ruleset < 0 || syscall(445, ruleset, 1, &rule, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(446, ruleset, 0) < 0)
        return -1;
    return reads_secret(scene, open(SECRET(scene), O_RDONLY));
}

static int try_limit(const struct scene *scene)
{
    struct rlimit limit;

    (void)scene;
    if (getrlimit(RLIMIT_NICE, &limit) < 0)
        return -1;
    limit.rlim_max = 40;
    return setrlimit(RLIMIT_NICE, &limit);
}

static int try_nice(const struct scene *scene)
{
    (void)scene;
    return setpriority(PRIO_PROCESS, 0, -5);
}

static int try_realtime(const struct scene *scene)
{
    const struct sched_param parameter = {.sched_priority = 1};

    (void)scene;
    return sched_setscheduler(0, SCHED_FIFO, &parameter);
}

static int try_user(const struct scene *scene)
{
    (void)scene;
    return setuid(0);
}

static int try_groups(const struct scene *scene)
{
    const gid_t group = 0;

    (void)scene;
    return setgroups(1, &group);
}

static int try_capability(const struct scene *scene)
{
    (void)scene;
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21 /* CAP_SYS_ADMIN */, 0, 0);
}

static int try_no_new_privileges(const struct scene *scene)
{
    (void)scene;
    return prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

static int try_personality(const struct scene *scene)
{
    (void)scene;
    return personality(ADDR_NO_RANDOMIZE) < 0 ? -1 : 0;
}

static int try_exe_file(const struct scene *scene)
{
    return prctl(PR_SET_MM, PR_SET_MM_EXE_FILE, open(SECRET(scene), O_RDONLY), 0, 0);
}

static int try_userfault(const struct scene *scene)
{
    (void)scene;
    return opened((int)syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */));
}

static const struct attack own_rows[] = {
    {"layer", "allowing itself a file by another Landlock layer", try_layer, LANDLOCK(1, EACCES),
     CONTAINER(MOUNTS)},
    {"no-new-privileges", "taking no_new_privs back", try_no_new_privileges, NOBODY},
    {"capability", "raising a capability", try_capability, NOBODY},
    {"user", "becoming root (setuid(2))", try_user, NOBODY},
    {"groups", "joining a group", try_groups, NOBODY},
    {"limit", "raising a limit", try_limit, NOBODY},
    {"nice", "raising its priority", try_nice, NOBODY},
    {"realtime", "real-time scheduling", try_realtime, NOBODY},
    {"exe-file", "seeming to be another program (PR_SET_MM)", try_exe_file, NOBODY},
    {"personality", "personality(2): no random addresses", try_personality, FILTERED},
    {"userfaultfd", "userfaultfd(2) of its own memory", try_userfault, FILTERED},
};

const struct attack_group own_group = {
    .name = "own", .title = "Its own restriction and credentials", ROWS(own_rows)};

/* ---- What only root may do: nothing that would do harm if it were possible ---- */

static int try_real_mount(const struct scene *scene)
{
    return mount("tmpfs", in(scene->work, "folder").text, "tmpfs", 0, NULL);
}

static int try_real_chroot(const struct scene *scene)
{
    return chroot(scene->work);
}

static int try_device(const struct scene *scene)
{
    return mknod(in(scene->work, "device").text, S_IFCHR | 0600, makedev(1, 1));
}

static int try_setns(const struct scene *scene)
{
    (void)scene;
    return setns(open("/proc/self/ns/mnt", O_RDONLY), CLONE_NEWNS);
}

static int try_unshare(const struct scene *scene)
{
    (void)scene;
    return unshare(CLONE_NEWNS);
}

static int try_swap(const struct scene *scene)
{
    return swapon(in(scene->work, "own").text, 0);
}

static int try_accounting(const struct scene *scene)
{
    return acct(in(scene->work, "own").text);
}

static int try_log(const struct scene *scene)
{
    char text[256];

    (void)scene;
    return klogctl(3, text, sizeof text) < 0 ? -1 : 0;
}

static int try_time(const struct scene *scene)
{
    struct timeval now;

    (void)scene;
    return gettimeofday(&now, NULL) < 0 ? -1 : settimeofday(&now, NULL);
}

static int try_name(const struct scene *scene)
{
    char name[65] = "";

    (void)scene;
    return gethostname(name, sizeof name - 1) < 0 ? -1 : sethostname(name, strlen(name));
}

static int try_reboot(const struct scene *scene)
{
    (void)scene;
    return (int)syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_CAD_OFF, NULL);
}

static int try_kexec(const struct scene *scene)
{
    (void)scene;
    return (int)syscall(SYS_kexec_load, 0UL, 0UL, NULL, 0UL);
}

static int try_module(const struct scene *scene)
{
    (void)scene;
    return (int)syscall(SYS_init_module, "", 0UL, "");
}

static int try_quota(const struct scene *scene)
{
    char space[256];

    (void)scene;
    return quotactl(QCMD(Q_GETQUOTA, USRQUOTA), "/dev/vda", 0, space);
}

static int try_bpf(const struct scene *scene)
{
    union bpf_attr attributes = {.prog_type = BPF_PROG_TYPE_KPROBE};

    (void)scene;
    return opened((int)syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof attributes));
}

static int try_system_perf(const struct scene *scene)
{
    struct perf_event_attr event = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof event, .config = PERF_COUNT_SW_CPU_CLOCK};

    (void)scene;
    return opened((int)syscall(SYS_perf_event_open, &event, -1, 0, -1, 0));
}

static int try_ports(const struct scene *scene)
{
    (void)scene;
#ifdef __x86_64__
    return iopl(3);
#else
    return failed(ENOSYS);
#endif
}

static int try_fanotify(const struct scene *scene)
{
    (void)scene;
    return opened(fanotify_init(FAN_CLASS_CONTENT, O_RDONLY));
}

static int try_hangup(const struct scene *scene)
{
    (void)scene;
    return vhangup();
}

static const struct attack privileged_rows[] = {
    {"mount", "mount(2)", try_real_mount, NOBODY},
    {"chroot", "chroot(2)", try_real_chroot, NOBODY},
    {"mknod", "mknod(2) of a device", try_device, NOBODY},
    {"setns", "setns(2)", try_setns, NOBODY},
    {"unshare", "unshare(2)", try_unshare, NOBODY},
    {"swapon", "swapon(2)", try_swap, NOBODY},
    {"acct", "acct(2)", try_accounting, NOBODY},
    {"syslog", "the kernel's messages (syslog(2)), where dmesg_restrict is 0", try_log,
     .need = NEEDS_KERNEL_LOG, CONTAINER(SECCOMP), FILTERED},
    {"settimeofday", "settimeofday(2)", try_time, NOBODY},
    {"sethostname", "sethostname(2)", try_name, NOBODY},
    {"reboot", "reboot(2)", try_reboot, NOBODY},
    {"kexec", "kexec_load(2)", try_kexec, NOBODY},
    {"module", "init_module(2)", try_module, NOBODY},
    {"quotactl", "quotactl(2)", try_quota, NOBODY},
    {"bpf", "bpf(2)", try_bpf, NOBODY},
    {"perf", "perf_event_open(2) of a processor", try_system_perf, NOBODY},
    {"iopl", "iopl(2)", try_ports, NOBODY},
    {"fanotify", "fanotify_init(2) with permission to decide", try_fanotify, NOBODY},
    {"vhangup", "vhangup(2)", try_hangup, NOBODY},
};

const struct attack_group privileged_group = {
    .name = "privileged", .title = "What only root may do", ROWS(privileged_rows)};
