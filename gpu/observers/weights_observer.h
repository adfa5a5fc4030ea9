#pragma once
// Copies the weights to the host, once each time somebody asks.

#include <cstdint>

#include "gpu/core/device.h"
#include "gpu/observers/look.h"

namespace warpscope::training {

/// A copy of the weights with what tells whose they are.
class WeightsCopy {
 public:
  explicit WeightsCopy(const Scene& scene) : copy_(scene.device, scene.parameters.bytes()) {}
  bool fits(const Scene& scene) const { return copy_.bytes() == scene.parameters.bytes(); }
  void enqueue(const Scene& scene, std::uint64_t number);
  Weights made() const;

 private:
  core::HostBuffer copy_;
  Weights what_;  ///< without numbers
};

/// Observations::weights of ObservationRequest::weights: one copy for each number that is asked for, of the step that
/// was the last one then, or of a later one.
class WeightsObserver final : public Observer {
 public:
  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return asked_ != 0 && asked_ != taken_; }
  bool start(const Scene& scene) override { return look_.start(scene, asked_); }
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
  void restart(Observations& seen) override;
  double seconds() const override { return look_.seconds(); }

 private:
  std::uint64_t asked_ = 0, taken_ = 0;  ///< numbers of requests; 0: none
  PassLook<WeightsCopy, Weights> look_;
};

}  // namespace warpscope::training
