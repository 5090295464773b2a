# SPDX-License-Identifier: Apache-2.0
libaccel_model_core_la_SOURCES += \
	%D%/checked.h \
	%D%/derived.c %D%/derived.h \
	%D%/container.c %D%/container.h \
	%D%/element.c %D%/element.h \
	%D%/fault.c %D%/fault.h \
	%D%/file.c \
	%D%/gguf.c \
	%D%/gguf_folder.c \
	%D%/gguf_split.c \
	%D%/gguf_write.c %D%/gguf_write.h \
	%D%/json.c %D%/json.h \
	%D%/not_model.c %D%/not_model.h \
	%D%/open_struct.c %D%/open_struct.h \
	%D%/packed.c %D%/packed.h %D%/packed_config.c \
	%D%/packed_matrix.c %D%/packed_matrix.h %D%/packed_shape.c %D%/packed_type.c \
	%D%/part.c %D%/part.h \
	%D%/replace.c %D%/replace.h \
	%D%/planes.c %D%/planes.h \
	%D%/pool.c %D%/pool.h \
	%D%/rows.c %D%/rows.h \
	%D%/safetensors.c %D%/safetensors_write.c \
	%D%/shards.c \
	%D%/staged.c %D%/staged.h \
	%D%/text.c %D%/text.h \
	%D%/parallel.c %D%/parallel.h \
	%D%/value.c
