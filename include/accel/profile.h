/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Profiles from outside: the tables of settings and facts, the folder of the profiles, and the facts of its models.
 * A plan (accel/plan.h) resolves the profiles for a device and a model.
 *
 * The tables belong to the library and are the same for every context. Strings are never NULL. Structs are open: the
 * library fills them.
 *
 * Any thread.
 */
#ifndef ACCEL_PROFILE_H
#define ACCEL_PROFILE_H

#include <accel/abi.h>
#include <accel/context.h>
#include <accel/error.h>

ACCEL_BEGIN_C

/* ---- the tables ---- */

/* Type of a setting. */
#define ACCEL_SETTING_INTEGER 0u  /**< a whole number, with its unit where it has one: 2048tok */
#define ACCEL_SETTING_SIZE 1u     /**< bytes; written with B, KiB, MiB, GiB, TiB, MB or GB */
#define ACCEL_SETTING_DURATION 2u /**< milliseconds; written with ms, s or min */
#define ACCEL_SETTING_FLAG 3u     /**< true or false */
#define ACCEL_SETTING_CHOICE 4u   /**< one of `words` */
#define ACCEL_SETTING_EXTENT 5u   /**< one to three sizes, as 8x16 */
#define ACCEL_SETTING_TEXT 6u     /**< anything; whoever acts on it checks it */

/* Honoring code of a setting. */
#define ACCEL_HONORED_RUN 0u    /**< runs */
#define ACCEL_HONORED_DRIVER 1u /**< drivers with an option of that name */
#define ACCEL_HONORED_LATER 2u  /**< nothing yet: refused from a user, shown and never in force from a profile */

/** One setting. Open. */
struct accel_setting_row {
    uint32_t size;
    uint32_t type;      /**< ACCEL_SETTING_... */
    uint32_t honored;   /**< ACCEL_HONORED_... */
    uint32_t zero;      /**< must be 0 */
    const char *name;   /**< "kv.type.k" */
    const char *unit;   /**< "tok", "bytes", "ms" or empty */
    const char *words;  /**< values of a choice, or what a number may be instead; separated by spaces */
    const char *preset; /**< the default, in the base unit */
    const char *by;     /**< the file or the drivers that honor it, or what will: "webgpu driver" */
    const char *help;   /**< for people */
    int64_t lowest;     /**< of numbers and extents, in the base unit */
    int64_t highest;
};

/** Number of settings. */
ACCEL_API uint32_t accel_setting_row_count(void) ACCEL_NOEXCEPT;
/** The setting at `index`, or NULL past the end. */
ACCEL_API const struct accel_setting_row *accel_setting_row_get(uint32_t index) ACCEL_NOEXCEPT;

/** Writes what the environment calls a setting: "kv.type.k" is "ACCEL_KV_TYPE_K". An option of a driver too: "cpu.isa"
 *  is "ACCEL_CPU_ISA". ACCEL_E_LIMIT: it does not fit into `bytes`. */
ACCEL_API int32_t accel_setting_variable(const char *name, char *text, size_t bytes) ACCEL_NOEXCEPT;

/** Checks a value of a setting, written as in a profile: "2048tok", or of a variable that limits the library:
 * ACCEL_PACKED_BYTES. ACCEL_E_NOT_FOUND: there is no such setting;
 * ACCEL_E_INVALID: the value has the wrong type, lacks its unit or is out of range. */
ACCEL_API int32_t accel_setting_check(const char *name, const char *value, struct accel_error *error) ACCEL_NOEXCEPT;

/** One fact that conditions may ask for. Open. */
struct accel_fact_row {
    uint32_t size;
    uint32_t zero;    /**< must be 0 */
    const char *name; /**< "device.kind" */
    const char *unit; /**< of its number: "bytes", "tok" or empty */
    const char *help; /**< for people */
};

/** Number of facts. */
ACCEL_API uint32_t accel_fact_row_count(void) ACCEL_NOEXCEPT;
/** The fact at `index`, or NULL past the end. */
ACCEL_API const struct accel_fact_row *accel_fact_row_get(uint32_t index) ACCEL_NOEXCEPT;

/* ---- the files ---- */

/** Finds the folder of the profiles that the context uses: from the options, else the environment, else the installed
 *  one. The caller frees *out_folder with free(); the folder may not exist. Does not require discovery.
 *  ACCEL_E_INVALID: a pointer is missing; ACCEL_E_MEMORY. */
ACCEL_API int32_t accel_profile_folder(const struct accel_context *context, char **out_folder,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

/* Layers, weakest first. */
#define ACCEL_LAYER_BUILTIN 0u     /**< the default of the table */
#define ACCEL_LAYER_BASE 1u        /**< base.yaml */
#define ACCEL_LAYER_PLATFORM 2u    /**< the file of the platform, NAME.yaml */
#define ACCEL_LAYER_CLIENT 3u      /**< clients/NAME.yaml */
#define ACCEL_LAYER_DEVICE 4u      /**< devices/NAME.yaml */
#define ACCEL_LAYER_MODEL 5u       /**< models/NAME.yaml */
#define ACCEL_LAYER_SYSTEM 6u      /**< /etc/accel/accel.yaml */
#define ACCEL_LAYER_USER 7u        /**< $XDG_CONFIG_HOME/accel/accel.yaml */
#define ACCEL_LAYER_FOLDER 8u      /**< ./accel.yaml */
#define ACCEL_LAYER_ENVIRONMENT 9u /**< variables; ACCEL_... are stronger than the documents' names */
#define ACCEL_LAYER_GIVEN 10u      /**< the caller */

/* ---- models ---- */

/** A fact that a file of the folder models states. Open. */
struct accel_model_fact {
    uint32_t size;
    uint32_t zero;      /**< must be 0 */
    const char *model;  /**< name of the file, "llama-2-7b" */
    const char *key;    /**< "model.layers" */
    const char *value;  /**< "32"; numbers with a unit in the base unit */
    const char *unit;   /**< "bytes", "tok" or empty */
    const char *place;  /**< "profiles/models/llama-2-7b.yaml:7" */
    const char *reason; /**< the source; may be empty */
};

/** Takes one fact. Strings are valid for the call. Not ACCEL_OK ends the reading with that code. */
typedef int32_t(ACCEL_CALL *accel_model_fact_function)(void *data, const struct accel_model_fact *fact);

/**
 * Hands out what the file models/NAME.yaml states, or, where `name` is NULL, what every file there states, one file
 * after the other by name; the first file that cannot be used is then the error, after all others were handed out.
 * Needs no discovery. Any thread. ACCEL_E_NOT_FOUND: there is no such file, and the remedy
 * is the nearest name.
 */
ACCEL_API int32_t accel_model_facts_read(const struct accel_context *context, const char *name,
                                         accel_model_fact_function function, void *data,
                                         struct accel_error *error) ACCEL_NOEXCEPT;

/**
 * Hands out what every file states of which a fact OWNER.MEMBER may be the number, as accel_model_facts_read does
 * without a name. A file with lines "OWNER.MEMBER: NUMBER" for other numbers only is not parsed, so that it is no error
 * if it cannot be used. Any thread. `member`: "layers", or NULL for every file.
 */
ACCEL_API int32_t accel_model_facts_search(const struct accel_context *context, const char *member, uint64_t number,
                                           accel_model_fact_function function, void *data,
                                           struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
