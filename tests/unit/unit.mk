# SPDX-License-Identifier: Apache-2.0
# One program per subject: check_PROGRAMS and TESTS, linked with $(core_test_libs) or $(model_test_libs).
# A block per program:
#   unit_tests += tests/unit/ROOM_SUBJECT
#   tests_unit_ROOM_SUBJECT_SOURCES = %D%/ROOM_SUBJECT.c
#   tests_unit_ROOM_SUBJECT_LDADD = $(core_test_libs)
unit_tests =
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)

unit_tests += tests/unit/base_paths
tests_unit_base_paths_SOURCES = %D%/base_paths.c
tests_unit_base_paths_CPPFLAGS = $(AM_CPPFLAGS) $(folders_cppflags)
tests_unit_base_paths_LDADD = $(core_test_libs)

unit_tests += tests/unit/bench_noise
tests_unit_bench_noise_SOURCES = %D%/bench_noise.c tools/accelctl/bench/noise.c tools/accelctl/bench/bench.h \
	tools/accelctl/bench/noise.h tools/accelctl/bench/rows.h
tests_unit_bench_noise_CPPFLAGS = $(accelctl_CPPFLAGS)
tests_unit_bench_noise_LDADD = $(CMOCKA_LIBS) -lm

unit_tests += tests/unit/quant_format tests/unit/quant_blocks tests/unit/quant_fit tests/unit/quant_search
tests_unit_quant_search_SOURCES = %D%/quant_search.c
tests_unit_quant_search_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
tests_unit_quant_search_LDADD = $(CMOCKA_LIBS) -lm
tests_unit_quant_fit_SOURCES = %D%/quant_fit.c
tests_unit_quant_fit_LDADD = libaccel-quant.la $(CMOCKA_LIBS) -lm
tests_unit_quant_format_SOURCES = %D%/quant_format.c
tests_unit_quant_format_LDADD = libaccel-quant.la $(CMOCKA_LIBS) -lm
tests_unit_quant_blocks_SOURCES = %D%/quant_blocks.c
tests_unit_quant_blocks_LDADD = libaccel-quant.la $(CMOCKA_LIBS) -lm
unit_tests += tests/unit/quant_levels
tests_unit_quant_levels_SOURCES = %D%/quant_levels.c
tests_unit_quant_levels_LDADD = libaccel-quant.la $(CMOCKA_LIBS) -lm
EXTRA_DIST += tests/fixtures/gguf-types/Q8_0.safetensors tests/fixtures/gguf-types/Q4_0.safetensors \
	tests/fixtures/gguf-types/Q4_1.safetensors tests/fixtures/gguf-types/MXFP4.safetensors \
	tests/fixtures/gguf-types/IQ1_M.safetensors tests/fixtures/gguf-types/IQ1_S.safetensors \
	tests/fixtures/gguf-types/IQ2_S.safetensors tests/fixtures/gguf-types/IQ2_XS.safetensors \
	tests/fixtures/gguf-types/IQ2_XXS.safetensors tests/fixtures/gguf-types/IQ3_S.safetensors \
	tests/fixtures/gguf-types/IQ3_XXS.safetensors tests/fixtures/gguf-types/TQ1_0.safetensors \
	tests/fixtures/gguf-types/TQ2_0.safetensors tests/fixtures/gguf-types/F8_E4M3.safetensors \
	tests/fixtures/gguf-types/F8_E5M2.safetensors tests/fixtures/gguf-types/NVFP4.safetensors

unit_tests += tests/unit/format_table
tests_unit_format_table_SOURCES = %D%/format_table.c
tests_unit_format_table_LDADD = $(model_test_libs) -lm
unit_tests += tests/unit/format_malformed
tests_unit_format_malformed_SOURCES = %D%/format_malformed.c %D%/format_support.h
tests_unit_format_malformed_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_format_malformed_LDADD = $(model_test_libs) $(JANSSON_LIBS)

