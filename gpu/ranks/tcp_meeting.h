#pragma once
// Ranks of several hosts meet by TCP. Rank 0 listens; the others connect to it, learn from it where all ranks listen,
// and connect to each other. Whoever has the token is a rank: nothing is encrypted, so the network must be one that is
// trusted.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/ranks/group.h"

namespace warpscope::ranks {

inline constexpr int kMostByTcp = 64;  ///< ranks of one meeting

/// How a rank meets the others.
struct TcpTerms {
  int rank = 0;
  int ranks = 0;           ///< of all; only rank 0 must know
  std::string token = {};  ///< the same on all ranks, 1 to 127 bytes without zeros
  std::chrono::milliseconds patience = std::chrono::seconds(60);
  std::function<void(const std::string&)> tell =
      {};  ///< is told who was refused while rank 0 waits, in a sentence
  std::string version = WARPSCOPE_VERSION;
  /// Where ranks meet in a folder: of which job of a launcher this one is, "step 0 of the Slurm job 7"; "" for none.
  std::string job = {};
};

/// Where rank 0 listens.
struct MeetingPoint {
  std::vector<std::string>
      hosts;  ///< names and numbers of the same host, in the order in which they are tried
  std::uint16_t port = 0;
  std::string token;
  std::string why_not = {};  ///< where there are no hosts: why this rank cannot go there yet
};

enum class Listener { somebody, nobody, unknown };
/// Whether a rank 0 waits where `point` says. Who answers nothing counts as somebody; unknown: no host is reached.
Listener listener_at(const MeetingPoint& point);

/// Rank 0 while it waits for the others.
class TcpFounding {
 public:
  /// Listens at `port`; 0: the system chooses. Where `host` is an address in numbers or "localhost", only there; else
  /// at all addresses of this host, since a name often means another address on the host that has it. Throws BadInput
  /// where that cannot be or `terms` make no sense.
  TcpFounding(const std::string& host, std::uint16_t port, TcpTerms terms);
  ~TcpFounding();
  TcpFounding(const TcpFounding&) = delete;
  TcpFounding& operator=(const TcpFounding&) = delete;

  std::uint16_t port() const;
  /// Waits for all. Throws RankMissing that names those who have not come in time, and lets the others know. Once.
  std::shared_ptr<Meeting> meet();

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

/// Meets rank 0, for which this waits too, and then the others. `find` is asked again until somebody listens where it
/// says. Throws BadInput where rank 0 refuses this rank or is not reached in time, RankMissing where others do not
/// come.
std::shared_ptr<Meeting> join_by_tcp(const std::function<std::optional<MeetingPoint>()>& find,
                                     TcpTerms terms);

}  // namespace warpscope::ranks
