/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests the known name nearest to an unknown one. */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/profile/keys.h"

/* Maximum length of a name; longer names are never near. */
#define LONGEST_NAME 64u

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

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
            row[j] = smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + !is_same_letter(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) && is_same_letter(a[i - 2], b[j - 1]))
                row[j] = smaller(row[j], before[j - 2] + 1);
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

/* Returns the nearer of `best` and `word`, and updates the distance. */
static const char *nearer(const char *name, const char *word, const char *best, uint32_t *distance)
{
    return accel_is_nearer(name, word, distance) ? word : best;
}

const char *accel_suggest(const char *name, const char *const *words, uint32_t count)
{
    uint32_t distance = accel_farthest(name);
    const char *best = NULL;
    for (uint32_t i = 0; i < count && distance; i++)
        best = nearer(name, words[i], best, &distance);
    return best;
}

const char *accel_key_suggest(const char *name)
{
    uint32_t distance = accel_farthest(name);
    const char *best = NULL;
    for (uint32_t i = 0; i < accel_setting_row_count() && distance; i++)
        best = nearer(name, accel_setting_row_get(i)->name, best, &distance);
    return best;
}

/* Returns the fact of the same group ("device.") that begins with the name, or whose rest is nearest. */
static const char *suggest_of_group(const char *name)
{
    const char *dot = strchr(name, '.'), *best = NULL;
    size_t length = strlen(name), group = dot ? (size_t)(dot - name) + 1 : 0;
    uint32_t distance = dot == NULL ? 0 : accel_farthest(name + group);
    for (uint32_t i = 0; i < accel_fact_row_count() && dot; i++)
        if (length >= group + 2 && strncmp(accel_fact_row_get(i)->name, name, length) == 0)
            return accel_fact_row_get(i)->name;
    for (uint32_t i = 0; i < accel_fact_row_count() && distance; i++) {
        const char *known = accel_fact_row_get(i)->name;
        if (strncmp(known, name, group) == 0)
            best = nearer(name + group, known + group, best, &distance);
    }
    return best ? best - group : NULL;
}

const char *accel_known_fact_suggest(const char *name)
{
    uint32_t distance = accel_farthest(name);
    const char *best = suggest_of_group(name);
    if (best)
        return best;
    for (uint32_t i = 0; i < accel_fact_row_count() && distance; i++)
        best = nearer(name, accel_fact_row_get(i)->name, best, &distance);
    return best;
}

const char *accel_key_meant(const char *name)
{
    /* A name without a dot belongs to no driver option. */
    const char *dot = strchr(name, '.'), *best = NULL;
    size_t prefix = dot ? (size_t)(dot - name) + 1 : 0, rest = strlen(name) - prefix;
    uint32_t distance = dot == NULL || rest > LONGEST_NAME ? 0 : rest < 6 ? 2 : (uint32_t)rest / 3 + 1;
    for (uint32_t i = 0; i < accel_setting_row_count() && distance; i++) {
        const char *known = accel_setting_row_get(i)->name;
        if (strncmp(known, name, prefix) == 0)
            best = nearer(name + prefix, known + prefix, best, &distance);
    }
    return best ? best - prefix : NULL;
}

const char *accel_did_you_mean(const char *near, char text[ACCEL_DID_YOU_MEAN])
{
    *text = '\0';
    if (near)
        snprintf(text, ACCEL_DID_YOU_MEAN, "; did you mean \"%.80s\"?", near);
    return text;
}
