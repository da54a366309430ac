/* lib/chat: names, and files out of a chat's directory. */
#include "allocations.h"
#include "chat_fixture.h"

#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#define X_51 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X_255 X_51 X_51 X_51 X_51 X_51
#define SHCHA_17 "щщщщщщщщщщщщщщщщщ"
#define SHCHA_254 SHCHA_17 SHCHA_17 SHCHA_17 SHCHA_17 SHCHA_17 SHCHA_17 SHCHA_17 "щщщщщщщщ"

/* ---- The table ---- */

static void each_code_has_a_row_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(chat_refusal_count, CHAT_USAGE);
    for (int code = 1; code <= CHAT_USAGE; code++) {
        const struct chat_refusal_row *row = chat_refusal(code);

        assert_int_equal(row->code, code);
        assert_true(row->help[0]);
        assert_true(row->exit_status == 1 || row->exit_status == 2);
        assert_int_equal(row->exit_status == 2, code >= CHAT_DIRECTORY);
        for (int other = 1; other < code; other++)
            assert_string_not_equal(chat_refusal(other)->name, row->name);
    }
}

/* ---- Names ---- */

static const char *const good_names[] = {
    "a",
    "файл.txt",
    "\xd0\xb9",         /* й, composed */
    "\xd0\xb8\xcc\x86", /* and decomposed */
    "Ё",
    "\xd0\x95\xcc\x88",
    "😀",
    "👩\u200d👩\u200d👧",
    "שלום",
    "\u202etxt.exe\u202c",
    "\u2066a\u2069",
    " ",
    "  ",
    " a",
    "a ",
    "\u00a0",
    "\u3000",
    "-",
    "--",
    "-rf",
    "a.",
    "a",
    "a..",
    "...",
    "..a",
    ".a",
    "a\\b",
    "*",
    "?",
    "\"'`$(x);|&<>#~%",
    "A",
    "\ufeff",
    "\ufeffa",
    "a\u200b",
    "\u2028",
    "\ufffd",
    "\uffff",
    "\xf4\x8f\xbf\xbf",
    "\xc3\xa9",
    "e\xcc\x81",
    "∕",
    "․․",
    X_255,
    SHCHA_254,
    SHCHA_254 "x",
};

static const char *const bad_names[] = {
    "",
    ".",
    "..",
    "/",
    "a/b",
    "a/",
    "/a",
    "../a",
    X_255 "x",
    SHCHA_254 "щ",
    "\x80",
    "a\xff",
    "\xfe",
    "\xc0\xaf",
    "\xc0\x80",
    "\xc1\xbf",
    "\xe0\x80\xaf",
    "\xe0\x9f\xbf",
    "\xf0\x80\x80\xaf",
    "\xf0\x8f\xbf\xbf",
    "\xed\xa0\x80",
    "\xed\xbf\xbf",
    "\xed\xa0\xbd\xed\xb8\x80",
    "\xf4\x90\x80\x80",
    "\xf5\x80\x80\x80",
    "\xf8\x88\x80\x80\x80",
    "\xd0",
    "a\xe2\x82",
    "\xf0\x9f\x98",
    "\xd0x",
    "\x01",
    "\x1f",
    "a\nb",
    "\t",
    "a\r",
    "\x1b[2J",
    "\x7f",
    "\xc2\x80",
    "a\xc2\x85",
    "\xc2\x9f",
    "\001upload.0123456789abcdef",
};

static void names_are_valid_text_without_slashes_and_controls(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(good_names); i++) {
        assert_done(chat_check_name(good_names[i], &why));
        assert_done(chat_check_path(good_names[i], &why));
    }
    for (size_t i = 0; i < array_size(bad_names); i++)
        assert_refused(chat_check_name(bad_names[i], &why), CHAT_NAME);
}

static size_t encode(char text[static 5], unsigned long point)
{
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

    for (size_t i = length; i-- > 0; point >>= 6)
        text[i] = (char)(length == 1 ? point : i ? 0x80 | (point & 0x3f) : first[length] | point);
    text[length] = '\0';
    return length;
}

