#pragma once
// What the window's textures hold, for the painter: it cannot read those of OpenGL.

#include <cstdint>
#include <map>
#include <vector>

namespace warpscope::ui::paint {

/// The texels of textures by their OpenGL names. Belongs to the thread of the window.
class TextureStore {
 public:
  struct Entry {
    int width = 0, height = 0;
    bool linear = false;  ///< filtered
    std::vector<std::uint32_t> texels;
    std::uint64_t version = 0;  ///< grows with each change; no other texture of this store ever had it
  };

  /// RGBA8 rows from the top; nullptr: transparent.
  void put(std::uintptr_t name, int width, int height, bool linear, const void* texels);
  /// Replaces a part of a texture that is there.
  void put_part(std::uintptr_t name, int x, int y, int width, int height, const void* texels);
  void remove(std::uintptr_t name) { entries_.erase(name); }
  const std::map<std::uintptr_t, Entry>& entries() const { return entries_; }

  /// The painter has given up: OpenGL draws from now on, and textures belong only to it.
  void close();
  bool closed() const { return closed_; }

 private:
  std::map<std::uintptr_t, Entry> entries_;
  std::uint64_t last_version_ = 0;
  bool closed_ = false;
};

}  // namespace warpscope::ui::paint
