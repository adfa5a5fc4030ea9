#pragma once
// The CPU behind a stream that works like a GPU's: everything enqueued runs later, in order, on a thread of
// its own. Host code that reads too early, reuses staging memory too soon or frees what is still in use is
// caught by wrong results here, and by the address and thread sanitizers.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "gpu/core/device.h"
#include "gpu/core/error.h"

namespace warpscope::tests {

/// What an event and the streams that it was recorded in share: as on a GPU, an event may go before the
/// stream reaches it.
class AsyncMoment {
 public:
  std::uint64_t note_recorded() {
    const std::lock_guard lock(mutex_);
    return ++recorded_;
  }
  void note_done(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    time_ = std::chrono::steady_clock::now();
    done_ = number;
    changed_.notify_all();
  }
  std::uint64_t recorded() const {
    const std::lock_guard lock(mutex_);
    return recorded_;
  }
  bool ready() const {
    const std::lock_guard lock(mutex_);
    return done_ == recorded_;
  }
  void wait_for(std::uint64_t number) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, number] { return done_ >= number; });
  }
  std::chrono::steady_clock::time_point time() const {
    const std::lock_guard lock(mutex_);
    return time_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t recorded_ = 0;
  std::uint64_t done_ = 0;
  std::chrono::steady_clock::time_point time_{};
};

/// Where the streams of a device wait before a graph or a copy begins.
class Gate {
 public:
  void close(bool closed) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = closed;
    }
    opened_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return !closed_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool closed_ = false;
};

/// Lets a device's graphs begin again when it goes.
using Hold = std::unique_ptr<Gate, void (*)(Gate*)>;

class AsyncEvent final : public core::Event {
 public:
  explicit AsyncEvent(std::function<void()> before_waiting = {})
      : before_waiting_(std::move(before_waiting)) {}
  bool ready() const override { return moment->ready(); }
  void synchronize() const override {
    if (before_waiting_ && !ready()) before_waiting_();
    moment->wait_for(moment->recorded());
  }
  double microseconds_since(const core::Event& start) const override {
    const auto since = moment->time() - static_cast<const AsyncEvent&>(start).moment->time();
    return std::chrono::duration<double, std::micro>(since).count();
  }
  void* native() const override { return nullptr; }

  const std::shared_ptr<AsyncMoment> moment = std::make_shared<AsyncMoment>();

 private:
  std::function<void()> before_waiting_;
};

class AsyncGraph final : public core::Graph {
 public:
  explicit AsyncGraph(std::function<void()> launches) : body(std::move(launches)) {}
  const std::function<void()> body;
};

class AsyncStream final : public core::Stream {
 public:
  AsyncStream(std::chrono::microseconds delay, std::shared_ptr<Gate> gate, std::shared_ptr<Gate> copies)
      : delay_(delay),
        gate_(std::move(gate)),
        copies_(std::move(copies)),
        thread_([this] { work(); }),
        id_(thread_.get_id()) {}
  ~AsyncStream() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void copy(void* destination, const void* source, std::size_t bytes) override {
    enqueue([=, this] {
      copies_->pass();
      std::memmove(destination, source, bytes);
    });
  }
  void fill(void* destination, std::uint8_t value, std::size_t bytes) override {
    enqueue([=] { std::memset(destination, value, bytes); });
  }
  void record(core::Event& event) override {
    const auto moment = static_cast<AsyncEvent&>(event).moment;
    const std::uint64_t number = moment->note_recorded();
    enqueue([moment, number] { moment->note_done(number); });
  }
  void wait(const core::Event& event) override {
    const auto moment = static_cast<const AsyncEvent&>(event).moment;
    enqueue([moment, number = moment->recorded()] { moment->wait_for(number); });
  }
  void follow(core::Stream& other) override {
    AsyncEvent reached;
    other.record(reached);
    wait(reached);
  }
  void synchronize() override {
    AsyncEvent reached;
    record(reached);
    reached.synchronize();
  }
  std::unique_ptr<core::Graph> capture(std::function<void()> body) override {
    return std::make_unique<AsyncGraph>(std::move(body));
  }
  void launch(core::Graph& graph) override {
    enqueue([this, &body = static_cast<AsyncGraph&>(graph).body] {
      gate_->pass();
      if (delay_.count() > 0) std::this_thread::sleep_for(delay_);
      body();
    });
  }
  void* native() const override { return nullptr; }

 private:
  /// The body of a graph enqueues too: on the stream's own thread that means now.
  void enqueue(std::function<void()> task) {
    if (std::this_thread::get_id() == id_.load()) return task();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::chrono::microseconds delay_;
  std::shared_ptr<Gate> gate_, copies_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false;
  std::thread thread_;
  std::atomic<std::thread::id> id_;
};

/// Each graph takes at least `delay`.
class AsyncDevice final : public core::Device {
 public:
  explicit AsyncDevice(std::chrono::microseconds delay = std::chrono::microseconds(0)) : delay_(delay) {}
  const core::DeviceInfo& info() const override { return cpu_->info(); }
  void* allocate(std::size_t bytes) override {
    if (bytes > largest) throw core::OutOfMemory("the device is full");
    return cpu_->allocate(bytes);
  }
  void deallocate(void* memory) noexcept override { cpu_->deallocate(memory); }
  void* allocate_host(std::size_t bytes) override { return cpu_->allocate_host(bytes); }
  void deallocate_host(void* memory) noexcept override { cpu_->deallocate_host(memory); }
  std::unique_ptr<core::Stream> make_stream() override {
    return std::make_unique<AsyncStream>(delay_, gate_, copies_);
  }
  std::unique_ptr<core::Event> make_event(bool) override {
    return std::make_unique<AsyncEvent>([this] {
      if (before_waiting) before_waiting();
    });
  }
  core::MemoryUse memory() const override {
    core::MemoryUse use = cpu_->memory();
    use.free_bytes = std::min(use.free_bytes, free.load());
    return use;
  }
  void make_current() override {}

  /// No graph begins as long as what is returned lives: who waited for one in the meantime would wait for
  /// ever.
  Hold hold() { return close(*gate_); }
  /// The same for copies.
  Hold hold_copies() { return close(*copies_); }
  /// Called by a thread that is about to wait for an event of this device; not while others use the device.
  std::function<void()> before_waiting;

  std::atomic<std::size_t> largest = SIZE_MAX;  ///< a larger allocation fails
  std::atomic<std::size_t> free = SIZE_MAX;     ///< memory() tells no more than this as free

 private:
  static Hold close(Gate& gate) {
    gate.close(true);
    return {&gate, [](Gate* closed) { closed->close(false); }};
  }

  std::shared_ptr<core::Device> cpu_ = core::open_device("cpu");
  std::chrono::microseconds delay_;
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>(), copies_ = std::make_shared<Gate>();
};

}  // namespace warpscope::tests
