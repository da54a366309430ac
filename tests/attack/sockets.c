/* Unix sockets, and those of the network: who listens is outside of the restriction. */
#include "attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* ---- Unix sockets ---- */

static socklen_t unix_address(const char *name, bool is_abstract, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path + is_abstract, sizeof address->sun_path - is_abstract, "%.100s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1);
}

static int unix_connect(const char *name, bool is_abstract)
{
    struct sockaddr_un address;
    socklen_t size = unix_address(name, is_abstract, &address);

    return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, size);
}

static int unix_send(const char *name, bool is_abstract)
{
    struct sockaddr_un address;
    socklen_t size = unix_address(name, is_abstract, &address);

    return sendto(socket(AF_UNIX, SOCK_DGRAM, 0), "x", 1, 0, (struct sockaddr *)&address, size) == 1 ? 0 : -1;
}

static bool stream_came(const struct stage *stage)
{
    return is_connected(stage->stream);
}

static bool datagram_came(const struct stage *stage)
{
    return is_sent(stage->datagram);
}

static bool abstract_came(const struct stage *stage)
{
    return is_connected(stage->abstract);
}

static bool abstract_datagram_came(const struct stage *stage)
{
    return is_sent(stage->abstract_datagram);
}

static int try_stream(const struct scene *scene)
{
    return unix_connect(in(scene->other, "stream").text, false);
}

static int try_datagram(const struct scene *scene)
{
    return unix_send(in(scene->other, "datagram").text, false);
}

static int try_work(const struct scene *scene)
{
    return unix_connect(in(scene->work, "stream").text, false);
}

static int try_path(const struct scene *scene)
{
    char link[32];

    snprintf(link, sizeof link, "/proc/self/fd/%d", open(in(scene->other, "stream").text, O_PATH));
    return unix_connect(link, false);
}

static int try_abstract(const struct scene *scene)
{
    return unix_connect(scene->abstract, true);
}

static int try_abstract_datagram(const struct scene *scene)
{
    return unix_send(scene->abstract_datagram, true);
}

/* A name that somebody outside will connect to. */
static int try_squat(const struct scene *scene)
{
    struct sockaddr_un address;
    char name[40];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t size;

    snprintf(name, sizeof name, "%s-free", scene->abstract);
    size = unix_address(name, true, &address);
    return bind(fd, (struct sockaddr *)&address, size) < 0 ? -1 : listen(fd, 5);
}

static bool squatter_is_found(const struct stage *stage)
{
    char name[40];

    snprintf(name, sizeof name, "%s-free", stage->scene.abstract);
    return unix_connect(name, true) == 0;
}

static const struct attack unix_rows[] = {
    {"stream", "connecting to a socket in a directory", try_stream, stream_came, LANDLOCK(9, EACCES),
     CONTAINER(MOUNTS)},
    {"datagram", "sending to one", try_datagram, datagram_came, LANDLOCK(9, EACCES), CONTAINER(MOUNTS)},
    {"by-path", "the same by /proc/self/fd of an O_PATH descriptor", try_path, stream_came,
     LANDLOCK(9, EACCES), CONTAINER(MOUNTS)},
    {"work", "connecting to one that somebody outside makes in an allowed directory", try_work, stream_came,
     LANDLOCK(9, EACCES)},
    {"abstract", "connecting to an abstract socket", try_abstract, abstract_came, LANDLOCK(6, EPERM),
     CONTAINER(NETWORK)},
    {"abstract-datagram", "sending to one", try_abstract_datagram, abstract_datagram_came, LANDLOCK(6, EPERM),
     CONTAINER(NETWORK)},
    {"squat", "taking an abstract name that somebody outside connects to", try_squat, squatter_is_found,
     CONTAINER(NETWORK)},
};

const struct attack_group unix_group = {
    .name = "unix", .title = "Unix sockets made outside of the restriction", ROWS(unix_rows)};

/* ---- The network ---- */

static struct sockaddr_in local(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
}

static int connects(int fd, uint16_t port)
{
    struct sockaddr_in address = local(port);

    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, sizeof address);
}

static int binds(int fd, uint16_t port)
{
    struct sockaddr_in address = local(port);

    return fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof address);
}

