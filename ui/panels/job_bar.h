#pragma once
// The button that starts a job of the laboratory or cancels it, and how far the job is.

#include "ui/frame/frame.h"
#include "ui/jobs/laboratory_controller.h"

namespace warpscope::ui {

/// A job as its panel offers it.
struct JobButton {
  const char* name;  ///< "bench.start"; while the job runs "bench.cancel" is in its place
  const char* cancel;
  const char* label;  ///< "Measure"
  const char* tip;
  jobs::Job job;
};

/// The button: the job's name, or "Cancel" while it runs or waits. True when the job is to start; cancelling
/// is done here.
bool job_button(const Frame& frame, LaboratoryController& controller, const JobButton& button);

/// A row with the progress of `job` while it runs, or how it ended if it did not end well; nothing otherwise.
void job_progress(const Frame& frame, const LaboratoryController& controller, jobs::Job job,
                  const char* name);

}  // namespace warpscope::ui
