/* SPDX-License-Identifier: Apache-2.0 */
/* Known values of options: completion offers them, and a misspelt one may be answered with the nearest. A test
 * compares those that come from profiles with the files. */
#ifndef ACCELCTL_WORDS_H
#define ACCELCTL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the values, separated by spaces; NULL if the option accepts others too. The option "" is an argument of the
 * command, and one with the name of an action the argument of that action. */
const char *option_words(const char *command, const char *option);

/* Returns 1 if `word` is one of `words`, ignoring case. */
bool is_one_of(const char *words, const char *word);

/* Size of a word with its end. */
enum { WORD_MOST = 64 };

/* Formats the end of an error about an unknown word: "; did you mean WORD?" with the nearest of `words`, or nothing if
 * none is near. Returns `text`. */
enum { GUESS_BYTES = WORD_MOST + 20 };
const char *guess_text(const char *words, const char *word, char text[GUESS_BYTES]);

/* Refuses the value of an option that is none of `words`, with a guess. Returns the exit code. */
int refuse_option_word(uint32_t json, const char *command, const char *option, const char *words, const char *word);

/* Returns a name for two settings at once, "kv.type"; NULL past the last one. */
const char *setting_group(uint32_t index);
/* Returns the two settings that such a name sets; NULL if the name is none. */
const char *const *setting_members(const char *name);

/* Returns the values of a fact that has a closed list of them, separated by spaces; else NULL. */
const char *fact_words(const char *name);

/* Returns the distance from which a word is unrelated to another one, with which a search by is_nearer begins. */
uint32_t unrelated_distance(const char *word);
/* Returns 1 if `other` is a likely correction of `word` and nearer than *least, which is then its distance. */
bool is_nearer(const char *word, const char *other, uint32_t *least);

#endif