unit_tests += tests/unit/conform_reference
tests_unit_conform_reference_SOURCES = %D%/conform_reference.c
tests_unit_conform_reference_LDADD = libaccel-conform.la libaccel.la libaccel-quant.la $(CMOCKA_LIBS) $(YAML_LIBS) $(SYSTEM_LIBS) -lm

unit_tests += tests/unit/base_text tests/unit/base_memory tests/unit/base_file tests/unit/thread_pool
unit_tests += tests/unit/error_origin
tests_unit_error_origin_SOURCES = %D%/error_origin.c
tests_unit_error_origin_LDADD = $(accel_scores_libs) $(CMOCKA_LIBS)
tests_unit_base_text_SOURCES = %D%/base_text.c
tests_unit_base_text_LDADD = $(core_test_libs)
tests_unit_base_memory_SOURCES = %D%/base_memory.c
tests_unit_base_memory_LDADD = $(core_test_libs)
tests_unit_base_file_SOURCES = %D%/base_file.c %D%/remove_tree.h
tests_unit_base_file_LDADD = $(core_test_libs)
tests_unit_thread_pool_SOURCES = %D%/thread_pool.c
tests_unit_thread_pool_LDADD = $(core_test_libs)
unit_tests += tests/unit/graph_builder tests/unit/graph_verify tests/unit/graph_dim tests/unit/graph_shapes
tests_unit_graph_shapes_SOURCES = %D%/graph_shapes.c
tests_unit_graph_shapes_LDADD = $(core_test_libs)
tests_unit_graph_builder_SOURCES = %D%/graph_builder.c
tests_unit_graph_builder_LDADD = $(core_test_libs)
tests_unit_graph_verify_SOURCES = %D%/graph_verify.c
tests_unit_graph_verify_LDADD = $(core_test_libs)
tests_unit_graph_dim_SOURCES = %D%/graph_dim.c
tests_unit_graph_dim_LDADD = $(core_test_libs)
unit_tests += tests/unit/token_fixtures tests/unit/token_tokenizer tests/unit/token_pre_rules tests/unit/token_vocabulary
tests_unit_token_vocabulary_SOURCES = %D%/token_vocabulary.c %D%/token_support.h
tests_unit_token_vocabulary_LDADD = $(model_test_libs)
tests_unit_token_pre_rules_SOURCES = %D%/token_pre_rules.c %D%/token_support.h
tests_unit_token_pre_rules_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_token_pre_rules_LDADD = $(model_test_libs) $(JANSSON_LIBS)
tests_unit_token_fixtures_SOURCES = %D%/token_fixtures.c %D%/token_support.h
tests_unit_token_fixtures_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_token_fixtures_LDADD = $(model_test_libs) $(JANSSON_LIBS)
tests_unit_token_tokenizer_SOURCES = %D%/token_tokenizer.c %D%/token_support.h
tests_unit_token_tokenizer_LDADD = $(model_test_libs) -lm
EXTRA_DIST += \
	tests/fixtures/tokenizers/pre_rules.json \
	tests/fixtures/tokenizers/stories260K/cases.json \
	tests/fixtures/tokenizers/stories260K/tokenizer.json \
	tests/fixtures/tokenizers/tiny-bpe/cases.json \
	tests/fixtures/tokenizers/tiny-bpe/tokenizer.json \
	tests/fixtures/tokenizers/tiny-unigram/cases.json \
	tests/fixtures/tokenizers/tiny-unigram/tokenizer.json \
	tests/fixtures/tokenizers/tiny-wordpiece/cases.json \
	tests/fixtures/tokenizers/tiny-wordpiece/tokenizer.json
unit_tests += tests/unit/format_config
tests_unit_format_config_SOURCES = %D%/format_config.c %D%/format_support.h
tests_unit_format_config_LDADD = $(model_test_libs) -lm

