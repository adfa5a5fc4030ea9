#pragma once
// Sums over all ranks as the ops of a step take them: from whichever thread the device runs host code in.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "gpu/ranks/collective.h"
#include "gpu/ranks/device_wait.h"
#include "gpu/ranks/group.h"
#include "gpu/ranks/nccl.h"
#include "gpu/ranks/p2p.h"
#include "gpu/ranks/share.h"

namespace warpscope::ranks {

class Sums {
 public:
  explicit Sums(std::unique_ptr<Group> group) : group_(std::move(group)) {}
  ~Sums();
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;

  const Place& place() const { return group_->place(); }
  /// sum_over_ranks(). What is thrown is kept for check(), and then this and all later calls leave `values` as they
  /// are: a device cannot be told of it. `collective` is told where a rank is missing or slow.
  void add(std::span<float> values, float share, const Collective& collective) noexcept;
  /// For an operation of a step that adds by itself, by the thread that calls add(): `collective` is told likewise.
  Group& group_for(const Collective& collective);
  /// The step that is ordered next, from 1. From any thread.
  void note_step(std::uint64_t step) { step_ = step; }
  /// What a GPU adds first in each step from now on; nothing where add() does.
  void note_on_device(const std::optional<Collective>& collective);
  /// The step that the host waits for from now on; 0: it waits for none. By one thread.
  void note_wait(std::uint64_t step) { awaited_step_ = step; }
  /// Meeting::look(), from now on, several times a second. Rank 0 looks whether others have ended too: then what waits
  /// on a GPU for them ends, with whatever it has, and check() throws RankMissing. `tell_slow` is told there of ranks
  /// that do not answer while the host waits for a step that a GPU adds in.
  void watch(std::shared_ptr<const Meeting> meeting, TellSlow tell_slow = {});
  /// What waits on a GPU for other ranks ends, with whatever it has; sums are of no use any more.
  void give_up();
  /// Throws what add() and watch() met.
  void check() const;
  /// Links the GPUs of all ranks, each of which calls it with its own, as far as they can be. Waits.
  void link(const std::shared_ptr<core::Device>& device);
  /// nullptr where they are not linked so.
  NcclLink* nccl() const { return nccl_.get(); }
  P2pLink* p2p() const { return p2p_.get(); }
  /// Why they are not, or "".
  const std::string& no_nccl() const { return no_nccl_; }
  const std::string& no_p2p() const { return no_p2p_; }
  /// For collectives beside the sums, in the same order on all ranks.
  Group& group() { return *group_; }

 private:
  void fail(std::exception_ptr failure) noexcept;
  void note_purpose(const Collective& collective);
  void look_at_the_device(const Meeting& meeting, DeviceWait& wait, const TellSlow& tell_slow) const;

  std::unique_ptr<Group> group_;
  std::shared_ptr<NcclLink> nccl_;
  std::shared_ptr<P2pLink> p2p_;
  std::string no_nccl_, no_p2p_;
  std::atomic<std::uint64_t> step_{0};
  bool steps_lie_ahead_ = false;  ///< the device makes steps later than they are ordered
  std::uint64_t noted_step_ = 0;  ///< that the group knows
  Collective noted_;
  std::atomic<std::uint64_t> awaited_step_{0};
  mutable std::mutex mutex_;
  std::optional<Collective> on_device_;
  std::exception_ptr failure_;
  std::condition_variable ends_;
  bool ending_ = false;
  std::thread watcher_;
};

}  // namespace warpscope::ranks
