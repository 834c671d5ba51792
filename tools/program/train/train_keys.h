// Every setting of a training run, once: where it stands in CONFIG.json, its option, its type and limits, and where it
// is kept. The file's reader, the options, their help and the checks are made from this list.
#ifndef VKF_PROGRAM_TRAIN_KEYS_H
#define VKF_PROGRAM_TRAIN_KEYS_H

// X(id, section, key, flag, kind, member, min, max, help). The section "" is the top level of CONFIG.json. Limits count
// for numbers alone.
//
// clang-format off
#define VKF_TRAIN_KEYS(X)                                                                                             \
    X(MODEL, "", "model", "model", TEXT, model, 0, 0, "DIR: the model that is trained further")                       \
    X(TOKENIZER, "", "tokenizer", "tokenizer", TEXT, tokenizer, 0, 0, "DIR: that of a new model")                     \
    X(OUTPUT, "", "output", "out", TEXT, output, 0, 0, "DIR: where the trained model is written")                  \
    X(DTYPE, "", "dtype", "dtype", DTYPE, dtype, 0, 0, "mixed precision: in which products read weights")        \
    X(SEED, "", "seed", "seed", U64, seed, 0, 9.2e18, "of all random numbers")                                        \
    X(TASK, "", "task", "task", TASK, task, 0, 0, "what is learned; else what model and data say")                    \
    X(LOSS_ON, "", "loss_on", "loss-on", LOSS_ON, loss_on, 0, 0, "which tokens of a prompt and its completion count") \
    X(PARAMETERS, "", "parameters", "parameters", PARAMETERS, parameters, 0, 0, "which are trained")                  \
    X(STEPS, "", "steps", "steps", U32, steps, 1, 4e9, "ends after so many")                                          \
    X(EPOCHS, "", "epochs", "epochs", U32, epochs, 1, 1e6, "ends after so many")                                      \
    X(BATCH_TOKENS, "", "batch_tokens", "batch-tokens", U32, batch_tokens, 1, 1 << 24,                                \
      "tokens of a batch with its padding, source or target")                                                         \
    X(BATCH_ROWS, "", "batch_rows", "batch-rows", U32, batch_rows, 1, 1 << 20,                                        \
      "examples of a batch at most; else 8 or 16, or with --batch-tokens any")                                        \
    X(ACCUMULATION, "", "accumulation", "accumulation", U32, accumulation, 1, 1 << 16, "batches of a step")           \
    X(LABEL_SMOOTHING, "", "label_smoothing", "label-smoothing", REAL, label_smoothing, 0, 0.99,                      \
      "share of the probability that goes to all tokens")                                                             \
    X(DROPOUT, "", "dropout", "dropout", REAL, dropout, 0, 0.99, "probability that an activation is left out")        \
    X(ATTENTION_DROPOUT, "", "attention_dropout", "attention-dropout", REAL, attention_dropout, 0, 0.99,              \
      "the same of attention's weights; else that of all")                                                            \
    X(ACTIVATION_DROPOUT, "", "activation_dropout", "activation-dropout", REAL, activation_dropout, 0, 0.99,          \
      "the same behind the feed-forward's activation; else that of all")                                              \
    X(CONTRASTIVE_SCALE, "", "contrastive_scale", "contrastive-scale", REAL, contrastive_scale, 1e-3, 1e6,            \
      "cosines count so many times in the loss of embeddings")                                                        \
    X(CLIP_NORM, "", "clip_norm", "clip-norm", REAL, clip_norm, 0, 1e30, "largest norm of the gradient; 0: any")      \
    X(EVAL_EVERY, "", "eval_every", "eval-every", U32, eval_every, 1, 4e9,                                            \
      "steps between looks at held-out examples; else after each epoch")                                              \
    X(PATIENCE, "", "patience", "patience", U32, patience, 1, 1e6, "ends after so many looks without a better one")   \
    X(SAVE_EVERY, "", "save_every", "save-every", U32, save_every, 1, 4e9,                                            \
      "steps between checkpoints; else after each epoch")                                                             \
    X(CHECKPOINTING, "", "gradient_checkpointing", "gradient-checkpointing", BOOL, gradient_checkpointing, 0, 0,      \
      "compute activations again instead of keeping them")                                                            \
    X(TRAIN, "data", "train", "train", TEXTS, train, 0, 0, "FILE of examples; repeatable")                            \
    X(HELDOUT, "data", "heldout", "heldout", TEXTS, heldout, 0, 0, "FILE of examples to evaluate by; repeatable")     \
    X(LONG, "data", "long", "long", LONG, long_texts, 0, 0, "what is done with texts longer than the model")          \
    X(MAX_LENGTH, "data", "max_length", "max-length", U32, max_length, 2, 1 << 24,                                    \
      "tokens from which on a text is long; else the model's")                                                        \
    X(PACK, "data", "pack", "pack", BOOL, pack, 0, 0, "a decoder's texts come one after the other, cut into blocks")  \
    X(MAX_BAD_LINES, "data", "max_bad_lines", "max-bad-lines", U32, max_bad_lines, 0, 4e9,                            \
      "broken lines that are left out")                                                                               \
    X(MAX_LINE_BYTES, "data", "max_line_bytes", "max-line-bytes", U32, max_line_bytes, 16, 1 << 28,                   \
      "a longer line is broken")                                                                                      \
    X(MODEL_TYPE, "new_model", "type", "model-type", MODEL_TYPE, model_type, 0, 0, "what a new model is")             \
    X(D_MODEL, "new_model", "d_model", "d-model", U32, d_model, 1, 1 << 20, "width of a new model")                   \
    X(NHEAD, "new_model", "nhead", "nhead", U32, nhead, 1, 1 << 20, "its heads")                                      \
    X(KV_HEADS, "new_model", "num_kv_heads", "kv-heads", U32, num_kv_heads, 1, 1 << 20,                               \
      "heads of its keys and values, where these are fewer")                                                          \
    X(DIM_FEEDFORWARD, "new_model", "dim_feedforward", "dim-feedforward", U32, dim_feedforward, 1, 1 << 20,           \
      "width of its feed-forward")                                                                                    \
    X(ENCODER_LAYERS, "new_model", "num_encoder_layers", "encoder-layers", U32, num_encoder_layers, 1, 1024,          \
      "its layers")                                                                                                   \
    X(DECODER_LAYERS, "new_model", "num_decoder_layers", "decoder-layers", U32, num_decoder_layers, 1, 1024,          \
      "its layers")                                                                                                   \
    X(MAX_SOURCE_LEN, "new_model", "max_source_len", "max-source-len", U32, max_source_len, 1, 1 << 20,               \
      "tokens of a source")                                                                                           \
    X(MAX_LEN, "new_model", "max_len", "max-len", U32, max_len, 2, 1 << 20, "tokens of a target")                     \
    X(ACTIVATION, "new_model", "activation", "activation", ACTIVATION, activation, 0, 0, "of its feed-forward")       \
    X(NORM_FIRST, "new_model", "norm_first", "norm-first", BOOL, norm_first, 0, 0, "norms stand before the blocks")   \
    X(SHARE_EMBED, "new_model", "share_embed", "share-embed", BOOL, share_embed, 0, 0,                                \
      "source and target have one embedding")                                                                         \
    X(TIE_PROJ, "new_model", "tie_proj", "tie-proj", BOOL, tie_proj, 0, 0, "the projection is the embedding, too")    \
    X(OPTIMIZER, "optimizer", "name", "optimizer", OPTIMIZER, optimizer, 0, 0, "how the parameters follow")           \
    X(LR, "optimizer", "lr", "lr", REAL, lr, 0, 1e6,                                                                  \
      "learning rate, else by task and width; of the paper's schedule the factor")                                    \
    X(BETAS, "optimizer", "betas", "betas", PAIR, betas, 0, 0.99999999, "A,B: of adamw and adam")                     \
    X(EPS, "optimizer", "eps", "eps", REAL, eps, 0, 1, "of adamw and adam")                                           \
    X(WEIGHT_DECAY, "optimizer", "weight_decay", "weight-decay", REAL, weight_decay, 0, 1e3,                          \
      "decay of all parameters, biases and norms too")                                                                \
    X(MOMENTUM, "optimizer", "momentum", "momentum", REAL, momentum, 0, 0.99999999, "of sgd")                         \
    X(NESTEROV, "optimizer", "nesterov", "nesterov", BOOL, nesterov, 0, 0, "of sgd with a momentum")                  \
    X(SCHEDULE, "schedule", "name", "schedule", SCHEDULE, schedule, 0, 0, "how the learning rate changes")            \
    X(WARMUP, "schedule", "warmup", "warmup", U32, warmup, 0, 4e9, "steps in which it rises from 0")                  \
    X(LORA_RANK, "lora", "rank", "lora-rank", U32, lora_rank, 1, 65536, "of the matrices beside the weights")         \
    X(LORA_ALPHA, "lora", "alpha", "lora-alpha", REAL, lora_alpha, 0, 1e6, "their product counts alpha / rank")       \
    X(LORA_DROPOUT, "lora", "dropout", "lora-dropout", REAL, lora_dropout, 0, 0.99,                                   \
      "probability that an element of their input is left out")                                                       \
    X(LORA_TARGETS, "lora", "targets", "lora-target", TEXTS, lora_targets, 0, 0,                                      \
      "NAME of weights that get them; repeatable")
