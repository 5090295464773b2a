# SPDX-License-Identifier: Apache-2.0
libaccel_core_la_SOURCES += \
	%D%/aliases.c %D%/environment.c %D%/environment.h \
	%D%/condition.c %D%/condition.h \
	%D%/facts.c %D%/folder.c %D%/folder.h %D%/internal.h \
	%D%/known_facts.def \
	%D%/keys.c %D%/keys.h \
	%D%/language.c %D%/language.h \
	%D%/loader.h %D%/statements.c \
	%D%/members.c %D%/members.h \
	%D%/models.c \
	%D%/profile.c %D%/profile.h \
	%D%/outcome.c %D%/resolve.c %D%/resolver.h %D%/setting.h %D%/suggest.c %D%/site.c \
	%D%/yaml.c %D%/yaml.h
