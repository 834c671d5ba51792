"""Every array that the package hands to the library has the length that the library reads: a sweep over all functions
that take arrays, with ones that are too short, too long, of another rank or type, and not in one piece."""
import inspect
import re

import numpy as np

import vkformer

from package_support import PRETRAINED, WRONG, Numbers

# What has no array in it, though its type is written as if it might: texts, paths, options, and other objects.
OTHERS = {"texts", "pairs", "prompts", "stop", "masks", "names", "trained", "lora_targets", "sizes", "options",
          "settings", "module", "message", "progress", "on_text", "model", "inputs", "modules", "shape", "dtype",
          "normalized_shape", "norm", "sections"}


def shorter(array, axis):
    return np.delete(array, -1, axis)


def longer(array, axis):
    return np.concatenate([array, np.take(array, [0], axis)], axis)


def spoiled(array):
    """Ways in which an array is not what it has to be."""
    array = np.asarray(array)
    for axis in range(array.ndim):
        if array.shape[axis] > 1:
            yield f"one short along {axis}", shorter(array, axis)
        yield f"one long along {axis}", longer(array, axis)
    yield "one axis more", array[np.newaxis, np.newaxis] if array.ndim == 2 else array[np.newaxis]
    yield "one axis less", array.reshape(-1) if array.ndim > 1 else array[0]
    yield "complex numbers", array.astype(np.complex64)
    yield "texts", np.full(array.shape, "a")


def in_pieces(array):
    """The same numbers, not one after the other."""
    array = np.asarray(array)
    wide = np.zeros((*array.shape, 3), array.dtype)
    wide[..., 1] = array
    return wide[..., 1]


def spoiled_rows(rows):
    """The same of rows of ids, beside which others stand."""
    yield from other_rows(rows)
    yield "an id too few", [*rows[:-1], rows[-1][:-1]]
    yield "an id too few in the longest", [rows[0][:-1], *rows[1:]]
    yield "an id too many", [*rows[:-1], [*rows[-1], 1]]
    yield "an id too many in the longest", [[*rows[0], 1], *rows[1:]]


def other_rows(rows):
    """The same where each row may have a length of its own."""
    yield "a row too few", rows[:-1]
    yield "a row too many", [*rows, rows[0]]
    yield from bad_rows(rows)


def bad_rows(rows):
    """What no rows of ids are, whatever stands beside them."""
    yield "rows of rows", [[row] for row in rows]
    yield "no rows", [1, 2]
    yield "fractions", [[id + 0.5 for id in row] for row in rows]
    yield "texts", [["a"] * len(row) for row in rows]
    yield "more than 32 bits", [[id + 2**32 for id in row] for row in rows]
    yield "an empty row", [*rows[:-1], []]


