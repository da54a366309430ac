/* Makes what is attacked, starts the command, and has one attack after the other tried. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

static int must(int result, const char *what)
{
    if (result < 0) {
        fprintf(stderr, "attack: %s: %s\n", what, strerror(errno));
        exit(2);
    }
    return result;
}

static void become(uid_t uid, bool for_good)
{
    if (geteuid() != 0 || uid == 0)
        return;
    must(setgroups(0, NULL), "setgroups");
    must(for_good ? setresgid(uid, uid, uid) : setegid(uid), "setgid");
    must(for_good ? setresuid(uid, uid, uid) : seteuid(uid), "setuid");
}

static void become_for_good(uid_t uid)
{
    if (getuid() == 0)
        must(seteuid(0), "seteuid");
    become(uid, true);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

/* ---- Files ---- */

static void write_file(const char *path, const char *text, mode_t mode)
{
    int fd = must(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), path);

    must((int)write(fd, text, strlen(text)), path);
    must(fchmod(fd, mode), path);
    close(fd);
}

static void copy_file(const char *from, const char *to, mode_t mode)
{
    int in = must(open(from, O_RDONLY), from), out = must(open(to, O_WRONLY | O_CREAT | O_TRUNC, 0700), to);

    while (must((int)sendfile(out, in, NULL, 1 << 20), to) > 0)
        ;
    must(fchmod(out, mode), to);
    close(in);
    close(out);
}

static void remove_all(const char *folder)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            struct path path = in(folder, entry->d_name);

            if (unlink(path.text) < 0 && errno == EISDIR)
                (void)!rmdir(path.text);
        }
    if (directory)
        closedir(directory);
}

static int listening(const char *name, bool is_abstract, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = must(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket");
    size_t length = strlen(name);

    if (length + 2 > sizeof address.sun_path)
        must(failed(ENAMETOOLONG), name);
    memcpy(address.sun_path + is_abstract, name, length);
    must(bind(fd, (struct sockaddr *)&address,
              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1)),
         name);
    if (type == SOCK_STREAM)
        must(listen(fd, 100), name);
    return fd;
}

static void put_link(const char *from, const char *to)
{
    (void)!unlink(to);
    must(link(from, to), to);
}

/* As each attack finds them; what is not an attack's to change stays. */
static void put_files(const struct stage *stage, const char *copy)
{
    const struct scene *scene = &stage->scene;

    remove_all(in(stage->work, "folder").text);
    (void)!unlink(in(stage->work, "stolen").text);
    (void)!unlink(in(stage->work, "link").text);
    (void)!unlink(in(stage->work, "device").text);
    (void)!unlink(in(scene->other, "new").text);
    (void)!rmdir(in(scene->other, "new").text);
    (void)!mkdir(in(scene->other, "empty").text, 0700);
    write_file(in(scene->other, "kept").text, scene->secret, 0600); /* the file that descriptors lead to */
    (void)!unlink(SECRET(scene));
    write_file(SECRET(scene), scene->secret, 04600);
    (void)!setxattr(SECRET(scene), "user.secret", scene->secret, SECRET_SIZE - 1, 0);
    write_file(in(stage->work, "own").text, "own", 0600);
    write_file(in(scene->shared, "file").text, "shared", 0600);
    put_link(copy, in(scene->shared, "program").text);
}

static void make_files(struct stage *stage, const char *folder, const char *copy)
{
    const struct scene *scene = &stage->scene;

    must(mkdir(in(stage->work, "folder").text, 0700), "work/folder");
    put_link(copy, in(scene->other, "program").text);
    put_link(copy, in(stage->work, "program").text);
    put_link(in(folder, "payload").text, in(stage->work, "payload").text);
    must(symlink(scene->secret, in(scene->other, "link").text), "other/link");
    write_file(in(scene->other, "passed").text, "passed", 0600);
    put_files(stage, copy);
    stage->stream = listening(in(scene->other, "stream").text, false, SOCK_STREAM);
    stage->datagram = listening(in(scene->other, "datagram").text, false, SOCK_DGRAM);
    put_link(in(scene->other, "stream").text, in(stage->work, "stream").text);
    stage->abstract = listening(scene->abstract, true, SOCK_STREAM);
    stage->abstract_datagram = listening(scene->abstract_datagram, true, SOCK_DGRAM);
}

