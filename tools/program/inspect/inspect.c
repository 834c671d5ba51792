// vkformer inspect: describes what is in a model directory, and what it will need on a device.
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "command/model_path.h"
#include "command/session_context.h"
#include "inspect/inspect_embedding.h"
#include "output/json_output.h"
#include "output/size_text.h"
#include "output/visible_text.h"

typedef struct inspect_options {
    vkf_common_options common;
    const char *directory, *adapter; // adapter: of a directory that has one alone
    bool json;
    uint32_t batch, context; // context 0: not given
} inspect_options;

// What the files say, and what was asked of them.
typedef struct model_directory {
    const inspect_options *options;
    vkf_inspection *inspection;
    vkf_inspection_info info;
    vkf_model_config config; // where the model is supported
} model_directory;

// The defaults of `run` and `embed`.
#define DEFAULT_BATCH 8u
#define DEFAULT_CONTEXT 2048u

static const struct {
    const char *name;
    vkf_model_precision precision;
    vkf_quantization quantization;
} precisions[] = {
    {"f32", VKF_MODEL_PRECISION_F32, VKF_QUANTIZATION_NONE},
    {"f32/f16", VKF_MODEL_PRECISION_F16_WEIGHTS, VKF_QUANTIZATION_NONE},
    {"f32/bf16", VKF_MODEL_PRECISION_BF16_WEIGHTS, VKF_QUANTIZATION_NONE},
    {"f16", VKF_MODEL_PRECISION_F16, VKF_QUANTIZATION_NONE},
    {"q8", VKF_MODEL_PRECISION_F16_WEIGHTS, VKF_QUANTIZATION_Q8}, // weights that cannot be in blocks are in f16
    {"q4", VKF_MODEL_PRECISION_F16_WEIGHTS, VKF_QUANTIZATION_Q4},
};

#define PRECISION_COUNT (sizeof precisions / sizeof precisions[0])

static void print_help(const void *user)
{
    (void)user;
    fputs(
        "usage: vkformer inspect [OPTIONS] MODEL\n"
        "\n"
        "Says what the model in the directory MODEL is: its family and sizes, whether run, embed and train take it,\n"
        "the adapter that is added to it, its tensors by type, the tensors that are not read, how an encoder makes\n"
        "embeddings (its modules, prompts and lengths), what the parameters take on the device in each precision, and\n"
        "what a session takes beside them in f32, for activations, for keys and values and for parameters of its own.\n"
        "Nothing is loaded. With config.json alone, as before a download, it says what that file asks for.\n"
        "A model that is not supported is described as far as that goes, with exit code 1.\n"
        "\n"
        "  --batch N          of a session for so many texts (default 8)\n"
        "  --context N        of so many tokens each (default: the model's, of decoders at most 2048)\n"
        "  --json             one JSON object, with sizes in bytes\n"
        "\n" VKF_COMMON_HELP,
        stdout);
}

static const vkf_option own[] = {
    VKF_OPTION_WITHIN(inspect_options, "batch", U32, batch, 1, 1024),
    VKF_OPTION_WITHIN(inspect_options, "context", U32, context, 2, 1u << 20),
    VKF_OPTION(inspect_options, "json", FLAG, json),
    {0},
};

static bool take_arguments(int argc, char **argv, void *user)
{
    inspect_options *options = user;
    if (argc - optind != 1) {
        vkf_print_error("inspect takes one model directory, not %d; see vkformer inspect --help", argc - optind);
        return false;
    }
    options->directory = argv[optind];
    return true;
}

static void describe_encoder(const vkf_model_config *config, json_t *object)
{
    static const char *const heads[VKF_HEAD_COUNT] = {
        [VKF_HEAD_SEQUENCE_CLASSIFICATION] = "sequence_classification",
        [VKF_HEAD_TOKEN_CLASSIFICATION] = "token_classification",
        [VKF_HEAD_QUESTION_ANSWERING] = "question_answering",
        [VKF_HEAD_MASKED_LM] = "masked_lm",
    };
    vkf_json_put_string(object, "head", heads[config->head]);
}