class Sweep(Numbers):
    def refused(self, name, ways, call):
        for way, value in ways:
            with self.subTest(f"{name}: {way}"):
                # NumPy refuses texts by itself.
                with self.assertRaises((vkformer.Error, ValueError, TypeError)):
                    call(value)

    def sweep_state(self, make, state):
        """`make` makes a layer and runs it."""
        expected = make(state)
        for name, array in state.items():
            self.refused(name, spoiled(array), lambda value: make({**state, name: value}))
            self.assert_close(make({**state, name: in_pieces(array)}), expected)

    def sweep_inputs(self, call, inputs, free=()):
        """`free` names axes whose length the caller may choose, as (input, axis), or says that they may be "more" or
        "less"."""
        expected = call(**inputs)
        for name, array in inputs.items():
            ways = [(way, value) for way, value in spoiled(array)
                    if not any(way.endswith(f" {axis}") for input, axis in free if input == name)]
            self.refused(name, ways, lambda value: call(**{**inputs, name: value}))
            self.assert_close(call(**{**inputs, name: in_pieces(array)}), expected)

    def test_attention_parameters(self):
        x = random(2, 3, 8)
        packed = {"in_proj_weight": random(24, 8), "in_proj_bias": random(24), "out_proj.weight": random(8, 8),
                  "out_proj.bias": random(8), "bias_k": random(1, 1, 8), "bias_v": random(1, 1, 8)}
        self.sweep_state(lambda state: vkformer.MultiheadAttention(state, 2)(x, x, x)[0], packed)
        keys, values = random(2, 3, 5), random(2, 3, 7)
        apart = {"q_proj_weight": random(8, 8), "k_proj_weight": random(8, 5), "v_proj_weight": random(8, 7),
                 "in_proj_bias": random(24), "out_proj.weight": random(8, 8), "out_proj.bias": random(8)}
        self.sweep_state(lambda state: vkformer.MultiheadAttention(state, 2)(x, keys, values)[0], apart)

    def test_attention_inputs(self):
        state = {"q_proj_weight": random(8, 8), "k_proj_weight": random(8, 5), "v_proj_weight": random(8, 7),
                 "out_proj.weight": random(8, 8)}
        attention = vkformer.MultiheadAttention(state, 2, batch_first=True)
        inputs = {"query": random(2, 3, 8), "key": random(2, 4, 5), "value": random(2, 4, 7),
                  "attn_mask": random(3, 4), "key_padding_mask": random(2, 4)}
        self.sweep_inputs(lambda **inputs: attention(**inputs)[0], inputs)
        inputs["attn_mask"], inputs["key_padding_mask"] = np.zeros((4, 3, 4), bool), np.zeros((2, 4), bool)
        self.sweep_inputs(lambda **inputs: attention(**inputs)[0], inputs)

    def test_layers(self):
        x, memory = random(2, 3, 8), random(2, 4, 8)
        encoder, decoder = layer_state(("self_attn",), 2), layer_state(("self_attn", "multihead_attn"), 3)
        self.sweep_state(lambda state: vkformer.TransformerEncoderLayer(state, 2)(x), encoder)
        self.sweep_state(lambda state: vkformer.TransformerDecoderLayer(state, 2)(x, random(2, 3, 8)), decoder)
        masks = {"src": x, "src_mask": random(3, 3), "src_key_padding_mask": random(2, 3)}
        self.sweep_inputs(vkformer.TransformerEncoderLayer(encoder, 2, batch_first=True), masks)
        masks = {"tgt": x, "memory": memory, "tgt_mask": random(3, 3), "memory_mask": random(3, 4),
                 "tgt_key_padding_mask": random(2, 3), "memory_key_padding_mask": random(2, 4)}
        self.sweep_inputs(vkformer.TransformerDecoderLayer(decoder, 2, batch_first=True), masks)

    def test_stacks(self):
        x, memory = random(2, 3, 8), random(2, 4, 8)
        encoder, decoder = stack_state("encoder."), stack_state("decoder.")
        self.sweep_state(lambda state: vkformer.Transformer(state, 2)(x, x), {**encoder, **decoder})
        of = {"mask": random(3, 3), "key_padding_mask": random(2, 3)}
        inputs = {"src": x, "mask": of["mask"], "src_key_padding_mask": of["key_padding_mask"]}
        self.sweep_inputs(vkformer.TransformerEncoder(without_prefix(encoder), 2, batch_first=True), inputs)
        inputs = {"src": memory, "tgt": x, "src_mask": random(4, 4), "memory_mask": random(3, 4),
                  "src_key_padding_mask": random(2, 4), "memory_key_padding_mask": random(2, 4),
                  **{f"tgt_{name}": mask for name, mask in of.items()}}
        self.sweep_inputs(vkformer.Transformer({**encoder, **decoder}, 2, batch_first=True), inputs)

    def test_operators(self):
        x, weight, bias = random(2, 3, 8), random(4, 8), random(4)
        rows = [("input", axis) for axis in (0, 1, "more")]
        state = {"weight": weight, "bias": bias}
        self.sweep_inputs(vkformer.linear, {"input": x, **state}, rows)
        self.sweep_inputs(vkformer.linear, {"input": x, **state, "residual": random(2, 3, 4)})
        self.sweep_state(lambda state: vkformer.Linear(state)(x), state)
        self.sweep_inputs(vkformer.matmul, {"input": x, "other": random(2, 8, 4)}, [("input", 1), ("other", 2)])
        for function in (vkformer.softmax, vkformer.log_softmax, lambda input: vkformer.activate(input, "relu"),
                         vkformer.argmax):
            self.sweep_inputs(function, {"input": x}, [("input", axis) for axis in (0, 1, 2, "more", "less")])
        self.sweep_inputs(vkformer.rotary, {"input": random(2, 3, 4, 8), "table": vkformer.rotary_table(5, 6),
                                            "positions": np.array([[0, 1, 2, 3], [1, 2, 3, 4]])},
                          [*(("input", axis) for axis in (1, 3)), ("table", 0), ("positions", 0)])
        self.sweep_inputs(lambda input, other: vkformer.concat([input, other], 2), {"input": x, "other": random(2, 3, 5)},
                          [("input", 2), ("other", 2)])
        self.refused("factors", spoiled(np.ones(3)), lambda value: vkformer.rotary_table(5, 6, factors=value))
        state = {"weight": random(8), "bias": 1 + random(8)}
        self.sweep_inputs(lambda **inputs: vkformer.layer_norm(normalized_shape=8, **inputs), {"input": x, **state},
                          rows)
        self.sweep_inputs(lambda **inputs: vkformer.rms_norm(normalized_shape=8, **inputs), {
            "input": x, "weight": state["weight"], "residual": random(2, 3, 8)})
        for kind, names in ((vkformer.LayerNorm, ("weight", "bias")), (vkformer.RMSNorm, ("weight",))):
            self.sweep_state(lambda state: kind(state, 8)(x), {name: state[name] for name in names})
        ids = np.array([[1, 2, 3], [0, 1, 3]])
        anything = [("input", axis) for axis in (0, 1, "more", "less")]
        self.sweep_inputs(vkformer.embedding, {"input": ids, "weight": weight},
                          [*anything, *(("weight", axis) for axis in (0, 1))])
        self.refused("ids", [("fractions", ids + 0.5), ("large", ids + 2**32)],
                     lambda value: vkformer.embedding(value, weight))
        inputs = {"query": random(2, 3, 4, 8), "key": random(2, 3, 5, 8), "value": random(2, 3, 5, 7),
                  "attn_mask": random(4, 5)}
        self.sweep_inputs(vkformer.scaled_dot_product_attention, inputs, [("value", 3), ("attn_mask", "more")])
        inputs |= {"slopes": random(3), "sinks": random(3), "lengths": np.array([5, 2])}
        self.sweep_inputs(vkformer.scaled_dot_product_attention, inputs, [
            ("value", 3), ("attn_mask", "more"), ("lengths", "more"), ("lengths", "less")])
        inputs = {"input": random(3, 4), "scale": np.ones(4), "zero": np.arange(4)}
        self.sweep_inputs(vkformer.quantize_linear, inputs, [("input", 0), ("input", "more"), ("input", "less")])
        inputs = {"input": np.ones((5, 3), np.int8), "other": np.ones((3, 4), np.uint8), "input_zero": np.arange(5),
                  "other_zero": np.arange(4), "input_scale": np.ones(5), "other_scale": np.ones(4),
                  "out_scale": np.ones(1), "out_zero": np.array([3])}
        self.sweep_inputs(vkformer.matmul_int8, inputs, [
            ("input", "more"), *((name, "less") for name in inputs if name not in ("input", "other"))])
        inputs = {"input": random(3, 4, 5), "index": np.array([[[1], [0], [3]]])}
        self.sweep_inputs(lambda **inputs: vkformer.gather(dim=1, **inputs), inputs,
                          [*(("input", axis) for axis in range(3)), ("index", 1)])
        inputs["src"] = random(3, 3, 5)
        self.sweep_inputs(lambda **inputs: vkformer.scatter(dim=1, **inputs), inputs, [("input", 1)])

    def test_tensors(self):
        for dtype in (np.complex64, np.float64, np.int64, "U1"):
            self.assert_error(WRONG, "a tensor has", vkformer.Tensor, np.zeros((2, 3), dtype))
        values = random(2, 3)
        np.testing.assert_array_equal(vkformer.Tensor(in_pieces(values)).numpy(), values)

    def test_sessions(self):
        rows, types = [[5, 6, 7], [8, 9]], [[0, 1, 1], [0, 1]]
        session = vkformer.Model(PRETRAINED / "bert").session(max_batch=4, max_source_len=8)
        expected = session.encode(rows, types).embeddings
        self.refused("types", spoiled_rows(types), lambda value: session.encode(rows, value))
        self.refused("rows", spoiled_rows(rows), lambda value: session.encode(value, types))
        pieces = [in_pieces(row) for row in rows]
        self.assert_close(session.encode(pieces, [in_pieces(row) for row in types]).embeddings, expected)
        session = vkformer.Model(PRETRAINED / "gpt2").session(max_batch=4, max_target_len=8, max_logit_rows=4)
        self.refused("logits", bad_rows(rows), session.logits)
        self.refused("logits", [("lengths", rows), ("too many", [rows[0]] * 5)], session.logits)
        rows_but_empty = [(way, value) for way, value in bad_rows(rows) if way != "an empty row"]
        self.refused("prefill", rows_but_empty, session.prefill)
        self.refused("step", [("rows", rows), ("fractions", [0.5]), ("too many", [5] * 5), ("texts", ["a"])], session.step)
        self.assertEqual(session.tokens(0), [])
        session.prefill(pieces)
        self.assertEqual([session.tokens(0), session.tokens(1)], rows)
        self.refused("generate", bad_rows(rows), lambda value: session.generate(value, max_new_tokens=2))
        self.assertEqual(session.generate(pieces, max_new_tokens=2), session.generate(rows, max_new_tokens=2))

    def test_targets_are_as_many_as_sources(self):
        rows = [[5, 6, 7], [8, 9, 4]]
        session = vkformer.Model(PRETRAINED / "marian").session(max_batch=3, max_source_len=8, max_target_len=8,
                                                                max_logit_rows=4)
        session.encode(rows)
        expected = session.logits(rows)
        ways = [("one", rows[:1]), ("three", [*rows, rows[0]])]
        self.refused("another number of rows than encode()", ways, session.logits)
        self.assert_close(session.logits(rows), expected)

    def sweep_batches(self, trainer, batch):
        """A loss that is right, and one for every array of a batch that is not."""
        expected = trainer.evaluate(vkformer.Batch(**batch))
        for name, rows in batch.items():
            if isinstance(rows[0], int):
                ways = [("too few", rows[:-1]), ("too many", [*rows, 0]), ("rows of two", [[row, row] for row in rows]),
                        ("fractions", [0.5] * len(rows))]
            else:
                # Beside sources stand types, and an encoder's labels.
                alone = name == "source" and "types" not in batch
                ways = other_rows(rows) if alone else spoiled_rows(rows)
                pieces = vkformer.Batch(**{**batch, name: [in_pieces(row) for row in rows]})
                self.assertEqual(trainer.evaluate(pieces), expected)
            for way, value in ways:
                for run in (trainer.evaluate, trainer.step):
                    self.refused(name, [(way, value)], lambda value: run(vkformer.Batch(**{**batch, name: value})))
        self.assertEqual(trainer.steps, 0)
        self.assertEqual(trainer.evaluate(vkformer.Batch(**batch)), expected)
        for name in batch:
            if name in ("source", "target"):
                without = vkformer.Batch(**{**batch, name: None})
                self.refused(name, [("missing", without)], trainer.step)

    def test_batches(self):
        sizes = {"rate": 1e-3, "max_batch": 4, "max_target_len": 8}
        gpt2 = vkformer.Trainer(vkformer.Model(PRETRAINED / "gpt2", trainable=True), **sizes)
        self.sweep_batches(gpt2, {"target": [[5, 6, 7, 8], [8, 9]], "labels": [[6, 7, 8, -100], [9, -100]]})
        sizes["max_source_len"] = 8
        source, types = [[5, 6, 7, 8], [8, 9]], [[0, 0, 1, 1], [0, 1]]
        for name, labels in (("bert-masked-lm", [[-100, 7, -100, 8], [5, -100]]),
                             ("bert-token-classification", [[0, 1, 0, 1], [1, 0]]),
                             ("bert-sequence-classification", [1, 0])):
            with self.subTest(name):
                trainer = vkformer.Trainer(vkformer.Model(PRETRAINED / name, trainable=True), **sizes)
                self.sweep_batches(trainer, {"source": source, "types": types, "labels": labels})
        trainer = vkformer.Trainer(vkformer.Model(PRETRAINED / "marian", trainable=True), **sizes)
        self.sweep_batches(trainer, {"source": source, "target": source, "labels": source})
        trainer = vkformer.Trainer(vkformer.Model(PRETRAINED / "sentence-mean", trainable=True), loss="contrastive",
                                   **sizes)
        self.sweep_batches(trainer, {"source": source})
        self.assert_error(WRONG, "no labels are learned", trainer.step, vkformer.Batch(source=source, labels=[0, 1]))

    def test_a_label_that_is_ignored_fills_up_rows(self):
        sizes = {"rate": 1e-3, "max_batch": 4, "max_target_len": 8}
        model = vkformer.Model(PRETRAINED / "gpt2", trainable=True)
        batch = {"target": [[5, 6, 7, 8], [8, 9]], "labels": [[6, 7, 8, -1], [9, -1]]}
        self.assertEqual(vkformer.Trainer(model, ignored_label=-1, **sizes).evaluate(vkformer.Batch(**batch))["labels"],
                         4)

    def test_tokens_and_pairs(self):
        tokenizer = vkformer.Tokenizer(PRETRAINED / "gpt2")
        expected = tokenizer.decode([5, 6, 7])
        self.assertEqual(tokenizer.decode(in_pieces([5, 6, 7])), expected)
        self.assertEqual((tokenizer.decode([]), tokenizer.decode(5)), ("", tokenizer.decode([5])))
        self.refused("ids", [("rows", [[5, 6]]), ("fractions", [5.5]), ("large", [2**32 + 5]), ("texts", ["a"])],
                     tokenizer.decode)
        embedder = vkformer.Embedder(PRETRAINED / "bert-sequence-classification", head=True)
        self.refused("pairs", [("one", ["b"]), ("three", ["b"] * 3), ("a text", "bb"), ("numbers", [1, 2])],
                     lambda value: embedder.predict(["a", "a"], value))
        self.refused("texts", [("a text", "aa"), ("numbers", [1, 2])], embedder.predict)

    def test_every_function_is_swept(self):
        """A parameter that may take arrays is swept above, by its name, or is none."""
        swept = {"state_dict", "query", "key", "value", "key_padding_mask", "attn_mask", "src", "src_mask",
                 "src_key_padding_mask", "tgt", "memory", "tgt_mask", "memory_mask", "tgt_key_padding_mask",
                 "memory_key_padding_mask", "array", "rows", "types", "batch", "batches", "source", "target", "labels",
                 "ids", "input", "weight", "bias", "other", "mask", "table", "positions", "factors", "slopes", "sinks",
                 "residual", "rotary", "lengths", "index", "scale", "zero",
                 "input_zero", "other_zero", "input_scale", "other_scale", "out_scale", "out_zero"}
        results = (vkformer.Encoded, vkformer.Encoding, vkformer.Prediction, vkformer.Generated, vkformer.Continuation,
                   vkformer.Plan)
        found = set()
        for name in vkformer.__all__:
            kind = getattr(vkformer, name)
            for function in functions_of(kind) if callable(kind) and kind not in results else ():
                for parameter in inspect.signature(function).parameters.values():
                    if re.search("Any|Rows|Sequence|Mapping|ndarray|Batch|Iterable|Shape", str(parameter.annotation)):
                        found.add(parameter.name)
        self.assertEqual(found - OTHERS, swept)


