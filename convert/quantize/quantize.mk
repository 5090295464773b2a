# SPDX-License-Identifier: Apache-2.0
libaccel_model_core_la_SOURCES += \
	%D%/allocate.c %D%/allocate.h \
	%D%/budget.c %D%/budget.h \
	%D%/calibration.c %D%/calibration.h \
	%D%/choose.c %D%/choose.h \
	%D%/dense.c %D%/dense.h %D%/dense_factor.c %D%/gptq_solve.c %D%/gptq_solve.h \
	%D%/encode.c %D%/encode.h \
	%D%/internal.h \
	%D%/layout.h %D%/layout_folder.c %D%/layout_folder.h \
	%D%/layout_gguf.c %D%/layout_gptq.c %D%/layout_planes.c \
	%D%/plan.c \
	%D%/run.c \
	%D%/probe.c %D%/probe.h \
	%D%/sensitivity.c %D%/sensitivity.h \
	%D%/statistics.c %D%/statistics.h \
	%D%/ways.c %D%/ways.h
