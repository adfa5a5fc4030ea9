#pragma once
// The lesson on kernels: its stops, and what each says of the kernel that it is about. No drawing here.

#include <span>
#include <string>
#include <vector>

#include "gpu/messages/snapshot.h"
#include "ui/jobs/kernel_services.h"
#include "ui/panels/kernels/own_kernels_rows.h"
#include "ui/text/tour.h"

namespace warpscope::ui {

/// The stops for a training on `device`: what it is about, a file each, what comes after it. Empty where there is no
/// file for it.
std::vector<TourStop> lesson_stops(const std::vector<LessonFile>& lesson, const core::DeviceInfo& device);

/// What the box says of the kernel of a stop.
struct LessonRow {
  TonedText said;  ///< how far it is, then its time beside that of the file before; "" where it is not loaded
  std::string why_not;  ///< why it cannot be made, in a sentence; "" if it can
  bool is_loaded = false;
};
/// `stops`: of the lesson; `example`: the file of one of them; `busy`: a file is being made.
LessonRow lesson_row(std::span<const TourStop> stops, const std::string& example,
                     const training::Snapshot& snapshot, bool busy);

}  // namespace warpscope::ui
