#include "launch/internal.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

/* The kernel's struct statx (include/uapi/linux/stat.h) as far as it is read here: not every C library's has the mount. */
struct kernel_statx {
    uint32_t mask, block_size;
    uint64_t attributes;
    uint32_t links, uid, gid;
    uint16_t mode, padding;
    uint64_t inode, size, blocks, attributes_mask;
    uint64_t times[8];
    uint32_t special_major, special_minor, device_major, device_minor;
    uint64_t mount;
    uint64_t rest[13];
};
_Static_assert(sizeof(struct kernel_statx) == 256, "the size of struct statx");

enum { EMPTY_PATH = 0x1000, BASIC_STATS = 0x7ff, MOUNT_ID = 0x1000, MOUNT_ROOT = 0x2000 };

int object_of(int fd, struct object *object)
{
    struct kernel_statx status;

    status.mask = 0;
    if (syscall(SYS_statx, fd, "", EMPTY_PATH, BASIC_STATS | MOUNT_ID, &status) < 0)
        return -1;
    if ((status.mask & BASIC_STATS) != BASIC_STATS) {
        errno = EIO;
        return -1;
    }
    *object = (struct object){.device = makedev(status.device_major, status.device_minor),
                              .inode = status.inode,
                              .mount = status.mask & MOUNT_ID ? status.mount : 0,
                              .is_mount_root = status.attributes & status.attributes_mask & MOUNT_ROOT,
                              .uid = status.uid,
                              .mode = status.mode,
                              .links = status.links};
    return 0;
}
