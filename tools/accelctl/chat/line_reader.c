/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/chat/line_reader.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <wchar.h>

#include "tools/accelctl/array.h"
#include "tools/accelctl/output.h"
#ifdef HAVE_LIBEDIT
#include <histedit.h>
#endif

#include "tools/accelctl/chat/line_history.h"

/* Limit of a line in bytes: that of a prompt. */
enum { LINE_MOST = 64 << 20 };

struct line_reader {
    uint32_t is_terminal;
    uint32_t keeps_history;
    uint32_t has_failed; /* 1: that the history is not written has been said */
    const char *prompt;
    const char *(*get_word)(uint32_t index); /* a word that the Tab key completes; NULL: there is none */
    char *line;
    size_t capacity;
#ifdef HAVE_LIBEDIT
    EditLine *editor; /* NULL: lines are read as they are */
    History *history;
    FILE *out;
    mbstate_t state;
    locale_t locale; /* of characters: an editor needs to know their widths, and the process stays in "C" */
#endif
};

/* Accessed from the signal handlers of a read. */
static volatile sig_atomic_t heard;    /* SIGINT, SIGTERM or SIGHUP */
static volatile sig_atomic_t resized;  /* SIGWINCH */
static volatile sig_atomic_t suspends; /* SIGTSTP */

static int wake_file = -1; /* an eventfd; a handler that runs in another thread ends the wait for input through it */

static void wake(void)
{
    const uint64_t one = 1;
    const int before = errno;

    if (wake_file >= 0 && write(wake_file, &one, sizeof(one)) < 0)
        errno = before;
}

/* Returns whether a handler has run since the last call. */
static bool is_woken(void)
{
    uint64_t count;

    return wake_file >= 0 && read(wake_file, &count, sizeof(count)) == (ssize_t)sizeof(count);
}

static void on_end(int number)
{
    heard = number;
    wake();
}

static void on_resize(int number)
{
    (void)number;
    resized = 1;
    wake();
}

static void on_suspend(int number)
{
    (void)number;
    suspends = 1;
    wake();
}

/* Signal handlers and mask before a read. This thread unblocks the signals only while it awaits input; another
 * thread that has them unblocked may receive one at any time. */
struct handlers {
    struct sigaction interrupt, termination, hangup, resize, suspend;
    sigset_t mask;
};

static sigset_t open_mask; /* while input is awaited */

static void handle_signals(struct handlers *before)
{
    const struct sigaction end = {.sa_handler = on_end}, resize = {.sa_handler = on_resize},
                           suspend = {.sa_handler = on_suspend};

    sigset_t ours;

    if (wake_file < 0)
        wake_file = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    is_woken();
    heard = 0;
    resized = 0;
    suspends = 0;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    sigaddset(&ours, SIGWINCH);
    sigaddset(&ours, SIGTSTP);
    pthread_sigmask(SIG_BLOCK, &ours, &before->mask);
    open_mask = before->mask;
    sigaction(SIGINT, &end, &before->interrupt);
    sigaction(SIGTERM, &end, &before->termination);
    sigaction(SIGHUP, &end, &before->hangup);
    sigaction(SIGWINCH, &resize, &before->resize);
    sigaction(SIGTSTP, NULL, &before->suspend);
    if (before->suspend.sa_handler == SIG_DFL)
        sigaction(SIGTSTP, &suspend, NULL);
}

static void restore_signals(const struct handlers *before)
{
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGTERM, &before->termination, NULL);
    sigaction(SIGHUP, &before->hangup, NULL);
    sigaction(SIGWINCH, &before->resize, NULL);
    sigaction(SIGTSTP, &before->suspend, NULL);
    pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
}

/* Reads the bytes that are available, or waits for some; on a terminal a signal ends the wait. */
static ssize_t read_input(uint32_t is_terminal, char *bytes, size_t count)
{
    struct pollfd inputs[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = wake_file, .events = POLLIN}};

    if (is_terminal && ppoll(inputs, 2, NULL, &open_mask) < 0)
        return -1;
    if (is_terminal && is_woken()) {
        errno = EINTR;
        return -1;
    }
    return read(STDIN_FILENO, bytes, count);
}

