/* lib/chat: files into a chat's directory. Each test of how a file comes to its place is run on all file systems and kernels that differ. */
#include "allocations.h"
#include "chat_fixture.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#define LEFT "chat/\001upload.0123456789abcdef"

/* ---- Its content ---- */

enum { MOST = 100000 };

static void open_small(struct chat *chat)
{
    open_chat(chat);
    chat->most_bytes = MOST;
}

static void what_is_appended_has_a_limit(void **state)
{
    auto_chat struct chat chat;
    struct chat_upload upload;
    char bytes[1000];
    bool is_replaced;
    size_t size = 0;

    (void)state;
    open_small(&chat);
    assert_done(chat_begin(&chat, "a", &upload, &why));
    for (size_t part = 0; size < MOST; size += part) {
        part = 1 + size % 997 < MOST - size ? 1 + size % 997 : MOST - size;
        for (size_t i = 0; i < part; i++)
            bytes[i] = pattern_at(size + i);
        assert_done(chat_append(&upload, bytes, part, &why));
    }
    assert_done(chat_append(&upload, bytes, 0, &why));
    assert_refused(chat_append(&upload, bytes, 1, &why), CHAT_TOO_LARGE);
    assert_refused(chat_append(&upload, bytes, SIZE_MAX, &why), CHAT_TOO_LARGE);
    assert_int_equal(upload.size, MOST);
    assert_done(chat_finish(&upload, &is_replaced, &why));
    chat_abandon(&upload);
    assert_pattern("chat/a", MOST);
}

static int receive(int in, const struct chat_watch *watch)
{
    auto_chat struct chat chat;
    struct chat_upload upload;
    bool is_replaced;
    int result;

    open_small(&chat);
    assert_done(chat_begin(&chat, "a", &upload, &why));
    result = chat_receive(&upload, in, watch, &why);
    if (result == 0)
        result = chat_finish(&upload, &is_replaced, &why);
    chat_abandon(&upload);
    return result;
}

static void a_file_is_received_up_to_the_limit(void **state)
{
    static const size_t sizes[] = {0, 1, 4097, MOST - 1, MOST, MOST + 1, 3L * MOST};

    (void)state;
    for (size_t i = 0; i < array_size(sizes); i++) {
        auto_close int in = -1;

        write_pattern("in", sizes[i]);
        write_text("chat/a", "old");
        in = open("in", O_RDONLY | O_CLOEXEC);
        if (sizes[i] <= MOST) {
            assert_done(receive(in, NULL));
            assert_pattern("chat/a", sizes[i]);
        } else {
            assert_refused(receive(in, NULL), CHAT_TOO_LARGE);
            assert_text("chat/a", "old");
        }
        assert_names("chat", "a|");
    }
}

static void a_file_is_received_from_where_it_stands(void **state)
{
    auto_close int in = -1;

    (void)state;
    write_text("in", "passed over, received");
    in = open("in", O_RDONLY | O_CLOEXEC);
    assert_int_equal(lseek(in, 13, SEEK_SET), 13);
    assert_done(receive(in, NULL));
    assert_text("chat/a", "received");
}

/* ---- Inputs that are slow ---- */

struct writer {
    int out, other;
    size_t size;
};

static void write_slowly(const void *context)
{
    const struct writer *writer = context;
    char bytes[1500];

    close(writer->other);
    must(signal(SIGPIPE, SIG_IGN) != SIG_ERR); /* the limit may be met before the end */
    for (size_t at = 0, part; at < writer->size; at += part) {
        part = 1 + at % 1499 < writer->size - at ? 1 + at % 1499 : writer->size - at;
        for (size_t i = 0; i < part; i++)
            bytes[i] = pattern_at(at + i);
        if (write_all(writer->out, bytes, part) < 0)
            return;
        usleep(300);
    }
}

static void note_total(void *context, uint64_t bytes)
{
    uint64_t *total = context;

    assert_true(bytes > *total);
    *total = bytes;
}

static int receive_slowly(int ends[static 2], int flags, size_t size)
{
    const struct writer writer = {ends[1], ends[0], size};
    uint64_t total = 0;
    const struct chat_watch watch = {note_total, &total};
    pid_t child = start_child(write_slowly, &writer);
    int status, result;

    close(ends[1]);
    assert_int_equal(fcntl(ends[0], F_SETFL, flags), 0);
    result = receive(ends[0], &watch);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0)
        assert_int_equal(errno, EINTR); /* signals are part of a test */
    assert_int_equal(status, 0);
    if (result == 0)
        assert_int_equal(total, size);
    return result;
}

