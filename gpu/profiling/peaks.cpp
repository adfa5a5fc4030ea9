#include "gpu/profiling/peaks.h"

#include <algorithm>

#include "gpu/core/error.h"
#include "gpu/profiling/device_peaks.h"

namespace warpscope::profiling {
namespace {

using core::Precision;
using ops::Op;

/// Ops that are matrix products, which tensor cores can run.
bool multiplies_matrices(Op op) {
  switch (op) {
    case Op::block_forward:
    case Op::block_backward_input:
    case Op::block_backward_weights:
    case Op::conv2d_forward:
    case Op::conv2d_backward_input:
    case Op::conv2d_backward_weights:
    case Op::linear_forward:
    case Op::linear_backward_input:
    case Op::linear_backward_weights:
      return true;
    default:
      return false;
  }
}

}  // namespace

double Peaks::flops(Precision precision) const {
  switch (precision) {
    case Precision::tf32:
      return tf32;
    case Precision::fp16:
      return fp16;
    case Precision::bf16:
      return bf16;
    default:
      return fp32;
  }
}

Peaks measure_peaks(const std::shared_ptr<core::Device>& device) {
#if WARPSCOPE_HAVE_CUDA
  if (device->kind() == core::DeviceKind::cuda) return measure_cuda_peaks(device);
#endif
  if (device->kind() != core::DeviceKind::cpu) throw core::Error("this build can measure a CPU only");
  return measure_cpu_peaks();
}

double floor_seconds(const Peaks& peaks, Op op, const ops::OpShape& shape, Precision precision) {
  double rate = multiplies_matrices(op) ? peaks.flops(precision) : peaks.fp32;
  if (rate <= 0) rate = peaks.fp32;
  const double compute = rate > 0 ? ops::least_flops(op, shape) / rate : 0;
  const double memory = peaks.bytes > 0 ? ops::minimum_bytes(op, shape, precision) / peaks.bytes : 0;
  return std::max(compute, memory);
}

}  // namespace warpscope::profiling
