/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/errors.h"
#include "tools/accelctl/info/info.h"

enum { LABEL = 14, VALUE_MOST = 400, NAME_MOST = 60 };

static json_int_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static bool is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* ---- values ---- */

/* Marks a line of `used` bytes as cut, unless it is marked already or is full. */
static void append_dots(char *line, size_t size, size_t used)
{
    if (used + 4 <= size && (used < 3 || strcmp(line + used - 3, "...") != 0))
        strcpy(line + used, "...");
}

/* Appends text with ends of lines and tabs as \n and \t, and other control characters as question marks; cut to
 * the available size, and then ended by "...". */
static void append_clean(char *line, size_t size, const char *text)
{
    char piece[VALUE_MOST];
    size_t used = strlen(line);

    while (*text != '\0') {
        const size_t plain = strcspn(text, "\n\t");

        if (used + 8 >= size) {
            append_dots(line, size, used);
            return;
        }
        if (plain == 0) {
            line[used++] = '\\';
            line[used++] = *text++ == '\n' ? 'n' : 't';
            line[used] = '\0';
            continue;
        }
        /* Copies whole characters, since a cut one would become a question mark: only the end of a line can cut
         * it. */
        snprintf(piece, sizeof(piece), "%.*s", (int)(plain < sizeof(piece) ? plain : sizeof(piece) - 1), text);
        clean_text(piece, line + used, size - used - 4);
        used += strlen(line + used);
        if (plain >= sizeof(piece) || used + 8 >= size) {
            append_dots(line, size, used);
            return;
        }
        text += plain;
    }
}

/* Returns the bytes of the characters that lie wholly in the first `most` bytes. */
static size_t utf8_cut(const char *text, size_t most)
{
    while (most > 0 && ((unsigned char)text[most] & 0xc0u) == 0x80u)
        most--;
    return most;
}

static void append_value(char *line, size_t size, const json_t *value)
{
    char *dumped;

    if (json_is_string(value)) {
        append_clean(line, size, json_string_value(value));
        return;
    }
    dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(7));
    append_clean(line, size, dumped == NULL ? "" : dumped);
    free(dumped);
}

static void print_label(const char *label)
{
    print("%-*s ", LABEL, label);
}

/* ---- parts ---- */

/* Prints that it works, or why not, with the remedy. */
static void print_runs(const json_t *object, const char *can, const char *cannot)
{
    char text[1200];

    if (is_true(object, "runs")) {
        print("%s here\n", can);
        return;
    }
    snprintf(text, sizeof(text), "%s here: ", cannot);
    append_clean(text, sizeof(text), json_member_text(object, "why"));
    print_wrapped(LABEL + 1, LABEL + 1, text);
    if (json_member_text(object, "remedy")[0] != '\0') {
        snprintf(text, sizeof(text), "remedy: ");
        append_clean(text, sizeof(text), json_member_text(object, "remedy"));
        print_label("");
        print_wrapped(LABEL + 1, LABEL + 1, text);
    }
}

static void print_files(const json_t *document)
{
    const json_t *files = json_object_get(document, "files");
    json_int_t bytes = 0;
    char size[32], line[VALUE_MOST] = "";
    json_t *file;
    size_t i;

    json_array_foreach(files, i, file)
    {
        bytes += integer_of(file, "bytes");
    }
    append_clean(line, sizeof(line), json_member_text(document, "path"));
    print_label("model");
    print("%s\n", line);
    print_label("format");
    print("%s%s%s", json_member_text(document, "format"), json_member_text(document, "file_type")[0] == '\0' ? "" : " ",
          json_member_text(document, "file_type"));
    if (strcmp(json_member_text(document, "format"), "description") == 0)
        print(" of the folder models, without a file (%s)",
              short_places(json_member_text(json_object_get(document, "origin"), "architecture"), line, sizeof(line)));
    if (strcmp(json_member_text(document, "format"), "config.json") == 0)
        print(" alone, without weights");
    if (json_array_size(files) > 0)
        print(", %zu file%s, %s (%lld bytes)", json_array_size(files), json_array_size(files) == 1 ? "" : "s",
              bytes_text((uint64_t)bytes, size), (long long)bytes);
    print("\n");
    if (json_member_text(document, "layout")[0] != '\0') {
        print_label("layout");
        print("%s (quant/LAYOUT.md): for programs over libaccel-model, not for llama.cpp\n",
              json_member_text(document, "layout"));
    }
}

