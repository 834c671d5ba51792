"""Errors in the gradients of operators on rows, and in sums over rows."""
from planted_error import Error

REFERENCE = ("unit.reference_grad_rows",)
CASES = ("gpu.op_cases.lavapipe.full",)

ERRORS = (
    # The formulas, against differences
    Error("the gradient of LayerNorm forgets that the mean moves", "src/op/train/layer_norm_grad.c",
          "mean += row->rms ? 0 : gradient / row->dim;", "mean += 0;", REFERENCE),
    Error("the gradient of a norm forgets that the deviation moves", "src/op/train/layer_norm_grad.c",
          "mean + slope * vkf__norm_row_value(e, row, col)", "mean", REFERENCE),
    Error("the gradient of softmax forgets that its sum moves", "src/op/train/softmax_grad.c",
          "(vkf__load(e, VKF_SOFTMAX_GRAD_BINDING_DOUT, at) - mean)",
          "(vkf__load(e, VKF_SOFTMAX_GRAD_BINDING_DOUT, at) - 0 * mean)", REFERENCE),
    # The kernels
    Error("the gradient of RMSNorm takes the mean of gradients for its own", "shaders/include/norm_gradient.glsl",
          "row.mean = RMS != 0 ? 0.0 : means.z;", "row.mean = means.z;", CASES),
    Error("the gradient of a norm takes the moments without the weight", "shaders/train/layer_norm_grad.comp",
          "return HAS_WEIGHT != 0 ? gradient * weight_load(col) : gradient;", "return gradient;", CASES),
    Error("rows without gradient are multiplied by what they hold", "shaders/include/norm_gradient.glsl",
          "    if (row.along)\n", "", CASES),
    Error("the gradient of a norm reads what it does not add to", "shaders/train/layer_norm_grad.comp",
          "p.accumulate != 0 ? dx_load(at) + value : value", "dx_load(at) * float(p.accumulate) + value", CASES),
    Error("the last group of rows is as long as the others", "shaders/train/norm_gradients.comp",
          "min((group + 1) * group_rows, rows)", "(group + 1) * group_rows", CASES),
    Error("the sum for a norm's weight multiplies rows that do not count", "shaders/train/norm_gradients.comp",
          "gradients[i] != 0.0 ? gradients[i] * normed : 0.0;", "gradients[i] * normed;", CASES),
    Error("columns beyond the row count in its mean", "shaders/train/norm_gradients.comp",
          "distances[i] = inside ? x_load(at) : 0.0;", "distances[i] = x_load(at);", CASES),
    Error("the gradient of a norm's bias is read from the weight's columns", "src/op/train/norm_gradients.c",
          "groups, width, args->dim, &args->dbias)", "groups, width, 0, &args->dbias)", REFERENCE),
    Error("subgroups hold rows whatever registers they have", "src/kernel/train/registry_grad_rows.c",
          "registers >= 128 ? 8 : 4;", "16;", ("unit.select",)),
    Error("longer rows are cut to what a subgroup holds", "src/kernel/train/registry_grad_rows.c",
          "problem && problem->n > longest", "problem && problem->n / 2 > longest", CASES),
    Error("sums of groups of rows leave out the last group", "src/op/train/column_sum.c",
          ".rows = groups,", ".rows = groups > 1 ? groups - 1 : groups,", REFERENCE),
    Error("a sum over rows counts the last row of a group again", "shaders/train/column_sum.comp",
          "part[c] += row < end ? term : 0.0;", "part[c] += term;", CASES),
    Error("a sum over rows multiplies a norm's rows that do not count", "shaders/train/column_sum.comp",
          "value != 0.0 ? value * ((normed_load(at) - stats_load(2 * row)) * stats_load(2 * row + 1)) : 0.0;",
          "value * ((normed_load(at) - stats_load(2 * row)) * stats_load(2 * row + 1));", CASES),
    Error("the gradient of softmax reads behind masks", "shaders/train/softmax_grad.comp",
          "y != 0.0 ? y * (dout_load(at) - mean) : 0.0;", "y * (dout_load(at) - mean);", CASES),
    Error("the gradient of softmax counts a row's last column again", "shaders/train/softmax_grad.comp",
          "part += col < cols ? term : 0.0;", "part += term;", CASES),
)
