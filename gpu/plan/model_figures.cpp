#include "gpu/plan/model_figures.h"

#include "gpu/ops/op.h"
#include "gpu/plan/memory_map.h"
#include "gpu/plan/program.h"
#include "gpu/plan/selection.h"

namespace warpscope::plan {
namespace {

constexpr int kLeast = 8;
constexpr int kMost = 64;
/// FLOPs of a core in 50 ms at two thirds of the rate that oneDNN's convolutions were measured at.
constexpr double kCoreFlops = 5e9;

/// Calls visit(node, floating-point operations) for each node that comes once a batch.
template <class Visit>
void for_each_node(const models::Model& model, Purpose purpose, Visit visit) {
  const Program program = lower(model, purpose, 1, 1, 1, core::Precision::fp32);
  const std::size_t end = purpose == Purpose::training ? program.update : program.nodes.size();
  for (std::size_t i = 0; i < end; ++i) {
    const Node& node = program.nodes[i];
    const ops::OpContract& contract = ops::contract(node.op);
    if (contract.scope == ops::Scope::layer) visit(node, contract.flops(node.shape));
  }
}

}  // namespace

int standard_batch(const core::DeviceInfo& device, const models::Model& model) {
  if (device.kind == core::DeviceKind::cuda) return kMost;
  const double flops = kCoreFlops * device.multiprocessors;
  const double image = figures_of(model).step_flops;
  int batch = kLeast;
  while (batch < kMost && 2 * batch * image <= flops) batch *= 2;
  return batch;
}

ModelFigures figures_of(const models::Model& model) {
  const models::Model bare = models::with_head(model, 0);
  ModelFigures figures;
  models::Extent extent{bare.height, bare.width, bare.channels};
  for (const models::Layer& layer : bare.layers) {
    LayerFigures& each = figures.layers.emplace_back();
    each.input = extent;
    extent.pass(layer);
    each.output = extent;
  }
  const models::ParameterLayout layout = models::parameter_layout(bare);
  figures.parameters = layout.count;
  for (const models::Parameter& parameter : layout.parameters) {
    if (parameter.learned) figures.layers[parameter.layer].parameters += parameter.elements;
  }
  for_each_node(bare, Purpose::inference, [&](const Node& node, double flops) {
    figures.forward_flops += flops;
    const std::size_t layer = models::index_of(bare, node.layer);
    if (layer < figures.layers.size()) figures.layers[layer].forward_flops += flops;
  });
  for_each_node(bare, Purpose::training, [&](const Node& node, double flops) {
    figures.step_flops += flops;
    const std::size_t layer = models::index_of(bare, node.layer);
    if (layer < figures.layers.size()) figures.layers[layer].step_flops += flops;
  });
  return figures;
}

std::size_t training_bytes(const models::Model& model, const Machine& machine, core::Precision precision,
                           int batch) {
  check_precision(machine, precision);
  Selection selection;
  selection.precision = precision;
  return memory_map(model, Purpose::training, selection, batch, machine).bytes;
}

}  // namespace warpscope::plan
