# SPDX-License-Identifier: Apache-2.0
# Chat templates: the part of Jinja that templates of models use.
libaccel_model_core_la_SOURCES += \
	%D%/chat.c \
	%D%/evaluate.c \
	%D%/expression.c \
	%D%/filter.c \
	%D%/lex.c \
	%D%/method.c \
	%D%/run.c \
	%D%/run.h \
	%D%/statement.c \
	%D%/syntax.h \
	%D%/text.c \
	%D%/value.c \
	%D%/value.h \
	%D%/write.c
