/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of models by the C interface: exact ones and shape plans, what would make them fit, the longest context, and
 * records that are repeated or refused.
 */
#include <fnmatch.h>
#include <stdbool.h>

#include <accel/model/describe.h>
#include <accel/model/plan.h>
#include <accel/quant/format.h>

#include "session_support.h"
#include "tests/bench/random_model.h"
#include "tools/tables/steps.h"

#define MODEL "samples/stories260K/stories260K-q8_0.gguf"

static struct accel_context *context;

static int open_all(void **state)
{
    (void)state;
    context = make_context();
    return 0;
}

static int close_context(void **state)
{
    struct accel_error error = {0};

    (void)state;
    return accel_context_free(context, &error) == ACCEL_OK ? 0 : -1;
}

static const char *model_path(char path[PATH_BYTES])
{
    const char *tree = getenv("ACCEL_TEST_SRCDIR");

    snprintf(path, PATH_BYTES, "%s/" MODEL, tree == NULL ? "." : tree);
    return path;
}

static struct accel_model_plan *plan_model(const char *path, const struct accel_named_value *given, uint32_t count)
{
    struct accel_model_plan_options options = {
        .size = sizeof(options), .path = path, .overrides = given, .override_count = count};
    struct accel_model_plan *plan = NULL;
    struct accel_error error = {0};

    OK(accel_model_plan_create(context, &options, &plan, &error));
    assert_non_null(plan);
    return plan;
}

static struct accel_plan_fit fit_of(const struct accel_model_plan *plan)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    struct accel_error error = {0};

    OK(accel_plan_fit(accel_model_plan_plan(plan), &fit, &error));
    return fit;
}

static const struct accel_plan_setting *setting_of(const struct accel_model_plan *plan, const char *key)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(accel_model_plan_plan(plan), key);

    assert_non_null(setting);
    return setting;
}

/* ---- exact plans ---- */

static void test_exact(void **state)
{
    char path[PATH_BYTES], key[] = "context", value[] = "64tok";
    struct accel_named_value given = {key, value, "test"};
    struct accel_model_plan *plan = plan_model(model_path(path), &given, 1);
    struct accel_session *session = NULL;
    struct accel_error error = {0};

    (void)state;
    /* Settings are copies: the caller's may go. */
    memset(value, 'x', sizeof(value) - 1);
    memset(path, 'x', 8);
    assert_int_equal(accel_model_plan_exact(plan), 1);
    assert_non_null(accel_model_plan_model(plan));
    assert_non_null(accel_model_plan_description(plan));
    assert_string_equal(setting_of(plan, "context")->value, "64");
    OK(accel_model_plan_session(plan, &session, &error));
    assert_ptr_equal(accel_session_plan(session), accel_model_plan_plan(plan));
    OK(accel_session_load(session, &error));
    assert_int_equal(accel_session_context(session), 64);
    accel_model_plan_free(plan);
    accel_model_plan_free(NULL);
}

static void refuse(const struct accel_model_plan_options *options, int32_t code, const char *words)
{
    struct accel_model_plan *plan = (struct accel_model_plan *)&plan;
    struct accel_error error = {0};

    assert_int_equal(accel_model_plan_create(context, options, &plan, &error), code);
    assert_null(plan);
    assert_non_null(strstr(error.text, words));
}

static void test_misuse(void **state)
{
    char path[PATH_BYTES];
    struct accel_named_value nameless = {NULL, "1", "test"}, unknown = {"contxt", "64tok", "test"};
    struct accel_model_plan_options options = {.size = sizeof(options)};

    (void)state;
    refuse(&options, ACCEL_E_INVALID, "a path");
    refuse(NULL, ACCEL_E_INVALID, "no struct");
    options.path = "/nowhere/at/all";
    refuse(&options, ACCEL_E_NOT_FOUND, "/nowhere/at/all");
    options.path = model_path(path);
    options.overrides = &nameless;
    options.override_count = 1;
    refuse(&options, ACCEL_E_INVALID, "setting 0");
    options.overrides = &unknown;
    refuse(&options, ACCEL_E_NOT_FOUND, "did you mean \"context\"");
    options.override_count = 0;
    options.device = "gpu:none";
    refuse(&options, ACCEL_E_NOT_FOUND, "gpu:none");
    options.device = NULL;
    options.mode = "foo";
    refuse(&options, ACCEL_E_INVALID, "none of: stream components");
    options.mode = NULL;
    options.size = 12;
    refuse(&options, ACCEL_E_INVALID, "12 bytes");
}

