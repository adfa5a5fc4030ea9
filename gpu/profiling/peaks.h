#pragma once
// What the device can do at best, measured: the ceilings of the roofline.

#include <memory>

#include "gpu/core/device.h"
#include "gpu/core/types.h"
#include "gpu/ops/variant.h"

namespace warpscope::profiling {

/// Measured ceilings of one device.
struct Peaks {
  double fp32 = 0;  ///< FLOP/s of FP32 fused multiply-adds
  double tf32 =
      0;  ///< FLOP/s of matrix products on the tensor cores, by mma.sync or wgmma; 0 where there are none
  double fp16 = 0;   ///< the same
  double bf16 = 0;   ///< the same; on a CPU, of the library's matrix product
  double bytes = 0;  ///< bytes/s of a copy through memory, read and written bytes both counted

  /// The ceiling of `precision` (fp64: that of fp32).
  double flops(core::Precision precision) const;
};

/// Measures for about a second. The device should do nothing else meanwhile. Throws core::Error.
Peaks measure_peaks(const std::shared_ptr<core::Device>& device);

/// The least time of a call of `variant` in seconds, whatever it covers: the largest of the least products
/// known (ops::fewest_flops) over the precision's ceiling, the least other operations over that of FP32, and
/// the bytes that come from outside or stay over the bandwidth.
double floor_seconds(const Peaks& peaks, const ops::Variant& variant, const ops::OpShape& shape,
                     core::Precision precision);

// The two halves of measure_peaks().

Peaks measure_cpu_peaks();
/// Only where the build has CUDA.
Peaks measure_cuda_peaks(const std::shared_ptr<core::Device>& device);

}  // namespace warpscope::profiling
