#include "ui/jobs/subject_source.h"

#include <algorithm>

#include "ui/settings/steering.h"

namespace warpscope::ui {

std::string SubjectSource::why_not(const Frame& frame) const {
  if (model_.layers.empty()) return "This version does not know the network of this run.";
  if (is_view(frame)) return viewed_.empty() ? "This run has no folder with checkpoints." : "";
  return frame.snapshot.data ? "" : "The data are still being read.";
}

std::optional<features::Subject> SubjectSource::subject(const Frame& frame, std::uint64_t number) const {
  features::Subject subject;
  if (is_view(frame)) {
    subject.run = viewed_;
    subject.device = "auto";
    return subject;
  }
  if (frame.request == nullptr) return std::nullopt;
  frame.request->weights = std::max(frame.request->weights, number);
  const auto& weights = frame.seen.weights;
  if (!weights || weights->number < number || !frame.snapshot.data) return std::nullopt;
  subject.device = frame.snapshot.device.id();
  subject.model = model_;
  subject.precision = weights->selection.precision;
  subject.parameters = {weights, &weights->parameters};
  subject.step = weights->step;
  subject.data = frame.snapshot.data;
  return subject;
}

}  // namespace warpscope::ui
