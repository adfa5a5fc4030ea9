#pragma once
// Show what the characters of texts have to do with the class that the network takes each text for.

#include <cstdint>
#include <memory>
#include <optional>

#include "gpu/observers/attribution_pass.h"
#include "gpu/observers/observer.h"

namespace warpscope::training {

/// Observations::typed_text of ObservationRequest::typed_text: as soon as another text is asked about, and then as the
/// weights change.
class TypedTextObserver final : public Observer {
 public:
  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return typed_.has_value(); }
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  double seconds() const override { return pass_ ? pass_->seconds() : 0; }
  /// Somebody waits for it: one text, and only while one is typed.
  double share() const override { return 1.0 / 10; }

 private:
  std::optional<TypedText> typed_, under_way_;
  std::unique_ptr<AttributionPass> pass_;  ///< made at the first look, and anew for another precision
  std::uint64_t taken_ = 0;
};

/// Observations::held_out_texts of ObservationRequest::held_out_texts.
class HeldOutTextObserver final : public Observer {
 public:
  static constexpr std::size_t kMostTexts = 64;  ///< more than a screen has rows

  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return texts_.has_value(); }
  /// Throws core::BadInput if a text is not there.
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  double seconds() const override { return pass_ ? pass_->seconds() : 0; }
  double share() const override { return 1.0 / 30; }

 private:
  std::optional<HeldOutTexts> texts_, under_way_;
  std::unique_ptr<AttributionPass> pass_;
  std::uint64_t taken_ = 0;
};

}  // namespace warpscope::training
