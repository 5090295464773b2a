/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/tokenizer/pre_rules.h"

#include <stdio.h>
#include <string.h>

/* Subexpressions that most rules share. */
#define CONTRACTIONS "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
#define WORD "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SYMBOLS " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define PATHS " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define LEAD "[^\\r\\n\\p{L}\\p{N}]?"
#define PUNCTUATED "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"

/* Names as the converters of GGUF files spell them; each rule is that of the tokenizer so named. */
static const struct token_pre_rule table[] = {
    {.names = "default", .rules = {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {.names = "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de mpt olmo jais roberta-bpe gigachat a.x-4.0 mellum "
              "granite-docling trillion",
     .rules = {GPT2}},
    {.names = "smollm starcoder refact command-r codeshell exaone minerva-7b", .rules = {"\\p{N}", GPT2}},
    {.names = "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2",
     .rules = {CONTRACTIONS "|" WORD "|\\p{N}{1,3}|" SYMBOLS},
     .ignore_merges = true,
     .add_bos = true},
    {.names = "dbrx smaug-bpe chatglm-bpe glm4", .rules = {CONTRACTIONS "|" WORD "|\\p{N}{1,3}|" SYMBOLS}},
    {.names = "qwen2 stablelm2 deepseek-r1-qwen megrez hunyuan kormo solar-open grok-2",
     .rules = {CONTRACTIONS "|" WORD "|\\p{N}|" SYMBOLS}},
    {.names = "qwen35",
     .rules = {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|"
                            "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {.names = "falcon", .rules = {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {.names = "tekken",
     .rules = {LEAD UPPER "*" LOWER "+|" LEAD UPPER "+" LOWER "*|\\p{N}|" PATHS},
     .ignore_merges = true,
     .add_bos = true},
    {.names = "gpt-4o llama4 minimax-m2",
     .rules = {LEAD UPPER "*" LOWER "+" CONTRACTIONS "?|" LEAD UPPER "+" LOWER "*" CONTRACTIONS
                          "?|\\p{N}{1,3}|" PATHS}},
    {.names = "deepseek-v3 hunyuan-dense joyai-llm",
     .rules = {"\\p{N}{1,3}", "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+",
               PUNCTUATED "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|"
                          "\\s+(?!\\S)|\\s+"}},
    {.names = "poro-chat bloom gpt3-finnish",
     .rules = {" ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c})]+"}},
    {.names = "viking",
     .rules = {" ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c})]+", "\\p{N}"}},
};

static bool is_among(const char *names, const char *name)
{
    size_t size = strlen(name);

    for (const char *at = names; size > 0 && at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, name, size) == 0 && (at[size] == ' ' || at[size] == '\0'))
            return true;
    }
    return false;
}

const struct token_pre_rule *token_pre_rule_find(const char *name)
{
    if (strchr(name, ' ') != NULL)
        return NULL;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (is_among(table[i].names, name))
            return &table[i];
    }
    return NULL;
}

void token_pre_rule_names(char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i == 0 ? "" : " ", table[i].names);
}
