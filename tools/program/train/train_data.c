// Opens examples, and fills batches for each kind of model.
#include "train/train_data.h"

#include <inttypes.h>

#define ROOM_FACTOR 2 // how much larger the trainer's room may be than what a batch has

// What a task takes from examples.
static const struct task_facts {
    vkf_example_kind lines;
    vkf_example_targets targets;
    bool has_targets;   // an example has something to learn beside its source
    bool label_a_token; // there is a label for each token of a source
} task_facts[VKF_TASK_COUNT] = {
    [VKF_TASK_TRANSLATE] = {VKF_EXAMPLE_PAIR, VKF_TARGETS_TEXT, true, false},
    [VKF_TASK_CONTINUE] = {VKF_EXAMPLE_TEXT, VKF_TARGETS_TEXT, false, false},
    [VKF_TASK_COMPLETE] = {VKF_EXAMPLE_PROMPT, VKF_TARGETS_COMPLETION, true, true},
    [VKF_TASK_CLASSIFY] = {VKF_EXAMPLE_CLASS, VKF_TARGETS_CLASS, true, false},
    [VKF_TASK_TAG] = {VKF_EXAMPLE_TAGS, VKF_TARGETS_TAGS, true, true},
    [VKF_TASK_FILL] = {VKF_EXAMPLE_TEXT, VKF_TARGETS_MASKABLE, true, true},
    [VKF_TASK_EMBED] = {VKF_EXAMPLE_PAIR, VKF_TARGETS_TEXT, true, false},
};

static const struct task_facts *facts_of(const vkf_train_words *words)
{
    return &task_facts[words->task];
}

// ---- batches

#define TEXT_BLOCK 1024u // tokens of a decoder's text at most, unless a length is given: that of run_clm.py and of TRL

static bool decodes(vkf_train_task task)
{
    return task == VKF_TASK_CONTINUE || task == VKF_TASK_COMPLETE;
}

