/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed weights that are kept on disk: a second start uses them and writes the same text to the last bit, with memory
 * as planned; what is damaged, somebody else's or of other bytes is never used; what cannot be written costs nothing;
 * several processes at once, and one that is killed while it writes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <accel/model/plan.h>

#include "core/registry/context.h"
#include "core/runtime/packed.h"
#include "session_support.h"

enum { WRITTEN = 4, PROCESSES = 4, FILES = 8 };

static char cache[] = "/tmp/accel-packed-XXXXXX", kernels[PATH_BYTES], model_path[PATH_BYTES];

/* What a start did. */
struct start {
    uint32_t used, kept, ignored, unwritten; /* lines of the log */
    int32_t code;                            /* of keeping */
    uint32_t kept_what;                      /* ACCEL_STORE_... */
    uint32_t vocabulary;
    float logits[4096]; /* of the last token */
};

static void take_line(void *data, uint32_t level, const char *text)
{
    struct start *start = data;

    (void)level;
    if (strstr(text, "component=packed") == NULL)
        return;
    start->used += strstr(text, "used=") != NULL;
    start->kept += strstr(text, "stored=") != NULL;
    start->ignored += strstr(text, "ignored=") != NULL;
    start->unwritten += strstr(text, "unwritten=") != NULL;
}

static struct accel_context *open_context(struct start *start, uint32_t flags)
{
    const struct accel_context_options options = {.size = sizeof(options),
                                                  .flags = flags,
                                                  .cache_path = cache,
                                                  .log = take_line,
                                                  .log_data = start,
                                                  .log_level = ACCEL_LOG_INFO};
    struct accel_context *context = NULL;
    struct accel_error error = {0};

    memset(start, 0, sizeof(*start));
    OK(accel_context_create(&options, &context, &error));
    OK(accel_context_discover(context, &error));
    return context;
}

/* Weights are counted as planned, whether they were packed now or are mapped. */
static void assert_planned(const struct accel_context *context, const struct accel_session *session)
{
    const struct accel_plan *plan = accel_session_plan(session);
    uint64_t planned = 0, now = 0, peak = 0;

    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++)
        if (accel_plan_memory_get(plan, i)->memory_class == ACCEL_MEMORY_WEIGHTS)
            planned = accel_plan_memory_get(plan, i)->bytes;
    assert_int_equal(accel_memory_usage(context, ACCEL_MEMORY_WEIGHTS, &now, &peak), ACCEL_OK);
    assert_int_equal(now, planned);
    assert_int_equal(peak, planned);
}

static void start_with(struct start *start, uint32_t flags, const char *type)
{
    const struct accel_named_value given[] = {{"kv.type.k", "f32", "test"},
                                              {"cpu.layout", "panels", "test"},
                                              {"weights.type", type, "test"},
                                              {"weights.group", "32", "test"}};
    struct accel_model_plan_options options = {
        .size = sizeof(options), .path = model_path, .overrides = given, .override_count = type == NULL ? 2 : 4};
    struct accel_context *context = open_context(start, flags);
    struct accel_model_plan *plan = NULL;
    struct accel_session *session = NULL;
    struct accel_error error = {0};
    const float *logits = NULL;

    OK(accel_model_plan_create(context, &options, &plan, &error));
    OK(accel_model_plan_session(plan, &session, &error));
    OK(accel_session_load(session, &error));
    start->vocabulary = accel_model_facts_of(accel_model_plan_model(plan))->vocabulary;
    assert_in_range(start->vocabulary, 1, 4096);
    for (int32_t id = 1; id <= WRITTEN; id++)
        OK(accel_session_feed(session, &id, 1, &logits, &error));
    memcpy(start->logits, logits, start->vocabulary * sizeof(*logits));
    assert_int_equal(start->kept + start->unwritten, 0);
    start->code = accel_session_store(session, &start->kept_what, NULL);
    assert_planned(context, session);
    accel_model_plan_free(plan);
    OK(accel_context_free(context, &error));
}

