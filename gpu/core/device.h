#pragma once
// Devices, streams, events, graphs and memory, the same for the CPU and for CUDA, so that plans and the
// trainer are written once. The CPU's streams run everything at once in the calling thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/core/types.h"

namespace warpscope::core {

/// What device memory begins at a multiple of, and `bytes` rounded up to one.
inline constexpr std::size_t kAlignment = 256;
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Whether this build has CUDA: what it lacks is asked for behind `if constexpr (kHaveCuda)` only.
inline constexpr bool kHaveCuda = WARPSCOPE_HAVE_CUDA;

/// What a device is, in words and figures.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;                 ///< CUDA ordinal; 0 for the CPU
  std::string name;              ///< "NVIDIA H100 80GB HBM3", "AMD EPYC"
  int compute_capability = 0;    ///< 10 * major + minor, 0 for the CPU
  int multiprocessors = 0;       ///< multiprocessors of a GPU, cores of a CPU
  std::size_t memory_bytes = 0;  ///< total memory
  std::string driver;            ///< driver and runtime versions, "" for the CPU

  /// The name used on the command line: "cpu", "cuda:0".
  std::string id() const;
};

/// Memory of a device, in bytes. `allocated_bytes` counts what was allocated through one Device object, so what one
/// training holds, which opens its own: other objects of this process, and libraries, hold memory besides.
struct MemoryUse {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  std::size_t allocated_bytes = 0;
};

/// A point in a stream. Timing events can be subtracted.
class Event {
 public:
  virtual ~Event() = default;
  /// True once everything recorded before it has finished; true too if it was never recorded. Never waits.
  virtual bool ready() const = 0;
  /// Waits for it.
  virtual void synchronize() const = 0;
  /// Microseconds from `start` to this event. Both must be ready.
  virtual double microseconds_since(const Event& start) const = 0;
  /// cudaEvent_t, or nullptr on the CPU.
  virtual void* native() const = 0;
};

/// A captured sequence of launches, replayed as one (a CUDA graph; on the CPU the recorded calls themselves).
class Graph {
 public:
  virtual ~Graph() = default;
};

/// An ordered queue of work.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Copies bytes in stream order, between any two of host and device memory.
  virtual void copy(void* destination, const void* source, std::size_t bytes) = 0;
  /// Sets every byte to `value` in stream order.
  virtual void fill(void* destination, std::uint8_t value, std::size_t bytes) = 0;
  /// Records `event` here. Inside capture() it becomes a node of the graph and is recorded by every replay.
  virtual void record(Event& event) = 0;
  /// Later work in this stream waits for `event`, without the host waiting.
  virtual void wait(const Event& event) = 0;
  /// Later work in this stream comes after what `other` holds so far. Inside capture() of `other` this stream's work
  /// becomes part of its graph, side by side with what `other` is given from then on, until `other` follows this one,
  /// which it does before the capture ends. Streams that run everything at once have nothing to wait for.
  virtual void follow(Stream& /*other*/) {}
  /// The host waits until the stream is empty. Throws Error that names the failed kernel where CUDA tells.
  virtual void synchronize() = 0;
  /// Captures what `body` enqueues on this stream. On the CPU `body` itself is kept and called by each
  /// replay.
  virtual std::unique_ptr<Graph> capture(std::function<void()> body) = 0;
  virtual void launch(Graph& graph) = 0;
  /// cudaStream_t, or nullptr on the CPU.
  virtual void* native() const = 0;
};

/// One CPU or GPU. Methods may be called from any thread.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  DeviceKind kind() const { return info().kind; }
  /// Device memory, aligned to 256 bytes. Throws OutOfMemory that says how much was asked for and how much is
  /// free.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void deallocate(void* memory) noexcept = 0;
  /// Host memory that the device can copy to and from asynchronously (pinned for CUDA).
  virtual void* allocate_host(std::size_t bytes) = 0;
  virtual void deallocate_host(void* memory) noexcept = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  /// One whose kernels come first where several wait for room on the device.
  virtual std::unique_ptr<Stream> make_urgent_stream() { return make_stream(); }
  virtual std::unique_ptr<Event> make_event(bool timing) = 0;
  virtual MemoryUse memory() const = 0;
  /// Makes this device the calling thread's current one (cudaSetDevice). Each thread that launches calls it
  /// once.
  virtual void make_current() = 0;
};

/// All devices of this machine: CUDA devices first, then the CPU. Never throws for a missing driver.
std::vector<DeviceInfo> list_devices();

/// Why list_devices() shows no CUDA device ("this build has no CUDA", "no driver", ...); "" if it shows one.
std::string cuda_unavailable_reason();

/// Opens "auto" (first CUDA device, else the CPU), "cpu", "cuda" or "cuda:N". Throws BadInput that lists the
/// valid names.
std::shared_ptr<Device> open_device(std::string_view id);

/// An owned piece of a device's memory, or of host memory that it copies to and from asynchronously, freed with the
/// object. Empty ones hold nullptr.
template <bool on_host>
class OwnedMemory {
 public:
  OwnedMemory() = default;
  OwnedMemory(std::shared_ptr<Device> device, std::size_t bytes) : device_(std::move(device)), bytes_(bytes) {
    if (bytes > 0) data_ = on_host ? device_->allocate_host(bytes) : device_->allocate(bytes);
  }
  OwnedMemory(OwnedMemory&& other) noexcept
      : device_(std::move(other.device_)),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  OwnedMemory& operator=(OwnedMemory&& other) noexcept {
    // What this one held is freed here, not when `other` happens to go.
    OwnedMemory taken(std::move(other));
    std::swap(device_, taken.device_);
    std::swap(data_, taken.data_);
    std::swap(bytes_, taken.bytes_);
    return *this;
  }
  ~OwnedMemory() {
    if (data_ != nullptr) on_host ? device_->deallocate_host(data_) : device_->deallocate(data_);
  }
  std::size_t bytes() const { return bytes_; }
  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  std::shared_ptr<Device> device_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};
using Buffer = OwnedMemory<false>;
using HostBuffer = OwnedMemory<true>;

/// A copy of `values`, a vector or a span, in the device's memory. Waits for the stream.
template <class Values>
Buffer upload(std::shared_ptr<Device> device, Stream& stream, const Values& values) {
  Buffer buffer(std::move(device), std::span(values).size_bytes());
  stream.copy(buffer.data(), values.data(), buffer.bytes());
  stream.synchronize();
  return buffer;
}

/// A copy of `count` numbers on the host. Waits for the stream.
template <class T>
std::vector<T> download(Stream& stream, const void* from, std::size_t count) {
  std::vector<T> values(count);
  stream.copy(values.data(), from, count * sizeof(T));
  stream.synchronize();
  return values;
}

}  // namespace warpscope::core
