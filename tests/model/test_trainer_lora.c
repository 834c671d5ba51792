// Adapters that trainers train, compared with PEFT's, and activations that are computed again.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "model/family/model_kind.h"
#include "model/load/adapter.h"
#include "support/compare.h"
#include "support/pretrained.h"
#include "support/trained.h"

#define CASES VKF_TEST_SOURCE_DIR "/tests/model/lora/"
#define DEMO VKF_TEST_SOURCE_DIR "/tools/demo-model"
#define STEPS 3

// ---- as PEFT trains them

// What tools/oracles/lora has written.
typedef struct lora_case {
    const char *name, *family;
    const char *const *targets;
    uint32_t target_count;
} lora_case;

static vkf_trainer_desc desc_of(const lora_case *c)
{
    return (vkf_trainer_desc){
        .optimizer = VKF_OPTIMIZER_SGD,
        .rate = 0.1,
        .momentum = 0.9,
        .lora_rank = 3,
        .lora_alpha = 8,
        .lora_targets = c->targets,
        .lora_target_count = c->target_count,
    };
}

static const vkf__stored_tensor *tensor_of(const vkf__tensor_file *file, const char *name)
{
    const vkf__stored_tensor *tensor = vkf__tensor_file_find(file, name);
    if (!tensor)
        fail_msg("%s has no %s", vkf__tensor_file_path(file), name);
    return tensor;
}

static vkf_train_batch batch_of(const vkf__tensor_file *expected)
{
    const vkf__stored_tensor *ids = tensor_of(expected, "ids"), *labels = tensor_of(expected, "labels");
    return (vkf_train_batch){.batch = (uint32_t)ids->shape[0],
                             .target_len = (uint32_t)ids->shape[1],
                             .target_ids = (const int32_t *)(const void *)ids->data,
                             .labels = (const int32_t *)(const void *)labels->data};
}

// Every matrix that the trainer has saved is as PEFT has it, and there is no other.
static void compare_adapters(const char *directory, const vkf__tensor_file *expected)
{
    vkf__tensor_file *saved = vkf_test_open_safetensors(directory, VKF_ADAPTER_WEIGHTS);
    assert_int_equal(vkf__tensor_file_count(saved) + 3, vkf__tensor_file_count(expected));
    for (size_t i = 0; i < vkf__tensor_file_count(saved); i++) {
        const vkf__stored_tensor *found = vkf__tensor_file_at(saved, i), *want = tensor_of(expected, found->name);
        assert_int_equal(found->size_bytes, want->size_bytes);
        assert_close((const float *)(const void *)found->data, (const float *)(const void *)want->data,
                     found->size_bytes / sizeof(float), 2e-5, 1e-4, found->name);
    }
    vkf__tensor_file_close(&saved);
}

// The model with the adapter, which is merged when it is loaded, has the loss that the trainer has with it.
static void check_merged(vkf_test_trained *t, const char *from, const char *directory, const vkf_train_batch *batch)
{
    const vkf_session_desc session = {.max_batch = batch->batch,
                                      .max_source_len = batch->source_len,
                                      .max_target_len = batch->target_len,
                                      .max_prompt_len = batch->target_len,
                                      .max_logit_rows = batch->target_len};
    const vkf_model_desc model = {.directory = from, .adapter_directory = directory};
    const size_t vocab = t->model->config.target_vocab, rows = (size_t)batch->batch * batch->target_len;
    float *logits = malloc(rows * vocab * sizeof *logits);
    const vkf_decode_args args = {
        .batch = batch->batch, .target_len = batch->target_len, .target_ids = batch->target_ids, .out_logits = logits};
    const vkf_encode_args encode = {.batch = batch->batch,
                                    .source_len = batch->source_len,
                                    .source_ids = batch->source_ids,
                                    .source_lengths = batch->source_lengths};
    vkf_train_result result;
    double loss = 0;
    assert_non_null(logits);
    vkf_session *runs = vkf_test_load_session(t->gpu, &model, &session);
    if (vkf__facts_of(&t->model->config)->encodes)
        vkf_test_must(t->gpu, vkf_session_encode(runs, &encode));
    vkf_test_must(t->gpu, vkf_session_decode(runs, &args));
    vkf_test_must(t->gpu, vkf_trainer_evaluate(t->trainer, batch, &result));
    for (size_t i = 0; i < rows; i++) {
        const float *row = logits + i * vocab;
        double sum = 0;
        for (size_t j = 0; j < vocab; j++)
            sum += exp(row[j]);
        loss += batch->labels[i] < 0 ? 0 : log(sum) - row[batch->labels[i]];
    }
    assert_true(fabs(loss / (double)result.labels - result.loss) < 1e-4);
    vkf_session_destroy(&runs);
    free(logits);
}

