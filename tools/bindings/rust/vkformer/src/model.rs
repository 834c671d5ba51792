//! How models are kept on the device.

use crate::c_enum::c_enum;

c_enum! {
    /// How parameters and activations are stored: `<vkformer/model.h>` has the bounds of each.
    #[derive(Default)]
    ModelPrecision: vkf_model_precision {
        #[default]
        F32 = VKF_MODEL_PRECISION_F32,
        F16Weights = VKF_MODEL_PRECISION_F16_WEIGHTS,
        Bf16Weights = VKF_MODEL_PRECISION_BF16_WEIGHTS,
        F16 = VKF_MODEL_PRECISION_F16,
        /// What the device and the file suggest.
        Auto = VKF_MODEL_PRECISION_AUTO,
    }
}

c_enum! {
    /// Weights of linear layers in blocks.
    #[derive(Default)]
    Quantization: vkf_quantization {
        /// As stored.
        #[default]
        None = VKF_QUANTIZATION_NONE,
        Q8 = VKF_QUANTIZATION_Q8,
        Q4 = VKF_QUANTIZATION_Q4,
    }
}
