// The vkf_session object: activations, caches and one recorded command buffer per stage of a model.
//
// Each is recorded once for a class of runs, when the first run of the class comes. Stages run in three groups, each
// group one submission of its stages' command buffers in order:
//   ENCODE  embedding, encoder layers, final norm or pooling; leaves the memory (B, S, d_model)
//   DECODE  embedding, decoder layers over whole targets, final norm and projection
//   STEP    the same for one new token per sequence, recorded separately because other kernels are best for it
// A DECODER has no ENCODE. Its DECODE runs one part of a prompt and appends it to what the cache holds. The last layer
// of a DECODE computes hidden states only for the positions that get logits; the others only leave keys and values
// there. DECODE and STEP share the key/value caches. The first run after an encode projects the keys and values of the
// memory, which are kept. Later runs submit the same command buffer and skip these dispatches through an empty grid.
#ifndef VKF_MODEL_SESSION_H
#define VKF_MODEL_SESSION_H

#include "kernel/batch.h"
#include "layer/transformer_layer.h"
#include "model/load/model.h"
#include "observe/profile.h"

typedef enum vkf__stage_group {
    VKF_STAGES_ENCODE = 0,
    VKF_STAGES_DECODE,
    VKF_STAGES_STEP,
    VKF_STAGES_COUNT
} vkf__stage_group;

// Classes of runs by their number of rows: 1, up to 8, 32, 64, 128, 256, 512, and more. Each class that runs has
// kernels and recordings of its own, over the same memory. Behind them come as many for STEPs that take the most
// probable tokens, which lack what only other ways of choosing need. Processors have one class, that of the largest
// run.
enum { VKF_ROW_CLASSES = 8, VKF_RUN_CLASSES = 2 * VKF_ROW_CLASSES };

// A flight is one of the runs that may be on their way to the device at once. Each has recordings, parameters and grids
// of its own. All else is shared, because the device runs one after the other. STEPs take two flights where
// traits.runs_ahead, and everything else takes the first.
enum { VKF_FLIGHTS = 2 };

typedef struct vkf__stage vkf__stage;
typedef struct vkf__session_sizes vkf__session_sizes;
typedef struct vkf__cached_row vkf__cached_row;

// Emits the dispatches of a stage into its work, for runs of these sizes.
typedef vkf_status (*vkf__stage_emitter)(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes);

struct vkf__stage {
    vkf__stage_group group;
    vkf__stage_emitter emit;
    uint32_t layer;
    char name[24];                                  // "decoder.1", "step.embed"
    vkf__work *works[VKF_FLIGHTS][VKF_RUN_CLASSES]; // NULL until the first run of the class in the flight
    vkf__work *work;                                // of the last run, or being planned, built or updated
    vkf_buffer *controls[VKF_FLIGHTS];              // grids and parameters, of whichever class runs
    uint64_t control_bytes;                         // of each
};

// The sizes of a run; at creation, the largest ones.
struct vkf__session_sizes {
    uint32_t batch;
    uint32_t source_len;
    uint32_t prompt_len;  // ENCODER only: positions that pooling without a prompt leaves out
    uint32_t target_len;  // new target positions
    uint32_t target_past; // positions in the cache before them
    uint32_t logit_rows;  // positions per sequence that the head projects: all of target_len, the last one, or 0; an
                          // ENCODER's head is skipped at 0
    // What the head does with the logits. A run sets at most one of samples and searches; at creation both are set.
    bool samples;        // it writes the next token of each sequence
    bool greedy;         // and the recording has only what temperature 0 needs; set by the class of the run
    bool searches;       // it writes the most probable tokens of each row to spans.top
    uint32_t candidates; // how many of them
    bool project_memory; // the cross caches are not filled yet
    // STEP only. There are batch * beams rows; those of a sequence lie side by side and share its cross caches.
    uint32_t beams; // 0: 1
    // Where a beam goes on from another one, cache positions moved_from to target_past change rows as spans.moves says.
    uint32_t move_count, moved_from;
};

// The number of rows that a run has: one for each sequence, or for each beam of each sequence.
static inline uint32_t vkf__session_rows(const vkf__session_sizes *sizes)
{
    return sizes->beams > 1 ? sizes->batch * sizes->beams : sizes->batch;
}

