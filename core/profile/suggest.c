/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests the known name nearest to an unknown one. */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/profile/keys.h"

/* Maximum length of a name; longer names are never near. */
#define LONGEST_NAME 64u

static bool is_same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Returns the edit distance: letters to insert, delete or replace, and neighbours to swap, ignoring case. */
static uint32_t edit_distance(const char *a, const char *b)
{
    uint32_t rows[3][LONGEST_NAME + 1], a_length = (uint32_t)strlen(a), b_length = (uint32_t)strlen(b);
    uint32_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (uint32_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (uint32_t i = 1; i <= a_length; i++) {
        uint32_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
        row[0] = i;
        for (uint32_t j = 1; j <= b_length; j++) {
            uint32_t longer = above[j] < row[j - 1] ? above[j] + 1 : row[j - 1] + 1;
            uint32_t other = above[j - 1] + !is_same_letter(a[i - 1], b[j - 1]);
            row[j] = longer < other ? longer : other;
            if (i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) && is_same_letter(a[i - 2], b[j - 1]) &&
                row[j] > before[j - 2])
                row[j] = before[j - 2] + 1;
        }
    }
    return row[b_length];
}

uint32_t accel_farthest(const char *name)
{
    size_t length = strlen(name);
    return length > LONGEST_NAME ? 0 : (uint32_t)length / 3 + 2;
}

bool accel_is_nearer(const char *name, const char *word, uint32_t *distance)
{
    uint32_t found;
    if (strlen(name) > LONGEST_NAME || strlen(word) > LONGEST_NAME)
        return false;
    found = edit_distance(name, word);
    /* A short word of which every other letter would change is not what was meant. */
    if (found >= *distance || found * 2 > strlen(word))
        return false;
    *distance = found;
    return true;
}

const char *accel_suggest(const char *name, const char *const *words, uint32_t count)
{
    uint32_t distance = accel_farthest(name);
    const char *best = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (accel_is_nearer(name, words[i], &distance))
            best = words[i];
    return best;
}

/* Returns the name of a row of the table of facts or of that of settings, NULL past the last one. */
static const char *name_at(bool is_fact, uint32_t index)
{
    const struct accel_setting_row *key = is_fact ? NULL : accel_setting_row_get(index);
    const struct accel_fact_row *fact = is_fact ? accel_fact_row_get(index) : NULL;
    return key ? key->name : fact ? fact->name : NULL;
}

/* Returns the nearest name of a table whose first `group` letters are those of `name`, or NULL. */
static const char *find_nearest(bool is_fact, const char *name, size_t group, uint32_t distance)
{
    const char *best = NULL, *known;
    for (uint32_t i = 0; distance && (known = name_at(is_fact, i)) != NULL; i++)
        if (strncmp(known, name, group) == 0 && accel_is_nearer(name + group, known + group, &distance))
            best = known;
    return best;
}

const char *accel_key_suggest(const char *name)
{
    /* A name without its group, "threads" for "cpu.threads", is nearer than any with other letters. */
    const char *known, *dot, *best = NULL;
    for (uint32_t i = 0; (known = name_at(false, i)) != NULL; i++)
        if ((dot = strchr(known, '.')) && strcmp(dot + 1, name) == 0 && (!best || strlen(known) < strlen(best)))
            best = known;
    return best ? best : find_nearest(false, name, 0, accel_farthest(name));
}

/* A fact of the same group ("device.") that begins with the name is nearest, then another one of the group. */
const char *accel_known_fact_suggest(const char *name)
{
    const char *dot = strchr(name, '.'), *known, *best = NULL;
    const size_t length = strlen(name), group = dot ? (size_t)(dot - name) + 1 : 0;
    for (uint32_t i = 0; dot && length >= group + 2 && (known = name_at(true, i)) != NULL; i++)
        if (strncmp(known, name, length) == 0)
            return known;
    if (dot)
        best = find_nearest(true, name, group, accel_farthest(name + group));
    return best ? best : find_nearest(true, name, 0, accel_farthest(name));
}

const char *accel_key_meant(const char *name)
{
    /* A name without a dot belongs to no driver option. */
    const char *dot = strchr(name, '.');
    const size_t group = dot ? (size_t)(dot - name) + 1 : 0, rest = strlen(name) - group;
    return find_nearest(false, name, group, dot == NULL ? 0 : rest < 6 ? 2 : (uint32_t)rest / 3 + 1);
}

const char *accel_did_you_mean(const char *near, char text[ACCEL_DID_YOU_MEAN])
{
    *text = '\0';
    if (near)
        snprintf(text, ACCEL_DID_YOU_MEAN, "; did you mean \"%.80s\"?", near);
    return text;
}
