// Which attention `vkformer run --attention` draws: kinds, layers, heads.
#ifndef VKF_PROGRAM_ATTENTION_CHOICE_H
#define VKF_PROGRAM_ATTENTION_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include <vkformer/model.h>

#define VKF_INDEX_SET_SIZE 1024u

typedef struct vkf_index_set {
    bool given; // if not, the set holds every number
    bool has[VKF_INDEX_SET_SIZE];
} vkf_index_set;

typedef struct vkf_attention_choice {
    const char *path; // NULL: nothing is drawn
    uint32_t kinds;   // bits of vkf_attention_kind; 0: the kinds that suit the model and the file
    vkf_index_set layers, heads;
} vkf_attention_choice;

// The names of the kinds, such as "encoder". Bit i of vkf_attention_kind has name i.
#define VKF_ATTENTION_KINDS 3
extern const char *const vkf_attention_kind_names[VKF_ATTENTION_KINDS];

// Parse an option's argument. False: the reason has been printed.
bool vkf_parse_attention_path(const char *text, vkf_attention_choice *choice);
bool vkf_parse_attention_kinds(const char *text, uint32_t *out_kinds);
bool vkf_parse_index_set(const char *option, const char *text, vkf_index_set *out_set);

bool vkf_index_set_has(const vkf_index_set *set, uint32_t index);

// How many layers and heads of one kind a model has; 0 when it has no such attention.
uint32_t vkf_attention_layers(const vkf_model_config *config, vkf_attention_kind kind);
uint32_t vkf_attention_heads(const vkf_model_config *config, vkf_attention_kind kind);

// The kinds to draw for this model. An .svg without a choice has the cross attention alone, if there is one.
uint32_t vkf_attention_choice_kinds(const vkf_attention_choice *choice, const vkf_model_config *config);

// The first says whether the options make sense without a model, the second whether the model has all that was chosen.
// False: the reason has been printed.
bool vkf_attention_choice_complete(const vkf_attention_choice *choice);
bool vkf_attention_choice_fits(const vkf_attention_choice *choice, const vkf_model_config *config);

#endif
