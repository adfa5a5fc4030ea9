#include "gpu/ranks/slurm.h"

#include <cstdlib>

#include <fmt/format.h>

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

std::string slurm_step() {
  const char* const job = std::getenv("SLURM_JOB_ID");
  const char* const step = std::getenv("SLURM_STEP_ID");
  if (!place_in_slurm_step() || job == nullptr || step == nullptr) return "";
  return fmt::format("step {} of the Slurm job {}", step, job);
}

}  // namespace warpscope::ranks
