#pragma once
// What a window begins trainings with: all checks by which one may be refused come before the present one is left.

#include <filesystem>
#include <vector>

#include "gpu/data/sets.h"
#include "gpu/runs/checkpoint.h"
#include "gpu/training/trainer.h"
#include "ui/jobs/kernel_services.h"
#include "ui/jobs/start_services.h"

namespace warpscope::app {

/// Reads the data of a training. `order`: where a run that goes on is in them. Throws core::BadInput as
/// data::find_data(), and for other data than those of the run.
void read_data(training::TrainerOptions& options, const training::OrderState* order,
               const data::Stopped& stopped);

ui::StartServices start_services();
/// `includes`: folders of headers of kernels.
ui::KernelServices kernel_services(const std::vector<std::filesystem::path>& includes);

}  // namespace warpscope::app