/* ---- without editing ---- */

/* Returns the next byte of the standard input; -1 at its end, -2 after a signal or a failure with errno. */
static int next_byte(uint32_t is_terminal)
{
    static char bytes[4096];
    static ssize_t count, at;

    if (at == count) {
        at = 0;
        do
            count = read_input(is_terminal, bytes, sizeof(bytes));
        while (count < 0 && errno == EINTR && heard == 0);
        if (count <= 0) {
            int code = count == 0 ? -1 : -2;

            count = 0;
            return code;
        }
    }
    return (unsigned char)bytes[at++];
}

static uint32_t put_byte(struct line_reader *reader, size_t used, int byte)
{
    if (!array_reserve(&reader->line, &reader->capacity, used + 2, 1))
        return 0;
    reader->line[used] = (char)byte;
    reader->line[used + 1] = '\0';
    return 1;
}

static enum line_result read_bytes(struct line_reader *reader, size_t *out_bytes)
{
    size_t used = 0;
    int byte = 0;

    *out_bytes = 0;
    if (!put_byte(reader, 0, '\0'))
        return LINE_FAILED;
    while ((byte = next_byte(reader->is_terminal)) >= 0 && byte != '\n') {
        if (used < LINE_MOST && !put_byte(reader, used, byte))
            return LINE_FAILED;
        used += used < LINE_MOST;
    }
    reader->line[used] = '\0';
    if (byte == -2)
        return heard == SIGINT ? LINE_INTERRUPTED : heard != 0 ? LINE_TERMINATED : LINE_FAILED;
    if (used == LINE_MOST)
        return LINE_LONG;
    if (used > 0 && reader->line[used - 1] == '\r')
        reader->line[--used] = '\0';
    *out_bytes = used;
    return byte < 0 && used == 0 ? LINE_END : LINE_TEXT;
}

/* ---- with libedit ---- */

#ifdef HAVE_LIBEDIT
static char *give_prompt(EditLine *editor)
{
    struct line_reader *reader = NULL;
    static char text[32];

    el_get(editor, EL_CLIENTDATA, &reader);
    snprintf(text, sizeof(text), "%s", reader->prompt);
    return text;
}

/* Acts on the signals that arrived while input was awaited. 1: the line ends here. */
static uint32_t serve_signals(EditLine *editor)
{
    if (suspends) {
        suspends = 0;
        el_set(editor, EL_PREP_TERM, 0);
        kill(getpid(), SIGSTOP);
        el_set(editor, EL_PREP_TERM, 1);
        el_set(editor, EL_REFRESH);
    }
    if (resized) {
        resized = 0;
        el_resize(editor);
        el_set(editor, EL_REFRESH);
    }
    return heard != 0;
}

/* Reads a character in place of libedit's own reader, which would read on after a signal. 1, 0 at the end, -1. */
static int read_character(EditLine *editor, wchar_t *out_character)
{
    struct line_reader *reader = NULL;

    el_get(editor, EL_CLIENTDATA, &reader);
    for (;;) {
        char byte;
        ssize_t count = read_input(1, &byte, 1);

        if (count < 0 && errno == EINTR && !serve_signals(editor))
            continue;
        if (count <= 0)
            return (int)count;
        switch (mbrtowc(out_character, &byte, 1, &reader->state)) {
        case (size_t)-2:
            continue;
        case (size_t)-1:
            memset(&reader->state, 0, sizeof(reader->state));
            *out_character = L'?';
            return 1;
        default:
            return 1;
        }
    }
}

