"""What `gradient formats` prints."""

FORMATS = """\
CASES/case_XXXX/{config.json, weights.safetensors, inputs.safetensors, expected.safetensors}, and results in
RESULTS/case_XXXX/out.safetensors. config.json has "kind": "gradient", "of": the kind, its sizes and modes, and where it
came from: "seed" and "index".

  inputs    the forward inputs, and grad_NAME for each output NAME: the gradient that comes from above
  weights   under PyTorch's names; Linear.weight is (out, in)
  expected  the outputs, and grad_NAME for each floating-point input and each weight, of the same shape

All tensors are row-major. Numbers are F32, ids and labels I32, masks BOOL (True: masked) or F32 (added to scores).
Masks have no gradient. Where one tensor is used twice (self-attention, a shared B) its gradient is the sum. In every
row some key is visible: PyTorch's gradient of a row that sees none is NaN, so no case has one ("fully_masked" is always
false). Arithmetic is float64; "permute" has to be exact. A tensor that vanishes (the gradient of a query that sees one
key, the norm of one column) is compared with the largest upstream gradient in place of its own largest element. No
value comes nearer than 1e-5 to ReLU's kink but those that are inputs: 0 has the derivative 0. A case is drawn again
when float32 alone takes a quarter of the tolerance.

gemm           in: A B C? bias?;  out = alpha op(A) op(B) + beta C + bias
               A [batch,m,k] or [batch,k,m] with trans_a; B [batch,k,n] or [batch,n,k] with trans_b, without batch if
               b_shared; C [batch,m,n]; bias [n].  beta 0: C holds NaN, is not read, and has no gradient
layernorm      in: x[rows,dim]; w: weight? bias? (affine);  out; biased variance, eps inside the root
rmsnorm        the same with mean 0; w: weight?
softmax        in: x[rows,cols] mask[rows,cols]?;  out = softmax(scale x + mask); x may hold -inf
permute        in: x;  out; split_heads: [B,L,H,D] -> [B,H,L,D], merge_heads: [B,H,L,D] -> [B,L,H,D]
sdpa           in: query[batch,heads,q_len,head_dim] key[batch,kv_heads,k_len,head_dim] value[..,v_dim]
               mask [q_len,k_len] or [batch,heads,q_len,k_len]?  key_mask [batch,k_len], or lengths I32 [batch]?
               cfg: mask none|bool|float|bool3d|float3d; key_mask none|bool|float|lengths; scale;
               causal none|top_left|bottom_right (offset k_len - q_len); window: of the last keys, 0 unlimited
               query head h reads key head h / (heads / kv_heads);  out: output[batch,heads,q_len,v_dim]
additive_attention  in: s[batch,tgt_len,d_s] h[batch,src_len,d_h] mask[batch,src_len]?
               w: W_s.weight[attn_dim,d_s] W_h.weight[attn_dim,d_h] (+ .bias?) v.weight[1,attn_dim]
               out: scores = v . tanh(W_s s + W_h h), weights = softmax(masked scores), context = weights h;
               all three have an upstream gradient
mha            in: query[batch,tgt_len,embed_dim] key[batch,src_len,kdim] value[batch,src_len,vdim]
               attn_mask [tgt_len,src_len] or [batch*num_heads,tgt_len,src_len]?  key_padding_mask [batch,src_len]?
               w: nn.MultiheadAttention's; self_attention: key and value are query, and have no gradient of their own
               cfg: attn_mask none|bool|float|bool3d|float3d|causal_bool|causal_float; key_padding_mask none|bool|float
               bias add_bias_kv add_zero_attn
               out: output; attn_weights[batch,tgt_len,src_len+bias_kv+zero] if "weights" is "average", not "none".
               Only output has an upstream gradient
encoder_layer  in: src[batch,src_len,d_model] src_mask? src_key_padding_mask?;  out: output
decoder_layer  in: tgt memory tgt_mask? memory_mask? tgt_key_padding_mask? memory_key_padding_mask?;  out: output
transformer    in: src tgt and any of these masks (cfg: masks);  out: memory, output
               cfg of all three: activation relu|gelu (erf), norm_first, layer_norm_eps, dropout 0
cross_entropy  in: logits[rows,vocab] labels[rows];  out: loss[1], the mean over rows whose label is not ignore_index,
               with label_smoothing, and losses[rows], which has no upstream gradient
activation     in: x[rows,dim];  out;  cfg: activation relu|gelu|gelu_tanh|silu|tanh|none
gate           in: x[rows,2*dim];  out[rows,dim] = activation(x[:,:dim]) * x[:,dim:]
embedding      in: ids[batch,len]; w: weight[vocab,dim] positions.weight[max_len,dim]? (cfg: positions)
               out[batch,len,dim] = scale weight[ids] + positions.weight[:len]
"""