static const char *count_text(json_int_t count, char text[32])
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " k"}};

    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if ((double)count >= units[i].unit) {
            snprintf(text, 32, "%.4g%s", (double)count / units[i].unit, units[i].name);
            return text;
        }
    snprintf(text, 32, "%lld", (long long)count);
    return text;
}

/* Prints the type and the bytes in memory of a row, if they are others than in the file. */
static void print_memory(const json_t *row)
{
    char text[32];

    if (strcmp(json_member_text(row, "type"), json_member_text(row, "memory_type")) != 0)
        print(", in memory %s, %s", json_member_text(row, "memory_type"),
              bytes_text((uint64_t)integer_of(row, "memory_bytes"), text));
}

static void print_weights(const json_t *document)
{
    const json_t *weights = json_object_get(document, "weights"), *types = json_object_get(weights, "types");
    char text[32];
    json_t *row;
    size_t i;

    print_label("weights");
    if (!json_is_object(weights)) {
        const json_t *facts = json_object_get(json_object_get(document, "architecture"), "facts");
        const char *parameters = json_member_text(facts, "model.parameters");
        const char *type = json_member_text(facts, "model.weights");

        print(parameters[0] == '\0' ? "none\n" : "none; a model of %s parameters%s%s\n",
              count_text(strtoll(parameters, NULL, 10), text), type[0] == '\0' ? "" : " in ", type);
        return;
    }
    print("%lld tensors, %lld parameters (%s), %s", (long long)integer_of(weights, "tensors"),
          (long long)integer_of(weights, "parameters"), count_text(integer_of(weights, "parameters"), text),
          bytes_text((uint64_t)integer_of(weights, "bytes"), (char[32]){0}));
    if (json_is_real(json_object_get(weights, "bits_per_weight")))
        print(", %.3f bits per weight, scales included", json_real_value(json_object_get(weights, "bits_per_weight")));
    print("\n");
    if (integer_of(weights, "memory_bytes") != integer_of(weights, "bytes")) {
        print_label("");
        print("in memory %s\n", bytes_text((uint64_t)integer_of(weights, "memory_bytes"), text));
    }
    json_array_foreach(types, i, row)
    {
        print_label("");
        print("%-10s %5lld tensor%s %11s", json_member_text(row, "type"), (long long)integer_of(row, "tensors"),
              integer_of(row, "tensors") == 1 ? " " : "s", bytes_text((uint64_t)integer_of(row, "bytes"), text));
        if (json_is_real(json_object_get(row, "bits_per_weight")))
            print("  %7.3f bits per weight", json_real_value(json_object_get(row, "bits_per_weight")));
        print_memory(row);
        print("\n");
    }
}

/* Facts of the architecture in words, in this order; others, which few models have, follow by their names. */
static const struct {
    const char *key;
    const char *words; /* with the value; "": it is printed elsewhere */
} fact_words[] = {
    {"family", ""},
    {"name", ""},
    {"source", ""},
    {"checked", ""},
    {"weights", ""},
    {"weight_bytes", ""},
    {"parameters", ""},
    {"kind", "%s"},
    {"layers", "%s layers"},
    {"hidden", "hidden %s"},
    {"ffn", "ffn %s"},
    {"heads", "%s heads"},
    {"kv_heads", "%s KV heads"},
    {"head_size", "head size %s"},
    {"value_size", "value size %s"},
    {"experts", "%s experts"},
    {"experts_used", "%s experts for each token"},
    {"expert_ffn", "ffn of an expert %s"},
    {"shared_ffn", "ffn of the shared expert %s"},
    {"dense_layers", "first layers without experts %s"},
    {"query_rank", "rank of queries %s"},
    {"kv_rank", "rank of keys and values %s"},
    {"rotary_size", "rotary size %s"},
    {"vocabulary", "vocabulary %s"},
    {"context", "context %s tokens"},
    {"window", "sliding window %s tokens"},
    {"window_layers", "in %s layers"},
};