static void receive_from_both(int flags, size_t size, void (*check)(int result, size_t size))
{
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    check(receive_slowly(ends, flags, size), size);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    check(receive_slowly(ends, flags, size), size);
}

static void check_received(int result, size_t size)
{
    assert_done(result);
    assert_pattern("chat/a", size);
    assert_int_equal(unlink("chat/a"), 0);
}

static void check_too_large(int result, size_t size)
{
    (void)size;
    assert_refused(result, CHAT_TOO_LARGE);
    assert_names("chat", "");
}

static void slow_pipes_and_sockets_are_waited_for(void **state)
{
    (void)state;
    for (int flags = 0; flags <= O_NONBLOCK; flags += O_NONBLOCK) {
        receive_from_both(flags, 0, check_received);
        receive_from_both(flags, 50001, check_received);
        receive_from_both(flags, MOST, check_received);
        receive_from_both(flags, MOST + 1, check_too_large);
    }
}

static void do_nothing(int number)
{
    (void)number;
}

static void signals_do_not_end_a_copy(void **state)
{
    const struct sigaction action = {.sa_handler = do_nothing};
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};

    (void)state;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    receive_from_both(0, 50000, check_received);
    receive_from_both(O_NONBLOCK, 50000, check_received);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
}

static void receive_what_cannot_be_read(int in)
{
    assert_refused(receive(in, NULL), CHAT_INPUT);
    assert_names("chat", "");
    cleanup_close(&in);
}

