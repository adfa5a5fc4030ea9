#pragma once
// Runs one held-out image through a plan that keeps every layer's output, and brings all of it to the host.

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/scene.h"
#include "gpu/messages/inspection.h"
#include "gpu/models/model.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

class InspectionPass {
 public:
  /// For the scene's model and selection. Throws core::BadInput and core::OutOfMemory as plan::Plan does.
  explicit InspectionPass(const Scene& scene);
  ~InspectionPass();
  InspectionPass(const InspectionPass&) = delete;
  InspectionPass& operator=(const InspectionPass&) = delete;

  /// Enqueues the pass of test image `image`, from 0, and the copies; false, and nothing, while the one before
  /// has not been taken.
  bool start(const Scene& scene, std::int64_t image);
  /// True while the device has work of it left.
  bool busy() const { return pending_ && !done_->ready(); }
  /// What start() began, once it has arrived and a thread has widened it; nothing before. Never
  /// waits, and takes no time of the caller's, which has steps to enqueue.
  std::optional<Inspection> take();
  /// Device time of the last inspection that was taken, in seconds.
  double seconds() const { return seconds_; }
  const plan::Selection& selection() const { return selection_; }

 private:
  struct Piece {
    plan::WrittenTensor tensor;
    LayerOutput shape;  ///< without values
    std::size_t offset = 0;
    std::size_t bytes() const {
      return static_cast<std::size_t>(tensor.elements) * core::size_of(tensor.type);
    }
  };
  void add(const plan::WrittenTensor& tensor, const LayerOutput& shape);
  void add_all();
  Inspection decode() const;

  models::Model model_;
  plan::Selection selection_;
  core::Stream& stream_;
  core::Buffer control_;
  std::unique_ptr<plan::Plan> plan_;
  std::vector<Piece> pieces_;  ///< what is copied for each inspection, one after the other in `outputs_`
  std::size_t bytes_ = 0;
  core::HostBuffer outputs_, parameters_, gradients_;
  core::HostBuffer controls_;  ///< two: the inspection's own to go there, the training's to come back
  std::unique_ptr<core::Event> begun_, done_;
  Inspection what_;
  std::future<Inspection> decoding_;
  bool pending_ = false;
  double seconds_ = 0;
};

}  // namespace warpscope::training
