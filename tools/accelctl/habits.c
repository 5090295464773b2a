/* SPDX-License-Identifier: Apache-2.0 */
/* Maps names of llama.cpp, as its common/arg.cpp and tools have them at the end of 2025, and of ollama's commands.
 * tests/accelctl/habits.sh compares each row of doc/llama-cpp.md with this file. */
#include "config.h"

#include "tools/accelctl/habits.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/accelctl/words.h"

/* ---- names of options that are here ---- */

static const struct {
    const char *commands; /* "" for all */
    const char *option;
    const char *names;
} names[] = {
    {"run chat", "chat-template", "--chat-template-file"},
    {"run", "chat", "-cnv --conversation -st --single-turn"},
    {"run", "prompt-file", "--file"},
    {"run chat", "system", "-sys --system-prompt"},
    {"run chat", "tokens", "--n-predict --predict"},
    {"run chat", "temperature", "--temp"},
    {"run chat", "repetition-penalty", "--repeat-penalty"},
    {"run chat", "ignore-end", "--ignore-eos"},
    {"run chat", "quiet", "--log-disable"},
    {"bench", "prompt", "--n-prompt"},
    {"bench", "tokens", "--n-gen"},
    {"bench", "depth", "-D --n-depth"},
    {"bench", "rounds", "--repetitions"},
    {"eval", "text", "--file"},
    {"eval", "chunk", "--ctx-size"},
    {"eval", "stride", "--ppl-stride"},
    {"", "stop", "-r --reverse-prompt"},
    {"", "device", "-dev"},
    {"", "ubatch-size", "-ub"},
    {"", "gpu-layers", "-ngl --n-gpu-layers"},
    {"", "cache-type-k", "-ctk"},
    {"", "cache-type-v", "-ctv"},
    {"", "flash-attn", "-fa"},
};

/* Settings with llama.cpp's own option for each. */
static const struct {
    const char *option;
    const char *key;
} settings[] = {
    {"ctx-size", "context"},       {"threads", "cpu.threads"},         {"batch-size", "batch"},
    {"ubatch-size", "batch"},      {"gpu-layers", "gpu.layers"},       {"cache-type-k", "kv.type.k"},
    {"cache-type-v", "kv.type.v"}, {"flash-attn", "attention.kernel"}, {"no-mmap", "weights.load=read"},
    {"mmap", "weights.load=map"},
};

/* Parameters of ollama that llama.cpp names otherwise, and the option of accelctl. */
static const struct {
    const char *parameter;
    const char *option;
} parameters[] = {
    {"num-predict", "tokens"}, {"max-tokens", "tokens"},  {"num-ctx", "ctx-size"},
    {"num-thread", "threads"}, {"num-gpu", "gpu-layers"}, {"num-batch", "batch-size"},
};

static const struct {
    const char *key;
    const char *theirs;
    const char *ours;
} values[] = {
    {"context", "0", "auto"},           {"cpu.threads", "-1", "auto"},
    {"gpu.layers", "-1", "all"},        {"kv.type.k", "q8_0", "q8"},
    {"kv.type.k", "q4_0", "q4"},        {"kv.type.v", "q8_0", "q8"},
    {"kv.type.v", "q4_0", "q4"},        {"attention.kernel", "on", "tiled"},
    {"attention.kernel", "1", "tiled"}, {"attention.kernel", "off", "eager"},
    {"attention.kernel", "0", "eager"},
};

/* Values of llama.cpp that a setting does not have, and what to type. */
static const struct {
    const char *key;
    const char *words;
    const char *instead;
} refused_values[] = {
    {"kv.type.k kv.type.v kv.type", "bf16 q4_1 iq4_nl q5_0 q5_1",
     "keys and values are cached as f32, f16, q8_0 (q8) or q4_0 (q4)"},
    {"weights.type", "iq1_s iq1_m iq2_xxs iq2_xs iq2_s iq2_m tq1_0 tq2_0",
     "q2_k is the nearest in size; accelctl profile settings weights.type lists the types"},
    {"weights.type", "iq3_xxs iq3_xs iq3_s iq3_m",
     "q3_k_s is the nearest in size; accelctl profile settings weights.type lists the types"},
};

