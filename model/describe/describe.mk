# SPDX-License-Identifier: Apache-2.0
libaccel_model_core_la_SOURCES += \
	%D%/config.c \
	%D%/describe.c \
	%D%/descriptor.c \
	%D%/family.c \
	%D%/file.c \
	%D%/find_name.c \
	%D%/gguf.c \
	%D%/internal.h \
	%D%/mix.c %D%/mix.h \
	%D%/names.c \
	%D%/open.h \
	%D%/recipe.c %D%/recipe.h \
	%D%/recipe_audio.c %D%/recipe_decoder.c %D%/recipe_encoder.c %D%/recipe_joint.c %D%/recipe_vision.c \
	%D%/shape.c \
	%D%/weights.c