enum { FACT_WORDS = sizeof(fact_words) / sizeof(*fact_words) };

static bool has_words(const char *key)
{
    for (size_t i = 0; i < FACT_WORDS; i++)
        if (strcmp(fact_words[i].key, key) == 0)
            return true;
    return false;
}

/* Appends ", 32 layers" by a format with one %s. */
static void append_fact(char *line, size_t size, const char *words, const char *value)
{
    const char *at = strstr(words, "%s");
    char item[VALUE_MOST];

    snprintf(item, sizeof(item), ", %.*s", (int)(at - words), words);
    append_clean(item, sizeof(item), value);
    append_clean(item, sizeof(item), at + 2);
    if (strlen(line) + strlen(item) < size)
        strcat(line, item);
}

/* Prints a fact in a line of its own. */
static void print_fact_line(const json_t *facts, const char *key, const char *label)
{
    const char *value = json_member_text(facts, key);
    char line[VALUE_MOST] = "";

    if (value[0] == '\0')
        return;
    append_clean(line, sizeof(line), value);
    print_label("");
    print_wrapped(LABEL + 1 + (uint32_t)print("%s ", label), LABEL + 1, line);
}

static void print_architecture(const json_t *document)
{
    const json_t *architecture = json_object_get(document, "architecture");
    const json_t *window = json_object_get(architecture, "sliding_window");
    json_t *facts = json_object_get(architecture, "facts"), *value;
    const char *family = json_member_text(facts, "model.family"), *key;
    char line[1024] = "", name[64];

    if (!json_is_object(architecture))
        return;
    print_label("architecture");
    append_clean(line, sizeof(line), family[0] == '\0' ? "not known" : family);
    for (size_t i = 0; i < FACT_WORDS; i++) {
        snprintf(name, sizeof(name), "model.%s", fact_words[i].key);
        if (fact_words[i].words[0] != '\0' && json_member_text(facts, name)[0] != '\0')
            append_fact(line, sizeof(line), fact_words[i].words, json_member_text(facts, name));
    }
    json_object_foreach(facts, key, value)
    {
        if (strncmp(key, "model.", 6) != 0 || has_words(key + 6))
            continue;
        if (strcmp(key, "model.tied") == 0) {
            append_fact(line, sizeof(line), "%s",
                        strcmp(json_string_value(value), "true") == 0 ? "the embedding is the output matrix"
                                                                      : "an output matrix of its own");
            continue;
        }
        snprintf(name, sizeof(name), "%.55s %%s", key + 6);
        for (char *at = name; *at != '\0'; at++)
            *at = *at == '_' ? ' ' : *at;
        append_fact(line, sizeof(line), name, json_string_value(value));
    }
    print_wrapped(LABEL + 1, LABEL + 1, line);
    if (json_is_object(window)) {
        print_label("");
        print("sliding window of %lld tokens in %lld layer%s\n", (long long)integer_of(window, "tokens"),
              (long long)integer_of(window, "layers"), integer_of(window, "layers") == 1 ? "" : "s");
    }
    print_fact_line(facts, "model.source", "shapes of");
    print_fact_line(facts, "model.checked", "compared with");
    print_label("");
    print_runs(architecture, "runs", "does not run");
}

static void print_special(const json_t *tokenizer)
{
    json_t *row;
    size_t i;
    char line[VALUE_MOST];

    json_array_foreach(json_object_get(tokenizer, "special"), i, row)
    {
        line[0] = '\0';
        append_clean(line, sizeof(line), json_member_text(row, "text"));
        print_label("");
        print("%-9s %6lld  %s\n", json_member_text(row, "role"), (long long)integer_of(row, "id"), line);
    }
}

