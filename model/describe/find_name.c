/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the descriptor of a model by other names, as Hugging Face has them, and suggests one for unknown names. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <accel/profile.h>
#include <accel/quant/format.h>

#include "model/describe/internal.h"
#include "model/describe/mix.h"

struct search {
    const char *name;  /* as given: "gemma-2b" or "google/gemma-2b" */
    const char *owner; /* == name if it has one; NULL: none */
    size_t owner_length;
    const char *base; /* the name without its owner */
    char *found;
};

static bool is_same(const char *a, size_t a_length, const char *b, size_t b_length)
{
    return a_length == b_length && strncasecmp(a, b, a_length) == 0;
}

/* Compares the name with a descriptor's source, "huggingface.co/OWNER/NAME, FILE". A name with an owner is a model of
 * that owner, and may leave out the words that its repository has more than the descriptor. */
static bool is_source(const struct search *search, const char *model, const char *source)
{
    static const char site[] = "huggingface.co/";
    const char *owner = source + sizeof(site) - 1, *base;
    size_t owner_length, base_length;

    if (strncmp(source, site, sizeof(site) - 1) != 0)
        return false;
    owner_length = strcspn(owner, "/");
    base = owner + owner_length + (owner[owner_length] == '/');
    base_length = strcspn(base, ",");
    if (search->owner != NULL && !is_same(search->owner, search->owner_length, owner, owner_length))
        return false;
    return is_same(search->base, strlen(search->base), base, base_length) ||
           is_same(search->base, strlen(search->base), model, strlen(model));
}

static int32_t compare_fact(void *data, const struct accel_model_fact *fact)
{
    struct search *search = data;
    bool is_it = search->owner == NULL && strcasecmp(search->name, fact->model) == 0;

    if (!is_it && strcmp(fact->key, "model.source") == 0)
        is_it = is_source(search, fact->model, fact->value);
    if (strlen(fact->model) >= DESCRIPTOR_BYTES)
        return ACCEL_OK;
    if (is_it && search->found[0] == '\0')
        strcpy(search->found, fact->model);
    return ACCEL_OK;
}

const char *describe_base_name(const char *name)
{
    const char *slash = strchr(name, '/');

    if (slash == NULL)
        return name;
    return name[0] == '.' || name[0] == '~' || slash == name || slash[1] == '\0' || strchr(slash + 1, '/') != NULL
               ? NULL
               : slash + 1;
}

/* Reads all descriptors. A damaged one is an error where it is read, not where its name is sought. */
bool describe_find_name(struct accel_context *context, const char *name, char found[DESCRIPTOR_BYTES])
{
    struct search search = {.name = name, .base = describe_base_name(name), .found = found};

    found[0] = '\0';
    if (search.base == NULL)
        return false;
    if (search.base != name) {
        search.owner = name;
        search.owner_length = (size_t)(search.base - name - 1);
    }
    accel_model_facts_read(context, NULL, compare_fact, &search, NULL);
    return found[0] != '\0';
}

static int32_t ignore_fact(void *data, const struct accel_model_fact *fact)
{
    (void)data;
    (void)fact;
    return ACCEL_OK;
}

