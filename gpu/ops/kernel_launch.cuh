#pragma once
// How a variant launches its kernels: in the stream of the call, with its operands.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <cuda_runtime.h>

#include "gpu/core/cuda.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops {

/// The size of a launch.
struct Launch {
  dim3 blocks;
  dim3 threads = kElementThreads;
  std::size_t shared = 0;       ///< bytes of shared memory, beside what the kernel declares
  std::size_t most_shared = 0;  ///< what `shared` can become for other shapes, where that can be above 48 KiB
};

/// Throws core::Error that names op and variant, and which `part` of its work failed, if not the whole.
inline void check_kernel(cudaError_t status, const Variant& variant, std::string_view part = "") {
  if (status == cudaSuccess) return;
  std::string what = std::string(to_string(variant.op)) + " " + variant.name;
  if (!part.empty()) what.append(", ").append(part);
  core::check_cuda(status, what);
}

/// Lets as many blocks of `kernel` as possible lie in a multiprocessor.
template <class Kernel>
void prefer_shared_memory(const OpCall& call, Kernel kernel) {
  constexpr auto kCarveout = cudaFuncAttributePreferredSharedMemoryCarveout;
  check_kernel(cudaFuncSetAttribute(kernel, kCarveout, cudaSharedmemCarveoutMaxShared), *call.variant);
}

/// What a kernel gets for an argument of run_kernel().
template <class Parameter, class Call, class Argument>
Parameter parameter_of([[maybe_unused]] const Call& call, const Argument& argument) {
  if constexpr (std::is_same_v<Argument, Name>) {
    return static_cast<Parameter>(call.operands[argument]);
  } else {
    return static_cast<Parameter>(argument);
  }
}

/// Launches `kernel` on behalf of `call`: an OpCall, or what a variant makes of it, with `variant` and `stream`. A Name
/// among the arguments stands for that operand; the others become what the kernel takes, void* its own pointers.
template <class Call, class... Parameters, class... Arguments>
void run_kernel(const Call& call, std::string_view part, const Launch& launch, void (*kernel)(Parameters...),
                const Arguments&... arguments) {
  // More are had only if asked for. All threads share what was asked for, so a kernel always asks for the same.
  constexpr std::size_t kUnasked = 48 << 10;
  if (const std::size_t most = std::max<std::size_t>(launch.shared, launch.most_shared); most > kUnasked) {
    constexpr auto kShared = cudaFuncAttributeMaxDynamicSharedMemorySize;
    check_kernel(cudaFuncSetAttribute(kernel, kShared, static_cast<int>(most)), *call.variant, part);
  }
  kernel<<<launch.blocks, launch.threads, launch.shared, core::cuda_stream(*call.stream)>>>(
      parameter_of<Parameters>(call, arguments)...);
  check_kernel(cudaGetLastError(), *call.variant, part);
}

template <class Call, class... Parameters, class... Arguments>
void run_kernel(const Call& call, const Launch& launch, void (*kernel)(Parameters...),
                const Arguments&... arguments) {
  run_kernel(call, "", launch, kernel, arguments...);
}

/// A thread for each of `count` elements.
template <class... Parameters, class... Arguments>
void run_elements(const OpCall& call, std::int64_t count, void (*kernel)(Parameters...),
                  const Arguments&... arguments) {
  run_kernel(call, "", {element_blocks(count)}, kernel, arguments...);
}

/// Sets an operand of `count` floats to zero.
inline void clear_floats(const OpCall& call, Name operand, std::int64_t count) {
  call.stream->fill(call.operands[operand], 0, static_cast<std::size_t>(count) * sizeof(float));
}

/// Calls f.operator()<T, Index>() with the types of with_storage() and with_index().
template <class F>
void with_storage_and_index(core::Precision precision, std::int64_t largest, F f) {
  with_storage(precision, [&]<class T>(T) {
    with_index(largest, [&]<class Index>(Index) { f.template operator()<T, Index>(); });
  });
}

}  // namespace warpscope::ops
