/* lib/chat: files and folders of elsewhere come into a chat's directory. */
#include "allocations.h"
#include "chat_fixture.h"

#include <sys/mount.h>

/* ---- The report, as lines "OUTCOME SOURCE PATH CODE" ---- */

struct report {
    char text[32 * PATH_MAX];
    void (*after_first)(void); /* called once something is told */
};

static void note(void *context, const struct chat_imported *file)
{
    struct report *report = context;
    size_t length = strlen(report->text);
    void (*called)(void) = report->after_first;

    snprintf(report->text + length, sizeof report->text - length, "%s %s %s%s%s\n",
             chat_outcome_name(file->outcome), file->source, file->path ? file->path : "-",
             file->why ? " " : "", file->why ? chat_refusal(file->why->code)->name : "");
    report->after_first = NULL;
    if (called)
        called();
}

static struct chat_import import;
static struct report report;

/* Imports sources, the last of which is NULL, at most `most` files. */
static int import_most(size_t most, const char *const *sources)
{
    auto_chat struct chat chat;
    size_t count = 0;
    int result;

    import = (struct chat_import){.most = most, .tell = note, .context = &report};
    report.text[0] = '\0';
    while (sources[count])
        count++;
    result = chat_open(&chat, "chat", &why);
    return result < 0 ? -1 : chat_import(&chat, (char *const *)sources, count, &import, &why);
}

#define sources(...)      \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static void assert_imports(const char *const *sources, const char *expected, bool is_complete)
{
    assert_done(import_most(CHAT_MOST_IMPORTED, sources));
    assert_string_equal(report.text, expected);
    assert_int_equal(import.is_complete, is_complete);
}

static void assert_counts(size_t copied, size_t replaced, size_t skipped)
{
    assert_int_equal(import.copied, copied);
    assert_int_equal(import.replaced, replaced);
    assert_int_equal(import.skipped, skipped);
}

/* ---- What is copied ---- */

static void make_source(void)
{
    make_folder("source");
    make_folder("source/б");
    make_folder("source/б/ c");
    make_folder("source/empty");
    write_text("source/z", "z");
    write_text("source/a", "a");
    write_text("source/б/ c/d", "d");
    write_text("file", "f");
}

static void import_source(void)
{
    assert_imports(sources("file", "source", "missing"),
                   "copied file file\n"
                   "copied source/a a\n"
                   "copied source/z z\n"
                   "copied source/б/ c/d б/ c/d\n"
                   "skipped missing - missing\n",
                   true);
    assert_counts(4, 0, 1);
    assert_text("chat/б/ c/d", "d");
    assert_names("chat", "a|file|z|б|");
    assert_imports(sources("source/"),
                   "replaced source/a a\n"
                   "replaced source/z z\n"
                   "replaced source/б/ c/d б/ c/d\n",
                   true);
    assert_counts(0, 3, 0);
}

static void files_and_folders_are_copied_in_order(void **state)
{
    (void)state;
    make_source();
    in_each_way(import_source);
}

static void of_two_with_the_same_path_the_later_stays(void **state)
{
    (void)state;
    make_folder("one");
    make_folder("one/x");
    make_folder("two");
    make_folder("two/x");
    write_text("one/x/a", "one");
    write_text("two/x/a", "two");
    assert_imports(sources("one", "two"), "copied one/x/a x/a\nreplaced two/x/a x/a\n", true);
    assert_text("chat/x/a", "two");
    assert_imports(sources("two/x/a", "one/x/a"), "copied two/x/a a\nreplaced one/x/a a\n", true);
    assert_text("chat/a", "one");
}

static void import_for_owner(void)
{
    import_source();
    assert_belongs("chat/a", OWNER, 0600);
    assert_belongs("chat/б", OWNER, 0700);
    assert_belongs("chat/б/ c", OWNER, 0700);
    assert_belongs("chat/б/ c/d", OWNER, 0600);
}

