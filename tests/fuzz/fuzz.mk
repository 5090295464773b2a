# SPDX-License-Identifier: Apache-2.0
# Fuzz targets. In make check each runs over its corpus (replay.c); tests/fuzz/run builds one with libFuzzer and searches.
if ACCEL_TESTS
fuzz_tests = tests/fuzz/fuzz_gguf tests/fuzz/fuzz_safetensors tests/fuzz/fuzz_config \
	tests/fuzz/fuzz_profile tests/fuzz/fuzz_tables tests/fuzz/fuzz_elf_note tests/fuzz/fuzz_tokenizer tests/fuzz/fuzz_chat \
	tests/fuzz/fuzz_machine tests/fuzz/fuzz_packed tests/fuzz/fuzz_job tests/fuzz/fuzz_kept
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
tests_fuzz_fuzz_tables_LDADD = libaccel-core.la
tests_fuzz_fuzz_machine_SOURCES = %D%/fuzz_machine.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_machine_LDADD = libaccel-core.la
tests_fuzz_fuzz_job_SOURCES = %D%/fuzz_job.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_job_LDADD = libaccel-core.la
tests_fuzz_fuzz_kept_SOURCES = %D%/fuzz_kept.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_kept_LDADD = libaccel-core.la
tests_fuzz_fuzz_elf_note_SOURCES = %D%/fuzz_elf_note.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_elf_note_LDADD = libaccel-core.la
EXTRA_tests_fuzz_fuzz_elf_note_DEPENDENCIES = $(mock_drivers)
tests_fuzz_fuzz_tokenizer_SOURCES = %D%/fuzz_tokenizer.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_tokenizer_LDADD = libaccel-model-core.la libaccel-quant.la libaccel.la
tests_fuzz_fuzz_chat_SOURCES = %D%/fuzz_chat.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_chat_LDADD = libaccel-model-core.la libaccel-quant.la libaccel.la
endif
EXTRA_DIST += tests/fixtures/tokenizers/fuzz/steps.json tests/fixtures/tokenizers/fuzz/suffix.json \
	tests/fixtures/chat/blanks.jinja tests/fixtures/chat/chatml.jinja tests/fixtures/chat/expressions.jinja \
	tests/fixtures/chat/headers.jinja tests/fixtures/chat/system.jinja
EXTRA_DIST += tests/fixtures/jobs/sum.job tests/fixtures/jobs/two.job tests/fixtures/kept/blob.cache \
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
