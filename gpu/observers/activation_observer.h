#pragma once
// Shows how strongly the channels of a layer answer to test images.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "gpu/observers/activation_pass.h"
#include "gpu/observers/observer.h"

namespace warpscope::training {

/// Observations::activations of ObservationRequest::activations_of.
class ActivationObserver final : public Observer {
 public:
  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return output_.has_value(); }
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  double seconds() const override { return pass_ ? pass_->seconds() : 0; }
  double share() const override { return 1.0 / 200; }

 private:
  std::optional<std::size_t> output_;
  std::unique_ptr<ActivationPass> pass_;  ///< made at the first look, and anew for another selection
  std::uint64_t taken_ = 0;
};

}  // namespace warpscope::training
