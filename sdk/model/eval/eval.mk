# SPDX-License-Identifier: Apache-2.0
accelmodelinclude_HEADERS += sdk/model/include/accel/model/eval.h sdk/model/include/accel/model/scores.h
libaccel_model_core_la_SOURCES += \
	%D%/csv.c \
	%D%/formula.c \
	%D%/grid.c \
	%D%/internal.h \
	%D%/measures.c \
	%D%/tensors.c \
	%D%/text.c \
	%D%/tune.c %D%/tune.h