static void describe_decoder(const vkf_model_config *config, json_t *object)
{
    vkf_json_put_integer(object, "key_heads", config->num_kv_heads);
    vkf_json_put_integer(object, "head_dim", config->head_dim);
    vkf_json_put_integer(object, "window", config->window);
    // For a key and a value in each layer, in f32.
    vkf_json_put_integer(object, "cache_bytes_per_token",
                         (uint64_t)config->num_decoder_layers * config->num_kv_heads * config->head_dim * 2 * 4);
}

static json_t *describe_config(const vkf_model_config *config)
{
    static const char *const kinds[] = {
        [VKF_MODEL_TRANSFORMER] = "transformer",
        [VKF_MODEL_SEQ2SEQ] = "seq2seq",
        [VKF_MODEL_ENCODER] = "encoder",
        [VKF_MODEL_DECODER] = "decoder",
    };
    bool decoder = config->kind == VKF_MODEL_DECODER;
    json_t *object = json_object();
    vkf_json_put_string(object, "kind", kinds[config->kind]);
    vkf_json_put_integer(object, "d_model", config->d_model);
    vkf_json_put_integer(object, "heads", config->num_heads);
    vkf_json_put_integer(object, "feed_forward", config->dim_feedforward);
    vkf_json_put_integer(object, "encoder_layers", config->num_encoder_layers);
    vkf_json_put_integer(object, "decoder_layers", config->num_decoder_layers);
    vkf_json_put_integer(object, "vocabulary", decoder ? config->target_vocab : config->source_vocab);
    vkf_json_put_integer(object, "positions", decoder ? config->max_target_len : config->max_source_len);
    if (decoder)
        describe_decoder(config, object);
    if (config->kind == VKF_MODEL_ENCODER)
        describe_encoder(config, object);
    return object;
}

static json_t *describe_tensors(const vkf_inspection *inspection)
{
    json_t *object = json_object();
    vkf_stored_type type;
    for (uint32_t i = 0; vkf_inspection_get_stored(inspection, i, &type); i++) {
        json_t *entry = json_object();
        vkf_json_put_integer(entry, "tensors", type.tensor_count);
        vkf_json_put_integer(entry, "bytes", type.size_bytes);
        json_object_set_new(object, type.name, entry);
    }
    return object;
}

// The bytes of the parameters in each precision, or null where the model does not support it.
static json_t *describe_plans(vkf_context *context, const inspect_options *options)
{
    json_t *object = json_object();
    for (size_t i = 0; i < PRECISION_COUNT; i++) {
        const vkf_model_desc desc = {
            .directory = options->directory,
            .adapter_directory = options->adapter,
            .precision = precisions[i].precision,
            .quantization = precisions[i].quantization,
        };
        vkf_memory_plan plan;
        if (vkf_model_plan(context, &desc, &plan) == VKF_OK)
            vkf_json_put_integer(object, precisions[i].name, plan.weights_bytes);
        else
            json_object_set_new(object, precisions[i].name, json_null());
    }
    return object;
}

// The session that generators and embedders would make.
static vkf_session_desc session_of(const inspect_options *options, const vkf_model_config *config)
{
    bool encoder = config->kind == VKF_MODEL_ENCODER;
    uint32_t positions = config->kind == VKF_MODEL_DECODER ? config->max_target_len : config->max_source_len;
    uint32_t usual = encoder && config->truncate_len > 0 ? config->truncate_len : positions;
    if (!encoder && usual > DEFAULT_CONTEXT)
        usual = DEFAULT_CONTEXT;
    uint32_t context = options->context > 0 ? options->context : usual;
    return (vkf_session_desc){
        .max_batch = options->batch,
        .max_source_len = context,
        .max_target_len = context,
        .max_logit_rows = encoder && config->head != VKF_HEAD_NONE ? 1 : 0,
    };
}

