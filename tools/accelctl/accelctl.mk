# SPDX-License-Identifier: Apache-2.0
# The command.
bin_PROGRAMS += accelctl
accelctl_sources = \
	%D%/calibration.c \
	%D%/calibration.h \
	%D%/common.c \
	%D%/common.h \
	%D%/emit.c \
	%D%/emit.h \
	%D%/explain.c \
	%D%/explain.h \
	%D%/eval.h \
	%D%/eval_html.c \
	%D%/eval_print.c \
	%D%/external.c \
	%D%/external.h \
	%D%/guard.c \
	%D%/guard.h \
	%D%/keep.c \
	%D%/keep.h \
	%D%/matrix.c \
	%D%/matrix.h \
	%D%/matrix_html.c \
	%D%/model.c \
	%D%/model.h \
	%D%/option.c \
	%D%/page.c \
	%D%/page.h \
	%D%/print_more.c \
	%D%/print_more.h \
	%D%/plot.c \
	%D%/plot.h \
	%D%/print_plan.c \
	%D%/print_plan.h \
	%D%/print_steps.c \
	%D%/print_steps.h \
	%D%/profile.h \
	%D%/profile_env.c \
	%D%/profile_lint.c \
	%D%/profile_list.c \
	%D%/profile_schema.c \
	%D%/profile_schema.h \
	%D%/profile_show.c \
	%D%/profile_table.c \
	%D%/profile_view.c \
	%D%/profile_view.h \
	%D%/prompt.c \
	%D%/prompt.h \
	%D%/progress.c \
	%D%/progress.h \
	%D%/quantize.h \
	%D%/quantize_print.c \
	%D%/quantize_sensitivity.c \
	%D%/quantize_type.c \
	%D%/recommended.c \
	%D%/recommended.h \
	%D%/scratch.c \
	%D%/scratch.h \
	%D%/say.c \
	%D%/say.h \
	%D%/setting_words.c \
	%D%/setting_words.h \
	%D%/tables.c \
	%D%/tables.h \
	%D%/target.c \
	%D%/target.h \
	%D%/verb.h \
	%D%/verb_claims.c \
	%D%/verb_devices.c \
	%D%/verb_matrix.c \
	%D%/verb_doctor.c \
	%D%/verb_eval.c \
	%D%/verb_help.c \
	%D%/verb_plan.c \
	%D%/verb_plugins.c \
	%D%/verb_profile.c \
	%D%/verb_quantize.c \
	%D%/verb_run.c \
	%D%/verb_scores.c \
	%D%/verb_snapshot.c \
	%D%/verb_trace.c \
	%D%/verb_version.c \
	%D%/versions.c \
	%D%/versions.h \
	%D%/words.c \
	%D%/words.h \
	%D%/working.c \
	%D%/working.h \
	%D%/verbs.c \
	%D%/verbs.def
accelctl_SOURCES = %D%/main.c $(accelctl_sources)
accelctl_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -DACCEL_BINDIR='"$(bindir)"'
accelctl_LDFLAGS = $(bin_ldflags)
accelctl_LDADD = libaccel-model.la libaccel.la $(JANSSON_LIBS) $(SYSTEM_LIBS) -lm
