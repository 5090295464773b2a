# SPDX-License-Identifier: Apache-2.0
# Drivers that only tests load: check_LTLIBRARIES with $(test_driver_ldflags).
mock_drivers =
check_LTLIBRARIES += $(mock_drivers)

mock_drivers += tests/mock/good.la
tests_mock_good_la_SOURCES = %D%/good.c %D%/mock.h
tests_mock_good_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/twin.la
tests_mock_twin_la_SOURCES = %D%/twin.c %D%/mock.h
tests_mock_twin_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/missing_symbol.la
tests_mock_missing_symbol_la_SOURCES = %D%/missing_symbol.c %D%/mock.h
tests_mock_missing_symbol_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/no_entry.la
tests_mock_no_entry_la_SOURCES = %D%/no_entry.c %D%/mock.h
tests_mock_no_entry_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/wrong_abi.la
tests_mock_wrong_abi_la_SOURCES = %D%/wrong_abi.c %D%/mock.h
tests_mock_wrong_abi_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/crash_in_constructor.la
tests_mock_crash_in_constructor_la_SOURCES = %D%/crash_in_constructor.c %D%/mock.h
tests_mock_crash_in_constructor_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/hang_in_constructor.la
tests_mock_hang_in_constructor_la_SOURCES = %D%/hang_in_constructor.c %D%/mock.h
tests_mock_hang_in_constructor_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/abort_in_query.la
tests_mock_abort_in_query_la_SOURCES = %D%/abort_in_query.c %D%/mock.h
tests_mock_abort_in_query_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/exit_in_attach.la
tests_mock_exit_in_attach_la_SOURCES = %D%/exit_in_attach.c %D%/mock.h
tests_mock_exit_in_attach_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/crash_at_exit.la
tests_mock_crash_at_exit_la_SOURCES = %D%/crash_at_exit.c %D%/mock.h
tests_mock_crash_at_exit_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/prints.la
tests_mock_prints_la_SOURCES = %D%/prints.c %D%/mock.h
tests_mock_prints_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/garbage_number.la
tests_mock_garbage_number_la_SOURCES = %D%/garbage_number.c %D%/mock.h
tests_mock_garbage_number_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/garbage_count.la
tests_mock_garbage_count_la_SOURCES = %D%/garbage_count.c %D%/mock.h
tests_mock_garbage_count_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/garbage_text.la
tests_mock_garbage_text_la_SOURCES = %D%/garbage_text.c %D%/mock.h
tests_mock_garbage_text_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/extra_symbol.la
tests_mock_extra_symbol_la_SOURCES = %D%/extra_symbol.c %D%/mock.h
tests_mock_extra_symbol_la_LDFLAGS = -module -avoid-version -rpath /nowhere -Wl,-z,now -Wl,-z,nodelete \
	-Wl,-z,noexecstack -export-symbols-regex '^accel_(driver_query|extra_symbol)$$'

mock_drivers += tests/mock/no_note.la
tests_mock_no_note_la_SOURCES = %D%/no_note.c %D%/mock.h
tests_mock_no_note_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/bad_note.la
tests_mock_bad_note_la_SOURCES = %D%/bad_note.c %D%/mock.h
tests_mock_bad_note_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/exec_stack.la
tests_mock_exec_stack_la_SOURCES = %D%/exec_stack.c %D%/mock.h
tests_mock_exec_stack_la_LDFLAGS = $(test_driver_ldflags) -Wl,-z,execstack

mock_drivers += tests/mock/late.la
tests_mock_late_la_SOURCES = %D%/late.c %D%/mock.h
tests_mock_late_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/turns.la
tests_mock_turns_la_SOURCES = %D%/turns.c %D%/mock.h
tests_mock_turns_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/lazy.la
tests_mock_lazy_la_SOURCES = %D%/lazy.c %D%/mock.h
tests_mock_lazy_la_LDFLAGS = $(test_driver_ldflags) -Wl,-z,lazy

mock_drivers += tests/mock/crash_in_enumerate.la
tests_mock_crash_in_enumerate_la_SOURCES = %D%/crash_in_enumerate.c %D%/mock.h
tests_mock_crash_in_enumerate_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/many_threads.la
tests_mock_many_threads_la_SOURCES = %D%/many_threads.c %D%/mock.h
tests_mock_many_threads_la_LDFLAGS = $(test_driver_ldflags)
tests_mock_many_threads_la_LIBADD = -lpthread