unit_tests += tests/unit/topology_limits tests/unit/topology_machines
tests_unit_topology_limits_SOURCES = %D%/topology_limits.c
tests_unit_topology_limits_LDADD = $(core_test_libs)
tests_unit_topology_machines_SOURCES = %D%/topology_machines.c \
	%D%/topology_json.c %D%/topology_json.h
tests_unit_topology_machines_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_topology_machines_LDADD = $(core_test_libs) $(JANSSON_LIBS)
EXTRA_DIST += tests/topologies

unit_tests += tests/unit/token_sampler
tests_unit_token_sampler_SOURCES = %D%/token_sampler.c %D%/token_support.h
tests_unit_token_sampler_LDADD = $(model_test_libs) -lm
unit_tests += tests/unit/format_file
tests_unit_format_file_SOURCES = %D%/format_file.c %D%/format_support.h
tests_unit_format_file_LDADD = $(model_test_libs)
unit_tests += tests/unit/plugin_discover
tests_unit_plugin_discover_SOURCES = %D%/plugin_discover.c %D%/remove_tree.h
tests_unit_plugin_discover_LDADD = $(core_test_libs)
EXTRA_tests_unit_plugin_discover_DEPENDENCIES = $(mock_drivers) tools/accel-probe/accel-probe

unit_tests += tests/unit/plugin_linked
tests_unit_plugin_linked_SOURCES = %D%/plugin_linked.c %D%/remove_tree.h
tests_unit_plugin_linked_LDADD = $(core_test_libs)
EXTRA_tests_unit_plugin_linked_DEPENDENCIES = $(mock_drivers) tools/accel-probe/accel-probe

unit_tests += tests/unit/two_libraries
tests_unit_two_libraries_SOURCES = %D%/two_libraries.c
tests_unit_two_libraries_LDADD = $(CMOCKA_LIBS) -ldl
EXTRA_tests_unit_two_libraries_DEPENDENCIES = libaccel.la plugins/cpu/cpu.la tools/accel-probe/accel-probe

unit_tests += tests/unit/profile_language tests/unit/profile_resolve tests/unit/profile_layers tests/unit/profile_files \
	tests/unit/profile_variables
tests_unit_profile_layers_SOURCES = %D%/profile_layers.c %D%/profile_folder.c %D%/profile_folder.h %D%/setting_support.h
tests_unit_profile_layers_LDADD = $(core_test_libs)
tests_unit_profile_files_SOURCES = %D%/profile_files.c %D%/profile_folder.c %D%/profile_folder.h
tests_unit_profile_files_LDADD = libaccel-profiles.la $(core_test_libs)
tests_unit_profile_variables_SOURCES = %D%/profile_variables.c
tests_unit_profile_variables_LDADD = $(core_test_libs)
tests_unit_profile_language_SOURCES = %D%/profile_language.c
tests_unit_profile_language_LDADD = $(core_test_libs)
tests_unit_profile_resolve_SOURCES = %D%/profile_resolve.c %D%/profile_folder.c %D%/profile_folder.h %D%/setting_support.h
tests_unit_profile_resolve_LDADD = $(core_test_libs)
unit_tests += tests/unit/profile_documents
tests_unit_profile_documents_SOURCES = %D%/profile_documents.c %D%/profile_support.c %D%/profile_support.h %D%/setting_support.h
tests_unit_profile_documents_LDADD = $(core_test_libs)
unit_tests += tests/unit/profile_environment
tests_unit_profile_environment_SOURCES = %D%/profile_environment.c %D%/profile_support.c %D%/profile_support.h %D%/setting_support.h
tests_unit_profile_environment_LDADD = $(core_test_libs)
unit_tests += tests/unit/format_gguf
tests_unit_format_gguf_SOURCES = %D%/format_gguf.c %D%/format_support.h
tests_unit_format_gguf_LDADD = $(model_test_libs) -lm
EXTRA_DIST += tests/fixtures/gguf-types/llama-quantize.gguf tests/fixtures/gguf-types/llama-quantize.safetensors

