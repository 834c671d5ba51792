// Explains what is wrong with a path that is not a model's directory.
#include "io/directory.h"

#include <errno.h>
#include <string.h>

#include "base/directories.h"
#include "base/system_file.h"

#define A_MODEL "a model is a directory with config.json and its weights"

// What a file with this ending is, and what to do about it.
static const struct {
    const char *ending, *sentence;
} kinds[] = {
    {".safetensors", "is a file of weights; name the directory that it is in, with its config.json"},
    {".bin", "is a file of weights; name the directory that it is in, with its config.json"},
    {".pt", "is a file of weights; name a directory that has it as pytorch_model.bin, with its config.json"},
    {".pth", "is a file of weights; name a directory that has it as pytorch_model.bin, with its config.json"},
    {".json", "is a file; name the directory that it is in"},
    {".gguf", "is a GGUF file, which is not read; name the directory of the model that it was made from"},
    {".ggml", "is a GGML file, which is not read; name the directory of the model that it was made from"},
    {".onnx", "is an ONNX file, which is not read; name the directory of the model that it was made from"},
    {".h5", "is a TensorFlow file, which is not read; save the model with transformers"},
    {".ckpt", "is a training program's file, which is not read; save the model with transformers"},
    {".zip", "is an archive; unpack it and name the directory that has config.json"},
    {".gz", "is an archive; unpack it and name the directory that has config.json"},
    {".tar", "is an archive; unpack it and name the directory that has config.json"},
};

// What a file of this name is; NULL where its ending says nothing.
static const char *sentence_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(dot, kinds[i].ending) == 0)
            return kinds[i].sentence;
    return NULL;
}

vkf_status vkf__directory_check(const vkf__host *host, const char *path)
{
    vkf__file_info info;
    const char *sentence = sentence_of(path);
    if (host->files || *path == '\0') // vkf__path_join() refuses that
        return VKF_OK;
    if (!vkf__path_info(path, &info))
        return errno == ENOENT || errno == ENOTDIR
                   ? vkf__fail(host, VKF_ERROR_FILE, "%s: there is no such directory; " A_MODEL, path)
                   : VKF_OK;
    if (info.kind == VKF_FILE_DIRECTORY)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_FILE, "%s: %s", path, sentence ? sentence : "is a file; " A_MODEL);
}

vkf_status vkf__directory_check_others(const vkf__host *host, const char *directory)
{
    vkf_status status = VKF_OK;
    vkf__listing *listing = host->files ? NULL : vkf__listing_open(directory);
    const char *name = NULL;
    while (listing && status == VKF_OK && (name = vkf__listing_next(listing))) {
        const char *sentence = sentence_of(name);
        if (sentence && strstr(sentence, "which is not read"))
            status = vkf__fail(host, VKF_ERROR_FILE, "%s: no model in it that is read: %.200s %s", directory, name,
                               sentence);
    }
    vkf__listing_close(listing);
    return status;
}