static void what_root_imports_belongs_to_the_owner(void **state)
{
    (void)state;
    need(geteuid() == 0, "root, who can be another user");
    assert_int_equal(chown("chat", OWNER, OWNER), 0);
    make_source();
    in_each_way(import_for_owner);
}

/* ---- What is skipped ---- */

static void links_and_special_files_are_skipped(void **state)
{
    (void)state;
    make_folder("source");
    write_text("outside", "secret");
    assert_int_equal(symlink("../outside", "source/link"), 0);
    assert_int_equal(symlink(".", "source/loop"), 0);
    assert_int_equal(mkfifo("source/fifo", 0600), 0);
    make_socket("source/socket");
    assert_imports(sources("source"),
                   "skipped source/fifo fifo special\n"
                   "skipped source/link link link\n"
                   "skipped source/loop loop link\n"
                   "skipped source/socket socket special\n",
                   true);
    assert_imports(sources("source/link", "source/loop/", "source/fifo", "source/socket", "source/missing"),
                   "skipped source/link - link\n"
                   "skipped source/loop - link\n"
                   "skipped source/fifo - special\n"
                   "skipped source/socket - special\n"
                   "skipped source/missing - missing\n",
                   true);
    assert_imports(sources(""), "skipped  - name\n", false);
    assert_names("chat", "");
}

static void what_cannot_be_copied_makes_it_incomplete(void **state)
{
    (void)state;
    make_folder("source");
    write_text("source/hard", "x");
    assert_int_equal(link("source/hard", "another"), 0);
    write_text("source/large", "");
    assert_int_equal(truncate("source/large", CHAT_MOST_BYTES + 1L), 0);
    write_text("source/c\n", "x");
    make_folder("source/\xff");
    write_text("source/\xff/a", "x");
    write_text("source/a", "x");
    assert_imports(sources("source"),
                   "copied source/a a\n"
                   "skipped source/c\n c\n name\n"
                   "skipped source/hard hard hard-link\n"
                   "skipped source/large large too-large\n"
                   "skipped source/\xff \xff name\n",
                   false);
    assert_imports(sources("another"), "skipped another another hard-link\n", false);
    assert_imports(sources("source/c\n"), "skipped source/c\n c\n name\n", false);
    assert_names("chat", "a|");
}

/* What the chat's own code has put there is no reason to say that all was copied. */
static void what_is_in_the_way_makes_it_incomplete(void **state)
{
    (void)state;
    make_folder("source");
    make_folder("source/d");
    write_text("source/a", "x");
    write_text("source/b", "x");
    write_text("source/d/e", "x");
    write_text("f", "x");
    assert_int_equal(mkfifo("chat/a", 0600), 0);
    assert_imports(sources("source/a"), "skipped source/a a special\n", false);
    make_folder("chat/b");
    assert_imports(sources("source/b"), "skipped source/b b folder\n", false);
    make_folder("elsewhere");
    make_folder("elsewhere/d");
    assert_int_equal(symlink("../elsewhere", "chat/d"), 0);
    make_folder("source/d/d");
    write_text("source/d/d/e", "x");
    assert_imports(sources("source/d/d/e", "source"),
                   "copied source/d/d/e e\n"
                   "skipped source/a a special\n"
                   "skipped source/b b folder\n"
                   "skipped source/d/d/e d/d/e link\n"
                   "skipped source/d/e d/e link\n",
                   false);
    assert_names("elsewhere", "d|");
    assert_names("elsewhere/d", "");
    assert_int_equal(unlink("source/d/e"), 0);
    assert_int_equal(unlink("source/a"), 0);
    assert_int_equal(unlink("source/b"), 0);
    assert_imports(sources("source"), "skipped source/d/d/e d/d/e link\n", false);
}

static void import_as_stranger(struct chat *chat)
{
    (void)chat;
    must(import_most(CHAT_MOST_IMPORTED, sources("source", "unreadable")) == 0);
    must(!strcmp(report.text, "skipped source/a a permission\n"
                              "skipped source/b b permission\n"
                              "skipped unreadable - permission\n"));
    must(!import.is_complete);
}

