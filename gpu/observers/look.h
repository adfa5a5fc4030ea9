#pragma once
// What all observers do who look at the device's work: enqueue something on the training's stream, wait for it without
// holding the trainer up, and let a thread make of what has come what people see. A new observer is its pass and what
// is made of it.

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/observers/observer.h"

namespace warpscope::training {

/// One look at a time: start(), then take() until it gives what was made. All calls come from the trainer's thread.
template <class Made>
class Look {
 public:
  Look() = default;
  ~Look() { forget(); }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  /// From start() until take() gave what was made.
  bool busy() const { return busy_; }
  /// Device time of the last look that was taken, or is being taken; 0 before the first.
  double seconds() const { return seconds_; }

  /// The look is what `enqueue` puts on the scene's stream. Not while one is busy. If it throws there is none, and what
  /// it had put there is done.
  template <class Enqueue>
  void start(const Scene& scene, const Enqueue& enqueue) {
    if (!begun_) {
      begun_ = scene.device->make_event(true);
      done_ = scene.device->make_event(true);
    }
    scene.stream.record(*begun_);
    try {
      enqueue();
    } catch (...) {
      scene.stream.synchronize();
      throw;
    }
    scene.stream.record(*done_);
    busy_ = true;
  }

  /// What `make`, by a thread of its own, made of what has arrived, once it has. What `make` reads outlives forget().
  std::optional<Made> take(const std::function<Made()>& make) {
    if (!busy_ || !done_->ready()) return std::nullopt;
    if (!making_.valid()) {
      seconds_ = 1e-6 * done_->microseconds_since(*begun_);
      making_ = std::async(std::launch::async, make);
    }
    if (making_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
    busy_ = false;
    return making_.get();
  }

  /// Waits for the device and the thread, and drops the look.
  void forget() {
    if (making_.valid()) making_.wait();
    making_ = {};
    try {
      if (std::exchange(busy_, false)) done_->synchronize();
    } catch (const core::Error&) {
      // The error was reported when it happened; destruction goes on.
    }
  }

 private:
  bool busy_ = false;
  std::unique_ptr<core::Event> begun_, done_;
  std::future<Made> making_;
  double seconds_ = 0;
};

/// A pass over the network and its looks. `Pass` is made of a scene and has fits(scene): it can look at that too;
/// enqueue(scene, arguments...): puts a look on the scene's stream.
template <class Pass, class Made>
class PassLook {
 public:
  bool busy() const { return look_.busy(); }
  double seconds() const { return look_.seconds(); }

  /// The pass for `scene`, a new one where there is none that fits. Not while a look is busy. Throws core::BadInput and
  /// core::OutOfMemory as plan::Plan does.
  template <class... Arguments>
  Pass& pass(const Scene& scene, const Arguments&... arguments) {
    if (pass_ && !pass_->fits(scene)) pass_.reset();
    if (!pass_) pass_ = std::make_unique<Pass>(scene, arguments...);
    return *pass_;
  }
  /// False, and nothing more, while one is busy.
  template <class... Arguments>
  bool start(const Scene& scene, Arguments&&... arguments) {
    if (busy()) return false;
    Pass& look = pass(scene);
    look_.start(scene, [&] { look.enqueue(scene, std::forward<Arguments>(arguments)...); });
    return true;
  }
  /// What `make(pass)` made.
  template <class Make>
  std::optional<Made> take(const Make& make) {
    return look_.take([make, this] { return make(std::as_const(*pass_)); });
  }
  void forget() {
    look_.forget();
    pass_.reset();
  }

 private:
  std::unique_ptr<Pass> pass_;
  Look<Made> look_;  ///< last, so that it ends before what it reads
};

/// Shows in the field `kSeen` of Observations what `Pass` makes. Pass has, besides: asked(request), an optional of what
/// is asked for, if anything; enqueue() takes that; made() is what is seen but for its number; kShare is
/// Observer::share(); and shows(before, now) tells that a look at `before` serves who asks for `now`.
template <auto kSeen, class Pass>
class AskedObserver final : public Observer {
  using Asked = decltype(Pass::asked(std::declval<const ObservationRequest&>()));
  using Made = decltype(std::declval<const Pass&>().made());

 public:
  bool ask(const ObservationRequest& request) override {
    const Asked before = std::exchange(asked_, Pass::asked(request));
    return before != asked_;
  }
  bool wanted() const override { return asked_.has_value(); }
  bool start(const Scene& scene) override {
    if (!look_.start(scene, asked_.value())) return false;
    under_way_ = asked_;
    return true;
  }
  bool take(Observations& seen) override {
    std::optional<Made> made = look_.take([](const Pass& pass) { return pass.made(); });
    if (!made || !asked_ || !Pass::shows(*under_way_, *asked_)) return false;
    made->number = ++taken_;
    seen.*kSeen = std::make_shared<const Made>(*std::move(made));
    return true;
  }
  void end(Observations& seen) override {
    look_.forget();
    seen.*kSeen = nullptr;
  }
  double seconds() const override { return look_.seconds(); }
  double share() const override { return Pass::kShare; }

 private:
  Asked asked_, under_way_;
  std::uint64_t taken_ = 0;
  PassLook<Pass, Made> look_;
};

}  // namespace warpscope::training
