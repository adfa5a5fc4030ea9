#include "gpu/ranks/slurm.h"

#include <cstdlib>

#include "gpu/files/text.h"

namespace warpscope::ranks {

std::optional<Place> place_in_slurm_step() {
  const auto number = [](const char* name) -> std::optional<int> {
    const char* const text = std::getenv(name);
    return text == nullptr ? std::nullopt : files::number_in<int>(text);
  };
  // Batch scripts have no SLURM_STEP_NUM_TASKS.
  const std::optional<int> size = number("SLURM_STEP_NUM_TASKS");
  const std::optional<int> rank = number("SLURM_PROCID");
  if (!size || !rank || *size < 2 || *rank < 0 || *rank >= *size) return std::nullopt;
  return Place{*rank, *size};
}

}  // namespace warpscope::ranks