def functions_of(kind):
    if inspect.isfunction(kind):
        return [kind]
    own = [kind.__init__] if "__init__" in vars(kind) or kind.__bases__ != (object,) else []
    for name in dir(kind):
        found = getattr(kind, name)
        if not name.startswith("_") and (inspect.isfunction(found) or inspect.ismethod(found)):
            own.append(found)
    return own


def random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def layer_state(attentions, norms):
    state = {"linear1.weight": random(16, 8), "linear1.bias": random(16), "linear2.weight": random(8, 16),
             "linear2.bias": random(8)}
    for name in attentions:
        state |= {f"{name}.in_proj_weight": random(24, 8), f"{name}.in_proj_bias": random(24),
                  f"{name}.out_proj.weight": random(8, 8), f"{name}.out_proj.bias": random(8)}
    for i in range(norms):
        state |= {f"norm{i + 1}.weight": random(8), f"norm{i + 1}.bias": random(8)}
    return state


def stack_state(prefix):
    """Of an encoder or a decoder of one layer, with a norm."""
    attentions, norms = (("self_attn",), 2) if prefix == "encoder." else (("self_attn", "multihead_attn"), 3)
    state = {f"{prefix}layers.0.{name}": array for name, array in layer_state(attentions, norms).items()}
    return state | {f"{prefix}norm.weight": random(8), f"{prefix}norm.bias": random(8)}


def without_prefix(state):
    return {name.split(".", 1)[1]: array for name, array in state.items()}
