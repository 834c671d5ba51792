// What the parts of `vkformer run` share.
#ifndef VKF_PROGRAM_RUN_STATE_H
#define VKF_PROGRAM_RUN_STATE_H

#include "attention/attention_choice.h"
#include "command/options.h"
#include "command/precision.h"
#include "dump/number_check.h"
#include "input/text_lines.h"
#include "ranks/ranks.h"
#include "run/run_timing.h"

#define VKF_MAX_STOPS 16

typedef struct run_options {
    vkf_common_options common;
    vkf_ranks ranks;
    const char *model_directory;
    const char *adapter; // NULL: none
    char *const *texts;  // NULL: the standard input
    uint32_t text_count;
    uint32_t batch;   // 0: not given
    uint32_t max_len; // 0: not given
    vkf_model_precision precision;
    vkf_quantization quantization;
    bool timing;
    vkf_number_check numbers; // for --check-numbers
    const char *dump_path;    // for --dump; NULL: not wanted
    vkf_attention_choice attention;
    bool json;
    // For decoders, except `pair`.
    const char *pair;                 // for encoders; NULL: not given
    uint32_t max_new_tokens, context; // 0: not given
    vkf_sampling sampling;
    vkf_beam_search beams;
    vkf_dtype cache_dtype;
    struct {
        bool temperature, top_k, top_p, min_p, repetition_penalty, length_penalty, early_stopping;
    } given;                   // by an option, even if its value is 0
    uint32_t usual_new_tokens; // the number in the model's directory, for when max_new_tokens is not given; 0: none
    bool fills_context;        // the model's directory says to fill the context instead
    vkf_text stops[VKF_MAX_STOPS];
    uint32_t stop_count;
} run_options;

// Lines that run together in a session, and what comes of them.
typedef struct run_batch {
    vkf_session *session;
    vkf_text_line *lines; // (batch)
    uint32_t *slots;      // (batch): which line is row i of the run
    int32_t *source_ids;  // (batch, max_source_len)
    int32_t *target_ids;  // (batch, max_len)
    uint32_t *lengths;    // (batch)
    uint32_t line_count;  // that were taken; 0: there are no more
    uint32_t row_count;   // of them that can be run
    uint32_t source_len;  // of the longest row
} run_batch;

// Everything that lives as long as the command.
typedef struct run_state {
    const run_options *options;
    vkf_context *context;
    vkf_model *model;
    vkf_vocabulary *vocabulary;
    vkf_model_config config;
    vkf_text_source source;
    uint32_t batch;
    uint32_t max_len;
    run_batch *batches; // (batch_count): so many are under way at once
    uint32_t batch_count;
    vkf_run_timing timing;
    bool refused; // some lines could not be run
} run_state;

// How many texts run together, and where they come from.
uint32_t vkf_run_batch_size(const run_options *options);
vkf_text_source vkf_run_source(const run_options *options);

// The ways in which a model's directory can be run.
typedef enum run_way { RUN_SEQ2SEQ, RUN_GENERATION, RUN_PREDICTION, RUN_ENCODER } run_way;

// Chooses the way. The project's own models run line by line. Of transformers' families, models with a decoder
// generate, and encoders with a head predict; for other encoders the attention is drawn. False: the model is none of
// these, or cannot be read; the reason has been printed.
bool vkf_run_way(const run_options *options, run_way *out_way, vkf_model_config *out_config);

// Prints the predictions of an encoder's head for every text. False: the reason has been printed.
bool vkf_run_prediction(const run_options *options);

// Generates text from every text with a model of a family, and prints it. False: the reason has been printed.
bool vkf_run_generation(const run_options *options, const vkf_model_config *config);

// Draws the attention of an encoder without a head. False: the reason has been printed.
bool vkf_run_encoder(const run_options *options);

// Opens the device, loads the model and makes the session. False: the reason has been printed. vkf_run_release() must
// follow in either case.
bool vkf_run_prepare(const run_options *options, run_state *out_state);
void vkf_run_release(run_state *state);

// What it consists of: reads the vocabulary, and holds the model and the options against each other; makes the room for
// batches, and a session for each, whose descriptor is the one that vkf_run_session() returns.
bool vkf_run_load_vocabulary(run_state *state);
vkf_session_desc vkf_run_session(const run_state *state);
bool vkf_run_make_batches(run_state *state, uint32_t count);

// Runs and prints every line. False when a failure ends the command (message printed). Lines that were merely refused
// are remembered in `refused`.
bool vkf_run_lines(run_state *state);

// What it consists of: takes the next lines, and lays out the ids of those that can be run in padded rows; prints what
// came of them; forgets them.
bool vkf_run_take_batch(run_state *state, run_batch *batch);
bool vkf_run_print_batch(const run_state *state, const run_batch *batch);
void vkf_run_clear_batch(const run_state *state, run_batch *batch);

// A text that has run, and its result. The arrays are the caller's.
typedef struct run_picture {
    const run_options *options;
    vkf_model *model;
    const vkf_vocabulary *vocabulary; // one of the two names tokens
    const vkf_tokenizer *tokenizer;
    const char *text, *output;   // output may be NULL
    const int32_t *source_ids;   // (source_count), for models with an encoder
    const int32_t *source_types; // (source_count), or NULL
    uint32_t source_count;
    const int32_t *target_ids; // (target_count), for models with a decoder: all tokens that it read, and its last one
    uint32_t target_count;
} run_picture;

// Draws the attention weights over the text. False: the reason has been printed.
bool vkf_run_draw_attention(const run_picture *picture);

#endif
