/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/doctor/evidence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/snapshot/fields.h"

void accel_evidence_init(struct accel_evidence *evidence, struct accel_arena *arena)
{
    *evidence = (struct accel_evidence){.arena = arena};
}

struct accel_evidence_item *accel_evidence_add(struct accel_evidence *evidence, const char *kind, const char *name)
{
    struct accel_evidence_item *item = accel_arena_array(evidence->arena, 1, sizeof(*item));
    if (item) {
        item->kind = accel_arena_strdup(evidence->arena, kind);
        item->name = accel_arena_strdup(evidence->arena, name);
    }
    if (item == NULL || item->kind == NULL || item->name == NULL) {
        evidence->failed = true;
        return NULL;
    }
    if (evidence->last)
        evidence->last->next = item;
    else
        evidence->first = item;
    evidence->last = item;
    return item;
}

void accel_evidence_put(struct accel_evidence *evidence, struct accel_evidence_item *item, const char *key,
                        const char *value)
{
    struct accel_evidence_pair *pair = item ? accel_arena_array(evidence->arena, 1, sizeof(*pair)) : NULL;
    if (pair) {
        pair->key = accel_arena_strdup(evidence->arena, key);
        pair->value = accel_arena_strdup(evidence->arena, value);
    }
    if (pair == NULL || pair->key == NULL || pair->value == NULL) {
        evidence->failed = true;
        return;
    }
    if (item->last)
        item->last->next = pair;
    else
        item->first = pair;
    item->last = pair;
}

void accel_evidence_read(struct accel_evidence *evidence, const struct accel_yaml_node *list)
{
    for (const struct accel_yaml_node *node = list ? list->first : NULL; node; node = node->next) {
        const struct accel_yaml_node *kind = accel_yaml_find(node, "kind"), *name = accel_yaml_find(node, "name");
        struct accel_evidence_item *item = accel_evidence_add(evidence, kind->text, name->text);
        for (const struct accel_yaml_node *key = node->first; key; key = key->next)
            if (key->value != kind && key->value != name)
                accel_evidence_put(evidence, item, key->text, key->value->text);
    }
}

void accel_evidence_flag(struct accel_evidence *evidence, struct accel_evidence_item *item, const char *key, bool value)
{
    accel_evidence_put(evidence, item, key, value ? "true" : "false");
}

void accel_evidence_number(struct accel_evidence *evidence, struct accel_evidence_item *item, const char *key,
                           uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    accel_evidence_put(evidence, item, key, text);
}

const struct accel_evidence_item *accel_evidence_find(const struct accel_evidence *evidence, const char *kind,
                                                      const char *name)
{
    for (const struct accel_evidence_item *item = evidence->first; item; item = item->next)
        if (strcmp(item->kind, kind) == 0 && strcmp(item->name, name) == 0)
            return item;
    return NULL;
}

const char *accel_evidence_value(const struct accel_evidence_item *item, const char *key)
{
    for (const struct accel_evidence_pair *pair = item ? item->first : NULL; pair; pair = pair->next)
        if (strcmp(pair->key, key) == 0)
            return pair->value;
    return NULL;
}

bool accel_evidence_is(const struct accel_evidence_item *item, const char *key)
{
    const char *value = accel_evidence_value(item, key);
    return value && strcmp(value, "true") == 0;
}