static uint32_t longer(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// The most tokens that a text may have, of those that the model takes; 0: any number.
static uint32_t limit_of(const vkf_train_config *config, uint32_t model)
{
    const uint32_t most = model > 0 ? smaller(model, config->batch_tokens) : config->batch_tokens;
    return config->max_length > 0 ? smaller(config->max_length, most) : most;
}

static void set_limits(const vkf_train_words *words, const vkf_train_config *config, vkf_pieces *pieces)
{
    const vkf_model_config *model = words->config;
    const bool embeds = words->task == VKF_TASK_EMBED, decoder = decodes(words->task);
    const uint32_t source = decoder                             ? model->max_target_len
                            : embeds && model->truncate_len > 0 ? model->truncate_len
                                                                : model->max_source_len;
    pieces->max_source = limit_of(config, source);
    pieces->max_target = embeds                              ? pieces->max_source
                         : words->task == VKF_TASK_TRANSLATE ? limit_of(config, model->max_target_len)
                                                             : 0;
    if (decoder && config->max_length == 0 && pieces->how != VKF_TRAIN_LONG_DROP)
        pieces->max_source = smaller(pieces->max_source, TEXT_BLOCK);
}

static vkf_batches_desc batches_of(vkf_train_data *data, const vkf_train_config *config, const vkf_train_goal *goal)
{
    const vkf_train_words *words = data->words;
    const int32_t pad = words->config->pad_id > 0 ? words->config->pad_id : 0;
    return (vkf_batches_desc){
        .example_count = vkf_pieces_count(&data->pieces),
        .ids = vkf_pieces_get,
        .ids_user = &data->pieces,
        .has_targets = facts_of(words)->has_targets,
        .max_tokens = config->batch_tokens,
        .max_rows = goal->batch_rows,
        .max_source_len = data->pieces.max_source,
        .max_target_len = data->pieces.max_target,
        .source_pad_id = pad,
        .target_pad_id = facts_of(words)->label_a_token ? VKF_IGNORED_LABEL : pad,
        .seed = config->seed,
    };
}

// A trainer has room for the most rows of the longest examples, so that a few long ones and many short ones would make
// it many times as large as any batch: then batches get fewer rows.
static vkf_status make_batches(vkf_train_data *data, const vkf_train_config *config, const vkf_train_goal *goal,
                               const vkf_ranks *ranks)
{
    const vkf__host *host = data->words->host;
    vkf_batches_desc desc = batches_of(data, config, goal);
    desc.rank = ranks ? ranks->rank : 0;
    desc.ranks = ranks ? ranks->size : 0;
    VKF_RETURN_IF_ERROR(vkf_batches_create(host, &desc, &data->batches));
    vkf_batch_sizes sizes = vkf_batches_largest(data->batches);
    const uint64_t room = (uint64_t)ROOM_FACTOR * config->batch_tokens;
    const uint32_t longest = longer(sizes.source_len, sizes.target_len);
    if (goal->batch_rows == 0 && (uint64_t)sizes.rows * longest > room) {
        vkf_batches_destroy(&data->batches);
        desc.max_rows = (uint32_t)(room / longest);
        VKF_RETURN_IF_ERROR(vkf_batches_create(host, &desc, &data->batches));
        sizes = vkf_batches_largest(data->batches);
    }
    data->sizes = sizes;
    return VKF_OK;
}

// A text's last token is nothing to go on from, and its first one follows from nothing.
static void fit_sizes(vkf_train_data *data)
{
    vkf_batch_sizes *sizes = &data->sizes;
    switch (data->words->task) {
    case VKF_TASK_TRANSLATE:
        sizes->target_len -= 1;
        break;
    case VKF_TASK_CONTINUE:
    case VKF_TASK_COMPLETE:
        sizes->target_len = longer(sizes->source_len, 2) - 1;
        sizes->source_len = 0;
        break;
    case VKF_TASK_EMBED:
        sizes->rows *= 2;
        sizes->source_len = longer(sizes->source_len, sizes->target_len);
        sizes->target_len = 0;
        break;
    default:
        sizes->target_len = 0;
        break;
    }
}

static vkf_status make_slots(vkf_train_data *data, uint32_t count)
{
    const vkf__host *host = data->words->host;
    const vkf_batch_sizes *sizes = &data->sizes;
    const size_t labels = longer(sizes->source_len, sizes->target_len + 1);
    const size_t row = (size_t)sizes->source_len + 1 + sizes->target_len + labels; // with a length
    VKF_ALLOC_OR_RETURN(host, data->slots, count);
    data->slot_count = count;
    for (uint32_t i = 0; i < count; i++)
        VKF_ALLOC_OR_RETURN(host, data->slots[i].memory, sizes->rows * row);
    return VKF_OK;
}

static void warn_of_left_out(const vkf_train_data *data)
{
    uint32_t first = 0;
    const uint32_t count = vkf_batches_left_out(data->batches, &first);
    if (count == 0)
        return;
    const vkf_example_place place = vkf_examples_place(data->examples, vkf_pieces_example(&data->pieces, first));
    vkf__log(data->words->host, VKF_SEVERITY_WARNING,
             "%u of %u examples are left out: nothing is to be learned in them, or they are longer than the model or a "
             "batch; the first is %s, line %" PRIu64,
             count, vkf_pieces_count(&data->pieces), place.path, place.line);
}

// A model may have more rows in its table than its tokenizer has tokens.
static vkf_masking masking_of(const vkf_train_words *words, uint64_t seed)
{
    const uint32_t tokens = vkf_tokenizer_get_vocab_size(words->tokenizer), rows = words->config->source_vocab;
    return (vkf_masking){words->mask_id, tokens < rows ? tokens : rows, seed};
}

static void set_tokens(vkf_train_data *data, const vkf_train_config *config)
{
    const vkf_train_words *words = data->words;
    const bool translates = words->task == VKF_TASK_TRANSLATE, ends = decodes(words->task);
    data->tokens = (vkf_example_tokens){
        .host = words->host,
        .examples = data->examples,
        .tokenizer = words->tokenizer,
        .tables = words->has_tables ? &words->tables : NULL,
        .targets = facts_of(words)->targets,
        .labels = words->labels,
        .label_count = words->label_count,
        .first_target_id = translates ? words->config->bos_id : -1,
        .last_target_id = ends || translates ? words->config->eos_id : -1,
        .ends_sources = ends,
        .learns_prompts = config->loss_on == VKF_TRAIN_ON_ALL,
    };
    if (words->task == VKF_TASK_FILL)
        data->masking = masking_of(words, config->seed);
}

static vkf_status cut_texts(vkf_train_data *data, const vkf_train_config *config, const vkf_train_goal *goal)
{
    const vkf_train_words *words = data->words;
    data->pieces = (vkf_pieces){
        .tokens = &data->tokens,
        .how = (vkf_train_long)goal->long_texts,
        .pack = config->pack,
        .stream = decodes(words->task),
        .by_token = facts_of(words)->label_a_token,
    };
    set_limits(words, config, &data->pieces);
    return vkf_pieces_open(&data->pieces);
}

vkf_status vkf_train_data_open(const vkf_train_words *words, const vkf_train_config *config, const vkf_train_goal *goal,
                               const vkf_train_texts *paths, uint32_t slots, const vkf_ranks *ranks,
                               vkf_train_data *out_data)
{
    vkf_train_data *data = out_data;
    *data = (vkf_train_data){.words = words};
    const vkf_examples_desc desc = {
        .paths = (const char *const *)paths->items,
        .path_count = paths->count,
        .kind = facts_of(words)->lines,
        .max_line_bytes = config->max_line_bytes,
        .max_bad_lines = config->max_bad_lines,
    };
    VKF_RETURN_IF_ERROR(vkf_examples_open(words->host, &desc, &data->examples));
    set_tokens(data, config);
    VKF_RETURN_IF_ERROR(cut_texts(data, config, goal));
    VKF_RETURN_IF_ERROR(make_batches(data, config, goal, ranks));
    warn_of_left_out(data);
    fit_sizes(data);
    return make_slots(data, slots);
}

void vkf_train_data_free(vkf_train_data *data)
{
    if (!data->words)
        return;
    for (uint32_t i = 0; data->slots && i < data->slot_count; i++)
        vkf__free(data->words->host, data->slots[i].memory);
    vkf__free(data->words->host, data->slots);
    vkf_batches_destroy(&data->batches);
    vkf_pieces_close(&data->pieces);
    vkf_example_tokens_clear(&data->tokens);
    vkf_examples_close(&data->examples);
    *data = (vkf_train_data){0};
}

// ---- slots

// Where a row's ids go, and what each of them is to be followed by: the label of the next one.
static void put_shifted(const int32_t *ids, const int32_t *labels, uint32_t count, uint32_t len, int32_t pad_id,
                        int32_t *out_ids, int32_t *out_labels)
{
    for (uint32_t i = 0; i < len; i++) {
        const bool followed = i + 1 < count;
        out_ids[i] = i < count ? ids[i] : pad_id;
        out_labels[i] = followed ? labels[i + 1] : VKF_IGNORED_LABEL;
    }
}

static void put_all_shifted(const vkf_train_slot *slot, const int32_t *ids, const int32_t *labels,
                            const uint32_t *counts, uint32_t width, int32_t pad_id)
{
    const vkf_train_batch *batch = &slot->batch;
    const uint32_t len = batch->target_len;
    for (uint32_t row = 0; row < batch->batch; row++)
        put_shifted(ids + (size_t)row * width, labels + (size_t)row * width, counts[row], len, pad_id,
                    (int32_t *)batch->target_ids + (size_t)row * len, (int32_t *)batch->labels + (size_t)row * len);
}

// Rows of `width` ids become rows of `len`.
static void put_rows(int32_t *out_ids, uint32_t len, const int32_t *ids, uint32_t rows, uint32_t width, int32_t pad_id)
{
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t i = 0; i < len; i++)
            out_ids[(size_t)row * len + i] = i < width ? ids[(size_t)row * width + i] : pad_id;
}

