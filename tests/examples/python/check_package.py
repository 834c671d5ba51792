#!/usr/bin/env python3
"""check_package.py TESTS [NAME...]: the installed package beside PyTorch's and transformers' results in tests/, then
what the other files check_*.py have.

Bounds are those of the other tests: |error| <= 5e-5 + 1e-4 |expected| of a layer, and 1e-5 of an embedding.
"""
import gc
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import vkformer
from vkformer import messages
from vkformer._native import lib
from vkformer.tensor import as_array

from package_support import NEW, PRETRAINED, SENTENCE, TESTS, Numbers, expected_rows, read_safetensors


class Layers(Numbers):
    def cases(self, kind):
        found = sorted((TESTS / "golden" / kind).glob("case_*"))
        self.assertGreater(len(found), 5)
        for path in found:
            yield (path.name, json.loads((path / "config.json").read_text()),
                   *(read_safetensors(path / f"{name}.safetensors") for name in ("weights", "inputs", "expected")))

    def test_multihead_attention(self):
        for name, *case in self.cases("mha"):
            with self.subTest(name):
                self.check_multihead_attention(*case)

    def check_multihead_attention(self, config, weights, inputs, expected):
        attention = vkformer.MultiheadAttention(weights, config["num_heads"], batch_first=True,
                                                add_zero_attn=config["add_zero_attn"])
        query = inputs["query"]
        rest = (query, query) if config["self_attention"] else (inputs["key"], inputs["value"])
        masks = {name: inputs.get(name) for name in ("attn_mask", "key_padding_mask")}
        output, averaged = attention(query, *rest, **masks)
        self.assert_close(output, expected["output"])
        self.assert_close(averaged, expected["attn_weights"])
        output, per_head = attention(query, *rest, **masks, average_attn_weights=False)
        self.assert_close(per_head, expected["attn_weights_per_head"])
        output, none = attention(query, *rest, **masks, need_weights=False)
        self.assertIsNone(none)
        self.assert_close(output, expected["output"])

    def test_forms_of_multihead_attention(self):
        _, config, weights, inputs, expected = next(self.cases("mha"))
        keys = (inputs["query"], inputs["key"], inputs["value"])
        masks = {name: inputs[name] for name in ("attn_mask", "key_padding_mask")}
        attention = vkformer.MultiheadAttention(weights, config["num_heads"])
        output, _ = attention(*(array.swapaxes(0, 1) for array in keys), **masks)
        self.assert_close(output, expected["output"].swapaxes(0, 1))
        output, averaged = attention(*(array[1] for array in keys), attn_mask=masks["attn_mask"],
                                     key_padding_mask=masks["key_padding_mask"][1])
        self.assert_close(output, expected["output"][1])
        self.assert_close(averaged, expected["attn_weights"][1])
        square = inputs["query"]
        causal = np.triu(np.ones((2, 2), np.bool_), 1)
        attention.batch_first = True
        for first, second in zip(attention(square, square, square, is_causal=True),
                                 attention(square, square, square, attn_mask=causal)):
            self.assert_close(first, second)

    def test_sizes_may_grow_and_shrink(self):
        generator = np.random.default_rng(1)
        state = {"in_proj_weight": generator.normal(size=(24, 8)), "out_proj.weight": generator.normal(size=(8, 8))}
        attention = vkformer.MultiheadAttention(state, 2, batch_first=True)
        whole = generator.normal(size=(3, 9, 8)).astype(np.float32)
        for batch, length in ((1, 2), (3, 9), (2, 4), (1, 9)):
            part = whole[:batch, :length]
            output, _ = attention(part, part, part)
            anew, _ = vkformer.MultiheadAttention(state, 2, batch_first=True)(part, part, part)
            self.assert_close(output, anew)

    def test_halves_stay_halves(self):
        state = {"in_proj_weight": np.concatenate([np.eye(8)] * 3).astype(np.float16),
                 "out_proj.weight": np.eye(8, dtype=np.float16)}
        query = np.linspace(-1, 1, 24).astype(np.float16).reshape(1, 3, 8)
        attention = vkformer.MultiheadAttention(state, 1, batch_first=True)
        output, _ = attention(query, query, query)
        self.assertEqual(output.dtype, np.float16)
        exact, _ = attention(query.astype(np.float32), query.astype(np.float32), query.astype(np.float32))
        self.assertEqual(exact.dtype, np.float32)
        self.assert_close(output.astype(np.float32), exact, rtol=3e-2, atol=3e-2)

    def test_encoder_layer(self):
        for name, *case in self.cases("encoder_layer"):
            with self.subTest(name):
                self.check_encoder_layer(*case)

    def check_encoder_layer(self, config, weights, inputs, expected):
        layer = vkformer.TransformerEncoderLayer(
            weights, config["nhead"], activation=config["activation"], norm_first=config["norm_first"],
            layer_norm_eps=config["layer_norm_eps"], batch_first=True)
        self.assert_close(layer(**inputs), expected["output"])
        layer.batch_first = False
        turned = layer(**{**inputs, "src": inputs["src"].swapaxes(0, 1)})
        self.assert_close(turned, expected["output"].swapaxes(0, 1))

    def test_decoder_layer(self):
        for name, *case in self.cases("decoder_layer"):
            with self.subTest(name):
                self.check_decoder_layer(*case)

    def check_decoder_layer(self, config, weights, inputs, expected):
        layer = vkformer.TransformerDecoderLayer(
            weights, config["nhead"], activation=config["activation"], norm_first=config["norm_first"],
            layer_norm_eps=config["layer_norm_eps"], batch_first=True)
        self.assert_close(layer(**inputs), expected["output"])

    def test_wrong_parameters_and_shapes(self):
        state = {"in_proj_weight": np.zeros((24, 8)), "out_proj.weight": np.zeros((8, 8))}
        wrong = "VKF_ERROR_INVALID_ARGUMENT"
        self.assert_error(wrong, "out_proj.weight", vkformer.MultiheadAttention, {}, 2)
        self.assert_error(wrong, "multiple of num_heads", vkformer.MultiheadAttention, state, 3)
        attention = vkformer.MultiheadAttention(state, 2)
        x = np.zeros((3, 1, 8), np.float32)
        self.assert_error(wrong, "key is", attention, x, x[..., :7], x)
        self.assert_error(wrong, "(L, E)", attention, x, x[0], x)
        self.assert_error(wrong, "attention mask is", attention, x, x, x, attn_mask=np.zeros((2, 3), np.bool_))
        self.assert_error(wrong, "booleans or floats", attention, x, x, x, attn_mask=np.zeros((3, 3), np.int64))
        self.assert_error(wrong, "'swish'", vkformer.TransformerEncoderLayer,
                          {"self_attn." + name: array for name, array in state.items()} |
                          {"linear1.weight": np.zeros((4, 8))}, 2, activation="swish")


