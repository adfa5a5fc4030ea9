#pragma once
// A plan: model + selection + batch size, compiled to an ordered list of launches over planned memory and
// captured as one graph. Plans share the weights, the data and the ring that the trainer owns; they own
// activations and workspace.

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/models/model.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/plan/cover.h"
#include "gpu/plan/memory.h"
#include "gpu/plan/overlap.h"
#include "gpu/plan/program.h"
#include "gpu/plan/selection.h"

namespace warpscope::plan {

/// Memory that outlives plans. Device pointers.
struct Bindings {
  const std::uint8_t* images = nullptr;  ///< (image_count, H, W, C)
  std::int64_t image_count = 0;
  const std::uint32_t* order = nullptr;  ///< image_count positions
  ops::step::StepControl* control = nullptr;
  ops::step::StepRecord* ring = nullptr;  ///< training only
  std::int64_t ring_capacity = 0;
  float* parameters = nullptr;           ///< models::ParameterLayout
  float* gradients = nullptr;            ///< the same layout; training only
  float* first_state = nullptr;          ///< the same layout; where the recipe's rule keeps one
  float* second_state = nullptr;         ///< where it keeps two
  const std::uint8_t* labels = nullptr;  ///< image_count classes; with classes or a head
  const void* latents = nullptr;         ///< (batch, H, W, C) in the precision's element type; decoding only
  /// (classes, classes) in the precision's element type; attribution only. For an image taken for class k row k is the
  /// gradient of its scores to begin with: with ones on the diagonal that of the score it was classified by. Images
  /// are not shuffled then: `order` rises from 0, the control block's position is 0, `labels` any, one an image of
  /// the batch, which is the whole set.
  const void* score_rows = nullptr;
  /// `parameters` hold the network's before the plan is made and never change: its 16-bit weights are cast once, as it
  /// is made, and by none of its passes. Not for training.
  bool fixed_parameters = false;
};

/// One op of a plan, in the order of the program.
struct PlanNode {
  ops::Op op{};
  std::string layer;
  ops::OpShape shape;                     ///< with what its call covers
  const ops::Variant* variant = nullptr;  ///< of the plan's table; nullptr: it is covered and not launched
  int covered_by = -1;                    ///< the node whose call covers it, or -1
  std::vector<int> covers = {};           ///< the nodes inside its call
  std::string reason = {};                ///< NodeCover::reason
};

/// A tensor that a node has written, in device memory.
struct WrittenTensor {
  std::string name;
  core::ElementType type{};
  std::int64_t elements = 0;
  const void* data = nullptr;

  std::size_t bytes() const { return static_cast<std::size_t>(elements) * core::size_of(type); }
};

/// Bindings::order of so many images that are not shuffled.
inline std::vector<std::uint32_t> in_order(std::int64_t images) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(images));
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

class Plan {
 public:
  /// Compiles and captures. Throws core::BadInput that says which op cannot run as selected, why, and what
  /// would work; core::OutOfMemory that says what is needed and what is free. Nothing of a plan in use is
  /// touched.
  Plan(const models::Model& model, Purpose purpose, const Selection& selection, int batch,
       ops::Context context, core::Stream& stream, const Bindings& bindings, const Recipe& recipe = {},
       const MeasuredChoices& measured = {});
  Plan(const Plan&) = delete;  // its graphs hold its address
  Plan& operator=(const Plan&) = delete;

  /// Enqueues one pass: one graph launch, or one for each micro-batch and one for the update.
  void launch(core::Stream& stream);

  /// Enqueues one pass with an event after each node (of the last micro-batch and of the update). Does
  /// nothing and returns false while the times of the last one have not been taken.
  bool launch_timed(core::Stream& stream);
  /// Microseconds of each node of the last timed pass (0 for those that it does not launch), once it has finished;
  /// otherwise nothing. A sum over ranks that runs beside other nodes takes what these wait for it. Never waits.
  std::optional<std::vector<double>> take_timings();
  /// From the beginning of the last timed pass, of its last micro-batch, to `now`, which has come. To be asked right
  /// after take_timings() has given its times.
  double microseconds_since_timed(const core::Event& now) const {
    return now.microseconds_since(*events_[0]);
  }

  /// What sums over ranks took beside other nodes of the pass of which take_timings() gave times last, in microseconds.
  double microseconds_beside() const { return beside_microseconds_; }