/* As root, if it is: folders of the user's, the programs, and one that is set-user-ID root. */
static void make_folders(struct stage *stage, const char *folder)
{
    struct path copy = in(folder, "copy"), payload = in(folder, "payload");
    char self[NAME_SIZE] = "";
    gid_t group = stage->is_root ? stage->uid : getgid();

    must((int)readlink("/proc/self/exe", self, sizeof self - sizeof "-payload"), "/proc/self/exe");
    must(mkdir(folder, 0755), folder);
    for (const char *const *name =
             (const char *const[]){stage->work, stage->scene.other, stage->scene.shared, NULL};
         *name; name++) {
        must(mkdir(*name, 0700), *name);
        must(chown(*name, stage->uid, group), *name);
    }
    copy_file(self, in(stage->scene.shared, "set-user").text, 04755);
    copy_file(self, copy.text, 0755);
    strcat(self, "-payload");
    copy_file(self, payload.text, 0755);
    must(chown(folder, stage->uid, group), folder);
    must(chown(copy.text, stage->uid, group), copy.text);
    must(chown(payload.text, stage->uid, group), payload.text);
}

/* ---- The network ---- */

static int on_port(int type, int protocol, uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

    if (fd < 0)
        return -1;
    must(bind(fd, (struct sockaddr *)&address, size), "bind");
    must(getsockname(fd, (struct sockaddr *)&address, &size), "getsockname");
    if (type == SOCK_STREAM)
        must(listen(fd, 100), "listen");
    *port = ntohs(address.sin_port);
    return fd;
}

static void make_network(struct stage *stage)
{
    struct scene *scene = &stage->scene;
    int free;

    stage->tcp = must(on_port(SOCK_STREAM, 0, &scene->tcp), "TCP");
    stage->udp = must(on_port(SOCK_DGRAM, 0, &scene->udp), "UDP");
    stage->udplite = on_port(SOCK_DGRAM, IPPROTO_UDPLITE, &scene->udplite);
    stage->sctp = on_port(SOCK_STREAM, IPPROTO_SCTP, &scene->sctp);
    free = must(on_port(SOCK_DGRAM, 0, &scene->free_port), "UDP");
    close(free);
}

/* ---- IPC and keys ---- */

static void make_objects(struct stage *stage)
{
    struct scene *scene = &stage->scene;
    struct {
        long type;
        char text[SECRET_SIZE];
    } message = {.type = 1};
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = SECRET_SIZE};
    mqd_t queue = mq_open(scene->queue, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
    char *memory;

    scene->shm = must(shmget(IPC_PRIVATE, 4096, 0600), "shmget");
    scene->semaphore = must(semget(IPC_PRIVATE, 1, 0600), "semget");
    scene->messages = must(msgget(IPC_PRIVATE, 0600), "msgget");
    memory = shmat(scene->shm, NULL, 0);
    memcpy(memory, scene->secret, SECRET_SIZE);
    memcpy(message.text, scene->secret, SECRET_SIZE);
    must(msgsnd(scene->messages, &message, SECRET_SIZE, 0), "msgsnd");
    if (queue >= 0)
        must(mq_send(queue, scene->secret, SECRET_SIZE - 1, 0), "mq_send");
    /* fails in a container, whose profile does not let it be called */
    (void)!syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    (void)!syscall(SYS_add_key, "user", scene->abstract, scene->secret, SECRET_SIZE - 1,
                   KEY_SPEC_SESSION_KEYRING);
}

static void remove_objects(const struct stage *stage)
{
    long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", stage->scene.abstract, 0);

    shmctl(stage->scene.shm, IPC_RMID, NULL);
    semctl(stage->scene.semaphore, 0, IPC_RMID);
    msgctl(stage->scene.messages, IPC_RMID, NULL);
    mq_unlink(stage->scene.queue);
    if (key >= 0)
        (void)!syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING);
}

/* ---- The terminal, and descriptors ---- */

static void make_terminal(struct stage *stage)
{
    struct termios raw;
    int unlocked = 0;

    stage->master = must(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "/dev/ptmx");
    must(ioctl(stage->master, TIOCSPTLCK, &unlocked), "TIOCSPTLCK");
    stage->slave = must(ioctl(stage->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC), "TIOCGPTPEER");
    must(tcgetattr(stage->slave, &raw), "tcgetattr");
    cfmakeraw(&raw);
    must(tcsetattr(stage->slave, TCSANOW, &raw), "tcsetattr");
}

static void place(int fd, int number)
{
    must(fd, "a descriptor");
    must(dup2(fd, number), "dup2");
    close(fd);
}