/* ---- the longest context ---- */

static void test_longest(void **state)
{
    char path[PATH_BYTES], value[32];
    struct accel_named_value given[] = {{"memory.budget", "1200KiB", "test"}, {"context", value, "test"}};
    struct accel_model_plan *plan = plan_model(model_path(path), given, 1);
    struct accel_error error = {0};
    uint64_t tokens;

    (void)state;
    OK(accel_model_plan_max_context(plan, &tokens, &error));
    assert_in_range(tokens, 2, 511);
    accel_model_plan_free(plan);
    for (uint32_t more = 0; more < 2; more++) {
        snprintf(value, sizeof(value), "%llutok", (unsigned long long)tokens + more);
        plan = plan_model(path, given, 2);
        assert_int_equal(fit_of(plan).fits, !more);
        accel_model_plan_free(plan);
    }
    plan = plan_model(path, NULL, 0);
    OK(accel_model_plan_max_context(plan, &tokens, &error));
    assert_int_equal(tokens, 512);
    accel_model_plan_free(plan);
}

/* ---- shape plans ---- */

static void test_no_kernel(void **state)
{
    char path[PATH_BYTES];
    struct accel_named_value given = {"role.norm", "f16", "test says so"};
    struct accel_model_plan *plan = plan_model(model_path(path), &given, 1);
    struct accel_session *session = (struct accel_session *)&session;
    struct accel_error error = {0};

    (void)state;
    assert_int_equal(accel_model_plan_exact(plan), 0);
    assert_int_equal(accel_model_plan_session(plan, &session, &error), ACCEL_E_UNSUPPORTED);
    assert_null(session);
    assert_non_null(strstr(error.text, "role.norm"));
    assert_non_null(strstr(error.text, "test says so"));
    assert_true(fit_of(plan).needed > 100000);
    accel_model_plan_free(plan);
}

static struct accel_model_plan *plan_elsewhere(const char *name, const char *platform, const char *device,
                                               const struct accel_named_value *given, uint32_t count)
{
    struct accel_model_plan_options options = {.size = sizeof(options),
                                               .path = name,
                                               .platform = platform,
                                               .device = device,
                                               .overrides = given,
                                               .override_count = count};
    struct accel_model_plan *plan = NULL;
    struct accel_error error = {0};

    OK(accel_model_plan_create(context, &options, &plan, &error));
    return plan;
}

/* A platform without a device here: by formula, every fact with its origin. */
static void test_platform(void **state)
{
    struct accel_model_plan *plan = plan_elsewhere("llama-2-7b", "cuda", "t4", NULL, 0);
    const struct accel_plan *inner = accel_model_plan_plan(plan);
    struct accel_session *session;
    struct accel_error error = {0};
    uint32_t from_device = 0;

    (void)state;
    assert_int_equal(accel_model_plan_exact(plan), 0);
    assert_string_equal(accel_plan_platform(inner), "cuda");
    assert_null(accel_plan_device(inner));
    assert_null(accel_model_plan_model(plan));
    assert_int_not_equal(accel_model_plan_session(plan, &session, &error), ACCEL_OK);
    for (uint32_t i = 0; i < accel_plan_fact_count(inner); i++) {
        const struct accel_named_value *fact = accel_plan_fact_get(inner, i);

        assert_true(fact->origin[0] != '\0');
        from_device += strstr(fact->origin, "devices/t4.yaml:") != NULL;
    }
    assert_true(from_device >= 1);
    assert_true(fit_of(plan).needed > UINT64_C(3000000000));
    accel_model_plan_free(plan);
}

