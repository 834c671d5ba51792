"""Errors in the bindings."""
from planted_error import Error

ERRORS = (
    # C++
    Error("C++ forgets what a callback has thrown", "tools/bindings/cpp/vkformer/core.hpp",
          "thrown_ = std::current_exception();\n            return false;", "return false;", ("examples_cpp",)),
    Error("C++ throws the status's text in place of the library's sentence", "tools/bindings/cpp/vkformer/core.hpp",
          "text.empty() ? vkf_status_text(status) : text", "vkf_status_text(status)", ("examples_cpp",)),
    # Python
    Error("in Python a mask of booleans says what is attended", "tools/bindings/python/vkformer/layer.py",
          "return array, lib.VKF_MASK_BOOL_EXCLUDE", "return array, lib.VKF_MASK_BOOL_ATTEND", ("examples_python",)),
    Error("Python takes no memory by DLPack", "tools/bindings/python/vkformer/tensor.py",
          "array = np.from_dlpack(value)", "array = None", ("examples_python",)),
    Error("Python makes no room for the beams that a directory asks for",
          "tools/bindings/python/vkformer/generator.py",
          "max_beams or _beams_asked_for(directory)", "max_beams", ("examples_python",)),
    Error("in Python the first sizes of a layer stay its largest", "tools/bindings/python/vkformer/layer.py",
          "layer is None or any(size > made for size, made in zip(sizes, layer.sizes))", "layer is None",
          ("examples_python",)),
)