static void each_character_is_allowed_or_refused(void **state)
{
    char text[6];

    (void)state;
    for (unsigned long point = 1; point <= 0x110000; point++) {
        bool is_control = point < 0x20 || (point >= 0x7f && point < 0xa0);
        bool is_surrogate = point >= 0xd800 && point < 0xe000;
        bool is_bad = is_control || is_surrogate || point == '/' || point == '.' || point > 0x10ffff;

        encode(text, point);
        if ((chat_check_name(text, &why) < 0) != is_bad)
            fail_msg("U+%04lX", point);
    }
}

static void a_path_is_names_with_slashes_between(void **state)
{
    static const char *const bad[] = {"",           "/",    "a/",     "/a",      "a//b",     "a/./b",
                                      "../a",       "a/..", "a/../b", "a/b\n/c", "a/\xff/b", "a/" X_255 "x",
                                      "a/\xc2\x80", "./a"};

    (void)state;
    assert_done(chat_check_path("a/b", &why));
    assert_done(chat_check_path("папка/-/ /файл.", &why));
    assert_done(chat_check_path(".../..a/" X_255 "/" X_255, &why));
    for (size_t i = 0; i < array_size(bad); i++)
        assert_refused(chat_check_path(bad[i], &why), CHAT_NAME);
}

static void a_path_is_shorter_than_path_max(void **state)
{
    char path[PATH_MAX + 1];

    (void)state;
    for (size_t i = 0; i < PATH_MAX; i++)
        path[i] = i % 2 ? '/' : 'a';
    path[PATH_MAX - 1] = '\0';
    assert_done(chat_check_path(path, &why));
    path[PATH_MAX - 1] = 'b';
    path[PATH_MAX] = '\0';
    assert_refused(chat_check_path(path, &why), CHAT_NAME);
}

static size_t find(const struct chat_listing *listing, const char *name)
{
    size_t found = 0;

    for (size_t i = 0; i < listing->count; i++)
        found += !strcmp(listing->entries[i].name, name);
    return found;
}

static size_t distinct_good_names(void)
{
    size_t count = 0;

    for (size_t i = 0; i < array_size(good_names); i++) {
        size_t before = 0;

        while (strcmp(good_names[before], good_names[i]) != 0)
            before++;
        count += before == i;
    }
    return count;
}

static void names_are_kept_byte_for_byte(void **state)
{
    auto_chat struct chat chat;
    struct chat_listing listing;
    char path[512];

    (void)state;
    open_chat(&chat);
    for (size_t i = 0; i < array_size(good_names); i++)
        assert_done(put(&chat, good_names[i], good_names[i], NULL));
    assert_done(chat_list(&chat, CHAT_MOST_LISTED, &listing, &why));
    assert_int_equal(listing.count, distinct_good_names());
    for (size_t i = 0; i < array_size(good_names); i++) {
        assert_int_equal(find(&listing, good_names[i]), 1);
        snprintf(path, sizeof path, "chat/%s", good_names[i]);
        assert_text(path, good_names[i]);
    }
    for (size_t i = 1; i < listing.count; i++)
        assert_true(strcmp(listing.entries[i - 1].name, listing.entries[i].name) < 0);
    chat_free_listing(&listing);
    assert_int_equal(listing.count, 0);
}

static void what_is_no_name_is_refused_everywhere(void **state)
{
    auto_chat struct chat chat;
    struct chat_file file;

    (void)state;
    open_chat(&chat);
    for (size_t i = 0; i < array_size(bad_names); i++) {
        assert_refused(chat_open_file(&chat, bad_names[i], &file, &why), CHAT_NAME);
        assert_int_equal(file.fd, -1);
        assert_refused(chat_remove(&chat, bad_names[i], &why), CHAT_NAME);
        if (chat_check_path(bad_names[i], &why) < 0) /* else it is one of names */
            assert_refused(put(&chat, bad_names[i], "", NULL), CHAT_NAME);
    }
    assert_names("chat", "");
}

static void the_limit_is_a_whole_number_from_1_up(void **state)
{
    static const char *const bad[] = {
        "",    "0",    "00",   "-1",  "+1", " 1",  "1 ",  "x",
        "1x",  "0x10", "1.0",  "1e9", "１", "\n1", "1\n", "-18446744073709551615",
        "1,0", "--1",  "1_000"};
    static const struct {
        const char *text;
        size_t limit;
    } good[] = {{NULL, 40},
                {"1", 1},
                {"40", 40},
                {"010", 10},
                {"1000000000", 1000000000},
                {"18446744073709551615", SIZE_MAX},
                {"18446744073709551616", SIZE_MAX},
                {"99999999999999999999999999999", SIZE_MAX}};
    size_t limit;

    (void)state;
    for (size_t i = 0; i < array_size(good); i++) {
        assert_done(chat_read_limit(good[i].text, &limit, &why));
        assert_int_equal(limit, good[i].limit);
    }
    for (size_t i = 0; i < array_size(bad); i++)
        assert_refused(chat_read_limit(bad[i], &limit, &why), CHAT_USAGE);
}