static void what_this_user_may_not_read_is_skipped(void **state)
{
    (void)state;
    make_folder("source");
    make_folder("unreadable");
    make_folder("source/b");
    write_text("source/a", "x");
    assert_int_equal(chmod("source", 0755), 0);
    assert_int_equal(chmod("chat", 0777), 0);
    as_user(STRANGER, import_as_stranger);
}

static void the_chat_is_not_imported_into_itself(void **state)
{
    (void)state;
    write_text("beside", "x");
    write_text("chat/a", "x");
    make_folder("chat/b");
    write_text("chat/b/c", "x");
    assert_imports(sources("chat"), "skipped chat - itself\n", false);
    assert_imports(sources("."), "copied ./beside beside\nskipped ./chat chat itself\n", false);
    assert_imports(sources("chat/b", "chat/a"), "copied chat/b/c c\nreplaced chat/a a\n", true);
    assert_names("chat", "a|b|beside|c|");
}

static void meet_mounts(const void *context)
{
    (void)context;
    must(mount("outside", "source/a", NULL, MS_BIND, NULL) == 0);
    must(mount("elsewhere", "source/b", NULL, MS_BIND, NULL) == 0);
    must(mount("chat", "again", NULL, MS_BIND, NULL) == 0);
    must(import_most(CHAT_MOST_IMPORTED, sources("source", "again", "source/b")) == 0);
    must(!strcmp(report.text, "skipped source/a a mount\n"
                              "skipped source/b b mount\n"
                              "skipped again - itself\n"
                              "copied source/b/x x\n"));
    must(!import.is_complete);
}

static void other_mounts_in_a_source_are_skipped(void **state)
{
    (void)state;
    make_folder("source");
    make_folder("source/b");
    make_folder("elsewhere");
    make_folder("again");
    write_text("source/a", "");
    write_text("outside", "secret");
    write_text("elsewhere/x", "x");
    with_own_mounts(meet_mounts);
    assert_names("chat", "x|");
}

/* ---- Bounds ---- */

static void make_many(const char *folder, size_t count)
{
    char path[64];

    make_folder(folder);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%02zu", folder, i);
        write_text(path, path);
    }
}

static size_t count_in(const char *text, const char *word)
{
    size_t count = 0;

    for (; (text = strstr(text, word)); text++)
        count++;
    return count;
}

static void no_more_than_the_limit_is_copied(void **state)
{
    (void)state;
    make_many("source", 41);
    assert_int_equal(symlink("00", "source/00-link"), 0); /* does not count */
    assert_done(import_most(41, sources("missing", "source")));
    assert_true(import.is_complete);
    assert_counts(41, 0, 2);
    assert_done(import_most(40, sources("missing", "source")));
    assert_false(import.is_complete);
    assert_counts(0, 40, 3);
    assert_int_equal(count_in(report.text, " limit\n"), 1);
    assert_non_null(strstr(report.text, "skipped source/40 40 limit\n"));
    clear_chat();
    assert_done(import_most(1, sources("source", "source/05")));
    assert_counts(1, 0, 42);
    assert_names("chat", "00|");
    assert_done(import_most(0, sources("source/05")));
    assert_counts(0, 0, 1);
}

static void make_depth(size_t depth)
{
    char path[PATH_MAX] = "source";

    for (size_t i = 0; i < depth; i++) {
        make_folder(path);
        strcat(path, "/d");
    }
    strcpy(strrchr(path, '/'), "/file");
    write_text(path, "x");
}

static void folders_within_each_other_have_a_limit(void **state)
{
    (void)state;
    make_depth(CHAT_DEEPEST);
    assert_done(import_most(CHAT_MOST_IMPORTED, sources("source")));
    assert_counts(1, 0, 0);
    assert_int_equal(rename("source", "inner"), 0);
    make_folder("source");
    assert_int_equal(rename("inner", "source/d"), 0);
    assert_done(import_most(CHAT_MOST_IMPORTED, sources("source")));
    assert_counts(0, 0, 1);
    assert_non_null(strstr(report.text, " depth\n"));
    assert_false(import.is_complete);
}

