// Settings of training: from CONFIG.json, from options, and whether they make sense together.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "command/command.h"
#include "recording_host.h"
#include "scratch_directory.h"
#include "train/train_config.h"
#include "train/train_values.h"

static vkf_status load_text(vkf_train_config *config, scratch_directory *scratch, const char *text)
{
    return vkf_train_config_load(config, scratch_write(scratch, "CONFIG.json", text, strlen(text)));
}

static vkf_train_config begin(recording_host *host)
{
    vkf_train_config config;
    recording_host_init(host);
    vkf_train_config_init(&host->host, &config);
    return config;
}

static void finish(recording_host *host, vkf_train_config *config)
{
    vkf_train_config_free(config);
    assert_int_equal(host->live, 0);
}

static const char whole_file[] =
    "{\"model\": \"bert-tiny\", \"output\": \"out\", \"dtype\": \"bf16\", \"seed\": 9007199254740993,\n"
    " \"task\": \"complete\", \"loss_on\": \"all\", \"parameters\": \"lora\", \"lora\": {\"rank\": 4, \"alpha\": 32, "
    "\"dropout\": 0.3, \"targets\": [\"query\", \"value\"]},\n"
    " \"steps\": 1000, \"epochs\": 3, \"batch_tokens\": 2048, \"batch_rows\": 64, \"accumulation\": 2,\n"
    " \"label_smoothing\": 0.1, \"dropout\": 0.2, \"clip_norm\": 1, \"eval_every\": 50, \"patience\": 5,\n"
    " \"attention_dropout\": 0, \"activation_dropout\": 0.4, \"contrastive_scale\": 10,\n"
    " \"save_every\": 200, \"gradient_checkpointing\": true,\n"
    " \"data\": {\"train\": [\"a.tsv\", \"b.jsonl\"], \"heldout\": [\"c.tsv\"], \"max_bad_lines\": 0,\n"
    "            \"max_line_bytes\": 4096, \"long\": \"block\", \"max_length\": 100, \"pack\": true},\n"
    " \"optimizer\": {\"name\": \"adam\", \"lr\": 5e-4, \"betas\": [0.9, 0.98], \"eps\": 1e-9, \"weight_decay\": 0},\n"
    " \"schedule\": {\"name\": \"cosine\", \"warmup\": 400}}\n";

static void expect_whole(const vkf_train_config *config)
{
    assert_string_equal(config->model, "bert-tiny");
    assert_string_equal(config->output, "out");
    assert_int_equal(config->dtype, VKF_TRAIN_BF16);
    assert_true(config->seed == UINT64_C(9007199254740993));
    assert_int_equal(config->parameters, VKF_TRAIN_LORA);
    assert_int_equal(config->lora_rank, 4);
    assert_true(config->lora_alpha == 32);
    assert_true(config->lora_dropout == 0.3);
    assert_int_equal(config->lora_targets.count, 2);
    assert_string_equal(config->lora_targets.items[1], "value");
    assert_true(config->steps == 1000 && config->epochs == 3 && config->batch_tokens == 2048);
    assert_true(config->batch_rows == 64 && config->accumulation == 2);
    assert_true(config->label_smoothing == 0.1 && config->dropout == 0.2 && config->clip_norm == 1);
    assert_true(config->attention_dropout == 0 && config->activation_dropout == 0.4);
    assert_true(config->contrastive_scale == 10);
    assert_true(config->eval_every == 50 && config->patience == 5 && config->save_every == 200);
    assert_true(config->gradient_checkpointing);
    assert_int_equal(config->train.count, 2);
    assert_string_equal(config->train.items[0], "a.tsv");
    assert_string_equal(config->heldout.items[0], "c.tsv");
    assert_true(config->max_bad_lines == 0 && config->max_line_bytes == 4096);
    assert_true(config->long_texts == VKF_TRAIN_LONG_BLOCK && config->max_length == 100 && config->pack);
    assert_true(config->task == 3 && config->loss_on == VKF_TRAIN_ON_ALL); // "auto" is before the tasks
    assert_int_equal(config->optimizer, VKF_TRAIN_ADAM);
    assert_true(config->lr == 5e-4 && config->betas[0] == 0.9 && config->betas[1] == 0.98 && config->eps == 1e-9);
    assert_true(config->weight_decay == 0);
    assert_int_equal(config->schedule, VKF_TRAIN_COSINE);
    assert_int_equal(config->warmup, 400);
}

