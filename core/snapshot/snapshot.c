/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/snapshot/fields.h"

/* Longest scalar: a line of hwloc's XML. Longest list: the lines of a large machine. */
static const struct accel_yaml_limits limits = {.kind = "snapshot",
                                                .bytes = ACCEL_SNAPSHOT_BYTES,
                                                .scalar = 1u << 16,
                                                .children = 1u << 16,
                                                .nodes = 1u << 20,
                                                .is_recorded = true};

static int32_t check_item(const char *path, const struct accel_yaml_node *node, struct accel_error *error)
{
    if (node->kind != ACCEL_YAML_MAPPING)
        return accel_yaml_refuse(path, node, error, ACCEL_E_CORRUPT, "an item of the evidence is an object");
    for (const struct accel_yaml_node *key = node->first; key; key = key->next)
        if (key->value->kind != ACCEL_YAML_TEXT)
            return accel_yaml_refuse(path, key, error, ACCEL_E_CORRUPT, "\"%.80s\" of evidence is no text", key->text);
    if (accel_yaml_find(node, "kind") == NULL || accel_yaml_find(node, "name") == NULL)
        return accel_yaml_refuse(path, node, error, ACCEL_E_CORRUPT,
                                 "an item of the evidence has a \"kind\" and a \"name\"");
    return ACCEL_OK;
}

/* Moves the evidence out of the tree, so that the table describes the rest. */
static int32_t read_evidence(const char *path, struct accel_yaml_node *root, const struct accel_yaml_node **out_list,
                             struct accel_error *error)
{
    const struct accel_yaml_node *list = NULL;
    int32_t code = ACCEL_OK;
    for (struct accel_yaml_node **at = &root->first; *at; at = &(*at)->next) {
        if (strcmp((*at)->text, ACCEL_SNAPSHOT_EVIDENCE) != 0)
            continue;
        list = (*at)->value;
        *at = (*at)->next;
        break;
    }
    if (list && list->kind != ACCEL_YAML_SEQUENCE)
        return accel_yaml_refuse(path, list, error, ACCEL_E_CORRUPT, "evidence is a list");
    for (const struct accel_yaml_node *node = list ? list->first : NULL; node && code == ACCEL_OK; node = node->next)
        code = check_item(path, node, error);
    *out_list = list;
    return code;
}

static int32_t add_remedy(int32_t code, struct accel_error *error)
{
    return accel_error_advise(error, code, "write one on the machine to be described: accelctl snapshot FILE.json");
}

int32_t accel_snapshot_parse(const char *path, const char *data, size_t bytes, struct accel_arena *arena,
                             struct accel_snapshot *out_snapshot, struct accel_error *error)
{
    struct accel_yaml_node *root;
    struct accel_error why = {0};
    int32_t code;
    memset(out_snapshot, 0, sizeof(*out_snapshot));
    code = accel_yaml_parse_within(&limits, path, data, bytes, arena, &root, &why);
    if (code == ACCEL_E_MEMORY)
        return accel_error_by(error, ACCEL_FROM_FILE, code, "%s", why.text);
    /* Refuses a file that is not JSON before a YAML error of its content is reported, which would be misleading. */
    if (code == ACCEL_OK ? root->kind == ACCEL_YAML_TEXT : bytes > 0 && data[0] != '{') {
        accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_CORRUPT, "%.300s: is no snapshot of a machine", path);
        return add_remedy(ACCEL_E_CORRUPT, error);
    }
    if (code != ACCEL_OK)
        return add_remedy(accel_error_by(error, ACCEL_FROM_FILE, code, "%s", why.text), error);
    if (root->kind != ACCEL_YAML_MAPPING)
        return accel_yaml_refuse(path, root, error, ACCEL_E_CORRUPT, "a snapshot is one object");
    code = read_evidence(path, root, &out_snapshot->evidence, error);
    if (code == ACCEL_OK)
        code = accel_fields_read(&accel_snapshot_fields, path, root, arena, out_snapshot, error);
    if (code == ACCEL_OK && strcmp(out_snapshot->schema, ACCEL_SNAPSHOT_SCHEMA) != 0)
        code = accel_yaml_refuse(path, root, error, ACCEL_E_UNSUPPORTED, "schema \"%.60s\" is not %s",
                                 out_snapshot->schema, ACCEL_SNAPSHOT_SCHEMA);
    if (code != ACCEL_OK)
        return add_remedy(code, error);
    out_snapshot->path = accel_arena_strdup(arena, path);
    return out_snapshot->path ? ACCEL_OK : accel_error_no_memory(error, "for snapshot %.200s", path);
}

int32_t accel_snapshot_read(const char *path, struct accel_arena *arena, struct accel_snapshot *out_snapshot,
                            struct accel_error *error)
{
    char *data = NULL;
    size_t bytes = 0;
    int32_t code = accel_file_read(path, ACCEL_SNAPSHOT_BYTES, &data, &bytes, error);
    if (code == ACCEL_OK)
        code = accel_snapshot_parse(path, data, bytes, arena, out_snapshot, error);
    free(data);
    return add_remedy(code, error);
}

char *accel_snapshot_xml(const struct accel_snapshot *snapshot, struct accel_arena *arena, size_t *out_bytes)
{
    const struct accel_snapshot_topology *topology = &snapshot->topology;
    size_t bytes = 1;
    char *text, *at;
    for (uint32_t i = 0; i < topology->line_count; i++)
        bytes += strlen(topology->xml[i]) + 1;
    text = at = accel_arena_alloc(arena, bytes, 1);
    for (uint32_t i = 0; text && i < topology->line_count; i++) {
        at = stpcpy(at, topology->xml[i]);
        *at++ = '\n';
    }
    *out_bytes = bytes;
    return text;
}