/* ---- advice ---- */

static void test_fit(void **state)
{
    struct accel_named_value given[] = {{"memory.device", "3800MiB", "test"}, {"placement", "single", "test"}};
    struct accel_model_plan *plan = plan_elsewhere("llama-2-7b", "cuda", "t4", given, 2);
    struct accel_model_plan *fitted = NULL;
    struct plan_steps *steps = NULL;
    struct accel_error error = {0};
    uint64_t needed = fit_of(plan).needed;
    uint32_t applied = 0;

    (void)state;
    assert_int_equal(fit_of(plan).fits, 0);
    OK(fit_model_plan(context, plan, &fitted, &steps, &error));
    for (uint32_t i = 0; i < plan_step_count(steps); i++) {
        const struct plan_step *step = plan_step_get(steps, i);

        assert_true(step->source[0] != '\0' && step->words[0] != '\0');
        assert_non_null(strstr(step->place, "advice.yaml:"));
        if (step->state == ACCEL_PLAN_STEP_REFUSED || step->state == ACCEL_PLAN_STEP_SAME)
            assert_true(step->text[0] != '\0');
        if (step->state != ACCEL_PLAN_STEP_APPLIED)
            continue;
        assert_int_equal(step->before, needed);
        assert_true(step->after < step->before);
        assert_true(strncmp(step->settings, "--set ", 6) == 0);
        needed = step->after;
        applied++;
    }
    assert_true(applied >= 1);
    assert_int_equal(fit_of(fitted).needed, needed);
    assert_int_equal(fit_of(fitted).fits, 1);
    plan_steps_free(steps);
    accel_model_plan_free(fitted);
    accel_model_plan_free(plan);
}

/* A mixture fits as its experts get a limit, which is named. */
static void test_fit_experts(void **state)
{
    static const struct random_model sizes = {4, 256, 2720, 8, 2, 600, 8, 2, 1.5, 0};
    const struct accel_named_value given = {"memory.budget", "20MiB", "test"};
    struct accel_model_plan *plan, *fitted = NULL;
    struct plan_steps *steps = NULL;
    struct accel_error error = {0};
    uint32_t named = 0;

    (void)state;
    assert_true(random_model_write("model_plan-mixture.gguf", &sizes, accel_format_find("q4_0")));
    plan = plan_model("model_plan-mixture.gguf", &given, 1);
    assert_int_equal(fit_of(plan).fits, 0);
    OK(fit_model_plan(context, plan, &fitted, &steps, &error));
    assert_int_equal(fit_of(fitted).fits, 1);
    for (uint32_t i = 0; i < plan_step_count(steps); i++)
        named += strstr(plan_step_get(steps, i)->text, "cpu.expert_bytes=") != NULL;
    assert_int_equal(named, 1);
    assert_true(setting_of(fitted, "cpu.expert_bytes")->number > 0);
    plan_steps_free(steps);
    accel_model_plan_free(fitted);
    accel_model_plan_free(plan);
    unlink("model_plan-mixture.gguf");
}

/* Another split of layers is no remedy if all devices together have too little. */
static void test_advise_split(void **state)
{
    const struct accel_named_value given = {"weights.type", "q8", "test"};
    struct accel_model_plan *plan = plan_elsewhere("llama-2-70b", "cuda", "2xrtx4090", &given, 1);
    struct plan_steps *steps = NULL;
    struct accel_error error = {0};
    uint32_t found = 0;

    (void)state;
    assert_int_equal(fit_of(plan).fits, 0);
    OK(advise_on_plan(context, plan, "oom", &steps, &error));
    for (uint32_t i = 0; i < plan_step_count(steps); i++)
        if (strcmp(plan_step_get(steps, i)->name, "oom.balanced") == 0) {
            assert_int_equal(plan_step_get(steps, i)->state, ACCEL_PLAN_STEP_SAME);
            found++;
        }
    assert_int_equal(found, 1);
    plan_steps_free(steps);
    accel_model_plan_free(plan);
}

