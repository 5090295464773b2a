/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the commands within a chat: lines that begin with a slash. */
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <accel/profile.h>

#include "tools/accelctl/chat/chat.h"
#include "tools/accelctl/habits.h"
#include "tools/accelctl/output.h"
#include "tools/accelctl/progress.h"
#include "tools/accelctl/words.h"

/* ---- /set ---- */

struct set_target {
    struct sampling_choice sampling;
};

static const struct option_row set_rows[] = {SAMPLING_OPTIONS(struct set_target, sampling)};

enum { SET_ROWS = sizeof(set_rows) / sizeof(set_rows[0]), NAME_MOST = 80 };

/* Parses --KEY=VALUE as the command line does. */
static const struct command set_command = {
    .name = "/set", .arguments = "", .options = set_rows, .option_count = SET_ROWS, .least = 0, .most = 0};

/* "Top_K" becomes "top-k", and the name that llama.cpp or ollama has for an option of chat becomes the option's. */
static const char *plain_name(const char *key, size_t length, char name[NAME_MOST])
{
    const char *option;

    snprintf(name, NAME_MOST, "%.*s", (int)length, key);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    option = option_of_parameter(&command_chat, name);
    if (option != name)
        snprintf(name, NAME_MOST, "%s", option);
    return name;
}

static const struct option_row *find_row(const char *name)
{
    for (uint32_t i = 0; i < SET_ROWS; i++)
        if (strcmp(set_rows[i].name, name) == 0)
            return &set_rows[i];
    return NULL;
}

static void print_sampling(const struct chat *chat)
{
    const struct sampling_choice *chosen = &chat->sampling;
    struct accel_sampling s;

    fill_sampling(chosen, &s);
    if (s.temperature == 0)
        fprintf(error_output(), "greedy=true  repetition-penalty=%g", (double)s.repetition_penalty);
    else
        fprintf(error_output(),
                "temperature=%g  top-k=%" PRIu32 "  top-p=%g  min-p=%g  repetition-penalty=%g  seed=%" PRIu64,
                (double)s.temperature, s.top_k, (double)s.top_p, (double)s.min_p, (double)s.repetition_penalty, s.seed);
    if (s.repetition_penalty != 1.0f)
        fprintf(error_output(), "  repeat-last-n=%" PRId64,
                chosen->window == UINT64_MAX ? -1 : (int64_t)chosen->window);
    if (chosen->tokens != 0 && chosen->tokens != UINT64_MAX)
        fprintf(error_output(), "  tokens=%" PRIu64, chosen->tokens);
    fprintf(error_output(), "%s\n", chosen->past_end ? "  ignore-end=true" : "");
}

/* Prints every key with its value, also those that have no effect while greedy is on. */
static void print_keys(const struct chat *chat)
{
    struct sampling_choice chosen = chat->sampling;
    struct accel_sampling s;
    char clean[300];

    chosen.greedy = 0;
    fill_sampling(&chosen, &s);
    fprintf(error_output(),
            "greedy=%s  temperature=%g  top-k=%" PRIu32 "  top-p=%g  min-p=%g  seed=%" PRIu64 "\n"
            "repetition-penalty=%g  repeat-last-n=%" PRId64 "  tokens=%" PRId64 "  ignore-end=%s\n",
            chat->sampling.greedy || s.temperature == 0 ? "true" : "false", (double)s.temperature, s.top_k,
            (double)s.top_p, (double)s.min_p, s.seed, chosen.penalty,
            chosen.window == UINT64_MAX ? -1 : (int64_t)chosen.window,
            chosen.tokens == 0 || chosen.tokens == UINT64_MAX ? -1 : (int64_t)chosen.tokens,
            chosen.past_end ? "true" : "false");
    for (uint32_t i = 0; i < chosen.stops.count; i++)
        fprintf(error_output(), "stop=%s\n", clean_text(chosen.stops.items[i], clean, sizeof(clean)));
    if (chosen.stops.count == 0)
        fprintf(error_output(), "stop: none\n");
}

/* Parses a switch: 1, 0, or -1 for another word. */
static int truth(const char *value)
{
    static const char *const words[2][4] = {{"false", "off", "no", "0"}, {"true", "on", "yes", "1"}};

    for (int is = 0; is < 2; is++)
        for (int i = 0; i < 4; i++)
            if (strcmp(value, words[is][i]) == 0)
                return is;
    return *value == '\0' ? 1 : -1;
}