unit_tests += tests/unit/family_keys
tests_unit_family_keys_SOURCES = %D%/family_keys.c %D%/format_support.h %D%/config_defaults.def \
	%D%/config_without_effect.def %D%/family_fixtures.def
tests_unit_family_keys_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_family_keys_LDADD = $(model_test_libs) $(JANSSON_LIBS)
unit_tests += tests/unit/family_changes
tests_unit_family_changes_SOURCES = %D%/family_changes.c %D%/changes_support.h %D%/session_support.h \
	%D%/family_fixtures.def %D%/config_without_effect.def
tests_unit_family_changes_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_family_changes_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm
unit_tests += tests/unit/gguf_changes
tests_unit_gguf_changes_SOURCES = %D%/gguf_changes.c %D%/changes_support.h %D%/session_support.h %D%/family_fixtures.def
tests_unit_gguf_changes_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_gguf_changes_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm
unit_tests += tests/unit/family_decoder
tests_unit_family_decoder_SOURCES = %D%/family_decoder.c %D%/session_support.h
tests_unit_family_decoder_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_family_decoder_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm
unit_tests += tests/unit/format_memory
tests_unit_format_memory_SOURCES = %D%/format_memory.c %D%/format_support.h
tests_unit_format_memory_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
# Visible, since libraries of sanitizers call the wrapped functions too.
tests_unit_format_memory_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_unit_format_memory_LDADD = $(model_test_libs) $(JANSSON_LIBS)
tests_unit_format_memory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup
unit_tests += tests/unit/plugin_elf_check
tests_unit_plugin_elf_check_SOURCES = %D%/plugin_elf_check.c
tests_unit_plugin_elf_check_LDADD = $(core_test_libs)
EXTRA_tests_unit_plugin_elf_check_DEPENDENCIES = $(mock_drivers)

device_support = tests/unit/device_support.h tests/mock/direct.c tests/mock/direct.h
unit_tests += tests/unit/device_run
tests_unit_device_run_SOURCES = %D%/device_run.c $(device_support)
tests_unit_device_run_LDADD = $(core_test_libs)
unit_tests += tests/unit/device_worker
tests_unit_device_worker_SOURCES = %D%/device_worker.c %D%/device_support.h %D%/remove_tree.h
tests_unit_device_worker_LDADD = libaccel-probe.la $(core_test_libs)
EXTRA_tests_unit_device_worker_DEPENDENCIES = $(mock_drivers) tools/accel-probe/accel-probe
unit_tests += tests/unit/plugin_elevated
tests_unit_plugin_elevated_SOURCES = %D%/plugin_elevated.c %D%/remove_tree.h
tests_unit_plugin_elevated_LDADD = $(core_test_libs)
EXTRA_tests_unit_plugin_elevated_DEPENDENCIES = $(mock_drivers)
unit_tests += tests/unit/device_manners
tests_unit_device_manners_SOURCES = %D%/device_manners.c $(device_support)
tests_unit_device_manners_LDADD = $(core_test_libs)
unit_tests += tests/unit/plugin_trust tests/unit/plugin_ipc
tests_unit_plugin_trust_SOURCES = %D%/plugin_trust.c %D%/remove_tree.h
tests_unit_plugin_trust_LDADD = $(core_test_libs)
tests_unit_plugin_ipc_SOURCES = %D%/plugin_ipc.c
tests_unit_plugin_ipc_LDADD = libaccel-probe.la $(core_test_libs)
unit_tests += tests/unit/device_failing
tests_unit_device_failing_SOURCES = %D%/device_failing.c $(device_support) tests/mock/async.c tests/mock/async.h \
	tests/mock/async_internal.h tests/mock/async_queue.c
