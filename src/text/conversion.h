// Model directories from the time before tokenizer.json. Their files are converted to the tokenizer.json that
// transformers' fast tokenizer of the same class would have. What all classes share is here; the rest is in
// converted_*.c.
#ifndef VKF_TEXT_CONVERSION_H
#define VKF_TEXT_CONVERSION_H

#include "text/tokenizer.h"

typedef struct vkf__conversion vkf__conversion;

#define VKF_MAX_OWN_TOKENS 1024 // special tokens that a model names itself; each token is compared with all of them

typedef enum vkf__named_token {
    VKF_NAMED_BOS,
    VKF_NAMED_EOS,
    VKF_NAMED_UNK,
    VKF_NAMED_SEP,
    VKF_NAMED_PAD,
    VKF_NAMED_CLS,
    VKF_NAMED_MASK,
    VKF_NAMED_COUNT
} vkf__named_token;

// A class of transformers.
typedef struct vkf__tokenizer_class {
    const char *name; // without "Fast"
    const char *file; // the file of its vocabulary
    vkf_status (*convert)(vkf__conversion *conversion);
    const char *tokens[VKF_NAMED_COUNT]; // unless a file names another; NULL: none
    bool mask_takes_blank;               // <mask> takes the blank before it, unless a file says otherwise
    bool plain_tokens;                   // special tokens are found by their texts alone, whatever the files say
    bool always_prefixed;                // a blank stands before every text, whatever add_prefix_space says
} vkf__tokenizer_class;

struct vkf__conversion {
    const vkf__host *host;
    const char *directory;
    const vkf__tokenizer_class *kind;
    char *path;         // of the file kind->file
    json_t *settings;   // the arguments with which transformers calls the class
    json_t *listed;     // content -> token, by id: what added_tokens_decoder or added_tokens.json lists
    json_t *own;        // name -> token: special tokens that other models do not have
    json_t *extras;     // tokens that the class adds unless the settings give others; or NULL
    json_t *ids;        // text -> id, the vocabulary
    json_t *added;      // content -> token with id, in the order in which they are added
    json_t *root;       // the tokenizer.json that is made
    json_int_t next_id; // of the next added token that is not in the vocabulary
};

// Reads tokenizer_config.json, special_tokens_map.json and added_tokens.json, those that exist.
VKF_MUST_CHECK vkf_status vkf__conversion_settings(vkf__conversion *conversion);
// Reads a setting; *inout_value stays as it is where there is none. Status FORMAT.
VKF_MUST_CHECK vkf_status vkf__conversion_bool(const vkf__conversion *conversion, const char *key, bool *inout_value);
// The text of a special token; NULL for none.
const char *vkf__conversion_token(const vkf__conversion *conversion, vkf__named_token which);

// Takes a reference to the model, whose tokens have these ids, and adds the added tokens to it. Statuses: FORMAT,
// OUT_OF_HOST_MEMORY; the latter also where `model` or `ids` is NULL, as jansson returns without memory.
VKF_MUST_CHECK vkf_status vkf__conversion_add_model(vkf__conversion *conversion, json_t *model, json_t *ids);
// Takes ownership of a part of the tokenizer.json. OUT_OF_HOST_MEMORY also where the part is NULL.
VKF_MUST_CHECK vkf_status vkf__conversion_put(vkf__conversion *conversion, const char *key, json_t *part);
// Makes [text, id] of a special token, which must exist. Statuses: FORMAT, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__conversion_pair(const vkf__conversion *conversion, vkf__named_token which,
                                               json_t **out_pair);
// Makes a template with two special tokens. A form has a digit and a letter for each place. The digit is the token
// type; the letter is A or B for a text, and C or S for the first or the second token. Example: "0C0A0S".
VKF_MUST_CHECK vkf_status vkf__conversion_template(vkf__conversion *conversion, const char *single, const char *pair,
                                                   vkf__named_token first, vkf__named_token second);

// Makes the template that transformers makes for classes that have none: with the token of the beginning and that of
// the end, where add_bos_token and add_eos_token say so. Statuses: as above.
VKF_MUST_CHECK vkf_status vkf__conversion_ends(vkf__conversion *conversion);

// The functions of the classes.
vkf_status vkf__convert_bert(vkf__conversion *conversion);
vkf_status vkf__convert_mpnet(vkf__conversion *conversion);
vkf_status vkf__convert_gpt2(vkf__conversion *conversion);
vkf_status vkf__convert_roberta(vkf__conversion *conversion);
vkf_status vkf__convert_qwen2(vkf__conversion *conversion);
vkf_status vkf__convert_t5(vkf__conversion *conversion);
vkf_status vkf__convert_xlm_roberta(vkf__conversion *conversion);
vkf_status vkf__convert_camembert(vkf__conversion *conversion);
vkf_status vkf__convert_llama(vkf__conversion *conversion);

#endif