static void test_advise(void **state)
{
    char path[PATH_BYTES];
    struct accel_model_plan *plan = plan_model(model_path(path), NULL, 0);
    struct plan_steps *steps = NULL;
    struct accel_error error = {0};
    uint32_t count;

    (void)state;
    OK(advise_on_plan(context, plan, "oom", &steps, &error));
    count = plan_step_count(steps);
    assert_true(count >= 1);
    assert_null(plan_step_get(steps, count));
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(plan_step_get(steps, i)->before, fit_of(plan).needed);
    plan_steps_free(steps);
    assert_int_equal(advise_on_plan(context, plan, "weather", &steps, &error), ACCEL_E_NOT_FOUND);
    assert_null(steps);
    assert_non_null(strstr(error.remedy, "oom"));
    plan_steps_free(NULL);
    accel_model_plan_free(plan);
}

/* ---- records ---- */

/* Writes a record with one text of it replaced. */
static void edit(const char *from, const char *to, const char *old, const char *new)
{
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    char line[8192];

    assert_non_null(in);
    assert_non_null(out);
    while (fgets(line, sizeof(line), in) != NULL) {
        char *at = strstr(line, old);

        if (at != NULL)
            fprintf(out, "%.*s%s%s", (int)(at - line), line, new, at + strlen(old));
        else
            fputs(line, out);
    }
    fclose(in);
    fclose(out);
}

static void test_record(void **state)
{
    static const char *const edits[][3] = {
        {"\"driver_version\": \"0.1.0\"", "\"driver_version\": \"7\"",
         "device.driver_version is \"7\", and \"0.1.0\" when the plan is made again"},
        {"\"bytes\": 3", "\"bytes\": 4", "another size"},
        {"\"kernel\": \"rms norm\"", "\"kernel\": \"other\"", "nodes.1.kernel is \"other\", and \"rms norm\" when"},
        {"\"value\": \"100tok\"", "\"value\": \"50tok\"",
         "settings.context.value is \"100\", and \"50\" when the plan is made again (test)"},
    };
    char path[PATH_BYTES];
    struct accel_named_value given = {"context", "100tok", "test"};
    struct accel_model_plan *plan = plan_model(model_path(path), &given, 1), *again = NULL;
    struct accel_error error = {0};

    (void)state;
    OK(accel_model_plan_write(plan, "model_plan.json", &error));
    OK(accel_model_plan_repeat(context, "model_plan.json", NULL, &again, &error));
    assert_int_equal(fit_of(again).needed, fit_of(plan).needed);
    assert_string_equal(setting_of(again, "context")->value, "100");
    accel_model_plan_free(again);
    for (uint32_t i = 0; i < sizeof(edits) / sizeof(*edits); i++) {
        edit("model_plan.json", "model_plan-2.json", edits[i][0], edits[i][1]);
        accel_error_clear(&error);
        assert_int_equal(accel_model_plan_repeat(context, "model_plan-2.json", NULL, &again, &error), ACCEL_E_REFUSED);
        assert_null(again);
        assert_non_null(strstr(error.text, edits[i][2]));
    }
    /* A request with another value than the recorded setting is refused; context, which it does not state, is planned
     * as recorded. */
    edit("model_plan.json", "model_plan-2.json", "\"key\": \"context\"", "\"key\": \"batch\"");
    accel_error_clear(&error);
    assert_int_equal(accel_model_plan_repeat(context, "model_plan-2.json", NULL, &again, &error), ACCEL_E_REFUSED);
    assert_non_null(strstr(error.text, "settings.batch.value"));
    accel_error_clear(&error);
    assert_int_equal(accel_model_plan_repeat(context, "nothing.json", NULL, &again, &error), ACCEL_E_NOT_FOUND);
    accel_error_clear(&error);
    assert_int_equal(accel_model_plan_write(plan, "/nowhere/plan.json", &error), ACCEL_E_NOT_FOUND);
    accel_model_plan_free(plan);
    unlink("model_plan.json");
    unlink("model_plan-2.json");
}

