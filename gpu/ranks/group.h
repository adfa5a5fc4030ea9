#pragma once
// The ranks of a training: processes, each with a device, that make every step together. A group is what one thread of
// each of them has to give bytes to the others. All ranks make the same calls in the same order; a call returns when
// the bytes of all have come. Memory is that of the host.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/core/error.h"

namespace warpscope::ranks {

/// A rank that has been waited for so long is told of: a person reads it within a second.
inline constexpr std::chrono::milliseconds kSilent(700);

/// The exit code of a rank that ends since another one is missing: only that other one is told of.
inline constexpr int kOthersMissing = 76;

/// Which of them this process is.
struct Place {
  int rank = 0;  ///< from 0; rank 0 leads
  int size = 1;

  bool leads() const { return rank == 0; }
  bool operator==(const Place&) const = default;
};

/// Ranks that others wait for: they have ended, or the time for waiting is over.
class RankMissing : public core::Error {
 public:
  RankMissing(const std::string& sentence, std::vector<int> missing)
      : Error(sentence), ranks_(std::make_shared<const std::vector<int>>(std::move(missing))) {}
  const std::vector<int>& ranks() const { return *ranks_; }

 private:
  std::shared_ptr<const std::vector<int>> ranks_;  ///< shared, so that copying the error cannot fail
};

class Group {
 public:
  explicit Group(Place place) : place_(place) {}
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const Place& place() const { return place_; }

  /// A message of rank 0 to all others, of any length. Rank 0 waits only where others lag megabytes behind.
  virtual void send(std::span<const std::byte> message) = 0;
  /// The next message of rank 0, on every other rank. Waits for it without using the processor.
  virtual std::vector<std::byte> receive() = 0;

  /// `all` gets what each rank gives, in the order of ranks: `all.size()` is `mine.size()` times their number.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  /// Block i of `to` goes to rank i; block i of `from` is what rank i gave for this one. Blocks are of one size:
  /// `to.size()` over the number of ranks, which divides it.
  virtual void all_to_all(std::span<const std::byte> to, std::span<std::byte> from) = 0;

  /// Ranks `a` and `b`, two different ones, give each other `mine`, as long as `theirs`; the others come along with any
  /// memory of that size and neither give nor get anything.
  virtual void trade(int a, int b, std::span<const std::byte> mine, std::span<std::byte> theirs) = 0;
  /// What bytes go over: "shared memory".
  virtual std::string medium() const = 0;

  /// What the calls that follow are part of, in words ("the gradients of step 12"): told where somebody is missing.
  virtual void note_purpose(std::string purpose) = 0;

 private:
  Place place_;
};

/// What each rank gives, in their order; every rank calls it with its own. T lies in memory as it is sent.
template <class T>
std::vector<T> gathered(Group& group, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(group.place().size));
  group.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

/// Told once when ranks have let the others wait for a second: "rank 2 has not come to the gradients of step 12 within
/// 1.0 s"; and with no ranks when all have come after all.
using TellSlow = std::function<void(const std::vector<int>& ranks, const std::string& sentence)>;

/// How long a call of group `number` waits where ranks may stand still for `patience`: one that waits for another in a
/// sum does not take orders, and that other one is to be found first.
std::chrono::milliseconds patience_in(int number, std::chrono::milliseconds patience);
/// "rank 2 stood still for 30.0 s; it was to come to the sums of a step".
std::string stood_still(const std::vector<int>& ranks, std::chrono::nanoseconds waited,
                        const std::string& purpose);

/// How the ranks of one training reach each other.
class Meeting {
 public:
  virtual ~Meeting() = default;
  virtual Place place() const = 0;
  /// Ranks that have ended, in one sentence ("rank 2 was killed by SIGKILL"); "" if none has, or where whatever started
  /// them sees to it. From any thread.
  virtual std::string missing() const { return ""; }
  /// Their numbers, without those that have ended for want of others.
  virtual std::vector<int> lost() const { return {}; }
  /// Tells the others that this rank lives; called several times a second, `passed` after the last time. Rank 0 ends
  /// those who have not done so for longer than set_patience() says. By one thread.
  virtual void look(std::chrono::milliseconds /*passed*/) const {}
  /// On rank 0: those that have not done so for about a second, once all have. By the thread that looks.
  virtual std::vector<int> silent() const { return {}; }
  /// This rank is about to end since others are missing.
  virtual void leave_after_others() {}
  /// On rank 0: how long others may stand still before they are ended, or missing where they are processes that it
  /// cannot end; zero, as at first: for ever.
  virtual void set_patience(std::chrono::milliseconds /*patience*/) {}
  /// On rank 0, before set_patience(): the same of ranks that begin. They may take as long as they like as long as they
  /// look, and end where they do not, not even once.
  virtual void set_patience_to_begin(std::chrono::milliseconds /*patience*/) {}
  /// On rank 0, before the first look(): who is told of ranks that begin and have not looked for a second: "rank 2 (pid
  /// 123) has not answered within 1.0 s while it begins"; and with no ranks once all have.
  virtual void tell_silent(const TellSlow& /*tell*/) {}
  /// On rank 0: ends all others at once, where they are processes that it can end.
  virtual void end_others() {}
  /// One of kGroups groups, each for one thread; `number` is the same on all ranks. Once each.
  virtual std::unique_ptr<Group> group(int number, TellSlow tell_slow) = 0;
  static constexpr int kGroups = 2;
};

/// Numbers of groups.
inline constexpr int kOrders = 0;  ///< what rank 0 tells the others to do
inline constexpr int kSums = 1;    ///< sums over all ranks, in the order of the steps

/// out[i] = the sum over ranks of share x values[i], by one tree whatever moves the bytes: ranks 2 k and 2 k + 1 first,
/// their sums in the same way. `values` hold the result on every rank, with the same bits. `share` is this rank's.
void sum_over_ranks(Group& group, std::span<float> values, float share);

}  // namespace warpscope::ranks
