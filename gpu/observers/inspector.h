#pragma once
// Shows what is inside the network for one test image.

#include <cstdint>
#include <memory>
#include <optional>

#include "gpu/observers/inspection_pass.h"
#include "gpu/observers/observer.h"

namespace warpscope::training {

/// Observations::inspection of ObservationRequest::inspected_image.
class Inspector final : public Observer {
 public:
  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return image_.has_value(); }
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  double seconds() const override { return pass_ ? pass_->seconds() : 0; }

 private:
  std::optional<std::int64_t> image_;
  std::unique_ptr<InspectionPass> pass_;  ///< made at the first look, and anew for another selection
  std::uint64_t taken_ = 0;
};

}  // namespace warpscope::training
