// vkformer run: options that are not given take the values of the model's directory, as in transformers' generate().
#include "run/run_defaults.h"

// Takes the sampling settings that no option gave.
static void take_sampling(const vkf_sampling *file, run_options *options)
{
    vkf_sampling *sampling = &options->sampling;
    if (!options->given.temperature)
        sampling->temperature = file->temperature;
    if (!options->given.top_k)
        sampling->top_k = file->top_k;
    if (!options->given.top_p)
        sampling->top_p = file->top_p;
    if (!options->given.min_p)
        sampling->min_p = file->min_p;
    if (!options->given.repetition_penalty)
        sampling->repetition_penalty = file->repetition_penalty;
}

static void take_beams(const vkf_beam_search *file, run_options *options)
{
    vkf_beam_search *beams = &options->beams;
    if (beams->num_beams == 0)
        beams->num_beams = file->num_beams;
    if (!options->given.length_penalty)
        beams->length_penalty = file->length_penalty;
    if (!options->given.early_stopping)
        beams->early_stopping = file->early_stopping;
}

// max_length includes the tokens before the new ones, so for a decoder it is the context.
static void take_lengths(const vkf_model_config *config, run_options *options)
{
    const vkf_generation_defaults *file = &config->generation;
    if (options->max_new_tokens > 0 || (file->max_new_tokens == 0 && file->max_length == 0))
        return;
    if (file->max_new_tokens > 0) {
        options->usual_new_tokens = file->max_new_tokens;
        return;
    }
    if (config->kind == VKF_MODEL_SEQ2SEQ) {
        options->usual_new_tokens = file->max_length > 1 ? file->max_length - 1 : 1;
        return;
    }
    options->fills_context = true;
    if (options->context == 0 && file->max_length < VKF_RUN_CONTEXT && file->max_length < config->max_target_len)
        options->context = file->max_length > 1 ? file->max_length : 2;
}

bool vkf_run_take_defaults(const vkf_model_config *config, run_options *options)
{
    bool searches = options->beams.num_beams > 1,
         draws = options->given.temperature && options->sampling.temperature > 0;
    if (searches && draws) {
        vkf_print_error("--beams does not go with --temperature");
        return false;
    }
    take_sampling(&config->generation.sampling, options);
    take_beams(&config->generation.beams, options);
    take_lengths(config, options);
    if (draws) // an option overrides the file's beams, and --beams overrides the file's temperature
        options->beams.num_beams = 0;
    else if (searches)
        options->sampling.temperature = 0.0f;
    if (options->beams.num_beams < 2 && (options->given.length_penalty || options->given.early_stopping)) {
        vkf_print_error("--length-penalty and --early-stopping are for --beams of more than 1");
        return false;
    }
    return true;
}