static int connects_6(int type, const char *text, uint16_t port)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

    inet_pton(AF_INET6, text, &address.sin6_addr);
    return connect(socket(AF_INET6, type, 0), (struct sockaddr *)&address, sizeof address);
}

static int sends(int fd, uint16_t port, int flags)
{
    struct sockaddr_in address = local(port);

    return fd >= 0 && sendto(fd, "x", 1, flags, (struct sockaddr *)&address, sizeof address) == 1 ? 0 : -1;
}

static bool tcp_came(const struct stage *stage)
{
    return is_connected(stage->tcp);
}

static bool sctp_came(const struct stage *stage)
{
    return is_connected(stage->sctp);
}

static bool udp_came(const struct stage *stage)
{
    return is_sent(stage->udp);
}

static bool udplite_came(const struct stage *stage)
{
    return is_sent(stage->udplite);
}

static bool port_is_served(const struct stage *stage)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), result = connects(fd, stage->scene.free_port);

    close(fd);
    return result == 0;
}

static bool answered_port_is_served(const struct stage *stage)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), result = connects(fd, (uint16_t)stage->answer);

    close(fd);
    return result == 0;
}

/* Nobody there: the second datagram is refused. */
static bool udp_port_is_taken(const struct stage *stage)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0), result = connects(fd, stage->scene.free_port);

    for (int i = 0; i < 2 && result >= 0; i++, usleep(1000))
        result = (int)send(fd, "x", 1, 0);
    close(fd);
    return result == 1;
}

static int try_connect(const struct scene *scene)
{
    return connects(socket(AF_INET, SOCK_STREAM, 0), scene->tcp);
}

static int try_mapped(const struct scene *scene)
{
    return connects_6(SOCK_STREAM, "::ffff:127.0.0.1", scene->tcp);
}

static int try_uring_connect(const struct scene *scene)
{
    struct sockaddr_in address = local(scene->tcp);

    return uring_connect(socket(AF_INET, SOCK_STREAM, 0), &address, sizeof address);
}

static int try_uring_socket(const struct scene *scene)
{
    struct sockaddr_in address = local(scene->tcp);
    int fd = uring_socket(AF_INET, SOCK_STREAM);

    return fd < 0 ? -1 : uring_connect(fd, &address, sizeof address);
}

static int try_fastopen(const struct scene *scene)
{
    return sends(socket(AF_INET, SOCK_STREAM, 0), scene->tcp, MSG_FASTOPEN);
}

static int try_fastopen_message(const struct scene *scene)
{
    struct sockaddr_in address = local(scene->tcp);
    struct iovec data = {(char *)"x", 1};
    struct msghdr message = {
        .msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &data, .msg_iovlen = 1};

    return sendmsg(socket(AF_INET, SOCK_STREAM, 0), &message, MSG_FASTOPEN) == 1 ? 0 : -1;
}

static int try_fastopen_messages(const struct scene *scene)
{
    struct sockaddr_in address = local(scene->tcp);
    struct iovec data = {(char *)"x", 1};
    struct mmsghdr messages = {
        .msg_hdr = {.msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &data, .msg_iovlen = 1}};

    return sendmmsg(socket(AF_INET, SOCK_STREAM, 0), &messages, 1, MSG_FASTOPEN) == 1 ? 0 : -1;
}

/* Connected at the first writing. */
static int try_fastopen_connect(const struct scene *scene)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    if (setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on) < 0 || connects(fd, scene->tcp) < 0)
        return -1;
    return send(fd, "x", 1, 0) == 1 ? 0 : -1;
}

static int try_mptcp(const struct scene *scene)
{
    return connects(socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP), scene->tcp);
}

static int try_mptcp_bind(const struct scene *scene)
{
    int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);

    return binds(fd, scene->free_port) < 0 ? -1 : listen(fd, 5);
}

static int try_sctp(const struct scene *scene)
{
    return connects(socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), scene->sctp);
}

static int try_bind(const struct scene *scene)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    return binds(fd, scene->free_port) < 0 ? -1 : listen(fd, 5);
}