/* The only kept file of packed weights; NULL: there is none. `out_count`: files of any name. */
static const char *kept_file(uint32_t *out_count)
{
    static char path[2 * PATH_BYTES];
    const struct dirent *entry;
    DIR *folder = opendir(kernels);
    const char *found = NULL;
    bool unfinished;

    *out_count = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        *out_count += entry->d_name[0] != '.';
        if (accel_packed_is_name(entry->d_name, &unfinished) && !unfinished) {
            snprintf(path, sizeof(path), "%s/%s", kernels, entry->d_name);
            found = path;
        }
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

static void clear(void)
{
    char command[2 * PATH_BYTES];

    snprintf(command, sizeof(command), "rm -rf '%s'", kernels);
    assert_int_equal(system(command), 0);
}

static void assert_did(const struct start *start, uint32_t used, uint32_t kept, uint32_t ignored, uint32_t unwritten)
{
    assert_int_equal(start->used, used);
    assert_int_equal(start->kept, kept);
    assert_int_equal(start->ignored, ignored);
    assert_int_equal(start->unwritten, unwritten);
    assert_int_equal(start->code != ACCEL_OK, unwritten != 0);
    assert_int_equal(start->kept_what, kept ? ACCEL_STORE_WRITTEN : used ? ACCEL_STORE_CACHED : ACCEL_STORE_DISABLED);
}

static struct start reference, again;

static void assert_same_text(void)
{
    assert_memory_equal(reference.logits, again.logits, reference.vocabulary * sizeof(*reference.logits));
}

static int set_up(void **state)
{
    const char *tree = getenv("ACCEL_TEST_SRCDIR");

    (void)state;
    assert_non_null(mkdtemp(cache));
    snprintf(kernels, sizeof(kernels), "%s/kernels", cache);
    snprintf(model_path, sizeof(model_path), "%s/samples/stories260K/stories260K-q8_0.gguf", tree == NULL ? "." : tree);
    start_with(&reference, ACCEL_CONTEXT_NO_CACHE, NULL);
    return 0;
}

static int tear_down(void **state)
{
    char command[2 * PATH_BYTES];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", cache);
    return system(command);
}

/* Levels of instructions without panels keep nothing: there is nothing to look at. */
static void begin(void)
{
    uint32_t count;

    clear();
    start_with(&again, 0, NULL);
    if (kept_file(&count) == NULL && again.kept == 0 && again.unwritten == 0)
        skip();
    assert_did(&again, 0, 1, 0, 0);
    assert_int_equal(count, 1);
    assert_same_text();
}

static void a_second_start_uses_what_the_first_one_kept(void **state)
{
    struct stat facts;
    uint32_t count;

    (void)state;
    begin();
    assert_int_equal(stat(kept_file(&count), &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    start_with(&again, 0, NULL);
    assert_did(&again, 1, 0, 0, 0);
    assert_same_text();
    start_with(&again, ACCEL_CONTEXT_NO_CACHE, NULL);
    assert_did(&again, 0, 0, 0, 0);
    clear();
    start_with(&again, ACCEL_CONTEXT_NO_CACHE, NULL);
    assert_null(kept_file(&count));
}

/* Weights that are made while they are loaded are kept as those that they are made into. */
static void another_type_is_another_file(void **state)
{
    struct start made;
    uint32_t count;

    (void)state;
    begin();
    start_with(&made, 0, "q4");
    assert_did(&made, 0, 1, 0, 0);
    kept_file(&count);
    assert_int_equal(count, 2);
    start_with(&again, 0, "q4");
    assert_did(&again, 1, 0, 0, 0);
    assert_memory_equal(made.logits, again.logits, made.vocabulary * sizeof(*made.logits));
    start_with(&again, 0, NULL);
    assert_did(&again, 1, 0, 0, 0);
    assert_same_text();
}

/* ---- damage ---- */

static int32_t no_progress(const struct accel_task *task, uint64_t done, uint64_t total) ACCEL_NOEXCEPT
{
    (void)task, (void)done, (void)total;
    return ACCEL_OK;
}

static struct accel_task plain_task(void)
{
    return (struct accel_task){.size = sizeof(struct accel_task), .progress = no_progress, .team = accel_team_serial()};
}

static struct accel_packed_place place_of(const char *path)
{
    struct accel_packed_place place = {.folder = kernels};
    int file = open(path, O_RDONLY);

    snprintf(place.name, sizeof(place.name), "%s", strrchr(path, '/') + 1);
    assert_int_equal(pread(file, &place.key, sizeof(place.key), 16), sizeof(place.key));
    close(file);
    return place;
}

static int32_t map_code(const struct accel_packed_place *place)
{
    const struct accel_task task = plain_task();
    struct accel_packed packed;
    int32_t code = accel_packed_map(place, &task, &packed, NULL);

    assert_int_equal(packed.memory != NULL, code == ACCEL_OK);
    accel_packed_unmap(&packed);
    return code;
}

/* A first start, and the file that it keeps. */
static const char *begin_with_file(struct accel_packed_place *out_place)
{
    const char *path;
    uint32_t count;

    begin();
    path = kept_file(&count);
    *out_place = place_of(path);
    return path;
}

static void flip(const char *path, off_t at)
{
    int file = open(path, O_RDWR);
    char byte = 0;

    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    close(file);
}

/* The file keeps the name of the model. One of an earlier version has zeros there, and is used as well. */
static void a_file_has_the_name_of_its_model(void **state)
{
    enum { LABEL_AT = 56, CHECK_AT = ACCEL_PACKED_HEADER - 8 };
    struct accel_packed_place place;
    char label[ACCEL_WEIGHTS_LABEL], head[ACCEL_PACKED_HEADER];
    const char *path;
    uint64_t check;
    int file;

    (void)state;
    path = begin_with_file(&place);
    assert_int_equal(accel_weights_label_read(path, label, NULL), ACCEL_OK);
    assert_string_equal(label, "stories260K-q8_0.gguf");
    file = open(path, O_RDWR);
    assert_int_equal(pread(file, head, sizeof(head), 0), sizeof(head));
    memset(head + LABEL_AT, 0, ACCEL_WEIGHTS_LABEL);
    check = accel_hash64(head, CHECK_AT, 0);
    memcpy(head + CHECK_AT, &check, sizeof(check));
    assert_int_equal(pwrite(file, head, sizeof(head), 0), sizeof(head));
    close(file);
    assert_int_equal(accel_weights_label_read(path, label, NULL), ACCEL_OK);
    assert_string_equal(label, "");
    assert_int_equal(map_code(&place), ACCEL_OK);
    flip(path, 0);
    assert_int_equal(accel_weights_label_read(path, label, NULL), ACCEL_E_CORRUPT);
    assert_int_equal(accel_weights_label_read(cache, label, NULL), ACCEL_E_DENIED);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(accel_weights_label_read(path, label, NULL), ACCEL_E_NOT_FOUND);
}

static void a_damaged_file_is_not_used(void **state)
{
    struct accel_packed_place place;
    struct stat facts;
    const char *path;

    (void)state;
    path = begin_with_file(&place);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(map_code(&place), ACCEL_OK);
    for (off_t at = 0; at < facts.st_size; at += at < (off_t)ACCEL_PACKED_HEADER ? 1 : facts.st_size / 16) {
        flip(path, at);
        assert_int_equal(map_code(&place), ACCEL_E_CORRUPT);
        flip(path, at);
    }
    flip(path, facts.st_size - 1);
    assert_int_equal(map_code(&place), ACCEL_E_CORRUPT);
    start_with(&again, 0, NULL); /* said, and written anew */
    assert_did(&again, 0, 1, 1, 0);
    assert_same_text();
    assert_int_equal(map_code(&place), ACCEL_OK);
    for (off_t bytes = 0; bytes < 3; bytes++) {
        const off_t sizes[] = {facts.st_size - 1, 100, 0};

        assert_int_equal(truncate(path, sizes[bytes]), 0);
        assert_int_equal(map_code(&place), ACCEL_E_CORRUPT);
    }
    start_with(&again, 0, NULL);
    assert_did(&again, 0, 1, 1, 0);
    assert_int_equal(truncate(path, facts.st_size + 1), 0);
    assert_int_equal(map_code(&place), ACCEL_E_CORRUPT);
    assert_int_equal(truncate(path, facts.st_size), 0);
    assert_int_equal(map_code(&place), ACCEL_OK);
    place.key.low ^= 1; /* of other weights, under this name */
    assert_int_equal(map_code(&place), ACCEL_E_CORRUPT);
}

static void somebody_elses_file_is_not_used(void **state)
{
    char other[2 * PATH_BYTES + 8];
    struct accel_packed_place place;
    const char *path;

    (void)state;
    path = begin_with_file(&place);
    assert_int_equal(chmod(path, 0620), 0);
    assert_int_equal(map_code(&place), ACCEL_E_DENIED);
    assert_int_equal(chmod(path, 0600), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 4321, (gid_t)-1), 0);
        start_with(&again, 0, NULL);
        assert_did(&again, 0, 1, 1, 0);
        assert_int_equal(map_code(&place), ACCEL_OK);
    }
    assert_int_equal(chmod(kernels, 0777), 0);
    assert_int_equal(map_code(&place), ACCEL_E_DENIED);
    assert_int_equal(chmod(kernels, 0700), 0);
    snprintf(other, sizeof(other), "%s/other", cache);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_true(map_code(&place) != ACCEL_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(map_code(&place), ACCEL_E_DENIED);
    assert_int_equal(unlink(path), 0);
}

/*
 * A model's file that was changed has another file. Just after it was changed it has none: its time lies in the future
 * here, since a slow machine may start a run seconds after a change.
 */
static void a_changed_model_is_packed_anew(void **state)
{
    char command[4 * PATH_BYTES], own[PATH_BYTES], was[PATH_BYTES];
    struct timespec settle = {.tv_sec = 4};

    (void)state;
    begin();
    snprintf(own, sizeof(own), "%s/model.gguf", cache);
    snprintf(command, sizeof(command), "cp '%s' '%s' && touch -d '+1 hour' '%s'", model_path, own, own);
    assert_int_equal(system(command), 0);
    snprintf(was, sizeof(was), "%s", model_path);
    snprintf(model_path, sizeof(model_path), "%s", own);
    start_with(&again, 0, NULL);
    assert_did(&again, 0, 0, 0, 0);
    snprintf(command, sizeof(command), "touch '%s'", own);
    assert_int_equal(system(command), 0);
    nanosleep(&settle, NULL);
    start_with(&again, 0, NULL);
    assert_did(&again, 0, 1, 0, 0);
    start_with(&again, 0, NULL);
    assert_did(&again, 1, 0, 0, 0);
    snprintf(command, sizeof(command), "touch -r '%s' '%s'", was, own);
    assert_int_equal(system(command), 0);
    nanosleep(&settle, NULL);
    start_with(&again, 0, NULL);
    assert_did(&again, 0, 1, 0, 0);
    assert_same_text();
    snprintf(model_path, sizeof(model_path), "%s", was);
}

/* ---- no room ---- */

static void what_cannot_be_written_costs_nothing(void **state)
{
    struct rlimit before, less;
    uint32_t count;
    int file;

    (void)state;
    begin();
    clear();
    setenv("ACCEL_PACKED_BYTES", "1000", 1);
    start_with(&again, 0, NULL);
    unsetenv("ACCEL_PACKED_BYTES");
    assert_did(&again, 0, 0, 0, 1);
    assert_same_text();
    assert_null(kept_file(&count));
    /* A file that would pass this limit ends a process. */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    less = before;
    less.rlim_cur = 65536;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    start_with(&again, 0, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_did(&again, 0, 0, 0, 1);
    assert_same_text();
    clear();
    file = open(kernels, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
    start_with(&again, 0, NULL);
    assert_did(&again, 0, 0, 0, 1);
    assert_same_text();
}

static void what_was_not_used_for_longest_goes_first(void **state)
{
    char text[32];
    struct stat facts;
    uint32_t count;

    (void)state;
    begin();
    assert_int_equal(stat(kept_file(&count), &facts), 0);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)facts.st_size * 9 / 4);
    setenv("ACCEL_PACKED_BYTES", text, 1);
    start_with(&again, 0, "q4"); /* smaller: both fit */
    assert_int_equal(again.kept, 1);
    kept_file(&count);
    assert_int_equal(count, 2);
    start_with(&again, 0, NULL); /* now the other one is older */
    assert_int_equal(again.used, 1);
    start_with(&again, 0, "q8");
    unsetenv("ACCEL_PACKED_BYTES");
    assert_int_equal(again.kept, 1);
    start_with(&again, 0, NULL);
    assert_int_equal(again.used, 1);
    start_with(&again, 0, "q4");
    assert_int_equal(again.used, 0);
}

/* Cancelled before it begins or while it writes, it leaves nothing; asked again, it does it; and once is enough. */
static void keeping_can_be_cancelled_and_asked_again(void **state)
{
    const struct accel_named_value given[] = {{"cpu.layout", "panels", "test"}};
    struct accel_model_plan_options options = {
        .size = sizeof(options), .path = model_path, .overrides = given, .override_count = 1};
    struct accel_model_plan *plan = NULL;
    struct accel_session *session = NULL;
    struct accel_error error = {0};
    struct accel_context *context;
    uint32_t count, kept;

    (void)state;
    begin();
    clear();
    context = open_context(&again, 0);
    OK(accel_model_plan_create(context, &options, &plan, &error));
    OK(accel_model_plan_session(plan, &session, &error));
    assert_int_equal(accel_session_store(session, NULL, &error), ACCEL_E_INVALID);
    accel_error_clear(&error);
    OK(accel_session_load(session, &error));
    accel_session_cancel(session);
    assert_int_equal(accel_session_store(session, NULL, &error), ACCEL_E_CANCELLED);
    accel_error_clear(&error);
    assert_null(kept_file(&count));
    assert_int_equal(count, 0);
    OK(accel_session_store(session, &kept, &error));
    assert_int_equal(kept, ACCEL_STORE_WRITTEN);
    OK(accel_session_store(session, &kept, &error));
    assert_int_equal(kept, ACCEL_STORE_CACHED);
    assert_int_equal(again.kept, 1);
    assert_non_null(kept_file(&count));
    accel_model_plan_free(plan);
    OK(accel_context_free(context, &error));
}

/* ---- several processes ---- */

static void several_processes_at_once(void **state)
{
    pid_t children[PROCESSES];
    uint32_t count;

    (void)state;
    begin();
    clear();
    for (uint32_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] != 0)
            continue;
        start_with(&again, 0, NULL);
        _exit(memcmp(again.logits, reference.logits, reference.vocabulary * sizeof(float)) == 0 && again.ignored == 0 &&
                      again.used + again.kept + again.unwritten == 1 &&
                      (again.code == ACCEL_OK || again.code == ACCEL_E_BUSY)
                  ? 0
                  : 1);
    }
    for (uint32_t i = 0; i < PROCESSES; i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_non_null(kept_file(&count));
    assert_int_equal(count, 1);
    start_with(&again, 0, NULL);
    assert_did(&again, 1, 0, 0, 0);
    assert_same_text();
}

static int32_t save_and_die(struct accel_driver_weights *weights, const struct accel_blob_writer *writer,
                            struct accel_error *error) ACCEL_NOEXCEPT
{
    static const char bytes[100000];

    (void)weights;
    writer->write(writer, bytes, sizeof(bytes), error);
    raise(SIGKILL);
    return ACCEL_OK;
}

static void a_writer_that_is_killed_leaves_nothing_to_use(void **state)
{
    static const struct accel_weights_table table = {.size = sizeof(table), .save = save_and_die};
    const struct accel_task task = plain_task();
    struct accel_driver_weights handle = {&table};
    struct accel_device device = {.driver = "test"};
    struct accel_module module = {.device = &device};
    struct accel_weights weights = {.module = &module, .handle = &handle, .packed_bytes = 300000};
    struct accel_packed_place place;
    char beside[2 * PATH_BYTES + 8];
    const char *path;
    uint32_t count;
    int status, file;
    pid_t child;

    (void)state;
    path = begin_with_file(&place);
    snprintf(beside, sizeof(beside), "%s.new", path);
    assert_int_equal(unlink(path), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        device.object.context = open_context(&again, 0);
        weights.place = place;
        accel_packed_store(&weights, &task, NULL, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(access(beside, F_OK), 0);
    assert_int_equal(map_code(&place), ACCEL_E_NOT_FOUND);
    /* One that is at work is not disturbed. */
    file = open(beside, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(file, LOCK_EX), 0);
    start_with(&again, 0, NULL);
    assert_did(&again, 0, 0, 0, 1);
    assert_same_text();
    close(file);
    start_with(&again, 0, NULL);
    assert_did(&again, 0, 1, 0, 0);
    kept_file(&count);
    assert_int_equal(count, 1);
    start_with(&again, 0, NULL);
    assert_did(&again, 1, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_start_uses_what_the_first_one_kept),
        cmocka_unit_test(another_type_is_another_file),
        cmocka_unit_test(a_file_has_the_name_of_its_model),
        cmocka_unit_test(a_damaged_file_is_not_used),
        cmocka_unit_test(somebody_elses_file_is_not_used),
        cmocka_unit_test(a_changed_model_is_packed_anew),
        cmocka_unit_test(what_cannot_be_written_costs_nothing),
        cmocka_unit_test(what_was_not_used_for_longest_goes_first),
        cmocka_unit_test(keeping_can_be_cancelled_and_asked_again),
        cmocka_unit_test(several_processes_at_once),
        cmocka_unit_test(a_writer_that_is_killed_leaves_nothing_to_use),
    };

    return cmocka_run_group_tests_name("session_packed", tests, set_up, tear_down);
}
