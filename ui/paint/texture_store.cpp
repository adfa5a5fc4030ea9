#include "ui/paint/texture_store.h"

#include <cstddef>
#include <cstring>

namespace warpscope::ui::paint {

void TextureStore::put(std::uintptr_t name, int width, int height, bool linear, const void* texels) {
  Entry& entry = entries_[name];
  entry.width = width;
  entry.height = height;
  entry.linear = linear;
  const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  if (texels == nullptr) {
    entry.texels.assign(count, 0);
  } else {
    entry.texels.resize(count);
    std::memcpy(entry.texels.data(), texels, count * sizeof(std::uint32_t));
  }
  entry.version = ++last_version_;
}

void TextureStore::put_part(std::uintptr_t name, int x, int y, int width, int height, const void* texels) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  const auto line = static_cast<std::size_t>(width) * sizeof(std::uint32_t);
  for (int row = 0; row < height; ++row) {
    const auto at = static_cast<std::size_t>(y + row) * static_cast<std::size_t>(entry.width) +
                    static_cast<std::size_t>(x);
    std::memcpy(entry.texels.data() + at,
                static_cast<const std::byte*>(texels) + static_cast<std::size_t>(row) * line, line);
  }
  entry.version = ++last_version_;
}

void TextureStore::close() {
  closed_ = true;
  entries_.clear();
}

}  // namespace warpscope::ui::paint
