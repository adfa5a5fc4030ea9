#pragma once
// Builds the networks that a person may choose next for a comparison, once ahead of the choice.

#include <atomic>
#include <cstddef>
#include <future>
#include <optional>
#include <vector>

#include "gpu/observers/comparison_pass.h"
#include "gpu/observers/observer.h"

namespace warpscope::training {

/// ObservationRequest::likely_comparison: builds each of its networks once and drops it. What is made only at a first
/// use, such as a library that is opened or code that is loaded to the device, then delays no comparison. One thread
/// does it beside the training, and no pass runs. What cannot be built is left out: who asks for it is told why.
class ComparisonRehearsal final : public Observer {
 public:
  ComparisonRehearsal() = default;
  ~ComparisonRehearsal() override;

  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return request_.has_value() && !begun_; }
  /// Begins with what has not been built. Always false: nothing is enqueued.
  bool start(const Scene& scene) override;
  bool take(Observations&) override { return false; }
  /// The network that is being built is the last. It is not waited for: it reads nothing that goes.
  void end(Observations& seen) override;
  void restart(Observations& seen) override;
  double seconds() const override { return 0; }

  bool under_way() const;
  /// Networks built so far.
  std::size_t built() const { return built_; }

 private:
  void build(const std::vector<ComparisonSetup>& setups);

  std::optional<ComparisonRequest> request_;
  bool begun_ = false;  ///< with what is asked for
  std::vector<ComparisonSetup>
      known_;             ///< built or found impossible, of this network; the thread's while it runs
  bool forgets_ = false;  ///< another network trains: what is known counts no more
  std::atomic<bool> stop_ = false;
  std::atomic<std::size_t> built_ = 0;
  std::future<void> building_;
};

}  // namespace warpscope::training
