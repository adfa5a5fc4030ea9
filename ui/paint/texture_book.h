#pragma once
// What the window's textures hold, for the painter: it cannot read those of OpenGL.

#include <cstdint>
#include <map>
#include <vector>

namespace warpscope::ui::paint {

/// The texels of textures by their OpenGL names. Those who make textures tell the current book of them, if there is one.
class TextureBook {
 public:
  struct Page {
    int width = 0, height = 0;
    bool linear = false;  ///< filtered
    std::vector<std::uint32_t> texels;
    const std::uint32_t* on_device =
        nullptr;                ///< if set, these are its texels, in memory of the painter's device
    std::uint64_t version = 0;  ///< grows with each change; no page of any book ever had it
  };

  /// `for_device`: the painter reads memory of the device that trains; else only what the host has.
  explicit TextureBook(bool for_device = true) : for_device_(for_device) {}
  ~TextureBook();
  TextureBook(const TextureBook&) = delete;
  TextureBook& operator=(const TextureBook&) = delete;

  /// From now on current() is this one, until it goes or retires. Belongs to the thread of the window, as all of this does.
  void make_current();
  void retire();
  static TextureBook* current();

  bool for_device() const { return for_device_; }

  /// RGBA8 rows from the top; nullptr: transparent.
  void put(std::uintptr_t name, int width, int height, bool linear, const void* texels);
  /// Replaces a part of a texture that is there.
  void put_part(std::uintptr_t name, int x, int y, int width, int height, const void* texels);
  /// The texels lie in memory of the painter's device, and stay there until the name is put anew or removed. Not filtered.
  void put_on_device(std::uintptr_t name, int width, int height, const std::uint32_t* texels);
  void remove(std::uintptr_t name) { pages_.erase(name); }

  const std::map<std::uintptr_t, Page>& pages() const { return pages_; }

 private:
  bool for_device_;
  std::map<std::uintptr_t, Page> pages_;
};

}  // namespace warpscope::ui::paint
