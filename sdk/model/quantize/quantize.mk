# SPDX-License-Identifier: Apache-2.0
accelmodelinclude_HEADERS += sdk/model/include/accel/model/quantize.h
libaccel_model_core_la_SOURCES += %D%/gptq.c %D%/gptq.h %D%/internal.h %D%/plan.c %D%/run.c
