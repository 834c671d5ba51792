"""What `vkformer shaders` says about kernels, read: names, defaults, spills, which of them is the worst."""

# Ends the label of a problem for which a kernel is taken only where float32, or sums, may be rounded.
ROUNDINGS = (" (f16)", " (f16-sums)")
# Between two columns on a terminal.
GAP = "  "


def shader_of(kernel):
    return kernel["kernel"].partition(".")[0]


def types_of(kernel):
    return kernel["kernel"].partition(".")[2]


def labels_of(kernel):
    """[(problem, whether only rounding allows it)] of what the kernel is taken for by default."""
    labels = kernel["default_for"].split(", ") if kernel["default_for"] else []
    return [(label.partition(" (f16")[0], label.endswith(ROUNDINGS)) for label in labels]


def spills(kernel):
    """How much goes to memory; scratch memory alone counts, too. None where the driver does not tell."""
    statistics = kernel["statistics"] or {}
    known = [statistics[key] for key in ("spills", "scratch_bytes") if statistics.get(key) is not None]
    return max(known) if known else None


def spilled(kernel):
    """What is spilled, as text: values, or bytes where the driver tells these alone."""
    statistics = kernel["statistics"]
    return str(statistics["spills"]) if statistics["spills"] else "%d B" % statistics["scratch_bytes"]


def badness(kernel):
    """The worse a variant is, the higher: it fails, spills, takes many registers, leaves few waves."""
    statistics = kernel["statistics"] or {}
    return (not kernel["compiled"], spills(kernel) or 0, statistics.get("registers") or 0,
            -(statistics.get("waves") or 0))


def row_key(kernel):
    return kernel["kernel"], kernel["config"], kernel["constants"]


def choice_name(name, config, constants):
    return "%s/%s %s" % (name, config, constants) if constants else "%s/%s" % (name, config)


def variant_name(kernel):
    return choice_name(*row_key(kernel))


def grouped(chips, key_of):
    """{key: one list of kernels for each chip}, in order of first appearance."""
    groups = {}
    for i, chip in enumerate(chips):
        for kernel in chip["kernels"]:
            groups.setdefault(key_of(kernel), [[] for _ in chips])[i].append(kernel)
    return groups


def choices(chips, defaults):
    """[(name, problems, one list of kernels for each chip)]: a line for each shader and choice of its parameters. With
    `defaults` only what some chip takes by default for something, and there only the types that it is taken for."""
    groups = grouped(chips, lambda kernel: (shader_of(kernel), kernel["config"], kernel["constants"]))
    lines = []
    for (shader, config, constants), by_chip in groups.items():
        taken = [[kernel for kernel in kernels if kernel["default_for"]] for kernels in by_chip]
        if defaults and not any(taken):
            continue
        problems = dict.fromkeys(label for kernels in taken for kernel in kernels for label, _ in labels_of(kernel))
        name = choice_name(shader, config, constants)
        lines.append((name, list(problems), taken if defaults else by_chip))
    return lines


def is_of_all(chips):
    """Whether more was compiled than what is taken by default."""
    return any(not kernel["default_for"] for chip in chips for kernel in chip["kernels"])


def worst(kernels):
    return max(kernels, key=badness) if kernels else None


def findings(chips):
    """Lines about what is wrong: a default that spills, a kernel that fails, a chip that gave nothing."""
    lines = []
    for chip in chips:
        if chip["error"]:
            lines.append("%s: %s" % (chip["chip"], chip["error"]))
        for kernel in chip["kernels"]:
            name = "%s: %s" % (chip["chip"], variant_name(kernel))
            if not kernel["compiled"]:
                lines.append("%s does not compile: %s" % (name, kernel["status"]))
            elif kernel["default_for"] and spills(kernel):
                lines.append("%s spills, and is the default for %s" % (name, kernel["default_for"]))
    return lines


def slices(widths, first, columns):
    """The chips, in as many tables below each other as keep each one within the columns of a terminal."""
    found, used = [[]], first
    for i, width in enumerate(widths):
        if found[-1] and used + len(GAP) + width > columns:
            found.append([])
            used = first
        found[-1].append(i)
        used += len(GAP) + width
    return found
