#pragma once
// What the cuDNN variants share: the library, opened when first needed and not linked, so that the program
// starts without it; its handle, its types, calls on a stream; and a small wrapper over the descriptors of its backend
// (graph) API.
// Source: NVIDIA cuDNN documentation, "Graph API" and "cudnn_graph library"; built only where cuDNN's headers
// are (third_party/cudnn.cmake).

#if WARPSCOPE_HAVE_CUDNN

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cudnn_graph.h>

#include "gpu/core/device.h"
#include "gpu/core/types.h"

namespace warpscope::ops::cudnn {

/// Why cuDNN cannot be used ("libcudnn.so.9 was not found ..."), or "".
const std::string& unavailable_reason();

/// 91900 for 9.19.0. Throws core::Error if cuDNN cannot be used.
std::size_t version();

/// A function of the library by its name; nullptr if it lacks it, or if cuDNN cannot be used.
void* function(const char* name);

/// In which type activations are stored in `precision`.
cudnnDataType_t storage_of(core::Precision precision);

/// Throws core::Error with `what` and cuDNN's own words, unless `status` is success.
void check(cudnnStatus_t status, std::string_view what);

/// A cuDNN handle. Calls that use it hold `mutex`: it has one stream at a time.
class Handle {
 public:
  /// Made for the current device.
  Handle();
  ~Handle();
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  cudnnHandle_t get() const { return handle_; }
  std::mutex mutex;

 private:
  cudnnHandle_t handle_ = nullptr;
};

/// The handle of `device`, shared by everything that runs there (it is heavy), freed with its last user.
std::shared_ptr<Handle> shared_handle(core::Device& device);

/// Enqueues what `body` calls on `stream`, which may capture. Throws core::Error with `what`. The caller does not hold
/// handle.mutex.
void call(Handle& handle, const core::Stream& stream, const std::function<cudnnStatus_t(cudnnHandle_t)>& body,
          std::string_view what);

/// A backend descriptor: attributes are set, then it is finalized and can be read and used.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  void set_integers(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values);
  void set_integer(cudnnBackendAttributeName_t name, std::int64_t value);
  void set_data_type(cudnnBackendAttributeName_t name, cudnnDataType_t type);
  void set_float(cudnnBackendAttributeName_t name, float value);
  void set_handle(cudnnBackendAttributeName_t name, const Handle& handle);
  void set_descriptor(cudnnBackendAttributeName_t name, const Descriptor& value);
  void set_descriptors(cudnnBackendAttributeName_t name, std::span<const Descriptor> values);

  /// Throws core::Error that names `what`.
  void finalize(std::string_view what);
  /// For descriptors that may be unsupported.
  cudnnStatus_t try_finalize();

  std::int64_t integer(cudnnBackendAttributeName_t name) const;
  /// How many elements an attribute of descriptors has; 0 if cuDNN does not answer.
  std::int64_t descriptor_count(cudnnBackendAttributeName_t name) const;
  /// The first `count` descriptors, of type `type`, that an attribute holds; none if cuDNN does not answer.
  std::vector<Descriptor> descriptors(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                      std::int64_t count) const;

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

/// What an engine may do to the numbers, and what it may cost.
struct EnginePolicy {
  bool tensor_cores_allowed = true;
  bool tensor_cores_required = false;
  bool compiles_allowed = true;     ///< at run time, which takes tenths of a second
  std::size_t workspace_limit = 0;  ///< bytes
};

/// An operation graph made executable by one engine.
struct ExecutionPlan {
  std::vector<Descriptor> parts;  ///< the plan, last, and what it was made from
  std::size_t workspace_bytes = 0;
  const Descriptor& plan() const { return parts.back(); }
};

/// The plans of `graph`, at most `most` and in the order of cuDNN's heuristics (mode A, then B, its fallbacks only
/// where those offer none), by engines that the policy allows, are deterministic, sum in FP32 and neither convert
/// inputs down nor transform them (Winograd, FFT). If there is none, `why` says what the engines said. The caller holds
/// the handle's mutex.
std::vector<ExecutionPlan> plans_of(const Handle& handle, const Descriptor& graph, const EnginePolicy& policy,
                                    std::size_t most, std::string& why);

/// Enqueues `plan` on `stream`; `pack` is a finalized variant pack. As call().
void execute(Handle& handle, const Descriptor& plan, const Descriptor& pack, const core::Stream& stream);

}  // namespace warpscope::ops::cudnn

#endif
