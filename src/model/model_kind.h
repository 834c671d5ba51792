// What models of each kind are, as facts: code asks these, not the kind. What sessions of a kind run, and in which order,
// is a table of session_stages.c.
#ifndef VKF_MODEL_MODEL_KIND_H
#define VKF_MODEL_MODEL_KIND_H

#include <vkformer/model.h>

typedef struct vkf__kind_facts {
    // What it is made of.
    bool encodes; // an encoder makes a source its memory, (B, S, d_model)
    bool decodes; // a decoder has caches of keys and values
    bool crosses; // the decoder's layers attend to the memory, and cache its keys and values, too
    // What goes in.
    bool source_ids; // sources are token ids, else embedded sequences with the caller's masks
    bool
        source_lengths; // with their lengths, and with types and positions of tokens; else pad_id tells what is padding
    bool prompts;       // texts go to the decoder, in parts behind what is cached, and rows of them are padded in front
    // What comes out.
    bool pools;       // an embedding of each sequence, and the logits of a head
    bool generates;   // logits of the decoder, which reads token ids, and the tokens chosen by them
    bool start_token; // what is generated begins with bos_id, and may be forced to begin or end with a token
    // What its configuration may say.
    bool without_directory; // it may be a caller's configuration with a file of PyTorch's names
    bool own_decoder;       // the decoder may have sizes of its own, and has names of its own in a family's files
    bool family_layers;     // layers may have what those of nn.Transformer have not: gates, rotations, windows
    bool grouped_heads;     // keys and values may have fewer heads than queries
    bool scaled_words;      // words are multiplied by sqrt(d_model) unless the configuration says otherwise
    bool always_causal;     // whatever the configuration says
    bool centred_windows;   // windows of attention that is not causal lie around a position
} vkf__kind_facts;

// The configuration's kind is a known one.
const vkf__kind_facts *vkf__facts_of(const vkf_model_config *config);

#endif
