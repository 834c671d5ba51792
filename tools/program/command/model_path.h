// MODEL on the command line: a directory, or a model's name on the Hugging Face hub.
#ifndef VKF_PROGRAM_MODEL_PATH_H
#define VKF_PROGRAM_MODEL_PATH_H

#include <stdbool.h>

// Replaces a name by its directory. A name is NAME or ORG/NAME; @REVISION may follow, which is a branch, a tag or a
// commit. An existing directory is taken as it is. A name is looked up in the cache of the hub's own tools; nothing is
// ever downloaded. False after a message that says what to do; *path is then the given one. The path stays valid until
// the next call.
bool vkf_find_model(const char **path);

// The same for a model and its adapter, which may be NULL and is a directory or a name, too. Where the model is an
// adapter whose own model is in that cache, *adapter becomes it, and *model that model.
bool vkf_find_adapted(const char **model, const char **adapter);

// The same for a path that may be a file; the caller reports what is wrong with it.
void vkf_find_tokenizer(const char **path);

#endif
