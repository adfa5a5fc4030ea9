#include "gpu/core/energy.h"

#include <chrono>
#include <string>

#include <dlfcn.h>

#if WARPSCOPE_HAVE_CUDA
#include "gpu/core/cuda.h"
#endif

namespace warpscope::core {
namespace {

/// NVML's own numbering differs from CUDA's (CUDA_VISIBLE_DEVICES): the bus tells which device is meant. ""
/// if it does not.
std::string bus_of([[maybe_unused]] const DeviceInfo& device) {
#if WARPSCOPE_HAVE_CUDA
  char bus[32] = {};
  if (device.kind == DeviceKind::cuda &&
      cudaDeviceGetPCIBusId(bus, static_cast<int>(sizeof(bus)), device.index) == cudaSuccess) {
    return bus;
  }
  if (device.kind == DeviceKind::cuda) cudaGetLastError();
#endif
  return "";
}

}  // namespace

/// The functions used, as nvml.h declares them; every one returns 0 for success. The last two may be missing.
struct EnergyMeter::Library {
  void* file = nullptr;
  void* device = nullptr;
  int (*shutdown)() = nullptr;
  int (*total_energy)(void* device, unsigned long long* millijoules) = nullptr;
  int (*power)(void* device, unsigned* milliwatts) = nullptr;
  int (*clock)(void* device, int kind, unsigned* megahertz) = nullptr;

  ~Library() {
    if (shutdown != nullptr) shutdown();
    if (file != nullptr) dlclose(file);
  }
  template <class Function>
  Function find(const char* name) const {
    return reinterpret_cast<Function>(dlsym(file, name));
  }
  /// False if anything is missing.
  bool open(const std::string& bus) {
    if (bus.empty()) return false;
    file = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) return false;
    const auto init = find<int (*)()>("nvmlInit_v2");
    const auto by_bus = find<int (*)(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    total_energy = find<int (*)(void*, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption");
    if (init == nullptr || by_bus == nullptr || total_energy == nullptr || init() != 0) return false;
    power = find<int (*)(void*, unsigned*)>("nvmlDeviceGetPowerUsage");
    clock = find<int (*)(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
    shutdown = find<int (*)()>("nvmlShutdown");
    return by_bus(bus.c_str(), &device) == 0;
  }
};

EnergyMeter::EnergyMeter(const DeviceInfo& device)
    : library_(std::async(std::launch::async, [bus = bus_of(device)]() -> std::shared_ptr<const Library> {
        auto library = std::make_shared<Library>();
        return library->open(bus) ? library : nullptr;
      })) {}

EnergyMeter::~EnergyMeter() = default;

bool EnergyMeter::ready() const {
  return library_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

double EnergyMeter::joules() const {
  unsigned long long millijoules = 0;
  const auto& library = library_.get();
  if (library == nullptr || library->total_energy(library->device, &millijoules) != 0) return -1;
  return 1e-3 * static_cast<double>(millijoules);
}

GpuLoad EnergyMeter::load() const {
  constexpr int kMultiprocessors = 1;  // NVML_CLOCK_SM
  GpuLoad load;
  if (!ready()) return load;
  const auto& library = library_.get();
  if (library == nullptr) return load;
  unsigned value = 0;
  if (library->power != nullptr && library->power(library->device, &value) == 0) load.watts = 1e-3 * value;
  if (library->clock != nullptr && library->clock(library->device, kMultiprocessors, &value) == 0) {
    load.megahertz = value;
  }
  return load;
}

}  // namespace warpscope::core
