/* Shared by the files of the driver. */
#ifndef LAUNCH_BENCH_H
#define LAUNCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One way to start the program, and how long it took each time. */
struct command {
    const char *name;
    char **arguments; /* NULL-terminated, each malloc'd */
    size_t argument_count, capacity;
    bool is_peer;  /* slow: it does not take part in every round */
    bool is_quiet; /* what it says goes to /dev/null */
    const char *input, *output,
        *variable; /* of its own: files in the place of its streams, NAME=VALUE; NULL: none */
    void (*prepare)(
        const struct command
            *command); /* before each time it is started, outside of what is timed; NULL: nothing */
    double *times;     /* microseconds, one a round */
    size_t time_count;
    double median;
    long peak; /* KiB of the launcher, before it becomes the program; 0: not measured */
};

/* What is started, and by which rules: each path may be read, the last one, the program itself, executed. */
struct scene {
    const char *folder, *program;
    bool
        is_container; /* the policy describes one, CONTAINER_WRITABLE has rules too, and ABI 2 is the newest that is used */
    char **paths;
    size_t path_count;
};

/* ---- measure.c ---- */

char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
void push(struct command *command, char *argument);
void free_command(struct command *command);

/* Starts the command and waits for its end. Microseconds, or -1: it did not exit with 0. */
double run_once(const struct command *command, bool is_quiet);

/* Times all commands so many times, in turn, and sets their medians. It exits where one fails. */
void measure(struct command *commands, size_t count, size_t rounds);

char *real_path(const char *path);
void stay_on_one_processor(void);

/* ---- peers.c ---- */

/* A command for each other launcher that is in PATH and can run the scene; the new count. */
size_t add_peers(struct command *commands, size_t count, size_t room, const struct scene *scene);
char *find_in_path(const char *name);

/* ---- scene.c ---- */

/* Makes the files that `count` rules name (in a container two more: CONTAINER_WRITABLE), the policy and the floor's rules, in scene->folder. The policy's name; it exits on failure. */
char *make_scene(struct scene *scene, size_t count);
void free_scene(struct scene *scene);

/* ---- peak.c ---- */

/* The most memory, in KiB, that the command held before it became the program: read at its own execve(2). 0: it cannot be told. */
long measure_peak(const struct command *command);

/* Likewise, until its end, of a command that starts nothing else. */
long measure_peak_to_end(const struct command *command);

#endif