static void set_flag(struct chat *chat, const struct option_row *row, const char *value)
{
    uint32_t *flag = (uint32_t *)((char *)&chat->sampling + row->offset);
    char text[200];
    int is = truth(value);

    if (is >= 0) {
        *flag = (uint32_t)is;
        print_sampling(chat);
        return;
    }
    snprintf(text, sizeof(text), "/set %s: true or false, not '%.80s'", row->name, value);
    chat_refuse(chat, text, NULL);
}

/* Sets a value, parsed as the option of that name. */
static void set_value(struct chat *chat, const struct option_row *row, const char *value)
{
    struct set_target target = {chat->sampling};
    char word[NAME_MOST + 200];
    char *arguments[] = {word, NULL};
    int count = 1, code;

    snprintf(word, sizeof(word), "--%s=%.150s", row->name, value);
    code = parse_options_as(&set_command, &count, arguments, chat->options->common.json, &target);
    if (code >= 0) {
        record_failure(chat, code);
        return;
    }
    /* Setting a parameter of sampling turns greedy decoding off. */
    if (strcmp(row->name, "tokens") != 0 && strncmp(row->name, "rep", 3) != 0)
        target.sampling.greedy = 0;
    draw_seed(&target.sampling, 0);
    chat->sampling = target.sampling;
    print_sampling(chat);
}

/* Appends a value to a list; an empty value empties it. The chat owns the values until its end. */
static void set_list(struct chat *chat, const struct option_row *row, const char *value)
{
    struct text_list *list = (struct text_list *)((char *)&chat->sampling + row->offset);
    char *copy;

    if (*value == '\0') {
        list->count = 0;
        chat_note(chat, "%s: none", row->name);
        return;
    }
    copy = list->count == LIST_MOST || chat->text_count == LIST_MOST ? NULL : strdup(value);
    if (copy == NULL) {
        chat_refuse(chat, "/set: too many values of one chat", NULL);
        return;
    }
    chat->texts[chat->text_count++] = copy;
    list->items[list->count++] = copy;
    for (uint32_t i = 0; i < list->count; i++)
        chat_note(chat, "%s=%s", row->name, list->items[i]);
}

/* Reports that a setting of the plan cannot change in a session; for an unknown key it suggests the nearest known
 * one. */
static void refuse_setting(struct chat *chat, const char *name, const char *value)
{
    struct accel_error error = {0};
    const char *nearest = NULL, *key = setting_of_option(name);
    uint32_t least = 3;
    char text[400], remedy[600], whole[NAME_MOST];

    if (key != NULL) {
        snprintf(whole, sizeof(whole), "%.*s", (int)strcspn(key, "="), key);
        value = key[strlen(whole)] == '=' ? key + strlen(whole) + 1 : setting_word(whole, value);
        name = whole;
    }
    for (uint32_t i = 0; i < SET_ROWS; i++)
        if (is_nearer(name, set_rows[i].name, &least))
            nearest = set_rows[i].name;
    if (nearest != NULL) {
        snprintf(text, sizeof(text), "/set: there is no '%s'; did you mean '%s'?", name, nearest);
        chat_refuse(chat, text, "/set lists what can be set");
    } else if (accel_setting_check(name, value, &error) != ACCEL_OK) {
        snprintf(text, sizeof(text), "/set: %.300s", error.text);
        chat_refuse(chat, text, error.remedy[0] != '\0' ? error.remedy : "/set lists what can be set");
    } else {
        snprintf(text, sizeof(text), "/set: %s is part of the plan, which needs a new session", name);
        snprintf(remedy, sizeof(remedy), "/save FILE, /exit, and: accelctl chat --resume FILE --set %s=%.100s %.300s",
                 name, *value == '\0' ? "VALUE" : value, chat->model);
        chat_refuse(chat, text, remedy);
    }
}

static void slash_system(struct chat *chat, const char *text);

static void slash_set(struct chat *chat, const char *text)
{
    const struct option_row *row;
    size_t length;
    char name[NAME_MOST];

    /* ollama's forms: /set parameter KEY VALUE, /set system TEXT. */
    if (strncmp(text, "parameter ", 10) == 0)
        text += 10 + strspn(text + 10, " ");
    length = strcspn(text, "= ");
    if (length == 0) {
        print_keys(chat);
        return;
    }
    plain_name(text, length, name);
    text += length + strspn(text + length, " ");
    text += *text == '=';
    text += strspn(text, " ");
    row = find_row(name);
    if (strcmp(name, "system") == 0)
        slash_system(chat, text);
    else if (row == NULL)
        refuse_setting(chat, name, text);
    else if (row->type == OPTION_FLAG)
        set_flag(chat, row, text);
    else if (row->type == OPTION_LIST)
        set_list(chat, row, text);
    else
        set_value(chat, row, text);
}