static void test_train_config_load_takes_every_section(void **state)
{
    recording_host host;
    vkf_train_config config = begin(&host);
    assert_int_equal(load_text(&config, *state, whole_file), VKF_OK);
    expect_whole(&config);
    assert_int_equal(vkf_train_config_check(&config), VKF_OK);
    assert_int_equal(host.messages, 0);
    finish(&host, &config);
}

// What is written is read again, and gives the same.
static void test_train_config_json_is_read_again(void **state)
{
    recording_host host;
    vkf_train_config config = begin(&host);
    assert_int_equal(load_text(&config, *state, whole_file), VKF_OK);
    json_t *written = vkf_train_config_json(&config);
    char *text = json_dumps(written, 0);
    assert_non_null(text);
    finish(&host, &config);
    config = begin(&host);
    assert_int_equal(load_text(&config, *state, text), VKF_OK);
    expect_whole(&config);
    json_t *again = vkf_train_config_json(&config);
    assert_true(json_equal(written, again));
    json_decref(written);
    json_decref(again);
    free(text);
    finish(&host, &config);
}

static void test_train_config_flags_come_before_the_file(void **state)
{
    recording_host host;
    vkf_train_config config = begin(&host);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_LR, "0.25"), VKF_OK);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_BETAS, "0.5,0.75"), VKF_OK);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_CHECKPOINTING, "false"), VKF_OK);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_TRAIN, "x.tsv"), VKF_OK);
    assert_int_equal(load_text(&config, *state, whole_file), VKF_OK);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_TRAIN, "y, z.tsv"), VKF_OK);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_HELDOUT, "h.tsv"), VKF_OK);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_SCHEDULE, "linear"), VKF_OK);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_MODEL, "other"), VKF_OK);
    assert_true(config.lr == 0.25 && config.betas[0] == 0.5 && config.betas[1] == 0.75);
    assert_false(config.gradient_checkpointing);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_CHECKPOINTING, NULL), VKF_OK);
    assert_true(config.gradient_checkpointing);
    assert_int_equal(config.train.count, 2);
    assert_string_equal(config.train.items[0], "x.tsv");
    assert_string_equal(config.train.items[1], "y, z.tsv");
    assert_int_equal(config.heldout.count, 1);
    assert_string_equal(config.heldout.items[0], "h.tsv");
    assert_int_equal(config.schedule, VKF_TRAIN_LINEAR);
    assert_string_equal(config.model, "other");
    assert_true(config.eps == 1e-9); // the file's
    finish(&host, &config);
}

