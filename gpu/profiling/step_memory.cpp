#include "gpu/profiling/step_memory.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/engine/recipe.h"
#include "gpu/models/parameters.h"
#include "gpu/ops/step/step.h"
#include "gpu/plan/program.h"
#include "gpu/verify/host_values.h"

namespace warpscope::profiling {
namespace {

using plan::Storage;
using Bytes = std::vector<std::byte>;

constexpr std::int64_t kRingSlots = 4096;
constexpr std::int64_t kSteps = 4;  // in an epoch
constexpr float kRate = 1e-6f;

bool is_own(Storage storage) {
  return storage == Storage::planned || storage == Storage::part;
}

/// Bytes of each storage that the operands of `program` reach.
std::array<std::size_t, kStorages> needs_of(const plan::Program& program, core::Precision precision) {
  std::array<std::size_t, kStorages> needs{};
  for (const plan::Node& node : program.nodes) {
    const auto operands = ops::contract(node.op).operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const plan::Tensor& tensor = program.tensors[static_cast<std::size_t>(node.tensors[i])];
      const std::int64_t elements = operands[i].elements(node.shape);
      if (is_own(tensor.storage) || elements == 0) continue;
      std::size_t& need = needs[static_cast<std::size_t>(tensor.storage)];
      need = std::max(need, (tensor.offset + static_cast<std::size_t>(elements)) *
                                core::size_of(ops::element_type(operands[i].role, precision)));
    }
  }
  return needs;
}

Bytes random_bytes(std::size_t count, int values) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(core::random_bits(1, i) % static_cast<unsigned>(values));
  }
  return bytes;
}

/// How many values a byte of the input has: an image's 256, a text's symbols and the byte that is none of them.
int input_values(const models::Model& model) {
  const bool reads = !model.layers.empty() && model.layers.front().reads_symbols();
  return reads ? std::min(256, model.layers.front().symbols + 1) : 256;
}

int classes_of(const models::Model& model) {
  return std::clamp(std::max(model.classes, model.head_classes), 1, 256);
}

ops::step::StepControl control_of(const StepSetup& setup, const plan::Recipe& recipe, std::int64_t images) {
  ops::step::StepControl control;
  training::fill_control(setup.optimizer, control);
  training::fill_control(setup.augment, control);
  control.epoch_size = static_cast<std::uint32_t>(images);
  control.learning_rate = kRate;
  control.micro_batches = static_cast<std::uint32_t>(recipe.micro_batches);
  return control;
}

}  // namespace

int images_of_step(const StepSetup& setup) {
  return setup.optimizer.per_sample ? setup.batch : setup.batch * setup.optimizer.accumulate;
}

StepMemory::StepMemory(const std::shared_ptr<core::Device>& device, core::Stream& stream,
                       const models::Model& model, const StepSetup& setup, core::Precision precision)
    : recipe_(training::recipe_of(setup.optimizer, setup.augment, setup.part())),
      image_count_(kSteps * images_of_step(setup)) {
  const plan::Program program = plan::lower(model, plan::Purpose::training, setup.part().batch, image_count_,
                                            kRingSlots, precision, recipe_);
  const auto needs = needs_of(program, precision);
  const auto values = [&](Storage storage, std::size_t bytes) -> Bytes {
    switch (storage) {
      case Storage::images:
        return random_bytes(bytes, input_values(model));
      case Storage::labels:
        return random_bytes(bytes, classes_of(model));
      case Storage::order:
        return verify::random_order(bytes / sizeof(std::uint32_t), std::mt19937_64(1));
      case Storage::control:
        return verify::bytes_of(std::vector{control_of(setup, recipe_, image_count_)});
      case Storage::parameters:
        return verify::bytes_of(models::initial_parameters(model, 1));
      case Storage::ring:
      case Storage::gradients:
      case Storage::first_state:
      case Storage::second_state:
        return Bytes(bytes);
      case Storage::planned:
      case Storage::part:
      case Storage::latents:
      case Storage::score_rows:
        break;
    }
    throw core::Error("a training step reads what only other passes do");
  };
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (needs[i] == 0) continue;
    const auto storage = static_cast<Storage>(i);
    Bytes first = values(storage, needs[i]);
    first.resize(std::max(first.size(), needs[i]));
    buffer(storage) = core::upload(device, stream, first);
  }
}

plan::Bindings StepMemory::bindings() const {
  plan::Bindings bindings;
  bindings.images = address<std::uint8_t>(Storage::images);
  bindings.image_count = image_count_;
  bindings.order = address<std::uint32_t>(Storage::order);
  bindings.control = address<ops::step::StepControl>(Storage::control);
  bindings.ring = address<ops::step::StepRecord>(Storage::ring);
  bindings.ring_capacity = kRingSlots;
  bindings.parameters = address<float>(Storage::parameters);
  bindings.gradients = address<float>(Storage::gradients);
  bindings.first_state = address<float>(Storage::first_state);
  bindings.second_state = address<float>(Storage::second_state);
  bindings.labels = address<std::uint8_t>(Storage::labels);
  return bindings;
}

std::unique_ptr<plan::Plan> make_step(const ops::Context& context, core::Stream& stream,
                                      const models::Model& model, const StepSetup& setup,
                                      const plan::Selection& selection, const StepMemory& memory,
                                      const plan::MeasuredChoices& measured) {
  return std::make_unique<plan::Plan>(model, plan::Purpose::training, selection, setup.part().batch, context,
                                      stream, memory.bindings(), memory.recipe(), measured);
}

}  // namespace warpscope::profiling
