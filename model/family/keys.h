/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of config.json by family. A family lists the keys that it reads beside the sizes that all have
 * (decoder_config_keys.c), each with the value of an absent key: the default of the configuration class of transformers
 * 5.24, models/MODEL_TYPE/configuration_MODEL_TYPE.py. A key that some family lists and another does not is refused
 * there, unless its value changes nothing. A null is no absent key: it has no default.
 */
#ifndef ACCEL_MODEL_FAMILY_KEYS_H
#define ACCEL_MODEL_FAMILY_KEYS_H

enum key_use {
    KEY_NO_DEFAULT,
    KEY_WITH_INTEGER,
    KEY_WITH_REAL,
    KEY_WITH_FLAG,
    KEY_WITH_ONE_NUMBER, /* another value is refused */
    KEY_WITH_ONE_FLAG,
    KEY_UNUSED /* transformers does not read it either, but checkpoints of the family have it */
};

/* A list of them ends with a name of NULL. */
struct family_key {
    const char *name;
    enum key_use use;
    double value;
};

#define READS(name)                                                                                                    \
    {                                                                                                                  \
        name, KEY_NO_DEFAULT, 0                                                                                        \
    }
#define INTEGER(name, value)                                                                                           \
    {                                                                                                                  \
        name, KEY_WITH_INTEGER, value                                                                                  \
    }
#define REAL(name, value)                                                                                              \
    {                                                                                                                  \
        name, KEY_WITH_REAL, value                                                                                     \
    }
#define FLAG(name, value)                                                                                              \
    {                                                                                                                  \
        name, KEY_WITH_FLAG, value                                                                                     \
    }
#define ONLY_NUMBER(name, value)                                                                                       \
    {                                                                                                                  \
        name, KEY_WITH_ONE_NUMBER, value                                                                               \
    }
#define ONLY_FLAG(name, value)                                                                                         \
    {                                                                                                                  \
        name, KEY_WITH_ONE_FLAG, value                                                                                 \
    }
#define UNUSED(name)                                                                                                   \
    {                                                                                                                  \
        name, KEY_UNUSED, 0                                                                                            \
    }
#define END_OF_KEYS                                                                                                    \
    {                                                                                                                  \
        NULL, KEY_UNUSED, 0                                                                                            \
    }

/* Rotary positions, of which the object has one of two names. */
#define ROTARY(base) READS("rope_parameters"), READS("rope_scaling"), REAL("rope_theta", base)

/* Keys that most families have: rms_norm_eps, max_position_embeddings, rotary positions, tie_word_embeddings. */
#define USUAL_KEYS(epsilon, context, base, tied)                                                                       \
    REAL("rms_norm_eps", epsilon), INTEGER("max_position_embeddings", context), ROTARY(base), READS("hidden_act"),     \
        FLAG("tie_word_embeddings", tied)

/* Windows that a flag turns on. */
#define SWITCHED_WINDOW FLAG("use_sliding_window", 0), INTEGER("sliding_window", 4096)

#endif