static void an_input_that_cannot_be_read_is_told(void **state)
{
    auto_chat struct chat chat;
    struct chat_upload upload;
    auto_close int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    receive_what_cannot_be_read(open("chat", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    receive_what_cannot_be_read(open("/dev/null", O_WRONLY | O_CLOEXEC));
    receive_what_cannot_be_read(-1);
    open_chat(&chat);
    chat.most_bytes = 0; /* it is looked for more at once */
    assert_done(chat_begin(&chat, "a", &upload, &why));
    assert_refused(chat_receive(&upload, directory, NULL, &why), CHAT_INPUT);
    chat_abandon(&upload);
}

static void what_is_received_comes_behind_what_was_appended(void **state)
{
    auto_chat struct chat chat;
    struct chat_upload upload;
    uint64_t total = 0;
    const struct chat_watch watch = {note_total, &total};
    auto_close int in = -1;
    bool is_replaced;

    (void)state;
    write_text("in", "efg");
    in = open("in", O_RDONLY | O_CLOEXEC);
    open_chat(&chat);
    chat.most_bytes = 7;
    assert_done(chat_begin(&chat, "a", &upload, &why));
    assert_done(chat_append(&upload, "abcd", 4, &why));
    assert_done(chat_receive(&upload, in, &watch, &why));
    assert_int_equal(total, 7);
    assert_int_equal(upload.size, 7);
    assert_refused(chat_append(&upload, "h", 1, &why), CHAT_TOO_LARGE);
    assert_done(chat_finish(&upload, &is_replaced, &why));
    chat_abandon(&upload);
    assert_text("chat/a", "abcdefg");
}

/* ---- No space ---- */

static int put_pattern(struct chat *chat, int in)
{
    struct chat_upload upload;
    bool is_replaced;
    int result = chat_begin(chat, "a", &upload, &why);

    if (result == 0)
        result = chat_receive(&upload, in, NULL, &why);
    if (result == 0)
        result = chat_finish(&upload, &is_replaced, &why);
    chat_abandon(&upload);
    return result;
}

static char too_many[256 * 1024];

static void fill_up(const char *path)
{
    auto_close int in = open(path, O_RDONLY | O_CLOEXEC);
    struct chat chat;
    struct chat_upload upload;

    must(chat_open(&chat, "chat", &why) == 0);
    must_refuse(put_pattern(&chat, in), CHAT_NO_SPACE);
    must(chat_begin(&chat, "a", &upload, &why) == 0);
    must_refuse(chat_append(&upload, too_many, sizeof too_many, &why), CHAT_NO_SPACE);
    chat_abandon(&upload);
    chat_close(&chat);
}

static void fill_file_system(const void *context)
{
    (void)context;
    must(mount("unit-chat", "chat", "tmpfs", 0, "size=64k,mode=0700") == 0);
    write_text("chat/a", "old");
    fill_up("large");
    assert_text("chat/a", "old");
    assert_names("chat", "a|");
}

static void a_full_file_system_leaves_the_old_file(void **state)
{
    (void)state;
    write_pattern("large", sizeof too_many);
    with_own_mounts(fill_file_system);
}

static void reach_limit(const void *context)
{
    const struct rlimit small = {65536, 65536};

    (void)context;
    must(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &small) == 0);
    fill_up("large");
}

static void the_limit_on_the_size_of_files_leaves_the_old_one(void **state)
{
    (void)state;
    write_pattern("large", sizeof too_many);
    write_text("chat/a", "old");
    in_child(reach_limit, NULL);
    assert_text("chat/a", "old");
    assert_names("chat", "a|");
}

/* ---- In place ---- */

static void put_new_and_again(void)
{
    auto_chat struct chat chat;
    struct chat_file before = {.fd = -1};
    bool is_replaced = true;
    char bytes[8] = "";

    open_chat(&chat);
    assert_done(put(&chat, "a", "old", &is_replaced));
    assert_false(is_replaced);
    assert_belongs("chat/a", getuid(), 0600);
    assert_done(chat_open_file(&chat, "a", &before, &why));
    assert_done(put(&chat, "a", "newer", &is_replaced));
    assert_true(is_replaced);
    assert_text("chat/a", "newer");
    assert_int_equal(read(before.fd, bytes, sizeof bytes), 3);
    assert_string_equal(bytes, "old");
    cleanup_close(&before.fd);
    assert_done(put(&chat, "b", "", &is_replaced));
    assert_false(is_replaced);
    assert_names("chat", "a|b|");
}

static void a_file_comes_to_its_place_whole(void **state)
{
    (void)state;
    in_each_way(put_new_and_again);
}

static void finish_in_time(void)
{
    auto_chat struct chat chat;
    struct chat_upload upload;
    struct chat_listing listing;
    bool is_replaced;

    write_text("chat/a", "old");
    open_chat(&chat);
    assert_done(chat_begin(&chat, "a", &upload, &why));
    assert_done(chat_append(&upload, "new", 3, &why));
    assert_text("chat/a", "old");
    assert_done(chat_list(&chat, CHAT_MOST_LISTED, &listing, &why));
    assert_int_equal(listing.count, 1);
    chat_free_listing(&listing);
    assert_done(chat_finish(&upload, &is_replaced, &why));
    assert_text("chat/a", "new");
    chat_abandon(&upload);
    chat_abandon(&upload); /* nothing is left to be done */
    assert_names("chat", "a|");
}

static void nothing_is_seen_of_it_before(void **state)
{
    (void)state;
    in_each_way(finish_in_time);
}

static void abandon_one(void)
{
    auto_chat struct chat chat;
    struct chat_upload upload;

    write_text("chat/a", "old");
    open_chat(&chat);
    assert_done(chat_begin(&chat, "a", &upload, &why));
    assert_done(chat_append(&upload, "new", 3, &why));
    chat_abandon(&upload);
    assert_names("chat", "a|");
    assert_text("chat/a", "old");
}

static void nothing_is_left_of_what_is_abandoned(void **state)
{
    (void)state;
    in_each_way(abandon_one);
}

static void replace_link(void)
{
    auto_chat struct chat chat;
    bool is_replaced = false;

    write_text("outside", "as it was");
    assert_int_equal(symlink("../outside", "chat/a"), 0);
    assert_int_equal(symlink("missing", "chat/b"), 0);
    open_chat(&chat);
    assert_done(put(&chat, "a", "new", &is_replaced));
    assert_true(is_replaced);
    assert_done(put(&chat, "b", "new", &is_replaced));
    assert_true(is_replaced);
    assert_text("outside", "as it was");
    assert_belongs("chat/a", getuid(), 0600);
    assert_text("chat/a", "new");
    assert_names("chat", "a|b|");
}

static void a_link_is_replaced_and_not_followed(void **state)
{
    (void)state;
    in_each_way(replace_link);
}

static void replace_hard_link(void)
{
    auto_chat struct chat chat;
    bool is_replaced = false;

    write_text("outside", "as it was");
    assert_int_equal(link("outside", "chat/a"), 0);
    open_chat(&chat);
    assert_done(put(&chat, "a", "new", &is_replaced));
    assert_true(is_replaced);
    assert_text("outside", "as it was");
    assert_text("chat/a", "new");
}

static void another_name_of_a_file_is_not_written_to(void **state)
{
    (void)state;
    in_each_way(replace_hard_link);
}

static void meet_what_is_in_the_way(void)
{
    auto_chat struct chat chat;
    bool is_replaced = true;

    make_folder("chat/folder");
    assert_int_equal(mkfifo("chat/fifo", 0600), 0);
    make_socket("chat/socket");
    open_chat(&chat);
    assert_refused(put(&chat, "folder", "new", &is_replaced), CHAT_FOLDER);
    assert_false(is_replaced);
    assert_refused(put(&chat, "fifo", "new", &is_replaced), CHAT_SPECIAL);
    assert_refused(put(&chat, "socket", "new", &is_replaced), CHAT_SPECIAL);
    assert_names("chat", "fifo|folder|socket|");
    assert_names("chat/folder", "");
}

static void folders_and_special_files_are_not_replaced(void **state)
{
    (void)state;
    in_each_way(meet_what_is_in_the_way);
}

/* ---- Folders ---- */

static void make_folders(void)
{
    auto_chat struct chat chat;
    bool is_replaced = true;

    open_chat(&chat);
    assert_done(put(&chat, "a/б/ c/d", "x", &is_replaced));
    assert_false(is_replaced);
    assert_done(put(&chat, "a/б/e", "y", NULL));
    assert_done(put(&chat, "a/б/e", "z", &is_replaced));
    assert_true(is_replaced);
    assert_text("chat/a/б/ c/d", "x");
    assert_text("chat/a/б/e", "z");
    assert_names("chat", "a|");
    assert_names("chat/a/б", " c|e|");
    assert_belongs("chat/a/б", getuid(), 0700);
}

static void missing_folders_are_made(void **state)
{
    (void)state;
    in_each_way(make_folders);
}

static void folders_can_be_searched_by_who_can_read_the_files(void **state)
{
    static const struct {
        mode_t file, folder;
    } rows[] = {{0600, 0700}, {0640, 0750}, {0644, 0755}, {0660, 0770}, {0666, 0777}, {0620, 0720}};
    auto_chat struct chat chat;

    (void)state;
    open_chat(&chat);
    for (size_t i = 0; i < array_size(rows); i++) {
        chat.mode = rows[i].file;
        assert_done(put(&chat, "a/b/c", "x", NULL));
        assert_belongs("chat/a", getuid(), rows[i].folder);
        assert_belongs("chat/a/b", getuid(), rows[i].folder);
        assert_belongs("chat/a/b/c", getuid(), rows[i].file);
        clear_chat();
        chat_close(&chat);
        open_chat(&chat);
    }
}

static void meet_no_folder(void)
{
    auto_chat struct chat chat;

    make_folder("chat/folder");
    write_text("chat/file", "as it was");
    assert_int_equal(mkfifo("chat/fifo", 0600), 0);
    assert_int_equal(symlink("folder", "chat/link"), 0);
    assert_int_equal(symlink("../link", "chat/folder/up"), 0);
    open_chat(&chat);
    assert_refused(put(&chat, "file/a", "new", NULL), CHAT_NOT_FOLDER);
    assert_refused(put(&chat, "fifo/a", "new", NULL), CHAT_NOT_FOLDER);
    assert_refused(put(&chat, "file/a/b", "new", NULL), CHAT_NOT_FOLDER);
    assert_refused(put(&chat, "link/a", "new", NULL), CHAT_LINK);
    assert_refused(put(&chat, "link/a/b", "new", NULL), CHAT_LINK);
    assert_refused(put(&chat, "folder/up/a", "new", NULL), CHAT_LINK);
    assert_text("chat/file", "as it was");
    assert_names("chat", "fifo|file|folder|link|");
    assert_names("chat/folder", "up|");
}

static void links_and_files_are_no_folders(void **state)
{
    (void)state;
    in_each_way(meet_no_folder);
}

static void lose_directory(void)
{
    auto_chat struct chat chat = {.directory = -1}, folders = {.directory = -1};
    struct chat_upload upload, in_folder;
    bool is_replaced;

    if (strange.has_no_tmpfile) /* then it is not empty */
        return;
    open_chat(&chat);
    open_chat(&folders);
    assert_done(chat_begin(&chat, "a", &upload, &why));
    assert_done(chat_begin(&folders, "a/b", &in_folder, &why));
    assert_int_equal(rmdir("chat"), 0);
    assert_refused(chat_finish(&upload, &is_replaced, &why), CHAT_CHANGED);
    assert_refused(chat_finish(&in_folder, &is_replaced, &why), CHAT_CHANGED);
    chat_abandon(&upload);
    chat_abandon(&in_folder);
    assert_refused(chat_begin(&chat, "a", &upload, &why), CHAT_DIRECTORY);
    chat_abandon(&upload);
    make_folder("chat");
}

static void a_directory_that_is_removed_meanwhile_is_told(void **state)
{
    (void)state;
    in_each_way(lose_directory);
}

static void have_no_proc(const void *context)
{
    struct chat chat;

    (void)context;
    must(chat_open(&chat, "chat", &why) == 0);
    must(mount("unit-chat", "/proc", "tmpfs", 0, NULL) == 0);
    strange.needs_proc = true;
    must_refuse(put(&chat, "a", "x", NULL), CHAT_SYSTEM);
    must(strstr(why.message, "/proc") || strstr(why.hint, "/proc"));
    strange.needs_proc = false;
    must(put(&chat, "b", "x", NULL) == 0); /* that it did not work once is no reason not to try again */
    chat_close(&chat);
}

static void without_proc_it_is_said_what_is_missing(void **state)
{
    (void)state;
    with_own_mounts(have_no_proc);
    assert_names("chat", "b|");
}

/* ---- Owners ---- */

static void give_chat_to(uid_t user, mode_t mode)
{
    need(geteuid() == 0, "root, who can be another user");
    assert_int_equal(chown("chat", user, user), 0);
    assert_int_equal(chmod("chat", mode), 0);
}

static void put_for_owner(void)
{
    auto_chat struct chat chat;

    open_chat(&chat);
    assert_done(put(&chat, "a", "x", NULL));
    assert_done(put(&chat, "a", "y", NULL));
    assert_done(put(&chat, "b/c/d", "x", NULL));
    assert_belongs("chat/a", OWNER, 0600);
    assert_belongs("chat/b", OWNER, 0700);
    assert_belongs("chat/b/c", OWNER, 0700);
    assert_belongs("chat/b/c/d", OWNER, 0600);
    write_text("roots", "");
    assert_belongs("roots", 0, 0600); /* this process is itself again */
}

static void what_root_puts_belongs_to_the_owner(void **state)
{
    (void)state;
    give_chat_to(OWNER, 0700);
    in_each_way(put_for_owner);
}

static void put_own(struct chat *chat)
{
    bool is_replaced;

    must(put(chat, "a", "x", &is_replaced) == 0 && !is_replaced);
    must(put(chat, "a", "y", &is_replaced) == 0 && is_replaced);
    must(put(chat, "b/c", "z", &is_replaced) == 0 && !is_replaced);
}

static void put_as_owner(void)
{
    as_user(OWNER, put_own);
    assert_belongs("chat/a", OWNER, 0600);
    assert_belongs("chat/b", OWNER, 0700);
    assert_text("chat/a", "y");
    assert_text("chat/b/c", "z");
    assert_names("chat", "a|b|");
}

static void the_owner_needs_no_right(void **state)
{
    (void)state;
    give_chat_to(OWNER, 0700);
    in_each_way(put_as_owner);
}

static void put_as_stranger(struct chat *chat)
{
    must_refuse(put(chat, "a", "x", NULL), CHAT_PERMISSION);
    must_refuse(put(chat, "old", "x", NULL), CHAT_PERMISSION);
    must_refuse(put(chat, "b/c", "x", NULL), CHAT_PERMISSION);
}

static void be_a_stranger(void)
{
    write_text("chat/old", "as it was");
    as_user(STRANGER, put_as_stranger);
    assert_names("chat", "old|");
    assert_text("chat/old", "as it was");
}

static void what_cannot_be_given_to_the_owner_is_not_left(void **state)
{
    (void)state;
    give_chat_to(OWNER, 0777);
    in_each_way(be_a_stranger);
}

static void begin_as_stranger(struct chat *chat)
{
    struct chat_upload upload;

    must_refuse(chat_begin(chat, "a", &upload, &why), CHAT_PERMISSION);
    chat_abandon(&upload);
}

static void who_may_not_write_is_told_at_once(void **state)
{
    (void)state;
    give_chat_to(OWNER, 0755);
    as_user(STRANGER, begin_as_stranger);
    strange.has_no_tmpfile = true;
    as_user(STRANGER, begin_as_stranger);
}

/* ---- What other uploads left ---- */

static void what_was_left_goes_with_the_next_upload(void **state)
{
    auto_chat struct chat chat;

    (void)state;
    write_text("outside", "as it was");
    write_text(LEFT, "half a f");
    write_text("chat/\001upload.", "");
    write_text("chat/\001uploads", "another");
    write_text("chat/\001", "another");
    assert_int_equal(symlink("../outside", "chat/\001upload.link"), 0);
    assert_int_equal(mkfifo("chat/\001upload.fifo", 0600), 0);
    make_socket("chat/\001upload.socket");
    make_folder("chat/\001upload.folder");
    open_chat(&chat);
    assert_done(put(&chat, "a", "x", NULL));
    assert_names("chat", "\001|\001upload.folder|\001uploads|a|");
    assert_text("outside", "as it was");
}

static void leave_half(const void *context)
{
    struct chat chat;
    struct chat_upload upload;

    (void)context;
    must(chat_open(&chat, "chat", &why) == 0);
    must(chat_begin(&chat, "a", &upload, &why) == 0);
    must(chat_append(&upload, "half", 4, &why) == 0);
}

static void be_killed(void)
{
    auto_chat struct chat chat;
    struct chat_listing listing;
    struct chat_file file;

    write_text("chat/a", "old");
    in_child(leave_half, NULL);
    open_chat(&chat);
    assert_done(chat_list(&chat, CHAT_MOST_LISTED, &listing, &why));
    assert_int_equal(listing.count, 1);
    chat_free_listing(&listing);
    assert_done(chat_open_file(&chat, "a", &file, &why));
    close(file.fd);
    assert_text("chat/a", "old");
    assert_done(put(&chat, "b", "x", NULL));
    assert_names("chat", "a|b|");
}

static void what_a_killed_upload_left_goes_with_the_next_one(void **state)
{
    (void)state;
    in_each_way(be_killed);
}

static void end(void)
{
    _exit(0);
}

static void leave_linked(const void *context)
{
    struct chat chat;

    (void)context;
    must(chat_open(&chat, "chat", &why) == 0);
    strange.before_rename = end;
    put(&chat, "a", "new", NULL);
    must(!"it ended before");
}

static void be_killed_before_rename(void)
{
    auto_chat struct chat chat;

    write_text("chat/a", "old");
    in_child(leave_linked, NULL);
    assert_text("chat/a", "old");
    open_chat(&chat);
    assert_done(put(&chat, "b", "x", NULL));
    assert_names("chat", "a|b|");
}

static void what_has_its_name_for_a_moment_goes_likewise(void **state)
{
    (void)state;
    in_each_way(be_killed_before_rename);
}

static void become_fifo(void)
{
    assert_int_equal(unlink("chat/a"), 0);
    assert_int_equal(mkfifo("chat/a", 0600), 0);
}

static void become_folder(void)
{
    assert_int_equal(unlink("chat/a"), 0);
    make_folder("chat/a");
}

static void what_came_there_just_now_stays(void **state)
{
    static const struct {
        void (*come)(void);
        int code;
        mode_t kind;
    } kinds[] = {{become_fifo, CHAT_SPECIAL, S_IFIFO}, {become_folder, CHAT_FOLDER, S_IFDIR}};

    (void)state;
    for (size_t i = 0; i < array_size(kinds); i++) {
        auto_chat struct chat chat;
        struct stat status;

        write_text("chat/a", "old");
        open_chat(&chat);
        strange.before_rename = kinds[i].come;
        assert_refused(put(&chat, "a", "new", NULL), kinds[i].code);
        assert_null(strange.before_rename);
        assert_int_equal(lstat("chat/a", &status), 0);
        assert_int_equal(status.st_mode & S_IFMT, kinds[i].kind);
        assert_names("chat", "a|");
        assert_int_equal(remove("chat/a"), 0);
    }
}

/* Another process' upload: it has the chat's directory open by itself. */
static void upload_beside(void)
{
    auto_chat struct chat chat;
    struct chat_upload upload;

    open_chat(&chat);
    assert_done(chat_begin(&chat, "beside", &upload, &why));
    chat_abandon(&upload);
}

static void upload_meanwhile(void)
{
    auto_chat struct chat chat;
    struct chat_upload upload;
    bool is_replaced = false;

    write_text("chat/a", "old");
    open_chat(&chat);
    assert_done(chat_begin(&chat, "a", &upload, &why));
    upload_beside();
    assert_done(chat_append(&upload, "new", 3, &why));
    strange.before_rename = upload_beside;
    assert_done(chat_finish(&upload, &is_replaced, &why));
    assert_null(strange.before_rename);
    assert_true(is_replaced);
    chat_abandon(&upload);
    assert_text("chat/a", "new");
    assert_names("chat", "a|");
}

static void an_upload_that_goes_on_is_left_alone(void **state)
{
    (void)state;
    in_each_way(upload_meanwhile);
}

static void begin_while_another_sweeps(void)
{
    auto_chat struct chat chat;

    open_chat(&chat);
    strange.after_creation = strange.has_no_tmpfile ? upload_beside : NULL;
    assert_done(put(&chat, "a", "new", NULL));
    assert_null(strange.after_creation);
    assert_text("chat/a", "new");
    assert_names("chat", "a|");
}

static void an_upload_that_is_taken_for_a_left_one_begins_again(void **state)
{
    (void)state;
    in_each_way(begin_while_another_sweeps);
}

/* The other's upload holds the lock when this one wants it. */
static int held = -1;

static void hold_lock(void)
{
    char path[PATH_MAX];
    DIR *stream = opendir("chat");

    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream));)
        if (entry->d_name[0] == '\001') {
            snprintf(path, sizeof path, "chat/%s", entry->d_name);
            held = open(path, O_RDONLY | O_CLOEXEC);
            assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
            assert_int_equal(unlink(path), 0);
        }
    closedir(stream);
}