static int try_bind_unspecified(const struct scene *scene)
{
    struct sockaddr_in address = {.sin_family = AF_UNSPEC, .sin_port = htons(scene->free_port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    return bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -1 : listen(fd, 5);
}

/* Without bind(2): on a port that the kernel chooses. */
static int try_listen(const struct scene *scene)
{
    struct sockaddr_in address = {.sin_port = 0};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    (void)scene;
    if (listen(fd, 5) < 0 || getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        return -1;
    return ntohs(address.sin_port);
}

/* Bound where it may be, then to nothing, then connected. */
static int try_connect_unspecified(const struct scene *scene)
{
    struct sockaddr nothing = {.sa_family = AF_UNSPEC};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    return connect(fd, &nothing, sizeof nothing) < 0 ? -1 : connects(fd, scene->tcp);
}

static int try_udp_send(const struct scene *scene)
{
    return sends(socket(AF_INET, SOCK_DGRAM, 0), scene->udp, 0);
}

static int try_udp_connect(const struct scene *scene)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    return connects(fd, scene->udp) < 0 || send(fd, "x", 1, 0) != 1 ? -1 : 0;
}

static int try_udp_mapped(const struct scene *scene)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(scene->udp)};

    inet_pton(AF_INET6, "::ffff:127.0.0.1", &address.sin6_addr);
    return sendto(socket(AF_INET6, SOCK_DGRAM, 0), "x", 1, 0, (struct sockaddr *)&address, sizeof address) ==
                   1
               ? 0
               : -1;
}

static int try_udp_bind(const struct scene *scene)
{
    return binds(socket(AF_INET, SOCK_DGRAM, 0), scene->free_port);
}

static int try_udplite(const struct scene *scene)
{
    return sends(socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE), scene->udplite, 0);
}

static int try_ping(const struct scene *scene)
{
    const char request[8] = {8};
    struct sockaddr_in address = local(0);
    int fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);

    (void)scene;
    if (fd < 0)
        return -1;
    return sendto(fd, request, sizeof request, 0, (struct sockaddr *)&address, sizeof address) < 0 ? -1 : 0;
}

static bool ping_came(const struct stage *stage)
{
    return pings() > stage->pings;
}

/* To virtual machines, and to the host of one. */
static int try_vsock(const struct scene *scene)
{
    (void)scene;
    return opened(socket(AF_VSOCK, SOCK_STREAM, 0));
}

static int try_raw(const struct scene *scene)
{
    (void)scene;
    return opened(socket(AF_INET, SOCK_RAW, IPPROTO_TCP));
}

static int try_packet(const struct scene *scene)
{
    (void)scene;
    return opened(socket(AF_PACKET, SOCK_RAW, 0));
}

/* Which ports are listened on. */
static int try_diagnosis(const struct scene *scene)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } question = {{sizeof question, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 0, 0},
                  {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1U << 10}};
    int fd = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG);
    struct nlmsghdr *message;
    char answer[16384];
    ssize_t length;

    if (fd < 0 || send(fd, &question, sizeof question, 0) < 0 ||
        (length = recv(fd, answer, sizeof answer, 0)) < 0)
        return -1;
    message = (struct nlmsghdr *)(void *)answer;
    for (size_t left = (size_t)length; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
        const struct inet_diag_msg *found = NLMSG_DATA(message);

        if (message->nlmsg_type == SOCK_DIAG_BY_FAMILY && found->id.idiag_sport == htons(scene->tcp))
            return 0;
    }
    return failed(ENODATA);
}