/* Options whose value may be missing: the words that are taken as one, and the word that a missing one means. */
static const struct {
    const char *option;
    const char *words;
    const char *missing;
} optional_values[] = {
    {"flash-attn", "on off auto 1 0 0,1 1,0 tiled eager", "on"},
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

bool has_word(const char *words, const char *word, size_t length)
{
    while (*words != '\0') {
        size_t here = strcspn(words, " ");

        if (here == length && strncmp(words, word, length) == 0)
            return 1;
        words += here + strspn(words + here, " ");
    }
    return 0;
}

const char *other_names(const struct command *command, const struct option_row *row)
{
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(names[i].option, row->name) == 0 &&
            (names[i].commands[0] == '\0' || has_word(names[i].commands, command->name, strlen(command->name))))
            return names[i].names;
    return "";
}

const char *option_of_parameter(const struct command *command, const char *name)
{
    char option[64];

    for (size_t i = 0; i < COUNT(parameters); i++)
        if (strcmp(parameters[i].parameter, name) == 0)
            return parameters[i].option;
    for (uint32_t i = 0; i < command->option_count; i++)
        for (int dashes = 1; dashes <= 2; dashes++) {
            snprintf(option, sizeof(option), "%.*s%s", dashes, "--", name);
            if (has_word(other_names(command, &command->options[i]), option, strlen(option)))
                return command->options[i].name;
        }
    return name;
}

const char *setting_of_option(const char *option)
{
    for (size_t i = 0; i < COUNT(settings); i++)
        if (strcmp(settings[i].option, option) == 0)
            return settings[i].key;
    return NULL;
}

const char *expand_count(const char *value)
{
    static char number[24];
    size_t length = strspn(value, "0123456789");
    bool is_k = strcmp(value + length, "K") == 0 || strcmp(value + length, "k") == 0;

    if (length == 0 || length > 9 || (!is_k && strcmp(value + length, "M") != 0))
        return NULL;
    snprintf(number, sizeof(number), "%llu", strtoull(value, NULL, 10) * (is_k ? 1024 : 1048576));
    return number;
}

const char *setting_word(const char *key, const char *value)
{
    if (strcmp(key, "kv.type") == 0)
        key = "kv.type.k";
    for (size_t i = 0; i < COUNT(values); i++)
        if (strcmp(values[i].key, key) == 0 && strcasecmp(values[i].theirs, value) == 0)
            return values[i].ours;
    return value;
}

const char *optional_value(const char *option, const char *next, bool *out_takes)
{
    *out_takes = false;
    for (size_t i = 0; i < COUNT(optional_values); i++) {
        if (strcmp(optional_values[i].option, option) != 0)
            continue;
        *out_takes = next != NULL && has_word(optional_values[i].words, next, strlen(next));
        return *out_takes ? next : optional_values[i].missing;
    }
    return NULL;
}

/* Flags that take back a flag before them. */
static const struct {
    const char *command;
    const char *words;
    const char *option;
} cleared[] = {
    {"run", "-no-cnv --no-conversation", "chat"},
};

/* Flags without effect: chat templates are rendered as the file has them, there is no warm-up run, and chat is a
 * conversation. */
static const struct {
    const char *commands;
    const char *words;
} always[] = {
    {"run chat", "--jinja --no-warmup --no-escape"},
    {"chat", "-cnv --conversation"},
};

const char *cleared_option(const char *command, const char *word)
{
    for (size_t i = 0; i < COUNT(cleared); i++)
        if (strcmp(cleared[i].command, command) == 0 && has_word(cleared[i].words, word, strlen(word)))
            return cleared[i].option;
    return NULL;
}

bool is_always_so(const char *command, const char *word)
{
    for (size_t i = 0; i < COUNT(always); i++)
        if (has_word(always[i].commands, command, strlen(command)) && has_word(always[i].words, word, strlen(word)))
            return 1;
    return 0;
}