/* Returns whether a type is a value of weights.type, in upper or lower case: runs make fewer types than files have. */
static bool is_weights_type(const char *type)
{
    const size_t length = strlen(type);
    const char *at = "";

    for (uint32_t i = 0; i < accel_setting_row_count(); i++)
        if (strcmp(accel_setting_row_get(i)->name, "weights.type") == 0)
            at = accel_setting_row_get(i)->words;
    for (; *at != '\0'; at += strcspn(at, " "), at += strspn(at, " "))
        if (strncasecmp(at, type, length) == 0 && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* Returns the version in a name, of `length` bytes, as "2.5" of "name2.5-7b": its first number, if that is neither a
 * size nor a release as in "v0.3". */
static const char *find_version(const char *name, size_t *length)
{
    const char *at = name + strcspn(name, "0123456789");

    *length = strspn(at, "0123456789.");
    if (at[*length] != '\0' && strchr("kKmMbB", at[*length]) != NULL)
        *length = 0;
    return at;
}

/* Writes "did you mean NAME?" into `guess`, with both versions if they differ, and the type of the weights. */
static void write_guess(const char *wanted, const char *name, const char *type, char *guess, size_t bytes)
{
    size_t length, other;
    const char *version = find_version(wanted, &length), *near = find_version(name, &other);

    if (length == 0 || other == 0 || (length == other && strncmp(version, near, length) == 0))
        snprintf(guess, bytes, "did you mean %s%s?", name, type);
    else
        snprintf(guess, bytes, "did you mean %s (version %.*s, not %.*s)%s?", name, (int)other, near, (int)length,
                 version, type);
}

/* Writes "did you mean NAME?" with the nearest descriptor: of the name, or of what stands before its last words without
 * numerals, as in "Name-8B-Instruct". Leaves the text empty if no descriptor is near. */
static void guess_name(struct accel_context *context, const char *base, char *guess, size_t bytes)
{
    char name[DESCRIPTOR_BYTES], near[80], type[48] = "";
    char *last;

    if (base == NULL || strlen(base) >= sizeof(name))
        return;
    strcpy(name, base);
    /* A name of a file has the type of its weights behind that of the model. */
    last = strrchr(name, '-');
    if (last != NULL && (model_mix_is_known(last + 1, true) || accel_format_find(last + 1) != ACCEL_TYPE_NONE)) {
        if (is_weights_type(last + 1))
            snprintf(type, sizeof(type), ", with --set weights.type=%.16s", last + 1);
        *last = '\0';
    }
    last = name;
    while (last != NULL) {
        struct accel_error why = {0};
        const int32_t code = accel_model_facts_read(context, name, ignore_fact, NULL, &why);

        if (code == ACCEL_OK)
            write_guess(name, name, type, guess, bytes);
        else if (code == ACCEL_E_NOT_FOUND && sscanf(why.remedy, "did you mean %79[^?]", near) == 1)
            write_guess(name, near, type, guess, bytes);
        last = strrchr(name, '-');
        if (guess[0] != '\0' || last == NULL || strpbrk(last, "0123456789") != NULL)
            return;
        *last = '\0';
    }
}

/* Names of descriptors that begin with the first word of a name, as "name" of "name-3-8b". */
struct relatives {
    const char *name;
    size_t letters;
    char last[DESCRIPTOR_BYTES];
    char list[160];
};

static int32_t add_relative(void *data, const struct accel_model_fact *fact)
{
    struct relatives *relatives = data;
    const char *model = fact->model;
    const size_t used = strlen(relatives->list), length = strlen(model);

    if (strncasecmp(model, relatives->name, relatives->letters) != 0 ||
        isalpha((unsigned char)model[relatives->letters]) || length >= sizeof(relatives->last) ||
        strcmp(model, relatives->last) == 0)
        return ACCEL_OK;
    strcpy(relatives->last, model);
    if (used + length + sizeof(", , ...") <= sizeof(relatives->list))
        snprintf(relatives->list + used, sizeof(relatives->list) - used, "%s%s", used == 0 ? "" : ", ", model);
    else if (strcmp(relatives->list + used - 3, "...") != 0)
        strcat(relatives->list, ", ...");
    return ACCEL_OK;
}

/* Lists the descriptors whose first word is that of the name, in `relatives`; none for a name without letters. */
static void list_relatives(struct accel_context *context, const char *name, struct relatives *relatives)
{
    *relatives = (struct relatives){.name = describe_base_name(name)};
    while (relatives->name != NULL && isalpha((unsigned char)relatives->name[relatives->letters]))
        relatives->letters++;
    if (relatives->letters > 1)
        accel_model_facts_read(context, NULL, add_relative, relatives, NULL);
}

void describe_suggest_name(struct accel_context *context, const char *name, struct accel_error *error)
{
    char guess[DESCRIPTOR_BYTES + 80] = "";
    struct relatives relatives = {.list = ""};

    guess_name(context, describe_base_name(name), guess, sizeof(guess));
    if (guess[0] == '\0')
        list_relatives(context, name, &relatives);
    if (relatives.list[0] != '\0')
        accel_error_remedy(error,
                           "no descriptor has this version and size: there are %s; name the path of its weights, or of "
                           "its config.json, instead",
                           relatives.list);
    else if (guess[0] != '\0')
        accel_error_remedy(
            error,
            "%s accelctl plan plans it by its name; to run a model, download its GGUF file or folder of "
            "safetensors, and give its path (nothing is downloaded); accel-profile(5): how to describe another",
            guess);
    else
        accel_error_remedy(
            error,
            "check the path (nothing is downloaded): a model is a GGUF file, a safetensors "
            "file, or a folder with one; accelctl profile list models lists models that accelctl plan knows by name; "
            "accel-profile(5) shows how to describe another");
}