/* ---- every member of a record ---- */

enum { VARYING_MOST = 64, TRIES_MOST = 4 };

struct members {
    json_t *root;
    struct {
        char pattern[64];
        uint32_t tries;
    } varying[VARYING_MOST]; /* the table of doc/plan.md: members that differ on another day */
    uint32_t varying_count, refused, followed;
};

static void read_varying(struct members *m)
{
    const char *tree = getenv("ACCEL_TEST_SRCDIR");
    char path[PATH_BYTES], line[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/doc/plan.md", tree == NULL ? "." : tree);
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL && strcmp(line, "| member | reason |\n") != 0)
        ;
    while (fgets(line, sizeof(line), file) != NULL && line[0] == '|') {
        char *end = strchr(line + 1, '|');

        assert_non_null(end);
        *end = '\0';
        for (char *word = strtok(line + 1, " `-"); word != NULL; word = strtok(NULL, " `")) {
            assert_true(m->varying_count < VARYING_MOST && strlen(end + 1) > 10); /* a reason */
            snprintf(m->varying[m->varying_count++].pattern, sizeof(m->varying->pattern), "%s", word);
        }
    }
    fclose(file);
}

/* Returns the number of tries with members which differ on another day, as this one or an object that has it; NULL if
 * the document does not list it. */
static uint32_t *find_varying(struct members *m, const char *path)
{
    char part[80];

    for (uint32_t i = 0; i < m->varying_count; i++) {
        snprintf(part, sizeof(part), "%s.*", m->varying[i].pattern);
        if (fnmatch(m->varying[i].pattern, path, 0) == 0 || fnmatch(part, path, 0) == 0)
            return &m->varying[i].tries;
    }
    return NULL;
}

/* Finds the value at the path of a document; keys have points, too. */
static const json_t *find_value(const json_t *at, const char *path)
{
    const json_t *found = NULL;
    const char *key;
    json_t *member;

    if (json_is_array(at)) {
        const char *rest = strchr(path, '.');

        at = json_array_get(at, strtoul(path, NULL, 10));
        return rest == NULL ? at : find_value(at, rest + 1);
    }
    json_object_foreach((json_t *)at, key, member)
    {
        const size_t length = strlen(key);

        if (strncmp(path, key, length) != 0 || found != NULL)
            continue;
        if (path[length] == '\0')
            return member;
        found = path[length] == '.' ? find_value(member, path + length + 1) : NULL;
    }
    return found;
}

/* Repeats the changed record: it is refused, or the new plan has the changed value, or the value may differ. */
static void repeat_changed(struct members *m, const char *path, const json_t *changed)
{
    uint32_t *tries = find_varying(m, path);
    struct accel_model_plan *plan = NULL;
    struct accel_error error = {0};
    json_t *document;
    char *text;

    if (tries != NULL && (*tries)++ >= TRIES_MOST)
        return;
    assert_int_equal(json_dump_file(m->root, "model_plan-6.json", JSON_INDENT(2)), 0);
    if (accel_model_plan_repeat(context, "model_plan-6.json", NULL, &plan, &error) != ACCEL_OK) {
        if (tries != NULL && strncmp(path, "request", 7) != 0)
            fail_msg("%s may differ, and is refused: %s", path, error.text);
        if (error.text[0] == '\0' || error.remedy[0] == '\0')
            fail_msg("%s is refused without text or remedy: %s", path, error.text);
        m->refused++;
        return;
    }
    OK(accel_model_plan_json(plan, &text, &error));
    document = json_loads(text, 0, NULL);
    if (tries == NULL && (changed == NULL || !json_equal(changed, find_value(document, path))))
        fail_msg("%s is changed, and the plan is repeated without it", path);
    m->followed += tries == NULL;
    json_decref(document);
    accel_model_plan_json_free(text);
    accel_model_plan_free(plan);
}

