#pragma once
// Unpacks archives that may have been made to do harm.

#include <cstdint>
#include <filesystem>
#include <functional>

namespace warpscope::fetch {

/// Unpacks `archive` (tar, plain or compressed) into the existing folder `destination`; every file is on the
/// disk when it returns. `progress` gets the bytes of the archive read so far and throws to stop. Throws
/// core::Error if the archive is damaged, holds an absolute path, a path with "..", a link or a special file,
/// or the same file twice, or if the disk is full. What was unpacked by then is left: the caller removes
/// `destination`.
void unpack(const std::filesystem::path& archive, const std::filesystem::path& destination,
            const std::function<void(std::int64_t bytes)>& progress);

}  // namespace warpscope::fetch
