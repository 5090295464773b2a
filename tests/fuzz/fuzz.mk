# SPDX-License-Identifier: Apache-2.0
# Fuzz targets. In make check each runs over its corpus (replay.c); tests/fuzz/run builds one with libFuzzer and searches.
if ACCEL_TESTS
fuzz_tests = tests/fuzz/fuzz_gguf tests/fuzz/fuzz_safetensors tests/fuzz/fuzz_config \
	tests/fuzz/fuzz_profile tests/fuzz/fuzz_tables tests/fuzz/fuzz_elf_note tests/fuzz/fuzz_tokenizer tests/fuzz/fuzz_chat \
	tests/fuzz/fuzz_machine tests/fuzz/fuzz_packed tests/fuzz/fuzz_job tests/fuzz/fuzz_kept \
	tests/fuzz/fuzz_history tests/fuzz/fuzz_plan tests/fuzz/fuzz_scores tests/fuzz/fuzz_tools tests/fuzz/fuzz_driver
check_PROGRAMS += $(fuzz_tests)
TESTS += $(fuzz_tests)

tests_fuzz_fuzz_gguf_SOURCES = %D%/fuzz_gguf.c %D%/fuzz_container.h %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_gguf_LDADD = libaccel-model-core.la libaccel-quant.la libaccel.la
tests_fuzz_fuzz_safetensors_SOURCES = %D%/fuzz_safetensors.c %D%/fuzz_container.h %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_safetensors_LDADD = libaccel-model-core.la libaccel-quant.la libaccel.la
tests_fuzz_fuzz_packed_SOURCES = %D%/fuzz_packed.c %D%/fuzz_container.h %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_packed_LDADD = libaccel-model-core.la libaccel-quant.la libaccel.la
tests_fuzz_fuzz_config_SOURCES = %D%/fuzz_config.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_config_LDADD = libaccel-model-core.la libaccel-quant.la libaccel.la -lm
tests_fuzz_fuzz_profile_SOURCES = %D%/fuzz_profile.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_profile_LDADD = libaccel-core.la
tests_fuzz_fuzz_tables_SOURCES = %D%/fuzz_tables.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_tables_LDADD = libaccel-tables.la libaccel-core.la
tests_fuzz_fuzz_machine_SOURCES = %D%/fuzz_machine.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_machine_LDADD = libaccel-doctor.la libaccel-core.la $(JANSSON_LIBS)
tests_fuzz_fuzz_job_SOURCES = %D%/fuzz_job.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_job_LDADD = libaccel-probe.la libaccel-core.la
tests_fuzz_fuzz_kept_SOURCES = %D%/fuzz_kept.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_kept_LDADD = libaccel-gpu.la libaccel-driver.la libaccel-quant.la libaccel-core.la -lm
tests_fuzz_fuzz_elf_note_SOURCES = %D%/fuzz_elf_note.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_elf_note_LDADD = libaccel-core.la
EXTRA_tests_fuzz_fuzz_elf_note_DEPENDENCIES = $(mock_drivers)
tests_fuzz_fuzz_tokenizer_SOURCES = %D%/fuzz_tokenizer.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_tokenizer_LDADD = libaccel-model-core.la libaccel-quant.la libaccel.la
tests_fuzz_fuzz_chat_SOURCES = %D%/fuzz_chat.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_chat_LDADD = libaccel-model-core.la libaccel-quant.la libaccel.la
tests_fuzz_fuzz_history_SOURCES = %D%/fuzz_history.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_history_LDADD = libaccel-core.la -lm
tests_fuzz_fuzz_plan_SOURCES = %D%/fuzz_plan.c %D%/fuzz.h %D%/replay.c tests/unit/plan_farm.c tests/unit/plan_farm.h
tests_fuzz_fuzz_plan_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_fuzz_plan_LDADD = libaccel-model-core.la libaccel-core.la libaccel-quant.la $(CMOCKA_LIBS) $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_scores_SOURCES = %D%/fuzz_scores.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_scores_LDADD = $(accel_scores_libs)
tests_fuzz_fuzz_tools_SOURCES = %D%/fuzz_tools.c %D%/fuzz.h %D%/replay.c $(fuzz_tools_readers)
tests_fuzz_fuzz_tools_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_fuzz_tools_LDADD = libaccel-measure.la libaccel-model-core.la libaccel-quant.la libaccel-core.la $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_driver_SOURCES = %D%/fuzz_driver.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_driver_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_fuzz_fuzz_driver_LDADD = libaccel-core.la $(CMOCKA_LIBS)
# The files of the commands that read what they are given; tests/fuzz/run takes the same.
fuzz_tools_readers = tools/accelctl/bench/against.c tools/accelctl/bench/rows.c tools/accelctl/certificate.c \
	tools/accelctl/run/chat_template.c tools/accelctl/run/prompt.c tools/accelctl/run/prompt_lines.c tools/accelctl/clean_text.c tools/accelctl/output.c tools/accelctl/errors.c tools/accelctl/crash_report.c tools/accelctl/filter.c \
	tools/accelctl/progress.c tools/accelctl/watchdog.c tools/accelctl/words.c \
	sdk/conform/known.c sdk/conform/text.c