static void test_train_config_load_refuses_what_it_does_not_know(void **state)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"{\"stesp\": 5}", "key 'stesp' is unknown; the nearest is 'steps'"},
        {"{\"lr\": 5}", "key 'lr' is unknown; the nearest is 'optimizer.lr'"},
        {"{\"optimizer\": {\"beta\": 5}}", "key 'optimizer.beta' is unknown; the nearest is 'optimizer.betas'"},
        {"{\"optimiser\": {\"lr\": 5}}", "key 'optimiser' is unknown; the nearest is 'optimizer.lr'"},
        {"{\"new_model\": {\"schedule\": {}}}",
         "key 'new_model.schedule' is unknown; the nearest is 'new_model.d_model'"},
        {"{\"steps\": \"5\"}", "key 'steps' is \"5\"; it must be a whole number from 1 to 4000000000"},
        {"{\"steps\": 0}", "key 'steps' is 0; it must be a whole number from 1 to 4000000000"},
        {"{\"steps\": 1.5}", "key 'steps' is 1.5; it must be a whole number from 1 to 4000000000"},
        {"{\"seed\": -1}", "key 'seed' is -1; it must be a whole number from 0 to 9200000000000000000"},
        {"{\"dropout\": 1}", "key 'dropout' is 1; it must be a number from 0 to 0.99"},
        {"{\"dropout\": null}", "key 'dropout' is null; it must be a number from 0 to 0.99"},
        {"{\"gradient_checkpointing\": 1}", "key 'gradient_checkpointing' is 1; it must be true or false"},
        {"{\"model\": \"\"}", "key 'model' is \"\"; it must be a string that is not empty"},
        {"{\"dtype\": \"f64\"}", "key 'dtype' is \"f64\"; it must be \"f32\", \"f16\" or \"bf16\""},
        {"{\"dtype\": 16}", "key 'dtype' is 16; it must be \"f32\", \"f16\" or \"bf16\""},
        {"{\"schedule\": {\"name\": \"cosin\"}}",
         "key 'schedule.name' is \"cosin\"; it must be \"constant\", \"linear\", \"cosine\" or \"paper\""},
        {"{\"schedule\": \"linear\"}", "key 'schedule' is \"linear\"; it must be an object"},
        {"{\"optimizer\": {\"betas\": [0.9]}}",
         "key 'optimizer.betas' is [0.9]; it must be two numbers from 0 to 0.99999999"},
        {"{\"optimizer\": {\"betas\": [0.9, 1]}}",
         "key 'optimizer.betas' is [0.9,1]; it must be two numbers from 0 to 0.99999999"},
        {"{\"optimizer\": {\"betas\": [0.5, 0.5, 0.5]}}",
         "key 'optimizer.betas' is [0.5,0.5,0.5]; it must be two numbers from 0 to 0.99999999"},
        {"{\"data\": {\"train\": \"a.tsv\"}}",
         "key 'data.train' is \"a.tsv\"; it must be an array of strings that are not empty"},
        {"{\"data\": {\"train\": []}}", "key 'data.train' is []; it must be an array of strings that are not empty"},
        {"{\"data\": {\"train\": [\"a\", 3]}}",
         "key 'data.train' is [\"a\",3]; it must be an array of strings that are not empty"},
        {"{\"steps\": \"0123456789012345678901234567890123456789012345678901234567890123456789\"}",
         "key 'steps' is \"012345678901234567890123456789012345678901234567890123456789012...; it must be a whole "
         "number from 1 to 4000000000"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        recording_host host;
        char expected[700];
        vkf_train_config config = begin(&host);
        assert_int_equal(load_text(&config, *state, wrong[i].text), VKF_ERROR_FORMAT);
        snprintf(expected, sizeof expected, "%s: %s", scratch_path(*state, "CONFIG.json"), wrong[i].message);
        assert_string_equal(host.text, expected);
        assert_int_equal(host.messages, 1);
        finish(&host, &config);
    }
}

// A wrong value is an error even where an option has the last word.
static void test_train_config_load_checks_what_is_overridden(void **state)
{
    recording_host host;
    vkf_train_config config = begin(&host);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_STEPS, "7"), VKF_OK);
    assert_int_equal(load_text(&config, *state, "{\"steps\": \"x\"}"), VKF_ERROR_FORMAT);
    assert_int_equal(load_text(&config, *state, "{\"steps\": 9}"), VKF_OK);
    assert_int_equal(config.steps, 7);
    finish(&host, &config);
}

