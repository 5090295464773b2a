/* SPDX-License-Identifier: Apache-2.0 */
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

#define CJK "\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}"

/* Cased letters, as deepseek-llm lists them. */
#define CASED                                                                                                          \
    "A-Za-z\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}\\x{1bc}-\\x{1bf}\\x{1c4}-\\x{293}"                    \
    "\\x{295}-\\x{2af}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37b}-\\x{37d}\\x{37f}\\x{386}"                              \
    "\\x{388}-\\x{38a}\\x{38c}\\x{38e}-\\x{3a1}\\x{3a3}-\\x{3f5}\\x{3f7}-\\x{481}\\x{48a}-\\x{52f}"                    \
    "\\x{531}-\\x{556}\\x{10a0}-\\x{10c5}\\x{13a0}-\\x{13f5}\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}"                    \
    "\\x{1cbd}-\\x{1cbf}\\x{1d00}-\\x{1d2b}\\x{1d6b}-\\x{1d77}\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}"                  \
    "\\x{1f18}-\\x{1f1d}\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}\\x{1f50}-\\x{1f57}\\x{1f59}\\x{1f5b}"                   \
    "\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}-\\x{1fb4}\\x{1fb6}-\\x{1fbc}\\x{1fbe}\\x{1fc2}-\\x{1fc4}"                   \
    "\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}\\x{1fd6}-\\x{1fdb}\\x{1fe0}-\\x{1fec}\\x{1ff2}-\\x{1ff4}"                  \
    "\\x{1ff6}-\\x{1ffc}\\x{2102}\\x{2107}\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}"                    \
    "\\x{2126}\\x{2128}\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}\\x{213c}-\\x{213f}"                             \
    "\\x{2145}-\\x{2149}\\x{214e}\\x{2183}\\x{2184}\\x{2c00}-\\x{2c7b}\\x{2c7e}-\\x{2ce4}"                             \
    "\\x{2ceb}-\\x{2cee}\\x{2cf2}\\x{2cf3}\\x{a640}-\\x{a66d}\\x{a680}-\\x{a69b}\\x{a722}-\\x{a76f}"                   \
    "\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}\\x{ab70}-\\x{abbf}\\x{fb00}-\\x{fb06}\\x{fb13}-\\x{fb17}"                  \
    "\\x{ff21}-\\x{ff3a}\\x{ff41}-\\x{ff5a}\\x{10400}-\\x{1044f}\\x{104b0}-\\x{104d3}"                                 \
    "\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}\\x{118a0}-\\x{118df}"                             \
    "\\x{1e900}-\\x{1e943}"
#define CJK_CODE "\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}"
#define CJK_AFMOE                                                                                                      \
    "\\x{4e00}-\\x{9fff}\\x{3400}-\\x{4dbf}\\x{8c48}-\\x{faff}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}"                  \
    "\\x{ff65}-\\x{ff9f}\\x{2f00}-\\x{2fdf}\\x{e40}-\\x{e7f}\\x{e80}-\\x{eff}\\x{1780}-\\x{17ff}"                      \
    "\\x{1000}-\\x{109f}\\x{aa60}-\\x{aa7f}\\x{a9e0}-\\x{a9ff}\\x{ac00}-\\x{d7af}\\x{1100}-\\x{11ff}"
#define MARKS_CJK                                                                                                      \
    "\\x{ff01}\\x{2026}\\x{201c}\\x{201d}\\x{2018}\\x{2019}\\x{2014}\\x{ff1a}\\x{ff1b}\\x{ff0c}"                       \
    "\\x{3001}-\\x{303f}\\x{fe30}-\\x{fe4f}"
#define SYMBOLS_LLM "!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{3000}-\\x{3002}"

/* Every third number from the end of a run of them begins a piece. */
#define THREES(digit) digit "{1,3}(?=(?:" digit "{3})*(?!" digit "))"
#define CASES LEAD UPPER "*" LOWER "+" CONTRACTIONS "?|" LEAD UPPER "+" LOWER "*" CONTRACTIONS "?"
#define NOT_HAN "(?!\\p{Han})"
#define CASES_NOT_HAN                                                                                                  \
    LEAD "(?:" NOT_HAN UPPER ")*(?:" NOT_HAN LOWER ")+" CONTRACTIONS "?|" LEAD "(?:" NOT_HAN UPPER                     \
         ")+(?:" NOT_HAN LOWER ")*" CONTRACTIONS "?"
#define MARKED PUNCTUATED "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+"
#define POWERS                                                                                                         \
    "\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|"      \
    "\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s"