/* ---- what is not here ---- */

static const struct {
    const char *commands; /* "" for all; rows for one command stand before them */
    const char *words;
    const char *instead;
} options[] = {
    {"quantize", "--imatrix --include-weights --exclude-weights",
     "--calib FILE reads a text and measures what each matrix is multiplied with"},
    {"quantize", "--leave-output-tensor", "--keep output.weight copies a tensor as it is"},
    {"quantize", "--output-tensor-type", "--role head=TYPE"},
    {"quantize", "--token-embedding-type", "--role embedding=TYPE"},
    {"quantize", "--tensor-type --tensor-type-file", "--role ROLE=TYPE, as --role down=q6_k"},
    {"quantize", "--keep-split", "leave it out: OUT is one file, also of a model in several files"},
    {"quantize", "--prune-layers", "all layers are written; none can be left out"},
    {"quantize", "--max-buffer-size", "leave it out: one tensor at a time is in memory"},
    {"quantize", "-ngl --gpu-layers --n-gpu-layers --ctx-size",
     "leave it out: quantize computes on the processors, with --threads N of them"},
    {"profile", "-c --ctx-size -t --threads -ngl --gpu-layers --n-gpu-layers",
     "--set context=N, --set cpu.threads=N or --set gpu.layers=N, with show and diff"},
    {"info", "-c --ctx-size -t --threads -ngl --gpu-layers --n-gpu-layers",
     "info reads the file and runs nothing: accelctl plan MODEL takes -c, -t and -ngl"},
    {"tokenize", "-c --ctx-size -t --threads -ngl --gpu-layers --n-gpu-layers",
     "leave it out: tokenize reads the vocabulary and runs nothing"},
    {"info", "--modelfile --parameters --license --system --verbose -v",
     "accelctl info MODEL prints the metadata, --all without shortening lists, --template the chat template alone"},
    {"eval", "--hellaswag --winogrande --multiple-choice",
     "no multiple-choice task is scored; --text FILE measures the perplexity of a text"},
    {"eval", "--chunks", "--tokens N reads the first N tokens of the text"},
    {"eval", "--kl-divergence --kl-divergence-base --save-all-logits",
     "--against FILE computes the KL divergence from a reference model in one go"},
    {"bench", "-o --output -oe --output-err", "--json prints one JSON document, --sqlite FILE fills a database"},
    {"bench", "-c --ctx-size",
     "the context is that of the longest test, by -p, -n and -d; --set context=N sets another"},
    {"bench", "--delay --progress",
     "leave it out: progress is printed on a terminal, and there is no pause between tests"},
    {"bench", "-pg", "-d N measures decode with N tokens in the cache, -p N prefill"},
    {"plan", "-o --output", "--out FILE writes the plan, which accelctl run FILE repeats"},
    {"plan", "-n --tokens --n-predict --n-gen --n-prompt",
     "a plan is for the whole context, -c N; --length N is the length of the texts, for profiles that depend on it"},
    {"", "-to --timeout",
     "a run has no time limit of its own: timeout SECONDS accelctl ... ends it, -n N limits tokens"},
    {"bench", "-mmp", "--mmap maps the model's file, --no-mmap reads it"},
    {"", "-mg --main-gpu", "--device NAME chooses the device; accelctl devices lists them"},
    {"", "-sm --split-mode", "--set placement=auto or balanced spreads layers over devices; rows are not split"},
    {"", "-ts --tensor-split", "--set placement=0-13=DEVICE,14-31=DEVICE places layers; balanced goes by free memory"},
    {"", "-ot --override-tensor -cmoe --cpu-moe -ncmoe --n-cpu-moe",
     "single tensors have no place of their own; --set placement=0-13=DEVICE,14-31=DEVICE places whole layers"},
    {"", "-tb --threads-batch", "--threads N is for prefill and decode"},
    {"", "-C --cpu-mask -Cr --cpu-range --cpu-strict --prio --poll --numa",
     "threads are bound to their processors (--set cpu.pin=false: not); taskset -c LIST accelctl ... limits them"},
    {"", "-nr --no-repack --repack", "--set cpu.layout=rows uses weights as the file has them, panels packs them"},
    {"", "--rpc", "devices of other machines cannot be used"},
    {"", "--mlock", "--set weights.load=read copies weights into memory of the process; no page is locked"},
    {"", "-nkvo --no-kv-offload", "keys and values are on the device of their layer"},
    {"",
     "-hf -hfr --hf-repo -hff --hf-file -mu --model-url -hft --hf-token -dr --docker-repo --offline "
     "--insecure",
     "nothing is downloaded: name a GGUF file or a folder of safetensors that is here"},
    {"", "--grammar --grammar-file -j --json-schema -jf --json-schema-file --format",
     "the output cannot be constrained yet"},
    {"", "--lora --lora-scaled --control-vector --control-vector-scaled",
     "adapters are not applied; merge the adapter into the model's file first"},
    {"",
     "--mirostat --mirostat-lr --mirostat-ent --typical --typical-p --xtc-probability --xtc-threshold "
     "--dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker "
     "--presence-penalty --frequency-penalty --dynatemp-range --dynatemp-exp --top-nsigma --top-n-sigma --samplers "
     "--sampler-seq --sampling-seq --adaptive-target --adaptive-decay -l --logit-bias",
     "sampling is by --temp, --top-k, --top-p, --min-p and --repeat-penalty"},
    {"", "--context-shift --no-context-shift",
     "--set kv.full=slide continues when the context is full, stop ends there"},
    {"", "--keep", "--set kv.sinks=N keeps the first N tokens when the context is full"},
    {"", "-np --parallel", "--set sequences=N"},
    {"", "-sysf --system-prompt-file", "--system \"$(cat FILE)\""},
    {"", "-if --interactive-first -i --interactive -ins --instruct -mli --multiline-input",
     "accelctl chat MODEL is interactive; enclose a message of several lines in \"\"\" there"},
    {"",
     "--rope-scaling --rope-scale --rope-freq-base --rope-freq-scale --yarn-orig-ctx --yarn-ext-factor "
     "--yarn-attn-factor --yarn-beta-slow --yarn-beta-fast -gan --grp-attn-n -gaw --grp-attn-w",
     "rotary scaling is read from the model's file"},
    {"", "-md --model-draft --draft --draft-max --draft-min -ngld -devd --spec-type --spec-draft-model --spec-default",
     "there is no speculative decoding"},
    {"", "-mm --mmproj --image --audio --video", "models that take images or sound do not run yet"},
    {"", "--port --api-key --path --slots -cb --cont-batching --embedding --embeddings --rerank --reranking",
     "there is no server yet; accelctl plan MODEL --emit llama-server prints its call with the planned settings"},
    {"", "-co --color", "leave it out: generated text is printed without colors"},
    {"", "--nowordwrap", "leave it out: lines are not wrapped"},
    {"", "--simple-io", "leave it out: without a terminal, accelctl chat reads plain lines"},
    {"", "-sp --special", "special tokens have no text; the ids of --json contain them"},
    {"", "--in-prefix --in-prefix-bos --in-suffix", "--chat-template FILE defines what precedes and follows a message"},
    {"", "--reasoning-format --reasoning-budget --chat-template-kwargs --think --hidethinking",
     "the text is printed as the model generates it, its reasoning included"},
    {"", "--keepalive", "no model stays loaded behind a command"},
    {"run chat", "-fit --fit -fitt --fit-target",
     "accelctl plan MODEL --fit lists what to change until the model fits"},
    {"chat", "-p --prompt -f --file",
     "--system TEXT is the system message; accelctl run MODEL --chat --prompt TEXT answers one message"},
    {"chat", "-st --single-turn", "accelctl run MODEL --chat --prompt TEXT answers one message"},
    {"chat", "-no-cnv --no-conversation", "accelctl run MODEL --prompt TEXT continues a text without a chat template"},
    {"chat", "-e --escape", "the shell makes escapes: --system $'one line\\nanother'"},
    {"run chat", "--max-tokens --max-new-tokens --num-predict", "-n N"},
    {"run chat plan", "--num-ctx --max-model-len", "-c N"},
    {"run", "--metrics",
     "--set metrics.performance=true prints times of steps, metrics.memory=true the memory by class"},
    {"run chat", "--stream", "leave it out: a text is printed token by token"},
    {"", "--verbose-prompt", "accelctl tokenize MODEL TEXT prints the tokens of a text"},
    {"", "--list-devices", "accelctl devices"},
    {"", "--version", "accelctl version"},
    {"", "--override-kv", "metadata are taken as the file has them"},
    {"", "--prompt-cache --prompt-cache-all --prompt-cache-ro --slot-save-path", "no session is saved to a file yet"},
    {"", "-lv --verbosity --log-verbosity --log-file --log-colors --log-prefix --log-timestamps",
     "--verbose logs to the error output, 2>FILE takes it to a file"},
    {"", "--perf --no-perf --show-timings --no-show-timings",
     "the statistics are printed on the error output; -q omits them"},
};

