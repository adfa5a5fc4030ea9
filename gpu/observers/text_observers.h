#pragma once
// Shows what the characters of texts have to do with the class that the network takes each text for.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/messages/text_attributions.h"
#include "gpu/observers/look.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

/// A text and what is asked about it.
struct AskedText {
  std::optional<std::int64_t> place;
  std::string text;
};

/// Runs texts through a plan that goes back from the score of a class to the characters, and brings scores and shares
/// to the host.
class AttributionPass {
 public:
  /// For the scene's model, in the precision of its selection: each op by the best variant. `most` texts at the most,
  /// `batch` at once. Throws core::BadInput where the network takes no texts, and as plan::Plan does.
  AttributionPass(const Scene& scene, int batch, std::size_t most);

  /// Each op runs by the best variant, whatever is selected.
  bool fits(const Scene& scene) const { return precision_ == scene.selection.precision; }
  /// The passes of `texts`, of which the first `most` count, and the copies. `target`: TypedText::target, of all of
  /// them. Throws core::BadInput if there is no such class.
  void enqueue(const Scene& scene, std::vector<AskedText> texts, std::optional<int> target);
  TextAttributions made() const;

 private:
  /// A row for each text, one after the other.
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
  std::vector<float> shares_of(std::size_t text) const;
  TextAttribution sum_up(std::size_t text) const;

  models::Model model_;
  core::Precision precision_;
  std::shared_ptr<core::Device> device_;
  std::size_t batch_, most_;
  core::Buffer bytes_, labels_, order_, control_, score_rows_;
  core::HostBuffer encoded_;  ///< of `most` texts, in whole batches
  core::HostBuffer table_;    ///< goes to `score_rows_`
  std::unique_ptr<plan::Plan> plan_;
  Rows scores_, gradients_;
  Rows embedded_;  ///< where the first layer is an embedding
  std::vector<AskedText> asked_;
  std::optional<int> target_;
  TextAttributions what_;  ///< without texts
};

/// One text.
class TypedTextPass : public AttributionPass {
 public:
  explicit TypedTextPass(const Scene& scene) : AttributionPass(scene, 1, 1) {}
  void enqueue(const Scene& scene, const TypedText& typed) {
    AttributionPass::enqueue(scene, {{std::nullopt, typed.text}}, typed.target);
  }
  /// Somebody waits for it, and only while a text is typed.
  static constexpr double kShare = 1.0 / 10;
  static std::optional<TypedText> asked(const ObservationRequest& request) { return request.typed_text; }
  /// What was typed a moment ago is shown too: somebody who types fast sees the classes move.
  static bool shows(const TypedText& before, const TypedText& now) { return before.target == now.target; }
};

/// Texts of a held-out set.
class HeldOutTextPass : public AttributionPass {
 public:
  static constexpr int kAtOnce = 8;
  static constexpr std::size_t kMost = 64;  ///< more than a screen has rows

  explicit HeldOutTextPass(const Scene& scene) : AttributionPass(scene, kAtOnce, kMost) {}
  /// Throws core::BadInput if a text is not there.
  void enqueue(const Scene& scene, const HeldOutTexts& asked);
  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method): each kind of pass has its own
  TextAttributions made() const;

  static constexpr double kShare = 1.0 / 30;
  static std::optional<HeldOutTexts> asked(const ObservationRequest& request) {
    return request.held_out_texts;
  }
  static bool shows(const HeldOutTexts& before, const HeldOutTexts& now) {
    return before.validation == now.validation;
  }

 private:
  bool validation_ = false;
};

/// Observations::typed_text of ObservationRequest::typed_text: as soon as another text is asked about, and then as the
/// weights change.
using TypedTextObserver = AskedObserver<&Observations::typed_text, TypedTextPass>;

/// Observations::held_out_texts of ObservationRequest::held_out_texts.
using HeldOutTextObserver = AskedObserver<&Observations::held_out_texts, HeldOutTextPass>;

}  // namespace warpscope::training