static void test_train_config_flag_refuses_wrong_values(void **state)
{
    (void)state;
    static const struct {
        vkf_train_key key;
        const char *text, *message;
    } wrong[] = {
        {VKF_TRAIN_STEPS, "", "--steps: '' is not a whole number from 1 to 4000000000"},
        {VKF_TRAIN_STEPS, "1e3", "--steps: '1e3' is not a whole number from 1 to 4000000000"},
        {VKF_TRAIN_STEPS, "0x10", "--steps: '0x10' is not a whole number from 1 to 4000000000"},
        {VKF_TRAIN_STEPS, "5 ,", "--steps: '5 ,' is not a whole number from 1 to 4000000000"},
        {VKF_TRAIN_LR, "inf", "--lr: 'inf' is not a number from 0 to 1000000"},
        {VKF_TRAIN_LR, "-1", "--lr: '-1' is not a number from 0 to 1000000"},
        {VKF_TRAIN_LR, "true", "--lr: 'true' is not a number from 0 to 1000000"},
        {VKF_TRAIN_BETAS, "0.9", "--betas: '0.9' is not two numbers from 0 to 0.99999999"},
        {VKF_TRAIN_BETAS, "0.9,0.98],[1", "--betas: '0.9,0.98],[1' is not two numbers from 0 to 0.99999999"},
        {VKF_TRAIN_BETAS, "0.90000000000000000000000000000000000000000000000000000000000000000,0.5",
         "--betas: '0.90000000000000000000000000000000000000000000000000000000000000000,0.5' is not two numbers from 0 "
         "to 0.99999999"},
        {VKF_TRAIN_OPTIMIZER, "Adam", "--optimizer: 'Adam' is not \"adamw\", \"adam\" or \"sgd\""},
        {VKF_TRAIN_NORM_FIRST, "yes", "--norm-first: 'yes' is not true or false"},
        {VKF_TRAIN_TRAIN, "", "--train: '' is not a text that is not empty"},
        {VKF_TRAIN_MODEL, "", "--model: '' is not a string that is not empty"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        recording_host host;
        vkf_train_config config = begin(&host);
        assert_int_equal(vkf_train_config_flag(&config, wrong[i].key, wrong[i].text), VKF_ERROR_INVALID_ARGUMENT);
        assert_string_equal(host.text, wrong[i].message);
        assert_int_equal(config.origins[wrong[i].key], VKF_TRAIN_DEFAULT);
        finish(&host, &config);
    }
}

// Options as a run's command line has them; `words` end in NULL.
static vkf_status check_words(recording_host *host, const char *const *words)
{
    vkf_train_config config = begin(host);
    vkf_status status = VKF_OK;
    for (size_t i = 0; words[i] && status == VKF_OK; i += 2) {
        vkf_train_key key = 0;
        while (strcmp(vkf_train_rows[key].flag, words[i]) != 0)
            key++;
        status = vkf_train_config_flag(&config, key, words[i + 1]);
    }
    if (status == VKF_OK)
        status = vkf_train_config_check(&config);
    vkf_train_config_free(&config);
    assert_int_equal(host->live, 0);
    return status;
}

#define RUN "train", "a.tsv", "out", "out", "steps", "5"
#define NEW                                                                                                            \
    RUN, "tokenizer", "t", "d-model", "64", "nhead", "4", "dim-feedforward", "128", "max-source-len", "50", "max-len", \
        "50", "encoder-layers", "2", "decoder-layers", "2"
#define SIZES RUN, "tokenizer", "t", "d-model", "64", "nhead", "4", "dim-feedforward", "128"
#define FAMILY SIZES, "max-len", "50", "decoder-layers", "2"
#define BERT SIZES, "model-type", "bert", "max-source-len", "50", "encoder-layers", "2"

static void test_train_config_check(void **state)
{
    (void)state;
    static const struct {
        const char *words[40], *message; // message NULL: it is good
    } cases[] = {
        {{RUN, "model", "m"}, NULL},
        {{"train", "a", "out", "o", "epochs", "1", "model", "m"}, NULL},
        {{NEW}, NULL},
        {{NEW, "schedule", "paper", "warmup", "10", "lr", "1"}, NULL},
        {{RUN, "model", "m", "optimizer", "sgd", "momentum", "0.9"}, NULL},
        {{RUN, "model", "m", "heldout", "h.tsv", "patience", "3"}, NULL},
        {{RUN},
         "'model' (--model) is missing; a new model takes 'tokenizer' (--tokenizer) and its sizes, from "
         "'new_model.d_model' (--d-model) on"},
        {{RUN, "model", "m", "nhead", "4"},
         "'new_model.nhead' (--nhead) says nothing of a model that is there already: leave it out, or leave out "
         "'model'"},
        {{RUN, "tokenizer", "t", "d-model", "64", "nhead", "4"},
         "'new_model.dim_feedforward' (--dim-feedforward), 'new_model.num_encoder_layers' (--encoder-layers), "
         "'new_model.num_decoder_layers' (--decoder-layers), 'new_model.max_source_len' (--max-source-len), "
         "'new_model.max_len' (--max-len) are missing, and a new transformer needs them"},
        {{RUN, "max-len", "50", "model-type", "gpt2"},
         "'tokenizer' (--tokenizer), 'new_model.d_model' (--d-model), 'new_model.nhead' (--nhead), "
         "'new_model.dim_feedforward' (--dim-feedforward), 'new_model.num_decoder_layers' (--decoder-layers) are "
         "missing, and a new gpt2 needs them"},
        {{NEW, "encoder-layers", "0"}, "--encoder-layers: '0' is not a whole number from 1 to 1024"},
        {{FAMILY, "model-type", "gpt2"}, NULL},
        {{FAMILY, "model-type", "llama", "kv-heads", "2", "tie-proj", "true"}, NULL},
        {{FAMILY, "model-type", "bart", "encoder-layers", "2"}, NULL},
        {{BERT}, NULL},
        {{BERT, "max-len", "50"},
         "'new_model.max_len' (--max-len) says nothing of a new model of 'new_model.type' \"bert\""},
        {{FAMILY, "model-type", "bart"},
         "'new_model.num_encoder_layers' (--encoder-layers) is missing, and a new bart needs it"},
        {{FAMILY, "model-type", "gpt2", "kv-heads", "2"},
         "'new_model.num_kv_heads' (--kv-heads) says nothing of a new model of 'new_model.type' \"gpt2\""},
        {{FAMILY},
         "'new_model.num_encoder_layers' (--encoder-layers), 'new_model.max_source_len' (--max-source-len) are "
         "missing, "
         "and a new transformer needs them"},
        {{FAMILY, "model-type", "llama", "kv-heads", "3"},
         "'new_model.nhead' (--nhead) is no multiple of 'new_model.num_kv_heads' (--kv-heads)"},
        {{FAMILY, "model-type", "llama", "d-model", "60"},
         "'new_model.d_model' (--d-model) gives each head an odd width, and its positions turn pairs"},
        {{FAMILY, "model-type", "t5"},
         "--model-type: 't5' is not \"transformer\", \"gpt2\", \"llama\", \"bert\" or \"bart\""},
        {{NEW, "nhead", "5"}, "'new_model.d_model' (--d-model) is no multiple of 'new_model.nhead' (--nhead)"},
        {{NEW, "parameters", "head"},
         "'parameters' (--parameters) must be \"all\" for a new model, in which nothing is learned"},
        {{"model", "m", "out", "o", "steps", "1"}, "'data.train' (--train) is missing: there is nothing to learn from"},
        {{"model", "m", "train", "a", "steps", "1"}, "'output' (--out) is missing"},
        {{"model", "m", "train", "a", "out", "o"},
         "'steps' (--steps) is missing, and so is 'epochs' (--epochs): the run would not end"},
        {{RUN, "model", "m", "optimizer", "sgd", "betas", "0.9,0.9"},
         "'optimizer.betas' (--betas) says nothing to sgd"},
        {{RUN, "model", "m", "momentum", "0.9"},
         "'optimizer.momentum' (--momentum) says nothing unless 'optimizer.name' is \"sgd\""},
        {{RUN, "model", "m", "optimizer", "sgd", "momentum", "0.9", "nesterov", "true"}, NULL},
        {{RUN, "model", "m", "optimizer", "sgd", "nesterov", "true"},
         "'optimizer.nesterov' (--nesterov) says nothing unless 'optimizer.momentum' (--momentum) is above 0"},
        {{RUN, "model", "m", "lora-dropout", "0.1"},
         "'lora.dropout' (--lora-dropout) says nothing unless 'parameters' is \"lora\""},
        {{RUN, "model", "m", "lora-rank", "4"},
         "'lora.rank' (--lora-rank) says nothing unless 'parameters' is \"lora\""},
        {{RUN, "model", "m", "patience", "4"},
         "'patience' (--patience) wants held-out examples: give 'data.heldout' (--heldout)"},
        {{RUN, "model", "m", "schedule", "paper", "warmup", "5"},
         "'optimizer.lr' (--lr) is missing, which the paper's schedule takes as a factor: there it is 1"},
        {{RUN, "model", "m", "schedule", "paper", "lr", "1"},
         "'schedule.warmup' (--warmup) must be 1 at least for the paper's schedule, which divides by it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host host;
        const vkf_status status = check_words(&host, cases[i].words);
        assert_string_equal(host.text, cases[i].message ? cases[i].message : "");
        assert_int_equal(status, cases[i].message ? VKF_ERROR_INVALID_ARGUMENT : VKF_OK);
    }
}

#define take_key NULL

// Names are unique, and the options' array and help have all of them.
static void test_train_keys_are_in_options_and_help(void **state)
{
    (void)state;
    static const vkf_option options[] = {VKF_TRAIN_KEYS(VKF_TRAIN_OPTION){0}};
    char help[8192], flag[64], name[2][VKF_TRAIN_NAME_BYTES];
    FILE *stream = tmpfile();
    assert_non_null(stream);
    vkf_train_config_print_help(stream);
    rewind(stream);
    help[fread(help, 1, sizeof help - 1, stream)] = '\0';
    fclose(stream);
    for (vkf_train_key key = 0; key < VKF_TRAIN_KEY_COUNT; key++) {
        const vkf_train_row *row = &vkf_train_rows[key];
        assert_string_equal(options[key].name, row->flag);
        assert_int_equal(options[key].offset, key);
        assert_int_equal(options[key].kind, row->kind == VKF_TRAIN_KIND_BOOL ? VKF_OPTION_OPTIONAL : VKF_OPTION_TAKEN);
        snprintf(flag, sizeof flag, "  --%s ", row->flag);
        assert_non_null(strstr(help, flag));
        vkf_train_key_name(key, name[0]);
        for (vkf_train_key other = 0; other < key; other++) {
            vkf_train_key_name(other, name[1]);
            assert_string_not_equal(name[0], name[1]);
            assert_string_not_equal(row->flag, vkf_train_rows[other].flag);
        }
    }
    for (const char *line = help; *line; line = strchr(line, '\n') + 1)
        assert_in_range(strcspn(line, "\n"), 20, 110);
}

static void test_train_config_releases_all_when_memory_is_exhausted(void **state)
{
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t call = 1; status != VKF_OK; call++) {
        recording_host host;
        vkf_train_config config = begin(&host);
        host.fail_call = call;
        status = vkf_train_config_flag(&config, VKF_TRAIN_LORA_TARGETS, "query");
        if (status == VKF_OK)
            status = vkf_train_config_flag(&config, VKF_TRAIN_LORA_TARGETS, "key");
        if (status == VKF_OK)
            status = load_text(&config, *state, whole_file);
        assert_true(status == VKF_OK || (status == VKF_ERROR_OUT_OF_HOST_MEMORY && host.messages == 1));
        finish(&host, &config);
    }
}

// ---- going on

static vkf_status continue_from(vkf_train_config *config, scratch_directory *scratch, const char *text)
{
    return vkf_train_config_continue(config, scratch_write(scratch, "train.json", text, strlen(text)));
}

static void test_train_config_goes_on_with_what_was_not_given(void **state)
{
    recording_host host;
    vkf_train_config config = begin(&host);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_OUTPUT, "here"), VKF_OK);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_STEPS, "7"), VKF_OK);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_LR, "0.25"), VKF_OK);
    assert_int_equal(vkf_train_config_flag(&config, VKF_TRAIN_OPTIMIZER, "adam"), VKF_OK); // as it was
    assert_int_equal(continue_from(&config, *state, whole_file), VKF_OK);
    assert_string_equal(config.output, "here");
    assert_string_equal(config.model, "bert-tiny");
    assert_true(config.steps == 7 && config.epochs == 0); // either says how long, and one was said anew
    assert_true(config.lr == 0.25 && config.eps == 1e-9 && config.betas[1] == 0.98);
    assert_int_equal(config.train.count, 2);
    assert_int_equal(config.origins[VKF_TRAIN_EPS], VKF_TRAIN_FILE);
    assert_int_equal(config.origins[VKF_TRAIN_MOMENTUM], VKF_TRAIN_DEFAULT);
    assert_int_equal(host.messages, 0);
    finish(&host, &config);
}

