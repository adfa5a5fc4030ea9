#pragma once
// Devices, streams, events, graphs and memory, the same for the CPU and for CUDA, so that plans and the
// trainer are written once. The CPU's streams run everything at once in the calling thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/core/types.h"

namespace warpscope::core {

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

/// An owned piece of device memory, freed with the object. Empty buffers hold nullptr.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<Device> device, std::size_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
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

/// The same for host memory that the device copies to and from asynchronously.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(std::shared_ptr<Device> device, std::size_t bytes);
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer();
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

}  // namespace warpscope::core