tests_unit_device_failing_LDADD = $(core_test_libs)
tests_unit_device_failing_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc \
	-Wl,--wrap=strdup

unit_tests += tests/unit/token_chat
tests_unit_token_chat_SOURCES = %D%/token_chat.c %D%/token_support.h
tests_unit_token_chat_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_token_chat_LDADD = $(model_test_libs) $(JANSSON_LIBS)
EXTRA_DIST += tests/fixtures/chat/cases.json tests/fixtures/chat/make.py
unit_tests += tests/unit/device_queue
tests_unit_device_queue_SOURCES = %D%/device_queue.c tests/unit/device_support.h tests/mock/async.c tests/mock/async.h \
	tests/mock/async_internal.h tests/mock/async_queue.c
tests_unit_device_queue_LDADD = $(core_test_libs)
unit_tests += tests/unit/device_tables
tests_unit_device_tables_SOURCES = %D%/device_tables.c tests/unit/device_support.h tests/mock/async.c tests/mock/async.h \
	tests/mock/async_internal.h tests/mock/async_queue.c
tests_unit_device_tables_LDADD = $(core_test_libs)

unit_tests += tests/unit/plan_place
tests_unit_plan_place_SOURCES = %D%/plan_place.c %D%/plan_support.c %D%/plan_support.h %D%/device_support.h
tests_unit_plan_place_LDADD = $(core_test_libs)
unit_tests += tests/unit/device_late
tests_unit_device_late_SOURCES = %D%/device_late.c %D%/device_support.h %D%/remove_tree.h
tests_unit_device_late_LDADD = $(core_test_libs)
EXTRA_tests_unit_device_late_DEPENDENCIES = tests/mock/late.la tests/mock/good.la tools/accel-probe/accel-probe
unit_tests += tests/unit/device_minors
tests_unit_device_minors_SOURCES = %D%/device_minors.c $(device_support)
tests_unit_device_minors_LDADD = $(core_test_libs)
unit_tests += tests/unit/device_tails
tests_unit_device_tails_SOURCES = %D%/device_tails.c $(device_support)
tests_unit_device_tails_LDADD = $(core_test_libs)
unit_tests += tests/unit/device_registry
tests_unit_device_registry_SOURCES = %D%/device_registry.c $(device_support)
tests_unit_device_registry_LDADD = $(core_test_libs)
unit_tests += tests/unit/session_split
tests_unit_session_split_SOURCES = %D%/session_split.c %D%/session_second.h %D%/session_support.h tests/mock/second.c tests/mock/second.h
tests_unit_session_split_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_split_LDADD = libaccel-model-core.la libaccel-core.la libaccel-quant.la $(CMOCKA_LIBS) \
	$(JANSSON_LIBS) -lm
EXTRA_tests_unit_session_split_DEPENDENCIES = plugins/cpu/cpu.la
unit_tests += tests/unit/session_device
tests_unit_session_device_SOURCES = %D%/session_device.c %D%/session_second.h %D%/session_support.h tests/mock/second.c tests/mock/second.h
tests_unit_session_device_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_device_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=model_gguf_read
tests_unit_session_device_LDADD = libaccel-model-core.la libaccel-core.la libaccel-quant.la $(CMOCKA_LIBS) \
	$(JANSSON_LIBS) -lm
EXTRA_tests_unit_session_device_DEPENDENCIES = plugins/cpu/cpu.la
unit_tests += tests/unit/session_layout
tests_unit_session_layout_SOURCES = %D%/session_layout.c %D%/session_second.h %D%/session_support.h tests/mock/second.c tests/mock/second.h
tests_unit_session_layout_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_layout_LDADD = libaccel-model-core.la libaccel-core.la libaccel-quant.la $(CMOCKA_LIBS) \
	$(JANSSON_LIBS) -lm
