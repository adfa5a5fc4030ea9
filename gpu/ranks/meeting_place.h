#pragma once
// Where a person says that ranks meet.

#include <memory>
#include <string>

#include "gpu/ranks/tcp_meeting.h"

namespace warpscope::ranks {

/// The file in which rank 0 says where it listens, in a folder that all ranks see: readable only by its owner, whole at
/// any time, and gone once all have met.
inline constexpr char kMeetingFile[] = "warpscope-meeting";

/// Waits until all ranks have met by TCP: at "HOST:PORT", where rank 0 listens ("[::1]:5000" for IPv6), or by a folder.
/// There rank 0 makes a token unless `terms` have one, and the others take what is there. Throws BadInput where `where`
/// is neither or another training waits in the folder, which the sentence names, and what TcpFounding and join_by_tcp()
/// throw.
std::shared_ptr<Meeting> meet_at(const std::string& where, TcpTerms terms);

}  // namespace warpscope::ranks
