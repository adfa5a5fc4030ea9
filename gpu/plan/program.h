#pragma once
// Lowering: a model and a batch size become an ordered list of op instances over named tensors, still without
// variants, memory or device.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/models/model.h"
#include "gpu/ops/op.h"
#include "gpu/ops/variant.h"

namespace warpscope::plan {

/// Where a tensor's memory comes from.
enum class Storage : std::uint8_t {
  planned,     ///< the plan's own arena
  working,     ///< a part of the planned tensor Tensor::parent, at Tensor::offset elements
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
  bool kept = false;  ///< read after the last node (pictures, errors, loss): its memory is never reused
  int parent = -1;    ///< the tensor that a Storage::working one is a part of
};

struct Node {
  ops::Op op{};
  std::string layer;
  ops::OpShape shape;
  std::vector<int>
      tensors;           ///< one a contract operand, then those of absorbed ops (ops::OpCall); indices into
                         ///< Program::tensors; none if absorbed
  int absorbed = 0;      ///< how many of the nodes right after it run inside it
  int absorbed_by = -1;  ///< the node that this one runs inside of, or -1
};

struct Program {
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  int target = -1;            ///< the batch's images
  int prediction = -1;        ///< the network's output
  int shown_target = -1;      ///< the images in FP32, in inference
  int shown_prediction = -1;  ///< the output in FP32, in inference
  int image_errors = -1;
  int loss = -1;
};

/// What a plan is for.
enum class Purpose : std::uint8_t {
  training,   ///< weights cast, gather, forward, loss, backward, gradients check, update, record
  inference,  ///< weights cast, gather, forward, loss; prediction and target stay readable, in FP32
};

/// Lowers `model`. `image_count` is the size of the data set, `ring_capacity` that of the ring of step
/// records. With `blocks`, what lies around each convolution becomes one block op (ops/block/block.h). In 16-bit precisions the weights are cast first; in FP16 the gradients are checked before the update.
Program lower(const models::Model& model, Purpose purpose, int batch, std::int64_t image_count,
              std::int64_t ring_capacity, core::Precision precision, bool blocks = false);

/// Lets the variants that cover several ops absorb the nodes after them: `variants` holds the variant of each node. An
/// absorbing node takes over the last absorbed one's output and what they need beside it (ops::OpCall).
void absorb(Program& program, const std::vector<const ops::Variant*>& variants);

}  // namespace warpscope::plan