EXTRA_tests_unit_session_layout_DEPENDENCIES = plugins/cpu/cpu.la
unit_tests += tests/unit/session_packed
tests_unit_session_packed_SOURCES = %D%/session_packed.c %D%/session_support.h
tests_unit_session_packed_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_packed_LDADD = libaccel-model-core.la libaccel-core.la libaccel-quant.la $(CMOCKA_LIBS) \
	$(JANSSON_LIBS) -lm
EXTRA_tests_unit_session_packed_DEPENDENCIES = plugins/cpu/cpu.la

unit_tests += tests/unit/session_fixtures
tests_unit_session_fixtures_SOURCES = %D%/session_fixtures.c %D%/session_support.h %D%/family_fixtures.def
tests_unit_session_fixtures_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_fixtures_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm

unit_tests += tests/unit/session_logits
tests_unit_session_logits_SOURCES = %D%/session_logits.c %D%/session_support.h
tests_unit_session_logits_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_logits_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm

unit_tests += tests/unit/session_misuse
tests_unit_session_misuse_SOURCES = %D%/session_misuse.c %D%/session_support.h
tests_unit_session_misuse_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_misuse_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm

unit_tests += tests/unit/session_perplexity
tests_unit_session_perplexity_SOURCES = %D%/session_perplexity.c %D%/session_support.h
tests_unit_session_perplexity_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_perplexity_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm

unit_tests += tests/unit/quantize_dense
tests_unit_quantize_dense_SOURCES = %D%/quantize_dense.c
tests_unit_quantize_dense_LDADD = $(model_test_libs) -lm
unit_tests += tests/unit/quantize_methods
tests_unit_quantize_methods_SOURCES = %D%/quantize_methods.c %D%/session_support.h
tests_unit_quantize_methods_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_quantize_methods_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm
unit_tests += tests/unit/quantize_solve
tests_unit_quantize_solve_SOURCES = %D%/quantize_solve.c
tests_unit_quantize_solve_LDADD = $(model_test_libs) -lm
unit_tests += tests/unit/quantize_run
tests_unit_quantize_run_SOURCES = %D%/quantize_run.c %D%/quantize_support.h %D%/session_support.h \
	tests/bench/random_model.c tests/bench/random_model.h tools/accelctl/sigbus_guard.c tools/accelctl/sigbus_guard.h \
	tools/accelctl/linux_mapping.c tools/accelctl/mapping.h \
	tools/accelctl/clean_text.c tools/accelctl/clean_text.h tools/accelctl/crash_report.c \
	tools/accelctl/crash_report.h tools/accelctl/filter.c tools/accelctl/output.c tools/accelctl/output.h
tests_unit_quantize_run_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_quantize_run_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm

unit_tests += tests/unit/session_memory
tests_unit_session_memory_SOURCES = %D%/session_memory.c %D%/session_support.h tests/bench/random_model.c \
	tests/bench/random_model.h
tests_unit_session_memory_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_memory_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm

unit_tests += tests/unit/session_experts
tests_unit_session_experts_SOURCES = %D%/session_experts.c %D%/session_support.h tests/bench/random_model.c \
	tests/bench/random_model.h
tests_unit_session_experts_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_experts_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm
EXTRA_tests_unit_session_experts_DEPENDENCIES = plugins/cpu/cpu.la

unit_tests += tests/unit/session_batch
tests_unit_session_batch_SOURCES = %D%/session_batch.c %D%/session_support.h
tests_unit_session_batch_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_batch_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm

unit_tests += tests/unit/session_ring
tests_unit_session_ring_SOURCES = %D%/session_ring.c %D%/session_support.h tests/bench/random_model.c \
	tests/bench/random_model.h
tests_unit_session_ring_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_ring_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm

unit_tests += tests/unit/session_steps
tests_unit_session_steps_SOURCES = %D%/session_steps.c %D%/session_support.h tests/bench/random_model.c \
	tests/bench/random_model.h
tests_unit_session_steps_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_steps_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lpthread -lm