/* ---- The directory ---- */

static void the_directory_is_one_and_no_link(void **state)
{
    auto_chat struct chat plain, slashes, missing, file, link, below;

    (void)state;
    write_text("file", "");
    assert_int_equal(symlink("chat", "link"), 0);
    assert_done(chat_open(&plain, "chat", &why));
    assert_int_equal(plain.most_bytes, CHAT_MOST_BYTES);
    assert_int_equal(plain.mode, CHAT_MODE);
    assert_int_equal(fcntl(plain.directory, F_GETFD), FD_CLOEXEC);
    assert_done(chat_open(&slashes, "chat///", &why));
    assert_refused(chat_open(&missing, "missing", &why), CHAT_DIRECTORY);
    assert_refused(chat_open(&file, "file", &why), CHAT_DIRECTORY);
    assert_refused(chat_open(&link, "link", &why), CHAT_DIRECTORY);
    chat_close(&link);
    assert_refused(chat_open(&link, "link/", &why), CHAT_DIRECTORY);
    chat_close(&link);
    assert_refused(chat_open(&link, "", &why), CHAT_DIRECTORY);
    make_folder("chat/below");
    assert_done(chat_open(&below, "link/below", &why)); /* what leads there is the administrator's */
}

static void without_openat2_nothing_is_done(void **state)
{
    auto_chat struct chat chat;

    (void)state;
    strange.openat2_failure = ENOSYS;
    assert_refused(chat_open(&chat, "chat", &why), CHAT_UNSUPPORTED);
}

static void open_what_cannot_be_searched(const void *context)
{
    struct chat chat;

    (void)context;
    must(setresuid(STRANGER, STRANGER, STRANGER) == 0);
    must_refuse(chat_open(&chat, "chat", &why), CHAT_DIRECTORY);
    chat_close(&chat);
}

static void a_directory_that_this_user_may_not_enter_is_told(void **state)
{
    (void)state;
    need(geteuid() == 0, "root, who can be another user");
    in_child(open_what_cannot_be_searched, NULL);
    assert_int_equal(chmod("chat", 0744), 0);
    in_child(open_what_cannot_be_searched, NULL);
}

/* ---- What is opened ---- */

static int open_and_close(const struct chat *chat, const char *name)
{
    struct chat_file file;
    int result = chat_open_file(chat, name, &file, &why);

    cleanup_close(&file.fd);
    return result;
}

static void plant(void)
{
    write_text("outside", "secret");
    write_text("chat/hard", "two names");
    assert_int_equal(link("chat/hard", "another"), 0);
    assert_int_equal(symlink("../outside", "chat/link"), 0);
    assert_int_equal(symlink("hard", "chat/link-inside"), 0);
    assert_int_equal(symlink("missing", "chat/dangling"), 0);
    assert_int_equal(symlink("loop", "chat/loop"), 0);
    assert_int_equal(symlink("/proc/self/fd/0", "chat/magic"), 0);
    assert_int_equal(mkfifo("chat/fifo", 0600), 0);
    make_socket("chat/socket");
    make_folder("chat/folder");
    write_text("chat/large", "");
    assert_int_equal(truncate("chat/large", CHAT_MOST_BYTES + 1L), 0);
    write_text("chat/huge", "");
    assert_int_equal(truncate("chat/huge", 1L << 40), 0);
}