  /// Enqueues one node by itself; nothing for a covered one.
  void launch_node(std::size_t index, core::Stream& stream);
  /// The numbers that node `index` writes (no control blocks, no bytes, nothing in a variant's own format),
  /// those of the nodes it covers among them.
  std::vector<WrittenTensor> written(std::size_t index) const;
  /// The tensors of the program that node `index` reads or writes in a variant's own format: only calls that agree on
  /// it run together.
  std::vector<int> private_tensors(std::size_t index) const;

  const std::vector<PlanNode>& nodes() const { return nodes_; }
  /// The first node that comes once a step: those before it come once a micro-batch. Training plans only.
  std::size_t update_node() const { return program_.update; }
  int batch() const { return batch_; }
  const Recipe& recipe() const { return recipe_; }
  std::size_t memory_bytes() const { return arena_.bytes(); }

  /// Device memory that an inference plan leaves readable: FP32 images (batch, H, W, C); reconstruction only.
  /// A decoding plan leaves the prediction as it is.
  void* prediction() const { return address_[static_cast<std::size_t>(program_.shown_prediction)]; }
  void* target() const { return address_[static_cast<std::size_t>(program_.shown_target)]; }
  float* image_errors() const {
    return static_cast<float*>(address_[static_cast<std::size_t>(program_.image_errors)]);
  }
  /// What an inspection plan leaves readable beside these: the batch's images and the output of each layer, in
  /// the order of the model and in the precision's element type. (batch, H, W, C). An encoding plan leaves the
  /// output of its last layer.
  WrittenTensor input() const { return tensor(program_.target); }
  WrittenTensor output(std::size_t layer) const { return tensor(program_.outputs.at(layer)); }
  /// What an attributing plan leaves: (batch, H, W, C) of the input or of the first layer's output, in the precision's
  /// element type. Scores are the last layer's output; that of an embedding that comes first is readable too.
  WrittenTensor input_gradient() const { return tensor(program_.input_gradient); }
  /// The head's cross-entropy of each image; with a head only.
  float* head_losses() const {
    return static_cast<float*>(address_[static_cast<std::size_t>(program_.head_losses)]);
  }
  /// The predicted classes (batch), a byte each; of a network that classifies, or its head.
  std::uint8_t* predicted() const {
    return static_cast<std::uint8_t*>(address_[static_cast<std::size_t>(program_.predicted)]);
  }

 private:
  void cover_nodes(const Selection& selection, const MeasuredChoices& measured);
  void bind(const MemoryPlan& memory, const Bindings& bindings);
  void clear_persistent(core::Stream& stream);
  /// Lets the weights that the first node casts outlive its launch, which comes once.
  void cast_once();
  WrittenTensor tensor(int index) const;
  std::unique_ptr<core::Graph> capture(core::Stream& stream, std::size_t begin, std::size_t end);
  ops::OpCall call_of(std::size_t index, core::Stream& stream) const;
  /// Nodes [begin, end), with events if they are `timed`.
  void enqueue(core::Stream& stream, std::size_t begin, std::size_t end, bool timed);
  void launch_piece(std::size_t index, std::size_t piece, core::Stream& stream);
  void launch_last_piece(std::size_t index, core::Stream& stream);
  void launch_beside(std::size_t piece, core::Stream& stream, bool timed);
  void make_events();

  ops::Context context_;
  Program program_;
  core::Precision precision_;
  Recipe recipe_;
  int batch_;
  std::size_t first_ = 0;  ///< the first node of each pass: 1 if the weights are cast once
  std::vector<PlanNode> nodes_;
  std::vector<std::unique_ptr<ops::Prepared>> prepared_;
  core::Buffer arena_;
  std::vector<void*> address_;                ///< one a tensor
  std::vector<NodeCover> covers_;             ///< one a node
  std::vector<ops::ByName<void*>> operands_;  ///< those of each node's call
  std::vector<void*> workspace_;              ///< one a node
  Overlap overlap_;
  std::unique_ptr<core::Stream> beside_;      ///< of what overlaps; nullptr: nothing does
  std::unique_ptr<core::Graph> once_graph_;   ///< what comes before the first pass, if anything does
  std::unique_ptr<core::Graph> graph_;        ///< the whole pass
  std::unique_ptr<core::Graph> micro_graph_;  ///< what comes once a micro-batch, if there are several
  std::unique_ptr<core::Graph> timed_graph_;  ///< captured at the first timed launch
  std::vector<std::unique_ptr<core::Event>> events_;
  std::vector<std::unique_ptr<core::Event>> beside_events_;  ///< before and after each piece beside
  double beside_microseconds_ = 0;
  std::unique_ptr<core::Event>
      timed_done_;  ///< recorded after the graph: its inner events cannot tell if it ran yet
  bool timing_pending_ = false;
};

}  // namespace warpscope::plan
