/* SPDX-License-Identifier: Apache-2.0 */
/** @file The tables of settings and facts, typed values, and suggestions for what was misspelt. Pure functions. */
#ifndef ACCEL_CORE_PROFILE_KEYS_H
#define ACCEL_CORE_PROFILE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What a setting may hold. */
enum accel_key_type {
    ACCEL_KEY_INTEGER,
    ACCEL_KEY_SIZE,
    ACCEL_KEY_DURATION,
    ACCEL_KEY_FLAG,
    ACCEL_KEY_CHOICE,
    ACCEL_KEY_EXTENT,
    ACCEL_KEY_TEXT,
};

/** Who acts on a setting. */
enum accel_key_carried {
    ACCEL_KEY_BY_RUN,    /**< a run of this version */
    ACCEL_KEY_BY_PLAN,   /**< plans alone: a run that would need another value than the default is refused */
    ACCEL_KEY_BY_DRIVER, /**< drivers that know it */
};

/** One setting: a row of keys.def. */
struct accel_key {
    const char *name;
    enum accel_key_type type;
    const char *unit;
    int64_t lowest;
    int64_t highest;
    const char *words;
    const char *preset;
    enum accel_key_carried carried;
    const char *help;
};

/** One fact: a row of facts.def. */
struct accel_known_fact {
    const char *name;
    const char *unit;
    const char *help;
};

/** A checked value. */
struct accel_key_value {
    const char *word; /* as it was written; NULL for a number */
    int64_t number;   /* of a number, and 0 or 1 of a flag */
    bool is_number;   /* true for flags too */
};

uint32_t accel_key_count(void);
/** The row at `index`, or NULL past the end. */
const struct accel_key *accel_key_get(uint32_t index);
/** The row of a setting, or NULL. */
const struct accel_key *accel_key_find(const char *name);

uint32_t accel_known_fact_count(void);
/** The row at `index`, or NULL past the end. */
const struct accel_known_fact *accel_known_fact_get(uint32_t index);
/** The row of a fact, or NULL. */
const struct accel_known_fact *accel_known_fact_find(const char *name);

/** The setting or fact that is nearest to a misspelt name, or NULL where none is near. */
const char *accel_key_suggest(const char *name);
const char *accel_known_fact_suggest(const char *name);

/** The nearest of `count` words, or NULL where none is near: at most one edit for every three letters. */
const char *accel_suggest(const char *name, const char *const *words, uint32_t count);

/** Bytes that accel_did_you_mean writes at most. */
#define ACCEL_DID_YOU_MEAN 112u

/** The end of a message about an unknown name: "; did you mean \"NEAR\"?", or nothing where `near` is NULL. Answers
 *  `text`. */
const char *accel_did_you_mean(const char *near, char text[ACCEL_DID_YOU_MEAN]);

/**
 * Checks a value against its row. False with the reason in `why`. A word of the result is `text` itself.
 */
bool accel_key_parse(const struct accel_key *key, const char *text, struct accel_key_value *out_value, char *why,
                     size_t why_bytes);

/**
 * A whole number with an optional unit: "12", "4 GiB", "2048tok", "250 ms". Bytes, milliseconds and tokens come out.
 * `*out_unit` is "bytes", "ms", "tok" or "". False when it is no such number or does not fit.
 */
bool accel_number_parse(const char *text, int64_t *out_number, const char **out_unit);

/** Writes the name of the environment's variable of a setting or of an option of a driver, "ACCEL_KV_TYPE_K". */
void accel_key_variable(const char *name, char *text, size_t bytes);

/** The words that a fact may be, separated by spaces, where they are all known: "cpu gpu npu other"; else NULL. */
const char *accel_known_fact_words(const char *name);

/** True when `text` is one of `words`, which are separated by spaces. */
bool accel_word_is_among(const char *words, const char *text);

/**
 * The setting that was meant by what looks like an option of a driver, or NULL: "cpu.pinn" is one letter from
 * "cpu.pin", as against "cpu.isa". Stricter than accel_key_suggest, because drivers name their options themselves.
 */
const char *accel_key_meant(const char *name);

#endif