// clang-format on

typedef enum vkf_train_kind {
    VKF_TRAIN_KIND_TEXT = 0, // char *
    VKF_TRAIN_KIND_TEXTS,    // vkf_train_texts, an array of strings
    VKF_TRAIN_KIND_U32,      // a whole number
    VKF_TRAIN_KIND_U64,
    VKF_TRAIN_KIND_REAL, // double
    VKF_TRAIN_KIND_PAIR, // double[2], an array of two numbers
    VKF_TRAIN_KIND_BOOL,
    VKF_TRAIN_KIND_DTYPE, // from here on the name of one of several: uint32_t
    VKF_TRAIN_KIND_PARAMETERS,
    VKF_TRAIN_KIND_MODEL_TYPE,
    VKF_TRAIN_KIND_ACTIVATION,
    VKF_TRAIN_KIND_OPTIMIZER,
    VKF_TRAIN_KIND_SCHEDULE,
    VKF_TRAIN_KIND_TASK,
    VKF_TRAIN_KIND_LOSS_ON,
    VKF_TRAIN_KIND_LONG,
    VKF_TRAIN_KIND_COUNT,
} vkf_train_kind;

typedef enum vkf_train_key {
#define X(id, section, key, flag, kind, member, min, max, help) VKF_TRAIN_##id,
    VKF_TRAIN_KEYS(X)
#undef X
        VKF_TRAIN_KEY_COUNT
} vkf_train_key;

#endif