/* Adds an entry to libedit's history on one line, since the editor shows a single line. */
static void enter(struct line_reader *reader, const char *text)
{
    HistEvent event;
    char *copy = strdup(text);

    if (copy == NULL)
        return;
    for (char *c = copy; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
    history(reader->history, &event, H_ENTER, copy);
    free(copy);
}

static void add_history_entry(void *data, const char *entry)
{
    enter(data, entry);
}

/* Binds keys of other line editors that libedit lacks or binds otherwise. */
static void bind_keys(EditLine *editor)
{
    static const char *const keys[][2] = {
        {"^R", "em-inc-search-prev"}, {"^W", "ed-delete-prev-word"}, {"\\e[1;5C", "em-next-word"},
        {"\\e[1;5D", "ed-prev-word"}, {"\\e[H", "ed-move-to-beg"},   {"\\e[F", "ed-move-to-end"},
        {"\\e[1~", "ed-move-to-beg"}, {"\\e[4~", "ed-move-to-end"},  {"\\e[3~", "ed-delete-next-char"},
        {"\\eOH", "ed-move-to-beg"},  {"\\eOF", "ed-move-to-end"},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        el_set(editor, EL_BIND, keys[i][0], keys[i][1], NULL);
}

/* Inserts what all words have in common that begin as the line does up to the cursor. */
static unsigned char complete(EditLine *editor, int key)
{
    const LineInfo *line = el_line(editor);
    const size_t typed = (size_t)(line->cursor - line->buffer) - (line->cursor > line->buffer);
    struct line_reader *reader = NULL;
    char common[64] = "";
    uint32_t count = 0;
    const char *word;

    (void)key;
    el_get(editor, EL_CLIENTDATA, &reader);
    if (reader->get_word == NULL || line->cursor == line->buffer || line->buffer[0] != '/')
        return CC_ERROR;
    for (uint32_t i = 0; (word = reader->get_word(i)) != NULL; i++) {
        size_t same = 0;

        if (strncmp(word, line->buffer + 1, typed) != 0)
            continue;
        while (count > 0 && word[same] != '\0' && word[same] == common[same])
            same++;
        snprintf(common, sizeof(common), "%.*s", count++ == 0 ? (int)strlen(word) : (int)same, word);
    }
    if (strlen(common) <= typed)
        return CC_ERROR;
    return el_insertstr(editor, common + typed) == 0 ? CC_REFRESH : CC_ERROR;
}

static void make_editor(struct line_reader *reader)
{
    HistEvent event;
    int handle = dup(error_output_file());

    reader->out = handle < 0 ? NULL : fdopen(handle, "w");
    if (reader->out == NULL) {
        if (handle >= 0)
            close(handle);
        return;
    }
    reader->history = history_init();
    reader->editor = reader->history == NULL ? NULL : el_init("accelctl", stdin, reader->out, error_output());
    if (reader->editor == NULL)
        return;
    history(reader->history, &event, H_SETSIZE, LINE_HISTORY_MOST);
    history(reader->history, &event, H_SETUNIQUE, 1);
    el_set(reader->editor, EL_CLIENTDATA, reader);
    el_set(reader->editor, EL_PROMPT, give_prompt);
    el_set(reader->editor, EL_EDITOR, "emacs");
    el_set(reader->editor, EL_HIST, history, reader->history);
    el_set(reader->editor, EL_SIGNAL, 0);
    el_wset(reader->editor, EL_GETCFN, read_character);
    /* el_set would copy both texts and free neither. */
    el_wset(reader->editor, EL_ADDFN, L"complete-command", L"Completes a command of the chat", complete);
    el_set(reader->editor, EL_BIND, "^I", "complete-command", NULL);
    bind_keys(reader->editor);
    el_source(reader->editor, NULL);
}

static void open_editor(struct line_reader *reader)
{
    locale_t before;

    reader->locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (reader->locale == (locale_t)0 || strcmp(nl_langinfo_l(CODESET, reader->locale), "UTF-8") != 0) {
        if (reader->locale != (locale_t)0)
            freelocale(reader->locale);
        reader->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    }
    /* libedit reads the locale's letters when the editor is created. */
    before = reader->locale == (locale_t)0 ? (locale_t)0 : uselocale(reader->locale);
    make_editor(reader);
    if (before != (locale_t)0)
        uselocale(before);
    if (reader->editor != NULL && reader->keeps_history)
        line_history_read(add_history_entry, reader);
}

static enum line_result read_edited(struct line_reader *reader, size_t *out_bytes)
{
    locale_t before = reader->locale == (locale_t)0 ? (locale_t)0 : uselocale(reader->locale);
    const char *text;
    int count = 0;

    /* Switches the terminal to raw mode before the prompt is visible, so that the editor receives keys typed after
     * it. libedit itself shows the prompt first, and a Ctrl-D in between would arrive as a zero byte. */
    el_set(reader->editor, EL_PREP_TERM, 1);
    text = el_gets(reader->editor, &count);
    if (before != (locale_t)0)
        uselocale(before);
    *out_bytes = 0;
    if (heard != 0) {
        el_reset(reader->editor);
        memset(&reader->state, 0, sizeof(reader->state));
        fputc('\n', error_output());
        return heard == SIGINT ? LINE_INTERRUPTED : LINE_TERMINATED;
    }
    if (text == NULL || count <= 0) {
        fputc('\n', error_output());
        return LINE_END;
    }
    while (count > 0 && (text[count - 1] == '\n' || text[count - 1] == '\r'))
        count--;
    free(reader->line);
    reader->line = strndup(text, (size_t)count);
    reader->capacity = reader->line == NULL ? 0 : (size_t)count + 1;
    *out_bytes = (size_t)count;
    return reader->line == NULL ? LINE_FAILED : LINE_TEXT;
}
#endif

/* ---- both ---- */

struct line_reader *line_reader_open(uint32_t keeps_history)
{
    struct line_reader *reader = calloc(1, sizeof(*reader));

    if (reader == NULL)
        return NULL;
    reader->is_terminal = isatty(STDIN_FILENO) == 1 && isatty(error_output_file()) == 1;
    reader->keeps_history = keeps_history && reader->is_terminal;
#ifdef HAVE_LIBEDIT
    if (reader->is_terminal)
        open_editor(reader);
    reader->keeps_history = reader->keeps_history && reader->editor != NULL;
#else
    reader->keeps_history = 0;
#endif
    return reader;
}

void line_reader_complete(struct line_reader *reader, const char *(*get_word)(uint32_t index))
{
    reader->get_word = get_word;
}

void line_reader_close(struct line_reader *reader)
{
    if (reader == NULL)
        return;
#ifdef HAVE_LIBEDIT
    if (reader->editor != NULL)
        el_end(reader->editor);
    if (reader->history != NULL)
        history_end(reader->history);
    if (reader->out != NULL)
        fclose(reader->out);
    if (reader->locale != (locale_t)0)
        freelocale(reader->locale);
#endif
    free(reader->line);
    free(reader);
}

bool line_reader_is_terminal(const struct line_reader *reader)
{
    return reader->is_terminal;
}

enum line_result line_read(struct line_reader *reader, const char *prompt, const char **out_text, size_t *out_bytes)
{
    struct handlers before;
    enum line_result result;

    reader->prompt = prompt;
    /* Without a terminal, signals keep their usual effect. */
    if (reader->is_terminal)
        handle_signals(&before);
#ifdef HAVE_LIBEDIT
    if (reader->editor != NULL) {
        result = read_edited(reader, out_bytes);
        restore_signals(&before);
        *out_text = reader->line;
        return result;
    }
#endif
    if (reader->is_terminal)
        fputs(prompt, error_output());
    result = read_bytes(reader, out_bytes);
    if (reader->is_terminal) {
        if (result != LINE_TEXT)
            fputc('\n', error_output());
        restore_signals(&before);
    }
    *out_text = reader->line;
    return result;
}

void line_remember(struct line_reader *reader, const char *text)
{
    int code;

#ifdef HAVE_LIBEDIT
    if (reader->editor != NULL)
        enter(reader, text);
#endif
    if (!reader->keeps_history)
        return;
    code = line_history_add(text);
    if (code == 0 || reader->has_failed)
        return;
    reader->has_failed = 1;
    fprintf(error_output(), "note: the history of lines is not written: %s\n", strerror(code));
}
