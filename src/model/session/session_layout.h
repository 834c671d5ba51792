// Where everything that the stages of a session share lies in its buffers.
#ifndef VKF_MODEL_SESSION_LAYOUT_H
#define VKF_MODEL_SESSION_LAYOUT_H

#include "model/session/session.h"

typedef struct vkf__session_layout {
    uint64_t state_bytes;
    uint64_t layer_cache_bytes; // of each decoder layer
    uint64_t constants_bytes;
    uint64_t ids_bytes;
} vkf__session_layout;

// Lays out all spans: offsets and sizes, and buffers where they exist already. The first call allocates the per-layer
// arrays. Statuses: TOO_LARGE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__session_lay_out(vkf_session *session, vkf__session_layout *out_layout);

// Whether an ENCODER takes position ids with its tokens. It does where padding within a text has no position of its
// own, so that a token's position differs from its index.
bool vkf__has_position_ids(const vkf_model_config *config);

// Whether an ENCODER's head runs in this session.
bool vkf__session_has_head(const vkf_session *session);

// The number of elements in a row of target_ids, and the index of its first token.
uint32_t vkf__ids_row(const vkf_session *session);
uint32_t vkf__ids_lead(const vkf_session *session);

// The number of positions that a cache row has room for. With beams it is rounded up so that a row is whole words.
uint32_t vkf__cache_len(const vkf_session *session);

// The most candidates that a run may ask for; 0 without beams.
uint32_t vkf__max_candidates(const vkf_session *session);

#endif
