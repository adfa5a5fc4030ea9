#include "gpu/core/cpu_device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <new>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "gpu/core/allocations.h"
#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"

namespace warpscope::core {
namespace {

class CpuEvent final : public Event {
 public:
  bool ready() const override { return true; }
  void synchronize() const override {}
  double microseconds_since(const Event& start) const override {
    const auto& other = static_cast<const CpuEvent&>(start);
    return std::chrono::duration<double, std::micro>(time_ - other.time_).count();
  }
  void* native() const override { return nullptr; }
  void stamp() { time_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point time_{};
};

class CpuGraph final : public Graph {
 public:
  explicit CpuGraph(std::function<void()> body) : body_(std::move(body)) {}
  void run() const { body_(); }

 private:
  std::function<void()> body_;
};

class CpuStream final : public Stream {
 public:
  void copy(void* destination, const void* source, std::size_t bytes) override {
    if (bytes > 0) std::memmove(destination, source, bytes);
  }
  void fill(void* destination, std::uint8_t value, std::size_t bytes) override {
    if (bytes > 0) std::memset(destination, value, bytes);
  }
  void record(Event& event) override { static_cast<CpuEvent&>(event).stamp(); }
  void wait(const Event&) override {}
  void synchronize() override {}
  std::unique_ptr<Graph> capture(std::function<void()> body) override {
    return std::make_unique<CpuGraph>(std::move(body));
  }
  void launch(Graph& graph) override { static_cast<CpuGraph&>(graph).run(); }
  void* native() const override { return nullptr; }
};

class CpuDevice final : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  void* allocate(std::size_t bytes) override {
    // The system hands out more than it has, and ends who then writes into it.
    void* memory = bytes >= kLarge && bytes > free_bytes()
                       ? nullptr
                       : ::operator new (bytes, std::align_val_t{kAlignment}, std::nothrow);
    if (memory == nullptr) {
      throw OutOfMemory(fmt::format("the CPU has {}, {} more are needed", host_memory().text(),
                                    memory_text(static_cast<double>(bytes))));
    }
    allocations_.note(memory, bytes);
    return memory;
  }
  void deallocate(void* memory) noexcept override {
    if (memory == nullptr) return;
    allocations_.forget(memory);
    ::operator delete (memory, std::align_val_t{kAlignment});
  }
  void* allocate_host(std::size_t bytes) override { return allocate(bytes); }
  void deallocate_host(void* memory) noexcept override { deallocate(memory); }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CpuStream>(); }
  std::unique_ptr<Event> make_event(bool) override { return std::make_unique<CpuEvent>(); }
  MemoryUse memory() const override {
    MemoryUse use;
    use.total_bytes = info_.memory_bytes;
    use.free_bytes = free_bytes();
    use.allocated_bytes = allocations_.bytes();
    return use;
  }
  void make_current() override {}

 private:
  static constexpr std::size_t kLarge = std::size_t{64} << 20;  ///< from here on it is asked what is free

  /// All of it where the system does not tell.
  std::size_t free_bytes() const {
    const std::optional<std::int64_t> free = host_memory().free;
    return free ? std::min(static_cast<std::size_t>(*free), info_.memory_bytes) : info_.memory_bytes;
  }

  DeviceInfo info_ = cpu_device_info();
  Allocations allocations_;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

}  // namespace

DeviceInfo cpu_device_info() {
  DeviceInfo info;
  info.kind = DeviceKind::cpu;
  info.name = processor_name();
  info.multiprocessors = static_cast<int>(std::thread::hardware_concurrency());
  info.memory_bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return info;
}

std::shared_ptr<Device> open_cpu_device() {
  return std::make_shared<CpuDevice>();
}

}  // namespace warpscope::core
