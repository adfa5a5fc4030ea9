#pragma once
// MPI, opened at run time: the program needs neither headers nor a library where nobody uses it. Both families of
// libraries are known, Open MPI (handles are pointers) and MPICH with its kin (handles are numbers); their binary
// interfaces are fixed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "gpu/ranks/group.h"

namespace warpscope::ranks {

/// Bytes under way. What it holds is known to the MPI that gave it.
struct MpiRequest {
  std::uint64_t handle = 0;
};

/// The calls that a meeting needs. One thread at a time may make them; none waits for other ranks but start() and
/// finalize(), which MPI lets nobody break off. All throw core::Error with MPI's own sentence. Memory belongs to MPI
/// from the call that begins with it until done() has said so. A message has at most INT_MAX bytes.
class Mpi {
 public:
  virtual ~Mpi() = default;

  /// The channel that is there from the beginning.
  static constexpr int kFirstChannel = -1;

  /// Meets all ranks. Once.
  virtual Place start() = 0;
  /// Begins another channel, which does not mix with others and may be used once this is done; they are numbered from
  /// 0. Every rank makes these calls in the same order, one after the other.
  virtual MpiRequest add_channel() = 0;

  /// Messages between two ranks come in the order of their channel.
  virtual MpiRequest send(int channel, int rank, std::span<const std::byte> message) = 0;
  virtual MpiRequest receive(int channel, int rank, std::span<std::byte> message) = 0;
  virtual MpiRequest receive_from_any(int channel, std::span<std::byte> message) = 0;
  /// As in Group. Every rank makes these calls on a channel in the same order.
  virtual MpiRequest all_gather(int channel, std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  virtual MpiRequest all_to_all(int channel, std::span<const std::byte> to, std::span<std::byte> from) = 0;

  /// Whether it has been done; true once, after which the request is void. Moves everything else on as well.
  virtual bool done(MpiRequest& request) = 0;
  /// Takes back a receive that nothing has come for.
  virtual void cancel(MpiRequest& request) = 0;

  /// Waits until all ranks are here, and ends MPI.
  virtual void finalize() = 0;
  /// Ends all ranks with this exit code. Does not return.
  [[noreturn]] virtual void abort(int code) = 0;
};

/// Opens the first of the libraries that is there; `prefer_mpich` begins with MPICH's names. core::Error where none is.
std::unique_ptr<Mpi> open_mpi(bool prefer_mpich);

}  // namespace warpscope::ranks