static const struct {
    const char *names;
    const char *instead;
} commands_elsewhere[] = {
    {"serve server llama-server start",
     "there is no server yet: accelctl run MODEL --prompt TEXT and accelctl chat MODEL generate here, and accelctl "
     "plan MODEL --emit llama-server prints the call of llama-server with the planned settings"},
    {"cli llama-cli llama-run llama-completion main simple llama-simple generate",
     "accelctl chat MODEL for a conversation, accelctl run MODEL --prompt TEXT for a text"},
    {"completion completions",
     "make install installs the completions for bash and zsh; from a source tree, . doc/completion/accelctl loads "
     "those of bash into a shell"},
    {"list ls models", "there is no list of models: a MODEL is the path of a GGUF file or of a folder of safetensors; "
                       "accelctl profile list models lists those that can be planned without a file"},
    {"advice advise", "accelctl plan MODEL --advise TOPIC"},
    {"inspect gguf-dump llama-gguf", "accelctl info MODEL"},
    {"ps stop",
     "no model stays loaded behind a command: accelctl plan MODEL prints the memory of one, accelctl cache list "
     "the files cached on disk"},
    {"pull download",
     "nothing is downloaded: get the model's GGUF file or folder, and name its path: accelctl run PATH"},
    {"push cp rm", "models are files: cp, mv and rm work on them, accelctl quantize IN OUT makes smaller ones"},
    {"create",
     "there is no Modelfile: accelctl chat FILE --system TEXT --temp 0.7 -c 4096 gives its settings, accelctl "
     "quantize IN OUT TYPE writes another type"},
    {"signin signout login logout", "there is no account: models are files that are here"},
    {"llama-bench", "accelctl bench MODEL"},
    {"llama-batched-bench batched-bench", "accelctl bench batch MODEL"},
    {"llama-mtmd-cli mtmd-cli llama-tts tts", "models that take images or make sound do not run yet"},
    {"rpc-server", "devices of other machines cannot be used"},
    {"llama-quantize", "accelctl quantize IN OUT TYPE"},
    {"llama-tokenize detokenize", "accelctl tokenize MODEL TEXT, and back with --decode IDS"},
    {"perplexity llama-perplexity", "accelctl eval --text FILE MODEL"},
    {"imatrix llama-imatrix", "accelctl quantize --calib FILE IN OUT"},
    {"convert convert-hf-to-gguf convert_hf_to_gguf convert_hf_to_gguf.py",
     "a folder of safetensors runs as it is: accelctl run FOLDER; accelctl quantize "
     "FOLDER OUT TYPE writes a smaller one"},
    {"llama-gguf-split gguf-split",
     "a GGUF model in several files runs as it is: accelctl run PREFIX-00001-of-00003.gguf"},
    {"embedding embeddings embed llama-embedding rerank", "embeddings are not computed yet"},
};