static void check_case(vkf_test_gpu *gpu, const lora_case *c)
{
    const vkf_trainer_desc desc = desc_of(c);
    vkf_test_directory directory;
    vkf_test_trained t;
    char path[512];
    (void)snprintf(path, sizeof path, CASES "%s", c->name);
    vkf__tensor_file *expected = vkf_test_open_safetensors(path, "expected.safetensors");
    const float *losses = (const float *)(const void *)tensor_of(expected, "losses")->data;
    const vkf_train_batch batch = batch_of(expected);
    vkf_test_trained_open(&t, gpu, vkf_test_pretrained(c->family), &desc);
    vkf_test_must(gpu, vkf__lora_load(&t.trainer->lora, path, false));
    for (int i = 0; i < STEPS; i++) {
        vkf_train_result result;
        vkf_test_must(gpu, vkf_trainer_step(t.trainer, &batch, 1, &result));
        if (fabs(result.loss - losses[i]) > 5e-5 * losses[i])
            fail_msg("%s: step %d has the loss %.7g, and PEFT has %.7g", c->name, i + 1, result.loss, losses[i]);
    }
    vkf_test_directory_make(&directory);
    (void)snprintf(path, sizeof path, "%s/adapter", directory.path);
    vkf_test_must(gpu, vkf_trainer_save_adapter(t.trainer, path));
    compare_adapters(path, expected);
    check_merged(&t, vkf_test_pretrained(c->family), path, &batch);
    vkf__directory_remove_unheld(directory.path, "adapter");
    vkf_test_directory_remove(&directory);
    vkf__tensor_file_close(&expected);
    vkf_test_trained_close(&t);
}