endif
EXTRA_DIST += tests/fixtures/tokenizers/fuzz/empty.json tests/fixtures/tokenizers/fuzz/steps.json tests/fixtures/tokenizers/fuzz/suffix.json \
	tests/fixtures/tokenizers/fuzz/unigram.json tests/fixtures/tokenizers/fuzz/wordpiece.json \
	tests/fixtures/chat/blanks.jinja tests/fixtures/chat/chatml.jinja tests/fixtures/chat/expressions.jinja \
	tests/fixtures/chat/headers.jinja tests/fixtures/chat/system.jinja
EXTRA_DIST += tests/fixtures/jobs/done.job tests/fixtures/jobs/failed.job tests/fixtures/jobs/sum.job \
	tests/fixtures/jobs/two.job tests/fixtures/kept/blob.cache tests/fixtures/kept/kernels.cache \
	tests/fixtures/kept/probes.cache
EXTRA_DIST += %D%/run %D%/config.dict %D%/profile.dict
EXTRA_DIST += tests/fixtures/packed/awq.folder \
	tests/fixtures/packed/bytes-one.folder \
	tests/fixtures/packed/bytes.folder \
	tests/fixtures/packed/gptq-3.folder \
	tests/fixtures/packed/gptq-4-order.folder \
	tests/fixtures/packed/gptq-8-row.folder \
	tests/fixtures/packed/words-3-zeros-odd.folder \
	tests/fixtures/packed/words-4.folder
EXTRA_DIST += tests/fixtures/drivers/right.driver tests/fixtures/drivers/random-0.driver \
	tests/fixtures/drivers/random-1.driver tests/fixtures/drivers/random-2.driver tests/fixtures/drivers/random-3.driver \
	tests/fixtures/drivers/random-4.driver tests/fixtures/drivers/random-5.driver
EXTRA_DIST += tests/fixtures/history/damaged.jsonl tests/fixtures/history/inner.jsonl \
	tests/fixtures/history/nested.jsonl tests/fixtures/history/runs.jsonl
EXTRA_DIST += tests/fixtures/plans/device.json tests/fixtures/plans/files.json tests/fixtures/plans/foreign.json \
	tests/fixtures/plans/nothing.json tests/fixtures/plans/settings.json
EXTRA_DIST += tests/fixtures/tools/bench.input tests/fixtures/tools/certificate.input \
	tests/fixtures/tools/conformance.input tests/fixtures/tools/llama-bench-lines.input \
	tests/fixtures/tools/llama-bench.input tests/fixtures/tools/prompts-lines.input
