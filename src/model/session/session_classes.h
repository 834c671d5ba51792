// The kernels and recordings of each class of runs.
#ifndef VKF_MODEL_SESSION_CLASSES_H
#define VKF_MODEL_SESSION_CLASSES_H

#include "model/session/session.h"

// The class of a group's largest run, and that of a run of these sizes.
uint32_t vkf__session_largest_class(const vkf_session *session, vkf__stage_group group);
uint32_t vkf__session_class_of(const vkf_session *session, vkf__stage_group group, const vkf__session_sizes *sizes);
// The largest sizes of the runs of a class, each by itself: fewer rows than their product may run.
vkf__session_sizes vkf__session_class_sizes(const vkf_session *session, vkf__stage_group group, uint32_t class);

// Plans a stage for all classes: their memory, and the work for the largest runs, with kernels that are proven or
// trusted.
VKF_MUST_CHECK vkf_status vkf__session_plan_stage(vkf_session *session, vkf__stage *stage, bool proven);
// Builds and records the planned stages of the largest runs of a group, over the session's memory.
VKF_MUST_CHECK vkf_status vkf__session_build_largest(vkf_session *session, vkf__stage_group group);
void vkf__session_free_classes(vkf_session *session);
// The number of command buffers of all classes in all flights.
size_t vkf__session_command_buffers(const vkf_session *session);
// Makes the stages of a group ready for a run of these sizes: plans, proves, builds and records them where it is the
// first of its class in the flight, of which nothing may be on its way. Statuses: those of vkf_session_create(); then
// the class is as if it had never run.
VKF_MUST_CHECK vkf_status vkf__session_use_class(vkf_session *session, vkf__stage_group group,
                                                 const vkf__session_sizes *sizes, uint32_t flight, uint32_t *out_class);
// Makes the stages of a group stand for the recording for its largest runs, in which all others can run, too.
void vkf__session_use_largest(vkf_session *session, vkf__stage_group group, uint32_t *out_class);
// Makes the stages stand for what runs, or ran, in a flight.
void vkf__session_use_flight(vkf_session *session, uint32_t flight);

// The operations of a run with the parameters that were written last.
double vkf__session_work_flops(const vkf__work *work);

#endif
