#include "gpu/plan/standard_batch.h"

#include "gpu/plan/model_figures.h"

namespace warpscope::plan {
namespace {

constexpr int kLeast = 8;
constexpr int kMost = 64;
/// FLOPs of a core in 50 ms at two thirds of the rate that oneDNN's convolutions were measured at.
constexpr double kCoreFlops = 5e9;

}  // namespace

int standard_batch(const core::DeviceInfo& device, const models::Model& model) {
  if (device.kind == core::DeviceKind::cuda) return kMost;
  const double flops = kCoreFlops * device.multiprocessors;
  const double image = figures_of(model).step_flops;
  int batch = kLeast;
  while (batch < kMost && 2 * batch * image <= flops) batch *= 2;
  return batch;
}

}  // namespace warpscope::plan
