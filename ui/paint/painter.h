#pragma once
// From triangles to pixels, on the CPU.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "ui/paint/draw_list.h"
#include "ui/paint/picture.h"
#include "ui/paint/scene.h"
#include "ui/paint/texture_store.h"

namespace warpscope::ui::paint {

/// Threads that share the work of one.
class Helpers {
 public:
  /// With 0 threads, or where the system has none to give, all is done by the caller.
  explicit Helpers(unsigned threads);
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// Calls work(0) to work(count - 1), each once, in this thread and in those that wake in time; returns when
  /// all are done. For one thread at a time; `work` throws nothing.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void help();
  void take(const std::function<void(std::size_t)>& work, std::size_t count);

  std::mutex mutex_;
  std::condition_variable begun_, left_;
  const std::function<void(std::size_t)>* work_ = nullptr;  // while there is some
  std::size_t count_ = 0;
  std::uint64_t round_ = 0;
  unsigned helping_ = 0;
  bool ended_ = false;
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::thread> threads_;
};

/// Draws what changed since the picture before, with the caller's thread and up to two more, and keeps its
/// memory from picture to picture. All calls belong to one thread.
class Painter {
 public:
  Painter();

  /// The picture, which is valid until the next call. `background`: RGBA8, red in the lowest byte. A texture
  /// that the store does not know is white. Throws core::Error if the picture has no pixels or more than
  /// 32,752 along a side.
  Picture paint(const Triangles& triangles, const TextureStore& store, std::uint32_t background);

 private:
  struct VisibleTriangle {
    std::uint32_t first_index, command;
    Bounds bounds;
    bool rectangle;  // with the next one, an upright one of one colour
    std::uint64_t hash;
  };
  struct Tile {
    std::uint64_t hash_sum = 0;
    std::uint32_t triangles = 0;
    std::uint32_t next = 0;  // where its next triangle goes in order_
    bool changed = false;
  };

  void resize(int width, int height);
  void find_triangles(const Scene& scene);
  void find_changes(const Scene& scene);
  void sort_into_tiles();
  void draw_tile(const Scene& scene, std::size_t number);
  template <class Action>
  void for_each_tile(const Bounds& bounds, Action action);

  int width_ = 0, height_ = 0;
  std::size_t columns_ = 0;  // of tiles
  std::vector<std::uint32_t> pixels_;
  std::vector<std::uint64_t> tile_hashes_;  // of the picture before, of this size; 0: there is none
  std::vector<std::uint8_t> tile_changed_;
  std::vector<Texture> textures_;
  std::vector<VisibleTriangle> visible_;  // in drawing order
  std::vector<Tile> tiles_;
  std::vector<std::uint32_t> order_;  // tile by tile, numbers of triangles in drawing order
  std::vector<std::size_t> changed_;  // numbers of tiles
  Helpers helpers_;
};

}  // namespace warpscope::ui::paint
