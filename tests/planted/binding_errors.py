"""Errors in the bindings, and in what packages are made of."""
from planted_error import Error

RUST = "tools/bindings/rust/vkformer/src/"

ERRORS = (
    # C++
    Error("C++ forgets what a callback has thrown", "tools/bindings/cpp/vkformer/core.hpp",
          "thrown_ = std::current_exception();\n            return false;", "return false;", ("examples_cpp",)),
    Error("C++ throws the status's text in place of the library's sentence", "tools/bindings/cpp/vkformer/core.hpp",
          "        return {};\n    return failure{status, vkf_last_error(status)};",
          "        return {};\n    return failure{status, vkf_status_text(status)};", ("examples_cpp",)),
    Error("a C++ handle that was given away is destroyed", "tools/bindings/cpp/vkformer/core.hpp",
          "        return std::exchange(raw_, nullptr);\n", "        return raw_;\n", ("examples_cpp",)),
    Error("C++ without exceptions throws", "tools/bindings/cpp/vkformer/core.hpp",
          "#else\n#define VKF_CPP_EXCEPTIONS 0", "#else\n#define VKF_CPP_EXCEPTIONS 1", ("bindings.cpp_headers",)),
    # Python
    Error("in Python a mask of booleans says what is attended", "tools/bindings/python/vkformer/layer.py",
          "booleans: int = lib.VKF_MASK_BOOL_EXCLUDE", "booleans: int = lib.VKF_MASK_BOOL_ATTEND", ("examples_python",)),
    Error("Python takes no memory by DLPack", "tools/bindings/python/vkformer/tensor.py",
          "array = np.from_dlpack(value)", "array = None", ("examples_python",)),
    Error("Python makes no room for the beams that a directory asks for",
          "tools/bindings/python/vkformer/generator.py",
          "max_beams or _beams_asked_for(directory)", "max_beams", ("examples_python",)),
    Error("in Python the first sizes of a layer stay its largest", "tools/bindings/python/vkformer/layer.py",
          "any(size > made for size, made in zip(sizes, chain.sizes))", "False",
          ("examples_python",)),
    Error("Python believes the length of labels", "tools/bindings/python/vkformer/model.py",
          "    for i in np.flatnonzero(own != lengths):\n", "    for i in []:\n", ("examples_python",)),
    Error("Python takes a subclass for the class that it computes", "tools/bindings/python/vkformer/torch_module.py",
          "    if type(part) not in classes:\n", "    if not isinstance(part, classes):\n", ("examples_python",)),
    Error("Python leaves parameters unread", "tools/bindings/python/vkformer/layer.py",
          "        if unknown:\n", "        if not self._arrays:\n", ("examples_python",)),
    Error("in Python what is closed has a handle that is NULL", "tools/bindings/python/vkformer/owner.py",
          "        if self.closed:\n", "        if False:\n", ("examples_python",)),
    # Rust
    Error("an error of Rust's has the text of its status alone", RUST + "error.rs",
          "sys::vkf_last_error(status)", "sys::vkf_status_text(status)",
          ("bindings.rust.lavapipe.full",)),
    Error("rows of a Rust tensor begin where it begins", RUST + "tensor.rs",
          "u64::from(begin) * row_bytes;", "u64::from(begin) * 0 * row_bytes;", ("bindings.rust.lavapipe.full",)),
    Error("a stream of Rust's that is dropped goes on", RUST + "text_stream.rs",
          "        self.cancel();\n        if let Some(thread)", "        if let Some(thread)",
          ("bindings.rust.lavapipe.full",)),
    Error("a panic of a Rust callback ends the continuation and is forgotten", RUST + "callback.rs",
          "guarded.panicked = Some(panicked);\n", "drop(panicked);\n",
          ("bindings.rust.lavapipe.full",)),
    Error("a declaration of Rust's is not that of the headers",
          "tools/bindings/rust/vkformer-sys/src/bindings.rs", "pub fn vkf_version() -> u32;",
          "pub fn vkf_version() -> u64;", ("bindings.rust_headers",)),
    Error("the link that compilers look for is in the package of the library", "tools/cmake/VkfInstall.cmake",
          " NAMELINK_COMPONENT development", "", ("deb",)),
)