const char *instead_of_option(const char *command, const char *word, size_t length)
{
    for (size_t i = 0; i < COUNT(options); i++)
        if ((options[i].commands[0] == '\0' || has_word(options[i].commands, command, strlen(command))) &&
            has_word(options[i].words, word, length))
            return options[i].instead;
    return NULL;
}

const char *option_of_setting(const struct command *command, const char *key)
{
    static const char sampling[] = "temperature top-k top-p min-p repetition-penalty repeat-last-n seed stop tokens";
    const char *option;
    char name[40];

    snprintf(name, sizeof(name), "%s", key);
    for (char *at = name; *at != '\0'; at++)
        *at = *at == '_' ? '-' : *at;
    option = option_of_parameter(command, name);
    for (uint32_t i = 0; has_word(sampling, option, strlen(option)) && i < command->option_count; i++)
        if (strcmp(command->options[i].name, option) == 0)
            return command->options[i].name;
    return NULL;
}

const char *option_word(const char *command, const char *option, const char *value)
{
    char *end;

    if (strcmp(option, "device") == 0)
        return strcmp(value, "none") == 0 ? "cpu" : value;
    if (!has_word("run chat /set", command, strlen(command)))
        return value;
    if (strcmp(option, "temperature") != 0 && strcmp(option, "top-k") != 0)
        return value;
    return value[0] == '-' && strtod(value, &end) <= 0 && end != value && *end == '\0' ? "0" : value;
}

