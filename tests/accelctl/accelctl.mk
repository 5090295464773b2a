# SPDX-License-Identifier: Apache-2.0
# Tests that run the command as a user would.
check_PROGRAMS += tests/accelctl/honored tests/accelctl/json tests/accelctl/stages tests/accelctl/decoded tests/accelctl/half
tests_accelctl_decoded_SOURCES = %D%/decoded.c
tests_accelctl_decoded_LDADD = libaccel-model.la libaccel.la libaccel-quant.la -lm
tests_accelctl_half_SOURCES = %D%/half.c
tests_accelctl_half_LDADD = libaccel-model.la libaccel.la
tests_accelctl_honored_SOURCES = %D%/honored.c
tests_accelctl_honored_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_accelctl_honored_LDADD = $(JANSSON_LIBS)
tests_accelctl_json_SOURCES = %D%/json.c
tests_accelctl_json_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_accelctl_json_LDADD = $(JANSSON_LIBS)
tests_accelctl_stages_SOURCES = %D%/stages.c
tests_accelctl_stages_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_accelctl_stages_LDADD = libaccel-model.la libaccel.la $(JANSSON_LIBS) -lm

accelctl_tests = \
	%D%/bench.sh \
	%D%/cache.sh \
	%D%/chat.sh \
	%D%/claims.sh \
	%D%/damaged.sh \
	%D%/doctor.sh \
	%D%/eval.sh \
	%D%/floats.sh \
	%D%/golden.sh \
	%D%/limits.sh \
	%D%/lost.sh \
	%D%/gguf_families.sh \
	%D%/gptq_reader.sh \
	%D%/habits.sh \
	%D%/hostile.sh \
	%D%/info.sh \
	%D%/measure.sh \
	%D%/memory.sh \
	%D%/mxfp4.sh \
	%D%/origins.sh \
	%D%/pages.sh \
	%D%/plan.sh \
	%D%/precision.sh \
	%D%/plugins.sh \
	%D%/profile.sh \
	%D%/quantize.sh \
	%D%/placement.sh \
	%D%/readme.sh \
	%D%/remedies.sh \
	%D%/scores.sh \
	%D%/settings.sh \
	%D%/signals.sh \
	%D%/tables.sh \
	%D%/texts.sh \
	%D%/tokenize.sh \
	%D%/trace.sh \
	%D%/commands.sh \
	%D%/opencl.sh \
	%D%/split.sh \
	%D%/vulkan.sh
TESTS += $(accelctl_tests)
EXTRA_DIST += $(accelctl_tests) %D%/honored.sh %D%/lib.sh %D%/float_folder.py %D%/gptq_reader.py %D%/make_gguf.py %D%/mxfp4_folder.py %D%/chat_terminal.py %D%/schema.py README.md