// Lays out the slot's memory: source, lengths, target, labels.
static void begin_slot(vkf_train_slot *slot, uint32_t rows, uint32_t source_len, uint32_t target_len)
{
    int32_t *source = slot->memory, *lengths = source + (size_t)rows * source_len, *target = lengths + rows;
    slot->batch = (vkf_train_batch){
        .batch = rows,
        .source_len = source_len,
        .source_ids = source,
        .source_lengths = source_len > 0 ? (uint32_t *)lengths : NULL,
        .target_len = target_len,
        .target_ids = target,
        .labels = target + (size_t)rows * target_len,
    };
}

static void put_sources(const vkf_train_slot *slot, const vkf_batch *from, int32_t pad_id)
{
    const vkf_train_batch *batch = &slot->batch;
    put_rows((int32_t *)batch->source_ids, batch->source_len, from->source_ids, from->rows, from->source_len, pad_id);
    memcpy((uint32_t *)batch->source_lengths, from->source_lengths, from->rows * sizeof *from->source_lengths);
}

// Those that belong to the sources come behind them.
static void put_partners(vkf_train_slot *slot, const vkf_batch *from, int32_t pad_id)
{
    const vkf_train_batch *batch = &slot->batch;
    put_rows((int32_t *)batch->source_ids + (size_t)from->rows * batch->source_len, batch->source_len, from->target_ids,
             from->rows, from->target_len, pad_id);
    memcpy((uint32_t *)batch->source_lengths + from->rows, from->target_lengths,
           from->rows * sizeof *from->target_lengths);
    slot->batch.labels = NULL;
}

