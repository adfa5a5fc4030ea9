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
  planned,       ///< the plan's own arena
  part,          ///< a part of the planned tensor Tensor::parent, at Tensor::offset elements
  images,        ///< the data set's bytes
  labels,        ///< the data set's classes, a byte an image
  order,         ///< the epoch's order
  control,       ///< StepControl
  ring,          ///< StepRecord[]
  parameters,    ///< the contiguous parameter buffer, at Tensor::offset elements
  gradients,     ///< the contiguous gradient buffer, at Tensor::offset elements
  first_state,   ///< the optimizer's, of the parameter buffer's layout
  second_state,  ///< the same
  latents,       ///< what a decoding plan begins with
  score_rows,    ///< what an attributing plan goes back from
};

struct Tensor {
  std::string name;
  Storage storage = Storage::planned;
  ops::Role role = ops::Role::activation;
  std::int64_t elements = 0;
  std::size_t offset = 0;
  bool kept = false;        ///< read after the last node (pictures, errors, loss): its memory is never reused
  int parent = -1;          ///< the tensor that a Storage::part one is a part of
  bool persistent = false;  ///< keeps its numbers from launch to launch, and begins with zeros
};

struct Node {
  ops::Op op{};
  std::string layer;
  ops::OpShape shape;
  std::vector<int> tensors;  ///< one a contract operand; indices into Program::tensors
};

struct Program {
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  int target = -1;            ///< the batch's images
  int prediction = -1;        ///< the network's output
  int shown_target = -1;      ///< the images in FP32, in inference
  int shown_prediction = -1;  ///< the output in FP32, in inference
  int image_errors = -1;      ///< the loss of each image
  int predicted = -1;         ///< the predicted class of each image, by the network or its head
  int head_losses = -1;       ///< the head's cross-entropy of each image, with a head
  int input_gradient = -1;    ///< of the scores, by what Purpose::attribution says
  int loss = -1;
  std::vector<int> outputs;  ///< of each layer of the model; -1 of those that do not run
  std::size_t update =
      0;  ///< the first node that comes once a step instead of once a micro-batch, in training
};

/// What a step does with its images and, in training, with the gradients.
struct Recipe {
  ops::UpdateRule rule = ops::UpdateRule::sgd;
  int micro_batches = 1;  ///< of a step; gradients are averaged over them before the update
  /// Parts of the step whose sums a tree adds (ops/optimizer/shards.h), each of as many micro-batches; 0: none.
  int shards = 0;
  bool several_ranks = false;  ///< gradients are averaged over ranks before the update
  int peers = 0;               ///< so many of them, where all reach each other's memory; else 0
  bool linked = false;         ///< and NCCL links their GPUs, in an order that suits the recipe
  /// Images of a pass of all ranks, over which batch norms normalize; 0: each over its own.
  std::int64_t norm_images = 0;
  bool clip_norm = false;  ///< the global norm is known before the update
  bool per_sample =
      false;  ///< the faulty scheme of optimizer.update_per_sample; micro-batches are of one image

  bool augment = false;  ///< images are changed as they are gathered: batch.augment; only in training
  bool mixup = false;    ///< and mixed, so that labels count by their shares: mixed_cross_entropy
  /// batch.augment gathers outside training too: the control block tells the view (views.h).
  bool views = false;

  bool operator==(const Recipe&) const = default;
};

/// What a plan is for.
enum class Purpose : std::uint8_t {
  training,    ///< weights cast, gather, forward, loss, backward; then, once a step, update and record
  inference,   ///< weights cast, gather, forward, loss; prediction and target stay readable, in FP32
  inspection,  ///< as inference, and the input and every layer's output stay readable, as they are
  encoding,  ///< weights cast, gather, the layers, which may be only a network's first; the last output stays
             ///< readable
  decoding,  ///< weights cast, the layers behind models::latent_of(), from latents bound; the prediction stays
             ///< readable, in FP32
  attribution,  ///< of a network that classifies, as it infers: weights cast, gather, forward, predicted classes, and
  ///< back from a sum of each image's scores, bound, to its gradient by the input or, where the first
  ///< layer reads bytes (one_hot, embedding), by the output of that; scores, classes and gradient stay
  ///< readable. No gradients of parameters
};

/// Lowers `model`. `image_count` is the size of the data set, `ring_capacity` that of the ring of step
/// records; `batch` counts the images of a micro-batch if the recipe has several. In 16-bit precisions the
/// weights are cast first; in FP16 the gradients' norm, which tells of overflows, comes before the update.
/// Throws core::BadInput for decoding where what lies behind the latent makes no picture, and for attribution of a
/// network that does not classify.
Program lower(const models::Model& model, Purpose purpose, int batch, std::int64_t image_count,
              std::int64_t ring_capacity, core::Precision precision, const Recipe& recipe = {});

}  // namespace warpscope::plan
