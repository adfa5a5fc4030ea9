#include "gpu/ops/cuda_cudnn_graph.h"

#if WARPSCOPE_HAVE_CUDNN

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "gpu/core/cuda.h"
#include "gpu/core/error.h"

namespace warpscope::ops::cudnn {
namespace {

/// The functions used here. Never closed: the library's threads and static state outlive any use of it.
struct Library {
  std::string why_not;
  void* opened = nullptr;
  decltype(&cudnnGetVersion) get_version = nullptr;
  decltype(&cudnnGetErrorString) get_error_string = nullptr;
  decltype(&cudnnGetLastErrorString) get_last_error_string = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;
};

void* open_library() {
  void* opened = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
#ifdef WARPSCOPE_CUDNN_LIBRARY
  if (opened == nullptr) opened = dlopen(WARPSCOPE_CUDNN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
#endif
  return opened;
}

Library load() {
  Library library;
  void* const opened = open_library();
  if (opened == nullptr) {
    library.why_not = "libcudnn.so.9 was not found; install cuDNN 9 or add its folder to LD_LIBRARY_PATH";
    return library;
  }
  library.opened = opened;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, name));
    if (function == nullptr && library.why_not.empty()) {
      library.why_not = fmt::format("libcudnn.so.9 lacks {}; install cuDNN 9", name);
    }
  };
  find("cudnnGetVersion", library.get_version);
  find("cudnnGetErrorString", library.get_error_string);
  find("cudnnGetLastErrorString", library.get_last_error_string);
  find("cudnnCreate", library.create);
  find("cudnnDestroy", library.destroy);
  find("cudnnSetStream", library.set_stream);
  find("cudnnBackendCreateDescriptor", library.create_descriptor);
  find("cudnnBackendDestroyDescriptor", library.destroy_descriptor);
  find("cudnnBackendSetAttribute", library.set_attribute);
  find("cudnnBackendGetAttribute", library.get_attribute);
  find("cudnnBackendFinalize", library.finalize);
  find("cudnnBackendExecute", library.execute);
  return library;
}

const Library& loaded() {
  static const Library library = load();
  return library;
}

const Library& library() {
  if (!loaded().why_not.empty()) throw core::Error(fmt::format("cuDNN: {}", loaded().why_not));
  return loaded();
}

/// cuDNN's words for `status`, and what it noted last in this thread.
std::string words(cudnnStatus_t status) {
  std::array<char, 1024> last{};
  library().get_last_error_string(last.data(), last.size());
  std::string text = library().get_error_string(status);
  if (last[0] != '\0') text += fmt::format(": {}", last.data());
  return text;
}

template <class Note>
std::vector<Note> notes_of(const Descriptor& engine, cudnnBackendAttributeName_t name,
                           cudnnBackendAttributeType_t type, std::int64_t most) {
  std::vector<Note> notes(static_cast<std::size_t>(most));
  std::int64_t count = 0;
  check(library().get_attribute(engine.get(), name, type, most, &count, notes.data()),
        "cudnnBackendGetAttribute of an engine's notes");
  notes.resize(static_cast<std::size_t>(std::min(count, most)));
  return notes;
}

/// Whether `engine` is compiled when a plan is made.
bool compiles(const Descriptor& engine) {
  const auto notes = notes_of<cudnnBackendBehaviorNote_t>(
      engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  return std::ranges::find(notes, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) != notes.end();
}

bool accepts(const Descriptor& configuration, const EnginePolicy& policy) {
  const auto engines =
      configuration.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (engines.empty()) return false;
  const auto notes =
      notes_of<cudnnBackendNumericalNote_t>(engines.front(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                            CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  bool tensor_cores = false;
  for (const auto note : notes) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        tensor_cores = true;
        break;
      case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
        break;
      default:  // what this version of the header does not name is not trusted
        return false;
    }
  }
  if (!policy.compiles_allowed && compiles(engines.front())) return false;
  return tensor_cores ? policy.tensor_cores_allowed : !policy.tensor_cores_required;
}

std::vector<Descriptor> ranked_engines(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set_descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (heuristics.try_finalize() != CUDNN_STATUS_SUCCESS) return {};
  return heuristics.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                                heuristics.descriptor_count(CUDNN_ATTR_ENGINEHEUR_RESULTS));
}

/// Nothing, and why, if the engine does not take the graph or needs too much memory.
std::optional<ExecutionPlan> plan_of(const Handle& handle, Descriptor configuration,
                                     const EnginePolicy& policy, std::string& why) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set_handle(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
  plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (const auto status = plan.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
    why = words(status);
    return std::nullopt;
  }
  const auto bytes = static_cast<std::size_t>(plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  if (bytes > policy.workspace_limit) {
    why = fmt::format("an engine needs {} bytes of workspace, {} are allowed", bytes, policy.workspace_limit);
    return std::nullopt;
  }
  ExecutionPlan made;
  made.parts.push_back(std::move(configuration));
  made.parts.push_back(std::move(plan));
  made.workspace_bytes = bytes;
  return made;
}

}  // namespace

const std::string& unavailable_reason() {
  return loaded().why_not;
}

std::size_t version() {
  return library().get_version();
}

void* function(const char* name) {
  return loaded().why_not.empty() ? dlsym(loaded().opened, name) : nullptr;
}

