"""Errors in the floors."""
from planted_error import Error

ERRORS = (
    # base
    Error("a zero in a shape excuses that the rest overflows", "src/base/size.c",
          "if (factors[i] == 0)\n            zero = true;\n        else if (!vkf__mul_u64(",
          "zero = zero || factors[i] == 0;\n        if (!zero && !vkf__mul_u64(", ("unit.size",)),
    Error("halves round ties away from zero", "src/base/half.c",
          "return kept + (rest > tie || (rest == tie && (kept & 1u)));", "return kept + (rest >= tie);",
          ("unit.half",)),
    # io
    Error("of bools in a file the last piece is not looked at", "src/io/stored_tensor.c",
          "if (index % piece == 0)", "if (index % piece == 0 && (index == 0 || tensor->count - index > piece))",
          ("unit.safetensors",)),
    Error("the padding before an entry of a zip archive counts as data", "src/io/zip_directory.c",
          "LOCAL_BYTES + vkf__load_le(local + 26, 2) + vkf__load_le(local + 28, 2);",
          "LOCAL_BYTES + vkf__load_le(local + 26, 2);", ("unit.torch_file",)),
    # text
    Error("of equal merges the rightmost goes first", "src/text/bpe.c",
          "return a->rank != b->rank ? a->rank < b->rank : a->place < b->place;",
          "return a->rank != b->rank ? a->rank < b->rank : a->place > b->place;", ("unit.tokenizer_models",)),
    Error("byte fallback of a piece gives each byte an offset of its own", "src/text/unigram.c",
          "text[at]], begin, end);", "text[at]], at, at + 1);", ("unit.tokenizer_models",)),
    # reference
    Error("the reference's window is one key wider", "src/reference/reference_softmax.c",
          "(int64_t)s + desc->window > position;", "(int64_t)s + desc->window >= position;",
          ("unit.reference_softmax",)),
    Error("the reference adds the residual before the activation", "src/reference/reference_gemm.c",
          "value = vkf__ref_activation(desc->activation, value);\n                if (desc->residual)\n"
          "                    value += desc->residual[at];",
          "if (desc->residual)\n                    value += desc->residual[at];\n"
          "                value = vkf__ref_activation(desc->activation, value);", ("unit.reference",)),
    # vk
    Error("a temporary takes the place of one that the same step still reads", "src/vk/arena.c",
          "return a->first_use <= b->last_use && b->first_use <= a->last_use;",
          "return a->first_use < b->last_use && b->first_use < a->last_use;", ("unit.arena",)),
    Error("a mask raises a limit above that of the profile", "src/vk/caps_limit.c",
          "if (caps->field > value)", "if (caps->field != value)", ("unit.caps_limit",)),
    Error("the last of the alignments is not looked at", "src/vk/plan.c",
          "for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; i++)",
          "for (size_t i = 0; i + 1 < sizeof alignments / sizeof alignments[0]; i++)", ("unit.plan",)),
    # kernel
    Error("a write after a read gets no barrier", "src/kernel/hazard.c",
          "return (a->write || b->write) && a->buffer", "return a->write && a->buffer", ("unit.hazard",)),
    Error("the largest number of rows of a class is tuned as the next class", "src/kernel/tuned.c",
          "if (m <= bounds[i])", "if (m < bounds[i])", ("unit.tuned",)),
    Error("a kernel that is wrong serves as the last resort", "src/kernel/select.c",
          "vkf__verdict_get(selector->verdicts, kernel, config) == VKF_VERDICT_SLOW &&",
          "vkf__verdict_get(selector->verdicts, kernel, config) != VKF_VERDICT_PASSED &&", ("unit.select",)),
    # op
    Error("rotary embedding begins at position 0 behind a cache", "src/op/rotary.c",
          ".first_position = args->first_position,", ".first_position = 0,", ("gpu.op_rotary.lavapipe.full",)),
    Error("the last row of a cycle reads one that has moved", "src/op/reorder.c",
          "sources[to] == row ? -1 : (int32_t)sources[to];", "(int32_t)sources[to];",
          ("gpu.op_beams.lavapipe.full",)),
    # prove
    Error("the self-test of norms keeps the memory of its residual", "src/prove/self_test_rows.c",
          "    vkf__free(host, arrays.residual);\n", "", ("unit.self_test_rows",)),
    Error("the gate has no edge shapes", "src/prove/self_test.c",
          "[VKF_OP_GATE] = {vkf__bed_gate, NULL},", "[VKF_OP_GATE] = {NULL, NULL},", ("unit.operators",)),
    # observe
    Error("a probe does not read the last element", "src/observe/probe.c",
          "return last + 1;", "return last;", ("gpu.profile.lavapipe.full",)),
    Error("the time of a dispatch counts from the beginning of its submission", "src/observe/profile.c",
          ".gpu_ns = end_ns - begin_ns,", ".gpu_ns = end_ns,", ("gpu.profile.lavapipe.full",)),
    # layer
    Error("the bias of keys is added to values", "src/layer/attention_block.c",
          ".v_bias = vkf__span_of(&weights->v_bias),", ".v_bias = vkf__span_of(&weights->k_bias),",
          ("gpu.layer_attention.lavapipe.full",)),
    Error("the zero key lies over the learned one", "src/layer/projection.c",
          "        position++;\n", "", ("gpu.layer_attention.lavapipe.full",)),
    Error("cross attention takes the norm of self attention", "src/layer/transformer_layer.c",
          "VKF_TRY(begin_block(work, block, 1, &io->x, rows, &input));",
          "VKF_TRY(begin_block(work, block, 0, &io->x, rows, &input));",
          ("gpu.layer_transformer.lavapipe.full",)),
    # model
    Error("a stop string counts again when it ended one token before", "src/model/stop_strings.c",
          "for (size_t end = begin + 1; end <= bytes; end++)", "for (size_t end = begin; end <= bytes; end++)",
          ("unit.stop_strings",)),
    Error("dynamic rotary embedding grows one token late", "src/model/rotary_rows.c",
          "uint32_t len = sequence_len > 0 ? sequence_len : t + 1;",
          "uint32_t len = sequence_len > 0 ? sequence_len : t;", ("unit.rotary",)),
    Error("new tokens that just fill the context are refused", "src/model/generation.c",
          "needed <= context - longest", "needed < context - longest", ("model.decoder.lavapipe.full",)),
    # api
    Error("a mask with too few heads or rows is taken", "src/api/mask_check.c",
          "if (size != 1 && size != sizes[i])", "if (size != 1 && size > sizes[i])",
          ("gpu.op_arguments.lavapipe.full",)),
    Error("an input that begins before the output may reach into it", "src/api/check.c",
          "in->buffer != out->buffer || tensor_end(in) <= out->offset_bytes ||",
          "in->buffer != out->buffer || in->offset_bytes <= out->offset_bytes ||",
          ("gpu.op_arguments.lavapipe.full",)),
    # tools/program
    Error("the deviation is that of all and not of a sample", "tools/program/measure/sample_stats.c",
          "sqrt(squares / (count - 1))", "sqrt(squares / count)", ("unit.sample_stats",)),
    Error("text between zeros loses a carriage return", "tools/program/input/line_reader.c",
          "if (!reader->by_zeros && size > 0 &&", "if (size > 0 &&", ("unit.line_reader",)),
)
