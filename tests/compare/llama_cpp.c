/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llama_cpp MODEL.gguf LOGITS N ID...: writes the logits of all given tokens in one batch, as F32, and prints the N
 * tokens that llama.cpp generates greedily after them: on the CPU, one thread, keys and values in F32, no flash
 * attention, weights as they are stored. Compiled by hand with llama.cpp v0.5.0 (LC: its sources, BUILD: a build of
 * them):
 *
 *     cc -I $LC/include -I $LC/ggml/include llama_cpp.c -o llama_cpp -L $BUILD/bin -lllama -Wl,-rpath,$BUILD/bin
 */
#include <stdio.h>
#include <stdlib.h>

#include <llama.h>

static void print_warning(enum ggml_log_level level, const char *text, void *data)
{
    (void)data;
    if (level >= GGML_LOG_LEVEL_WARN)
        fputs(text, stderr);
}

static struct llama_context *open_context(const char *path, struct llama_model **out_model)
{
    struct llama_model_params model_params = llama_model_default_params();
    struct llama_context_params params = llama_context_default_params();

    model_params.n_gpu_layers = 0;
    model_params.use_extra_bufts = false;
    *out_model = llama_model_load_from_file(path, model_params);
    params.n_ctx = params.n_batch = params.n_ubatch = 512;
    params.n_threads = params.n_threads_batch = 1;
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    return *out_model == NULL ? NULL : llama_init_from_model(*out_model, params);
}

static int write_logits(struct llama_context *context, llama_token *ids, int count, size_t words, const char *path)
{
    struct llama_batch batch = llama_batch_init(count, 0, 1);
    FILE *out = fopen(path, "wb");
    size_t written = 0;

    batch.n_tokens = count;
    for (int i = 0; i < count; i++) {
        batch.token[i] = ids[i];
        batch.pos[i] = i;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = 1;
    }
    if (out == NULL || llama_decode(context, batch) != 0)
        return 0;
    for (int i = 0; i < count; i++)
        written += fwrite(llama_get_logits_ith(context, i), sizeof(float), words, out);
    return fclose(out) == 0 && written == words * (size_t)count;
}

int main(int arguments, char **argument)
{
    const int given = arguments - 4, count = arguments < 5 ? 0 : atoi(argument[3]);
    struct llama_model *model = NULL;
    struct llama_context *context;
    llama_token *ids;
    int words;

    if (arguments < 5)
        return 2;
    llama_log_set(print_warning, NULL);
    llama_backend_init();
    context = open_context(argument[1], &model);
    ids = calloc((size_t)(given + count), sizeof(*ids));
    if (context == NULL || ids == NULL)
        return 1;
    words = llama_vocab_n_tokens(llama_model_get_vocab(model));
    for (int i = 0; i < given; i++)
        ids[i] = atoi(argument[4 + i]);
    if (!write_logits(context, ids, given, (size_t)words, argument[2]))
        return 1;
    llama_memory_clear(llama_get_memory(context), true);
    for (int made = 0; made < count; made++) {
        const int at = made == 0 ? 0 : given + made - 1;
        const float *logits;

        if (llama_decode(context, llama_batch_get_one(ids + at, given + made - at)) != 0)
            return 1;
        logits = llama_get_logits_ith(context, -1);
        for (int i = 1; i < words; i++)
            if (logits[i] > logits[ids[given + made]])
                ids[given + made] = i;
        printf("%d ", ids[given + made]);
    }
    putchar('\n');
    return 0;
}
