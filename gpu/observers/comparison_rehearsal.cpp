#include "gpu/observers/comparison_rehearsal.h"

#include <chrono>
#include <utility>

#include "gpu/core/error.h"

namespace warpscope::training {

ComparisonRehearsal::~ComparisonRehearsal() {
  stop_ = true;
  if (building_.valid()) building_.wait();
}

bool ComparisonRehearsal::ask(const ObservationRequest& request) {
  if (request.likely_comparison == request_) return false;
  request_ = request.likely_comparison;
  stop();
  return true;
}

/// What has not been built to its end begins anew when it is asked for again.
void ComparisonRehearsal::stop() {
  if (under_way()) rehearsed_.reset();
  stop_ = true;
}

bool ComparisonRehearsal::under_way() const {
  return building_.valid() && building_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

bool ComparisonRehearsal::start(const Scene& scene) {
  if (request_ == rehearsed_ || under_way()) return false;
  rehearsed_ = request_;
  std::vector<ComparisonSetup> setups;
  for (const Reconstructor& one : request_->reconstructors) {
    setups.push_back(comparison_setup(scene, *request_, one));
  }
  stop_ = false;
  building_ = std::async(std::launch::async, [this, setups = std::move(setups)] { build(setups); });
  return false;
}

void ComparisonRehearsal::build(const std::vector<ComparisonSetup>& setups) {
  for (const ComparisonSetup& setup : setups) {
    if (stop_) return;
    try {
      const ComparisonPass pass(setup);
      ++built_;
    } catch (const core::Error&) {
      // The comparison that asks for it says why.
    }
  }
}

void ComparisonRehearsal::end(Observations&) {
  stop();
}

void ComparisonRehearsal::restart(Observations&) {
  stop();
  rehearsed_.reset();
}

}  // namespace warpscope::training
