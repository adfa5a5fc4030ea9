#include "gpu/profiling/peaks.h"

#include <algorithm>

#include "gpu/core/error.h"
#include "gpu/ops/cost.h"

namespace warpscope::profiling {
using core::Precision;

double Peaks::flops(Precision precision) const {
  if (precision == Precision::tf32) return tf32;
  if (precision == Precision::fp16) return fp16;
  return precision == Precision::bf16 ? bf16 : fp32;
}

Peaks measure_peaks(const std::shared_ptr<core::Device>& device) {
#if WARPSCOPE_HAVE_CUDA
  if (device->kind() == core::DeviceKind::cuda) return measure_cuda_peaks(device);
#endif
  if (device->kind() != core::DeviceKind::cpu) throw core::Error("this build can measure a CPU only");
  return measure_cpu_peaks();
}

double floor_seconds(const Peaks& peaks, const ops::Variant& variant, const ops::OpShape& shape,
                     Precision precision) {
  const auto seconds = [](double work, double rate) { return rate > 0 ? work / rate : 0; };
  const double products = peaks.flops(precision) > 0 ? peaks.flops(precision) : peaks.fp32;
  const ops::Flops flops = ops::fewest_flops(variant, shape);
  return std::max({seconds(flops.products, products), seconds(flops.movement, peaks.fp32),
                   seconds(ops::minimum_bytes(variant, shape, precision), peaks.bytes)});
}

}  // namespace warpscope::profiling