static void an_upload_whose_lock_another_has_begins_again(void **state)
{
    auto_chat struct chat chat;

    (void)state;
    strange.has_no_tmpfile = true;
    strange.after_creation = hold_lock;
    open_chat(&chat);
    assert_done(put(&chat, "a", "new", NULL));
    assert_true(held >= 0);
    close(held);
    assert_text("chat/a", "new");
    assert_names("chat", "a|");
}

/* A file that cannot be looked at for want of something here may be one that is written to. */
static void what_cannot_be_looked_at_is_left_alone(void **state)
{
    static const int failures[] = {EMFILE, ENFILE, ENOMEM, EIO};
    auto_chat struct chat chat;
    struct chat_upload upload;
    bool is_replaced;

    (void)state;
    strange.has_no_tmpfile = true;
    open_chat(&chat);
    for (size_t i = 0; i < array_size(failures); i++) {
        auto_chat struct chat other;
        struct chat_upload beside;

        open_chat(&other);
        assert_done(chat_begin(&chat, "a", &upload, &why));
        strange.openat2_failure = failures[i];
        assert_done(chat_begin(&other, "b", &beside, &why));
        strange.openat2_failure = 0;
        chat_abandon(&beside);
        assert_done(chat_finish(&upload, &is_replaced, &why));
        chat_abandon(&upload);
    }
    assert_names("chat", "a|");
}

