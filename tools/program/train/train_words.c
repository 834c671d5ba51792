// Loads what turns lines into ids.
#include "train/train_words.h"

#include "io/file.h"
#include "io/path.h"

static vkf_status find_mask(vkf_train_words *words, const char *directory)
{
    vkf_special_tokens special;
    VKF_RETURN_IF_ERROR(vkf_tokenizer_read_special_tokens(words->tokenizer, directory, &special));
    words->mask_id = special.mask_id;
    if (words->mask_id >= 0 && (uint32_t)words->mask_id < words->config->source_vocab)
        return VKF_OK;
    return vkf__fail(words->host, VKF_ERROR_UNSUPPORTED,
                     "%s: the model fills in masked words, but its tokenizer has no mask token (mask_token in "
                     "tokenizer_config.json)",
                     directory);
}

static vkf_status list_labels(vkf_train_words *words, vkf_inspection *inspection)
{
    VKF_RETURN_IF_ERROR(vkf_inspection_load_labels(inspection, &words->label_count));
    VKF_ALLOC_OR_RETURN(words->host, words->labels, words->label_count);
    for (uint32_t i = 0; i < words->label_count; i++)
        words->labels[i] = vkf_inspection_get_label(inspection, i);
    return VKF_OK;
}

static vkf_status load_words(vkf_train_words *words, const char *directory, vkf_inspection *inspection)
{
    const vkf__host *host = words->host;
    const vkf_tokenizer_desc desc = {.path = directory, .message = host->message, .message_user = host->message_user};
    char *path = NULL, *marian = NULL;
    vkf_status status = VKF_OK;
    VKF_TRY(vkf__path_join(host, directory, "vocabulary.json", &path));
    VKF_TRY(vkf__path_join(host, directory, "target.spm", &marian));
    words->has_tables = words->task == VKF_TASK_TRANSLATE && vkf__file_exists(path);
    if (words->has_tables)
        VKF_TRY(vkf__token_tables_load(host, path, &words->tables));
    else if (vkf__file_exists(marian))
        VKF_TRY(vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                          "%s: texts of the target language are not turned into ids here: give the model a "
                          "tokenizer.json for both languages",
                          directory));
    else
        VKF_TRY(vkf_tokenizer_load(&desc, &words->tokenizer));
    if (words->task == VKF_TASK_CLASSIFY || words->task == VKF_TASK_TAG)
        VKF_TRY(list_labels(words, inspection));
    if (words->task == VKF_TASK_FILL)
        VKF_TRY(find_mask(words, directory));
fail:
    vkf__free(host, path);
    vkf__free(host, marian);
    return status;
}

vkf_status vkf_train_words_load(const vkf__host *host, const char *directory, vkf_inspection *inspection,
                                const vkf_model_config *config, vkf_train_task task, vkf_train_words *out_words)
{
    *out_words = (vkf_train_words){.host = host, .config = config, .task = task};
    return load_words(out_words, directory, inspection);
}

void vkf_train_words_free(vkf_train_words *words)
{
    if (words->has_tables)
        vkf__token_tables_free(&words->tables);
    vkf_tokenizer_destroy(&words->tokenizer);
    if (words->labels)
        vkf__free(words->host, words->labels);
    *words = (vkf_train_words){0};
}