static void make_descriptors(const struct stage *stage, int victims_socket)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%.90s/datagram", stage->scene.other);
    must(connect(fd, (struct sockaddr *)&address, sizeof address), address.sun_path);
    place(fd, INHERITED_SOCKET);
    for (int number = INHERITED_FILE; number <= PASSED_FILE; number += PASSED_FILE - INHERITED_FILE)
        place(open(in(stage->scene.other, "kept").text, O_RDONLY), number);
    for (int number = INHERITED_DIRECTORY; number <= PASSED_DIRECTORY;
         number += PASSED_DIRECTORY - INHERITED_DIRECTORY)
        place(open(stage->scene.other, O_RDONLY | O_DIRECTORY), number);
    place(victims_socket, PASSED_SOCKET);
    place((int)syscall(SYS_pidfd_open, stage->scene.victim, 0), PASSED_PROCESS);
    place(open(in(stage->scene.other, "passed").text, O_WRONLY), PASSED_WRITABLE);
}

/* Only these may be had from here: the descriptors of the stage close when something is executed. */
static void close_descriptors(void)
{
    close_range(INHERITED_FILE, PASSED_END, 0);
}

/* ---- Processes ---- */

static void start_victim(struct stage *stage, int requests)
{
    char environment[SECRET_SIZE + 8],
        *arguments[] = {(char *)"attack", (char *)"victim", stage->scene.secret, NULL};
    int sockets[2], file = must(open(in(stage->scene.other, "kept").text, O_RDONLY | O_CLOEXEC), "other/"
                                                                                                 "kept");

    snprintf(environment, sizeof environment, "SECRET=%s", stage->scene.secret);
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), "socketpair");
    stage->victim = sockets[0];
    stage->scene.victim = must(fork(), "fork");
    if (stage->scene.victim > 0) {
        close(file);
        close(sockets[1]);
        return;
    }
    must(setpgid(0, 0), "setpgid");
    must(chdir(stage->scene.other), "chdir");
    must(dup2(fcntl(sockets[1], F_DUPFD, 100), 3), "dup2");
    must(dup2(fcntl(requests, F_DUPFD, 100), 4), "dup2");
    must(dup2(file, VICTIMS_FILE), "dup2");
    become_for_good(stage->uid);
    execve("/proc/self/exe", arguments, (char *[]){environment, NULL});
    must(-1, "the victim");
}

static pid_t start_command(struct stage *stage)
{
    int to[2], from[2];
    pid_t child;

    must(pipe2(to, O_CLOEXEC), "pipe");
    must(pipe2(from, O_CLOEXEC), "pipe");
    child = must(fork(), "fork");
    if (child == 0) {
        setenv("SECRET", stage->scene.secret, 1);
        must(dup2(to[0], STDIN_FILENO), "dup2");
        must(dup2(from[1], STDOUT_FILENO), "dup2");
        if (!stage->is_contained) {
            must(setsid(), "setsid");
            must(ioctl(stage->slave, TIOCSCTTY, 0), "TIOCSCTTY");
            must(dup2(stage->slave, STDERR_FILENO), "dup2");
            become_for_good(stage->uid);
        } else if (getuid() == 0) {
            must(seteuid(0), "seteuid");
            must(setegid(0), "setegid");
        }
        execvp(stage->command[0], stage->command);
        must(-1, stage->command[0]);
    }
    close(to[0]);
    close(from[1]);
    stage->to = to[1];
    stage->from = from[0];
    return child;
}

/* ---- Attacks ---- */

struct reply {
    int result, error;
};

/* Nothing of the attack before is left to be taken for this one's. */
static void settle(struct stage *stage, const char *copy)
{
    char bytes[256];
    int fd;

    put_files(stage, copy);
    for (const int *socket = (const int[]){stage->stream, stage->abstract, stage->tcp, stage->sctp, -1, -1};
         *socket >= 0; socket++)
        while ((fd = accept(*socket, NULL, NULL)) >= 0)
            close(fd);
    for (const int *socket =
             (const int[]){stage->datagram, stage->abstract_datagram, stage->udp, stage->udplite, -1};
         *socket >= 0; socket++)
        while (recv(*socket, bytes, sizeof bytes, 0) > 0)
            ;
    tcflush(stage->slave, TCIOFLUSH);
    ask_victim(stage, ASK_SIGNALS);
    stage->pings = pings();
}

static const char *outcome(struct stage *stage, const struct attack *attack, const struct reply *reply,
                           char text[64])
{
    stage->answer = reply->result;
    if (reply->result == -2)
        return "DIED";
    if (reply->result == -3)
        return "BLOCKED";
    if (reply->result >= 0 && (!attack->effect || attack->effect(stage)))
        return "OPEN";
    snprintf(text, 64, "DENIED %s", reply->result >= 0 ? "NOTHING" : strerrorname_np(reply->error));
    return text;
}

