// Copies the weights to the host, once each time somebody asks.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "gpu/core/device.h"
#include "gpu/observers/host_copies.h"
#include "gpu/observers/look.h"
#include "gpu/observers/observer_table.h"

namespace warpscope::training {
namespace {

/// A copy of the weights with what tells whose they are.
class WeightsCopy {
 public:
  explicit WeightsCopy(const Scene& scene) : copy_(scene.device, scene.parameters.bytes()) {}
  bool fits(const Scene& scene) const { return copy_.bytes() == scene.parameters.bytes(); }
  void enqueue(const Scene& scene, std::uint64_t number) {
    scene.stream.copy(copy_.data(), scene.parameters.data(), copy_.bytes());
    what_.number = number;
    what_.step = scene.step;
    what_.generation = scene.generation;
    what_.selection = scene.selection;
  }

  Weights made() const {
    Weights weights = what_;
    weights.parameters = floats(copy_);
    return weights;
  }

 private:
  core::HostBuffer copy_;
  Weights what_;  ///< without numbers
};

/// Observations::weights of ObservationRequest::weights: one copy for each number that is asked for, of the step that
/// was the last one then, or of a later one.
class WeightsObserver final : public Observer {
 public:
  bool ask(const ObservationRequest& request) override {
    return std::exchange(asked_, request.weights) != request.weights;
  }
  bool wanted() const override { return asked_ != 0 && asked_ != taken_; }
  bool start(const Scene& scene) override { return look_.start(scene, asked_); }
  bool take(Observations& seen) override {
    std::optional<Weights> found = look_.take([](const WeightsCopy& copy) { return copy.made(); });
    if (!found || found->number != asked_) return false;
    taken_ = asked_;
    seen.weights = std::make_shared<const Weights>(*std::move(found));
    return true;
  }

  void end(Observations& seen) override {
    look_.forget();
    seen.weights = nullptr;
  }
  /// Who waits for a copy gets one of the new network.
  void restart(Observations& seen) override {
    end(seen);
    taken_ = 0;
  }
  double seconds() const override { return look_.seconds(); }

 private:
  std::uint64_t asked_ = 0, taken_ = 0;  ///< numbers of requests; 0: none
  PassLook<WeightsCopy, Weights> look_;
};

}  // namespace

std::unique_ptr<Observer> make_weights_observer() {
  return std::make_unique<WeightsObserver>();
}

}  // namespace warpscope::training
