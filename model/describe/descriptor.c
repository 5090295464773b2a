/* SPDX-License-Identifier: Apache-2.0 */
/* Reads descriptors: the facts of a named model, and the descriptor that matches a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/profile.h>

#include "model/describe/internal.h"
#include "model/family/family.h"

enum { NAME_BYTES = 64 };

/* ---- by name ---- */

struct stated {
    struct accel_model_description *d;
    struct accel_error *error;
};

static int32_t collect_fact(void *data, const struct accel_model_fact *fact)
{
    struct stated *stated = data;

    if (stated->d->origin == NULL) {
        size_t length = strcspn(fact->place, "\n");

        stated->d->origin = model_pool_text(&stated->d->pool, fact->place, length);
        if (stated->d->origin == NULL)
            return model_no_memory(stated->error, stated->d->path, length);
    }
    return describe_fact(stated->d, fact->key, fact->value, fact->place, stated->error);
}

/* Removes the line of the first fact from the origin. */
static void cut_line(struct accel_model_description *d)
{
    char *copy = model_pool_text(&d->pool, d->origin, strlen(d->origin)), *colon;

    if (copy == NULL)
        return;
    colon = strrchr(copy, ':');
    if (colon != NULL)
        *colon = 0;
    d->origin = copy;
}

static int32_t set_family(struct accel_model_description *d, struct accel_error *error)
{
    const char *family = describe_find_fact(d, "model.family"), *kind = describe_find_fact(d, "model.kind");

    if (family == NULL)
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: the fact model.family is missing", d->origin);
    if (family_find(family) == NULL)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: unknown family \"%.60s\"", d->origin, family);
    family_set(d, family_find(family));
    d->traits.family = family;
    d->traits.kind = kind == NULL ? d->family->kind : kind;
    return ACCEL_OK;
}

/* Reads the descriptor of exactly this name; `why` is an error of the profiles. */
static int32_t read_named(struct accel_model_description *d, struct accel_context *context, const char *name,
                          struct accel_error *why, struct accel_error *error)
{
    struct stated stated = {d, error};
    int32_t code = describe_fact(d, "model.name", name, name, error);

    return code == ACCEL_OK ? accel_model_facts_read(context, name, collect_fact, &stated, why) : code;
}

int32_t describe_named(struct accel_model_description *d, struct accel_context *context, const char *name,
                       struct accel_error *error)
{
    struct accel_error why = {0};
    char found[DESCRIPTOR_BYTES];
    int32_t code = read_named(d, context, name, &why, error);

    if (code == ACCEL_E_NOT_FOUND && describe_find_name(context, name, found)) {
        accel_error_clear(&why);
        d->fact_count = 0;
        name = found;
        code = read_named(d, context, name, &why, error);
    }
    if (code == ACCEL_E_NOT_FOUND) {
        accel_error_set(error, code, "\"%.200s\" is neither a file nor a model that the profiles describe", name);
        describe_suggest_name(context, name, error);
        return code;
    }
    if (code != ACCEL_OK) {
        accel_error_set(error, code, "%s", why.text);
        accel_error_remedy(error, "%s", why.remedy);
        return accel_error_origin(error, why.origin, code);
    }
    if (d->origin == NULL)
        return accel_error_set(error, ACCEL_E_CORRUPT, "models/%s.yaml states no facts", name);
    cut_line(d);
    code = set_family(d, error);
    return code == ACCEL_OK ? describe_read_facts(d, error) : code;
}

/* ---- by match ---- */

/* State of the search for a match, over the facts of all descriptors, one file after the other. */
struct candidate {
    struct accel_model_description *file;
    struct accel_model_description *facts; /* of the current descriptor; freed and recreated for each */
    struct accel_error *error;
    char name[NAME_BYTES];
    char best[NAME_BYTES];
    uint64_t score; /* number of matching shapes of the best; 0: no match */
};