/* Returns another value of the kind. */
static json_t *make_other(const json_t *value)
{
    char text[2048];
    size_t digit;

    if (json_is_integer(value))
        return json_integer(json_integer_value(value) + 1);
    if (json_is_real(value))
        return json_real(json_real_value(value) + 1);
    if (json_is_boolean(value))
        return json_boolean(!json_is_true(value));
    if (!json_is_string(value))
        return json_string("something");
    snprintf(text, sizeof(text) - 1, "%s", json_string_value(value));
    digit = strlen(text);
    while (digit > 0 && (text[digit - 1] < '0' || text[digit - 1] > '9'))
        digit--;
    if (digit == 0)
        strcat(text, "x");
    else
        text[digit - 1] = text[digit - 1] == '2' ? '1' : '2';
    return json_string(text);
}

/* Changes every value in turn; of each list the first two. */
static void change_members(struct members *m, json_t *container, const char *path)
{
    const bool is_list = json_is_array(container);
    void *iterator = is_list ? NULL : json_object_iter(container);

    for (size_t i = 0; is_list ? i < 2 && i < json_array_size(container) : iterator != NULL; i++) {
        const char *key = is_list ? NULL : json_object_iter_key(iterator);
        json_t *value = is_list ? json_array_get(container, i) : json_object_iter_value(iterator), *other;
        char name[512], number[24];

        snprintf(number, sizeof(number), "%zu", i);
        snprintf(name, sizeof(name), "%s%s%s", path, *path == '\0' ? "" : ".", is_list ? number : key);
        if (json_is_object(value) || json_is_array(value)) {
            change_members(m, value, name);
        } else {
            json_incref(value);
            other = make_other(value);
            assert_int_equal(is_list ? json_array_set(container, i, other) : json_object_set(container, key, other), 0);
            repeat_changed(m, name, other);
            json_decref(other);
            assert_int_equal(
                is_list ? json_array_set_new(container, i, value) : json_object_set_new(container, key, value), 0);
        }
        iterator = is_list ? NULL : json_object_iter_next(container, iterator);
    }
}

static void test_every_member(void **state)
{
    char path[PATH_BYTES];
    struct accel_named_value given = {"context", "100tok", "test"};
    struct accel_model_plan *plan = plan_model(model_path(path), &given, 1);
    struct members members = {.root = NULL};
    struct accel_error error = {0};
    char *text;

    (void)state;
    read_varying(&members);
    OK(accel_model_plan_json(plan, &text, &error));
    members.root = json_loads(text, 0, NULL);
    assert_non_null(members.root);
    change_members(&members, members.root, "");
    print_message("%u refused, %u planned as changed\n", members.refused, members.followed);
    /* Members that were taken away, or that no plan has. */
    for (const char *const *key = (const char *const[]){"cores", "fallbacks", "nodes", "parts", NULL}; *key; key++) {
        json_t *value = json_incref(json_object_get(members.root, *key));

        json_object_del(members.root, *key);
        repeat_changed(&members, *key, NULL);
        json_object_set_new(members.root, *key, value);
    }
    json_object_set_new(members.root, "more", json_integer(1));
    repeat_changed(&members, "more", NULL);
    json_decref(members.root);
    accel_model_plan_json_free(text);
    accel_model_plan_free(plan);
    unlink("model_plan-6.json");
}

/* Writes a text `times` over between two others. */
static void write_many(const char *path, const char *begin, const char *piece, uint32_t times, const char *end)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(begin, file);
    for (uint32_t i = 0; i < times; i++)
        fputs(piece, file);
    fputs(end, file);
    fclose(file);
}