// Everything that stages share, as spans. A mask is absent where the descriptor asks for none. R is B * max_beams.
typedef struct vkf__session_spans {
    vkf__span positions;                // (max_len, d_model) f32; where positions are sinusoidal
    vkf__span rotary;                   // (max(max_source_len, max_target_len), rotary.dim) f32: see op/rotary.h
    vkf__span source_bias, target_bias; // by distance, (heads, max_len, max_len) f32: see model/family/relative_bias.h
    vkf__span step_bias;                // (heads, max_target_len) f32: target_bias's rows of the step's position
    vkf__span lowest;                   // (1) f32: -inf, the logit of a banned token
    vkf__span window_rotary;            // like rotary, for layers with a window where theirs differ
    vkf__span source_ids;               // (B, S) i32, host-visible; then as many position ids, where used
    vkf__span source_types;             // (B, S) i32, host-visible; of encoders with token types
    // (R, max_target_len) i32, host-visible. In a DECODER each row is preceded by the number of its leading padding
    // tokens.
    vkf__span target_ids;
    vkf__span memory; // (B, S, d_model)
    vkf__span seen;   // (R, ceil(target_vocab / 32)) i32, host-visible: a bit for each token of a sequence
    vkf__span moves;  // (R * 3 / 2, 2) i32, host-visible: see op/reorder.h; absent without beams
    vkf__span top;    // (R, candidates, 2) f32, host-visible: see op/top.h; absent without beams
    vkf__span hidden; // (B, T, d_model), or (R, 1, d_model)
    // (B, logit_rows, d_model); of DECODERs: the hidden states of the positions that get logits
    vkf__span logit_hidden;
    vkf__span embeddings; // (B, embedding_dim) f32; of encoders
    vkf__span logits;     // (B, max_logit_rows, target_vocab) f32, or (R, 1, target_vocab)
    vkf__span source_mask, source_key_mask;
    vkf__span target_mask, target_key_mask;
    vkf__span memory_mask, memory_key_mask;
    vkf__span *self_k, *self_v;   // per decoder layer, (R, vkf__cache_len(), num_kv_heads * head_dim)
    vkf__span *cross_k, *cross_v; // per decoder layer that has a memory, (B, max_source_len, d_model)
} vkf__session_spans;

// The attention weights of one kind that the session keeps; all zero unless they were asked for.
typedef struct vkf__kept_attention {
    uint32_t layers, heads;
    uint32_t run_queries;   // the most queries of one run
    uint32_t queries, keys; // the most that are gathered over runs
    vkf__span first;        // layer 0's span, (B, H, run_queries, keys) f32: what the last run wrote, compact
    uint64_t stride_bytes;  // from a layer to the next
    float *weights;         // (layers, B, H, queries, keys)
    uint32_t rows;          // queries gathered so far
} vkf__kept_attention;

enum { VKF_KEPT_CROSS = 0, VKF_KEPT_ENCODER, VKF_KEPT_DECODER, VKF_KEPT_COUNT }; // bits of vkf_attention_kind

typedef struct vkf__flight {
    vkf__batch batches[VKF_STAGES_COUNT][VKF_RUN_CLASSES]; // the stages' command buffers
    vkf__submission submission;
    // About the run that is on its way, or the last one:
    vkf__stage_group group;
    uint32_t class;
    vkf__session_sizes sizes;
    vkf__run_times times;
} vkf__flight;

struct vkf_session {
    uint32_t references; // one of the owner, and one of a generation in turns
    bool in_turns;       // there is such a generation
    vkf_model *model;
    vkf_context *context;
    vkf_session_desc desc; // completed
    vkf__session_spans spans;
    vkf__stage *stages; // grouped in order
    size_t stage_count;
    size_t group_begin[VKF_STAGES_COUNT + 1];
    vkf__flight flights[VKF_FLIGHTS];
    uint32_t flight_count;                      // that STEPs take
    bool ahead;                                 // vkf__session_step() has begun a STEP that nobody asked for yet
    uint32_t ahead_flight;                      // its flight
    uint32_t refused_classes[VKF_STAGES_COUNT]; // a bit for each whose kernels need too much memory

    vkf_buffer *state;     // streams, masks, logits, attention weights
    vkf_buffer **caches;   // keys and values, per decoder layer: in one, they might be more than a device allocates
    vkf_buffer *constants; // positions
    vkf_buffer *ids;       // token ids, host-visible
    vkf_buffer *arena;     // temporaries of all stages
    uint64_t arena_bytes;
    vkf__session_sizes sizes; // of the last run
    vkf_sampling sampling;    // how the next tokens are chosen; completed
    uint32_t record_count;
    bool under_way;        // a run was launched into the first flight, and not waited for
    bool encoded;          // there is a memory, or a run that leaves one was launched
    bool memory_cached;    // the cross caches hold its keys and values
    int last_group;        // of the last run, for timings; -1: none
    vkf_run_cost cost;     // of the last run
    vkf__cached_row *rows; // (max_batch * max_beams), of a DECODER: see model/session/cached_rows.h
    int32_t *row_ids;      // (max_batch, max_target_len)
    vkf__kept_attention kept[VKF_KEPT_COUNT];
    float *attention_read;      // scratch: one layer's weights, as read from the device
    vkf__plan_watcher *watcher; // of its planning; NULL: none
};

// Sampling that always chooses the token with the largest logit.
static inline vkf_sampling vkf__no_sampling(void)
{
    return (vkf_sampling){.top_p = 1.0f, .repetition_penalty = 1.0f};
}

// The descriptor was checked and completed. Statuses are those of vkf_session_create().
VKF_MUST_CHECK vkf_status vkf__session_create(vkf_model *model, const vkf_session_desc *desc,
                                              vkf_session **out_session);
// Gives back a reference; the last one to go frees the session.
void vkf__session_drop(vkf_session *session);
VKF_MUST_CHECK vkf_status vkf__session_plan(vkf_model *model, const vkf_session_desc *desc, vkf_memory_plan *out_plan);
// Plans as vkf__session_plan() does, and lets the watcher see all dispatches in their order. Each work's name is a
// stage's; barriers are those of the recording.
VKF_MUST_CHECK vkf_status vkf__session_watch(vkf_model *model, const vkf_session_desc *desc,
                                             vkf__plan_watcher *watcher);

#endif