static void begin_and_abandon(struct chat *chat)
{
    struct chat_upload upload;

    strange.has_no_tmpfile = true;
    must(chat_begin(chat, "b", &upload, &why) == 0);
    chat_abandon(&upload);
}

static void roots_upload_is_left_alone_by_the_owners(void **state)
{
    auto_chat struct chat chat;
    struct chat_upload upload;
    bool is_replaced;

    (void)state;
    give_chat_to(OWNER, 0700);
    strange.has_no_tmpfile = true;
    open_chat(&chat);
    assert_done(chat_begin(&chat, "a", &upload, &why));
    as_user(OWNER, begin_and_abandon);
    assert_done(chat_finish(&upload, &is_replaced, &why));
    chat_abandon(&upload);
    assert_names("chat", "a|");
}

/* ---- Memory ---- */

static int put_into_folder(void)
{
    auto_chat struct chat chat;
    auto_close int in = open("in", O_RDONLY | O_CLOEXEC);
    struct chat_upload upload = {.fd = -1};
    bool is_replaced;
    int result = chat_open(&chat, "chat", &why);

    if (result == 0)
        result = chat_begin(&chat, "folder/a", &upload, &why);
    if (result == 0)
        result = chat_receive(&upload, in, NULL, &why);
    if (result == 0)
        result = chat_finish(&upload, &is_replaced, &why);
    chat_abandon(&upload);
    return result;
}

