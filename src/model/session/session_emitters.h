// What stages emit. The table in session_stages.c says which kind of model has which of them. A decoder that attends to
// a memory has targets, one without a memory has prompts; steps continue either.
#ifndef VKF_MODEL_SESSION_EMITTERS_H
#define VKF_MODEL_SESSION_EMITTERS_H

#include "model/session/session.h"

// session_tokens.c ----------------------------------------------------------------------------------------------------

VKF_MUST_CHECK vkf_status vkf__emit_source_tokens(vkf_session *session, vkf__stage *stage,
                                                  const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__emit_target_tokens(vkf_session *session, vkf__stage *stage,
                                                  const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__emit_step_tokens(vkf_session *session, vkf__stage *stage,
                                                const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__emit_step_bias(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes);

// session_layers.c ---------------------------------------------------------------------------------------------------

VKF_MUST_CHECK vkf_status vkf__emit_source_layer(vkf_session *session, vkf__stage *stage,
                                                 const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__emit_target_layer(vkf_session *session, vkf__stage *stage,
                                                 const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__emit_target_step_layer(vkf_session *session, vkf__stage *stage,
                                                      const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__emit_prompt_layer(vkf_session *session, vkf__stage *stage,
                                                 const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__emit_prompt_step_layer(vkf_session *session, vkf__stage *stage,
                                                      const vkf__session_sizes *sizes);

// session_logits.c ---------------------------------------------------------------------------------------------------

VKF_MUST_CHECK vkf_status vkf__emit_source_norm(vkf_session *session, vkf__stage *stage,
                                                const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__emit_target_norm(vkf_session *session, vkf__stage *stage,
                                                const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__emit_target_logits(vkf_session *session, vkf__stage *stage,
                                                  const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__emit_step_choice(vkf_session *session, vkf__stage *stage,
                                                const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__emit_prompt_choice(vkf_session *session, vkf__stage *stage,
                                                  const vkf__session_sizes *sizes);

// session_head.c, session_embedding.c --------------------------------------------------------------------------------

VKF_MUST_CHECK vkf_status vkf__emit_encoder_head(vkf_session *session, vkf__stage *stage,
                                                 const vkf__session_sizes *sizes);
VKF_MUST_CHECK vkf_status vkf__emit_embedding(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes);

#endif
