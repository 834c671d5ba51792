// Fine-tuning in a program of one's own: a decoder learns to say one sentence, and goes on from its beginning.
//
// fine_tuning MODEL-DIRECTORY CHECKPOINT-DIRECTORY TEXT [STEPS]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vkformer/vkformer.h>

enum { MAX_TOKENS = 64 };

static void print_message(void *user, vkf_severity severity, const char *text)
{
    (void)user;
    if (severity >= VKF_SEVERITY_WARNING)
        fprintf(stderr, "%s\n", text);
}

// What each position is to say is the token that follows it; the last is to say nothing.
static vkf_status step(vkf_trainer *trainer, const vkf_encoding *tokens, vkf_train_result *out_result)
{
    int32_t labels[MAX_TOKENS];
    for (uint32_t i = 0; i < tokens->count; i++)
        labels[i] = i + 1 < tokens->count ? tokens->ids[i + 1] : -100;
    const vkf_train_batch batch = {
        .batch = 1,
        .target_len = tokens->count,
        .target_ids = tokens->ids,
        .labels = labels,
    };
    return vkf_trainer_step(trainer, &batch, 1, out_result);
}

static vkf_status train(vkf_model *model, const vkf_encoding *tokens, unsigned long steps, const char *checkpoint)
{
    const vkf_trainer_desc desc = {
        .max_batch = 1,
        .max_target_len = tokens->count,
        .rate = 3e-3,
        .warmup_steps = 5,
        .max_norm = 1,
    };
    vkf_trainer *trainer = NULL;
    vkf_status status = vkf_trainer_create(model, &desc, &trainer);
    for (unsigned long i = 0; status == VKF_OK && i < steps; i++) {
        vkf_train_result result;
        status = step(trainer, tokens, &result);
        if (status == VKF_OK && (i == 0 || i + 1 == steps))
            printf("step %llu: loss %.4f\n", (unsigned long long)result.step, result.loss);
    }
    if (status == VKF_OK)
        status = vkf_trainer_save(trainer, checkpoint);
    vkf_trainer_destroy(&trainer);
    return status;
}

// What the model goes on with behind the sentence's first token. Sessions read the trained weights.
static vkf_status say(vkf_model *model, const vkf_tokenizer *tokenizer, const vkf_encoding *tokens)
{
    int32_t ids[MAX_TOKENS];
    uint32_t length = 0;
    char text[1024] = "";
    size_t bytes = sizeof text - 1;
    vkf_session *session = NULL;
    const vkf_session_desc sizes = {.max_batch = 1, .max_target_len = tokens->count};
    const vkf_generate_args args = {
        .batch = 1,
        .prompt_ids = tokens->ids,
        .prompt_lengths = &(uint32_t){1},
        .max_new_tokens = tokens->count - 1,
        .out_ids = ids,
        .out_lengths = &length,
    };
    vkf_status status = vkf_session_create(model, &sizes, &session);
    if (status == VKF_OK)
        status = vkf_session_generate(session, &args);
    if (status == VKF_OK)
        status = vkf_tokenizer_decode(tokenizer, ids, length, true, &bytes, text);
    if (status == VKF_OK)
        printf("says:%s%.*s\n", text[0] == ' ' ? "" : " ", (int)bytes, text);
    vkf_session_destroy(&session);
    return status;
}

static vkf_status run(vkf_context *context, const char *directory, const char *checkpoint, const char *text,
                      unsigned long steps)
{
    vkf_tokenizer *tokenizer = NULL;
    vkf_model *model = NULL;
    vkf_encoding tokens = {0};
    const vkf_model_desc desc = {.directory = directory, .trainable = true};
    vkf_status status =
        vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = directory, .message = print_message}, &tokenizer);
    if (status == VKF_OK)
        status = vkf_tokenizer_encode(tokenizer, &(vkf_text){text, strlen(text)}, NULL, NULL, &tokens);
    if (status == VKF_OK && (tokens.count < 2 || tokens.count > MAX_TOKENS)) {
        fprintf(stderr, "the sentence has %u tokens, not 2 to %d\n", tokens.count, MAX_TOKENS);
        status = VKF_ERROR_INVALID_ARGUMENT;
    }
    if (status == VKF_OK)
        status = vkf_model_load(context, &desc, &model);
    if (status == VKF_OK)
        status = say(model, tokenizer, &tokens);
    if (status == VKF_OK)
        status = train(model, &tokens, steps, checkpoint);
    if (status == VKF_OK)
        status = say(model, tokenizer, &tokens);
    vkf_encoding_free(&tokens);
    vkf_model_destroy(&model);
    vkf_tokenizer_destroy(&tokenizer);
    return status;
}

int main(int argc, char **argv)
{
    vkf_context *context = NULL;
    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: fine_tuning MODEL-DIRECTORY CHECKPOINT-DIRECTORY TEXT [STEPS]\n");
        return 2;
    }
    vkf_status status = vkf_context_create(&(vkf_context_desc){.message = print_message}, &context);
    if (status == VKF_OK)
        status = run(context, argv[1], argv[2], argv[3], argc > 4 ? strtoul(argv[4], NULL, 10) : 60);
    vkf_context_destroy(&context);
    if (status != VKF_OK)
        fprintf(stderr, "fine_tuning: %s\n", vkf_status_text(status));
    return status == VKF_OK ? 0 : 1;
}
