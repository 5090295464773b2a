/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/run/chat_template.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/run/prompt.h"
#include "tools/accelctl/words.h"

/* Prepends the system message to the first message of the user, for models without a system role. */
#define SYSTEM_IN_USER                                                                                                 \
    "{% if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] | trim %}"                          \
    "{% set turns = messages[1:] %}{% else %}{% set first = '' %}{% set turns = messages %}{% endif %}"

/* Published formats of model families, under llama.cpp's names. */
static const struct {
    const char *name;
    const char *mark; /* ends a turn */
    const char *source;
} built_in[] = {
    {"chatml", "<|im_end|>",
     "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + "
     "'<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"},
    {"gemma", "<end_of_turn>",
     SYSTEM_IN_USER
     "{{ bos_token }}{% for message in turns %}{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else "
     "message['role']) + '\n' }}{% if loop.first and first %}{{ first + '\n\n' }}{% endif %}{{ message['content'] | "
     "trim }}{{ '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}"
     "{% endif %}"},
    {"llama2", "</s>",
     SYSTEM_IN_USER
     "{% for message in turns %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' }}{% if loop.first and "
     "first %}{{ '<<SYS>>\n' + first + '\n<</SYS>>\n\n' }}{% endif %}{{ message['content'] | trim }}{{ ' [/INST]' }}"
     "{% else %}{{ ' ' + message['content'] | trim + ' ' + eos_token }}{% endif %}{% endfor %}"},
    {"llama3", "<|eot_id|>",
     "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + "
     "'<|end_header_id|>\n\n' }}{{ message['content'] | trim }}{{ '<|eot_id|>' }}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"},
    {"mistral", "</s>",
     SYSTEM_IN_USER
     "{{ bos_token }}{% for message in turns %}{% if message['role'] == 'user' %}{{ '[INST] ' }}{% if loop.first and "
     "first %}{{ first + '\n\n' }}{% endif %}{{ message['content'] + ' [/INST]' }}{% else %}{{ ' ' + "
     "message['content'] | trim + eos_token }}{% endif %}{% endfor %}"},
    {"phi3", "<|end|>",
     "{% for message in messages %}{{ '<|' + message['role'] + '|>\n' + message['content'] + '<|end|>\n' }}"
     "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"},
    {"zephyr", "</s>",
     "{% for message in messages %}{{ '<|' + message['role'] + '|>\n' + message['content'] + eos_token + '\n' }}"
     "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"},
};

enum { BUILT_IN = sizeof(built_in) / sizeof(*built_in) };

static int32_t find_built_in(const char *name)
{
    for (int32_t i = 0; name != NULL && i < BUILT_IN; i++)
        if (strcmp(built_in[i].name, name) == 0)
            return i;
    return -1;
}

const char *missing_mark(const struct accel_tokenizer *tokenizer, const char *wanted)
{
    int32_t index = find_built_in(wanted), id = -1;
    const char *mark = index < 0 ? NULL : built_in[index].mark;

    if (mark == NULL || accel_tokenizer_find(tokenizer, mark, strlen(mark), &id, NULL) == ACCEL_OK)
        return NULL;
    return mark;
}

static int32_t read_template(const char *path, struct accel_chat_template **out_template, struct accel_error *error)
{
    char *text = NULL;
    int32_t code;

    if (strcmp(path, "-") != 0 && access(path, F_OK) != 0) {
        char guess[GUESS_BYTES];

        accel_error_set(error, ACCEL_E_NOT_FOUND, "--chat-template %.300s: no such file, and no built-in template%s",
                        path, guess_text("chatml gemma llama2 llama3 mistral phi3 zephyr", path, guess));
        accel_error_remedy(error, "name a file of Jinja, or one of chatml, gemma, llama2, llama3, mistral, phi3, "
                                  "zephyr");
        return ACCEL_E_NOT_FOUND;
    }
    code = read_prompt(path, &text, error);
    if (code == ACCEL_OK)
        code = accel_chat_template_create(text, strlen(text), path, out_template, error);
    free(text);
    return code;
}

int32_t make_chat_template(const struct accel_tokenizer *tokenizer, const char *model, const char *wanted,
                           struct accel_chat_template **out_template, struct accel_error *error)
{
    const char *source = accel_tokenizer_chat_template(tokenizer);
    int32_t index = find_built_in(wanted);

    *out_template = NULL;
    if (index >= 0)
        return accel_chat_template_create(built_in[index].source, strlen(built_in[index].source), wanted, out_template,
                                          error);
    if (wanted != NULL)
        return read_template(wanted, out_template, error);
    if (source != NULL)
        return accel_chat_template_create(source, strlen(source), model, out_template, error);
    accel_error_set(error, ACCEL_E_NOT_FOUND, "%s: the model has no chat template", model);
    accel_error_remedy(error, "--chat-template FILE gives one in Jinja, --chat-template chatml (gemma, llama2, llama3, "
                              "mistral, phi3, zephyr) a built-in one; a model that was not tuned for conversations "
                              "continues a text: accelctl run --prompt TEXT");
    return ACCEL_E_NOT_FOUND;
}