/* ---- the conversation ---- */

static void slash_system(struct chat *chat, const char *text)
{
    struct conversation *c = &chat->conversation;
    struct accel_error error = {0};
    char clean[2000];

    if (*text == '\0') {
        fprintf(error_output(), "%s\n",
                c->system == NULL ? "no system message; the template may have its own"
                                  : clean_text(c->system, clean, sizeof(clean)));
        return;
    }
    if (strcmp(text, "\"\"") == 0)
        text = NULL;
    if (conversation_set_system(c, text, text == NULL ? 0 : strlen(text), &error) != ACCEL_OK)
        chat_refuse(chat, error.text, "the chat template refuses it: put the instruction into a message");
    else
        chat_note(chat, text == NULL ? "system message removed" : "system message set");
}

static void slash_regenerate(struct chat *chat, const char *text)
{
    struct conversation *c = &chat->conversation;
    struct accel_sampling sampling;
    struct message before;

    (void)text;
    if (c->count == 0) {
        chat_refuse(chat, "/regenerate: there is no answer yet", "type a message first");
        return;
    }
    fill_sampling(&chat->sampling, &sampling);
    if (sampling.temperature == 0)
        chat_note(chat,
                  "greedy: the answer is the same unless something else has changed, or two tokens are nearly tied: "
                  "the prompt is cached now, and a shorter prefill rounds otherwise; /set temperature=0.8");
    before = c->messages[--c->count];
    if (chat_answer(chat))
        free(before.text);
    else
        c->messages[c->count++] = before;
}

static void slash_clear(struct chat *chat, const char *text)
{
    (void)text;
    conversation_clear(&chat->conversation);
    chat_note(chat, "conversation cleared%s", chat->conversation.system == NULL ? "" : "; the system message stays");
}

/* Returns the path of the line, with ~/ expanded, or that of the last /save or /load. NULL after an error. */
static char *parse_path(struct chat *chat, const char *command, const char *text)
{
    const char *home = getenv("HOME");
    char *path = NULL;
    char wrong[100], remedy[100];

    if ((*text == '\0' && chat->file == NULL) || strcmp(text, "-") == 0) {
        snprintf(wrong, sizeof(wrong),
                 *text == '\0' ? "/%s requires the name of a file" : "/%s: - is no file of a conversation", command);
        snprintf(remedy, sizeof(remedy), "/%s FILE; without FILE it is the file of the last /save or /load", command);
        chat_refuse(chat, wrong, remedy);
        return NULL;
    }
    if (*text == '\0') {
        path = strdup(chat->file);
    } else if (strncmp(text, "~/", 2) == 0 && home != NULL) {
        path = malloc(strlen(home) + strlen(text));
        if (path != NULL)
            sprintf(path, "%s%s", home, text + 1);
    } else {
        path = strdup(text);
    }
    if (path == NULL)
        chat_refuse(chat, "no memory for the name of the file", NULL);
    return path;
}

static void slash_save(struct chat *chat, const char *text)
{
    char *path = parse_path(chat, "save", text);
    int code;

    if (path == NULL)
        return;
    code = conversation_save(&chat->conversation, chat->model, path, chat->options->common.json);
    if (code != EXIT_DONE) {
        record_failure(chat, code);
        free(path);
        return;
    }
    chat_note(chat, "saved %zu messages to %s", chat->conversation.count + (chat->conversation.system != NULL), path);
    free(chat->file);
    chat->file = path;
}

int chat_load(struct chat *chat, const char *path)
{
    struct accel_error error = {0};
    const uint32_t had_system = chat->conversation.system != NULL;
    char *model = NULL, *copy;
    char clean[300];

    /* The standard input supplies the next messages, so it cannot be loaded. */
    if (strcmp(path, "-") == 0)
        return report_error_text(chat->options->common.json, EXIT_USAGE, "usage",
                                 "chat: --resume - is no file of a conversation", "name a file that /save wrote");
    if (conversation_load(&chat->conversation, path, &model, &error) != ACCEL_OK)
        return report_error(chat->options->common.json, &error);
    chat_note(chat, "loaded %zu messages; they are prefilled with the next one",
              chat->conversation.count + (chat->conversation.system != NULL));
    if (had_system && chat->conversation.system == NULL)
        chat_note(
            chat,
            "note: the conversation has no system message, and the one set before is gone; /system TEXT sets one");
    if (model != NULL && strcmp(model, chat->model) != 0)
        chat_note(chat, "note: the conversation was with another model, %s", clean_text(model, clean, sizeof(clean)));
    free(model);
    copy = strdup(path);
    if (copy != NULL) {
        free(chat->file);
        chat->file = copy;
    }
    return -1;
}

