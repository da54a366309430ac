/*
 * What chat-files costs: a large file put and got, and many small ones imported, beside cp on the same file system.
 *
 *     files [-n ROUNDS] [-m MEBIBYTES] [-f FILES] [-d DIRECTORY] CHAT-FILES
 *
 * The figure is the ratio to cp, of medians, taken in turns; what either has to find is made before it is started, and on the disk.
 * Goals: a file of 100 MiB at no less than 0.9 of cp's speed, a ratio of 1.11, in less than 4 MiB of memory; 10,000 files of 0 to 4 KiB
 * at no more than 1.5 times cp -r.
 */
#include "launch.h"

#include <err.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CP, CHAT_FILES, COMMANDS };

struct bench {
    size_t rounds, mebibytes, files;
    char *folder, *program, *cp;
};

/* The names below the bench's folder, which is where it works. */
static const char large[] = "large", small[] = "small", chat[] = "chat", in_chat[] = "chat/large",
                  out[] = "out";

/* ---- What is copied ---- */

/* Bytes that nothing can pack. */
static void fill(char *bytes, size_t size)
{
    static uint64_t state = 88172645463325252u;

    for (size_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[i] = (char)state;
    }
}

static void write_file(const char *path, size_t size)
{
    static char bytes[1 << 20];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0)
        err(1, "%s", path);
    for (size_t part; size; size -= part) {
        part = size < sizeof bytes ? size : sizeof bytes;
        fill(bytes, part);
        if (write(fd, bytes, part) != (ssize_t)part)
            err(1, "%s", path);
    }
    close(fd);
}

static void make_folder(const char *path)
{
    if (mkdir(path, 0700) < 0)
        err(1, "%s", path);
}

static void make_sources(const struct bench *bench)
{
    enum { A_FOLDER = 100, FOLDERS = 10 };
    char path[64];

    write_file(large, bench->mebibytes << 20);
    make_folder(small);
    for (size_t i = 0; i < bench->files; i++) {
        size_t folder = i / A_FOLDER;

        snprintf(path, sizeof path, "%s/%04zu", small, folder / FOLDERS);
        if (folder % FOLDERS == 0 && i % A_FOLDER == 0)
            make_folder(path);
        snprintf(path, sizeof path, "%s/%04zu/%04zu", small, folder / FOLDERS, folder);
        if (i % A_FOLDER == 0)
            make_folder(path);
        snprintf(path, sizeof path, "%s/%04zu/%04zu/%06zu", small, folder / FOLDERS, folder, i);
        write_file(path, i * 2654435761u % 4097);
    }
}

/* ---- What is found before each start ---- */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* What went before is not written to the disk while this is timed. */
static void settle(void)
{
    int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || syncfs(fd) < 0)
        err(1, "syncfs");
    close(fd);
}

static void empty_chat(const struct command *command)
{
    (void)command;
    remove_tree(chat);
    make_folder(chat);
    settle();
}

static void remove_out(const struct command *command)
{
    (void)command;
    unlink(out);
    settle();
}

static void keep_all(const struct command *command)
{
    (void)command;
    settle();
}

/* ---- What is measured ---- */

struct row {
    const char *what, *goal;
    const char *from, *to; /* of cp */
    const char *subcommand, *operand;
    const char *input, *output;
    void (*prepare)(const struct command *);
};

static const struct row rows[] = {
    {"put, a new file", "1.11", large, in_chat, "put", large, large, NULL, empty_chat},
    {"put, over a file", "1.11", large, in_chat, "put", large, large, NULL, keep_all},
    {"get, a new file", "1.11", in_chat, out, "get", large, NULL, out, remove_out},
    {"get, over a file", "1.11", in_chat, out, "get", large, NULL, out, keep_all},
    {"import", "1.50", "small/.", chat, "import", small, NULL, NULL, empty_chat},
};

static void make_commands(const struct bench *bench, const struct row *row, struct command *commands)
{
    static char limit[64];

    snprintf(limit, sizeof limit, "LLM_MAX_ATTACHMENT_FILES=%zu", bench->files);
    commands[CP] = (struct command){.name = "cp", .is_quiet = true, .prepare = row->prepare};
    push(&commands[CP], format("%s", bench->cp));
    push(&commands[CP], format("-r"));
    push(&commands[CP], format("%s", row->from));
    push(&commands[CP], format("%s", row->to));
    commands[CHAT_FILES] = (struct command){.name = "chat-files",
                                            .is_quiet = true,
                                            .input = row->input,
                                            .output = row->output,
                                            .variable = limit,
                                            .prepare = row->prepare};
    push(&commands[CHAT_FILES], format("%s", bench->program));
    push(&commands[CHAT_FILES], format("%s", row->subcommand));
    push(&commands[CHAT_FILES], format("%s", chat));
    push(&commands[CHAT_FILES], format("%s", row->operand));
}

static void measure_row(const struct bench *bench, const struct row *row)
{
    struct command commands[COMMANDS] = {0};
    const struct command *cp = &commands[CP], *chat_files = &commands[CHAT_FILES];

    make_commands(bench, row, commands);
    measure(commands, COMMANDS, bench->rounds);
    printf("%-18s %10.1f %16.1f %8.2f %8s %12ld\n", row->what, cp->median / 1e3, chat_files->median / 1e3,
           chat_files->median / cp->median, row->goal, measure_peak_to_end(chat_files));
    for (size_t i = 0; i < COMMANDS; i++)
        free_command(&commands[i]);
}

/* ---- The place ---- */

static void enter(struct bench *bench, const char *directory)
{
    bench->folder = format("%s/chat-files-bench.XXXXXX", directory);
    if (!mkdtemp(bench->folder) || chdir(bench->folder) < 0)
        err(1, "%s", bench->folder);
    make_folder(chat);
}

static void leave(struct bench *bench)
{
    if (chdir("/") == 0)
        remove_tree(bench->folder);
    free(bench->folder);
    free(bench->program);
    free(bench->cp);
}

static size_t number(const char *text)
{
    size_t value = strtoul(text, NULL, 10);

    if (!value)
        errx(2, "%s: expected a number from 1 up", text);
    return value;
}

int main(int count, char **arguments)
{
    struct bench bench = {.rounds = 15, .mebibytes = 100, .files = 10000};
    const char *directory = "/var/tmp";
    int option;

    while ((option = getopt(count, arguments, "+n:m:f:d:")) != -1)
        switch (option) {
        case 'n':
            bench.rounds = number(optarg);
            break;
        case 'm':
            bench.mebibytes = number(optarg);
            break;
        case 'f':
            bench.files = number(optarg);
            break;
        case 'd':
            directory = optarg;
            break;
        default:
            count = 0;
            break;
        }
    if (count - optind != 1)
        errx(2, "usage: files [-n ROUNDS] [-m MEBIBYTES] [-f FILES] [-d DIRECTORY] CHAT-FILES");
    bench.program = real_path(arguments[optind]);
    bench.cp = find_in_path("cp");
    if (!bench.cp)
        errx(1, "there is no cp");
    enter(&bench, directory);
    make_sources(&bench);
    printf("files of a chat: %zu MiB, and %zu small files, in %s (medians of %zu rounds)\n", bench.mebibytes,
           bench.files, directory, bench.rounds);
    printf("%-18s %10s %16s %8s %8s %12s\n", "what", "cp (ms)", "chat-files (ms)", "ratio", "goal",
           "peak (KiB)");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        measure_row(&bench, &rows[i]);
    puts("The ratio is of times: 1.11 is 0.9 of cp's speed. Peak memory has to stay under 4096 KiB.");
    leave(&bench);
    return 0;
}
