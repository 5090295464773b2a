/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that the value of an option may be, where they are all known: completion offers them, and a misspelt one may be
 * answered with the nearest. Those that come from files of profiles are held against them by a test.
 */
#ifndef ACCELCTL_WORDS_H
#define ACCELCTL_WORDS_H

#include <stdint.h>

/* The words, separated by spaces; NULL where the option takes others too. */
const char *option_words(const char *verb, const char *option);

/* 1 when `word` is one of `words`, whatever its capitals. */
uint32_t is_one_of(const char *words, const char *word);

/* The word that may have been meant: the first that begins so, else the nearest; NULL where none is near. The text
 * lives in `near`, whose size is WORD_MOST. */
const char *nearest_word(const char *words, const char *word, char *near);

#endif