static void slash_load(struct chat *chat, const char *text)
{
    char *path = parse_path(chat, "load", text);
    struct progress progress;
    int code;

    if (path == NULL)
        return;
    /* Lets an interrupt end the wait for a pipe. */
    progress_begin(&progress, NULL, 0);
    code = chat_load(chat, path);
    chat_heed_signal(chat);
    progress_end(&progress);
    if (code >= 0)
        record_failure(chat, code);
    free(path);
}

static void slash_exit(struct chat *chat, const char *text)
{
    (void)text;
    chat->ends = 1;
}

static void slash_help(struct chat *chat, const char *text);

static const struct {
    const char *name;
    const char *arguments;
    const char *help;
    void (*run)(struct chat *chat, const char *text);
} slash_commands[] = {
    {"set", "[KEY=VALUE]", "changes the sampling; without an argument it shows it", slash_set},
    {"system", "[TEXT]", "the system message: shows it, sets it, removes it with \"\"", slash_system},
    {"regenerate", "", "answers the last message once more", slash_regenerate},
    {"clear", "", "begins a new conversation; the system message stays", slash_clear},
    {"save", "[FILE]", "writes the conversation to a file", slash_save},
    {"load", "[FILE]", "continues a saved conversation", slash_load},
    {"help", "", "lists the commands", slash_help},
    {"exit", "", "ends the chat, as Ctrl-D does", slash_exit},
};

/* Names of llama.cpp and ollama for commands. */
static const char *const other_commands[][2] = {
    {"bye", "exit"},         {"quit", "exit"},   {"q", "exit"},    {"?", "help"},
    {"regen", "regenerate"}, {"reset", "clear"}, {"new", "clear"}, {"retry", "regenerate"},
};

/* Commands of other programs, and what does the same here. */
static const char *const elsewhere[][2] = {
    {"undo", "/regenerate answers the last message once more, /clear begins a new conversation"},
    {"show", "/set shows the sampling, /system the system message; accelctl info MODEL describes the model"},
    {"read", "accelctl run MODEL --chat -f FILE answers the text of a file; here a long message stands between \"\"\""},
};

enum { COMMANDS = sizeof(slash_commands) / sizeof(slash_commands[0]) };

static void slash_help(struct chat *chat, const char *text)
{
    (void)chat;
    (void)text;
    for (uint32_t i = 0; i < COMMANDS; i++)
        fprintf(error_output(), "  /%-11s%-12s %s\n", slash_commands[i].name, slash_commands[i].arguments,
                slash_commands[i].help);
    fprintf(error_output(),
            "  \"\"\" begins and ends a message of several lines, or one that begins with /\n"
            "  Ctrl-C stops an answer; at the prompt it empties the line, and a second one ends the chat\n");
}

const char *slash_command_name(uint32_t index)
{
    return index < COMMANDS ? slash_commands[index].name : NULL;
}

void run_slash_command(struct chat *chat, const char *line)
{
    size_t length = strcspn(line + 1, " \t\n");
    const char *text = line + 1 + length + strspn(line + 1 + length, " \t\n"), *nearest = NULL;
    uint32_t least = 4;
    char name[NAME_MOST], wrong[240];

    snprintf(name, sizeof(name), "%.*s", (int)length, line + 1);
    for (size_t i = 0; i < sizeof(other_commands) / sizeof(other_commands[0]); i++)
        if (strcmp(name, other_commands[i][0]) == 0)
            snprintf(name, sizeof(name), "%s", other_commands[i][1]);
    for (uint32_t i = 0; i < COMMANDS; i++) {
        if (strcmp(name, slash_commands[i].name) == 0) {
            slash_commands[i].run(chat, text);
            return;
        }
        if (is_nearer(name, slash_commands[i].name, &least))
            nearest = slash_commands[i].name;
    }
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
        if (strcmp(name, elsewhere[i][0]) == 0) {
            snprintf(wrong, sizeof(wrong), "there is no command /%s", name);
            chat_refuse(chat, wrong, elsewhere[i][1]);
            return;
        }
    if (nearest != NULL)
        snprintf(wrong, sizeof(wrong), "there is no command /%s; did you mean /%s?", name, nearest);
    else
        snprintf(wrong, sizeof(wrong), "there is no command /%s", name);
    chat_refuse(chat, wrong, "/help lists them; a message that begins with / stands between \"\"\"");
}
