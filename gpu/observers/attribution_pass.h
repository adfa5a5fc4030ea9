#pragma once
// Runs texts through a plan that goes back from the score of a class to the characters, and brings scores and shares to
// the host.

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/scene.h"
#include "gpu/messages/text_attributions.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

/// A text and what is asked about it.
struct AskedText {
  std::optional<std::int64_t> place;
  std::string text;
};

class AttributionPass {
 public:
  /// For the scene's model, in the precision of its selection: each op by the best variant. `most` texts at the most,
  /// `batch` at once. Throws core::BadInput where the network takes no texts, and as plan::Plan does.
  AttributionPass(const Scene& scene, int batch, std::size_t most);
  ~AttributionPass();
  AttributionPass(const AttributionPass&) = delete;
  AttributionPass& operator=(const AttributionPass&) = delete;

  /// Enqueues the passes of `texts`, of which the first `most` count, and the copies; false, and nothing, while the
  /// one before has not been taken. `target`: TypedText::target, of all of them. Throws core::BadInput if there is no
  /// such class.
  bool start(const Scene& scene, std::vector<AskedText> texts, std::optional<int> target);
  /// True while the device has work of it left.
  bool busy() const { return pending_ && !done_->ready(); }
  /// What start() began, once it has arrived and a thread has summed it up; nothing before. Never waits.
  std::optional<TextAttributions> take();
  /// Device time of the last pass that was taken, in seconds.
  double seconds() const { return seconds_; }
  core::Precision precision() const { return precision_; }

 private:
  /// Of each text one row after the other.
  struct Rows {
    plan::WrittenTensor tensor;
    core::HostBuffer arrived;
    std::size_t row_bytes = 0;  ///< of a text
  };
  Rows rows_of(const plan::WrittenTensor& tensor) const;
  plan::Bindings bind(const Scene& scene);
  bool embeds() const { return model_.layers.front().kind == models::LayerKind::embedding; }
  void encode(const std::vector<AskedText>& texts);
  void choose_target(std::optional<int> target);
  std::vector<float> row(const Rows& rows, std::size_t text) const;
  TextAttributions decode() const;
  std::vector<float> shares_of(std::size_t text) const;
  TextAttribution sum_up(std::size_t text) const;

  models::Model model_;
  core::Precision precision_;
  std::shared_ptr<core::Device> device_;
  core::Stream& stream_;
  std::size_t batch_, most_;
  core::Buffer bytes_, labels_, order_, control_, score_rows_;
  core::HostBuffer encoded_;  ///< of `most` texts, in whole batches
  core::HostBuffer table_;    ///< goes to `score_rows_`
  std::unique_ptr<plan::Plan> plan_;
  Rows scores_, gradients_;
  Rows embedded_;  ///< where the first layer is an embedding
  std::unique_ptr<core::Event> begun_, done_;
  std::vector<AskedText> asked_;
  std::optional<int> target_;
  TextAttributions what_;  ///< without texts
  std::future<TextAttributions> decoding_;
  bool pending_ = false;
  double seconds_ = 0;
};

}  // namespace warpscope::training
