#pragma once
// The button that starts a job of the laboratory or cancels it, and how far the job is.

#include <span>
#include <string>

#include "ui/frame/frame.h"
#include "ui/jobs/desk_view.h"
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

/// How far a job is, from 0 to 1, its phase, and the time that is left, "" if that is not known.
void phase_row(const Frame& frame, const char* name, double part, const std::string& phase,
               const std::string& left);

/// Rows of figures, whose values begin `at` pixels from the left.
void figure_rows(const Frame& frame, std::span<const JobFigure> figures, float at);

}  // namespace warpscope::ui
