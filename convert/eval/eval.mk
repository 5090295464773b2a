# SPDX-License-Identifier: Apache-2.0
libaccel_model_core_la_SOURCES += \
	%D%/tensors.c \
	%D%/text.c
