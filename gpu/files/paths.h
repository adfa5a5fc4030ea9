#pragma once
// Paths that do not depend on where the program was started, and where it may keep things of its user.

#include <filesystem>

namespace warpscope::files {

/// `path` from the root on, without "." and ".." and a slash at its end; symbolic links stay. As it is where the
/// working
/// directory is gone.
std::filesystem::path absolute_path(const std::filesystem::path& path);

/// $XDG_CACHE_HOME/warpscope or ~/.cache/warpscope: downloads and what can be made again. It may not exist
/// yet. A relative $XDG_CACHE_HOME is ignored, as the XDG Base Directory Specification (0.8) asks. Throws
/// core::Error if neither the variable nor a home folder is known.
std::filesystem::path cache_dir();

/// $XDG_DATA_HOME/warpscope or ~/.local/share/warpscope: what nothing can make again. Otherwise as cache_dir().
std::filesystem::path data_dir();

/// $XDG_CONFIG_HOME/warpscope or ~/.config/warpscope: settings. Otherwise as cache_dir().
std::filesystem::path config_dir();

}  // namespace warpscope::files
