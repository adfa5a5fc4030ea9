#pragma once
// What a window wants to see of the inside of a training, and what was last seen: a field a kind.

#include <cstdint>
#include <memory>
#include <optional>

#include "gpu/messages/distributions.h"
#include "gpu/messages/inspection.h"

namespace warpscope::training {

/// What is asked for as long as nothing else is. Nothing is seen, and nothing costs time, unless it is asked
/// for.
struct ObservationRequest {
  std::optional<std::int64_t> inspected_image;  ///< of the test images: Observations::inspection
  bool distributions = false;                   ///< Observations::distributions

  bool operator==(const ObservationRequest&) const = default;
};

/// nullptr where nothing was asked for, or has not arrived yet.
struct Observations {
  std::shared_ptr<const Inspection> inspection;
  std::shared_ptr<const Distributions> distributions;

  bool operator==(const Observations&) const = default;
};

}  // namespace warpscope::training