static void only_regular_files_with_one_name_are_opened(void **state)
{
    static const struct {
        const char *name;
        int code;
    } rows[] = {{"missing", CHAT_MISSING}, {"link", CHAT_LINK},       {"link-inside", CHAT_LINK},
                {"dangling", CHAT_LINK},   {"loop", CHAT_LINK},       {"magic", CHAT_LINK},
                {"fifo", CHAT_SPECIAL},    {"socket", CHAT_SPECIAL},  {"folder", CHAT_FOLDER},
                {"hard", CHAT_HARD_LINK},  {"large", CHAT_TOO_LARGE}, {"huge", CHAT_TOO_LARGE},
                {"../outside", CHAT_NAME}, {"folder/x", CHAT_NAME}};
    auto_chat struct chat chat;

    (void)state;
    plant();
    open_chat(&chat);
    for (size_t i = 0; i < array_size(rows); i++)
        assert_refused(open_and_close(&chat, rows[i].name), rows[i].code);
    assert_int_equal(truncate("chat/large", CHAT_MOST_BYTES), 0);
    assert_done(open_and_close(&chat, "large"));
}

static void devices_are_not_opened(void **state)
{
    auto_chat struct chat chat;

    (void)state;
    need(mknod("chat/null", S_IFCHR | 0666, makedev(1, 3)) == 0, "root who may make devices");
    assert_int_equal(mknod("chat/none", S_IFBLK | 0666, makedev(240, 77)), 0);
    open_chat(&chat);
    assert_refused(open_and_close(&chat, "null"), CHAT_SPECIAL);
    assert_refused(open_and_close(&chat, "none"), CHAT_SPECIAL);
}