// The bytes of a session beside the parameters, or null where it cannot be made.
static json_t *describe_session(const inspect_options *options, vkf_context *context, const vkf_model_config *config)
{
    const vkf_model_desc model = {.directory = options->directory, .adapter_directory = options->adapter};
    const vkf_session_desc session = session_of(options, config);
    vkf_memory_plan plan;
    if (vkf_model_plan_session(context, &model, &session, &plan) != VKF_OK)
        return json_null();
    json_t *object = json_object();
    vkf_json_put_integer(object, "batch", session.max_batch);
    vkf_json_put_integer(object, "context", session.max_source_len);
    vkf_json_put_integer(object, "constants", plan.weights_bytes);
    vkf_json_put_integer(object, "activations", plan.activations_bytes);
    vkf_json_put_integer(object, "cache", plan.cache_bytes);
    vkf_json_put_integer(object, "control", plan.control_bytes);
    vkf_json_put_integer(object, "staging", plan.staging_bytes);
    return object;
}

// ---- which commands take the model

// Why no text gets to the model; NULL: it does. Before the weights are there, the tokenizer need not be there either.
static const char *texts_problem(const model_directory *model)
{
    if (!model->info.has_weights || vkf_inspection_try_texts(model->inspection) == VKF_OK)
        return NULL;
    return vkf_message_log_last_error(model->options->common.messages);
}

static void put_answer(json_t *object, const char *command, const char *problem)
{
    json_object_set_new(object, command, problem ? json_sprintf("no: %s", problem) : json_string("yes"));
}

static void describe_commands(const model_directory *model, vkf_context *context, json_t *object)
{
    const inspect_options *options = model->options;
    const vkf_model_config *config = &model->config;
    const bool pools = config->kind == VKF_MODEL_ENCODER, headless = pools && config->head == VKF_HEAD_NONE;
    const vkf_model_desc trained = {
        .directory = options->directory, .adapter_directory = options->adapter, .trainable = true};
    vkf_memory_plan plan;
    const char *texts = texts_problem(model);
    put_answer(object, "run",
               headless ? "it has no head that says something of a text; vkformer embed runs it" : texts);
    put_answer(object, "embed", pools ? texts : "the model is no encoder, it has no embeddings");
    if (!texts && vkf_model_plan(context, &trained, &plan) != VKF_OK)
        texts = vkf_message_log_last_error(options->common.messages);
    put_answer(object, "train", texts);
}

static void describe_adapter(const vkf_inspection_info *info, json_t *object)
{
    if (!info->adapter_directory)
        return;
    json_t *described = json_object();
    vkf_json_put_string(described, "directory", info->adapter_directory);
    vkf_json_put_string(described, "added_to", info->transformer_directory);
    if (info->adapter_products + info->adapter_tensors > 0) {
        vkf_json_put_integer(described, "products", info->adapter_products);
        vkf_json_put_integer(described, "replaced_tensors", info->adapter_tensors);
    }
    json_object_set_new(object, "adapter", described);
}

static json_t *describe(const model_directory *model, vkf_context *context)
{
    const inspect_options *options = model->options;
    const bool supported = model->info.supported == VKF_OK;
    const char *unread;
    json_t *object = json_object(), *not_read = json_array();
    vkf_device_info device;
    vkf_json_put_string(object, "directory", options->adapter ? options->adapter : options->directory);
    json_object_set_new(object, "supported", json_boolean(supported));
    if (supported)
        describe_commands(model, context, object);
    describe_adapter(&model->info, object);
    json_object_set_new(object, "weights", json_boolean(model->info.has_weights));
    if (supported)
        json_object_set_new(object, "model", describe_config(&model->config));
    if (supported && model->config.kind == VKF_MODEL_ENCODER)
        json_object_set_new(object, "embedding",
                            vkf_describe_embedding(model->inspection, &model->info, &model->config));
    if (!supported)
        vkf_json_put_string(object, "why_not", vkf_message_log_last_error(options->common.messages));
    vkf_json_put_integer(object, "parameters", model->info.parameter_count);
    json_object_set_new(object, "stored", describe_tensors(model->inspection));
    for (uint32_t i = 0; (unread = vkf_inspection_get_unread(model->inspection, i)); i++)
        json_array_append_new(not_read, json_string(unread));
    json_object_set_new(object, "not_read", not_read);
    if (supported) {
        vkf_context_get_device_info(context, &device);
        vkf_json_put_string(object, "device", device.name);
        json_object_set_new(object, "parameter_bytes", describe_plans(context, options));
        json_object_set_new(object, "session_bytes", describe_session(options, context, &model->config));
    }
    return object;
}

