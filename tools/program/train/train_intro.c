// The line at the start of a run: what it learns, from how much, and with what.
#include <inttypes.h>
#include <stdio.h>

#include "output/standard_output.h"
#include "output/visible_text.h"
#include "train/train_run.h"

static const char *const learned[VKF_TASK_COUNT] = {
    [VKF_TASK_TRANSLATE] = "the target of each source",
    [VKF_TASK_CONTINUE] = "the next token of texts",
    [VKF_TASK_COMPLETE] = "the completions of prompts",
    [VKF_TASK_CLASSIFY] = "the classes of texts",
    [VKF_TASK_TAG] = "the classes of words",
    [VKF_TASK_FILL] = "masked words of texts",
    [VKF_TASK_EMBED] = "embeddings in which texts that belong together are near",
};

// "1,234,567"
static const char *grouped(uint64_t number, char out_text[32])
{
    char digits[24];
    size_t at = 0;
    const size_t count = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            out_text[at++] = ',';
        out_text[at++] = digits[i];
    }
    out_text[at] = '\0';
    return out_text;
}

// "1 step", "2 steps"; `plural` is "s" or "es".
static void say_count(const char *before, uint64_t number, const char *what, const char *plural)
{
    char text[32];
    vkf_print("%s%s %s%s", before, grouped(number, text), what, number == 1 ? "" : plural);
}

static void say_examples(const vkf_train_run *run, const vkf_train_data *data, const char *what)
{
    static const char *const ways[] = {[VKF_TRAIN_LONG_BLOCK] = "divided", [VKF_TRAIN_LONG_CUT] = "cut off"};
    const vkf_pieces *pieces = &data->pieces;
    const uint32_t left_out = vkf_batches_left_out(data->batches, NULL);
    say_count(", ", vkf_pieces_count(pieces) - left_out, what, "s");
    if (pieces->pack) {
        say_count(" of ", vkf_examples_count(data->examples), "text", "s");
        vkf_print(" in blocks of %u tokens", pieces->max_source);
    } else if (pieces->long_texts > 0) {
        say_count(" (", pieces->long_texts, "text", "s");
        vkf_print(" longer than %u tokens %s %s)", pieces->max_source, pieces->long_texts == 1 ? "is" : "are",
                  ways[run->goal.long_texts]);
    }
    if (left_out > 0)
        say_count(" (", left_out, "left out)", "");
}

static void say_task(const vkf_train_run *run)
{
    const vkf_train_words *words = &run->words;
    vkf_print("learns %s", learned[run->goal.task]);
    for (uint32_t i = 0; i < words->label_count && i < 4; i++)
        vkf_print("%s%.40s", i == 0 ? " (" : ", ", words->labels[i]);
    if (words->label_count > 4)
        vkf_print(" and %u others", words->label_count - 4);
    if (words->label_count > 0)
        vkf_print(")");
    if (run->goal.task == VKF_TASK_COMPLETE && run->config->loss_on == VKF_TRAIN_ON_ALL)
        vkf_print(" and the prompts");
    say_examples(run, &run->train, "example");
    if (run->heldout.batches)
        say_examples(run, &run->heldout, "held-out example");
    vkf_print("\n");
}

static void say_sizes(const vkf_train_run *run)
{
    const vkf_memory_plan *plan = &run->memory;
    const uint64_t rows = (uint64_t)vkf_batches_largest(run->train.batches).rows * run->config->accumulation;
    char trained[32], all[32];
    vkf_device_info device;
    vkf_trainer_info info;
    vkf_context_get_device_info(run->context, &device);
    vkf_trainer_get_info(run->trainer, &info);
    const uint64_t bytes =
        info.weights_bytes + plan->weights_bytes + plan->activations_bytes + plan->cache_bytes + plan->control_bytes;
    say_count("", run->total_steps, "step", "s");
    say_count(" of up to ", rows, "example", "s");
    say_count(", ", vkf_batches_per_epoch(run->train.batches), "batch", "es");
    vkf_print(" in an epoch, learning rate %.3g; %s of %s parameters train, with %.1f MB on %s\n", run->goal.lr,
              grouped(info.trained_count, trained), grouped(info.parameter_count, all), (double)bytes / 1e6,
              device.name);
}

void vkf_train_say(const vkf_train_run *run)
{
    say_task(run);
    say_sizes(run);
    (void)vkf_flush_stdout();
}
