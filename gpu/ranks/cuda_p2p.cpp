#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "gpu/core/cuda.h"
#include "gpu/ranks/p2p.h"

namespace warpscope::ranks {
namespace {

constexpr std::size_t kArrivals = std::size_t{2} * kMostPeers * kP2pBlocks;
constexpr std::size_t kParcelsAt = 2 * kP2pFloats * sizeof(float);
constexpr std::size_t kArrivalsAt = kParcelsAt + kParcelFloats * sizeof(float);
constexpr std::size_t kWindowBytes = kArrivalsAt + kArrivals * sizeof(std::uint32_t);
constexpr std::size_t kCalls = kP2pBlocks + kParcelBlocks;

constexpr std::streamsize kHostName = 220;
constexpr std::streamsize kBootNumber = 36;

/// What a rank tells the others of itself.
struct Offer {
  std::array<char, kHostName + kBootNumber> host{};
  std::array<char, 16> gpu{};
  cudaIpcMemHandle_t window{};
  int can = 0;
};

struct Reach {
  int reached = 1;
};

class Windows : public P2pLink {
 public:
  explicit Windows(std::shared_ptr<core::Device> device) : device_(std::move(device)) {
    core::check_cuda(cudaMalloc(&own_, kWindowBytes), "memory for other GPUs to reach");
    core::check_cuda(cudaMemset(own_, 0, kWindowBytes), "clearing that memory");
    static_assert(kEmptyPlace == 0xFFFFFFFF, "four bytes of all ones");
    core::check_cuda(cudaMemset(static_cast<std::byte*>(own_) + kParcelsAt, 0xFF, kArrivalsAt - kParcelsAt),
                     "clearing that memory");
    core::check_cuda(cudaMalloc(&calls_, kCalls * sizeof(std::uint32_t)), "counters");
    core::check_cuda(cudaMemset(calls_, 0, kCalls * sizeof(std::uint32_t)), "clearing counters");
    give_up_ = core::HostBuffer(device_, sizeof(std::uint32_t));
    *give_up_.as<std::uint32_t>() = 0;
    core::check_cuda(cudaDeviceSynchronize(), "clearing counters");
  }
  ~Windows() override {
    for (void* peer : opened_) cudaIpcCloseMemHandle(peer);
    cudaFree(calls_);
    cudaFree(own_);
  }

  const P2pWindows& windows() const override { return windows_; }
  void give_up() noexcept override { *give_up_.as<volatile std::uint32_t>() = 1; }

  cudaIpcMemHandle_t handle() const {
    cudaIpcMemHandle_t handle{};
    core::check_cuda(cudaIpcGetMemHandle(&handle, own_), "offering memory to other GPUs");
    return handle;
  }

  /// False if a window cannot be opened.
  bool open(const std::vector<Offer>& offers, int rank) {
    windows_.rank = rank;
    windows_.size = static_cast<int>(offers.size());
    windows_.calls = static_cast<std::uint32_t*>(calls_);
    windows_.parcel_calls = windows_.calls + kP2pBlocks;
    windows_.give_up = give_up_.as<std::uint32_t>();
    for (int peer = 0; peer < windows_.size; ++peer) {
      void* window = own_;
      if (peer != rank) {
        const auto& handle = offers[static_cast<std::size_t>(peer)].window;
        if (cudaIpcOpenMemHandle(&window, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess) {
          cudaGetLastError();
          return false;
        }
        opened_.push_back(window);
      }
      windows_.in[peer] = static_cast<float*>(window);
      windows_.out[peer] = windows_.in[peer] + kP2pFloats;
      windows_.parcels[peer] = windows_.out[peer] + kP2pFloats;
      windows_.arrived[peer] = reinterpret_cast<std::uint32_t*>(windows_.parcels[peer] + kParcelFloats);
    }
    return true;
  }

 private:
  std::shared_ptr<core::Device> device_;
  void* own_ = nullptr;
  void* calls_ = nullptr;
  core::HostBuffer give_up_;
  std::vector<void*> opened_;
  P2pWindows windows_;
};

/// nullptr where there is no GPU, or it lets nobody else reach its memory.
std::shared_ptr<Windows> made_windows(const std::shared_ptr<core::Device>& device) {
  if (device->kind() != core::DeviceKind::cuda) return nullptr;
  try {
    auto windows = std::make_shared<Windows>(device);
    windows->handle();
    return windows;
  } catch (const core::Error&) {
    return nullptr;
  }
}

/// Why these do not reach each other, as far as they say, or "".
std::string objection(const std::vector<Offer>& offers) {
  if (offers.size() > kMostPeers) return fmt::format("more than {} ranks", kMostPeers);
  for (std::size_t rank = 0; rank < offers.size(); ++rank) {
    if (offers[rank].can == 0) return fmt::format("rank {} has no GPU whose memory others reach", rank);
    if (offers[rank].host != offers[0].host) return fmt::format("ranks 0 and {} are on two hosts", rank);
    for (std::size_t other = 0; other < rank; ++other) {
      if (offers[other].gpu == offers[rank].gpu)
        return fmt::format("ranks {} and {} share a GPU", other, rank);
    }
  }
  return "";
}

Offer offer_of(const core::Device& device, const Windows* link) {
  Offer offer;
  // Hosts that somebody else set up may have one name, but each start of a system has a number of its own.
  gethostname(offer.host.data(), kHostName);
  std::ifstream("/proc/sys/kernel/random/boot_id").read(offer.host.data() + kHostName, kBootNumber);
  if (link == nullptr) return offer;
  offer.can = 1;
  offer.window = link->handle();
  cudaDeviceProp properties{};
  core::check_cuda(cudaGetDeviceProperties(&properties, device.info().index), "asking for the GPU's number");
  static_assert(sizeof(properties.uuid.bytes) == sizeof(offer.gpu));
  std::memcpy(offer.gpu.data(), properties.uuid.bytes, sizeof(offer.gpu));
  return offer;
}

}  // namespace

std::shared_ptr<P2pLink> link_by_p2p(Group& group, const std::shared_ptr<core::Device>& device,
                                     std::string& why) {
  group.note_purpose("the linking of GPUs");
  std::shared_ptr<Windows> link = made_windows(device);
  const std::vector<Offer> offers = gathered(group, offer_of(*device, link.get()));
  why = objection(offers);
  if (!why.empty()) return nullptr;
  const Reach mine{link->open(offers, group.place().rank) ? 1 : 0};
  const std::vector<Reach> all = gathered(group, mine);
  const auto cut = std::ranges::find(all, 0, &Reach::reached);
  if (cut == all.end()) return link;
  why = fmt::format("the GPU of rank {} does not reach the memory of all others", cut - all.begin());
  gathered(group, mine);  // nobody frees a window that another one still opens
  return nullptr;
}

}  // namespace warpscope::ranks