/* False: the command has ended. */
static bool have_it_tried(struct stage *stage, const char *copy, const struct attack_group *group,
                          const struct attack *attack, int number)
{
    const char *reason = missing(stage, attack->need);
    struct reply reply;
    char text[64];

    if (reason) {
        printf("%s.%s ABSENT %s\n", group->name, attack->name, reason);
        return true;
    }
    settle(stage, copy);
    if (write(stage->to, &number, sizeof number) != sizeof number ||
        read(stage->from, &reply, sizeof reply) != sizeof reply)
        return false;
    printf("%s.%s %s\n", group->name, attack->name, outcome(stage, attack, &reply, text));
    return write(stage->to, "", 1) == 1;
}

static bool try_all(struct stage *stage, const char *copy)
{
    int number = 0;

    if (write(stage->to, &stage->scene, sizeof stage->scene) != sizeof stage->scene)
        return false;
    for (size_t i = 0; i < group_count; i++)
        for (size_t j = 0; j < groups[i]->count; j++)
            if (!have_it_tried(stage, copy, groups[i], &groups[i]->attacks[j], number++))
                return false;
    return true;
}

/* What the command has said on its terminal. */
static void show_terminal(const struct stage *stage)
{
    char text[4096];
    ssize_t length;

    fcntl(stage->master, F_SETFL, O_NONBLOCK);
    while ((length = read(stage->master, text, sizeof text)) > 0)
        fwrite(text, 1, (size_t)length, stderr);
}

static int perform(struct stage *stage, const char *folder)
{
    struct path copy = in(folder, "copy");
    int requests[2], status = 0;
    bool is_done;
    pid_t child;

    stage->is_root = geteuid() == 0;
    make_folders(stage, folder);
    become(stage->uid, false);
    make_files(stage, folder, copy.text);
    make_network(stage);
    make_objects(stage);
    make_terminal(stage);
    must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests), "socketpair");
    start_victim(stage, requests[1]);
    close(requests[1]);
    make_descriptors(stage, requests[0]);
    child = start_command(stage);
    close_descriptors();
    become_for_good(stage->uid);
    (void)!syscall(SYS_add_key, "user", stage->scene.abstract, stage->scene.secret, SECRET_SIZE - 1,
                   KEY_SPEC_USER_KEYRING);
    printf("# errata %ld\n",
           syscall(444, NULL, 0,
                   2)); /* of Landlock, that this kernel has put right; below 0: it does not tell */
    is_done = try_all(stage, copy.text);
    close(stage->to);
    remove_objects(stage);
    waitpid(child, &status, 0);
    kill(stage->scene.victim, SIGKILL);
    waitpid(stage->scene.victim, NULL, 0);
    if (is_done)
        return 0;
    show_terminal(stage);
    printf("ENDED %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    return 3;
}

static void make_secret(struct scene *scene)
{
    unsigned char bytes[SECRET_SIZE / 2];

    must((int)getrandom(bytes, sizeof bytes, 0), "getrandom");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(scene->secret + 2 * i, 3, "%02x", bytes[i]);
    snprintf(scene->abstract, sizeof scene->abstract, "attack-%.12s", scene->secret);
    snprintf(scene->abstract_datagram, sizeof scene->abstract_datagram, "attack-%.12s-d", scene->secret);
    snprintf(scene->queue, sizeof scene->queue, "/attack-%.12s", scene->secret);
}

int be_stage(int count, char **arguments)
{
    struct stage stage = {.uid = getuid()};
    const char *folder = NULL, *work = NULL;
    int at;

    for (at = 0; at < count && strcmp(arguments[at], "--") != 0; at++) {
        if (!strncmp(arguments[at], "uid=", 4))
            stage.uid = (uid_t)strtoul(arguments[at] + 4, NULL, 10);
        else if (!strncmp(arguments[at], "work=", 5))
            work = arguments[at] + 5;
        else if (!strcmp(arguments[at], "contained"))
            stage.is_contained = true;
        else
            folder = arguments[at];
    }
    if (!folder || at + 1 >= count || strlen(folder) > 64 || (work && strlen(work) > 64))
        return 2;
    stage.command = arguments + at + 1;
    snprintf(stage.work, sizeof stage.work, "%s/work", folder);
    snprintf(stage.scene.work, sizeof stage.scene.work, "%s", work ? work : stage.work);
    snprintf(stage.scene.other, sizeof stage.scene.other, "%s/other", folder);
    snprintf(stage.scene.shared, sizeof stage.scene.shared, "%s/shared", folder);
    make_secret(&stage.scene);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGURG, SIG_IGN);
    signal(SIGIO, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    return perform(&stage, folder);
}