/* Refuses allocation number `at`. Whether there are so many. */
static bool refuse_one(size_t at)
{
    long before = allocations_in_use();
    size_t descriptors = open_descriptors();
    bool was_refused;
    int result;

    refuse(at, false);
    result = put_into_folder();
    was_refused = allocations_so_far() >= at;
    refuse_no_more();
    assert_int_equal(allocations_in_use(), before);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(result, was_refused ? -1 : 0);
    if (was_refused)
        assert_int_equal(chat_refusal(why.code)->exit_status, 2);
    return was_refused;
}

static void put_without_memory(void)
{
    size_t at = 1;

    write_text(LEFT, "left");
    make_folder("chat/folder");
    write_text("chat/folder/a", "old");
    for (; refuse_one(at); at++) {
        assert_text("chat/folder/a", "old");
        assert_names("chat/folder", "a|");
        write_text(LEFT, "left");
    }
    assert_true(at > 4);
    assert_text("chat/folder/a", "received");
    assert_names("chat", "folder|");
}

static void memory_that_runs_out_leaves_the_old_file(void **state)
{
    (void)state;
    write_text("in", "received");
    in_each_way(put_without_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(what_is_appended_has_a_limit),
        place_test(a_file_is_received_up_to_the_limit),
        place_test(a_file_is_received_from_where_it_stands),
        place_test(slow_pipes_and_sockets_are_waited_for),
        place_test(signals_do_not_end_a_copy),
        place_test(an_input_that_cannot_be_read_is_told),
        place_test(what_is_received_comes_behind_what_was_appended),
        place_test(a_full_file_system_leaves_the_old_file),
        place_test(the_limit_on_the_size_of_files_leaves_the_old_one),
        place_test(a_file_comes_to_its_place_whole),
        place_test(nothing_is_seen_of_it_before),
        place_test(nothing_is_left_of_what_is_abandoned),
        place_test(a_link_is_replaced_and_not_followed),
        place_test(another_name_of_a_file_is_not_written_to),
        place_test(folders_and_special_files_are_not_replaced),
        place_test(missing_folders_are_made),
        place_test(folders_can_be_searched_by_who_can_read_the_files),
        place_test(links_and_files_are_no_folders),
        place_test(a_directory_that_is_removed_meanwhile_is_told),
        place_test(without_proc_it_is_said_what_is_missing),
        place_test(what_root_puts_belongs_to_the_owner),
        place_test(the_owner_needs_no_right),
        place_test(what_cannot_be_given_to_the_owner_is_not_left),
        place_test(who_may_not_write_is_told_at_once),
        place_test(what_was_left_goes_with_the_next_upload),
        place_test(what_a_killed_upload_left_goes_with_the_next_one),
        place_test(what_has_its_name_for_a_moment_goes_likewise),
        place_test(what_came_there_just_now_stays),
        place_test(an_upload_that_goes_on_is_left_alone),
        place_test(an_upload_that_is_taken_for_a_left_one_begins_again),
        place_test(an_upload_whose_lock_another_has_begins_again),
        place_test(what_cannot_be_looked_at_is_left_alone),
        place_test(roots_upload_is_left_alone_by_the_owners),
        place_test(memory_that_runs_out_leaves_the_old_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