static void print_tokenizer(const json_t *document)
{
    const json_t *tokenizer = json_object_get(document, "tokenizer");
    char line[VALUE_MOST] = "";

    print_label("tokenizer");
    if (!json_is_object(tokenizer)) {
        print("none\n");
        return;
    }
    append_clean(line, sizeof(line), json_member_text(tokenizer, "model"));
    if (json_member_text(tokenizer, "pre")[0] != '\0') {
        append_clean(line, sizeof(line), ", pre ");
        append_clean(line, sizeof(line), json_member_text(tokenizer, "pre"));
    }
    print("%s%s%lld tokens", line, line[0] == '\0' ? "" : ": ", (long long)integer_of(tokenizer, "tokens"));
    if (integer_of(tokenizer, "merges") > 0)
        print(", %lld merges", (long long)integer_of(tokenizer, "merges"));
    print("\n");
    print_label("");
    print_runs(tokenizer, "usable", "not usable");
    print_special(tokenizer);
}

static void print_template(const json_t *document)
{
    const json_t *template = json_object_get(document, "chat_template");

    print_label("chat template");
    if (!json_is_object(template)) {
        print("none\n");
        return;
    }
    print("%lld bytes (--template prints it)\n", (long long)integer_of(template, "bytes"));
    print_label("");
    print_runs(template, "renders", "does not render");
}

static void print_metadata(const json_t *document)
{
    const json_t *rows = json_object_get(document, "metadata");
    int key_width = 0, type_width = 0;
    json_t *row;
    size_t i;

    print_label("metadata");
    print("%zu keys\n", json_array_size(rows));
    json_array_foreach(rows, i, row)
    {
        const int key = (int)strlen(json_member_text(row, "key")), type = (int)strlen(json_member_text(row, "type"));

        key_width = key > key_width && key <= NAME_MOST ? key : key_width;
        type_width = type > type_width && type <= 20 ? type : type_width;
    }
    json_array_foreach(rows, i, row)
    {
        char key[VALUE_MOST] = "", line[VALUE_MOST] = "";

        append_clean(key, sizeof(key), json_member_text(row, "key"));
        append_value(line, sizeof(line), json_object_get(row, "value"));
        if (strlen(line) > 100 && !is_true(row, "shortened") && json_is_string(json_object_get(row, "value")))
            print("  %-*s %-*s %zu bytes: %.*s\n", key_width, key, type_width, json_member_text(row, "type"),
                  strlen(json_member_text(row, "value")), (int)utf8_cut(line, 100), line);
        else if (is_true(row, "shortened"))
            print("  %-*s %-*s %s ... of %lld\n", key_width, key, type_width, json_member_text(row, "type"), line,
                  (long long)integer_of(row, "count"));
        else
            print("  %-*s %-*s %s\n", key_width, key, type_width, json_member_text(row, "type"), line);
    }
}

static void print_tensors(const json_t *document)
{
    const json_t *tensors = json_object_get(document, "tensors");
    const uint32_t has_parts = json_array_size(json_object_get(document, "files")) > 1;
    int width = 0;
    json_t *row;
    size_t i;

    if (!json_is_array(tensors))
        return;
    print_label("tensors");
    print("name, shape (outermost first), type, bytes, %soffset\n", has_parts ? "file, " : "");
    json_array_foreach(tensors, i, row)
    {
        const int length = (int)strlen(json_member_text(row, "name"));

        width = length > width && length <= NAME_MOST ? length : width;
    }
    json_array_foreach(tensors, i, row)
    {
        char name[VALUE_MOST] = "", shape[160] = "";
        json_t *dim;
        size_t d;

        append_clean(name, sizeof(name), json_member_text(row, "name"));
        json_array_foreach(json_object_get(row, "shape"), d, dim)
        {
            snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%s%lld", d == 0 ? "" : " x ",
                     (long long)json_integer_value(dim));
        }
        print("  %-*s %15s  %-8s %12lld", width, name, shape, json_member_text(row, "type"),
              (long long)integer_of(row, "bytes"));
        if (has_parts)
            print("  %3lld", (long long)integer_of(row, "file"));
        print("  %lld", (long long)integer_of(row, "offset"));
        print_memory(row);
        print("\n");
    }
}

void info_print(const json_t *document)
{
    print_files(document);
    print_architecture(document);
    print_weights(document);
    if (strcmp(json_member_text(document, "format"), "description") == 0 ||
        strcmp(json_member_text(document, "format"), "config.json") == 0)
        return;
    print_tokenizer(document);
    print_template(document);
    print_metadata(document);
    print_tensors(document);
}
