#pragma once

#include <filesystem>

#include "gpu/jobs/desks.h"
#include "gpu/runs/run_source.h"

namespace warpscope::jobs {

/// A run that is looked at, with jobs on its newest checkpoint.
class ViewedRun final : public runs::RunSource {
 public:
  explicit ViewedRun(const std::filesystem::path& folder) : RunSource(folder), desks_(*this, folder) {}

  Jobs* jobs() override { return &desks_; }

 private:
  Desks desks_;
};

}  // namespace warpscope::jobs
