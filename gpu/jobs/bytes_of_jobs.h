#pragma once
// What bytes.h cannot find out by itself of jobs, as bytes_of_messages.h does it for messages.

#include <string_view>

#include "gpu/jobs/jobs.h"
#include "gpu/messages/bytes_of_messages.h"

namespace warpscope::classifiers {

// As gpu/messages/consistent.h has it.
std::string_view inconsistency_in(const Metrics& metrics);

}  // namespace warpscope::classifiers

namespace warpscope::features {

std::string_view inconsistency_in(const TrialFigures& figures);
std::string_view inconsistency_in(const TrialResult& result);
std::string_view inconsistency_in(const GridResult& grid);
std::string_view inconsistency_in(const MapPicture& map);

template <class T>
requires std::same_as<std::remove_const_t<T>, TrialResult>
auto members_of(T& s) {
  return std::tie(training::base_of<TrialFigures>(s), s.judgement, s.remark, s.heaviest, s.subject,
                  s.test_images, s.truth);
}

template <class T>
requires std::same_as<std::remove_const_t<T>, DeskState>
auto members_of(T& s) {
  return std::tie(training::base_of<DeskProgress>(s), s.work, s.last, s.result, s.tries, s.grid);
}

template <class T>
requires std::same_as<std::remove_const_t<T>, MapState>
auto members_of(T& s) {
  return std::tie(training::base_of<DeskProgress>(s), s.busy, s.method, s.map);
}

}  // namespace warpscope::features

namespace warpscope::jobs {

std::string_view inconsistency_in(const StepScene& scene);

template <class T>
requires std::same_as<std::remove_const_t<T>, LaboratoryState>
auto members_of(T& s) {
  return std::tie(training::base_of<features::DeskProgress>(s), s.running, s.last, s.alone, s.waits, s.done,
                  s.total, s.text, s.peaks, s.bench, s.bench_batch, s.bench_disturbed, s.advice, s.verify,
                  s.baseline_images_per_second);
}

}  // namespace warpscope::jobs
