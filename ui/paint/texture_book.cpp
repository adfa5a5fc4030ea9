#include "ui/paint/texture_book.h"

#include <cstddef>
#include <cstring>

namespace warpscope::ui::paint {
namespace {

std::uint64_t next_version() {
  static std::uint64_t last = 0;
  return ++last;
}

TextureBook*& current_book() {
  static TextureBook* book = nullptr;
  return book;
}

}  // namespace

TextureBook::~TextureBook() {
  retire();
}

void TextureBook::retire() {
  if (current_book() == this) current_book() = nullptr;
}

void TextureBook::make_current() {
  current_book() = this;
}

TextureBook* TextureBook::current() {
  return current_book();
}

void TextureBook::put(std::uintptr_t name, int width, int height, bool linear, const void* texels) {
  Page& page = pages_[name];
  page.width = width;
  page.height = height;
  page.linear = linear;
  const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  if (texels == nullptr) {
    page.texels.assign(count, 0);
  } else {
    page.texels.resize(count);
    std::memcpy(page.texels.data(), texels, count * sizeof(std::uint32_t));
  }
  page.on_device = nullptr;
  page.version = next_version();
}

void TextureBook::put_on_device(std::uintptr_t name, int width, int height, const std::uint32_t* texels) {
  Page& page = pages_[name];
  page.width = width;
  page.height = height;
  page.linear = false;
  page.texels.clear();
  page.on_device = texels;
  page.version = next_version();
}

void TextureBook::put_part(std::uintptr_t name, int x, int y, int width, int height, const void* texels) {
  const auto found = pages_.find(name);
  if (found == pages_.end() || found->second.on_device != nullptr) return;
  Page& page = found->second;
  const auto line = static_cast<std::size_t>(width) * sizeof(std::uint32_t);
  for (int row = 0; row < height; ++row) {
    const auto at = static_cast<std::size_t>(y + row) * static_cast<std::size_t>(page.width) +
                    static_cast<std::size_t>(x);
    std::memcpy(page.texels.data() + at,
                static_cast<const std::byte*>(texels) + static_cast<std::size_t>(row) * line, line);
  }
  page.version = next_version();
}

}  // namespace warpscope::ui::paint
