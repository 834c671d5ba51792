// Makes the directory of a new model.
#include "train/new_model.h"

#include "io/new_directory.h"
#include "train/new_files.h"

vkf_status vkf_new_model_write(const vkf__host *host, const vkf_train_config *config, const char *path)
{
    const bool family = config->model_type != VKF_TRAIN_TRANSFORMER;
    vkf_status status = VKF_OK;
    vkf__new_directory out = {0};
    VKF_TRY(vkf__new_directory_open(host, path, &out));
    VKF_TRY(family ? vkf_new_family_files(host, config, out.temporary)
                   : vkf_new_transformer_files(host, config, out.temporary));
    VKF_TRY(vkf_new_weights_write(host, config, NULL, out.temporary));
    VKF_TRY(vkf__new_directory_commit(&out));
fail:
    vkf__new_directory_discard(&out);
    return status;
}
