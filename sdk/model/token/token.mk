# SPDX-License-Identifier: Apache-2.0
# Tokenizers, sampling and chat templates.
accelmodelinclude_HEADERS += \
	sdk/model/include/accel/model/chat.h \
	sdk/model/include/accel/model/sampler.h \
	sdk/model/include/accel/model/tokenizer.h
libaccel_model_core_la_SOURCES += \
	%D%/added.c %D%/added.h \
	%D%/bpe.c %D%/bpe.h \
	%D%/buffer.c %D%/buffer.h \
	%D%/chat/chat.c \
	%D%/chat/evaluate.c \
	%D%/chat/expression.c \
	%D%/chat/filter.c \
	%D%/chat/lex.c \
	%D%/chat/method.c \
	%D%/chat/run.c %D%/chat/run.h \
	%D%/chat/statement.c %D%/chat/syntax.h \
	%D%/chat/text.c \
	%D%/chat/value.c %D%/chat/value.h \
	%D%/chat/write.c \
	%D%/decode.c %D%/decode.h \
	%D%/from_file.c \
	%D%/from_json.c \
	%D%/from_vocabulary.c \
	%D%/json_post.c \
	%D%/json_reader.c %D%/json_reader.h \
	%D%/json_steps.c %D%/json_steps.h \
	%D%/normalize.c %D%/normalize.h \
	%D%/pattern.c %D%/pattern.h \
	%D%/philox.h \
	%D%/pre_rules.c %D%/pre_rules.h \
	%D%/sampler.c \
	%D%/split.c %D%/split.h \
	%D%/tokenizer.c %D%/tokenizer.h \
	%D%/vocab.c %D%/vocab.h