#define X_50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X_250 X_50 X_50 X_50 X_50 X_50

/* Seventeen folders of such names are longer than a path may be. */
static void paths_that_are_too_long_are_skipped(void **state)
{
    int top = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    make_folder("source");
    assert_int_equal(chdir("source"), 0);
    for (int i = 0; i < 20; i++) {
        make_folder(X_250);
        assert_int_equal(chdir(X_250), 0);
        write_text("a", "x");
    }
    assert_int_equal(fchdir(top), 0);
    close(top);
    assert_done(import_most(CHAT_MOST_IMPORTED, sources("source")));
    assert_counts(16, 0, 1);
    assert_int_equal(count_in(report.text, " name\n"), 1);
    assert_false(import.is_complete);
}

static void a_source_that_is_too_long_is_skipped(void **state)
{
    static char path[2 * PATH_MAX];

    (void)state;
    memset(path, '/', sizeof path - 1);
    path[0] = '.';
    assert_done(import_most(CHAT_MOST_IMPORTED, sources(path))); /* but for the slashes it is not */
    assert_int_equal(import.copied, 0);
    assert_non_null(strstr(report.text, "itself"));
    memset(path, 'x', sizeof path - 1);
    assert_done(import_most(CHAT_MOST_IMPORTED, sources(path)));
    assert_counts(0, 0, 1);
    assert_non_null(strstr(report.text, " name\n"));
    assert_false(import.is_complete);
}

/* ---- What changes meanwhile ---- */

static void remove_folder(void)
{
    assert_int_equal(unlink("chat/b/a"), 0);
    assert_int_equal(rmdir("chat/b"), 0);
}

static void import_into_removed(void)
{
    report.after_first = remove_folder;
    assert_imports(sources("source"), "copied source/b/a b/a\ncopied source/b/c b/c\n", true);
    assert_null(report.after_first);
    assert_names("chat/b", "c|");
}

static void a_folder_that_is_removed_meanwhile_is_made_again(void **state)
{
    (void)state;
    make_folder("source");
    make_folder("source/b");
    write_text("source/b/a", "x");
    write_text("source/b/c", "x");
    in_each_way(import_into_removed);
}

static void remove_chat(void)
{
    assert_int_equal(unlink("chat/a"), 0);
    assert_int_equal(rmdir("chat"), 0);
}

static void a_chat_that_is_removed_meanwhile_is_told(void **state)
{
    (void)state;
    make_folder("source");
    make_folder("source/b");
    write_text("source/a", "x");
    write_text("source/b/c", "x");
    report.after_first = remove_chat;
    assert_done(import_most(CHAT_MOST_IMPORTED, sources("source")));
    assert_counts(1, 0, 1);
    assert_false(import.is_complete);
    make_folder("chat");
}

static void grow_b(void)
{
    append_text("source/b", "more");
}

static void remove_b(void)
{
    assert_int_equal(unlink("source/b"), 0);
}

static void link_b(void)
{
    remove_b();
    assert_int_equal(symlink("../outside", "source/b"), 0);
}

static void a_source_that_changes_meanwhile_is_taken_as_it_is(void **state)
{
    (void)state;
    make_folder("source");
    write_text("source/a", "x");
    write_text("source/b", "x");
    report.after_first = grow_b;
    assert_imports(sources("source"), "copied source/a a\ncopied source/b b\n", true);
    assert_text("chat/b", "xmore");
    report.after_first = link_b;
    assert_imports(sources("source"), "replaced source/a a\nskipped source/b b link\n", true);
    report.after_first = remove_b;
    assert_imports(sources("source"), "replaced source/a a\nskipped source/b b missing\n", true);
    assert_text("chat/b", "xmore");
}

/* ---- Progress ---- */

struct watched {
    uint64_t last;
    bool is_back;
    const char *grows; /* a file that is written to while it is copied */
};

