/*
 * What the launcher and check-container say to each other, lib/container/exchange.c. The input is the words of a command line, each
 * with a NUL behind it, or, behind a first byte 0xff, the findings as bytes.
 */
#include "container/container.h"
#include "report.h"

#include <errno.h>
#include <regex.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_WORDS = 32 };

enum { ACCEPTED, REFUSED, FINDINGS_READ, FINDINGS_REFUSED };
struct tally tallies[] = {[ACCEPTED] = {"command lines accepted", 0},
                          [REFUSED] = {"command lines refused", 0},
                          [FINDINGS_READ] = {"findings read", 0},
                          [FINDINGS_REFUSED] = {"findings refused", 0}};
const size_t tally_count = array_size(tallies);

static const uint8_t *present;
static size_t present_size;

void describe_input(FILE *out)
{
    fwrite(present, 1, present_size, out);
}

/* ---- The command line ---- */

/* Whether the number that begins a text is at most `most`, in decimal digits. */
static bool is_at_most(const char *text, const char *most)
{
    size_t length;

    text += strspn(text, "0");
    length = strspn(text, "0123456789");
    return length < strlen(most) || (length == strlen(most) && strncmp(text, most, length) <= 0);
}

static const struct {
    const char *pattern, *most; /* of the number behind the first '=' */
} forms[] = {{"^uid=[0-9]+$", "4294967294"},
             {"^preset=(docker|podman|bubblewrap)$", "0"},
             {"^read-only=[0-9]+:/", "18446744073709551615"},
             {"^writable=[0-9]+:0*[01]:0*[01]:/", "18446744073709551615"},
             {"^held=[0-9]+:.", "18446744073709551615"}};
enum { UID_FORM = 0 };

/* The form of a word; -1: none. */
static int form_of(const char *word)
{
    static regex_t compiled[array_size(forms)];
    static bool is_ready;

    for (size_t i = 0; i < array_size(forms) && !is_ready; i++)
        if (regcomp(&compiled[i], forms[i].pattern, REG_EXTENDED | REG_NOSUB) != 0)
            abort();
    is_ready = true;
    for (size_t i = 0; i < array_size(forms); i++)
        if (regexec(&compiled[i], word, 0, NULL, 0) == 0)
            return is_at_most(strchr(word, '=') + 1, forms[i].most) ? (int)i : -1;
    return -1;
}

static bool is_sound(char *const *words)
{
    unsigned users = 0;

    for (; *words; words++) {
        int form = form_of(*words);

        if (form < 0)
            return false;
        users += form == UID_FORM;
    }
    return users == 1;
}

static bool is_same_place(const struct container_place *a, const struct container_place *b)
{
    return a->mount == b->mount && a->is_mount_point == b->is_mount_point && a->is_allowed == b->is_allowed &&
           !strcmp(a->path, b->path);
}

static void compare_places(const char *what, const struct container_place *a, size_t a_count,
                           const struct container_place *b, size_t b_count)
{
    promise(a_count == b_count, "%zu places %s become %zu", a_count, what, b_count);
    for (size_t i = 0; i < a_count; i++)
        promise(is_same_place(&a[i], &b[i]), "%s becomes %s", a[i].path, b[i].path);
}

/* What was read, written and read again is the same. */
static void check_round(const struct container_expectation *expectation)
{
    static struct error error;
    struct container_expectation again;
    char **words = container_write_arguments(expectation);

    promise(words && is_sound(words + 1), "what is written is not sound");
    promise(container_read_arguments(words, &again, &error) == 0, "what is written is refused: %s",
            error.message);
    promise(again.uid == expectation->uid && again.presets == expectation->presets, "the user or the "
                                                                                    "presets");
    compare_places("read-only", expectation->read_only, expectation->read_only_count, again.read_only,
                   again.read_only_count);
    compare_places("writable", expectation->writable, expectation->writable_count, again.writable,
                   again.writable_count);
    compare_places("held", expectation->held, expectation->held_count, again.held, again.held_count);
    container_expectation_free(&again);
    container_free_arguments(words);
}

static void try_arguments(char *bytes, size_t size)
{
    static struct error error;
    char *words[MOST_WORDS + 2] = {"check-container"};
    struct container_expectation expectation;
    size_t count = 1;
    int result;

    for (size_t at = 0; at < size && count <= MOST_WORDS; at += strlen(bytes + at) + 1)
        words[count++] = bytes + at;
    error.code = 0;
    result = container_read_arguments(words, &expectation, &error);
    promise(!result == !error.code, "%d: %s", result, error.message);
    promise(!result == is_sound(words + 1), "%s", result ? error.message : "accepted");
    tally(result ? REFUSED : ACCEPTED);
    if (!result)
        check_round(&expectation);
    container_expectation_free(&expectation);
}

/* ---- The findings ---- */

static void check_bytes(const struct container_findings *findings, const char *bytes, size_t size)
{
    auto_close int fd = memfd_create("findings", MFD_CLOEXEC);
    auto_free char *again = malloc(size + 1);

    if (fd < 0 || !again)
        abort();
    promise(container_write_findings(fd, findings) == 0, "%s", strerror(errno));
    promise(pread(fd, again, size + 1, 0) == (ssize_t)size && !memcmp(again, bytes, size), "not the same "
                                                                                           "bytes");
}

static void try_findings(const char *bytes, size_t size)
{
    struct container_findings findings;
    size_t texts = 0;
    int result;

    for (size_t i = 0; i < size; i++)
        texts += !bytes[i];
    errno = 0;
    result = container_read_findings(bytes, size, &findings);
    promise(!result == (!size || (!bytes[size - 1] && texts % 2 == 0)), "%zu texts in %zu bytes: %d", texts,
            size, result);
    promise(!result || errno == EBADMSG, "%s", strerror(errno));
    tally(result ? FINDINGS_REFUSED : FINDINGS_READ);
    if (!result) {
        promise(findings.count == texts / 2, "%zu findings of %zu texts", findings.count, texts);
        check_bytes(&findings, bytes, size);
    }
    container_findings_free(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool is_findings = size && data[0] == 0xff;
    char *bytes = malloc(size + 1);

    if (!bytes)
        abort();
    present = data;
    present_size = size;
    memcpy(bytes, data + is_findings, size - is_findings);
    bytes[size - is_findings] = '\0';
    if (is_findings)
        try_findings(bytes, size - 1);
    else
        try_arguments(bytes, size);
    free(bytes);
    return 0;
}

/* ---- Mutations that know the words ---- */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static const char *const words[] = {"uid=1000",
                                        "uid=4294967294",
                                        "uid=4294967295",
                                        "preset=docker",
                                        "preset=podman",
                                        "preset=bubblewrap",
                                        "preset=none",
                                        "read-only=21:/",
                                        "read-only=0021:/a:b",
                                        "read-only=18446744073709551615:/x",
                                        "read-only=18446744073709551616:/x",
                                        "writable=22:1:1:/sandbox",
                                        "writable=22:0:01:/a",
                                        "writable=22:2:1:/a",
                                        "writable=22:1:/a",
                                        "held=23:/",
                                        "held=23:descriptor 3",
                                        "held=23:",
                                        "held=-1:/"};
    const char *word = words[roll(&seed, array_size(words))];
    size_t length = strlen(word) + 1;

    if (roll(&seed, 2) || (size && data[0] == 0xff) || size + length > most)
        return LLVMFuzzerMutate(data, size, most);
    if (size && data[size - 1]) /* the last word ends first */
        data[size - 1] = '\0';
    memcpy(data + size, word, length);
    return size + length;
}
