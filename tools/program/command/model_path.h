// MODEL on the command line: a directory, or the name that a model has on the Hugging Face hub.
#ifndef VKF_PROGRAM_MODEL_PATH_H
#define VKF_PROGRAM_MODEL_PATH_H

#include <stdbool.h>

// Puts the directory in place of a name: NAME or ORG/NAME, and where it is followed by @REVISION, a branch, a tag or a
// commit. What is there as a directory is taken as it is; a name is looked for in the cache of the hub's own tools, and
// nothing is ever fetched. False after a message that says what to do. *path then is the given one; it stays valid until
// the next call.
bool vkf_find_model(const char **path);

// The same for a path that may be a file, and of which something else will complain.
void vkf_find_tokenizer(const char **path);

#endif