static bool same_family(const char *file, const char *descriptor)
{
    /* GGUF calls all that is built like it so. */
    static const char *const built_alike[] = {"llama", "mistral", "mixtral"};
    const struct model_family *one, *other;
    bool a = false, b = false;

    if (strcmp(file, descriptor) == 0)
        return true;
    /* GGUF has a name of its own for some. */
    if (family_find(file) != NULL && strcmp(family_find(file)->name, descriptor) == 0)
        return true;
    if (model_family_find("", file, &one, NULL) == ACCEL_OK &&
        model_family_find("", descriptor, &other, NULL) == ACCEL_OK && one == other)
        return true;
    for (size_t i = 0; i < sizeof(built_alike) / sizeof(built_alike[0]); i++) {
        a = a || strcmp(file, built_alike[i]) == 0;
        b = b || strcmp(descriptor, built_alike[i]) == 0;
    }
    return a && b;
}

/* Counts members that both have and that are equal; returns false if one differs. */
static bool agrees(uint64_t a, uint64_t b, uint64_t *score)
{
    if (a == 0 || b == 0)
        return true;
    *score += a == b;
    return a == b;
}

static bool shapes_agree(const struct shape *a, const struct shape *b, uint64_t *score)
{
    return agrees(a->layers, b->layers, score) && agrees(a->hidden, b->hidden, score) &&
           agrees(a->ffn, b->ffn, score) && agrees(a->heads, b->heads, score) &&
           agrees(a->kv_heads, b->kv_heads, score) && agrees(a->head_size, b->head_size, score) &&
           a->experts == b->experts && agrees(a->expert_ffn, b->expert_ffn, score) &&
           agrees(a->vocabulary, b->vocabulary, score) && agrees(a->patch, b->patch, score) &&
           agrees(a->positions, b->positions, score) && agrees(a->mels, b->mels, score);
}

static bool lists_agree(const struct shape_list *a, const struct shape_list *b)
{
    return a->count == 0 || b->count == 0 ||
           (a->count == b->count && memcmp(a->items, b->items, a->count * sizeof(a->items[0])) == 0);
}

/* Scores the current descriptor. An invalid one of the family is an error: it could be the match, and its rules would
 * be lost. */
static int32_t score_candidate(struct candidate *candidate)
{
    struct accel_model_description *d = candidate->facts;
    uint64_t score = 1;
    int32_t code;
    bool fits;

    if (candidate->name[0] == 0)
        return ACCEL_OK;
    code = set_family(d, candidate->error);
    if (code != ACCEL_OK || !same_family(candidate->file->traits.family, d->traits.family))
        return code;
    code = describe_read_facts(d, candidate->error);
    if (code != ACCEL_OK)
        return code;
    describe_complete(d);
    fits = d->shapes[d->traits.main].layers == candidate->file->shapes[d->traits.main].layers &&
           agrees(candidate->file->traits.classes, d->traits.classes, &score);
    /* Models of one shape differ in this member; it ranks them and excludes none. */
    agrees(candidate->file->traits.context, d->traits.context, &score);
    for (uint32_t part = 0; part < PARTS && fits; part++) {
        const struct shape *a = &candidate->file->shapes[part], *b = &d->shapes[part];

        if (a->used && b->used)
            fits = shapes_agree(a, b, &score) && lists_agree(&a->stages, &b->stages) &&
                   lists_agree(&a->widths, &b->widths);
        else
            fits = !b->used || part == PART_PROJECTOR;
    }
    if (fits && score > candidate->score) {
        candidate->score = score;
        memcpy(candidate->best, candidate->name, sizeof(candidate->best));
    }
    return ACCEL_OK;
}

