#pragma once
// Where the program's own files are: what it was installed with, and where it may keep things of its user.

#include <filesystem>
#include <string_view>

namespace warpscope::files {

/// The folder of the running executable, links resolved. Throws core::Error if the system does not tell
/// (/proc is missing).
std::filesystem::path executable_dir();

/// A file of assets/, by its name there ("warpscope.svg"). Looks for share/warpscope/assets beside the
/// executable, then in the folder above it. That is one rule for an installed program (bin/ and share/ are
/// neighbours) and for a build folder, where share/warpscope/assets is a link into the source tree. Throws
/// core::Error that says where it looked.
std::filesystem::path find_asset(std::string_view name);

/// $XDG_CACHE_HOME/warpscope or ~/.cache/warpscope: downloads and what can be made again. It may not exist
/// yet. A relative $XDG_CACHE_HOME is ignored, as the XDG Base Directory Specification (0.8) asks. Throws
/// core::Error if neither the variable nor a home folder is known.
std::filesystem::path cache_dir();

/// $XDG_CONFIG_HOME/warpscope or ~/.config/warpscope: settings. Otherwise as cache_dir().
std::filesystem::path config_dir();

}  // namespace warpscope::files
