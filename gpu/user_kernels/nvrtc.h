#pragma once
// NVIDIA's run-time compiler, which is opened when the first kernel for a GPU is compiled. Nothing here needs CUDA to
// be built: the few functions that are called are declared here, and are looked up in the library.

#include <string>

#include "gpu/user_kernels/compiler.h"

namespace warpscope::user_kernels {

/// Why no kernel for a GPU can be compiled here ("NVRTC (libnvrtc.so) is not on this machine; ..."), or "".
std::string no_nvrtc();

/// compile() of a .cu: two files of machine code (cubin) for options.compute_capability. Throws core::BadInput with
/// no_nvrtc() or where there is no GPU.
Compilation compile_for_gpu(const Source& source, const CompileOptions& options);

}  // namespace warpscope::user_kernels
