#pragma once
// Runs held-out or a person's own images through an inference plan, and brings originals and reconstructions to
// the host.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/scene.h"
#include "gpu/messages/comparison.h"
#include "gpu/models/model.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

/// All that a pass is made from, so that another thread can make it.
struct ComparisonSetup {
  models::Model model;
  plan::Selection selection;
  std::string weights_file;     ///< "": the training's weights
  bool copies_weights = false;  ///< the training goes on while the pass runs: ComparisonPass::copy_weights()
  int count = 0;                ///< images; at least 1
  std::int64_t first = 0;       ///< place of the first among the held-out images
  std::shared_ptr<const data::OwnImages> own;  ///< instead of these
  std::shared_ptr<core::Device> device;
  ops::Variants variants;  ///< to choose from
  plan::Bindings held_out;

  /// A pass made from one serves for the other.
  bool same_as(const ComparisonSetup& other) const {
    return selection == other.selection && weights_file == other.weights_file && count == other.count &&
           first == other.first && own == other.own;
  }
};

/// What one of the request's reconstructors is made from.
ComparisonSetup comparison_setup(const Scene& scene, const ComparisonRequest& request,
                                 const Reconstructor& reconstructor);

class ComparisonPass {
 public:
  /// Reads the weights, uploads what is its own and builds the plan, on a stream of its own that it waits for.
  /// Throws core::BadInput that says why these images, weights or variants cannot be, core::OutOfMemory.
  explicit ComparisonPass(const ComparisonSetup& setup);
  /// Waits for what is under way.
  ~ComparisonPass();
  ComparisonPass(const ComparisonPass&) = delete;
  ComparisonPass& operator=(const ComparisonPass&) = delete;

  /// Where the pass has weights of its own: enqueues a copy of the training's, unless they come from a file.
  void copy_weights(core::Stream& stream, const core::Buffer& parameters);
  /// Enqueues the pass and the copies; with those of the originals if asked for. What it did before must have
  /// been taken. Once `stop` is set no more batches are enqueued.
  void enqueue(core::Stream& stream, bool with_originals, const std::atomic<bool>& stop);
  /// A stream of its own.
  core::Stream& stream() { return *stream_; }
  /// What has arrived, once the stream has come so far.
  Reconstruction reconstruction() const;
  std::vector<float> originals() const;
  ImageShape shape() const { return shape_; }

 private:
  void load_weights(const ComparisonSetup& setup, core::Stream& stream);
  void upload_images(const ComparisonSetup& setup, core::Stream& stream);

  ImageShape shape_;
  std::int64_t first_ = 0;
  plan::Bindings bindings_;
  core::Buffer control_, weights_, images_, order_;
  bool from_file_ = false;
  std::unique_ptr<core::Stream> stream_;  ///< that the plan was made on
  std::unique_ptr<plan::Plan> plan_;
  std::unique_ptr<core::Event> done_;
  core::HostBuffer controls_;  ///< one a batch
  core::HostBuffer originals_, values_, errors_;
};

}  // namespace warpscope::training
