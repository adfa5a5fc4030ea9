#include "ui/frame/answer_trace.h"

#include <algorithm>

#include <fmt/format.h>

#include "ui/frame/trace.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 3> kNames{"comparison", "pictures", "inspection"};

}  // namespace

void AnswerTrace::asked(const training::ObservationRequest& request, double now) {
  if (!trace_enabled()) return;
  const auto note = [&](Kind kind, bool changed, bool wanted) {
    if (changed) since_.at(kind) = wanted ? now : 0;
  };
  note(kComparison, request.comparison != request_.comparison, request.comparison.has_value());
  note(kPictures, request.latents.pictures != request_.latents.pictures, !request.latents.pictures.empty());
  note(kInspection, request.inspected_image != request_.inspected_image, request.inspected_image.has_value());
  request_ = request;
}

bool AnswerTrace::answers(Kind kind, const training::Observations& seen) const {
  if (kind == kComparison) return seen.comparison && seen.comparison->request == request_.comparison;
  if (kind == kInspection) return seen.inspection && seen.inspection->image == request_.inspected_image;
  const auto& wanted = request_.latents.pictures;
  return seen.latent_pictures && std::all_of(wanted.begin(), wanted.end(), [&](const auto& recipe) {
           return seen.latent_pictures->find(recipe) != nullptr;
         });
}

void AnswerTrace::drawn(const training::Observations& seen, double now) {
  for (const Kind kind : {kComparison, kPictures, kInspection}) {
    double& since = since_.at(kind);
    if (since == 0 || !answers(kind, seen)) continue;
    trace_event("answered",
                fmt::format("\"kind\":\"{}\",\"ms\":{:.2f}", kNames.at(kind), 1e3 * (now - since)));
    since = 0;
  }
}

}  // namespace warpscope::ui