static const struct attack network_rows[] = {
    {"tcp-connect", "TCP: connecting", try_connect, tcp_came, LANDLOCK(4, EACCES), CONTAINER(NETWORK)},
    {"tcp-mapped", "the same by an IPv6 socket", try_mapped, tcp_came, LANDLOCK(4, EACCES),
     CONTAINER(NETWORK)},
    {"tcp-unspecified", "the same after AF_UNSPEC", try_connect_unspecified, tcp_came, LANDLOCK(4, EACCES),
     CONTAINER(NETWORK)},
    {"tcp-uring", "the same by io_uring(7)", try_uring_connect, tcp_came, NEEDS_URING, LANDLOCK(4, EACCES),
     FILTER_FROM(4, ENOSYS), CONTAINER(NETWORK)},
    {"tcp-uring-socket", "the same by a socket made by io_uring(7)", try_uring_socket, tcp_came,
     NEEDS_URING_SOCKET, LANDLOCK(4, EACCES), FILTER_FROM(4, ENOSYS), CONTAINER(NETWORK)},
    {"tcp-fastopen", "the same by sending (MSG_FASTOPEN)", try_fastopen, tcp_came, NEEDS_FASTOPEN,
     FILTER_FROM(4, EOPNOTSUPP), CONTAINER(NETWORK)},
    {"tcp-fastopen-message", "the same by sendmsg(2)", try_fastopen_message, tcp_came, NEEDS_FASTOPEN,
     FILTER_FROM(4, EOPNOTSUPP), CONTAINER(NETWORK)},
    {"tcp-fastopen-messages", "the same by sendmmsg(2)", try_fastopen_messages, tcp_came, NEEDS_FASTOPEN,
     FILTER_FROM(4, EOPNOTSUPP), CONTAINER(NETWORK)},
    {"tcp-fastopen-connect", "the same by TCP_FASTOPEN_CONNECT", try_fastopen_connect, tcp_came,
     NEEDS_FASTOPEN, LANDLOCK(4, EACCES), CONTAINER(NETWORK)},
    {"tcp-bind", "TCP: binding to a port", try_bind, port_is_served, LANDLOCK(4, EACCES), CONTAINER(NETWORK)},
    {"tcp-bind-unspecified", "the same with AF_UNSPEC", try_bind_unspecified, port_is_served,
     LANDLOCK(4, EACCES), CONTAINER(NETWORK)},
    {"tcp-listen", "TCP: listening without binding, on a port that the kernel chooses", try_listen,
     answered_port_is_served, CONTAINER(NETWORK)},
    {"mptcp-connect", "Multipath TCP: connecting to a TCP server", try_mptcp, tcp_came, NEEDS_MPTCP,
     FILTER_FROM(4, EPROTONOSUPPORT), CONTAINER(NETWORK)},
    {"mptcp-bind", "Multipath TCP: binding to a port", try_mptcp_bind, port_is_served, NEEDS_MPTCP,
     FILTER_FROM(4, EPROTONOSUPPORT), CONTAINER(NETWORK)},
    {"sctp-connect", "SCTP: connecting", try_sctp, sctp_came, NEEDS_SCTP, FILTER_FROM(4, EPROTONOSUPPORT),
     CONTAINER(NETWORK)},
    {"udp-send", "UDP: sending", try_udp_send, udp_came, LANDLOCK(10, EACCES), CONTAINER(NETWORK)},
    {"udp-mapped", "the same by an IPv6 socket", try_udp_mapped, udp_came, LANDLOCK(10, EACCES),
     CONTAINER(NETWORK)},
    {"udp-connect", "UDP: connecting and sending", try_udp_connect, udp_came, LANDLOCK(10, EACCES),
     CONTAINER(NETWORK)},
    {"udp-bind", "UDP: binding to a port", try_udp_bind, udp_port_is_taken, LANDLOCK(10, EACCES),
     CONTAINER(NETWORK)},
    {"udplite-send", "UDP-Lite: sending", try_udplite, udplite_came, NEEDS_UDPLITE,
     FILTER_FROM(4, EPROTONOSUPPORT), CONTAINER(NETWORK)},
    {"ping", "ICMP: sending an echo request", try_ping, ping_came, NEEDS_PING,
     FILTER_FROM(4, EPROTONOSUPPORT), CONTAINER(NETWORK)},
    {"diagnosis", "netlink(7): which ports are listened on", try_diagnosis, .need = NEEDS_SOCK_DIAG,
     CONTAINER(NETWORK)},
    {"vsock", "making a socket to virtual machines (vsock(7))", try_vsock, .need = NEEDS_VSOCK,
     FILTER_FROM(4, EAFNOSUPPORT)},
    {"raw", "a raw socket", try_raw, NOBODY},
    {"packet", "a packet socket", try_packet, NOBODY},
};

const struct attack_group network_group = {.name = "network", .title = "The network", ROWS(network_rows)};
