"""MLIR for IREE: a work as one function of linalg's operations, which its compiler fuses as it likes."""

FUNCTION = "run"
EPSILON = 1e-5


def tensor(*shape, kind="f32"):
    return "tensor<%sx%s>" % ("x".join(map(str, shape)), kind)


def affine(names, *results):
    """A map from loops, written as letters, to the indices of an operand."""
    return "affine_map<(%s) -> (%s)>" % (", ".join(names), ", ".join(results))


class Value:
    def __init__(self, name, shape, kind="f32"):
        self.name, self.shape, self.kind = name, shape, kind
        self.type = tensor(*shape, kind=kind)


class Function:
    """Its arguments and the lines of its body so far."""

    def __init__(self, *arguments):
        self.arguments = [Value("%%a%d" % i, *argument) for i, argument in enumerate(arguments)]
        self.lines = []

    def emit(self, shape, text):
        value = Value("%%v%d" % len(self.lines), shape)
        self.lines.append("%s = %s" % (value.name, text))
        return value

    def constant(self, number):
        name = "%%c%d" % len(self.lines)
        self.lines.append("%s = arith.constant %s : f32" % (name, number))
        return name

    def filled(self, shape, number="0.0"):
        zero = self.constant(number)
        empty = self.empty(shape)
        return self.emit(shape, "linalg.fill ins(%s : f32) outs(%s : %s) -> %s" % (zero, empty.name, empty.type,
                                                                                 empty.type))

    def empty(self, shape):
        return self.emit(shape, "tensor.empty() : " + tensor(*shape))

    def product(self, a, b, transpose_b=True):
        """(.., m, k) times (.., n, k) or, not transposed, (.., k, n); with or without heads before."""
        loops, batch = "hmnk"[3 - len(a.shape):], "h" * (len(a.shape) - 2)
        n = b.shape[-2 if transpose_b else -1]
        shape = (*a.shape[:-1], n)
        maps = ", ".join(affine(loops, *(batch + indices))
                         for indices in ("mk", "nk" if transpose_b else "kn", "mn"))
        out = self.filled(shape)
        name = "linalg.batch_matmul" if batch else "linalg.matmul"
        return self.emit(shape, "%s indexing_maps = [%s] ins(%s, %s : %s, %s) outs(%s : %s) -> %s" % (
            name, maps, a.name, b.name, a.type, b.type, out.name, out.type, out.type))

    def generic(self, inputs, shape, maps, body, reduced=None):
        """body: lines over %x0, %x1 .., the last of which defines %y; reduced: what sums begin with."""
        loops = "mn" if len(shape) <= 2 else "hmn"
        out = self.filled(shape, reduced) if reduced else self.empty(shape)
        kinds = ["parallel"] * len(loops)
        if reduced:
            kinds[-1] = "reduction"
        listed = ", ".join(affine(loops, *indices) for indices in maps)
        arguments = ", ".join("%%x%d: f32" % i for i in range(len(inputs))) + ", %o: f32"
        return self.emit(shape, "linalg.generic {indexing_maps = [%s], iterator_types = [%s]} ins(%s : %s) "
                         "outs(%s : %s) {\n^bb0(%s):\n%s\nlinalg.yield %%y : f32\n} -> %s" % (
                             listed, ", ".join('"%s"' % kind for kind in kinds),
                             ", ".join(value.name for value in inputs), ", ".join(value.type for value in inputs),
                             out.name, out.type, arguments, "\n".join(body), out.type))

    def softmax(self, x):
        out = self.empty(x.shape)
        return self.emit(x.shape, "linalg.softmax dimension(%d) ins(%s : %s) outs(%s : %s) -> %s" % (
            len(x.shape) - 1, x.name, x.type, out.name, out.type, out.type))

    def scaled(self, x, factor):
        number = self.constant("%.9e" % factor)
        loops = "hmn"[3 - len(x.shape):]
        return self.generic([x], x.shape, [loops, loops], ["%%y = arith.mulf %%x0, %s : f32" % number])

    def transposed(self, x, order):
        shape = tuple(x.shape[i] for i in order)
        out = self.empty(shape)
        return self.emit(shape, "linalg.transpose ins(%s : %s) outs(%s : %s) permutation = [%s]" % (
            x.name, x.type, out.name, out.type, ", ".join(map(str, order))))

    def attention(self, query, key, value):
        """Of each head: (heads, length, head_dim)."""
        scores = self.scaled(self.product(query, key), query.shape[-1] ** -0.5)
        return self.product(self.softmax(scores), value, transpose_b=False)

    def text(self, result):
        arguments = ", ".join("%s: %s" % (value.name, value.type) for value in self.arguments)
        return "func.func @%s(%s) -> %s {\n%s\nreturn %s : %s\n}\n" % (
            FUNCTION, arguments, result.type, "\n".join(self.lines), result.name, result.type)


def gemm(work):
    function = Function(((work["m"], work["k"]),), ((work["n"], work["k"]), work["weights"]))
    return function.text(function.product(*function.arguments))


def attention(work):
    heads = work["batch"] * work["heads"]
    function = Function(*(((heads, work[length], work["head_dim"]),) for length in ("q_len", "kv_len", "kv_len")))
    return function.text(function.attention(*function.arguments))


def mha(work):
    size, heads, length = work["embed_dim"], work["heads"], work["len"]
    function = Function(((length, size),), *[((size, size),)] * 4)
    x, *weights = function.arguments
    split = (length, heads, size // heads)

    def head_rows(weight):
        y = function.product(x, weight)
        y = function.emit(split, "tensor.expand_shape %s [[0], [1, 2]] output_shape [%s] : %s into %s" % (
            y.name, ", ".join(map(str, split)), y.type, tensor(*split)))
        return function.transposed(y, (1, 0, 2))

    merged = function.transposed(function.attention(*map(head_rows, weights[:3])), (1, 0, 2))
    merged = function.emit((length, size), "tensor.collapse_shape %s [[0], [1, 2]] : %s into %s" % (
        merged.name, merged.type, tensor(length, size)))
    return function.text(function.product(merged, weights[3]))


def softmax(work):
    function = Function(((work["rows"], work["cols"]),))
    return function.text(function.softmax(*function.arguments))


def norm(work):
    """Mean and variance of each row, and what follows from them."""
    shape = (work["rows"], work["cols"])
    function = Function((shape,), ((work["cols"],),), ((work["cols"],),))
    x, weight, bias = function.arguments
    count = function.constant("%.9e" % work["cols"])
    epsilon = function.constant("%.9e" % EPSILON)
    add = "%y = arith.addf %o, "
    total = function.generic([x], shape[:1], ["mn", "m"], [add + "%x0 : f32"], reduced="0.0")
    squares = function.generic([x, total], shape[:1], ["mn", "m", "m"], [
        "%%mean = arith.divf %%x1, %s : f32" % count, "%d = arith.subf %x0, %mean : f32",
        "%s = arith.mulf %d, %d : f32", add + "%s : f32"], reduced="0.0")
    return function.text(function.generic([x, total, squares, weight, bias], shape, ["mn", "m", "m", "n", "n", "mn"], [
        "%%mean = arith.divf %%x1, %s : f32" % count, "%%variance = arith.divf %%x2, %s : f32" % count,
        "%%sure = arith.addf %%variance, %s : f32" % epsilon, "%scale = math.rsqrt %sure : f32",
        "%d = arith.subf %x0, %mean : f32", "%n = arith.mulf %d, %scale : f32", "%w = arith.mulf %n, %x3 : f32",
        "%y = arith.addf %w, %x4 : f32"]))