static void test_adapters_train_as_pefts_do(void **state)
{
    static const char *const all[] = {"q_proj", "o_proj", "gate_proj", "down_proj"};
    // Separate projections, fused ones in columns, and ones that are fused by head.
    const lora_case cases[] = {{"llama", "llama", NULL, 0},
                               {"llama-all", "llama", all, 4},
                               {"gpt2", "gpt2", NULL, 0},
                               {"gpt_neox", "gpt_neox", NULL, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(vkf_test_gpu_of(state), &cases[i]);
}

// nn.MultiheadAttention has queries, keys and values in one tensor, of which the model has three views.
static void test_adapters_of_pytorchs_names_are_merged_as_they_train(void **state)
{
    static const char *const targets[] = {"self_attn", "multihead_attn", "linear2"};
    const vkf_trainer_desc desc = {.rate = 1e-2, .lora_rank = 2, .lora_targets = targets, .lora_target_count = 3};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_directory directory;
    vkf_test_trained t;
    char path[512];
    vkf_test_trained_open(&t, gpu, DEMO, &desc);
    const double loss = vkf_test_trained_loss(&t);
    (void)vkf_test_trained_step(&t, 3);
    assert_true(vkf_test_trained_loss(&t) < loss - 0.01);
    vkf_test_directory_make(&directory);
    (void)snprintf(path, sizeof path, "%s/adapter", directory.path);
    vkf_test_must(gpu, vkf_trainer_save_adapter(t.trainer, path));
    check_merged(&t, DEMO, path, &t.batch);
    vkf__directory_remove_unheld(directory.path, "adapter");
    vkf_test_directory_remove(&directory);
    vkf_test_trained_close(&t);
}

static const vkf_trainer_desc adapted = {.lora_rank = 2, .lora_dropout = 0.2f, .dropout = 0.1f, .seed = 7};

static void test_only_the_adapter_changes(void **state)
{
    vkf_test_trained t;
    vkf_train_parameter parameter;
    vkf_trainer_info info;
    size_t count, frozen = 0, changed = 0;
    vkf_test_trained_open(&t, vkf_test_gpu_of(state), vkf_test_pretrained("llama"), &adapted);
    float *before = vkf_test_trained_read(&t, &count);
    const double loss = vkf_test_trained_loss(&t);
    (void)vkf_test_trained_step(&t, 2);
    assert_true(vkf_test_trained_loss(&t) < loss);
    float *after = vkf_test_trained_read(&t, &count);
    for (size_t i = 0; i < t.model->weights.trainable_count; i++)
        frozen += vkf__span_of(&t.model->weights.trainable[i].tensor).size_bytes / sizeof(float);
    assert_memory_equal(before, after, frozen * sizeof *before);
    for (size_t i = frozen; i < count; i++)
        changed += before[i] != after[i];
    assert_true(changed > (count - frozen) * 9 / 10);
    vkf_trainer_get_info(t.trainer, &info);
    assert_int_equal(info.parameter_count, count);
    assert_int_equal(info.trained_count, count - frozen);
    assert_in_range(info.weights_bytes, frozen * sizeof *before, 2 * frozen * sizeof *before);
    assert_true(vkf_trainer_get_parameter(t.trainer, 0, &parameter));
    assert_string_equal(parameter.name, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
    free(before);
    free(after);
    vkf_test_trained_close(&t);
}

// An adapter begins as nothing: B is 0.
static void test_a_new_adapter_changes_no_loss(void **state)
{
    const vkf_trainer_desc plain = {0};
    vkf_test_trained t, other;
    vkf_test_trained_open(&t, vkf_test_gpu_of(state), vkf_test_pretrained("llama"), &adapted);
    vkf_test_trained_open(&other, vkf_test_gpu_of(state), vkf_test_pretrained("llama"), &plain);
    other.batch = t.batch;
    assert_true(vkf_test_trained_loss(&t) == vkf_test_trained_loss(&other));
    vkf_test_trained_close(&other);
    vkf_test_trained_close(&t);
}

static void test_checkpoints_have_the_adapter(void **state)
{
    static const char *const norms[] = {"*norm*"};
    vkf_trainer_desc desc = adapted;
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_directory directory;
    vkf_test_trained t, again;
    char path[512];
    size_t count;
    desc.trained = norms;
    desc.trained_count = 1;
    vkf_test_trained_open(&t, gpu, vkf_test_pretrained("llama"), &desc);
    vkf_test_directory_make(&directory);
    (void)snprintf(path, sizeof path, "%s/saved", directory.path);
    (void)vkf_test_trained_step(&t, 1);
    vkf_test_must(gpu, vkf_trainer_save(t.trainer, path));
    (void)vkf_test_trained_step(&t, 1);
    vkf_test_trained_open(&again, gpu, vkf_test_pretrained("llama"), &desc);
    vkf_test_must(gpu, vkf_trainer_restore(again.trainer, path));
    again.batch = t.batch;
    (void)vkf_test_trained_step(&again, 1);
    float *a = vkf_test_trained_read(&t, &count), *b = vkf_test_trained_read(&again, &count);
    assert_memory_equal(a, b, count * sizeof *a);
    free(a);
    free(b);
    vkf_test_trained_close(&again);
    // Norms are saved beside the matrices, and the model with all of it has the loss of the training.
    (void)snprintf(path, sizeof path, "%s/adapter", directory.path);
    vkf_test_must(gpu, vkf_trainer_save_adapter(t.trainer, path));
    check_merged(&t, vkf_test_pretrained("llama"), path, &t.batch);
    vkf__directory_remove_unheld(directory.path, "saved");
    vkf__directory_remove_unheld(directory.path, "adapter");
    vkf_test_directory_remove(&directory);
    vkf_test_trained_close(&t);
}

typedef struct refusal {
    vkf_trainer_desc desc;
    vkf_status status;
    const char *says;
} refusal;

static void test_adapters_are_refused(void **state)
{
    static const char *const nobody[] = {"k_proj", "wk"}, *const head[] = {"embed_tokens"};
    const refusal refusals[] = {
        {{.lora_rank = 2, .lora_targets = nobody, .lora_target_count = 2}, VKF_ERROR_INVALID_ARGUMENT, "called 'wk'"},
        {{.lora_rank = 2, .lora_targets = head, .lora_target_count = 1}, VKF_ERROR_UNSUPPORTED, "embed_tokens.weight"},
        {{.lora_rank = 2, .lora_target_count = 1}, VKF_ERROR_INVALID_ARGUMENT, "lora_targets is NULL"},
        {{.lora_rank = 2, .lora_targets = nobody}, VKF_ERROR_INVALID_ARGUMENT, "lora_targets"},
        {{.lora_alpha = 1}, VKF_ERROR_INVALID_ARGUMENT, "lora_rank"},
        {{.lora_rank = 2, .lora_alpha = -1}, VKF_ERROR_INVALID_ARGUMENT, "lora_alpha"},
        {{.lora_rank = 2, .lora_dropout = 1}, VKF_ERROR_INVALID_ARGUMENT, "lora_dropout"},
    };
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_model_desc model_desc = {.directory = vkf_test_pretrained("llama"), .trainable = true};
    vkf_trainer *trainer = NULL;
    vkf_model *model = NULL;
    vkf_test_must(gpu, vkf_model_load(gpu->context, &model_desc, &model));
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        vkf_trainer_desc desc = refusals[i].desc;
        desc.max_batch = desc.max_target_len = 1;
        desc.rate = 1;
        vkf_test_expect(gpu, vkf_trainer_create(model, &desc, &trainer), refusals[i].status, refusals[i].says);
    }
    vkf_model_destroy(&model);
}

// ---- activations that are computed again

typedef struct gradient_list {
    float *values;
    size_t count;
    double loss;
} gradient_list;

static gradient_list gradients_of(vkf_test_gpu *gpu, const char *directory, const vkf_trainer_desc *desc, bool again)
{
    gradient_list list = {0};
    vkf_trainer_desc settings = *desc;
    vkf_test_trained t;
    settings.recompute = again;
    vkf_test_random_init(&gpu->random, 5);
    vkf_test_trained_open(&t, gpu, directory, &settings);
    // With the second half of the batch the gradients are added to what is there.
    vkf_train_batch halves[] = {t.batch, t.batch};
    vkf_train_result result;
    halves[0].batch = halves[1].batch = VKF_TEST_BATCH / 2;
    vkf_test_must(gpu, vkf_trainer_step(t.trainer, halves, 2, &result));
    list.loss = result.loss;
    list.values = vkf_test_trained_read(&t, &list.count);
    vkf_test_trained_close(&t);
    return list;
}

static void check_recompute(vkf_test_gpu *gpu, const char *directory, const vkf_trainer_desc *desc)
{
    const gradient_list kept = gradients_of(gpu, directory, desc, false);
    const gradient_list again = gradients_of(gpu, directory, desc, true);
    assert_int_equal(kept.count, again.count);
    assert_true(kept.loss == again.loss);
    if (memcmp(kept.values, again.values, kept.count * sizeof *kept.values) != 0)
        fail_msg("%s: other bits where activations are computed again", directory);
    free(kept.values);
    free(again.values);
}

static void test_recomputed_activations_give_the_same_bits(void **state)
{
    // SGD without a momentum: parameters differ as gradients do.
    const vkf_trainer_desc sgd = {.optimizer = VKF_OPTIMIZER_SGD,
                                  .rate = 0.5,
                                  .dropout = 0.1f,
                                  .attention_dropout = 0.1f,
                                  .activation_dropout = 0.1f,
                                  .seed = 3};
    vkf_trainer_desc lora = sgd;
    lora.lora_rank = 2;
    lora.lora_dropout = 0.1f;
    check_recompute(*state, vkf_test_pretrained("gpt_neox"), &sgd); // parallel blocks
    check_recompute(*state, DEMO, &sgd);                            // memory is read by each layer of the decoder
    check_recompute(*state, vkf_test_pretrained("t5"), &sgd);       // and a stack's bias by each of its layers
    check_recompute(*state, vkf_test_pretrained("llama"), &lora);   // the first layer's input asks for no gradient
}

static void test_recomputing_takes_less_memory(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_trainer_desc desc = {.max_batch = 16, .max_source_len = 32, .max_target_len = 32, .rate = 1};
    const vkf_model_desc model_desc = {.directory = DEMO, .trainable = true};
    vkf_memory_plan kept, again;
    vkf_model *model = NULL;
    vkf_test_must(gpu, vkf_model_load(gpu->context, &model_desc, &model));
    vkf_test_must(gpu, vkf_trainer_plan(model, &desc, &kept));
    desc.recompute = true;
    vkf_test_must(gpu, vkf_trainer_plan(model, &desc, &again));
    printf("activations: %llu bytes, recomputed %llu\n", (unsigned long long)kept.activations_bytes,
           (unsigned long long)again.activations_bytes);
    assert_true(again.activations_bytes < kept.activations_bytes * 3 / 4);
    assert_int_equal(again.weights_bytes, kept.weights_bytes);
    vkf_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adapters_train_as_pefts_do),
        cmocka_unit_test(test_adapters_of_pytorchs_names_are_merged_as_they_train),
        cmocka_unit_test(test_only_the_adapter_changes),
        cmocka_unit_test(test_a_new_adapter_changes_no_loss),
        cmocka_unit_test(test_checkpoints_have_the_adapter),
        cmocka_unit_test(test_adapters_are_refused),
        cmocka_unit_test(test_recomputed_activations_give_the_same_bits),
        cmocka_unit_test(test_recomputing_takes_less_memory),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
