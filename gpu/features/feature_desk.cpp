#include "gpu/features/feature_desk.h"

#include <string>
#include <utility>

namespace warpscope::features {
namespace {

auto beginning(DeskWork kind) {
  return [kind](DeskState& state) { state.work = state.last = kind; };
}

}  // namespace

void FeatureDesk::start_trial(TrialRequest request, FindSubject find) {
  const std::string device = request.subject.device;
  start(device, beginning(DeskWork::trial),
        [this, request = std::move(request), find = std::move(find)](
            FeatureTrial& trial, std::uint64_t job, const classifiers::Watch& watch) mutable {
          if (find) request.subject = find(watch);
          const auto result = std::make_shared<const TrialResult>(trial.judge(request, watch));
          change(job, [&](DeskState& state) {
            auto tries = std::make_shared<std::vector<TrialFigures>>(*state.tries);
            tries->push_back(*result);
            state.tries = std::move(tries);
            state.result = result;
          });
        });
}

void FeatureDesk::start_search(GridRequest request, FindSubject find) {
  const std::string device = request.trial.subject.device;
  start(device, beginning(DeskWork::search),
        [this, request = std::move(request), find = std::move(find)](
            FeatureTrial& trial, std::uint64_t job, const classifiers::Watch& watch) mutable {
          if (find) request.trial.subject = find(watch);
          const auto found = [&](const GridResult& grid) {
            change(job, [&](DeskState& state) { state.grid = std::make_shared<const GridResult>(grid); });
          };
          trial.search(request, found, watch);
        });
}

}  // namespace warpscope::features
