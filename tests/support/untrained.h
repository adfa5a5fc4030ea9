#pragma once
// A network that has learned nothing, for desks to look at.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/features/subject.h"
#include "gpu/messages/data_view.h"
#include "gpu/models/parameters.h"
#include "tests/support/tiny_classifier.h"

namespace warpscope::tests {

inline features::Subject untrained(std::shared_ptr<const data::DataSet> data, std::uint64_t seed = 3) {
  features::Subject subject;
  subject.device = "cpu";
  subject.model = tiny_classifier();
  subject.parameters =
      std::make_shared<const std::vector<float>>(models::initial_parameters(subject.model, seed));
  subject.step = 70 + seed;
  subject.data = training::view_of(std::move(data));
  return subject;
}

}  // namespace warpscope::tests