static int32_t begin_candidate(struct candidate *candidate, const struct accel_model_fact *fact)
{
    model_pool_free(&candidate->facts->pool);
    memset(candidate->facts, 0, sizeof(*candidate->facts));
    candidate->facts->path = candidate->file->path;
    snprintf(candidate->name, sizeof(candidate->name), "%s", fact->model);
    candidate->facts->origin = model_pool_text(&candidate->facts->pool, fact->place, strlen(fact->place));
    return candidate->facts->origin != NULL
               ? ACCEL_OK
               : model_no_memory(candidate->error, candidate->file->path, strlen(fact->place));
}

static int32_t visit_fact(void *data, const struct accel_model_fact *fact)
{
    struct candidate *candidate = data;
    int32_t code = ACCEL_OK;

    if (strcmp(candidate->name, fact->model) != 0) {
        code = score_candidate(candidate);
        if (code == ACCEL_OK)
            code = begin_candidate(candidate, fact);
    }
    return code != ACCEL_OK ? code
                            : describe_fact(candidate->facts, fact->key, fact->value, fact->place, candidate->error);
}

static void fill_open(uint64_t *mine, uint64_t theirs)
{
    *mine = *mine == 0 ? theirs : *mine;
}

static void borrow_shapes(struct accel_model_description *d, const struct accel_model_description *other)
{
    for (uint32_t part = 0; part < PARTS; part++) {
        struct shape *mine = &d->shapes[part];
        const struct shape *theirs = &other->shapes[part];

        if (!mine->used)
            continue;
        fill_open(&mine->heads, theirs->heads);
        fill_open(&mine->kv_heads, theirs->kv_heads);
        fill_open(&mine->head_size, theirs->head_size);
        fill_open(&mine->tokens, theirs->tokens);
    }
    fill_open(&d->traits.context, other->traits.context);
}

/* Copies facts that the file lacks from the descriptor, with their origins. */
static int32_t borrow(struct accel_model_description *d, struct accel_context *context, const char *name,
                      struct accel_error *error)
{
    struct accel_model_description *other = calloc(1, sizeof(*other));
    int32_t code;

    if (other == NULL)
        return model_no_memory(error, d->path, sizeof(*other));
    other->path = d->path;
    code = describe_named(other, context, name, error);
    if (code == ACCEL_OK) {
        const char *source = describe_find_fact(other, "model.source");

        borrow_shapes(d, other);
        if (source != NULL)
            code = describe_fact(d, "model.source", source, other->origin, error);
    }
    if (code == ACCEL_OK)
        code = describe_fact(d, "model.name", name, other->origin, error);
    model_pool_free(&other->pool);
    free(other);
    return code;
}

int32_t describe_fit(struct accel_model_description *d, struct accel_context *context, struct accel_error *error)
{
    struct accel_error why = {0}, reading = {0};
    struct candidate candidate = {.file = d, .error = &why};
    const uint64_t layers = d->traits.main == PART_LANGUAGE ? d->shapes[PART_LANGUAGE].layers : 0;
    int32_t code;

    if (d->traits.family == NULL)
        return ACCEL_OK;
    candidate.facts = calloc(1, sizeof(*candidate.facts));
    if (candidate.facts == NULL)
        return model_no_memory(error, d->path, sizeof(*candidate.facts));
    /* A descriptor matches only if it has as many layers. Language models state them; those of pyramids are a sum. */
    code = accel_model_facts_search(context, layers == 0 ? NULL : "layers", layers, visit_fact, &candidate, &reading);
    if (code == ACCEL_OK)
        code = score_candidate(&candidate);
    model_pool_free(&candidate.facts->pool);
    free(candidate.facts);
    /* Without profiles there are no descriptors. */
    if (code == ACCEL_E_NOT_FOUND)
        return ACCEL_OK;
    if (code == ACCEL_OK)
        return candidate.score > 1 ? borrow(d, context, candidate.best, error) : ACCEL_OK;
    if (why.code == ACCEL_OK)
        why = reading;
    if (error != NULL && error->code == ACCEL_OK)
        *error = why;
    return code;
}
