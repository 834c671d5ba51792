// What the parts of `vkformer run` share.
#ifndef VKF_PROGRAM_RUN_STATE_H
#define VKF_PROGRAM_RUN_STATE_H

#include "attention/attention_choice.h"
#include "dump/number_check.h"
#include "command/options.h"
#include "command/precision.h"
#include "run/run_timing.h"
#include "input/text_lines.h"

#define VKF_MAX_STOPS 16

typedef struct run_options {
    vkf_common_options common;
    const char *model_directory;
    char *const *texts; // NULL: the standard input
    uint32_t text_count;
    uint32_t batch;   // 0: not given
    uint32_t max_len; // 0: not given
    vkf_model_precision precision;
    vkf_quantization quantization;
    bool timing;
    vkf_number_check numbers; // of --check-numbers
    const char *dump_path;    // of --dump; NULL: not wanted
    vkf_attention_choice attention;
    bool json;
    // Of decoders.
    const char *pair;                 // NULL: not given. Of encoders
    uint32_t max_new_tokens, context; // 0: not given
    vkf_sampling sampling;
    vkf_beam_search beams;
    vkf_dtype cache_dtype;
    struct {
        bool temperature, top_k, top_p, min_p, repetition_penalty, length_penalty, early_stopping;
    } given; // by an option, though it be 0
    uint32_t usual_new_tokens; // where max_new_tokens is not given, the model's directory says so many; 0: it does not
    bool fills_context;        // or that the context is to be filled
    vkf_text stops[VKF_MAX_STOPS];
    uint32_t stop_count;
} run_options;

// Everything that lives as long as the command.
typedef struct run_state {
    const run_options *options;
    vkf_context *context;
    vkf_model *model;
    vkf_vocabulary *vocabulary;
    vkf_session *session;
    vkf_model_config config;
    vkf_text_source source;
    uint32_t batch;
    uint32_t max_len;
    vkf_text_line *lines; // (batch)
    uint32_t *slots;      // (batch): which line is row i of the run
    int32_t *source_ids;  // (batch, max_source_len)
    int32_t *target_ids;  // (batch, max_len)
    uint32_t *lengths;    // (batch)
    vkf_run_timing timing;
    bool refused; // some line could not be run
} run_state;

// The part of a batch that is run.
typedef struct run_batch {
    uint32_t line_count;
    uint32_t row_count;
    uint32_t source_len; // of the longest row
} run_batch;

// Texts that run together, and where they come from.
uint32_t vkf_run_batch_size(const run_options *options);
vkf_text_source vkf_run_source(const run_options *options);

// How a model's directory is run.
typedef enum run_way { RUN_SEQ2SEQ, RUN_GENERATION, RUN_PREDICTION, RUN_ENCODER } run_way;

// The project's own models are run line by line; of transformers' families those with a decoder generate, and encoders with
// a head predict; of others the attention is drawn. False: it is none of these, or cannot be read; the reason has been
// printed.
bool vkf_run_way(const run_options *options, run_way *out_way, vkf_model_config *out_config);

// Prints what an encoder's head says of every text. False: the reason has been printed.
bool vkf_run_prediction(const run_options *options);

// Generates text from every text by a model of a family, and prints it. False: the reason has been printed.
bool vkf_run_generation(const run_options *options);

// Draws the attention of an encoder without a head. False: the reason has been printed.
bool vkf_run_encoder(const run_options *options);

// Opens the device, loads the model and makes the session. False: the reason has been printed. In either case
// vkf_run_release() afterwards.
bool vkf_run_prepare(const run_options *options, run_state *out_state);
void vkf_run_release(run_state *state);

// Runs and prints every line. False when something failed that ends the command (message printed); lines that were
// merely refused are remembered in `refused`.
bool vkf_run_lines(run_state *state);

// A text that has run, and what came of it. Arrays are the caller's.
typedef struct run_picture {
    const run_options *options;
    vkf_model *model;
    const vkf_vocabulary *vocabulary; // either names tokens
    const vkf_tokenizer *tokenizer;
    const char *text, *output;   // output may be NULL
    const int32_t *source_ids;   // (source_count), of models with an encoder
    const int32_t *source_types; // the same, or NULL
    uint32_t source_count;
    const int32_t *target_ids; // (target_count), of models with a decoder: all that it read, and its last token
    uint32_t target_count;
} run_picture;

// Draws the weights of attention over it. False: the reason has been printed.
bool vkf_run_draw_attention(const run_picture *picture);

#endif