/* Returns whether a value is the address of a server: "0.0.0.0", "::1" or "localhost". */
static bool is_address(const char *value)
{
    return strcmp(value, "localhost") == 0 ||
           (strpbrk(value, ".:") != NULL && value[strspn(value, "0123456789.:")] == 0);
}

const char *instead_of_setting(const char *command, const char *key, const char *value)
{
    for (size_t i = 0; i < COUNT(refused_values); i++)
        if (has_word(refused_values[i].key, key, strlen(key)) && is_one_of(refused_values[i].words, value))
            return refused_values[i].instead;
    if (strcmp(command, "bench") == 0 && strchr(value, ',') != NULL)
        return "a benchmark is of one value: accelctl bench once for each; -p, -n, -d and --sequences take lists";
    return NULL;
}

const char *instead_of_value(const char *command, const char *option, const char *value)
{
    if (strcmp(option, "host") == 0 && is_address(value))
        return "--host FILE is a recorded machine (accelctl snapshot FILE.json); there is no server yet: accelctl plan "
               "MODEL --emit llama-server prints its call";
    if (strcmp(command, "plan") == 0 && strcmp(option, "platform") == 0 && value[0] != '\0' &&
        value[strspn(value, "0123456789,")] == '\0')
        return "-p of plan is --platform NAME; a plan is for the whole context, -c N, and --length N is the length of "
               "the "
               "texts";
    if (strcmp(command, "quantize") == 0 && strcmp(option, "method") == 0 && strpbrk(value, "./") != NULL)
        return "-m of quantize is --method: accelctl quantize IN OUT TYPE names the files without options";
    if (strcmp(command, "bench") == 0 && strcmp(option, "threads") == 0 && strchr(value, ',') != NULL)
        return instead_of_setting(command, "cpu.threads", value);
    if (has_word("run chat", command, strlen(command)) && strcmp(option, "tokens") == 0 && strcmp(value, "0") == 0)
        return "-n 1 is the least; accelctl bench prefill MODEL measures a prompt alone";
    return NULL;
}

const char *instead_of_argument(const char *command)
{
    if (strcmp(command, "run") == 0)
        return "put the text between quotes: accelctl run MODEL \"TEXT\"; several texts are --prompt TEXT each";
    if (strcmp(command, "chat") == 0)
        return "chat reads messages from the standard input: type them after the start, or echo TEXT | accelctl chat "
               "MODEL; accelctl run MODEL --chat --prompt TEXT answers one message";
    return NULL;
}

const char *instead_of_command(const char *name)
{
    for (size_t i = 0; i < COUNT(commands_elsewhere); i++)
        if (has_word(commands_elsewhere[i].names, name, strlen(name)))
            return commands_elsewhere[i].instead;
    return NULL;
}