mock_drivers += tests/mock/short_structs.la
tests_mock_short_structs_la_SOURCES = %D%/short_structs.c %D%/mock.h
tests_mock_short_structs_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/short_table.la
tests_mock_short_table_la_SOURCES = %D%/short_table.c %D%/mock.h
tests_mock_short_table_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/lies_about_memory.la
tests_mock_lies_about_memory_la_SOURCES = %D%/lies_about_memory.c %D%/mock.h
tests_mock_lies_about_memory_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/leaks.la
tests_mock_leaks_la_SOURCES = %D%/leaks.c %D%/mock.h
tests_mock_leaks_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/compiler.la
tests_mock_compiler_la_SOURCES = %D%/compiler.c %D%/direct.c %D%/direct.h
tests_mock_compiler_la_LDFLAGS = $(test_driver_ldflags)
# Objects of its own: direct.c is part of tests as well.
tests_mock_compiler_la_CFLAGS = $(AM_CFLAGS)

mock_drivers += tests/mock/hostile.la
tests_mock_hostile_la_SOURCES = %D%/hostile.c %D%/second.c %D%/second.h
tests_mock_hostile_la_LDFLAGS = $(test_driver_ldflags)
tests_mock_hostile_la_CFLAGS = $(AM_CFLAGS)

mock_drivers += tests/mock/unloadable.la
tests_mock_unloadable_la_SOURCES = %D%/unloadable.c %D%/mock.h
tests_mock_unloadable_la_LDFLAGS = -module -avoid-version -no-undefined -rpath /nowhere -Wl,-z,now -Wl,-z,noexecstack \
	-export-symbols-regex '^accel_driver_query$$'

mock_drivers += tests/mock/unique.la
tests_mock_unique_la_SOURCES = %D%/unique.c %D%/mock.h
tests_mock_unique_la_LDFLAGS = -module -avoid-version -no-undefined -rpath /nowhere -Wl,-z,now -Wl,-z,nodelete \
	-Wl,-z,noexecstack

mock_drivers += tests/mock/text_relocation.la
tests_mock_text_relocation_la_SOURCES = %D%/text_relocation.c %D%/mock.h
tests_mock_text_relocation_la_LDFLAGS = $(test_driver_ldflags) -Wl,-z,notext

mock_drivers += tests/mock/two_notes.la
tests_mock_two_notes_la_SOURCES = %D%/two_notes.c %D%/mock.h
tests_mock_two_notes_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/writable_code.la
tests_mock_writable_code_la_SOURCES = %D%/writable_code.c %D%/mock.h
tests_mock_writable_code_la_LDFLAGS = $(test_driver_ldflags)

mock_drivers += tests/mock/lossy.la
tests_mock_lossy_la_SOURCES = %D%/lossy.c %D%/second.c %D%/second.h
tests_mock_lossy_la_LDFLAGS = $(test_driver_ldflags)
# Objects of its own: second.c is part of tests as well.
tests_mock_lossy_la_CFLAGS = $(AM_CFLAGS)

# Drivers that run, and spoil the process that they run in.
mock_drivers += tests/mock/spoils_threads.la tests/mock/spoils_descriptors.la
tests_mock_spoils_threads_la_SOURCES = %D%/spoils.c
tests_mock_spoils_threads_la_CPPFLAGS = $(AM_CPPFLAGS) -DSPOIL_THREAD
tests_mock_spoils_threads_la_LDFLAGS = $(test_driver_ldflags)
tests_mock_spoils_threads_la_LIBADD = $(driver_libs) -lpthread
tests_mock_spoils_descriptors_la_SOURCES = %D%/spoils.c
tests_mock_spoils_descriptors_la_LDFLAGS = $(test_driver_ldflags)
tests_mock_spoils_descriptors_la_LIBADD = $(driver_libs)

mock_drivers += tests/mock/narrow.la
tests_mock_narrow_la_SOURCES = %D%/narrow.c %D%/second.c %D%/second.h
tests_mock_narrow_la_LDFLAGS = $(test_driver_ldflags)
# Objects of its own: second.c is part of tests as well.
tests_mock_narrow_la_CFLAGS = $(AM_CFLAGS)

mock_drivers += tests/mock/uncounted.la tests/mock/counted.la
tests_mock_uncounted_la_SOURCES = %D%/uncounted.c
tests_mock_uncounted_la_LDFLAGS = $(test_driver_ldflags)
tests_mock_uncounted_la_LIBADD = $(driver_libs)
tests_mock_counted_la_SOURCES = %D%/uncounted.c
tests_mock_counted_la_CPPFLAGS = $(AM_CPPFLAGS) -DCOUNTED
tests_mock_counted_la_LDFLAGS = $(test_driver_ldflags)
tests_mock_counted_la_LIBADD = $(driver_libs)

# Preloaded, and no driver.
check_LTLIBRARIES += tests/mock/short_of_memory.la
tests_mock_short_of_memory_la_SOURCES = %D%/short_of_memory.c
tests_mock_short_of_memory_la_LDFLAGS = -module -avoid-version -rpath /nowhere
tests_mock_short_of_memory_la_LIBADD = -ldl
