#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/cuda.h"
#include "gpu/core/opened_library.h"
#include "gpu/ranks/nccl.h"

#if WARPSCOPE_HAVE_NCCL
#include <nccl.h>
#endif

namespace warpscope::ranks {

#if WARPSCOPE_HAVE_NCCL
namespace {

/// Functions of the library, which is opened at the first use and stays open.
struct Nccl {
  decltype(&ncclGetUniqueId) unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclRedOpCreatePreMulSum) make_weighted_sum = nullptr;
  decltype(&ncclGetErrorString) error_text = nullptr;
  std::string missing;

  Nccl() {
#ifdef WARPSCOPE_NCCL_LIBRARY
    core::OpenedLibrary library({"libnccl.so.2", WARPSCOPE_NCCL_LIBRARY});
#else
    core::OpenedLibrary library({"libnccl.so.2"});
#endif
    if (!library.is_open()) {
      missing =
          "NCCL (libnccl.so.2) is not on this machine; install it or name its folder in LD_LIBRARY_PATH";
      return;
    }
    library.find("ncclGetUniqueId", unique_id);
    library.find("ncclCommInitRankConfig", init);
    library.find("ncclCommAbort", abort);
    library.find("ncclAllReduce", all_reduce);
    library.find("ncclGroupStart", group_start);
    library.find("ncclGroupEnd", group_end);
    library.find("ncclRedOpCreatePreMulSum", make_weighted_sum);
    library.find("ncclGetErrorString", error_text);
    if (!library.missing().empty()) missing = "NCCL on this machine has no " + library.missing();
  }
};

const Nccl& nccl() {
  static const Nccl once;
  return once;
}

void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  throw core::Error(fmt::format("NCCL, {}: {}", what, nccl().error_text(result)));
}

/// Blocks of its kernels that run beside other work, at most; as many multiprocessors then do nothing else.
constexpr int kBlocksBeside = 8;

class Communicator {
 public:
  Communicator(const ncclUniqueId& id, const Place& place, NcclLink::Room room) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 17, 0)
    if (room == NcclLink::Room::little) config.maxCTAs = kBlocksBeside;
#endif
    check(nccl().init(&link_, place.size, id, place.rank, &config), "linking the GPUs");
  }
  /// Nothing is under way any more, and the others may be gone: a barrier of all, as ncclCommDestroy has, may not end.
  ~Communicator() {
    give_up();
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  void give_up() noexcept {
    if (!ended_.exchange(true)) nccl().abort(link_);
  }

  void sum(std::span<const NcclLink::Span> spans, float weight, cudaStream_t stream) {
    if (ended_) return;
    const ncclRedOp_t weighted = sum_of(weight);
    check(nccl().group_start(), "beginning a sum");
    for (const NcclLink::Span& each : spans) {
      if (each.count == 0) continue;
      check(nccl().all_reduce(each.values, each.values, each.count, ncclFloat32, weighted, link_, stream),
            "summing over ranks");
    }
    check(nccl().group_end(), "summing over ranks");
  }

  /// One number.
  void sum_in(cudaStream_t stream, float* number) {
    check(nccl().all_reduce(number, number, 1, ncclFloat32, ncclSum, link_, stream), "connecting the GPUs");
  }

 private:
  /// One for each weight that there has been: captured sums keep theirs.
  ncclRedOp_t sum_of(float weight) {
    const auto found = sums_.find(weight);
    if (found != sums_.end()) return found->second;
    ncclRedOp_t made{};
    check(nccl().make_weighted_sum(&made, &weight, ncclFloat32, ncclScalarHostImmediate, link_),
          "making a sum");
    sums_.emplace(weight, made);
    return made;
  }

  ncclComm_t link_ = nullptr;
  std::atomic<bool> ended_ = false;
  std::map<float, ncclRedOp_t> sums_;
};

/// Numbers that all ranks have of both communicators: how many blocks one takes is settled when it is made.
struct Ids {
  ncclUniqueId any{};
  ncclUniqueId little{};
};

class Link : public NcclLink {
 public:
  Link(const Ids& ids, const Place& place)
      : any_(ids.any, place, Room::any), little_(ids.little, place, Room::little) {}

  void give_up() noexcept override {
    any_.give_up();
    little_.give_up();
  }

  void sum(const Span* spans, std::size_t count, float weight, core::Stream& stream, Room room) override {
    (room == Room::any ? any_ : little_).sum({spans, count}, weight, core::cuda_stream(stream));
  }

  /// NCCL connects at the first sum, which waits for all: so that comes now, and not while somebody's graph is
  /// captured.
  void connect() {
    cudaStream_t stream = nullptr;
    float* number = nullptr;
    core::check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream for the first sum");
    core::check_cuda(cudaMalloc(&number, sizeof(float)), "memory for the first sum");
    core::check_cuda(cudaMemsetAsync(number, 0, sizeof(float), stream), "the first sum");
    for (Communicator* each : {&any_, &little_}) {
      each->sum_in(stream, number);
      core::check_cuda(cudaStreamSynchronize(stream), "the first sum");
    }
    cudaFree(number);
    cudaStreamDestroy(stream);
  }

 private:
  Communicator any_, little_;
};

/// What each rank tells the others of itself before they are linked.
struct Ready {
  std::array<char, 16> gpu{};
  std::array<char, 240> missing{};  ///< "" if nothing is
};

Ready ready(const core::Device& device) {
  Ready mine;
  std::string missing = nccl().missing;
  if (device.kind() != core::DeviceKind::cuda) missing = "it trains on a CPU";
  if (missing.empty()) {
    cudaDeviceProp properties{};
    core::check_cuda(cudaGetDeviceProperties(&properties, device.info().index),
                     "asking for the GPU's number");
    static_assert(sizeof(properties.uuid.bytes) == sizeof(mine.gpu));
    std::memcpy(mine.gpu.data(), properties.uuid.bytes, sizeof(mine.gpu));
  }
  std::copy_n(missing.data(), std::min(missing.size(), mine.missing.size() - 1), mine.missing.data());
  return mine;
}

/// Why these cannot be linked, or "".
std::string objection(const std::vector<Ready>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].missing.front() != '\0') return fmt::format("rank {}: {}", rank, all[rank].missing.data());
    for (std::size_t other = 0; other < rank; ++other) {
      if (all[other].gpu == all[rank].gpu) return fmt::format("ranks {} and {} share a GPU", other, rank);
    }
  }
  return "";
}

}  // namespace

std::shared_ptr<NcclLink> link_by_nccl(Group& group, const core::Device& device, std::string& why) {
  group.note_purpose("the linking of GPUs");
  why = objection(gathered(group, ready(device)));
  if (!why.empty()) return nullptr;
  Ids ids;
  if (group.place().leads()) {
    for (ncclUniqueId* each : {&ids.any, &ids.little}) {
      check(nccl().unique_id(each), "finding a number for the link");
    }
  }
  auto link = std::make_shared<Link>(gathered(group, ids).front(), group.place());
  link->connect();
  return link;
}

#else

std::shared_ptr<NcclLink> link_by_nccl(Group& /*group*/, const core::Device& /*device*/, std::string& why) {
  why = "this build has no NCCL";
  return nullptr;
}

#endif

}  // namespace warpscope::ranks
