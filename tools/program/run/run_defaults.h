// What `vkformer run` takes from generation_config.json.
#ifndef VKF_PROGRAM_RUN_DEFAULTS_H
#define VKF_PROGRAM_RUN_DEFAULTS_H

#include "run/run_state.h"

#define VKF_RUN_CONTEXT 2048u // of a generator, where the model has more and none is given

// Fills in what no option gave. False: options contradict each other; the reason has been printed.
bool vkf_run_take_defaults(const vkf_model_config *config, run_options *options);

#endif
