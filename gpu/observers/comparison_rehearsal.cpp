#include "gpu/observers/comparison_rehearsal.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/observers/observer_table.h"

namespace warpscope::training {

ComparisonRehearsal::~ComparisonRehearsal() {
  stop_ = true;
  if (building_.valid()) building_.wait();
}

bool ComparisonRehearsal::ask(const ObservationRequest& request) {
  if (request.likely_comparison == request_) return false;
  request_ = request.likely_comparison;
  begun_ = false;
  stop_ = true;
  return true;
}

bool ComparisonRehearsal::under_way() const {
  return building_.valid() && building_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

bool ComparisonRehearsal::start(const Scene& scene) {
  if (!wanted() || under_way()) return false;
  begun_ = true;
  // What people no longer look at is not kept for this.
  std::erase_if(known_, [&](const ComparisonSetup& each) { return forgets_ || each.own != request_->own; });
  forgets_ = false;
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
    const bool known =
        std::ranges::any_of(known_, [&](const ComparisonSetup& other) { return setup.same_as(other); });
    if (known) continue;
    try {
      const ComparisonPass pass(setup);
      ++built_;
    } catch (const core::Error&) {
      // The comparison that asks for it says why.
    }
    known_.push_back(setup);
  }
}

void ComparisonRehearsal::end(Observations&) {
  stop_ = true;
}

void ComparisonRehearsal::restart(Observations&) {
  stop_ = true;
  forgets_ = true;
  begun_ = false;
}

std::unique_ptr<Observer> make_comparison_rehearsal() {
  return std::make_unique<ComparisonRehearsal>();
}

}  // namespace warpscope::training