/* Names as the converters of GGUF files spell them; each rule is that of the tokenizer so named. */
static const struct token_pre_rule table[] = {
    {.names = "default", .rules = {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {.names = "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code mpt olmo jais roberta-bpe "
              "gigachat a.x-4.0 mellum modern-bert granite-docling trillion exaone4",
     .rules = {GPT2}},
    {.names = "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2", .rules = {"\\p{N}", GPT2}},
    {.names = "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
     .rules = {CONTRACTIONS "|" WORD "|\\p{N}{1,3}|" SYMBOLS},
     .ignore_merges = true,
     .add_bos = true},
    {.names = "dbrx smaug-bpe chatglm-bpe glm4", .rules = {CONTRACTIONS "|" WORD "|\\p{N}{1,3}|" SYMBOLS}},
    {.names = "jais-2",
     .rules = {CONTRACTIONS "|" WORD "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" POWERS}},
    {.names = "minicpm5", .rules = {"\\p{N}{1,3}", CONTRACTIONS "|" WORD "|\\p{N}+|" SYMBOLS}, .ignore_merges = true},
    {.names = "qwen2 stablelm2 deepseek-r1-qwen megrez hunyuan kormo f2llmv2 openpangu solar-open grok-2",
     .rules = {CONTRACTIONS "|" WORD "|\\p{N}|" SYMBOLS}},
    {.names = "laguna", .rules = {"[^\\n]+|[\\n]+", CONTRACTIONS "|" WORD "|\\p{N}|" SYMBOLS}},
    {.names = "qwen35",
     .rules = {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|"
                            "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {.names = "seed-coder",
     .rules = {CONTRACTIONS "|" WORD "|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {.names = "bailingmoe bailingmoe2 llada-moe",
     .rules = {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|"
                            "\\s+(?!\\S)|\\s+"}},
    {.names = "exaone-moe",
     .rules = {CONTRACTIONS "|" LEAD "(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|"
                            "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}},
    {.names = "falcon", .rules = {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {.names = "tekken",
     .rules = {LEAD UPPER "*" LOWER "+|" LEAD UPPER "+" LOWER "*|\\p{N}|" PATHS},
     .ignore_merges = true,
     .add_bos = true},
    {.names = "gpt-4o llama4 kanana2 minimax-m2", .rules = {CASES "|\\p{N}{1,3}|" PATHS}},
    {.names = "granite-embed-multi-97m", .rules = {CASES "|\\p{N}{1,3}|" PATHS}, .ignore_merges = true},
    {.names = "tiny_aya cohere2moe cohere2_moe", .rules = {"\\d{1,3}(?=(?:\\d{3})*\\b)", CASES "|\\p{N}{1,3}|" PATHS}},
    {.names = "kimi-k2", .rules = {"\\p{Han}+|" CASES_NOT_HAN "|\\p{N}{1,3}|" SYMBOLS}},
    {.names = "youtu",
     .rules = {"[\\x{ac00}-\\x{d7a3}\\x{3131}-\\x{318e}]+|[" MARKS_CJK "]+|[\\x{3105}-\\x{312f}]+|[" CJK "]+",
               CASES "|\\p{N}|" PATHS},
     .ignore_merges = true},
    {.names = "deepseek-llm",
     .rules = {"[\\r\\n]", "\\s?[" CASED "]+", "\\s?[" SYMBOLS_LLM "]+", "\\s+$", "[" CJK_CODE "]+", "\\p{N}+"}},
    {.names = "deepseek-coder", .rules = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[" CJK_CODE "]+", "\\p{N}"}},
    {.names = "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
     .rules = {"\\p{N}{1,3}", "[" CJK "]+", MARKED "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {.names = "spark2_5", .rules = {"\\p{N}{1,3}", "[" CJK "]+", MARKED "|[\\r\\n]|\\s+(?!\\S)|\\s+", "\\p{N}"}},
    {.names = "afmoe",
     .rules = {THREES("\\p{N}"), "[" CJK_AFMOE "]+", MARKED "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {.names = "superbpe", .rules = {"\\p{N}+", "(?=(?:\\d{3})+(?!\\d))"}},
    {.names = "chameleon",
     .rules = {"<sentinel:[0-9]+>", "(?:IMGIMG)[A-I]{1,4}Z", "[\\t\\n]|    |  ", "\\p{N}", "[\\p{P}!-/:-@\\[-`{-~]",
               GPT2},
     .add_bos = true},
    {.names = "poro-chat bloom gpt3-finnish",
     .rules = {" ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c})]+"}},
    {.names = "viking",
     .rules = {" ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c})]+", "\\p{N}"}},
    {.names = "gemma4 sarvam-moe granite-embed-multi-311m",
     .rules = {"[^\\n]+|[\\n]+"},
     .characters = true,
     .marks = true,
     .whole_newlines = true},
    {.names = "whitespace", .rules = {"\\S+"}, .characters = true},
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
