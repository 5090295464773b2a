/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history: records come back as they went in, from many writers at the same time; the file stays within its bound;
 * damaged lines cost themselves alone; a folder that cannot be written fails the addition and nothing else. And what a
 * plan takes from it.
 */
#include "config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/history/history.h"

#include "core/registry/registry.h"
#include "tests/unit/plan_farm.h"
#include "tests/unit/shapes_support.h"

struct bench {
    struct farm farm;
    struct accel_context *context;
    struct accel_error error;
    char folder[128];
    char path[200];
};

static const struct accel_history_class classes[] = {{ACCEL_MEMORY_MAPPED, 900, 910}, {ACCEL_MEMORY_STATE, 90, 80}};

static const struct accel_history_record plain = {.kind = ACCEL_HISTORY_RUN,
                                                  .device = "farm:a",
                                                  .driver = "farm 1.0",
                                                  .model = "a model with \"quotes\", \\ and \t",
                                                  .settings = "context 64",
                                                  .time = 1234567890,
                                                  .context = 64,
                                                  .planned = 1000,
                                                  .measured = 990,
                                                  .step_bytes = 9007199254740992ull,
                                                  .read_bytes = 56789,
                                                  .prompt = 12,
                                                  .tokens = 34,
                                                  .prompt_speed = 1234.5,
                                                  .speed = 12.345,
                                                  .threads = 2,
                                                  .class_count = 2,
                                                  .classes = classes};

static void open_context(struct bench *b, uint32_t flags)
{
    struct accel_context_options options = {
        .size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS | flags, .profile_path = b->folder};
    if (b->context)
        assert_int_equal(accel_context_free(b->context, &b->error), ACCEL_OK);
    assert_int_equal(accel_context_create(&options, &b->context, &b->error), ACCEL_OK);
    assert_int_equal(accel_context_discover(b->context, &b->error), ACCEL_OK);
    if (accel_context_attach_driver(b->context, farm_driver(&b->farm), &b->error) != ACCEL_OK)
        fail_msg("%s", b->error.text);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, 0600), 0);
}

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    const char *temporary = getenv("TMPDIR");
    char path[200];
    assert_non_null(b);
    snprintf(b->folder, sizeof(b->folder), "%s/accel-history-XXXXXX", temporary ? temporary : "/tmp");
    assert_non_null(mkdtemp(b->folder));
    setenv("XDG_STATE_HOME", b->folder, 1);
    snprintf(path, sizeof(path), "%s/base.yaml", b->folder);
    write_file(path, "accel-profile: 1\n");
    snprintf(b->path, sizeof(b->path), "%s/accel/history.jsonl", b->folder);
    b->farm.devices[0] = (struct farm_device){.id = "a", .kind = ACCEL_DEVICE_CPU, .bytes = 1ull << 34};
    b->farm.count = 1;
    open_context(b, 0);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"accel/history.jsonl", "accel/history.lock", "accel", "base.yaml"};
    struct bench *b = *state;
    assert_int_equal(accel_context_free(b->context, &b->error), ACCEL_OK);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[300];
        snprintf(path, sizeof(path), "%s/%s", b->folder, names[i]);
        chmod(path, 0700);
        remove(path);
    }
    rmdir(b->folder);
    free(b);
    return 0;
}

static void add(struct bench *b, const struct accel_history_record *record)
{
    if (history_add(record, &b->error) != ACCEL_OK)
        fail_msg("%s", b->error.text);
}

static struct accel_history *find(struct bench *b, uint32_t kind, const char *model, const char *device, uint32_t most)
{
    struct accel_history *history = NULL;
    if (accel_history_find(b->context, kind, model, device, most, &history, &b->error) != ACCEL_OK)
        fail_msg("%s", b->error.text);
    return history;
}