cudnnDataType_t storage_of(core::Precision precision) {
  switch (precision) {
    case core::Precision::fp16:
      return CUDNN_DATA_HALF;
    case core::Precision::bf16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

void check(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw core::Error(fmt::format("{}: {}", what, words(status)));
}

Handle::Handle() {
  check(library().create(&handle_), "cudnnCreate");
}

Handle::~Handle() {  // NOLINT(bugprone-exception-escape): the library is loaded
  library().destroy(handle_);
}

std::shared_ptr<Handle> shared_handle(core::Device& device) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<Handle>> handles;
  const std::lock_guard lock(mutex);
  auto& known = handles[device.info().index];
  auto handle = known.lock();
  if (handle == nullptr) {
    device.make_current();
    handle = std::make_shared<Handle>();
    known = handle;
  }
  return handle;
}

void call(Handle& handle, const core::Stream& stream, const std::function<cudnnStatus_t(cudnnHandle_t)>& body,
          std::string_view what) {
  const std::lock_guard lock(handle.mutex);
  // The first call of a kernel may load it, which a thread that captures is allowed in this mode only.
  auto mode = cudaStreamCaptureModeRelaxed;
  core::check_cuda(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
  auto status = library().set_stream(handle.get(), core::cuda_stream(stream));
  if (status == CUDNN_STATUS_SUCCESS) status = body(handle.get());
  core::check_cuda(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
  check(status, what);
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  check(library().create_descriptor(type, &descriptor_), "cudnnBackendCreateDescriptor");
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, nullptr)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Descriptor::~Descriptor() {  // NOLINT(bugprone-exception-escape): the library is loaded
  if (descriptor_ != nullptr) library().destroy_descriptor(descriptor_);
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                     const void* values) {
  const auto status = library().set_attribute(descriptor_, name, type, count, values);
  if (status == CUDNN_STATUS_SUCCESS) return;
  check(status, fmt::format("cudnnBackendSetAttribute of attribute {}", static_cast<int>(name)));
}

void Descriptor::set_integers(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
  set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

void Descriptor::set_integer(cudnnBackendAttributeName_t name, std::int64_t value) {
  set(name, CUDNN_TYPE_INT64, 1, &value);
}

void Descriptor::set_data_type(cudnnBackendAttributeName_t name, cudnnDataType_t type) {
  set(name, CUDNN_TYPE_DATA_TYPE, 1, &type);
}

void Descriptor::set_float(cudnnBackendAttributeName_t name, float value) {
  set(name, CUDNN_TYPE_FLOAT, 1, &value);
}

void Descriptor::set_handle(cudnnBackendAttributeName_t name, const Handle& handle) {
  const cudnnHandle_t value = handle.get();
  set(name, CUDNN_TYPE_HANDLE, 1, &value);
}

void Descriptor::set_descriptor(cudnnBackendAttributeName_t name, const Descriptor& value) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
}

void Descriptor::set_descriptors(cudnnBackendAttributeName_t name, std::span<const Descriptor> values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& each : values) raw.push_back(each.get());
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()), raw.data());
}

void Descriptor::finalize(std::string_view what) {
  const auto status = try_finalize();
  if (status != CUDNN_STATUS_SUCCESS) check(status, fmt::format("cudnnBackendFinalize of {}", what));
}

cudnnStatus_t Descriptor::try_finalize() {
  return library().finalize(descriptor_);
}

std::int64_t Descriptor::integer(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  std::int64_t count = 0;
  const auto status = library().get_attribute(descriptor_, name, CUDNN_TYPE_INT64, 1, &count, &value);
  if (status != CUDNN_STATUS_SUCCESS) {
    check(status, fmt::format("cudnnBackendGetAttribute of attribute {}", static_cast<int>(name)));
  }
  return value;
}

std::int64_t Descriptor::descriptor_count(cudnnBackendAttributeName_t name) const {
  std::int64_t count = 0;
  const auto status =
      library().get_attribute(descriptor_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr);
  return status == CUDNN_STATUS_SUCCESS ? count : 0;
}

std::vector<Descriptor> Descriptor::descriptors(cudnnBackendAttributeName_t name,
                                                cudnnBackendDescriptorType_t type, std::int64_t count) const {
  // cuDNN fills descriptors that the caller has made.
  std::vector<Descriptor> found;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    found.emplace_back(type);
    raw.push_back(found.back().get());
  }
  std::int64_t filled = 0;
  const auto status =
      library().get_attribute(descriptor_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &filled, raw.data());
  if (status != CUDNN_STATUS_SUCCESS) return {};
  found.erase(found.begin() + std::min(filled, count), found.end());
  return found;
}

std::vector<ExecutionPlan> plans_of(const Handle& handle, const Descriptor& graph, const EnginePolicy& policy,
                                    std::size_t most, std::string& why) {
  why = "the heuristics offer no engine that is deterministic and keeps the precision";
  std::vector<ExecutionPlan> plans;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    if (mode == CUDNN_HEUR_MODE_FALLBACK && !plans.empty()) break;
    for (Descriptor& configuration : ranked_engines(graph, mode)) {
      if (plans.size() >= most) return plans;
      if (!accepts(configuration, policy)) continue;
      if (auto plan = plan_of(handle, std::move(configuration), policy, why))
        plans.push_back(std::move(*plan));
    }
  }
  return plans;
}

void execute(Handle& handle, const Descriptor& plan, const Descriptor& pack, const core::Stream& stream) {
  call(
      handle, stream, [&](cudnnHandle_t own) { return library().execute(own, plan.get(), pack.get()); },
      "cudnnBackendExecute");
}

}  // namespace warpscope::ops::cudnn

#endif
