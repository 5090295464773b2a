/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/profile/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/utf8.h"

/** State of one parse. */
struct reader {
    yaml_parser_t parser;
    const struct accel_yaml_limits *limits;
    const char *path;
    const char *data;
    size_t bytes;
    struct accel_arena *arena;
    struct accel_error *error;
    uint32_t node_count;
    uint32_t depth;
    bool ended;
    struct accel_yaml_node *root;
    struct accel_yaml_node *open[ACCEL_YAML_DEPTH];        /* open mappings and sequences */
    struct accel_yaml_node *waiting_key[ACCEL_YAML_DEPTH]; /* per mapping: the key whose value comes next */
};

static int32_t refuse_at(struct reader *reader, const yaml_mark_t *mark, int32_t code, const char *text)
{
    return accel_error_by(reader->error, ACCEL_FROM_FILE, code, "%.200s:%zu:%zu: %s", reader->path, mark->line + 1,
                          mark->column + 1, text);
}

int32_t accel_yaml_refuse(const char *path, const struct accel_yaml_node *node, struct accel_error *error, int32_t code,
                          const char *format, ...)
{
    char text[400];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    accel_utf8_one_line(text);
    return accel_error_by(error, ACCEL_FROM_FILE, code, "%.200s:%u:%u: %s", path, node->line, node->column, text);
}

/* Refuses a part of YAML that the files of this library do not use. */
static int32_t refuse_part(struct reader *reader, const yaml_mark_t *mark, const char *part)
{
    char text[80];
    snprintf(text, sizeof(text), "%s are not part of a %s", part, reader->limits->kind);
    return refuse_at(reader, mark, ACCEL_E_CORRUPT, text);
}

static int32_t refuse_scalar(struct reader *reader, const yaml_mark_t *mark)
{
    char text[80];
    snprintf(text, sizeof(text), "text of over %u bytes", reader->limits->scalar);
    return refuse_at(reader, mark, ACCEL_E_CORRUPT, text);
}

/* Returns whether the indentation of a line, counted from 0, contains a tab. */
static bool is_indented_by_tab(const char *data, size_t bytes, size_t line)
{
    const char *end = data + bytes;
    for (; line > 0; line--) {
        data = memchr(data, '\n', (size_t)(end - data));
        /* Lines may end in ways that are not counted here. */
        if (data == NULL)
            return false;
        data++;
    }
    while (data < end && *data == ' ')
        data++;
    return data < end && *data == '\t';
}

/* Adds a remedy to an error of the parser, whose message speaks of tokens. */
static void add_remedy(const struct reader *reader)
{
    static const struct {
        const char *problem;
        const char *remedy;
    } remedies[] = {
        {"found a tab character", "indent with spaces, no tabs"},
        {"found character that cannot start", "quote a text that begins with a sign, as '@' or '`'"},
        {"mapping values are not allowed",
         "quote a text that holds ': '; keys of one mapping begin in the same column"},
        {"did not find expected '-'", "indentation: entries of one list begin with '- ', all in the same column"},
        {"did not find expected key", "indentation: keys of one mapping begin in the same column"},
        {"block sequence entries are not", "indentation: a list begins on a line of its own, '- ' before each entry"},
        {"could not find expected ':'", "a key ends with ':' and a space; quote a text that goes over several lines"},
        {"did not find expected ',' or", "entries in brackets have a comma between them, and each bracket its end"},
        {"unexpected end of stream", "a quote or a bracket has no end"},
    };
    const yaml_parser_t *parser = &reader->parser;
    if (is_indented_by_tab(reader->data, reader->bytes, parser->problem_mark.line)) {
        accel_error_remedy(reader->error, "indent with spaces, no tabs");
        return;
    }
    for (size_t i = 0; parser->problem && i < sizeof(remedies) / sizeof(remedies[0]); i++)
        if (strstr(parser->problem, remedies[i].problem)) {
            accel_error_remedy(reader->error, "%s", remedies[i].remedy);
            return;
        }
}

static int32_t refuse_syntax(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    const char *problem = parser->problem ? parser->problem : "malformed";
    if (parser->error == YAML_MEMORY_ERROR)
        return accel_error_no_memory(reader->error, "to read %.200s", reader->path);
    if (parser->error == YAML_READER_ERROR)
        return accel_error_by(reader->error, ACCEL_FROM_FILE, ACCEL_E_CORRUPT, "%.200s: %s at byte %zu", reader->path,
                              problem, parser->problem_offset);
    refuse_at(reader, &parser->problem_mark, ACCEL_E_CORRUPT, problem);
    add_remedy(reader);
    return ACCEL_E_CORRUPT;
}

void accel_yaml_remedy_colon(const struct accel_yaml_node *node, struct accel_error *error)
{
    const char *colon = node->kind == ACCEL_YAML_TEXT ? strchr(node->text, ':') : NULL;
    if (colon && colon[1] != ' ' && colon[1] != '\0')
        accel_error_remedy(error, "a space belongs behind ':'");
}