static void watch(void *context, uint64_t bytes)
{
    struct watched *watched = context;

    watched->is_back |= bytes <= watched->last;
    watched->last = bytes;
    if (watched->grows)
        append_text(watched->grows, "more");
    watched->grows = NULL;
}

static void import_watched(struct watched *watched, const char *const *sources)
{
    auto_chat struct chat chat;

    report.text[0] = '\0';
    import = (struct chat_import){.most = 40, .tell = note, .context = &report, .watch = { watch, watched }};
    open_chat(&chat);
    assert_done(chat_import(&chat, (char *const *)sources, 2, &import, &why));
}

static void progress_is_of_all_files(void **state)
{
    struct watched watched = {0};

    (void)state;
    write_pattern("a", 1000);
    write_pattern("b", 5000000);
    import_watched(&watched, sources("a", "b"));
    assert_int_equal(watched.last, 5001000);
    assert_false(watched.is_back);
    assert_pattern("chat/b", 5000000);
}

static void a_source_that_grows_while_it_is_copied_is_skipped(void **state)
{
    struct watched watched = {.grows = "a"};

    (void)state;
    write_pattern("a", 2L * PART_OF_A_COPY);
    write_text("b", "x");
    import_watched(&watched, sources("a", "b"));
    assert_string_equal(report.text, "skipped a a changed\ncopied b b\n");
    assert_false(import.is_complete);
    assert_names("chat", "b|");
}

/* ---- Memory ---- */

static bool is_whole(const char *path, const char *text)
{
    struct stat status;

    if (lstat(path, &status) < 0)
        return false;
    assert_text(path, text);
    return true;
}

static size_t count_whole(void)
{
    return (size_t)is_whole("chat/file", "f") + (size_t)is_whole("chat/a", "a") +
           (size_t)is_whole("chat/z", "z") + (size_t)is_whole("chat/б/ c/d", "d");
}

/* Refuses allocation number `at`. Whether there are so many. */
static bool refuse_one(size_t at)
{
    long before = allocations_in_use();
    size_t descriptors = open_descriptors();
    bool was_refused;
    int result;

    refuse(at, false);
    result = import_most(CHAT_MOST_IMPORTED, sources("file", "source"));
    was_refused = allocations_so_far() >= at;
    refuse_no_more();
    assert_int_equal(allocations_in_use(), before);
    assert_int_equal(open_descriptors(), descriptors);
    if (result < 0)
        assert_int_equal(chat_refusal(why.code)->exit_status, 2);
    else
        assert_int_equal(count_whole(), import.copied);
    assert_int_equal(result == 0 && import.is_complete && import.copied == 4, !was_refused);
    return was_refused;
}

static void import_without_memory(void)
{
    size_t at = 1;

    for (; refuse_one(at); at++)
        clear_chat();
    assert_true(at > 10);
    assert_names("chat", "a|file|z|б|");
}

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    make_source();
    in_each_way(import_without_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(files_and_folders_are_copied_in_order),
        place_test(of_two_with_the_same_path_the_later_stays),
        place_test(what_root_imports_belongs_to_the_owner),
        place_test(links_and_special_files_are_skipped),
        place_test(what_cannot_be_copied_makes_it_incomplete),
        place_test(what_is_in_the_way_makes_it_incomplete),
        place_test(what_this_user_may_not_read_is_skipped),
        place_test(the_chat_is_not_imported_into_itself),
        place_test(other_mounts_in_a_source_are_skipped),
        place_test(no_more_than_the_limit_is_copied),
        place_test(folders_within_each_other_have_a_limit),
        place_test(paths_that_are_too_long_are_skipped),
        place_test(a_source_that_is_too_long_is_skipped),
        place_test(a_folder_that_is_removed_meanwhile_is_made_again),
        place_test(a_chat_that_is_removed_meanwhile_is_told),
        place_test(a_source_that_changes_meanwhile_is_taken_as_it_is),
        place_test(progress_is_of_all_files),
        place_test(a_source_that_grows_while_it_is_copied_is_skipped),
        place_test(memory_that_runs_out_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
