/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, UTF-8, strings, the log, the JSON writer and addresses of PCI functions. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <accel/error.h>

#include "core/base/log.h"
#include "core/base/pci.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"

static void error_names(void **state)
{
    (void)state;
    assert_string_equal(accel_error_name(ACCEL_OK), "ACCEL_OK");
    assert_string_equal(accel_error_name(ACCEL_E_INVALID), "ACCEL_E_INVALID");
    assert_string_equal(accel_error_name(ACCEL_E_CORRUPT), "ACCEL_E_CORRUPT");
    assert_string_equal(accel_error_name(ACCEL_E_NEEDS_RANGE), "ACCEL_E_NEEDS_RANGE");
    assert_string_equal(accel_error_name(ACCEL_E_INTERNAL), "ACCEL_E_INTERNAL");
    assert_string_equal(accel_error_name(ACCEL_E_INTERNAL - 1), "ACCEL_E_?");
    assert_string_equal(accel_error_name(1), "ACCEL_E_?");
    assert_string_equal(accel_error_name(INT32_MIN), "ACCEL_E_?");
}

static void error_first_wins(void **state)
{
    struct accel_error error = {0};
    (void)state;
    accel_error_remedy(&error, "a remedy needs an error");
    assert_string_equal(error.remedy, "");
    assert_int_equal(accel_error_set(&error, ACCEL_E_IO, "%s: line %d", "a.yaml", 3), ACCEL_E_IO);
    assert_int_equal(accel_error_set(&error, ACCEL_E_MEMORY, "later"), ACCEL_E_MEMORY);
    assert_int_equal(error.code, ACCEL_E_IO);
    assert_string_equal(error.text, "a.yaml: line 3");
    assert_int_equal(accel_error_advise(&error, ACCEL_E_MEMORY, "do %s", "this"), ACCEL_E_MEMORY);
    accel_error_remedy(&error, "no");
    assert_string_equal(error.remedy, "do this");
    error.native = 5;
    error.asked = 6;
    accel_error_clear(&error);
    assert_int_equal(error.code, ACCEL_OK);
    assert_int_equal(error.native, 0);
    assert_int_equal(error.asked, 0);
    assert_string_equal(error.text, "");
    assert_string_equal(error.remedy, "");
    assert_int_equal(accel_error_set(NULL, ACCEL_E_IO, "nobody listens"), ACCEL_E_IO);
    accel_error_remedy(NULL, "nobody");
    accel_error_clear(NULL);
}