static struct accel_yaml_node *new_node(struct reader *reader, enum accel_yaml_kind kind, const yaml_mark_t *mark)
{
    struct accel_yaml_node *node = accel_arena_array(reader->arena, 1, sizeof(*node));
    if (node == NULL) {
        accel_error_no_memory(reader->error, "to read %.200s", reader->path);
        return NULL;
    }
    node->kind = kind;
    node->line = (uint32_t)mark->line + 1;
    node->column = (uint32_t)mark->column + 1;
    return node;
}

static int32_t append(struct reader *reader, struct accel_yaml_node *parent, struct accel_yaml_node *node,
                      const yaml_mark_t *mark)
{
    /* Keys are compared with each other, so mappings are short in every kind of file. */
    uint32_t most = parent->kind == ACCEL_YAML_MAPPING ? ACCEL_YAML_CHILDREN : reader->limits->children;
    if (++parent->child_count > most)
        return refuse_at(reader, mark, ACCEL_E_CORRUPT, "too many entries in one mapping or list");
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    return ACCEL_OK;
}

static int32_t add_key(struct reader *reader, struct accel_yaml_node *mapping, struct accel_yaml_node *key,
                       const yaml_mark_t *mark)
{
    if (key->kind != ACCEL_YAML_TEXT)
        return refuse_at(reader, mark, ACCEL_E_CORRUPT, "a key has to be plain text");
    for (const struct accel_yaml_node *other = mapping->first; other; other = other->next)
        if (other->hash == key->hash && strcmp(other->text, key->text) == 0) {
            accel_yaml_refuse(reader->path, key, reader->error, ACCEL_E_CORRUPT,
                              "key \"%.80s\" stands at line %u already", key->text, other->line);
            return accel_error_advise(reader->error, ACCEL_E_CORRUPT, "leave one of the two out");
        }
    reader->waiting_key[reader->depth - 1] = key;
    return append(reader, mapping, key, mark);
}

/* Inserts a node at the current position: as the root, a list entry, a key, or the value of a key. */
static int32_t place(struct reader *reader, struct accel_yaml_node *node, const yaml_mark_t *mark)
{
    struct accel_yaml_node *parent, *key;
    if (++reader->node_count > reader->limits->nodes)
        return refuse_at(reader, mark, ACCEL_E_CORRUPT, "the file has too many entries");
    if (reader->depth == 0) {
        reader->root = node;
        return ACCEL_OK;
    }
    parent = reader->open[reader->depth - 1];
    if (parent->kind == ACCEL_YAML_SEQUENCE)
        return append(reader, parent, node, mark);
    key = reader->waiting_key[reader->depth - 1];
    if (key == NULL)
        return add_key(reader, parent, node, mark);
    key->value = node;
    reader->waiting_key[reader->depth - 1] = NULL;
    return ACCEL_OK;
}

static int32_t open_node(struct reader *reader, enum accel_yaml_kind kind, const yaml_event_t *event)
{
    struct accel_yaml_node *node;
    int32_t code;
    if (reader->depth == ACCEL_YAML_DEPTH)
        return refuse_at(reader, &event->start_mark, ACCEL_E_CORRUPT, "nested too deeply");
    node = new_node(reader, kind, &event->start_mark);
    if (node == NULL)
        return ACCEL_E_MEMORY;
    code = place(reader, node, &event->start_mark);
    reader->open[reader->depth] = node;
    reader->waiting_key[reader->depth] = NULL;
    reader->depth++;
    return code;
}

/* Returns the bytes of the control character at `text`, 0 if there is none. Escapes of quoted texts ("\\e",
 * "\\x9b") can produce any, and a terminal would execute it. */
static size_t control_at(const char *text, size_t length)
{
    const unsigned char *byte = (const unsigned char *)text;
    if (byte[0] == 0xc2 && length > 1 && byte[1] < 0xa0)
        return 2;
    return (byte[0] < 0x20 && byte[0] != '\n' && byte[0] != '\t') || byte[0] == 0x7f;
}

static bool has_control(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (control_at(text + i, length - i))
            return true;
    return false;
}

/* Replaces each control character with one '?', in place; returns the new length. */
static size_t replace_controls(char *text, size_t length)
{
    size_t to = 0;
    for (size_t at = 0; at < length;) {
        size_t control = control_at(text + at, length - at);
        text[to++] = control ? '?' : text[at];
        at += control ? control : 1;
    }
    return to;
}

