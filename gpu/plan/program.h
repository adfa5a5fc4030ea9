#pragma once
// Lowering: a model and a batch size become an ordered list of op instances over named tensors, still without
// variants, memory or device.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/models/model.h"
#include "gpu/ops/op.h"

namespace warpscope::plan {

/// Where a tensor's memory comes from.
enum class Storage : std::uint8_t {
  planned,     ///< the plan's own arena
  images,      ///< the data set's bytes
  order,       ///< the epoch's order
  control,     ///< StepControl
  ring,        ///< StepRecord[]
  parameters,  ///< the contiguous parameter buffer, at Tensor::offset elements
  gradients,   ///< the contiguous gradient buffer, at Tensor::offset elements
};

struct Tensor {
  std::string name;
  Storage storage = Storage::planned;
  ops::Role role = ops::Role::activation;
  std::int64_t elements = 0;
  std::size_t offset = 0;
  bool kept =
      false;  ///< read after the last node (prediction, target, errors, loss): its memory is never reused
};

struct Node {
  ops::Op op{};
  std::string layer;
  ops::OpShape shape;
  std::vector<int> tensors;  ///< one a contract operand, indices into Program::tensors
};

struct Program {
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  int target = -1;
  int prediction = -1;
  int image_errors = -1;
  int loss = -1;
};

/// What a plan is for.
enum class Purpose : std::uint8_t {
  training,   ///< gather, forward, loss, backward, update, record
  inference,  ///< gather, forward, loss; prediction and target stay readable
};

/// Lowers `model`. `image_count` is the size of the data set, `ring_capacity` that of the ring of step
/// records.
Program lower(const models::Model& model, Purpose purpose, int batch, std::int64_t image_count,
              std::int64_t ring_capacity);

}  // namespace warpscope::plan