unit_tests += tests/unit/family_rope
tests_unit_family_rope_SOURCES = %D%/family_rope.c
tests_unit_family_rope_LDADD = $(model_test_libs) -lm

unit_tests += tests/unit/session_generate
tests_unit_session_generate_SOURCES = %D%/session_generate.c %D%/session_support.h
tests_unit_session_generate_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_generate_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm

unit_tests += tests/unit/session_rotary
tests_unit_session_rotary_SOURCES = %D%/session_rotary.c %D%/session_support.h
tests_unit_session_rotary_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_rotary_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm

unit_tests += tests/unit/model_plan
tests_unit_model_plan_SOURCES = %D%/model_plan.c %D%/session_support.h tests/bench/random_model.c \
	tests/bench/random_model.h
tests_unit_model_plan_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_model_plan_LDADD = libaccel-tables.la $(model_test_libs) libaccel-core.la $(JANSSON_LIBS) -lm

unit_tests += tests/unit/session_variants
tests_unit_session_variants_SOURCES = %D%/session_variants.c %D%/session_support.h
tests_unit_session_variants_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_variants_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm

unit_tests += tests/unit/tables_documents tests/unit/tables_language tests/unit/tables_measured
tests_unit_tables_documents_SOURCES = %D%/tables_documents.c
tests_unit_tables_documents_LDADD = libaccel-tables.la $(core_test_libs)
tests_unit_tables_language_SOURCES = %D%/tables_language.c
tests_unit_tables_language_LDADD = libaccel-tables.la $(core_test_libs)
tests_unit_tables_measured_SOURCES = %D%/tables_measured.c
tests_unit_tables_measured_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_tables_measured_LDADD = libaccel-tables.la $(core_test_libs) -lm

unit_tests += tests/unit/plan_shapes
tests_unit_plan_shapes_SOURCES = %D%/plan_shapes.c %D%/profile_folder.c %D%/profile_folder.h %D%/shapes_support.h %D%/device_support.h
tests_unit_plan_shapes_LDADD = $(core_test_libs)

unit_tests += tests/unit/plan_deny
tests_unit_plan_deny_SOURCES = %D%/plan_deny.c %D%/profile_folder.c %D%/profile_folder.h %D%/plan_farm.c %D%/plan_farm.h %D%/plan_support.c \
        %D%/plan_support.h %D%/shapes_support.h %D%/device_support.h
tests_unit_plan_deny_LDADD = $(core_test_libs)

unit_tests += tests/unit/plan_devices
tests_unit_plan_devices_SOURCES = %D%/plan_devices.c %D%/profile_folder.c %D%/profile_folder.h %D%/plan_farm.c %D%/plan_farm.h %D%/shapes_support.h \
	%D%/device_support.h
tests_unit_plan_devices_LDADD = $(core_test_libs)
unit_tests += tests/unit/describe_models tests/unit/describe_files
tests_unit_describe_models_SOURCES = %D%/describe_models.c %D%/format_support.h
tests_unit_describe_models_LDADD = $(model_test_libs)
tests_unit_describe_files_SOURCES = %D%/describe_files.c %D%/format_support.h %D%/family_fixtures.def
tests_unit_describe_files_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_describe_files_LDADD = $(model_test_libs) $(JANSSON_LIBS)

unit_tests += tests/unit/plan_history
tests_unit_plan_history_SOURCES = %D%/plan_history.c %D%/plan_farm.c %D%/plan_farm.h %D%/shapes_support.h \
	%D%/device_support.h
tests_unit_plan_history_LDADD = libaccel-history.la $(core_test_libs)
unit_tests += tests/unit/snapshot_hosts tests/unit/doctor_table
tests_unit_snapshot_hosts_SOURCES = %D%/snapshot_hosts.c
tests_unit_snapshot_hosts_LDADD = libaccel-doctor.la $(core_test_libs) $(JANSSON_LIBS)
tests_unit_doctor_table_SOURCES = %D%/doctor_table.c
tests_unit_doctor_table_LDADD = libaccel-doctor.la $(core_test_libs) $(JANSSON_LIBS)