static int32_t add_scalar(struct reader *reader, const yaml_event_t *event)
{
    char *text = (char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    struct accel_yaml_node *node;
    if (event->data.scalar.anchor || event->data.scalar.tag)
        return refuse_part(reader, &event->start_mark, "anchors and tags");
    if (length > reader->limits->scalar)
        return refuse_scalar(reader, &event->start_mark);
    if (memchr(text, 0, length))
        return refuse_at(reader, &event->start_mark, ACCEL_E_CORRUPT, "text with a zero byte");
    if (reader->limits->is_recorded)
        length = replace_controls(text, length);
    else if (has_control(text, length))
        return refuse_at(reader, &event->start_mark, ACCEL_E_CORRUPT,
                         "text with a control character, which a terminal would obey");
    node = new_node(reader, ACCEL_YAML_TEXT, &event->start_mark);
    if (node == NULL || (node->text = accel_arena_strndup(reader->arena, text, length)) == NULL)
        return accel_error_no_memory(reader->error, "to read %.200s", reader->path);
    node->hash = accel_hash64(text, length, 0);
    return place(reader, node, &event->start_mark);
}

static int32_t add_event(struct reader *reader, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (reader->root)
            return refuse_at(reader, &event->start_mark, ACCEL_E_CORRUPT, "a second document");
        if (event->data.document_start.version_directive ||
            event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
            return refuse_part(reader, &event->start_mark, "directives");
        return ACCEL_OK;
    case YAML_ALIAS_EVENT:
        return refuse_part(reader, &event->start_mark, "aliases");
    case YAML_SCALAR_EVENT:
        return add_scalar(reader, event);
    case YAML_SEQUENCE_START_EVENT:
        if (event->data.sequence_start.anchor || event->data.sequence_start.tag)
            return refuse_part(reader, &event->start_mark, "anchors and tags");
        return open_node(reader, ACCEL_YAML_SEQUENCE, event);
    case YAML_MAPPING_START_EVENT:
        if (event->data.mapping_start.anchor || event->data.mapping_start.tag)
            return refuse_part(reader, &event->start_mark, "anchors and tags");
        return open_node(reader, ACCEL_YAML_MAPPING, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        reader->depth--;
        return ACCEL_OK;
    case YAML_STREAM_END_EVENT:
        reader->ended = true;
        return ACCEL_OK;
    default:
        return ACCEL_OK;
    }
}

static int32_t read_events(struct reader *reader)
{
    int32_t code = ACCEL_OK;
    while (code == ACCEL_OK && !reader->ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader->parser, &event))
            return refuse_syntax(reader);
        code = add_event(reader, &event);
        yaml_event_delete(&event);
    }
    return code;
}

int32_t accel_yaml_parse(const char *path, const char *data, size_t bytes, struct accel_arena *arena,
                         struct accel_yaml_node **out_root, struct accel_error *error)
{
    static const struct accel_yaml_limits profile = {"profile",           ACCEL_YAML_BYTES, ACCEL_YAML_SCALAR,
                                                     ACCEL_YAML_CHILDREN, ACCEL_YAML_NODES, false};
    return accel_yaml_parse_within(&profile, path, data, bytes, arena, out_root, error);
}

size_t accel_yaml_mark(const char *data, size_t bytes)
{
    return bytes >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

int32_t accel_yaml_read_code(int32_t code, struct accel_error *error)
{
    if (code != ACCEL_E_LIMIT)
        return code;
    if (error != NULL)
        error->code = ACCEL_E_CORRUPT;
    return ACCEL_E_CORRUPT;
}

int32_t accel_yaml_parse_within(const struct accel_yaml_limits *limits, const char *path, const char *data,
                                size_t bytes, struct accel_arena *arena, struct accel_yaml_node **out_root,
                                struct accel_error *error)
{
    size_t bad, mark = accel_yaml_mark(data, bytes);
    struct reader reader = {
        .limits = limits, .path = path, .data = data + mark, .bytes = bytes - mark, .arena = arena, .error = error};
    int32_t code;
    *out_root = NULL;
    if (bytes > limits->bytes)
        return accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_CORRUPT, "%.200s: %zu bytes, a %s has at most %u", path,
                              bytes, limits->kind, limits->bytes);
    /* libyaml would guess UTF-16 from a byte order mark. */
    if (!accel_utf8_valid(data, bytes, &bad))
        return accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_CORRUPT, "%.200s: byte %zu is not UTF-8", path, bad);
    if (!yaml_parser_initialize(&reader.parser))
        return accel_error_no_memory(error, "to read %.200s", path);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)data + mark, bytes - mark);
    code = read_events(&reader);
    yaml_parser_delete(&reader.parser);
    if (code == ACCEL_OK && reader.root == NULL) {
        code = accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_CORRUPT, "%.200s:1:1: the file is empty", path);
        accel_error_remedy(error, "remove it, or write a %s into it", limits->kind);
    }
    if (code == ACCEL_OK)
        *out_root = reader.root;
    return code;
}

const struct accel_yaml_node *accel_yaml_find(const struct accel_yaml_node *mapping, const char *key)
{
    for (const struct accel_yaml_node *node = mapping->first; node; node = node->next)
        if (strcmp(node->text, key) == 0)
            return node->value;
    return NULL;
}
