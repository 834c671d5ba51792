// What distinguishes the kinds of models, as facts; code asks for these and not for the kind. The stages that the
// sessions of a kind run are in a table of session_stages.c.
#ifndef VKF_MODEL_MODEL_KIND_H
#define VKF_MODEL_MODEL_KIND_H

#include <vkformer/model.h>

typedef struct vkf__kind_facts {
    // What it is made of.
    bool encodes; // an encoder turns a source into the memory, (B, S, d_model)
    bool decodes; // a decoder has caches of keys and values
    bool crosses; // the decoder's layers attend to the memory, and cache its keys and values, too
    // What goes in.
    bool source_ids;     // sources are token ids, else embedded sequences with the caller's masks
    bool source_lengths; // sources come with lengths, and with types and positions of tokens; else pad_id marks padding
    bool prompts;        // texts go to the decoder, in parts that follow what is cached; their rows are padded in front
    // What comes out.
    bool pools;       // an embedding of each sequence, and the logits of a head
    bool generates;   // logits of the decoder, which reads token ids, and the tokens chosen by them
    bool start_token; // generated sequences begin with bos_id; their first or last token may be forced
    // What its configuration may say.
    bool without_directory; // it may be a caller's configuration with a file whose tensors have PyTorch's names
    bool own_decoder;       // the decoder may have sizes of its own, and has names of its own in a family's files
    bool family_layers;     // layers may have what those of nn.Transformer lack: gates, rotations, windows
    bool grouped_heads;     // keys and values may have fewer heads than queries
    bool scaled_embedding;  // tokens are multiplied by sqrt(d_model) unless the configuration says otherwise
    bool always_causal;     // attention is causal whatever the configuration says
    bool centred_windows;   // where attention is not causal, a window reaches to both sides of a position
} vkf__kind_facts;

// The configuration's kind must be a known one.
const vkf__kind_facts *vkf__facts_of(const vkf_model_config *config);

#endif