unit_tests += tests/unit/eval_scores
tests_unit_eval_scores_SOURCES = %D%/eval_scores.c
tests_unit_eval_scores_LDADD = $(accel_scores_libs) $(CMOCKA_LIBS)
unit_tests += tests/unit/eval_text
tests_unit_eval_text_SOURCES = %D%/eval_text.c %D%/session_support.h
tests_unit_eval_text_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_eval_text_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm
unit_tests += tests/unit/format_staged
tests_unit_format_staged_SOURCES = %D%/format_staged.c
tests_unit_format_staged_LDADD = $(model_test_libs)

unit_tests += tests/unit/format_planes
tests_unit_format_planes_SOURCES = %D%/format_planes.c %D%/format_support.h
tests_unit_format_planes_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_format_planes_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm
EXTRA_DIST += quant/LAYOUT.md tests/fixtures/planes/example.gguf tests/fixtures/planes/example.safetensors
unit_tests += tests/unit/format_rows
tests_unit_format_rows_SOURCES = %D%/format_rows.c
tests_unit_format_rows_LDADD = $(model_test_libs) -lm

unit_tests += tests/unit/format_packed
tests_unit_format_packed_SOURCES = %D%/format_packed.c %D%/format_support.h
tests_unit_format_packed_LDADD = $(model_test_libs) -lm

unit_tests += tests/unit/format_floats
tests_unit_format_floats_SOURCES = %D%/format_floats.c %D%/format_support.h
tests_unit_format_floats_LDADD = $(model_test_libs) -lm

unit_tests += tests/unit/format_compressed
tests_unit_format_compressed_SOURCES = %D%/format_compressed.c %D%/format_support.h
tests_unit_format_compressed_LDADD = $(model_test_libs) -lm

unit_tests += tests/unit/quantize_choose
tests_unit_quantize_choose_SOURCES = %D%/quantize_choose.c %D%/format_support.h
tests_unit_quantize_choose_LDADD = $(model_test_libs) -lm

unit_tests += tests/unit/quantize_mix
tests_unit_quantize_mix_SOURCES = %D%/quantize_mix.c %D%/format_support.h
tests_unit_quantize_mix_LDADD = $(model_test_libs)
unit_tests += tests/unit/quantize_gptq
tests_unit_quantize_gptq_SOURCES = %D%/quantize_gptq.c %D%/quantize_support.h %D%/session_support.h
tests_unit_quantize_gptq_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_quantize_gptq_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm
unit_tests += tests/unit/session_inputs
tests_unit_session_inputs_SOURCES = %D%/session_inputs.c %D%/session_support.h
tests_unit_session_inputs_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_session_inputs_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm
unit_tests += tests/unit/quantize_statistics
tests_unit_quantize_statistics_SOURCES = %D%/quantize_statistics.c %D%/quantize_support.h %D%/session_support.h
tests_unit_quantize_statistics_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_quantize_statistics_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm
unit_tests += tests/unit/quantize_budget
tests_unit_quantize_budget_SOURCES = %D%/quantize_budget.c
tests_unit_quantize_budget_LDADD = $(model_test_libs) -lm
unit_tests += tests/unit/quantize_allocate
tests_unit_quantize_allocate_SOURCES = %D%/quantize_allocate.c %D%/session_support.h
tests_unit_quantize_allocate_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_quantize_allocate_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm
unit_tests += tests/unit/quantize_probe
tests_unit_quantize_probe_SOURCES = %D%/quantize_probe.c %D%/quantize_support.h %D%/session_support.h
tests_unit_quantize_probe_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_quantize_probe_LDADD = $(model_test_libs) $(JANSSON_LIBS) -lm