/* Records that no plan of ours could be are refused before they cost memory or time. */
static void test_damaged_record(void **state)
{
    static const char *const edits[][3] = {
        {"\"length\": 0", "\"length\": -1", "request.length"},
        {"\"length\": 0", "\"length\": \"1\"", "request.length"},
        {"\"mode\": \"\"", "\"mode\": \"foo\"", "request.mode"},
        {"\"mode\": \"\"", "\"mode\": 3", "request.mode"},
    };
    static const struct {
        const char *begin, *piece;
        uint32_t times;
        const char *end, *words;
    } large[] = {
        {"[", "[],", 3000000, "1]", "8 MiB"},
        {"[", "[],", 2000000, "1]", "a million values"},
        {"{\"schema\": \"accelctl/plan/2\", \"nodes\": [", "1,", 70000,
         "1], \"model\": {\"path\": \"x\"}, \"settings\": {}}", "65536 nodes"},
        {"{\"schema\": \"accelctl/plan/2\", \"nodes\": [], \"request\": {\"given\": [", "1,", 5000,
         "1]}, \"model\": {\"path\": \"x\"}, \"settings\": {}}", "4096 settings were given"},
    };
    char path[PATH_BYTES];
    struct accel_model_plan *plan = plan_model(model_path(path), NULL, 0), *again = NULL;
    struct accel_error error = {0};

    (void)state;
    OK(accel_model_plan_write(plan, "model_plan-3.json", &error));
    accel_model_plan_free(plan);
    for (uint32_t i = 0; i < sizeof(edits) / sizeof(*edits); i++) {
        edit("model_plan-3.json", "model_plan-4.json", edits[i][0], edits[i][1]);
        accel_error_clear(&error);
        assert_int_equal(accel_model_plan_repeat(context, "model_plan-4.json", NULL, &again, &error), ACCEL_E_CORRUPT);
        assert_non_null(strstr(error.text, edits[i][2]));
    }
    for (uint32_t i = 0; i < sizeof(large) / sizeof(*large); i++) {
        write_many("model_plan-4.json", large[i].begin, large[i].piece, large[i].times, large[i].end);
        accel_error_clear(&error);
        assert_int_equal(accel_model_plan_repeat(context, "model_plan-4.json", NULL, &again, &error), ACCEL_E_CORRUPT);
        if (strstr(error.text, large[i].words) == NULL)
            fail_msg("\"%s\" is not in: %s", large[i].words, error.text);
    }
    unlink("model_plan-3.json");
    unlink("model_plan-4.json");
}

/* A shape plan is written, too, and no run follows it. */
static void test_sketch_record(void **state)
{
    struct accel_model_plan *plan = plan_elsewhere("llama-2-7b", "cuda", "t4", NULL, 0), *again = NULL;
    struct accel_error error = {0};
    json_t *document;
    char *text;

    (void)state;
    OK(accel_model_plan_json(plan, &text, &error));
    document = json_loads(text, 0, NULL);
    accel_model_plan_json_free(text);
    assert_non_null(document);
    assert_true(json_is_null(json_object_get(document, "device")));
    assert_true(json_array_size(json_object_get(document, "parts")) >= 5);
    assert_true(json_is_object(json_object_get(json_object_get(document, "facts"), "device.memory")));
    json_decref(document);
    OK(accel_model_plan_write(plan, "model_plan-3.json", &error));
    assert_int_equal(accel_model_plan_repeat(context, "model_plan-3.json", NULL, &again, &error), ACCEL_E_REFUSED);
    assert_non_null(strstr(error.text, "by formula"));
    unlink("model_plan-3.json");
    accel_model_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),          cmocka_unit_test(test_misuse),      cmocka_unit_test(test_longest),
        cmocka_unit_test(test_no_kernel),      cmocka_unit_test(test_platform),    cmocka_unit_test(test_fit),
        cmocka_unit_test(test_advise),         cmocka_unit_test(test_fit_experts), cmocka_unit_test(test_advise_split),
        cmocka_unit_test(test_damaged_record), cmocka_unit_test(test_record),      cmocka_unit_test(test_sketch_record),
        cmocka_unit_test(test_every_member),
    };

    return cmocka_run_group_tests(tests, open_all, close_context);
}
