# SPDX-License-Identifier: Apache-2.0
# Tokenizers and sampling.
libaccel_model_core_la_SOURCES += \
	%D%/added.c %D%/added.h \
	%D%/bpe.c %D%/bpe.h \
	%D%/buffer.c %D%/buffer.h \
	%D%/charsmap.c %D%/charsmap.h \
	%D%/decode.c %D%/decode.h \
	%D%/from_file.c \
	%D%/from_json.c \
	%D%/from_spm.c \
	%D%/from_vocabulary.c \
	%D%/json_normalizer.c \
	%D%/json_model.c %D%/json_model.h \
	%D%/json_post.c \
	%D%/json_reader.c %D%/json_reader.h \
	%D%/json_steps.c %D%/json_steps.h \
	%D%/normalize.c %D%/normalize.h \
	%D%/pattern.c %D%/pattern.h \
	%D%/pre_rules.c %D%/pre_rules.h \
	%D%/sampler.c \
	%D%/split.c %D%/split.h \
	%D%/tokenizer.c %D%/tokenizer.h \
	%D%/trie.c %D%/trie.h \
	%D%/unigram.c %D%/unigram.h \
	%D%/vocab.c %D%/vocab.h \
	%D%/wordpiece.c %D%/wordpiece.h
