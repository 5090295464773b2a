/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/info/vocabulary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MOST ((uint64_t)256 << 20)

/* Files of a tokenizer, in the order of preference; all but the first are SentencePiece models. */
static const char *const names[] = {"tokenizer.json", "tokenizer.model", "spiece.model"};

/* Reads a whole regular file of at most TEXT_MOST bytes. */
static int32_t read_whole(const char *path, char **out_text, uint64_t *out_length, struct accel_error *error)
{
    FILE *file = fopen(path, "rb");
    struct stat facts;
    char *text;
    size_t length;

    if (file == NULL)
        return accel_error_set(error, errno == EACCES ? ACCEL_E_DENIED : ACCEL_E_NOT_FOUND, "%s: cannot open: %s", path,
                               strerror(errno));
    if (fstat(fileno(file), &facts) != 0 || !S_ISREG(facts.st_mode) || (uint64_t)facts.st_size > TEXT_MOST) {
        fclose(file);
        return accel_error_set(error, ACCEL_E_LIMIT, "%s: is no regular file of at most %llu MiB", path,
                               (unsigned long long)(TEXT_MOST >> 20));
    }
    text = malloc((size_t)facts.st_size + 1);
    if (text == NULL) {
        fclose(file);
        return accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for %llu bytes", path,
                               (unsigned long long)facts.st_size);
    }
    length = fread(text, 1, (size_t)facts.st_size, file);
    if (ferror(file)) {
        free(text);
        fclose(file);
        return accel_error_set(error, ACCEL_E_IO, "%s: cannot read", path);
    }
    fclose(file);
    text[length] = '\0';
    *out_text = text;
    *out_length = length;
    return ACCEL_OK;
}

int32_t vocabulary_read(const struct vocabulary *vocabulary, const char *name, char **out_text, uint64_t *out_length,
                        struct accel_error *error)
{
    char path[4096 + 64], *text = NULL;
    int32_t code;

    *out_text = NULL;
    *out_length = 0;
    if (vocabulary->file == NULL) {
        snprintf(path, sizeof(path), "%s/%s", vocabulary->folder, name);
        return read_whole(path, out_text, out_length, error);
    }
    code = accel_model_file_sibling(vocabulary->file, name, TEXT_MOST, &text, out_length, error);
    if (code != ACCEL_OK)
        return code;
    *out_text = malloc((size_t)*out_length + 1);
    if (*out_text == NULL)
        code = accel_error_no_memory(error, "for %s", name);
    else
        memcpy(*out_text, text, (size_t)*out_length + 1);
    accel_model_text_free(text);
    return code;
}

/* Finds the file of a tokenizer: the path itself, or one of its names in the folder. */
static uint32_t find_tokenizer(const char *path, struct vocabulary *vocabulary)
{
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    struct stat facts;

    if (stat(path, &facts) != 0 || strlen(path) >= sizeof(vocabulary->folder))
        return 0;
    if (S_ISDIR(facts.st_mode))
        snprintf(vocabulary->folder, sizeof(vocabulary->folder), "%s", path);
    else if (slash != NULL)
        snprintf(vocabulary->folder, sizeof(vocabulary->folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
    else
        snprintf(vocabulary->folder, sizeof(vocabulary->folder), ".");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char whole[4096 + 64];

        snprintf(whole, sizeof(whole), "%s/%s", vocabulary->folder, names[i]);
        if ((S_ISDIR(facts.st_mode) || strcmp(name, names[i]) == 0) && access(whole, F_OK) == 0) {
            vocabulary->name = names[i];
            return 1;
        }
    }
    return 0;
}

static int32_t make_from_folder(struct vocabulary *vocabulary)
{
    char path[4096 + 64], *text = NULL, *config = NULL;
    uint64_t length = 0, config_length = 0;
    int32_t code = vocabulary_read(vocabulary, vocabulary->name, &text, &length, &vocabulary->error);

    if (code == ACCEL_OK &&
        vocabulary_read(vocabulary, "tokenizer_config.json", &config, &config_length, NULL) != ACCEL_OK)
        config_length = 0;
    snprintf(path, sizeof(path), "%s/%s", vocabulary->folder, vocabulary->name);
    if (code == ACCEL_OK && strcmp(vocabulary->name, names[0]) == 0)
        code = accel_tokenizer_create_json(text, length, config, config_length, path, &vocabulary->tokenizer,
                                           &vocabulary->error);
    else if (code == ACCEL_OK)
        code = accel_tokenizer_create_sentencepiece(text, length, config, config_length, path, &vocabulary->tokenizer,
                                                    &vocabulary->error);
    free(text);
    free(config);
    return code;
}

int32_t vocabulary_open(const char *path, struct vocabulary *out_vocabulary, struct accel_error *error)
{
    /* Opens packed matrices as the matrices that they encode, in the types of a run. No tensor is read, so no file is
     * mapped. */
    static const struct accel_model_open_options packed = {sizeof(packed), ACCEL_MODEL_OPEN_READ |
                                                                               ACCEL_MODEL_OPEN_PACKED |
                                                                               ACCEL_MODEL_OPEN_BLOCKS},
                                                 plain = {sizeof(plain), ACCEL_MODEL_OPEN_READ};
    struct accel_error first = {0};
    int32_t code;

    *out_vocabulary = (struct vocabulary){.file = NULL};
    code = accel_model_file_open(path, &packed, &out_vocabulary->file, &first);
    if (code == ACCEL_E_UNSUPPORTED || code == ACCEL_E_CORRUPT)
        code = accel_model_file_open(path, &plain, &out_vocabulary->file, NULL);
    if (code == ACCEL_OK) {
        accel_tokenizer_create_file(out_vocabulary->file, &out_vocabulary->tokenizer, &out_vocabulary->error);
        return ACCEL_OK;
    }
    if (find_tokenizer(path, out_vocabulary)) {
        make_from_folder(out_vocabulary);
        return ACCEL_OK;
    }
    *error = first;
    return first.code;
}

void vocabulary_close(struct vocabulary *vocabulary)
{
    accel_tokenizer_free(vocabulary->tokenizer);
    accel_model_file_close(vocabulary->file);
    vocabulary->tokenizer = NULL;
    vocabulary->file = NULL;
}
