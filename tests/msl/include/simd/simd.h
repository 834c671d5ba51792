// metal_stdlib has what the kernels take.