static void put_token_labels(const vkf_train_slot *slot, const vkf_batch *from)
{
    put_rows((int32_t *)slot->batch.labels, slot->batch.source_len, from->target_ids, from->rows, from->target_len,
             VKF_IGNORED_LABEL);
}

static void mask_rows(const vkf_masking *masking, const vkf_batch *from, uint32_t epoch, const vkf_train_slot *slot)
{
    const vkf_train_batch *batch = &slot->batch;
    for (uint32_t row = 0; row < batch->batch; row++)
        vkf_masking_apply(masking, epoch, from->examples[row], from->source_lengths[row],
                          (int32_t *)batch->source_ids + (size_t)row * batch->source_len,
                          (int32_t *)batch->labels + (size_t)row * batch->source_len);
}

static void fill_slot(const vkf_train_data *data, const vkf_batch *from, uint32_t epoch, vkf_train_slot *slot)
{
    const vkf_train_words *words = data->words;
    const int32_t pad = words->config->pad_id > 0 ? words->config->pad_id : 0;
    switch (words->task) {
    case VKF_TASK_TRANSLATE:
        begin_slot(slot, from->rows, from->source_len, from->target_len - 1);
        put_sources(slot, from, pad);
        put_all_shifted(slot, from->target_ids, from->target_ids, from->target_lengths, from->target_len, pad);
        break;
    case VKF_TASK_CONTINUE:
        begin_slot(slot, from->rows, 0, longer(from->source_len, 2) - 1);
        put_all_shifted(slot, from->source_ids, from->source_ids, from->source_lengths, from->source_len, pad);
        break;
    case VKF_TASK_COMPLETE:
        begin_slot(slot, from->rows, 0, longer(from->source_len, 2) - 1);
        put_all_shifted(slot, from->source_ids, from->target_ids, from->source_lengths, from->source_len, pad);
        break;
    case VKF_TASK_CLASSIFY:
        begin_slot(slot, from->rows, from->source_len, 0);
        put_sources(slot, from, pad);
        put_rows((int32_t *)slot->batch.labels, 1, from->target_ids, from->rows, from->target_len, 0);
        break;
    case VKF_TASK_EMBED:
        begin_slot(slot, 2 * from->rows, longer(from->source_len, from->target_len), 0);
        put_sources(slot, from, pad);
        put_partners(slot, from, pad);
        break;
    default:
        begin_slot(slot, from->rows, from->source_len, 0);
        put_sources(slot, from, pad);
        put_token_labels(slot, from);
        if (words->task == VKF_TASK_FILL)
            mask_rows(&data->masking, from, epoch, slot);
        break;
    }
}

vkf_status vkf_train_data_take(vkf_train_data *data, uint64_t number, uint32_t slot)
{
    const vkf_batch *batch = NULL;
    VKF_RETURN_IF_ERROR(vkf_batches_get(data->batches, number, &batch));
    fill_slot(data, batch, (uint32_t)(number / vkf_batches_per_epoch(data->batches)), &data->slots[slot]);
    const bool texts = facts_of(data->words)->targets == VKF_TARGETS_TEXT;
    data->slots[slot].tokens = batch->source_tokens + (texts ? batch->target_tokens : 0);
    return VKF_OK;
}
