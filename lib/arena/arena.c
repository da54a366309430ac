/*
 * malloc(3) for landlock-exec alone, a process that lives for half a millisecond and hands its memory back by execve(2).
 *
 * What its start-up costs is pages touched for the first time and memory mapped, so: small blocks are cut one after the other
 * from the beginning of an area that is part of the executable, blocks of a page and more from its end, without a header, for
 * often most of them is never touched. When the area is used up small blocks come from mapped ones, and large blocks are mapped
 * each for itself, with their pages.
 * Nothing is used twice. That makes every new block zero, and this file short.
 *
 * It is linked into the static launcher only; libraries and tests use the C library's malloc(3). The launcher has one thread.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_BYTES ((size_t)PTRDIFF_MAX - 65536)

enum { FIRST_AREA = 80 * 1024, NEXT_AREA = 64 * 1024, LARGE = 16 * 1024, PAGE = 4096 };
enum { ADVICE_POPULATE_WRITE = 23 }; /* madvise(2), Linux 5.14 */

/* Stands before every block. */
struct header {
    size_t size; /* of the block */
    bool is_mapped;
    alignas(max_align_t) char block[];
};

/* Common symbols stand behind all other data: the first small blocks share their page. */
char first_area[FIRST_AREA] __attribute__((common, aligned(16)));
static struct {
    char *at, *end;
} area = {first_area, first_area + FIRST_AREA};
static char *headless =
    first_area + FIRST_AREA; /* from here to the end of the first area: blocks without a header */

static struct header *header_of(void *block)
{
    return (struct header *)((char *)block - offsetof(struct header, block));
}

static bool is_headless(const void *block)
{
    return (const char *)block >= headless && (const char *)block < first_area + FIRST_AREA;
}

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static void *out_of_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static void *map(size_t size)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void *map_block(size_t size)
{
    size_t whole = round_up(size + sizeof(struct header), PAGE);
    struct header *header = map(whole);

    if (!header)
        return out_of_memory();
    *header = (struct header){.size = whole - sizeof *header, .is_mapped = true};
    return header->block;
}

static void *cut_block(size_t size)
{
    struct header *header = (struct header *)area.at;

    area.at += sizeof *header + size;
    header->size = size;
    return header->block;
}

void *malloc(size_t size)
{
    if (size > MOST_BYTES)
        return out_of_memory();
    size = round_up(size ? size : 1, alignof(max_align_t));
    if (size >= PAGE && area.end == headless && size <= (size_t)(area.end - area.at))
        return area.end = headless -= size;
    if (sizeof(struct header) + size <= (size_t)(area.end - area.at))
        return cut_block(size);
    if (size >= LARGE)
        return map_block(size);
    area.at = map(NEXT_AREA);
    area.end = area.at ? area.at + NEXT_AREA : NULL;
    return area.at ? cut_block(size) : out_of_memory();
}

/* New memory is zero. */
void *calloc(size_t count, size_t size)
{
    size_t bytes;

    return __builtin_mul_overflow(count, size, &bytes) ? out_of_memory() : malloc(bytes);
}

static void *grow_mapped(struct header *header, size_t size)
{
    size_t old = header->size + sizeof *header, whole = round_up(size + sizeof *header, PAGE);

    header = mremap(header, old, whole, MREMAP_MAYMOVE);
    if (header == MAP_FAILED)
        return out_of_memory();
    madvise((char *)header + old, whole - old, ADVICE_POPULATE_WRITE); /* only faster */
    header->size = whole - sizeof *header;
    return header->block;
}

/* The newest block of an area grows where it is. */
static bool grow_in_place(struct header *header, size_t size)
{
    size_t more = round_up(size, alignof(max_align_t)) - header->size;

    if (header->is_mapped || header->block + header->size != area.at || more > (size_t)(area.end - area.at))
        return false;
    area.at += more;
    header->size += more;
    return true;
}

/* `known`: how much of the block may be copied, its size or more. */
static void *move(const void *block, size_t known, size_t size)
{
    void *moved = malloc(size);

    return moved ? memcpy(moved, block, known < size ? known : size) : NULL;
}

void *realloc(void *block, size_t size)
{
    struct header *header;

    if (!block)
        return malloc(size);
    if (size > MOST_BYTES)
        return out_of_memory();
    if (is_headless(block))
        return move(block, (size_t)(first_area + FIRST_AREA - (char *)block), size);
    header = header_of(block);
    if (size <= header->size || grow_in_place(header, size))
        return block;
    return header->is_mapped ? grow_mapped(header, size) : move(block, header->size, size);
}

/* What was cut stays; what was mapped goes back, for a policy may make many of those. */
void free(void *block)
{
    struct header *header = block && !is_headless(block) ? header_of(block) : NULL;

    if (header && header->is_mapped)
        munmap(header, header->size + sizeof *header);
}
