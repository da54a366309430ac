/* As much of io_uring(7) as one operation needs. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SOCKET_OPERATION = 45 }; /* IORING_OP_SOCKET, Linux 5.19 */

static void *map(int ring, size_t size, off_t what)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);
}

static int ring_of(struct io_uring_params *parameters, bool has_thread)
{
    *parameters =
        (struct io_uring_params){.flags = has_thread ? IORING_SETUP_SQPOLL : 0, .sq_thread_idle = 1000};
    return (int)syscall(SYS_io_uring_setup, 4, parameters);
}

static int submit(const struct io_uring_sqe *operation, bool has_thread)
{
    struct io_uring_params p;
    int ring = ring_of(&p, has_thread), result;
    struct io_uring_sqe *operations;
    char *submissions, *completions;
    const struct io_uring_cqe *completion;
    unsigned *tail;

    if (ring < 0)
        return -1;
    submissions = map(ring, p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    completions = map(ring, p.cq_off.cqes + p.cq_entries * sizeof *completion, IORING_OFF_CQ_RING);
    operations = map(ring, p.sq_entries * sizeof *operations, IORING_OFF_SQES);
    if (submissions == MAP_FAILED || completions == MAP_FAILED || operations == MAP_FAILED)
        return -1;
    operations[0] = *operation;
    memset(submissions + p.sq_off.array, 0, sizeof(unsigned));
    tail = (unsigned *)(void *)(submissions + p.sq_off.tail);
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1,
                IORING_ENTER_GETEVENTS | (has_thread ? IORING_ENTER_SQ_WAKEUP : 0), NULL, 0) < 0)
        return -1;
    completion = (const struct io_uring_cqe *)(void *)(completions + p.cq_off.cqes);
    result = completion->res;
    close(ring);
    return result < 0 ? failed(-result) : result;
}

int uring_open(const char *path, bool has_thread)
{
    struct io_uring_sqe operation = {
        .opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (uintptr_t)path, .open_flags = O_RDONLY};

    return submit(&operation, has_thread);
}

int uring_connect(int fd, const void *address, size_t size)
{
    struct io_uring_sqe operation = {
        .opcode = IORING_OP_CONNECT, .fd = fd, .addr = (uintptr_t)address, .off = size};

    return submit(&operation, false);
}

int uring_socket(int family, int type)
{
    struct io_uring_sqe operation = {.opcode = SOCKET_OPERATION, .fd = family, .off = (unsigned)type};

    return submit(&operation, false);
}

bool has_uring(void)
{
    struct io_uring_params parameters;

    return opened(ring_of(&parameters, false)) == 0;
}

bool has_uring_socket(void)
{
    return opened(uring_socket(AF_INET, SOCK_STREAM)) == 0;
}
