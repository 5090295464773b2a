/* SPDX-License-Identifier: Apache-2.0 */
/* Families of models: their kinds, and what the words of their files mean. */
#include <string.h>

#include "model/describe/internal.h"
#include "model/family/family.h"

enum { FAMILY_BYTES = 64 };

/* All but decoders, which have the first row of guesses; gpt2 is here since it has transposed matrices (names.c). name,
 * kind, main component, component of tensors whose name has none, "encoder", "decoder", text_config */
static const struct family families[] = {
    {"gpt2", "generation", PART_LANGUAGE, PART_LANGUAGE, PART_LANGUAGE, PART_LANGUAGE, PART_LANGUAGE},
    {"bert", "embedding", PART_TEXT, PART_TEXT, PART_TEXT, PART_TEXT, PART_TEXT},
    {"roberta", "embedding", PART_TEXT, PART_TEXT, PART_TEXT, PART_TEXT, PART_TEXT},
    {"distilbert", "embedding", PART_TEXT, PART_TEXT, PART_TEXT, PART_TEXT, PART_TEXT},
    {"albert", "embedding", PART_TEXT, PART_TEXT, PART_TEXT, PART_TEXT, PART_TEXT},
    {"t5", "encoder-decoder", PART_DECODER, PART_TEXT, PART_TEXT, PART_DECODER, PART_TEXT},
    {"bart", "encoder-decoder", PART_DECODER, PART_TEXT, PART_TEXT, PART_DECODER, PART_TEXT},
    {"vit", "vision", PART_VISION, PART_VISION, PART_VISION, PART_VISION, PART_TEXT},
    {"deit", "vision", PART_VISION, PART_VISION, PART_VISION, PART_VISION, PART_TEXT},
    {"dinov2", "vision", PART_VISION, PART_VISION, PART_VISION, PART_VISION, PART_TEXT},
    {"swin", "vision", PART_VISION, PART_VISION, PART_VISION, PART_VISION, PART_TEXT},
    {"resnet", "vision", PART_VISION, PART_VISION, PART_VISION, PART_VISION, PART_TEXT},
    {"convnext", "vision", PART_VISION, PART_VISION, PART_VISION, PART_VISION, PART_TEXT},
    {"mobilenet_v2", "vision", PART_VISION, PART_VISION, PART_VISION, PART_VISION, PART_TEXT},
    {"segformer", "vision", PART_VISION, PART_VISION, PART_VISION, PART_VISION, PART_TEXT},
    {"detr", "vision", PART_DECODER, PART_DECODER, PART_VISION, PART_DECODER, PART_TEXT},
    {"whisper", "audio", PART_DECODER, PART_DECODER, PART_AUDIO, PART_DECODER, PART_TEXT},
    {"wav2vec2", "audio", PART_AUDIO, PART_AUDIO, PART_AUDIO, PART_AUDIO, PART_TEXT},
    {"hubert", "audio", PART_AUDIO, PART_AUDIO, PART_AUDIO, PART_AUDIO, PART_TEXT},
    {"clip", "multimodal", PART_VISION, PART_PROJECTOR, PART_VISION, PART_TEXT, PART_TEXT},
    {"siglip", "multimodal", PART_VISION, PART_PROJECTOR, PART_VISION, PART_TEXT, PART_TEXT},
    {"xclip", "multimodal", PART_VISION, PART_PROJECTOR, PART_VISION, PART_TEXT, PART_TEXT},
    {"blip", "multimodal", PART_DECODER, PART_PROJECTOR, PART_VISION, PART_DECODER, PART_DECODER},
    {"blip-2", "multimodal", PART_LANGUAGE, PART_PROJECTOR, PART_VISION, PART_LANGUAGE, PART_LANGUAGE},
    {"llava", "multimodal", PART_LANGUAGE, PART_LANGUAGE, PART_VISION, PART_LANGUAGE, PART_LANGUAGE},
    {"llava_next", "multimodal", PART_LANGUAGE, PART_LANGUAGE, PART_VISION, PART_LANGUAGE, PART_LANGUAGE},
    {"clap", "audio-multimodal", PART_AUDIO, PART_PROJECTOR, PART_AUDIO, PART_TEXT, PART_TEXT},
};

/* GGUF's name where it is another one. */
static const struct {
    const char *gguf;
    const char *name;
} aliases[] = {
    {"t5encoder", "t5"},
    {"clip_text_model", "clip"},
};

/* By kind, for names that the table above has not. */
static const struct family guesses[] = {
    {"", "generation", PART_LANGUAGE, PART_LANGUAGE, PART_LANGUAGE, PART_LANGUAGE, PART_LANGUAGE},
    {"", "encoder-decoder", PART_DECODER, PART_TEXT, PART_TEXT, PART_DECODER, PART_TEXT},
    {"", "multimodal", PART_LANGUAGE, PART_LANGUAGE, PART_VISION, PART_LANGUAGE, PART_LANGUAGE},
    {"", "audio-multimodal", PART_LANGUAGE, PART_LANGUAGE, PART_AUDIO, PART_LANGUAGE, PART_LANGUAGE},
    {"", "vision", PART_VISION, PART_VISION, PART_VISION, PART_VISION, PART_TEXT},
    {"", "audio", PART_AUDIO, PART_AUDIO, PART_AUDIO, PART_AUDIO, PART_TEXT},
    {"", "embedding", PART_TEXT, PART_TEXT, PART_TEXT, PART_TEXT, PART_TEXT},
};

const struct family *family_find(const char *name)
{
    const struct model_family *decoder;

    for (size_t i = 0; name != NULL && i < sizeof(families) / sizeof(families[0]); i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    for (size_t i = 0; name != NULL && i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strcmp(aliases[i].gguf, name) == 0)
            return family_find(aliases[i].name);
    return name != NULL && model_family_find("", name, &decoder, NULL) == ACCEL_OK ? &guesses[0] : NULL;
}

const struct family *family_guess(const char *kind)
{
    for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++)
        if (strcmp(guesses[i].kind, kind) == 0)
            return &guesses[i];
    return &guesses[0];
}

void family_set(struct accel_model_description *d, const struct family *family)
{
    d->family = family;
    d->traits.main = family->main;
}

int32_t family_name(struct accel_model_description *d, const char *name, uint64_t length)
{
    d->traits.family = NULL;
    d->has_odd_name = name != NULL && (length == 0 || length > FAMILY_BYTES);
    for (uint64_t i = 0; name != NULL && i < length; i++)
        d->has_odd_name = d->has_odd_name || name[i] <= ' ' || name[i] > '~';
    if (name == NULL || d->has_odd_name)
        return ACCEL_OK;
    d->traits.family = model_pool_text(&d->pool, name, length);
    return d->traits.family == NULL ? ACCEL_E_MEMORY : ACCEL_OK;
}