static void test_round_trip(void **state)
{
    struct bench *b = *state;
    struct accel_history *history = find(b, 0, NULL, NULL, 0);
    struct accel_history_record other = {.kind = ACCEL_HISTORY_BANDWIDTH, .device = "farm:a", .bandwidth = 1.5e11};
    const struct accel_history_record *record;
    struct stat facts;
    assert_int_equal(history->count, 0);
    assert_string_equal(history->reason, "");
    accel_history_free(history);
    add(b, &plain);
    add(b, &other);
    assert_int_equal(stat(b->path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    history = find(b, 0, NULL, NULL, 0);
    assert_int_equal(history->count, 2);
    assert_string_equal(history->path, b->path);
    record = &history->records[0];
    assert_int_equal(record->kind, ACCEL_HISTORY_BANDWIDTH);
    assert_true(record->bandwidth == 1.5e11);
    record = &history->records[1];
    assert_string_equal(record->device, plain.device);
    assert_string_equal(record->model, plain.model);
    assert_string_equal(record->settings, plain.settings);
    assert_int_equal(record->planned, plain.planned);
    assert_int_equal(record->measured, plain.measured);
    assert_int_equal(record->read_bytes, plain.read_bytes);
    assert_true(record->step_bytes == plain.step_bytes);
    assert_int_equal(record->tokens, plain.tokens);
    assert_true(record->speed == plain.speed);
    assert_int_equal(record->threads, 2);
    accel_history_free(history);
    history = find(b, ACCEL_HISTORY_RUN, plain.model, "farm:a", 1);
    assert_int_equal(history->count, 1);
    accel_history_free(history);
    history = find(b, ACCEL_HISTORY_RUN, plain.model, "farm", 1);
    assert_int_equal(history->count, 0);
    accel_history_free(history);
    history = find(b, ACCEL_HISTORY_RUN, "a model", NULL, 1);
    assert_int_equal(history->count, 0);
    accel_history_free(history);
}

static void test_concurrent(void **state)
{
    enum { WRITERS = 8, RECORDS = 40 };
    struct bench *b = *state;
    struct accel_history *history;
    uint32_t seen[WRITERS] = {0};
    pid_t children[WRITERS];
    for (uint32_t w = 0; w < WRITERS; w++) {
        children[w] = fork();
        assert_true(children[w] >= 0);
        if (children[w] == 0) {
            struct accel_history_record record = plain;
            record.tokens = w + 1;
            for (uint32_t i = 0; i < RECORDS; i++)
                if (history_add(&record, NULL) != ACCEL_OK)
                    _exit(1);
            _exit(0);
        }
    }
    for (uint32_t w = 0; w < WRITERS; w++) {
        int status = 1;
        assert_int_equal(waitpid(children[w], &status, 0), children[w]);
        assert_int_equal(status, 0);
    }
    history = find(b, ACCEL_HISTORY_RUN, NULL, NULL, 0);
    assert_int_equal(history->count, WRITERS * RECORDS);
    assert_int_equal(history->damaged, 0);
    for (uint32_t i = 0; i < history->count; i++)
        seen[history->records[i].tokens - 1]++;
    for (uint32_t w = 0; w < WRITERS; w++)
        assert_int_equal(seen[w], RECORDS);
    accel_history_free(history);
}

static void test_damage(void **state)
{
    static const char *const broken[] = {"{\"accel-history\":1,\"kind\":\"run\",\"model\":\"x}\n",
                                         "{\"accel-history\":1,\"kind\":\"run\",\"model\":\"\\x\"}\n",
                                         "{\"accel-history\":1,\"kind\":\"run\",\"model\":\"x\"y}\n",
                                         "{\"accel-history\":1,\"kind\":\"run\",\"model\":\"\xff\"}\n",
                                         "{\"accel-history\":1,\"kind\":\"run\"}}\n",
                                         "{\"accel-history\":1,\"kind\":\"run\",\"a\":]}\n",
                                         "{\"accel-history\":1,\"kind\":\"run\",a:1}\n",
                                         "{\"accel-history\":1,\"kind\":\"walk\"}\n"};
    enum { DAMAGED = 3 + sizeof(broken) / sizeof(broken[0]) };
    struct bench *b = *state;
    struct accel_history *history;
    add(b, &plain);
    write_file(b->path, "not a record\n{\"accel-history\":1,\"kind\":\"run\",\"device\":[}\n{\"accel-history\":2}\n\n");
    write_file(b->path, "{\"accel-history\":1,\"kind\":\"run\",\"device\":\"x\",\"planned\":-5,\"classes\":[1]}\n");
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        write_file(b->path, broken[i]);
    write_file(b->path, "{\"accel-history\":1,\"kind\":\"ru");
    history = find(b, 0, NULL, NULL, 0);
    assert_int_equal(history->count, 2);
    assert_string_equal(history->records[0].device, "x");
    assert_int_equal(history->records[0].planned, 0);
    assert_int_equal(history->damaged, DAMAGED);
    accel_history_free(history);
    /* The half line must not take the next record with it. */
    add(b, &plain);
    history = find(b, 0, NULL, NULL, 0);
    assert_int_equal(history->count, 3);
    assert_int_equal(history->damaged, DAMAGED + 1);
    accel_history_free(history);
    /* Words of another kind, model and device inside of other members. */
    write_file(b->path, "{\"accel-history\":1,\"kind\":\"run\",\"device\":\"y\",\"model\":\"n\",\"note\":"
                        "{\"kind\":\"bandwidth\",\"device\":\"x\",\"model\":\"m\"}}\n");
    assert_int_equal((history = find(b, ACCEL_HISTORY_BANDWIDTH, NULL, NULL, 0))->count, 0);
    accel_history_free(history);
    assert_int_equal((history = find(b, 0, "m", NULL, 0))->count, 0);
    accel_history_free(history);
    assert_int_equal((history = find(b, 0, NULL, "x", 0))->count, 1);
    accel_history_free(history);
    assert_int_equal(chmod(b->path, 0666), 0);
    history = find(b, 0, NULL, NULL, 0);
    assert_int_equal(history->count, 0);
    assert_non_null(strstr(history->reason, "others may write to it"));
    accel_history_free(history);
}

/* Numbers that no machine reaches are damage, whoever wrote them. */
static void test_absurd(void **state)
{
    static const char *const members[] = {"\"tokens_per_1000_s\":18000000000000000000",
                                          "\"measured\":9007199254740993",
                                          "\"planned\":1,\"measured\":1001",
                                          "\"planned\":2001,\"measured\":2",
                                          "\"planned\":99999999999999999999",
                                          "\"tokens_per_1000_s\":1000000001000"};
    struct bench *b = *state;
    struct accel_history *history;
    char line[200];
    add(b, &plain);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        snprintf(line, sizeof(line), "{\"accel-history\":1,\"kind\":\"run\",%s}\n", members[i]);
        write_file(b->path, line);
    }
    write_file(b->path, "{\"accel-history\":1,\"kind\":\"run\",\"planned\":1,\"measured\":1000}\n");
    write_file(b->path, "{\"accel-history\":1,\"kind\":\"run\",\"tokens_per_1000_s\":1000000000000}\n");
    history = find(b, 0, NULL, NULL, 0);
    assert_int_equal(history->count, 3);
    assert_int_equal(history->damaged, sizeof(members) / sizeof(members[0]));
    accel_history_free(history);
}

static void test_bound(void **state)
{
    struct bench *b = *state;
    struct accel_history *history;
    struct stat facts;
    char line[402];
    uint32_t kept;
    memset(line, 'x', 400);
    line[400] = '\n';
    line[401] = '\0';
    add(b, &plain);
    for (uint32_t i = 0; i < ACCEL_HISTORY_BYTES / 401; i++)
        write_file(b->path, line);
    add(b, &plain);
    assert_int_equal(stat(b->path, &facts), 0);
    assert_true(facts.st_size <= ACCEL_HISTORY_BYTES / 2 + 1000 && facts.st_size > ACCEL_HISTORY_BYTES / 2 - 1000);
    history = find(b, ACCEL_HISTORY_RUN, NULL, NULL, 0);
    assert_int_equal(history->count, 1);
    kept = history->damaged;
    assert_true(kept > 1200 && kept < 1400);
    accel_history_free(history);
    /* Far too large, by another hand: its newest half stays. */
    for (uint32_t i = 0; i < 4 * (ACCEL_HISTORY_BYTES / 401); i++)
        write_file(b->path, line);
    add(b, &plain);
    history = find(b, ACCEL_HISTORY_RUN, NULL, NULL, 0);
    assert_int_equal(history->count, 1);
    accel_history_free(history);
    assert_int_equal(stat(b->path, &facts), 0);
    assert_true(facts.st_size <= ACCEL_HISTORY_BYTES / 2 + 1000 && facts.st_size > ACCEL_HISTORY_BYTES / 2 - 1000);
    /* Without an end of line there is nothing to keep. */
    assert_int_equal(truncate(b->path, 40 << 20), 0);
    history = find(b, 0, NULL, NULL, 0);
    assert_int_equal(history->count, 0);
    assert_true(*history->reason != '\0');
    accel_history_free(history);
    add(b, &plain);
    history = find(b, 0, NULL, NULL, 0);
    assert_int_equal(history->count, 1);
    accel_history_free(history);
}

static void test_misuse(void **state)
{
    struct bench *b = *state;
    struct accel_history_record wrong = plain;
    struct accel_history *history;
    char text[ACCEL_HISTORY_LINE];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    wrong.model = text;
    assert_int_equal(history_add(&wrong, &b->error), ACCEL_E_LIMIT);
    assert_int_equal(accel_history_find(NULL, 0, NULL, NULL, 0, &history, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_history_find(b->context, 7, NULL, NULL, 0, &history, NULL), ACCEL_E_INVALID);
    /* A context that uses no history. */
    add(b, &plain);
    open_context(b, ACCEL_CONTEXT_NO_CACHE);
    history = find(b, 0, NULL, NULL, 0);
    assert_int_equal(history->count, 0);
    accel_history_free(history);
}

/* A folder that cannot be made: here a file stands in its way. */
static void test_unwritable(void **state)
{
    struct bench *b = *state;
    char path[200];
    struct accel_history *history;
    struct owned_shapes s;
    static const struct shapes small = {2, 64, 64, 2, 2, 32, 100, ACCEL_F16};
    static const struct accel_named_value context = {"context", "8tok", "the test"};
    struct accel_plan_request request = {.size = sizeof(request), .overrides = &context, .override_count = 1};
    struct accel_plan *plan = NULL;
    snprintf(path, sizeof(path), "%s/accel", b->folder);
    write_file(path, "in the way\n");
    assert_true(history_add(&plain, &b->error) < 0);
    assert_non_null(strstr(b->error.text, b->folder));
    accel_error_clear(&b->error);
    history = find(b, 0, NULL, NULL, 0);
    assert_int_equal(history->count, 0);
    assert_true(*history->reason != '\0');
    accel_history_free(history);
    shapes_make(&s, &small);
    assert_int_equal(accel_plan_create(b->context, &request, &plan, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_sketch(plan, &s.model, &b->error), ACCEL_OK);
    assert_non_null(note_of(plan, "", "no history of runs"));
    accel_plan_free(plan);
    shapes_free(&s);
}

static void fill(const struct accel_plan *plan, struct accel_history_record *record)
{
    *record = plain;
    record->model = accel_plan_model(plan);
    record->settings = accel_plan_variant(plan);
    record->step_bytes = accel_plan_speed_get(plan, 0)->step_bytes;
}

/* Adds runs at 1, 14, 15 and 100 tokens a second, and a short one, whose rates do not widen the range. */
static void add_scattered(struct bench *b, const struct accel_history_record *like)
{
    static const double speeds[] = {1, 14, 15, 100};
    struct accel_history_record record = *like;
    for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
        record.tokens = plain.tokens;
        record.speed = speeds[i];
        add(b, &record);
    }
    record.tokens = plain.tokens / 3;
    record.speed = 13;
    add(b, &record);
}

/* A small model's speed follows neither from the bandwidth of the memory nor from a large model's run. */
static void test_small(void **state)
{
    static const struct shapes small = {2, 64, 64, 2, 2, 32, 100, ACCEL_F16};
    static const struct accel_named_value context = {"context", "8tok", "the test"};
    struct accel_plan_request request = {.size = sizeof(request), .overrides = &context, .override_count = 1};
    struct accel_history_record record,
        bandwidth = {.kind = ACCEL_HISTORY_BANDWIDTH, .device = "farm:a", .bandwidth = 1e9};
    struct bench *b = *state;
    struct accel_plan *plan = NULL;
    struct owned_shapes s;
    uint64_t bytes;
    shapes_make(&s, &small);
    assert_int_equal(accel_plan_create(b->context, &request, &plan, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_sketch(plan, &s.model, &b->error), ACCEL_OK);
    bytes = accel_plan_speed_get(plan, 0)->step_bytes;
    add(b, &bandwidth);
    fill(plan, &record);
    record.model = "a large one";
    record.step_bytes = bytes * 5;
    add(b, &record);
    assert_int_equal(accel_plan_sketch(plan, &s.model, &b->error), ACCEL_OK);
    assert_true(accel_plan_speed_get(plan, 0)->upper == 0);
    assert_non_null(strstr(accel_plan_speed_get(plan, 0)->origin, "no run of this model, or of one of about its size"));
    record.step_bytes = bytes * 3;
    add(b, &record);
    assert_int_equal(accel_plan_sketch(plan, &s.model, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_speed_get(plan, 0)->runs, 1);
    assert_true(accel_plan_speed_get(plan, 0)->lower == record.speed * (double)record.step_bytes / (double)bytes);
    accel_plan_free(plan);
    shapes_free(&s);
}

/* Runs of this model give the error and the range; runs of others the range by bytes. */
static void test_plan(void **state)
{
    static const struct shapes small = {2, 4096, 4096, 32, 32, 128, 100, ACCEL_F16};
    static const struct accel_named_value context = {"context", "8tok", "the test"};
    struct accel_named_value model[] = {{"model.family", "llama", "a header"}, {"model.layers", "2", "a header"}};
    struct accel_plan_request request = {
        .size = sizeof(request), .overrides = &context, .override_count = 1, .model = model, .model_count = 2};
    struct bench *b = *state;
    struct accel_plan *plan = NULL;
    struct accel_plan_past past = {.size = sizeof(past)};
    struct accel_history_record record,
        bandwidth = {.kind = ACCEL_HISTORY_BANDWIDTH, .device = "farm:a", .bandwidth = 1e9};
    const struct accel_plan_speed *speed;
    struct owned_shapes s;
    double full, empty;
    shapes_make(&s, &small);
    assert_int_equal(accel_plan_create(b->context, &request, &plan, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_sketch(plan, &s.model, &b->error), ACCEL_OK);
    assert_string_equal(accel_plan_model(plan), "llama, 2 layers");
    speed = accel_plan_speed_get(plan, 0);
    assert_true(speed->upper == 0);
    full = (double)speed->step_bytes;
    empty = full - 2.0 * 2 * 32 * 128 * 2 * 8; /* layers, planes, heads, size, bytes, tokens */
    add(b, &bandwidth);
    assert_int_equal(accel_plan_sketch(plan, &s.model, &b->error), ACCEL_OK);
    speed = accel_plan_speed_get(plan, 0);
    assert_true(speed->lower == 1e9 / full && speed->upper == 1e9 / empty);
    assert_non_null(strstr(speed->origin, "bytes/s of 1 measurement / "));
    fill(plan, &record);
    record.model = "another";
    record.step_bytes = 100000000;
    record.speed = 5;
    add(b, &record);
    assert_int_equal(accel_plan_sketch(plan, &s.model, &b->error), ACCEL_OK);
    speed = accel_plan_speed_get(plan, 0);
    assert_true(speed->lower == 5e8 / full && speed->upper == 5e8 / empty);
    assert_non_null(strstr(speed->origin, "bytes/s of 1 run of other models / "));
    fill(plan, &record);
    record.settings = "context 16";
    record.step_bytes = 100000000;
    record.speed = 4;
    record.planned = record.measured = 0;
    add(b, &record);
    assert_int_equal(accel_plan_sketch(plan, &s.model, &b->error), ACCEL_OK);
    speed = accel_plan_speed_get(plan, 0);
    assert_true(speed->lower == 4e8 / full && speed->upper == 4e8 / empty);
    assert_non_null(strstr(speed->origin, "bytes/s of 1 run of this model with other settings / "));
    fill(plan, &record);
    record.speed = 10;
    record.measured = 1100;
    add(b, &record);
    record.speed = 12;
    record.measured = 990;
    add(b, &record);
    /* The speed of a few tokens is passed over, the memory of that run is not. */
    record.tokens = ACCEL_HISTORY_TOKENS - 1;
    record.speed = 900;
    add(b, &record);
    assert_int_equal(accel_plan_sketch(plan, &s.model, &b->error), ACCEL_OK);
    speed = accel_plan_speed_get(plan, 0);
    assert_true(speed->lower == 10 && speed->upper == 12);
    assert_int_equal(speed->runs, 2);
    assert_non_null(strstr(speed->origin, "measured: 2 runs of this model"));
    add_scattered(b, &record);
    assert_int_equal(accel_plan_sketch(plan, &s.model, &b->error), ACCEL_OK);
    speed = accel_plan_speed_get(plan, 0);
    assert_true(speed->lower == 10 && speed->upper == 15);
    assert_int_equal(speed->runs, 6);
    assert_non_null(strstr(speed->origin, "measured: the middle half of 6 runs of this model"));
    assert_int_equal(accel_plan_past(plan, &past, &b->error), ACCEL_OK);
    assert_int_equal(past.runs, 8);
    assert_int_equal(past.measured, 990);
    assert_int_equal(past.read_bytes, plain.read_bytes);
    /* The average over tokens of runs with these settings, but for those of few tokens. */
    record.tokens = plain.tokens;
    record.read_bytes = 10 * plain.read_bytes;
    record.settings = "context 16";
    add(b, &record);
    fill(plan, &record);
    record.tokens = ACCEL_HISTORY_TOKENS - 1;
    record.read_bytes = 10 * plain.read_bytes;
    add(b, &record);
    record.tokens = 6 * plain.tokens; /* as many as those before */
    record.read_bytes = 3 * plain.read_bytes;
    add(b, &record);
    assert_int_equal(accel_plan_sketch(plan, &s.model, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_past(plan, &past, &b->error), ACCEL_OK);
    assert_int_equal(past.read_bytes, 2 * plain.read_bytes);
    assert_true(past.last == -0.01 && past.worst == 0.1);
    assert_non_null(strstr(past.origin, b->path));
    accel_plan_free(plan);
    shapes_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_concurrent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_absurd, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_misuse, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unwritable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("plan_history", tests, NULL, NULL);
}
