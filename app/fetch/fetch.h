#pragma once
// Downloads data sets.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/core/error.h"

namespace warpscope::fetch {

struct SourceFile {
  std::string name;
  std::string md5;         ///< lower case
  std::int64_t bytes = 0;  ///< only for the progress; 0: the server tells
};

/// What is downloaded of a data set, and from where.
struct Source {
  std::string data_set;  ///< its name in data::sets()
  /// Http, https or file; the first one that has a file serves it. A file's name is added.
  std::vector<std::string> mirrors;
  std::vector<SourceFile> files;    ///< the data set's own; or one archive
  std::string archive_folder = {};  ///< of an archive: the folder in it with the data set's files
};

/// Those of all data sets that can be downloaded.
std::span<const Source> sources();

/// The names of these data sets.
std::vector<std::string> names();

/// Throws core::BadInput that lists the valid names.
const Source& find_source(std::string_view data_set);

enum class Phase : std::uint8_t { download, check, unpack };

struct Progress {
  Phase phase = Phase::download;
  std::int64_t done_bytes = 0;
  std::int64_t total_bytes = 0;  ///< 0 while unknown
};

/// Called every now and then, on the calling thread. Returns false to cancel.
using Callback = std::function<bool(const Progress&)>;

/// The callback returned false. What was downloaded so far is kept, and the next fetch goes on from there.
class Cancelled : public core::Error {
 public:
  using Error::Error;
};

/// Downloads each file to a `.part` file in `destination` (made if absent), checks it, and puts all of them,
/// or what the archive holds, in the data set's folder in `destination`, which appears only when it is
/// complete. Returns that folder.
///
/// If it is there already and complete, nothing is downloaded. `.part` files left by an earlier fetch are
/// resumed; where the server cannot resume, the download starts again. A mirror that cannot be reached,
/// answers with an error or sends something else than the file is left for the next one. An archive is
/// removed at the end; one with a path that leads out of `destination`, a link or a special file is refused
/// as a whole, and what it holds beside its folder is dropped.
///
/// Throws core::BadInput if `destination` cannot be written, holds something else under that name, or is in
/// use by another fetch; Cancelled; core::Error, in one sentence, of several mirrors the last one's, if there
/// is no network, the server answers with an error, the checksum is wrong (the `.part` file is then removed),
/// the disk is full or the archive is not what it should be.
std::filesystem::path fetch_data_set(const Source& source, const std::filesystem::path& destination,
                                     const Callback& progress = {});

}  // namespace warpscope::fetch
