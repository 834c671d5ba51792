// Which stages a session has, and how they are emitted.
#ifndef VKF_MODEL_SESSION_STAGES_H
#define VKF_MODEL_SESSION_STAGES_H

#include "model/session/session.h"

const char *vkf__stage_group_name(vkf__stage_group group); // "step"

VKF_MUST_CHECK vkf_status vkf__session_make_stages(vkf_session *session);
vkf__session_sizes vkf__session_max_sizes(const vkf_session *session, vkf__stage_group group);

// What a stage is emitted with; the vkf__emit_fn's arguments.
typedef struct vkf__stage_emission {
    vkf_session *session;
    vkf__stage *stage;
    const vkf__session_sizes *sizes;
} vkf__stage_emission;

// A vkf__emit_fn of stages, whose arguments are a vkf__stage_emission.
VKF_MUST_CHECK vkf_status vkf__emit_stage(vkf__work *work, const void *args);

#endif
