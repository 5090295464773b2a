/* SPDX-License-Identifier: Apache-2.0 */
/* A chat template, made and rendered for a short conversation. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <accel/model/chat.h>

#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus_folder = "tests/fixtures/chat";
const char *const fuzz_corpus_suffix = ".jinja";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char variables[] = "{\"tools\":[{\"name\":\"f\",\"x\":[1,2.5,null,true]}],\"n\":3}";
    static const struct accel_chat_message messages[] = {
        {{"system", 6}, {"Be brief.", 9}}, {{"user", 4}, {" Hi \n", 5}}, {{"assistant", 9}, {"Yo", 2}}};
    struct accel_chat_request request = {.size = sizeof(request),
                                         .flags = ACCEL_CHAT_GENERATE,
                                         .messages = messages,
                                         .message_count = 3,
                                         .bos = {"<s>", 3},
                                         .eos = {"</s>", 4},
                                         .variables = {variables, sizeof(variables) - 1}};
    struct accel_chat_template *chat = NULL;
    struct accel_error error = {0};
    char *text = NULL;
    size_t length = 0;
    int32_t code = accel_chat_template_create((const char *)data, size, "fuzz.jinja", &chat, &error);

    if (code != ACCEL_OK && (chat != NULL || error.text[0] == '\0'))
        abort();
    if (code == ACCEL_OK && accel_chat_render(chat, &request, &text, &length, &error) == ACCEL_OK &&
        text[length] != '\0')
        abort();
    accel_chat_text_free(text);
    accel_chat_template_free(chat);
    return 0;
}
