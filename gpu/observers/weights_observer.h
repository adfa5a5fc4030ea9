#pragma once
// Copies the weights to the host, once each time somebody asks.

#include <cstdint>
#include <future>
#include <memory>

#include "gpu/observers/observer.h"

namespace warpscope::training {

/// Observations::weights of ObservationRequest::weights: one copy for each number that is asked for, of the step that
/// was the last one then, or of a later one.
class WeightsObserver final : public Observer {
 public:
  ~WeightsObserver() override;
  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return asked_ != 0 && asked_ != taken_; }
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  void restart(Observations& seen) override;
  double seconds() const override { return seconds_; }

 private:
  void forget();

  std::uint64_t asked_ = 0, taken_ = 0;  ///< numbers of requests; 0: none
  core::HostBuffer copy_;
  std::unique_ptr<core::Event> begun_, done_;
  std::unique_ptr<Weights> pending_;  ///< a copy under way, without its numbers
  std::future<std::vector<float>> collecting_;
  double seconds_ = 0;
};

}  // namespace warpscope::training
