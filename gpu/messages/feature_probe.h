#pragma once
// What the latents were worth to a small classifier after some step.

#include <cstdint>
#include <string>

namespace warpscope::training {

struct FeatureProbe {
  std::uint64_t step = 0;
  std::uint64_t generation = 0;  ///< Snapshot::generation
  int learned_from = 0;          ///< held-out images
  int judged_on = 0;             ///< others
  double accuracy = 0;           ///< share of these that got their class
  std::string problem;           ///< why there is no accuracy, in a sentence; "" if there is
};

}  // namespace warpscope::training
