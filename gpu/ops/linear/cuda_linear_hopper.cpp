// linear, variant `hopper`: for each shape the best kernel for Hopper. Large layers in 16 bits run on wgmma
// (hopper_linear_forward.cu, hopper_linear_backward.cu, built as sm_90a), all others as `split_k_fused`.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/chains.h"
#include "gpu/ops/linear/backward_chain.h"
#include "gpu/ops/linear/hopper_layers.h"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {

Variant split_k_fused_forward(), split_k_fused_backward_weights();  // cuda_linear_split_k.cpp
namespace hopper {
namespace {

constexpr int kMultiprocessors = kPlannedProcessors;
constexpr int kFewestPartSlices = 4;  // shorter parts take longer to add than to sum
// Smaller layers take split_k less time (128 outputs of 8192 inputs in FP16 on an H100: 10.1 against 13.9 us at 64
// rows, the gradients at 256 rows 10.5 against 11.9), but for those of many rows that are not narrow (1024 outputs of
// 1024 inputs: 9.6 against 11.6 us at 64 rows, 12.1 against 11.9 at 256, 36.0 against 12.8 at 2048).
constexpr std::int64_t kFewestWeights = std::int64_t{1} << 21;
constexpr std::int64_t kFewestOfManyRows = std::int64_t{1} << 20;
constexpr std::int64_t kFewestProducts = std::int64_t{1} << 28;
constexpr int kFewestFeatures = 512;

int divide_up(std::int64_t a, std::int64_t b) {
  return static_cast<int>((a + b - 1) / b);
}

/// What runs the layers that these kernels do not take.
template <Op Which>
const Variant& split_k() {
  static const Variant variant =
      Which == Op::linear_forward ? split_k_fused_forward() : split_k_fused_backward_weights();
  return variant;
}

bool is_large(const OpShape& shape, core::Precision precision) {
  return precision != core::Precision::tf32 && takes(shape);
}

template <Op Which>
void launch(const OpCall& call) {
  if (!is_large(call.shape, call.precision)) return split_k<Which>().launch(call);
  Which == Op::linear_forward ? launch_forward(call) : launch_backward(call);
}

template <Op Which>
std::size_t workspace(const OpShape& shape, core::Precision precision) {
  if (!is_large(shape, precision)) return split_k<Which>().workspace_bytes(shape, precision);
  return Which == Op::linear_forward ? forward_workspace(shape, precision)
                                     : backward_workspace(shape, precision);
}

template <Op Which>
std::unique_ptr<Prepared> prepare(const OpCall& call) {
  return is_large(call.shape, call.precision) ? nullptr : split_k<Which>().prepare(call);
}

template <Op Which>
Variant hopper_variant(const std::vector<Link>& chain, const char* summary,
                       const std::vector<Name>& stored = {}) {
  return cuda_variant(Which, "hopper", launch<Which>, summary,
                      {.precisions = {core::Precision::tf32, core::Precision::fp16, core::Precision::bf16},
                       .minimum_compute_capability = 90,
                       .maximum_compute_capability = 90,
                       .chain = chain,
                       .stored_for_others = stored,
                       .workspace_bytes = workspace<Which>,
                       .prepare = prepare<Which>});
}

}  // namespace

Cut cut_of(std::int64_t rows, std::int64_t columns, std::int64_t depth, int cluster_rows, int cluster_columns,
           bool splits) {
  Cut cut;
  cut.rows = static_cast<int>(rows);
  cut.columns = static_cast<int>(columns);
  cut.row_clusters = divide_up(rows, std::int64_t{kTile} * cluster_rows);
  cut.column_clusters = divide_up(columns, std::int64_t{kTile} * cluster_columns);
  cut.slices = divide_up(depth, kSlice);
  const int blocks = cut.tile_clusters() * cluster_rows * cluster_columns;
  const int most = splits ? std::max(cut.slices / kFewestPartSlices, 1) : 1;
  cut.part_slices = divide_up(cut.slices, std::clamp(kMultiprocessors / blocks, 1, most));
  cut.parts = divide_up(cut.slices, cut.part_slices);
  return cut;
}

std::size_t parts_bytes(const Cut& cut) {
  return cut.parts > 1 ? sizeof(float) * static_cast<std::size_t>(cut.parts * cut.elements()) : 0;
}

void require_aligned(const OpCall& call, Name name) {
  constexpr std::uintptr_t kAlignment = 16;
  if (reinterpret_cast<std::uintptr_t>(call.operands[name]) % kAlignment == 0) return;
  throw core::Error(fmt::format("linear hopper: operands must be aligned to {} bytes", kAlignment));
}

bool takes(const OpShape& s) {
  if (s.in_channels % kSlice != 0 || s.out_channels % kSlice != 0) return false;
  const std::int64_t weights = std::int64_t{s.in_channels} * s.out_channels;
  const std::int64_t features = s.batch * std::max(s.in_channels, s.out_channels);
  if (weights > kMostElements || features > kMostElements) return false;
  if (weights >= kFewestWeights) return true;
  return weights >= kFewestOfManyRows && std::min(s.in_channels, s.out_channels) >= kFewestFeatures &&
         s.batch * weights >= kFewestProducts;
}

}  // namespace hopper

Variant hopper_forward() {
  return hopper::hopper_variant<Op::linear_forward>(
      bias_and_activation_after(Op::linear_forward),
      "wgmma fed by TMA for layers of at least 2^21 weights, or "
      "2^20 and many rows, elsewhere as split_k_fused.",
      {Name::unactivated});
}
Variant hopper_backward_weights() {
  return hopper::hopper_variant<Op::linear_backward_weights>(
      backward_chain(),
      "A large layer's backward pass by wgmma fed by TMA, of whose copies four blocks share theirs.");
}

}  // namespace warpscope::ops::linear