static void error_text_is_one_good_line(void **state)
{
    struct accel_error error = {0};
    char text[1200];
    (void)state;
    accel_error_set(&error, ACCEL_E_IO, "a\nb\x1b[31m\xff\xc2\x85z");
    assert_string_equal(error.text, "a?b?[31m??z");
    accel_error_clear(&error);
    /* 507 letters and then two-byte characters: the cut before the dots, at 508 bytes, would split the first one. */
    memset(text, 'x', 507);
    for (size_t i = 507; i + 2 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa4", 3);
    accel_error_set(&error, ACCEL_E_IO, "%s", text);
    assert_int_equal(strlen(error.text), 510);
    assert_string_equal(error.text + 506, "x...");
    accel_error_clear(&error);
    memset(text, 'x', 506);
    memcpy(text + 506, "\xc3\xa4\xc3\xa4\xc3\xa4", 7);
    accel_error_set(&error, ACCEL_E_IO, "%s", text);
    assert_int_equal(strlen(error.text), 511);
    assert_true(accel_utf8_valid(error.text, 511, NULL));
}

static void utf8_cases(void **state)
{
    /* Escape, delete, C1, soft hyphen, zero widths, ends of line and paragraph, turns of direction, a tag. */
    static const char *const hidden[] = {"\x1b",         "\x7f",         "\xc2\x9b",        "\xc2\xad",
                                         "\xe2\x80\x8b", "\xe2\x80\x8f", "\xe2\x80\xa8",    "\xe2\x80\xa9",
                                         "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6",    "\xe2\x81\xa9",
                                         "\xef\xbb\xbf", "\xd8\x9c",     "\xf3\xa0\x80\x81"};
    static const struct {
        const char *text;
        size_t bad; /* offset of the first bad byte, or the length */
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {"\xc3\xa4", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"a\x80", 1},
        {"a\xc3", 1},
        {"\xc0\x80", 0},
        {"\xc1\xbf", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xed\xa0\x80", 0},
        {"\xef\xbf\xbf", 3},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"ab\xe2\x82", 2},
        {"\xe2\x28\xa1", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t bytes = strlen(cases[i].text);
        size_t bad = 99;
        bool valid = accel_utf8_valid(cases[i].text, bytes, &bad);
        assert_int_equal(valid, cases[i].bad == bytes);
        if (!valid)
            assert_int_equal(bad, cases[i].bad);
    }
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        char line[16];
        size_t bad = 9;
        snprintf(line, sizeof(line), "a%sz", hidden[i]);
        assert_true(accel_utf8_valid(line, strlen(line), NULL));
        assert_false(accel_utf8_plain(line, strlen(line), &bad));
        assert_int_equal(bad, 1);
        accel_utf8_one_line(line);
        assert_string_equal(line, "a?z");
    }
    assert_true(accel_utf8_plain("a\xc3\xa9 \xe2\x82\xac \xe6\x97\xa5 \xf0\x9f\x98\x80", 16, NULL));
    assert_int_equal(accel_utf8_cut("a\xe2\x82\xac", 4, 3), 1);
    assert_int_equal(accel_utf8_cut("a\xe2\x82\xac", 4, 4), 4);
    assert_int_equal(accel_utf8_cut("a\xe2\x82\xac", 4, 0), 0);
    assert_int_equal(accel_utf8_cut("\x80\x80\x80\x80\x80\x80", 6, 5), 2);
}

static void strbuf_grows_and_stops(void **state)
{
    struct accel_strbuf buf;
    char *text;
    (void)state;
    accel_strbuf_init(&buf, 0);
    assert_string_equal(accel_strbuf_get(&buf), "");
    for (int i = 0; i < 1000; i++)
        accel_strbuf_printf(&buf, "%d,", i % 10);
    accel_strbuf_char(&buf, '!');
    assert_int_equal(buf.length, 2001);
    assert_string_equal(buf.text + 1990, "5,6,7,8,9,!");
    text = accel_strbuf_detach(&buf);
    assert_int_equal(strlen(text), 2001);
    free(text);
    text = accel_strbuf_detach(&buf);
    assert_string_equal(text, "");
    free(text);

    accel_strbuf_init(&buf, 5);
    accel_strbuf_text(&buf, "12345");
    assert_false(buf.failed);
    accel_strbuf_char(&buf, '6');
    assert_true(buf.failed);
    accel_strbuf_text(&buf, "");
    assert_string_equal(accel_strbuf_get(&buf), "12345");
    assert_null(accel_strbuf_detach(&buf));
    assert_false(buf.failed);
    accel_strbuf_append(&buf, "x", SIZE_MAX);
    assert_true(buf.failed);
    accel_strbuf_free(&buf);
}

struct heard {
    int lines;
    char text[1100];
};

static void hear(void *user, uint32_t level, const char *room, const char *text)
{
    struct heard *heard = user;
    heard->lines++;
    snprintf(heard->text, sizeof(heard->text), "%u %s %s", level, room, text);
}

static void log_filters(void **state)
{
    struct heard heard = {0};
    struct accel_log log = {.sink = hear, .user = &heard, .level = ACCEL_LOG_INFO};
    struct accel_log silent = {.level = ACCEL_LOG_DEBUG};
    char big[3000];
    (void)state;
    accel_log_write(&log, ACCEL_LOG_DEBUG, "test", "no");
    accel_log_write(NULL, ACCEL_LOG_ERROR, "test", "no");
    accel_log_write(&silent, ACCEL_LOG_ERROR, "test", "no");
    accel_log_write(&log, 0, "test", "no");
    assert_int_equal(heard.lines, 0);
    accel_log_write(&log, ACCEL_LOG_INFO, "test", "key=%d\ntext=\"a b\"", 7);
    assert_int_equal(heard.lines, 1);
    assert_string_equal(heard.text, "3 test key=7?text=\"a b\"");
    memset(big, 'y', sizeof(big));
    big[sizeof(big) - 1] = '\0';
    accel_log_write(&log, ACCEL_LOG_WARN, "t", "%s", big);
    assert_int_equal(strlen(heard.text), strlen("2 t ") + 1024);
}

static void pci_addresses(void **state)
{
    static const char *const wrong[] = {"",
                                        "65:00.0",
                                        "0000:65:00",
                                        "0000:65:00.",
                                        "0000:165:00.0",
                                        "0000:65:0g.0",
                                        "0000:65:00.00",
                                        "0000:65:00.0 ",
                                        ":65:00.0"};
    uint32_t address[4] = {7, 7, 7, 7};
    char text[ACCEL_PCI_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (accel_pci_read(wrong[i], address) || address[0] != 7)
            fail_msg("'%s' is taken", wrong[i]);
    assert_true(accel_pci_read("10000:65:1f.7", address));
    assert_string_equal(accel_pci_write(address[0], address[1], address[2], address[3], text), "10000:65:1f.7");
    assert_string_equal(accel_pci_write(0, 0x65, 0, 0, text), "0000:65:00.0");
    assert_int_equal(strlen(accel_pci_write(UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, text)), 35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_names),
        cmocka_unit_test(error_first_wins),
        cmocka_unit_test(error_text_is_one_good_line),
        cmocka_unit_test(utf8_cases),
        cmocka_unit_test(strbuf_grows_and_stops),
        cmocka_unit_test(log_filters),
        cmocka_unit_test(pci_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