class OnlyDlpack:
    """Memory that is to be had by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array__(self, *_):
        raise AssertionError("the array was not taken by DLPack")


class Arrays(Numbers):
    def test_dlpack_in_and_out(self):
        values = np.arange(6, dtype=np.float32).reshape(2, 3)
        tensor = vkformer.Tensor(OnlyDlpack(values))
        self.assertEqual((tensor.shape, tensor.dtype), ((2, 3), np.float32))
        np.testing.assert_array_equal(np.from_dlpack(tensor), values)
        self.assertTrue(np.shares_memory(as_array(OnlyDlpack(values)), values))
        np.testing.assert_array_equal(np.asarray(tensor), values)
        np.testing.assert_array_equal(vkformer.Tensor(values.T[::-1]).numpy(), values.T[::-1])

    def test_types(self):
        for dtype in (np.float32, np.float16, np.int32, np.bool_):
            values = np.array([[0, 1, 1]], dtype)
            found = vkformer.Tensor(values).numpy()
            np.testing.assert_array_equal(found, values)
            self.assertEqual(found.dtype, dtype)
        self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "complex", vkformer.Tensor, np.zeros(2, np.complex64))


class Texts(Numbers):
    def test_tokenizer(self):
        tokenizer = vkformer.Tokenizer(PRETRAINED / "gpt2")
        for row in expected_rows("gpt2"):
            encoding = tokenizer.encode(row["text"])
            self.assertEqual(encoding.ids.tolist(), row["tokens"])
            self.assertEqual(tokenizer.decode(encoding.ids), row["text"])
            begins, ends = encoding.offsets.T
            self.assertEqual((begins[0], ends[-1]), (0, len(row["text"].encode())))
            self.assertTrue((begins[1:] <= ends[:-1]).all() and (begins < ends).all())
        self.assertEqual(tokenizer.token_to_id(tokenizer.id_to_token(53)), 53)
        self.assertIsNone(tokenizer.token_to_id("no such token"))
        self.assertIsNone(tokenizer.id_to_token(-1))
        self.assertEqual(len(tokenizer.encode("")), 0)
        pair = vkformer.Tokenizer(PRETRAINED / "bert-question-answering").encode("rain", "A cat")
        self.assertEqual(sorted(set(pair.sequences.tolist())), [-1, 0, 1])
        self.assertTrue(pair.special_tokens_mask[0])
        self.assert_error("VKF_ERROR_FILE", "/no/such/file", vkformer.Tokenizer, "/no/such/file")

    def test_embeddings(self):
        for model in ("sentence-mean", "sentence-modules"):
            embedder = vkformer.Embedder(PRETRAINED / model)
            rows = expected_rows(model)
            expected = np.array([row["embedding"] for row in rows], np.float32)
            found = embedder.encode([row["text"] for row in rows])
            self.assertEqual((found.dtype, found.shape[1]), (np.float32, embedder.dim))
            self.assert_close(found, expected, rtol=0, atol=1e-5)
            self.assert_close(embedder.encode(rows[1]["text"]), expected[1], rtol=0, atol=1e-5)
        self.assertEqual(embedder.encode([]).shape, (0, embedder.dim))
        self.assertIn(embedder.similarity, ("cosine", "dot", "euclidean", "manhattan"))
        self.assertEqual(embedder.config["embedding_dim"], embedder.dim)
        self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "nonsense", embedder.encode, "rain", prompt_name="nonsense")

    def test_prompts(self):
        embedder = vkformer.Embedder(PRETRAINED / "sentence-prompt")
        name, text = next((name, text) for name, text in embedder.prompts.items() if text)
        found = embedder.encode(SENTENCE, prompt_name=name)
        self.assert_close(found, embedder.encode(SENTENCE, prompt=text))
        self.assertGreater(np.abs(found - embedder.encode(SENTENCE, prompt="")).max(), 1e-3)

    def test_predictions(self):
        embedder = vkformer.Embedder(PRETRAINED / "bert-sequence-classification", head=True)
        rows = expected_rows("bert-sequence-classification")
        for row, prediction in zip(rows, embedder.predict([row["text"] for row in rows])):
            exponents = np.exp(prediction.logits[0])
            scores = dict(zip(embedder.labels, exponents / exponents.sum()))
            for found in row["found"]:
                self.assertAlmostEqual(scores[found["label"]], found["score"], places=4)
        embedder = vkformer.Embedder(PRETRAINED / "bert-question-answering", head=True)
        row = expected_rows("bert-question-answering")[0]
        prediction, = embedder.predict([row["text"]], [row["pair"]])
        self.assertEqual(prediction.logits.shape, (len(prediction.tokens), 2))
        begins, ends = np.exp(prediction.logits).T
        inside = prediction.tokens.sequences == 1
        scores = np.triu(np.outer(begins * inside / begins.sum(), ends * inside / ends.sum()))
        first, last = np.unravel_index(scores.argmax(), scores.shape)
        end_of_word = prediction.tokens.offsets[inside & (prediction.tokens.words == prediction.tokens.words[last]), 1]
        self.assertEqual((prediction.tokens.offsets[first, 0], end_of_word.max()),
                         (row["found"]["start"], row["found"]["end"]))

    def test_generation(self):
        for model in ("gpt2", "llama", "marian"):
            generator = vkformer.Generator(PRETRAINED / model, max_batch=3, max_beams=3)
            rows = expected_rows(model)
            found = generator.generate([row["text"] for row in rows], max_new_tokens=NEW)
            self.assertEqual([(one.ids, one.text, one.prompt_tokens) for one in found],
                             [(row["generated"], row["output"], len(row["tokens"])) for row in rows])
            beams = generator.generate([row["text"] for row in rows], max_new_tokens=NEW, num_beams=3,
                                       length_penalty=0.8, early_stopping="on")
            self.assertEqual([one.ids for one in beams], [row["beam"] for row in rows])
            for row in (row for row in rows if "stop" in row):
                one = generator.generate(row["text"], max_new_tokens=NEW, stop=[row["stop"]], num_beams=3,
                                         length_penalty=0.8, early_stopping="on")
                self.assertEqual((one.ids, one.text, one.reason), (row["stopped"], row["stopped_text"], "eos"))

    def test_sampling(self):
        generator = vkformer.Generator(PRETRAINED / "gpt2")
        drawn = [generator.generate(SENTENCE, max_new_tokens=NEW, temperature=2.0, top_k=50, seed=seed).ids
                 for seed in (1, 1, 2, 3)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertGreater(len({tuple(ids) for ids in drawn}), 1)
        self.assertEqual(generator.generate(SENTENCE, max_new_tokens=2).reason, "length")
        self.assert_error("VKF_ERROR_TOO_LARGE", "100000", generator.generate, SENTENCE, max_new_tokens=100000)

    def test_what_the_directory_says_is_followed(self):
        with tempfile.TemporaryDirectory() as directory:
            for file in (PRETRAINED / "gpt2").iterdir():
                (pathlib.Path(directory) / file.name).write_bytes(file.read_bytes())
            path = pathlib.Path(directory) / "generation_config.json"
            said = {"num_beams": 3, "length_penalty": 0.8, "early_stopping": True, "max_new_tokens": NEW}
            path.write_text(json.dumps({**json.loads(path.read_text()), **said}))
            generator = vkformer.Generator(directory)
            for row in expected_rows("gpt2")[:3]:
                self.assertEqual(generator.generate(row["text"]).ids, row["beam"])
                one = generator.generate(row["text"], num_beams=1)
                self.assertEqual(one.ids, row["generated"])

    def test_streams(self):
        generator = vkformer.Generator(PRETRAINED / "gpt2")
        row = expected_rows("gpt2")[1]
        stream = generator.stream(row["text"], max_new_tokens=NEW)
        parts = list(stream)
        self.assertGreater(len(parts), 2)
        self.assertEqual("".join(parts), row["output"])
        self.assertEqual(stream.continuation.ids, row["generated"])
        self.assertEqual(list(stream), [])
        for part in generator.stream(row["text"], max_new_tokens=NEW):
            break  # the loop is left, and the generator is free again
        self.assertTrue(row["output"].startswith(part))
        with generator.stream(row["text"], max_new_tokens=NEW) as stream:
            self.assertEqual(next(stream), part)
        self.assertEqual(list(stream), [])
        self.assertEqual(generator.generate(row["text"], max_new_tokens=NEW).text, row["output"])
        gc.collect()
        self.assertEqual(threading.active_count(), 1)
        self.assert_error("VKF_ERROR_TOO_LARGE", "100000", list, generator.stream(SENTENCE, max_new_tokens=100000))

    def test_an_open_stream_has_the_generator_for_itself(self):
        generator = vkformer.Generator(PRETRAINED / "gpt2")
        with generator.stream(SENTENCE, max_new_tokens=NEW):
            for other in (generator.generate, generator.stream):
                self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "a stream of this generator", other, SENTENCE)
        self.assertEqual(generator.generate(SENTENCE, max_new_tokens=NEW).text, expected_rows("gpt2")[1]["output"])

    def test_callbacks(self):
        generator = vkformer.Generator(PRETRAINED / "gpt2")
        row = expected_rows("gpt2")[1]
        heard = []
        generator.generate(row["text"], max_new_tokens=NEW, on_text=lambda prompt, text: heard.append(text))
        self.assertEqual("".join(heard), row["output"])
        one = generator.generate(row["text"], max_new_tokens=NEW, on_text=lambda prompt, text: False)
        self.assertEqual(one.reason, "caller")

        def raises(*_):
            raise ZeroDivisionError("enough")

        with self.assertRaisesRegex(ZeroDivisionError, "enough"):
            generator.generate(row["text"], max_new_tokens=NEW, on_text=raises)
        with self.assertRaisesRegex(ZeroDivisionError, "enough"):
            vkformer.Model(PRETRAINED / "gpt2", progress=raises)
        embedder = vkformer.Embedder(PRETRAINED / "sentence-mean")
        self.assert_error("VKF_ERROR_CANCELLED", "", embedder.encode, ["rain"], progress=lambda *_: False)


class Models(Numbers):
    def test_decoder(self):
        model = vkformer.Model(PRETRAINED / "gpt2")
        self.assertEqual((model.kind, model.precision), ("decoder", "f32"))
        cases = read_safetensors(PRETRAINED / "gpt2" / "cases.safetensors")
        session = model.session(max_batch=3, max_target_len=48, max_logit_rows=8)
        self.assert_close(session.logits(cases["1.ids"]), cases["1.logits"])
        rows = [row["tokens"] for row in expected_rows("gpt2")[:3]]
        for found, row in zip(session.generate(rows, max_new_tokens=NEW), expected_rows("gpt2")):
            self.assertEqual(found.ids, row["generated"])
        self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "above 0", session.generate, rows, max_new_tokens=0)
        self.assert_error("VKF_ERROR_TOO_LARGE", "", session.generate, [[5] * 40], max_new_tokens=20)

    def test_a_cache_is_appended_to_and_kept(self):
        model = vkformer.Model(PRETRAINED / "gpt2")
        sizes = {"max_batch": 2, "max_target_len": 24, "max_logit_rows": 8}
        session, rows = model.session(**sizes), [[5, 6, 7, 8, 9], [8, 9]]
        expected = [session.logits([row])[0, -1] for row in rows]
        session.truncate(0, 0)
        found = session.prefill([rows[0][:3], rows[1][:1]])
        self.assert_close(found[1], session.logits([[8]])[0, -1])
        session = model.session(**sizes)
        session.prefill([rows[0][:3], rows[1][:1]])
        found = session.step([8, 9])
        self.assert_close(found[1], expected[1])
        found = session.step([9, -1])
        self.assert_close(found[0], expected[0])
        self.assertTrue(np.isnan(found[1]).all())
        self.assertEqual([session.tokens(row) for row in range(3)], [*rows, []])
        with tempfile.TemporaryDirectory() as directory:
            session.save(directory + "/cache")
            other = model.session(**sizes)
            other.restore(directory + "/cache")
        self.assertEqual([other.tokens(row) for row in range(2)], rows)
        other.truncate(0, 4)
        self.assert_close(other.step([9, -1])[0], expected[0])
        self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "", other.truncate, 1, 20)
        self.assert_error("VKF_ERROR_TOO_LARGE", "", other.prefill, [[5] * 30])
        self.assert_error("VKF_ERROR_FILE", "no/such", other.restore, "no/such")

        def raises(*_):
            raise ZeroDivisionError("enough")

        with self.assertRaisesRegex(ZeroDivisionError, "enough"):
            other.prefill([[5, 6]], progress=raises)

    def test_plans(self):
        context = vkformer.Context()
        plan = vkformer.plan(PRETRAINED / "gpt2", context=context, max_batch=2, max_target_len=16)
        before = context.used_bytes
        model = vkformer.Model(PRETRAINED / "gpt2", context=context)
        session = model.session(max_batch=2, max_target_len=16)
        self.assertEqual(plan.total_bytes, context.used_bytes - before)
        self.assertEqual((plan.config, plan.precision), (model.config, "f32"))
        self.assertIn("gemm", {dispatch["op"] for dispatch in plan.dispatches})
        self.assertTrue(all(isinstance(dispatch["kernel"], str) for dispatch in plan.dispatches))
        del session
        chip = TESTS.parent / "tools" / "chips" / "described" / "mali-g715.json"
        described = vkformer.Context(described=chip)
        other = vkformer.plan(TESTS / "plan" / "models" / "llama-3.2-1b", precision="f16", context=described)
        self.assertEqual(other.precision, "f16")
        self.assertGreater(other.total_bytes, 2e9)
        self.assert_error("VKF_ERROR_NO_DEVICE", "", vkformer.Tensor, np.zeros(1, np.float32), context=described)
        self.assert_error("VKF_ERROR_FILE", "no/such", vkformer.Context, described="no/such")
        self.assert_error("VKF_ERROR_FILE", "no/such", vkformer.plan, "no/such", context=described)

    def test_directories(self):
        self.assertEqual(vkformer.adapter_base(PRETRAINED / "gpt2"), "")
        cases = read_safetensors(PRETRAINED / "llama-adapter" / "cases.safetensors")
        with tempfile.TemporaryDirectory() as directory:
            found = vkformer.quantize(PRETRAINED / "llama", directory + "/merged", adapter=PRETRAINED / "llama-adapter")
            self.assertEqual(found["block_count"], 0)
            session = vkformer.Model(directory + "/merged").session(max_batch=3, max_target_len=16, max_logit_rows=16)
            self.assert_close(session.logits(cases["0.ids"]), cases["0.logits"])
            found = vkformer.quantize(PRETRAINED / "sentence-reranker", directory + "/blocks",
                                      quantization="q8")
            self.assertGreater(found["block_count"], 0)
            vkformer.Model(directory + "/blocks")
            self.assert_error("VKF_ERROR_CANCELLED", "", vkformer.quantize, PRETRAINED / "gpt2", directory + "/none",
                              progress=lambda *_: False)
            self.assertFalse((pathlib.Path(directory) / "none").exists())
            self.assert_error("VKF_ERROR_FILE", "no/such", vkformer.quantize, "no/such", directory + "/none")

    def test_encoder(self):
        model = vkformer.Model(PRETRAINED / "bert")
        cases = read_safetensors(PRETRAINED / "bert" / "cases.safetensors")
        session = model.session(max_batch=3)
        lengths = cases["1.lengths"]
        rows, types = ([row[:length].tolist() for row, length in zip(cases[name], lengths)]
                       for name in ("1.ids", "1.types"))
        encoded = session.encode(rows, types)
        self.assert_close(encoded.embeddings, cases["1.embeddings"])
        for found, expected, length in zip(encoded.hidden, cases["1.hidden"], lengths):
            self.assert_close(found[:length], expected[:length])
        self.assertIsNone(encoded.logits)

    def test_what_is_made_keeps_what_it_is_made_from(self):
        session = vkformer.Model(PRETRAINED / "gpt2", context=vkformer.Context()).session(max_target_len=48)
        gc.collect()
        row = expected_rows("gpt2")[1]
        self.assertEqual(session.generate([row["tokens"]], max_new_tokens=NEW)[0].ids, row["generated"])

    def test_training(self):
        batch = vkformer.Batch(target=[[5, 6, 7], [8, 9]], labels=[[6, 7, 8], [9, 10]])
        model = vkformer.Model(PRETRAINED / "llama", trainable=True)
        trainer = vkformer.Trainer(model, rate=1e-2, max_batch=2, max_target_len=3, lora_rank=2,
                                   lora_targets=["q_proj", "down_proj"])
        before = trainer.evaluate(batch)
        self.assertEqual((before["labels"], trainer.steps), (5, 0))
        self.assertAlmostEqual(trainer.step(batch, batch)["loss"], before["loss"], places=4)
        self.assertLess(trainer.evaluate(batch)["loss"], before["loss"])
        self.assertEqual({count for name, count in trainer.parameters if "q_proj" in name}, {80})
        self.assertEqual(trainer.info["trained_count"], sum(count for _, count in trainer.parameters))
        name, count = trainer.parameters[0]
        gradient = trainer.gradient(batch, name)
        self.assertEqual((gradient.shape, bool(gradient.any())), ((count,), True))
        self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "'none'", trainer.gradient, batch, "none")
        trainer.set_best(1, 2.5)
        self.assertEqual({name: trainer.progress[name] for name in ("steps", "best_step", "best_loss")},
                         {"steps": 1, "best_step": 1, "best_loss": 2.5})
        with tempfile.TemporaryDirectory() as directory:
            trainer.save_adapter(directory + "/adapter")
            trainer.save(directory + "/saved")
            trainer.restore(directory + "/saved")
            vkformer.Model(PRETRAINED / "llama", adapter=directory + "/adapter")
        self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "'speed'", vkformer.Trainer, model, rate=1, max_batch=1,
                          speed=3)
        for name in ("lora_target_count", "trained_count", "exchange", "reserved"):
            self.assert_error("VKF_ERROR_INVALID_ARGUMENT", repr(name), vkformer.Trainer, model, rate=1, max_batch=1,
                              lora_targets=["q_proj"], **{name: 1000000})

    def test_memory_is_given_back(self):
        context = vkformer.Context()
        before = context.used_bytes
        model = vkformer.Model(PRETRAINED / "gpt2", context=context)
        self.assertGreater(context.used_bytes, before)
        del model
        gc.collect()
        self.assertEqual(context.used_bytes, before)


class Contexts(Numbers):
    def test_errors_have_the_librarys_sentence(self):
        said = []
        context = vkformer.Context(message=lambda severity, text: said.append((severity, text)))
        with self.assertRaises(vkformer.Error) as raised:
            vkformer.Model("/no/such/model", context=context)
        self.assertEqual(said[-1], ("error", str(raised.exception)))
        self.assertIn("/no/such/model", str(raised.exception))
        del said[:]
        context = vkformer.Context(message=lambda *message: said.append(message), min_severity="validation")
        self.assert_error(raised.exception.status, "/no/such/model", vkformer.Model, "/no/such/model", context=context)
        self.assertEqual(said, [])
        self.assert_error("VKF_ERROR_NO_DEVICE", "no such device", vkformer.Context, "no such device")
        self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "'f64'", vkformer.Model, "x", precision="f64")
        self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "'loud'", vkformer.Context, min_severity="loud")

    def test_what_is_closed_says_so(self):
        context = vkformer.Context()
        model = vkformer.Model(PRETRAINED / "gpt2", trainable=True, context=context)
        encoder = vkformer.Model(PRETRAINED / "bert", context=context)
        made = [context, model, encoder, model.session(max_target_len=8), encoder.session(),
                vkformer.Trainer(model, rate=1, max_batch=1, max_target_len=8),
                vkformer.Embedder(PRETRAINED / "sentence-mean", context=context),
                vkformer.Generator(PRETRAINED / "gpt2", context=context), vkformer.Tokenizer(PRETRAINED / "gpt2")]
        batch = vkformer.Batch(target=[[5]], labels=[[6]])
        arguments = {"encode": ["a"], "decode": [[5]], "token_to_id": ["a"], "id_to_token": [5], "predict": [["a"]],
                     "generate": ["a"], "stream": ["a"], "step": [batch], "evaluate": [batch], "save": ["x"],
                     "save_adapter": ["x"], "restore": ["x"], "set_best": [1, 2.5], "gradient": [batch, "x"]}
        of_sessions = {"encode": [[[5]]], "logits": [[[5]]], "generate": [[[5]]], "prefill": [[[5]]], "step": [[5]],
                       "tokens": [0], "truncate": [0, 0], "save": ["x"], "restore": ["x"]}
        for owner in reversed(made):
            owner.close()
            owner.close()
            for name in dir(type(owner)):
                found = getattr(type(owner), name)
                if name in ("close", "closed", "default", "devices") or name.startswith("_"):
                    continue
                given = of_sessions if isinstance(owner, vkformer.Session) else arguments
                options = {"max_new_tokens": 1} if name == "generate" else {}
                with self.subTest(f"{type(owner).__name__}.{name}"):
                    call = (lambda: getattr(owner, name)) if isinstance(found, property) else (
                        lambda: list(owner.stream("a")) if name == "stream" else
                        getattr(owner, name)(*given.get(name, []), **options))
                    self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "is closed", call)
        self.assertIn("closed", repr(context))
        for make in (vkformer.Tensor, lambda x, context: vkformer.Model(PRETRAINED / "gpt2", context=context)):
            self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "is closed", make, np.zeros(3, np.float32), context=context)
        vkformer.Context.default().close()
        self.assertFalse(vkformer.Context.default().closed)

    def test_a_zero_byte_ends_no_text(self):
        model = vkformer.Model(PRETRAINED / "gpt2", trainable=True)
        embedder = vkformer.Embedder(PRETRAINED / "sentence-mean")
        trainer = vkformer.Trainer(model, rate=1, max_batch=1, max_target_len=8)
        calls = (lambda: vkformer.Model("a\0b"), lambda: vkformer.Model(PRETRAINED / "gpt2", adapter="a\0b"),
                 lambda: vkformer.Tokenizer("a\0b"), lambda: vkformer.Embedder("a\0b"),
                 lambda: vkformer.Generator("a\0b"), lambda: vkformer.Context("cpu\0"),
                 lambda: vkformer.Context(masks=["shaderFloat16\0"]),
                 lambda: vkformer.Tensor(np.zeros(1, np.float32), name="a\0"),
                 lambda: trainer.save("a\0b"), lambda: trainer.save_adapter("a\0b"), lambda: trainer.restore("a\0b"),
                 lambda: vkformer.Trainer(model, rate=1, max_batch=1, trained=["a\0*"]),
                 lambda: embedder.encode("a", prompt="b\0"), lambda: embedder.encode("a", prompt_name="b\0"),
                 lambda: vkformer.Tokenizer(PRETRAINED / "gpt2").token_to_id("a\0"))
        for call in calls:
            self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "zero byte", call)
        package = pathlib.Path(vkformer.__file__).parent
        found = [path.name for path in package.glob("*.py") if 'new("char[]", ' in path.read_text("utf-8")]
        self.assertEqual(sorted(found), ["errors.py", "texts.py"])  # the other one of texts.py is written to

    def test_cache_directory(self):
        with tempfile.TemporaryDirectory() as directory:
            place = pathlib.Path(directory) / "made" / "here"
            context = vkformer.Context(cache_dir=place)
            vkformer.MultiheadAttention({"in_proj_weight": np.ones((24, 8)), "out_proj.weight": np.ones((8, 8))}, 2,
                                        context=context)(*[np.zeros((1, 1, 8), np.float32)] * 3)
            context.save_cache()
            written = {path.name.split("-")[0]: path.stat().st_size for path in place.iterdir()}
            self.assertTrue(all(written.get(kind) for kind in ("passed", "pipelines", "verdicts")), written)
            self.assertNotIn("testing", written)  # no test is under way

    def test_devices(self):
        self.assertIn(vkformer.Context("cpu").device_name, vkformer.Context.devices())
        self.assertEqual(vkformer.Context("cpu").device_type, "cpu")
        self.assertEqual(vkformer.Context(0, profile="android_baseline_2022", masks=["shaderFloat16"]).device_type,
                         vkformer.Context(0).device_type)
        self.assertTrue(vkformer.Context.default() is vkformer.Context.default())
        self.assertIn(vkformer.Context.default().device_name, repr(vkformer.Context.default()))

    def test_other_threads_run_meanwhile(self):
        embedder = vkformer.Embedder(PRETRAINED / "sentence-mean")
        texts = [SENTENCE] * 512
        ticks, ended = [0], threading.Event()

        def tick():
            while not ended.wait(0.001):
                ticks[0] += 1

        thread = threading.Thread(target=tick)
        thread.start()
        most = 0
        for _ in range(20):  # on a busy machine the other thread may not run in every call
            before = ticks[0]
            embedder.encode(texts)
            most = max(most, ticks[0] - before)
        ended.set()
        thread.join()
        self.assertGreater(most, 10)

    def test_threads_take_turns(self):
        embedder = vkformer.Embedder(PRETRAINED / "sentence-mean")
        rows = expected_rows("sentence-mean")[:3]
        alone = [embedder.encode(row["text"]) for row in rows]
        wrong = []

        def encode(text, expected):
            wrong.extend(1 for _ in range(40) if not np.array_equal(embedder.encode(text), expected))

        threads = [threading.Thread(target=encode, args=(row["text"], one)) for row, one in zip(rows, alone)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

        def comes_back(*_):
            embedder.encode(SENTENCE)

        self.assert_error("VKF_ERROR_INVALID_ARGUMENT", "callback of its own", embedder.encode, SENTENCE,
                          progress=comes_back)

    def test_an_interrupt_behind_what_was_raised_is_over_with_it(self):
        def raises():
            raise ZeroDivisionError

        guard = messages.Guard(raises)
        self.assertFalse(guard.call())
        messages._keep(None, KeyboardInterrupt(), None)  # before the guard looked out again
        self.assertRaises(ZeroDivisionError, guard.finish, lib.VKF_OK)
        messages.Guard(raises).finish(lib.VKF_OK)

    def test_an_interrupt_ends_a_run(self):
        # The run would take minutes. It is interrupted in the middle, by a thread that knows when.
        program = ("import os, signal, sys, threading, time, vkformer\n"
                   "embedder = vkformer.Embedder(sys.argv[1], max_batch=1)\n"
                   "embedder.encode(['A cat sat there.'])\n"
                   "def interrupt():\n"
                   "    global sent\n"
                   "    sent = time.monotonic()\n"
                   "    os.kill(os.getpid(), signal.SIGINT)\n"
                   "threading.Timer(3, interrupt).start()\n"
                   "try:\n"
                   "    embedder.encode(['A cat sat there.'] * 200_000)\n"
                   "except KeyboardInterrupt:\n"
                   "    print(time.monotonic() - sent < 20)\n")
        done = subprocess.run([sys.executable, "-c", program, str(PRETRAINED / "sentence-mean")], capture_output=True,
                              timeout=600, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"True\n", b""))

    def test_the_end_of_the_interpreter_gives_everything_back(self):
        program = ("import sys, vkformer\n"
                   "generator = vkformer.Generator(sys.argv[1])\n"
                   "stream = generator.stream('A cat sat there.', max_new_tokens=12)\n"
                   "print(next(stream) != '')\n")
        done = subprocess.run([sys.executable, "-c", program, str(PRETRAINED / "gpt2")], capture_output=True,
                              timeout=120, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"True\n", b""))


class Package(unittest.TestCase):
    def test_what_is_installed(self):
        place = pathlib.Path(vkformer.__file__).parent
        self.assertTrue((place / "py.typed").is_file())
        self.assertIn("MIT License", (place / "LICENSE").read_text())
        self.assertEqual(vkformer.__version__.count("."), 2)
        for name in vkformer.__all__:
            self.assertTrue(getattr(vkformer, name).__doc__ or name == "bfloat16", name)
        modules = [path for path in place.iterdir() if path.suffix == ".so"]
        self.assertEqual([path.name for path in modules], ["_native.abi3.so"])


def main():
    files = ("arrays", "operators", "int8", "modules", "trees", "torch")
    names = sys.argv[2:] or ["__main__", *(f"check_{name}" for name in files)]
    done = unittest.main(module=None, argv=[sys.argv[0], *names], exit=False).result
    failed = len({test.id().split(" ")[0] for test, _ in done.failures + done.errors})
    # In the words that tests/count-results reads.
    print(f"{done.testsRun - failed - len(done.skipped)} passed, {failed} failed")
    if done.skipped:
        print(*(f"{test}: {why}" for test, why in done.skipped), sep="\n")
        print(f"[  SKIPPED ] {len(done.skipped)} test(s).")
    return 0 if done.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