static void test_train_config_refuses_another_run(void **state)
{
    static const struct {
        vkf_train_key key;
        const char *value, *says;
    } cases[] = {
        {VKF_TRAIN_MODEL, "other", "'model' (--model) is another than in "},
        {VKF_TRAIN_SEED, "2", "which has 9007199254740993: "},
        {VKF_TRAIN_PARAMETERS, "all", "which has \"lora\": "},
        {VKF_TRAIN_TASK, "continue", "which has \"complete\": "},
        {VKF_TRAIN_OPTIMIZER, "sgd", "'optimizer.name' (--optimizer) is another"},
        {VKF_TRAIN_LORA_RANK, "5", "'lora.rank' (--lora-rank) is another"},
        {VKF_TRAIN_LORA_ALPHA, "31", "'lora.alpha' (--lora-alpha) is another"},
        {VKF_TRAIN_LORA_TARGETS, "key", "which has [\"query\",\"value\"]: "},
        {VKF_TRAIN_D_MODEL, "8", "'new_model.d_model' (--d-model) is another"},
        {VKF_TRAIN_TIE_PROJ, "true", "'new_model.tie_proj' (--tie-proj) is another"},
        {VKF_TRAIN_TOKENIZER, "here", "which has none: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host host;
        vkf_train_config config = begin(&host);
        assert_int_equal(vkf_train_config_flag(&config, cases[i].key, cases[i].value), VKF_OK);
        assert_int_equal(continue_from(&config, *state, whole_file), VKF_ERROR_INVALID_ARGUMENT);
        if (!strstr(host.text, cases[i].says))
            fail_msg("%s", host.text);
        finish(&host, &config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_config_load_takes_every_section),
        cmocka_unit_test(test_train_config_json_is_read_again),
        cmocka_unit_test(test_train_config_flags_come_before_the_file),
        cmocka_unit_test(test_train_config_load_refuses_what_it_does_not_know),
        cmocka_unit_test(test_train_config_load_checks_what_is_overridden),
        cmocka_unit_test(test_train_config_flag_refuses_wrong_values),
        cmocka_unit_test(test_train_config_check),
        cmocka_unit_test(test_train_keys_are_in_options_and_help),
        cmocka_unit_test(test_train_config_goes_on_with_what_was_not_given),
        cmocka_unit_test(test_train_config_refuses_another_run),
        cmocka_unit_test(test_train_config_releases_all_when_memory_is_exhausted),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
