/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tests/unit/profile_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST_FACTS 16

int set_up(void **state)
{
    const char *folder = getenv("ACCEL_PROFILE_PATH");
    struct fixture *f;
    *state = NULL;
    if (folder == NULL)
        fail_msg("ACCEL_PROFILE_PATH does not name the folder of profiles");
    f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->folder = folder;
    accel_strbuf_init(&f->seen, 0);
    *state = f;
    if (accel_profile_create(folder, &f->profile, &f->error) != ACCEL_OK)
        fail_msg("%s", f->error.text);
    return 0;
}

int tear_down(void **state)
{
    struct fixture *f = *state;
    if (f == NULL)
        return 0;
    accel_settings_free(f->settings);
    accel_profile_free(f->profile);
    accel_strbuf_free(&f->seen);
    free(f);
    return 0;
}

/* Cuts "NAME=VALUE NAME=VALUE" into facts; text is written to. */
static uint32_t cut_facts(char *text, struct accel_profile_pair *facts, uint32_t count)
{
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        assert_true(count < MOST_FACTS);
        *value = 0;
        for (char *at = value + 1; *at; at++)
            if (*at == '+')
                *at = ' ';
        facts[count++] = (struct accel_profile_pair){word, value + 1, "test"};
    }
    return count;
}

int was_seen(const struct fixture *f, const char *place)
{
    char line[512];
    snprintf(line, sizeof(line), "\n%s\n", place);
    return strstr(accel_strbuf_get(&f->seen), line) != NULL;
}

static void see(struct fixture *f, const char *place)
{
    if (!was_seen(f, place))
        accel_strbuf_printf(&f->seen, "\n%s\n", place);
}

static void see_all(struct fixture *f, const struct accel_settings *settings)
{
    for (uint32_t i = 0; i < settings->count; i++) {
        const struct accel_profile_setting *setting = &settings->settings[i];
        setting = setting->later ? setting->later : setting;
        see(f, setting->place);
        for (uint32_t k = 0; k < setting->overridden_count; k++)
            see(f, setting->overridden[k].place);
    }
    assert_false(f->seen.failed);
}

struct accel_settings *resolve_for(struct fixture *f, const char *platform, const char *words,
                                   const struct accel_profile_pair *given)
{
    struct accel_profile_pair facts[MOST_FACTS];
    struct accel_settings *settings;
    uint32_t count = 0;
    char text[512];
    snprintf(text, sizeof(text), "%s", words);
    accel_error_clear(&f->error);
    if (platform) {
        facts[count++] = (struct accel_profile_pair){"platform", platform, "test"};
        facts[count++] = (struct accel_profile_pair){"driver.name", platform, "test"};
        if (accel_profile_add(f->profile, platform, &f->error) != ACCEL_OK)
            fail_msg("%s", f->error.text);
    }
    count = cut_facts(text, facts, count);
    if (accel_profile_resolve(f->profile, facts, count, given, given ? 1 : 0, &settings, &f->error) != ACCEL_OK)
        fail_msg("%s: %s", words, f->error.text);
    see_all(f, settings);
    return settings;
}

void resolve(struct fixture *f, const char *platform, const char *words)
{
    accel_settings_free(f->settings);
    f->settings = NULL;
    f->settings = resolve_for(f, platform, words, NULL);
}

const struct accel_profile_setting *find(const struct fixture *f, const char *key)
{
    const struct accel_profile_setting *setting = find_setting(f->settings, key);
    if (setting == NULL)
        fail_msg("there is no setting %s", key);
    return setting->later ? setting->later : setting;
}

/* ---- origins ---- */

/* Whether "52,60-66" has a line in the range from first to last. */
static int lines_meet(const char *lines, int first, int last)
{
    for (;;) {
        char *end;
        long begin = strtol(lines, &end, 10), until = begin;
        if (end == lines)
            return 0;
        if (*end == '-')
            until = strtol(end + 1, &end, 10);
        if (begin <= last && until >= first)
            return 1;
        if (*end != ',')
            return 0;
        lines = end + 1;
    }
}

int cites(const char *reason, const char *document, int first, int last)
{
    size_t length = strlen(document);
    for (const char *at = reason; (at = strstr(at, document)) != NULL; at += length)
        if (at[length] == ':' && lines_meet(at + length + 1, first, last))
            return 1;
    return 0;
}

int comes_from(const struct accel_profile_setting *setting, const char *file)
{
    char expected[100];
    snprintf(expected, sizeof(expected), "/%s.yaml:", file);
    return strstr(setting->place, expected) != NULL;
}

void assert_cited(const char *id, const struct accel_profile_setting *setting, const char *file, const char *document,
                  int first, int last)
{
    if (!comes_from(setting, file))
        fail_msg("%s: %s comes from %s, not from %s.yaml", id, setting->key, setting->place, file);
    if (!cites(setting->reason, document, first, last))
        fail_msg("%s: %s (%s): \"%s\" cites no line of %s:%d-%d", id, setting->key, setting->place, setting->reason,
                 document, first, last);
}