// ---- as text: a line per member; members of an object share a line

// Whether a number is one of bytes, by its key or by that of the object that it is in.
static bool is_size(const char *within, const char *key)
{
    const bool counts = strcmp(key, "batch") == 0 || strcmp(key, "context") == 0;
    return strstr(key, "bytes") || (!counts && strstr(within, "bytes"));
}

static void print_number(bool size, json_int_t value)
{
    char text[32];
    vkf_size_text((uint64_t)value, text);
    if (size)
        vkf_print("%s", text);
    else
        printf("%lld", (long long)value);
}

static void print_value(const char *within, const char *name, const json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;
    if (json_object_size(value) + json_array_size(value) == 0 && (json_is_object(value) || json_is_array(value)))
        printf("none");
    else if (json_is_string(value))
        vkf_print("%s", json_string_value(value));
    else if (json_is_integer(value))
        print_number(is_size(within, name), json_integer_value(value));
    else if (json_is_boolean(value))
        vkf_print("%s", json_is_true(value) ? "yes" : "no");
    else if (json_is_null(value))
        printf("-");
    else if (json_is_array(value))
        json_array_foreach(value, i, member)
        {
            vkf_print("%s", i > 0 ? ", " : "");
            print_value(within, name, member);
        }
    else if (json_is_object(value)) {
        i = 0;
        json_object_foreach((json_t *)value, key, member)
        {
            vkf_print("%s%s ", i++ > 0 ? ", " : "", key);
            print_value(name, key, member);
        }
    }
}

static void print_text(json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        vkf_print("%-16s", key);
        print_value("", key, value);
        putchar('\n');
    }
}

static bool show(const model_directory *model, vkf_context *context)
{
    json_t *object = describe(model, context);
    if (model->options->json)
        return vkf_print_json(object);
    print_text(object);
    json_decref(object);
    return true;
}

static bool inspect(const inspect_options *options)
{
    const vkf_inspection_desc desc = {
        .directory = options->directory,
        .adapter_directory = options->adapter,
        .message = vkf_message_log_receive,
        .message_user = options->common.messages,
        .min_severity = VKF_SEVERITY_WARNING,
    };
    model_directory model = {.options = options};
    vkf_context *context = NULL;
    bool shown = false;
    if (vkf_open_context(&options->common, &context) != VKF_OK)
        return false;
    // The description says why a model is not supported.
    vkf_message_log_set_quiet(options->common.messages, true);
    if (vkf_inspection_load(&desc, &model.inspection) == VKF_OK) {
        vkf_inspection_get_info(model.inspection, &model.info);
        vkf_inspection_get_config(model.inspection, &model.config);
        shown = show(&model, context) && model.info.supported == VKF_OK;
        vkf_inspection_destroy(&model.inspection);
    } else {
        vkf_print_error("%s", vkf_message_log_last_error(options->common.messages));
    }
    vkf_message_log_set_quiet(options->common.messages, false);
    vkf_context_destroy(&context);
    return shown;
}

static int run(void *user)
{
    inspect_options *options = user;
    return vkf_find_adapted(&options->directory, &options->adapter) && inspect(options) ? VKF_EXIT_DONE
                                                                                        : VKF_EXIT_FAILED;
}

static const vkf_command command = {own, NULL, take_arguments, print_help, run};

int vkf_cmd_inspect(int argc, char **argv)
{
    inspect_options options = {.batch = DEFAULT_BATCH};
    return vkf_command_run(&command, argc, argv, &options, &options.common);
}
