#include "gpu/ops/variant.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "gpu/ops/batch/batch.h"
#include "gpu/ops/bias/bias.h"
#include "gpu/ops/block/block.h"
#include "gpu/ops/cast/cast.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/cross_entropy/cross_entropy.h"
#include "gpu/ops/labels/labels.h"
#include "gpu/ops/linear/linear.h"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/mse/mse.h"
#include "gpu/ops/optimizer/optimizer.h"
#include "gpu/ops/relu/relu.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/upsample2d/upsample2d.h"

namespace warpscope::ops {
namespace {

std::vector<Variant> collect() {
  std::vector<Variant> all;
  for (auto list :
       {batch::variants, conv2d::variants, bias::variants, block::variants, relu::variants,
        maxpool2d::variants, upsample2d::variants, mse::variants, optimizer::variants, step::variants,
        cast::variants, linear::variants, labels::variants, cross_entropy::variants}) {
    auto some = list();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  std::stable_sort(all.begin(), all.end(), [](const Variant& a, const Variant& b) {
    return std::tuple(a.op, a.device) < std::tuple(b.op, b.device);
  });
  std::set<std::tuple<Op, core::DeviceKind, std::string>> seen;
  for (const Variant& variant : all) {
    if (!seen.emplace(variant.op, variant.device, variant.name).second) {
      throw std::logic_error(
          fmt::format("variant {} of {} is listed twice", variant.name, to_string(variant.op)));
    }
  }
  return all;
}

}  // namespace

std::span<const Variant> variants() {
  static const std::vector<Variant> all = collect();
  return all;
}

std::vector<const Variant*> variants_of(Op op, core::DeviceKind device) {
  std::vector<const Variant*> found;
  for (const Variant& variant : variants()) {
    if (variant.op == op && variant.device == device) found.push_back(&variant);
  }
  return found;
}

const Variant* find_variant(Op op, core::DeviceKind device, std::string_view name) {
  for (const Variant& variant : variants()) {
    if (variant.op == op && variant.device == device && variant.name == name) return &variant;
  }
  return nullptr;
}

std::string unavailable_reason(const Variant& variant, const core::DeviceInfo& device,
                               core::Precision precision, const OpShape* shape) {
  if (variant.device != device.kind) return fmt::format("runs on {} only", core::to_string(variant.device));
  if (device.compute_capability < variant.minimum_compute_capability) {
    return fmt::format("needs compute capability {}.{}, this GPU has {}.{}",
                       variant.minimum_compute_capability / 10, variant.minimum_compute_capability % 10,
                       device.compute_capability / 10, device.compute_capability % 10);
  }
  const int only = variant.only_compute_capability;
  if (only != 0 && device.compute_capability != only) {
    return fmt::format("runs on compute capability {}.{} alone, this GPU has {}.{}", only / 10, only % 10,
                       device.compute_capability / 10, device.compute_capability % 10);
  }
  if (std::find(variant.precisions.begin(), variant.precisions.end(), precision) ==
      variant.precisions.end()) {
    std::string has;
    for (const auto p : variant.precisions) {
      if (p == core::Precision::fp64) continue;
      has += has.empty() ? "" : ", ";
      has += core::to_string(p);
    }
    return fmt::format("not in {}; in {}", core::to_string(precision), has);
  }
  return shape && variant.refuses ? variant.refuses(*shape) : std::string();
}

std::size_t workspace_bytes(const Variant& variant, const OpShape& shape, core::Precision precision) {
  return variant.workspace_bytes ? variant.workspace_bytes(shape, precision) : 0;
}

}  // namespace warpscope::ops
