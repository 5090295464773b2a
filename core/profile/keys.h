/* SPDX-License-Identifier: Apache-2.0 */
/** @file Searches in the tables of settings and facts of accel/profile.h, typed values, suggestions. Pure functions. */
#ifndef ACCEL_CORE_PROFILE_KEYS_H
#define ACCEL_CORE_PROFILE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/plan.h>
#include <accel/profile.h>

#include "core/base/arena.h"

/** A validated value. */
struct accel_key_value {
    const char *word; /* as written; NULL for a number */
    int64_t number;   /* value of a number, also if it is one of the words; 0 or 1 for a flag */
    bool is_number;   /* true for flags, too */
};

/** Returns the row of a setting, or NULL. */
const struct accel_setting_row *accel_key_find(const char *name);

/** Returns a row for an option of a driver ("cpu.isa"), which belongs to the arena unlike `name`: of a size if the name
 * ends in "_bytes". NULL: no memory. */
const struct accel_setting_row *accel_key_of_option(const char *name, struct accel_arena *arena);

/** A name for several settings at once: a caller, a file or the environment gives all of them one value. */
struct accel_key_group {
    const char *name;
    const char *members[2];
};
/** Returns the group of a name, or NULL. accel_key_group_get returns the group at `index`, or NULL past the end. */
const struct accel_key_group *accel_key_group_find(const char *name);
const struct accel_key_group *accel_key_group_get(uint32_t index);

/** Returns the row of a fact, or NULL. */
const struct accel_fact_row *accel_known_fact_find(const char *name);

/** Returns the setting or fact nearest to a misspelt name, or NULL if none is near. */
const char *accel_key_suggest(const char *name);
const char *accel_known_fact_suggest(const char *name);

/** Returns the distance from which a word is unrelated to the name, with which a search begins. */
uint32_t accel_farthest(const char *name);

/** Returns whether `word` is a likely correction of `name` and nearer than `*distance`, which is then its distance. */
bool accel_is_nearer(const char *name, const char *word, uint32_t *distance);

/** Returns the nearest of `count` words, or NULL if none is near: at most one edit per three letters. */
const char *accel_suggest(const char *name, const char *const *words, uint32_t count);

/** Maximum bytes that accel_did_you_mean writes. */
#define ACCEL_DID_YOU_MEAN 112u

/** Formats the end of a message about an unknown name: "; did you mean "NEAR"?"; "" for NULL. Returns `text`. */
const char *accel_did_you_mean(const char *near, char text[ACCEL_DID_YOU_MEAN]);

/** Returns the word of a value (accel/words.def), or ACCEL_WORD_OTHER. */
uint32_t accel_key_word(const char *value);

/** Validates a value against its row. False with the reason in `why`. A word of the result points to `text`. */
bool accel_key_parse(const struct accel_setting_row *key, const char *text, struct accel_key_value *out_value,
                     char *why, size_t why_bytes);

/** Bytes of a word of a setting in lower case. */
enum { ACCEL_KEY_LOWER = 40 };

/** Returns a value as files have it, of what people write elsewhere: words in lower case, q8 for q8_0 where that is no
 * word, and true for on, yes and 1 of a flag, false for off, no and 0. Another text is returned as it is. */
const char *accel_key_spelling(const struct accel_setting_row *key, const char *text, char lower[ACCEL_KEY_LOWER]);

/** Parses a whole number with an optional unit: "12", "4 GiB", "2048tok", "250 ms". The result is in bytes, ms or
 * tokens. `*out_unit` is "bytes", "ms", "tok" or "". False if the text is no such number or is too large. */
bool accel_number_parse(const char *text, int64_t *out_number, const char **out_unit);

/** Formats the environment variable of a setting or of a driver option, "ACCEL_KV_TYPE_K". */
void accel_key_variable(const char *name, char *text, size_t bytes);

/** Returns the values of a fact with a closed list, separated by spaces: "cpu gpu npu other"; else NULL. */
const char *accel_known_fact_words(const char *name);

/** Returns the setting that was meant by an apparent driver option, or NULL: "cpu.pinn" is one letter from
 * "cpu.pin", unlike "cpu.isa". Stricter than accel_key_suggest, because drivers name their options themselves. */
const char *accel_key_meant(const char *name);

#endif