static void a_file_with_a_lease_is_not_waited_for(void **state)
{
    auto_chat struct chat chat;
    auto_close int fd = -1;

    (void)state;
    write_text("chat/a", "x");
    fd = open("chat/a", O_RDWR | O_CLOEXEC);
    open_chat(&chat);
    signal(SIGIO, SIG_IGN);
    assert_int_equal(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
    assert_refused(open_and_close(&chat, "a"), CHAT_BUSY);
}

static void read_as_stranger(struct chat *chat)
{
    must_refuse(open_and_close(chat, "a"), CHAT_PERMISSION);
    must_refuse(chat_remove(chat, "a", &why), CHAT_PERMISSION);
}

static void file_permissions_are_told(void **state)
{
    (void)state;
    write_text("chat/a", "x");
    assert_int_equal(chmod("chat", 0755), 0);
    as_user(STRANGER, read_as_stranger);
    assert_text("chat/a", "x");
}

static void meet_mounts(const void *context)
{
    struct chat chat;

    (void)context;
    must(mount("outside", "chat/a", NULL, MS_BIND, NULL) == 0);
    must(mount("elsewhere", "chat/folder", NULL, MS_BIND, NULL) == 0);
    must(chat_open(&chat, "chat", &why) == 0);
    must_refuse(open_and_close(&chat, "a"), CHAT_MOUNT);
    must_refuse(chat_remove(&chat, "a", &why), CHAT_MOUNT);
    must_refuse(put(&chat, "a", "new", NULL), CHAT_MOUNT);
    must_refuse(put(&chat, "folder/x", "new", NULL), CHAT_MOUNT);
    chat_close(&chat);
}

static void what_is_mounted_in_the_chat_is_left_alone(void **state)
{
    (void)state;
    write_text("outside", "secret");
    write_text("chat/a", "old");
    make_folder("chat/folder");
    make_folder("elsewhere");
    with_own_mounts(meet_mounts);
    assert_text("outside", "secret");
    assert_text("chat/a", "old");
    assert_names("chat", "a|folder|");
    assert_names("elsewhere", "");
}

static void a_file_that_was_replaced_since_is_opened_again(void **state)
{
    auto_chat struct chat chat;
    size_t before;

    (void)state;
    write_text("chat/a", "x");
    open_chat(&chat);
    before = open_descriptors();
    strange.without_names = 5;
    assert_done(open_and_close(&chat, "a"));
    assert_int_equal(strange.without_names, 0);
    strange.without_names = UINT_MAX;
    assert_refused(open_and_close(&chat, "a"), CHAT_CHANGED);
    assert_int_equal(open_descriptors(), before);
}

/* ---- What is listed ---- */

static void what_get_would_serve_is_listed(void **state)
{
    auto_chat struct chat chat;
    struct chat_listing listing;
    struct stat status;

    (void)state;
    plant();
    write_text("chat/b", "12345");
    write_text("chat/a", "");
    write_text("chat/c\n", "");
    write_text("chat/\xff", "");
    write_text("chat/\001upload.x", "");
    assert_int_equal(stat("chat/b", &status), 0);
    open_chat(&chat);
    assert_done(chat_list(&chat, CHAT_MOST_LISTED, &listing, &why));
    assert_int_equal(listing.count, 2);
    assert_string_equal(listing.entries[0].name, "a");
    assert_string_equal(listing.entries[1].name, "b");
    assert_int_equal(listing.entries[1].size, 5);
    assert_memory_equal(&listing.entries[1].time, &status.st_mtim, sizeof status.st_mtim);
    chat_free_listing(&listing);
}

static void no_more_than_so_many_are_listed(void **state)
{
    auto_chat struct chat chat;
    struct chat_listing listing;

    (void)state;
    write_text("chat/a", "");
    write_text("chat/b", "");
    open_chat(&chat);
    assert_done(chat_list(&chat, 2, &listing, &why));
    assert_int_equal(listing.count, 2);
    chat_free_listing(&listing);
    assert_refused(chat_list(&chat, 1, &listing, &why), CHAT_TOO_MANY);
    chat_free_listing(&listing);
}

/* ---- What is removed ---- */

static void files_and_links_are_removed_and_nothing_else(void **state)
{
    auto_chat struct chat chat;

    (void)state;
    plant();
    open_chat(&chat);
    assert_done(chat_remove(&chat, "hard", &why));
    assert_done(chat_remove(&chat, "link", &why));
    assert_done(chat_remove(&chat, "dangling", &why));
    assert_done(chat_remove(&chat, "huge", &why));
    assert_text("outside", "secret");
    assert_text("another", "two names");
    assert_refused(chat_remove(&chat, "link", &why), CHAT_MISSING);
    assert_refused(chat_remove(&chat, "folder", &why), CHAT_FOLDER);
    assert_refused(chat_remove(&chat, "fifo", &why), CHAT_SPECIAL);
    assert_refused(chat_remove(&chat, "socket", &why), CHAT_SPECIAL);
    assert_names("chat", "fifo|folder|large|link-inside|loop|magic|socket|");
}

/* ---- What is sent ---- */

struct told {
    uint64_t last;
    unsigned count;
};

static void note_progress(void *context, uint64_t bytes)
{
    struct told *told = context;

    assert_true(bytes > told->last);
    told->last = bytes;
    told->count++;
}

/* Sends chat/a. */
static int send_to(int out, const struct chat_watch *watch)
{
    auto_chat struct chat chat;
    struct chat_file file = {.fd = -1};
    int result = chat_open(&chat, "chat", &why);

    if (result == 0)
        result = chat_open_file(&chat, "a", &file, &why);
    if (result == 0)
        result = chat_send(&file, "a", out, watch, &why);
    cleanup_close(&file.fd);
    return result;
}

static void a_file_is_sent_to_a_file(void **state)
{
    static const size_t sizes[] = {0, 1, 4096, PART_OF_A_COPY, 2L * PART_OF_A_COPY + 1};

    (void)state;
    for (size_t i = 0; i < array_size(sizes); i++) {
        struct told told = {0};
        const struct chat_watch watch = {note_progress, &told};
        auto_close int out = open("out", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        write_pattern("chat/a", sizes[i]);
        assert_done(send_to(out, &watch));
        assert_pattern("out", sizes[i]);
        assert_int_equal(told.last, sizes[i]);
        assert_int_equal(told.count, (sizes[i] + PART_OF_A_COPY - 1) / PART_OF_A_COPY);
    }
}

static void a_file_is_appended_to_one(void **state)
{
    auto_close int out = -1;

    (void)state;
    write_text("out", "before ");
    write_text("chat/a", "and after");
    out = open("out", O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_done(send_to(out, NULL));
    assert_text("out", "before and after");
}

/* Reads all that comes, slowly. */
struct reader {
    int in, other;
    size_t size;
};

static void read_slowly(const void *context)
{
    const struct reader *reader = context;
    char bytes[16384];
    size_t size = 0;
    ssize_t count;

    close(reader->other);
    while ((count = read(reader->in, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < count; i++)
            must(bytes[i] == pattern_at(size + (size_t)i));
        size += (size_t)count;
        usleep(100);
    }
    must(count == 0 && size == reader->size);
}

static void send_to_slow(int ends[static 2], int flags)
{
    enum { SIZE = 1000001 };
    const struct reader reader = {ends[0], ends[1], SIZE};
    struct told told = {0};
    const struct chat_watch watch = {note_progress, &told};
    pid_t child;
    int status;

    write_pattern("chat/a", SIZE);
    child = start_child(read_slowly, &reader);
    close(ends[0]);
    assert_int_equal(fcntl(ends[1], F_SETFL, flags), 0);
    assert_done(send_to(ends[1], &watch));
    close(ends[1]);
    assert_int_equal(told.last, SIZE);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_file_is_sent_to_slow_readers(void **state)
{
    int ends[2];

    (void)state;
    for (int flags = 0; flags <= O_NONBLOCK; flags += O_NONBLOCK) {
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        send_to_slow(ends, flags);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        send_to_slow(ends, flags);
    }
}

static void send_where_it_cannot_be(int out, int code)
{
    assert_true(out >= 0);
    assert_refused(send_to(out, NULL), code);
    close(out);
}

static void an_output_that_fails_is_told(void **state)
{
    struct write_signals before;
    int ends[2];

    (void)state;
    write_pattern("chat/a", 200000);
    assert_int_equal(hold_off_signals(&before), 0);
    send_where_it_cannot_be(open("/dev/full", O_WRONLY | O_CLOEXEC), CHAT_OUTPUT);
    send_where_it_cannot_be(open("/dev/null", O_RDONLY | O_CLOEXEC), CHAT_OUTPUT);
    send_where_it_cannot_be(open("chat/a", O_RDONLY | O_CLOEXEC), CHAT_OUTPUT);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    send_where_it_cannot_be(ends[1], CHAT_OUTPUT);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    close(ends[0]);
    send_where_it_cannot_be(ends[1], CHAT_OUTPUT);
    assert_refused(send_to(-1, NULL), CHAT_OUTPUT);
    assert_int_equal(restore_signals(&before), 0);
}

/* ---- A file that changes ---- */

static void rewrite(void)
{
    int fd = open("chat/a", O_WRONLY | O_CLOEXEC);

    assert_int_equal(write(fd, "X", 1), 1);
    close(fd);
}

static void truncate_it(void)
{
    assert_int_equal(truncate("chat/a", 1), 0);
}

static void truncate_to_nothing(void)
{
    assert_int_equal(truncate("chat/a", 0), 0);
}

static void grow(void)
{
    append_text("chat/a", "more");
}

static void replace_it(void)
{
    write_text("new", "another");
    assert_int_equal(rename("new", "chat/a"), 0);
}

static int send_changed(void (*change)(void), int out)
{
    auto_chat struct chat chat;
    struct chat_file file;
    int result;

    write_text("chat/a", "content");
    usleep(20000); /* a tick of the clock that files are stamped by */
    open_chat(&chat);
    assert_done(chat_open_file(&chat, "a", &file, &why));
    change();
    result = chat_send(&file, "a", out, NULL, &why);
    cleanup_close(&file.fd);
    return result;
}

static void a_file_that_was_written_to_since_is_told(void **state)
{
    auto_close int out = open("out", O_RDWR | O_CREAT | O_CLOEXEC, 0600),
                   null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)state;
    assert_refused(send_changed(rewrite, out), CHAT_CHANGED);
    assert_refused(send_changed(truncate_it, out), CHAT_CHANGED);
    assert_refused(send_changed(truncate_to_nothing, null), CHAT_CHANGED);
    assert_int_equal(ftruncate(out, 0), 0);
    assert_refused(send_changed(grow, out), CHAT_CHANGED);
    assert_int_equal(ftruncate(out, 0), 0);
    assert_int_equal(lseek(out, 0, SEEK_SET), 0);
    assert_done(send_changed(replace_it, out));
    assert_text("out", "content");
}

static void a_file_with_more_in_it_than_its_size_says_is_told(void **state)
{
    auto_chat struct chat chat;
    struct chat_file file;
    auto_close int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)state;
    assert_done(chat_open(&chat, "/proc/sys/kernel", &why));
    assert_done(chat_open_file(&chat, "ostype", &file, &why));
    assert_refused(chat_send(&file, "ostype", null, NULL, &why), CHAT_CHANGED);
    close(file.fd);
}

/* After the first part. */
static void change_while_sent(void *context, uint64_t bytes)
{
    void (*const *change)(void) = context;

    if (bytes == PART_OF_A_COPY)
        (*change)();
}

static void a_file_that_changes_while_it_is_sent_is_told(void **state)
{
    static void (*const changes[])(void) = {rewrite, truncate_it, grow};
    struct stat status;

    (void)state;
    for (size_t i = 0; i < array_size(changes); i++) {
        void (*change)(void) = changes[i];
        const struct chat_watch watch = {change_while_sent, &change};
        auto_close int out = open("out", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        write_pattern("chat/a", 2L * PART_OF_A_COPY);
        usleep(20000);
        assert_refused(send_to(out, &watch), CHAT_CHANGED);
        assert_int_equal(fstat(out, &status), 0);
        assert_true(status.st_size <= 2L * PART_OF_A_COPY); /* what grew is not sent */
    }
}

/* ---- Memory ---- */

/* By a buffer: no way of the kernel appends to a file. */
static bool send_appended(void)
{
    auto_close int out = open("out", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);

    if (send_to(out, NULL) < 0)
        return false;
    assert_int_equal(lseek(out, 0, SEEK_END), 4);
    return true;
}

static bool list_all(void)
{
    auto_chat struct chat chat;
    struct chat_listing listing;
    int result;

    if (chat_open(&chat, "chat", &why) < 0)
        return false;
    result = chat_list(&chat, CHAT_MOST_LISTED, &listing, &why);
    if (result == 0)
        assert_int_equal(listing.count, 11);
    chat_free_listing(&listing);
    return result == 0;
}

/* Done whole, or refused for want of memory. Returns how many allocations there are. */
static size_t refuse_each(bool (*tries)(void))
{
    size_t at = 0;
    bool was_refused, is_done;

    do {
        long before = allocations_in_use();
        size_t descriptors = open_descriptors();

        why = (struct error){0};
        refuse(++at, false);
        is_done = tries();
        was_refused = allocations_so_far() >= at;
        refuse_no_more();
        if (is_done == was_refused)
            fail_msg("allocation %zu of some: %s", at, is_done ? "nothing says so" : why.message);
        if (was_refused)
            assert_int_equal(chat_refusal(why.code)->exit_status, 2);
        assert_int_equal(allocations_in_use(), before);
        assert_int_equal(open_descriptors(), descriptors);
    } while (was_refused);
    return at;
}

static void memory_that_runs_out_is_told(void **state)
{
    char path[] = "chat/x0";

    (void)state;
    write_text("chat/a", "text");
    for (char i = 0; i < 10; i++, path[6]++)
        write_text(path, "");
    assert_true(refuse_each(list_all) > 11);
    assert_int_equal(refuse_each(send_appended), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_code_has_a_row_of_its_own),
        cmocka_unit_test(names_are_valid_text_without_slashes_and_controls),
        cmocka_unit_test(each_character_is_allowed_or_refused),
        cmocka_unit_test(a_path_is_names_with_slashes_between),
        cmocka_unit_test(a_path_is_shorter_than_path_max),
        place_test(names_are_kept_byte_for_byte),
        place_test(what_is_no_name_is_refused_everywhere),
        cmocka_unit_test(the_limit_is_a_whole_number_from_1_up),
        place_test(the_directory_is_one_and_no_link),
        place_test(without_openat2_nothing_is_done),
        place_test(a_directory_that_this_user_may_not_enter_is_told),
        place_test(only_regular_files_with_one_name_are_opened),
        place_test(devices_are_not_opened),
        place_test(a_file_with_a_lease_is_not_waited_for),
        place_test(file_permissions_are_told),
        place_test(what_is_mounted_in_the_chat_is_left_alone),
        place_test(a_file_that_was_replaced_since_is_opened_again),
        place_test(what_get_would_serve_is_listed),
        place_test(no_more_than_so_many_are_listed),
        place_test(files_and_links_are_removed_and_nothing_else),
        place_test(a_file_is_sent_to_a_file),
        place_test(a_file_is_appended_to_one),
        place_test(a_file_is_sent_to_slow_readers),
        place_test(an_output_that_fails_is_told),
        place_test(a_file_that_was_written_to_since_is_told),
        place_test(a_file_with_more_in_it_than_its_size_says_is_told),
        place_test(a_file_that_changes_while_it_is_sent_is_told),
        place_test(memory_that_runs_out_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
